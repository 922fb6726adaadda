/* foreign.h - the attention of a model of another kind as it is on disk: what was recognised, and the query and key
 * weights of a layer, in double. docs/foreign.md has the families, the rules and the maps for anything else. */
#ifndef HKT_FOREIGN_FOREIGN_H
#define HKT_FOREIGN_FOREIGN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "foreign/family.h"
#include "foreign/shards.h"

typedef struct {
    size_t layers, heads, key_heads, d, p; /* key_heads divides heads; head h uses key head h / (heads / key_heads) */
    double scale;                          /* the score is scale q.k */
    bool causal;
    size_t rotary; /* turned elements of a head, even, at most p; 0: positions do not turn */
    double rotary_base;
    bool rotary_pairs; /* family.h */
    hkt_norm norm;     /* before attention */
    double gain_offset;
    double epsilon; /* of the norms */
} hkt_foreign_shape;

typedef struct hkt_foreign {
    hkt_foreign_shape shape;
    hkt_foreign_names names;
    hkt_fusing fusing;
    bool transposed;
    const char *family; /* its name, "map" for a map without a family */
    char rule[256];     /* by what it was recognised */
    char prefix[128];   /* before the names of the family, "model." */
    char unused[512];   /* what the attention has besides and is not looked at; "": nothing */
    hkt_shards shards;
    bool *used;     /* [shards.n] tensors that are read */
    json_t *config; /* of the model, {} when there is none */
    json_t *map;    /* NULL: none; owns names */
} hkt_foreign;

/* Recognises a model and checks the shapes of all tensors that will be read. path: a directory with config.json and
 * model.safetensors or model.safetensors.index.json; one of these two files, config.json beside it; a file of llama2.c,
 * which ends in .bin. map: a file (docs/foreign.md); NULL: none. Errors: HKT_EINPUT, saying what was expected and found
 * and how a map would look. *out owns everything; hkt_foreign_close, also after an error. */
hkt_status hkt_foreign_open(hkt_foreign *out, const char *path, const char *map);
void hkt_foreign_close(hkt_foreign *f);

/* Reads a map and those that it is like, which fill what it does not say: *out a new object; *family: the one at the
 * end, NULL when there is none. Errors: HKT_EINPUT, also for maps that are like each other in a circle. */
hkt_status hkt_foreign_map_read(json_t **out, const hkt_family **family, const char *path);

/* The weights of one layer. */
typedef struct {
    double *wq, *wk;               /* [heads p, d], [key_heads p, d] */
    double *bq, *bk;               /* [heads p], [key_heads p]; 0 when there are none */
    double *gain, *shift;          /* [d] of the norm before attention; 1 and 0 when there are none */
    double *query_gain, *key_gain; /* [p] of a norm of every head's queries and keys; 1 when there is none */
    bool has_bias, has_norm, has_shift, has_head_norm;
    double *block; /* owns them */
} hkt_foreign_layer;

/* Memory for one layer, to be filled many times. Zero-initialise; hkt_foreign_layer_free. Errors: HKT_ESYSTEM. */
hkt_status hkt_foreign_layer_create(hkt_foreign_layer *out, const hkt_foreign_shape *shape);
/* Errors: HKT_EINPUT naming the tensor and the place of what is not finite. */
hkt_status hkt_foreign_layer_read(const hkt_foreign *f, size_t layer, hkt_foreign_layer *out);
void hkt_foreign_layer_free(hkt_foreign_layer *l);

/* The tensor that a name of the family stands for in a layer; NULL when there is none. pattern may be NULL. */
const hkt_tensor *hkt_foreign_tensor(const hkt_foreign *f, const char *pattern, size_t layer);

#endif

/* config.h - the hyperparameters of a model (docs/model.md 2.2, `hkt.config`). */
#ifndef HKT_MODEL_CONFIG_H
#define HKT_MODEL_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "num/attention.h" /* HKT_MAX_LEVELS */

/* Largest values of the fields: vocab, classes, max_len; d_model, heads, stride, conv_width; layers; ffn_mult. */
#define HKT_MAX_COUNT    INT32_MAX
#define HKT_MAX_WIDTH    (1 << 16)
#define HKT_MAX_LAYERS   (1 << 12)
#define HKT_MAX_FFN_MULT (1 << 8)

typedef enum { HKT_FUSION_DYNAMIC, HKT_FUSION_STATIC, HKT_FUSION_SCORE } hkt_fusion;

/* How a fusion mode joins the levels (docs/model.md 2.1, step 6). */
typedef struct {
    const char *name; /* in options and checkpoints */
    bool sums_scores; /* the scores of all levels are added up under one softmax, over the values of level 0 */
    bool gated;       /* the weights of the levels depend on the sequence, by the parameter `gate` */
} hkt_fusion_mode;

typedef struct {
    size_t vocab;      /* V */
    size_t classes;    /* C */
    size_t max_len;    /* longest sequence */
    size_t d_model;    /* d */
    size_t heads;      /* H; divides d; p = d/H */
    size_t layers;     /* N */
    size_t levels;     /* L, 1..HKT_MAX_LEVELS */
    size_t stride;     /* s >= 2 (ignored at L = 1) */
    size_t conv_width; /* w (ignored when not hybrid) */
    size_t ffn_mult;   /* FFN width / d */
    hkt_fusion fusion;
    bool hybrid; /* attention and convolution mixed by beta; false: attention alone */
    bool causal;
} hkt_config;

/* What the programs start from: the model of the demo (d 64, 4 heads, 2 layers, L = 3); vocab, classes and max_len are
 * 0. */
hkt_config hkt_config_default(void);
/* HKT_EINPUT naming the first field that is out of range (config.c has the limits). `what` prefixes the message. */
hkt_status hkt_config_check(const hkt_config *c, const char *what);
/* All fields of the JSON object are required, others are ignored. Checks; on error *out is untouched. */
hkt_status hkt_config_parse(hkt_config *out, const char *json, const char *what);
/* New JSON object in the key order of docs/model.md 2.2; NULL on no memory. */
json_t *hkt_config_json(const hkt_config *c);

const hkt_fusion_mode *hkt_fusion_of(const hkt_config *c);
/* Whether there is a gate: not with one level. */
bool hkt_config_gated(const hkt_config *c);
/* Levels whose scores go under one softmax: all, or 1. */
size_t hkt_score_levels(const hkt_config *c);

const char *hkt_fusion_name(hkt_fusion f);
/* HKT_EINPUT for an unknown name. */
hkt_status hkt_fusion_parse(hkt_fusion *out, const char *name);

/* T_l = ceil(T / s^l) (docs/model.md 1). */
size_t hkt_level_length(size_t T, size_t stride, size_t level);

#endif

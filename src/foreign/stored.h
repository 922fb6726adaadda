/* stored.h - queries and keys, or scores, of a forward pass that another program made and stored: .npy files, or one
 * safetensors file with tensors q and k (or s), and lengths. docs/formats.md has the shapes. */
#ifndef HKT_FOREIGN_STORED_H
#define HKT_FOREIGN_STORED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/safetensors.h"
#include "base/status.h"

enum { HKT_STORED_FILES = 3 };
typedef struct hkt_stored {
    size_t layers, n, heads, key_heads, T, p; /* n sequences of at most T tokens; p: 0 for scores */
    double scale;                             /* the score is scale q.k; 1 for scores */
    bool causal;
    size_t rotary; /* elements of q and k that are still to be turned by their position; 0: none */
    double rotary_base;
    bool rotary_pairs; /* family.h */
    size_t *length;    /* [n] tokens of a sequence */
    hkt_safetensors *file[HKT_STORED_FILES];
    const hkt_tensor *q, *k, *scores; /* [layers, n, heads or key_heads, T, p], [layers, n, heads, T, T] */
} hkt_stored;

/* path [n_paths]: one safetensors file; or queries, keys and perhaps lengths; or scores alone. mask: "causal" or
 * "none"; NULL: what the map says. map: a JSON file with words of docs/foreign.md (mask, scale, rotary_dimensions,
 * rotary_base, rotary_pairs), NULL: none. Errors: HKT_EUSAGE when neither says the mask; HKT_EINPUT; HKT_ESYSTEM. *out
 * owns everything; hkt_stored_close, also after an error. */
hkt_status hkt_stored_open(hkt_stored *out, const char *const *path, size_t n_paths, const char *mask, const char *map);
void hkt_stored_close(hkt_stored *s);

/* Of one layer and sequence, its first length[seq] tokens as they are in the file: q [heads, T, p] and k [key_heads, T,
 * p] with T = length[seq]; or q [heads, T, T] the scores, k not touched. Thread-safe. Errors: HKT_EINPUT naming the
 * place of what is not finite, but for scores above the diagonal with a causal mask, which may be anything. */
hkt_status hkt_stored_read(const hkt_stored *s, size_t layer, size_t seq, double *q, double *k);
/* Doubles for q, and for k, of the longest sequence. */
size_t hkt_stored_query_size(const hkt_stored *s);
size_t hkt_stored_key_size(const hkt_stored *s);

/* The one array of a .npy file or of a safetensors file, named `name` there. *file owns it. Errors: HKT_EINPUT. */
hkt_status hkt_stored_array(hkt_safetensors **file, const hkt_tensor **array, const char *path, const char *name);

/* Its integers, out [count]. Errors: HKT_EINPUT with the file, also for floats. */
hkt_status hkt_stored_integers(const hkt_tensor *array, int32_t *out);

#endif

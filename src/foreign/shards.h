/* shards.h - the tensors of a model, which may be spread over several safetensors files. */
#ifndef HKT_FOREIGN_SHARDS_H
#define HKT_FOREIGN_SHARDS_H

#include <stddef.h>

#include "base/safetensors.h"
#include "base/status.h"

typedef struct {
    hkt_safetensors **file; /* [n_files] */
    size_t n_files;
    const hkt_tensor **tensor; /* [n], by name */
    size_t n;
} hkt_shards;

/* One file. Zero-initialise; hkt_shards_free, also after an error. */
hkt_status hkt_shards_read_file(hkt_shards *out, const char *path);
/* The files that an index (model.safetensors.index.json) names, which lie beside it. Errors: HKT_EINPUT when one of
 * them is missing or damaged, has not the tensors that the index says, has one that the index puts into another file,
 * or is not a plain name. */
hkt_status hkt_shards_read_index(hkt_shards *out, const char *path);
/* A file of llama2.c, version 0: a header of seven int32 (dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size,
 * seq_len; a negative vocab_size: an output matrix of its own), then floats, with or without the tables of rotary
 * positions. *config: the header as config.json would say it, a new reference. Source: export.py and run.c of llama2.c.
 * Errors: HKT_EINPUT. */
hkt_status hkt_shards_read_llama2c(hkt_shards *out, const char *path, json_t **config);
void hkt_shards_free(hkt_shards *s);

/* NULL when there is none of that name. */
const hkt_tensor *hkt_shards_find(const hkt_shards *s, const char *name);

#endif

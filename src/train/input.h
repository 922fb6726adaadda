/* input.h - a batch from a safetensors file: `input.tokens` [B, n], `input.lengths` [B], `input.labels` [B], all I32 or
 * I64 (U8 too). Row b of the tokens counts up to its length. */
#ifndef HKT_TRAIN_INPUT_H
#define HKT_TRAIN_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/safetensors.h"
#include "base/status.h"
#include "model/net.h"

typedef struct {
    size_t n_seq, n_tokens; /* n_tokens: packed, sum of the lengths */
    size_t *lengths;        /* [n_seq], owned */
    int32_t *tokens;        /* [n_tokens], owned */
    int32_t *labels;        /* [n_seq], owned */
    hkt_batch batch;        /* points into the above */
} hkt_input;

/* Errors: HKT_EINPUT naming file, tensor and place of a missing or ill-shaped tensor, a length outside 1..n or above
 * max_len, a token outside the vocabulary, a label outside the classes. */
hkt_status hkt_input_read(hkt_input *out, const hkt_safetensors *file, const hkt_config *config);
/* May be called on a zeroed struct. */
void hkt_input_free(hkt_input *in);

#endif

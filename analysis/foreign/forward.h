/* forward.h - the forward pass of a model of another kind up to its scores, in double: embedding, and layer by layer
 * norm, queries, keys and values, rotary positions, attention, norm, gated or plain feed-forward part. A layer's
 * weights are in memory at a time. For the families that have hkt_forward_names: gpt2, llama, llama2.c. */
#ifndef HKT_ANALYSIS_FOREIGN_FORWARD_H
#define HKT_ANALYSIS_FOREIGN_FORWARD_H

#include <stdint.h>

#include "analysis/view/walk.h"
#include "foreign/foreign.h"

typedef struct {
    const hkt_foreign *model; /* borrowed */
    const hkt_forward_names *names;
    size_t n, T, vocab, hidden;    /* n sequences of T tokens; hidden: width of the feed-forward part */
    int32_t *tokens;               /* [n, T] */
    double *embedding, *positions; /* [vocab, d], [T, d]; positions NULL: none are learned */
} hkt_forward;

/* path: a .npy file of integers [sequences, tokens] or [tokens], or a safetensors file with a tensor `tokens`. Errors:
 * HKT_EINPUT for a family without a forward pass, for attention that is not looked at in full, a missing tensor, a
 * shape, a token that the model has not, more tokens than it has positions; HKT_ESYSTEM. hkt_forward_close, also after
 * an error. */
hkt_status hkt_forward_open(hkt_forward *out, const hkt_foreign *model, const char *path);
void hkt_forward_close(hkt_forward *f);

/* Its scores; one level. Errors of its walk: those of reading; HKT_ENUMERIC when a score is not finite. */
hkt_score_source hkt_score_of_forward(const hkt_forward *f);

#endif

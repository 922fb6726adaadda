/* net.h - the Hierarchical Kernel Transformer (docs/model.md 2): forward and hand-derived backward over a ragged batch.
 *
 * Sequences are packed without padding: level l of the batch has rows offset[l][b] .. offset[l][b+1]-1 for sequence b.
 * Memory is linear in the number of tokens. Results do not depend on the number of threads or on timing: every sum has
 * a fixed order. */
#ifndef HKT_MODEL_NET_H
#define HKT_MODEL_NET_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/layout.h"
#include "model/part.h"

typedef struct {
    size_t n_seq;          /* B */
    const size_t *length;  /* [B], 1..max_len */
    const int32_t *tokens; /* packed, sum of lengths; 0..V-1 */
    const int32_t *labels; /* [B], 0..C-1; NULL: no loss */
} hkt_batch;

typedef struct {
    double rate;         /* 0: off */
    uint64_t seed, step; /* see hkt_dropout */
} hkt_dropout_spec;

/* Replaces parts of the forward pass; for ablations and interventions. All false/zero: the model itself. */
typedef struct {
    bool no_attention[HKT_MAX_LEVELS];   /* A V counted as zero on that level */
    bool no_conv[HKT_MAX_LEVELS];        /* convolution counted as zero on that level */
    hkt_score_part part[HKT_MAX_LEVELS]; /* that level's S, in every layer and head, is replaced by this part of it */
    uint64_t seed;                       /* of HKT_PART_RANDOM */
} hkt_intervention;

/* Where the time of the forward and backward pass goes; RN(hkt_net_profile). */
typedef enum {
    HKT_PHASE_PROJECT,     /* products with the weights of q, k, v and out */
    HKT_PHASE_ATTEND,      /* attention, forward */
    HKT_PHASE_ATTEND_BACK, /* attention, backward */
    HKT_PHASE_FFN,         /* products with the weights of the FFN */
    HKT_PHASE_GELU,
    HKT_PHASE_NORM,
    HKT_PHASE_CONV,
    HKT_PHASE_DOWN,     /* downsampling */
    HKT_PHASE_FUSION,   /* level weights, mixture of attention and convolution, of levels */
    HKT_PHASE_RESIDUAL, /* sums of the residual stream, dropout */
    HKT_PHASE_ENDS,     /* embedding, pooling, classifier */
    HKT_PHASE_SUMS,     /* partial gradients set to zero and added up */
    HKT_PHASE_REST,     /* between the kernels: set-up of loops, waiting */
    HKT_PHASES
} hkt_phase;

#define HKT_BODY "model/net.inc.h"
#include "num/both.h"

#endif

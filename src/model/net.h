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

/* Where the time of the forward and backward pass goes; hkt_net_profile. */
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

#define hkt_net             HKT_REAL_NAME(hkt_net)
#define hkt_net_create      HKT_REAL_NAME(hkt_net_create)
#define hkt_net_destroy     HKT_REAL_NAME(hkt_net_destroy)
#define hkt_net_bytes       HKT_REAL_NAME(hkt_net_bytes)
#define hkt_net_forward     HKT_REAL_NAME(hkt_net_forward)
#define hkt_net_loss        HKT_REAL_NAME(hkt_net_loss)
#define hkt_net_gradient    HKT_REAL_NAME(hkt_net_gradient)
#define hkt_tap             HKT_REAL_NAME(hkt_tap)
#define hkt_net_tap         HKT_REAL_NAME(hkt_net_tap)
#define hkt_net_profile     HKT_REAL_NAME(hkt_net_profile)
#define hkt_net_phases      HKT_REAL_NAME(hkt_net_phases)
#define hkt_net_forward_ref HKT_REAL_NAME(hkt_net_forward_ref)
#define HKT_BODY            "model/net.h"
#include "num/both.h"

#elif defined HKT_BODY

typedef struct hkt_net hkt_net;

/* Workspace for batches of at most max_tokens tokens and max_seqs sequences. train: keep what the backward pass needs;
 * otherwise layers share one workspace. keep_taps (with train = false): keep every layer's level inputs, q, k, v and
 * outputs for hkt_net_tap. Without taps, a workspace for eight or more times the longest sequence holds only some
 * sequences per thread at a time: batches are cut into slices. Single allocation phase: calls do not allocate, except
 * for the first one with an intervention on score parts. Uses the number of threads in force now (num/blas.h). layout
 * is borrowed. One call at a time per net. */
hkt_status hkt_net_create(hkt_net **out, const hkt_layout *layout, size_t max_tokens, size_t max_seqs, bool train,
                          bool keep_taps);
void hkt_net_destroy(hkt_net *net);
/* Bytes held by the workspace, without the attention scratch of each thread (num/attention.h). */
size_t hkt_net_bytes(const hkt_net *net);

/* params: [layout->total]. logits [out]: [B, C] or NULL. loss [out]: mean cross entropy, or NULL (it needs labels).
 * dropout: NULL = off (applied to the embedding sum and to the output of attention and FFN). iv: NULL = none. Errors:
 * HKT_ESYSTEM (only with an intervention on score parts); HKT_EINPUT for a token, label or length out of range or a
 * batch larger than the workspace; HKT_ENUMERIC when a logit is not finite; logits and loss are then untouched. A
 * sequence has bit-identical logits whatever else is in the batch, and with causal = true and static or score fusion
 * the hidden states of a token are bit-identical for any change of later tokens. */
hkt_status hkt_net_forward(hkt_net *net, const real *params, const hkt_batch *batch, const hkt_dropout_spec *dropout,
                           const hkt_intervention *iv, real *logits, double *loss);

/* Cross entropy of one sequence: log sum exp(logits) - logits[label], logits [classes], in double. */
double hkt_net_loss(size_t classes, const real *logits, size_t label);

/* grads [out]: [layout->total], overwritten with the gradient of the mean cross entropy. loss [out]: its value, the
 * bits of hkt_net_forward. Needs train = true and labels. Errors as of hkt_net_forward; nothing is written then. */
hkt_status hkt_net_gradient(hkt_net *net, const real *params, const hkt_batch *batch, const hkt_dropout_spec *dropout,
                            real *grads, double *loss);

/* Views into the workspace after forward, valid until the next one; for nets with keep_taps, or with train whose
 * max_tokens is below eight times the longest sequence. Row r of level l belongs to sequence b with
 * offset[l][b] <= r < offset[l][b+1]. */
typedef struct {
    size_t n_levels;
    const size_t *offset[HKT_MAX_LEVELS];              /* [B + 1] */
    const real *x[HKT_MAX_LEVELS];                     /* [rows, d]: X^(l), the level's input */
    const real *q[HKT_MAX_LEVELS], *k[HKT_MAX_LEVELS]; /* [rows, d], row stride ld[l]; head h: columns h p .. */
    const real *v[HKT_MAX_LEVELS];                     /* NULL where absent */
    /* [rows, d]: outputs of attention and convolution before they are mixed, NULL where absent. Column i of the level's
     * output: Y^(l) = share_o[l d + i] o[l] + share_conv[l d + i] conv[l]. */
    const real *o[HKT_MAX_LEVELS], *conv[HKT_MAX_LEVELS];
    const real *share_o, *share_conv; /* [value levels, d] */
    size_t ld[HKT_MAX_LEVELS];
    const real *lambda; /* [L] */
    const real *alpha;  /* [B, L] (equals lambda unless dynamic) */
    const real *hidden; /* [rows of level 0, d]: the residual stream after this layer */
} hkt_tap;
hkt_status hkt_net_tap(const hkt_net *net, size_t layer, hkt_tap *out);

/* Starts (on) or ends to measure the phases, a clock reading per kernel; off at first, and then free of cost. */
void hkt_net_profile(hkt_net *net, bool on);
/* Seconds spent in each phase since the measuring started, summed over threads. */
void hkt_net_phases(const hkt_net *net, double seconds[HKT_PHASES]);

/* Naive forward of one sequence with every matrix in memory, straight from docs/model.md: the oracle. logits: [C].
 * hidden: [layers, T, d] residual stream after each layer, or NULL. */
hkt_status hkt_net_forward_ref(const hkt_layout *layout, const real *params, size_t T, const int32_t *tokens,
                               real *logits, real *hidden);

#endif

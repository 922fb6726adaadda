/* Body of net.h for one precision; see num/both.h. */

typedef struct RN(hkt_net) RN(hkt_net);

/* Workspace for batches of at most max_tokens tokens and max_seqs sequences. train: keep what the backward pass needs;
 * otherwise layers share one workspace. keep_taps (with train = false): keep every layer's level inputs, q, k, v and
 * outputs for RN(hkt_net_tap). Without taps, a workspace for eight or more times the longest sequence holds only some
 * sequences per thread at a time: batches are cut into slices, and with train and labels the forward pass computes the
 * gradient along. Single allocation phase: forward and backward do not allocate, except for the first forward pass with
 * an intervention on score parts. Uses the number of threads in force now (num/blas.h). layout is borrowed. One call at
 * a time per net. */
hkt_status RN(hkt_net_create)(RN(hkt_net) **out, const hkt_layout *layout, size_t max_tokens, size_t max_seqs,
                              bool train, bool keep_taps);
void RN(hkt_net_destroy)(RN(hkt_net) *net);
/* Bytes held by the workspace, without the attention scratch of each thread (num/attention.h). */
size_t RN(hkt_net_bytes)(const RN(hkt_net) *net);

/* params: [layout->total]. logits [out]: [B, C] or NULL. loss [out]: mean cross entropy, or NULL (it needs labels).
 * dropout: NULL = off (applied to the embedding sum and to the output of attention and FFN). iv: NULL = none.
 * Errors: HKT_ESYSTEM (only with an intervention on score parts); HKT_EINPUT for a token, label or length out of range
 * or a batch larger than the workspace; HKT_ENUMERIC when a logit is not finite; logits and loss are then untouched.
 * A sequence has bit-identical logits whatever else is in the batch, and with causal = true and static or score fusion
 * the hidden states of a token are bit-identical for any change of later tokens. */
hkt_status RN(hkt_net_forward)(RN(hkt_net) *net, const REAL *params, const hkt_batch *batch,
                               const hkt_dropout_spec *dropout, const hkt_intervention *iv, REAL *logits, double *loss);

/* Cross entropy of one sequence: log sum exp(logits) - logits[label], logits [classes], in double. */
double RN(hkt_net_loss)(size_t classes, const REAL *logits, size_t label);

/* Gradient of the mean loss of the last forward call (same params, batch and dropout; needs train = true and labels,
 * no intervention). grads [out]: [layout->total], overwritten. */
hkt_status RN(hkt_net_backward)(RN(hkt_net) *net, const REAL *params, const hkt_batch *batch, REAL *grads);

/* Views into the workspace after forward, valid until the next one; for nets with keep_taps, or with train whose
 * max_tokens is below eight times the longest sequence. Row r of level l belongs to sequence b with
 * offset[l][b] <= r < offset[l][b+1]. */
typedef struct {
    size_t n_levels;
    const size_t *offset[HKT_MAX_LEVELS];              /* [B + 1] */
    const REAL *x[HKT_MAX_LEVELS];                     /* [rows, d]: X^(l), the level's input */
    const REAL *q[HKT_MAX_LEVELS], *k[HKT_MAX_LEVELS]; /* [rows, d], row stride ld[l]; head h: columns h p .. */
    const REAL *v[HKT_MAX_LEVELS];                     /* NULL where absent */
    /* [rows, d]: outputs of attention and convolution before they are mixed, NULL where absent. Column i of the level's
     * output: Y^(l) = share_o[l d + i] o[l] + share_conv[l d + i] conv[l]. */
    const REAL *o[HKT_MAX_LEVELS], *conv[HKT_MAX_LEVELS];
    const REAL *share_o, *share_conv; /* [value levels, d] */
    size_t ld[HKT_MAX_LEVELS];
    const REAL *lambda; /* [L] */
    const REAL *alpha;  /* [B, L] (equals lambda unless dynamic) */
    const REAL *hidden; /* [rows of level 0, d]: the residual stream after this layer */
} RN(hkt_tap);
hkt_status RN(hkt_net_tap)(const RN(hkt_net) *net, size_t layer, RN(hkt_tap) *out);

/* Starts (on) or ends to measure the phases, a clock reading per kernel; off at first, and then free of cost. */
void RN(hkt_net_profile)(RN(hkt_net) *net, bool on);
/* Seconds spent in each phase since the measuring started, summed over threads. */
void RN(hkt_net_phases)(const RN(hkt_net) *net, double seconds[HKT_PHASES]);

/* Naive forward of one sequence with every matrix in memory, straight from docs/model.md: the oracle. logits: [C].
 * hidden: [layers, T, d] residual stream after each layer, or NULL. */
hkt_status RN(hkt_net_forward_ref)(const hkt_layout *layout, const REAL *params, size_t T, const int32_t *tokens,
                                   REAL *logits, REAL *hidden);

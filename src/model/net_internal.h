/* net_internal.h - the workspace that the sources of the net share. Private to src/model; for sources that include
 * num/real.h (one precision at a time).
 *
 * Parallel loops run over items whose number and bounds depend on the batch only: chunks of rows, sequences, or
 * (sequence, level, head) of the attention. An item writes rows of its own. What is summed over items (the gradients of
 * the parameters) goes to one partial block per group of items, in the order of the items, and the blocks are added in
 * the order of the groups: the same bits for any number of threads. */
#ifndef HKT_MODEL_NET_INTERNAL_H
#define HKT_MODEL_NET_INTERNAL_H

#include <omp.h>

#include "base/progress.h"
#include "model/net.h"
#include "num/kernels.h"
#include "num/real.h"

#define hkt_net_slices             HKT_REAL_NAME(hkt_net_slices)
#define hkt_net_pass_create        HKT_REAL_NAME(hkt_net_pass_create)
#define hkt_net_pass_destroy       HKT_REAL_NAME(hkt_net_pass_destroy)
#define hkt_net_slices_create      HKT_REAL_NAME(hkt_net_slices_create)
#define hkt_net_slices_destroy     HKT_REAL_NAME(hkt_net_slices_destroy)
#define hkt_net_slices_run         HKT_REAL_NAME(hkt_net_slices_run)
#define hkt_net_slices_gradient    HKT_REAL_NAME(hkt_net_slices_gradient)
#define hkt_net_check_batch        HKT_REAL_NAME(hkt_net_check_batch)
#define hkt_net_fusion_weights     HKT_REAL_NAME(hkt_net_fusion_weights)
#define hkt_net_unmix              HKT_REAL_NAME(hkt_net_unmix)
#define hkt_net_fusion_gradient    HKT_REAL_NAME(hkt_net_fusion_gradient)
#define hkt_net_parts              HKT_REAL_NAME(hkt_net_parts)
#define hkt_net_capacity           HKT_REAL_NAME(hkt_net_capacity)
#define hkt_net_start_clocks       HKT_REAL_NAME(hkt_net_start_clocks)
#define hkt_net_splits             HKT_REAL_NAME(hkt_net_splits)
#define hkt_net_bind               HKT_REAL_NAME(hkt_net_bind)
#define hkt_net_max_items          HKT_REAL_NAME(hkt_net_max_items)
#define hkt_net_sequence_of        HKT_REAL_NAME(hkt_net_sequence_of)
#define hkt_net_attention_forward  HKT_REAL_NAME(hkt_net_attention_forward)
#define hkt_net_attention_call     HKT_REAL_NAME(hkt_net_attention_call)
#define hkt_net_mix                HKT_REAL_NAME(hkt_net_mix)
#define hkt_net_attention_backward HKT_REAL_NAME(hkt_net_attention_backward)
#define hkt_net_needs_parts        HKT_REAL_NAME(hkt_net_needs_parts)
#define hkt_net_parts_create       HKT_REAL_NAME(hkt_net_parts_create)
#define hkt_net_parts_destroy      HKT_REAL_NAME(hkt_net_parts_destroy)
#define hkt_net_parts_prepare      HKT_REAL_NAME(hkt_net_parts_prepare)
#define hkt_net_part_forward       HKT_REAL_NAME(hkt_net_part_forward)
#define hkt_net_run                HKT_REAL_NAME(hkt_net_run)
#define hkt_net_add_gradient       HKT_REAL_NAME(hkt_net_add_gradient)
#define hkt_net_mean               HKT_REAL_NAME(hkt_net_mean)
#define hkt_net_log_sum            HKT_REAL_NAME(hkt_net_log_sum)

enum {
    NET_CHUNK = 256,     /* rows of one item of the row-wise passes */
    NET_GROUPS = 8,      /* partial gradient blocks */
    NET_ROW_BLOCK = 512, /* query rows of one item of the attention's forward pass */
};

/* Activations of one layer; B sequences, R_l rows at level l. Without `train` most are shared by all layers. */
typedef struct {
    real *x;                       /* [R_0, d] residual stream at the layer's input */
    real *mean1, *rstd1;           /* [R_0] */
    real *level_x[HKT_MAX_LEVELS]; /* [R_l, d] X^(l); X^(0) is the first norm's output */
    real *qkv[HKT_MAX_LEVELS];     /* [R_l, ld[l]] q, k and (value levels) v side by side */
    real *o[HKT_MAX_LEVELS];       /* [R_l, d] attention's output; value levels */
    real *conv[HKT_MAX_LEVELS];    /* [R_l, d] convolution's output; value levels, hybrid only */
    real *lse[HKT_MAX_LEVELS];     /* [H, R_l]; value levels, train only */
    real *lambda;                  /* [L] */
    real *alpha;                   /* [B, L] */
    real *xbar;                    /* [B, d] mean of X^(0); with a gate only */
    real *beta;                    /* [value levels, H]; hybrid only */
    real *share_o, *share_conv;    /* [value levels, d] factor of o and conv in Y^(l) */
    real *mixed;                   /* [R_0, d] fused heads, input of out */
    real *x_mid;                   /* [R_0, d] residual stream between attention and FFN */
    real *mean2, *rstd2;           /* [R_0] */
    real *normed2;                 /* [R_0, d] */
    real *up;                      /* [R_0, f d] before gelu; train only, otherwise thread scratch */
} net_layer;

/* Gradients of one layer's activations (train only), shared by all layers. */
typedef struct {
    real *x;                       /* [R_0, d] of the residual stream */
    real *y[HKT_MAX_LEVELS];       /* [R_l, d] of the fused heads at l = 0, then of o; value levels */
    real *conv[HKT_MAX_LEVELS];    /* [R_l, d]; value levels, hybrid only */
    real *qkv[HKT_MAX_LEVELS];     /* [R_l, ld[l]] */
    real *level_x[HKT_MAX_LEVELS]; /* [R_l, d] */
    real *alpha;                   /* [B, L] of the level weights, per sequence */
    real *head_weight;             /* [B, H, L] the same per head; score mode only */
    real *xbar;                    /* [B, d]; with a gate only */
    real *pooled;                  /* [B, d] */
    real *logits;                  /* [B, C] */
    real *partial;                 /* [NET_GROUPS, partial_size] gradients of one layer's parameters */
} net_grads;

/* One item of the attention: query rows of a head, or (head = H) the convolution of all heads. */
typedef struct {
    size_t seq, level, head, row_begin, row_end;
    double cost;
} net_item;

/* Scratch of one thread. */
typedef struct {
    hkt_attention_work *attention;
    double last, seconds[HKT_PHASES]; /* the clock, and what it has measured */
    real *a, *b;                      /* [NET_CHUNK, d] */
    real *wide, *act;                 /* [NET_CHUNK, f d]; act: train only */
} net_worker;

/* Workspace of interventions on score parts; net_part.c. */
typedef struct hkt_net_parts hkt_net_parts;

/* Activations of one batch, or of one slice of it at a time, and what is known of that batch. */
typedef struct {
    const hkt_layout *layout; /* borrowed */
    size_t max_tokens, max_seqs;
    bool train, keep_taps;
    bool one_sum; /* one thread: gradients are added up at once, without partial blocks */
    size_t n_workers;
    net_worker *worker;
    net_layer *layer; /* [N + 1]: layer[N] has only x, the output of the last layer */
    net_grads grad;
    real *mean, *rstd;           /* [R_0] final norm */
    real *pooled;                /* [B, d] */
    size_t partial_size;         /* elements of one partial block */
    size_t ld[HKT_MAX_LEVELS];   /* row stride of qkv */
    size_t span[HKT_MAX_LEVELS]; /* s^l, the tokens under one row of level l (saturated) */
    const real *packed;          /* borrowed from the net */
    bool profile;                /* measure the phases */
    real *block;                 /* backs every array above */
    size_t bytes;
    hkt_net_parts *parts; /* NULL until an intervention needs it */

    /* The batch. */
    size_t n_seq;
    real *logits;                   /* [B, C] in the net's */
    size_t *offset[HKT_MAX_LEVELS]; /* [B + 1] */
    net_item *item, *back_item;     /* by falling cost */
    size_t n_items, n_back_items;
    hkt_dropout_spec dropout;
    hkt_intervention iv;
    size_t first_row; /* number of the batch's first token, for dropout */
    size_t mean_of;   /* sequences that the loss is the mean of */
    real *direct;     /* one_sum: gradients to add to; otherwise NULL */
} net_pass;

/* The slices of a large batch; net_split.c. */
typedef struct hkt_net_slices hkt_net_slices;

struct hkt_net {
    const hkt_layout *layout; /* borrowed */
    size_t max_tokens, max_seqs;
    bool train, keep_taps;
    size_t n_threads;
    net_pass *pass; /* [n_passes]: one for whole batches, or one per thread for their slices */
    size_t n_passes;
    hkt_net_slices *slices; /* NULL: batches are taken whole */
    real *packed;           /* [layout->total] the matrices of the parameters as hkt_linear_pack leaves them */
    real *logits;           /* [B, C] */
    size_t bytes;
    size_t n_seq; /* of the last call */
};

/* --- net_pass.c --- */
/* `pass` says what is wanted: layout to n_workers. On failure hkt_net_pass_destroy frees what there is. */
hkt_status hkt_net_pass_create(net_pass *pass);
void hkt_net_pass_destroy(net_pass *pass);
/* Rows that level l can have. */
size_t hkt_net_capacity(const net_pass *pass, size_t level);
/* Sets the clocks of all threads. */
void hkt_net_start_clocks(const net_pass *pass);

/* --- net_split.c --- */
/* Whether batches of this net are cut into slices; does not depend on the number of threads. */
bool hkt_net_splits(const hkt_net *net);
/* slice_tokens [out]: the largest slice. */
hkt_status hkt_net_slices_create(hkt_net *net, size_t *slice_tokens);
void hkt_net_slices_destroy(hkt_net *net);
/* Logits, and with `backward` the gradients of the groups, which hkt_net_slices_gradient adds up. */
hkt_status hkt_net_slices_run(hkt_net *net, const real *params, const hkt_batch *batch, bool backward);
void hkt_net_slices_gradient(const hkt_net *net, real *grads);

/* --- net_batch.c --- */
hkt_status hkt_net_check_batch(const hkt_net *net, const hkt_batch *batch);
/* Sets offsets and items. */
void hkt_net_bind(net_pass *pass, const hkt_batch *batch);
/* Upper bound of the number of items for the workspace's largest batch. */
size_t hkt_net_max_items(const net_pass *pass);
/* Sequence that owns a row of level 0. */
size_t hkt_net_sequence_of(const net_pass *pass, size_t row);

/* --- net_attention.c --- */
/* X^(l), q, k, v, attention, convolution and level weights of a layer. */
void hkt_net_attention_forward(net_pass *pass, const real *params, size_t layer);
/* The head and level of an item as a call of num/attention.h. */
void hkt_net_attention_call(const net_pass *pass, const net_layer *a, const net_item *item, hkt_attention *out);
/* From grad.y[0] = gradient of `mixed` to grad.level_x[0] = gradient of X^(0), and the partial gradients. */
void hkt_net_attention_backward(net_pass *pass, const real *params, size_t layer);

/* --- net_fusion.c --- */
/* Weights of levels and heads of a layer. */
void hkt_net_fusion_weights(net_pass *pass, const real *params, size_t layer);
/* Fuses the levels into rows begin..end-1 of `mixed`. */
void hkt_net_mix(const net_pass *pass, size_t layer, size_t begin, size_t end);
/* From grad.y[0] = gradient of `mixed` to those of o, conv, beta and of the weight of each level. */
void hkt_net_unmix(const net_pass *pass, size_t layer);
/* From the gradients of the levels' weights to those of theta and the gate, and grad.xbar. */
void hkt_net_fusion_gradient(const net_pass *pass, const real *params, size_t layer);

/* --- net_part.c --- */
/* True when the intervention in force replaces the scores of some of levels first .. first + n - 1. */
bool hkt_net_needs_parts(const net_pass *pass, size_t first, size_t n);
hkt_status hkt_net_parts_create(net_pass *pass);
void hkt_net_parts_destroy(net_pass *pass);
/* What the random parts of a layer need, after X^(l) is known. */
void hkt_net_parts_prepare(net_pass *pass, const real *params, size_t layer);
/* The attention of one item, which `call` describes, with the parts of its scores; o [T, p], lse as in attention.h. */
void hkt_net_part_forward(const net_pass *pass, const net_item *item, const hkt_attention *call, real *o, size_t ld_o,
                          real *lse);

/* --- net_forward.c, net_backward.c --- */
/* Logits of the bound batch. */
hkt_status hkt_net_run(net_pass *pass, const real *params, const hkt_batch *batch);
/* grads [total] += the gradient of that batch. */
void hkt_net_add_gradient(net_pass *pass, const real *params, const hkt_batch *batch, real *grads);
/* out [d] = mean of the rows of x [n, d]; scratch [d]. */
void hkt_net_mean(size_t n, size_t d, const real *x, real *out, real *scratch);
/* log sum exp of z [n], in double. */
double hkt_net_log_sum(size_t n, const real *z);

/* --- small things used by all --- */
static inline net_worker *net_worker_of(const net_pass *pass)
{
    /* A pass of one thread runs inside a parallel loop over the slices. */
    return &pass->worker[pass->n_workers > 1 ? omp_get_thread_num() : 0];
}

/* Adds the time since the thread's last lap to `phase`. */
static inline void net_lap(const net_pass *pass, hkt_phase phase)
{
    if (!pass->profile)
        return;
    net_worker *w = net_worker_of(pass);
    double now = hkt_now();
    w->seconds[phase] += now - w->last;
    w->last = now;
}

/* Threads for a loop over `items`: all, or one when there is nothing to share (no barrier to wait at). */
static inline int net_team(const net_pass *pass, size_t items)
{
    return items > 1 ? (int)pass->n_workers : 1;
}

static inline size_t net_rows(const net_pass *pass, size_t level)
{
    return pass->offset[level][pass->n_seq];
}

static inline size_t net_length(const net_pass *pass, size_t level, size_t seq)
{
    return pass->offset[level][seq + 1] - pass->offset[level][seq];
}

static inline size_t net_chunks(size_t rows)
{
    return (rows + NET_CHUNK - 1) / NET_CHUNK;
}

static inline size_t net_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The largest of z [n], n > 0. Not by fmax: gcc 12 for ARM cannot vectorise that reduction and ends with an internal
 * error. A NaN may be passed over here; the sum that its exponential enters is NaN all the same. */
static inline double net_largest(size_t n, const real *z)
{
    real top = z[0];
    for (size_t i = 1; i < n; i++)
        top = z[i] > top ? z[i] : top;
    return (double)top;
}

static inline bool net_gated(const net_pass *pass)
{
    return hkt_config_gated(&pass->layout->config);
}

/* Group g of n items: items first..last-1. */
typedef struct {
    size_t first, last;
} net_range;

static inline size_t net_groups(size_t n)
{
    return net_min(n, NET_GROUPS);
}

static inline net_range net_group(size_t n, size_t g)
{
    size_t groups = net_groups(n);
    return (net_range){g * n / groups, (g + 1) * n / groups};
}

/* Rows of group g when `rows` rows are split by whole chunks. */
static inline net_range net_group_rows(size_t rows, size_t g)
{
    net_range r = net_group(net_chunks(rows), g);
    return (net_range){r.first * NET_CHUNK, net_min(r.last * NET_CHUNK, rows)};
}

/* Where group g sums the gradient of the parameter at `offset`, in the block of parameters that begins at `begin`. */
static inline real *net_partial(const net_pass *pass, size_t g, size_t begin, size_t offset)
{
    if (pass->direct)
        return pass->direct + offset;
    return pass->grad.partial + g * pass->partial_size + (offset - begin);
}

/* Sites of hkt_dropout. */
enum { NET_SITE_EMBED = 0 };
static inline uint32_t net_site_attention(size_t layer)
{
    return (uint32_t)(1 + 2 * layer);
}
static inline uint32_t net_site_ffn(size_t layer)
{
    return (uint32_t)(2 + 2 * layer);
}

/* Applies dropout to rows from..from+n-1 of a [R_0, d] array, from x to y. */
static inline void net_dropout(const net_pass *pass, uint32_t site, size_t from, size_t n, const real *x, real *y)
{
    size_t d = pass->layout->config.d_model;
    hkt_dropout(n * d, (pass->first_row + from) * d, pass->dropout.rate, pass->dropout.seed, pass->dropout.step, site,
                x, y);
}

#endif

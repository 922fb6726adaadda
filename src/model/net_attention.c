/* net_attention.c - the hierarchical attention of one layer (docs/model.md 2.1), forward and backward. */
#include "model/net_internal.h"
#include "num/real.h"

/* First norm, and q, k, v of level 0, by chunks of rows. */
static void norm_and_project(net_pass *pass, const real *params, size_t n)
{
    const hkt_layer_offsets *o = &pass->layout->layer[n];
    const net_layer *a = &pass->layer[n];
    size_t d = pass->layout->config.d_model, rows = net_rows(pass, 0);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_chunks(rows)))
    for (size_t i = 0; i < net_chunks(rows); i++) {
        size_t at = i * NET_CHUNK, m = net_min(NET_CHUNK, rows - at);
        net_lap(pass, HKT_PHASE_REST);
        hkt_layernorm_forward(m, d, a->x + at * d, params + o->norm1_weight, params + o->norm1_bias,
                              a->level_x[0] + at * d, a->mean1 + at, a->rstd1 + at);
        net_lap(pass, HKT_PHASE_NORM);
        hkt_linear_forward_packed(m, pass->ld[0], d, a->level_x[0] + at * d, d, pass->packed + o->level[0].q, NULL,
                                  a->qkv[0] + at * pass->ld[0], pass->ld[0]);
        net_lap(pass, HKT_PHASE_PROJECT);
    }
}

/* X^(l) by the cascade (step 1), and the mean of X^(0) that the gate reads. */
static void downsample(net_pass *pass, const real *params, size_t n)
{
    const hkt_config *c = &pass->layout->config;
    const hkt_layer_offsets *o = &pass->layout->layer[n];
    const net_layer *a = &pass->layer[n];
    size_t d = c->d_model;
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, pass->n_seq))
    for (size_t b = 0; b < pass->n_seq; b++) {
        net_lap(pass, HKT_PHASE_REST);
        for (size_t l = 1; l < c->levels; l++)
            hkt_downsample_forward(net_length(pass, l - 1, b), d, c->stride,
                                   a->level_x[l - 1] + pass->offset[l - 1][b] * d, params + o->level[l].down,
                                   a->level_x[l] + pass->offset[l][b] * d);
        net_lap(pass, HKT_PHASE_DOWN);
        if (net_gated(pass))
            hkt_net_mean(net_length(pass, 0, b), d, a->level_x[0] + pass->offset[0][b] * d, a->xbar + b * d,
                         net_worker_of(pass)->a);
        net_lap(pass, HKT_PHASE_FUSION);
    }
}

/* q, k, v of the coarser levels, by chunks of rows. */
static void project_coarse(net_pass *pass, size_t n)
{
    const hkt_config *c = &pass->layout->config;
    const net_layer *a = &pass->layer[n];
    size_t d = c->d_model;
#pragma omp parallel num_threads(net_team(pass, net_chunks(net_rows(pass, 0))))
    for (size_t l = 1; l < c->levels; l++) {
        const real *w = pass->packed + pass->layout->layer[n].level[l].q;
        size_t rows = net_rows(pass, l), ld = pass->ld[l];
#pragma omp for schedule(dynamic) nowait
        for (size_t i = 0; i < net_chunks(rows); i++) {
            size_t at = i * NET_CHUNK;
            net_lap(pass, HKT_PHASE_REST);
            hkt_linear_forward_packed(net_min(NET_CHUNK, rows - at), ld, d, a->level_x[l] + at * d, d, w, NULL,
                                      a->qkv[l] + at * ld, ld);
            net_lap(pass, HKT_PHASE_PROJECT);
        }
    }
}

void hkt_net_attention_call(const net_pass *pass, const net_layer *a, const net_item *item, hkt_attention *out)
{
    const hkt_config *c = &pass->layout->config;
    bool score = hkt_fusion_of(c)->sums_scores;
    size_t d = c->d_model, p = d / c->heads, level = item->level;
    *out = (hkt_attention){.T = net_length(pass, level, item->seq),
                           .p = p,
                           .stride = c->levels > 1 ? c->stride : 2,
                           .n_levels = hkt_score_levels(c),
                           .causal = c->causal};
    for (size_t i = 0; i < out->n_levels; i++) {
        size_t l = level + i, ld = pass->ld[l];
        out->q[i] = a->qkv[l] + pass->offset[l][item->seq] * ld + item->head * p;
        out->k[i] = out->q[i] + d;
        out->ld_qk[i] = ld;
        out->weight[i] = score ? a->lambda[l] : 1;
    }
    out->v = out->q[0] + 2 * d;
    out->ld_v = pass->ld[level];
}

static void run_item(const net_pass *pass, const real *params, size_t n, const net_item *item)
{
    const hkt_config *c = &pass->layout->config;
    const net_layer *a = &pass->layer[n];
    size_t d = c->d_model, l = item->level, at = pass->offset[l][item->seq];
    net_lap(pass, HKT_PHASE_REST);
    if (item->head == c->heads) {
        hkt_conv_forward(item->row_end, d, c->conv_width, a->qkv[l] + at * pass->ld[l] + 2 * d, pass->ld[l],
                         params + pass->layout->layer[n].level[l].conv, a->conv[l] + at * d, d);
        net_lap(pass, HKT_PHASE_CONV);
        return;
    }
    hkt_attention call;
    hkt_net_attention_call(pass, a, item, &call);
    real *o = a->o[l] + at * d + item->head * call.p;
    real *lse = pass->train ? a->lse[l] + item->head * net_rows(pass, l) + at : NULL;
    if (hkt_net_needs_parts(pass, l, call.n_levels))
        hkt_net_part_forward(pass, item, &call, o, d, lse);
    else
        hkt_attention_forward(&call, item->row_begin, item->row_end, o, d, lse, net_worker_of(pass)->attention);
    net_lap(pass, HKT_PHASE_ATTEND);
}

void hkt_net_attention_forward(net_pass *pass, const real *params, size_t layer)
{
    norm_and_project(pass, params, layer);
    if (pass->layout->config.levels > 1) {
        downsample(pass, params, layer);
        project_coarse(pass, layer);
    }
    if (pass->parts)
        hkt_net_parts_prepare(pass, params, layer);
    hkt_net_fusion_weights(pass, params, layer);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, pass->n_items))
    for (size_t i = 0; i < pass->n_items; i++)
        run_item(pass, params, layer, &pass->item[i]);
}

static void item_backward(const net_pass *pass, const net_layer *a, const net_item *item)
{
    const hkt_config *c = &pass->layout->config;
    size_t d = c->d_model, level = item->level, at = pass->offset[level][item->seq], H = c->heads;
    hkt_attention call;
    net_lap(pass, HKT_PHASE_REST);
    hkt_net_attention_call(pass, a, item, &call);
    real *dq[HKT_MAX_LEVELS], *dk[HKT_MAX_LEVELS];
    for (size_t i = 0; i < call.n_levels; i++) {
        size_t l = level + i;
        dq[i] = pass->grad.qkv[l] + pass->offset[l][item->seq] * pass->ld[l] + item->head * call.p;
        dk[i] = dq[i] + d;
    }
    real *d_weight =
        hkt_fusion_of(c)->sums_scores ? pass->grad.head_weight + (item->seq * H + item->head) * c->levels : NULL;
    size_t head = at * d + item->head * call.p;
    hkt_attention_backward(&call, a->o[level] + head, pass->grad.y[level] + head, d,
                           a->lse[level] + item->head * net_rows(pass, level) + at, dq, dk, call.ld_qk, dq[0] + 2 * d,
                           pass->ld[level], d_weight, net_worker_of(pass)->attention);
    net_lap(pass, HKT_PHASE_ATTEND_BACK);
}

static void attend_backward(const net_pass *pass, size_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, pass->n_back_items))
    for (size_t i = 0; i < pass->n_back_items; i++)
        item_backward(pass, &pass->layer[n], &pass->back_item[i]);
}

/* Convolution of one sequence: adds to the gradient of v, which the attention has written. */
static void convolve_sequence_backward(const net_pass *pass, const real *params, size_t n, size_t g, size_t b)
{
    const hkt_config *c = &pass->layout->config;
    const hkt_layer_offsets *o = &pass->layout->layer[n];
    size_t d = c->d_model;
    for (size_t l = 0; l < hkt_value_levels(c); l++) {
        size_t at = pass->offset[l][b], v = at * pass->ld[l] + 2 * d;
        hkt_conv_backward(net_length(pass, l, b), d, c->conv_width, pass->layer[n].qkv[l] + v, pass->ld[l],
                          params + o->level[l].conv, pass->grad.conv[l] + at * d, d, pass->grad.qkv[l] + v, pass->ld[l],
                          net_partial(pass, g, o->norm1_weight, o->level[l].conv));
    }
    net_lap(pass, HKT_PHASE_CONV);
}

static void convolve_backward(const net_pass *pass, const real *params, size_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_groups(pass->n_seq)))
    for (size_t g = 0; g < net_groups(pass->n_seq); g++) {
        net_range r = net_group(pass->n_seq, g);
        net_lap(pass, HKT_PHASE_REST);
        for (size_t b = r.first; b < r.last; b++)
            convolve_sequence_backward(pass, params, n, g, b);
    }
}

/* Gradients of X^(l) (without the cascade) and of the q, k, v weights. */
static void project_backward(const net_pass *pass, const real *params, size_t n)
{
    const hkt_layer_offsets *o = &pass->layout->layer[n];
    size_t d = pass->layout->config.d_model;
#pragma omp parallel num_threads(net_team(pass, net_chunks(net_rows(pass, 0))))
    for (size_t l = 0; l < pass->layout->config.levels; l++) {
        size_t rows = net_rows(pass, l), ld = pass->ld[l];
#pragma omp for schedule(dynamic) nowait
        for (size_t g = 0; g < net_groups(net_chunks(rows)); g++) {
            net_range r = net_group_rows(rows, g);
            for (size_t at = r.first; at < r.last; at += NET_CHUNK) {
                size_t m = net_min(NET_CHUNK, r.last - at);
                const real *dy = pass->grad.qkv[l] + at * ld;
                net_lap(pass, HKT_PHASE_REST);
                hkt_linear_backward_input(m, ld, d, dy, ld, params + o->level[l].q, pass->grad.level_x[l] + at * d, d);
                hkt_linear_backward_weight(m, ld, d, dy, ld, pass->layer[n].level_x[l] + at * d, d,
                                           net_partial(pass, g, o->norm1_weight, o->level[l].q), NULL);
                net_lap(pass, HKT_PHASE_PROJECT);
            }
        }
    }
}

/* The cascade from the coarsest level down, and the gate's mean over the tokens, of one sequence. */
static void downsample_sequence_backward(const net_pass *pass, const real *params, size_t n, size_t g, size_t b)
{
    const hkt_config *c = &pass->layout->config;
    const hkt_layer_offsets *o = &pass->layout->layer[n];
    size_t d = c->d_model, T = net_length(pass, 0, b);
    for (size_t l = c->levels - 1; l > 0; l--) {
        size_t fine = pass->offset[l - 1][b] * d, coarse = pass->offset[l][b] * d;
        hkt_downsample_backward(net_length(pass, l - 1, b), d, c->stride, pass->layer[n].level_x[l - 1] + fine,
                                params + o->level[l].down, pass->grad.level_x[l] + coarse,
                                pass->grad.level_x[l - 1] + fine,
                                net_partial(pass, g, o->norm1_weight, o->level[l].down));
    }
    for (size_t i = 0; i < T && net_gated(pass); i++)
        hkt_axpy(d, 1 / (real)T, pass->grad.xbar + b * d, pass->grad.level_x[0] + (pass->offset[0][b] + i) * d);
    net_lap(pass, HKT_PHASE_DOWN);
}

static void downsample_backward(const net_pass *pass, const real *params, size_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_groups(pass->n_seq)))
    for (size_t g = 0; g < net_groups(pass->n_seq); g++) {
        net_range r = net_group(pass->n_seq, g);
        net_lap(pass, HKT_PHASE_REST);
        for (size_t b = r.first; b < r.last; b++)
            downsample_sequence_backward(pass, params, n, g, b);
    }
}

void hkt_net_attention_backward(net_pass *pass, const real *params, size_t layer)
{
    const hkt_config *c = &pass->layout->config;
    hkt_net_unmix(pass, layer);
    attend_backward(pass, layer);
    if (c->hybrid)
        convolve_backward(pass, params, layer);
    hkt_net_fusion_gradient(pass, params, layer);
    project_backward(pass, params, layer);
    if (c->levels > 1)
        downsample_backward(pass, params, layer);
}

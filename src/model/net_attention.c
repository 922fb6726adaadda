/* net_attention.c - forward pass of the hierarchical attention of one layer (docs/model.md 2.1). */
#include "model/net_internal.h"
#include "num/real.h"

#include <math.h>
#include <string.h>

#include "base/elementary.h"

/* First norm, and q, k, v of level 0, by chunks of rows. */
static void norm_and_project(hkt_net *net, const real *params, size_t n)
{
    const hkt_layer_offsets *o = &net->layout->layer[n];
    const net_layer *a = &net->layer[n];
    size_t d = net->layout->config.d_model, rows = net_rows(net, 0);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net_chunks(rows)))
    for (size_t i = 0; i < net_chunks(rows); i++) {
        size_t at = i * NET_CHUNK, m = net_min(NET_CHUNK, rows - at);
        net_lap(net, HKT_PHASE_REST);
        hkt_layernorm_forward(m, d, a->x + at * d, params + o->norm1_weight, params + o->norm1_bias,
                              a->level_x[0] + at * d, a->mean1 + at, a->rstd1 + at);
        net_lap(net, HKT_PHASE_NORM);
        hkt_linear_forward_packed(m, net->ld[0], d, a->level_x[0] + at * d, d, net->packed + o->level[0].q, NULL,
                                  a->qkv[0] + at * net->ld[0], net->ld[0]);
        net_lap(net, HKT_PHASE_PROJECT);
    }
}

/* X^(l) by the cascade (step 1), and the mean of X^(0) that the gate reads. */
static void downsample(hkt_net *net, const real *params, size_t n)
{
    const hkt_config *c = &net->layout->config;
    const hkt_layer_offsets *o = &net->layout->layer[n];
    const net_layer *a = &net->layer[n];
    size_t d = c->d_model;
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net->n_seq))
    for (size_t b = 0; b < net->n_seq; b++) {
        net_lap(net, HKT_PHASE_REST);
        for (size_t l = 1; l < c->levels; l++)
            hkt_downsample_forward(net_length(net, l - 1, b), d, c->stride,
                                   a->level_x[l - 1] + net->offset[l - 1][b] * d, params + o->level[l].down,
                                   a->level_x[l] + net->offset[l][b] * d);
        net_lap(net, HKT_PHASE_DOWN);
        if (net_gated(net))
            hkt_net_mean(net_length(net, 0, b), d, a->level_x[0] + net->offset[0][b] * d, a->xbar + b * d,
                         net_worker_of(net)->a);
        net_lap(net, HKT_PHASE_FUSION);
    }
}

/* q, k, v of the coarser levels, by chunks of rows. */
static void project_coarse(hkt_net *net, size_t n)
{
    const hkt_config *c = &net->layout->config;
    const net_layer *a = &net->layer[n];
    size_t d = c->d_model;
#pragma omp parallel num_threads(net_team(net, net_chunks(net_rows(net, 0))))
    for (size_t l = 1; l < c->levels; l++) {
        const real *w = net->packed + net->layout->layer[n].level[l].q;
        size_t rows = net_rows(net, l), ld = net->ld[l];
#pragma omp for schedule(dynamic) nowait
        for (size_t i = 0; i < net_chunks(rows); i++) {
            size_t at = i * NET_CHUNK;
            net_lap(net, HKT_PHASE_REST);
            hkt_linear_forward_packed(net_min(NET_CHUNK, rows - at), ld, d, a->level_x[l] + at * d, d, w, NULL,
                                      a->qkv[l] + at * ld, ld);
            net_lap(net, HKT_PHASE_PROJECT);
        }
    }
}

static void softmax(size_t n, real *z)
{
    double top = net_largest(n, z), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += hkt_exp((double)z[i] - top);
    for (size_t i = 0; i < n; i++)
        z[i] = (real)(hkt_exp((double)z[i] - top) / sum);
}

static double dot(size_t n, const real *x, const real *y)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (double)x[i] * (double)y[i];
    return s;
}

/* lambda (step 3) and alpha (step 6). */
static void set_level_weights(hkt_net *net, const real *params, size_t n)
{
    const hkt_config *c = &net->layout->config;
    const hkt_layer_offsets *o = &net->layout->layer[n];
    const net_layer *a = &net->layer[n];
    size_t L = c->levels, d = c->d_model;
    for (size_t l = 0; l < L; l++)
        a->lambda[l] = L > 1 ? params[o->theta + l] : 0;
    softmax(L, a->lambda);
    for (size_t b = 0; b < net->n_seq; b++) {
        real *alpha = a->alpha + b * L;
        memcpy(alpha, a->lambda, L * sizeof *alpha);
        if (!net_gated(net))
            continue;
        for (size_t l = 0; l < L; l++)
            alpha[l] = (real)((double)params[o->theta + l] + dot(d, params + o->gate + l * d, a->xbar + b * d));
        softmax(L, alpha);
    }
}

/* beta (step 5), and what an intervention leaves of attention and convolution, spread over the columns of the heads. */
static void set_head_weights(hkt_net *net, const real *params, size_t n)
{
    const hkt_config *c = &net->layout->config;
    const hkt_layer_offsets *o = &net->layout->layer[n];
    const net_layer *a = &net->layer[n];
    size_t d = c->d_model, p = d / c->heads;
    for (size_t l = 0; l < hkt_value_levels(c); l++)
        for (size_t h = 0; h < c->heads; h++) {
            double logit = c->hybrid ? (double)params[o->beta + l * c->heads + h] : 0;
            double beta = c->hybrid ? 1 / (1 + hkt_exp(-logit)) : 1;
            a->beta[l * c->heads + h] = (real)beta;
            for (size_t i = h * p; i < (h + 1) * p; i++) {
                a->share_o[l * d + i] = net->iv.no_attention[l] ? 0 : (real)beta;
                a->share_conv[l * d + i] = net->iv.no_conv[l] ? 0 : (real)(1 - beta);
            }
        }
}

void hkt_net_attention_call(const hkt_net *net, const net_layer *a, const net_item *item, hkt_attention *out)
{
    const hkt_config *c = &net->layout->config;
    bool score = c->fusion == HKT_FUSION_SCORE;
    size_t d = c->d_model, p = d / c->heads, level = item->level;
    *out = (hkt_attention){.T = net_length(net, level, item->seq),
                           .p = p,
                           .stride = c->levels > 1 ? c->stride : 2,
                           .n_levels = score ? c->levels : 1,
                           .causal = c->causal};
    for (size_t i = 0; i < out->n_levels; i++) {
        size_t l = level + i, ld = net->ld[l];
        out->q[i] = a->qkv[l] + net->offset[l][item->seq] * ld + item->head * p;
        out->k[i] = out->q[i] + d;
        out->ld_qk[i] = ld;
        out->weight[i] = score ? a->lambda[l] : 1;
    }
    out->v = out->q[0] + 2 * d;
    out->ld_v = net->ld[level];
}

static void run_item(const hkt_net *net, const real *params, size_t n, const net_item *item)
{
    const hkt_config *c = &net->layout->config;
    const net_layer *a = &net->layer[n];
    size_t d = c->d_model, l = item->level, at = net->offset[l][item->seq];
    net_lap(net, HKT_PHASE_REST);
    if (item->head == c->heads) {
        hkt_conv_forward(item->row_end, d, c->conv_width, a->qkv[l] + at * net->ld[l] + 2 * d, net->ld[l],
                         params + net->layout->layer[n].level[l].conv, a->conv[l] + at * d, d);
        net_lap(net, HKT_PHASE_CONV);
        return;
    }
    hkt_attention call;
    hkt_net_attention_call(net, a, item, &call);
    real *o = a->o[l] + at * d + item->head * call.p;
    real *lse = net->train ? a->lse[l] + item->head * net_rows(net, l) + at : NULL;
    if (hkt_net_needs_parts(net, l, call.n_levels))
        hkt_net_part_forward(net, item, &call, o, d, lse);
    else
        hkt_attention_forward(&call, item->row_begin, item->row_end, o, d, lse, net_worker_of(net)->attention);
    net_lap(net, HKT_PHASE_ATTEND);
}

void hkt_net_attention_forward(hkt_net *net, const real *params, size_t layer)
{
    norm_and_project(net, params, layer);
    if (net->layout->config.levels > 1) {
        downsample(net, params, layer);
        project_coarse(net, layer);
    }
    if (net->parts)
        hkt_net_parts_prepare(net, params, layer);
    set_level_weights(net, params, layer);
    set_head_weights(net, params, layer);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net->n_items))
    for (size_t i = 0; i < net->n_items; i++)
        run_item(net, params, layer, &net->item[i]);
}

/* Rows begin..end-1 (counted within the sequence) of `mixed`: sum over levels of alpha_l Y^(l), upsampled. */
static void mix_sequence(const hkt_net *net, const net_layer *a, size_t b, size_t begin, size_t end)
{
    const hkt_config *c = &net->layout->config;
    size_t d = c->d_model;
    for (size_t l = 0; l < hkt_value_levels(c); l++) {
        real weight = c->fusion == HKT_FUSION_SCORE ? 1 : a->alpha[b * c->levels + l];
        size_t span = net->span[l], at = (net->offset[l][b] + begin / span) * d;
        hkt_mix(end - begin, d, span, begin % span, weight, a->share_o + l * d, a->o[l] + at, a->share_conv + l * d,
                a->conv[l] ? a->conv[l] + at : NULL, l > 0, a->mixed + (net->offset[0][b] + begin) * d);
    }
}

void hkt_net_mix(const hkt_net *net, size_t layer, size_t begin, size_t end)
{
    for (size_t b = hkt_net_sequence_of(net, begin); begin < end; b++) {
        size_t first = net->offset[0][b], stop = net_min(end, net->offset[0][b + 1]);
        mix_sequence(net, &net->layer[layer], b, begin - first, stop - first);
        begin = stop;
    }
}

/* net_forward.c - embedding, layers, classifier and loss (docs/model.md 2). */
#include "model/net_internal.h"
#include "num/real.h"

#include <math.h>
#include <string.h>

#include "base/elementary.h"

void hkt_net_mean(size_t n, size_t d, const real *x, real *out, real *scratch)
{
    memset(out, 0, d * sizeof *out);
    for (size_t at = 0; at < n; at += NET_CHUNK) {
        memset(scratch, 0, d * sizeof *scratch);
        hkt_sum_rows(net_min(NET_CHUNK, n - at), d, x + at * d, d, scratch);
        hkt_axpy(d, 1 / (real)n, scratch, out);
    }
}

/* x = embed[token] + pos[i] for rows begin..end-1 of the batch. */
static void embed_rows(const net_pass *pass, const real *params, const int32_t *tokens, size_t begin, size_t end)
{
    size_t d = pass->layout->config.d_model, b = hkt_net_sequence_of(pass, begin);
    for (size_t r = begin; r < end; r++) {
        if (r == pass->offset[0][b + 1])
            b++;
        real *x = pass->layer[0].x + r * d;
        memcpy(x, params + pass->layout->embed + (size_t)tokens[r] * d, d * sizeof *x);
        hkt_axpy(d, 1, params + pass->layout->pos + (r - pass->offset[0][b]) * d, x);
    }
    if (pass->dropout.rate > 0)
        net_dropout(pass, NET_SITE_EMBED, begin, end - begin, pass->layer[0].x + begin * d,
                    pass->layer[0].x + begin * d);
}

static void embed(const net_pass *pass, const real *params, const int32_t *tokens)
{
    size_t rows = net_rows(pass, 0);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_chunks(rows)))
    for (size_t i = 0; i < net_chunks(rows); i++) {
        net_lap(pass, HKT_PHASE_REST);
        embed_rows(pass, params, tokens, i * NET_CHUNK, net_min((i + 1) * NET_CHUNK, rows));
        net_lap(pass, HKT_PHASE_ENDS);
    }
}

/* out = x + branch, after dropout of the branch; out may be x. */
static void add_branch(const net_pass *pass, uint32_t site, size_t from, size_t n, const real *x, real *branch,
                       real *out)
{
    size_t d = pass->layout->config.d_model;
    if (pass->dropout.rate > 0)
        net_dropout(pass, site, from, n, branch, branch);
    hkt_add(n * d, x + from * d, branch, out + from * d);
    net_lap(pass, HKT_PHASE_RESIDUAL);
}

/* The rest of a layer after the attention, for one chunk: fusion, out, second norm, FFN. */
static void finish_rows(const net_pass *pass, const real *params, size_t layer, size_t from, size_t n)
{
    const hkt_layer_offsets *o = &pass->layout->layer[layer];
    const net_layer *a = &pass->layer[layer];
    net_worker *w = net_worker_of(pass);
    size_t d = pass->layout->config.d_model, fd = pass->layout->config.ffn_mult * d;
    real *up = pass->train ? a->up + from * fd : w->wide;

    net_lap(pass, HKT_PHASE_REST);
    hkt_net_mix(pass, layer, from, from + n);
    net_lap(pass, HKT_PHASE_FUSION);
    hkt_linear_forward_packed(n, d, d, a->mixed + from * d, d, pass->packed + o->out, NULL, w->b, d);
    net_lap(pass, HKT_PHASE_PROJECT);
    add_branch(pass, net_site_attention(layer), from, n, a->x, w->b, a->x_mid);
    hkt_layernorm_forward(n, d, a->x_mid + from * d, params + o->norm2_weight, params + o->norm2_bias,
                          a->normed2 + from * d, a->mean2 + from, a->rstd2 + from);
    net_lap(pass, HKT_PHASE_NORM);
    hkt_linear_forward_packed(n, fd, d, a->normed2 + from * d, d, pass->packed + o->up_weight, params + o->up_bias, up,
                              fd);
    net_lap(pass, HKT_PHASE_FFN);
    hkt_gelu_forward(n * fd, up, w->wide);
    net_lap(pass, HKT_PHASE_GELU);
    hkt_linear_forward_packed(n, d, fd, w->wide, fd, pass->packed + o->down_weight, params + o->down_bias, w->b, d);
    net_lap(pass, HKT_PHASE_FFN);
    add_branch(pass, net_site_ffn(layer), from, n, a->x_mid, w->b, pass->layer[layer + 1].x);
}

static void finish_layer(const net_pass *pass, const real *params, size_t layer)
{
    size_t rows = net_rows(pass, 0);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_chunks(rows)))
    for (size_t i = 0; i < net_chunks(rows); i++)
        finish_rows(pass, params, layer, i * NET_CHUNK, net_min(NET_CHUNK, rows - i * NET_CHUNK));
}

/* Mean over the sequence's tokens of the final norm. */
static void pool_sequence(const net_pass *pass, const real *params, size_t b)
{
    const hkt_layout *lay = pass->layout;
    net_worker *w = net_worker_of(pass);
    size_t d = lay->config.d_model, T = net_length(pass, 0, b), first = pass->offset[0][b];
    const real *x = pass->layer[lay->config.layers].x;
    real *pooled = pass->pooled + b * d;
    memset(pooled, 0, d * sizeof *pooled);
    for (size_t at = first; at < first + T; at += NET_CHUNK) {
        size_t n = net_min(NET_CHUNK, first + T - at);
        hkt_layernorm_forward(n, d, x + at * d, params + lay->norm_weight, params + lay->norm_bias, w->a,
                              pass->mean + at, pass->rstd + at);
        hkt_net_mean(n, d, w->a, w->b, w->wide);
        hkt_axpy(d, (real)n / (real)T, w->b, pooled);
    }
}

static void classify(const net_pass *pass, const real *params)
{
    const hkt_layout *lay = pass->layout;
    size_t d = lay->config.d_model, C = lay->config.classes;
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, pass->n_seq))
    for (size_t b = 0; b < pass->n_seq; b++) {
        net_lap(pass, HKT_PHASE_REST);
        pool_sequence(pass, params, b);
        net_lap(pass, HKT_PHASE_ENDS);
    }
    hkt_linear_forward(pass->n_seq, C, d, pass->pooled, d, params + lay->head_weight, params + lay->head_bias,
                       pass->logits, C);
}

double hkt_net_log_sum(size_t n, const real *z)
{
    double top = net_largest(n, z), sum = hkt_exp((double)z[0] - top);
    for (size_t i = 1; i < n; i++)
        sum += hkt_exp((double)z[i] - top);
    return top + hkt_log(sum);
}

double hkt_net_loss(size_t classes, const real *logits, size_t label)
{
    return hkt_net_log_sum(classes, logits) - (double)logits[label];
}

hkt_status hkt_net_run(net_pass *pass, const real *params, const hkt_batch *batch)
{
    if (!pass->parts && hkt_net_needs_parts(pass, 0, pass->layout->config.levels))
        HKT_TRY(hkt_net_parts_create(pass));
    embed(pass, params, batch->tokens);
    for (size_t n = 0; n < pass->layout->config.layers; n++) {
        hkt_net_attention_forward(pass, params, n);
        finish_layer(pass, params, n);
    }
    classify(pass, params);
    return HKT_OK;
}

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
static void embed_rows(const hkt_net *net, const real *params, const int32_t *tokens, size_t begin, size_t end)
{
    size_t d = net->layout->config.d_model, b = hkt_net_sequence_of(net, begin);
    for (size_t r = begin; r < end; r++) {
        if (r == net->offset[0][b + 1])
            b++;
        real *x = net->layer[0].x + r * d;
        memcpy(x, params + net->layout->embed + (size_t)tokens[r] * d, d * sizeof *x);
        hkt_axpy(d, 1, params + net->layout->pos + (r - net->offset[0][b]) * d, x);
    }
    if (net->dropout.rate > 0)
        net_dropout(net, NET_SITE_EMBED, begin, end - begin, net->layer[0].x + begin * d, net->layer[0].x + begin * d);
}

static void embed(const hkt_net *net, const real *params, const int32_t *tokens)
{
    size_t rows = net_rows(net, 0);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net_chunks(rows)))
    for (size_t i = 0; i < net_chunks(rows); i++) {
        net_lap(net, HKT_PHASE_REST);
        embed_rows(net, params, tokens, i * NET_CHUNK, net_min((i + 1) * NET_CHUNK, rows));
        net_lap(net, HKT_PHASE_ENDS);
    }
}

/* out = x + branch, after dropout of the branch; out may be x. */
static void add_branch(const hkt_net *net, uint32_t site, size_t from, size_t n, const real *x, real *branch, real *out)
{
    size_t d = net->layout->config.d_model;
    if (net->dropout.rate > 0)
        net_dropout(net, site, from, n, branch, branch);
    hkt_add(n * d, x + from * d, branch, out + from * d);
    net_lap(net, HKT_PHASE_RESIDUAL);
}

/* The rest of a layer after the attention, for one chunk: fusion, out, second norm, FFN. */
static void finish_rows(const hkt_net *net, const real *params, size_t layer, size_t from, size_t n)
{
    const hkt_layer_offsets *o = &net->layout->layer[layer];
    const net_layer *a = &net->layer[layer];
    net_worker *w = net_worker_of(net);
    size_t d = net->layout->config.d_model, fd = net->layout->config.ffn_mult * d;
    real *up = net->train ? a->up + from * fd : w->wide;

    net_lap(net, HKT_PHASE_REST);
    hkt_net_mix(net, layer, from, from + n);
    net_lap(net, HKT_PHASE_FUSION);
    hkt_linear_forward_packed(n, d, d, a->mixed + from * d, d, net->packed + o->out, NULL, w->b, d);
    net_lap(net, HKT_PHASE_PROJECT);
    add_branch(net, net_site_attention(layer), from, n, a->x, w->b, a->x_mid);
    hkt_layernorm_forward(n, d, a->x_mid + from * d, params + o->norm2_weight, params + o->norm2_bias,
                          a->normed2 + from * d, a->mean2 + from, a->rstd2 + from);
    net_lap(net, HKT_PHASE_NORM);
    hkt_linear_forward_packed(n, fd, d, a->normed2 + from * d, d, net->packed + o->up_weight, params + o->up_bias, up,
                              fd);
    net_lap(net, HKT_PHASE_FFN);
    hkt_gelu_forward(n * fd, up, w->wide);
    net_lap(net, HKT_PHASE_GELU);
    hkt_linear_forward_packed(n, d, fd, w->wide, fd, net->packed + o->down_weight, params + o->down_bias, w->b, d);
    net_lap(net, HKT_PHASE_FFN);
    add_branch(net, net_site_ffn(layer), from, n, a->x_mid, w->b, net->layer[layer + 1].x);
}

static void finish_layer(const hkt_net *net, const real *params, size_t layer)
{
    size_t rows = net_rows(net, 0);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net_chunks(rows)))
    for (size_t i = 0; i < net_chunks(rows); i++)
        finish_rows(net, params, layer, i * NET_CHUNK, net_min(NET_CHUNK, rows - i * NET_CHUNK));
}

/* The transposes that the projections and the FFN read. */
static void pack(const hkt_net *net, const real *params)
{
    const hkt_config *c = &net->layout->config;
    const size_t d = c->d_model, fd = c->ffn_mult * d;
#pragma omp parallel for schedule(static) num_threads(net_team(net, c->layers))
    for (size_t n = 0; n < c->layers; n++) {
        const hkt_layer_offsets *o = &net->layout->layer[n];
        for (size_t l = 0; l < c->levels; l++)
            hkt_linear_pack(net->ld[l], d, params + o->level[l].q, net->packed + o->level[l].q);
        hkt_linear_pack(d, d, params + o->out, net->packed + o->out);
        hkt_linear_pack(fd, d, params + o->up_weight, net->packed + o->up_weight);
        hkt_linear_pack(d, fd, params + o->down_weight, net->packed + o->down_weight);
    }
}

/* Mean over the sequence's tokens of the final norm. */
static void pool_sequence(const hkt_net *net, const real *params, size_t b)
{
    const hkt_layout *lay = net->layout;
    net_worker *w = net_worker_of(net);
    size_t d = lay->config.d_model, T = net_length(net, 0, b), first = net->offset[0][b];
    const real *x = net->layer[lay->config.layers].x;
    real *pooled = net->pooled + b * d;
    memset(pooled, 0, d * sizeof *pooled);
    for (size_t at = first; at < first + T; at += NET_CHUNK) {
        size_t n = net_min(NET_CHUNK, first + T - at);
        hkt_layernorm_forward(n, d, x + at * d, params + lay->norm_weight, params + lay->norm_bias, w->a,
                              net->mean + at, net->rstd + at);
        hkt_net_mean(n, d, w->a, w->b, w->wide);
        hkt_axpy(d, (real)n / (real)T, w->b, pooled);
    }
}

static void classify(const hkt_net *net, const real *params)
{
    const hkt_layout *lay = net->layout;
    size_t d = lay->config.d_model, C = lay->config.classes;
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net->n_seq))
    for (size_t b = 0; b < net->n_seq; b++) {
        net_lap(net, HKT_PHASE_REST);
        pool_sequence(net, params, b);
        net_lap(net, HKT_PHASE_ENDS);
    }
    hkt_linear_forward(net->n_seq, C, d, net->pooled, d, params + lay->head_weight, params + lay->head_bias,
                       net->logits, C);
}

static hkt_status check_logits(const hkt_net *net)
{
    size_t C = net->layout->config.classes;
    for (size_t i = 0; i < net->n_seq * C; i++)
        if (!isfinite(net->logits[i]))
            return hkt_fail(HKT_ENUMERIC, "sequence %zu: logit %zu: expected a finite value, found %g", i / C, i % C,
                            (double)net->logits[i]);
    return HKT_OK;
}

/* Mean cross entropy in double. */
static double cross_entropy(const hkt_net *net, const int32_t *labels)
{
    size_t C = net->layout->config.classes;
    double loss = 0;
    for (size_t b = 0; b < net->n_seq; b++)
        loss += hkt_net_loss(C, net->logits + b * C, (size_t)labels[b]);
    return loss / (double)net->n_seq;
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

static void set_options(hkt_net *net, const hkt_dropout_spec *dropout, const hkt_intervention *iv)
{
    net->dropout = dropout ? *dropout : (hkt_dropout_spec){0};
    net->iv = iv ? *iv : (hkt_intervention){0};
    HKT_ASSERT(net->dropout.rate >= 0 && net->dropout.rate < 1);
}

hkt_status hkt_net_run(hkt_net *net, const real *params, const hkt_batch *batch)
{
    if (!net->parts && hkt_net_needs_parts(net, 0, net->layout->config.levels))
        HKT_TRY(hkt_net_parts_create(net));
    embed(net, params, batch->tokens);
    for (size_t n = 0; n < net->layout->config.layers; n++) {
        hkt_net_attention_forward(net, params, n);
        finish_layer(net, params, n);
    }
    classify(net, params);
    return HKT_OK;
}

hkt_status hkt_net_forward(hkt_net *net, const real *params, const hkt_batch *batch, const hkt_dropout_spec *dropout,
                           const hkt_intervention *iv, real *logits, double *loss)
{
    HKT_ASSERT(batch->labels || !loss);
    HKT_TRY(hkt_net_bind(net, batch));
    const bool backward = net->train && batch->labels && !iv;
    set_options(net, dropout, iv);
    net->mean_of = batch->n_seq;
    hkt_net_start_clocks(net);
    pack(net, params);
    HKT_TRY(net->split ? hkt_net_split_run(net, params, batch, backward) : hkt_net_run(net, params, batch));
    HKT_TRY(check_logits(net));
    if (logits)
        memcpy(logits, net->logits, net->n_seq * net->layout->config.classes * sizeof *logits);
    if (loss)
        *loss = cross_entropy(net, batch->labels);
    net->can_backward = backward;
    return HKT_OK;
}

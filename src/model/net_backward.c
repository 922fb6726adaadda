/* net_backward.c - hand-derived gradient of the mean cross entropy, in the reverse order of net_forward.c. */
#include "model/net_internal.h"
#include "num/real.h"

#include <string.h>

#include "base/elementary.h"

/* Groups that any pass over rows or sequences of this batch uses. */
static size_t groups_in_use(const net_pass *pass)
{
    size_t rows = net_groups(net_chunks(net_rows(pass, 0))), seqs = net_groups(pass->n_seq);
    return rows > seqs ? rows : seqs;
}

static void clear_partials(const net_pass *pass, size_t size)
{
    size_t groups = pass->direct ? 0 : groups_in_use(pass);
#pragma omp parallel for schedule(static) num_threads(net_team(pass, groups))
    for (size_t g = 0; g < groups; g++) {
        net_lap(pass, HKT_PHASE_REST);
        memset(pass->grad.partial + g * pass->partial_size, 0, size * sizeof(real));
        net_lap(pass, HKT_PHASE_SUMS);
    }
}

/* grads [begin .. begin + size) = sum over the groups, in their order. */
static void add_partials(const net_pass *pass, real *grads, size_t begin, size_t size)
{
    enum { BLOCK = 4096 };
    size_t groups = groups_in_use(pass);
    if (pass->direct)
        return;
#pragma omp parallel for schedule(static) num_threads(net_team(pass, size / BLOCK + 1))
    for (size_t at = 0; at < size; at += BLOCK) {
        net_lap(pass, HKT_PHASE_REST);
        for (size_t g = 0; g < groups; g++)
            hkt_axpy(net_min(BLOCK, size - at), 1, pass->grad.partial + g * pass->partial_size + at,
                     grads + begin + at);
        net_lap(pass, HKT_PHASE_SUMS);
    }
}

/* dlogits = (softmax - onehot) / mean_of; head; gradient of the pooled vectors. */
static void classifier(const net_pass *pass, const real *params, const int32_t *labels, real *grads)
{
    const hkt_layout *lay = pass->layout;
    size_t d = lay->config.d_model, C = lay->config.classes, B = pass->n_seq;
    for (size_t b = 0; b < B; b++) {
        const real *z = pass->logits + b * C;
        double log_sum = hkt_net_log_sum(C, z);
        for (size_t i = 0; i < C; i++) {
            double q = hkt_exp((double)z[i] - log_sum) - (i == (size_t)labels[b] ? 1 : 0);
            pass->grad.logits[b * C + i] = (real)(q / (double)pass->mean_of);
        }
    }
    hkt_linear_backward_weight(B, C, d, pass->grad.logits, C, pass->pooled, d, grads + lay->head_weight,
                               grads + lay->head_bias);
    hkt_linear_backward_input(B, C, d, pass->grad.logits, C, params + lay->head_weight, pass->grad.pooled, d);
}

/* dy rows = grad.pooled / T of the row's sequence. */
static void unpool_rows(const net_pass *pass, size_t from, size_t n, real *dy)
{
    size_t d = pass->layout->config.d_model, b = hkt_net_sequence_of(pass, from);
    memset(dy, 0, n * d * sizeof *dy);
    for (size_t r = from; r < from + n; r++) {
        if (r == pass->offset[0][b + 1])
            b++;
        hkt_axpy(d, 1 / (real)net_length(pass, 0, b), pass->grad.pooled + b * d, dy + (r - from) * d);
    }
}

static void final_norm(const net_pass *pass, const real *params, real *grads)
{
    const hkt_layout *lay = pass->layout;
    size_t d = lay->config.d_model, rows = net_rows(pass, 0), begin = lay->norm_weight;
    const real *x = pass->layer[lay->config.layers].x;
    clear_partials(pass, lay->head_weight - begin);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_groups(net_chunks(rows))))
    for (size_t g = 0; g < net_groups(net_chunks(rows)); g++) {
        net_range r = net_group_rows(rows, g);
        real *dy = net_worker_of(pass)->a;
        for (size_t at = r.first; at < r.last; at += NET_CHUNK) {
            size_t n = net_min(NET_CHUNK, r.last - at);
            net_lap(pass, HKT_PHASE_REST);
            unpool_rows(pass, at, n, dy);
            memset(pass->grad.x + at * d, 0, n * d * sizeof(real));
            hkt_layernorm_backward(n, d, x + at * d, params + begin, pass->mean + at, pass->rstd + at, dy,
                                   pass->grad.x + at * d, net_partial(pass, g, begin, lay->norm_weight),
                                   net_partial(pass, g, begin, lay->norm_bias));
            net_lap(pass, HKT_PHASE_ENDS);
        }
    }
    add_partials(pass, grads, begin, lay->head_weight - begin);
}

/* Gradient of a branch's output: that of the residual stream behind its dropout. Returns grad.x itself or `scratch`. */
static const real *branch_gradient(const net_pass *pass, uint32_t site, size_t from, size_t n, real *scratch)
{
    const real *dx = pass->grad.x + from * pass->layout->config.d_model;
    if (pass->dropout.rate == 0)
        return dx;
    net_dropout(pass, site, from, n, dx, scratch);
    return scratch;
}

/* FFN, second norm and out of one chunk: updates grad.x, writes grad.y[0]. */
static void finish_rows(const net_pass *pass, const real *params, size_t layer, size_t g, size_t from, size_t n)
{
    const hkt_layer_offsets *o = &pass->layout->layer[layer];
    const net_layer *a = &pass->layer[layer];
    net_worker *w = net_worker_of(pass);
    size_t d = pass->layout->config.d_model, fd = pass->layout->config.ffn_mult * d, begin = o->norm1_weight;
    real *dx = pass->grad.x + from * d;

    net_lap(pass, HKT_PHASE_REST);
    const real *dy = branch_gradient(pass, net_site_ffn(layer), from, n, w->a);
    net_lap(pass, HKT_PHASE_RESIDUAL);
    hkt_linear_backward_input(n, d, fd, dy, d, params + o->down_weight, w->wide, fd);
    net_lap(pass, HKT_PHASE_FFN);
    hkt_gelu_backward(n * fd, a->up + from * fd, w->wide, w->wide, w->act);
    net_lap(pass, HKT_PHASE_GELU);
    hkt_linear_backward_weight(n, d, fd, dy, d, w->act, fd, net_partial(pass, g, begin, o->down_weight),
                               net_partial(pass, g, begin, o->down_bias));
    hkt_linear_backward_weight(n, fd, d, w->wide, fd, a->normed2 + from * d, d,
                               net_partial(pass, g, begin, o->up_weight), net_partial(pass, g, begin, o->up_bias));
    hkt_linear_backward_input(n, fd, d, w->wide, fd, params + o->up_weight, w->b, d);
    net_lap(pass, HKT_PHASE_FFN);
    hkt_layernorm_backward(n, d, a->x_mid + from * d, params + o->norm2_weight, a->mean2 + from, a->rstd2 + from, w->b,
                           dx, net_partial(pass, g, begin, o->norm2_weight),
                           net_partial(pass, g, begin, o->norm2_bias));
    net_lap(pass, HKT_PHASE_NORM);

    dy = branch_gradient(pass, net_site_attention(layer), from, n, w->a);
    net_lap(pass, HKT_PHASE_RESIDUAL);
    hkt_linear_backward_weight(n, d, d, dy, d, a->mixed + from * d, d, net_partial(pass, g, begin, o->out), NULL);
    hkt_linear_backward_input(n, d, d, dy, d, params + o->out, pass->grad.y[0] + from * d, d);
    net_lap(pass, HKT_PHASE_PROJECT);
}

static void finish_layer(const net_pass *pass, const real *params, size_t layer)
{
    size_t rows = net_rows(pass, 0);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_groups(net_chunks(rows))))
    for (size_t g = 0; g < net_groups(net_chunks(rows)); g++) {
        net_range r = net_group_rows(rows, g);
        for (size_t at = r.first; at < r.last; at += NET_CHUNK)
            finish_rows(pass, params, layer, g, at, net_min(NET_CHUNK, r.last - at));
    }
}

/* First norm: grad.level_x[0] to grad.x. */
static void first_norm(const net_pass *pass, const real *params, size_t layer)
{
    const hkt_layer_offsets *o = &pass->layout->layer[layer];
    const net_layer *a = &pass->layer[layer];
    size_t d = pass->layout->config.d_model, rows = net_rows(pass, 0), begin = o->norm1_weight;
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_groups(net_chunks(rows))))
    for (size_t g = 0; g < net_groups(net_chunks(rows)); g++) {
        net_range r = net_group_rows(rows, g);
        net_lap(pass, HKT_PHASE_REST);
        hkt_layernorm_backward(r.last - r.first, d, a->x + r.first * d, params + o->norm1_weight, a->mean1 + r.first,
                               a->rstd1 + r.first, pass->grad.level_x[0] + r.first * d, pass->grad.x + r.first * d,
                               net_partial(pass, g, begin, o->norm1_weight),
                               net_partial(pass, g, begin, o->norm1_bias));
        net_lap(pass, HKT_PHASE_NORM);
    }
}

static void layer_backward(net_pass *pass, const real *params, size_t layer, real *grads)
{
    const hkt_layout *lay = pass->layout;
    size_t begin = lay->layer[layer].norm1_weight;
    size_t end = layer + 1 < lay->config.layers ? lay->layer[layer + 1].norm1_weight : lay->norm_weight;
    clear_partials(pass, end - begin);
    finish_layer(pass, params, layer);
    hkt_net_attention_backward(pass, params, layer);
    first_norm(pass, params, layer);
    add_partials(pass, grads, begin, end - begin);
}

/* Adds columns from..from+m-1 of grad.x to the embeddings, row by row. */
static void embed_columns(const net_pass *pass, const int32_t *tokens, size_t from, size_t m, real *grads)
{
    size_t d = pass->layout->config.d_model;
    for (size_t b = 0; b < pass->n_seq; b++)
        for (size_t i = 0, r = pass->offset[0][b]; r < pass->offset[0][b + 1]; i++, r++) {
            const real *dx = pass->grad.x + r * d + from;
            hkt_axpy(m, 1, dx, grads + pass->layout->embed + (size_t)tokens[r] * d + from);
            hkt_axpy(m, 1, dx, grads + pass->layout->pos + i * d + from);
        }
}

static void embed(const net_pass *pass, const int32_t *tokens, real *grads)
{
    enum { COLUMNS = 16 };
    size_t d = pass->layout->config.d_model, rows = net_rows(pass, 0);
    if (pass->dropout.rate > 0) {
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_chunks(rows)))
        for (size_t i = 0; i < net_chunks(rows); i++) {
            size_t at = i * NET_CHUNK;
            net_dropout(pass, NET_SITE_EMBED, at, net_min(NET_CHUNK, rows - at), pass->grad.x + at * d,
                        pass->grad.x + at * d);
        }
    }
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, rows))
    for (size_t from = 0; from < d; from += COLUMNS) {
        net_lap(pass, HKT_PHASE_REST);
        embed_columns(pass, tokens, from, net_min(COLUMNS, d - from), grads);
        net_lap(pass, HKT_PHASE_ENDS);
    }
}

void hkt_net_add_gradient(net_pass *pass, const real *params, const hkt_batch *batch, real *grads)
{
    pass->direct = pass->one_sum ? grads : NULL;
    classifier(pass, params, batch->labels, grads);
    final_norm(pass, params, grads);
    for (size_t n = pass->layout->config.layers; n-- > 0;)
        layer_backward(pass, params, n, grads);
    embed(pass, batch->tokens, grads);
}

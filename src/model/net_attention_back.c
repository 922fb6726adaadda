/* net_attention_back.c - backward pass of the hierarchical attention of one layer. */
#include "model/net_internal.h"
#include "num/real.h"

#include <string.h>

static double sum(size_t n, const real *x)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (double)x[i];
    return s;
}

/* Gradients of the level's weight in one sequence (returned) and of the logits of beta (added to d_beta [H]):
 * <D, Y>, Y = beta o + (1 - beta) conv per head. */
static double weight_gradients(const hkt_net *net, const real *beta, size_t n, const real *y, const real *o,
                               const real *conv, real weight, real *d_beta, net_worker *w)
{
    size_t d = net->layout->config.d_model, H = net->layout->config.heads, p = d / H;
    real *dots_o = w->a, *dots_conv = w->a + d;
    double total = 0;
    memset(dots_o, 0, 2 * d * sizeof *dots_o);
    hkt_dot_columns(n, d, y, o, dots_o);
    if (conv)
        hkt_dot_columns(n, d, y, conv, dots_conv);
    for (size_t h = 0; h < H; h++) {
        double on_o = sum(p, dots_o + h * p), on_conv = conv ? sum(p, dots_conv + h * p) : 0, m = (double)beta[h];
        total += m * on_o + (1 - m) * on_conv;
        if (conv)
            d_beta[h] += (real)((double)weight * m * (1 - m) * (on_o - on_conv));
    }
    return total;
}

/* Backward of the fusion (step 6) and of the hybrid heads (step 5) of one sequence. */
static void unmix_sequence(const hkt_net *net, size_t n, size_t g, size_t b)
{
    const hkt_config *c = &net->layout->config;
    const hkt_layer_offsets *o = &net->layout->layer[n];
    const net_layer *a = &net->layer[n];
    size_t d = c->d_model, Lv = hkt_value_levels(c);
    for (size_t l = 0; l < Lv; l++) {
        size_t T = net_length(net, l, b), at = net->offset[l][b] * d;
        real *y = net->grad.y[l] + at, *conv = c->hybrid ? net->grad.conv[l] + at : NULL;
        real weight = c->fusion == HKT_FUSION_SCORE ? 1 : a->alpha[b * c->levels + l];
        real *d_beta = c->hybrid ? net_partial(net, g, o->norm1_weight, o->beta) + l * c->heads : NULL;
        /* D^(l) = U_l^T dM: sums over the level below, since i_l = floor(i_{l-1} / s). */
        if (l + 1 < Lv)
            hkt_sum_spans(T, d, c->stride, y, net->grad.y[l + 1] + net->offset[l + 1][b] * d);
        double dots = weight_gradients(net, a->beta + l * c->heads, T, y, a->o[l] + at, conv ? a->conv[l] + at : NULL,
                                       weight, d_beta, net_worker_of(net));
        net->grad.alpha[b * c->levels + l] = (real)dots;
        /* From the gradient y of weight * Y^(l) to those of conv and (in place) o. */
        if (conv)
            hkt_scale_rows(T, d, weight, a->share_conv + l * d, y, conv);
        hkt_scale_rows(T, d, weight, a->share_o + l * d, y, y);
        net_lap(net, HKT_PHASE_FUSION);
    }
}

static void unmix(const hkt_net *net, size_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net_groups(net->n_seq)))
    for (size_t g = 0; g < net_groups(net->n_seq); g++) {
        net_range r = net_group(net->n_seq, g);
        net_lap(net, HKT_PHASE_REST);
        for (size_t b = r.first; b < r.last; b++)
            unmix_sequence(net, n, g, b);
    }
}

static void run_item(const hkt_net *net, const net_layer *a, const net_item *item)
{
    const hkt_config *c = &net->layout->config;
    size_t d = c->d_model, level = item->level, at = net->offset[level][item->seq], H = c->heads;
    hkt_attention call;
    net_lap(net, HKT_PHASE_REST);
    hkt_net_attention_call(net, a, item, &call);
    real *dq[HKT_MAX_LEVELS], *dk[HKT_MAX_LEVELS];
    for (size_t i = 0; i < call.n_levels; i++) {
        size_t l = level + i;
        dq[i] = net->grad.qkv[l] + net->offset[l][item->seq] * net->ld[l] + item->head * call.p;
        dk[i] = dq[i] + d;
    }
    real *d_weight =
        c->fusion == HKT_FUSION_SCORE ? net->grad.head_weight + (item->seq * H + item->head) * c->levels : NULL;
    size_t head = at * d + item->head * call.p;
    hkt_attention_backward(&call, a->o[level] + head, net->grad.y[level] + head, d,
                           a->lse[level] + item->head * net_rows(net, level) + at, dq, dk, call.ld_qk, dq[0] + 2 * d,
                           net->ld[level], d_weight, net_worker_of(net)->attention);
    net_lap(net, HKT_PHASE_ATTEND_BACK);
}

static void attend(const hkt_net *net, size_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net->n_back_items))
    for (size_t i = 0; i < net->n_back_items; i++)
        run_item(net, &net->layer[n], &net->back_item[i]);
}

/* theta and gate from the gradients of the level weights; grad.xbar for the gate's input. alpha = softmax(z),
 * dz = alpha * (dalpha - <alpha, dalpha>); z = theta, or theta + G xbar. In score mode alpha is lambda. */
static void level_weights(const hkt_net *net, const real *params, size_t n)
{
    const hkt_config *c = &net->layout->config;
    const hkt_layer_offsets *o = &net->layout->layer[n];
    const net_layer *a = &net->layer[n];
    size_t L = c->levels, d = c->d_model;
    real *d_theta = net_partial(net, 0, o->norm1_weight, o->theta);
    for (size_t b = 0; b < net->n_seq; b++) {
        const real *alpha = a->alpha + b * L, *d_alpha = net->grad.alpha + b * L;
        double mean = 0;
        for (size_t l = 0; l < L; l++)
            mean += (double)alpha[l] * (double)d_alpha[l];
        if (net_gated(net))
            memset(net->grad.xbar + b * d, 0, d * sizeof(real));
        for (size_t l = 0; l < L; l++) {
            real dz = (real)((double)alpha[l] * ((double)d_alpha[l] - mean));
            d_theta[l] += dz;
            if (!net_gated(net))
                continue;
            hkt_axpy(d, dz, a->xbar + b * d, net_partial(net, 0, o->norm1_weight, o->gate) + l * d);
            hkt_axpy(d, dz, params + o->gate + l * d, net->grad.xbar + b * d);
        }
    }
}

/* Score mode: the heads' gradients of lambda, added up per sequence. */
static void sum_head_weights(const hkt_net *net)
{
    size_t L = net->layout->config.levels, H = net->layout->config.heads;
    memset(net->grad.alpha, 0, net->n_seq * L * sizeof(real));
    for (size_t i = 0; i < net->n_seq * H; i++)
        hkt_axpy(L, 1, net->grad.head_weight + i * L, net->grad.alpha + i / H * L);
}

/* Convolution of one sequence: adds to the gradient of v, which the attention has written. */
static void convolve_sequence(const hkt_net *net, const real *params, size_t n, size_t g, size_t b)
{
    const hkt_config *c = &net->layout->config;
    const hkt_layer_offsets *o = &net->layout->layer[n];
    size_t d = c->d_model;
    for (size_t l = 0; l < hkt_value_levels(c); l++) {
        size_t at = net->offset[l][b], v = at * net->ld[l] + 2 * d;
        hkt_conv_backward(net_length(net, l, b), d, c->conv_width, net->layer[n].qkv[l] + v, net->ld[l],
                          params + o->level[l].conv, net->grad.conv[l] + at * d, d, net->grad.qkv[l] + v, net->ld[l],
                          net_partial(net, g, o->norm1_weight, o->level[l].conv));
    }
    net_lap(net, HKT_PHASE_CONV);
}

static void convolve(const hkt_net *net, const real *params, size_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net_groups(net->n_seq)))
    for (size_t g = 0; g < net_groups(net->n_seq); g++) {
        net_range r = net_group(net->n_seq, g);
        net_lap(net, HKT_PHASE_REST);
        for (size_t b = r.first; b < r.last; b++)
            convolve_sequence(net, params, n, g, b);
    }
}

/* Gradients of X^(l) (without the cascade) and of the q, k, v weights. */
static void project(const hkt_net *net, const real *params, size_t n)
{
    const hkt_layer_offsets *o = &net->layout->layer[n];
    size_t d = net->layout->config.d_model;
#pragma omp parallel num_threads(net_team(net, net_chunks(net_rows(net, 0))))
    for (size_t l = 0; l < net->layout->config.levels; l++) {
        size_t rows = net_rows(net, l), ld = net->ld[l];
#pragma omp for schedule(dynamic) nowait
        for (size_t g = 0; g < net_groups(net_chunks(rows)); g++) {
            net_range r = net_group_rows(rows, g);
            for (size_t at = r.first; at < r.last; at += NET_CHUNK) {
                size_t m = net_min(NET_CHUNK, r.last - at);
                const real *dy = net->grad.qkv[l] + at * ld;
                net_lap(net, HKT_PHASE_REST);
                hkt_linear_backward_input(m, ld, d, dy, ld, params + o->level[l].q, net->grad.level_x[l] + at * d, d);
                hkt_linear_backward_weight(m, ld, d, dy, ld, net->layer[n].level_x[l] + at * d, d,
                                           net_partial(net, g, o->norm1_weight, o->level[l].q), NULL);
                net_lap(net, HKT_PHASE_PROJECT);
            }
        }
    }
}

/* The cascade from the coarsest level down, and the gate's mean over the tokens, of one sequence. */
static void downsample_sequence(const hkt_net *net, const real *params, size_t n, size_t g, size_t b)
{
    const hkt_config *c = &net->layout->config;
    const hkt_layer_offsets *o = &net->layout->layer[n];
    size_t d = c->d_model, T = net_length(net, 0, b);
    for (size_t l = c->levels - 1; l > 0; l--) {
        size_t fine = net->offset[l - 1][b] * d, coarse = net->offset[l][b] * d;
        hkt_downsample_backward(net_length(net, l - 1, b), d, c->stride, net->layer[n].level_x[l - 1] + fine,
                                params + o->level[l].down, net->grad.level_x[l] + coarse,
                                net->grad.level_x[l - 1] + fine,
                                net_partial(net, g, o->norm1_weight, o->level[l].down));
    }
    for (size_t i = 0; i < T && net_gated(net); i++)
        hkt_axpy(d, 1 / (real)T, net->grad.xbar + b * d, net->grad.level_x[0] + (net->offset[0][b] + i) * d);
    net_lap(net, HKT_PHASE_DOWN);
}

static void downsample(const hkt_net *net, const real *params, size_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(net_team(net, net_groups(net->n_seq)))
    for (size_t g = 0; g < net_groups(net->n_seq); g++) {
        net_range r = net_group(net->n_seq, g);
        net_lap(net, HKT_PHASE_REST);
        for (size_t b = r.first; b < r.last; b++)
            downsample_sequence(net, params, n, g, b);
    }
}

void hkt_net_attention_backward(hkt_net *net, const real *params, size_t layer)
{
    const hkt_config *c = &net->layout->config;
    unmix(net, layer);
    attend(net, layer);
    if (c->hybrid)
        convolve(net, params, layer);
    if (c->fusion == HKT_FUSION_SCORE)
        sum_head_weights(net);
    if (c->levels > 1)
        level_weights(net, params, layer);
    project(net, params, layer);
    if (c->levels > 1)
        downsample(net, params, layer);
}

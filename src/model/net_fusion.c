/* net_fusion.c - how the levels are joined: the weights of levels and heads (docs/model.md 2.1, steps 3 and 5), the
 * fusion (step 6), and the gradients of both. What a mode is made of: hkt_fusion_mode. */
#include "model/net_internal.h"
#include "num/real.h"

#include <string.h>

#include "base/elementary.h"

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
static void set_level_weights(net_pass *pass, const real *params, size_t n)
{
    const hkt_config *c = &pass->layout->config;
    const hkt_layer_offsets *o = &pass->layout->layer[n];
    const net_layer *a = &pass->layer[n];
    size_t L = c->levels, d = c->d_model;
    for (size_t l = 0; l < L; l++)
        a->lambda[l] = L > 1 ? params[o->theta + l] : 0;
    softmax(L, a->lambda);
    for (size_t b = 0; b < pass->n_seq; b++) {
        real *alpha = a->alpha + b * L;
        memcpy(alpha, a->lambda, L * sizeof *alpha);
        if (!net_gated(pass))
            continue;
        for (size_t l = 0; l < L; l++)
            alpha[l] = (real)((double)params[o->theta + l] + dot(d, params + o->gate + l * d, a->xbar + b * d));
        softmax(L, alpha);
    }
}

/* beta (step 5), and what an intervention leaves of attention and convolution, spread over the columns of the heads. */
static void set_head_weights(net_pass *pass, const real *params, size_t n)
{
    const hkt_config *c = &pass->layout->config;
    const hkt_layer_offsets *o = &pass->layout->layer[n];
    const net_layer *a = &pass->layer[n];
    size_t d = c->d_model, p = d / c->heads;
    for (size_t l = 0; l < hkt_value_levels(c); l++)
        for (size_t h = 0; h < c->heads; h++) {
            double logit = c->hybrid ? (double)params[o->beta + l * c->heads + h] : 0;
            double beta = c->hybrid ? 1 / (1 + hkt_exp(-logit)) : 1;
            a->beta[l * c->heads + h] = (real)beta;
            for (size_t i = h * p; i < (h + 1) * p; i++) {
                a->share_o[l * d + i] = pass->iv.no_attention[l] ? 0 : (real)beta;
                a->share_conv[l * d + i] = pass->iv.no_conv[l] ? 0 : (real)(1 - beta);
            }
        }
}

void hkt_net_fusion_weights(net_pass *pass, const real *params, size_t layer)
{
    set_level_weights(pass, params, layer);
    set_head_weights(pass, params, layer);
}

/* Of Y^(l) in the fused heads of sequence b; lambda is in the scores where these are summed. */
static real output_weight(const net_pass *pass, const net_layer *a, size_t b, size_t l)
{
    const hkt_config *c = &pass->layout->config;
    return hkt_fusion_of(c)->sums_scores ? 1 : a->alpha[b * c->levels + l];
}

/* Rows begin..end-1 (counted within the sequence) of `mixed`: sum over levels of alpha_l Y^(l), upsampled. */
static void mix_sequence(const net_pass *pass, const net_layer *a, size_t b, size_t begin, size_t end)
{
    const hkt_config *c = &pass->layout->config;
    size_t d = c->d_model;
    for (size_t l = 0; l < hkt_value_levels(c); l++) {
        real weight = output_weight(pass, a, b, l);
        size_t span = pass->span[l], at = (pass->offset[l][b] + begin / span) * d;
        hkt_mix(end - begin, d, span, begin % span, weight, a->share_o + l * d, a->o[l] + at, a->share_conv + l * d,
                a->conv[l] ? a->conv[l] + at : NULL, l > 0, a->mixed + (pass->offset[0][b] + begin) * d);
    }
}

void hkt_net_mix(const net_pass *pass, size_t layer, size_t begin, size_t end)
{
    for (size_t b = hkt_net_sequence_of(pass, begin); begin < end; b++) {
        size_t first = pass->offset[0][b], stop = net_min(end, pass->offset[0][b + 1]);
        mix_sequence(pass, &pass->layer[layer], b, begin - first, stop - first);
        begin = stop;
    }
}

static double sum(size_t n, const real *x)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (double)x[i];
    return s;
}

/* Gradients of the level's weight in one sequence (returned) and of the logits of beta (added to d_beta [H]):
 * <D, Y>, Y = beta o + (1 - beta) conv per head. */
static double weight_gradients(const net_pass *pass, const real *beta, size_t n, const real *y, const real *o,
                               const real *conv, real weight, real *d_beta, net_worker *w)
{
    size_t d = pass->layout->config.d_model, H = pass->layout->config.heads, p = d / H;
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
static void unmix_sequence(const net_pass *pass, size_t n, size_t g, size_t b)
{
    const hkt_config *c = &pass->layout->config;
    const hkt_layer_offsets *o = &pass->layout->layer[n];
    const net_layer *a = &pass->layer[n];
    size_t d = c->d_model, Lv = hkt_value_levels(c);
    for (size_t l = 0; l < Lv; l++) {
        size_t T = net_length(pass, l, b), at = pass->offset[l][b] * d;
        real *y = pass->grad.y[l] + at, *conv = c->hybrid ? pass->grad.conv[l] + at : NULL;
        real weight = output_weight(pass, a, b, l);
        real *d_beta = c->hybrid ? net_partial(pass, g, o->norm1_weight, o->beta) + l * c->heads : NULL;
        /* D^(l) = U_l^T dM: sums over the level below, since i_l = floor(i_{l-1} / s). */
        if (l + 1 < Lv)
            hkt_sum_spans(T, d, c->stride, y, pass->grad.y[l + 1] + pass->offset[l + 1][b] * d);
        double dots = weight_gradients(pass, a->beta + l * c->heads, T, y, a->o[l] + at, conv ? a->conv[l] + at : NULL,
                                       weight, d_beta, net_worker_of(pass));
        pass->grad.alpha[b * c->levels + l] = (real)dots;
        /* From the gradient y of weight * Y^(l) to those of conv and (in place) o. */
        if (conv)
            hkt_scale_rows(T, d, weight, a->share_conv + l * d, y, conv);
        hkt_scale_rows(T, d, weight, a->share_o + l * d, y, y);
        net_lap(pass, HKT_PHASE_FUSION);
    }
}

void hkt_net_unmix(const net_pass *pass, size_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_groups(pass->n_seq)))
    for (size_t g = 0; g < net_groups(pass->n_seq); g++) {
        net_range r = net_group(pass->n_seq, g);
        net_lap(pass, HKT_PHASE_REST);
        for (size_t b = r.first; b < r.last; b++)
            unmix_sequence(pass, n, g, b);
    }
}

/* theta and gate from the gradients of the level weights; grad.xbar for the gate's input. alpha = softmax(z),
 * dz = alpha * (dalpha - <alpha, dalpha>); z = theta, or theta + G xbar. Where scores are summed, alpha is lambda. */
static void level_weights(const net_pass *pass, const real *params, size_t n)
{
    const hkt_config *c = &pass->layout->config;
    const hkt_layer_offsets *o = &pass->layout->layer[n];
    const net_layer *a = &pass->layer[n];
    size_t L = c->levels, d = c->d_model;
    real *d_theta = net_partial(pass, 0, o->norm1_weight, o->theta);
    for (size_t b = 0; b < pass->n_seq; b++) {
        const real *alpha = a->alpha + b * L, *d_alpha = pass->grad.alpha + b * L;
        double mean = 0;
        for (size_t l = 0; l < L; l++)
            mean += (double)alpha[l] * (double)d_alpha[l];
        if (net_gated(pass))
            memset(pass->grad.xbar + b * d, 0, d * sizeof(real));
        for (size_t l = 0; l < L; l++) {
            real dz = (real)((double)alpha[l] * ((double)d_alpha[l] - mean));
            d_theta[l] += dz;
            if (!net_gated(pass))
                continue;
            hkt_axpy(d, dz, a->xbar + b * d, net_partial(pass, 0, o->norm1_weight, o->gate) + l * d);
            hkt_axpy(d, dz, params + o->gate + l * d, pass->grad.xbar + b * d);
        }
    }
}

/* Summed scores: the heads' gradients of lambda, added up per sequence. */
static void sum_head_weights(const net_pass *pass)
{
    size_t L = pass->layout->config.levels, H = pass->layout->config.heads;
    memset(pass->grad.alpha, 0, pass->n_seq * L * sizeof(real));
    for (size_t i = 0; i < pass->n_seq * H; i++)
        hkt_axpy(L, 1, pass->grad.head_weight + i * L, pass->grad.alpha + i / H * L);
}

void hkt_net_fusion_gradient(const net_pass *pass, const real *params, size_t layer)
{
    const hkt_config *c = &pass->layout->config;
    if (hkt_fusion_of(c)->sums_scores)
        sum_head_weights(pass);
    if (c->levels > 1)
        level_weights(pass, params, layer);
}

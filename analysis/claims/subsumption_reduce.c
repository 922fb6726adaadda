/* subsumption_reduce.c - checks of `subsumption` that the model contains attention and convolution: over random shapes,
 * with lambda and beta at their limits, and on the way there. */
#include <math.h>
#include <string.h>

#include "analysis/certify.h"
#include "analysis/claims/subsumption_checks.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/net.h"

typedef enum { ATTENTION, CONVOLUTION } target;

/* One random model of one layer and a sequence for it. */
typedef struct {
    hkt_config config;
    hkt_subject s;
    size_t T;
    int32_t *tokens;
    double *x, *y, *slack, *plain, *bound; /* [T, d] each, in one block owned by x */
} trial;

static void trial_close(trial *t)
{
    hkt_subject_close(&t->s);
    hkt_free(t->tokens);
    hkt_free(t->x);
    *t = (trial){0};
}

static size_t between(hkt_rng *rng, size_t lo, size_t hi)
{
    return lo + (size_t)hkt_rng_below(rng, hi - lo + 1);
}

/* Every second shape has a single head, as Prop. 3.4. */
static hkt_config random_config(hkt_rng *rng, size_t index, size_t T)
{
    size_t heads = index % 2 ? between(rng, 2, 4) : 1, p = between(rng, 1, 16);
    hkt_config c = {.vocab = 8,
                    .classes = 2,
                    .max_len = T,
                    .d_model = heads * p,
                    .heads = heads,
                    .layers = 1,
                    .levels = between(rng, 2, 4),
                    .stride = between(rng, 2, 3),
                    .conv_width = between(rng, 1, 5),
                    .ffn_mult = 1,
                    .fusion = (hkt_fusion)(index % 3),
                    .hybrid = true};
    c.causal = hkt_rng_below(rng, 2) == 0;
    return c;
}

static void normal_values(hkt_rng *rng, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = hkt_rng_normal(rng);
}

/* Makes the fused heads visible in the residual stream: out = I, no FFN; and gives gate and convolution weights of
 * order one. */
static void expose(const hkt_layout *layout, hkt_rng *rng, double *params)
{
    const hkt_config *c = &layout->config;
    const hkt_layer_offsets *at = &layout->layer[0];
    size_t d = c->d_model;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            params[at->out + i * d + j] = i == j;
    memset(params + at->down_weight, 0, c->ffn_mult * d * d * sizeof *params);
    for (size_t l = 0; l < hkt_value_levels(c); l++)
        normal_values(rng, c->conv_width * d, params + at->level[l].conv);
    if (at->gate != HKT_ABSENT)
        normal_values(rng, c->levels * d, params + at->gate);
}

/* Level 0 alone in the limit theta_0 -> infinity, attention alone as the logits of beta do; and rounds every value to
 * float when that is the precision. */
static void set_limits(trial *t, double theta_0, double beta_logit, bool to_float)
{
    const hkt_layer_offsets *at = &t->s.layout->layer[0];
    double *params = t->s.params;
    params[at->theta] = theta_0;
    for (size_t i = 0; i < hkt_value_levels(&t->config) * t->config.heads; i++)
        params[at->beta + i] = beta_logit;
    for (size_t i = 0; i < t->s.layout->total && to_float; i++)
        params[i] = (double)(float)params[i];
}

static hkt_status trial_open(uint64_t seed, const hkt_config *config, size_t T, hkt_rng *rng, trial *t)
{
    size_t size = T * config->d_model;
    *t = (trial){.config = *config, .T = T};
    hkt_status status = hkt_subject_fresh(config, seed, &t->s);
    if (status == HKT_OK)
        status = HKT_NEW(&t->tokens, T);
    if (status == HKT_OK)
        status = HKT_NEW(&t->x, 5 * size);
    if (status != HKT_OK) {
        trial_close(t);
        return status;
    }
    t->y = t->x + size;
    t->slack = t->y + size;
    t->plain = t->slack + size;
    t->bound = t->plain + size;
    expose(t->s.layout, rng, t->s.params);
    for (size_t i = 0; i < T; i++)
        t->tokens[i] = (int32_t)hkt_rng_below(rng, config->vocab);
    return HKT_OK;
}

/* Textbook result of all heads of level 0 from X^(0): t->plain and t->bound, [T, d]. */
static hkt_status plain_heads(trial *t, target what, double u)
{
    const hkt_config *c = &t->config;
    size_t d = c->d_model, p = d / c->heads, size = t->T * p;
    const hkt_level_offsets *at = &t->s.layout->layer[0].level[0];
    double *head = NULL;
    HKT_TRY(HKT_NEW(&head, 2 * size));
    hkt_status status = HKT_OK;
    for (size_t h = 0; h < c->heads && status == HKT_OK; h++) {
        hkt_plain_head plain = {.T = t->T,
                                .d = d,
                                .p = p,
                                .causal = c->causal,
                                .x = t->x,
                                .wq = hkt_subject_wq(&t->s, 0, 0, h),
                                .wk = hkt_subject_wk(&t->s, 0, 0, h),
                                .wv = t->s.params + at->v + h * p * d,
                                .conv = t->s.params + at->conv + h * p,
                                .conv_width = c->conv_width,
                                .ld_conv = d};
        status = what == ATTENTION ? hkt_plain_attention(&plain, u, head, head + size)
                                   : hkt_plain_convolution(&plain, u, head, head + size);
        for (size_t i = 0; i < size && status == HKT_OK; i++) {
            t->plain[i / p * d + h * p + i % p] = head[i];
            t->bound[i / p * d + h * p + i % p] = head[size + i];
        }
    }
    hkt_free(head);
    return status;
}

typedef hkt_status (*forward_fn)(const hkt_layout *, const double *, size_t, const int32_t *, double *, double *,
                                 double *);

/* The precisions: unit roundoff and forward pass. */
static double unit_of(bool f32)
{
    return f32 ? 0x1p-24 : 0x1p-53;
}

static forward_fn forward_of(bool f32)
{
    return f32 ? hkt_subsumption_forward_f32 : hkt_subsumption_forward_f64;
}

/* Largest difference to the fused heads of the standard multi-head model (levels = 1, hybrid = false) with the same
 * weights. */
static hkt_status from_mha(const trial *t, bool f32, double *difference)
{
    hkt_config c = t->config;
    hkt_subject s;
    double *x = NULL;
    size_t size = t->T * c.d_model;
    c.levels = 1;
    c.hybrid = false;
    *difference = 0;
    HKT_TRY(hkt_subject_fresh(&c, 0, &s));
    for (size_t i = 0; i < s.layout->n_params; i++) {
        const hkt_param *to = s.layout->params + i, *from = hkt_layout_find(t->s.layout, to->name);
        HKT_ASSERT(from && from->count == to->count);
        memcpy(s.params + to->offset, t->s.params + from->offset, to->count * sizeof *s.params);
    }
    hkt_status status = HKT_NEW(&x, 3 * size);
    if (status == HKT_OK)
        status = forward_of(f32)(s.layout, s.params, t->T, t->tokens, x, x + size, x + 2 * size);
    for (size_t i = 0; i < size && status == HKT_OK; i++)
        *difference = hkt_check_worse(*difference, fabs(x[size + i] - t->y[i]));
    hkt_free(x);
    hkt_subject_close(&s);
    return status;
}

/* Worst over shapes so far. */
typedef struct {
    double ratio, difference, largest, mha;
} agreement;

static hkt_status measure(trial *t, size_t index, target what, bool f32, hkt_check_result *out, agreement *worst)
{
    const hkt_config *c = &t->config;
    double ratio = 0, difference = 0, largest = 0, mha = 0;
    HKT_TRY(forward_of(f32)(t->s.layout, t->s.params, t->T, t->tokens, t->x, t->y, t->slack));
    HKT_TRY(plain_heads(t, what, unit_of(f32)));
    for (size_t i = 0; i < t->T * c->d_model; i++) {
        double e = fabs(t->y[i] - t->plain[i]);
        ratio = hkt_check_worse(ratio, e / (t->bound[i] + t->slack[i]));
        difference = hkt_check_worse(difference, e);
        largest = fmax(largest, fabs(t->plain[i]));
    }
    if (what == ATTENTION)
        HKT_TRY(from_mha(t, f32, &mha));
    worst->ratio = hkt_check_worse(worst->ratio, ratio);
    worst->difference = hkt_check_worse(worst->difference, difference);
    worst->largest = fmax(worst->largest, largest);
    worst->mha = hkt_check_worse(worst->mha, mha);
    double cells[] = {(double)index,
                      (double)t->T,
                      (double)c->d_model,
                      (double)c->heads,
                      (double)c->levels,
                      (double)c->stride,
                      (double)c->fusion,
                      (double)c->causal,
                      difference,
                      ratio,
                      what == ATTENTION ? mha : (double)NAN};
    return hkt_check_row(out, "shape\tT\td\theads\tlevels\tstride\tfusion\tcausal\tdifference\tof_bound\tfrom_own_mha",
                         cells);
}

static hkt_status reduce(const hkt_verify_context *ctx, hkt_check_result *out, target what, bool f32, double theta_0,
                         double beta_logit)
{
    size_t shapes = ctx->quick ? 24 : 100;
    agreement worst = {0};
    for (size_t i = 0; i < shapes; i++) {
        hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, HKT_SUBSUMPTION_SHAPES + (uint32_t)i);
        size_t T = between(&rng, 2, 64);
        hkt_config c = random_config(&rng, i, T);
        trial t;
        HKT_TRY(trial_open(ctx->seed + i, &c, T, &rng, &t));
        set_limits(&t, theta_0, beta_logit, f32);
        hkt_status status = measure(&t, i, what, f32, out, &worst);
        trial_close(&t);
        HKT_TRY(status);
    }
    hkt_check_at_most(out, worst.ratio, 1);
    hkt_check_condition(out, what == ATTENTION ? "lambda one-hot on level 0, beta = 1"
                                               : "lambda one-hot on level 0, beta = 0");
    hkt_check_detail(
        out, "largest difference %.2g (values up to %.2g) over %zu random shapes, in units of its rounding bound",
        worst.difference, worst.largest, shapes);
    if (what == ATTENTION)
        hkt_check_detail(out,
                         "largest difference %.2g (values up to %.2g) over %zu random shapes, in units of its rounding "
                         "bound; to the model with L = 1, hybrid = false: %.2g",
                         worst.difference, worst.largest, shapes, worst.mha);
    return HKT_OK;
}

hkt_status hkt_subsumption_attention_f32(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return reduce(ctx, out, ATTENTION, true, HKT_SUBSUMPTION_LARGE, HKT_SUBSUMPTION_LARGE);
}

hkt_status hkt_subsumption_attention_f64(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return reduce(ctx, out, ATTENTION, false, HKT_SUBSUMPTION_LARGE, HKT_SUBSUMPTION_LARGE);
}

/* theta_0 = 9 or 20: lambda_0 differs from 1 by about 1e-4 or 2e-9. */
hkt_status hkt_subsumption_attention_f32_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return reduce(ctx, out, ATTENTION, true, 9, HKT_SUBSUMPTION_LARGE);
}

hkt_status hkt_subsumption_attention_f64_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return reduce(ctx, out, ATTENTION, false, 20, HKT_SUBSUMPTION_LARGE);
}

hkt_status hkt_subsumption_convolution_f32(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return reduce(ctx, out, CONVOLUTION, true, HKT_SUBSUMPTION_LARGE, -HKT_SUBSUMPTION_LARGE);
}

hkt_status hkt_subsumption_convolution_f64(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return reduce(ctx, out, CONVOLUTION, false, HKT_SUBSUMPTION_LARGE, -HKT_SUBSUMPTION_LARGE);
}

/* beta = 1e-4 or 2e-9. */
hkt_status hkt_subsumption_convolution_f32_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return reduce(ctx, out, CONVOLUTION, true, HKT_SUBSUMPTION_LARGE, -9);
}

hkt_status hkt_subsumption_convolution_f64_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return reduce(ctx, out, CONVOLUTION, false, HKT_SUBSUMPTION_LARGE, -20);
}

/* --- limit --- */

/* bound [d] of |Y - A V^(0)| at finite theta_0 = beta logit (docs/theory.md, "subsumption", limit), and the largest of
 * 1 - alpha_0 beta. */
static void limit_bound(const trial *t, const hkt_tap_f64 *tap, double beta, double *bound)
{
    const hkt_config *c = &t->config;
    size_t d = c->d_model;
    for (size_t j = 0; j < d; j++) {
        bound[j] = 0;
        for (size_t l = 0; l < c->levels; l++) {
            const double *conv = t->s.params + t->s.layout->layer[0].level[l].conv;
            double v = 0, taps = 0;
            for (size_t i = 0; i < tap->offset[l][1]; i++)
                v = fmax(v, fabs(tap->v[l][i * tap->ld[l] + j]));
            for (size_t k = 0; k < c->conv_width; k++)
                taps += fabs(conv[k * d + j]);
            double rest = 1 - tap->alpha[0] * beta + tap->alpha[0] * (1 - beta) * taps;
            bound[j] += l == 0 ? rest * v : tap->alpha[l] * fmax(1, taps) * v;
        }
    }
}

/* One point t = theta_0 = beta logit: ratio of the distance from the target to the bound for attention. */
static hkt_status approach(trial *t, double point, target what, hkt_check_result *out, double *worst)
{
    hkt_net_f64 *net = NULL;
    hkt_tap_f64 tap;
    double bound[64], beta = 1 / (1 + exp(-point)), distance = 0, ratio = 0;
    size_t d = t->config.d_model;
    hkt_batch batch = {.n_seq = 1, .length = &t->T, .tokens = t->tokens};
    hkt_status status;
    HKT_ASSERT(d <= sizeof bound / sizeof *bound);
    set_limits(t, point, point, false);
    HKT_TRY(hkt_subsumption_forward_f64(t->s.layout, t->s.params, t->T, t->tokens, t->x, t->y, t->slack));
    HKT_TRY(plain_heads(t, what, 0x1p-53));
    HKT_TRY(hkt_net_create_f64(&net, t->s.layout, t->T, 1, false, true));
    HKT_TRY_GOTO(status, done, hkt_net_forward_f64(net, t->s.params, &batch, NULL, NULL, NULL, NULL));
    HKT_TRY_GOTO(status, done, hkt_net_tap_f64(net, 0, &tap));
    limit_bound(t, &tap, beta, bound);
    for (size_t i = 0; i < t->T * d; i++) {
        double e = fabs(t->y[i] - t->plain[i]);
        distance = hkt_check_worse(distance, e);
        ratio = hkt_check_worse(ratio, e / (bound[i % d] * (1 + 0x1p-40) + 4 * (t->bound[i] + t->slack[i])));
    }
    *worst = hkt_check_worse(*worst, ratio);
    double cells[] = {point, 1 - tap.alpha[0], 1 - beta, distance, ratio};
    status = hkt_check_row(out, "t\trest_of_alpha\t1-beta\tdistance\tof_bound", cells);
done:
    hkt_net_destroy_f64(net);
    return status;
}

static hkt_status limit(const hkt_verify_context *ctx, hkt_check_result *out, target what)
{
    static const double point[] = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32};
    enum { POINTS = sizeof point / sizeof *point };
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, HKT_SUBSUMPTION_INPUTS);
    hkt_config c = random_config(&rng, 1, 64);
    trial t;
    double worst = 0;
    c.levels = 3;
    c.fusion = HKT_FUSION_STATIC;
    HKT_TRY(trial_open(ctx->seed, &c, 64, &rng, &t));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < POINTS && status == HKT_OK; i++)
        status = approach(&t, point[i], what, out, &worst);
    trial_close(&t);
    HKT_TRY(status);
    hkt_check_at_most(out, worst, 1);
    hkt_check_condition(out, "theta_0 and the logits of beta tend to infinity");
    hkt_check_detail(
        out, "distance from standard attention falls from %.2g at t = 1 to %.2g at t = 32; in units of its bound",
        out->rows.cell[3], out->rows.cell[(POINTS - 1) * out->rows.n_cols + 3]);
    return HKT_OK;
}

hkt_status hkt_subsumption_limit(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return limit(ctx, out, ATTENTION);
}

/* The distance from convolution does not tend to zero. */
hkt_status hkt_subsumption_limit_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return limit(ctx, out, CONVOLUTION);
}

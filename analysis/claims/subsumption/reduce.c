/* reduce.c - checks of `subsumption` that attention and convolution are limits of the model, and how it tends to them.
 */
#include <math.h>
#include <string.h>

#include "analysis/claims/subsumption/subsumption.h"
#include "base/mem.h"
#include "model/net.h"

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
static hkt_status from_mha(const hkt_subsumption_trial *t, bool f32, double *difference)
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

static hkt_status measure(hkt_subsumption_trial *t, size_t index, hkt_subsumption_target what, bool f32,
                          hkt_check_result *out, agreement *worst)
{
    const hkt_config *c = &t->config;
    double ratio = 0, difference = 0, largest = 0, mha = 0;
    HKT_TRY(forward_of(f32)(t->s.layout, t->s.params, t->T, t->tokens, t->x, t->y, t->slack));
    HKT_TRY(hkt_subsumption_plain_heads(t, what, unit_of(f32)));
    for (size_t i = 0; i < t->T * c->d_model; i++) {
        double e = fabs(t->y[i] - t->plain[i]);
        ratio = hkt_check_worse(ratio, e / (t->bound[i] + t->slack[i]));
        difference = hkt_check_worse(difference, e);
        largest = fmax(largest, fabs(t->plain[i]));
    }
    if (what == HKT_TO_ATTENTION)
        HKT_TRY(from_mha(t, f32, &mha));
    worst->ratio = hkt_check_worse(worst->ratio, ratio);
    worst->difference = hkt_check_worse(worst->difference, difference);
    worst->largest = fmax(worst->largest, largest);
    worst->mha = hkt_check_worse(worst->mha, mha);
    return hkt_check_row(out, "shape\tT\td\theads\tlevels\tstride\tfusion\tcausal\tdifference\tof_bound\tfrom_own_mha",
                         index, t->T, c->d_model, c->heads, c->levels, c->stride, c->fusion, c->causal, difference,
                         ratio, what == HKT_TO_ATTENTION ? mha : (double)NAN);
}

static hkt_status reduce(const hkt_verify_context *ctx, hkt_check_result *out, hkt_subsumption_target what, bool f32,
                         double theta_0, double beta_logit)
{
    size_t shapes = ctx->quick ? 24 : 100;
    agreement worst = {0};
    for (size_t i = 0; i < shapes; i++) {
        hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, HKT_SUBSUMPTION_SHAPES + (uint32_t)i);
        size_t T = 2 + (size_t)hkt_rng_below(&rng, 63);
        hkt_config c = hkt_subsumption_random_config(&rng, i, T);
        hkt_subsumption_trial t;
        HKT_TRY(hkt_subsumption_trial_open(ctx->seed + i, &c, T, &rng, &t));
        hkt_subsumption_set_limits(&t, theta_0, beta_logit, f32);
        hkt_status status = measure(&t, i, what, f32, out, &worst);
        hkt_subsumption_trial_close(&t);
        HKT_TRY(status);
    }
    hkt_check_at_most(out, worst.ratio, 1);
    hkt_check_condition(out, what == HKT_TO_ATTENTION ? "lambda one-hot on level 0, beta = 1"
                                                      : "lambda one-hot on level 0, beta = 0");
    hkt_check_detail(out, "the largest difference is %.2g, of values up to %.2g, over %zu random shapes",
                     worst.difference, worst.largest, shapes);
    if (what == HKT_TO_ATTENTION)
        hkt_check_detail(out,
                         "the largest difference is %.2g, of values up to %.2g, over %zu random shapes; to the model "
                         "with L = 1, hybrid = false: %.2g",
                         worst.difference, worst.largest, shapes, worst.mha);
    return HKT_OK;
}

/* control: theta_0 = 9 or 20: lambda_0 differs from 1 by about 1e-4 or 2e-9. */
static hkt_status attention_f32(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return reduce(ctx, out, HKT_TO_ATTENTION, true, control ? 9 : HKT_SUBSUMPTION_LARGE, HKT_SUBSUMPTION_LARGE);
}

const hkt_check hkt_subsumption_attention_f32 = {
    .name = "attention-f32",
    .kind = HKT_IMPLEMENTATION,
    .statement = "theta_0 large (lambda, alpha one-hot on level 0) and beta = 1: the fused heads equal textbook "
                 "attention, float32",
    .reference = "paper, Prop. 3.4; docs/theory.md, subsumption",
    .failure = "the model does not contain standard attention",
    .finding = "a hierarchical head is standard attention",
    .run = attention_f32,
    .holds = "the head is textbook attention; the error is {m} of what rounding allows",
    .violated = "the head differs from textbook attention by {m} times what rounding allows",
};

static hkt_status attention_f64(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return reduce(ctx, out, HKT_TO_ATTENTION, false, control ? 20 : HKT_SUBSUMPTION_LARGE, HKT_SUBSUMPTION_LARGE);
}

const hkt_check hkt_subsumption_attention_f64 = {
    .name = "attention-f64",
    .kind = HKT_IMPLEMENTATION,
    .statement = "the same in float64",
    .reference = "paper, Prop. 3.4; docs/theory.md, subsumption",
    .failure = "the model does not contain standard attention",
    .finding = "a hierarchical head is standard attention",
    .run = attention_f64,
    .holds = "the head is textbook attention; the error is {m} of what rounding allows",
    .violated = "the head differs from textbook attention by {m} times what rounding allows",
};

/* control: beta = 1e-4 or 2e-9. */
static hkt_status convolution_f32(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return reduce(ctx, out, HKT_TO_CONVOLUTION, true, HKT_SUBSUMPTION_LARGE, control ? -9 : -HKT_SUBSUMPTION_LARGE);
}

const hkt_check hkt_subsumption_convolution_f32 = {
    .name = "convolution-f32",
    .kind = HKT_IMPLEMENTATION,
    .statement = "theta_0 large and beta = 0: the fused heads equal the direct causal convolution of V, float32",
    .reference = "paper, Prop. 3.4; docs/theory.md, subsumption",
    .failure = "the model does not contain causal convolution",
    .finding = "a hierarchical head is a causal convolution",
    .run = convolution_f32,
    .holds = "the head is the direct causal convolution; the error is {m} of what rounding allows",
    .violated = "the head differs from the direct causal convolution by {m} times what rounding allows",
};

static hkt_status convolution_f64(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return reduce(ctx, out, HKT_TO_CONVOLUTION, false, HKT_SUBSUMPTION_LARGE, control ? -20 : -HKT_SUBSUMPTION_LARGE);
}

const hkt_check hkt_subsumption_convolution_f64 = {
    .name = "convolution-f64",
    .kind = HKT_IMPLEMENTATION,
    .statement = "the same in float64",
    .reference = "paper, Prop. 3.4; docs/theory.md, subsumption",
    .failure = "the model does not contain causal convolution",
    .finding = "a hierarchical head is a causal convolution",
    .run = convolution_f64,
    .holds = "the head is the direct causal convolution; the error is {m} of what rounding allows",
    .violated = "the head differs from the direct causal convolution by {m} times what rounding allows",
};

/* --- the limit itself --- */

/* bound [d] of |Y - A V^(0)| at finite theta_0 = beta logit (docs/theory.md, "subsumption", limit), and the largest of
 * 1 - alpha_0 beta. */
static void limit_bound(const hkt_subsumption_trial *t, const hkt_tap_f64 *tap, double beta, double *bound)
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
static hkt_status approach(hkt_subsumption_trial *t, double point, hkt_subsumption_target what, hkt_check_result *out,
                           double *worst)
{
    hkt_scene scene = {0};
    double bound[64], beta = 1 / (1 + exp(-point)), distance = 0, ratio = 0;
    size_t d = t->config.d_model;
    hkt_status status;
    HKT_ASSERT(d <= sizeof bound / sizeof *bound);
    hkt_subsumption_set_limits(t, point, point, false);
    HKT_TRY(hkt_subsumption_forward_f64(t->s.layout, t->s.params, t->T, t->tokens, t->x, t->y, t->slack));
    HKT_TRY(hkt_subsumption_plain_heads(t, what, 0x1p-53));
    HKT_TRY_GOTO(status, done, hkt_scene_open(&scene, t->s.layout, t->s.params, t->T));
    HKT_TRY_GOTO(status, done, hkt_scene_see(&scene, t->T, t->tokens));
    limit_bound(t, scene.tap, beta, bound);
    for (size_t i = 0; i < t->T * d; i++) {
        double e = fabs(t->y[i] - t->plain[i]);
        distance = hkt_check_worse(distance, e);
        ratio = hkt_check_worse(ratio, e / (bound[i % d] * (1 + 0x1p-40) + 4 * (t->bound[i] + t->slack[i])));
    }
    *worst = hkt_check_worse(*worst, ratio);
    status = hkt_check_row(out, "t\trest_of_alpha\t1-beta\tdistance\tof_bound", point, 1 - scene.tap->alpha[0],
                           1 - beta, distance, ratio);
done:
    hkt_scene_close(&scene);
    return status;
}

/* control: the distance from convolution does not tend to zero. */
static hkt_status limit(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const hkt_subsumption_target what = control ? HKT_TO_CONVOLUTION : HKT_TO_ATTENTION;
    static const double point[] = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32};
    enum { POINTS = sizeof point / sizeof *point };
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, HKT_SUBSUMPTION_INPUTS);
    hkt_config c = hkt_subsumption_random_config(&rng, 1, 64);
    hkt_subsumption_trial t;
    double worst = 0;
    c.levels = 3;
    c.fusion = HKT_FUSION_STATIC;
    HKT_TRY(hkt_subsumption_trial_open(ctx->seed, &c, 64, &rng, &t));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < POINTS && status == HKT_OK; i++)
        status = approach(&t, point[i], what, out, &worst);
    hkt_subsumption_trial_close(&t);
    HKT_TRY(status);
    hkt_check_at_most(out, worst, 1);
    hkt_check_condition(out, "theta_0 and the logits of beta tend to infinity");
    hkt_check_detail(out, "it falls from %.2g at t = 1 to %.2g at t = 32", out->rows.cell[3],
                     out->rows.cell[(POINTS - 1) * out->rows.n_cols + 3]);
    return HKT_OK;
}

const hkt_check hkt_subsumption_limit = {
    .name = "limit",
    .kind = HKT_IMPLEMENTATION,
    .statement =
        "at finite theta_0 = beta logit = t the distance from standard attention is below a bound of order e^-t",
    .reference = "docs/theory.md, subsumption",
    .failure = "standard attention is not the limit of the model",
    .finding = "the distance from standard attention is of order e^-t at finite parameters t",
    .run = limit,
    .holds = "the distance from standard attention is at most {m} of its bound, which is of order e^-t",
    .violated = "the distance from standard attention is {m} times its bound, which is of order e^-t",
};

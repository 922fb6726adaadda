/* laws.c - checks of `decay` that ask which law E_L follows: kernels, white noise, the scores of a model. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "analysis/claims/power.h"
#include "analysis/claims/decay/decay.h"
#include "analysis/claims/subject.h"
#include "analysis/view/scene.h"
#include "base/mem.h"

/* Laws of several matrices. A claim about all of them falls with one that is not geometric. */
typedef struct {
    size_t n, geometric, other; /* the rest is undecided */
    size_t zero;                /* matrices left out: 0 */
} laws;

static void count_law(laws *c, const hkt_decay_fit *fit)
{
    c->n++;
    c->geometric += fit->law == HKT_LAW_GEOMETRIC;
    c->other += fit->law == HKT_LAW_POWER || fit->law == HKT_LAW_FLOOR;
}

static hkt_status add_row(hkt_check_result *out, double a, double b, const hkt_curve *curve, const hkt_decay_fit *fit)
{
    return hkt_check_row(out, "first\tsecond\tE_1\tE_n\tbound\trho_low\trho_high\tfloor\tmargin\tlaw", a, b,
                         curve->error[0], curve->error[curve->n - 1], curve->floor, fit->rho_low, fit->rho_high,
                         fit->floor, fit->margin, fit->law);
}

/* HOLDS when at least `share` of the matrices are called geometric, INCONCLUSIVE when only the undecided stand in the
 * way. */
static void judge(hkt_check_result *out, const laws *c, double share)
{
    hkt_check_at_least(out, (double)c->geometric / (double)c->n, share);
    if (out->verdict == HKT_VIOLATED && (double)(c->n - c->other) >= share * (double)c->n)
        out->verdict = HKT_INCONCLUSIVE;
}

/* --- matrices drawn at random --- */

/* fill: one matrix of T x T. Measured: how many of the draws are called geometric. */
static hkt_status draws(const hkt_verify_context *ctx, hkt_check_result *out, size_t T, size_t n,
                        hkt_status (*fill)(size_t T, hkt_rng *rng, double *s), laws *c)
{
    double *s = NULL;
    hkt_search search = hkt_decay_search(ctx);
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 430);
    *c = (laws){0};
    HKT_TRY(HKT_NEW(&s, T * T));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < n && status == HKT_OK; i++) {
        hkt_curve curve;
        hkt_decay_fit fit;
        size_t rank = i % 2 ? 4 : 1;
        HKT_TRY_GOTO(status, done, fill(T, &rng, s));
        HKT_TRY_GOTO(status, done, hkt_decay_measure(s, T, 0, rank, &search, &curve, &fit));
        HKT_TRY_GOTO(status, done, add_row(out, (double)i, (double)rank, &curve, &fit));
        count_law(c, &fit);
    }
done:
    hkt_free(s);
    return status;
}

static hkt_status fill_noise(size_t T, hkt_rng *rng, double *s)
{
    hkt_decay_noise_fill(T, rng, s);
    return HKT_OK;
}

/* E_L = 0.8^L of rank 1. */
static hkt_status fill_geometric(size_t T, hkt_rng *rng, double *s)
{
    double error[HKT_MAX_LEVELS];
    size_t levels = hkt_hierarchy_depth(T, HKT_DECAY_STRIDE);
    for (size_t L = 1; L <= levels; L++)
        error[L - 1] = pow(0.8, (double)L);
    return hkt_decay_planted_fill(T, levels, 1, error, rng, s);
}

/* control: fields that are geometric. */
static hkt_status noise(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    laws c;
    size_t T = control ? 32 : ctx->quick ? 64 : 128, n = control || ctx->quick ? 4 : 8;
    HKT_TRY(draws(ctx, out, T, n, control ? fill_geometric : fill_noise, &c));
    hkt_check_at_most(out, (double)c.geometric, 0);
    hkt_check_detail(out, "%zu draws (T = %zu, rank 1 and 4 in turn); %zu follow another law", c.n, T, c.other);
    return HKT_OK;
}

/* Share of 400 simulated series of 8 errors, each 2 % off, that are called geometric (or another law: not geometric).
 * value(L) = 0.8^L, or L^-exponent. */
static double called(const hkt_verify_context *ctx, double exponent, bool geometric)
{
    enum { SERIES = 400, LENGTH = 8 };
    const hkt_decay_spec spec = {.level = 0.95, .least = 1e-9, .noise = 1e-3};
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 2420);
    double seen = 0, e[LENGTH];
    for (int s = 0; s < SERIES; s++) {
        hkt_decay_fit fit;
        for (int L = 1; L <= LENGTH; L++)
            e[L - 1] = (geometric ? pow(0.8, L) : pow(L, -exponent)) * exp(0.02 * hkt_rng_normal(&rng));
        if (hkt_fit_decay(LENGTH, e, &spec, &fit) != HKT_OK)
            return (double)NAN;
        seen += geometric ? fit.law == HKT_LAW_GEOMETRIC : fit.law == HKT_LAW_POWER || fit.law == HKT_LAW_FLOOR;
    }
    return seen / SERIES;
}

static double noise_power(const hkt_verify_context *ctx)
{
    return 1 - pow(1 - called(ctx, 0, true), ctx->quick ? 4 : 8);
}

static const hkt_check_test noise_test = {
    .level = "a power law or a floor with errors of 2 % is called geometric in at most 1 % (test_decay)",
    .multiplicity = "8 draws (--quick: 4), one is enough: at most 8 % (4 %)",
    .alternative = "draws whose E_L is 0.8^L with errors of 2 % (400 series simulated)",
    .power = noise_power};

const hkt_check hkt_decay_white_noise = {
    .name = "white-noise",
    .kind = HKT_STATISTICAL,
    .test = &noise_test,
    .statement = "white noise is not called geometric",
    .reference = "docs/theory.md, decay",
    .failure = "the decision between laws calls anything geometric",
    .run = noise,
    .holds = "no draw of white noise is called geometric",
    .violated = "{m} draws of white noise are called geometric",
};

/* control: white noise in the place of the kernels or of a model's scores. */
static hkt_status noise_instead(const hkt_verify_context *ctx, hkt_check_result *out)
{
    laws c;
    HKT_TRY(draws(ctx, out, 32, 4, fill_noise, &c));
    judge(out, &c, 1);
    return HKT_OK;
}

/* --- kernels --- */

typedef struct {
    hkt_kernel kernel;
    double parameter[3]; /* exponential: divided into T */
    size_t n;
} family;
static const family power_law = {HKT_KERNEL_POWER, {0.5, 1, 2}, 3}, exponential = {HKT_KERNEL_EXPONENTIAL, {16, 4}, 2};

static hkt_status kernels(const hkt_verify_context *ctx, hkt_check_result *out, bool control, const family *f)
{
    if (control)
        return noise_instead(ctx, out);
    static const size_t rank[] = {4, 1};
    size_t T = ctx->quick ? 64 : 128, n_ranks = ctx->quick ? 1 : 2;
    double *s = NULL;
    hkt_search search = hkt_decay_search(ctx);
    laws c = {0};
    HKT_TRY(HKT_NEW(&s, T * T));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < f->n * n_ranks; i++) {
        hkt_curve curve;
        hkt_decay_fit fit;
        double value = f->kernel == HKT_KERNEL_POWER ? f->parameter[i % f->n] : (double)T / f->parameter[i % f->n];
        hkt_hierarchy_kernel(f->kernel, value, T, s);
        HKT_TRY_GOTO(status, done, hkt_decay_measure(s, T, 0, rank[i / f->n], &search, &curve, &fit));
        HKT_TRY_GOTO(status, done, add_row(out, value, (double)rank[i / f->n], &curve, &fit));
        count_law(&c, &fit);
    }
done:
    hkt_free(s);
    HKT_TRY(status);
    judge(out, &c, 1);
    hkt_check_detail(out,
                     "%zu kernels (T = %zu; first: parameter, second: rank); %zu follow another law by an AICc margin "
                     "of 4 or more; law 0 geometric, 1 power, 2 floor, 3 undecided",
                     c.n, T, c.other);
    return HKT_OK;
}

static hkt_status power(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_check_condition(out, "S* = (1 + |i - j|)^-a");
    return kernels(ctx, out, control, &power_law);
}

/* The check calls a kernel not geometric: one of its family. */
static double power_law_power(const hkt_verify_context *ctx)
{
    return called(ctx, 0.5, false);
}

static const hkt_check_test power_law_test = {
    .level = "a geometric series with errors of 2 % is called another law in at most 1 % (test_decay)",
    .multiplicity = "6 kernels (--quick: 3), one is enough: at most 6 % (3 %)",
    .alternative = "one kernel with an E_L of L^-0.5 with errors of 2 % (400 series simulated)",
    .power = power_law_power};

const hkt_check hkt_decay_power_law = {
    .name = "power-law",
    .kind = HKT_STATISTICAL,
    .test = &power_law_test,
    .statement = "E_L of power-law kernels decays geometrically",
    .reference = "paper, Prop. 4.4",
    .failure = "E_L of such kernels is not geometric in L: it levels off",
    .finding = "the error E_L with L levels is geometric in L",
    .run = power,
    .holds = "the errors of all kernels are called geometric",
    .violated = "the errors of {m%} % of the kernels are called geometric; all should be",
};

static hkt_status exponentials(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_check_condition(out, "S* = exp(-|i - j| / a)");
    return kernels(ctx, out, control, &exponential);
}

static double exponential_power(const hkt_verify_context *ctx)
{
    return called(ctx, 1, false);
}

static const hkt_check_test exponential_test = {
    .level = "a geometric series with errors of 2 % is called another law in at most 1 % (test_decay)",
    .multiplicity = "4 kernels (--quick: 2), one is enough: at most 4 % (2 %)",
    .alternative = "one kernel with an E_L of 1/L with errors of 2 % (400 series simulated)",
    .power = exponential_power};

const hkt_check hkt_decay_exponential = {
    .name = "exponential",
    .kind = HKT_STATISTICAL,
    .test = &exponential_test,
    .statement = "E_L of exponential kernels decays geometrically",
    .reference = "paper, Prop. 4.4",
    .failure = "E_L of such kernels is not geometric in L: it levels off",
    .finding = "the error E_L with L levels is geometric in L",
    .run = exponentials,
    .holds = "the errors of all kernels are called geometric",
    .violated = "the errors of {m%} % of the kernels are called geometric; all should be",
};

/* --- the scores of a model --- */

enum { MOST_TOKENS = 256 };

static hkt_status all_heads(const hkt_verify_context *ctx, const hkt_scene *f, const hkt_config *config,
                            hkt_check_result *out, laws *c)
{
    size_t heads = ctx->quick && config->heads > 2 ? 2 : config->heads, T = f->T, p = config->d_model / config->heads;
    hkt_search search = hkt_decay_search(ctx);
    double *s = NULL;
    HKT_TRY(HKT_NEW(&s, 2 * T * T));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < config->layers * heads && status == HKT_OK; i++) {
        hkt_curve curve;
        hkt_decay_fit fit;
        hkt_scene_scores(f, i / heads, i % heads, config->levels, s + T * T, s);
        if (cblas_dnrm2((int)(T * T), s, 1) == 0) {
            c->zero++;
            continue;
        }
        HKT_TRY_GOTO(status, done, hkt_decay_measure(s, T, 0, p < 16 ? 1 : p / 8, &search, &curve, &fit));
        HKT_TRY_GOTO(status, done, add_row(out, (double)(i / heads), (double)(i % heads), &curve, &fit));
        count_law(c, &fit);
    }
done:
    hkt_free(s);
    return status;
}

static hkt_status scores(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    if (control)
        return noise_instead(ctx, out);
    hkt_verify_context own = *ctx;
    hkt_subject s;
    hkt_scene f = {0};
    laws c = {0};
    own.tokens = ctx->tokens < MOST_TOKENS ? ctx->tokens : MOST_TOKENS;
    HKT_TRY(hkt_subject_open(ctx, &s));
    const hkt_config *config = &s.layout->config;
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_subject_see(&own, &s, ctx->quick ? 64 : 128, &f));
    if (hkt_hierarchy_depth(f.T, HKT_DECAY_STRIDE) < HKT_FIT_LEAST) {
        hkt_check_skip(out, "needs a sequence of 17 tokens or more for 6 levels, found %zu", f.T);
        goto done;
    }
    HKT_TRY_GOTO(status, done, all_heads(ctx, &f, config, out, &c));
    if (c.n == 0) {
        hkt_check_skip(out, "the scores of all %zu heads are 0", c.zero);
        goto done;
    }
    judge(out, &c, 0.5);
    hkt_check_condition(out, "S* = scores of a model");
    hkt_check_detail(
        out,
        "%zu heads (T = %zu; first: layer, second: head); %zu follow another law; sums of rank max(1, p/8), p = %zu",
        c.n, f.T, c.other, config->d_model / config->heads);
    hkt_check_left_out(out, c.zero, "heads", "scores 0");
done:
    hkt_scene_close(&f);
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_decay_model_scores = {
    .name = "model-scores",
    .kind = HKT_EMPIRICAL,
    .statement = "E_L of most score matrices of the model decays geometrically",
    .reference = "paper, Prop. 4.4",
    .failure = "scores of the model are not of the kind the proposition is about",
    .finding = "the error E_L with L levels is geometric in L",
    .of_model = true,
    .run = scores,
    .holds = "the errors of {m%} % of the heads are called geometric, most of them",
    .violated = "the errors of {m%} % of the heads are called geometric; {b%} % should be",
};

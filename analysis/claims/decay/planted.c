/* planted.c - matrices for the checks of `decay`, what is measured on them, and the checks on those whose E_L is known.
 */
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/claims/power.h"
#include "analysis/claims/decay/decay.h"
#include "analysis/math/linalg.h"
#include "base/mem.h"
#include "base/progress.h"

void hkt_decay_noise_fill(size_t T, hkt_rng *rng, double *s)
{
    for (size_t i = 0; i < T * T; i++)
        s[i] = hkt_rng_normal(rng);
}

/* Row `at` of u [.., T]: a random unit vector, constant on the blocks of level l, orthogonal to the rows before. Those
 * are constant on blocks that are unions of its own, so subtracting them does not leave the level. */
static void next_direction(size_t T, size_t l, hkt_rng *rng, double *u, size_t at)
{
    double *row = u + at * T, value = 0;
    size_t step = 1;
    for (size_t i = 0; i < l; i++)
        step *= HKT_DECAY_STRIDE;
    for (size_t i = 0; i < T; i++)
        row[i] = value = i % step == 0 ? hkt_rng_normal(rng) : value;
    for (int twice = 0; twice < 2; twice++) { /* twice is enough (Giraud et al. 2005) */
        for (size_t k = 0; k < at; k++)
            cblas_daxpy((int)T, -cblas_ddot((int)T, row, 1, u + k * T, 1), u + k * T, 1, row, 1);
        cblas_dscal((int)T, 1 / cblas_dnrm2((int)T, row, 1), row, 1);
    }
}

/* `rank` directions for each level, coarsest first, then `extra` of level 0. */
static void nested_directions(size_t T, size_t levels, size_t rank, size_t extra, hkt_rng *rng, double *u)
{
    size_t at = 0;
    for (size_t l = levels; l-- > 0;)
        for (size_t k = 0; k < rank; k++)
            next_direction(T, l, rng, u, at++);
    for (size_t k = 0; k < extra; k++)
        next_direction(T, 0, rng, u, at++);
}

/* S = sum of sigma_l u v^T over the directions of each level, with r sigma_l^2 = E_l^2 - E_{l+1}^2, and what is left,
 * E_levels^2, on so many directions that none outweighs those of the last level. */
hkt_status hkt_decay_planted_fill(size_t T, size_t levels, size_t rank, const double *error, hkt_rng *rng, double *s)
{
    double left = error[levels - 1] * error[levels - 1], before = 1, sigma[HKT_MAX_LEVELS], last = (double)INFINITY;
    for (size_t l = 0; l < levels; l++) {
        sigma[l] = sqrt((before - error[l] * error[l]) / (double)rank);
        before = error[l] * error[l];
        HKT_ASSERT(sigma[l] < last);
        last = sigma[l];
    }
    size_t extra = (size_t)ceil(left / (last * last)), n = levels * rank + extra;
    HKT_ASSERT(n <= T);
    double *u = NULL;
    HKT_TRY(HKT_NEW(&u, 2 * n * T));
    double *v = u + n * T;
    nested_directions(T, levels, rank, extra, rng, u);
    nested_directions(T, levels, rank, extra, rng, v);
    for (size_t k = 0; k < n; k++)
        cblas_dscal((int)T, k < levels * rank ? sigma[levels - 1 - k / rank] : sqrt(left / (double)extra), u + k * T,
                    1);
    hkt_product(true, false, T, T, n, 1, u, v, 0, s);
    hkt_free(u);
    return HKT_OK;
}

hkt_search hkt_decay_search(const hkt_verify_context *ctx)
{
    return (hkt_search){.sweeps = ctx->quick ? 20 : 30, .tolerance = 1e-6, .random = 0, .seed = ctx->seed};
}

hkt_status hkt_decay_measure(const double *s, size_t T, size_t levels, size_t rank, const hkt_search *search,
                             hkt_curve *curve, hkt_decay_fit *fit)
{
    levels = levels > 0 ? levels : hkt_hierarchy_depth(T, HKT_DECAY_STRIDE);
    /* Variances are not estimated below this: more sweeps and starts still change E_L by 0.1 to 3 %, smoothly in L
     * (docs/theory.md, "decay"). E_L^2 is known to L T r eps, so E_L to within `noise` as long as it is above `least`.
     */
    const double noise = 1e-3;
    hkt_decay_spec spec = {.level = 0.95, .noise = noise};
    spec.least = sqrt((double)(levels * T * rank) * DBL_EPSILON / (2 * noise));
    HKT_TRY(hkt_hierarchy_curve(curve, s, T, HKT_DECAY_STRIDE, levels, rank, search));
    return hkt_fit_decay(curve->n, curve->error, &spec, fit);
}

static const double planted_rho[] = {0.3, 0.5, 0.8};
enum { N_RHO = sizeof planted_rho / sizeof *planted_rho };

/* --- exactly C rho^L --- */

/* T, levels, rank of the fields: the most levels that leave room for the rank. */
static const struct {
    size_t T, levels, rank;
} shape[] = {{64, 7, 1}, {128, 7, 2}};

/* One field; *worst: largest |E_L^2 - rho^2L|. other: the rank sought is not the planted one. */
static hkt_status exact_field(const hkt_verify_context *ctx, size_t k, double rho, bool other, hkt_check_result *out,
                              double *worst)
{
    size_t T = shape[k].T;
    double *s = NULL, error[HKT_MAX_LEVELS], e = 0;
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 410 + (uint32_t)k);
    hkt_search search = hkt_decay_search(ctx);
    hkt_curve curve;
    hkt_decay_fit fit = {0};
    for (size_t L = 1; L <= shape[k].levels; L++)
        error[L - 1] = pow(rho, (double)L);
    HKT_TRY(HKT_NEW(&s, T * T));
    hkt_status status = hkt_decay_planted_fill(T, shape[k].levels, shape[k].rank, error, &rng, s);
    if (status == HKT_OK)
        status = hkt_decay_measure(s, T, shape[k].levels, shape[k].rank + other, &search, &curve, &fit);
    hkt_free(s);
    HKT_TRY(status);
    for (size_t L = 0; L < shape[k].levels; L++)
        e = hkt_check_worse(e, fabs(curve.error[L] * curve.error[L] - error[L] * error[L]));
    *worst = hkt_check_worse(*worst, e);
    return hkt_check_row(out, "rho\tT\trank\tlevels\trho_fitted\taicc_margin\tsquare_error", rho, T, shape[k].rank,
                         shape[k].levels, fit.rho, fit.margin, e);
}

/* control: sums of rank r + 1 on fields of rank r. */
static hkt_status exact(const hkt_verify_context *ctx, hkt_check_result *out, bool other)
{
    double worst = 0;
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
        for (size_t i = 0; i < N_RHO; i++)
            HKT_TRY(exact_field(ctx, k, planted_rho[i], other, out, &worst));
    /* L steps, each within T r eps of the least squared error (docs/theory.md, "decay"), for the larger shape. */
    hkt_check_at_most(out, worst, 7 * 128 * 2 * DBL_EPSILON);
    hkt_check_condition(out, "S* is a multiscale field of ratio rho, terms orthogonal");
    hkt_check_detail(out, "|E_L^2 - rho^2L| over rho = 0.3, 0.5, 0.8 and L = 1 .. 7; at these E_L the bound by rank is "
                          "attained: the sum found is the best");
    return HKT_OK;
}

const hkt_check hkt_decay_planted_exact = {
    .name = "planted-exact",
    .kind = HKT_IMPLEMENTATION,
    .statement = "of multiscale fields with E_L = rho^L, rho = 0.3, 0.5, 0.8, E_L is found",
    .reference = "docs/theory.md, decay",
    .failure = "the search misses the best hierarchical sum",
    .finding = "the error E_L with L levels is geometric in L",
    .run = exact,
    .holds = "the planted errors rho^L are found, to {m}; rounding allows {b}",
    .violated = "a planted error rho^L is missed by {m}; rounding allows {b}",
};

/* --- with errors: coverage of the interval --- */

enum { NOISY_T = 32, NOISY_LEVELS = 6, FIELDS = 400, QUICK_FIELDS = 80 };
/* Small enough for the planted singular values to fall in any case, with normal errors cut at 3 (0.3 % of them). */
static const double log_error = 0.005;

static double cut_normal(hkt_rng *rng)
{
    for (;;) {
        double z = hkt_rng_normal(rng);
        if (fabs(z) <= 3)
            return z;
    }
}

typedef struct {
    size_t covered, geometric;
    double rho, low, high; /* of the first field */
} tally;

/* `fields` fields with log E_L = L log(rho) + normal error; does the interval hold `stated`? s [T, T] scratch. */
static hkt_status cover(double rho, double stated, size_t fields, hkt_rng *rng, double *s, tally *t)
{
    /* The sums of 6 terms are found at once: the search starts from the one of a level less. */
    const hkt_search search = {.sweeps = 4, .tolerance = 1e-6};
    const double start = hkt_now();
    *t = (tally){0};
    for (size_t f = 0; f < fields; f++) {
        hkt_progress_part(start, f, fields, "ratio %g, field %zu of %zu", rho, f + 1, fields);
        double error[NOISY_LEVELS];
        hkt_curve curve;
        hkt_decay_fit fit;
        for (size_t L = 1; L <= NOISY_LEVELS; L++)
            error[L - 1] = pow(rho, (double)L) * exp(log_error * cut_normal(rng));
        HKT_TRY(hkt_decay_planted_fill(NOISY_T, NOISY_LEVELS, 1, error, rng, s));
        HKT_TRY(hkt_decay_measure(s, NOISY_T, NOISY_LEVELS, 1, &search, &curve, &fit));
        t->covered += fit.rho_low <= stated && stated <= fit.rho_high;
        t->geometric += fit.law == HKT_LAW_GEOMETRIC;
        if (f == 0) {
            t->rho = fit.rho;
            t->low = fit.rho_low;
            t->high = fit.rho_high;
        }
    }
    return HKT_OK;
}

/* off: the rho stated is so many times the planted one. control: a ratio that is 1 % off. */
static hkt_status interval(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const double off = control ? 1.01 : 1;
    size_t fields = ctx->quick ? QUICK_FIELDS : FIELDS, covered = 0, geometric = 0;
    double *s = NULL, n = (double)(N_RHO * fields);
    HKT_TRY(HKT_NEW(&s, NOISY_T * NOISY_T));
    hkt_status status = HKT_OK;
    for (uint32_t i = 0; i < N_RHO && status == HKT_OK; i++) {
        hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 420 + i);
        tally t;
        status = cover(planted_rho[i], off * planted_rho[i], fields, &rng, s, &t);
        if (status != HKT_OK)
            break;
        covered += t.covered;
        geometric += t.geometric;
        status = hkt_check_row(out, "rho\trho_fitted\tlow\thigh\tcovered\tcalled_geometric\tfields", planted_rho[i],
                               t.rho, t.low, t.high, t.covered, t.geometric, fields);
    }
    hkt_free(s);
    HKT_TRY(status);
    hkt_check_at_most(out, fabs((double)covered / n - 0.95), hkt_power_limit((size_t)n, 0.95, true, 0.001));
    hkt_check_condition(out, "S* is a multiscale field of ratio rho, terms orthogonal");
    hkt_check_detail(out, "%g fields (rho = 0.3, 0.5, 0.8; one test at level 0.1 %%); %zu are called geometric", n,
                     geometric);
    return HKT_OK;
}

static double interval_power(const hkt_verify_context *ctx)
{
    size_t n = N_RHO * (ctx->quick ? QUICK_FIELDS : FIELDS);
    double half = hkt_power_limit(n, 0.95, true, 0.001);
    return hkt_power_binomial(n, 0.90, 0.95 - half, 0.95 + half);
}

static const hkt_check_test interval_test = {.level = "0.1 %, exact binomial limits",
                                             .multiplicity = "one test over all ratios",
                                             .alternative = "intervals that cover 90 %",
                                             .power = interval_power};

const hkt_check hkt_decay_planted_interval = {
    .name = "planted-interval",
    .kind = HKT_STATISTICAL,
    .test = &interval_test,
    .statement = "the 95 % interval of the fitted ratio holds the planted one as often as it says, with normal errors "
                 "of log E_L",
    .reference = "docs/theory.md, decay",
    .failure = "intervals of rho are not to be trusted",
    .run = interval,
    .holds = "95 % intervals of the ratio hold it in 95 % of the fields, to within {m%} points (limit {b%})",
    .violated = "95 % intervals of the ratio do not hold it in 95 % of the fields: {m%} points off (limit {b%})",
};

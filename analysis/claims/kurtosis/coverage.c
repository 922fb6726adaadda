/* coverage.c - how often the intervals of kappa are right when sequences differ in scale. */
#include <math.h>

#include "analysis/claims/power.h"
#include "analysis/claims/check.h"
#include "analysis/math/bootstrap.h"
#include "base/mem.h"
#include "base/rng.h"

/* Sequence i has normal scores of standard deviation exp(sigma z_i): pooled, log kappa = 4 sigma^2. */
static const double sigmas[] = {0.2, 0.5, 0.94}; /* kappa 1.17, 2.7, 34 */
enum { SIGMAS = sizeof sigmas / sizeof *sigmas, SEQUENCES = 128, PARTS = 8, TRIALS = 400, QUICK_TRIALS = 160 };

typedef struct {
    double covered, above; /* trials whose interval holds the truth; whose lower end lies above it */
    hkt_status failure;
} tally;

/* One trial; parts: every sequence comes as so many units, as if its scores were independent. */
static hkt_status try_interval(uint64_t seed, uint32_t sub, double sigma, size_t parts, size_t replicates, tally *t)
{
    hkt_moments unit[SEQUENCES * PARTS];
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, sub);
    for (size_t i = 0; i < SEQUENCES; i++) {
        double s2 = exp(2 * sigma * hkt_rng_normal(&rng)), n = 1000;
        /* So many scores that their moments are those of the law. */
        for (size_t k = 0; k < parts; k++)
            unit[i * parts + k] =
                (hkt_moments){.n = n, .M2 = n * s2, .M4 = 3 * n * s2 * s2, .lo = -4 * sqrt(s2), .hi = 4 * sqrt(s2)};
    }
    double lo, hi, truth = exp(4 * sigma * sigma);
    HKT_TRY(hkt_bootstrap_kappa(unit, SEQUENCES * parts, replicates, 0.95, seed + sub, &lo, &hi));
    t->covered = lo <= truth && truth <= hi;
    t->above = !(lo <= truth);
    return HKT_OK;
}

static hkt_status try_sigma(const hkt_verify_context *ctx, uint32_t sub, double sigma, size_t parts, size_t trials,
                            tally *sum)
{
    tally *each = NULL;
    size_t replicates = ctx->quick || parts > 1 ? 199 : 599;
    HKT_TRY(HKT_NEW(&each, trials));
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < trials; i++)
        each[i].failure = try_interval(ctx->seed, sub + (uint32_t)i, sigma, parts, replicates, each + i);
    hkt_status status = HKT_OK;
    *sum = (tally){0};
    for (size_t i = 0; i < trials && status == HKT_OK; i++) {
        if (each[i].failure != HKT_OK) /* the message stayed with the thread that failed */
            status = hkt_fail(each[i].failure, "interval of kappa, trial %zu: no memory or no number", i);
        sum->covered += each[i].covered / (double)trials;
        sum->above += each[i].above / (double)trials;
    }
    hkt_free(each);
    return status;
}

/* Share of lower ends above kappa that a true share of 5 % exceeds with probability 0.1 % over all spreads. */
static double most_above(size_t trials)
{
    return 0.05 + hkt_power_limit(trials, 0.05, false, 0.001 / SIGMAS);
}

/* control: parts of a sequence for units, as if its scores were independent. */
static hkt_status coverage(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    size_t trials = ctx->quick ? QUICK_TRIALS : TRIALS;
    double worst = 0;
    tally at[SIGMAS];
    for (size_t i = 0; i < (control ? 1 : SIGMAS); i++) {
        HKT_TRY(try_sigma(ctx, 0x4000 + 0x1000 * (uint32_t)i, sigmas[i], control ? PARTS : 1, trials, at + i));
        worst = hkt_check_worse(worst, at[i].above);
        HKT_TRY(hkt_check_row(out, "sigma\tkappa\tsequences\ttrials\tcoverage\tlower_end_above", sigmas[i],
                              exp(4 * sigmas[i] * sigmas[i]), SEQUENCES, trials, at[i].covered, at[i].above));
    }
    hkt_check_at_most(out, worst, most_above(trials));
    hkt_check_condition(out, "log-normal scale per sequence, %d sequences", SEQUENCES);
    if (!control)
        hkt_check_detail(out,
                         "%zu trials; coverage %.1f, %.1f, %.1f %% at kappa 1.17, 2.7, 34; level 0.1 %% over the %d",
                         trials, 100 * at[0].covered, 100 * at[1].covered, 100 * at[2].covered, SIGMAS);
    return HKT_OK;
}

static double coverage_power(const hkt_verify_context *ctx)
{
    size_t trials = ctx->quick ? QUICK_TRIALS : TRIALS;
    return hkt_power_binomial(trials, 0.15, 0, most_above(trials));
}

static const hkt_check_test coverage_test = {.level = "0.1 % for the family at a share of 5 %, exact binomial limits",
                                             .multiplicity = "3 spreads, Bonferroni",
                                             .alternative = "lower ends above kappa in 15 % of the samples",
                                             .power = coverage_power};

const hkt_check hkt_kurtosis_interval_coverage = {
    .name = "interval-coverage",
    .kind = HKT_STATISTICAL,
    .test = &coverage_test,
    .statement = "lower ends of the studentised 95 % intervals, on which the verdict of `trained` rests, lie above the "
                 "true kappa in at most 5 % of samples of sequences that differ in scale",
    .reference = "Efron & Tibshirani 1993, sec. 12.5; docs/theory.md, kurtosis",
    .failure = "intervals of kappa promise more than they hold",
    .run = coverage,
    .holds =
        "the lower end of an interval is above kappa in at most {m%} % of the samples (limit {b%} %, nominal 2.5 %)",
    .violated = "the lower end of an interval is above kappa in {m%} % of the samples (limit {b%} %, nominal 2.5 %)",
};

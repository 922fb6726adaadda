/* majority.c - the check `above-majority`: every run against always answering the largest class. */
#include <gsl/gsl_cdf.h>
#include <math.h>

#include "analysis/claims/accuracy/accuracy.h"

/* The x at which P(X <= x) = p, X ~ Beta(a, b), by bisection: gsl_cdf_beta_Pinv gives NaN for a, b of some thousands,
 * gsl_cdf_beta_P does not. */
static double beta_quantile(double p, double a, double b)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double x = (low + high) / 2, below = gsl_cdf_beta_P(x, a, b);
        if (isnan(below))
            return below;
        *(below < p ? &low : &high) = x;
    }
    return (low + high) / 2;
}

void hkt_binomial_interval(size_t k, size_t n, double alpha, double *low, double *high)
{
    double right = (double)k, wrong = (double)(n - k);
    *low = k > 0 ? beta_quantile(alpha / 2, right, wrong + 1) : 0;
    *high = k < n ? 1 - beta_quantile(alpha / 2, wrong, right + 1) : 1;
}

static hkt_status majority_row(const hkt_runs_row *r, double alpha, hkt_check_result *out, bool first)
{
    hkt_check_result one = {.detail = ""};
    double low, high;
    hkt_binomial_interval((size_t)llround(r->accuracy * (double)r->n), r->n, alpha, &low, &high);
    hkt_check_interval(&one, 100 * (low - r->majority), 100 * (high - r->majority));
    hkt_accuracy_join(out, &one, first);
    const char *name[] = {r->task, r->model, r->seed};
    return hkt_check_named_row(out, "task\tmodel\tseed\tn\taccuracy\tlow\thigh\tmajority", name, r->n,
                               100 * r->accuracy, 100 * low, 100 * high, 100 * r->majority);
}

static hkt_status judge_majority(const hkt_runs *runs, hkt_check_result *out)
{
    size_t family = 0, done = 0;
    for (size_t i = 0; i < runs->n; i++)
        family += hkt_runs_of_claim(runs->run + i);
    if (family == 0) {
        hkt_check_skip(out, "no reproducible runs of the settings main, stream, three");
        return HKT_OK;
    }
    for (size_t i = 0; i < runs->n; i++)
        if (hkt_runs_of_claim(runs->run + i))
            HKT_TRY(majority_row(runs->run + i, 0.05 / (double)family, out, done++ == 0));
    hkt_check_detail(out, "exact intervals (Clopper-Pearson) of %zu runs, 95 %% over all (Bonferroni)", family);
    return HKT_OK;
}

static hkt_status over_majority(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const hkt_planted below = {0.10, 0.50, 0.52, 0.40, 0.45};
    hkt_runs_row run[HKT_PLANTED_RUNS];
    const hkt_runs planted = hkt_plant_runs(&below, run), *runs = control ? &planted : ctx->runs;
    if (runs)
        return judge_majority(runs, out);
    hkt_check_skip(out, "needs --results DIR");
    return HKT_OK;
}

/* A run of n sequences, 5 points above the largest class: noticed from the least k on with P(K >= k | majority) at most
 * tail. */
static double majority_power(size_t n, double majority, double tail)
{
    unsigned N = (unsigned)n, k = (unsigned)ceil(majority * (double)n);
    while (k <= N && k > 0 && gsl_cdf_binomial_Q(k - 1, majority, N) > tail)
        k++;
    return k > 0 ? gsl_cdf_binomial_Q(k - 1, fmin(1, majority + 0.05), N) : 1;
}

static double over_majority_power(const hkt_verify_context *ctx)
{
    enum { TYPICAL_RUNS = 18 };
    const hkt_runs_row typical = {.setting = "main", .majority = 0.5, .n = 2000, .reproducible = true};
    const hkt_runs_row *run = ctx->runs ? ctx->runs->run : &typical;
    size_t n = ctx->runs ? ctx->runs->n : 1, family = 0;
    double least = 1;
    for (size_t i = 0; i < n; i++)
        family += hkt_runs_of_claim(run + i);
    if (!ctx->runs)
        family = TYPICAL_RUNS;
    for (size_t i = 0; i < n; i++)
        if (hkt_runs_of_claim(run + i))
            least = fmin(least, majority_power(run[i].n, run[i].majority, 0.025 / (double)family));
    return least;
}

static const hkt_check_test over_majority_test = {
    .level = "5 % for all runs together",
    .multiplicity = "all runs of the settings main, stream, three, Bonferroni",
    .alternative = "a run 5 points above its largest class (without runs: of one half, 2,000 sequences, 18 runs)",
    .power = over_majority_power};

const hkt_check hkt_accuracy_above_majority = {
    .name = "above-majority",
    .kind = HKT_STATISTICAL,
    .test = &over_majority_test,
    .statement = "every run of HKT and MHA is above the share of the largest class of the test split, with its whole "
                 "95 % interval (binomial, exact; Bonferroni over the runs)",
    .reference = "Clopper & Pearson 1934",
    .failure = "a model is worse than the answer that is always the same",
    .finding = "both models are better than always answering the largest class",
    .run = over_majority,
    .holds = "every run is above the share of the largest class, by {m} points or more",
    .violated = "some run is below the share of the largest class, by {m} points",
    .open = "some run is not told from the share of the largest class: {m} points",
};

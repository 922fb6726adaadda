/* accuracy.h - inside the claim `accuracy`: paired comparisons of recorded runs, and planted runs for controls. */
#ifndef HKT_ANALYSIS_CLAIMS_ACCURACY_ACCURACY_H
#define HKT_ANALYSIS_CLAIMS_ACCURACY_ACCURACY_H

#include "analysis/claims/accuracy/runs.h"

/* --- pairs.c --- */

/* Which runs: model and setting. */
typedef struct {
    const char *model, *setting;
} hkt_side;

/* Differences a - b of the test accuracies of one task over the seeds that both sides have, in percentage points. Runs
 * of the same setting are a pair only when it had the same content (column config). */
typedef struct {
    const char *task;
    hkt_side a, b;
    size_t n;                  /* pairs */
    double mean, sd;           /* of a over these seeds, divisor n - 1 */
    double other;              /* mean of b */
    double difference, spread; /* mean and standard deviation of a - b; spread NaN: no interval (one pair, or
                                  differences that do not vary) */
    double low, high;          /* of the difference; NaN without interval */
    hkt_verdict verdict;       /* of a check on it */
} hkt_paired_runs;

/* Appends a comparison for every task that has a pair; out has room for as many as
 * there are runs beyond the *n that are in it. */
hkt_status hkt_paired_runs_find(const hkt_runs *runs, hkt_side a, hkt_side b, hkt_paired_runs *out, size_t *n);
/* Student t intervals that hold together with probability 95 % (Bonferroni over those of p [n] that have one, and over
 * `planned` at least, so that to leave out a task makes no interval shorter). Returns over how many; 0 when none has
 * one. */
size_t hkt_paired_runs_bound(hkt_paired_runs *p, size_t n, size_t planned);

/* --- accuracy.c --- */

/* Interval of a proportion, k of n: each end leaves it out with probability at most alpha/2 (Clopper & Pearson 1934,
 * Biometrika 26:404). NaN when n is too large for the incomplete beta function, about 10^7. */
void hkt_binomial_interval(size_t k, size_t n, double alpha, double *low, double *high);

/* --- planted runs --- */

/* Mean accuracies of the planted runs of one task. */
typedef struct {
    double hkt, mha, matched, one_level, other; /* other: the ablations besides L = 1 */
} hkt_planted;
enum { HKT_PLANTED_SEEDS = 3, HKT_PLANTED_RUNS = 6 * HKT_PLANTED_SEEDS };
/* Runs of ListOps, whose accuracies have a spread of 0.2 points over seeds. */
hkt_runs hkt_plant_runs(const hkt_planted *p, hkt_runs_row run[HKT_PLANTED_RUNS]);

#endif

/* bootstrap.h - bootstrap over sequences (Efron & Tibshirani 1993, ch. 12 and 13): entries of one sequence are
 * dependent, so whole sequences are resampled. Deterministic for a seed. */
#ifndef HKT_ANALYSIS_MATH_BOOTSTRAP_H
#define HKT_ANALYSIS_MATH_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/math/moments.h"
#include "base/status.h"

/* statistic(data, index[n], n): a number computed from the resampled units. */
typedef double (*hkt_statistic)(const void *data, const size_t *index, size_t n);

/* Percentile interval [lo, hi] of nominal coverage `level` (0.95) from `replicates` resamples of n units; quantiles
 * interpolated between order statistics. Errors (lo and hi are then NaN): HKT_EINPUT when n < 2, HKT_ENUMERIC when the
 * statistic of a resample is NaN, HKT_ESYSTEM. */
hkt_status hkt_bootstrap(hkt_statistic statistic, const void *data, size_t n, size_t replicates, double level,
                         uint64_t seed, double *lo, double *hi);

/* A number and its standard error, both from the same units. */
typedef struct {
    double value, error;
} hkt_estimate;
/* Several numbers at once, out [k]. */
typedef void (*hkt_statistics)(const void *data, const size_t *index, size_t n, hkt_estimate *out);

/* whole [k]: from all n units; of [replicates, k]: from every resample, the same for all k. NaN is kept. Errors:
 * HKT_ESYSTEM. */
hkt_status hkt_bootstrap_estimates(hkt_statistics statistics, const void *data, size_t n, size_t k, size_t replicates,
                                   uint64_t seed, hkt_estimate *whole, hkt_estimate *of);
/* Studentised interval (bootstrap-t; Efron & Tibshirani 1993, sec. 12.5): the value less the quantiles of (value of a
 * resample - value) / error of the resample, times its error. of: `replicates` estimates, `stride` apart; scratch
 * [replicates]. NaN when one of them is NaN; infinite ends when resamples without spread are too many. */
void hkt_bootstrap_studentised(hkt_estimate whole, const hkt_estimate *of, size_t stride, size_t replicates,
                               double level, double *scratch, double *lo, double *hi);
/* p-value, by the same ratios, of value <= 0 against value > 0: (1 + resamples at least as far out) / (1 + replicates);
 * NaN as above. */
double hkt_bootstrap_p(hkt_estimate whole, const hkt_estimate *of, size_t stride, size_t replicates);

/* log kappa of the pooled moments of units, with the standard error by influence functions: unit i has influence
 * B_i/B - 2 A_i/A + n_i/n - 4 m3 C_i/(n m4), with A, B, C the sums of squares, fourth powers and values about the
 * pooled mean. influence [n]: NULL, or out. NaN where kappa is not defined. */
hkt_estimate hkt_pooled_log_kappa(const hkt_moments *unit, const size_t *index, size_t n, double *influence);
/* Interval of kappa: exp of the studentised interval of log kappa. On scores whose scale differs between sequences it
 * covers far better than percentiles do (docs/theory.md, "kurtosis"). Errors as hkt_bootstrap. */
hkt_status hkt_bootstrap_kappa(const hkt_moments *unit, size_t n, size_t replicates, double level, uint64_t seed,
                               double *lo, double *hi);

/* Statistics over hkt_moments[] (one per sequence): kappa, excess, skewness of the pooled moments. */
double hkt_pooled_kappa(const void *moments, const size_t *index, size_t n);
double hkt_pooled_excess(const void *moments, const size_t *index, size_t n);
double hkt_pooled_skewness(const void *moments, const size_t *index, size_t n);

#endif

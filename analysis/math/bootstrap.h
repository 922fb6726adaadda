/* bootstrap.h - percentile bootstrap over sequences (Efron & Tibshirani 1993, ch. 13): entries of one sequence are
 * dependent, so whole sequences are resampled. Deterministic for a seed. */
#ifndef HKT_ANALYSIS_MATH_BOOTSTRAP_H
#define HKT_ANALYSIS_MATH_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/math/moments.h"
#include "base/status.h"

/* statistic(data, index[n], n): a number computed from the resampled units. */
typedef double (*hkt_statistic)(const void *data, const size_t *index, size_t n);

/* Interval [lo, hi] of nominal coverage `level` (0.95) from `replicates` resamples of n units; quantiles interpolated
 * between order statistics. Errors (lo and hi are then NaN): HKT_EINPUT when n < 2, HKT_ENUMERIC when the statistic of
 * a resample is NaN, HKT_ESYSTEM. */
hkt_status hkt_bootstrap(hkt_statistic statistic, const void *data, size_t n, size_t replicates, double level,
                         uint64_t seed, double *lo, double *hi);

/* The units of one resample, index [n] out: those that hkt_bootstrap draws for this replicate. */
void hkt_bootstrap_draw(uint64_t seed, size_t replicate, size_t n, size_t *index);
/* Quantiles p_low and p_high of value [n], which is sorted. */
void hkt_bootstrap_interval(double *value, size_t n, double p_low, double p_high, double *lo, double *hi);
/* Statistics over hkt_moments[] (one per sequence): kappa, excess, skewness of the pooled moments. */
double hkt_pooled_kappa(const void *moments, const size_t *index, size_t n);
double hkt_pooled_excess(const void *moments, const size_t *index, size_t n);
double hkt_pooled_skewness(const void *moments, const size_t *index, size_t n);

#endif

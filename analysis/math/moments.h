/* moments.h - one-pass, mergeable central moments up to order four.
 * Source: P. Pebay, "Formulas for robust, one-pass parallel computation of covariances and arbitrary-order statistical
 * moments", Sandia SAND2008-6212 (2008), eqs. 2.1, 3.1.
 * Conventions: population moments m_k = (1/n) sum (x - mean)^k (divisor n). kappa = m4 / (3 m2^2): 1 for a Gaussian;
 * excess = m4 / m2^2 - 3: 0 for a Gaussian. */
#ifndef HKT_ANALYSIS_MATH_MOMENTS_H
#define HKT_ANALYSIS_MATH_MOMENTS_H

#include <stddef.h>

typedef struct {
    double n;          /* count (exact integer below 2^53) */
    double mean;       /* rounded to double; ... */
    double mean_lo;    /* ... what the rounding lost, so that merging is accurate however far from zero the data lie */
    double M2, M3, M4; /* sums of powers of deviations */
    double lo, hi;     /* range; lo > hi when empty */
} hkt_moments;

void hkt_moments_clear(hkt_moments *m);
void hkt_moments_add(hkt_moments *m, double x);
/* Adds a block of values (computed around a value near the block's mean, then merged). NaN poisons the result (kappa
 * NaN). */
void hkt_moments_add_block(hkt_moments *m, const double *x, size_t n);
/* Relative error of the merged sums: a few eps, whatever the order of the merges. `other` may be empty. */
void hkt_moments_merge(hkt_moments *into, const hkt_moments *other);

double hkt_moments_variance(const hkt_moments *m); /* m2; NaN when empty */

/* The three below are NaN exactly when hkt_moments_problem says why. */
double hkt_moments_skewness(const hkt_moments *m); /* m3 / m2^1.5 */
double hkt_moments_excess(const hkt_moments *m);
double hkt_moments_kappa(const hkt_moments *m); /* m4 / (3 m2^2); sample ceiling: kappa <= n/3 */
/* NULL when kappa is defined, else why not: "empty"; "not finite" (NaN or infinite values, or a mean that overflows);
 * "constant" (one value, or a spread that is rounding noise only: m2 <= (8 eps max|x|)^2); "out of range" (m2 or m4
 * over- or underflows). */
const char *hkt_moments_problem(const hkt_moments *m);

#endif

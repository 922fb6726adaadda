/* entropy.h - differential entropy and negentropy of a sample, in nats.
 *
 * Negentropy J = (1/2) log(2 pi e sigma^2) - h >= 0: what a law's entropy h lacks to a Gaussian's of the same variance;
 * 0 only for a Gaussian; not changed by affine maps. */
#ifndef HKT_ANALYSIS_MATH_ENTROPY_H
#define HKT_ANALYSIS_MATH_ENTROPY_H

#include <stddef.h>

#include "analysis/math/moments.h"
#include "base/status.h"

double hkt_entropy_gaussian(double variance);

/* m of the spacings for n values: n^(1/4) rounded up, at most (n-1)/2. What the 2m values at the ends add to the bias,
 * m/n, and to the variance, (m/n)^2, is then small against the standard error, also for a uniform law, 1/(6mn). */
size_t hkt_entropy_spacing_window(size_t n);

/* Bias of Vasicek's estimate for n values from a uniform law: log(n/2m) - psi(n+1) + (1/n) sum_i psi(hi - lo), hi =
 * min(i+m, n), lo = max(i-m, 1), since spacings of uniform order statistics are beta distributed. 1 <= m <= (n-1)/2. */
double hkt_entropy_spacing_bias(size_t n, size_t m);

/* Vasicek's estimate (1/n) sum_i log(n/2m (x_(hi) - x_(lo))) from the order statistics, minus that bias: unbiased for
 * uniform laws at any n, m, as in Vasicek 1976, J. R. Statist. Soc. B 38:54.
 *
 * Ties [ours]: with counts c_j of the distinct values and their mean over the sample, r = sum c_j^2 / n (n/r is Kish's
 * effective sample size), a spacing reaches m r places to either side, counted from the middle of one value's repeats
 * to that of the other's, and its bias is that of places/r gaps among n/r values. Without ties that is the above;
 * repeating every value c times changes nothing. It is the entropy at the resolution of the distinct values (a law with
 * atoms has none). Values that differ by rounding, 8 eps max|x|, are one. Bias measured by tests, 20,000 normal values:
 * below 0.02 when half of them come in groups of 48 equal ones, below 0.01 when all are rounded to 1/10000 of their
 * standard deviation.
 *
 * m: 0 for the default of n/r values; lowered to (n/r - 1)/2. x [n] is changed. Errors (*h is then NaN): HKT_EINPUT
 * when n < 3, a value is not finite, or n/r < 3 (one value is most of the sample); HKT_ESYSTEM. */
hkt_status hkt_entropy_spacing(double *x, size_t n, size_t m, double *h);

/* Standard error of that estimate for n independent values: n Var -> Var log f(x) + (2k^2 - 2k + 1) psi'(k) - 2k + 1, k
 * = 2m (Cressie 1976, Biometrika 63:343). varentropy: Var log f(x). */
double hkt_entropy_spacing_error(size_t n, size_t m, double varentropy);

/* The leading terms of J near a Gaussian: skewness^2/12 + excess^2/48 = skewness^2/12 + (3/16)(kappa - 1)^2 (Comon
 * 1994, Signal Processing 36:287; Jones & Sibson 1987). */
double hkt_negentropy_expansion(double skewness, double excess);

/* J of a sample from its moments and spacings with the default m; x is changed. Errors (*negentropy is then NaN): those
 * of hkt_entropy_spacing; HKT_EINPUT when the moments are not defined (hkt_moments_problem). */
hkt_status hkt_negentropy_spacing(double *x, size_t n, double *negentropy);

#endif

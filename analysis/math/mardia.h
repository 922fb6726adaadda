/* mardia.h - Mardia's multivariate kurtosis (Mardia 1970, Biometrika 57:519): b_{2,q} = mean of ((x-m)' S^-1 (x-m))^2
 * with S the covariance with divisor n; q(q+2) for a Gaussian. kappa_q = b_{2,q} / (q(q+2)). */
#ifndef HKT_ANALYSIS_MATH_MARDIA_H
#define HKT_ANALYSIS_MATH_MARDIA_H

#include <stddef.h>

#include "base/status.h"

/* x [n, q] row-major. *b2 out (NaN on error). Sample ceiling of kappa_q: n/(q+2). Invariant under affine maps of x up
 * to rounding. Errors: HKT_EINPUT when n <= q, a value is not finite, or S is singular to rounding; the message says
 * which column. HKT_ESYSTEM. */
hkt_status hkt_mardia_kurtosis(const double *x, size_t n, size_t q, double *b2);

/* Cholesky factor of a covariance matrix by way of its correlation matrix: S = (diag(scale) C) (diag(scale) C)', C
 * lower triangular with zeros above. s [q, q] in: S (lower triangle read), out: C. scale [q] out: standard deviations.
 * noise [q]: standard deviations up to this count as none. Errors: HKT_EINPUT when a column is constant or nearly a
 * linear combination of the columns before it: its share of variance left, C_jj^2, is at most least_share. Messages
 * name the column. */
hkt_status hkt_covariance_factor(size_t q, double *s, const double *noise, double least_share, double *scale);

/* Exact mean and variance of b_{2,q} under normality at finite n > q + 1 (Mardia 1974, Sankhya B 36:115):
 * E = q(q+2)(n-1)/(n+1); Var = 8 q (q+2) (n-3) (n-q-1) (n-q+1) / ((n+1)^2 (n+3) (n+5)). */
void hkt_mardia_exact(size_t n, size_t q, double *mean, double *variance);
/* z of the asymptotic test: (b2 - q(q+2)) / sqrt(8 q (q+2) / n). */
double hkt_mardia_z_asymptotic(double b2, size_t n, size_t q);
/* z with the exact mean and variance. */
double hkt_mardia_z_exact(double b2, size_t n, size_t q);

#endif

/* quartic.h - one-pass, mergeable Mardia kurtosis: sums of all products up to degree four of vectors y in R^q.
 *
 * With z = (1, y, products y_a y_b, a >= b), m = (q+1)(q+2)/2 numbers, the sum A of z z' holds every product up to
 * degree four. The Mahalanobis form (y - mean)' S^-1 (y - mean) is linear in z, c'z, so Mardia's b_{2,q} = c' A c / n
 * (mardia.h). Sums of several samples add. The sums are not centred: y must be within a few standard deviations of zero
 * for most of the sample (kurtosis is invariant under affine maps, so the caller standardises with any fixed centre and
 * scale). */
#ifndef HKT_ANALYSIS_MATH_QUARTIC_H
#define HKT_ANALYSIS_MATH_QUARTIC_H

#include <stddef.h>

#include "base/status.h"

/* m, and the packed length m(m+1)/2 of A (rows of its lower triangle, one after the other). */
size_t hkt_quartic_width(size_t q);
size_t hkt_quartic_size(size_t q);

/* Scratch for hkt_quartic_add, in doubles; one per thread. */
size_t hkt_quartic_scratch(size_t q);

/* sums [hkt_quartic_size(q)] += the vectors y_e = (y[0 * ld + e], ..., y[(q-1) * ld + e]), e = 0, step, 2 step, ... <
 * n. Component a is standardised as (y - centre[a]) / scale[a]. */
void hkt_quartic_add(size_t q, double *sums, const double *y, size_t ld, size_t n, size_t step, const double *centre,
                     const double *scale, double *scratch);

/* kappa_q = b_{2,q} / (q (q+2)) of the sample; *n its size. Errors (*kappa is then NaN): HKT_EINPUT when n <= q, a
 * value was not finite, a component is constant (|mean| > 1000 standard deviations) or the components are nearly
 * collinear (a share of variance left, see hkt_covariance_factor, below 1e-5): what remains has a relative error below
 * about 1e-3; HKT_ESYSTEM. */
hkt_status hkt_quartic_kappa(size_t q, const double *sums, double *n, double *kappa);

/* The samples of several units (sums [n_units][hkt_quartic_size(q)]) as data of hkt_bootstrap, with its statistic,
 * which allocates nothing: NaN means that kappa is not defined. */
size_t hkt_quartic_units_scratch(size_t q);
typedef struct {
    size_t q;
    const double *sums;
    double *pooled; /* [hkt_quartic_units_scratch(q)] scratch, sums at its front: one hkt_bootstrap at a time */
} hkt_quartic_units;
double hkt_quartic_pooled_kappa(const void *units, const size_t *index, size_t n);

#endif

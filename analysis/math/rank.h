/* rank.h - certified lower bounds of singular values: rank(A) >= k, proved in floating point. */
#ifndef HKT_ANALYSIS_MATH_RANK_H
#define HKT_ANALYSIS_MATH_RANK_H

#include <stddef.h>

#include "base/status.h"

typedef struct {
    double largest;  /* sigma_1, computed */
    double computed; /* sigma_k, computed */
    double lower;    /* proved: sigma_k of the exact matrix is at least this; 0 when nothing is proved */
    double distance; /* Frobenius distance to the nearest matrix of rank k - 1, computed (Eckart & Young 1936) */
} hkt_rank_bound;

/* The exact matrix is a [m, n] plus something of Frobenius norm at most `error`; 1 <= k <= min(m, n). The bound rests
 * on rounding analysis and Rump's test (certify.h) alone, not on the accuracy of LAPACK's vectors (docs/theory.md,
 * "subsumption"). Errors: HKT_ENUMERIC for input that is not finite; HKT_ESYSTEM. */
hkt_status hkt_rank_certify(size_t m, size_t n, const double *a, double error, size_t k, hkt_rank_bound *out);

#endif

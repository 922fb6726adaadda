/* hkt/asymmetry.h - how much of a score form M = Wq^T Wk / sqrt(p) is antisymmetric, against random weights
 * (docs/theory.md, "asymmetry"). */
#ifndef HKT_ASYMMETRY_H
#define HKT_ASYMMETRY_H

#include <hkt/hkt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double share;    /* ||(M - M^T)/2||^2 / ||M||^2, Frobenius norms; NaN when M = 0 */
    double expected; /* of independent normal weights with the same singular values of M: (1 - 1/d)/2 */
    double sd;       /* standard deviation of the share over such weights */
    double z;        /* (share - expected) / sd; 0 when sd = 0 */
} hkt_asymmetry_result;

/* wq, wk [p, d] are one head's rows (hkt_model_get_head). Cost O(p^2 d). Errors: HKT_EUSAGE for NULL, d = 0 or p = 0;
 * HKT_EINPUT for a value that is not finite; HKT_ESYSTEM. */
HKT_API hkt_status hkt_asymmetry_head(size_t d, size_t p, const double *wq, const double *wk,
                                      hkt_asymmetry_result *out);

#ifdef __cplusplus
}
#endif

#endif

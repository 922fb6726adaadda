/* hkt/kurtosis.h - how far scores are from a Gaussian.
 *
 * Population moments m_k = (1/n) sum (x - mean)^k. kappa = m4 / (3 m2^2): 1 for a Gaussian. excess = m4 / m2^2 - 3: 0
 * for a Gaussian. skewness = m3 / m2^1.5. One pass (Pebay, Sandia SAND2008-6212, 2008, eqs. 2.1 and 3.1). */
#ifndef HKT_KURTOSIS_H
#define HKT_KURTOSIS_H

#include <hkt/hkt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double n, mean, variance;       /* variance: m2 */
    double skewness, kappa, excess; /* NaN where there is no spread but rounding noise */
} hkt_kurtosis_result;

/* Of x [n]. Errors: HKT_EUSAGE for NULL or n = 0; HKT_EINPUT for a value that is not finite. */
HKT_API hkt_status hkt_kurtosis_values(size_t n, const double *x, hkt_kurtosis_result *out);

/* Of the scores q_i . k_j / sqrt(p), i, j < n, causal: of those with j <= i; q, k [n, p], rows ld_q and ld_k apart. The
 * scores are not stored: memory O(n). Errors: those of hkt_heads_scores; HKT_ESYSTEM. */
HKT_API hkt_status hkt_kurtosis_head(size_t n, size_t p, const double *q, size_t ld_q, const double *k, size_t ld_k,
                                     bool causal, hkt_kurtosis_result *out);

/* kappa of q . k for independent x, y ~ N(0, I_d), q = Wq x, k = Wk y: 1 + 2 tr((Sq Sk)^2) / tr(Sq Sk)^2 with Sq = Wq
 * Wq^T, Sk = Wk Wk^T (docs/theory.md, "kurtosis"). wq, wk [p, d]. *kappa is NaN when tr(Sq Sk) = 0. Errors: HKT_EUSAGE
 * for NULL, d = 0 or p = 0; HKT_EINPUT for a value that is not finite; HKT_ESYSTEM. */
HKT_API hkt_status hkt_kurtosis_initial(size_t d, size_t p, const double *wq, const double *wk, double *kappa);

#ifdef __cplusplus
}
#endif

#endif

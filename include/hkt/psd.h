/* hkt/psd.h - proofs about the sign of a symmetric matrix, in floating point. Rump's test ("Verification of positive
 * definiteness", BIT 46 (2006) 433-452) with the constant of Jeannerod & Rump (SIAM J. Matrix Anal. Appl. 35 (2014)
 * 684-698); docs/theory.md, "psd". What is proved is of the matrix of the numbers given. Needs rounding to nearest and
 * gradual underflow: without them nothing is proved. */
#ifndef HKT_PSD_H
#define HKT_PSD_H

#include <hkt/hkt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    HKT_PSD_DEFINITE,     /* proved: every eigenvalue is above 0 */
    HKT_PSD_SHIFTED,      /* proved: every eigenvalue is at least -delta */
    HKT_PSD_NEGATIVE,     /* proved: x^T A x < 0 for a unit vector x */
    HKT_PSD_INCONCLUSIVE, /* no proof either way */
    HKT_PSD_REFUSED       /* A is not exactly symmetric, or not finite */
} hkt_psd_verdict;

typedef struct {
    hkt_psd_verdict verdict;
    double delta;    /* DEFINITE: 0; SHIFTED: the smallest shift found; else NaN */
    double quotient; /* NEGATIVE: the computed x^T A x, ... */
    double error;    /* ... and a bound of its error, below |quotient|; else NaN */
} hkt_psd_certificate;

/* The strongest statement proved about a [n, n]. About 20 Cholesky factorisations. Errors: HKT_EUSAGE for NULL, n = 0
 * or n > 2^20; HKT_ESYSTEM. */
HKT_API hkt_status hkt_psd_certify(size_t n, const double *a, hkt_psd_certificate *out);

/* "definite", "shifted", "negative", "inconclusive", "refused"; "unknown" for another number. */
HKT_API const char *hkt_psd_verdict_name(hkt_psd_verdict verdict);

#ifdef __cplusplus
}
#endif

#endif

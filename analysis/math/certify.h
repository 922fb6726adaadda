/* certify.h - rigorous statements about the sign of a symmetric matrix, in floating point.
 * Source: S. M. Rump, "Verification of positive definiteness", BIT Numerical Mathematics 46 (2006) 433-452; the form
 * proved in Coq by ValidSDP (Martin-Dorel & Roux), with the constant of Jeannerod & Rump, "Improved backward error
 * bounds for LU and Cholesky factorizations", SIAM J. Matrix Anal. Appl. 35 (2014) 684-698: A is positive definite when
 * A - cI has a Cholesky factor in floating point, with c = gamma_{n+1} tr(A) + 4 n eta (2 (n+1) + max a_ii) and gamma_k
 * = k u / (1 - k u), u = 2^-53, eta = 2^-1074, 3 (n+1) u < 1, A exactly symmetric with a non-negative diagonal. Needs
 * binary64 rounded to nearest, gradual underflow and no fast-math: all three are checked. Bounds are rounded outwards
 * by nextafter, so no rounding mode is changed. Derivations: docs/theory.md, "psd". Thread-safe; no state. */
#ifndef HKT_ANALYSIS_MATH_CERTIFY_H
#define HKT_ANALYSIS_MATH_CERTIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Cholesky factor of a symmetric matrix in place: the lower triangle of b [n, n] becomes L, b = L L'; the rest is not
 * touched. Row by row, every sum in the order of its index (Higham 2002, algorithm 10.2): the same bits on every
 * machine. Returns n, or the row of the first pivot that is not positive. An infinite or NaN element makes the pivot of
 * its own row negative or NaN, so that n means that the factor is finite. */
size_t hkt_cholesky(size_t n, double *b);

typedef enum {
    HKT_CERT_PD,           /* proved: lambda_min > 0 */
    HKT_CERT_PSD_SHIFT,    /* proved: lambda_min >= -delta */
    HKT_CERT_NOT_PSD,      /* proved: x^T A x < 0 */
    HKT_CERT_INCONCLUSIVE, /* no proof either way */
    HKT_CERT_REFUSED       /* not exactly symmetric, or not finite: no statement */
} hkt_cert_verdict;

typedef struct {
    hkt_cert_verdict verdict;
    double delta;                    /* PD: 0; PSD_SHIFT: smallest shift found (to 1 %); else NaN */
    double c;                        /* Rump's c for A; NaN when refused */
    double quotient, quotient_error; /* NOT_PSD: x^T A x and its rounding bound, |x| = 1 up to rounding; else NaN */
} hkt_certificate;

/* a [n, n], both triangles read, not changed; n >= 1. *out: the strongest statement proved. Cost: about 20
 * factorisations, n^3/6 multiply-adds each. Errors: HKT_ESYSTEM only. */
hkt_status hkt_certify(size_t n, const double *a, hkt_certificate *out);

/* Rump's test alone: *certified = true when A - cI factors, so that A is positive definite. *c: the bound used (NaN
 * when A is refused or has a negative diagonal element). */
hkt_status hkt_certify_pd(size_t n, const double *a, double *c, bool *certified);

/* The same Cholesky factorisation of A itself, without a bound (reads the lower triangle): what Rump's test improves.
 */
hkt_status hkt_cholesky_plain(size_t n, const double *a, bool *factored);

/* *value = x^T A x computed, *error >= |computed - exact| for the numbers given: gamma_{4n+4} |x|^T |A| |x| plus
 * underflow. Infinite when something overflows. */
void hkt_quadratic_form(size_t n, const double *a, const double *x, double *value, double *error);

/* Rounding to nearest, no flushing of subnormal numbers to zero: what every bound here is for. Asks the unit that
 * computes in double (MXCSR of x86, FPCR of ARM), of the calling thread. Without it nothing is certified: matrices are
 * REFUSED, errors infinite. */
bool hkt_arithmetic_is_ieee(void);

/* gamma_k = k u / (1 - k u), u = 2^-53, rounded up (Higham 2002, lemma 3.1); infinite when k u >= 1. */
double hkt_gamma(size_t k);

#endif

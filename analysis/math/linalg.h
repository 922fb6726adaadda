/* linalg.h - the dense linear algebra of the claims: LAPACK behind statuses, row-major, in double. Inputs are not
 * changed. NaN or infinite input is HKT_ENUMERIC; so is a LAPACK failure; out of memory HKT_ESYSTEM. Thread-safe. */
#ifndef HKT_ANALYSIS_MATH_LINALG_H
#define HKT_ANALYSIS_MATH_LINALG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* c [m, n] = alpha op(a) op(b) + beta c, rows packed, k the inner dimension; op transposes when it says so. beta = 0: c
 * need not be initialised. */
void hkt_product(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, double alpha, const double *a,
                 const double *b, double beta, double *c);

/* HKT_ENUMERIC with the place when one of a [n] is not finite; `what` names the array. */
hkt_status hkt_check_finite(const char *what, size_t n, const double *a);

/* Signs of eigenvalues: positive, negative, and zero or too small to say. */
typedef struct {
    size_t positive, negative, zero;
} hkt_inertia;

/* Eigenvalues of a symmetric matrix, ascending; a [n, n] (upper triangle of the row-major matrix read), w [n] out. */
hkt_status hkt_eigenvalues(size_t n, const double *a, double *w);
/* Lowest eigenvalue and its unit eigenvector v [n]. */
hkt_status hkt_eigen_lowest(size_t n, const double *a, double *w, double *v);
/* The r highest eigenvalues w [n] (its first r, ascending), 1 <= r <= n, and their unit eigenvectors, the rows of v
 * [r, n]. a [n, n] is destroyed, its finiteness not checked; support [2 n] scratch. */
hkt_status hkt_eigen_highest(size_t n, size_t r, double *a, double *w, double *v, int *support);
/* Eigenvalues re + i im of a general matrix (LAPACK dgeev), in LAPACK's order; a [n, n], re, im [n] out. */
hkt_status hkt_eigenvalues_general(size_t n, const double *a, double *re, double *im);
/* Counts signs of w [n] (any order); zero: |w| <= tolerance, an absolute bound of the error of w. That of a symmetric
 * eigensolver, n eps max|w|, is part of it; so is the error with which the matrix itself was computed, which can be
 * larger by any factor (gram.h has the tolerances of forms and Gram matrices). */
hkt_inertia hkt_inertia_of(size_t n, const double *w, double tolerance);
/* Negative mass of eigenvalues w [n]: sum of |w| over the negative ones / over all; NaN when all are 0. */
double hkt_negative_mass(size_t n, const double *w);
/* Stable rank of eigenvalues w [n]: sum w^2 / max w^2 (Rudelson & Vershynin 2007, J. ACM 54:21); of any size, since no
 * square leaves the range. NaN when all are 0. */
double hkt_stable_rank(size_t n, const double *w);
/* Nearest positive semidefinite matrix in the Frobenius norm: negative eigenvalues set to 0 (Higham 1988, Linear
 * Algebra Appl. 103:103). out [n, n], exactly symmetric. */
hkt_status hkt_psd_projection(size_t n, const double *a, double *out);

/* Singular values of a [m, n], descending; w [min(m, n)]. */
hkt_status hkt_singular_values(size_t m, size_t n, const double *a, double *w);
/* Thin decomposition a = U diag(w) V^T, w descending, r = min(m, n): a [m, n] is destroyed, its finiteness not checked;
 * w [r], u [m, r], vt [r, n] out. */
hkt_status hkt_svd(size_t m, size_t n, double *a, double *w, double *u, double *vt);
/* Singular values above max(m, n) eps times the largest. */
size_t hkt_rank_of(size_t m, size_t n, const double *w);

/* R of Z = Q R from the rows of Z in their order, block by block (sequential TSQR: Demmel, Grigori, Hoemmen & Langou
 * 2012, SIAM J. Sci. Comput. 34:A206): memory O(n^2), whatever the number of rows. */
typedef struct hkt_tsqr hkt_tsqr;
hkt_status hkt_tsqr_create(hkt_tsqr **out, size_t n);
void hkt_tsqr_destroy(hkt_tsqr *t);
/* *row [n] is where the caller writes the next row of Z before the next call. */
hkt_status hkt_tsqr_next(hkt_tsqr *t, double **row);
/* r [n, n] out: its first *k = min(rows, n) rows are R (upper trapezoidal), the others 0. */
hkt_status hkt_tsqr_finish(hkt_tsqr *t, double *r, size_t *k);

#endif

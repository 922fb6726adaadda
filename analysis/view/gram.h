/* gram.h - the hierarchical Gram matrix by structure: G = Z D Z^T, Z = [U_0 X^(0) | ... | U_{L-1} X^(L-1)] (T x Ld),
 * D = blockdiag(lambda_l M_s^(l)) (docs/theory.md, "psd"). Never T x T except in the dense oracle. All in double. */
#ifndef HKT_ANALYSIS_VIEW_GRAM_H
#define HKT_ANALYSIS_VIEW_GRAM_H

#include <stddef.h>

#include "analysis/math/linalg.h"
#include "base/status.h"
#include "model/layout.h"

/* M_s = (M + M^T)/2, M = Wq_h^T Wk_h / sqrt(p), exactly symmetric; wq, wk [p, d] are head h's rows. ms [d, d] out. */
void hkt_score_form_sym(size_t d, size_t p, const double *wq, const double *wk, double *ms);

/* Bound of the error of eigenvalues of M_s as computed: (d + p) eps |Wq|_F |Wk|_F / sqrt(p), the first-order effect of
 * the product and of the eigensolver with constant 1. */
double hkt_form_tolerance(size_t d, size_t p, const double *wq, const double *wk);
/* *rank of [Wq; Wk], proved (modular.h). M_s = [Wq;Wk]^T J [Wq;Wk] / (2 sqrt p), so that rank 2p <= d decides the
 * inertia: (p, p, d - 2p) exactly (docs/theory.md, "psd"). Errors: HKT_ESYSTEM. */
hkt_status hkt_form_rank(size_t d, size_t p, const double *wq, const double *wk, size_t *rank);

typedef struct {
    size_t T, d, L, stride;
    const double *x[HKT_MAX_LEVELS];  /* [T_l, d] */
    const double *ms[HKT_MAX_LEVELS]; /* [d, d] symmetric */
    double lambda[HKT_MAX_LEVELS];    /* >= 0 */
} hkt_gram;

/* Eigenvalues of G that need not be zero, ascending: w [min(T, Ld)] from R D R^T, Z = Q R (blocked QR over T; T >= 1).
 * The other T - min(T, Ld) eigenvalues are exactly zero. Cost O(T (Ld)^2), memory O((Ld)^2). */
hkt_status hkt_gram_eigenvalues(const hkt_gram *g, double *w);
/* The same from a factor made elsewhere: r [Ld, Ld], its first k rows; T and x are not read. w [k]. */
hkt_status hkt_gram_eigenvalues_of(const hkt_gram *g, size_t k, const double *r, double *w);
/* Rank of Z (singular values above max(T, Ld) eps times the largest) and its Frobenius norm (NULL: not wanted). */
hkt_status hkt_gram_rank(const hkt_gram *g, size_t *rank, double *norm);
/* Bound of the error of eigenvalues of G by structure or by the dense oracle: (T + Ld) eps |Z|_F^2 |D|_F, the
 * first-order effect of QR, of the products and of the eigensolver with constant 1 (docs/theory.md, "psd", structure).
 * It does not shrink with the eigenvalues: a direction of Z that D ignores counts in full. size [L] (NULL: |M_s|_F): a
 * bound of the terms that M_s is the sum of, |Wq|_F |Wk|_F / sqrt(p), for M_s that are themselves computed. z: |Z|_F
 * when it is known, or NaN: from g->x. */
double hkt_gram_tolerance(const hkt_gram *g, const double *size, double z);
/* *rank of [U_0 X Wq^T, U_0 X Wk^T, U_1 ..] over the levels with lambda > 0, *full the number of its columns, 2p for
 * each: proved (modular.h). G = A (lambda_l J / (2 sqrt p)) A^T with this A, so that full rank decides the inertia:
 * positive and negative eigenvalues are *full / 2 each, exactly. wq, wk [L]: the head's rows [p, d]; g->ms is not read.
 * The first `rows` <= T tokens are looked at: fewer prove no less. Errors: HKT_ESYSTEM. */
hkt_status hkt_gram_form_rank(const hkt_gram *g, size_t p, const double *const *wq, const double *const *wk,
                              size_t rows, size_t *rank, size_t *full);
/* *rank of Z, proved, from its first `rows` rows. Errors: HKT_ESYSTEM. */
hkt_status hkt_gram_proved_rank(const hkt_gram *g, size_t rows, size_t *rank);
/* D as a dense matrix; out [Ld, Ld]. */
void hkt_gram_form(const hkt_gram *g, double *out);
/* Dense G [T, T], exactly symmetric: the oracle. */
hkt_status hkt_gram_dense(const hkt_gram *g, double *out);
/* A unit v [T] on which v^T G v is lowest (value out): negative exactly when some M_s^(l) with lambda_l > 0 has a
 * negative eigenvalue, up to rounding. HKT_EINPUT when Z has not full column rank. */
hkt_status hkt_gram_witness(const hkt_gram *g, double *v, double *value);
/* *value = v^T G v computed by structure, *error >= |computed - exact| where G is the exact function of the numbers in
 * g (bound derived in docs/theory.md, "psd"). v [T]. */
hkt_status hkt_gram_quadratic(const hkt_gram *g, const double *v, double *value, double *error);

#endif

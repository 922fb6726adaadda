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

/* hkt/inertia.h - signs of the eigenvalues of symmetric matrices, and of the symmetric parts of scores. An eigenvalue
 * counts as zero up to the rounding error of its computation: n eps times the largest in magnitude for a matrix that is
 * given; (n + m) eps times the size of the terms for one of rank at most m that is computed as a product. */
#ifndef HKT_INERTIA_H
#define HKT_INERTIA_H

#include <hkt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t positive, negative, zero; /* they add up to the size of the matrix */
    double lowest, highest;          /* eigenvalues */
    double negative_mass;            /* sum of |eigenvalue| over negative ones / over all; NaN for a zero matrix */
} hkt_inertia_result;

/* Of a symmetric matrix a [n, n]. Errors: HKT_EUSAGE for NULL or n = 0; HKT_EINPUT when a is not exactly symmetric or
 * not finite; HKT_ENUMERIC; HKT_ESYSTEM. */
HKT_API hkt_status hkt_inertia_matrix(size_t n, const double *a, hkt_inertia_result *out);

/* Of (S + S^T)/2, S = q k^T / sqrt(p), by a QR decomposition of [q | k]: the n x n matrix is not made; cost O(n p^2).
 * q, k [n, p], rows ld_q and ld_k apart. Errors: those of hkt_heads_scores; HKT_ENUMERIC; HKT_ESYSTEM. */
HKT_API hkt_status hkt_inertia_head(size_t n, size_t p, const double *q, size_t ld_q, const double *k, size_t ld_k,
                                    hkt_inertia_result *out);

/* Of the hierarchical Gram matrix [T, T] of one layer and head of the model for a sequence, the symmetric part of
 * sum_l lambda_l U_l S^(l) U_l^T, by structure: cost O(T (Ld)^2). Errors: those of hkt_heads_walk; HKT_EUSAGE for a
 * layer or head that there is not. */
HKT_API hkt_status hkt_inertia_hierarchy(const hkt_model *model, size_t T, const int32_t *tokens, size_t layer,
                                         size_t head, hkt_inertia_result *out);

#ifdef __cplusplus
}
#endif

#endif

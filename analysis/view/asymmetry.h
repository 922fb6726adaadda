/* asymmetry.h - the score form M = Wq^T Wk / sqrt(p) of one level and head, its parts M_s = (M + M^T)/2 and
 * M_a = (M - M^T)/2, and what random weights give (docs/theory.md, "asymmetry"). Row-major, double. */
#ifndef HKT_ANALYSIS_VIEW_ASYMMETRY_H
#define HKT_ANALYSIS_VIEW_ASYMMETRY_H

#include <stddef.h>

#include "base/status.h"

/* m [d, d] out; wq, wk [p, d] are one head's rows. */
void hkt_score_form(size_t d, size_t p, const double *wq, const double *wk, double *m);

/* sym, anti [n, n] out: exactly symmetric and antisymmetric, every entry rounded once. Neither may be `a`. */
void hkt_split(size_t n, const double *a, double *sym, double *anti);

/* Sum of a_ij b_ij of [n, n] matrices, row by row: every term passes through at most 2n roundings. */
double hkt_inner(size_t n, const double *a, const double *b);

/* Energy share of the antisymmetric part. For independent Wq, Wk with normal entries the right and left singular
 * vectors of M are in uniformly random relative position whatever the singular values are; given these, the share has
 * exactly the expectation (1 - 1/d)/2 and the standard deviation `sd`. */
typedef struct {
    double share;    /* ||M_a||_F^2 / ||M||_F^2; NaN when M = 0 */
    double expected; /* (1 - 1/d)/2 */
    double sd;
    double z;     /* (share - expected) / sd; 0 when sd = 0 (d = 1) */
    double error; /* rounding bound of the share */
} hkt_energy;

/* From p x p matrices only: O(p^2 d). Errors: HKT_ESYSTEM. */
hkt_status hkt_energy_share(size_t d, size_t p, const double *wq, const double *wk, hkt_energy *out);

/* The same from sq = Wq Wq^T, sk = Wk Wk^T, product = sq sk and b = Wk Wq^T, all [p, p]; error is not set. */
void hkt_energy_from(size_t d, size_t p, const double *sq, const double *sk, const double *product, const double *b,
                     hkt_energy *out);

/* <M_a, M'_a> / (||M_a|| ||M'_a||) of two levels' forms [d, d]. For random weights its expectation is 0 and its
 * variance 2/(d (d - 1)), exactly. */
double hkt_directional_cosine(size_t d, const double *m, const double *other);

/* Gram matrix g [n, n] of n matrices [m, m], normalised to unit Frobenius norm, and its smallest singular value. NaN
 * when a matrix is 0. Errors: HKT_ENUMERIC, HKT_ESYSTEM. */
hkt_status hkt_normalised_gram(size_t n, size_t m, const double *const *matrix, double *g, double *least);

#endif

/* errors.h - the three errors of approximating a score matrix S* by the hierarchical score matrix S_T of a model
 * (docs/theory.md, "approximation"):
 *
 *     S* - S_T = (S* - S_H) + (S_H - S_D) + (S_D - S_T)
 *                hierarchical  downsampling  optimisation
 *
 * S_H: best sum of U_l B_l U_l^T, rank(B_l) <= p; S_D: best sum of U_l X^(l) M_l X^(l)^T U_l^T, rank(M_l) <= p, with
 * the model's level inputs; S_T: the model's. Best: as found by hierarchy.h. S_D is sought from S_T and from zero, S_H
 * from S_D and from zero, so that ||S* - S_H|| <= ||S* - S_D|| <= ||S* - S_T|| up to rounding. Frobenius norms over all
 * T^2 pairs. */
#ifndef HKT_ANALYSIS_VIEW_ERRORS_H
#define HKT_ANALYSIS_VIEW_ERRORS_H

#include <stddef.h>

#include "analysis/view/hierarchy.h"

typedef struct {
    size_t T, d, p, L, stride;
    const double *target;                /* S* [T, T] */
    const double *x[HKT_MAX_LEVELS];     /* X^(l) [T_l, d] */
    const double *score[HKT_MAX_LEVELS]; /* S^(l) [T_l, T_l] of rank at most p, in the form X^(l) M X^(l)^T */
    double weight[HKT_MAX_LEVELS];       /* S_T = sum_l weight_l U_l S^(l) U_l^T */
} hkt_approximation;

typedef struct {
    double size;                                     /* ||S*|| */
    double total;                                    /* ||S* - S_T|| */
    double hierarchical, downsampling, optimisation; /* the three norms */
    double given_inputs;                             /* ||S* - S_D|| */
    double lower;                                    /* lower bound of `hierarchical` (hkt_curve) */
} hkt_three_errors;

/* Errors: those of hierarchy.h; HKT_ENUMERIC when S* = 0. */
hkt_status hkt_three_errors_measure(const hkt_approximation *a, const hkt_search *search, hkt_three_errors *out);

/* *least: the smallest of the three as shares of ||S*||, rounded down. The hierarchical one by what is proved of every
 * sum (hkt_hierarchy_certify), so that no better search can make it vanish; the others are norms of differences of
 * matrices as stored. Errors: those of hierarchy.h. */
hkt_status hkt_three_errors_least(const hkt_approximation *a, const hkt_three_errors *e, double *least);

#endif

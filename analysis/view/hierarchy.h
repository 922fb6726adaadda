/* hierarchy.h - the best hierarchical sum of a square matrix S [T, T], by block coordinate descent:
 *
 *     S ~ sum_{l < L} Q_l C_l Q_l^T,   rank(C_l) <= r,   Q_l [T, n_l] with orthonormal columns, fixed.
 *
 * Two kinds of bases. Levels: Q_l = U_l D_l^(-1/2), D_l = U_l^T U_l (diagonal: block sizes): the terms are all
 * U_l B_l U_l^T with rank(B_l) <= r, B_l = D_l^(-1/2) C_l D_l^(-1/2). Inputs: Q_l spans the columns of U_l X^(l): the
 * terms are all U_l X^(l) M_l X^(l)^T U_l^T with rank(M_l) <= r, what one head of width r can compute.
 * L levels are the levels 0 .. L-1: a larger L adds a coarser one.
 *
 * One step replaces C_l by the truncated SVD of Q_l^T R Q_l, R = S minus the other terms: the exact minimiser over C_l
 * (docs/theory.md, "approximation"), so no step increases the error, up to rounding. The end is a local optimum at
 * best: the infimum need not even be attained (terms of two levels may grow and cancel). hkt_hierarchy_bounds says how
 * far from the infimum a sum can be. In double, row-major, Frobenius norms. Errors: HKT_ENUMERIC for input that is not
 * finite, HKT_ESYSTEM; results do not depend on threads. */
#ifndef HKT_ANALYSIS_VIEW_HIERARCHY_H
#define HKT_ANALYSIS_VIEW_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/layout.h"

typedef struct {
    size_t T, L, rank;             /* L <= HKT_MAX_LEVELS */
    size_t n[HKT_MAX_LEVELS];      /* columns of Q_l */
    double *basis[HKT_MAX_LEVELS]; /* Q_l [T, n_l] */
    double *coef[HKT_MAX_LEVELS];  /* C_l [n_l, n_l], zero at first, one after the other in memory */
    size_t n_coef;                 /* elements of all of them */
    double *mem;                   /* owns the above */
} hkt_hierarchy;

/* Bases U_l D_l^(-1/2). */
hkt_status hkt_hierarchy_levels(hkt_hierarchy *out, size_t T, size_t stride, size_t L, size_t rank);
/* Bases of the columns of U_l X^(l), x[l] [T_l, d]: left singular vectors whose singular value is above max(T_l, d) eps
 * times the largest (none for X^(l) = 0). */
hkt_status hkt_hierarchy_inputs(hkt_hierarchy *out, size_t T, size_t stride, size_t L, size_t rank, size_t d,
                                const double *const *x);
/* Accepts a zeroed struct. */
void hkt_hierarchy_free(hkt_hierarchy *h);

/* C_l = Q_l^T term Q_l: the coefficients of a term [T, T] that has the form of level l and rank at most r. */
hkt_status hkt_hierarchy_set(hkt_hierarchy *h, size_t l, const double *term);
/* out [T, T] = Q_l C_l Q_l^T. */
hkt_status hkt_hierarchy_term(const hkt_hierarchy *h, size_t l, double *out);
/* out [T, T] = the sum. */
hkt_status hkt_hierarchy_sum(const hkt_hierarchy *h, double *out);

typedef struct {
    size_t sweeps;    /* of one descent, at most; a sweep updates every level once */
    double tolerance; /* a descent ends when a sweep lowers the error by no more than this times ||S|| */
    size_t random;    /* starts with random coefficients, besides the three of hkt_hierarchy_search */
    uint64_t seed;    /* of those */
} hkt_search;

typedef struct {
    double error;  /* ||S - sum||, computed from the final coefficients */
    size_t sweeps; /* made */
    bool settled;  /* ended by the tolerance */
} hkt_descent;

/* One descent from the coefficients in h, coarsest level first. */
hkt_status hkt_hierarchy_descend(hkt_hierarchy *h, const double *s, const hkt_search *search, hkt_descent *out);
/* Descents from the coefficients in h, from zero with the coarsest level first and with the finest first, and from
 * random ones; h is left with the best, whose error is not above that of the coefficients given, nor above that of the
 * best C_0 alone. out->sweeps counts all. */
hkt_status hkt_hierarchy_search(hkt_hierarchy *h, const double *s, const hkt_search *search, hkt_descent *out);

/* E_L = min ||S - sum|| / ||S|| for L = 1 .. n, element L - 1 of each array. */
typedef struct {
    size_t n;
    double error[HKT_MAX_LEVELS]; /* found: an upper bound of E_L; never grows with L, since each search starts from the
                                     result for L - 1 */
    double rank_bound[HKT_MAX_LEVELS]; /* ||S - best matrix of rank rL|| / ||S||: the sum has rank at most rL */
    double bound[HKT_MAX_LEVELS];      /* the best lower bound of E_L: the one above, and those by details: what is not
                                          constant on blocks of s^m is out of reach of levels m, m + 1, .. */
    double floor;                      /* lower bound of E_L for every L, however large */
    size_t sweeps;
} hkt_curve;

/* Level bases, levels <= HKT_MAX_LEVELS. HKT_ENUMERIC when S = 0. */
hkt_status hkt_hierarchy_curve(hkt_curve *out, const double *s, size_t T, size_t stride, size_t levels, size_t rank,
                               const hkt_search *search);
/* The bounds alone; errors and sweeps are 0. */
hkt_status hkt_hierarchy_bounds(hkt_curve *out, const double *s, size_t T, size_t stride, size_t levels, size_t rank);

/* A lower bound, proved in floating point for the matrix as stored, of ||S - sum|| for every sum of `levels` levels
 * (SIZE_MAX: of any number). With P_m the means over blocks of s^m rows, (I - P_m) U_l = 0 for l >= m: what is left of
 * the sum has rank at most rm, so that, with m = levels and no projection as well,
 *     ||S - sum||^2 >= sum_{i > rm} sigma_i^2((I - P_m) S) >= k sigma_{rm+k}^2       (Eckart & Young 1936). */
typedef struct {
    double proved;        /* 0 when nothing is proved */
    double norm;          /* at least ||S|| */
    size_t levels, count; /* m and k, those for which the computed value is largest; 0 when rank is T or more */
} hkt_hierarchy_floor;
hkt_status hkt_hierarchy_certify(const double *s, size_t T, size_t stride, size_t levels, size_t rank,
                                 hkt_hierarchy_floor *out);
/* The number of levels until one has a single row, at most HKT_MAX_LEVELS. */
size_t hkt_hierarchy_depth(size_t T, size_t stride);

/* Score matrices to compare with, s [T, T] out: (1 + |i - j|)^-parameter, or exp(-|i - j| / parameter). */
typedef enum { HKT_KERNEL_POWER, HKT_KERNEL_EXPONENTIAL } hkt_kernel;
void hkt_hierarchy_kernel(hkt_kernel kernel, double parameter, size_t T, double *s);

#endif

/* core.h - forms of low rank through small matrices: M = scale Wq^T R Wk with Wq, Wk [p, n] and R a rotation of p
 * coordinates. With [Wq; Wk]^T = Q [Rq Rk], Q^T Q = 1, M = Q C Q^T, C = scale Rq R Rk^T [k, k], k = min(n, 2p): the
 * eigenvalues of M_s and M_a that need not be zero, norms, traces and singular values of M are those of C, and the
 * other n - k eigenvalues are zero (docs/theory.md, "models of others"). Row-major, double. */
#ifndef HKT_ANALYSIS_MATH_CORE_H
#define HKT_ANALYSIS_MATH_CORE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/math/linalg.h"
#include "base/status.h"

typedef struct {
    size_t n, p, k;
    double *rq, *rk; /* [k, p] */
    double *block;   /* owns them */
} hkt_core;

/* wq, wk [p, n]. Zero-initialise; hkt_core_free, also after an error. Cost O(n p^2). Errors: HKT_ENUMERIC when a weight
 * is not finite; HKT_ESYSTEM. */
hkt_status hkt_core_factor(hkt_core *out, size_t n, size_t p, const double *wq, const double *wk);
void hkt_core_free(hkt_core *c);

/* Which pairs of coordinates turn, and how fast: pair i of rotated/2 by angle base^(-2i/rotated) for each step (Su et
 * al. 2021, RoFormer, arXiv 2104.09864, eq. 15). */
typedef struct {
    size_t rotated; /* even, at most p; 0: none */
    double base;
    bool pairs; /* coordinates 2i, 2i + 1; else i, i + rotated/2 */
} hkt_rotation;

/* v [p] turned by `steps`, in place: R(steps) v. */
void hkt_rotate(const hkt_rotation *r, double steps, double *v);

/* c [k, k] out: scale Rq R(steps) Rk^T; turned [k, p] out: the rows of Rk turned. */
void hkt_core_form(const hkt_core *core, double scale, const hkt_rotation *r, double steps, double *turned, double *c);

/* The size of the terms of a form: |scale| |Rq|_F |Rk|_F. */
double hkt_core_size(const hkt_core *core, double scale);

/* What C says of M. The dimension is that of the space on which the form is looked at: n, or n - 1 when a direction on
 * which it is zero is left out. */
typedef struct {
    size_t dimension;
    hkt_inertia inertia;    /* of M_s; zero: |lambda| <= tolerance */
    double tolerance;       /* (n + k) eps size, n the dimension */
    double negative_mass;   /* sum of |lambda| over the negative ones / over all; NaN for M_s = 0 */
    double stable_rank;     /* sum lambda^2 / max lambda^2 */
    double norm;            /* ||M||_F */
    double antisymmetric;   /* ||M_a||^2 / ||M||^2; NaN for M = 0 */
    double trace;           /* tr(M M) / ||M||^2 */
    double concentration;   /* sum sigma^4 / (sum sigma^2)^2: 1 / effective rank */
    double kappa, skewness; /* of the score of independent standard normal x and y */
} hkt_form_summary;

/* c [k, k]; w [dimension] out: eigenvalues of M_s, ascending. a, b [k]: the terms a.x + b.y that biases add to the
 * score x^T M y, in the coordinates of C; NULL: none. k <= dimension + 1; when k is dimension + 1 the eigenvalue
 * nearest to 0 is left out. size: of the terms that C is the sum of, |scale| |Rq|_F |Rk|_F. Errors: HKT_ENUMERIC,
 * HKT_ESYSTEM. */
hkt_status hkt_core_summary(size_t k, size_t dimension, const double *c, const double *a, const double *b, double size,
                            double *w, hkt_form_summary *out);

#endif

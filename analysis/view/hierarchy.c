#include "analysis/view/hierarchy.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "analysis/math/linalg.h"
#include "base/mem.h"
#include "base/rng.h"

/* --- bases --- */

/* T, L, rank and n are set. */
static hkt_status carve(hkt_hierarchy *h)
{
    size_t size = 0;
    h->n_coef = 0;
    for (size_t l = 0; l < h->L; l++) {
        size += h->T * h->n[l];
        h->n_coef += h->n[l] * h->n[l];
    }
    HKT_TRY(HKT_NEW(&h->mem, size + h->n_coef));
    double *at = h->mem, *coef = h->mem + size;
    for (size_t l = 0; l < h->L; l++) {
        h->basis[l] = at;
        at += h->T * h->n[l];
        h->coef[l] = coef;
        coef += h->n[l] * h->n[l];
    }
    return HKT_OK;
}

hkt_status hkt_hierarchy_levels(hkt_hierarchy *out, size_t T, size_t stride, size_t L, size_t rank)
{
    HKT_ASSERT(L <= HKT_MAX_LEVELS);
    *out = (hkt_hierarchy){.T = T, .L = L, .rank = rank};
    for (size_t l = 0; l < L; l++)
        out->n[l] = hkt_level_length(T, stride, l);
    HKT_TRY(carve(out));
    for (size_t l = 0, step = 1; l < L; l++, step *= stride)
        for (size_t i = 0; i < T; i++) {
            size_t j = i / step, block = T - j * step < step ? T - j * step : step;
            out->basis[l][i * out->n[l] + j] = 1 / sqrt((double)block);
        }
    return HKT_OK;
}

void hkt_hierarchy_free(hkt_hierarchy *h)
{
    hkt_free(h->mem);
    *h = (hkt_hierarchy){0};
}

/* w [n, k] = left singular vectors of a [n, d] that belong to its range, k their number; a is destroyed. */
static hkt_status range_of(size_t n, size_t d, double *a, double *w, size_t *k)
{
    size_t few = n < d ? n : d;
    double *s = NULL;
    HKT_TRY(HKT_NEW(&s, few + d * few + few * n));
    double *vt = s + few, *u = vt + d * few;
    hkt_status status = hkt_svd(n, d, a, s, u, vt);
    *k = status == HKT_OK ? hkt_rank_of(n, d, s) : 0;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < *k; c++)
            w[i * *k + c] = u[i * few + c];
    hkt_free(s);
    return status;
}

/* range [T_l, k] of D_l^(1/2) X^(l) for each level, one after the other: U_l X^(l) = (U_l D_l^(-1/2)) D_l^(1/2) X^(l),
 * and the first factor has orthonormal columns. */
static hkt_status input_ranges(const hkt_hierarchy *levels, size_t d, const double *const *x, double *scaled,
                               double *range, hkt_hierarchy *out)
{
    for (size_t l = 0; l < levels->L; l++) {
        size_t n = levels->n[l];
        HKT_TRY(hkt_check_finite("level input", n * d, x[l]));
        memset(scaled, 0, n * d * sizeof *scaled);
        for (size_t i = 0; i < levels->T; i++) /* D^(1/2) = (U D^(-1/2))^T U: each row adds 1/sqrt(block) */
            for (size_t j = 0; j < n; j++)
                if (levels->basis[l][i * n + j] > 0)
                    cblas_daxpy((int)d, levels->basis[l][i * n + j], x[l] + j * d, 1, scaled + j * d, 1);
        HKT_TRY(range_of(n, d, scaled, range, &out->n[l]));
        range += n * out->n[l];
    }
    return HKT_OK;
}

hkt_status hkt_hierarchy_inputs(hkt_hierarchy *out, size_t T, size_t stride, size_t L, size_t rank, size_t d,
                                const double *const *x)
{
    hkt_hierarchy levels;
    double *scaled = NULL;
    *out = (hkt_hierarchy){.T = T, .L = L, .rank = rank};
    HKT_TRY(hkt_hierarchy_levels(&levels, T, stride, L, rank));
    size_t rows = 0;
    for (size_t l = 0; l < L; l++)
        rows += levels.n[l];
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&scaled, (T + rows) * d));
    HKT_TRY_GOTO(status, done, input_ranges(&levels, d, x, scaled, scaled + T * d, out));
    HKT_TRY_GOTO(status, done, carve(out));
    const double *range = scaled + T * d;
    for (size_t l = 0; l < L; l++) {
        hkt_product(false, false, T, out->n[l], levels.n[l], 1, levels.basis[l], range, 0, out->basis[l]);
        range += levels.n[l] * out->n[l];
    }
done:
    hkt_free(scaled);
    hkt_hierarchy_free(&levels);
    return status;
}

/* --- terms --- */

/* out += sign Q_l C_l Q_l^T; wide [T, n_l] is scratch. */
static void add_term(const hkt_hierarchy *h, size_t l, double sign, double *wide, double *out)
{
    hkt_product(false, false, h->T, h->n[l], h->n[l], 1, h->basis[l], h->coef[l], 0, wide);
    hkt_product(false, true, h->T, h->T, h->n[l], sign, wide, h->basis[l], 1, out);
}

/* g [n_l, n_l] = Q_l^T a Q_l. */
static void compress(const hkt_hierarchy *h, size_t l, const double *a, double *wide, double *g)
{
    hkt_product(false, false, h->T, h->n[l], h->T, 1, a, h->basis[l], 0, wide);
    hkt_product(true, false, h->n[l], h->n[l], h->T, 1, h->basis[l], wide, 0, g);
}

hkt_status hkt_hierarchy_set(hkt_hierarchy *h, size_t l, const double *term)
{
    double *wide = NULL;
    HKT_TRY(HKT_NEW(&wide, h->T * h->n[l]));
    compress(h, l, term, wide, h->coef[l]);
    hkt_free(wide);
    return HKT_OK;
}

static hkt_status add_terms(const hkt_hierarchy *h, size_t first, size_t end, double *out)
{
    double *wide = NULL;
    HKT_TRY(HKT_NEW(&wide, h->T * h->T));
    memset(out, 0, h->T * h->T * sizeof *out);
    for (size_t l = first; l < end; l++)
        add_term(h, l, 1, wide, out);
    hkt_free(wide);
    return HKT_OK;
}

hkt_status hkt_hierarchy_term(const hkt_hierarchy *h, size_t l, double *out)
{
    return add_terms(h, l, l + 1, out);
}

hkt_status hkt_hierarchy_sum(const hkt_hierarchy *h, double *out)
{
    return add_terms(h, 0, h->L, out);
}

/* --- descent --- */

typedef struct {
    double *mem;
    double *residual;         /* [T, T]: S minus the sum */
    double *wide;             /* [T, T] */
    double *g, *gram, *v, *w; /* [T, T] three times, [T] */
    int *support;             /* [2 T] */
} work;

static hkt_status work_create(size_t T, work *w)
{
    *w = (work){0};
    HKT_TRY(HKT_NEW(&w->mem, 5 * T * T + T));
    w->residual = w->mem;
    w->wide = w->residual + T * T;
    w->g = w->wide + T * T;
    w->gram = w->g + T * T;
    w->v = w->gram + T * T;
    w->w = w->v + T * T;
    return HKT_NEW(&w->support, 2 * T);
}

static void work_free(work *w)
{
    hkt_free(w->support);
    hkt_free(w->mem);
}

/* out [n, n] = best approximation of w->g [n, n] of rank at most r: G V V^T with V the r leading eigenvectors of G^T G.
 * ||G - G V V^T||^2 = ||G||^2 - tr(V^T G^T G V), so what a backward stable eigensolver gets wrong costs at most a
 * multiple of n r eps ||G||^2 in the squared error; five times faster than a full SVD. */
static hkt_status truncate(size_t n, size_t r, work *w, double *out)
{
    if (r >= n) {
        memcpy(out, w->g, n * n * sizeof *out);
        return HKT_OK;
    }
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)n, (int)n, 1, w->g, (int)n, 0, w->gram, (int)n);
    HKT_TRY(hkt_eigen_highest(n, r, w->gram, w->w, w->v, w->support));
    /* Row k of v [r, n] is an eigenvector. */
    hkt_product(false, true, n, r, n, 1, w->g, w->v, 0, w->gram);
    hkt_product(false, false, n, n, r, 1, w->gram, w->v, 0, out);
    return HKT_OK;
}

static hkt_status sweep(hkt_hierarchy *h, bool finest_first, work *w)
{
    for (size_t i = 0; i < h->L; i++) {
        size_t l = finest_first ? i : h->L - 1 - i;
        add_term(h, l, 1, w->wide, w->residual);
        compress(h, l, w->residual, w->wide, w->g);
        HKT_TRY(truncate(h->n[l], h->rank, w, h->coef[l]));
        add_term(h, l, -1, w->wide, w->residual);
    }
    return HKT_OK;
}

static double norm(const hkt_hierarchy *h, const double *a)
{
    return cblas_dnrm2((int)(h->T * h->T), a, 1);
}

static double set_residual(const hkt_hierarchy *h, const double *s, work *w)
{
    memcpy(w->residual, s, h->T * h->T * sizeof *s);
    for (size_t l = 0; l < h->L; l++)
        add_term(h, l, -1, w->wide, w->residual);
    return norm(h, w->residual);
}

static hkt_status descend(hkt_hierarchy *h, const double *s, const hkt_search *search, bool finest_first, work *w,
                          hkt_descent *out)
{
    double least = search->tolerance * norm(h, s), before = set_residual(h, s, w);
    *out = (hkt_descent){0};
    while (out->sweeps < search->sweeps && !out->settled) {
        HKT_TRY(sweep(h, finest_first, w));
        double after = norm(h, w->residual);
        out->settled = before - after <= least;
        before = after;
        out->sweeps++;
    }
    out->error = set_residual(h, s, w);
    return HKT_OK;
}

hkt_status hkt_hierarchy_descend(hkt_hierarchy *h, const double *s, const hkt_search *search, hkt_descent *out)
{
    work w;
    HKT_TRY(hkt_check_finite("hierarchical sum", h->T * h->T, s));
    hkt_status status = work_create(h->T, &w);
    if (status == HKT_OK)
        status = descend(h, s, search, false, &w, out);
    work_free(&w);
    return status;
}

/* Each C_l = a product of normal factors [n_l, r] and [r, n_l], scaled to norm `scale`. */
static void draw(hkt_hierarchy *h, hkt_rng *rng, double scale, work *w)
{
    for (size_t l = 0; l < h->L; l++) {
        size_t n = h->n[l], r = h->rank < n ? h->rank : n;
        for (size_t i = 0; i < n * r; i++) {
            w->g[i] = hkt_rng_normal(rng);
            w->v[i] = hkt_rng_normal(rng);
        }
        hkt_product(false, true, n, n, r, 1, w->g, w->v, 0, h->coef[l]);
        double size = cblas_dnrm2((int)(n * n), h->coef[l], 1);
        if (size > 0)
            cblas_dscal((int)(n * n), scale / size, h->coef[l], 1);
    }
}

/* Start 0: the coefficients in h; 1 and 2: zero, coarsest and finest level first; then random. best [n_coef]: the
 * coefficients of the best so far. */
static hkt_status search_starts(hkt_hierarchy *h, const double *s, const hkt_search *search, work *w, double *best,
                                hkt_descent *out)
{
    size_t sweeps = 0;
    double *coef = h->coef[0], given = set_residual(h, s, w), scale = norm(h, s);
    hkt_rng rng = hkt_rng_make(search->seed, HKT_STREAM_VERIFY, 400);
    memcpy(best, coef, h->n_coef * sizeof *best);
    *out = (hkt_descent){.error = given};
    for (size_t start = 0; start < 3 + search->random; start++) {
        hkt_descent d;
        if (start == 1 || start == 2)
            memset(coef, 0, h->n_coef * sizeof *coef);
        else if (start > 2)
            draw(h, &rng, scale / (double)h->L, w);
        HKT_TRY(descend(h, s, search, start == 2, w, &d));
        sweeps += d.sweeps;
        if (d.error < out->error) {
            *out = d;
            memcpy(best, coef, h->n_coef * sizeof *best);
        }
    }
    out->sweeps = sweeps;
    memcpy(coef, best, h->n_coef * sizeof *best);
    return HKT_OK;
}

hkt_status hkt_hierarchy_search(hkt_hierarchy *h, const double *s, const hkt_search *search, hkt_descent *out)
{
    work w;
    double *best = NULL;
    HKT_TRY(hkt_check_finite("hierarchical sum", h->T * h->T, s));
    hkt_status status = work_create(h->T, &w);
    if (status == HKT_OK)
        status = HKT_NEW(&best, h->n_coef);
    if (status == HKT_OK)
        status = search_starts(h, s, search, &w, best, out);
    hkt_free(best);
    work_free(&w);
    return status;
}

/* --- E_L over the number of levels --- */

size_t hkt_hierarchy_depth(size_t T, size_t stride)
{
    size_t levels = 1;
    while (levels < HKT_MAX_LEVELS && hkt_level_length(T, stride, levels - 1) > 1)
        levels++;
    return levels;
}

/* Sum of squares of w [n] (descending) without the first k. */
static double tail(const double *w, size_t n, size_t k)
{
    double sum = 0;
    for (size_t i = n; i-- > k;)
        sum += w[i] * w[i];
    return sum;
}

/* Scratch: [T, T] three times and [T] twice. */
typedef struct {
    double *mem, *below, *detail, *cross, *w, *w_cross;
} bound_work;

/* Singular values of (I - P) S, and of P S (I - P) by Q^T S (I - P), with P = Q Q^T, Q [T, n]. */
static hkt_status detail_values(size_t T, size_t n, const double *q, const double *s, bound_work *b)
{
    hkt_product(true, false, n, T, T, 1, q, s, 0, b->below);
    memcpy(b->detail, s, T * T * sizeof *s);
    hkt_product(false, false, T, T, n, -1, q, b->below, 1, b->detail);
    HKT_TRY(hkt_singular_values(T, T, b->detail, b->w));
    hkt_product(false, false, n, n, T, 1, b->below, q, 0, b->cross);
    hkt_product(false, true, n, T, n, -1, b->cross, q, 1, b->below);
    return hkt_singular_values(n, T, b->below, b->w_cross);
}

/* Levels m, m + 1, .. are constant on the blocks of level m, P their projection: (I - P) (S - sum) and
 * P (S - sum) (I - P) see only levels below m, of rank r min(m, L) together. */
static hkt_status detail_bounds(const hkt_hierarchy *h, const double *s, bound_work *b, hkt_curve *out)
{
    size_t T = h->T;
    for (size_t m = 1; m < h->L; m++) {
        HKT_TRY(detail_values(T, h->n[m], h->basis[m], s, b));
        for (size_t L = 1; L <= out->n; L++) {
            size_t rank = h->rank * (m < L ? m : L);
            double e = sqrt(tail(b->w, T, rank) + tail(b->w_cross, h->n[m], rank));
            out->bound[L - 1] = fmax(out->bound[L - 1], e);
            out->floor = m <= L ? fmax(out->floor, e) : out->floor;
        }
    }
    return HKT_OK;
}

static hkt_status bounds(const hkt_hierarchy *h, const double *s, bound_work *b, hkt_curve *out)
{
    size_t T = h->T;
    out->floor = 0;
    HKT_TRY(hkt_singular_values(T, T, s, b->w));
    for (size_t L = 1; L <= out->n; L++)
        out->rank_bound[L - 1] = out->bound[L - 1] = sqrt(tail(b->w, T, h->rank * L));
    HKT_TRY(detail_bounds(h, s, b, out));
    double *transposed = b->cross + T * T;
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            transposed[j * T + i] = s[i * T + j];
    return detail_bounds(h, transposed, b, out);
}

static hkt_status bounds_create(bound_work *b, size_t T)
{
    *b = (bound_work){0};
    HKT_TRY(HKT_NEW(&b->mem, 4 * T * T + 2 * T));
    b->below = b->mem;
    b->detail = b->below + T * T;
    b->cross = b->detail + T * T; /* followed by S^T */
    b->w = b->cross + 2 * T * T;
    b->w_cross = b->w + T;
    return HKT_OK;
}

/* The best sum of L levels from that of L - 1, which is replaced. */
static hkt_status add_level(hkt_hierarchy *h, size_t stride, size_t L, size_t rank, const double *s, size_t T,
                            const hkt_search *search, hkt_descent *d)
{
    hkt_hierarchy next;
    HKT_TRY(hkt_hierarchy_levels(&next, T, stride, L, rank));
    if (h->n_coef > 0)
        memcpy(next.coef[0], h->coef[0], h->n_coef * sizeof *h->mem);
    hkt_hierarchy_free(h);
    *h = next;
    return hkt_hierarchy_search(h, s, search, d);
}

static double frobenius(size_t T, const double *s)
{
    return cblas_dnrm2((int)(T * T), s, 1);
}

hkt_status hkt_hierarchy_bounds(hkt_curve *out, const double *s, size_t T, size_t stride, size_t levels, size_t rank)
{
    hkt_hierarchy h = {0};
    bound_work b = {0};
    double scale = frobenius(T, s);
    *out = (hkt_curve){.n = levels};
    if (!(scale > 0))
        return hkt_fail(HKT_ENUMERIC, "hierarchical sum: expected a matrix that is not zero, found norm %g", scale);
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_hierarchy_levels(&h, T, stride, levels, rank));
    HKT_TRY_GOTO(status, done, bounds_create(&b, T));
    HKT_TRY_GOTO(status, done, bounds(&h, s, &b, out));
    for (size_t L = 0; L < levels; L++) {
        out->rank_bound[L] /= scale;
        out->bound[L] /= scale;
    }
    out->floor /= scale;
done:
    hkt_free(b.mem);
    hkt_hierarchy_free(&h);
    return status;
}

hkt_status hkt_hierarchy_curve(hkt_curve *out, const double *s, size_t T, size_t stride, size_t levels, size_t rank,
                               const hkt_search *search)
{
    hkt_hierarchy h = {0};
    hkt_status status = hkt_hierarchy_bounds(out, s, T, stride, levels, rank);
    for (size_t L = 1; L <= levels && status == HKT_OK; L++) {
        hkt_descent d = {0};
        status = add_level(&h, stride, L, rank, s, T, search, &d);
        out->error[L - 1] = d.error / frobenius(T, s);
        out->sweeps += d.sweeps;
    }
    hkt_hierarchy_free(&h);
    return status;
}

void hkt_hierarchy_kernel(hkt_kernel kernel, double parameter, size_t T, double *s)
{
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++) {
            double lag = i < j ? (double)(j - i) : (double)(i - j);
            s[i * T + j] = kernel == HKT_KERNEL_POWER ? pow(1 + lag, -parameter) : exp(-lag / parameter);
        }
}

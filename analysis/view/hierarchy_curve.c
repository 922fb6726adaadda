/* hierarchy_curve.c - E_L over the number of levels, with lower bounds (docs/theory.md, "decay"). */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "analysis/math/linalg.h"
#include "analysis/view/hierarchy.h"
#include "base/mem.h"

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

static double norm(size_t T, const double *s)
{
    return cblas_dnrm2((int)(T * T), s, 1);
}

hkt_status hkt_hierarchy_bounds(hkt_curve *out, const double *s, size_t T, size_t stride, size_t levels, size_t rank)
{
    hkt_hierarchy h = {0};
    bound_work b = {0};
    double scale = norm(T, s);
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
        out->error[L - 1] = d.error / norm(T, s);
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

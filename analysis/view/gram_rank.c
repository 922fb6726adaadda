/* What of gram.h is about signs: how far computed eigenvalues can be trusted, and ranks that decide the inertia without
 * them. */
#include <cblas.h>
#include <float.h>
#include <math.h>

#include "analysis/math/modular.h"
#include "analysis/view/gram.h"
#include "base/mem.h"

double hkt_form_tolerance(size_t d, size_t p, const double *wq, const double *wk)
{
    double size = cblas_dnrm2((int)(p * d), wq, 1) * cblas_dnrm2((int)(p * d), wk, 1) / sqrt((double)p);
    return (double)(d + p) * DBL_EPSILON * size;
}

hkt_status hkt_form_rank(size_t d, size_t p, const double *wq, const double *wk, size_t *rank)
{
    uint64_t *stack = NULL;
    HKT_TRY(HKT_NEW(&stack, 2 * p * d));
    hkt_modular_from(p * d, wq, stack);
    hkt_modular_from(p * d, wk, stack + p * d);
    hkt_status status = hkt_modular_rank(2 * p, d, stack, rank);
    hkt_free(stack);
    return status;
}

/* |Z|_F^2: row j of level l stands for as many tokens as have it as i_l. */
static double squared_norm(const hkt_gram *g)
{
    double sum = 0;
    size_t step = 1;
    for (size_t l = 0; l < g->L; l++, step *= g->stride)
        for (size_t j = 0; j * step < g->T; j++) {
            size_t tokens = g->T - j * step < step ? g->T - j * step : step;
            sum += (double)tokens * cblas_ddot((int)g->d, g->x[l] + j * g->d, 1, g->x[l] + j * g->d, 1);
        }
    return sum;
}

double hkt_gram_tolerance(const hkt_gram *g, const double *size, double z)
{
    double form = 0;
    for (size_t l = 0; l < g->L; l++) {
        double norm = size ? size[l] : cblas_dnrm2((int)(g->d * g->d), g->ms[l], 1);
        form = hypot(form, g->lambda[l] * norm); /* no square that is out of range */
    }
    return (double)(g->T + g->L * g->d) * DBL_EPSILON * (isnan(z) ? squared_norm(g) : z * z) * form;
}

/* Columns of level l for the first `rows` tokens: out [rows, stride] from column `at` on is U_l X W^T, w [c, d] and out
 * residues; x, y scratch [d], [c]. */
static void put_level(const hkt_gram *g, size_t l, size_t rows, size_t c, const uint64_t *w, uint64_t *x, uint64_t *y,
                      size_t stride, size_t at, uint64_t *out)
{
    size_t step = 1;
    for (size_t i = 0; i < l; i++)
        step *= g->stride;
    for (size_t i = 0; i < rows; i++) {
        if (i % step == 0) {
            hkt_modular_from(g->d, g->x[l] + i / step * g->d, x);
            if (w)
                hkt_modular_product(1, c, g->d, x, w, y);
        }
        for (size_t j = 0; j < c; j++)
            out[i * stride + at + j] = w ? y[j] : x[j];
    }
}

hkt_status hkt_gram_form_rank(const hkt_gram *g, size_t p, const double *const *wq, const double *const *wk,
                              size_t rows, size_t *rank, size_t *full)
{
    size_t d = g->d, n = 0, at = 0;
    for (size_t l = 0; l < g->L; l++)
        n += g->lambda[l] > 0 ? 2 * p : 0;
    *full = n;
    uint64_t *a = NULL;
    HKT_TRY(HKT_NEW(&a, rows * n + 2 * p * d + d + 2 * p));
    uint64_t *w = a + rows * n, *x = w + 2 * p * d, *y = x + d;
    for (size_t l = 0; l < g->L; l++) {
        if (!(g->lambda[l] > 0))
            continue;
        hkt_modular_from(p * d, wq[l], w);
        hkt_modular_from(p * d, wk[l], w + p * d);
        put_level(g, l, rows, 2 * p, w, x, y, n, at, a);
        at += 2 * p;
    }
    hkt_status status = hkt_modular_rank(rows, n, a, rank);
    hkt_free(a);
    return status;
}

hkt_status hkt_gram_proved_rank(const hkt_gram *g, size_t rows, size_t *rank)
{
    size_t n = g->L * g->d;
    uint64_t *a = NULL;
    HKT_TRY(HKT_NEW(&a, rows * n + g->d));
    for (size_t l = 0; l < g->L; l++)
        put_level(g, l, rows, g->d, NULL, a + rows * n, NULL, n, l * g->d, a);
    hkt_status status = hkt_modular_rank(rows, n, a, rank);
    hkt_free(a);
    return status;
}

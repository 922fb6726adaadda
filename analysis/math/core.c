#include "analysis/math/core.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/math/linalg.h"
#include "base/mem.h"

hkt_status hkt_core_factor(hkt_core *out, size_t n, size_t p, const double *wq, const double *wk)
{
    hkt_tsqr *qr;
    double *r = NULL, *row;
    *out = (hkt_core){.n = n, .p = p, .k = n < 2 * p ? n : 2 * p};
    HKT_TRY(hkt_check_finite("query weights", n * p, wq));
    HKT_TRY(hkt_check_finite("key weights", n * p, wk));
    HKT_TRY(hkt_tsqr_create(&qr, 2 * p));
    hkt_status status = HKT_NEW(&r, 4 * p * p);
    for (size_t j = 0; j < n && status == HKT_OK; j++) {
        status = hkt_tsqr_next(qr, &row);
        for (size_t i = 0; i < p && status == HKT_OK; i++) {
            row[i] = wq[i * n + j];
            row[p + i] = wk[i * n + j];
        }
    }
    size_t k = 0;
    if (status == HKT_OK)
        status = hkt_tsqr_finish(qr, r, &k);
    if (status == HKT_OK)
        status = HKT_NEW(&out->block, 2 * out->k * p);
    if (status == HKT_OK) {
        HKT_ASSERT(k == out->k);
        out->rq = out->block;
        out->rk = out->rq + k * p;
        for (size_t i = 0; i < k; i++) {
            memcpy(out->rq + i * p, r + i * 2 * p, p * sizeof *r);
            memcpy(out->rk + i * p, r + i * 2 * p + p, p * sizeof *r);
        }
    }
    hkt_tsqr_destroy(qr);
    hkt_free(r);
    return status;
}

void hkt_core_free(hkt_core *c)
{
    hkt_free(c->block);
    *c = (hkt_core){0};
}

void hkt_rotate(const hkt_rotation *r, double steps, double *v)
{
    const size_t half = r->rotated / 2;
    for (size_t i = 0; i < half; i++) {
        double *x = v + (r->pairs ? 2 * i : i), *y = x + (r->pairs ? 1 : half);
        double angle = steps * pow(r->base, -2 * (double)i / (double)r->rotated);
        double c = cos(angle), s = sin(angle), turned = c * *x - s * *y;
        *y = s * *x + c * *y;
        *x = turned;
    }
}

/* The angles are the same for every row. */
static void rotate_rows(const hkt_rotation *r, double steps, size_t rows, size_t p, double *v)
{
    const size_t half = r->rotated / 2;
    for (size_t i = 0; i < half; i++) {
        const size_t first = r->pairs ? 2 * i : i, second = first + (r->pairs ? 1 : half);
        const double angle = steps * pow(r->base, -2 * (double)i / (double)r->rotated), c = cos(angle), s = sin(angle);
        for (size_t row = 0; row < rows; row++) {
            double *x = v + row * p + first, *y = v + row * p + second, turned = c * *x - s * *y;
            *y = s * *x + c * *y;
            *x = turned;
        }
    }
}

void hkt_core_form(const hkt_core *core, double scale, const hkt_rotation *r, double steps, double *turned, double *c)
{
    memcpy(turned, core->rk, core->k * core->p * sizeof *turned);
    if (steps != 0)
        rotate_rows(r, steps, core->k, core->p, turned);
    hkt_product(false, true, core->k, core->k, core->p, scale, core->rq, turned, 0, c);
}

double hkt_core_size(const hkt_core *core, double scale)
{
    double q = 0, k = 0;
    for (size_t i = 0; i < core->k * core->p; i++) {
        q += core->rq[i] * core->rq[i];
        k += core->rk[i] * core->rk[i];
    }
    return fabs(scale) * sqrt(q * k);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* w [dimension] ascending: the k eigenvalues of (C + C^T)/2 and zeros, or, for k = dimension + 1, all but the one
 * nearest to 0. work [k, k], values [k]. */
static hkt_status eigenvalues(size_t k, size_t dimension, const double *c, double *work, double *values, double *w)
{
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            work[i * k + j] = (c[i * k + j] + c[j * k + i]) / 2;
    HKT_TRY(hkt_eigenvalues(k, work, values));
    if (k > dimension) {
        size_t least = 0;
        for (size_t i = 1; i < k; i++)
            least = fabs(values[i]) < fabs(values[least]) ? i : least;
        memmove(values + least, values + least + 1, (k - least - 1) * sizeof *values);
        k--;
    }
    memcpy(w, values, k * sizeof *w);
    memset(w + k, 0, (dimension - k) * sizeof *w);
    qsort(w, dimension, sizeof *w, ascending);
    return HKT_OK;
}

/* |C v|^2, or |C^T v|^2. */
static double image(size_t k, const double *c, bool transposed, const double *v)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        double x = 0;
        for (size_t j = 0; j < k; j++)
            x += (transposed ? c[j * k + i] : c[i * k + j]) * v[j];
        sum += x * x;
    }
    return sum;
}

static double dot(size_t k, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The moments of s = x^T M y + a.x + b.y, x and y independent standard normal (docs/theory.md, "models of others"):
 * m2 = ||M||^2 + |a|^2 + |b|^2, m3 = 6 a^T M b, m4 = 3 m2^2 + 6 tr((M^T M)^2) + 12 |M^T a|^2 + 12 |M b|^2. */
static void moments(size_t k, const double *c, double norm2, double quartic, const double *a, const double *b,
                    hkt_form_summary *out)
{
    double m2 = norm2, excess = 2 * quartic, m3 = 0;
    if (a && b) {
        m2 += dot(k, a, a) + dot(k, b, b);
        excess += 4 * image(k, c, true, a) + 4 * image(k, c, false, b);
        for (size_t i = 0; i < k; i++)
            m3 += 6 * a[i] * dot(k, c + i * k, b);
    }
    out->kappa = 1 + excess / (m2 * m2);
    out->skewness = m3 / (m2 * sqrt(m2));
}

hkt_status hkt_core_summary(size_t k, size_t dimension, const double *c, const double *a, const double *b, double size,
                            double *w, hkt_form_summary *out)
{
    double *work, anti = 0, trace = 0;
    HKT_ASSERT(k <= dimension + 1);
    HKT_TRY(HKT_NEW(&work, k * k + k));
    hkt_status status = eigenvalues(k, dimension, c, work, work + k * k, w);
    if (status == HKT_OK) {
        const double norm2 = dot(k * k, c, c), tolerance = (double)(dimension + k) * DBL_EPSILON * size;
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < k; j++) {
                double half = (c[i * k + j] - c[j * k + i]) / 2;
                anti += half * half;
                trace += c[i * k + j] * c[j * k + i];
            }
        hkt_product(false, true, k, k, k, 1, c, c, 0, work);
        const double quartic = dot(k * k, work, work);
        *out = (hkt_form_summary){.dimension = dimension,
                                  .inertia = hkt_inertia_of(dimension, w, tolerance),
                                  .tolerance = tolerance,
                                  .negative_mass = hkt_negative_mass(dimension, w),
                                  .stable_rank = hkt_stable_rank(dimension, w),
                                  .norm = sqrt(norm2),
                                  .antisymmetric = anti / norm2,
                                  .trace = trace / norm2,
                                  .concentration = quartic / (norm2 * norm2)};
        moments(k, c, norm2, quartic, a, b, out);
    }
    hkt_free(work);
    return status;
}

#include "analysis/math/quartic.h"

#include <math.h>
#include <string.h>

#include "analysis/math/mardia.h"
#include "base/mem.h"
#include "num/kernels.h"

enum { BLOCK = 256 }; /* vectors at a time */

size_t hkt_quartic_width(size_t q)
{
    return (q + 1) * (q + 2) / 2;
}

size_t hkt_quartic_size(size_t q)
{
    size_t m = hkt_quartic_width(q);
    return m * (m + 1) / 2;
}

size_t hkt_quartic_scratch(size_t q)
{
    size_t m = hkt_quartic_width(q);
    return m * BLOCK + m * m;
}

/* z [m, BLOCK], one vector per column, from components already in rows 1..q. */
static void fill_products(size_t q, double *z, size_t n)
{
    double *product = z + (q + 1) * BLOCK;
    for (size_t a = 0; a < q; a++)
        for (size_t b = 0; b <= a; b++, product += BLOCK)
            for (size_t e = 0; e < n; e++)
                product[e] = z[(1 + a) * BLOCK + e] * z[(1 + b) * BLOCK + e];
}

void hkt_quartic_add(size_t q, double *sums, const double *y, size_t ld, size_t n, size_t step, const double *centre,
                     const double *scale, double *scratch)
{
    size_t m = hkt_quartic_width(q), count = (n + step - 1) / step;
    double *z = scratch, *square = z + m * BLOCK;
    for (size_t first = 0, block; first < count; first += block) {
        block = count - first < BLOCK ? count - first : BLOCK;
        for (size_t e = 0; e < block; e++)
            z[e] = 1;
        for (size_t a = 0; a < q; a++) {
            const double *from = y + a * ld + first * step;
            for (size_t e = 0; e < block; e++)
                z[(1 + a) * BLOCK + e] = (from[e * step] - centre[a]) / scale[a];
        }
        fill_products(q, z, block);
        hkt_products_f64(m, m, block, 1, z, BLOCK, z, BLOCK, square, m);
        for (size_t r = 0, packed = 0; r < m; r++)
            for (size_t c = 0; c <= r; c++)
                sums[packed++] += square[r * m + c];
    }
}

/* The coefficients c of the Mahalanobis form: precision [q, q] symmetric (lower triangle), mean [q]. */
static void form_coefficients(size_t q, const double *precision, const double *mean, double *c)
{
    memset(c, 0, (q + 1) * sizeof *c);
    double *quadratic = c + q + 1;
    for (size_t a = 0; a < q; a++)
        for (size_t b = 0; b <= a; b++) {
            double p = (a == b ? 1 : 2) * precision[a * q + b];
            *quadratic++ = p;
            c[1 + a] -= p * mean[b];
            c[1 + b] -= p * mean[a];
            c[0] += p * mean[a] * mean[b];
        }
}

/* The lower triangle of L becomes that of (L L')^-1: first M = L^-1 by rows, then M' M by columns, whose entry (a, b),
 * b <= a, reads nothing that has been written. */
static void invert(size_t q, double *l)
{
    for (size_t i = 0; i < q; i++) {
        for (size_t j = 0; j < i; j++) {
            double sum = 0;
            for (size_t k = j; k < i; k++)
                sum += l[i * q + k] * l[k * q + j];
            l[i * q + j] = -sum / l[i * q + i];
        }
        l[i * q + i] = 1 / l[i * q + i];
    }
    for (size_t a = 0; a < q; a++)
        for (size_t b = 0; b <= a; b++) {
            double sum = 0;
            for (size_t k = a; k < q; k++)
                sum += l[k * q + a] * l[k * q + b];
            l[a * q + b] = sum;
        }
}

/* Mean and inverse covariance of the sample. work [2 q]. */
static hkt_status invert_covariance(size_t q, const double *sums, double n, double *mean, double *precision,
                                    double *work)
{
    double *noise = work, *scale = work + q;
    for (size_t a = 0; a < q; a++) {
        mean[a] = sums[(1 + a) * (2 + a) / 2] / n;
        noise[a] = 1e-3 * fabs(mean[a]); /* cancellation: eps (mean/sd)^4 in the fourth moment */
    }
    for (size_t a = 0, row = q + 1; a < q; a++)
        for (size_t b = 0; b <= a; b++, row++)
            precision[a * q + b] = sums[row * (row + 1) / 2] / n - mean[a] * mean[b];
    HKT_TRY(hkt_covariance_factor(q, precision, noise, 1e-5, scale));
    invert(q, precision);
    for (size_t a = 0; a < q; a++)
        for (size_t b = 0; b <= a; b++)
            precision[a * q + b] /= scale[a] * scale[b];
    return HKT_OK;
}

/* c' A c for packed A. */
static double packed_form(size_t m, const double *packed, const double *c)
{
    double total = 0;
    for (size_t r = 0; r < m; r++) {
        double row = 0;
        for (size_t k = 0; k < r; k++)
            row += *packed++ * c[k];
        total += c[r] * (2 * row + *packed++ * c[r]);
    }
    return total;
}

static size_t work_size(size_t q)
{
    return 3 * q + q * q + hkt_quartic_width(q);
}

size_t hkt_quartic_units_scratch(size_t q)
{
    return hkt_quartic_size(q) + work_size(q);
}

/* work [work_size(q)] */
static hkt_status kappa_of(size_t q, const double *sums, double *n, double *kappa, double *work)
{
    double *mean = work, *precision = mean + 3 * q, *c = precision + q * q;
    *kappa = (double)NAN;
    *n = sums[0];
    if (!(*n > (double)q))
        return hkt_fail(HKT_EINPUT, "mardia: expected more than %zu vectors of %zu values, found %.0f", q, q, *n);
    HKT_TRY(invert_covariance(q, sums, *n, mean, precision, mean + q));
    form_coefficients(q, precision, mean, c);
    *kappa = packed_form(hkt_quartic_width(q), sums, c) / *n / ((double)q * (double)(q + 2));
    return HKT_OK;
}

hkt_status hkt_quartic_kappa(size_t q, const double *sums, double *n, double *kappa)
{
    double *work = NULL;
    *n = *kappa = (double)NAN;
    HKT_TRY(HKT_NEW(&work, work_size(q)));
    hkt_status status = kappa_of(q, sums, n, kappa, work);
    hkt_free(work);
    return status;
}

double hkt_quartic_pooled_kappa(const void *units, const size_t *index, size_t n)
{
    const hkt_quartic_units *u = units;
    size_t size = hkt_quartic_size(u->q);
    memset(u->pooled, 0, size * sizeof *u->pooled);
    for (size_t i = 0; i < n; i++)
        hkt_axpy_f64(size, 1, u->sums + index[i] * size, u->pooled);
    double count, kappa;
    return kappa_of(u->q, u->pooled, &count, &kappa, u->pooled + size) == HKT_OK ? kappa : (double)NAN;
}

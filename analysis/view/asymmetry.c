#include "analysis/view/asymmetry.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "analysis/math/certify.h"
#include "analysis/math/linalg.h"
#include "base/mem.h"

void hkt_score_form(size_t d, size_t p, const double *wq, const double *wk, double *m)
{
    hkt_product(true, false, d, d, p, 1 / sqrt((double)p), wq, wk, 0, m);
}

void hkt_split(size_t n, const double *a, double *sym, double *anti)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double x = a[i * n + j], y = a[j * n + i];
            sym[i * n + j] = (x + y) / 2;
            anti[i * n + j] = (x - y) / 2;
        }
}

double hkt_inner(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double row = 0;
        for (size_t j = 0; j < n; j++)
            row += a[i * n + j] * b[i * n + j];
        sum += row;
    }
    return sum;
}

/* tr(a b) of [p, p] matrices. */
static double trace_product(size_t p, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < p; j++)
            sum += a[i * p + j] * b[j * p + i];
    return sum;
}

/* c = <M, M^T> / ||M||^2 = tr(B^2) / tr(Sq Sk), B = Wk Wq^T, and the share is (1 - c)/2. With the singular values
 * sigma of M and Q uniform in O(d), c = sum sigma_i sigma_j Q_ij Q_ji / sum sigma^2, whose first two moments are those
 * below (docs/theory.md). sum sigma^4 = tr((Sq Sk)^2). */
void hkt_energy_from(size_t d, size_t p, const double *sq, const double *sk, const double *product, const double *b,
                     hkt_energy *out)
{
    double n = (double)d, norm2 = trace_product(p, sq, sk);
    double concentration = trace_product(p, product, product) / (norm2 * norm2); /* 1 / effective rank */
    double c = trace_product(p, b, b) / norm2;
    double spread = d > 1 ? (n + 1) / (n - 1) * (1 - concentration) : 0;
    double variance = 3 / (n * (n + 2)) * (concentration + spread) - 1 / (n * n);
    out->share = (1 - c) / 2;
    out->expected = (1 - 1 / n) / 2;
    out->sd = d > 1 ? sqrt(variance) / 2 : 0;
    out->z = d > 1 ? (out->share - out->expected) / out->sd : 0;
}

hkt_status hkt_energy_share(size_t d, size_t p, const double *wq, const double *wk, hkt_energy *out)
{
    double *sq = NULL;
    HKT_TRY(HKT_NEW(&sq, 4 * p * p));
    double *sk = sq + p * p, *b = sk + p * p, *product = b + p * p;
    hkt_product(false, true, p, p, d, 1, wq, wq, 0, sq);
    hkt_product(false, true, p, p, d, 1, wk, wk, 0, sk);
    hkt_product(false, true, p, p, d, 1, wk, wq, 0, b);
    hkt_product(false, false, p, p, p, 1, sq, sk, 0, product);
    hkt_energy_from(d, p, sq, sk, product, b, out);
    /* Both traces have absolute terms of at most |Wq|^2 |Wk|^2 in all, and at most 2d + 2p roundings in each. */
    double terms = cblas_ddot((int)(p * d), wq, 1, wq, 1) * cblas_ddot((int)(p * d), wk, 1, wk, 1);
    out->error = hkt_gamma(4 * (d + p + 8)) * terms / trace_product(p, sq, sk);
    hkt_free(sq);
    return HKT_OK;
}

double hkt_directional_cosine(size_t d, const double *m, const double *other)
{
    double inner = 0, a = 0, b = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) {
            double x = m[i * d + j] - m[j * d + i], y = other[i * d + j] - other[j * d + i];
            inner += x * y;
            a += x * x;
            b += y * y;
        }
    return inner / sqrt(a * b);
}

hkt_status hkt_normalised_gram(size_t n, size_t m, const double *const *matrix, double *g, double *least)
{
    double *w = NULL;
    *least = (double)NAN;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            g[i * n + j] = g[j * n + i] = hkt_inner(m, matrix[i], matrix[j]);
    for (size_t i = 0; i < n; i++)
        if (!(g[i * n + i] > 0))
            return HKT_OK;
    HKT_TRY(HKT_NEW(&w, 2 * n));
    for (size_t i = 0; i < n; i++)
        w[n + i] = sqrt(g[i * n + i]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            g[i * n + j] /= w[n + i] * w[n + j];
    hkt_status status = hkt_singular_values(n, n, g, w);
    if (status == HKT_OK)
        *least = w[n - 1];
    hkt_free(w);
    return status;
}

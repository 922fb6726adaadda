#include "analysis/claims/asymmetry/null.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

#include "analysis/math/draw.h"
#include "analysis/view/asymmetry.h"
#include "base/mem.h"

enum { W = HKT_ASYMMETRY_NORMAL_WIDTH, SHARES = 0x10000, COSINES = 0x20000 }; /* sub-streams of HKT_STREAM_VERIFY */

/* Factor [p, p] of a Wishart matrix: L L^T is that of a p x n matrix of independent normals, n >= p (Bartlett 1933). */
static void wishart_factor(size_t p, size_t n, hkt_rng *rng, double *l)
{
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < p; j++)
            l[i * p + j] = j < i ? hkt_rng_normal(rng) : j == i ? hkt_draw_chi(rng, n - i) : 0;
}

/* c [p, p] += a b^T, a, b [p, m]. */
static void add_product(size_t p, size_t m, const double *a, const double *b, double *c)
{
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < p; j++)
            for (size_t k = 0; k < m; k++)
                c[i * p + j] += a[i * m + k] * b[j * m + k];
}

/* z of one head. In a basis whose first p vectors span the rows of Wq, Wq = [L, 0] and Wk = [G, F] with independent L
 * (Wishart factor), G and F normal: the share needs Sq = L L^T, Sk = G G^T + F F^T and Wk Wq^T = G L^T only, so that
 * the cost does not depend on d. */
static double draw_share(size_t d, size_t p, hkt_rng *rng)
{
    double l[W * W], g[W * W], f[W * W], sq[W * W] = {0}, sk[W * W] = {0}, b[W * W] = {0}, product[W * W] = {0};
    size_t rest = d - p, m = rest < p ? rest : p;
    hkt_energy e;
    wishart_factor(p, d, rng, l);
    for (size_t i = 0; i < p * p; i++)
        g[i] = hkt_rng_normal(rng);
    if (rest >= p)
        wishart_factor(p, rest, rng, f);
    else
        for (size_t i = 0; i < p * rest; i++)
            f[i] = hkt_rng_normal(rng);
    add_product(p, p, l, l, sq);
    add_product(p, p, g, g, sk);
    add_product(p, m, f, f, sk);
    add_product(p, p, g, l, b);
    add_product(p, p, sq, sk, product); /* sk is symmetric */
    hkt_energy_from(d, p, sq, sk, product, b, &e);
    return e.z;
}

void hkt_asymmetry_null_shares(size_t d, size_t p, size_t heads, size_t models, uint64_t seed, double *largest)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < models; i++) {
        hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, SHARES + (uint32_t)i);
        largest[i] = 0;
        for (size_t h = 0; h < heads; h++)
            largest[i] = fmax(largest[i], fabs(draw_share(d, p, &rng)));
    }
    gsl_sort(largest, 1, models);
}

/* sum_ij a_ij b_ij for a = w x^T, b = y z^T in the sense of rows: tr((w y^T)(z x^T)), all [p, d]. c [2, p, p] scratch.
 */
static double trace4(size_t p, size_t d, const double *w, const double *y, const double *z, const double *x, double *c)
{
    double sum = 0;
    memset(c, 0, 2 * p * p * sizeof *c);
    add_product(p, d, w, y, c);
    add_product(p, d, z, x, c + p * p);
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < p; j++)
            sum += c[i * p + j] * c[p * p + j * p + i];
    return sum;
}

/* 2 <M_a, N_a> = <M, N> - <M, N^T> for M = q^T k, N = r^T s. */
static double inner(size_t p, size_t d, const double *q, const double *k, const double *r, const double *s, double *c)
{
    return trace4(p, d, q, r, s, k, c) - trace4(p, d, q, s, r, k, c);
}

hkt_status hkt_asymmetry_null_cosines(size_t d, size_t p, size_t n, uint64_t seed, double *cosine)
{
    double *weights = NULL;
    const size_t chunks = 64, size = 4 * p * d; /* each chunk has room of its own */
    HKT_TRY(HKT_NEW(&weights, chunks * size));
#pragma omp parallel for schedule(static)
    for (size_t t = 0; t < chunks; t++) {
        double *q = weights + t * size, *k = q + p * d, *r = k + p * d, *s = r + p * d, c[2 * W * W];
        for (size_t i = t; i < n; i += chunks) {
            hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, COSINES + (uint32_t)i);
            for (size_t j = 0; j < size; j++)
                q[j] = hkt_rng_normal(&rng);
            double norms = inner(p, d, q, k, q, k, c) * inner(p, d, r, s, r, s, c);
            cosine[i] = fabs(inner(p, d, q, k, r, s, c)) / sqrt(norms);
        }
    }
    gsl_sort(cosine, 1, n);
    hkt_free(weights);
    return HKT_OK;
}

double hkt_asymmetry_null_p(const double *draws, size_t n, double x)
{
    size_t below = 0, end = n; /* draws below x */
    while (below < end) {
        size_t middle = below + (end - below) / 2;
        if (draws[middle] < x)
            below = middle + 1;
        else
            end = middle;
    }
    return isnan(x) ? (double)NAN : (double)(1 + n - below) / (double)(n + 1);
}

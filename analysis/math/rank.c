#include "analysis/math/rank.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/math/certify.h"
#include "analysis/math/linalg.h"
#include "base/mem.h"

/* More than all underflows of a few million products can add up to. */
static const double TINY = 0x1p-1000;

static double up(double x)
{
    return nextafter(x, (double)INFINITY);
}

static double down(double x)
{
    return nextafter(x, (double)-INFINITY);
}

/* At least the Frobenius norm of n numbers. */
static double norm_above(size_t n, const double *a)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * a[i];
    return up(sqrt(up(up(sum * (1 + hkt_gamma(2 * n + 4))) + TINY)));
}

/* out [k, k] = b^T b, exactly symmetric; b [m, k]. */
static void gram(size_t m, size_t k, const double *b, double *out)
{
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t r = 0; r < m; r++)
                sum += b[r * k + i] * b[r * k + j];
            out[i * k + j] = out[j * k + i] = sum;
        }
}

/* At least |W|_2: |W|_2^2 <= |W^T W|_inf. g [k, k] scratch. */
static double spectral_above(size_t n, size_t k, const double *w, double *g)
{
    double norm = norm_above(n * k, w), worst = 0;
    gram(n, k, w, g);
    for (size_t i = 0; i < k; i++) {
        double sum = 0;
        for (size_t j = 0; j < k; j++)
            sum += fabs(g[i * k + j]);
        worst = fmax(worst, sum);
    }
    /* Rounding of an entry is at most gamma_n |w_i| |w_j|, of a row therefore gamma_n sqrt(k) |W|_F^2. */
    double rounding = up(up(hkt_gamma(n + k + 8) * sqrt((double)k)) * up(norm * norm));
    return up(sqrt(up(up(worst * (1 + hkt_gamma(2 * k + 8))) + up(rounding + TINY))));
}

/* At most lambda_min(B^T B), b [m, k], by Rump's test on its computed value minus c; 0 when no c is certified. */
static hkt_status eigenvalue_below(size_t m, size_t k, const double *b, double *g, double *scratch, double *lambda)
{
    static const double share[] = {1 - 0x1p-20, 1 - 0x1p-10, 0.9, 0.5, 0.1};
    *lambda = 0;
    gram(m, k, b, g);
    double least = g[0];
    for (size_t i = 1; i < k; i++)
        least = fmin(least, g[i * k + i]);
    for (size_t t = 0; t < sizeof share / sizeof *share; t++) {
        double c = share[t] * least, used;
        bool certified;
        memcpy(scratch, g, k * k * sizeof *g);
        for (size_t i = 0; i < k; i++)
            scratch[i * k + i] = down(g[i * k + i] - c);
        HKT_TRY(hkt_certify_pd(k, scratch, &used, &certified));
        if (!certified)
            continue;
        double norm = norm_above(m * k, b); /* |fl(B^T B) - B^T B| <= gamma_m |B|^T |B|, of 2-norm <= |B|_F^2 */
        *lambda = fmax(0, down(c - up(up(hkt_gamma(m + 2) * up(norm * norm)) + TINY)));
        break;
    }
    return HKT_OK;
}

/* b [m, k] = a w. */
static void multiply(size_t m, size_t n, size_t k, const double *a, const double *w, double *b)
{
    memset(b, 0, m * k * sizeof *b);
    for (size_t i = 0; i < m; i++)
        for (size_t r = 0; r < n; r++)
            for (size_t j = 0; j < k; j++)
                b[i * k + j] += a[i * n + r] * w[r * k + j];
}

/* sigma_k(A) >= min |A w| / |w| over the range of W, >= sigma_min(A W) / |W|_2. */
static hkt_status bound_below(size_t m, size_t n, const double *a, double error, size_t k, const double *w,
                              double *lower)
{
    double *b = NULL, lambda;
    HKT_TRY(HKT_NEW(&b, m * k + 2 * k * k));
    double *g = b + m * k, *scratch = g + k * k;
    multiply(m, n, k, a, w, b);
    hkt_status status = eigenvalue_below(m, k, b, g, scratch, &lambda);
    if (status == HKT_OK) {
        /* |fl(A W) - A W|_F <= gamma_n |A|_F |W|_F */
        double product = up(up(hkt_gamma(n + 2) * norm_above(m * n, a)) * norm_above(n * k, w));
        double smallest = down(down(sqrt(lambda)) - up(product + TINY));
        *lower = fmax(0, down(down(smallest / spectral_above(n, k, w, g)) - error));
    }
    hkt_free(b);
    return status;
}

hkt_status hkt_rank_certify(size_t m, size_t n, const double *a, double error, size_t k, hkt_rank_bound *out)
{
    size_t r = m < n ? m : n;
    double *copy = NULL;
    *out = (hkt_rank_bound){(double)NAN, (double)NAN, 0, (double)NAN};
    HKT_ASSERT(k >= 1 && k <= r);
    HKT_TRY(hkt_check_finite("rank", m * n, a));
    HKT_TRY(HKT_NEW(&copy, m * n + r * (m + n + 1) + n * k));
    double *sigma = copy + m * n, *vt = sigma + r, *u = vt + r * n, *w = u + r * m;
    memcpy(copy, a, m * n * sizeof *a);
    hkt_status status = hkt_svd(m, n, copy, sigma, u, vt);
    if (status == HKT_OK) {
        out->largest = sigma[0];
        out->computed = sigma[k - 1];
        double rest = 0;
        for (size_t i = k - 1; i < r; i++)
            rest += sigma[i] * sigma[i];
        out->distance = sqrt(rest);
    }
    if (status == HKT_OK && sigma[k - 1] > 0) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < k; j++)
                w[i * k + j] = vt[j * n + i] / sigma[j]; /* A W is then close to orthonormal */
        status = bound_below(m, n, a, error, k, w, &out->lower);
    }
    hkt_free(copy);
    return status;
}

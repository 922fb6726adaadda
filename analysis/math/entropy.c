#include "analysis/math/entropy.h"

#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stdlib.h>

#define LOG_2PI_E 2.83787706640934548356 /* log(2 pi e) */

double hkt_entropy_gaussian(double variance)
{
    return 0.5 * (LOG_2PI_E + log(variance));
}

size_t hkt_entropy_spacing_window(size_t n)
{
    size_t m = (size_t)ceil(sqrt(sqrt((double)n))), most = n < 3 ? 1 : (n - 1) / 2;
    return m < most ? m : most;
}

/* The 2m spacings at the ends reach m .. 2m-1 places far, the others 2m. */
double hkt_entropy_spacing_bias(size_t n, size_t m)
{
    double sum = (double)(n - 2 * m) * gsl_sf_psi_int((int)(2 * m));
    for (size_t i = 0; i < m; i++)
        sum += 2 * gsl_sf_psi_int((int)(m + i));
    return log((double)n / (2 * (double)m)) - gsl_sf_psi((double)n + 1) + sum / (double)n;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

hkt_status hkt_entropy_spacing(double *x, size_t n, size_t m, double *h)
{
    *h = (double)NAN;
    if (n < 3)
        return hkt_fail(HKT_EINPUT, "entropy: expected at least 3 values, found %zu", n);
    HKT_ASSERT(m >= 1 && m <= (n - 1) / 2);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return hkt_fail(HKT_EINPUT, "entropy: value %zu: expected a finite value, found %g", i, x[i]);
    qsort(x, n, sizeof *x, ascending);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t lo = i < m ? 0 : i - m, hi = i + m < n ? i + m : n - 1;
        if (!(x[hi] > x[lo]))
            return hkt_fail(HKT_EINPUT, "entropy: expected distinct values, found %zu equal to %.17g", hi - lo + 1,
                            x[lo]);
        sum += log(x[hi] - x[lo]);
    }
    *h = sum / (double)n + log((double)n / (2 * (double)m)) - hkt_entropy_spacing_bias(n, m);
    return HKT_OK;
}

double hkt_entropy_spacing_error(size_t n, size_t m, double varentropy)
{
    double k = 2 * (double)m;
    return sqrt((varentropy + (2 * k * k - 2 * k + 1) * gsl_sf_psi_1(k) - 2 * k + 1) / (double)n);
}

double hkt_negentropy_expansion(double skewness, double excess)
{
    return skewness * skewness / 12 + excess * excess / 48;
}

hkt_status hkt_negentropy_spacing(double *x, size_t n, double *negentropy)
{
    hkt_moments moments;
    double h;
    hkt_moments_clear(&moments);
    hkt_moments_add_block(&moments, x, n);
    hkt_status status = hkt_entropy_spacing(x, n, hkt_entropy_spacing_window(n), &h);
    *negentropy = hkt_entropy_gaussian(hkt_moments_variance(&moments)) - h;
    return status;
}

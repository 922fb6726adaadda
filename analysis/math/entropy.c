#include "analysis/math/entropy.h"

#include <float.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

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

/* Distinct values of the sorted x [n] move to its front; count [their number]: how often each was there. What
 * differs by rounding alone is one value. */
static size_t merge_equal(double *x, size_t n, size_t *count)
{
    const double rounding = 8 * DBL_EPSILON * fmax(fabs(x[0]), fabs(x[n - 1]));
    size_t k = 0;
    double last = x[0];
    count[0] = 1;
    for (size_t i = 1; i < n; last = x[i++])
        if (x[i] - last <= rounding) {
            count[k]++;
        } else {
            x[++k] = x[i];
            count[k] = 1;
        }
    return k + 1;
}

/* The sample as k distinct values and how often each stands there; repeats: the mean, over the values, of how often a
 * value stands there, sum count^2 / n; 1 without ties. */
static hkt_status sort_distinct(double *x, size_t n, size_t *count, size_t *k, double *repeats)
{
    if (n < 3)
        return hkt_fail(HKT_EINPUT, "entropy: expected at least 3 values, found %zu", n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return hkt_fail(HKT_EINPUT, "entropy: value %zu: expected a finite value, found %g", i, x[i]);
    qsort(x, n, sizeof *x, ascending);
    *k = merge_equal(x, n, count);
    size_t most = 0;
    *repeats = 0;
    for (size_t i = 0; i < *k; i++) {
        *repeats += (double)count[i] * (double)count[i];
        most = count[i] > count[most] ? i : most;
    }
    *repeats /= (double)n; /* after the sum, whose terms are integers: exactly c for c repeats of every value */
    if (*repeats * 3 > (double)n)
        return hkt_fail(HKT_EINPUT, "entropy: expected distinct values, found %zu of %zu equal to %.17g", count[most],
                        n, x[most]);
    return HKT_OK;
}

/* Mean over the sample of log(spacing * n / mass) less its expectation for a uniform law of as many gaps. A spacing
 * reaches from x_i to the first values that have `reach` of the sample between them and x_i, counted from the middle of
 * a value's repeats to that of the other's. */
static double mean_log_spacing(const double *x, const size_t *count, size_t k, size_t n, double reach, double repeats)
{
    double sum = 0, middle = (double)count[0] / 2, low = middle, high = middle; /* places of i, lo, hi in the sample */
    size_t lo = 0, hi = 0;
    for (size_t i = 0; i < k; i++) {
        while (lo < i && low + (double)(count[lo] + count[lo + 1]) / 2 <= middle - reach) {
            low += (double)(count[lo] + count[lo + 1]) / 2;
            lo++;
        }
        while (hi < k - 1 && high < middle + reach) {
            high += (double)(count[hi] + count[hi + 1]) / 2;
            hi++;
        }
        const double mass = high - low, gaps = mass / repeats;
        sum += (double)count[i] * (log((x[hi] - x[lo]) * (double)n / mass) + log(gaps) - gsl_sf_psi(gaps));
        middle += i + 1 < k ? (double)(count[i] + count[i + 1]) / 2 : 0;
    }
    return sum / (double)n;
}

hkt_status hkt_entropy_spacing(double *x, size_t n, size_t m, double *h)
{
    size_t *count = NULL, k = 0;
    double repeats = 1;
    *h = (double)NAN;
    HKT_TRY(HKT_NEW(&count, n));
    hkt_status status = sort_distinct(x, n, count, &k, &repeats);
    if (status == HKT_OK) {
        const double effective = (double)n / repeats;
        const size_t most = (size_t)((effective - 1) / 2);
        m = m == 0 ? hkt_entropy_spacing_window((size_t)effective) : m < most ? m : most;
        *h =
            mean_log_spacing(x, count, k, n, (double)m * repeats, repeats) + gsl_sf_psi(effective + 1) - log(effective);
    }
    hkt_free(count);
    return status;
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
    *negentropy = (double)NAN;
    if (hkt_moments_problem(&moments))
        return hkt_fail(HKT_EINPUT, "negentropy: the values are %s", hkt_moments_problem(&moments));
    hkt_status status = hkt_entropy_spacing(x, n, 0, &h);
    *negentropy = hkt_entropy_gaussian(hkt_moments_variance(&moments)) - h;
    return status;
}

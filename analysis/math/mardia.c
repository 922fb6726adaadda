#include "analysis/math/mardia.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/math/certify.h"
#include "base/mem.h"

enum { BLOCK = 256 }; /* rows whitened at a time */

hkt_status hkt_covariance_factor(size_t q, double *s, const double *noise, double least_share, double *scale)
{
    for (size_t j = 0; j < q; j++) {
        scale[j] = sqrt(s[j * q + j]);
        if (!(isfinite(scale[j]) && scale[j] > fmax(DBL_MIN, noise[j])))
            return hkt_fail(HKT_EINPUT, "mardia: column %zu of %zu is constant to rounding: standard deviation %g", j,
                            q, scale[j]);
    }
    for (size_t j = 0; j < q; j++)
        for (size_t k = 0; k < q; k++)
            s[j * q + k] = k <= j ? s[j * q + k] / scale[j] / scale[k] : 0;
    size_t bad = hkt_cholesky(q, s);
    for (size_t j = 0; j < bad; j++)
        if (!(s[j * q + j] * s[j * q + j] > least_share))
            bad = j;
    for (size_t j = 0; j < q * q && bad < q; j++)
        if (!isfinite(s[j]))
            return hkt_fail(HKT_EINPUT, "mardia: expected a finite covariance matrix");
    if (bad < q)
        return hkt_fail(HKT_EINPUT,
                        "mardia: covariance singular: column %zu of %zu is a linear combination of those before it",
                        bad, q);
    return HKT_OK;
}

/* mean [q] by two passes (the second takes out what rounding left in the first); noise [q]: 8 eps times the largest
 * magnitude. Both 0 on entry. */
static hkt_status column_means(const double *x, size_t n, size_t q, double *mean, double *noise, double *work)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < q; j++)
            noise[j] = fmax(noise[j], 8 * DBL_EPSILON * fabs(x[i * q + j]));
    for (int pass = 0; pass < 2; pass++) {
        memset(work, 0, q * sizeof *work);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < q; j++)
                work[j] += x[i * q + j] - mean[j];
        for (size_t j = 0; j < q; j++) {
            mean[j] += work[j] / (double)n;
            if (!isfinite(mean[j]))
                return hkt_fail(HKT_EINPUT, "mardia: column %zu of %zu: expected finite values", j, q);
        }
    }
    return HKT_OK;
}

/* centred [rows, q] = x rows first .. first + rows - 1, minus the mean. */
static size_t centre_block(const double *x, size_t n, size_t q, size_t first, const double *mean, double *centred)
{
    size_t rows = n - first < BLOCK ? n - first : BLOCK;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < q; j++)
            centred[i * q + j] = x[(first + i) * q + j] - mean[j];
    return rows;
}

/* |C^-1 row|^2, C lower triangular: forward substitution. row is overwritten. */
static double squared_distance(size_t q, const double *factor, double *row)
{
    double sum = 0;
    for (size_t j = 0; j < q; j++) {
        for (size_t k = 0; k < j; k++)
            row[j] -= factor[j * q + k] * row[k];
        row[j] /= factor[j * q + j];
        sum += row[j] * row[j];
    }
    return sum;
}

/* Lower triangle of cov += block' block / n; sum [q, q] is overwritten. Plain loops, in one order on every machine. */
static void add_products(size_t n, size_t q, size_t rows, const double *block, double *sum, double *cov)
{
    memset(sum, 0, q * q * sizeof *sum);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < q; j++)
            for (size_t k = 0; k <= j; k++)
                sum[j * q + k] += block[i * q + j] * block[i * q + k];
    for (size_t j = 0; j < q; j++)
        for (size_t k = 0; k <= j; k++)
            cov[j * q + k] += sum[j * q + k] / (double)n;
}

/* Mean of |C^-1 diag(1/scale) (x - mean)|^4. */
static double mean_fourth_power(const double *x, size_t n, size_t q, const double *mean, const double *factor,
                                const double *scale, double *block)
{
    double total = 0;
    for (size_t first = 0, rows; first < n; first += rows) {
        rows = centre_block(x, n, q, first, mean, block);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < q; j++)
                block[i * q + j] /= scale[j];
        double sum = 0;
        for (size_t i = 0; i < rows; i++) {
            double distance = squared_distance(q, factor, block + i * q);
            sum += distance * distance;
        }
        total += sum;
    }
    return total / (double)n;
}

hkt_status hkt_mardia_kurtosis(const double *x, size_t n, size_t q, double *b2)
{
    *b2 = (double)NAN;
    if (q == 0 || n <= q)
        return hkt_fail(HKT_EINPUT, "mardia: expected more than %zu vectors of %zu values, found %zu", q, q, n);
    double *mem = NULL;
    HKT_TRY(HKT_NEW(&mem, 4 * q + 2 * q * q + BLOCK * q));
    double *mean = mem, *noise = mean + q, *scale = noise + q, *work = scale + q, *cov = work + q, *sum = cov + q * q,
           *block = sum + q * q;
    hkt_status status;
    HKT_TRY_GOTO(status, done, column_means(x, n, q, mean, noise, work));
    for (size_t first = 0, rows; first < n; first += rows) {
        rows = centre_block(x, n, q, first, mean, block);
        add_products(n, q, rows, block, sum, cov);
    }
    HKT_TRY_GOTO(status, done, hkt_covariance_factor(q, cov, noise, 64 * (double)q * DBL_EPSILON, scale));
    *b2 = mean_fourth_power(x, n, q, mean, cov, scale, block);
done:
    hkt_free(mem);
    return status;
}

void hkt_mardia_exact(size_t n_, size_t q_, double *mean, double *variance)
{
    double n = (double)n_, q = (double)q_;
    *mean = q * (q + 2) * (n - 1) / (n + 1);
    *variance = 8 * q * (q + 2) * (n - 3) * (n - q - 1) * (n - q + 1) / ((n + 1) * (n + 1) * (n + 3) * (n + 5));
}

double hkt_mardia_z_asymptotic(double b2, size_t n, size_t q)
{
    double gauss = (double)q * (double)(q + 2);
    return (b2 - gauss) / sqrt(8 * gauss / (double)n);
}

double hkt_mardia_z_exact(double b2, size_t n, size_t q)
{
    double mean, variance;
    hkt_mardia_exact(n, q, &mean, &variance);
    return (b2 - mean) / sqrt(variance);
}

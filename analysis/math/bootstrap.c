#include "analysis/math/bootstrap.h"

#include <gsl/gsl_sort.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"

void hkt_bootstrap_draw(uint64_t seed, size_t replicate, size_t n, size_t *index)
{
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_BOOTSTRAP, (uint32_t)replicate);
    for (size_t i = 0; i < n; i++)
        index[i] = (size_t)hkt_rng_below(&rng, n);
}

/* Interpolated between order statistics (Hyndman & Fan 1996, definition 7). GSL has it, too, but its builds for
 * different processors round the last operation differently. */
static double quantile(const double *sorted, size_t n, double p)
{
    const double at = p * (double)(n - 1), below = floor(at), share = at - below;
    const size_t i = (size_t)below;
    return i + 1 < n ? (1 - share) * sorted[i] + share * sorted[i + 1] : sorted[n - 1];
}

void hkt_bootstrap_interval(double *value, size_t n, double p_low, double p_high, double *lo, double *hi)
{
    gsl_sort(value, 1, n);
    *lo = quantile(value, n, p_low);
    *hi = quantile(value, n, p_high);
}

static hkt_status resample(hkt_statistic statistic, const void *data, size_t n, size_t replicates, uint64_t seed,
                           size_t *index, double *value)
{
    for (size_t r = 0; r < replicates; r++) {
        hkt_bootstrap_draw(seed, r, n, index);
        value[r] = statistic(data, index, n);
        if (isnan(value[r]))
            return hkt_fail(HKT_ENUMERIC, "bootstrap: replicate %zu of %zu: expected a number, found nan", r + 1,
                            replicates);
    }
    return HKT_OK;
}

hkt_status hkt_bootstrap(hkt_statistic statistic, const void *data, size_t n, size_t replicates, double level,
                         uint64_t seed, double *lo, double *hi)
{
    HKT_ASSERT(replicates > 0 && replicates <= UINT32_MAX && level > 0 && level < 1);
    *lo = *hi = (double)NAN;
    if (n < 2)
        return hkt_fail(HKT_EINPUT, "bootstrap: expected at least 2 units to resample, found %zu", n);
    size_t *index = NULL;
    double *value = NULL;
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&index, n));
    HKT_TRY_GOTO(status, done, HKT_NEW(&value, replicates));
    HKT_TRY_GOTO(status, done, resample(statistic, data, n, replicates, seed, index, value));
    hkt_bootstrap_interval(value, replicates, (1 - level) / 2, (1 + level) / 2, lo, hi);
done:
    hkt_free(index);
    hkt_free(value);
    return status;
}

static hkt_moments pool(const void *moments, const size_t *index, size_t n)
{
    const hkt_moments *unit = moments;
    hkt_moments all;
    hkt_moments_clear(&all);
    for (size_t i = 0; i < n; i++)
        hkt_moments_merge(&all, &unit[index[i]]);
    return all;
}

double hkt_pooled_kappa(const void *moments, const size_t *index, size_t n)
{
    hkt_moments all = pool(moments, index, n);
    return hkt_moments_kappa(&all);
}

double hkt_pooled_excess(const void *moments, const size_t *index, size_t n)
{
    hkt_moments all = pool(moments, index, n);
    return hkt_moments_excess(&all);
}

double hkt_pooled_skewness(const void *moments, const size_t *index, size_t n)
{
    hkt_moments all = pool(moments, index, n);
    return hkt_moments_skewness(&all);
}

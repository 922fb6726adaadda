#include "analysis/math/bootstrap.h"

#include <gsl/gsl_sort.h>
#include <math.h>

#include "base/elementary.h"
#include "base/mem.h"
#include "base/rng.h"

static void draw(uint64_t seed, size_t replicate, size_t n, size_t *index)
{
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_BOOTSTRAP, (uint32_t)replicate);
    for (size_t i = 0; i < n; i++)
        index[i] = (size_t)hkt_rng_below(&rng, n);
}

hkt_status hkt_bootstrap_estimates(hkt_statistics statistics, const void *data, size_t n, size_t k, size_t replicates,
                                   uint64_t seed, hkt_estimate *whole, hkt_estimate *of)
{
    HKT_ASSERT(replicates > 0 && replicates <= UINT32_MAX && n > 0);
    size_t *index = NULL;
    HKT_TRY(HKT_NEW(&index, n));
    for (size_t i = 0; i < n; i++)
        index[i] = i;
    statistics(data, index, n, whole);
    for (size_t r = 0; r < replicates; r++) {
        draw(seed, r, n, index);
        statistics(data, index, n, of + r * k);
    }
    hkt_free(index);
    return HKT_OK;
}

/* Interpolated between order statistics (Hyndman & Fan 1996, definition 7). GSL has it, too, but its builds for
 * different processors round the last operation differently. */
static double quantile(const double *sorted, size_t n, double p)
{
    const double at = p * (double)(n - 1), below = floor(at), share = at - below;
    const size_t i = (size_t)below;
    if (share == 0 || i + 1 == n) /* not 0 times infinity */
        return sorted[i];
    return (1 - share) * sorted[i] + share * sorted[i + 1];
}

static void quantiles(double *value, size_t n, double level, double *lo, double *hi)
{
    gsl_sort(value, 1, n);
    *lo = quantile(value, n, (1 - level) / 2);
    *hi = quantile(value, n, (1 + level) / 2);
}

/* A resample without spread, one sequence drawn n times, lies infinitely far out unless it has the value itself. */
static double ratio(double distance, double error)
{
    return error == 0 ? (distance == 0 ? 0 : copysign(HUGE_VAL, distance)) : distance / error;
}

void hkt_bootstrap_studentised(hkt_estimate whole, const hkt_estimate *of, size_t stride, size_t replicates,
                               double level, double *scratch, double *lo, double *hi)
{
    double low, high;
    *lo = *hi = (double)NAN;
    for (size_t r = 0; r < replicates; r++) {
        scratch[r] = ratio(of[r * stride].value - whole.value, of[r * stride].error);
        if (isnan(scratch[r]))
            return;
    }
    quantiles(scratch, replicates, level, &low, &high);
    *lo = whole.value - high * whole.error;
    *hi = whole.value - low * whole.error;
}

double hkt_bootstrap_p(hkt_estimate whole, const hkt_estimate *of, size_t stride, size_t replicates)
{
    double limit = ratio(whole.value, whole.error), beyond = 1;
    for (size_t r = 0; r < replicates; r++) {
        double t = ratio(of[r * stride].value - whole.value, of[r * stride].error);
        if (isnan(t) || isnan(limit))
            return (double)NAN;
        beyond += t >= limit;
    }
    return beyond / ((double)replicates + 1);
}

/* --- one number --- */

typedef struct {
    hkt_statistic statistic;
    const void *data;
} plain;

static void plain_estimate(const void *data, const size_t *index, size_t n, hkt_estimate *out)
{
    const plain *p = data;
    *out = (hkt_estimate){p->statistic(p->data, index, n), (double)NAN};
}

static hkt_status one_number(hkt_statistics statistics, const void *data, size_t n, size_t replicates, uint64_t seed,
                             hkt_estimate *whole, hkt_estimate **of, double **scratch)
{
    if (n < 2)
        return hkt_fail(HKT_EINPUT, "bootstrap: expected at least 2 units to resample, found %zu", n);
    HKT_TRY(HKT_NEW(of, replicates));
    HKT_TRY(HKT_NEW(scratch, replicates));
    HKT_TRY(hkt_bootstrap_estimates(statistics, data, n, 1, replicates, seed, whole, *of));
    for (size_t r = 0; r < replicates; r++)
        if (isnan((*of)[r].value))
            return hkt_fail(HKT_ENUMERIC, "bootstrap: replicate %zu of %zu: expected a number, found nan", r + 1,
                            replicates);
    return HKT_OK;
}

hkt_status hkt_bootstrap(hkt_statistic statistic, const void *data, size_t n, size_t replicates, double level,
                         uint64_t seed, double *lo, double *hi)
{
    HKT_ASSERT(level > 0 && level < 1);
    plain p = {statistic, data};
    hkt_estimate whole, *of = NULL;
    double *value = NULL;
    *lo = *hi = (double)NAN;
    hkt_status status = one_number(plain_estimate, &p, n, replicates, seed, &whole, &of, &value);
    for (size_t r = 0; r < replicates && status == HKT_OK; r++)
        value[r] = of[r].value;
    if (status == HKT_OK)
        quantiles(value, replicates, level, lo, hi);
    hkt_free(value);
    hkt_free(of);
    return status;
}

/* --- statistics over moments --- */

static hkt_moments pool(const void *moments, const size_t *index, size_t n)
{
    const hkt_moments *unit = moments;
    hkt_moments all;
    hkt_moments_clear(&all);
    for (size_t i = 0; i < n; i++)
        hkt_moments_merge(&all, &unit[index[i]]);
    return all;
}

hkt_estimate hkt_pooled_log_kappa(const hkt_moments *unit, const size_t *index, size_t n, double *influence)
{
    hkt_moments all = pool(unit, index, n);
    hkt_estimate e = {hkt_log(hkt_moments_kappa(&all)), 0};
    for (size_t i = 0; i < n; i++) {
        const hkt_moments *u = &unit[index[i]];
        double d = u->mean - all.mean + (u->mean_lo - all.mean_lo), d2 = d * d;
        double second = u->M2 + u->n * d2, fourth = u->M4 + 4 * d * u->M3 + 6 * d2 * u->M2 + u->n * d2 * d2;
        double change = fourth / all.M4 - 2 * second / all.M2 + u->n / all.n - 4 * all.M3 / all.M4 * (u->n / all.n) * d;
        if (influence)
            influence[i] = change;
        e.error += change * change;
    }
    e.error = sqrt(e.error);
    return e;
}

static void log_kappa(const void *data, const size_t *index, size_t n, hkt_estimate *out)
{
    *out = hkt_pooled_log_kappa(data, index, n, NULL);
}

hkt_status hkt_bootstrap_kappa(const hkt_moments *unit, size_t n, size_t replicates, double level, uint64_t seed,
                               double *lo, double *hi)
{
    hkt_estimate whole, *of = NULL;
    double *scratch = NULL;
    *lo = *hi = (double)NAN;
    hkt_status status = one_number(log_kappa, unit, n, replicates, seed, &whole, &of, &scratch);
    if (status == HKT_OK)
        hkt_bootstrap_studentised(whole, of, 1, replicates, level, scratch, lo, hi);
    *lo = hkt_exp(*lo);
    *hi = hkt_exp(*hi);
    hkt_free(scratch);
    hkt_free(of);
    return status;
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

#include "analysis/math/welch.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>

/* NaN without variance, which GSL's functions are not asked about. */
static double total(const hkt_welch *w)
{
    double sum = w->variance[0] + w->variance[1] + w->variance[2];
    return sum > 0 ? sum : (double)NAN;
}

/* P(T > t), and its inverse, for Student's law. */
static double above(double t, double df)
{
    return isnan(t) || isnan(df) ? (double)NAN : gsl_cdf_tdist_Q(t, df);
}

static double quantile(double p, double df)
{
    return isnan(df) ? (double)NAN : gsl_cdf_tdist_Qinv(p, df);
}

double hkt_welch_error(const hkt_welch *w)
{
    return sqrt(total(w));
}

double hkt_welch_df(const hkt_welch *w)
{
    double sum = 0;
    for (int i = 0; i < HKT_WELCH_TERMS; i++)
        if (w->variance[i] > 0)
            sum += w->variance[i] * w->variance[i] / w->df[i];
    return total(w) * total(w) / sum;
}

double hkt_welch_p(const hkt_welch *w)
{
    return 2 * above(fabs(w->difference) / hkt_welch_error(w), hkt_welch_df(w));
}

double hkt_welch_equal_p(const hkt_welch *w, double margin)
{
    /* Of the two the one whose end is nearer decides. */
    return above((margin - fabs(w->difference)) / hkt_welch_error(w), hkt_welch_df(w));
}

double hkt_welch_half_width(const hkt_welch *w, double level)
{
    return quantile(level / 2, hkt_welch_df(w)) * hkt_welch_error(w);
}

/* P(|Z + shift| > t S), Z normal and S^2 chi^2_df / df, by Simpson's rule over S, whose density is 2 df s times that of
 * chi^2_df at df s^2. Beyond ten standard deviations, about 1/sqrt(2 df) each, nothing is left. */
static double beyond(double t, double df, double shift)
{
    enum { STEPS = 2000 };
    const double reach = 10 / sqrt(2 * df), low = fmax(0, 1 - reach), h = (1 + reach - low) / STEPS;
    double sum = 0;
    if (isnan(t) || isnan(shift))
        return (double)NAN;
    for (int i = 0; i <= STEPS; i++) {
        double s = low + h * i, weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        double density = s > 0 ? 2 * df * s * gsl_ran_chisq_pdf(df * s * s, df) : 0;
        sum += weight * density * (gsl_cdf_ugaussian_Q(t * s - shift) + gsl_cdf_ugaussian_P(-t * s - shift));
    }
    return sum * h / 3;
}

double hkt_welch_power(const hkt_welch *w, double delta, double level)
{
    const double df = hkt_welch_df(w);
    return beyond(quantile(level / 2, df), df, fabs(delta) / hkt_welch_error(w));
}

/* The same standard deviations with n seeds. */
static double power_of(const hkt_welch *w, double sd1, double sd2, size_t n, double delta, double level)
{
    const double seeds = (double)n;
    const hkt_welch with = {.variance = {sd1 * sd1 / seeds, sd2 * sd2 / seeds, w->variance[2]},
                            .df = {seeds - 1, seeds - 1, w->df[2]}};
    return hkt_welch_power(&with, delta, level);
}

size_t hkt_welch_seeds(const hkt_welch *w, double sd1, double sd2, double delta, double level, double power,
                       size_t most)
{
    if (!(power_of(w, sd1, sd2, most, delta, level) >= power))
        return 0;
    size_t low = 1, high = most; /* low is too few, high enough: power rises with n */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(power_of(w, sd1, sd2, middle, delta, level) >= power ? &high : &low) = middle;
    }
    return high;
}

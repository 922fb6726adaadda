#include "analysis/claims/power.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

double hkt_power_normal(double shift, double critical)
{
    return gsl_cdf_ugaussian_P(shift - critical) + gsl_cdf_ugaussian_P(-shift - critical);
}

double hkt_power_binomial(size_t n, double rate, double low, double high)
{
    double least = ceil(low * (double)n), most = floor(high * (double)n), power = 0;
    if (least > 0)
        power += gsl_cdf_binomial_P((unsigned)least - 1, rate, (unsigned)n);
    if (most < (double)n)
        power += gsl_cdf_binomial_Q((unsigned)most, rate, (unsigned)n);
    return power;
}

double hkt_power_limit(size_t n, double rate, bool two_sided, double level)
{
    double beyond = 0.5 / (double)n;
    while (hkt_power_binomial(n, rate, two_sided ? rate - beyond : 0, rate + beyond) > level)
        beyond += 1 / (double)n;
    return beyond;
}

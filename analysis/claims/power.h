/* power.h - what the tests of statistical checks can see, in closed form. */
#ifndef HKT_ANALYSIS_CLAIMS_POWER_H
#define HKT_ANALYSIS_CLAIMS_POWER_H

#include <stdbool.h>
#include <stddef.h>

/* P(|Z + shift| > critical), Z standard normal. */
double hkt_power_normal(double shift, double critical);
/* P(K/n < low or K/n > high), K binomial (n, rate); exact. */
double hkt_power_binomial(size_t n, double rate, double low, double high);
/* How far K/n may lie above `rate` (two_sided: or below) so that a true rate goes beyond with probability `level` at
 * most: the least (k + 1/2)/n, exact. */
double hkt_power_limit(size_t n, double rate, bool two_sided, double level);
/* P(the two-sided interval mean +- t_{n-1, 1 - tail} sd/sqrt(n) of n normal values lies above 0) when their mean is
 * `effect` standard deviations: E Phi(effect sqrt(n) - t s) over s^2 ~ chi^2_{n-1}/(n-1), by its quantiles (n up to
 * some hundreds: GSL has none beyond). NaN for n < 2. */
double hkt_power_student(size_t n, double effect, double tail);

#endif

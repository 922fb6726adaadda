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

#endif

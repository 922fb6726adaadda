#include "base/elementary.h"

#include <float.h>
#include <math.h>

static const double ROUNDER = 0x1.8p52; /* adding and subtracting it rounds to an integer */

/* x = n ln 2 + r, |r| <= ln(2)/2. The Taylor polynomial of (e^r - 1 - r)/r^2 to r^11: the rest is below r^14/14!,
 * 4e-18. */
double hkt_exp(double x)
{
    static const double c[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                               1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                               1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    if (isnan(x) || x > 710)
        return isnan(x) ? x : (double)INFINITY;
    if (x < -746)
        return 0;
    double n = (x * 1.44269504088896340736 + ROUNDER) - ROUNDER;
    double r = (x - n * HKT_LN2_HIGH) - n * HKT_LN2_LOW;
    double tail = r + r * r * hkt_polynomial(c, 12, r);
    return ldexp(1 + tail, (int)n);
}

double hkt_log(double x)
{
    if (!(x > 0))
        return x == 0 ? -(double)INFINITY : (double)NAN;
    if (isinf(x))
        return x;
    if (x < DBL_MIN)
        return hkt_log_normal(x * 0x1p54, 54);
    return hkt_log_normal(x, 0);
}

/* Quarter turns: 4 turns = q + r, |r| <= 1/2, exactly; x = r pi/2, by Taylor polynomials to x^17 and x^18, whose rests
 * are below 1e-19. */
void hkt_sincos(double turns, double *sine, double *cosine)
{
    static const double c_sine[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
                                    -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
    static const double c_cosine[] = {
        1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
        1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
    double q = (4 * turns + ROUNDER) - ROUNDER;
    double x = (4 * turns - q) * 1.57079632679489661923, z = x * x;
    double s = x + x * z * hkt_polynomial(c_sine, 8, z);
    double c = 1 - (z / 2 - z * z * hkt_polynomial(c_cosine, 8, z));
    switch ((int64_t)q & 3) {
    case 0:
        *sine = s;
        *cosine = c;
        return;
    case 1:
        *sine = c;
        *cosine = -s;
        return;
    case 2:
        *sine = -s;
        *cosine = -c;
        return;
    default:
        *sine = -c;
        *cosine = s;
    }
}

double hkt_power(double x, uint64_t n)
{
    double result = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1)
            result *= x;
    return result;
}

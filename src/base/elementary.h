/* elementary.h - exp, log, sine and cosine in double, with the same bits on every machine: additions, multiplications
 * and divisions in one order, which IEEE 754 rounds in one way (the build forbids contraction). The C library's own are
 * as accurate, but differ between versions and processors in the last bit. Everything that training, evaluation or
 * scores depend on uses these.
 *
 * Errors are below one unit in the last place (tests/test_elementary.c). Pure, thread-safe. */
#ifndef HKT_BASE_ELEMENTARY_H
#define HKT_BASE_ELEMENTARY_H

#include <stdint.h>
#include <string.h>

/* e^x; 0 and infinity beyond the range of a double, NaN for NaN. */
double hkt_exp(double x);
/* Natural logarithm; -infinity for 0, NaN for x < 0 and NaN. */
double hkt_log(double x);
/* sin(2 pi turns) and cos(2 pi turns), |turns| <= 2^50. */
void hkt_sincos(double turns, double *sine, double *cosine);
/* x^n by repeated squaring; the relative error grows as n eps. */
double hkt_power(double x, uint64_t n);

/* ln 2 in two parts: n HKT_LN2_HIGH, of 32 bits, is exact for every exponent n (Cody & Waite 1980). */
#define HKT_LN2_HIGH 6.93147180369123816490e-01
#define HKT_LN2_LOW  1.90821492927058770002e-10

/* c[0] + c[1] x + .. + c[n-1] x^(n-1) */
static inline double hkt_polynomial(const double *c, int n, double x)
{
    double sum = c[n - 1];
    for (int i = n - 2; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* log(x / 2^shift) for a normal number x > 0, without a branch: a loop over it is vectorised by the compiler.
 *
 * x = 2^n (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). With s = f/(2 + f), log(1 + f) = 2 atanh(s) = 2s + s R,
 * R = sum_{k>=1} 2 s^(2k)/(2k + 1), and 2s = f - s f keeps the exact f as leading term. s^2 <= 0.0295: after twelve
 * terms the rest is below 1e-20. */
static inline double hkt_log_normal(double x, int shift)
{
    static const double c[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25};
    const uint64_t root = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    uint64_t bits, exponent;
    double m, n;
    memcpy(&bits, &x, sizeof bits);
    /* The exponent rises where the mantissa passes that of sqrt(1/2). It is held in the last bits of 2^52, which turns
     * it into a double. */
    exponent = (bits - root + ((uint64_t)1024 << 52)) >> 52;
    bits -= (exponent - 1024) << 52;
    memcpy(&m, &bits, sizeof m);
    exponent |= 0x4330000000000000;
    memcpy(&n, &exponent, sizeof n);
    n -= 0x1p52 + 1024 + shift;
    double f = m - 1, s = f / (2 + f), z = s * s;
    double small = s * (f - z * hkt_polynomial(c, 12, z));
    return n * HKT_LN2_HIGH + (f - (small - n * HKT_LN2_LOW));
}

#endif

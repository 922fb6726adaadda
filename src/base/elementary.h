/* elementary.h - exp, log, sine and cosine in double, with the same bits on every machine: additions, multiplications
 * and divisions in one order, which IEEE 754 rounds in one way (the build forbids contraction). The C library's own are
 * as accurate, but differ between versions and processors in the last bit. Everything that training, evaluation or
 * scores depend on uses these.
 *
 * Errors are below one unit in the last place (tests/test_elementary.c). Pure, thread-safe. */
#ifndef HKT_BASE_ELEMENTARY_H
#define HKT_BASE_ELEMENTARY_H

#include <stdint.h>

/* e^x; 0 and infinity beyond the range of a double, NaN for NaN. */
double hkt_exp(double x);
/* Natural logarithm; -infinity for 0, NaN for x < 0 and NaN. */
double hkt_log(double x);
/* sin(2 pi turns) and cos(2 pi turns), |turns| <= 2^50. */
void hkt_sincos(double turns, double *sine, double *cosine);
/* x^n by repeated squaring; the relative error grows as n eps. */
double hkt_power(double x, uint64_t n);

#endif

/* test_elementary.c - exp, log, sine and cosine against the C library in long double. */
#include "tests/check.h"

#include <float.h>

#include "base/elementary.h"
#include "base/rng.h"

enum { SWEEP = 300000 };
static const double MAX_ULPS = 1; /* the contract of elementary.h */

/* Distance of y from the exact value in units of the last place of a double of that size; infinite for a NaN that is
 * not wanted, and for a wrong infinity. */
static double ulps(double y, long double exact)
{
    int e;
    if (isnan(y) || isnan(exact))
        return isnan(y) && isnan(exact) ? 0 : HUGE_VAL;
    if (isinf(y) || isinf((double)exact))
        return y == (double)exact ? 0 : HUGE_VAL;
    if (exact == 0)
        return y == 0 ? 0 : HUGE_VAL;
    frexpl(exact, &e);
    return (double)(fabsl((long double)y - exact) / ldexpl(1, (e < DBL_MIN_EXP ? DBL_MIN_EXP : e) - DBL_MANT_DIG));
}

/* Worst error of f at SWEEP points of [low, high], evenly with jitter. */
static double worst(double (*f)(double), long double (*exact)(long double), double low, double high)
{
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 9);
    double most = 0;
    for (size_t i = 0; i < SWEEP; i++) {
        double x = low + (high - low) * (((double)i + hkt_rng_uniform(&rng)) / SWEEP),
               e = ulps(f(x), exact((long double)x));
        most = e > most ? e : most;
    }
    printf("[%g, %g]: at most %.3f ulp\n", low, high, most);
    return most;
}

static void test_exp(void **state)
{
    (void)state;
    CHECK_AT_MOST(worst(hkt_exp, expl, -1, 1), MAX_ULPS);
    CHECK_AT_MOST(worst(hkt_exp, expl, -744, 709.7), MAX_ULPS);
    assert_true(hkt_exp(0) == 1 && hkt_exp(-(double)INFINITY) == 0 && isinf(hkt_exp((double)INFINITY)) &&
                isinf(hkt_exp(709.9)));
    assert_true(hkt_exp(-750) == 0 && isnan(hkt_exp((double)NAN)));
}

static void test_log(void **state)
{
    (void)state;
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 10);
    CHECK_AT_MOST(worst(hkt_log, logl, 0x1p-20, 2), MAX_ULPS);
    CHECK_AT_MOST(worst(hkt_log, logl, 0.9999, 1.0001), MAX_ULPS);
    for (size_t i = 0; i < SWEEP; i++) { /* every exponent, subnormal numbers among them */
        double x = ldexp(1 + hkt_rng_uniform(&rng), (int)hkt_rng_below(&rng, 2098) - 1075);
        CHECK_AT_MOST(ulps(hkt_log(x), logl((long double)x)), MAX_ULPS);
    }
    assert_true(hkt_log(1) == 0 && hkt_log(0) == -(double)INFINITY && isinf(hkt_log((double)INFINITY)));
    assert_true(isnan(hkt_log(-1)) && isnan(hkt_log((double)NAN)));
}

/* The argument is reduced exactly, so that the error is measured against the angle itself and, near a zero, in units of
 * the zero's neighbourhood. */
static void test_sincos(void **state)
{
    (void)state;
    const long double two_pi = 6.283185307179586476925286766559005768L;
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 11);
    double most = 0;
    for (size_t i = 0; i < SWEEP; i++) {
        double turns = (double)i / SWEEP + hkt_rng_uniform(&rng) / SWEEP, s, c;
        hkt_sincos(turns, &s, &c);
        most = fmax(most, fabs((double)((long double)s - sinl(two_pi * (long double)turns))));
        most = fmax(most, fabs((double)((long double)c - cosl(two_pi * (long double)turns))));
        CHECK_NEAR(s * s + c * c, 1, 4 * DBL_EPSILON);
    }
    printf("sine and cosine: off by at most %.3g\n", most);
    CHECK_AT_MOST(most, DBL_EPSILON);
    static const double quarter[][3] = {{0, 0, 1},     {0.25, 1, 0}, {0.5, 0, -1},
                                        {0.75, -1, 0}, {1, 0, 1},    {-0.25, -1, 0}};
    for (size_t i = 0; i < sizeof quarter / sizeof *quarter; i++) {
        double s, c;
        hkt_sincos(quarter[i][0], &s, &c);
        assert_true(s == quarter[i][1] && c == quarter[i][2]);
    }
}

static void test_power(void **state)
{
    (void)state;
    assert_true(hkt_power(0.5, 0) == 1 && hkt_power(0.5, 10) == 0x1p-10 && hkt_power(-3, 3) == -27);
    assert_true(hkt_power(0.999, 1u << 30) == 0);
    for (uint64_t n = 1; n < 5000; n += 37)
        CHECK_AT_MOST(ulps(hkt_power(0.999, n), powl((long double)0.999, (long double)n)), (double)n);
}

/* The yardstick itself: an exp whose series is cut, and a NaN, exceed the bound. */
static double cut_exp(double x)
{
    return 1 + x + x * x / 2;
}

static void test_measure_fails(void **state)
{
    (void)state;
    assert_true(worst(cut_exp, expl, -0.01, 0.01) > MAX_ULPS);
    assert_true(isinf(ulps((double)NAN, 1)) && isinf(ulps(1, (long double)NAN)) && isinf(ulps(HUGE_VAL, 1)));
    CHECK_NEAR(ulps(1 + 3 * DBL_EPSILON, 1), 3, 1e-9);
}

/* The same bits on every machine: values computed once (x86-64), among them arguments near the ends of the reduction.
 */
static void test_bits(void **state)
{
    (void)state;
    double sum = 0, s, c;
    uint64_t bits;
    for (int i = 1; i <= 1000; i++) {
        hkt_sincos(i / 1013.0, &s, &c);
        sum += hkt_exp(i / 97.0 - 5) * s + hkt_log(i / 89.0) * c + hkt_power(0.99, (uint64_t)i);
    }
    memcpy(&bits, &sum, sizeof bits);
    printf("0x%016llx\n", (unsigned long long)bits);
    assert_true(bits == 0xc0c3744fff78bbebu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp),   cmocka_unit_test(test_log),           cmocka_unit_test(test_sincos),
        cmocka_unit_test(test_power), cmocka_unit_test(test_measure_fails), cmocka_unit_test(test_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

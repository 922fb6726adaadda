/* test_vmath.c - accuracy of the vector exp and tanh against the C library in long double. */
#include "tests/check.h"

#include <float.h>

#include "base/mem.h"
#include "base/rng.h"
#include "num/isa.h"
#include "num/kernels.h"

static const double MAX_ULPS = 2; /* the contract of kernels.h */
enum { SWEEP = 200000 };

#define HKT_BODY "tests/test_vmath.inc.h"
#include "num/both.h"

static void test_exp(void **state)
{
    (void)state;
    check_function_f32("exp", hkt_vexp_f32, expl, 110);
    check_function_f64("exp", hkt_vexp_f64, expl, 750);
    check_function_f32("exp near 0", hkt_vexp_f32, expl, 1);
    check_function_f64("exp near 0", hkt_vexp_f64, expl, 1);
}

static void test_tanh(void **state)
{
    (void)state;
    check_function_f32("tanh", hkt_vtanh_f32, tanhl, 12);
    check_function_f64("tanh", hkt_vtanh_f64, tanhl, 22);
    check_function_f32("tanh near 0", hkt_vtanh_f32, tanhl, 0.5);
    check_function_f64("tanh near 0", hkt_vtanh_f64, tanhl, 0.5);
}

static void test_subnormal_results(void **state)
{
    (void)state;
    float x = -100, y;
    double a = -740, b;
    for (int isa = HKT_ISA_GENERIC; isa <= HKT_ISA_AVX512 && hkt_isa_select((hkt_isa_level)isa); isa++) {
        hkt_vexp_f32(1, &x, &y);
        hkt_vexp_f64(1, &a, &b);
        assert_true(y > 0 && y < FLT_MIN && ulps_f32(y, expl(-100)) <= 1);
        assert_true(b > 0 && b < DBL_MIN && ulps_f64(b, expl(-740)) <= 1);
    }
}

static void test_lengths(void **state)
{
    (void)state;
    for (int isa = HKT_ISA_GENERIC; isa <= HKT_ISA_AVX512 && hkt_isa_select((hkt_isa_level)isa); isa++) {
        check_lengths_f32(hkt_vexp_f32);
        check_lengths_f64(hkt_vexp_f64);
        check_lengths_f32(hkt_vtanh_f32);
        check_lengths_f64(hkt_vtanh_f64);
    }
}

static void test_measure_fails(void **state)
{
    (void)state;
    check_control_f32();
    check_control_f64();
    assert_true(isinf(ulps_f32(NAN, 1)) && isinf(ulps_f32(1, (long double)NAN)));
    assert_true(isinf(ulps_f64(-0.0, 0)) && isinf(ulps_f64(HUGE_VAL, 1)) && isinf(ulps_f64(1, (long double)INFINITY)));
    assert_true(fabs(ulps_f32(1 + 3 * FLT_EPSILON, 1) - 3) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp),     cmocka_unit_test(test_tanh),          cmocka_unit_test(test_subnormal_results),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_measure_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Many tests at once: the example of Benjamini & Hochberg, and binomial sums by hand. */
#include "tests/check.h"

#include "analysis/math/multiple.h"
#include "base/mem.h"
#include "num/blas.h"

/* Benjamini & Hochberg 1995, section 3.2: 15 p-values, four rejected at 5 %. */
static void published_example(void **state)
{
    (void)state;
    const double p[15] = {0.4262, 0.0001, 0.0298, 0.0004, 0.0344, 0.0019, 0.0459, 0.0095,
                          0.3240, 0.0201, 0.5719, 0.0278, 0.6528, 0.7590, 1};
    double q[15];
    CHECK_OK(hkt_false_discovery(15, p, q));
    size_t rejected = 0;
    for (size_t i = 0; i < 15; i++)
        rejected += q[i] <= 0.05;
    assert_int_equal(rejected, 4);
    CHECK_NEAR(q[1], 0.0015, 1e-15);           /* 0.0001 * 15 / 1 */
    CHECK_NEAR(q[3], 0.003, 1e-15);            /* 0.0004 * 15 / 2 */
    CHECK_NEAR(q[7], 0.035625, 1e-15);         /* 0.0095 * 15 / 4 */
    CHECK_NEAR(q[9], 0.0603, 1e-15);           /* 0.0201 * 15 / 5 */
    CHECK_NEAR(q[11], 0.0298 * 15 / 7, 1e-15); /* 0.0278 * 15 / 6 is larger */
    CHECK_NEAR(q[14], 1, 0);
}

static void special_values(void **state)
{
    (void)state;
    double p[3] = {0.01, (double)NAN, 0.02};
    CHECK_OK(hkt_false_discovery(3, p, p)); /* in place */
    CHECK_NEAR(p[0], 0.03, 1e-16);
    CHECK_NEAR(p[1], 1, 0);
    CHECK_NEAR(p[2], 0.03, 1e-16);
    CHECK_OK(hkt_false_discovery(0, NULL, NULL));
    double equal[4] = {0.2, 0.2, 0.2, 0.2};
    CHECK_OK(hkt_false_discovery(4, equal, equal));
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(equal[i], 0.2, 1e-16);
    hkt_mem_fail_at(1);
    CHECK_FAILS(hkt_false_discovery(4, equal, equal), HKT_ESYSTEM, "");
    hkt_mem_fail_at(0);
}

/* Four tests, as in Holm's paper: times 4, 3, 2, 1, never below the one before. */
static void holm(void **state)
{
    (void)state;
    const double p[4] = {0.03, 0.004, 0.5, 0.012};
    double q[4];
    CHECK_OK(hkt_holm(4, 4, p, q));
    CHECK_NEAR(q[1], 0.016, 1e-15);
    CHECK_NEAR(q[3], 0.036, 1e-15);
    CHECK_NEAR(q[0], 0.06, 1e-15);
    CHECK_NEAR(q[2], 0.5, 1e-15);
    /* Two that were planned are missing: times 6, 5, 4, 3. */
    CHECK_OK(hkt_holm(4, 6, p, q));
    CHECK_NEAR(q[1], 0.024, 1e-15);
    CHECK_NEAR(q[3], 0.06, 1e-15);
    CHECK_NEAR(q[0], 0.12, 1e-15);
    CHECK_NEAR(q[2], 1, 0);
    double close[3] = {0.01, 0.011, (double)NAN}; /* 0.03, then 0.022 is raised to it; in place */
    CHECK_OK(hkt_holm(3, 3, close, close));
    CHECK_NEAR(close[0], 0.03, 1e-15);
    CHECK_NEAR(close[1], 0.03, 1e-15);
    CHECK_NEAR(close[2], 1, 0);
    hkt_mem_fail_at(1);
    CHECK_FAILS(hkt_holm(3, 3, close, close), HKT_ESYSTEM, "");
    hkt_mem_fail_at(0);
}

static void mcnemar(void **state)
{
    (void)state;
    assert_true(hkt_mcnemar(0, 0) == 1 && hkt_mcnemar(1, 0) == 1 && hkt_mcnemar(7, 7) == 1);
    CHECK_NEAR(hkt_mcnemar(0, 6), 2.0 / 64, 1e-15);
    CHECK_NEAR(hkt_mcnemar(2, 10), 2 * (1 + 12 + 66) / 4096.0, 1e-15);
    CHECK_NEAR(hkt_mcnemar(10, 2), 2 * (1 + 12 + 66) / 4096.0, 1e-15);
}

static void normal(void **state)
{
    (void)state;
    CHECK_NEAR(hkt_normal_p(0), 1, 0);
    CHECK_NEAR(hkt_normal_p(1.959963984540054), 0.05, 1e-15);
    CHECK_NEAR(hkt_normal_p(-3.290526731491926), 0.001, 1e-15);
    assert_true(isnan(hkt_normal_p((double)NAN)));
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(published_example), cmocka_unit_test(special_values),
                                       cmocka_unit_test(holm), cmocka_unit_test(mcnemar), cmocka_unit_test(normal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

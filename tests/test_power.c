/* What statistical checks say of their tests: level, multiplicity and power, and the functions behind. */
#include "tests/check.h"

#include <string.h>

#include "analysis/claims/power.h"
#include "analysis/math/moments.h"
#include "num/blas.h"
#include "tests/claim_check.h"

extern const hkt_check hkt_kurtosis_layer_norm;

static double no_power(const hkt_verify_context *ctx)
{
    (void)ctx;
    return (double)NAN;
}

static void check_powers(hkt_claim_list claims)
{
    for (size_t i = 0; i < claims.n; i++)
        for (size_t k = 0; k < claims.claim[i]->n_checks; k++) {
            const hkt_check *check = claims.claim[i]->checks[k];
            assert_int_equal(check->kind == HKT_STATISTICAL, check->test != NULL);
            if (!check->test)
                continue;
            assert_true(check->test->level[0] && check->test->multiplicity[0] && check->test->alternative[0]);
            double full = check->test->power(&(hkt_verify_context){.seed = HKT_DEFAULT_SEED});
            double fast = check->test->power(&quick);
            if (claims.claim[i]->of_table && isnan(full)) /* its variances are those of the runs */
                continue;
            print_message("power %s %s: %.4f, quick %.4f\n", claims.claim[i]->id, check->name, full, fast);
            assert_true(fast >= 0 && fast <= full + 1e-12 && full <= 1 + 1e-12 && full > 0.9);
            hkt_check_result r = {.verdict = HKT_HOLDS, .detail = "seen"};
            hkt_check_power(&r, check->test, &quick);
            assert_non_null(strstr(r.detail, "seen; power "));
            assert_non_null(strstr(r.detail, check->test->alternative));
        }
}

/* Every statistical check, and no other, says level, multiplicity, alternative and a power that is a probability; its
 * detail has it. */
static void test_powers(void **state)
{
    (void)state;
    check_powers(hkt_claims);
    check_powers(hkt_foreign_claims);
    hkt_check_result r = {.verdict = HKT_HOLDS}, none = {.verdict = HKT_SKIPPED};
    const hkt_check_test unknown = {"l", "m", "something", no_power};
    hkt_check_power(&r, &unknown, &quick);
    assert_string_equal(r.detail, "; power - against something");
    hkt_check_power(&none, &unknown, &quick);
    assert_string_equal(none.detail, "");
}

/* Against values known in closed form; without an effect the power is the level. */
static void test_power_values(void **state)
{
    (void)state;
    CHECK_NEAR(hkt_power_normal(0, 1.959963984540054), 0.05, 1e-12);
    CHECK_NEAR(hkt_power_normal(1.959963984540054, 1.959963984540054), 0.5 + 4.4287e-05, 1e-7);
    CHECK_NEAR(hkt_power_binomial(10, 0.5, 0.2, 0.8), 22.0 / 1024, 1e-12);
    CHECK_NEAR(hkt_power_binomial(10, 0.5, 0, 0.8), 11.0 / 1024, 1e-12);
    /* Of 10 coins: P(K = 0 or 10) = 2/1024, P(K <= 1 or K >= 9) = 22/1024; above alone: 11/1024. */
    CHECK_NEAR(hkt_power_limit(10, 0.5, true, 0.0215), 0.35, 1e-12);
    CHECK_NEAR(hkt_power_limit(10, 0.5, true, 0.0214), 0.45, 1e-12);
    CHECK_NEAR(hkt_power_limit(10, 0.5, false, 0.0108), 0.35, 1e-12);
    CHECK_NEAR(hkt_power_limit(10, 0.5, false, 0.0107), 0.45, 1e-12);
    /* The levels that mardia-size states. */
    assert_true(3 * hkt_power_binomial(20000, 0.05, 0.04, 0.06) < 1e-9);
    assert_true(hkt_power_binomial(20000, 0.046, 0.04, 0.06) < 1e-4);
    assert_true(hkt_power_binomial(50000, 0.046, 0.04, 0.06) < 1e-9);
}

/* kappa behind a layer norm is ((d-1)/(d+1))^2 times that for normal inputs; the variance of s^4, from the eighth
 * moment in closed form, against that of the draws. */
static void test_layer_norm(void **state)
{
    (void)state;
    hkt_check_result r = {0};
    CHECK_OK(hkt_kurtosis_layer_norm.run(&quick, &r, false));
    assert_int_equal(r.rows.n_cols, 10);
    CHECK_NEAR(r.rows.cell[3], 15.0 * 15 / (17 * 17) * r.rows.cell[5], 1e-12);
    CHECK_NEAR(r.rows.cell[9] / r.rows.cell[8], 1, 0.1);
    hkt_check_result_free(&r);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_powers), cmocka_unit_test(test_power_values),
                                       cmocka_unit_test(test_layer_norm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

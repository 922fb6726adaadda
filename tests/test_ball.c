/* Enclosures: they contain the known value, are narrow, and say nothing where nothing is known. */
#include "tests/check.h"

#include "analysis/math/ball.h"
#include "analysis/math/entropy.h"
#include "analysis/math/laws.h"
#include "num/blas.h"

static void contains(hkt_interval x, double value, double width)
{
    if (!(x.low <= value && value <= x.high))
        fail_msg("expected %.17g in [%.17g, %.17g]", value, x.low, x.high);
    CHECK_AT_MOST(x.high - x.low, width);
}

/* Values from mpmath at 40 digits, rounded to double: within one unit in the last place of the enclosure. */
static void test_laws(void **state)
{
    (void)state;
    hkt_interval student = hkt_ball_negentropy(HKT_BALL_STUDENT, 33), power = hkt_ball_negentropy(HKT_BALL_POWER, 33);
    CHECK_NEAR(hkt_interval_middle(student), 0.0803147615651669, 1e-15);
    CHECK_NEAR(hkt_interval_middle(power), 0.8626042972538435, 1e-14);
    CHECK_AT_MOST(hkt_interval_radius(student), 1e-16);
    CHECK_AT_MOST(hkt_interval_radius(power), 1e-14);
    /* Laplace: h = 1 + log 2, sigma^2 = 2; uniform: log 2 and 1/3, kappa 0.6 from above. */
    contains(hkt_ball_negentropy(HKT_BALL_POWER, 2), 0.5 * log(4 * acos(-1) * exp(1)) - 1 - log(2), 1e-13);
    CHECK_NEAR(hkt_interval_middle(hkt_ball_power_closed_form()), 4 / (9 * acos(-1) * acos(-1) - 84), 1e-14);
    hkt_interval limit = hkt_ball_power_limit(), closed = hkt_ball_power_closed_form();
    assert_true(limit.low <= closed.high && closed.low <= limit.high);
    CHECK_AT_MOST(hkt_interval_radius(limit), 1e-15);
    /* The adaptive quadrature of the tables, another computation altogether. */
    static const hkt_family *const family[] = {&hkt_family_student, &hkt_family_beta, &hkt_family_power,
                                               &hkt_family_gram_charlier};
    static const double kappa[] = {0.62, 0.8, 0.97, 1.02, 1.25, 2, 5};
    for (int law = 0; law < 4; law++)
        for (size_t k = 0; k < sizeof kappa / sizeof *kappa; k++) {
            double j;
            if (!(kappa[k] > family[law]->kappa_low && kappa[k] < family[law]->kappa_high))
                continue;
            CHECK_OK(hkt_family_negentropy(family[law], family[law]->parameter(kappa[k]), &j));
            hkt_interval enclosed = hkt_ball_negentropy(law, kappa[k]), ratio = hkt_ball_expansion_ratio(law, kappa[k]);
            CHECK_NEAR(hkt_interval_middle(enclosed), j, 1e-9 * j + 1e-14);
            CHECK_AT_MOST(hkt_interval_radius(enclosed), 1e-13);
            double expected = hkt_negentropy_expansion(0, 3 * (kappa[k] - 1)) / j;
            CHECK_NEAR(hkt_interval_middle(ratio), expected, 1e-8 * expected);
        }
    /* No law of the family: nothing is said. */
    hkt_interval none = hkt_ball_negentropy(HKT_BALL_POWER, 0.5);
    assert_true(none.low == (double)-INFINITY && none.high == (double)INFINITY);
    assert_false(hkt_interval_below(none, 1e300) || hkt_interval_above(none, -1e300));
}

static void test_mixtures(void **state)
{
    (void)state;
    static const double log_a[] = {-0.01, -1, -5, -50};
    for (size_t i = 0; i < 4; i++) {
        double j;
        CHECK_OK(hkt_family_negentropy(&hkt_family_mixture, log_a[i], &j));
        hkt_interval bounds = hkt_ball_mixture(33, log_a[i]);
        assert_true(bounds.low <= j && j <= bounds.high);
        CHECK_AT_MOST(bounds.high - bounds.low, log(2)); /* H(e) */
    }
}

/* Shares add up to 1, known integrals come out, and the limits of the smallest dominances. */
static void test_bands(void **state)
{
    (void)state;
    const double pi = acos(-1);
    hkt_interval share[12];
    CHECK_OK(hkt_ball_bands(2, 3, 0, false, share));
    contains(share[0], 0.5, 1e-15);
    contains(share[1], 0.25, 1e-15);
    CHECK_OK(hkt_ball_bands(2, 3, 1, false, share)); /* docs/theory.md, "bands", over the level's energy 1/2 */
    CHECK_NEAR(hkt_interval_middle(share[0]), 2 * (0.25 - 1 / (2 * pi)), 1e-15);
    CHECK_NEAR(hkt_interval_middle(share[1]), 2 * (0.125 + (1 - sqrt(0.5)) / (2 * pi)), 1e-15);
    CHECK_NEAR(hkt_interval_middle(share[2]), 2 * (0.125 + sqrt(0.5) / (2 * pi)), 1e-15);
    CHECK_OK(hkt_ball_bands(2, 3, 0, true, share)); /* detail 0 has energy 1 */
    CHECK_NEAR(hkt_interval_middle(share[0]), 0.5 + 1 / (2 * pi), 1e-15);
    hkt_interval raw[3];
    CHECK_OK(hkt_ball_bands(2, 3, 2, true, share)); /* the coarsest detail is the level itself */
    CHECK_OK(hkt_ball_bands(2, 3, 2, false, raw));
    for (size_t b = 0; b < 3; b++)
        assert_true(share[b].low == raw[b].low && share[b].high == raw[b].high);
    for (size_t s = 2; s <= 5; s++)
        for (size_t l = 0; l < 3; l++)
            for (int detail = 0; detail < 2; detail++) {
                double low = 0, high = 0;
                CHECK_OK(hkt_ball_bands(s, 3, l, detail, share));
                for (size_t b = 0; b < 3; b++) {
                    low += share[b].low;
                    high += share[b].high;
                }
                assert_true(low <= 1 + 1e-15 && high >= 1 - 1e-15);
                CHECK_AT_MOST(high - low, 1e-14);
            }
    CHECK_OK(hkt_ball_bands(2, 12, 10, false, share)); /* raw level L-2 against what lies below */
    CHECK_NEAR(hkt_interval_middle(share[10]) / hkt_interval_middle(share[11]), 0.65542446, 5e-7);
}

static void test_intervals(void **state)
{
    (void)state;
    hkt_interval x = {1, 2}, y = {3, 4}, r = hkt_interval_ratio(x, y);
    assert_true(r.low < 0.25 && r.low > 0.25 - 1e-15 && r.high > 2.0 / 3 && r.high < 2.0 / 3 + 1e-15);
    assert_true(hkt_interval_below(x, 2.5) && !hkt_interval_below(x, 2) && hkt_interval_above(x, 0.5) &&
                !hkt_interval_above(x, 1));
    r = hkt_interval_ratio(x, (hkt_interval){0, 1});
    assert_true(r.low == (double)-INFINITY && r.high == (double)INFINITY);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_laws), cmocka_unit_test(test_mixtures),
                                       cmocka_unit_test(test_bands), cmocka_unit_test(test_intervals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Welch's test with a third variance: published examples, closed forms, simulation. */
#include "tests/check.h"

#include "analysis/math/welch.h"
#include "base/rng.h"
#include "num/blas.h"

/* Standard deviations and sizes of two samples; the third variance with df3. */
static hkt_welch two_samples(double difference, double sd1, double n1, double sd2, double n2, double third, double df3)
{
    return (hkt_welch){difference, {sd1 * sd1 / n1, sd2 * sd2 / n2, third}, {n1 - 1, n2 - 1, df3}};
}

static void test_published(void **state)
{
    (void)state;
    /* Student's sleep data (1908), as in R's help of t.test: extra ~ group, Welch: t = -1.8608, df = 17.776,
     * p = 0.07939, interval -3.3654832 to 0.2054832. */
    const hkt_welch sleep = two_samples(-1.58, 1.78900965, 10, 2.00224874, 10, 0, 1);
    CHECK_NEAR(sleep.difference / hkt_welch_error(&sleep), -1.8608, 5e-5);
    CHECK_NEAR(hkt_welch_df(&sleep), 17.776, 5e-4);
    CHECK_NEAR(hkt_welch_p(&sleep), 0.07939, 5e-6);
    CHECK_NEAR(sleep.difference - hkt_welch_half_width(&sleep, 0.05), -3.3654832, 1e-6);
    CHECK_NEAR(sleep.difference + hkt_welch_half_width(&sleep, 0.05), 0.2054832, 1e-6);
    /* R's help of power.t.test: n = 20, delta = 1, sd = 1: 0.8689528; 90 % at delta 1 takes 22.02110 in each group. */
    const hkt_welch equal = two_samples(0, 1, 20, 1, 20, 0, 1);
    CHECK_NEAR(hkt_welch_power(&equal, 1, 0.05), 0.8689528, 1e-6);
    CHECK_NEAR(hkt_welch_power(&equal, -1, 0.05), 0.8689528, 1e-6);
    assert_int_equal(hkt_welch_seeds(&equal, 1, 1, 1, 0.05, 0.9, 100), 23);
    assert_int_equal(hkt_welch_seeds(&equal, 1, 1, 1, 0.05, 0.9, 23), 23);
    assert_int_equal(hkt_welch_seeds(&equal, 1, 1, 1, 0.05, 0.9, 22), 0);
}

static void test_identities(void **state)
{
    (void)state;
    const hkt_welch w = two_samples(0.7, 0.5, 5, 0.9, 8, 0.02, 9999);
    /* At no difference the power is the level; the interval at the p-value ends at 0. */
    CHECK_NEAR(hkt_welch_power(&w, 0, 0.013), 0.013, 1e-9);
    CHECK_NEAR(hkt_welch_half_width(&w, hkt_welch_p(&w)), 0.7, 1e-9);
    /* Equivalence: half the level of the interval that just fits into the margin. */
    CHECK_NEAR(hkt_welch_half_width(&w, 2 * hkt_welch_equal_p(&w, 1)), 0.3, 1e-9);
    const hkt_welch below = two_samples(-0.7, 0.5, 5, 0.9, 8, 0.02, 9999);
    CHECK_NEAR(hkt_welch_equal_p(&below, 1), hkt_welch_equal_p(&w, 1), 1e-15);
    assert_true(hkt_welch_equal_p(&w, 0.7) > 0.499 && hkt_welch_equal_p(&w, 0.5) > 0.5);
    /* One variance alone has its own degrees of freedom; two degrees have a closed form (t = a sqrt(2 / (1 - a^2)) at
     * a = 2F - 1). */
    const hkt_welch one = {1.5, {0, 0, 0.25}, {4, 4, 2}};
    CHECK_NEAR(hkt_welch_df(&one), 2, 1e-12);
    CHECK_NEAR(hkt_welch_half_width(&one, 0.05), 0.5 * 0.95 * sqrt(2 / (1 - 0.95 * 0.95)), 1e-9);
    const double t = 3;
    CHECK_NEAR(hkt_welch_p(&one), 1 - t / sqrt(2 + t * t), 1e-12);
    /* Each variance counts. */
    for (int i = 0; i < HKT_WELCH_TERMS; i++) {
        hkt_welch more = w;
        more.variance[i] += 0.1;
        CHECK_NEAR(hkt_welch_error(&more), sqrt(0.05 + 0.81 / 8 + 0.02 + 0.1), 1e-14);
        assert_true(hkt_welch_p(&more) > hkt_welch_p(&w));
        more = w;
        more.df[i] /= 2;
        assert_true(hkt_welch_df(&more) < hkt_welch_df(&w));
    }
    /* A test set's error that is too large for any number of seeds; a smaller one. */
    const hkt_welch bad = two_samples(0, 0.5, 8, 0.5, 8, 0.5, 9999), good = two_samples(0, 0.5, 8, 0.5, 8, 0.05, 9999);
    assert_int_equal(hkt_welch_seeds(&bad, 0.5, 0.5, 1, 0.01, 0.8, 10000), 0);
    assert_in_range(hkt_welch_seeds(&good, 0.5, 0.5, 1, 0.01, 0.8, 10000), 8, 30);
    const hkt_welch none = two_samples(1, 0, 3, 0, 3, 0, 9);
    assert_true(isnan(hkt_welch_p(&none)) && isnan(hkt_welch_df(&none)) && isnan(hkt_welch_half_width(&none, 0.05)));
    assert_true(isnan(hkt_welch_power(&none, 1, 0.05)) && isnan(hkt_welch_equal_p(&none, 1)));
    assert_int_equal(hkt_welch_seeds(&none, 0, 0, 1, 0.05, 0.8, 100), 0);
}

static double spread(const double *x, size_t n, double *mean)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - sum) * (x[i] - sum);
    *mean = sum;
    return sqrt(square / ((double)n - 1));
}

/* Experiments in which the test set moves both sides' difference: the test with the third term has its level and its
 * power, without that term it rejects far too often. */
static void test_simulated(void **state)
{
    (void)state;
    enum { TRIALS = 20000, SEEDS = 5 };
    const double sd = 0.5, third = 0.2, level = 0.05;
    hkt_rng rng = hkt_rng_make(7, HKT_STREAM_TEST, 0);
    size_t rejected[3] = {0};
    for (int i = 0; i < TRIALS; i++) {
        double x[2][SEEDS], mean[2], s[2], set = sqrt(third) * hkt_rng_normal(&rng);
        for (int k = 0; k < 2; k++) {
            for (int j = 0; j < SEEDS; j++)
                x[k][j] = sd * hkt_rng_normal(&rng);
            s[k] = spread(x[k], SEEDS, mean + k);
        }
        hkt_welch w = two_samples(mean[0] - mean[1] + set, s[0], SEEDS, s[1], SEEDS, third, 9999);
        rejected[0] += hkt_welch_p(&w) < level;
        w.variance[2] = 0;
        rejected[1] += hkt_welch_p(&w) < level;
        w.variance[2] = third;
        w.difference += 1.5;
        rejected[2] += hkt_welch_p(&w) < level;
    }
    /* Five standard deviations of a share of 20,000: 0.008 at 0.05, 0.018 at one half. */
    const hkt_welch known = two_samples(0, sd, SEEDS, sd, SEEDS, third, 9999);
    CHECK_NEAR((double)rejected[0] / TRIALS, level, 0.008);
    assert_true(rejected[1] > TRIALS / 5);
    /* The degrees of freedom are estimated, which costs a little of the power. */
    CHECK_NEAR((double)rejected[2] / TRIALS, hkt_welch_power(&known, 1.5, level), 0.03);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published), cmocka_unit_test(test_identities),
                                       cmocka_unit_test(test_simulated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

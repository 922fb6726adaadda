/* Bootstrap intervals: determinism, coverage of known laws, degenerate inputs. */
#include "tests/check.h"

#include "analysis/math/bootstrap.h"
#include "base/mem.h"
#include "base/rng.h"

static double mean_of(const void *data, const size_t *index, size_t n)
{
    const double *x = data;
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += x[index[i]];
    return s / (double)n;
}

static void test_deterministic(void **state)
{
    (void)state;
    double x[50], lo[3], hi[3];
    hkt_rng rng = hkt_rng_make(1, HKT_STREAM_TEST, 0);
    for (size_t i = 0; i < 50; i++)
        x[i] = hkt_rng_normal(&rng);
    for (int k = 0; k < 3; k++)
        CHECK_OK(hkt_bootstrap(mean_of, x, 50, 500, 0.95, k < 2 ? 7 : 8, &lo[k], &hi[k]));
    CHECK_NEAR(lo[0], lo[1], 0);
    CHECK_NEAR(hi[0], hi[1], 0);
    assert_true(lo[2] != lo[0] && hi[2] != hi[0]); /* another seed, other resamples */
    assert_true(lo[0] < hi[0]);
}

/* The mean of n normals: the percentile interval covers with probability about 2 Phi(1.96 sqrt((n-1)/n)) - 1 of
 * Student's t: 0.94 at n = 40. 400 trials: standard error 0.012; the window is four of them. */
static double coverage(double level, double shift)
{
    enum { TRIALS = 400, UNITS = 40 };
    int hits = 0;
    for (uint32_t t = 0; t < TRIALS; t++) {
        hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, t);
        double x[UNITS], lo, hi;
        for (size_t i = 0; i < UNITS; i++)
            x[i] = hkt_rng_normal(&rng);
        CHECK_OK(hkt_bootstrap(mean_of, x, UNITS, 400, level, t, &lo, &hi));
        hits += lo <= shift && shift <= hi;
    }
    return (double)hits / TRIALS;
}

static void test_coverage(void **state)
{
    (void)state;
    CHECK_NEAR(coverage(0.95, 0), 0.94, 0.048);
    CHECK_NEAR(coverage(0.50, 0), 0.49, 0.10);
    CHECK_AT_MOST(coverage(0.95, 0.6), 0.30); /* control: a value that is not the mean (power 0.97) */
}

/* Units of dependent values: the interval is that of whole units, wider than that of single values would be. */
static void test_pooled(void **state)
{
    (void)state;
    enum { UNITS = 60, SIZE = 200 };
    static hkt_moments unit[UNITS];
    size_t all[UNITS];
    hkt_moments pooled;
    hkt_moments_clear(&pooled);
    for (uint32_t u = 0; u < UNITS; u++) {
        hkt_rng rng = hkt_rng_make(3, HKT_STREAM_TEST, u);
        double scale = 1 + hkt_rng_uniform(&rng);
        hkt_moments_clear(&unit[u]);
        for (int i = 0; i < SIZE; i++)
            hkt_moments_add(&unit[u], scale * hkt_rng_normal(&rng));
        hkt_moments_merge(&pooled, &unit[u]);
        all[u] = u;
    }
    hkt_statistic stat[] = {hkt_pooled_kappa, hkt_pooled_excess, hkt_pooled_skewness};
    double (*direct[])(const hkt_moments *) = {hkt_moments_kappa, hkt_moments_excess, hkt_moments_skewness};
    for (int k = 0; k < 3; k++) {
        double lo, hi, value = direct[k](&pooled);
        CHECK_NEAR(stat[k](unit, all, UNITS), value, 0);
        CHECK_OK(hkt_bootstrap(stat[k], unit, UNITS, 1000, 0.95, 5, &lo, &hi));
        CHECK_AT_MOST(lo, value);
        CHECK_AT_MOST(value, hi);
    }
}

static double always_nan(const void *data, const size_t *index, size_t n)
{
    (void)data, (void)index, (void)n;
    return (double)NAN;
}

static void test_degenerate(void **state)
{
    (void)state;
    double x[2] = {1, 2}, lo = 0, hi = 0;
    CHECK_FAILS(hkt_bootstrap(mean_of, x, 1, 100, 0.95, 1, &lo, &hi), HKT_EINPUT, "at least 2 units");
    assert_true(isnan(lo) && isnan(hi));
    CHECK_FAILS(hkt_bootstrap(mean_of, x, 0, 100, 0.95, 1, &lo, &hi), HKT_EINPUT, "found 0");
    CHECK_FAILS(hkt_bootstrap(always_nan, x, 2, 100, 0.95, 1, &lo, &hi), HKT_ENUMERIC, "replicate 1 of 100");
    assert_true(isnan(lo) && isnan(hi));
    CHECK_OK(hkt_bootstrap(mean_of, x, 2, 1, 0.95, 1, &lo, &hi));
    CHECK_NEAR(lo, hi, 0);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    double x[2] = {1, 2}, lo, hi;
    size_t live = hkt_mem_live();
    for (size_t n = 1;; n++) {
        hkt_mem_fail_at(n);
        hkt_status status = hkt_bootstrap(mean_of, x, 2, 10, 0.95, 1, &lo, &hi);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
        if (!failed)
            break;
        assert_int_equal(status, HKT_ESYSTEM);
    }
}

/* Draws are uniform over all units, in every place of the resample, and independent between places. */
enum { PLACES = 8, DRAWS = 8000 };
static double drawn[PLACES][PLACES], pairs[PLACES][PLACES];

static void count_draws(const void *data, const size_t *index, size_t n, hkt_estimate *out)
{
    (void)data;
    for (size_t i = 0; i < n; i++) {
        drawn[i][index[i]]++;
        pairs[index[i]][index[(i + 1) % n]]++;
    }
    *out = (hkt_estimate){0, 1};
}

static void test_draws(void **state)
{
    (void)state;
    static hkt_estimate whole, of[DRAWS];
    CHECK_OK(hkt_bootstrap_estimates(count_draws, NULL, PLACES, 1, DRAWS, 3, &whole, of));
    for (size_t i = 0; i < PLACES; i++)
        for (size_t u = 0; u < PLACES; u++) {
            double expected = DRAWS / (double)PLACES; /* binomial; the first call is all units in their order */
            CHECK_NEAR(drawn[i][u] - (i == u), expected, 5 * sqrt(expected));
            CHECK_NEAR(pairs[i][u] - (u == (i + 1) % PLACES), expected, 5 * sqrt(expected));
        }
}

/* Influences are the change of log kappa when a unit is left out, to first order, and add up to 0; the error is that of
 * the delete-one jackknife. */
static void test_log_kappa(void **state)
{
    (void)state;
    enum { MANY = 400 };
    static hkt_moments unit[MANY];
    double influence[MANY], left[MANY], sum = 0, mean = 0, spread = 0;
    size_t index[MANY], rest[MANY];
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 77);
    for (size_t i = 0; i < MANY; i++) {
        double scale = exp(0.1 * hkt_rng_normal(&rng)), shift = 0.2 * hkt_rng_normal(&rng);
        hkt_moments_clear(unit + i);
        for (size_t k = 0; k < 20 + i % 7; k++) {
            double z = hkt_rng_normal(&rng);
            hkt_moments_add(unit + i, scale * (z + 0.1 * z * z) + shift); /* skewed: the term of m3 counts */
        }
        index[i] = i;
    }
    hkt_estimate e = hkt_pooled_log_kappa(unit, index, MANY, influence);
    CHECK_NEAR(e.value, log(hkt_pooled_kappa(unit, index, MANY)), 4e-16);
    for (size_t i = 0; i < MANY; i++) {
        memcpy(rest, index, sizeof rest);
        rest[i] = index[MANY - 1];
        left[i] = log(hkt_pooled_kappa(unit, rest, MANY - 1));
        mean += left[i] / MANY;
        sum += influence[i];
        CHECK_NEAR(influence[i], e.value - left[i], 0.02 * fabs(influence[i]) + 2e-5);
    }
    for (size_t i = 0; i < MANY; i++)
        spread += (left[i] - mean) * (left[i] - mean);
    CHECK_NEAR(sum, 0, 1e-12);
    CHECK_NEAR(e.error, sqrt(spread * (MANY - 1) / MANY), 0.01 * e.error);
}

/* Known ratios -1, -0.9, .., 3: the interval is turned round, and p counts those at least as far out. */
static void test_studentised(void **state)
{
    (void)state;
    hkt_estimate whole = {3, 0.5}, of[2 * 41];
    double scratch[41], lo, hi;
    for (int i = 0; i < 41; i++) {
        double error = 1 + i % 3, t = (i - 10) / 10.0;
        of[2 * i] = (hkt_estimate){3 + t * error, error};
        of[2 * i + 1] = (hkt_estimate){(double)NAN, 0}; /* another statistic, not to be looked at */
    }
    hkt_bootstrap_studentised(whole, of, 2, 41, 0.95, scratch, &lo, &hi);
    CHECK_NEAR(lo, 3 - 0.5 * 2.9, 1e-12); /* quantiles at 0.025 and 0.975 of 41: the second from either end */
    CHECK_NEAR(hi, 3 + 0.5 * 0.9, 1e-12);
    CHECK_NEAR(hkt_bootstrap_p(whole, of, 2, 41), 1 / 42.0, 0); /* 3 / 0.5 = 6: none is as far out */
    CHECK_NEAR(hkt_bootstrap_p((hkt_estimate){3, 3 / 2.45}, of, 2, 41), 7 / 42.0, 0); /* 2.5, .., 3 are */
    of[20].value = (double)NAN;
    hkt_bootstrap_studentised(whole, of, 2, 41, 0.95, scratch, &lo, &hi);
    assert_true(isnan(lo) && isnan(hi) && isnan(hkt_bootstrap_p(whole, of, 2, 41)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deterministic), cmocka_unit_test(test_draws),         cmocka_unit_test(test_log_kappa),
        cmocka_unit_test(test_studentised),   cmocka_unit_test(test_coverage),      cmocka_unit_test(test_pooled),
        cmocka_unit_test(test_degenerate),    cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

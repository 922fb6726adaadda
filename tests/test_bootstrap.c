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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deterministic), cmocka_unit_test(test_coverage),      cmocka_unit_test(test_pooled),
        cmocka_unit_test(test_degenerate),    cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

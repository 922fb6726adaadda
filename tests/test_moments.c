/* Moments against a two-pass computation in long double, under merging in any order, and where kappa has no value. */
#include "tests/check.h"

#include <float.h>

#include "analysis/math/moments.h"
#include "base/rng.h"
#include "num/isa.h"

enum { N = 20000 };
static double data[N];

static void fill_normal(double offset, uint32_t sub)
{
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, sub);
    for (size_t i = 0; i < N; i++)
        data[i] = offset + hkt_rng_normal(&rng);
}

/* Skewed and heavy-tailed: the cube of a shifted normal. */
static void fill_skewed(double offset)
{
    fill_normal(0.5, 2);
    for (size_t i = 0; i < N; i++)
        data[i] = offset + data[i] * data[i] * data[i];
}

typedef struct {
    long double mean, m2, m3, m4;
} naive;

/* In coordinates about x[0], so that the distance from zero costs the reference nothing (the differences are exact). */
static naive two_pass(const double *x, size_t n)
{
    naive r = {0, 0, 0, 0};
    for (size_t i = 0; i < n; i++)
        r.mean += ((long double)x[i] - (long double)x[0]) / (long double)n;
    for (size_t i = 0; i < n; i++) {
        long double e = (long double)x[i] - (long double)x[0] - r.mean;
        r.m2 += e * e / (long double)n;
        r.m3 += e * e * e / (long double)n;
        r.m4 += e * e * e * e / (long double)n;
    }
    r.mean += (long double)x[0];
    return r;
}

static hkt_moments in_blocks(const double *x, size_t n, size_t block)
{
    hkt_moments m;
    hkt_moments_clear(&m);
    for (size_t i = 0; i < n; i += block)
        hkt_moments_add_block(&m, x + i, n - i < block ? n - i : block);
    return m;
}

static hkt_moments one_by_one(const double *x, size_t n)
{
    hkt_moments m;
    hkt_moments_clear(&m);
    for (size_t i = 0; i < n; i++)
        hkt_moments_add(&m, x[i]);
    return m;
}

/* n eps on every sum of n terms, times the condition number of a centred sum, which the compensated mean keeps at 1. */
static const double tol = N * DBL_EPSILON;

static void check_against_naive(hkt_moments m, const double *x, size_t n)
{
    naive r = two_pass(x, n);
    double m2 = (double)r.m2, sd = sqrt(m2);
    CHECK_NEAR(m.n, n, 0);
    CHECK_NEAR(m.mean, r.mean, tol * (fabs((double)r.mean) + sd));
    CHECK_NEAR(hkt_moments_variance(&m), m2, tol * m2);
    CHECK_NEAR(hkt_moments_kappa(&m), r.m4 / (3 * r.m2 * r.m2), tol * hkt_moments_kappa(&m));
    CHECK_NEAR(hkt_moments_excess(&m), r.m4 / (r.m2 * r.m2) - 3, 3 * tol * hkt_moments_kappa(&m));
    CHECK_NEAR(hkt_moments_skewness(&m), (double)r.m3 / (m2 * sd), tol * hkt_moments_kappa(&m));
}

static void test_against_naive(void **state)
{
    (void)state;
    for (int far = 0; far < 2; far++) {
        double offset = far ? 1e8 : 0;
        fill_skewed(offset);
        check_against_naive(one_by_one(data, N), data, N);
        size_t blocks[] = {1, 2, 7, 8, 9, 1000, N};
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
            check_against_naive(in_blocks(data, N, blocks[i]), data, N);
    }
    for (size_t n = 2; n < 40; n++)
        check_against_naive(in_blocks(data, n, 5), data, n);
}

/* By hand: -1, 1 has kappa 1/3; 0, 0, 0, 4 has m2 = 3, m3 = 6, m4 = 21. */
static void test_exact_values(void **state)
{
    (void)state;
    double pair[] = {-1, 1}, four[] = {0, 0, 0, 4};
    hkt_moments m = in_blocks(pair, 2, 2);
    CHECK_NEAR(hkt_moments_kappa(&m), 1.0 / 3, DBL_EPSILON);
    CHECK_NEAR(hkt_moments_skewness(&m), 0, 0);
    m = in_blocks(four, 4, 4);
    CHECK_NEAR(hkt_moments_variance(&m), 3, 4 * DBL_EPSILON);
    CHECK_NEAR(hkt_moments_kappa(&m), 21.0 / 27, 8 * DBL_EPSILON);
    CHECK_NEAR(hkt_moments_excess(&m), 21.0 / 9 - 3, 24 * DBL_EPSILON);
    CHECK_NEAR(hkt_moments_skewness(&m), 6 / (3 * sqrt(3)), 16 * DBL_EPSILON);
    CHECK_NEAR(m.lo, 0, 0);
    CHECK_NEAR(m.hi, 4, 0);
}

/* The ceiling kappa <= n/3 is approached by one outlier among equal values (exactly ((n-1)^3 + 1)/(3 n (n-1))). */
static void test_ceiling(void **state)
{
    (void)state;
    double x[1000] = {0};
    x[371] = 5;
    hkt_moments m = in_blocks(x, 1000, 100);
    double n = 1000, exact = (pow(n - 1, 3) + 1) / (3 * n * (n - 1));
    CHECK_NEAR(hkt_moments_kappa(&m), exact, 1000 * DBL_EPSILON * exact);
    CHECK_AT_MOST(hkt_moments_kappa(&m), n / 3);
}

static void check_same(const hkt_moments *a, const hkt_moments *b)
{
    double sd = sqrt(hkt_moments_variance(a));
    CHECK_NEAR(a->n, b->n, 0);
    CHECK_NEAR(a->mean, b->mean, 1e-12 * sd + DBL_EPSILON * fabs(a->mean));
    CHECK_NEAR(hkt_moments_variance(a), hkt_moments_variance(b), 1e-12 * sd * sd);
    CHECK_NEAR(hkt_moments_skewness(a), hkt_moments_skewness(b), 1e-12 * hkt_moments_kappa(a));
    CHECK_NEAR(hkt_moments_kappa(a), hkt_moments_kappa(b), 1e-12 * hkt_moments_kappa(a));
    CHECK_NEAR(a->lo, b->lo, 0);
    CHECK_NEAR(a->hi, b->hi, 0);
}

static void test_merge_orders(void **state)
{
    (void)state;
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const size_t cuts[][2] = {{1, 2}, {10, 11}, {100, 19000}, {N / 3, 2 * N / 3}, {N - 2, N - 1}, {0, 5000}};
    for (int far = 0; far < 2; far++) {
        fill_skewed(far ? 1e8 : 0);
        hkt_moments whole = in_blocks(data, N, N);
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
            size_t a = cuts[c][0], b = cuts[c][1];
            hkt_moments part[3] = {in_blocks(data, a, 512), in_blocks(data + a, b - a, 512),
                                   in_blocks(data + b, N - b, 512)};
            for (size_t o = 0; o < 6; o++) {
                hkt_moments left = part[order[o][0]], right = part[order[o][1]];
                hkt_moments_merge(&left, &part[order[o][1]]);
                hkt_moments_merge(&left, &part[order[o][2]]);
                check_same(&whole, &left);
                hkt_moments_merge(&right, &part[order[o][2]]);
                hkt_moments nested = part[order[o][0]];
                hkt_moments_merge(&nested, &right);
                check_same(&whole, &nested);
            }
        }
    }
}

/* Control: merging that forgets the distance of the means must not pass for the right result. */
static void test_merge_control(void **state)
{
    (void)state;
    fill_normal(0, 3);
    for (size_t i = 0; i < N / 2; i++)
        data[i] += 3;
    hkt_moments whole = in_blocks(data, N, N), a = in_blocks(data, N / 2, N), b = in_blocks(data + N / 2, N / 2, N);
    double forgetful = (a.M4 + b.M4) * N / (3 * (a.M2 + b.M2) * (a.M2 + b.M2));
    assert_true(fabs(forgetful - hkt_moments_kappa(&whole)) > 0.1);
}

static void test_far_from_zero(void **state)
{
    (void)state;
    fill_normal(0, 1);
    hkt_moments near = one_by_one(data, N);
    fill_normal(1e8, 1);
    hkt_moments far = one_by_one(data, N), blocks = in_blocks(data, N, 999);
    double kappa = hkt_moments_kappa(&near);
    CHECK_NEAR(kappa, 1, 0.1);
    CHECK_NEAR(hkt_moments_kappa(&far), kappa, 1e-6 * kappa);
    CHECK_NEAR(hkt_moments_kappa(&blocks), kappa, 1e-6 * kappa);
    /* Control: raw power sums lose everything at this distance. */
    double s1 = 0, s2 = 0;
    for (size_t i = 0; i < N; i++) {
        s1 += data[i] / N;
        s2 += data[i] * data[i] / N;
    }
    assert_true(fabs(s2 - s1 * s1 - 1) > 0.1);
}

/* The instruction set changes the speed, not a bit of the result. */
static void test_instruction_sets(void **state)
{
    (void)state;
    fill_skewed(0);
    hkt_isa_level best = hkt_isa_current();
    for (size_t n = 1; n < 40; n++) {
        hkt_isa_select(HKT_ISA_GENERIC);
        hkt_moments narrow = in_blocks(data, 100 * n, 33 + n);
        hkt_isa_select(best);
        hkt_moments wide = in_blocks(data, 100 * n, 33 + n);
        assert_memory_equal(&narrow, &wide, sizeof narrow);
    }
}

static void check_undefined(hkt_moments m, const char *problem)
{
    const char *found = hkt_moments_problem(&m);
    assert_non_null(found);
    assert_string_equal(found, problem);
    assert_true(isnan(hkt_moments_kappa(&m)) && isnan(hkt_moments_excess(&m)) && isnan(hkt_moments_skewness(&m)));
}

static void test_undefined(void **state)
{
    (void)state;
    hkt_moments m;
    hkt_moments_clear(&m);
    check_undefined(m, "empty");
    assert_true(isnan(hkt_moments_variance(&m)));
    hkt_moments_merge(&m, &m);
    check_undefined(m, "empty");
    hkt_moments_add(&m, 3);
    check_undefined(m, "constant");

    double same[11];
    for (size_t i = 0; i < 11; i++)
        same[i] = 1.0042855193121334;
    check_undefined(one_by_one(same, 11), "constant");
    check_undefined(in_blocks(same, 11, 11), "constant");
    check_undefined(in_blocks(same, 11, 3), "constant");
    same[5] = nextafter(same[5], 2); /* rounding noise only */
    check_undefined(in_blocks(same, 11, 4), "constant");
    same[5] = 1.1; /* control: a real spread */
    m = in_blocks(same, 11, 4);
    assert_null(hkt_moments_problem(&m));
    CHECK_NEAR(hkt_moments_kappa(&m), (1000.0 + 1) / (3 * 11 * 10), 1e-12);
}

static void test_not_finite(void **state)
{
    (void)state;
    double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};
    for (size_t k = 0; k < 3; k++)
        for (size_t at = 0; at < 20; at++) {
            double x[20];
            for (size_t i = 0; i < 20; i++)
                x[i] = (double)i;
            x[at] = bad[k];
            check_undefined(in_blocks(x, 20, 20), "not finite");
            check_undefined(in_blocks(x, 20, 6), "not finite");
            check_undefined(one_by_one(x, 20), "not finite");
        }
    double huge[] = {1e100, -1e100, 3e100}, tiny[] = {1e-90, -1e-90, 3e-90}, fine[] = {1e60, -1e60, 3e60};
    check_undefined(in_blocks(huge, 3, 3), "out of range");
    check_undefined(in_blocks(tiny, 3, 3), "out of range");
    check_against_naive(in_blocks(fine, 3, 3), fine, 3);
}

/* Values on the scale 2^k: kappa does not change, or has no value; it is never another number. */
static void test_scales(void **state)
{
    (void)state;
    fill_normal(0, 1);
    hkt_moments unit = in_blocks(data, N, 512);
    double kappa = hkt_moments_kappa(&unit);
    size_t defined = 0;
    for (int k = -1073; k <= 1020; k += 7) {
        for (size_t i = 0; i < N / 20; i++)
            data[i] = ldexp(data[i], k);
        hkt_moments m = in_blocks(data, N / 20, 512), one = one_by_one(data, N / 20);
        const char *problem = hkt_moments_problem(&m);
        if (k >= -238 && k <= 250) /* m2 and m4 are normal numbers, with room for the sums */
            assert_null(problem);
        if (k < -242 || k > 256)
            assert_non_null(problem);
        if (problem) {
            const char *other = hkt_moments_problem(&one);
            check_undefined(m, k < 0 || strcmp(problem, "not finite") != 0 ? "out of range" : problem);
            check_undefined(one, k < 0 || (other && strcmp(other, "not finite") != 0) ? "out of range" : other);
        } else {
            check_against_naive(m, data, N / 20);
            CHECK_NEAR(hkt_moments_kappa(&one), hkt_moments_kappa(&m), tol * kappa);
            defined++;
        }
        fill_normal(0, 1);
    }
    assert_true(defined > 60);
}

/* 1e8 with noise: below its spacing of 1.5e-8 nothing is left; of its size the spread is rounding, and undefined; well
 * above, kappa is that of the noise as rounded. */
static void test_noise_on_a_constant(void **state)
{
    (void)state;
    static const struct {
        double sd;
        bool defined;
    } noise[] = {{0, false}, {1e-12, false}, {1e-9, false}, {1e-8, false}, {1e-6, true}, {1e-3, true}, {1, true}};
    for (size_t k = 0; k < sizeof noise / sizeof *noise; k++) {
        fill_normal(0, 1);
        for (size_t i = 0; i < N; i++)
            data[i] = 1e8 + noise[k].sd * data[i];
        hkt_moments m = in_blocks(data, N, 512), one = one_by_one(data, N);
        if (noise[k].defined) {
            check_against_naive(m, data, N);
            check_against_naive(one, data, N);
        } else {
            check_undefined(m, "constant");
            check_undefined(one, "constant");
        }
    }
    double zero[7] = {0}, tiny[] = {1e-300, -1e-300, 3e-300, 2e-300}, equal[] = {1e-300, 1e-300, 1e-300};
    check_undefined(in_blocks(zero, 7, 3), "constant");
    check_undefined(in_blocks(equal, 3, 2), "constant");
    check_undefined(in_blocks(tiny, 4, 3), "out of range");
    check_undefined(one_by_one(tiny, 4), "out of range");
    check_undefined(in_blocks(NULL, 0, 1), "empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_naive),
        cmocka_unit_test(test_exact_values),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_merge_orders),
        cmocka_unit_test(test_merge_control),
        cmocka_unit_test(test_far_from_zero),
        cmocka_unit_test(test_undefined),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_instruction_sets),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_noise_on_a_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Mardia's kurtosis and its one-pass form against an explicit inverse (GSL), under affine maps, and its exact moments.
 */
#include "tests/check.h"

#include <float.h>
#include <gsl/gsl_linalg.h>

#include "analysis/math/bootstrap.h"
#include "analysis/math/mardia.h"
#include "analysis/math/quartic.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"

/* n vectors of q correlated values of unequal scale, skewed, kurtosis well above the normal's. */
static double *sample(size_t n, size_t q, uint32_t sub)
{
    double *x;
    CHECK_OK(HKT_NEW(&x, n * q));
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, sub);
    for (size_t i = 0; i < n; i++) {
        double common = hkt_rng_normal(&rng);
        for (size_t j = 0; j < q; j++) {
            double z = hkt_rng_normal(&rng) + 0.5 * common;
            x[i * q + j] = (double)(j + 1) * (z + 0.2 * z * z * z + 0.3 * z * z) + (double)j;
        }
    }
    return x;
}

static double naive_mardia(const double *x, size_t n, size_t q)
{
    gsl_matrix *s = gsl_matrix_calloc(q, q), *inverse = gsl_matrix_alloc(q, q);
    gsl_permutation *perm = gsl_permutation_alloc(q);
    double mean[16] = {0}, b2 = 0;
    int sign;
    for (size_t i = 0; i < n * q; i++)
        mean[i % q] += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < q; a++)
            for (size_t b = 0; b < q; b++)
                *gsl_matrix_ptr(s, a, b) += (x[i * q + a] - mean[a]) * (x[i * q + b] - mean[b]) / (double)n;
    gsl_linalg_LU_decomp(s, perm, &sign);
    gsl_linalg_LU_invert(s, perm, inverse);
    for (size_t i = 0; i < n; i++) {
        double form = 0;
        for (size_t a = 0; a < q; a++)
            for (size_t b = 0; b < q; b++)
                form += (x[i * q + a] - mean[a]) * gsl_matrix_get(inverse, a, b) * (x[i * q + b] - mean[b]);
        b2 += form * form / (double)n;
    }
    gsl_permutation_free(perm);
    gsl_matrix_free(s);
    gsl_matrix_free(inverse);
    return b2;
}

/* n eps for the sums; the covariance of `sample` has condition number below 1e4, which the inverse multiplies in. */
static double tolerance(size_t n)
{
    return (double)n * DBL_EPSILON * 1e3;
}

static void test_against_naive(void **state)
{
    (void)state;
    for (size_t q = 1; q <= 8; q++) {
        size_t sizes[] = {q + 1, q + 5, 255, 256, 257, 1000};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            double *x = sample(sizes[i], q, (uint32_t)(q * 10 + i)), b2;
            CHECK_OK(hkt_mardia_kurtosis(x, sizes[i], q, &b2));
            /* With n = q + 1 every vector has the same distance q, whatever the sample. */
            double expected = i == 0 ? (double)(q * q) : naive_mardia(x, sizes[i], q);
            CHECK_NEAR(b2, expected, (i == 0 ? 1e-8 : tolerance(sizes[i])) * expected);
            CHECK_AT_MOST(b2, (double)(sizes[i] * q) * (1 + 1e-9)); /* the ceiling */
            hkt_free(x);
        }
    }
}

/* q = 1 is the scalar kurtosis. */
static void test_one_dimension(void **state)
{
    (void)state;
    double *x = sample(3000, 1, 1), b2;
    hkt_moments m;
    hkt_moments_clear(&m);
    hkt_moments_add_block(&m, x, 3000);
    CHECK_OK(hkt_mardia_kurtosis(x, 3000, 1, &b2));
    CHECK_NEAR(b2 / 3, hkt_moments_kappa(&m), tolerance(3000) * b2);
    hkt_free(x);
}

static void test_affine_invariance(void **state)
{
    (void)state;
    enum { ROWS = 500, Q = 4 };
    static const double map[Q][Q] = {{2, 1, 0, 0}, {-1, 3, 1, 0}, {0, 0.5, 1e-3, 0}, {1, 1, 1, 1e4}};
    double *x = sample(ROWS, Q, 2), *y, before, after, broken;
    CHECK_OK(HKT_NEW(&y, ROWS * Q));
    for (size_t i = 0; i < ROWS; i++)
        for (size_t a = 0; a < Q; a++) {
            y[i * Q + a] = (double)a * 1e3;
            for (size_t b = 0; b < Q; b++)
                y[i * Q + a] += map[a][b] * x[i * Q + b];
        }
    CHECK_OK(hkt_mardia_kurtosis(x, ROWS, Q, &before));
    CHECK_OK(hkt_mardia_kurtosis(y, ROWS, Q, &after));
    /* The map's condition number after scaling is about 1e4, and the offset costs three digits. */
    CHECK_NEAR(after, before, 1e-8 * before);
    for (size_t i = 0; i < ROWS; i++) /* control: a map that is not affine */
        y[i * Q] = y[i * Q] * fabs(y[i * Q]);
    CHECK_OK(hkt_mardia_kurtosis(y, ROWS, Q, &broken));
    assert_true(fabs(broken - before) > 0.01 * before);
    hkt_free(x);
    hkt_free(y);
}

/* Mean and variance of b_{2,q} over normal samples: 4000 trials, four standard errors (that of a variance by the fourth
 * moment of the trials themselves). */
static void test_exact_moments(void **state)
{
    (void)state;
    enum { TRIALS = 4000 };
    static const size_t shape[][2] = {{20, 1}, {30, 3}, {60, 5}};
    for (size_t k = 0; k < 3; k++) {
        size_t n = shape[k][0], q = shape[k][1];
        double x[300], mean, variance;
        hkt_moments m;
        hkt_moments_clear(&m);
        for (uint32_t t = 0; t < TRIALS; t++) {
            hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED + k, HKT_STREAM_TEST, t);
            for (size_t i = 0; i < n * q; i++)
                x[i] = hkt_rng_normal(&rng);
            double b2;
            CHECK_OK(hkt_mardia_kurtosis(x, n, q, &b2));
            hkt_moments_add(&m, b2);
        }
        hkt_mardia_exact(n, q, &mean, &variance);
        double found = hkt_moments_variance(&m), gauss = (double)(q * (q + 2));
        CHECK_NEAR(m.mean, mean, 4 * sqrt(variance / TRIALS));
        CHECK_NEAR(found, variance, 4 * found * sqrt((hkt_moments_excess(&m) + 2) / TRIALS));
        assert_true(fabs(m.mean - gauss) > 4 * sqrt(variance / TRIALS)); /* control: the asymptotic mean is not it */
        CHECK_NEAR(hkt_mardia_z_exact(mean + 2 * sqrt(variance), n, q), 2, 1e-12);
        CHECK_NEAR(hkt_mardia_z_asymptotic(gauss + 3 * sqrt(8 * gauss / (double)n), n, q), 3, 1e-12);
    }
}

static void test_undefined(void **state)
{
    (void)state;
    double *x = sample(50, 3, 4), b2 = 0;
    CHECK_FAILS(hkt_mardia_kurtosis(x, 3, 3, &b2), HKT_EINPUT, "more than 3 vectors of 3 values, found 3");
    assert_true(isnan(b2));
    CHECK_FAILS(hkt_mardia_kurtosis(x, 0, 3, &b2), HKT_EINPUT, "found 0");
    for (size_t i = 0; i < 50; i++)
        x[i * 3 + 2] = 2 * x[i * 3] - x[i * 3 + 1] + 7;
    CHECK_FAILS(hkt_mardia_kurtosis(x, 50, 3, &b2), HKT_EINPUT, "column 2 of 3 is a linear combination");
    for (size_t i = 0; i < 50; i++)
        x[i * 3 + 1] = 1.0042855193121334;
    CHECK_FAILS(hkt_mardia_kurtosis(x, 50, 3, &b2), HKT_EINPUT, "column 1 of 3 is constant");
    x[10 * 3] = (double)NAN;
    CHECK_FAILS(hkt_mardia_kurtosis(x, 50, 3, &b2), HKT_EINPUT, "column 0 of 3: expected finite values");
    hkt_free(x);
}

/* --- one pass --- */

enum { ROWS = 1200 };

/* x [ROWS, q] as the component rows that hkt_quartic_add takes. */
static double *by_component(const double *x, size_t q)
{
    double *y;
    CHECK_OK(HKT_NEW(&y, ROWS * q));
    for (size_t i = 0; i < ROWS * q; i++)
        y[i % q * ROWS + i / q] = x[i];
    return y;
}

static void test_quartic(void **state)
{
    (void)state;
    for (size_t q = 1; q <= 6; q++) {
        double *x = sample(ROWS, q, (uint32_t)(70 + q)), *y = by_component(x, q), *sums, *scratch;
        double centre[6], scale[6], n, kappa, b2;
        for (size_t a = 0; a < q; a++) {
            centre[a] = (double)a + 0.4;
            scale[a] = 2 * (double)(a + 1);
        }
        CHECK_OK(HKT_NEW(&sums, hkt_quartic_size(q)));
        CHECK_OK(HKT_NEW(&scratch, hkt_quartic_scratch(q)));
        CHECK_OK(hkt_mardia_kurtosis(x, ROWS, q, &b2));
        hkt_quartic_add(q, sums, y, ROWS, 500, 1, centre, scale, scratch);
        hkt_quartic_add(q, sums, y + 500, ROWS, ROWS - 500, 1, centre, scale, scratch);
        CHECK_OK(hkt_quartic_kappa(q, sums, &n, &kappa));
        CHECK_NEAR(n, ROWS, 0);
        CHECK_NEAR(kappa * (double)(q * (q + 2)), b2, tolerance(ROWS) * b2);
        hkt_free(x);
        hkt_free(y);
        hkt_free(sums);
        hkt_free(scratch);
    }
}

/* Every third vector only. */
static void test_quartic_step(void **state)
{
    (void)state;
    enum { Q = 2 };
    double *x = sample(ROWS, Q, 80), *y = by_component(x, Q), sums[21] = {0}, *scratch, n, kappa, b2;
    const double centre[Q] = {0, 0}, scale[Q] = {1, 1};
    assert_int_equal(hkt_quartic_size(Q), 21);
    CHECK_OK(HKT_NEW(&scratch, hkt_quartic_scratch(Q)));
    hkt_quartic_add(Q, sums, y + 1, ROWS, ROWS - 1, 3, centre, scale, scratch);
    CHECK_OK(hkt_quartic_kappa(Q, sums, &n, &kappa));
    size_t kept = 0;
    for (size_t i = 1; i < ROWS; i += 3, kept++)
        for (size_t a = 0; a < Q; a++)
            x[kept * Q + a] = x[i * Q + a];
    CHECK_OK(hkt_mardia_kurtosis(x, kept, Q, &b2));
    CHECK_NEAR(n, kept, 0);
    CHECK_NEAR(kappa * 8, b2, tolerance(ROWS) * b2);
    hkt_free(x);
    hkt_free(y);
    hkt_free(scratch);
}

static void test_quartic_units(void **state)
{
    (void)state;
    enum { Q = 3, UNITS = 6, SIZE = 55 };
    double *x = sample(ROWS, Q, 90), *y = by_component(x, Q), *scratch, sums[UNITS][SIZE] = {{0}}, pooled[SIZE];
    const double centre[Q] = {0, 1, 2}, scale[Q] = {1, 2, 3};
    size_t all[UNITS], per = ROWS / UNITS;
    double b2, lo, hi;
    assert_int_equal(hkt_quartic_size(Q), SIZE);
    CHECK_OK(HKT_NEW(&scratch, hkt_quartic_scratch(Q)));
    for (size_t u = 0; u < UNITS; u++) {
        hkt_quartic_add(Q, sums[u], y + u * per, ROWS, per, 1, centre, scale, scratch);
        all[u] = UNITS - 1 - u;
    }
    hkt_quartic_units units = {.q = Q, .sums = sums[0], .pooled = pooled};
    CHECK_OK(hkt_mardia_kurtosis(x, ROWS, Q, &b2));
    CHECK_NEAR(hkt_quartic_pooled_kappa(&units, all, UNITS), b2 / 15, tolerance(ROWS) * b2);
    CHECK_OK(hkt_bootstrap(hkt_quartic_pooled_kappa, &units, UNITS, 200, 0.95, 1, &lo, &hi));
    assert_true(lo < hi);
    hkt_free(x);
    hkt_free(y);
    hkt_free(scratch);
}

static void test_quartic_undefined(void **state)
{
    (void)state;
    enum { Q = 2 };
    double *x = sample(ROWS, Q, 95), *y = by_component(x, Q), sums[21] = {0}, *scratch, n, kappa = 0;
    const double centre[Q] = {0, 0}, scale[Q] = {1, 1};
    CHECK_OK(HKT_NEW(&scratch, hkt_quartic_scratch(Q)));
    CHECK_FAILS(hkt_quartic_kappa(Q, sums, &n, &kappa), HKT_EINPUT, "found 0");
    assert_true(isnan(kappa));
    for (size_t i = 0; i < ROWS; i++) /* collinear but for a ten thousandth */
        y[ROWS + i] = y[i] + 1e-4 * x[i * Q + 1];
    hkt_quartic_add(Q, sums, y, ROWS, ROWS, 1, centre, scale, scratch);
    CHECK_FAILS(hkt_quartic_kappa(Q, sums, &n, &kappa), HKT_EINPUT, "column 1 of 2 is a linear combination");
    memset(sums, 0, sizeof sums);
    for (size_t i = 0; i < ROWS; i++)
        y[ROWS + i] = 0.3;
    hkt_quartic_add(Q, sums, y, ROWS, ROWS, 1, centre, scale, scratch);
    CHECK_FAILS(hkt_quartic_kappa(Q, sums, &n, &kappa), HKT_EINPUT, "column 1 of 2 is constant");
    y[5] = (double)NAN;
    hkt_quartic_add(Q, sums, y, ROWS, ROWS, 1, centre, scale, scratch);
    CHECK_FAILS(hkt_quartic_kappa(Q, sums, &n, &kappa), HKT_EINPUT, "column 0 of 2");
    hkt_free(x);
    hkt_free(y);
    hkt_free(scratch);
}

/* One variable: the variance of b_2 = m4/m2^2 of normal samples is Fisher's (1930, Proc. London Math. Soc. 30:199). */
static void test_one_variable(void **state)
{
    (void)state;
    for (size_t k = 4; k < 2000; k = 2 * k + 1) {
        double n = (double)k, mean, variance;
        hkt_mardia_exact(k, 1, &mean, &variance);
        double exact = 24 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1) * (n + 3) * (n + 5));
        CHECK_NEAR(mean, 3 * (n - 1) / (n + 1), 1e-14);
        CHECK_NEAR(variance, exact, 1e-14 * exact);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_variable),  cmocka_unit_test(test_against_naive),
        cmocka_unit_test(test_one_dimension), cmocka_unit_test(test_affine_invariance),
        cmocka_unit_test(test_exact_moments), cmocka_unit_test(test_undefined),
        cmocka_unit_test(test_quartic),       cmocka_unit_test(test_quartic_step),
        cmocka_unit_test(test_quartic_units), cmocka_unit_test(test_quartic_undefined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The certificates of definiteness: sound on matrices whose lowest eigenvalue is known, sharp to the bound's order, and
 * refusing what is not a symmetric matrix of numbers. */
#include "tests/check.h"

#include <float.h>
#if defined __x86_64__
#include <xmmintrin.h>
#endif

#include "analysis/math/certify.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"

/* Products of these are exact to 64 bits. */
static long double wide(double x)
{
    return (long double)x;
}

static hkt_cert_verdict verdict(size_t n, const double *a)
{
    hkt_certificate c;
    CHECK_OK(hkt_certify(n, a, &c));
    return c.verdict;
}

static void test_gamma(void **state)
{
    (void)state;
    assert_true(hkt_gamma(1) >= 0x1p-53 / (1 - 0x1p-53));
    CHECK_NEAR(hkt_gamma(1000), 1000 * 0x1p-53, 1e-25);
    assert_true(hkt_gamma(1000) > 1000 * 0x1p-53);
    assert_true(isinf(hkt_gamma((size_t)1 << 53)));
}

static void hilbert(size_t n, double *a, double scale)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = scale / (double)(i + j + 1);
}

/* Entries rounded to double, and exact integers: lcm(1..23) = 5354228880. */
static void test_hilbert(void **state)
{
    (void)state;
    static const double scale[] = {1, 5354228880};
    for (size_t i = 0; i < 2; i++) {
        double a[13 * 13], c;
        bool certified, factored;
        for (size_t n = 2; n <= 11; n++) {
            hilbert(n, a, scale[i]);
            CHECK_OK(hkt_certify_pd(n, a, &c, &certified));
            assert_true(certified);
            assert_int_equal(verdict(n, a), HKT_CERT_PD);
        }
        hilbert(12, a, scale[i]);
        CHECK_OK(hkt_certify_pd(12, a, &c, &certified));
        CHECK_OK(hkt_cholesky_plain(12, a, &factored));
        assert_false(certified);
        assert_true(factored);
        assert_int_equal(verdict(12, a), HKT_CERT_PSD_SHIFT);
    }
}

/* c of Hilbert(8) by hand: gamma_9 tr + negligible, rounded up by a few ulp. */
static void test_bound(void **state)
{
    (void)state;
    double a[64], c, trace = 0;
    bool certified;
    hilbert(8, a, 1);
    for (size_t i = 0; i < 8; i++)
        trace += a[i * 9];
    CHECK_OK(hkt_certify_pd(8, a, &c, &certified));
    double exact = 9 * 0x1p-53 / (1 - 9 * 0x1p-53) * trace;
    assert_true(c >= exact);
    CHECK_AT_MOST(c, exact * (1 + 32 * DBL_EPSILON));
    /* Underflow term: 4 eta N (2 (N + 1) + max a_ii). */
    double zero[4] = {0};
    CHECK_OK(hkt_certify_pd(2, zero, &c, &certified));
    assert_false(certified);
    CHECK_AT_MOST(c, 64 * 0x1p-1074);
    assert_true(c >= 48 * 0x1p-1074);
}

/* A pivot of exactly 0 and a NaN in the triangle that is read end the factorisation. */
static void test_cholesky(void **state)
{
    (void)state;
    double singular[4] = {1, 1, 1, 1}, zero = 0, nan_below[4] = {1, 0, (double)NAN, 1}, good[4] = {4, 2, 2, 5};
    bool factored;
    CHECK_OK(hkt_cholesky_plain(2, singular, &factored));
    assert_false(factored);
    CHECK_OK(hkt_cholesky_plain(1, &zero, &factored));
    assert_false(factored);
    CHECK_OK(hkt_cholesky_plain(2, nan_below, &factored));
    assert_false(factored);
    CHECK_OK(hkt_cholesky_plain(2, good, &factored));
    assert_true(factored);
}

/* Tridiagonal (1, a, 1) has lowest eigenvalue a - 2 cos(pi/(n+1)): a certificate must never be given below zero, and
 * must be given once the margin passes a small multiple of n u tr. */
static void test_soundness_at_the_edge(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 40; n += 19) {
        double *a;
        CHECK_OK(HKT_NEW(&a, n * n));
        long double edge = 2 * cosl(3.141592653589793238462643383279502884L / (long double)(n + 1));
        for (int step = -300; step <= 300; step++) {
            double diagonal = (double)edge + step * (double)n * DBL_EPSILON;
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    a[i * n + j] = i == j ? diagonal : i + 1 == j || j + 1 == i ? 1 : 0;
            double c;
            bool certified;
            hkt_certificate cert;
            CHECK_OK(hkt_certify_pd(n, a, &c, &certified));
            CHECK_OK(hkt_certify(n, a, &cert));
            long double lowest = wide(diagonal) - edge; /* to 1e-18 */
            if (certified)
                assert_true(lowest > 0);
            if (cert.verdict == HKT_CERT_NOT_PSD) {
                assert_true(lowest < 0);
                assert_true(wide(cert.quotient - cert.quotient_error) <= lowest + 1e-17L);
            }
            if (cert.verdict == HKT_CERT_PSD_SHIFT)
                assert_true(lowest >= -wide(cert.delta));
            if (lowest > 2 * wide(c))
                assert_true(certified);
        }
        hkt_free(a);
    }
}

/* Integer B gives an exact, singular B B^T: certified above -delta, delta of the order of c; B B^T - I is not PSD. */
static void test_singular_psd(void **state)
{
    (void)state;
    enum { N = 60, R = 20 };
    double *a, b[N][R];
    CHECK_OK(HKT_NEW(&a, N * N));
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 1);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < R; k++)
            b[i][k] = (double)hkt_rng_below(&rng, 201) - 100;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            for (size_t k = 0; k < R; k++)
                a[i * N + j] += b[i][k] * b[j][k];
    hkt_certificate c;
    CHECK_OK(hkt_certify(N, a, &c));
    assert_int_equal(c.verdict, HKT_CERT_PSD_SHIFT);
    assert_true(c.delta > 0);
    CHECK_AT_MOST(c.delta, 3 * c.c);
    for (size_t i = 0; i < N; i++)
        a[i * N + i] -= 1;
    CHECK_OK(hkt_certify(N, a, &c));
    assert_int_equal(c.verdict, HKT_CERT_NOT_PSD);
    CHECK_NEAR(c.quotient, -1, 1e-6); /* the null space of B B^T is 40-dimensional: lowest eigenvalue -1 */
    for (size_t i = 0; i < N; i++)
        a[i * N + i] += 2;
    assert_int_equal(verdict(N, a), HKT_CERT_PD);
    hkt_free(a);
}

static void test_refused(void **state)
{
    (void)state;
    static const double sound[9] = {4, 1, 0, 1, 3, 1, 0, 1, 2};
    double a[9];
    static const struct {
        size_t at;
        double value;
    } fault[] = {{1, (double)NAN}, {3, (double)NAN}, {4, (double)NAN},    {8, (double)INFINITY},
                 {2, 1},           {6, 1},           {1, 1 + DBL_EPSILON}};
    memcpy(a, sound, sizeof a);
    assert_int_equal(verdict(3, a), HKT_CERT_PD);
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++) {
        hkt_certificate c;
        double bound;
        bool certified;
        memcpy(a, sound, sizeof a);
        a[fault[i].at] = fault[i].value;
        CHECK_OK(hkt_certify(3, a, &c));
        assert_int_equal(c.verdict, HKT_CERT_REFUSED);
        assert_true(isnan(c.delta) && isnan(c.quotient) && isnan(c.c));
        CHECK_OK(hkt_certify_pd(3, a, &bound, &certified));
        assert_false(certified);
    }
}

static void test_small_and_extreme(void **state)
{
    (void)state;
    double one = 1, zero = 0, minus = -1, tiny = 0x1p-1074, huge[4] = {DBL_MAX, 0, 0, DBL_MAX};
    assert_int_equal(verdict(1, &one), HKT_CERT_PD);
    assert_int_equal(verdict(1, &zero), HKT_CERT_PSD_SHIFT);
    assert_int_equal(verdict(1, &minus), HKT_CERT_NOT_PSD);
    assert_int_equal(verdict(1, &tiny), HKT_CERT_PSD_SHIFT);   /* positive, but below what underflow may take */
    assert_int_equal(verdict(2, huge), HKT_CERT_INCONCLUSIVE); /* the trace overflows */
    double indefinite[4] = {1, 2, 2, 1}, negative_diagonal[4] = {1, 0, 0, -1e-300};
    assert_int_equal(verdict(2, indefinite), HKT_CERT_NOT_PSD);
    assert_int_equal(verdict(2, negative_diagonal), HKT_CERT_NOT_PSD);
}

/* Against the same sums in extended precision, whose error is 2000 times smaller than the bound. */
static void test_quadratic_form(void **state)
{
    (void)state;
    enum { N = 50 };
    double *a, x[N];
    CHECK_OK(HKT_NEW(&a, N * N));
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 2);
    for (int trial = 0; trial < 200; trial++) {
        for (size_t i = 0; i < N; i++) {
            x[i] = hkt_rng_normal(&rng);
            for (size_t j = 0; j <= i; j++)
                a[i * N + j] = a[j * N + i] = hkt_rng_normal(&rng) * exp(hkt_rng_normal(&rng));
        }
        long double exact = 0, size = 0;
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                long double term = wide(x[i]) * wide(a[i * N + j]) * wide(x[j]);
                exact += term;
                size += fabsl(term);
            }
        double value, error;
        hkt_quadratic_form(N, a, x, &value, &error);
        assert_true(fabsl(wide(value) - exact) <= wide(error));
        CHECK_AT_MOST(error, (double)size * 204 * 0x1p-53 * 1.001);
        assert_true(error >= 0x1p-53 * (double)size);
    }
    hkt_free(a);
}

/* The control register of the unit that computes in double: MXCSR, FPCR. */
static uint64_t control(const uint64_t *set)
{
#if defined __x86_64__
    if (set)
        _mm_setcsr((unsigned)*set);
    return _mm_getcsr();
#else
    uint64_t now;
    if (set)
        __asm__ volatile("msr fpcr, %0" ::"r"(*set));
    __asm__ volatile("mrs %0, fpcr" : "=r"(now));
    return now;
#endif
}

/* Flushing to zero, denormals as zeros, and the three other roundings: nothing is certified. */
static void test_arithmetic(void **state)
{
    (void)state;
#if defined __x86_64__
    static const uint64_t bits[] = {0x8000, 0x40, 0x2000, 0x4000, 0x6000};
#else
    static const uint64_t bits[] = {0x1000000, 0x400000, 0x800000, 0xc00000};
#endif
    const double a[4] = {2, 1, 1, 2}, x[2] = {1, -1};
    const uint64_t plain = control(NULL);
    for (size_t i = 0; i <= sizeof bits / sizeof *bits; i++) {
        const bool spoilt = i < sizeof bits / sizeof *bits;
        const uint64_t set = plain | (spoilt ? bits[i] : 0);
        hkt_certificate c;
        double bound, value, error;
        bool certified, ieee;
        control(&set);
        ieee = hkt_arithmetic_is_ieee();
        hkt_status status = hkt_certify(2, a, &c);
        hkt_status other = hkt_certify_pd(2, a, &bound, &certified);
        hkt_quadratic_form(2, a, x, &value, &error);
        control(&plain);
        CHECK_OK(status);
        CHECK_OK(other);
        assert_int_equal(ieee, !spoilt);
        assert_int_equal(c.verdict, spoilt ? HKT_CERT_REFUSED : HKT_CERT_PD);
        assert_int_equal(certified, !spoilt);
        assert_int_equal(isinf(error), spoilt);
    }
}

static void test_memory(void **state)
{
    (void)state;
    double a[4] = {1, 1, 1, 1};
    size_t live = hkt_mem_live();
    for (size_t n = 1;; n++) {
        hkt_certificate c;
        hkt_mem_fail_at(n);
        hkt_status status = hkt_certify(2, a, &c);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        if (!failed)
            break;
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gamma),
        cmocka_unit_test(test_hilbert),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_cholesky),
        cmocka_unit_test(test_soundness_at_the_edge),
        cmocka_unit_test(test_singular_psd),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_small_and_extreme),
        cmocka_unit_test(test_quadratic_form),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Certified lower bounds of singular values: never above the truth, close to it when it is far from zero, and nothing
 * where the rank ends. */
#include "tests/check.h"

#include "analysis/math/rank.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"

/* Sylvester's Hadamard matrix of order 16: integers, and every singular value is 4. */
static void hadamard(void **state)
{
    (void)state;
    enum { N = 16 };
    double a[N * N];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            a[i * N + j] = __builtin_popcount((unsigned)(i & j)) % 2 ? -1 : 1;
    for (size_t k = 1; k <= N; k++) {
        hkt_rank_bound b;
        CHECK_OK(hkt_rank_certify(N, N, a, 0, k, &b));
        CHECK_AT_MOST(b.lower, 4);
        CHECK_AT_MOST(4 * (1 - 2e-6), b.lower);
        CHECK_NEAR(b.largest, 4, 1e-13);
        CHECK_NEAR(b.distance, 4 * sqrt((double)(N - k + 1)), 1e-12);
        /* What is said of all matrices within a distance of 1: the nearest has sigma_k = 3. */
        CHECK_OK(hkt_rank_certify(N, N, a, 1, k, &b));
        CHECK_AT_MOST(b.lower, 3);
        CHECK_AT_MOST(3 * (1 - 3e-6), b.lower);
        CHECK_OK(hkt_rank_certify(N, N, a, 4, k, &b));
        assert_true(b.lower == 0);
    }
}

/* Both sides by reflections with integer vectors would not stay exact: diagonal and permuted diagonal matrices do. */
static void graded(void **state)
{
    (void)state;
    enum { N = 12, ROWS = 20 };
    double a[ROWS * N] = {0}, t[N * ROWS] = {0};
    for (size_t j = 0; j < N; j++)
        a[(7 * j + 3) % ROWS * N + j] = ldexp(1, -3 * (int)((7 * j) % N)); /* 1, 1/8, ..., 2^-33 in some order */
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < N; j++)
            t[j * ROWS + i] = a[i * N + j];
    for (size_t k = 1; k <= N; k++) {
        hkt_rank_bound tall, wide;
        double truth = ldexp(1, -3 * (int)(k - 1));
        CHECK_OK(hkt_rank_certify(ROWS, N, a, 0, k, &tall));
        CHECK_OK(hkt_rank_certify(N, ROWS, t, 0, k, &wide));
        CHECK_AT_MOST(tall.lower, truth);
        CHECK_AT_MOST(wide.lower, truth);
        CHECK_NEAR(tall.computed, truth, 1e-15);
        CHECK_AT_MOST(0.5 * truth, tall.lower);
        CHECK_AT_MOST(0.5 * truth, wide.lower);
    }
}

/* Sums of r integer outer products: exact, of rank r. */
static void deficient(void **state)
{
    (void)state;
    enum { M = 40, N = 30 };
    hkt_rng rng = hkt_rng_make(5, HKT_STREAM_TEST, 0);
    double a[M * N] = {0};
    for (size_t r = 1; r <= 12; r++) {
        double u[M], v[N];
        for (size_t i = 0; i < M; i++)
            u[i] = (double)hkt_rng_below(&rng, 101) - 50;
        for (size_t j = 0; j < N; j++)
            v[j] = (double)hkt_rng_below(&rng, 101) - 50;
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++)
                a[i * N + j] += u[i] * v[j];
        hkt_rank_bound b;
        CHECK_OK(hkt_rank_certify(M, N, a, 0, r, &b));
        CHECK_AT_MOST(0.999 * b.computed, b.lower);
        CHECK_AT_MOST(b.lower, b.computed * (1 + 1e-12));
        CHECK_OK(hkt_rank_certify(M, N, a, 0, r + 1, &b));
        assert_true(b.lower == 0);
        CHECK_AT_MOST(b.distance, 1e-12 * b.largest);
    }
}

static void bad_input(void **state)
{
    (void)state;
    double a[4] = {1, (double)NAN, 0, 1}, zero[4] = {0};
    hkt_rank_bound b;
    CHECK_FAILS(hkt_rank_certify(2, 2, a, 0, 1, &b), HKT_ENUMERIC, "found nan at 1");
    assert_true(b.lower == 0 && isnan(b.computed));
    CHECK_OK(hkt_rank_certify(2, 2, zero, 0, 1, &b));
    assert_true(b.lower == 0 && b.computed == 0);
    a[1] = 2;
    CHECK_OK(hkt_rank_certify(2, 2, a, (double)NAN, 1, &b));
    assert_true(b.lower == 0); /* an error that is not known proves nothing */
    size_t live = hkt_mem_live();
    for (size_t n = 1; n <= 2; n++) {
        hkt_mem_fail_at(n);
        CHECK_FAILS(hkt_rank_certify(2, 2, a, 0, 1, &b), HKT_ESYSTEM, "");
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(hadamard), cmocka_unit_test(graded),
                                       cmocka_unit_test(deficient), cmocka_unit_test(bad_input)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

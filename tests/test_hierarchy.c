/* Best hierarchical sums: bases, one level and all of them against their definitions, planted sums, the search. */
#include "tests/check.h"

#include <cblas.h>
#include <float.h>

#include "analysis/math/linalg.h"
#include "analysis/view/hierarchy.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "tests/vectors.h"

enum { MAX_T = 48 };

static hkt_rng stream(uint32_t sub)
{
    return hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 700 + sub);
}

static size_t power(size_t stride, size_t l)
{
    return l == 0 ? 1 : stride * power(stride, l - 1);
}

/* Q_l has orthonormal columns and U_l = Q_l D_l^(1/2): constant on blocks, zero elsewhere. */
static void test_level_bases(void **state)
{
    (void)state;
    static const size_t length[] = {1, 2, 13, 32, 48};
    for (size_t t = 0; t < 5; t++)
        for (size_t stride = 2; stride <= 3; stride++) {
            size_t T = length[t], L = 4;
            hkt_hierarchy h;
            CHECK_OK(hkt_hierarchy_levels(&h, T, stride, L, 2));
            for (size_t l = 0; l < L; l++) {
                assert_int_equal(h.n[l], hkt_level_length(T, stride, l));
                for (size_t a = 0; a < h.n[l]; a++)
                    for (size_t b = 0; b < h.n[l]; b++) {
                        double dot = 0;
                        for (size_t i = 0; i < T; i++)
                            dot += h.basis[l][i * h.n[l] + a] * h.basis[l][i * h.n[l] + b];
                        CHECK_NEAR(dot, a == b, 32 * DBL_EPSILON);
                    }
                for (size_t i = 0; i < T; i++)
                    for (size_t a = 0; a < h.n[l]; a++)
                        assert_true((h.basis[l][i * h.n[l] + a] > 0) == (i / power(stride, l) == a));
            }
            hkt_hierarchy_free(&h);
        }
    assert_int_equal(hkt_hierarchy_depth(1, 2), 1);
    assert_int_equal(hkt_hierarchy_depth(17, 2), 6);
    assert_int_equal(hkt_hierarchy_depth(64, 2), 7);
    assert_int_equal(hkt_hierarchy_depth(65, 3), 5);
    assert_int_equal(hkt_hierarchy_depth((size_t)1 << 20, 2), HKT_MAX_LEVELS);
}

/* The basis of inputs: orthonormal, and every column of U_l X^(l) in its span; rank-deficient and zero inputs too. */
static void test_input_bases(void **state)
{
    (void)state;
    enum { T = 21, D = 5, L = 3 };
    double x[L][T * D];
    const double *xs[] = {x[0], x[1], x[2]};
    hkt_rng rng = stream(0);
    hkt_hierarchy h;
    normals(&rng, x[0], 2 * T * D);
    memset(x[2], 0, sizeof x[2]);
    for (size_t i = 0; i < T; i++)
        x[1][i * D + 3] = x[1][i * D] - 2 * x[1][i * D + 1]; /* rank 4 */
    CHECK_OK(hkt_hierarchy_inputs(&h, T, 2, L, 2, D, xs));
    assert_int_equal(h.n[0], 5);
    assert_int_equal(h.n[1], 4);
    assert_int_equal(h.n[2], 0);
    for (size_t l = 0; l < 2; l++)
        for (size_t c = 0; c < D; c++) {
            double left[T];
            for (size_t i = 0; i < T; i++)
                left[i] = x[l][i / power(2, l) * D + c];
            double before = norm(left, T);
            for (size_t k = 0; k < h.n[l]; k++) {
                double dot = cblas_ddot(T, left, 1, h.basis[l] + k, (int)h.n[l]);
                cblas_daxpy(T, -dot, h.basis[l] + k, (int)h.n[l], left, 1);
                CHECK_NEAR(cblas_dnrm2(T, h.basis[l] + k, (int)h.n[l]), 1, 1e-14);
            }
            CHECK_AT_MOST(norm(left, T), 1e-13 * before);
        }
    /* A level without inputs stays empty. */
    double s[T * T], sum[T * T];
    hkt_descent d;
    normals(&rng, s, T * T);
    CHECK_OK(hkt_hierarchy_search(&h, s, &(hkt_search){.sweeps = 20, .tolerance = 1e-9, .random = 1}, &d));
    CHECK_OK(hkt_hierarchy_term(&h, 2, sum));
    CHECK_NEAR(norm(sum, T * T), 0, 0);
    hkt_hierarchy_free(&h);
}

/* Singular values below the first r, as one norm. */
static double tail(size_t n, const double *s, size_t r)
{
    double w[MAX_T], sum = 0;
    CHECK_OK(hkt_singular_values(n, n, s, w));
    for (size_t i = r; i < n; i++)
        sum += w[i] * w[i];
    return sqrt(sum);
}

/* One level: the best matrix of rank r (Eckart & Young), for all r. */
static void test_one_level(void **state)
{
    (void)state;
    enum { T = 20 };
    double s[T * T], sum[T * T];
    hkt_rng rng = stream(1);
    normals(&rng, s, T * T);
    for (size_t r = 1; r <= T + 1; r++) {
        hkt_hierarchy h;
        hkt_descent d;
        CHECK_OK(hkt_hierarchy_levels(&h, T, 2, 1, r));
        CHECK_OK(hkt_hierarchy_descend(&h, s, &(hkt_search){.sweeps = 3, .tolerance = 1e-12}, &d));
        assert_true(d.settled);
        CHECK_NEAR(d.error, r < T ? tail(T, s, r) : 0, 1e-13 * norm(s, T * T));
        CHECK_OK(hkt_hierarchy_sum(&h, sum));
        CHECK_NEAR(tail(T, sum, r < T ? r : T), 0, 1e-12 * norm(s, T * T));
        hkt_hierarchy_free(&h);
    }
}

/* Size of the block of row i. */
static double block(size_t T, size_t step, size_t i)
{
    size_t first = i / step * step;
    return (double)(T - first < step ? T - first : step);
}

/* B from the only term of h, and E = U^T (S - term) U, by their definitions. */
static void level_forms(const hkt_hierarchy *h, size_t step, const double *s, double *b, double *e)
{
    size_t T = h->T, n = h->n[0];
    double term[MAX_T * MAX_T];
    CHECK_OK(hkt_hierarchy_term(h, 0, term));
    memset(e, 0, n * n * sizeof *e);
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++) {
            b[i / step * n + j / step] = term[i * T + j];
            e[i / step * n + j / step] += s[i * T + j] - term[i * T + j];
        }
}

/* The minimum over B of rank r alone, for each level: E_l B^T = 0 and B^T E_l = 0 (E is orthogonal to all changes
 * within the row and column space of B), and its error is that of singular values r + 1, .. of D^(-1/2) U^T S U
 * D^(-1/2) and of all that U does not reach. Lengths that are no multiple of the stride give blocks of unequal sizes,
 * for which the truncated SVD of U^+ S U^+T (all weights equal) is not the minimum. */
static void test_stationary(void **state)
{
    (void)state;
    static const size_t length[] = {13, 16, 28};
    for (size_t t = 0; t < 3; t++)
        for (size_t stride = 2; stride <= 3; stride++) {
            size_t T = length[t];
            double s[MAX_T * MAX_T], b[MAX_T * MAX_T], e[MAX_T * MAX_T], product[MAX_T * MAX_T];
            hkt_rng rng = stream(10 + (uint32_t)(10 * t + stride));
            hkt_hierarchy h;
            hkt_descent d;
            normals(&rng, s, T * T);
            CHECK_OK(hkt_hierarchy_levels(&h, T, stride, 3, 2));
            for (size_t l = 0; l < 3; l++) {
                int n = (int)h.n[l];
                size_t count = h.n[l] * h.n[l], step = power(stride, l);
                hkt_hierarchy alone = {T, 1, 2, {h.n[l]}, {h.basis[l]}, {h.coef[l]}, count, NULL};
                CHECK_OK(hkt_hierarchy_descend(&alone, s, &(hkt_search){.sweeps = 1}, &d));
                level_forms(&alone, step, s, b, e);
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, e, n, b, n, 0, product, n);
                CHECK_AT_MOST(norm(product, count), 1e-13 * norm(s, T * T) * norm(s, T * T));
                cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, n, 1, b, n, e, n, 0, product, n);
                CHECK_AT_MOST(norm(product, count), 1e-13 * norm(s, T * T) * norm(s, T * T));

                memset(product, 0, sizeof product);
                for (size_t i = 0; i < T; i++)
                    for (size_t j = 0; j < T; j++)
                        product[i / step * h.n[l] + j / step] +=
                            s[i * T + j] / sqrt(block(T, step, i) * block(T, step, j));
                double all = norm(s, T * T), reached = norm(product, count), left = tail(h.n[l], product, 2);
                CHECK_NEAR(d.error, sqrt(all * all - reached * reached + left * left), 1e-13 * all);
            }
            hkt_hierarchy_free(&h);
        }
}

/* An infimum that no sum attains: with u constant on pairs, S = u a^T + b u^T is the limit, t -> 0, of the sums
 * (1/t) (u + t b) (u + t a)^T - (1/t) u u^T of rank 1 and 2 levels, whose error is t |b| |a|. The search follows:
 * errors fall while terms grow. */
static void test_not_attained(void **state)
{
    (void)state;
    enum { T = 12 };
    double s[T * T], first[T * T], second[T * T], u[T], a[T], b[T], before = (double)INFINITY, size_before = 0;
    const double t = 1e-3;
    hkt_rng rng = stream(90);
    hkt_hierarchy h;
    hkt_descent d;
    for (size_t i = 0; i < T; i++) {
        u[i] = 1 + (double)(i / 2);
        a[i] = hkt_rng_normal(&rng);
        b[i] = hkt_rng_normal(&rng);
    }
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++) {
            s[i * T + j] = u[i] * a[j] + b[i] * u[j];
            first[i * T + j] = (u[i] + t * b[i]) * (u[j] + t * a[j]) / t;
            second[i * T + j] = -u[i] * u[j] / t;
        }
    CHECK_OK(hkt_hierarchy_levels(&h, T, 2, 2, 1));
    CHECK_OK(hkt_hierarchy_set(&h, 0, first));
    CHECK_OK(hkt_hierarchy_set(&h, 1, second));
    CHECK_OK(hkt_hierarchy_descend(&h, s, &(hkt_search){0}, &d));
    CHECK_NEAR(d.error, t * norm(a, T) * norm(b, T), 1e-13 * norm(first, T * T));
    hkt_hierarchy_free(&h);

    CHECK_OK(hkt_hierarchy_levels(&h, T, 2, 2, 1));
    for (size_t sweeps = 10; sweeps <= 10000; sweeps *= 10) {
        CHECK_OK(hkt_hierarchy_descend(&h, s, &(hkt_search){.sweeps = sweeps, .tolerance = -1}, &d));
        CHECK_OK(hkt_hierarchy_term(&h, 0, first));
        assert_true(d.error < 0.8 * before && norm(first, T * T) > 1.2 * size_before);
        before = d.error;
        size_before = norm(first, T * T);
    }
    hkt_curve c;
    CHECK_OK(hkt_hierarchy_bounds(&c, s, T, 2, 2, 1));
    CHECK_AT_MOST(c.bound[1], 1e-14);
    hkt_hierarchy_free(&h);
}

/* The error of every single sweep, against the sum written out, never rises. */
static void test_monotone(void **state)
{
    (void)state;
    enum { T = 24 };
    for (uint32_t trial = 0; trial < 6; trial++) {
        double s[T * T], sum[T * T], before = (double)INFINITY;
        hkt_rng rng = stream(40 + trial);
        hkt_hierarchy h;
        normals(&rng, s, T * T);
        CHECK_OK(hkt_hierarchy_levels(&h, T, 2 + trial % 2, 4, 1 + trial));
        for (size_t sweep = 0; sweep < 40; sweep++) {
            hkt_descent d;
            CHECK_OK(hkt_hierarchy_descend(&h, s, &(hkt_search){.sweeps = 1}, &d));
            CHECK_OK(hkt_hierarchy_sum(&h, sum));
            cblas_daxpy(T * T, -1, s, 1, sum, 1);
            CHECK_NEAR(d.error, norm(sum, T * T), 1e-14 * norm(s, T * T));
            CHECK_AT_MOST(d.error, before + 1e-14 * norm(s, T * T));
            before = d.error;
        }
        for (size_t l = 0; l < 4; l++) /* ranks stay within bounds */
            if (h.n[l] > h.rank)
                CHECK_AT_MOST(tail(h.n[l], h.coef[l], h.rank), 1e-13 * norm(s, T * T));
        hkt_hierarchy_free(&h);
    }
}

/* s += U_l a b^T U_l^T, a, b normal [T_l, r]. */
static void add_random_term(hkt_rng *rng, size_t T, size_t stride, size_t l, size_t r, double *s)
{
    double a[MAX_T * 4], b[MAX_T * 4];
    normals(rng, a, hkt_level_length(T, stride, l) * r);
    normals(rng, b, hkt_level_length(T, stride, l) * r);
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            for (size_t k = 0; k < r; k++)
                s[i * T + j] += a[i / power(stride, l) * r + k] * b[j / power(stride, l) * r + k];
}

/* Sums drawn at random are found again, to a millionth of their norm, from a few starts. */
static void test_recovers(void **state)
{
    (void)state;
    for (size_t L = 2; L <= 3; L++)
        for (size_t r = 1; r <= 2; r++)
            for (uint32_t trial = 0; trial < 3; trial++) {
                enum { T = 32 };
                double s[T * T] = {0};
                hkt_rng rng = stream(100 + (uint32_t)(10 * L + r) + 100 * trial);
                hkt_hierarchy h;
                hkt_descent d;
                for (size_t l = 0; l < L; l++)
                    add_random_term(&rng, T, 2, l, r, s);
                CHECK_OK(hkt_hierarchy_levels(&h, T, 2, L, r));
                CHECK_OK(hkt_hierarchy_search(&h, s, &(hkt_search){4000, 1e-10, 6, trial}, &d));
                CHECK_AT_MOST(d.error, 1e-6 * norm(s, T * T));
                hkt_hierarchy_free(&h);
            }
}

/* A search never ends above its start, nor above the best single level; a sum given is kept. */
static void test_search(void **state)
{
    (void)state;
    enum { T = 24 };
    for (uint32_t trial = 0; trial < 5; trial++) {
        double s[T * T] = {0}, term[T * T] = {0};
        hkt_rng rng = stream(200 + trial);
        const hkt_search search = {.sweeps = 15, .tolerance = 1e-8, .random = 2, .seed = trial};
        hkt_hierarchy h;
        hkt_descent d;
        add_random_term(&rng, T, 2, 0, 2, s); /* rank 2: level 0 alone does it */
        CHECK_OK(hkt_hierarchy_levels(&h, T, 2, 3, 2));
        CHECK_OK(hkt_hierarchy_search(&h, s, &search, &d));
        CHECK_AT_MOST(d.error, 1e-13 * norm(s, T * T));
        hkt_hierarchy_free(&h);

        normals(&rng, s, T * T);
        CHECK_OK(hkt_hierarchy_levels(&h, T, 2, 3, 2));
        add_random_term(&rng, T, 2, 1, 2, term);
        CHECK_OK(hkt_hierarchy_set(&h, 1, term));
        double sum[T * T];
        CHECK_OK(hkt_hierarchy_sum(&h, sum));
        CHECK_AT_MOST(check_relative(sum, term, T * T), 1e-14);
        CHECK_OK(hkt_hierarchy_search(&h, s, &search, &d));
        CHECK_AT_MOST(d.error, tail(T, s, 2) * (1 + 1e-14));
        hkt_hierarchy_free(&h);
    }
}

/* --- faults --- */

static void test_faults(void **state)
{
    (void)state;
    const hkt_search search = {.sweeps = 3};
    hkt_hierarchy h;
    hkt_descent d;
    hkt_curve c;
    double s[64] = {0}, x[64] = {0};
    const double *xs[] = {x, x};
    CHECK_FAILS(hkt_hierarchy_curve(&c, s, 8, 2, 3, 1, &search), HKT_ENUMERIC,
                "a matrix that is not zero, found norm 0");
    s[9] = (double)NAN;
    CHECK_FAILS(hkt_hierarchy_curve(&c, s, 8, 2, 3, 1, &search), HKT_ENUMERIC, "found norm nan");
    CHECK_OK(hkt_hierarchy_levels(&h, 8, 2, 2, 1));
    CHECK_FAILS(hkt_hierarchy_descend(&h, s, &search, &d), HKT_ENUMERIC, "found nan at 9");
    CHECK_FAILS(hkt_hierarchy_search(&h, s, &search, &d), HKT_ENUMERIC, "found nan at 9");
    hkt_hierarchy_free(&h);
    x[3] = (double)INFINITY;
    CHECK_FAILS(hkt_hierarchy_inputs(&h, 8, 2, 2, 1, 4, xs), HKT_ENUMERIC, "level input: expected finite elements");
    hkt_hierarchy_free(&h);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_level_bases), cmocka_unit_test(test_input_bases),  cmocka_unit_test(test_one_level),
        cmocka_unit_test(test_stationary),  cmocka_unit_test(test_not_attained), cmocka_unit_test(test_monotone),
        cmocka_unit_test(test_recovers),    cmocka_unit_test(test_search),       cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

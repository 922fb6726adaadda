/* The hierarchical Gram matrix by structure against its definition with every matrix written out, and the linear
 * algebra below it. */
#include "tests/check.h"

#include <float.h>

#include "analysis/math/certify.h"
#include "analysis/view/gram.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"

enum { MAX_T = 100, MAX_D = 6 };

/* A Gram matrix with random level inputs (independent ones: nothing here depends on the downsampling). */
typedef struct {
    hkt_gram g;
    double x[3][MAX_T * MAX_D], ms[3][MAX_D * MAX_D];
} sample;

static sample make(size_t T, size_t d, size_t L, size_t stride, uint32_t sub)
{
    sample s = {.g = {.T = T, .d = d, .L = L, .stride = stride}};
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, sub);
    for (size_t l = 0; l < L; l++) {
        for (size_t i = 0; i < MAX_T * MAX_D; i++)
            s.x[l][i] = hkt_rng_normal(&rng);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j <= i; j++)
                s.ms[l][i * d + j] = s.ms[l][j * d + i] = hkt_rng_normal(&rng);
        s.g.lambda[l] = 0.2 + hkt_rng_uniform(&rng);
    }
    return s;
}

/* The pointers of a copy must point into the copy. */
static hkt_gram *gram(sample *s)
{
    for (size_t l = 0; l < s->g.L; l++) {
        s->g.x[l] = s->x[l];
        s->g.ms[l] = s->ms[l];
    }
    return &s->g;
}

static long double wide(double x)
{
    return (long double)x;
}

/* Entry of U_l: (U_l)_{i,j} = 1 iff j = floor(i / s^l). */
static double upsampling(size_t i, size_t j, size_t stride, size_t l)
{
    size_t step = 1;
    for (size_t k = 0; k < l; k++)
        step *= stride;
    return j == i / step;
}

/* sum_l lambda_l U_l X M X^T U_l^T with explicit U_l, in extended precision, as quadruple loops of the definition. */
static void naive_dense(const hkt_gram *g, double *out)
{
    for (size_t i = 0; i < g->T; i++)
        for (size_t j = 0; j < g->T; j++) {
            long double sum = 0;
            for (size_t l = 0; l < g->L; l++) {
                size_t n = hkt_level_length(g->T, g->stride, l);
                for (size_t a = 0; a < n; a++)
                    for (size_t b = 0; b < n && upsampling(i, a, g->stride, l) > 0; b++)
                        for (size_t k = 0; k < g->d * g->d && upsampling(j, b, g->stride, l) > 0; k++)
                            sum += wide(g->lambda[l]) * wide(g->x[l][a * g->d + k / g->d]) * wide(g->ms[l][k]) *
                                   wide(g->x[l][b * g->d + k % g->d]);
            }
            out[i * g->T + j] = (double)sum;
        }
}

static void test_dense(void **state)
{
    (void)state;
    static const size_t length[] = {1, 2, 7, 16, 33};
    for (size_t t = 0; t < 5; t++)
        for (size_t L = 1; L <= 3; L++)
            for (size_t stride = 2; stride <= 3; stride++) {
                size_t T = length[t];
                double dense[33 * 33], naive[33 * 33];
                sample s = make(T, 4, L, stride, (uint32_t)(t + 10 * L + 100 * stride));
                CHECK_OK(hkt_gram_dense(gram(&s), dense));
                naive_dense(gram(&s), naive);
                CHECK_AT_MOST(check_relative(dense, naive, T * T), 40 * DBL_EPSILON);
                for (size_t i = 0; i < T; i++)
                    for (size_t j = 0; j < T; j++)
                        assert_true(dense[i * T + j] == dense[j * T + i]);
            }
}

static void test_form(void **state)
{
    (void)state;
    enum { D = 5, P = 3 };
    double wq[P * D], wk[P * D], ms[D * D];
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 3);
    for (size_t i = 0; i < P * D; i++) {
        wq[i] = hkt_rng_normal(&rng);
        wk[i] = hkt_rng_normal(&rng);
    }
    hkt_score_form_sym(D, P, wq, wk, ms);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            double m = 0;
            for (size_t r = 0; r < P; r++)
                m += (wq[r * D + i] * wk[r * D + j] + wq[r * D + j] * wk[r * D + i]) / (2 * sqrt(P));
            CHECK_NEAR(ms[i * D + j], m, 20 * DBL_EPSILON);
            assert_true(ms[i * D + j] == ms[j * D + i]);
        }
}

/* min(T, Ld) eigenvalues by structure and T - min(T, Ld) zeros, against the dense spectrum. */
static void test_eigenvalues(void **state)
{
    (void)state;
    static const size_t length[] = {1, 3, 11, 12, 13, 64, 100};
    for (size_t t = 0; t < 7; t++)
        for (size_t L = 1; L <= 3; L++) {
            size_t T = length[t], d = 4, k = T < L * d ? T : L * d;
            double dense[MAX_T * MAX_T], full[MAX_T], w[12];
            sample s = make(T, d, L, 2, (uint32_t)(1000 + t + 10 * L));
            CHECK_OK(hkt_gram_eigenvalues(gram(&s), w));
            CHECK_OK(hkt_gram_dense(gram(&s), dense));
            CHECK_OK(hkt_eigenvalues(T, dense, full));
            double top = fmax(fabs(full[0]), fabs(full[T - 1]));
            for (size_t i = 0, below = 0; i < T; i++) {
                below += i < k && w[i] < 0;
                double mine = i < below ? w[i] : i < below + T - k ? 0 : w[i - (T - k)];
                CHECK_NEAR(mine, full[i], 1e-13 * top);
            }
        }
}

static void test_rank_and_witness(void **state)
{
    (void)state;
    double v[MAX_T], value, error, norm, sum = 0;
    size_t rank;
    sample s = make(100, 4, 3, 2, 4);
    CHECK_OK(hkt_gram_rank(gram(&s), &rank, &norm));
    assert_int_equal(rank, 12);
    for (size_t l = 0; l < 3; l++)
        for (size_t i = 0; i < 100; i++)
            for (size_t c = 0; c < 4; c++)
                sum += s.x[l][(i >> l) * 4 + c] * s.x[l][(i >> l) * 4 + c];
    CHECK_NEAR(norm, sqrt(sum), 1e-12 * norm);

    double w[12], dense[MAX_T * MAX_T], direct = 0, length = 0;
    CHECK_OK(hkt_gram_eigenvalues(gram(&s), w));
    assert_true(w[0] < 0);
    CHECK_OK(hkt_gram_witness(gram(&s), v, &value));
    CHECK_OK(hkt_gram_dense(gram(&s), dense));
    for (size_t i = 0; i < 100; i++) {
        length += v[i] * v[i];
        for (size_t j = 0; j < 100; j++)
            direct += v[i] * dense[i * 100 + j] * v[j];
    }
    CHECK_NEAR(length, 1, 1e-13);
    CHECK_NEAR(value, w[0], 1e-12 * fabs(w[0]));
    CHECK_NEAR(direct, w[0], 1e-12 * fabs(w[0]));
    CHECK_OK(hkt_gram_quadratic(gram(&s), v, &direct, &error));
    assert_true(direct == value && value + error < 0);

    for (size_t i = 0; i < 100; i++) /* a column twice: no witness is promised */
        s.x[0][i * 4 + 1] = s.x[0][i * 4];
    CHECK_OK(hkt_gram_rank(gram(&s), &rank, NULL));
    assert_int_equal(rank, 11);
    CHECK_FAILS(hkt_gram_witness(gram(&s), v, &value), HKT_EINPUT, "full column rank 12, found rank 11");

    sample psd = make(100, 4, 2, 2, 5);
    for (size_t l = 0; l < 2; l++)
        CHECK_OK(hkt_psd_projection(4, psd.ms[l], psd.ms[l]));
    CHECK_OK(hkt_gram_witness(gram(&psd), v, &value));
    CHECK_OK(hkt_gram_quadratic(gram(&psd), v, &value, &error));
    assert_true(value + error >= 0);
}

/* The bound of the structured quotient holds against extended precision, and is not far above what it must be. */
static void test_quadratic(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 50; trial++) {
        sample s = make(60, 5, 3, 2, 200 + trial);
        const hkt_gram *g = gram(&s);
        double v[60], value, error;
        long double exact = 0, size = 0;
        hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 300 + trial);
        for (size_t i = 0; i < 60; i++)
            v[i] = hkt_rng_normal(&rng);
        for (size_t l = 0; l < 3; l++) {
            long double w[5] = {0}, a[5] = {0};
            for (size_t i = 0; i < 60; i++)
                for (size_t c = 0; c < 5; c++) {
                    long double term = wide(v[i]) * wide(s.x[l][(i >> l) * 5 + c]);
                    w[c] += term;
                    a[c] += fabsl(term);
                }
            for (size_t c = 0; c < 25; c++) {
                exact += wide(g->lambda[l]) * w[c / 5] * wide(s.ms[l][c]) * w[c % 5];
                size += wide(g->lambda[l]) * a[c / 5] * fabsl(wide(s.ms[l][c])) * a[c % 5];
            }
        }
        CHECK_OK(hkt_gram_quadratic(g, v, &value, &error));
        assert_true(fabsl(wide(value) - exact) <= wide(error));
        CHECK_AT_MOST(error, (double)size * 4 * hkt_gamma(2 * 60 + 2 * (2 * 5 + 7)));
    }
}

/* Rows near 1000 and a centred v: w = X^T v cancels, so that its own error is the larger part of the bound. */
static void test_quadratic_cancels(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 400; trial++) {
        sample s = make(60, 5, 2, 2, 600 + trial);
        const hkt_gram *g = gram(&s);
        double v[60], mean = 0, value, error;
        long double exact = 0;
        hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 5000 + trial);
        for (size_t i = 0; i < 60; i++)
            mean += (v[i] = hkt_rng_normal(&rng)) / 60;
        for (size_t i = 0; i < 60; i++)
            v[i] -= mean;
        for (size_t l = 0; l < 2; l++) {
            long double w[5] = {0};
            for (size_t i = 0; i < 300; i++)
                s.x[l][i] += 1000;
            for (size_t i = 0; i < 300; i++)
                w[i % 5] += wide(v[i / 5]) * wide(s.x[l][(i / 5 >> l) * 5 + i % 5]);
            for (size_t c = 0; c < 25; c++)
                exact += wide(g->lambda[l]) * w[c / 5] * wide(s.ms[l][c]) * w[c % 5];
        }
        CHECK_OK(hkt_gram_quadratic(g, v, &value, &error));
        assert_true(fabsl(wide(value) - exact) <= wide(error));
    }
}

/* inertia(Z D Z^T) = inertia(D), padded, for every signature of D (Sylvester). */
static void test_inertia(void **state)
{
    (void)state;
    for (size_t positive = 0; positive <= 4; positive++)
        for (size_t negative = 0; positive + negative <= 4; negative++) {
            sample s = make(64, 4, 2, 2, (uint32_t)(400 + 10 * positive + negative));
            double w[8], form[64], d[8];
            for (size_t l = 0; l < 2; l++) {
                memset(s.ms[l], 0, sizeof s.ms[l]);
                for (size_t i = 0; i < 4; i++)
                    s.ms[l][i * 4 + i] = i < positive ? 1 : i < positive + negative ? -2 : 0;
            }
            CHECK_OK(hkt_gram_eigenvalues(gram(&s), w));
            hkt_inertia in = hkt_inertia_of(8, w, hkt_gram_tolerance(gram(&s), NULL, (double)NAN));
            assert_int_equal(in.positive, 2 * positive);
            assert_int_equal(in.negative, 2 * negative);
            hkt_gram_form(gram(&s), form);
            CHECK_OK(hkt_eigenvalues(8, form, d));
            assert_int_equal(hkt_inertia_of(8, d, 0).zero, in.zero);
            CHECK_NEAR(form[0], s.g.lambda[0] * s.ms[0][0], 0);
            CHECK_NEAR(form[4 * 8 + 4], s.g.lambda[1] * s.ms[1][0], 0);
            CHECK_NEAR(form[4], 0, 0);
        }
}

/* R^T R = Z^T Z for fewer rows than columns, exactly the buffer, and many buffers. */
static void test_tsqr(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 5, 6, 7, 88, 89, 1000};
    enum { N = 6 }; /* buffer: 4 N + 64 = 88 rows */
    for (size_t t = 0; t < 7; t++) {
        hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 500);
        hkt_tsqr *qr;
        double normal[N * N] = {0}, back[N * N] = {0}, r[N * N], *row;
        size_t k;
        CHECK_OK(hkt_tsqr_create(&qr, N));
        for (size_t i = 0; i < rows[t]; i++) {
            CHECK_OK(hkt_tsqr_next(qr, &row));
            for (size_t c = 0; c < N; c++)
                row[c] = hkt_rng_normal(&rng);
            for (size_t c = 0; c < N * N; c++)
                normal[c] += row[c / N] * row[c % N];
        }
        CHECK_OK(hkt_tsqr_finish(qr, r, &k));
        hkt_tsqr_destroy(qr);
        assert_int_equal(k, rows[t] < N ? rows[t] : N);
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < N * N; c++)
                back[c] += r[i * N + c / N] * r[i * N + c % N];
        CHECK_AT_MOST(check_relative(back, normal, N * N), 1e-13);
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < i; c++)
                assert_true(r[i * N + c] == 0);
    }
}

static void test_linalg(void **state)
{
    (void)state;
    /* Tridiagonal (-1, 2, -1): eigenvalues 2 - 2 cos(k pi/(n+1)). */
    enum { N = 20 };
    double a[N * N] = {0}, w[N], v[N], lowest, projected[N * N];
    for (size_t i = 0; i < N; i++) {
        a[i * N + i] = 2;
        if (i > 0)
            a[i * N + i - 1] = a[(i - 1) * N + i] = -1;
    }
    CHECK_OK(hkt_eigenvalues(N, a, w));
    for (size_t k = 0; k < N; k++)
        CHECK_NEAR(w[k], 2 - 2 * cos((double)(k + 1) * acos(-1) / (N + 1)), 10 * DBL_EPSILON * 4);
    CHECK_OK(hkt_eigen_lowest(N, a, &lowest, v));
    CHECK_NEAR(lowest, w[0], 1e-14);
    for (size_t i = 0; i < N; i++) {
        double av = 0;
        for (size_t j = 0; j < N; j++)
            av += a[i * N + j] * v[j];
        CHECK_NEAR(av, lowest * v[i], 1e-13);
    }
    CHECK_OK(hkt_psd_projection(N, a, projected)); /* already PSD */
    CHECK_AT_MOST(check_relative(projected, a, N * N), 1e-13);
    for (size_t i = 0; i < N; i++)
        a[i * N + i] -= 2;
    double before[N], after[N];
    CHECK_OK(hkt_eigenvalues(N, a, before));
    CHECK_OK(hkt_psd_projection(N, a, projected));
    CHECK_OK(hkt_eigenvalues(N, projected, after));
    for (size_t k = 0; k < N; k++)
        CHECK_NEAR(after[k], fmax(before[k], 0), 1e-13);
    /* Rows (3, 0, 4) and (0, 5, 0): singular values 5, 5; twice the same row: rank 1. */
    double m[6] = {3, 0, 4, 0, 5, 0}, sv[2];
    CHECK_OK(hkt_singular_values(2, 3, m, sv));
    CHECK_NEAR(sv[0], 5, 1e-14);
    CHECK_NEAR(sv[1], 5, 1e-14);
    assert_int_equal(hkt_rank_of(2, 3, sv), 2);
    memcpy(m + 3, m, 3 * sizeof *m);
    CHECK_OK(hkt_singular_values(2, 3, m, sv));
    assert_int_equal(hkt_rank_of(2, 3, sv), 1);
    a[3] = (double)NAN;
    CHECK_FAILS(hkt_eigenvalues(N, a, w), HKT_ENUMERIC, "finite");
    CHECK_FAILS(hkt_psd_projection(N, a, projected), HKT_ENUMERIC, "finite");
    CHECK_FAILS(hkt_singular_values(N, N, a, w), HKT_ENUMERIC, "finite");
}

static void test_inertia_of(void **state)
{
    (void)state;
    double w[] = {-1, -3 * DBL_EPSILON, 0, 5 * DBL_EPSILON, 6 * DBL_EPSILON, 1};
    hkt_inertia in = hkt_inertia_of(6, w, 5 * DBL_EPSILON); /* the tolerance itself counts as 0 */
    assert_int_equal(in.negative, 1);
    assert_int_equal(in.zero, 3);
    assert_int_equal(in.positive, 2);
}

static void test_memory(void **state)
{
    (void)state;
    sample s = make(40, 4, 2, 2, 6);
    double v[40], value;
    size_t live = hkt_mem_live();
    for (size_t n = 1;; n++) {
        hkt_mem_fail_at(n);
        hkt_status status = hkt_gram_witness(gram(&s), v, &value);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        if (!failed)
            break;
    }
}

/* Forms of a few units of 2^-1074 and inputs from 2^-3 to 2^80: products of a row underflow and are multiplied by large
 * numbers. In extended precision all of it is exact (v = 1, integers times powers of two). */
static void test_quadratic_underflow(void **state)
{
    (void)state;
    enum { D = 4 };
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 71);
    size_t lost = 0;
    for (size_t trial = 0; trial < 400; trial++) {
        double x[D], ms[D * D], v = 1, value, error;
        for (size_t i = 0; i < D; i++) {
            x[i] = ldexp(floor(7 * hkt_rng_uniform(&rng)) - 3, (int)(83 * hkt_rng_uniform(&rng)) - 3);
            for (size_t j = 0; j <= i; j++)
                ms[i * D + j] = ms[j * D + i] = 0x1p-1074 * (floor(5 * hkt_rng_uniform(&rng)) - 2);
        }
        hkt_gram g = {.T = 1, .d = D, .L = 1, .stride = 2, .x = {x}, .ms = {ms}, .lambda = {1}};
        CHECK_OK(hkt_gram_quadratic(&g, &v, &value, &error));
        long double exact = 0;
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < D; j++)
                exact += wide(x[i]) * (wide(ms[i * D + j]) * wide(x[j]));
        long double off = fabsl(wide(value) - exact);
        assert_true(off <= wide(error));
        lost += off > 0x1p-1020L; /* far more than the other terms */
    }
    assert_true(lost > 40);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_eigenvalues),
        cmocka_unit_test(test_rank_and_witness),
        cmocka_unit_test(test_quadratic),
        cmocka_unit_test(test_quadratic_cancels),
        cmocka_unit_test(test_inertia),
        cmocka_unit_test(test_tsqr),
        cmocka_unit_test(test_linalg),
        cmocka_unit_test(test_inertia_of),
        cmocka_unit_test(test_quadratic_underflow),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ranks modulo 2^61 - 1: residues are exact, ranks of matrices of known rank come out, and the ranks that decide an
 * inertia are those of the definition. */
#include "tests/check.h"

#include "analysis/math/modular.h"
#include "analysis/view/gram.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"

static const uint64_t P = ((uint64_t)1 << 61) - 1;

/* Known values: 2^61 = 1, 1/2 = 2^60, -1 = P - 1, an integer itself. */
static void test_residues(void **state)
{
    (void)state;
    static const struct {
        double x;
        uint64_t residue;
    } known[] = {{0, 0},
                 {-0.0, 0},
                 {1, 1},
                 {3, 3},
                 {0x1p60, (uint64_t)1 << 60},
                 {0x1p61, 1},
                 {0x1p62, 2},
                 {0x1p122, 1},
                 {0x1p1000, (uint64_t)1 << 24},
                 {0.5, (uint64_t)1 << 60},
                 {0x1p-61, 1},
                 {0x1p-1074, (uint64_t)1 << 24},
                 {6755399441055745.0, 6755399441055745u}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(hkt_modular_of(known[i].x) == known[i].residue);
        assert_true(hkt_modular_of(-known[i].x) == (known[i].residue ? P - known[i].residue : 0));
    }
    assert_true(hkt_modular_of((double)NAN) == 0 && hkt_modular_of((double)INFINITY) == 0);
    /* Sums and products of doubles are those of their residues, also where doubles would round. */
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 1);
    for (int t = 0; t < 20000; t++) {
        double a = ldexp(hkt_rng_normal(&rng), (int)hkt_rng_below(&rng, 80) - 40), b = hkt_rng_normal(&rng);
        double high = a * b, low = fma(a, b, -high); /* a b = high + low exactly */
        uint64_t x[2], one[2] = {1, 1}, y, sum, ra = hkt_modular_of(a), rb = hkt_modular_of(b);
        hkt_modular_product(1, 1, 1, &ra, &rb, &y);
        hkt_modular_from(2, (double[]){high, low}, x);
        hkt_modular_product(1, 1, 2, x, one, &sum);
        assert_true(y == sum && y < P);
    }
}

/* Sums of r outer products of small integers, exact in double: rank r, whatever the shape, scaled rows included. */
static void test_rank(void **state)
{
    (void)state;
    enum { M = 13, N = 9 };
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 2);
    for (size_t r = 0; r <= N; r++)
        for (int t = 0; t < 20; t++) {
            double a[M * N] = {0};
            uint64_t residue[M * N], transposed[N * M];
            for (size_t k = 0; k < r; k++) {
                double u[M], v[N];
                for (size_t i = 0; i < M; i++)
                    u[i] = (double)hkt_rng_below(&rng, 2001) - 1000;
                for (size_t j = 0; j < N; j++)
                    v[j] = (double)hkt_rng_below(&rng, 2001) - 1000;
                for (size_t i = 0; i < M * N; i++)
                    a[i] += u[i / N] * v[i % N];
            }
            for (size_t i = 0; i < M * N; i++)
                a[i] = ldexp(a[i], (int)(37 * (i / N)) - 200);
            hkt_modular_from(M * N, a, residue);
            for (size_t i = 0; i < M * N; i++)
                transposed[i % N * M + i / N] = residue[i];
            size_t rank = 99;
            CHECK_OK(hkt_modular_rank(M, N, residue, &rank));
            assert_int_equal(rank, r);
            CHECK_OK(hkt_modular_rank(N, M, transposed, &rank));
            assert_int_equal(rank, r);
        }
    /* The first rows are 0 and multiples of one another: no pivot in the first column. */
    double few[4 * 3] = {0, 0, 0, 0, 2, 4, 0, 1, 2, 0, 0, 1};
    uint64_t residue[4 * 3];
    size_t rank;
    hkt_modular_from(12, few, residue);
    CHECK_OK(hkt_modular_rank(4, 3, residue, &rank));
    assert_int_equal(rank, 2);
}

enum { T = 40, D = 12, WIDTH = 4, LEVELS = 2 };

typedef struct {
    hkt_gram g;
    double x[LEVELS][T * D], ms[LEVELS][D * D], wq[LEVELS][WIDTH * D], wk[LEVELS][WIDTH * D];
    const double *q[LEVELS], *k[LEVELS];
} head;

/* Rows of X are shifted by `bias` along the last direction, which Wq and Wk do not see. */
static void make_head(head *h, double bias)
{
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 3);
    *h = (head){.g = {.T = T, .d = D, .L = LEVELS, .stride = 2, .lambda = {0.25, 0.75}}};
    for (size_t l = 0; l < LEVELS; l++) {
        for (size_t i = 0; i < T * D; i++)
            h->x[l][i] = hkt_rng_normal(&rng) + (i % D == D - 1 ? bias : 0);
        for (size_t i = 0; i < (size_t)WIDTH * D; i++) {
            h->wq[l][i] = i % D == D - 1 ? 0 : hkt_rng_normal(&rng);
            h->wk[l][i] = i % D == D - 1 ? 0 : hkt_rng_normal(&rng);
        }
        hkt_score_form_sym(D, WIDTH, h->wq[l], h->wk[l], h->ms[l]);
        h->g.x[l] = h->x[l];
        h->g.ms[l] = h->ms[l];
        h->q[l] = h->wq[l];
        h->k[l] = h->wk[l];
    }
}

/* A bias of the inputs along a direction that the forms ignore leaves the inertia, and makes eigenvalues that are 0 in
 * truth as large as eps |Z|^2 |D|: counted by n eps max|lambda| they would be signs, counted by the tolerance they are
 * not. */
static void test_ignored_direction(void **state)
{
    (void)state;
    static const double bias[] = {0, 40, 1e4, 1e6};
    for (size_t i = 0; i < 4; i++) {
        head h;
        make_head(&h, bias[i]);
        /* Rotate in the plane of the ignored direction and another one, so that rounding reaches the form. */
        for (size_t l = 0; l < LEVELS; l++) {
            const double c = 0.6, s = 0.8;
            for (size_t r = 0; r < T; r++) {
                double *x = h.x[l] + r * D, a = x[0], b = x[D - 1];
                x[0] = c * a + s * b;
                x[D - 1] = c * b - s * a;
            }
            double *rows[2] = {h.wq[l], h.wk[l]};
            for (size_t r = 0; r < (size_t)2 * WIDTH; r++) {
                double *w = rows[r / WIDTH] + r % WIDTH * D, a = w[0];
                w[0] = c * a;
                w[D - 1] = -s * a;
            }
            hkt_score_form_sym(D, WIDTH, h.wq[l], h.wk[l], h.ms[l]);
        }
        double w[LEVELS * D];
        size_t rank, full;
        CHECK_OK(hkt_gram_eigenvalues(&h.g, w));
        hkt_inertia in = hkt_inertia_of(LEVELS * D, w, hkt_gram_tolerance(&h.g, NULL, (double)NAN));
        assert_true(in.positive <= LEVELS * WIDTH && in.negative <= LEVELS * WIDTH);
        if (bias[i] < 1e3)
            assert_true(in.positive == LEVELS * WIDTH && in.negative == LEVELS * WIDTH);
        CHECK_OK(hkt_gram_form_rank(&h.g, WIDTH, h.q, h.k, T, &rank, &full));
        assert_int_equal(full, 2 * WIDTH * LEVELS);
        assert_int_equal(rank, full);
    }
}

/* A level of weight 0 has no columns; tied keys and repeated inputs lose rank; few rows prove less, not more. */
static void test_form_ranks(void **state)
{
    (void)state;
    head h;
    size_t rank, full;
    make_head(&h, 0);
    CHECK_OK(hkt_form_rank(D, WIDTH, h.wq[0], h.wk[0], &rank));
    assert_int_equal(rank, 2 * WIDTH);
    CHECK_OK(hkt_form_rank(D, WIDTH, h.wq[0], h.wq[0], &rank));
    assert_int_equal(rank, WIDTH);
    CHECK_OK(hkt_gram_proved_rank(&h.g, T, &rank));
    assert_int_equal(rank, LEVELS * D);
    CHECK_OK(hkt_gram_proved_rank(&h.g, 7, &rank));
    assert_int_equal(rank, 7);
    for (size_t i = 0; i < T; i++)
        h.x[1][i * D] = h.x[1][i * D + 1];
    CHECK_OK(hkt_gram_proved_rank(&h.g, T, &rank));
    assert_int_equal(rank, LEVELS * D - 1);
    h.g.lambda[1] = 0;
    CHECK_OK(hkt_gram_form_rank(&h.g, WIDTH, h.q, h.k, T, &rank, &full));
    assert_int_equal(full, 2 * WIDTH);
    assert_int_equal(rank, 2 * WIDTH);
    h.k[0] = h.q[0];
    CHECK_OK(hkt_gram_form_rank(&h.g, WIDTH, h.q, h.k, T, &rank, &full));
    assert_int_equal(rank, WIDTH);
}

/* |Z|_F^2 counts a row of level l once for every token: the tolerance is that of Z written out. */
static void test_tolerance(void **state)
{
    (void)state;
    head h;
    make_head(&h, 3);
    h.g.T = 39; /* the last row of level 1 stands for one token */
    double z = 0, form = 0;
    for (size_t i = 0; i < 39; i++)
        for (size_t c = 0; c < D; c++)
            z += h.x[0][i * D + c] * h.x[0][i * D + c] + h.x[1][i / 2 * D + c] * h.x[1][i / 2 * D + c];
    for (size_t i = 0; i < D * D; i++)
        form += pow(0.25 * h.ms[0][i], 2) + pow(0.75 * h.ms[1][i], 2);
    double expected = (39 + LEVELS * D) * 0x1p-52 * z * sqrt(form), size[] = {2, 1};
    CHECK_NEAR(hkt_gram_tolerance(&h.g, NULL, (double)NAN), expected, 1e-13 * expected);
    CHECK_NEAR(hkt_gram_tolerance(&h.g, NULL, sqrt(z)), expected, 1e-13 * expected);
    expected *= sqrt(0.25 + 0.5625) / sqrt(form);
    CHECK_NEAR(hkt_gram_tolerance(&h.g, size, (double)NAN), expected, 1e-13 * expected);
}

static void test_memory(void **state)
{
    (void)state;
    head h;
    size_t rank, full, live = hkt_mem_live();
    make_head(&h, 0);
    for (size_t n = 1;; n++) {
        hkt_mem_fail_at(n);
        hkt_status status = hkt_gram_form_rank(&h.g, WIDTH, h.q, h.k, T, &rank, &full);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
        if (!failed)
            break;
        assert_int_equal(status, HKT_ESYSTEM);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_residues),          cmocka_unit_test(test_rank),
                                       cmocka_unit_test(test_ignored_direction), cmocka_unit_test(test_form_ranks),
                                       cmocka_unit_test(test_tolerance),         cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

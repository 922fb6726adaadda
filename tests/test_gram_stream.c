/* The streamed factor of Z against the same levels in memory, by structure and by dense LAPACK. */
#include "tests/check.h"

#include <float.h>

#include "analysis/view/stream.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/config.h"
#include "num/blas.h"

enum { MAX_L = 3 };

typedef struct {
    hkt_gram_stream st;
    hkt_gram g;
    double *mem, *x[MAX_L], *ms, *r;
} scene;

static double *take(double **at, size_t n)
{
    double *p = *at;
    *at += n;
    return p;
}

static void scene_open(scene *s, size_t T, size_t d, size_t L, size_t stride)
{
    *s = (scene){.st = {.T = T, .d = d, .L = L, .stride = stride, .seed = HKT_DEFAULT_SEED},
                 .g = {.T = T, .d = d, .L = L, .stride = stride}};
    size_t size = L * (T * d + d * d + stride * d) + L * d * L * d;
    CHECK_OK(HKT_NEW(&s->mem, size));
    double *at = s->mem;
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 0x61);
    for (size_t l = 0; l < L; l++) {
        double *ms = take(&at, d * d), *down = take(&at, stride * d);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j <= i; j++)
                ms[i * d + j] = ms[j * d + i] = hkt_rng_normal(&rng);
        for (size_t i = 0; i < stride * d; i++)
            down[i] = 0.5 + hkt_rng_normal(&rng);
        s->st.down[l] = down;
        s->g.ms[l] = ms;
        s->g.lambda[l] = 0.2 + hkt_rng_uniform(&rng);
        s->g.x[l] = s->x[l] = take(&at, hkt_level_length(T, stride, l) * d);
    }
    s->r = take(&at, L * d * L * d);
    hkt_gram_stream_levels(&s->st, s->x);
}

/* Row j of the next level written out from the definition. */
static void check_levels(const scene *s)
{
    size_t d = s->st.d, stride = s->st.stride;
    for (size_t l = 1; l < s->st.L; l++)
        for (size_t j = 0; j < hkt_level_length(s->st.T, stride, l); j++)
            for (size_t c = 0; c < d; c++) {
                double sum = 0, scale = 0;
                for (size_t k = 0; k < stride && k <= stride * j; k++) {
                    double term = s->st.down[l][k * d + c] * s->x[l - 1][(stride * j - k) * d + c];
                    sum += term;
                    scale += fabs(term);
                }
                CHECK_NEAR(s->x[l][j * d + c], sum, (double)(stride + 1) * DBL_EPSILON * scale);
            }
}

static double top(const double *w, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++)
        m = fmax(m, fabs(w[i]));
    return m;
}

/* Both routes are backward stable: (T + Ld) eps |Z|_F^2 |D|_F (docs/theory.md, psd, structure). */
static double tolerance(const scene *s)
{
    size_t rank;
    double z, form = 0;
    CHECK_OK(hkt_gram_rank(&s->g, &rank, &z));
    for (size_t l = 0; l < s->g.L; l++)
        for (size_t i = 0; i < s->g.d * s->g.d; i++)
            form += pow(s->g.lambda[l] * s->g.ms[l][i], 2);
    return (double)(s->g.T + s->g.L * s->g.d) * DBL_EPSILON * z * z * sqrt(form);
}

static void check_scene(size_t T, size_t d, size_t L, size_t stride)
{
    scene s;
    scene_open(&s, T, d, L, stride);
    check_levels(&s);
    size_t n = L * d, k, expected = T < n ? T : n;
    double *w = NULL;
    CHECK_OK(HKT_NEW(&w, 2 * n));
    CHECK_OK(hkt_gram_stream_factor(&s.st, s.r, &k));
    assert_int_equal(k, expected);
    CHECK_OK(hkt_gram_eigenvalues_of(&s.g, k, s.r, w));
    CHECK_OK(hkt_gram_eigenvalues(&s.g, w + n));
    for (size_t i = 0; i < k; i++)
        CHECK_NEAR(w[i], w[n + i], tolerance(&s));
    hkt_free(w);
    hkt_free(s.mem);
}

static void test_equals_in_memory(void **state)
{
    (void)state;
    const size_t shapes[][4] = {{1, 2, 1, 2},    {5, 3, 3, 2},    {97, 4, 3, 3},   {1023, 5, 3, 2},
                                {2500, 4, 2, 4}, {4099, 6, 3, 2}, {9000, 3, 3, 3}, {16384, 4, 3, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_scene(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
}

/* T = 1024, d 64, L 3: all eigenvalues of the dense matrix, to 1e-9 of the largest. */
static void test_equals_dense(void **state)
{
    (void)state;
    enum { T = 1024, D = 64, N = 3 * D };
    scene s;
    scene_open(&s, T, D, 3, 2);
    double *dense = NULL, w[N], *full = NULL;
    size_t k;
    CHECK_OK(HKT_NEW(&dense, T * T));
    CHECK_OK(HKT_NEW(&full, T));
    CHECK_OK(hkt_gram_stream_factor(&s.st, s.r, &k));
    CHECK_OK(hkt_gram_eigenvalues_of(&s.g, k, s.r, w));
    CHECK_OK(hkt_gram_dense(&s.g, dense));
    CHECK_OK(hkt_eigenvalues(T, dense, full));
    double scale = top(full, T), worst = 0;
    size_t negative = 0;
    while (negative < N && w[negative] < 0)
        negative++;
    for (size_t i = 0; i < T; i++) {
        double mine = i < negative ? w[i] : i < negative + (T - N) ? 0 : w[i - (T - N)];
        worst = fmax(worst, fabs(mine - full[i]) / scale);
    }
    print_message("streamed against dense, T = 1024: %.3g relative\n", worst);
    CHECK_AT_MOST(worst, 1e-9);
    CHECK_AT_MOST(worst, tolerance(&s) / scale);
    hkt_free(dense);
    hkt_free(full);
    hkt_free(s.mem);
}

static void test_threads_and_seed(void **state)
{
    (void)state;
    scene s;
    scene_open(&s, 3000, 4, 3, 2);
    double first[144], second[144];
    size_t k, before = hkt_threads();
    hkt_set_threads(1);
    CHECK_OK(hkt_gram_stream_factor(&s.st, first, &k));
    hkt_set_threads(2);
    CHECK_OK(hkt_gram_stream_factor(&s.st, second, &k));
    hkt_set_threads(before);
    assert_memory_equal(first, second, sizeof first);
    s.st.seed++; /* control: another sequence has another factor */
    CHECK_OK(hkt_gram_stream_factor(&s.st, second, &k));
    assert_memory_not_equal(first, second, sizeof first);
    hkt_free(s.mem);
}

static void test_refusals(void **state)
{
    (void)state;
    double r[1], down[1] = {1};
    size_t k;
    hkt_gram_stream g = {.T = 10, .d = 1, .L = HKT_MAX_LEVELS, .stride = 1000};
    for (size_t l = 0; l < HKT_MAX_LEVELS; l++)
        g.down[l] = down;
    CHECK_FAILS(hkt_gram_stream_factor(&g, r, &k), HKT_EINPUT, "groups of more than");
    g.L = 1;
    size_t live = hkt_mem_live();
    hkt_mem_fail_at(1);
    CHECK_FAILS(hkt_gram_stream_factor(&g, r, &k), HKT_ESYSTEM, "factors of the segments");
    hkt_mem_fail_at(0);
    assert_int_equal(hkt_mem_live(), live);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_in_memory),
        cmocka_unit_test(test_equals_dense),
        cmocka_unit_test(test_threads_and_seed),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_kernels.c - the kernels of a training step: fast against reference, reference against finite differences; and
 * the start of the numeric core (instruction set, BLAS core). */
#include "tests/check.h"

#include <float.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "num/isa.h"
#include "num/kernels.h"

static hkt_rng rng;

/* Normal numbers that are exact in float. */
static double *random_array(size_t n, double scale)
{
    double *x = NULL;
    CHECK_OK(HKT_NEW(&x, n));
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(float)(scale * hkt_rng_normal(&rng));
    return x;
}

static size_t random_size(size_t low, size_t high)
{
    return low + (size_t)hkt_rng_below(&rng, high - low + 1);
}

static double largest(const double *x, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++)
        m = fmax(m, fabs(x[i]));
    return m;
}

static void free_all(void *const *list)
{
    for (; *list; list++)
        hkt_free(*list);
}

/* False for NaN. */
static bool within(double got, double want, double tol)
{
    return fabs(got - want) <= tol;
}

static void linear_naive(size_t n, size_t m, size_t k, const double *x, size_t ld_x, const double *w,
                         const double *bias, double *y, const double *dy, size_t ld_y, double *dx, double *dw,
                         double *db)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < k; c++)
            dx[i * ld_x + c] = 0;
        for (size_t r = 0; r < m; r++) {
            double g = dy[i * ld_y + r];
            y[i * ld_y + r] = bias ? bias[r] : 0;
            for (size_t c = 0; c < k; c++) {
                y[i * ld_y + r] += x[i * ld_x + c] * w[r * k + c];
                dx[i * ld_x + c] += g * w[r * k + c];
                dw[r * k + c] += g * x[i * ld_x + c];
            }
            if (db)
                db[r] += g;
        }
    }
}

#define HKT_BODY "tests/test_kernels.inc.h"
#include "num/both.h"

static void test_fast_kernels(void **state)
{
    (void)state;
    for (int isa = HKT_ISA_GENERIC; isa <= HKT_ISA_AVX512 && hkt_isa_select((hkt_isa_level)isa); isa++) {
        check_all_f32();
        check_all_f64();
    }
}

/* The comparison must see an error of two bounds and NaN. */
static void test_comparison_fails(void **state)
{
    (void)state;
    double tol = 4 * (double)FLT_EPSILON;
    assert_true(within(1 + (double)FLT_EPSILON, 1, tol));
    assert_false(within(1 + 2 * tol, 1, tol) || within((double)NAN, 1, tol) || within(1, (double)NAN, tol) ||
                 within(HUGE_VAL, 1, tol));
}

static void test_dropout(void **state)
{
    (void)state;
    enum { N = 100000 };
    const double rate = 0.3;
    float *x = NULL, *y = NULL, *z = NULL;
    CHECK_OK(HKT_NEW(&x, N));
    CHECK_OK(HKT_NEW(&y, N));
    CHECK_OK(HKT_NEW(&z, N));
    for (size_t i = 0; i < N; i++)
        x[i] = 1;
    hkt_dropout_f32(N, 0, rate, 1, 2, 3, x, y);
    hkt_dropout_f32(N - 777, 777, rate, 1, 2, 3, x, z);
    assert_memory_equal(y + 777, z, (N - 777) * sizeof *z); /* a range is a part of the whole */
    size_t kept = 0, differ = 0;
    for (size_t i = 0; i < N; i++)
        kept += y[i] != 0;
    hkt_dropout_f32(N, 0, rate, 1, 3, 3, x, z);
    for (size_t i = 0; i < N; i++)
        differ += y[i] != z[i];
    /* Five standard deviations of the binomials. */
    CHECK_NEAR(kept, N * (1 - rate), 5 * sqrt(N * rate * (1 - rate)));
    CHECK_NEAR(differ, N * 2 * rate * (1 - rate), 5 * sqrt(N * 0.42 * 0.58));
    hkt_dropout_f32(N, 0, 0, 1, 2, 3, x, y);
    assert_memory_equal(x, y, N * sizeof *x);
    free_all((void *[]){x, y, z, NULL});
}

/* --- derivatives of the references ------------------------------------------------------------------------------ */

typedef struct shape shape;
struct shape {
    size_t T, d, w;
    double *x, *c, *beta, *dy; /* input, filter (or gamma), output gradient */
    size_t n_out;
    void (*forward)(const shape *s, double *y);
};

static double loss(const shape *s)
{
    double *y = random_array(s->n_out, 1), sum = 0;
    s->forward(s, y);
    for (size_t i = 0; i < s->n_out; i++)
        sum += s->dy[i] * y[i];
    hkt_free(y);
    return sum;
}

/* Central differences, h = 1e-5: truncation h^2 f'''/6 and rounding eps |f| / h stay below 1e-10 times some hundreds.
 */
static void check_derivatives(const shape *s, double *x, size_t n, const double *gradient)
{
    const double h = 1e-5;
    for (size_t i = 0; i < n; i++) {
        double kept = x[i], up, down;
        x[i] = kept + h;
        up = loss(s);
        x[i] = kept - h;
        down = loss(s);
        x[i] = kept;
        CHECK_NEAR(gradient[i], (up - down) / (2 * h), 5e-8);
    }
}

static shape shape_make(size_t T, size_t d, size_t w, size_t rows_out, void (*forward)(const shape *, double *))
{
    return (shape){.T = T,
                   .d = d,
                   .w = w,
                   .x = random_array(T * d, 1),
                   .c = random_array(w * d, 1),
                   .beta = random_array(d, 1),
                   .dy = random_array(rows_out * d, 1),
                   .n_out = rows_out * d,
                   .forward = forward};
}

static double *zeros(size_t n)
{
    double *x = NULL;
    CHECK_OK(HKT_NEW(&x, n));
    return x;
}

static void conv(const shape *s, double *y)
{
    hkt_conv_forward_ref_f64(s->T, s->d, s->w, s->x, s->d, s->c, y, s->d);
}

static void downsample(const shape *s, double *y)
{
    hkt_downsample_forward_ref_f64(s->T, s->d, s->w, s->x, s->c, y);
}

static void gelu(const shape *s, double *y)
{
    hkt_gelu_forward_ref_f64(s->n_out, s->x, y);
}

static void layernorm(const shape *s, double *y)
{
    double *mean = zeros(s->T), *rstd = zeros(s->T);
    hkt_layernorm_forward_ref_f64(s->T, s->d, s->x, s->c, s->beta, y, mean, rstd);
    free_all((void *[]){mean, rstd, NULL});
}

static void test_derivatives(void **state)
{
    (void)state;
    shape s[] = {shape_make(7, 3, 3, 7, conv),       shape_make(2, 2, 4, 2, conv),
                 shape_make(7, 3, 3, 3, downsample), shape_make(9, 2, 2, 5, downsample),
                 shape_make(1, 2, 2, 1, downsample), shape_make(4, 6, 1, 4, gelu),
                 shape_make(4, 6, 1, 4, layernorm)};
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
        const shape *t = &s[i];
        double *dx = zeros(t->T * t->d), *dc = zeros(t->w * t->d), *db = zeros(t->d), *y = zeros(t->n_out);
        double *mean = zeros(t->T), *rstd = zeros(t->T);
        if (t->forward == conv)
            hkt_conv_backward_ref_f64(t->T, t->d, t->w, t->x, t->d, t->c, t->dy, t->d, dx, t->d, dc);
        else if (t->forward == downsample)
            hkt_downsample_backward_ref_f64(t->T, t->d, t->w, t->x, t->c, t->dy, dx, dc);
        else if (t->forward == gelu)
            hkt_gelu_backward_ref_f64(t->n_out, t->x, t->dy, dx);
        else {
            hkt_layernorm_forward_ref_f64(t->T, t->d, t->x, t->c, t->beta, y, mean, rstd);
            hkt_layernorm_backward_ref_f64(t->T, t->d, t->x, t->c, mean, rstd, t->dy, dx, dc, db);
            check_derivatives(t, t->beta, t->d, db);
        }
        check_derivatives(t, t->x, t->T * t->d, dx);
        check_derivatives(t, t->c, t->w * t->d, dc);
        free_all((void *[]){dx, dc, db, y, mean, rstd, t->x, t->c, t->beta, t->dy, NULL});
    }
}

/* Known values: gelu of 0 and 1 (tanh form), downsampling of ones, convolution by a delta. */
static void test_closed_forms(void **state)
{
    (void)state;
    double x[5] = {0, 1, 2, 3, 4}, y[5], ones[2] = {0.5, 0.5}, delta[3] = {0, 0, 1};
    hkt_gelu_forward_f64(2, x, y);
    CHECK_NEAR(y[0], 0, 0);
    CHECK_NEAR(y[1], 0.84119199060827670, 4 * DBL_EPSILON); /* 1/2 (1 + tanh(sqrt(2/pi) 1.044715)) */
    hkt_downsample_forward_f64(5, 1, 2, x, ones, y);
    CHECK_NEAR(y[0], 0, 0);
    CHECK_NEAR(y[1], 1.5, 0);
    CHECK_NEAR(y[2], 3.5, 0);
    hkt_conv_forward_f64(5, 1, 3, x, 1, delta, y, 1);
    for (size_t i = 0; i < 5; i++)
        CHECK_NEAR(y[i], i < 2 ? 0 : x[i - 2], 0);
}

/* --- start ------------------------------------------------------------------------------------------------------ */

static char *self;

/* What this program prints when started with the given HKT_ISA and OPENBLAS_CORETYPE ("": unset). */
static void run_child(const char *isa, const char *core, char *out, size_t size)
{
    char command[4096];
    snprintf(command, sizeof command, "%s HKT_ISA='%s' %s%s '%s' child 'two words'", "env -u OPENBLAS_CORETYPE", isa,
             *core ? "OPENBLAS_CORETYPE=" : "", core, self);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t n = fread(out, 1, size - 1, pipe);
    out[n] = 0;
    assert_int_equal(pclose(pipe), 0);
}

static void child(char **argv)
{
    hkt_num_init(argv);
    printf("%s %s %zu %s %s\n", argv[1], argv[2], hkt_set_threads(3), hkt_isa(), hkt_blas_core());
}

static void test_start(void **state)
{
    (void)state;
    char out[512], want[512];
#if defined(__aarch64__)
    const char lowest[] = "child two words 3 neon ";
#else
    const char lowest[] = "child two words 3 generic ";
#endif
    run_child("generic", "", out, sizeof out);
    assert_memory_equal(out, lowest, sizeof lowest - 1);
    /* A processor with wide vectors must not be left on a core without them. */
    assert_true(!hkt_isa_select(HKT_ISA_AVX2) || !strstr(out, "Prescott"));
    run_child("", "Nehalem", out, sizeof out); /* an explicit wish is respected; HKT_ISA="" is ignored */
    while (hkt_isa_select((hkt_isa_level)(hkt_isa_current() + 1)))
        ;
    snprintf(want, sizeof want, "child two words 3 %s Nehalem\n", hkt_isa());
    if (hkt_isa_select(HKT_ISA_AVX2)) /* OpenBLAS for x86 */
        assert_string_equal(out, want);
    assert_int_equal(strncmp(hkt_blas_version(), "OpenBLAS ", 9), 0);
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc == 3 && !strcmp(argv[1], "child")) {
        child(argv);
        return 0;
    }
    rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 3);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_kernels), cmocka_unit_test(test_comparison_fails), cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_derivatives),  cmocka_unit_test(test_closed_forms),     cmocka_unit_test(test_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

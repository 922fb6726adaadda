/* The entropy estimate against a naive one and exact expectations; laws and their negentropy against values computed
 * elsewhere; mutual information against dense determinants; samples of scores against the definition; what the claim
 * `information` says of them. */
#include "tests/check.h"

#include <float.h>
#include <gsl/gsl_sf_psi.h>

#include "analysis/view/bands.h"
#include "analysis/claims/information/information.h"
#include "analysis/math/draw.h"
#include "analysis/math/ball.h"
#include "analysis/math/entropy.h"
#include "analysis/math/laws.h"
#include "analysis/view/sample.h"
#include "analysis/view/scores.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "num/kernels.h"
#include "tests/claim_check.h"
#include "tests/naive_scores.h"

#define PI    3.14159265358979323846
#define EULER 0.57721566490153286061

/* --- the spacing estimate --- */

/* psi(k) of an integer. */
static double harmonic_psi(size_t k)
{
    double sum = -EULER;
    for (size_t i = 1; i < k; i++)
        sum += 1 / (double)i;
    return sum;
}

/* Straight from entropy.h, x sorted, indices from 1. */
static double naive_spacing(const double *x, size_t n, size_t m)
{
    double vasicek = 0, psi = 0;
    for (size_t i = 1; i <= n; i++) {
        size_t hi = i + m > n ? n : i + m, lo = i <= m ? 1 : i - m;
        vasicek += log((double)n / (2.0 * (double)m) * (x[hi - 1] - x[lo - 1])) / (double)n;
        psi += harmonic_psi(hi - lo) / (double)n;
    }
    return vasicek - (log((double)n / (2.0 * (double)m)) - harmonic_psi(n + 1) + psi);
}

static void test_spacing(void **state)
{
    (void)state;
    double x[101], y[101], h, scaled;
    hkt_rng rng = hkt_rng_make(1, HKT_STREAM_TEST, 1);
    for (size_t n = 3; n <= 101; n += 7)
        for (size_t m = 1; m <= (n - 1) / 2; m += 3) {
            x[0] = hkt_rng_normal(&rng);
            for (size_t i = 1; i < n; i++)
                x[i] = x[i - 1] + hkt_rng_uniform(&rng) + 0.01;
            for (size_t i = 0; i < n; i++)
                y[i] = -3 * x[n - 1 - i] + 7;
            double expected = naive_spacing(x, n, m);
            CHECK_OK(hkt_entropy_spacing(x, n, m, &h));
            CHECK_NEAR(h, expected, 1e-13 * (double)n);
            hkt_rng shuffle = rng;
            for (size_t i = n - 1; i > 0; i--) { /* any order */
                size_t k = hkt_rng_below(&shuffle, i + 1);
                double t = y[i];
                y[i] = y[k];
                y[k] = t;
            }
            CHECK_OK(hkt_entropy_spacing(y, n, m, &scaled));
            CHECK_NEAR(scaled, h + log(3), 1e-12);
        }
    /* {0, 1, 3}, m = 1: spacings 1, 3, 2 over 1, 2, 1 places; psi(4) - (2 psi(1) + psi(2))/3 = 3/2. */
    double three[] = {3, 0, 1};
    CHECK_OK(hkt_entropy_spacing(three, 3, 1, &h));
    CHECK_NEAR(h, log(6) / 3 + 1.5, 1e-15);
}

static void test_spacing_errors(void **state)
{
    (void)state;
    double h = 0, x[] = {1, 2, 3, 4, 5}, two[] = {1, 2, 2, 1, 2}, bad[] = {1, (double)NAN, 2},
           far[] = {1, (double)INFINITY, 2};
    CHECK_FAILS(hkt_entropy_spacing(x, 2, 1, &h), HKT_EINPUT, "at least 3 values, found 2");
    assert_true(isnan(h));
    CHECK_FAILS(hkt_entropy_spacing(two, 5, 1, &h), HKT_EINPUT, "expected distinct values, found 3 of 5 equal to 2");
    assert_true(isnan(h));
    CHECK_FAILS(hkt_entropy_spacing(bad, 3, 1, &h), HKT_EINPUT, "finite");
    CHECK_FAILS(hkt_entropy_spacing(far, 3, 1, &h), HKT_EINPUT, "finite");
    assert_true(isnan(h));
    assert_int_equal(hkt_entropy_spacing_window(1), 1);
    assert_int_equal(hkt_entropy_spacing_window(5), 2);
    assert_int_equal(hkt_entropy_spacing_window(1296), 6);
    assert_int_equal(hkt_entropy_spacing_window(1297), 7);
}

/* Ties: repeats of every value change nothing; nor does it matter whether equal values differ by rounding. Against the
 * definition, written for one spacing at a time. */
static void test_spacing_ties(void **state)
{
    (void)state;
    enum { N = 60, C = 7 };
    double x[N], y[N * C], h, repeated;
    hkt_rng rng = hkt_rng_make(5, HKT_STREAM_TEST, 5);
    for (size_t m = 0; m < 8; m++) {
        for (size_t i = 0; i < N; i++)
            x[i] = hkt_rng_normal(&rng);
        for (size_t c = 1; c <= C; c++) {
            for (size_t i = 0; i < N * c; i++)
                y[i] = x[i % N] * (1 + (double)(i / N % 3) * DBL_EPSILON);
            CHECK_OK(hkt_entropy_spacing(y, N * c, m, &repeated));
            if (c == 1)
                h = repeated;
            CHECK_NEAR(repeated, h, 1e-12);
        }
        CHECK_OK(hkt_entropy_spacing(x, N, m == 0 ? hkt_entropy_spacing_window(N) : m, &repeated));
        CHECK_NEAR(repeated, h, 1e-12);
    }
    /* {0, 0, 1, 2, 4, 4, 8}: r = 11/7, n/r = 49/11, m = 1. Middles at 1, 2.5, 3.5, 5, 6.5; reach 11/7. */
    double seven[] = {4, 0, 8, 2, 1, 0, 4};
    const double r = 11.0 / 7, spacing[] = {2, 4, 8, 7, 6}, mass[] = {2.5, 4, 5.5, 4, 3}, count[] = {2, 1, 1, 2, 1};
    double expected = gsl_sf_psi(49.0 / 11 + 1) - log(49.0 / 11);
    for (size_t i = 0; i < 5; i++)
        expected += count[i] / 7 * (log(spacing[i] * 7 / mass[i]) + log(mass[i] / r) - gsl_sf_psi(mass[i] / r));
    CHECK_OK(hkt_entropy_spacing(seven, 7, 1, &h));
    CHECK_NEAR(h, expected, 1e-14);
}

/* Bias with ties, as stated in entropy.h: normal values of which half come in groups of 48 equal ones (the same first
 * tokens in 48 sequences), or rounded to 1/10000; without ties as a control of the bound. */
static void test_spacing_ties_bias(void **state)
{
    (void)state;
    enum { N = 20000, SAMPLES = 40, GROUP = 48 };
    double *x = malloc(N * sizeof *x);
    const double exact = hkt_entropy_gaussian(1);
    for (int kind = 0; kind < 3; kind++) {
        hkt_rng rng = hkt_rng_make(6, HKT_STREAM_TEST, 6);
        double bias = 0, h;
        for (size_t s = 0; s < SAMPLES; s++) {
            for (size_t i = 0; i < N; i++) {
                bool again = kind == 1 && i < N / 2 && i % GROUP > 0;
                x[i] = again ? x[i - 1] : hkt_rng_normal(&rng);
                if (kind == 2)
                    x[i] = round(x[i] * 10000) / 10000;
            }
            CHECK_OK(hkt_entropy_spacing(x, N, 0, &h));
            bias += (h - exact) / SAMPLES;
        }
        print_message("bias of kind %d: %.5f\n", kind, bias);
        CHECK_NEAR(bias, 0, kind == 1 ? 0.04 : 0.01);
    }
    free(x);
}

/* Uniform samples: no bias at any n and m; for longer ones the standard error of the estimate is the stated one. */
static void test_spacing_uniform(void **state)
{
    (void)state;
    static const size_t size[][2] = {{3, 1}, {5, 2}, {10, 1}, {10, 4}, {2000, 1}, {2000, 7}};
    hkt_rng rng = hkt_rng_make(2, HKT_STREAM_TEST, 2);
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        size_t n = size[i][0], m = size[i][1], samples = n > 100 ? 4000 : 20000;
        double x[2000], h, sum = 0, square = 0;
        for (size_t r = 0; r < samples; r++) {
            for (size_t k = 0; k < n; k++)
                x[k] = hkt_rng_uniform(&rng);
            CHECK_OK(hkt_entropy_spacing(x, n, m, &h));
            sum += h / (double)samples;
            square += h * h / (double)samples;
        }
        double sd = sqrt(square - sum * sum), stated = hkt_entropy_spacing_error(n, m, 0);
        CHECK_NEAR(sum, 0, 4 * sd / sqrt((double)samples));
        if (n > 100) /* sampling error of sd 1.1 %; the ends add some m^3/n */
            CHECK_NEAR(sd, stated, 0.08 * stated);
    }
}

static void test_small_formulas(void **state)
{
    (void)state;
    CHECK_NEAR(hkt_entropy_gaussian(1), 0.5 * log(2 * PI * exp(1)), 1e-15);
    CHECK_NEAR(hkt_entropy_gaussian(9), hkt_entropy_gaussian(1) + log(3), 1e-15);
    CHECK_NEAR(hkt_negentropy_expansion(0, 3 * 32), 192, 0); /* kappa = 33 */
    CHECK_NEAR(hkt_negentropy_expansion(2, 0), 1.0 / 3, 1e-16);
    /* k = 2: (8 - 4 + 1) psi'(2) - 3, psi'(2) = pi^2/6 - 1 */
    CHECK_NEAR(hkt_entropy_spacing_error(100, 1, 1), sqrt((1 + 5 * (PI * PI / 6 - 1) - 3) / 100), 1e-14);
    double x[5000], j;
    hkt_rng rng = hkt_rng_make(4, HKT_STREAM_TEST, 4);
    for (size_t i = 0; i < 5000; i++)
        x[i] = 5 + 2 * hkt_draw_laplace(&rng);
    CHECK_OK(hkt_negentropy_spacing(x, 5000, &j));
    CHECK_NEAR(j, 0.07236494292, 5 * sqrt(1.0 / 5000));
}

/* Moments of the draws: exponential 1, 1; Laplace 0, 2; Student(5) 0, 5/3. */
static void test_draws(void **state)
{
    (void)state;
    enum { N = 100000 };
    double sum[3] = {0}, square[3] = {0};
    hkt_rng rng = hkt_rng_make(5, HKT_STREAM_TEST, 5);
    for (size_t i = 0; i < N; i++) {
        double x[] = {hkt_draw_exponential(&rng), hkt_draw_laplace(&rng), hkt_draw_student(&rng, 5)};
        for (size_t k = 0; k < 3; k++) {
            sum[k] += x[k] / N;
            square[k] += x[k] * x[k] / N;
        }
    }
    static const double mean[] = {1, 0, 0}, second[] = {2, 2, 5.0 / 3};
    for (size_t k = 0; k < 3; k++) {
        CHECK_NEAR(sum[k], mean[k], 5 * sqrt(2.0 / N));
        CHECK_NEAR(square[k], second[k], 5 * sqrt(25.0 / N));
    }
}

/* --- laws --- */

/* Every law has mass 1, its standard deviation and its kappa. */
static void test_law_moments(void **state)
{
    (void)state;
    static const hkt_family *const family[] = {&hkt_family_student, &hkt_family_beta, &hkt_family_dot,
                                               &hkt_family_power, &hkt_family_gram_charlier};
    static const double kappa[] = {0.4, 0.65, 0.95, 1.02, 1.5, 2.2, 4};
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        for (size_t k = 0; k < sizeof kappa / sizeof *kappa; k++) {
            const hkt_family *f = family[i];
            if (kappa[k] <= f->kappa_low || kappa[k] >= f->kappa_high)
                continue;
            double p = f->parameter(kappa[k]), m0, m2, m4;
            CHECK_OK(hkt_family_moment(f, p, 0, &m0));
            CHECK_OK(hkt_family_moment(f, p, 2, &m2));
            CHECK_OK(hkt_family_moment(f, p, 4, &m4));
            CHECK_NEAR(m0, 1, 1e-10);
            CHECK_NEAR(log(m2) / 2, f->log_sd(p), 1e-10);
            CHECK_NEAR(m4 / (3 * m2 * m2), kappa[k], 1e-8 * kappa[k]); /* fourth moments have long tails */
        }
}

/* Values from mpmath at 40 digits: closed forms (Student, power), numerical integrals (dot product). */
static void test_law_negentropy(void **state)
{
    (void)state;
    static const struct {
        const hkt_family *f;
        double kappa, negentropy;
    } known[] = {{&hkt_family_student, 1.0001, 1.8744376257565e-9}, {&hkt_family_student, 1.03, 0.00015452437145014},
                 {&hkt_family_student, 2, 0.02994976209344},        {&hkt_family_student, 33, 0.080314761565167},
                 {&hkt_family_power, 1.0001, 2.2619838552406e-9},   {&hkt_family_power, 1.25, 0.0096081870557206},
                 {&hkt_family_power, 33, 0.86260429725384},         {&hkt_family_dot, 3, 0.214840101933169},
                 {&hkt_family_dot, 1.5, 0.0239650338063244},        {&hkt_family_dot, 2, 0.0723649429247},
                 {&hkt_family_beta, 0.6, 0.17648520831067}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double j;
        CHECK_OK(hkt_family_negentropy(known[i].f, known[i].f->parameter(known[i].kappa), &j));
        CHECK_NEAR(j, known[i].negentropy, 2e-10 * known[i].negentropy);
    }
    CHECK_NEAR(hkt_family_power.parameter(2), 1, 1e-13);
    CHECK_NEAR(hkt_family_beta.parameter(0.6), 1, 1e-14);
    CHECK_NEAR(hkt_family_student.parameter(33), 4.0625, 1e-14);
    CHECK_NEAR(hkt_family_dot.parameter(33), 0.0625, 1e-15);
}

/* Gram-Charlier by the midpoint rule on its density, J as Gaussian entropy minus entropy. */
static void test_gram_charlier(void **state)
{
    (void)state;
    double excess = 1.5, entropy = 0, step = 1e-3, j;
    for (double x = step / 2; x < 20; x += step) {
        double f = exp(-x * x / 2) / sqrt(2 * PI) * (1 + excess / 24 * (pow(x, 4) - 6 * x * x + 3));
        entropy -= f > 0 ? 2 * step * f * log(f) : 0;
    }
    CHECK_OK(hkt_family_negentropy(&hkt_family_gram_charlier, excess, &j));
    CHECK_NEAR(j, 0.5 * log(2 * PI * exp(1)) - entropy, 1e-9);
}

/* Concavity below, labels above: the two bounds of docs/theory.md. */
static void test_mixture_bounds(void **state)
{
    (void)state;
    for (double log_a = -1e-6; log_a > -500; log_a *= 3) {
        double gap = -expm1(2 * log_a), q = gap * gap / 32, e = q / (1 + q), log_b = 0.5 * log1p(32 / gap), j, m2, m4;
        double upper = -(1 - e) * log_a - e * log_b, labels = -e * log(e) - (1 - e) * log1p(-e);
        CHECK_OK(hkt_family_negentropy(&hkt_family_mixture, log_a, &j));
        CHECK_AT_MOST(j, upper + 1e-9 * upper);
        CHECK_AT_MOST(upper - labels, j + 1e-9 * j);
        CHECK_OK(hkt_family_moment(&hkt_family_mixture, log_a, 2, &m2));
        CHECK_OK(hkt_family_moment(&hkt_family_mixture, log_a, 4, &m4));
        CHECK_NEAR(m2, 1, 1e-9);
        CHECK_NEAR(m4, 99, 1e-7);
    }
}

/* --- information of levels --- */

/* log det of a [n, n] by elimination with pivots. */
static double naive_log_det(size_t n, double *a)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k; i < n; i++)
            best = fabs(a[i * n + k]) > fabs(a[best * n + k]) ? i : best;
        for (size_t j = 0; j < n; j++) {
            double t = a[k * n + j];
            a[k * n + j] = a[best * n + j];
            a[best * n + j] = t;
        }
        sum += log(fabs(a[k * n + k]));
        for (size_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return sum;
}

/* I(Z; X) = (log det Cov X - log det Cov(X | Z))/2 with X = F (Z + N), F [n, T] as the kernel makes it. */
static double naive_information(size_t n, size_t T, const double *F, double rho, double noise)
{
    double *with = calloc(n * n, sizeof *with), *without = calloc(n * n, sizeof *without);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t t = 0; t < T; t++) {
                without[i * n + j] += noise * F[i * T + t] * F[j * T + t];
                for (size_t u = 0; u < T; u++)
                    with[i * n + j] +=
                        F[i * T + t] * F[j * T + u] * (pow(rho, fabs((double)t - (double)u)) + (t == u ? noise : 0));
            }
    double info = (naive_log_det(n, with) - naive_log_det(n, without)) / 2;
    free(with);
    free(without);
    return info;
}

static void test_information(void **state)
{
    (void)state;
    enum { S = 2, L = 3, T = 21, D = 2 };
    hkt_cascade c;
    double *taps;
    hkt_interval info;
    CHECK_OK(hkt_cascade_make(S, L, D, true, 4, &c, &taps));
    for (size_t channel = 0; channel < D; channel++) {
        /* Unit impulses at every token, one channel of T each, with this channel's filters. */
        double F[L][T * T] = {{0}}, a[S * T];
        for (size_t t = 0; t < T; t++)
            F[0][t * T + t] = 1;
        for (size_t l = 1, rows = T; l < L; l++, rows = (rows + 1) / 2) {
            for (size_t i = 0; i < S * T; i++)
                a[i] = c.down[l][i / T * D + channel];
            hkt_downsample_forward_ref_f64(rows, T, S, F[l - 1], a, F[l]);
        }
        double filter[L][S];
        const double *levels[L];
        for (size_t l = 1; l < L; l++) {
            levels[l - 1] = filter[l];
            for (size_t k = 0; k < S; k++)
                filter[l][k] = c.down[l][k * D + channel];
        }
        for (size_t l = 0; l < L; l++) {
            CHECK_OK(hkt_ball_information(S, l, levels, T, 0.8, 0.3, &info));
            CHECK_NEAR(hkt_interval_middle(info), naive_information(hkt_level_length(T, S, l), T, F[l], 0.8, 0.3),
                       1e-10);
            CHECK_AT_MOST(hkt_interval_radius(info), 1e-13);
            CHECK_OK(hkt_ball_information(S, l, levels, T, 0, 0.3, &info)); /* white: every row knows the same */
            double white = (double)hkt_level_length(T, S, l) / 2 * log1p(1 / 0.3);
            CHECK_NEAR(hkt_interval_middle(info), white, 1e-13 * white);
        }
    }
    /* A filter that is zero says nothing. */
    const double zero[S] = {0}, *none[] = {zero, zero};
    CHECK_OK(hkt_ball_information(S, 2, none, T, 0.8, 0.3, &info));
    assert_true(info.low == 0 && info.high == 0);
    hkt_free(taps);
}

/* --- samples of scores --- */

static const hkt_config small = {.vocab = 5,
                                 .classes = 3,
                                 .max_len = 100,
                                 .d_model = 8,
                                 .heads = 2,
                                 .layers = 2,
                                 .levels = 2,
                                 .stride = 2,
                                 .conv_width = 3,
                                 .ffn_mult = 2,
                                 .fusion = HKT_FUSION_STATIC,
                                 .hybrid = true,
                                 .causal = true};

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Every score once when nothing is left out: as a set those of the definition. */
static void test_sample_complete(void **state)
{
    (void)state;
    static const size_t length[] = {70, 1, 9};
    for (int causal = 0; causal < 2; causal++) {
        hkt_config c = small;
        c.causal = causal;
        hkt_checkpoint model = naive_model(&c, 2);
        hkt_dataset data = naive_data(&c, length, 3);
        hkt_score_sample s;
        CHECK_OK(hkt_score_sample_collect(&s, hkt_score_of_model(&model, &data), 3, 1000000));
        for (size_t l = 0; l < 2; l++)
            for (size_t seq = 0; seq < 3; seq++) {
                size_t rows, n = 0, *offset = data.offset;
                const size_t *begin;
                const double *got = hkt_score_sample_of(&s, 1, l, 1, &begin);
                double *S =
                    naive_scores(model.layout, model.params, length[seq], data.tokens + offset[seq], 1, l, 1, &rows);
                double *all = malloc(rows * rows * sizeof *all), *sorted = malloc(rows * rows * sizeof *sorted);
                for (size_t i = 0; i < rows; i++)
                    for (size_t j = 0; j < (causal ? i + 1 : rows); j++)
                        all[n++] = S[i * rows + j];
                assert_int_equal(begin[seq + 1] - begin[seq], n);
                memcpy(sorted, got + begin[seq], n * sizeof *sorted);
                qsort(all, n, sizeof *all, ascending);
                qsort(sorted, n, sizeof *sorted, ascending);
                for (size_t e = 0; e < n; e++)
                    CHECK_NEAR(sorted[e], all[e], 1e-11);
                free(S);
                free(all);
                free(sorted);
            }
        hkt_score_sample_free(&s);
        hkt_dataset_free(&data);
        hkt_checkpoint_free(&model);
    }
}

/* A thinner sample is every step-th of the complete one, whatever the number of threads. */
static void test_sample_step(void **state)
{
    (void)state;
    static const size_t length[] = {90, 3, 70, 100};
    hkt_checkpoint model = naive_model(&small, 2);
    hkt_dataset data = naive_data(&small, length, 4);
    hkt_score_sample all, thin;
    CHECK_OK(hkt_score_sample_collect(&all, hkt_score_of_model(&model, &data), 4, 1000000));
    for (size_t threads = 1; threads <= 2; threads++) {
        hkt_set_threads(threads);
        CHECK_OK(hkt_score_sample_collect(&thin, hkt_score_of_model(&model, &data), 4, 300));
        for (size_t l = 0; l < 2; l++) {
            const size_t *full, *begin;
            const double *x = hkt_score_sample_of(&all, 0, l, 1, &full),
                         *y = hkt_score_sample_of(&thin, 0, l, 1, &begin);
            size_t step = thin.step[l];
            assert_true(step % 2 == 1 && step > 1 && begin[4] <= 304 && begin[4] >= 200);
            for (size_t seq = 0; seq < 4; seq++) {
                size_t n = 0;
                for (size_t e = seq % step; e < full[seq + 1] - full[seq]; e += step, n++)
                    CHECK_NEAR(y[begin[seq] + n], x[full[seq] + e], 0);
                assert_int_equal(begin[seq + 1] - begin[seq], n);
            }
        }
        hkt_score_sample_free(&thin);
    }
    hkt_set_threads(0);
    hkt_score_sample_free(&all);
    CHECK_FAILS(hkt_score_sample_collect(&all, hkt_score_of_model(&model, &data), 0, 10), HKT_EINPUT, "sequences");
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* --- the claim --- */

/* Where the expansion is 10 % off: the first order 1 + 1/30 corrected by the laws' second order; the error there is 10
 * %. */
static void test_range_numbers(void **state)
{
    (void)state;
    static const double end[] = {1.03253, 0.965771, 1.04434, 1.04711, 1.17564};
    hkt_check_result r = run_check(&hkt_claim_information, &quick, "range");
    for (size_t i = 0; i < 5; i++) {
        const double *cell = r.rows.cell + i * r.rows.n_cols;
        CHECK_NEAR(cell[1], end[i], 1e-5);
        CHECK_AT_MOST(cell[2] - cell[1], 1e-7);
        CHECK_NEAR(fabs(cell[4] / cell[3] - 1), 0.1, 1e-5);
    }
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_information, &quick, "kappa-33");
    static const double truth[] = {0.08031476157, 0.8626042973};
    for (size_t i = 0; i < 2; i++) {
        const double *cell = r.rows.cell + i * r.rows.n_cols;
        CHECK_NEAR(cell[4], 192, 0);
        CHECK_NEAR(cell[2], truth[i], 1e-9 * truth[i]);
        CHECK_NEAR(cell[3], truth[i], 1e-9 * truth[i]);
    }
    assert_non_null(strstr(r.detail, "dot product 12.0576"));
    assert_int_equal(r.verdict, HKT_VIOLATED);
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_information, &quick, "leading-term-power");
    CHECK_NEAR(r.measured, 1 - 4 / (9 * PI * PI - 84), 1e-5);
    CHECK_NEAR(r.rows.cell[0], r.rows.cell[2], 1e-15); /* the limit next to the closed form */
    hkt_check_result_free(&r);
}

static void test_model_checks(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&small, 1);
    hkt_verify_context ctx = quick;
    ctx.model = &model;
    hkt_check_result r = run_check(&hkt_claim_information, &ctx, "data-processing");
    assert_int_equal(r.verdict, HKT_HOLDS);
    assert_true(r.bound == 0 && r.measured > 0);
    assert_int_equal(r.rows.n_rows, 4);
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_information, &ctx, "trained");
    assert_int_equal(r.rows.n_rows, 2 * 2 * 2);
    for (size_t i = 0; i < r.rows.n_rows; i++) {
        const double *c = r.rows.cell + i * r.rows.n_cols;
        CHECK_NEAR(c[5], c[4] * c[4] / 12 + 3.0 / 16 * (c[3] - 1) * (c[3] - 1), 1e-12 * c[5] + 1e-15);
        CHECK_NEAR(c[8], c[5] / c[6] - 1, 1e-12 * fabs(c[8]) + 1e-15);
        assert_true(c[7] > 0);
    }
    hkt_check_result_free(&r);
    /* Query weights of zero: all scores are equal, there is no density. */
    for (size_t n = 0; n < small.layers; n++)
        for (size_t l = 0; l < small.levels; l++)
            memset(model.params + model.layout->layer[n].level[l].q, 0, 64 * sizeof *model.params);
    r = run_check(&hkt_claim_information, &ctx, "trained");
    assert_int_equal(r.verdict, HKT_SKIPPED);
    assert_non_null(strstr(r.detail, "density"));
    hkt_check_result_free(&r);
    hkt_checkpoint_free(&model);
    assert_int_equal(run_check(&hkt_claim_information, &quick, "trained").verdict, HKT_SKIPPED);
    hkt_config c = small;
    c.levels = 1;
    model = naive_model(&c, 1);
    assert_int_equal(run_check(&hkt_claim_information, &ctx, "data-processing").verdict, HKT_SKIPPED);
    hkt_checkpoint_free(&model);
}

/* Running out of memory anywhere is reported and leaves nothing behind. */
static void test_memory(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&small, 1);
    hkt_verify_context ctx = quick;
    ctx.model = &model;
    ctx.tokens = 12;
    static const char *const name[] = {"vasicek", "data-processing", "trained"};
    check_out_of_memory(&hkt_claim_information, &ctx, name, 3);
    hkt_checkpoint_free(&model);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spacing),         cmocka_unit_test(test_spacing_errors),
        cmocka_unit_test(test_spacing_ties),    cmocka_unit_test(test_spacing_ties_bias),
        cmocka_unit_test(test_spacing_uniform), cmocka_unit_test(test_small_formulas),
        cmocka_unit_test(test_draws),           cmocka_unit_test(test_law_moments),
        cmocka_unit_test(test_law_negentropy),  cmocka_unit_test(test_gram_charlier),
        cmocka_unit_test(test_mixture_bounds),  cmocka_unit_test(test_information),
        cmocka_unit_test(test_sample_complete), cmocka_unit_test(test_sample_step),
        cmocka_unit_test(test_range_numbers),   cmocka_unit_test(test_model_checks),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

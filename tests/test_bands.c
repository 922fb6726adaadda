/* Filters and band energies against naive transforms, hand-integrated densities and sampled noise; level outputs
 * against the definition; what the claim `bands` says of them. */
#include "tests/check.h"

#include <float.h>

#include "analysis/view/bands.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "num/kernels.h"
#include "tests/claim_check.h"
#include "tests/naive_scores.h"

#define PI 3.14159265358979323846

/* sum_t x_t e^{-iwt}: real part and imaginary part. */
static void naive_transform(size_t n, const double *x, double w, double *re, double *im)
{
    *re = *im = 0;
    for (size_t t = 0; t < n; t++) {
        *re += x[t] * cos(w * (double)t);
        *im -= x[t] * sin(w * (double)t);
    }
}

static void test_dirichlet(void **state)
{
    (void)state;
    double ones[40], re, im;
    for (size_t i = 0; i < 40; i++)
        ones[i] = 1;
    for (size_t n = 1; n <= 40; n += 3)
        for (size_t M = 1; M <= 37; M += 4)
            for (size_t k = 0; k < 3 * M; k++) {
                double complex z = hkt_dirichlet(n, k, M);
                naive_transform(n, ones, 2 * PI * (double)k / (double)M, &re, &im);
                /* the naive sum's angles, up to 6 pi n, are off by their rounding */
                CHECK_NEAR(creal(z), re / (double)n, 400 * DBL_EPSILON);
                CHECK_NEAR(cimag(z), im / (double)n, 400 * DBL_EPSILON);
            }
}

static void test_spectrum(void **state)
{
    (void)state;
    static const size_t length[] = {1, 2, 3, 7, 16, 45, 64, 97};
    hkt_rng rng = hkt_rng_make(1, HKT_STREAM_TEST, 1);
    double x[97], re, im;
    double complex z[50];
    for (size_t i = 0; i < 97; i++)
        x[i] = hkt_rng_normal(&rng);
    for (size_t i = 0; i < sizeof length / sizeof *length; i++)
        for (size_t n = 1; n <= length[i]; n += length[i] / 2 + 1) {
            size_t M = length[i];
            CHECK_OK(hkt_spectrum(n, x, M, z));
            for (size_t k = 0; 2 * k <= M; k++) {
                naive_transform(n, x, 2 * PI * (double)k / (double)M, &re, &im);
                CHECK_NEAR(creal(z[k]), re, 1e-12);
                CHECK_NEAR(cimag(z[k]), im, 1e-12);
            }
        }
}

/* The cascade's impulse response: multiplied out, run through the naive kernel, and its response. */
static void test_cascade(void **state)
{
    (void)state;
    for (size_t s = 2; s <= 4; s++) {
        hkt_cascade c;
        double *taps, h[64], re, im;
        CHECK_OK(hkt_cascade_make(s, 4, 3, true, 5, &c, &taps));
        CHECK_NEAR(taps[0], 1 / (double)s, 0);
        assert_true(taps[1] != taps[0]);
        for (size_t level = 0; level < 4; level++) {
            size_t n = hkt_cascade_span(s, level), T = 3 * n;
            double *x = calloc(T * 3, sizeof *x), *y = calloc(T * 3, sizeof *y);
            for (size_t m = 0; m < n; m++) {
                memset(x, 0, T * 3 * sizeof *x);
                for (size_t i = 0; i < 3; i++)
                    x[(2 * n - m) * 3 + i] = 1;
                for (size_t l = 1, rows = T; l <= level; l++, rows = (rows + s - 1) / s) {
                    hkt_downsample_forward_ref_f64(rows, 3, s, x, c.down[l], y);
                    memcpy(x, y, T * 3 * sizeof *x);
                }
                for (size_t i = 0; i < 3; i++) {
                    hkt_cascade_impulse(&c, level, i, h);
                    CHECK_NEAR(x[2 * 3 + i], h[m], 8 * DBL_EPSILON * (1 + fabs(h[m])));
                }
            }
            hkt_cascade_impulse(&c, level, 2, h);
            for (size_t k = 0; k < 50; k++) {
                double complex z = hkt_cascade_response(&c, level, 2, k, 50);
                naive_transform(n, h, 2 * PI * (double)k / 50, &re, &im);
                CHECK_NEAR(creal(z), re, 1e-12);
                CHECK_NEAR(cimag(z), im, 1e-12);
            }
            free(x);
            free(y);
        }
        hkt_free(taps);
    }
}

static size_t naive_band(double w, size_t s, size_t L)
{
    size_t b = 0;
    for (double edge = PI / (double)s; b + 1 < L && w < edge; edge /= (double)s)
        b++;
    return b;
}

/* Random signals at lengths without a frequency on an edge (s = 3, odd n): naive transform, naive bands. */
static void test_energy_naive(void **state)
{
    (void)state;
    enum { S = 3, L = 3, D = 2, T = 45 };
    double x[L][T * D], energy[L * L] = {0}, expected[L * L] = {0}, y[T], re, im;
    const double *view[L] = {x[0], x[1], x[2]};
    hkt_rng rng = hkt_rng_make(2, HKT_STREAM_TEST, 2);
    for (size_t i = 0; i < L * T * D; i++)
        x[i / (T * D)][i % (T * D)] = hkt_rng_normal(&rng);
    hkt_band_window window = hkt_band_window_of(T + 5, S, L);
    assert_true(window.begin == 9 && window.n == 36);
    assert_int_equal(hkt_band_window_of(17, S, L).n, 0);
    assert_int_equal(hkt_band_window_of(18, S, L).n, 9);
    window.n = 27;
    CHECK_OK(hkt_band_energy(S, L, D, view, window, HKT_BANDS_DETAIL, energy));
    for (size_t l = 0; l < L; l++)
        for (size_t c = 0; c < D; c++) {
            double sum = 0, bands = 0;
            for (size_t t = 0; t < window.n; t++) {
                size_t i = window.begin + t, at = i / (l == 0 ? 1 : l == 1 ? 3 : 9), up = i / (l == 0 ? 3 : 9);
                y[t] = x[l][at * D + c] - (l + 1 < L ? x[l + 1][up * D + c] : 0);
                sum += y[t] * y[t];
            }
            for (size_t k = 0; k < window.n; k++) {
                double w = 2 * PI * (double)k / (double)window.n;
                naive_transform(window.n, y, w, &re, &im);
                double power = (re * re + im * im) / (double)window.n;
                expected[l * L + naive_band(fmin(w, 2 * PI - w), S, L)] += power;
                bands += power;
            }
            CHECK_NEAR(bands, sum, 1e-11);
        }
    for (size_t i = 0; i < L * L; i++)
        CHECK_NEAR(energy[i], expected[i], 1e-11);
}

/* Cosines: inside a band all of it; on an edge half on either side; the mean and the fastest frequency. */
static void test_energy_tones(void **state)
{
    (void)state;
    enum { L = 3, T = 64 };
    static const struct {
        size_t k;
        double share[L];
    } tone[] = {{0, {0, 0, 1}},      {5, {0, 0, 1}},  {8, {0, 0.5, 0.5}}, {11, {0, 1, 0}},
                {16, {0.5, 0.5, 0}}, {20, {1, 0, 0}}, {32, {1, 0, 0}}};
    for (size_t i = 0; i < sizeof tone / sizeof *tone; i++) {
        double x[T], zero[T] = {0}, energy[L * L] = {0}, sum = 0;
        const double *view[L] = {x, zero, zero};
        for (size_t t = 0; t < T; t++) {
            x[t] = cos(2 * PI * (double)(tone[i].k * t) / T);
            sum += x[t] * x[t];
        }
        CHECK_OK(hkt_band_energy(2, L, 1, view, (hkt_band_window){0, T}, HKT_BANDS_RAW, energy));
        for (size_t b = 0; b < L; b++)
            CHECK_NEAR(energy[b], tone[i].share[b] * sum, 1e-11);
    }
}

/* s = 2, L = 3, untrained, T -> infinity: densities integrated by hand (docs/theory.md, bands). Ends are a share L/T.
 */
static void test_white_noise_limit(void **state)
{
    (void)state;
    enum { L = 3, T = 1 << 14 };
    double r2 = sqrt(0.5);
    const double raw[2][L] = {{0.5, 0.25, 0.25},
                              {0.25 - 1 / (2 * PI), 0.125 + (1 - r2) / (2 * PI), 0.125 + r2 / (2 * PI)}};
    const double detail[L] = {0.5 + 1 / (2 * PI), 0.25 - (1 - r2) / (2 * PI) + 1 / (4 * PI),
                              0.25 - r2 / (2 * PI) - 1 / (4 * PI)};
    double energy[2][L * L] = {{0}}, *taps;
    hkt_cascade c;
    CHECK_OK(hkt_cascade_make(2, L, 1, false, 0, &c, &taps));
    CHECK_OK(hkt_band_white_noise(&c, 0, T, HKT_BANDS_RAW, energy[0]));
    CHECK_OK(hkt_band_white_noise(&c, 0, T, HKT_BANDS_DETAIL, energy[1]));
    for (size_t b = 0; b < L; b++) {
        CHECK_NEAR(energy[0][b] / T, raw[0][b], 4.0 / T);
        CHECK_NEAR(energy[0][L + b] / T, raw[1][b], 4.0 / T);
        CHECK_NEAR(energy[1][b] / T, detail[b], 4.0 / T);
        CHECK_NEAR(energy[1][2 * L + b], energy[0][2 * L + b], 0);
    }
    CHECK_NEAR(hkt_band_dominance(L, 1, energy[0]), raw[1][1] / raw[1][2], 1e-3);
    hkt_free(taps);
}

/* Sampled noise through drawn filters: every mean within 5 standard errors of its expectation. */
static void test_white_noise_sampled(void **state)
{
    (void)state;
    enum { S = 3, L = 3, T = 27, N = 4000 };
    double *taps, exact[L * L];
    hkt_cascade c;
    CHECK_OK(hkt_cascade_make(S, L, 2, true, 9, &c, &taps));
    hkt_rng rng = hkt_rng_make(3, HKT_STREAM_TEST, 3);
    for (int kind = 0; kind < 2; kind++) {
        double sum[L * L] = {0}, square[L * L] = {0};
        memset(exact, 0, sizeof exact);
        for (size_t i = 0; i < 2; i++)
            CHECK_OK(hkt_band_white_noise(&c, i, T, kind ? HKT_BANDS_DETAIL : HKT_BANDS_RAW, exact));
        for (size_t n = 0; n < N; n++) {
            double x[L][T * 2], energy[L * L] = {0}, *level[L] = {x[0], x[1], x[2]};
            const double *view[L] = {x[0], x[1], x[2]};
            for (size_t i = 0; i < T * 2; i++)
                x[0][i] = hkt_rng_normal(&rng);
            hkt_cascade_run(&c, T, level);
            CHECK_OK(hkt_band_energy(S, L, 2, view, (hkt_band_window){0, T}, kind ? HKT_BANDS_DETAIL : HKT_BANDS_RAW,
                                     energy));
            for (size_t i = 0; i < L * L; i++) {
                sum[i] += energy[i] / N;
                square[i] += energy[i] * energy[i] / N;
            }
        }
        for (size_t i = 0; i < L * L; i++)
            CHECK_NEAR(sum[i], exact[i], 5 * sqrt((square[i] - sum[i] * sum[i]) / N));
    }
    hkt_free(taps);
}

static void test_dominance(void **state)
{
    (void)state;
    const double e[] = {4, 2, 1, 3, 1, 2, 0, 1, 5};
    CHECK_NEAR(hkt_band_dominance(3, 0, e), 2, 0);
    CHECK_NEAR(hkt_band_dominance(3, 1, e), 1.0 / 3, 0);
    CHECK_NEAR(hkt_band_dominance(3, 2, e), 5, 0);
    for (size_t i = 0; i < 9; i++) {
        double bad[9];
        memcpy(bad, e, sizeof e);
        bad[i] = (double)NAN;
        assert_true(isnan(hkt_band_dominance(3, i / 3, bad)));
    }
    const double nothing[4] = {0, 0, 1, 2};
    assert_true(isnan(hkt_band_dominance(2, 0, nothing)));
}

/* --- a model --- */

static const hkt_config small = {.vocab = 5,
                                 .classes = 3,
                                 .max_len = 40,
                                 .d_model = 8,
                                 .heads = 2,
                                 .layers = 2,
                                 .levels = 3,
                                 .stride = 2,
                                 .conv_width = 3,
                                 .ffn_mult = 2,
                                 .fusion = HKT_FUSION_STATIC,
                                 .hybrid = true,
                                 .causal = true};

/* Y^(l,h) = beta softmax(S) V + (1 - beta) conv(V), row j, column i, from the level's input. */
static double naive_output(const hkt_layout *lay, const double *params, size_t layer, size_t level, size_t T,
                           const int32_t *tokens, size_t j, size_t i)
{
    const hkt_config *c = &lay->config;
    const hkt_level_offsets *at = &lay->layer[layer].level[level];
    size_t d = c->d_model, head = i / (d / c->heads), rows;
    double *x = naive_level_input(lay, params, T, tokens, layer, level, &rows);
    double *s = naive_scores(lay, params, T, tokens, layer, level, head, &rows);
    double v[64], total = 0, attended = 0, convolved = 0;
    for (size_t r = 0; r < rows; r++) {
        v[r] = 0;
        for (size_t k = 0; k < d; k++)
            v[r] += x[r * d + k] * params[at->v + i * d + k];
    }
    for (size_t r = 0; r < (c->causal ? j + 1 : rows); r++) {
        total += exp(s[j * rows + r]);
        attended += exp(s[j * rows + r]) * v[r];
    }
    for (size_t k = 0; c->hybrid && k < c->conv_width && k <= j; k++)
        convolved += params[at->conv + k * d + i] * v[j - k];
    double beta = c->hybrid ? 1 / (1 + exp(-params[lay->layer[layer].beta + level * c->heads + head])) : 1;
    free(x);
    free(s);
    return beta * attended / total + (1 - beta) * convolved;
}

static void check_outputs(const hkt_config *config)
{
    static const size_t length[] = {21};
    hkt_checkpoint model = naive_model(config, 3);
    hkt_dataset data = naive_data(config, length, 1);
    hkt_rng rng = hkt_rng_make(3, HKT_STREAM_TEST, 4);
    for (size_t n = 0; n < config->layers && config->hybrid; n++)
        for (size_t i = 0; i < config->levels * config->heads; i++)
            model.params[model.layout->layer[n].beta + i] = hkt_rng_normal(&rng);
    for (int train = 0; train < 2; train++) {
        hkt_net_f64 *net;
        hkt_batch batch = {.n_seq = 1, .length = length, .tokens = data.tokens};
        double y[3][21 * 8], *level[3] = {y[0], y[1], y[2]};
        CHECK_OK(hkt_net_create_f64(&net, model.layout, 21, 1, train, true));
        CHECK_OK(hkt_net_forward_f64(net, model.params, &batch, NULL, NULL, NULL, NULL));
        for (size_t n = 0; n < config->layers; n++) {
            hkt_tap_f64 tap;
            CHECK_OK(hkt_net_tap_f64(net, n, &tap));
            hkt_band_outputs(&tap, 8, level);
            for (size_t l = 0; l < 3; l++)
                for (size_t e = 0; e < hkt_level_length(21, 2, l) * 8; e++)
                    CHECK_NEAR(y[l][e], naive_output(model.layout, model.params, n, l, 21, data.tokens, e / 8, e % 8),
                               1e-12);
        }
        hkt_net_destroy_f64(net);
    }
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

static void test_outputs(void **state)
{
    (void)state;
    hkt_config c = small;
    check_outputs(&c);
    c.hybrid = false;
    c.causal = false;
    c.fusion = HKT_FUSION_DYNAMIC;
    check_outputs(&c);
}

/* Score fusion: level 0 alone has an output. */
static void test_score_taps(void **state)
{
    (void)state;
    hkt_config c = small;
    c.fusion = HKT_FUSION_SCORE;
    static const size_t length[] = {21};
    hkt_checkpoint model = naive_model(&c, 3);
    hkt_dataset data = naive_data(&c, length, 1);
    hkt_net_f64 *net;
    hkt_tap_f64 tap;
    hkt_batch batch = {.n_seq = 1, .length = length, .tokens = data.tokens};
    CHECK_OK(hkt_net_create_f64(&net, model.layout, 21, 1, false, true));
    CHECK_OK(hkt_net_forward_f64(net, model.params, &batch, NULL, NULL, NULL, NULL));
    CHECK_OK(hkt_net_tap_f64(net, 1, &tap));
    assert_true(tap.o[0] && tap.conv[0] && !tap.o[1] && !tap.conv[2]);
    hkt_net_destroy_f64(net);
    hkt_verify_context ctx = quick;
    ctx.model = &model;
    hkt_check_result r = run_check(&hkt_claim_bands, &ctx, "outputs");
    assert_int_equal(r.verdict, HKT_SKIPPED);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* --- the claim --- */

static const double *row(const hkt_check_result *r, double a, double b, double c)
{
    for (size_t i = 0; i < r->rows.n_rows; i++) {
        const double *cell = r->rows.cell + i * r->rows.n_cols;
        if (cell[0] == a && cell[1] == b && cell[2] == c)
            return cell;
    }
    fail_msg("no row %g %g %g", a, b, c);
    return NULL;
}

/* Dominances from an independent numerical integration of the limit densities (Python), ends excluded: within 5 %. */
static void test_white_noise_numbers(void **state)
{
    (void)state;
    static const double details[][4] = {{2, 2, 0, 1.934}, {2, 3, 0, 2.329}, {2, 3, 1, 1.479}, {2, 4, 2, 1.393},
                                        {3, 3, 1, 1.856}, {4, 3, 0, 3.117}, {4, 3, 1, 2.299}, {3, 4, 3, 4.903}};
    static const double raw[][4] = {
        {2, 3, 0, 2}, {2, 3, 1, 0.722}, {2, 4, 2, 0.671}, {2, 5, 3, 0.659}, {2, 5, 4, 5.967}};
    hkt_check_result r = run_check(&hkt_claim_bands, &quick, "details-white-noise");
    for (size_t i = 0; i < sizeof details / sizeof *details; i++)
        CHECK_NEAR(row(&r, details[i][0], details[i][1], details[i][2])[4], details[i][3], 0.05 * details[i][3]);
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_bands, &quick, "raw-white-noise");
    assert_int_equal(r.verdict, HKT_VIOLATED);
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++)
        CHECK_NEAR(row(&r, raw[i][0], raw[i][1], raw[i][2])[4], raw[i][3], 0.05 * raw[i][3]);
    hkt_check_result_free(&r);
}

/* The wanted accuracy of the closed form, whatever the bound. */
static void test_response(void **state)
{
    (void)state;
    hkt_check_result r = run_check(&hkt_claim_bands, &quick, "response");
    CHECK_NEAR(r.measured, 0, 0);
    CHECK_NEAR(row(&r, 2, 8, 256)[3], 0, 0);
    hkt_check_result_free(&r);
    /* Two equal taps: (1 + sin(pi/2)/(pi/2))/2 of the energy lies below pi/2. */
    hkt_checkpoint model = naive_model(&small, 1);
    hkt_verify_context ctx = quick;
    ctx.model = &model;
    r = run_check(&hkt_claim_bands, &ctx, "response-product");
    assert_int_equal(r.verdict, HKT_HOLDS);
    CHECK_NEAR(row(&r, 1, 1, 2)[4], 1, 1e-14);
    CHECK_NEAR(row(&r, 1, 1, 2)[5], 0.5 + 1 / PI, 1e-14);
    hkt_check_result_free(&r);
    hkt_checkpoint_free(&model);
}

/* Identities of integers: every stride and level is looked at, and nothing differs. */
static void test_identities(void **state)
{
    (void)state;
    hkt_check_result r = run_check(&hkt_claim_bands, &quick, "product-identity");
    assert_int_equal(r.verdict, HKT_HOLDS);
    CHECK_NEAR(r.measured, 0, 0);
    assert_int_equal(r.rows.n_rows, 7 + 4 + 3 + 3);
    CHECK_NEAR(row(&r, 2, 7, 128)[3], 0, 0);
    CHECK_NEAR(row(&r, 5, 3, 125)[3], 0, 0);
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_bands, &quick, "white-noise-identity");
    assert_int_equal(r.verdict, HKT_HOLDS);
    CHECK_NEAR(r.measured, 0, 0);
    assert_int_equal(r.rows.n_rows, 2 * (4 + 3 + 2));
    CHECK_NEAR(row(&r, 1, 4, 3)[4], 48, 0);
    hkt_check_result_free(&r);
    /* The control of the first leaves a filter out, that of the second differs in most coefficients, not in one. */
    r = (hkt_check_result){0};
    CHECK_OK(hkt_claim_check(&hkt_claim_bands, "white-noise-identity")->run(&quick, &r, true));
    CHECK_AT_MOST(100, r.measured);
    hkt_check_result_free(&r);
}

/* On random tokens under initial weights hidden states are nearly white: details dominate, and shares add up to 1. */
static void test_model_checks(void **state)
{
    (void)state;
    hkt_config c = small;
    c.max_len = 64;
    hkt_checkpoint model = naive_model(&c, 1);
    hkt_verify_context ctx = quick;
    ctx.model = &model;
    static const char *const name[] = {"raw-hidden", "details-hidden", "outputs"};
    for (size_t i = 0; i < 3; i++) {
        hkt_check_result r = run_check(&hkt_claim_bands, &ctx, name[i]);
        assert_int_equal(r.rows.n_rows, 2 * 3 * 3);
        for (size_t k = 0; k < r.rows.n_rows; k += 3) {
            const double *a = r.rows.cell + k * 7;
            CHECK_NEAR(a[3] + a[7 + 3] + a[14 + 3], 1, 1e-12);
            CHECK_AT_MOST(a[5], a[4]);
            CHECK_AT_MOST(a[4], a[6]);
        }
        assert_int_equal(r.verdict, i == 1 ? HKT_HOLDS : HKT_VIOLATED);
        hkt_check_result_free(&r);
        hkt_check_result none = run_check(&hkt_claim_bands, &quick, name[i]);
        assert_int_equal(none.verdict, HKT_SKIPPED);
    }
    ctx.tokens = 7; /* shorter than two rows of the coarsest level */
    hkt_check_result r = run_check(&hkt_claim_bands, &ctx, "raw-hidden");
    assert_int_equal(r.verdict, HKT_SKIPPED);
    assert_non_null(strstr(r.detail, "at least 8 tokens"));
    hkt_checkpoint_free(&model);
    c.levels = 1;
    model = naive_model(&c, 1);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(run_check(&hkt_claim_bands, &ctx, name[i]).verdict, HKT_SKIPPED);
    assert_int_equal(run_check(&hkt_claim_bands, &ctx, "response-product").verdict, HKT_SKIPPED);
    hkt_checkpoint_free(&model);
}

/* Running out of memory anywhere is reported and leaves nothing behind. */
static void test_memory(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&small, 1);
    hkt_verify_context ctx = quick;
    ctx.model = &model;
    ctx.tokens = 8;
    static const char *const name[] = {"response-product", "outputs", "white-noise"};
    check_out_of_memory(&hkt_claim_bands, &ctx, name, 3);
    hkt_checkpoint_free(&model);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dirichlet),
        cmocka_unit_test(test_spectrum),
        cmocka_unit_test(test_cascade),
        cmocka_unit_test(test_energy_naive),
        cmocka_unit_test(test_energy_tones),
        cmocka_unit_test(test_white_noise_limit),
        cmocka_unit_test(test_white_noise_sampled),
        cmocka_unit_test(test_dominance),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_score_taps),
        cmocka_unit_test(test_white_noise_numbers),
        cmocka_unit_test(test_response),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_model_checks),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

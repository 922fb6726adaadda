/* The textbook attention and convolution of the claim `subsumption` against the naive kernels and their bounds against
 * float32 arithmetic; where lambda and beta become exact; the checks on other models than the default one. */
#include "tests/check.h"

#include <float.h>

#include "analysis/claims/subsumption/subsumption.h"
#include "analysis/math/linalg.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/attention.h"
#include "num/blas.h"
#include "num/kernels.h"
#include "tests/claim_check.h"
#include "tests/model.h"
#include "tests/vectors.h"

enum { T = 30, D = 12, P = 6, W = 3 };

/* A head with random values that are floats; *mem owns it. */
static hkt_plain_head random_head(bool causal, double **mem)
{
    hkt_rng rng = hkt_rng_make(9, HKT_STREAM_TEST, causal);
    *mem = model_doubles(T * D + 3 * P * D + W * P);
    normals(&rng, *mem, T * D + 3 * P * D + W * P);
    for (size_t i = 0; i < T * D + 3 * P * D + W * P; i++)
        (*mem)[i] = (double)(float)(*mem)[i];
    double *w = *mem + T * D;
    return (hkt_plain_head){T, D, P, causal, *mem, w, w + P * D, w + 2 * P * D, w + 3 * P * D, W, P};
}

/* q, k, v [T, P] by the naive sum. */
static void project(const hkt_plain_head *h, const double *w, double *out)
{
    for (size_t i = 0; i < T; i++)
        for (size_t r = 0; r < P; r++) {
            out[i * P + r] = 0;
            for (size_t c = 0; c < D; c++)
                out[i * P + r] += h->x[i * D + c] * w[r * D + c];
        }
}

static void plain_against_naive(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        double *mem, q[T * P], k[T * P], v[T * P], o[T * P], lse[T], out[T * P], bound[T * P];
        hkt_plain_head h = random_head(causal, &mem);
        project(&h, h.wq, q);
        project(&h, h.wk, k);
        project(&h, h.wv, v);
        hkt_attention_f64 a = {.T = T, .p = P, .stride = 2, .n_levels = 1, .causal = causal, .v = v, .ld_v = P};
        a.q[0] = q;
        a.k[0] = k;
        a.ld_qk[0] = P;
        a.weight[0] = 1;
        CHECK_OK(hkt_attention_forward_ref_f64(&a, o, P, lse, NULL));
        CHECK_OK(hkt_plain_attention(&h, 0x1p-53, out, bound));
        for (size_t i = 0; i < T * P; i++) {
            CHECK_AT_MOST(fabs(out[i] - o[i]), bound[i]);
            CHECK_AT_MOST(bound[i], 1e-10);
        }
        hkt_conv_forward_ref_f64(T, P, W, v, P, h.conv, o, P);
        CHECK_OK(hkt_plain_convolution(&h, 0x1p-53, out, bound));
        for (size_t i = 0; i < T * P; i++) {
            CHECK_AT_MOST(fabs(out[i] - o[i]), bound[i]);
            CHECK_AT_MOST(bound[i], 1e-12);
        }
        hkt_free(mem);
    }
}

/* The bound holds for float arithmetic done in the worst order there is, and is not absurdly wide. */
static void bounds_hold_in_float(void **state)
{
    (void)state;
    double *mem, out[T * P], bound[T * P], worst = 0;
    hkt_plain_head h = random_head(true, &mem);
    CHECK_OK(hkt_plain_attention(&h, 0x1p-24, out, bound));
    float q[T * P], k[T * P], v[T * P];
    const double *weights[] = {h.wq, h.wk, h.wv};
    float *to[] = {q, k, v};
    for (size_t m = 0; m < 3; m++)
        for (size_t i = 0; i < T * P; i++) {
            to[m][i] = 0;
            for (size_t c = 0; c < D; c++)
                to[m][i] += (float)h.x[i / P * D + c] * (float)weights[m][i % P * D + c];
        }
    float o[T * P], lse[T];
    hkt_attention_f32 a = {.T = T, .p = P, .stride = 2, .n_levels = 1, .causal = true, .v = v, .ld_v = P};
    a.q[0] = q;
    a.k[0] = k;
    a.ld_qk[0] = P;
    a.weight[0] = 1;
    CHECK_OK(hkt_attention_forward_ref_f32(&a, o, P, lse, NULL));
    for (size_t i = 0; i < T * P; i++) {
        CHECK_AT_MOST(fabs((double)o[i] - out[i]), bound[i]);
        worst = fmax(worst, fabs((double)o[i] - out[i]) / bound[i]);
    }
    CHECK_AT_MOST(1e-4, worst);
    hkt_free(mem);
}

/* --- saturation --- */

static hkt_config two_levels(void)
{
    return (hkt_config){.vocab = 4,
                        .classes = 2,
                        .max_len = 8,
                        .d_model = 4,
                        .heads = 1,
                        .layers = 1,
                        .levels = 2,
                        .stride = 2,
                        .conv_width = 2,
                        .ffn_mult = 1,
                        .fusion = HKT_FUSION_STATIC,
                        .hybrid = true,
                        .causal = true};
}

/* lambda_1 at theta = (gap, 0), in either precision. */
static double other_weight(double gap, bool f32)
{
    hkt_config c = two_levels();
    size_t length = 5;
    model m = model_random(&c, 1, &length, 1);
    m.params[m.layout->layer[0].theta] = gap;
    m.params[m.layout->layer[0].theta + 1] = 0;
    double lambda;
    if (f32) {
        hkt_net_f32 *net = model_net_f32(&m, false, true);
        float *params = model_params_f32(&m);
        hkt_tap_f32 tap;
        CHECK_OK(hkt_net_forward_f32(net, params, &m.batch, NULL, NULL, NULL, NULL));
        CHECK_OK(hkt_net_tap_f32(net, 0, &tap));
        lambda = (double)tap.lambda[1];
        hkt_free(params);
        hkt_net_destroy_f32(net);
    } else {
        hkt_net_f64 *net = model_net_f64(&m, false, true);
        hkt_tap_f64 tap;
        CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, NULL, NULL, NULL));
        CHECK_OK(hkt_net_tap_f64(net, 0, &tap));
        lambda = tap.lambda[1];
        assert_true(gap < 40 || tap.lambda[0] == 1);
        hkt_net_destroy_f64(net);
    }
    model_free(&m);
    return lambda;
}

/* As docs/theory.md states: exact 0 from a gap of 746 (float: 104) on, and not much before. */
static void exact_level_weights(void **state)
{
    (void)state;
    assert_true(other_weight(746, false) == 0 && other_weight(744, false) > 0);
    assert_true(other_weight(104, true) == 0 && other_weight(103, true) > 0);
    assert_true(other_weight(HKT_SUBSUMPTION_LARGE, false) == 0);
}

/* beta = 1 / (1 + e^-b) as the model computes it. */
static void exact_beta(void **state)
{
    (void)state;
    assert_true(1 / (1 + exp(-36.8)) == 1 && 1 / (1 + exp(-36.7)) < 1);
    assert_true(1 / (1 + exp(710.0)) == 0 && 1 / (1 + exp(709.0)) > 0);
    assert_true(1 - 1 / (1 + exp(37.5)) == 1 && 1 - 1 / (1 + exp(37.4)) < 1);
    assert_true(1 / (1 + exp(-(double)INFINITY)) == 1 && 1 / (1 + exp((double)INFINITY)) == 0);
}

/* --- the claim --- */

static hkt_verdict verdict_on(const hkt_config *c, const char *name, size_t tokens)
{
    size_t length = c->max_len;
    model m = model_random(c, 1, &length, 6);
    hkt_checkpoint checkpoint = {.layout = m.layout, .params = m.params};
    hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED, .quick = true, .model = &checkpoint, .tokens = tokens};
    hkt_check_result r = {0};
    const hkt_check *check = hkt_claim_check(&hkt_claim_subsumption, name);
    assert_true(check && check->of_model);
    CHECK_OK(check->run(&ctx, &r, false));
    hkt_check_result_free(&r);
    model_free(&m);
    return r.verdict;
}

static void claim_on_models(void **state)
{
    (void)state;
    static const char *const names[] = {"strict-score", "strict-attention", "width-score", "width-attention"};
    for (size_t i = 0; i < 4; i++)
        for (int fusion = 0; fusion < 3; fusion++) {
            hkt_config c = two_levels();
            c.max_len = 64;
            c.d_model = 24;
            c.heads = 3;
            c.fusion = (hkt_fusion)fusion;
            c.causal = fusion == 0;
            assert_int_equal(verdict_on(&c, names[i], 0), HKT_HOLDS);
            c.heads = 1; /* p = d */
            c.max_len = 200;
            assert_int_equal(verdict_on(&c, names[i], 0), HKT_HOLDS);
            assert_int_equal(verdict_on(&c, names[i], 20), HKT_SKIPPED); /* fewer tokens than p */
            c.levels = 1;
            assert_int_equal(verdict_on(&c, names[i], 0), HKT_SKIPPED);
        }
}

/* sigma_k_at_least is below sigma_k of every row, and not by much. */
static void certified_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"strict-score", "strict-attention"};
    for (size_t i = 0; i < 2; i++) {
        hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED};
        hkt_check_result r = {0};
        CHECK_OK(hkt_claim_check(&hkt_claim_subsumption, names[i])->run(&ctx, &r, false));
        assert_int_equal(r.rows.n_rows, 8);
        for (size_t k = 0; k < r.rows.n_rows; k++) {
            const double *cell = r.rows.cell + k * r.rows.n_cols;
            CHECK_AT_MOST(cell[6], cell[5]);
            CHECK_AT_MOST(0.999 * cell[5], cell[6]);
            /* d = 32, p = 8, L = 3: each term has 105 roundings, |terms|_F >= sigma_1; the bound goes below sigma_k by
             * it. */
            CHECK_AT_MOST(2 * 105 * 0x1p-53 * cell[4], cell[8]);
            CHECK_AT_MOST(cell[6] + cell[8], cell[5]);
            CHECK_NEAR(cell[3], 9 + (double)i, 0);
        }
        hkt_check_result_free(&r);
    }
}

/* a [m, n] less its projection on the columns of y [m, k], by Gram-Schmidt, twice. */
static void project_out(size_t m, size_t k, double *y, size_t n, double *a)
{
    for (size_t c = 0; c < k + n; c++)
        for (int twice = 0; twice < 2; twice++) {
            double *v = c < k ? y + c : a + (c - k), square = 0;
            size_t step = c < k ? k : n;
            for (size_t b = 0; b < (c < k ? c : k); b++) {
                double dot = 0;
                for (size_t i = 0; i < m; i++)
                    dot += y[i * k + b] * v[i * step];
                for (size_t i = 0; i < m; i++)
                    v[i * step] -= dot * y[i * k + b];
            }
            for (size_t i = 0; i < m; i++)
                square += v[i * step] * v[i * step];
            for (size_t i = 0; i < m && c < k; i++)
                v[i * step] = square > 1e-12 ? v[i * step] / sqrt(square) : 0;
        }
}

/* The rows of the checks against singular values of (I - P) S, from a projection made by itself. */
static void width_rows(void **state)
{
    (void)state;
    const hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED};
    enum { DIM = 32, TOKENS = 132 };
    for (size_t quarter = 0; quarter < 2; quarter++) {
        hkt_subject s;
        hkt_scene f = {0};
        hkt_check_result r = run_check(&hkt_claim_subsumption, &ctx, quarter ? "width-attention" : "width-score");
        CHECK_OK(hkt_subject_open(&ctx, &s));
        CHECK_OK(hkt_subject_see(&ctx, &s, TOKENS, &f));
        assert_true(f.T == TOKENS && f.d == DIM && r.rows.n_rows == 8);
        size_t n = quarter ? TOKENS / 2 : TOKENS, row = TOKENS - n;
        double *score = model_doubles(2 * TOKENS * TOKENS), *level = score + TOKENS * TOKENS,
               *block = model_doubles(n * n), *y = model_doubles(n * (DIM + 1)), sigma[TOKENS];
        for (size_t k = 0; k < 8; k++) {
            const double *cell = r.rows.cell + k * r.rows.n_cols, *x = f.tap[k / 4].x[0] + row * DIM;
            hkt_scene_scores(&f, k / 4, k % 4, 3, level, score);
            double norm = 0, rest = 0;
            for (size_t a = 0; a < n; a++) {
                for (size_t b = 0; b <= DIM; b++)
                    y[a * (DIM + 1) + b] = b < DIM ? x[a * DIM + b] : 1;
                for (size_t b = 0; b < n; b++) {
                    block[a * n + b] = score[(row + a) * TOKENS + b];
                    norm += block[a * n + b] * block[a * n + b];
                }
            }
            project_out(n, DIM + 1, y, n, block);
            CHECK_OK(hkt_singular_values(n, n, block, sigma));
            assert_true(cell[0] == (double)(k / 4) && cell[1] == (double)(k % 4) && cell[3] == 1 + (double)quarter);
            CHECK_AT_MOST(cell[5], cell[4]);
            /* Behind a layer norm [X 1] has rank d: sigma_{d+1+k} is little below sigma_{k+1}. */
            CHECK_AT_MOST(cell[4], sigma[quarter + 1] * (1 + 1e-9));
            CHECK_AT_MOST(0.99 * sigma[quarter + 1], cell[5]);
            for (size_t a = quarter; a < n; a++)
                rest += sigma[a] * sigma[a];
            CHECK_AT_MOST(cell[6], sqrt(rest / norm));
            /* 2d + p + 3L roundings and more of every term, whose norm is at least that of S. */
            CHECK_AT_MOST(80 * 0x1p-53 * sqrt(norm), cell[7]);
        }
        hkt_free(score);
        hkt_free(block);
        hkt_free(y);
        hkt_scene_close(&f);
        hkt_subject_close(&s);
        hkt_check_result_free(&r);
    }
}

/* The absolute terms of S^H, which its rounding is bounded by, from their definition. */
static void absolute_terms(void **state)
{
    (void)state;
    const hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED};
    enum { DIM = 32, PER = 8, TOKENS = 21, SQUARE = TOKENS * TOKENS, HEAD = 2 };
    hkt_subject s;
    hkt_scene f = {0};
    CHECK_OK(hkt_subject_open(&ctx, &s));
    CHECK_OK(hkt_subject_see(&ctx, &s, TOKENS, &f));
    double score[SQUARE], size[SQUARE], level[SQUARE], block[SQUARE], work[2 * TOKENS * PER], square = 0;
    hkt_subsumption_scores(&s, &f, 1, HEAD, 3, score, size, level, work);
    for (size_t i = 0; i < TOKENS; i++)
        for (size_t j = 0; j < TOKENS; j++) {
            double sum = 0;
            for (size_t l = 0; l < 3; l++) {
                const double *wq = hkt_subject_wq(&s, 1, l, HEAD), *wk = hkt_subject_wk(&s, 1, l, HEAD);
                const double *x = f.tap[1].x[l] + (i >> l) * DIM, *y = f.tap[1].x[l] + (j >> l) * DIM;
                for (size_t r = 0; r < PER; r++) {
                    double q = 0, k = 0;
                    for (size_t c = 0; c < DIM; c++) {
                        q += fabs(wq[r * DIM + c] * x[c]);
                        k += fabs(wk[r * DIM + c] * y[c]);
                    }
                    sum += f.tap[1].lambda[l] * q * k / sqrt(PER);
                }
            }
            CHECK_NEAR(size[i * TOKENS + j], sum, 1e-12 * sum);
            if (i >= 11 && j < 10)
                square += sum * sum;
        }
    /* gamma_k for 2 (2d + p + 3L + 24) roundings of a term and those of the sum of 10 x 10 squares. */
    double rounding = hkt_subsumption_window(&s.layout->config, TOKENS, score, size, 11, 10, 10, block);
    CHECK_NEAR(rounding, (2 * 105 + 40) * 0x1p-53 * sqrt(square), 1e-5 * rounding);
    for (size_t i = 0; i < 100; i++)
        assert_true(block[i] == score[(11 + i / 10) * TOKENS + i % 10]);
    hkt_scene_close(&f);
    hkt_subject_close(&s);
}

/* [x 1] of full rank: nothing is proved of a matrix of scores of one head with biases and a constant per row, up to
 * sigma_1; what is proved with a part of its own is just below its singular values. */
static void beyond_any_width(void **state)
{
    (void)state;
    enum { ROWS = 20, DIM = 5, COLUMNS = 12, Y = DIM + 1 };
    double x[ROWS * DIM], y[ROWS * Y], other[COLUMNS * Y], form[Y * Y], head[ROWS * COLUMNS], block[ROWS * COLUMNS],
        rest[ROWS * COLUMNS], sigma[COLUMNS];
    hkt_rng rng = hkt_rng_make(3, HKT_STREAM_TEST, 90);
    normals(&rng, x, ROWS * DIM);
    normals(&rng, other, COLUMNS * Y);
    normals(&rng, form, Y * Y);
    for (size_t i = 0; i < ROWS * Y; i++)
        y[i] = i % Y < DIM ? x[i / Y * DIM + i % Y] : 1;
    memset(head, 0, sizeof head);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            for (size_t a = 0; a < Y; a++)
                for (size_t b = 0; b < Y; b++)
                    head[i * COLUMNS + j] += y[i * Y + a] * form[a * Y + b] * other[j * Y + b];
    hkt_rank_bound bound;
    CHECK_OK(hkt_subsumption_beyond(ROWS, DIM, COLUMNS, x, head, 1e-12, 1, &bound));
    assert_true(bound.lower == 0);
    for (size_t i = 0; i < ROWS; i++) { /* a constant per row, different from row to row */
        double constant = hkt_rng_normal(&rng);
        for (size_t j = 0; j < COLUMNS; j++)
            head[i * COLUMNS + j] += constant;
    }
    CHECK_OK(hkt_subsumption_beyond(ROWS, DIM, COLUMNS, x, head, 1e-12, 1, &bound));
    assert_true(bound.lower > 0.1);
    CHECK_OK(hkt_subsumption_beyond(ROWS, DIM, COLUMNS, x, head, 1e-12, 2, &bound));
    assert_true(bound.lower == 0);
    normals(&rng, rest, ROWS * COLUMNS);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        rest[i] = block[i] = head[i] + rest[i];
    project_out(ROWS, Y, y, COLUMNS, rest);
    CHECK_OK(hkt_singular_values(ROWS, COLUMNS, rest, sigma));
    for (size_t k = 1; k <= 3; k++) {
        CHECK_OK(hkt_subsumption_beyond(ROWS, DIM, COLUMNS, x, block, 1e-9, k, &bound));
        CHECK_AT_MOST(bound.lower, sigma[k - 1] - 0.9e-9);
        CHECK_AT_MOST(0.999 * sigma[k - 1], bound.lower);
    }
}

/* Far out the distance and its bound both fall like e^-t: their ratio, recorded for this seed, stands still. */
static void rate_of_approach(void **state)
{
    (void)state;
    hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED};
    hkt_check_result r = {0};
    CHECK_OK(hkt_claim_check(&hkt_claim_subsumption, "limit")->run(&ctx, &r, false));
    for (size_t i = 3; i < 7; i++) {
        const double *cell = r.rows.cell + i * r.rows.n_cols, *next = cell + r.rows.n_cols;
        CHECK_NEAR(cell[4], 0.244, 0.001);
        CHECK_NEAR(log(cell[3] / next[3]), next[0] - cell[0], 0.01);
        CHECK_NEAR(cell[2], 1 / (1 + exp(cell[0])), 1e-15);
    }
    hkt_check_result_free(&r);
}

/* Running out of memory anywhere in a check is reported and leaves nothing behind. */
static void out_of_memory(void **state)
{
    (void)state;
    const hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED, .quick = true, .tokens = 72};
    static const char *const names[] = {"attention-f32",    "convolution-f64", "limit",
                                        "strict-attention", "width-attention", "strict-convolution"};
    check_out_of_memory(&hkt_claim_subsumption, &ctx, names, 6);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    hkt_set_threads(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_against_naive), cmocka_unit_test(bounds_hold_in_float),
        cmocka_unit_test(exact_level_weights), cmocka_unit_test(exact_beta),
        cmocka_unit_test(claim_on_models),     cmocka_unit_test(certified_rows),
        cmocka_unit_test(rate_of_approach),    cmocka_unit_test(out_of_memory),
        cmocka_unit_test(width_rows),          cmocka_unit_test(beyond_any_width),
        cmocka_unit_test(absolute_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

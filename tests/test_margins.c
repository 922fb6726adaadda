/* Small edits of checks that leave every verdict as it is, each seen by a number: corrections for multiplicity, factors
 * of bounds, heads and draws that are left out. */
#include "tests/check.h"

#include "analysis/claims/subject.h"
#include "analysis/math/draw.h"
#include "analysis/math/entropy.h"
#include "analysis/math/multiple.h"
#include "analysis/math/rank.h"
#include "num/blas.h"
#include "tests/claim_check.h"
#include "train/evaluate.h"

static const hkt_config config = {.vocab = 16,
                                  .classes = 10,
                                  .max_len = 64,
                                  .d_model = 32,
                                  .heads = 2,
                                  .layers = 2,
                                  .levels = 3,
                                  .stride = 2,
                                  .conv_width = 2,
                                  .ffn_mult = 1,
                                  .fusion = HKT_FUSION_SCORE,
                                  .hybrid = true,
                                  .causal = true};

typedef struct {
    hkt_subject s;
    hkt_checkpoint model;
    hkt_verify_context ctx;
} model;

/* Weights of unequal levels: lambda = 0.705, 0.259, 0.035. */
static void open_model(model *m, bool full)
{
    CHECK_OK(hkt_subject_fresh(&config, 11, &m->s));
    for (size_t n = 0; n < config.layers; n++)
        for (size_t l = 0; l < config.levels; l++)
            m->s.params[m->s.layout->layer[n].theta + l] = (double)l * (l == 1 ? -1 : -1.5);
    m->model = (hkt_checkpoint){.layout = m->s.own, .params = m->s.params};
    m->ctx = (hkt_verify_context){.seed = HKT_DEFAULT_SEED, .quick = !full, .model = &m->model};
}

static double cell(const hkt_check_result *r, size_t row, size_t column)
{
    assert_true(row < r->rows.n_rows && column < r->rows.n_names + r->rows.n_cols);
    return r->rows.cell[row * r->rows.n_cols + column - r->rows.n_names];
}

/* Products of a random integer matrix of exact rank k - 1: nothing may be proved of sigma_k, whatever is lost in A W.
 */
static void no_rank_too_many(void **state)
{
    (void)state;
    enum { M = 24, N = 16 };
    for (uint32_t trial = 0; trial < 400; trial++) {
        hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, trial);
        size_t k = 2 + (size_t)hkt_rng_below(&rng, N - 1);
        double a[M * N] = {0}, range = ldexp(1, 1 + (int)hkt_rng_below(&rng, 20));
        for (size_t r = 0; r + 1 < k; r++)
            for (size_t i = 0; i < M; i++) {
                double u = floor(range * (2 * hkt_rng_uniform(&rng) - 1));
                hkt_rng column = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 1000 + trial * 20 + (uint32_t)r);
                for (size_t j = 0; j < N; j++)
                    a[i * N + j] += u * floor(range * (2 * hkt_rng_uniform(&column) - 1));
            }
        hkt_rank_bound b;
        CHECK_OK(hkt_rank_certify(M, N, a, 0, k, &b));
        assert_true(b.lower == 0);
    }
}

/* What rounding allows is used to a part that a larger constant would make smaller. */
static void allowance(void **state)
{
    (void)state;
    hkt_check_result r = run_check(&hkt_claim_psd, &quick, "tied-gram");
    CHECK_AT_MOST(0.1, r.measured);
    hkt_check_result_free(&r);
}

/* The limit of wide heads: a normal quantile at 0.05 % over all heads, two-sided. */
static void share_correction(void **state)
{
    (void)state;
    model m;
    open_model(&m, false);
    hkt_check_result r = run_check(&hkt_claim_asymmetry, &m.ctx, "energy-fresh");
    CHECK_NEAR(erfc(r.bound / sqrt(2)), 0.0005 / 12, 1e-12); /* 2 layers, 3 levels, 2 heads */
    hkt_check_result_free(&r);
    hkt_subject_close(&m.s);
}

/* Each of 2 layers times 2 levels at 98.75 %. */
static void band_correction(void **state)
{
    (void)state;
    model m;
    open_model(&m, false);
    hkt_check_result r = run_check(&hkt_claim_bands, &m.ctx, "raw-hidden");
    if (!strstr(r.detail, "4 levels, ") || !strstr(r.detail, "intervals of 98.75 % each"))
        fail_msg("found: %s", r.detail);
    hkt_check_result_free(&r);
    hkt_subject_close(&m.s);
}

/* Every head of every layer is looked at, by --quick the first two. */
static void all_heads(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        model m;
        open_model(&m, full);
        m.ctx.tokens = 24;
        hkt_check_result r = run_check(&hkt_claim_approximation, &m.ctx, "own-heads");
        assert_int_equal(r.rows.n_rows, 4);
        hkt_check_result_free(&r);
        hkt_subject_close(&m.s);
    }
}

/* S^H weighs its levels by their own lambda, and so does the bound of its rounding: from the definition. */
static void level_weights(void **state)
{
    (void)state;
    model m;
    open_model(&m, false);
    enum { T = 64 };
    hkt_check_result r = run_check(&hkt_claim_subsumption, &m.ctx, "strict-score");
    hkt_scene f = {0};
    CHECK_OK(hkt_subject_see(&m.ctx, &m.s, T, &f));
    assert_int_equal(f.T, T);
    const size_t d = 32, p = 16;
    const double e1 = exp(-1), e2 = exp(-3), lambda[] = {1 / (1 + e1 + e2), e1 / (1 + e1 + e2), e2 / (1 + e1 + e2)};
    for (size_t row = 0; row < r.rows.n_rows; row++) {
        size_t layer = (size_t)cell(&r, row, 0), head = (size_t)cell(&r, row, 1);
        double squares = 0;
        for (size_t i = 0; i < T; i++)
            for (size_t j = 0; j < T; j++) {
                double sum = 0;
                for (size_t l = 0; l < 3; l++) {
                    const double *x = f.tap[layer].x[l] + (i >> l) * d, *y = f.tap[layer].x[l] + (j >> l) * d;
                    const double *wq = hkt_subject_wq(&m.s, layer, l, head), *wk = hkt_subject_wk(&m.s, layer, l, head);
                    for (size_t c = 0; c < p; c++) {
                        double q = 0, k = 0;
                        for (size_t a = 0; a < d; a++) {
                            q += fabs(x[a]) * fabs(wq[c * d + a]);
                            k += fabs(y[a]) * fabs(wk[c * d + a]);
                        }
                        sum += lambda[l] * q * k / 4; /* sqrt(p) */
                    }
                }
                squares += sum * sum;
            }
        /* gamma_{2 (2d + p + 3L + 24) + 2 (T + T)}, u = 2^-53 */
        double expected = (2 * (2 * 32 + 16 + 9 + 24) + 4 * T) * 0x1p-53 * sqrt(squares);
        CHECK_NEAR(cell(&r, row, 8), expected, 1e-5 * expected);
    }
    hkt_scene_close(&f);
    hkt_check_result_free(&r);
    hkt_subject_close(&m.s);
}

/* The control's Laplace scores, drawn again: a tenth of the sequences left out at a time, factor 9/10. */
static void jackknife(void **state)
{
    (void)state;
    enum { SEQUENCES = 20, SCORES = 500, N = SEQUENCES * SCORES };
    static double all[N], part[N];
    const hkt_check *check = hkt_claim_check(&hkt_claim_information, "trained");
    hkt_check_result r = {0};
    CHECK_OK(check->run(&quick, &r, true));
    hkt_rng rng = hkt_rng_make(quick.seed, HKT_STREAM_VERIFY, 144);
    for (size_t head = 0; head < 4; head++) {
        double value[10], mean = 0, spread = 0;
        for (size_t i = 0; i < N; i++)
            all[i] = hkt_draw_laplace(&rng);
        for (size_t g = 0; g < 10; g++) {
            size_t n = 0;
            for (size_t i = 0; i < N; i++)
                if (i / SCORES % 10 != g)
                    part[n++] = all[i];
            CHECK_OK(hkt_negentropy_spacing(part, n, value + g));
            mean += value[g] / 10;
        }
        for (size_t g = 0; g < 10; g++)
            spread += (value[g] - mean) * (value[g] - mean);
        CHECK_NEAR(cell(&r, head, 7), sqrt(0.9 * spread), 1e-12 * sqrt(spread));
    }
    hkt_check_result_free(&r);
}

/* p against the random parts is the largest over their draws: evaluated again, one by one. */
static void largest_over_draws(void **state)
{
    (void)state;
    enum { N = 400 };
    model m;
    hkt_dataset data;
    open_model(&m, true);
    for (size_t i = 0; i < m.s.layout->total; i++)
        m.s.params[i] *= 8; /* so that answers change */
    CHECK_OK(hkt_subject_sequences(&m.ctx, &config, N, 4, &data));
    for (size_t i = 0; i < N; i++)
        data.labels[i] = data.tokens[4 * i] % 10;
    m.ctx.data = &data;
    hkt_check_result r = run_check(&hkt_claim_asymmetry, &m.ctx, "interventions");
    float *params = calloc(m.s.layout->total, sizeof *params);
    hkt_params_to_f32(m.s.layout, m.s.params, params);
    size_t differ = 0;
    for (size_t first = 1; first < r.rows.n_rows;
         first += 5) { /* row 0: as it is; then S_s, S_a and three draws a place */
        unsigned char correct[5][N];
        for (size_t k = 0; k < 5; k++) {
            hkt_evaluation e;
            hkt_intervention iv = {.seed = m.ctx.seed + k};
            double level = cell(&r, first + k, 0);
            for (size_t l = 0; l < config.levels; l++)
                if (level < 0 || (size_t)level == l)
                    iv.part[l] = k == 0 ? HKT_PART_SYMMETRIC : k == 1 ? HKT_PART_ANTISYMMETRIC : HKT_PART_RANDOM;
            CHECK_OK(hkt_evaluate(m.s.layout, params, &data, 8192, &iv, &e, NULL, correct[k]));
        }
        for (size_t k = 0; k < 2; k++) {
            double largest = 0, least = 1;
            for (size_t draw = 2; draw < 5; draw++) {
                size_t gained = 0, lost = 0;
                for (size_t i = 0; i < N; i++) {
                    gained += correct[k][i] > correct[draw][i];
                    lost += correct[k][i] < correct[draw][i];
                }
                largest = fmax(largest, hkt_mcnemar(gained, lost));
                least = fmin(least, hkt_mcnemar(gained, lost));
            }
            CHECK_NEAR(cell(&r, first + k, 8), largest, 0);
            differ += least < largest;
        }
    }
    assert_true(differ > 0);
    free(params);
    hkt_check_result_free(&r);
    hkt_dataset_free(&data);
    hkt_subject_close(&m.s);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_rank_too_many), cmocka_unit_test(allowance),
                                       cmocka_unit_test(share_correction), cmocka_unit_test(band_correction),
                                       cmocka_unit_test(all_heads),        cmocka_unit_test(level_weights),
                                       cmocka_unit_test(jackknife),        cmocka_unit_test(largest_over_draws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

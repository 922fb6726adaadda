/* The measurements of weights and parts (describe, asymmetry, gates, scores, ablate, compare) against naive
 * computations, on two models. */
#include "tests/check.h"

#include <float.h>
#include <unistd.h>

#include "analysis/view/scores.h"
#include "base/npy.h"
#include "num/blas.h"
#include "tests/measured.h"

static const hkt_config config = {.vocab = 7,
                                  .classes = 3,
                                  .max_len = 50,
                                  .d_model = 12,
                                  .heads = 3,
                                  .layers = 2,
                                  .levels = 3,
                                  .stride = 2,
                                  .conv_width = 3,
                                  .ffn_mult = 2,
                                  .fusion = HKT_FUSION_DYNAMIC,
                                  .hybrid = true,
                                  .causal = true};
static const size_t lengths[] = {35, 20, 41, 13, 50, 32};
enum { N_SEQ = sizeof lengths / sizeof *lengths, D = 12, H = 3, P = D / H, L = 3, N_MODELS = 2 };

/* naive_model with everything drawn that it leaves at zero. */
static hkt_checkpoint model_with_gates(uint64_t seed)
{
    hkt_checkpoint model = naive_model(&config, seed);
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_TEST, 3);
    for (size_t i = 0; i < model.layout->n_params; i++) {
        const hkt_param *p = &model.layout->params[i];
        for (size_t k = 0; k < p->count && (p->role == HKT_ROLE_GATE || p->role == HKT_ROLE_BETA); k++)
            model.params[p->offset + k] = hkt_rng_normal(&rng);
    }
    return model;
}

/* Every test runs on both models. */
static void on_models(void (*test)(hkt_checkpoint *model, hkt_dataset *data))
{
    for (uint64_t seed = 1; seed <= N_MODELS; seed++) {
        hkt_checkpoint model = model_with_gates(seed);
        hkt_dataset data = naive_data(&config, lengths, N_SEQ);
        for (size_t i = 0; i < N_SEQ; i++)
            data.labels[i] = (int32_t)(i % 3);
        test(&model, &data);
        hkt_dataset_free(&data);
        hkt_checkpoint_free(&model);
    }
}

/* --- describe --- */

static void describe(hkt_checkpoint *model, hkt_dataset *data)
{
    (void)data;
    hkt_table t = measured(&hkt_measure_describe, (hkt_measure_context){.model = model, .tokens = 37});
    size_t parameters = 0, level_parameters = 0, lengths_seen = 0, measurements = 0;
    for (size_t i = 0; i < model->layout->n_params; i++)
        parameters += model->layout->params[i].count;
    for (size_t r = 0; r < t.rows; r++) {
        bool whole = is(&t, r, "level", "NA");
        if (is(&t, r, "quantity", "parameters") && whole)
            CHECK_NEAR(number(&t, r, "value"), parameters, 0);
        if (is(&t, r, "quantity", "parameters") && !whole)
            level_parameters += index_of(&t, r, "value");
        if (is(&t, r, "quantity", "tokens") && !whole) { /* 37, 19, 10 */
            lengths_seen++;
            CHECK_NEAR(number(&t, r, "value"), ceil(37 / pow(2, number(&t, r, "level"))), 0);
        }
        measurements += is(&t, r, "quantity", "measurement");
        if (is(&t, r, "quantity", "measurement"))
            assert_string_equal(cell(&t, r, "status"),
                                is(&t, r, "text", "kurtosis") || is(&t, r, "text", "bands") ||
                                        is(&t, r, "text", "information") || is(&t, r, "text", "errors") ||
                                        is(&t, r, "text", "decay") || is(&t, r, "text", "scores") ||
                                        is(&t, r, "text", "ablate")
                                    ? "skipped: needs --data"
                                : is(&t, r, "text", "compare") ? "skipped: needs a second model"
                                                               : "ok");
    }
    assert_int_equal(lengths_seen, L);
    assert_int_equal(measurements, hkt_measurements.n);
    /* Per layer: q, k, v of three levels, their convolutions, two downsamplings. */
    assert_int_equal(level_parameters, 2 * (L * (3 * D * D + 3 * D) + 2 * 2 * D));
    hkt_table_free(&t);
}

static void test_describe(void **state)
{
    (void)state;
    on_models(describe);
}

/* --- asymmetry --- */

static void naive_form(const hkt_checkpoint *model, size_t layer, size_t level, size_t head, double m[D][D])
{
    const hkt_level_offsets *at = &model->layout->layer[layer].level[level];
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            m[i][j] = 0;
            for (size_t r = 0; r < P; r++)
                m[i][j] += model->params[at->q + (head * P + r) * D + i] *
                           model->params[at->k + (head * P + r) * D + j] / sqrt(P);
        }
}

static double naive_outliers(double m[D][D], bool rows)
{
    double norm[D], mean = 0, variance = 0, sum = 0;
    for (size_t i = 0; i < D; i++) {
        norm[i] = 0;
        for (size_t j = 0; j < D; j++)
            norm[i] += rows ? m[i][j] * m[i][j] : m[j][i] * m[j][i];
        norm[i] = sqrt(norm[i]);
        mean += norm[i] / D;
    }
    for (size_t i = 0; i < D; i++)
        variance += (norm[i] - mean) * (norm[i] - mean) / D;
    for (size_t i = 0; i < D; i++)
        sum += norm[i] > mean + 2 * sqrt(variance) ? norm[i] : 0;
    return sum;
}

static double naive_asymmetry(const hkt_checkpoint *model, const hkt_table *t, size_t r)
{
    double m[D][D], o[D][D], all = 0, anti = 0, trace = 0, inner = 0, other = 0;
    size_t layer = index_of(t, r, "layer"), head = index_of(t, r, "head");
    naive_form(model, layer, index_of(t, r, "level"), head, m);
    naive_form(model, layer, is(t, r, "other", "NA") ? 0 : index_of(t, r, "other"), head, o);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            double a = (m[i][j] - m[j][i]) / 2, b = (o[i][j] - o[j][i]) / 2;
            all += m[i][j] * m[i][j];
            anti += a * a;
            other += b * b;
            inner += a * b;
            trace += m[i][j] * m[j][i];
        }
    double rows = naive_outliers(m, true), columns = naive_outliers(m, false);
    const char *quantity = cell(t, r, "quantity");
    return strcmp(quantity, "norm") == 0            ? sqrt(all)
           : strcmp(quantity, "antisymmetric") == 0 ? anti / all
           : strcmp(quantity, "symmetric") == 0     ? 1 - anti / all
           : strcmp(quantity, "symmetry") == 0      ? trace / all
           : strcmp(quantity, "cosine") == 0        ? inner / sqrt(anti * other)
           : rows + columns > 0                     ? (columns - rows) / (columns + rows)
                                                    : 0;
}

static void asymmetry(hkt_checkpoint *model, hkt_dataset *data)
{
    (void)data;
    hkt_table t = measured(&hkt_measure_asymmetry, (hkt_measure_context){.model = model});
    assert_int_equal(t.rows, 2 * H * (5 * L + 3));
    for (size_t r = 0; r < t.rows; r++) {
        double expected = naive_asymmetry(model, &t, r);
        /* sums of D^2 terms of mixed sign, relative to ||M||^2: D^2 eps */
        CHECK_NEAR(number(&t, r, "value"), expected, 4 * D * D * DBL_EPSILON * fmax(1, fabs(expected)));
        assert_string_equal(cell(&t, r, "status"), "ok");
    }
    hkt_table_free(&t);
}

/* Weights near the ends of the range: shares and cosines have the same digits, the norm is the product of the scales or
 * said to be out of range. */
static void asymmetry_of_any_scale(hkt_checkpoint *model, hkt_dataset *data)
{
    (void)data;
    const struct {
        int q, k;
        bool in_range;
    } scale[] = {{300, 300, true}, {-500, -100, true}, {600, 600, false}, {-600, -600, false}, {1000, -1000, true}};
    hkt_table before = measured(&hkt_measure_asymmetry, (hkt_measure_context){.model = model});
    for (size_t s = 0; s < sizeof scale / sizeof *scale; s++) {
        const hkt_level_offsets *at = &model->layout->layer[1].level[2];
        for (int back = 0; back < 2; back++) {
            for (size_t i = 0; i < D * D; i++) {
                model->params[at->q + i] = ldexp(model->params[at->q + i], back ? -scale[s].q : scale[s].q);
                model->params[at->k + i] = ldexp(model->params[at->k + i], back ? -scale[s].k : scale[s].k);
            }
            if (back)
                break;
            hkt_table t = measured(&hkt_measure_asymmetry, (hkt_measure_context){.model = model});
            for (size_t r = 0; r < t.rows; r++) {
                const bool norm = is(&t, r, "quantity", "norm") && is(&t, r, "layer", "1") && is(&t, r, "level", "2");
                const double was = number(&before, r, "value"), is_now = number(&t, r, "value");
                assert_string_equal(cell(&t, r, "status"),
                                    norm && !scale[s].in_range ? "skipped: the norm is out of range" : "ok");
                if (norm)
                    assert_true(scale[s].in_range ? is_now == ldexp(was, scale[s].q + scale[s].k) : isnan(is_now));
                else
                    assert_string_equal(cell(&t, r, "value"), cell(&before, r, "value"));
            }
            hkt_table_free(&t);
        }
    }
    hkt_table_free(&before);
    const hkt_level_offsets *at = &model->layout->layer[0].level[0];
    memset(model->params + at->q, 0, D * D * sizeof(double));
    hkt_table t = measured(&hkt_measure_asymmetry, (hkt_measure_context){.model = model});
    assert_true(is(&t, 0, "quantity", "norm") && is(&t, 0, "status", "ok") && number(&t, 0, "value") == 0);
    for (size_t r = 1; r < 5; r++)
        assert_true(is(&t, r, "status", "skipped: the form is zero") && isnan(number(&t, r, "value")));
    hkt_table_free(&t);
}

static void test_asymmetry_scale(void **state)
{
    (void)state;
    on_models(asymmetry_of_any_scale);
}

static void test_asymmetry(void **state)
{
    (void)state;
    on_models(asymmetry);
    /* A form that is zero has no shares, and says so. */
    hkt_checkpoint model = naive_model(&config, 3);
    memset(model.params + model.layout->layer[1].level[0].q, 0, P * D * sizeof(double)); /* head 0 */
    hkt_table t = measured(&hkt_measure_asymmetry, (hkt_measure_context){.model = &model});
    for (size_t r = 0; r < t.rows; r++) {
        bool zero = is(&t, r, "layer", "1") && is(&t, r, "level", "0") && is(&t, r, "head", "0") &&
                    !is(&t, r, "quantity", "norm");
        assert_int_equal(isnan(number(&t, r, "value")), zero);
        assert_string_equal(cell(&t, r, "status"), zero ? "skipped: the form is zero" : "ok");
    }
    hkt_table_free(&t);
    hkt_checkpoint_free(&model);
}

/* --- inertia --- */

static bool same_place(const hkt_table *a, size_t r, const hkt_table *b, size_t q)
{
    static const char *const columns[] = {"kind", "layer", "level", "head"};
    for (size_t k = 0; k < 4; k++)
        if (strcmp(cell(a, r, columns[k]), cell(b, q, columns[k])) != 0)
            return false;
    return true;
}

/* From the rows of the other table. */
static void check_inertia(const hkt_table *t, size_t r, const hkt_table *eigenvalues)
{
    double all = 0, negative = 0, squares = 0, largest = 0;
    size_t signs[3] = {0};
    static const char *const sign[] = {"positive", "negative", "zero"};
    for (size_t q = 0; q < eigenvalues->rows; q++) {
        double w = number(eigenvalues, q, "eigenvalue");
        if (!same_place(t, r, eigenvalues, q))
            continue;
        for (size_t k = 0; k < 3; k++)
            signs[k] += is(eigenvalues, q, "sign", sign[k]);
        all += fabs(w);
        negative += fmax(0, -w);
        squares += w * w;
        largest = fmax(largest, fabs(w));
    }
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(index_of(t, r, sign[k]), signs[k]);
    CHECK_NEAR(number(t, r, "negative_mass"), negative / all, 64 * DBL_EPSILON);
    CHECK_NEAR(number(t, r, "stable_rank"), squares / (largest * largest), 1e-12);
}

static void inertia(hkt_checkpoint *model, hkt_dataset *data)
{
    hkt_measure_context ctx = {.model = model, .data = data, .seed = 4};
    hkt_table t = measured(&hkt_measure_inertia, ctx), w = measured(&hkt_measure_spectrum, ctx);
    hkt_checkpoint fresh = naive_model(&config, 1);
    hkt_init_params(fresh.layout, 4, fresh.params);
    ctx.model = &fresh;
    hkt_table random = measured(&hkt_measure_inertia, ctx);
    assert_int_equal(t.rows, 2 * H * (2 * L + 1));
    for (size_t r = 0; r < t.rows; r++) {
        check_inertia(&t, r, &w);
        CHECK_NEAR(number(&t, r, "negative_mass_random"), number(&random, r, "negative_mass"), 0);
        CHECK_NEAR(number(&t, r, "stable_rank_random"), number(&random, r, "stable_rank"), 0);
    }
    hkt_table_free(&t);
    hkt_table_free(&w);
    hkt_table_free(&random);
    hkt_checkpoint_free(&fresh);
}

static void test_inertia(void **state)
{
    (void)state;
    on_models(inertia);
}

/* Signs, negative mass and stable rank are those of the same forms, 2^600 times as large: squares of them overflow. */
static void inertia_of_any_scale(hkt_checkpoint *model, hkt_dataset *data)
{
    const hkt_measure_context ctx = {.model = model, .data = data, .seed = 4};
    static const char *const counts[] = {"positive", "negative", "zero"};
    hkt_table before = measured(&hkt_measure_inertia, ctx);
    const size_t rows = H * (2 * L + 1); /* of layer 0; behind its attention nothing is the same */
    for (size_t level = 0; level < L; level++)
        for (size_t i = 0; i < D * D; i++) {
            model->params[model->layout->layer[0].level[level].q + i] *= 0x1p300;
            model->params[model->layout->layer[0].level[level].k + i] *= 0x1p300;
        }
    hkt_table t = measured(&hkt_measure_inertia, ctx);
    for (size_t r = 0; r < rows; r++) {
        assert_true(is(&t, r, "layer", "0"));
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(index_of(&t, r, counts[k]), index_of(&before, r, counts[k]));
        CHECK_NEAR(number(&t, r, "negative_mass"), number(&before, r, "negative_mass"), 1e-12);
        CHECK_NEAR(number(&t, r, "stable_rank"), number(&before, r, "stable_rank"), 1e-12);
    }
    hkt_table_free(&before);
    hkt_table_free(&t);
}

static void test_inertia_scale(void **state)
{
    (void)state;
    on_models(inertia_of_any_scale);
}

/* --- gates --- */

/* softmax(theta + G xbar) of one level, xbar the mean of X^(0) over tokens; without data softmax(theta). */
static double naive_alpha(const hkt_checkpoint *model, size_t T, const int32_t *tokens, size_t layer, size_t level)
{
    const hkt_layer_offsets *at = &model->layout->layer[layer];
    double logit[L], sum = 0;
    size_t rows = 0;
    double *x = T > 0 ? naive_level_input(model->layout, model->params, T, tokens, layer, 0, &rows) : NULL;
    for (size_t l = 0; l < L; l++) {
        logit[l] = model->params[at->theta + l];
        for (size_t i = 0; i < rows * D; i++)
            logit[l] += model->params[at->gate + l * D + i % D] * x[i] / (double)rows;
        sum += exp(logit[l]);
    }
    free(x);
    return exp(logit[level]) / sum;
}

static void check_alpha(const hkt_checkpoint *model, const hkt_dataset *data, const hkt_table *t, size_t r)
{
    double mean = 0, square = 0, lo = 1, hi = 0;
    for (size_t i = 0; i < N_SEQ; i++) {
        double a = naive_alpha(model, lengths[i], data->tokens + data->offset[i], index_of(t, r, "layer"),
                               index_of(t, r, "level"));
        mean += a / N_SEQ;
        square += a * a / N_SEQ;
        lo = fmin(lo, a);
        hi = fmax(hi, a);
    }
    /* two float64 forward passes that differ in the order of their sums */
    CHECK_NEAR(number(t, r, "value"), mean, 1e-12);
    CHECK_NEAR(number(t, r, "sd"), sqrt(square - mean * mean), 1e-7); /* cancellation: sqrt(eps) */
    CHECK_NEAR(number(t, r, "lo"), lo, 1e-12);
    CHECK_NEAR(number(t, r, "hi"), hi, 1e-12);
}

static void gates(hkt_checkpoint *model, hkt_dataset *data)
{
    hkt_table t = measured(&hkt_measure_gates, (hkt_measure_context){.model = model, .data = data, .sequences = N_SEQ});
    assert_int_equal(t.rows, 2 * (L + L * H + L));
    for (size_t r = 0; r < t.rows; r++) {
        size_t layer = index_of(&t, r, "layer"), level = index_of(&t, r, "level");
        if (is(&t, r, "quantity", "alpha"))
            check_alpha(model, data, &t, r);
        else if (is(&t, r, "quantity", "lambda"))
            CHECK_NEAR(number(&t, r, "value"), naive_alpha(model, 0, NULL, layer, level), 8 * DBL_EPSILON);
        else
            CHECK_NEAR(
                number(&t, r, "value"),
                1 / (1 + exp(-model->params[model->layout->layer[layer].beta + level * H + index_of(&t, r, "head")])),
                4 * DBL_EPSILON);
    }
    hkt_table_free(&t);
    t = measured(&hkt_measure_gates, (hkt_measure_context){.model = model});
    for (size_t r = 0; r < t.rows; r++)
        assert_int_equal(strncmp(cell(&t, r, "status"), "skipped: ", 9) == 0, is(&t, r, "quantity", "alpha"));
    hkt_table_free(&t);
}

static void test_gates(void **state)
{
    (void)state;
    on_models(gates);
}

/* --- scores --- */

/* One entry of a level or, with level = L, of the sum. */
static double naive_entry(double *const score[L], const size_t rows[L], const hkt_checkpoint *model, size_t layer,
                          size_t level, size_t i, size_t j)
{
    double sum = 0;
    if (level < L)
        return score[level][i * rows[level] + j];
    for (size_t l = 0; l < L; l++) {
        size_t factor = (size_t)1 << l;
        sum += naive_alpha(model, 0, NULL, layer, l) * score[l][i / factor * rows[l] + j / factor];
    }
    return sum;
}

static void scores(hkt_checkpoint *model, hkt_dataset *data)
{
    enum { T = 21 };
    hkt_measure_context ctx = {.model = model,
                               .data = data,
                               .sequences = 1,
                               .tokens = T,
                               .npy = "sum.npy",
                               .layer = "1",
                               .head = "2",
                               .level = "NA"};
    hkt_table t = measured(&hkt_measure_scores, ctx);
    double *score[L], *saved;
    size_t rows[L], ndim, shape[HKT_MAX_DIMS];
    for (size_t l = 0; l < L; l++)
        score[l] = naive_scores(model->layout, model->params, T, data->tokens, 1, l, 2, &rows[l]);
    assert_int_equal(t.rows, 21 * 21 + 11 * 11 + 6 * 6 + 21 * 21);
    CHECK_OK(hkt_npy_read("sum.npy", &ndim, shape, &saved));
    assert_int_equal(ndim, 2);
    assert_int_equal(shape[0], T);
    for (size_t r = 0; r < t.rows; r++) {
        bool sum = is(&t, r, "level", "NA");
        size_t i = index_of(&t, r, "i"), j = index_of(&t, r, "j"), level = sum ? L : index_of(&t, r, "level");
        CHECK_NEAR(number(&t, r, "score"), naive_entry(score, rows, model, 1, level, i, j), 1e-11);
        assert_string_equal(cell(&t, r, "mask"), j > i ? "masked" : "used");
        if (sum)
            CHECK_NEAR(number(&t, r, "score"), saved[i * T + j], 0);
    }
    for (size_t l = 0; l < L; l++)
        free(score[l]);
    hkt_free(saved);
    unlink("sum.npy");
    hkt_table_free(&t);
}

static void test_scores(void **state)
{
    (void)state;
    on_models(scores);
}

/* --- ablate --- */

/* Accuracy, and mean cross entropy in *loss (NULL: not wanted). */
static double naive_accuracy(const hkt_checkpoint *model, const double *params, const hkt_dataset *data, double *loss)
{
    size_t correct = 0;
    double sum = 0;
    for (size_t i = 0; i < data->n; i++) {
        double logits[3];
        size_t label = (size_t)data->labels[i];
        CHECK_OK(
            hkt_net_forward_ref_f64(model->layout, params, lengths[i], data->tokens + data->offset[i], logits, NULL));
        size_t guess = logits[1] > logits[0] ? 1 : 0;
        guess = logits[2] > logits[guess] ? 2 : guess;
        correct += guess == label;
        sum += log(exp(logits[0]) + exp(logits[1]) + exp(logits[2])) - logits[label];
    }
    if (loss)
        *loss = sum / (double)data->n;
    return (double)correct / (double)data->n;
}

/* Columns of a head in the output projection count as zero: without what the head gives. */
static void cut_head(const hkt_checkpoint *model, double *params, size_t layer, size_t head)
{
    for (size_t i = 0; i < D; i++)
        for (size_t c = head * P; c < (head + 1) * P; c++)
            params[model->layout->layer[layer].out + i * D + c] = 0;
}

/* Values of a level count as zero: neither attention nor convolution gives anything. */
static void cut_level(const hkt_checkpoint *model, double *params, size_t level)
{
    for (size_t layer = 0; layer < 2; layer++)
        memset(params + model->layout->layer[layer].level[level].v, 0, D * D * sizeof *params);
}

/* With beta = 1 a head is its attention, with beta = 0 its convolution: what a head loses is then all or nothing. */
static void ablate_with(hkt_checkpoint *model, hkt_dataset *data, bool attention)
{
    double *cut = malloc(model->layout->total * sizeof *cut);
    for (size_t layer = 0; layer < 2; layer++)
        for (size_t i = 0; i < L * H; i++)
            model->params[model->layout->layer[layer].beta + i] = attention ? 60 : -60;
    hkt_table t =
        measured(&hkt_measure_ablate, (hkt_measure_context){.model = model, .data = data, .sequences = N_SEQ});
    assert_int_equal(t.rows, 1 + 3 * L + 2 * 2 * H);
    for (size_t r = 0; r < t.rows; r++) {
        bool cuts = is(&t, r, "part", "level") || is(&t, r, "part", attention ? "attention" : "convolution");
        memcpy(cut, model->params, model->layout->total * sizeof *cut);
        if (cuts && is(&t, r, "head", "NA"))
            cut_level(model, cut, index_of(&t, r, "level"));
        else if (cuts)
            cut_head(model, cut, index_of(&t, r, "layer"), index_of(&t, r, "head"));
        double loss;
        CHECK_NEAR(number(&t, r, "accuracy"), naive_accuracy(model, cut, data, &loss), DBL_EPSILON);
        CHECK_NEAR(number(&t, r, "loss"), loss, 1e-4); /* float32 against float64 */
        CHECK_NEAR(number(&t, r, "change"), number(&t, r, "accuracy") - number(&t, 0, "accuracy"), 4 * DBL_EPSILON);
    }
    hkt_table_free(&t);
    free(cut);
}

static void ablate(hkt_checkpoint *model, hkt_dataset *data)
{
    ablate_with(model, data, true);
    ablate_with(model, data, false);
}

static void test_ablate(void **state)
{
    (void)state;
    on_models(ablate);
}

/* --- compare --- */

static void check_compared(const hkt_table *t, size_t r, hkt_checkpoint *const model[2], const hkt_score_moments *m)
{
    size_t layer = index_of(t, r, "layer"), level = index_of(t, r, "level"), head = index_of(t, r, "head");
    static const char *const column[] = {"first", "second"};
    for (size_t k = 0; k < 2; k++) {
        hkt_moments pool = hkt_score_moments_pool(&m[k], layer, level, head);
        double form[D][D], all = 0, anti = 0;
        naive_form(model[k], layer, level, head, form);
        for (size_t i = 0; i < D * D; i++) {
            double a = (form[i / D][i % D] - form[i % D][i / D]) / 2;
            all += form[i / D][i % D] * form[i / D][i % D];
            anti += a * a;
        }
        double beta = model[k]->params[model[k]->layout->layer[layer].beta + level * H + head];
        double expected = is(t, r, "quantity", "kappa")           ? hkt_moments_kappa(&pool)
                          : is(t, r, "quantity", "antisymmetric") ? anti / all
                          : is(t, r, "quantity", "beta")          ? 1 / (1 + exp(-beta))
                                                                  : naive_alpha(model[k], 0, NULL, layer, level);
        CHECK_NEAR(number(t, r, column[k]), expected, 4 * D * D * DBL_EPSILON * fmax(1, expected));
    }
    if (is(t, r, "quantity", "kappa")) {
        CHECK_AT_MOST(number(t, r, "difference_lo"), number(t, r, "difference"));
        CHECK_AT_MOST(number(t, r, "difference"), number(t, r, "difference_hi"));
    }
}

static void test_compare(void **state)
{
    (void)state;
    hkt_checkpoint a = model_with_gates(1), b = model_with_gates(2), *const model[2] = {&a, &b};
    hkt_dataset data = naive_data(&config, lengths, N_SEQ);
    hkt_score_moments m[2];
    hkt_table t = measured(&hkt_measure_compare,
                           (hkt_measure_context){.model = &a, .other = &b, .data = &data, .sequences = N_SEQ});
    for (size_t k = 0; k < 2; k++)
        CHECK_OK(hkt_score_moments_collect(&m[k], hkt_score_of_model(model[k], &data), N_SEQ));
    assert_int_equal(t.rows, 1 + 2 * (L + 3 * L * H));
    assert_true(is(&t, 0, "quantity", "accuracy"));
    CHECK_NEAR(number(&t, 0, "first"), naive_accuracy(&a, a.params, &data, NULL), DBL_EPSILON);
    CHECK_NEAR(number(&t, 0, "second"), naive_accuracy(&b, b.params, &data, NULL), DBL_EPSILON);
    for (size_t r = 1; r < t.rows; r++)
        check_compared(&t, r, model, m);
    for (size_t r = 0; r < t.rows; r++)
        CHECK_NEAR(number(&t, r, "difference"), number(&t, r, "second") - number(&t, r, "first"), 0);
    hkt_table_free(&t);
    /* A model against itself differs in nothing. */
    t = measured(&hkt_measure_compare,
                 (hkt_measure_context){.model = &a, .other = &a, .data = &data, .sequences = N_SEQ});
    for (size_t r = 0; r < t.rows; r++)
        CHECK_NEAR(number(&t, r, "difference"), 0, 0);
    hkt_table_free(&t);
    for (size_t k = 0; k < 2; k++)
        hkt_score_moments_free(&m[k]);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&a);
    hkt_checkpoint_free(&b);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_describe), cmocka_unit_test(test_asymmetry), cmocka_unit_test(test_asymmetry_scale),
        cmocka_unit_test(test_gates),    cmocka_unit_test(test_scores),    cmocka_unit_test(test_ablate),
        cmocka_unit_test(test_compare),  cmocka_unit_test(test_inertia),   cmocka_unit_test(test_inertia_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

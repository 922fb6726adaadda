/* The measurements of signals and score matrices (bands, information, errors, decay) against naive computations, on two
 * models. */
#include "tests/check.h"

#include <complex.h>
#include <float.h>
#include <gsl/gsl_eigen.h>

#include "analysis/math/moments.h"
#include "num/blas.h"
#include "tests/measured.h"

static const hkt_config config = {.vocab = 7,
                                  .classes = 3,
                                  .max_len = 60,
                                  .d_model = 8,
                                  .heads = 2,
                                  .layers = 2,
                                  .levels = 3,
                                  .stride = 2,
                                  .conv_width = 3,
                                  .ffn_mult = 2,
                                  .fusion = HKT_FUSION_DYNAMIC,
                                  .hybrid = true,
                                  .causal = true};
static const size_t lengths[] = {45, 5, 60, 32};
enum { N_SEQ = sizeof lengths / sizeof *lengths, D = 8, H = 2, P = D / H, L = 3 };

static void on_models(void (*test)(hkt_checkpoint *model, hkt_dataset *data))
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        hkt_checkpoint model = naive_model(&config, seed);
        hkt_dataset data = naive_data(&config, lengths, N_SEQ);
        test(&model, &data);
        hkt_dataset_free(&data);
        hkt_checkpoint_free(&model);
    }
}

/* --- bands --- */

static double complex turn(double angle)
{
    return cexp((double complex)_Complex_I * angle);
}

/* Energy of x [n] in each band, by the definition of the transform; frequencies on an edge count half on either side.
 */
static void add_naive_bands(size_t n, const double *x, double energy[L])
{
    for (size_t k = 0; k < n; k++) {
        double complex z = 0;
        size_t folded = k <= n - k ? k : n - k; /* w = 2 pi folded/n, from 0 to pi */
        for (size_t t = 0; t < n; t++)
            z += x[t] * turn(-2 * acos(-1) * (double)(k * t) / (double)n);
        double e = creal(z * conj(z)) / (double)n;
        for (size_t b = 0; b < L; b++) {
            /* pi/2^(b+1) < w < pi/2^b: n/2^(b+2) < folded < n/2^(b+1) */
            double lo = b + 1 < L ? (double)n / pow(2, (double)b + 2) : -1, hi = (double)n / pow(2, (double)b + 1);
            double f = (double)folded;
            energy[b] += f > lo && f < hi ? e : f == hi && b == 0 ? e : f == lo || f == hi ? e / 2 : 0;
        }
    }
}

/* Rows of the coarsest level but the first, all their tokens. */
static void naive_sequence(const hkt_checkpoint *model, size_t T, const int32_t *tokens, size_t layer, size_t level,
                           bool detail, double energy[L])
{
    size_t begin = 4, n = T / 4 * 4 - begin, rows, next_rows = 0;
    double *x = naive_level_input(model->layout, model->params, T, tokens, layer, level, &rows), *next = NULL;
    if (detail && level + 1 < L)
        next = naive_level_input(model->layout, model->params, T, tokens, layer, level + 1, &next_rows);
    for (size_t c = 0; c < D; c++) {
        double signal[64];
        for (size_t t = 0; t < n; t++)
            signal[t] = x[(begin + t) / ((size_t)1 << level) * D + c] -
                        (next ? next[(begin + t) / ((size_t)2 << level) * D + c] : 0);
        add_naive_bands(n, signal, energy);
    }
    free(x);
    free(next);
}

static void check_share(const hkt_checkpoint *model, const hkt_dataset *data, const hkt_table *t, size_t r)
{
    double energy[L] = {0}, total = 0;
    for (size_t i = 0; i < N_SEQ; i++)
        if (lengths[i] >= 8)
            naive_sequence(model, lengths[i], data->tokens + data->offset[i], index_of(t, r, "layer"),
                           index_of(t, r, "level"), is(t, r, "quantity", "detail"), energy);
    for (size_t b = 0; b < L; b++)
        total += energy[b];
    /* sums of n D terms of two transforms of n terms each */
    CHECK_NEAR(number(t, r, "value"), energy[index_of(t, r, "band")] / total, 1e-10);
}

/* Y^(l) = beta A V + (1 - beta) conv(V), [rows, D], straight from the definition. */
static double *naive_level_output(const hkt_checkpoint *model, size_t T, const int32_t *tokens, size_t layer,
                                  size_t level, size_t *rows)
{
    const hkt_level_offsets *at = &model->layout->layer[layer].level[level];
    double *x = naive_level_input(model->layout, model->params, T, tokens, layer, level, rows);
    double *v = calloc(*rows * D, sizeof *v), *y = calloc(*rows * D, sizeof *y);
    for (size_t e = 0; e < *rows * D * D; e++)
        v[e / D] += x[e / D / D * D + e % D] * model->params[at->v + e / D % D * D + e % D];
    for (size_t h = 0; h < H; h++) {
        size_t n;
        double *s = naive_scores(model->layout, model->params, T, tokens, layer, level, h, &n);
        double beta = 1 / (1 + exp(-model->params[model->layout->layer[layer].beta + level * H + h]));
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t j = 0; j <= i; j++)
                sum += exp(s[i * n + j]);
            for (size_t c = h * P; c < (h + 1) * P; c++) {
                for (size_t j = 0; j <= i; j++)
                    y[i * D + c] += beta * exp(s[i * n + j]) / sum * v[j * D + c];
                for (size_t k = 0; k < config.conv_width && k <= i; k++)
                    y[i * D + c] += (1 - beta) * model->params[at->conv + k * D + c] * v[(i - k) * D + c];
            }
        }
        free(s);
    }
    free(x);
    free(v);
    return y;
}

static void check_output_share(const hkt_checkpoint *model, const hkt_dataset *data, const hkt_table *t, size_t r)
{
    double energy[L] = {0}, total = 0;
    size_t level = index_of(t, r, "level"), begin = 4;
    for (size_t i = 0; i < N_SEQ; i++) {
        size_t rows, n = lengths[i] / 4 * 4 - begin;
        if (lengths[i] < 8)
            continue;
        double *y = naive_level_output(model, lengths[i], data->tokens + data->offset[i], index_of(t, r, "layer"),
                                       level, &rows);
        for (size_t c = 0; c < D; c++) {
            double signal[64];
            for (size_t k = 0; k < n; k++)
                signal[k] = y[(begin + k) / ((size_t)1 << level) * D + c];
            add_naive_bands(n, signal, energy);
        }
        free(y);
    }
    for (size_t b = 0; b < L; b++)
        total += energy[b];
    CHECK_NEAR(number(t, r, "value"), energy[index_of(t, r, "band")] / total, 1e-10); /* as above */
    assert_true(isnan(number(t, r, "reference")));
    assert_string_equal(cell(t, r, "status"), "ok");
}

/* Level 1 by its own filter, level 2 by both. */
static void check_response(const hkt_checkpoint *model, const hkt_table *t, size_t r)
{
    size_t level = index_of(t, r, "level");
    const hkt_layer_offsets *at = &model->layout->layer[index_of(t, r, "layer")];
    double sum = 0, w = acos(-1) * number(t, r, "frequency");
    double complex untrained = 1;
    for (size_t c = 0; c < D; c++) {
        double complex h = 1;
        for (size_t l = 1; l <= level; l++) {
            const double *a = model->params + at->level[l].down + c;
            h *= a[0] + a[D] * turn(-w * pow(2, (double)l - 1));
        }
        sum += creal(h * conj(h)) / D;
    }
    for (size_t l = 1; l <= level; l++)
        untrained *= (1 + turn(-w * pow(2, (double)l - 1))) / 2;
    CHECK_NEAR(number(t, r, "value"), sqrt(sum), 1e-7); /* near a zero of the response: sqrt(eps) */
    CHECK_NEAR(number(t, r, "reference"), cabs(untrained), 1e-14);
}

static void bands(hkt_checkpoint *model, hkt_dataset *data)
{
    hkt_rng rng = hkt_rng_make(3, HKT_STREAM_TEST, 4);
    for (size_t i = 0; i < model->layout->n_params; i++)
        for (size_t k = 0; model->layout->params[i].role == HKT_ROLE_DOWN && k < model->layout->params[i].count; k++)
            model->params[model->layout->params[i].offset + k] += hkt_rng_normal(&rng) / 10;
    hkt_table t = measured(&hkt_measure_bands, (hkt_measure_context){.model = model, .data = data, .sequences = N_SEQ});
    assert_int_equal(t.rows, 2 * (2 * 129 + 3 * L * L));
    for (size_t r = 0; r < t.rows; r++)
        if (is(&t, r, "quantity", "response"))
            check_response(model, &t, r);
        else if (is(&t, r, "quantity", "output"))
            check_output_share(model, data, &t, r);
        else
            check_share(model, data, &t, r);
    hkt_table_free(&t);
}

static void test_bands(void **state)
{
    (void)state;
    on_models(bands);
    /* With score fusion the levels have no outputs, and the table says so. */
    hkt_config c = config;
    c.fusion = HKT_FUSION_SCORE;
    hkt_checkpoint model = naive_model(&c, 1);
    hkt_dataset data = naive_data(&c, lengths, N_SEQ);
    hkt_table t =
        measured(&hkt_measure_bands, (hkt_measure_context){.model = &model, .data = &data, .sequences = N_SEQ});
    for (size_t r = 0; r < t.rows; r++) {
        bool output = is(&t, r, "quantity", "output");
        assert_int_equal(isnan(number(&t, r, "value")), output);
        assert_string_equal(cell(&t, r, "status"),
                            output ? "skipped: with score fusion the levels have no outputs" : "ok");
    }
    hkt_table_free(&t);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* --- information --- */

/* -integral f log f and moments of a symmetric law by the trapezoidal rule in y, x = sinh(y): smooth and fast-decaying,
 * so the rule converges exponentially. */
static double naive_negentropy(double (*density)(double x, double shape), double shape, double *kappa)
{
    const double step = 1.0 / 256;
    double mass = 0, m2 = 0, m4 = 0, entropy = 0;
    for (double y = step / 2; y < 300; y += step) {
        double x = sinh(y), w = 2 * step * cosh(y), f = density(x, shape);
        if (!(f > 0) || !isfinite(x * x * x * x))
            break;
        mass += w * f;
        m2 += w * f * x * x;
        m4 += w * f * x * x * x * x;
        entropy -= w * f * log(f);
    }
    m2 /= mass;
    m4 /= mass;
    entropy = entropy / mass + log(mass);
    *kappa = m4 / (3 * m2 * m2);
    return (log(2 * acos(-1) * m2) + 1) / 2 - entropy;
}

static double student(double x, double nu)
{
    return pow(1 + x * x / nu, -(nu + 1) / 2);
}

static double power(double x, double b)
{
    return exp(-pow(x, b));
}

/* Shape parameters are not in the table: kappa says which they are. */
static void check_law(const hkt_table *t, size_t r)
{
    bool t_law = is(t, r, "kind", "student");
    double kappa = number(t, r, "kappa"), lo = 0.3, hi = 2.5, found;
    if (t_law)
        lo = hi = 4 + 2 / (kappa - 1);
    for (int i = 0; i < 60 && !t_law; i++) { /* kappa falls as the power rises */
        double half = (lo + hi) / 2;
        naive_negentropy(power, half, &found);
        *(found > kappa ? &lo : &hi) = half;
    }
    double negentropy = naive_negentropy(t_law ? student : power, lo, &found);
    CHECK_NEAR(found, kappa, 1e-6 * kappa);
    CHECK_NEAR(number(t, r, "negentropy"), negentropy, 1e-6 * fmax(negentropy, 1e-3));
    CHECK_NEAR(number(t, r, "expansion"), 3.0 / 16 * (kappa - 1) * (kappa - 1), 1e-12 * (1 + kappa * kappa));
}

static void check_scores(const hkt_checkpoint *model, const hkt_dataset *data, const hkt_table *t, size_t r)
{
    hkt_moments m;
    hkt_moments_clear(&m);
    for (size_t q = 0; q < N_SEQ; q++) {
        size_t rows;
        double *s = naive_scores(model->layout, model->params, lengths[q], data->tokens + data->offset[q],
                                 index_of(t, r, "layer"), index_of(t, r, "level"), index_of(t, r, "head"), &rows);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j <= i; j++)
                hkt_moments_add(&m, s[i * rows + j]);
        free(s);
    }
    /* fewer than the sample holds: every score is in it */
    CHECK_NEAR(number(t, r, "n"), m.n, 0);
    CHECK_NEAR(number(t, r, "kappa"), hkt_moments_kappa(&m), 1e-10 * hkt_moments_kappa(&m));
    CHECK_NEAR(number(t, r, "skewness"), hkt_moments_skewness(&m), 1e-9);
    assert_string_equal(cell(t, r, "status"), "ok");
}

static void information(hkt_checkpoint *model, hkt_dataset *data)
{
    hkt_table t =
        measured(&hkt_measure_information, (hkt_measure_context){.model = model, .data = data, .sequences = N_SEQ});
    size_t n_scores = 0;
    for (size_t r = 0; r < t.rows; r++)
        if (is(&t, r, "kind", "scores")) {
            check_scores(model, data, &t, r);
            n_scores++;
        } else if (number(&t, r, "kappa") < 1.5 && r % 5 == 0) { /* beyond, tails are too heavy for the rule */
            check_law(&t, r);
        }
    assert_int_equal(n_scores, 2 * L * H);
    hkt_table_free(&t);
}

/* Sequences that begin with the same tokens have equal scores in the first layer: an estimate all the same. A head
 * whose scores are beyond the range of their fourth powers, and one without weights: the reason, and no number. */
static void information_undefined(hkt_checkpoint *model, hkt_dataset *data)
{
    for (size_t q = 0; q < N_SEQ; q++)
        for (size_t i = 0; i < 4; i++)
            data->tokens[data->offset[q] + i] = 1;
    const hkt_level_offsets *at = &model->layout->layer[1].level[0];
    for (size_t i = 0; i < P * D; i++) {
        model->params[at->q + i] *= 1e45;
        model->params[at->k + i] *= 1e45;
        model->params[at->q + P * D + i] = 0;
    }
    hkt_table t =
        measured(&hkt_measure_information, (hkt_measure_context){.model = model, .data = data, .sequences = N_SEQ});
    size_t skipped = 0;
    for (size_t r = 0; r < t.rows; r++) {
        const bool changed = is(&t, r, "kind", "scores") && is(&t, r, "layer", "1") && is(&t, r, "level", "0");
        const char *expected = !changed                 ? "ok"
                               : is(&t, r, "head", "0") ? "skipped: negentropy: the values are out of range"
                                                        : "skipped: negentropy: the values are constant";
        assert_string_equal(cell(&t, r, "status"), expected);
        assert_int_equal(isnan(number(&t, r, "negentropy")), changed);
        assert_int_equal(isnan(number(&t, r, "kappa")), changed);
        assert_int_equal(isnan(number(&t, r, "ratio")), changed);
        skipped += changed;
    }
    assert_int_equal(skipped, H);
    hkt_table_free(&t);
}

static void test_information_undefined(void **state)
{
    (void)state;
    on_models(information_undefined);
}

static void test_information(void **state)
{
    (void)state;
    on_models(information);
}

/* --- errors --- */

/* ||S* - S_T|| / ||S*||, S* the mean over the heads of S^(0,h). */
static double naive_total(const hkt_checkpoint *model, const hkt_checkpoint *target, const int32_t *tokens, size_t T,
                          size_t layer, size_t head)
{
    double *s = calloc(T * T, sizeof *s), size = 0, distance = 0, theta[L], sum = 0;
    for (size_t h = 0; h < H; h++) {
        size_t rows;
        double *one = naive_scores(target->layout, target->params, T, tokens, layer, 0, h, &rows);
        for (size_t e = 0; e < T * T; e++)
            s[e] += one[e] / H;
        free(one);
    }
    for (size_t e = 0; e < T * T; e++)
        size += s[e] * s[e];
    for (size_t l = 0; l < L; l++)
        sum += theta[l] = exp(model->params[model->layout->layer[layer].theta + l]);
    for (size_t l = 0; l < L; l++) {
        size_t rows, factor = (size_t)1 << l;
        double *one = naive_scores(model->layout, model->params, T, tokens, layer, l, head, &rows);
        for (size_t e = 0; e < T * T; e++)
            s[e] -= theta[l] / sum * one[e / T / factor * rows + e % T / factor];
        free(one);
    }
    for (size_t e = 0; e < T * T; e++)
        distance += s[e] * s[e];
    free(s);
    return sqrt(distance / size);
}

static void errors(hkt_checkpoint *model, hkt_dataset *data)
{
    enum { T = 32 };
    hkt_checkpoint target = naive_model(&config, 7);
    for (int own = 0; own < 2; own++) {
        hkt_measure_context ctx = {.model = model, .other = own ? NULL : &target, .data = data, .tokens = T};
        hkt_table t = measured(&hkt_measure_errors, ctx);
        assert_int_equal(t.rows, 2 * H);
        for (size_t r = 0; r < t.rows; r++) {
            double total = number(&t, r, "total"), hierarchical = number(&t, r, "hierarchical");
            double sum = hierarchical + number(&t, r, "downsampling") + number(&t, r, "optimisation");
            CHECK_NEAR(total,
                       naive_total(model, own ? model : &target, data->tokens, T, index_of(&t, r, "layer"),
                                   index_of(&t, r, "head")),
                       1e-10);
            CHECK_AT_MOST(total, sum * (1 + 1e-12));
            CHECK_AT_MOST(hierarchical, number(&t, r, "given_inputs") * (1 + 1e-12));
            CHECK_AT_MOST(number(&t, r, "given_inputs"), total * (1 + 1e-12));
            CHECK_AT_MOST(number(&t, r, "lower"), hierarchical * (1 + 1e-12));
        }
        hkt_table_free(&t);
    }
    hkt_checkpoint_free(&target);
}

static void test_errors(void **state)
{
    (void)state;
    on_models(errors);
}

/* --- decay --- */

/* Relative error of the best matrix of rank 2 (Eckart & Young 1936): what one level can do. */
static double naive_rank_two(size_t T, const double *s)
{
    gsl_matrix *a = gsl_matrix_alloc(T, T);
    gsl_vector *w = gsl_vector_alloc(T);
    gsl_eigen_symm_workspace *work = gsl_eigen_symm_alloc(T);
    double all = 0, best = 0, second = 0;
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++) { /* s' s: squares of the singular values */
            double sum = 0;
            for (size_t k = 0; k < T; k++)
                sum += s[k * T + i] * s[k * T + j];
            gsl_matrix_set(a, i, j, sum);
        }
    gsl_eigen_symm(a, w, work);
    for (size_t i = 0; i < T; i++) {
        double v = gsl_vector_get(w, i);
        all += v;
        second = v > best ? best : fmax(second, v);
        best = fmax(best, v);
    }
    gsl_eigen_symm_free(work);
    gsl_vector_free(w);
    gsl_matrix_free(a);
    return sqrt((all - best - second) / all);
}

static void fill_target(const hkt_checkpoint *model, const hkt_dataset *data, const hkt_table *t, size_t r, size_t T,
                        double *s)
{
    memset(s, 0, T * T * sizeof *s);
    for (size_t h = 0; is(t, r, "target", "scores") && h < H; h++) {
        size_t rows;
        double *one = naive_scores(model->layout, model->params, T, data->tokens, index_of(t, r, "layer"), 0, h, &rows);
        for (size_t e = 0; e < T * T; e++)
            s[e] += one[e] / H;
        free(one);
    }
    for (size_t e = 0; !is(t, r, "target", "scores") && e < T * T; e++) {
        double lag = fabs((double)(e / T) - (double)(e % T));
        s[e] = is(t, r, "target", "power kernel") ? 1 / (1 + lag) : exp(-8 * lag / (double)T);
    }
}

static void decay(hkt_checkpoint *model, hkt_dataset *data)
{
    enum { T = 40 };
    double s[T * T];
    hkt_table t = measured(&hkt_measure_decay, (hkt_measure_context){.model = model, .data = data, .tokens = T});
    assert_int_equal(t.rows, (2 + 2) * 7); /* 40, 20, 10, 5, 3, 2, 1 rows */
    for (size_t r = 0; r < t.rows; r++) {
        CHECK_AT_MOST(number(&t, r, "bound"), number(&t, r, "error") * (1 + 1e-9));
        if (!is(&t, r, "levels", "1")) {
            CHECK_AT_MOST(number(&t, r, "error"), number(&t, r - 1, "error") * (1 + 1e-12));
            continue;
        }
        fill_target(model, data, &t, r, T, s);
        CHECK_NEAR(number(&t, r, "error"), naive_rank_two(T, s), 1e-7); /* squares of singular values: sqrt(eps) */
    }
    hkt_table_free(&t);
}

static void test_decay(void **state)
{
    (void)state;
    on_models(decay);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bands),  cmocka_unit_test(test_information), cmocka_unit_test(test_information_undefined),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_decay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The tables of hkt-analyze against independent computations, and what they say where there is no number. */
#include "tests/check.h"

#include <float.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_sort.h>
#include <unistd.h>

#include "analysis/view/scores.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "tests/measured.h"

static const hkt_config config = {.vocab = 7,
                                  .classes = 3,
                                  .max_len = 90,
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
static const size_t lengths[] = {75, 40, 61, 33, 80, 52};
enum { N_SEQ = sizeof lengths / sizeof *lengths };

/* --- kurtosis --- */

static void check_interval(const hkt_table *t, size_t row, const char *name)
{
    char lo[32], hi[32];
    snprintf(lo, sizeof lo, "%s_lo", name);
    snprintf(hi, sizeof hi, "%s_hi", name);
    assert_true(number(t, row, lo) < number(t, row, hi));
    CHECK_AT_MOST(number(t, row, lo), number(t, row, name));
    CHECK_AT_MOST(number(t, row, name), number(t, row, hi));
}

static void test_kurtosis(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&config, 1);
    hkt_dataset data = naive_data(&config, lengths, N_SEQ);
    hkt_score_moments m;
    hkt_table t =
        measured(&hkt_measure_kurtosis, (hkt_measure_context){.model = &model, .data = &data, .sequences = N_SEQ});
    CHECK_OK(hkt_score_moments_collect(&m, hkt_score_of_model(&model, &data), N_SEQ));
    assert_int_equal(t.rows, 2 * 3 * (3 + 1));
    for (size_t r = 0; r < t.rows; r++) {
        size_t head = r % 4, level = r / 4 % 3, layer = r / 12;
        assert_string_equal(cell(&t, r, "status"), "ok");
        CHECK_NEAR(number(&t, r, "layer"), layer, 0);
        CHECK_NEAR(number(&t, r, "level"), level, 0);
        check_interval(&t, r, "kappa");
        CHECK_AT_MOST(number(&t, r, "kappa"), number(&t, r, "ceiling"));
        if (head == 3) {
            assert_string_equal(cell(&t, r, "head"), "NA");
            CHECK_NEAR(number(&t, r, "ceiling"), number(&t, r, "n") / (3 + 2), 1e-9);
            assert_true(isnan(number(&t, r, "excess")) && isnan(number(&t, r, "skewness")));
            continue;
        }
        hkt_moments all = hkt_score_moments_pool(&m, layer, level, head);
        CHECK_NEAR(number(&t, r, "n"), all.n, 0);
        CHECK_NEAR(number(&t, r, "kappa"), hkt_moments_kappa(&all), 0);
        CHECK_NEAR(number(&t, r, "excess"), hkt_moments_excess(&all), 0);
        CHECK_NEAR(number(&t, r, "skewness"), hkt_moments_skewness(&all), 0);
        CHECK_NEAR(number(&t, r, "ceiling"), all.n / 3, 1e-9);
        check_interval(&t, r, "skewness");
        check_interval(&t, r, "excess");
    }
    hkt_table_free(&t);
    hkt_score_moments_free(&m);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* With one sequence there is no interval; scores that are all equal have no kappa: said so, and no number. */
static void test_kurtosis_undefined(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&config, 2);
    hkt_dataset data = naive_data(&config, lengths, N_SEQ);
    const hkt_level_offsets *at = &model.layout->layer[1].level[2];
    memset(model.params + at->q, 0, 4 * 12 * sizeof(double)); /* head 0 */
    hkt_table t =
        measured(&hkt_measure_kurtosis, (hkt_measure_context){.model = &model, .data = &data, .sequences = 1});
    for (size_t r = 0; r < t.rows; r++) {
        bool constant = r == 20, singular = r == 23;
        const char *expected = constant   ? "skipped: scores are constant"
                               : singular ? "skipped: scores of head 0 are constant"
                                          : "warning: no interval: bootstrap: expected at least 2 units";
        assert_non_null(strstr(cell(&t, r, "status"), expected));
        assert_int_equal(isnan(number(&t, r, "kappa")), constant || singular);
        assert_true(isnan(number(&t, r, "kappa_lo")) && isnan(number(&t, r, "kappa_hi")));
    }
    hkt_table_free(&t);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

static void scale_head(hkt_checkpoint *model, size_t layer, size_t level, size_t head, double q, double k)
{
    const hkt_level_offsets *at = &model->layout->layer[layer].level[level];
    for (size_t i = head * 4 * 12; i < (head + 1) * 4 * 12; i++) {
        model->params[at->q + i] *= q;
        model->params[at->k + i] *= k;
    }
}

/* Scores whose fourth powers are beyond any number: the head has no kappa, nor have the heads together; the others have
 * theirs, and the same as without. */
static void test_kurtosis_out_of_range(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&config, 2);
    hkt_dataset data = naive_data(&config, lengths, N_SEQ);
    const hkt_measure_context ctx = {.model = &model, .data = &data, .sequences = N_SEQ, .seed = 1};
    hkt_table before = measured(&hkt_measure_kurtosis, ctx);
    scale_head(&model, 1, 2, 1, 1e45, 1e45);
    hkt_table t = measured(&hkt_measure_kurtosis, ctx);
    for (size_t r = 0; r < t.rows; r++) {
        const bool head = r == 21, all = r == 23;
        assert_string_equal(cell(&t, r, "status"), head  ? "skipped: scores are out of range"
                                                   : all ? "skipped: scores of head 1 are out of range"
                                                         : "ok");
        assert_int_equal(isnan(number(&t, r, "kappa")), head || all);
        if (!head && !all)
            assert_string_equal(cell(&t, r, "kappa"), cell(&before, r, "kappa"));
    }
    hkt_table_free(&before);
    hkt_table_free(&t);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* Whatever call for memory fails, also within the bootstrap of a row, there is no table. */
static void test_kurtosis_memory(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&config, 2);
    hkt_dataset data = naive_data(&config, lengths, 3);
    hkt_provenance how = hkt_provenance_make(1, measured_arguments);
    const hkt_measure_context ctx = {.model = &model, .data = &data, .sequences = 3, .seed = 1, .how = &how};
    size_t failures = 0;
    for (size_t i = 1;; i += 1 + i / 40, failures++) {
        hkt_tsv *out;
        CHECK_OK(hkt_tsv_open(&out, "table.tsv", &how, hkt_measure_kurtosis.columns));
        hkt_mem_fail_at(i);
        hkt_status status = hkt_measure_kurtosis.run(&ctx, out);
        if (status == HKT_OK)
            status = hkt_tsv_commit(out);
        else
            hkt_tsv_abort(out);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        if (!failed)
            break;
    }
    assert_in_range(failures, 60, 10000);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* Densities of a head sum to one over the bins, and the counts to n. */
static void test_histogram(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&config, 3);
    hkt_dataset data = naive_data(&config, lengths, N_SEQ);
    hkt_table t = measured(&hkt_measure_kurtosis,
                           (hkt_measure_context){
                               .model = &model, .data = &data, .sequences = N_SEQ, .histogram = "histogram.tsv"}),
              h;
    CHECK_OK(hkt_table_read(&h, "histogram.tsv"));
    size_t bins = h.rows / 18;
    assert_int_equal(h.rows, bins * 18);
    for (size_t block = 0; block < 18; block++) {
        double count = 0, mass = 0, width = number(&h, 1, "z_hi") - number(&h, 1, "z_lo");
        size_t row = block / 3 * 4 + block % 3; /* of the same head in the first table */
        for (size_t b = 0; b < bins; b++) {
            size_t r = block * bins + b;
            double z = number(&h, r, "z");
            /* From -10 to 10 standard deviations, one bin after the other; the outermost take the tails. */
            CHECK_NEAR(z, -10 + 20 * ((double)b + 0.5) / (double)bins, 1e-13);
            assert_true(b == 0 ? number(&h, r, "z_lo") < -1e300
                               : number(&h, r, "z_lo") == number(&h, r - 1, "z_hi") && number(&h, r, "z_lo") < z);
            assert_true(b == bins - 1 ? number(&h, r, "z_hi") > 1e300 : number(&h, r, "z_hi") > z);
            count += number(&h, r, "count");
            mass += number(&h, r, "density") * width;
            CHECK_NEAR(number(&h, r, "normal"), exp(-z * z / 2) / sqrt(2 * 3.14159265358979323846), 1e-15);
            assert_string_equal(cell(&h, r, "status"), b == 0 || b == bins - 1 ? "warning: tail" : "ok");
        }
        CHECK_NEAR(count, number(&t, row, "n"), 0);
        CHECK_NEAR(mass, 1, 1e-12);
        CHECK_NEAR(number(&h, block * bins, "kappa"), number(&t, row, "kappa"), 0);
    }
    hkt_table_free(&h);
    hkt_table_free(&t);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* --- spectrum --- */

/* G [T, T] += weight (S + S')/2 upsampled to T tokens. */
static void add_upsampled(double *g, size_t T, const double *s, size_t rows, size_t step, double weight)
{
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++) {
            size_t a = i / step, b = j / step;
            g[i * T + j] += weight * (s[a * rows + b] + s[b * rows + a]) / 2;
        }
}

/* Eigenvalues ascending, by GSL. g is destroyed. */
static void dense_eigenvalues(double *g, size_t n, double *w)
{
    gsl_matrix_view m = gsl_matrix_view_array(g, n, n);
    gsl_vector_view v = gsl_vector_view_array(w, n);
    gsl_eigen_symm_workspace *work = gsl_eigen_symm_alloc(n);
    gsl_eigen_symm(&m.matrix, &v.vector, work);
    gsl_eigen_symm_free(work);
    gsl_sort(w, 1, n);
}

/* The rows of one spectrum against the dense eigenvalues w [n]: those of the table, ascending, and zeros besides. */
static void check_spectrum(const hkt_table *t, const char *kind, size_t layer, const char *level, size_t head,
                           const double *w, size_t n)
{
    double scale = fmax(fabs(w[0]), fabs(w[n - 1])), tol = 100 * (double)n * DBL_EPSILON * scale;
    size_t low = 0, high = n, found = 0, negative = 0, positive = 0;
    for (size_t i = 0; i < n; i++) {
        negative += w[i] < -tol;
        positive += w[i] > tol;
    }
    for (size_t r = 0; r < t->rows; r++) {
        if (strcmp(cell(t, r, "kind"), kind) != 0 || (size_t)number(t, r, "layer") != layer ||
            strcmp(cell(t, r, "level"), level) != 0 || (size_t)number(t, r, "head") != head)
            continue;
        double value = number(t, r, "eigenvalue");
        CHECK_NEAR(number(t, r, "index"), found++, 0);
        if (strcmp(cell(t, r, "sign"), "negative") == 0) {
            CHECK_NEAR(number(t, r, "rank"), low + 1, 0);
            CHECK_NEAR(value, w[low++], tol);
        } else if (strcmp(cell(t, r, "sign"), "positive") == 0) {
            size_t rank = positive - (n - high);
            CHECK_NEAR(number(t, r, "rank"), rank, 0);
            CHECK_NEAR(value, w[n - rank], tol);
            high--;
        } else {
            CHECK_NEAR(value, 0, tol);
        }
    }
    assert_int_equal(low, negative);
    assert_int_equal(n - high, positive);
}

/* sum of squares of the table's eigenvalues of one spectrum: ||G||_F^2 */
static double squares(const hkt_table *t, const char *kind, size_t layer, const char *level, size_t head)
{
    double sum = 0;
    for (size_t r = 0; r < t->rows; r++)
        if (strcmp(cell(t, r, "kind"), kind) == 0 && (size_t)number(t, r, "layer") == layer &&
            strcmp(cell(t, r, "level"), level) == 0 && (size_t)number(t, r, "head") == head)
            sum += pow(number(t, r, "eigenvalue"), 2);
    return sum;
}

static void check_gram(const hkt_table *t, size_t layer, const char *level, size_t head, double *g, size_t T)
{
    double *w = malloc(T * sizeof *w), norm = 0;
    for (size_t i = 0; i < T * T; i++)
        norm += g[i] * g[i];
    CHECK_NEAR(squares(t, "gram", layer, level, head), norm, 1e-11 * norm);
    dense_eigenvalues(g, T, w);
    check_spectrum(t, "gram", layer, level, head, w, T);
    free(w);
}

static void test_spectrum(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&config, 4);
    hkt_dataset data = naive_data(&config, lengths, 1);
    size_t T = lengths[0];
    hkt_table t = measured(&hkt_measure_spectrum, (hkt_measure_context){.model = &model, .data = &data});
    for (size_t layer = 0; layer < 2; layer++) {
        const double *theta = model.params + model.layout->layer[layer].theta;
        double total = exp(theta[0]) + exp(theta[1]) + exp(theta[2]);
        for (size_t head = 0; head < 3; head++) {
            double *sum = calloc(T * T, sizeof *sum);
            for (size_t level = 0; level < 3; level++) {
                size_t rows;
                char name[8];
                snprintf(name, sizeof name, "%zu", level);
                double *s = naive_scores(model.layout, model.params, T, data.tokens, layer, level, head, &rows);
                double *one = calloc(T * T, sizeof *one);
                add_upsampled(sum, T, s, rows, (size_t)1 << level, exp(theta[level]) / total);
                add_upsampled(one, T, s, rows, (size_t)1 << level, 1);
                check_gram(&t, layer, name, head, one, T);
                free(one);
                free(s);
            }
            check_gram(&t, layer, "NA", head, sum, T);
            free(sum);
        }
    }
    hkt_table_free(&t);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* The forms: trace and norm of M_s, and the signs of untied heads (p positive, p negative). Random tokens will do. */
static void test_forms(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&config, 5);
    hkt_table t = measured(&hkt_measure_spectrum, (hkt_measure_context){.model = &model, .seed = 9});
    const double *wq = model.params + model.layout->layer[1].level[1].q + 2 * 4 * 12;
    const double *wk = model.params + model.layout->layer[1].level[1].k + 2 * 4 * 12;
    double m[12 * 12] = {0}, w[12];
    for (size_t i = 0; i < 12; i++)
        for (size_t j = 0; j < 12; j++)
            for (size_t c = 0; c < 4; c++)
                m[i * 12 + j] += (wq[c * 12 + i] * wk[c * 12 + j] + wq[c * 12 + j] * wk[c * 12 + i]) / 2 / sqrt(4);
    dense_eigenvalues(m, 12, w);
    check_spectrum(&t, "form", 1, "1", 2, w, 12);
    assert_true(w[3] < -1e-6 && fabs(w[4]) < 1e-12 && fabs(w[7]) < 1e-12 && w[8] > 1e-6);
    hkt_table_free(&t);
    hkt_checkpoint_free(&model);
}

/* --- cost --- */

static void test_cost(void **state)
{
    (void)state;
    hkt_config c = config;
    hkt_table t = measured(&hkt_measure_cost, (hkt_measure_context){.config = &c, .tokens = 4096});
    size_t broken = 0, largest = 0;
    for (size_t r = 0; r < t.rows; r++) {
        size_t T = (size_t)number(&t, r, "tokens"), L = (size_t)number(&t, r, "levels");
        CHECK_NEAR(number(&t, r, "bound"), 4.0 / 3, DBL_EPSILON);
        CHECK_NEAR(number(&t, r, "tokens_per_d"), (double)T / 12, 1e-12);
        if (strcmp(cell(&t, r, "quantity"), "pairs") != 0)
            continue;
        double R = 0;
        for (size_t l = 0, n = T; l < L; l++, n = (n + 1) / 2)
            R += (double)(n * n) / (double)(T * T);
        CHECK_NEAR(number(&t, r, "ratio"), R, 4 * DBL_EPSILON);
        if (L == 3 && strcmp(cell(&t, r, "below_bound"), "no") == 0) {
            broken++;
            largest = T > largest ? T : largest;
        }
    }
    assert_int_equal(broken,
                     21); /* docs/theory.md, "cost": all of them are at most 41, and every T up to 64 is there */
    assert_int_equal(largest, 41);
    hkt_table_free(&t);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kurtosis),
        cmocka_unit_test(test_kurtosis_undefined),
        cmocka_unit_test(test_kurtosis_out_of_range),
        cmocka_unit_test(test_kurtosis_memory),
        cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_spectrum),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

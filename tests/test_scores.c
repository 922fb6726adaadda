/* Score statistics collected tile by tile against score matrices in memory. */
#include "tests/check.h"

#include <float.h>

#include "analysis/math/mardia.h"
#include "analysis/math/quartic.h"
#include "analysis/view/scores.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "tests/naive_scores.h"

/* Lengths within one tile (64 rows, 128 columns), at its edges, and over several. */
static const size_t lengths[] = {1, 5, 63, 64, 65, 129, 200};
enum { N_SEQ = sizeof lengths / sizeof *lengths, N_CONFIGS = 4 };

static const hkt_config configs[N_CONFIGS] = {
    {.vocab = 7,
     .classes = 3,
     .max_len = 200,
     .d_model = 12,
     .heads = 2,
     .layers = 2,
     .levels = 3,
     .stride = 2,
     .conv_width = 3,
     .ffn_mult = 2,
     .fusion = HKT_FUSION_DYNAMIC,
     .hybrid = true,
     .causal = true},
    {.vocab = 7,
     .classes = 3,
     .max_len = 200,
     .d_model = 12,
     .heads = 4,
     .layers = 1,
     .levels = 2,
     .stride = 3,
     .conv_width = 3,
     .ffn_mult = 2,
     .fusion = HKT_FUSION_STATIC,
     .hybrid = true,
     .causal = false},
    {.vocab = 7,
     .classes = 3,
     .max_len = 200,
     .d_model = 12,
     .heads = 3,
     .layers = 2,
     .levels = 2,
     .stride = 2,
     .conv_width = 3,
     .ffn_mult = 2,
     .fusion = HKT_FUSION_SCORE,
     .hybrid = true,
     .causal = true},
    {.vocab = 7,
     .classes = 3,
     .max_len = 200,
     .d_model = 8,
     .heads = 1,
     .layers = 1,
     .levels = 1,
     .stride = 2,
     .conv_width = 3,
     .ffn_mult = 2,
     .fusion = HKT_FUSION_STATIC,
     .hybrid = false,
     .causal = true},
};

/* The entries of a score matrix in use, row by row, packed at its front; returns their number. */
static size_t keep_used(const hkt_config *c, double *s, size_t rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++)
            if (!c->causal || j <= i)
                s[n++] = s[i * rows + j];
    return n;
}

/* Entries of sequence `seq`; malloc'd. */
static double *naive_entries(const hkt_checkpoint *m, const hkt_dataset *data, size_t seq, size_t layer, size_t level,
                             size_t head, size_t *n)
{
    size_t rows, T = data->offset[seq + 1] - data->offset[seq];
    double *s = naive_scores(m->layout, m->params, T, data->tokens + data->offset[seq], layer, level, head, &rows);
    *n = keep_used(&m->layout->config, s, rows);
    return s;
}

static const hkt_moments *found_at(const hkt_score_moments *s, size_t layer, size_t level, size_t head, size_t seq)
{
    return &s->moments[((layer * s->levels + level) * s->heads + head) * s->n_units + seq];
}

/* The two forward passes agree to about 1e-13 relative (d eps over two layers, generously); the scores are of order 1.
 */
static const double tol = 1e-11;

static void check_moments(const hkt_moments *found, const double *x, size_t n)
{
    hkt_moments m;
    hkt_moments_clear(&m);
    hkt_moments_add_block(&m, x, n);
    double sd = sqrt(hkt_moments_variance(&m));
    CHECK_NEAR(found->n, n, 0);
    CHECK_NEAR(found->mean, m.mean, tol * (fabs(m.mean) + sd));
    CHECK_NEAR(found->lo, m.lo, tol * (1 + fabs(m.lo)));
    CHECK_NEAR(found->hi, m.hi, tol * (1 + fabs(m.hi)));
    if (n == 1) {
        assert_true(isnan(hkt_moments_kappa(found)));
        return;
    }
    CHECK_NEAR(hkt_moments_variance(found), sd * sd, tol * sd * sd);
    CHECK_NEAR(hkt_moments_kappa(found), hkt_moments_kappa(&m), 10 * tol * hkt_moments_kappa(&m));
    CHECK_NEAR(hkt_moments_skewness(found), hkt_moments_skewness(&m), 10 * tol * hkt_moments_kappa(&m));
}

static void test_moments(void **state)
{
    (void)state;
    for (size_t c = 0; c < N_CONFIGS; c++) {
        const hkt_config *config = &configs[c];
        hkt_checkpoint model = naive_model(config, 10 + c);
        hkt_dataset data = naive_data(config, lengths, N_SEQ);
        hkt_score_moments found;
        CHECK_OK(hkt_score_moments_collect(&found, hkt_score_of_model(&model, &data), N_SEQ));
        for (size_t i = 0; i < config->layers * config->levels * config->heads * N_SEQ; i++) {
            size_t seq = i % N_SEQ, head = i / N_SEQ % config->heads, block = i / N_SEQ / config->heads, n;
            size_t level = block % config->levels, layer = block / config->levels;
            double *x = naive_entries(&model, &data, seq, layer, level, head, &n);
            check_moments(found_at(&found, layer, level, head, seq), x, n);
            free(x);
        }
        hkt_score_moments_free(&found);
        hkt_dataset_free(&data);
        hkt_checkpoint_free(&model);
    }
}

/* Controls: neither the scores without 1/sqrt(p), nor those of another head, nor the unmasked ones pass for the right
 * ones. */
static void test_moments_control(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&configs[0], 10);
    hkt_dataset data = naive_data(&configs[0], lengths, N_SEQ);
    hkt_score_moments found;
    CHECK_OK(hkt_score_moments_collect(&found, hkt_score_of_model(&model, &data), N_SEQ));
    size_t rows, n, T = lengths[6];
    const int32_t *tokens = data.tokens + data.offset[6];
    const hkt_moments *m = found_at(&found, 1, 0, 0, 6);
    double *s = naive_scores(model.layout, model.params, T, tokens, 1, 0, 0, &rows), variance = hkt_moments_variance(m);
    hkt_moments all, other;
    hkt_moments_clear(&all);
    hkt_moments_add_block(&all, s, rows * rows);
    assert_true(fabs(hkt_moments_variance(&all) / variance - 1) > 1e-3);
    assert_true(fabs(hkt_moments_variance(&all) * 6 / variance - 1) > 1);
    free(s);
    s = naive_entries(&model, &data, 6, 1, 0, 1, &n);
    hkt_moments_clear(&other);
    hkt_moments_add_block(&other, s, n);
    assert_true(fabs(hkt_moments_variance(&other) / variance - 1) > 1e-3);
    free(s);
    hkt_score_moments_free(&found);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* Every step-th vector of heads' scores in row order, of sequences within one tile; vectors [*n, H]. */
static double *naive_vectors(const hkt_checkpoint *m, const hkt_dataset *data, size_t layer, size_t level, size_t step,
                             size_t *n)
{
    size_t H = m->layout->config.heads, capacity = data->n * 64 * 64;
    double *x = calloc(capacity * H, sizeof *x);
    for (size_t h = 0; h < H; h++) {
        *n = 0;
        for (size_t seq = 0; seq < data->n; seq++) {
            size_t count;
            double *s = naive_entries(m, data, seq, layer, level, h, &count);
            for (size_t e = seq % step; e < count; e += step)
                x[(*n)++ * H + h] = s[e];
            free(s);
        }
    }
    return x;
}

/* Row-centred moments of every layer, level, head and sequence against matrices in memory. */
static void check_centred(const hkt_score_moments *found, const hkt_checkpoint *model, const hkt_dataset *data,
                          size_t n_seq)
{
    const hkt_config *c = &model->layout->config;
    for (size_t i = 0; i < c->layers * c->levels * c->heads * n_seq; i++) {
        size_t seq = i % n_seq, head = i / n_seq % c->heads, level = i / n_seq / c->heads % c->levels, n, at = 0;
        size_t layer = i / n_seq / c->heads / c->levels, T = data->offset[seq + 1] - data->offset[seq];
        double *x = naive_entries(model, data, seq, layer, level, head, &n);
        for (size_t l = 0; l < level; l++)
            T = (T + c->stride - 1) / c->stride;
        for (size_t row = 0; row < T; row++) {
            size_t length = c->causal ? row + 1 : T;
            double mean = 0;
            for (size_t e = 0; e < length; e++)
                mean += x[at + e] / (double)length;
            for (size_t e = 0; e < length; e++)
                x[at++] -= mean;
        }
        assert_int_equal(at, n);
        hkt_moments m;
        hkt_moments_clear(&m);
        hkt_moments_add_block(&m, x, n);
        CHECK_NEAR(found->centred[i].n, n, 0);
        CHECK_NEAR(found->centred[i].mean, 0, tol);
        CHECK_NEAR(hkt_moments_variance(found->centred + i), hkt_moments_variance(&m), tol);
        if (T > 2)
            CHECK_NEAR(hkt_moments_kappa(found->centred + i), hkt_moments_kappa(&m), 10 * tol * hkt_moments_kappa(&m));
        free(x);
    }
}

static void test_centred(void **state)
{
    (void)state;
    for (size_t c = 0; c < N_CONFIGS; c++) {
        hkt_checkpoint model = naive_model(&configs[c], 15 + c);
        hkt_dataset data = naive_data(&configs[c], lengths, N_SEQ);
        hkt_score_moments moments;
        hkt_score_joint joint;
        CHECK_OK(hkt_score_joint_collect(&moments, &joint, hkt_score_of_model(&model, &data), N_SEQ));
        check_centred(&moments, &model, &data, N_SEQ);
        hkt_score_moments_free(&moments);
        hkt_score_joint_free(&joint);
        hkt_dataset_free(&data);
        hkt_checkpoint_free(&model);
    }
}

static void test_joint(void **state)
{
    (void)state;
    static const size_t short_lengths[] = {64, 1, 30, 47, 2, 64};
    static const size_t step_of_heads[] = {0, 5, 5, 9, 13};
    enum { N = sizeof short_lengths / sizeof *short_lengths };
    for (size_t c = 0; c < N_CONFIGS; c++) {
        const hkt_config *config = &configs[c];
        hkt_checkpoint model = naive_model(config, 20 + c);
        hkt_dataset data = naive_data(config, short_lengths, N);
        hkt_score_moments moments;
        hkt_score_joint joint;
        CHECK_OK(hkt_score_joint_collect(&moments, &joint, hkt_score_of_model(&model, &data), N));
        assert_int_equal(joint.step, step_of_heads[config->heads]);
        for (size_t block = 0; block < config->layers * config->levels; block++) {
            size_t n = 0, level = block % config->levels, layer = block / config->levels, all[N];
            double *x = naive_vectors(&model, &data, layer, level, joint.step, &n), b2;
            double q = (double)config->heads, *pooled;
            CHECK_OK(HKT_NEW(&pooled, hkt_quartic_units_scratch(config->heads)));
            hkt_quartic_units units = {config->heads, joint.sums + block * N * joint.size, pooled};
            for (size_t i = 0; i < N; i++)
                all[i] = i;
            CHECK_OK(hkt_mardia_kurtosis(x, n, config->heads, &b2));
            CHECK_NEAR(hkt_quartic_pooled_kappa(&units, all, N), b2 / (q * (q + 2)), 1e-9 * b2);
            CHECK_NEAR(pooled[0], n, 0);
            hkt_free(pooled);
            free(x);
        }
        hkt_score_moments_free(&moments);
        hkt_score_joint_free(&joint);
        hkt_dataset_free(&data);
        hkt_checkpoint_free(&model);
    }
}

static void test_histogram(void **state)
{
    (void)state;
    enum { BINS = 12 };
    const double lim = 2; /* so that the tails are not empty */
    const hkt_config *config = &configs[0];
    hkt_checkpoint model = naive_model(config, 30);
    hkt_dataset data = naive_data(config, lengths, N_SEQ);
    hkt_score_moments moments;
    hkt_score_histogram found;
    CHECK_OK(hkt_score_moments_collect(&moments, hkt_score_of_model(&model, &data), N_SEQ));
    CHECK_OK(hkt_score_histogram_collect(&found, hkt_score_of_model(&model, &data), N_SEQ, &moments, BINS, lim));
    for (size_t i = 0; i < config->layers * config->levels * config->heads; i++) {
        size_t head = i % config->heads, level = i / config->heads % config->levels;
        size_t layer = i / config->heads / config->levels, count[BINS] = {0};
        hkt_moments all = hkt_score_moments_pool(&moments, layer, level, head);
        for (size_t seq = 0; seq < N_SEQ; seq++) {
            size_t n;
            double *x = naive_entries(&model, &data, seq, layer, level, head, &n);
            for (size_t e = 0; e < n; e++) {
                double bin = floor(((x[e] - all.mean) / sqrt(hkt_moments_variance(&all)) + lim) / (2 * lim) * BINS);
                count[(size_t)fmin(fmax(bin, 0), BINS - 1)]++;
            }
            free(x);
        }
        assert_true(count[0] > 0 && count[BINS - 1] > 0);
        for (size_t b = 0; b < BINS; b++)
            assert_int_equal(found.count[i * BINS + b], count[b]);
    }
    hkt_score_histogram_free(&found);
    hkt_score_moments_free(&moments);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* The same bits for any number of threads, and for a sequence whatever follows it. */
static void test_threads(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&configs[0], 40);
    hkt_dataset data = naive_data(&configs[0], lengths, N_SEQ);
    hkt_score_moments m[2];
    hkt_score_joint j[2];
    size_t blocks = 2 * 3 * 2;
    for (size_t k = 0; k < 2; k++) {
        hkt_set_threads(k == 0 ? 1 : 4);
        CHECK_OK(hkt_score_joint_collect(&m[k], &j[k], hkt_score_of_model(&model, &data), N_SEQ));
    }
    hkt_set_threads(0);
    assert_memory_equal(m[0].moments, m[1].moments, blocks * N_SEQ * sizeof *m[0].moments);
    assert_memory_equal(m[0].centred, m[1].centred, blocks * N_SEQ * sizeof *m[0].centred);
    assert_memory_equal(j[0].sums, j[1].sums, 2 * 3 * N_SEQ * j[0].size * sizeof *j[0].sums);
    for (size_t k = 0; k < 2; k++) {
        hkt_score_moments_free(&m[k]);
        hkt_score_joint_free(&j[k]);
    }
    CHECK_OK(hkt_score_moments_collect(&m[0], hkt_score_of_model(&model, &data), 3));
    CHECK_OK(hkt_score_moments_collect(&m[1], hkt_score_of_model(&model, &data), N_SEQ));
    for (size_t i = 0; i < blocks; i++)
        assert_memory_equal(m[0].moments + i * 3, m[1].moments + i * N_SEQ, 3 * sizeof *m[0].moments);
    hkt_score_moments_free(&m[0]);
    hkt_score_moments_free(&m[1]);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

/* More sequences than units: groups of neighbours, each with the sums of its members. */
static void test_groups(void **state)
{
    (void)state;
    enum { N = 2 * HKT_SCORE_UNITS + 77 };
    size_t length[N], n_one, n;
    for (size_t i = 0; i < N; i++)
        length[i] = 1 + i * i % 23;
    hkt_checkpoint model = naive_model(&configs[0], 70);
    hkt_dataset data = naive_data(&configs[0], length, N);
    hkt_score_moments m;
    hkt_score_joint j;
    CHECK_OK(hkt_score_joint_collect(&m, &j, hkt_score_of_model(&model, &data), N));
    assert_int_equal(m.n_units, HKT_SCORE_UNITS);
    assert_int_equal(m.sequences, N);
    double *x = malloc(3 * 23 * 23 * sizeof *x);
    for (size_t unit = 0; unit < HKT_SCORE_UNITS; unit++) {
        n = 0;
        for (size_t i = 0; i < N; i++)
            if (i * HKT_SCORE_UNITS / N == unit) {
                double *one = naive_entries(&model, &data, i, 1, 2, 1, &n_one);
                memcpy(x + n, one, n_one * sizeof *x);
                n += n_one;
                free(one);
            }
        const hkt_moments *found = found_at(&m, 1, 2, 1, unit);
        CHECK_NEAR(found->n, n, 0);
        if (n > 3)
            check_moments(found, x, n);
    }
    free(x);
    double all = 0, vectors = 0;
    for (size_t i = 0; i < N; i++) {
        n_one = length[i] * (length[i] + 1) / 2;
        vectors += n_one > i % j.step ? (double)((n_one - i % j.step - 1) / j.step + 1) : 0;
    }
    for (size_t unit = 0; unit < HKT_SCORE_UNITS; unit++) /* layer 0, level 0; the first sum counts */
        all += j.sums[unit * j.size];
    CHECK_NEAR(all, vectors, 0);
    hkt_score_moments_free(&m);
    hkt_score_joint_free(&j);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

static void test_bad_input(void **state)
{
    (void)state;
    hkt_checkpoint model = naive_model(&configs[3], 50);
    hkt_dataset data = naive_data(&configs[3], lengths, N_SEQ);
    hkt_score_moments m;
    CHECK_FAILS(hkt_score_moments_collect(&m, hkt_score_of_model(&model, &data), 0), HKT_EINPUT,
                "expected 1 to 7 sequences");
    assert_null(m.moments);
    CHECK_FAILS(hkt_score_moments_collect(&m, hkt_score_of_model(&model, &data), 8), HKT_EINPUT, "found 8");
    data.tokens[3] = 7;
    CHECK_FAILS(hkt_score_moments_collect(&m, hkt_score_of_model(&model, &data), N_SEQ), HKT_EINPUT, "7");
    data.tokens[3] = 6;
    model.params[model.layout->layer[0].level[0].q] = (double)NAN;
    CHECK_FAILS(hkt_score_moments_collect(&m, hkt_score_of_model(&model, &data), N_SEQ), HKT_ENUMERIC, "");
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const size_t two[] = {5, 9};
    hkt_checkpoint model = naive_model(&configs[3], 60);
    hkt_dataset data = naive_data(&configs[3], two, 2);
    size_t live = hkt_mem_live();
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        hkt_score_moments m;
        hkt_score_joint j;
        hkt_score_histogram h = {0};
        hkt_mem_fail_at(n);
        hkt_status status = hkt_score_joint_collect(&m, &j, hkt_score_of_model(&model, &data), 2);
        if (status == HKT_OK)
            status = hkt_score_histogram_collect(&h, hkt_score_of_model(&model, &data), 2, &m, 10, 5);
        failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        hkt_score_moments_free(&m);
        hkt_score_joint_free(&j);
        hkt_score_histogram_free(&h);
        assert_int_equal(hkt_mem_live(), live);
    }
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments), cmocka_unit_test(test_moments_control), cmocka_unit_test(test_centred),
        cmocka_unit_test(test_joint),   cmocka_unit_test(test_histogram),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_groups),  cmocka_unit_test(test_bad_input),       cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

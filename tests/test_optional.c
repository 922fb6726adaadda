/* Every argument that a public header says may be NULL, as NULL, alone and together with the others: the function does
 * what it does otherwise, with the same bits. */
#include "tests/check.h"

#include <unistd.h>

#include "analysis/claims/list.h"
#include "analysis/claims/report.h"
#include "analysis/view/gram.h"
#include "analysis/view/scene.h"
#include "analysis/view/walk.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/safetensors.h"
#include "num/attention.h"
#include "num/kernels.h"
#include "tests/measured.h"
#include "tests/model.h"
#include "tests/scratch.h"
#include "train/apply.h"
#include "train/evaluate.h"

static const hkt_config config = {.vocab = 7,
                                  .classes = 3,
                                  .max_len = 20,
                                  .d_model = 8,
                                  .heads = 2,
                                  .layers = 2,
                                  .levels = 2,
                                  .stride = 2,
                                  .conv_width = 3,
                                  .ffn_mult = 2,
                                  .fusion = HKT_FUSION_DYNAMIC,
                                  .hybrid = true,
                                  .causal = true};
static const size_t lengths[] = {20, 7, 13};
enum { N_SEQ = sizeof lengths / sizeof *lengths, CLASSES = 3, N = 6, M = 7, K = 9 };

#define HKT_BODY "tests/test_optional.inc.h"
#include "num/both.h"

static void nothing_to_free(void **state)
{
    (void)state;
    hkt_free(NULL);
    hkt_tsv_abort(NULL);
    hkt_layout_destroy(NULL);
    hkt_safetensors_free(NULL);
    hkt_dataset_free(&(hkt_dataset){.n = 0});
    hkt_checkpoint_free(&(hkt_checkpoint){.layout = NULL});
    hkt_table_free(&(hkt_table){.rows = 0});
    hkt_report_free(&(hkt_report){.n = 0});
    hkt_scene_close(&(hkt_scene){.T = 0});
}

/* Files without metadata of the caller; a tensor without a checksum. */
static void files(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    const float x[2] = {1, 2};
    const hkt_tensor_out t = {.name = "x", .dtype = HKT_F32, .ndim = 1, .shape = {2}, .data = x};
    size_t n[2];
    CHECK_OK(hkt_safetensors_write("a", &t, 1, none));
    CHECK_OK(hkt_safetensors_write("b", &t, 1, NULL));
    char *a = scratch_read("a", &n[0]), *b = scratch_read("b", &n[1]);
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(a, b, n[0]);
    free(b);
    FILE *f = fopen("b", "w");
    CHECK_OK(hkt_safetensors_print(f, &t, 1, NULL));
    fclose(f);
    b = scratch_read("b", &n[1]);
    assert_memory_equal(a, b, n[0]);
    free(a);
    free(b);
    model m = model_random(&config, N_SEQ, lengths, 3);
    float *params = array_f32(m.params, m.layout->total);
    hkt_checkpoint c;
    CHECK_OK(hkt_checkpoint_write("c", m.layout, params, NULL));
    CHECK_OK(hkt_checkpoint_write("d", m.layout, params, none));
    a = scratch_read("c", &n[0]), b = scratch_read("d", &n[1]);
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(a, b, n[0]);
    CHECK_OK(hkt_checkpoint_read(&c, "c"));
    hkt_checkpoint_free(&c);
    free(a);
    free(b);
    hkt_free(params);
    model_free(&m);
}

static void expect_same_file(const char *a, const char *b)
{
    char *x, *y;
    size_t n, m;
    CHECK_OK(hkt_file_read(a, &x, &n));
    CHECK_OK(hkt_file_read(b, &y, &m));
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    hkt_free(x);
    hkt_free(y);
}

/* The model as a checkpoint, and its batch as a data set. Both borrow. */
static hkt_checkpoint as_checkpoint(const model *m)
{
    return (hkt_checkpoint){.layout = m->layout, .params = m->params};
}

static hkt_dataset as_data(const model *m, size_t *offset)
{
    for (size_t b = 0; b < N_SEQ; b++)
        offset[b + 1] = offset[b] + m->length[b];
    return (hkt_dataset){.task = "test",
                         .vocab = config.vocab,
                         .classes = config.classes,
                         .max_len = config.max_len,
                         .n = N_SEQ,
                         .offset = offset,
                         .tokens = m->tokens,
                         .labels = m->labels};
}

/* hkt_apply: no path of logits, no path of gradients. */
static void test_apply(void **state)
{
    (void)state;
    model m = model_random(&config, N_SEQ, lengths, 3);
    hkt_checkpoint c = as_checkpoint(&m);
    double all, one;
    CHECK_OK(hkt_apply_f64(&c, &m.batch, "logits.npy", "grads.safetensors", &all));
    CHECK_OK(hkt_apply_f64(&c, &m.batch, "logits2.npy", NULL, &one));
    assert_true(all == one);
    CHECK_OK(hkt_apply_f64(&c, &m.batch, NULL, "grads2.safetensors", &one));
    assert_true(all == one);
    expect_same_file("logits.npy", "logits2.npy");
    expect_same_file("grads.safetensors", "grads2.safetensors");
    CHECK_OK(hkt_apply_f64(&c, &m.batch, NULL, NULL, &one));
    assert_true(all == one);
    CHECK_OK(hkt_apply_f32(&c, &m.batch, NULL, NULL, &one));
    CHECK_NEAR(one, all, 1e-4);
    model_free(&m);
}

/* hkt_evaluate: no confusion, no list of what is correct, no intervention. */
static void test_evaluate(void **state)
{
    (void)state;
    model m = model_random(&config, N_SEQ, lengths, 4);
    size_t offset[N_SEQ + 1] = {0}, confusion[CLASSES * CLASSES];
    unsigned char correct[N_SEQ];
    hkt_dataset data = as_data(&m, offset);
    float *params = model_params_f32(&m);
    hkt_intervention none = {0};
    hkt_evaluation all, one;
    CHECK_OK(hkt_evaluate(m.layout, params, &data, 16, &none, &all, confusion, correct));
    CHECK_OK(hkt_evaluate(m.layout, params, &data, 16, NULL, &one, NULL, NULL));
    assert_int_equal(all.correct, one.correct);
    assert_true(all.loss == one.loss);
    CHECK_OK(hkt_evaluate(m.layout, params, &data, 16, NULL, &one, NULL, correct));
    CHECK_OK(hkt_evaluate(m.layout, params, &data, 16, NULL, &one, confusion, NULL));
    assert_int_equal(confusion[0] + confusion[1 + CLASSES] + confusion[2 + 2 * CLASSES], all.correct);
    hkt_free(params);
    model_free(&m);
}

static hkt_status count_scene(void *self, const hkt_scene *s)
{
    *(size_t *)self += s->T;
    return HKT_OK;
}

static void count_scores(void *self, const hkt_score_tile *tile)
{
    if (tile->layer == 0 && tile->level == 0)
        ((size_t *)self)[tile->thread] += tile->n;
}

static void end_batch(void *self, size_t first, size_t n)
{
    (void)self, (void)first, (void)n;
}

static void views(void **state)
{
    (void)state;
    hkt_checkpoint m = naive_model(&config, 1);
    hkt_dataset data = naive_data(&config, lengths, N_SEQ);
    const char *const what[] = {NULL, "scene"};
    for (int given = 0; given < 2; given++) {
        hkt_scene scene = {0};
        size_t tokens = 0, *scores;
        CHECK_OK(hkt_scene_sequences(&scene, m.layout, m.params, &data, N_SEQ, what[given], count_scene, &tokens));
        assert_int_equal(tokens, 20 + 7 + 13);
        hkt_scene_close(&scene);
        CHECK_OK(HKT_NEW(&scores, hkt_score_walk_threads()));
        CHECK_OK(hkt_score_walk(hkt_score_of_model(&m, &data), N_SEQ, count_scores, given ? end_batch : NULL, scores));
        for (size_t i = 1; i < hkt_score_walk_threads(); i++)
            scores[0] += scores[i];
        assert_int_equal(scores[0], 20 * 21 / 2 + 7 * 8 / 2 + 13 * 14 / 2);
        hkt_free(scores);
    }
    const double x[] = {1, 0, 0, 1, 1, 1}, ms[] = {1, 0, 0, 1};
    const hkt_gram g = {.T = 3, .d = 2, .L = 1, .stride = 2, .x = {x}, .ms = {ms}, .lambda = {1}};
    size_t rank[2];
    double norm;
    CHECK_OK(hkt_gram_rank(&g, &rank[0], NULL));
    CHECK_OK(hkt_gram_rank(&g, &rank[1], &norm));
    assert_true(rank[0] == 2 && rank[1] == 2);
    CHECK_NEAR(norm, 2, 1e-14);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&m);
}

/* Measurements with no more than they need; filters that are absent. */
static void measurements(void **state)
{
    (void)state;
    hkt_checkpoint m = naive_model(&config, 1), other = naive_model(&config, 2);
    hkt_dataset data = naive_data(&config, lengths, N_SEQ);
    assert_true(hkt_measure_wanted(NULL, 3) && hkt_measure_wanted(NULL, HKT_TSV_NO_INDEX));
    for (size_t i = 0; i < hkt_measurements.n; i++) {
        const hkt_measurement *one = hkt_measurements.item[i];
        hkt_measure_context ctx = {.config = one->needs & HKT_NEEDS_MODEL ? NULL : &config};
        if (one->needs & HKT_NEEDS_MODEL)
            ctx.model = &m;
        if (one->needs & HKT_NEEDS_OTHER)
            ctx.other = &other;
        if (one->needs & HKT_NEEDS_DATA) {
            ctx.data = &data;
            ctx.sequences = N_SEQ;
        }
        hkt_table t = measured(one, ctx);
        assert_true(t.rows > 0);
        hkt_table_free(&t);
    }
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&m);
    hkt_checkpoint_free(&other);
}

/* All checks of a claim, without model, data or runs. */
static void claims(void **state)
{
    (void)state;
    const hkt_verify_context ctx = {.seed = 1, .quick = true};
    const hkt_claim *cost = hkt_claim_find(hkt_claims, "cost");
    const char *const subject[] = {"random models"};
    hkt_report r;
    CHECK_OK(hkt_report_run(&r, (hkt_claim_list){&cost, 1}, NULL, &ctx, subject, 1));
    assert_int_equal(r.n, cost->n_checks);
    CHECK_OK(hkt_report_errors(&r));
    hkt_report_free(&r);
    assert_null(hkt_claim_find(hkt_claims, "none"));
    assert_null(hkt_claim_check(cost, "none"));
}

static int enter(void **state)
{
    (void)state;
    scratch_enter();
    return 0;
}

static int leave(void **state)
{
    (void)state;
    scratch_leave(0);
    return 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_f32),   cmocka_unit_test(attention_f64),
        cmocka_unit_test(network_f32),     cmocka_unit_test(network_f64),
        cmocka_unit_test(nothing_to_free), cmocka_unit_test_setup_teardown(files, enter, leave),
        cmocka_unit_test(views),           cmocka_unit_test_setup_teardown(measurements, enter, leave),
        cmocka_unit_test(claims),          cmocka_unit_test(kernels_f32),
        cmocka_unit_test(kernels_f64),     cmocka_unit_test_setup_teardown(test_apply, enter, leave),
        cmocka_unit_test(test_evaluate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

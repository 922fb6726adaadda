/* test_optional.c - every optional argument of every public function is left out (NULL) once: the call does what it
 * does with all of them, and the other results have the same bits. */
#include "tests/model.h"

#include <unistd.h>

#include "analysis/view/gram.h"
#include "analysis/view/scene.h"
#include "analysis/view/walk.h"
#include "base/file.h"
#include "base/safetensors.h"
#include "base/tsv.h"
#include "data/dataset.h"
#include "num/attention.h"
#include "num/kernels.h"
#include "tests/scratch.h"
#include "train/apply.h"
#include "train/evaluate.h"

enum { T = 21, P = 5, LEVELS = 2, N = 6, M = 7, K = 9 };
static const hkt_config config = {.vocab = 12,
                                  .classes = 3,
                                  .max_len = 20,
                                  .d_model = 12,
                                  .heads = 2,
                                  .layers = 2,
                                  .levels = 3,
                                  .stride = 2,
                                  .conv_width = 4,
                                  .ffn_mult = 3,
                                  .hybrid = true,
                                  .causal = true};
static const size_t lengths[] = {20, 7, 1};
enum { N_SEQ = sizeof lengths / sizeof lengths[0], CLASSES = 3 };

#define HKT_BODY "tests/test_optional.inc.h"
#include "num/both.h"

static void test_attention(void **state)
{
    (void)state;
    attention_f32();
    attention_f64();
}

static void test_kernels(void **state)
{
    (void)state;
    kernels_f32();
    kernels_f64();
}

static void test_net(void **state)
{
    (void)state;
    net_f32();
    net_f64();
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

static void count(void *self, const hkt_score_tile *tile)
{
    size_t *n = self;
    n[tile->layer * HKT_MAX_LEVELS + tile->level] += tile->n; /* one thread for a layer and level of a sequence */
}
static void nothing(void *self, size_t first, size_t n)
{
    (void)self;
    (void)first;
    (void)n;
}
static hkt_status seen(void *self, const hkt_scene *scene)
{
    (void)scene;
    ++*(size_t *)self;
    return HKT_OK;
}

/* The walk over the scores without an end of batches, a scene without a word of progress, a rank without a norm. */
static void test_views(void **state)
{
    (void)state;
    model m = model_random(&config, 1, lengths, 5);
    size_t offset[N_SEQ + 1] = {0, 20}, a[2 * HKT_MAX_LEVELS] = {0}, b[2 * HKT_MAX_LEVELS] = {0}, visits = 0;
    hkt_dataset data = as_data(&m, (size_t[N_SEQ + 1]){0});
    data.n = 1;
    data.offset = offset;
    hkt_checkpoint c = as_checkpoint(&m);
    CHECK_OK(hkt_score_walk_batches(&c, &data, 1, count, nothing, a));
    CHECK_OK(hkt_score_walk_batches(&c, &data, 1, count, NULL, b));
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(a[0], 20 * 21 / 2);

    hkt_scene scene = {0};
    CHECK_OK(hkt_scene_sequences(&scene, m.layout, m.params, &data, 1, NULL, seen, &visits));
    hkt_scene_close(&scene);
    assert_int_equal(visits, 1);

    double x[8] = {1, 0, 0, 1, 1, 1, 2, -1}, form[4] = {1, 0, 0, 1}, norm;
    hkt_gram gram = {.T = 4, .d = 2, .L = 1, .stride = 2, .x = {x}, .ms = {form}, .lambda = {1}};
    size_t rank, same;
    CHECK_OK(hkt_gram_rank(&gram, &rank, &norm));
    CHECK_OK(hkt_gram_rank(&gram, &same, NULL));
    assert_int_equal(rank, 2);
    assert_int_equal(same, 2);
    model_free(&m);
}

/* Files without metadata; what may be closed or freed without having been opened. */
static void test_files(void **state)
{
    (void)state;
    model m = model_random(&config, 1, lengths, 6);
    float *params = model_params_f32(&m);
    const float value[2] = {1, 2};
    const hkt_tensor_out tensor = {.name = "a", .dtype = HKT_F32, .ndim = 1, .shape = {2}, .data = value};
    const char *const meta[] = {"key", "value", NULL};
    hkt_safetensors *file;
    CHECK_OK(hkt_safetensors_write("with", &tensor, 1, meta));
    CHECK_OK(hkt_safetensors_write("without", &tensor, 1, NULL));
    CHECK_OK(hkt_safetensors_read(&file, "with"));
    assert_string_equal(hkt_safetensors_meta(file, "key"), "value");
    hkt_safetensors_free(file);
    CHECK_OK(hkt_safetensors_read(&file, "without"));
    assert_null(hkt_safetensors_meta(file, "key"));
    assert_null(hkt_safetensors_find(file, "b"));
    hkt_safetensors_free(file);

    hkt_checkpoint c;
    CHECK_OK(hkt_checkpoint_write("model", m.layout, params, NULL));
    CHECK_OK(hkt_checkpoint_read(&c, "model"));
    for (size_t i = 0; i < m.layout->total; i++)
        assert_true(c.params[i] == (double)params[i]);
    hkt_checkpoint_free(&c);

    hkt_free(NULL);
    hkt_layout_destroy(NULL);
    hkt_tsv_abort(NULL);
    hkt_safetensors_free(NULL);
    hkt_net_destroy_f32(NULL);
    hkt_net_destroy_f64(NULL);
    hkt_attention_work_destroy_f32(NULL);
    hkt_attention_work_destroy_f64(NULL);
    hkt_free(params);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention), cmocka_unit_test(test_kernels),
                                       cmocka_unit_test(test_net),       cmocka_unit_test(test_apply),
                                       cmocka_unit_test(test_evaluate),  cmocka_unit_test(test_views),
                                       cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

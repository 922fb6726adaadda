/* Packing and order of batches; evaluation against the naive model; a batch from a file; hkt-eval against the golden
 * files of an independent implementation. */
#include <float.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/rng.h"
#include "base/safetensors.h"
#include "model/checkpoint.h"
#include "tests/check.h"
#include "train/apply.h"
#include "train/evaluate.h"
#include "train/input.h"

enum { N = 37, LONGEST = 23, CLASSES = 5, VOCAB = 11 };

static hkt_dataset make_data(void)
{
    hkt_dataset d = {.task = "test", .vocab = VOCAB, .classes = CLASSES, .max_len = LONGEST, .n = N};
    hkt_rng r = hkt_rng_make(1, HKT_STREAM_TEST, 1);
    CHECK_OK(HKT_NEW(&d.offset, N + 1));
    CHECK_OK(HKT_NEW(&d.tokens, N * LONGEST));
    CHECK_OK(HKT_NEW(&d.labels, N));
    for (size_t i = 0; i < N; i++) {
        d.offset[i + 1] = d.offset[i] + 1 + (i == 0 ? LONGEST - 1 : hkt_rng_below(&r, LONGEST));
        d.labels[i] = (int32_t)hkt_rng_below(&r, CLASSES);
    }
    for (size_t i = 0; i < d.offset[N]; i++)
        d.tokens[i] = (int32_t)hkt_rng_below(&r, VOCAB);
    return d;
}

static hkt_config small_config(void)
{
    return (hkt_config){.vocab = VOCAB,
                        .classes = CLASSES,
                        .max_len = LONGEST,
                        .d_model = 8,
                        .heads = 2,
                        .layers = 1,
                        .levels = 3,
                        .stride = 2,
                        .conv_width = 3,
                        .ffn_mult = 2,
                        .fusion = HKT_FUSION_DYNAMIC,
                        .hybrid = true,
                        .causal = true};
}

static float *initial_params(const hkt_layout *l)
{
    double *p;
    float *f;
    CHECK_OK(HKT_NEW(&p, l->total));
    CHECK_OK(HKT_NEW(&f, l->total));
    hkt_init_params(l, 5, p);
    for (size_t i = 0; i < l->total; i++)
        p[i] *= 3; /* so that predictions differ */
    hkt_params_to_f32(l, p, f);
    hkt_free(p);
    return f;
}

/* --- batches ------------------------------------------------------------------------------------------------------ */

static void test_pack(void **state)
{
    (void)state;
    hkt_dataset d = make_data();
    hkt_batch_buffer b;
    hkt_batch batch;
    size_t index[N], seen = 0;
    for (size_t i = 0; i < N; i++)
        index[i] = N - 1 - i;
    CHECK_OK(hkt_batch_buffer_create(&b, &d, 60));
    for (size_t first = 0; first < N;) {
        size_t taken = hkt_batch_pack(&d, index, first, N, 60, b.max_seqs, b.tokens, b.lengths, b.labels, &batch);
        size_t tokens = 0;
        assert_true(taken >= 1 && taken == batch.n_seq);
        for (size_t k = 0; k < taken; k++) {
            size_t i = index[first + k];
            assert_int_equal(batch.length[k], d.offset[i + 1] - d.offset[i]);
            assert_int_equal(batch.labels[k], d.labels[i]);
            assert_memory_equal(batch.tokens + tokens, d.tokens + d.offset[i], batch.length[k] * sizeof(int32_t));
            tokens += batch.length[k];
        }
        assert_true(tokens <= 60);
        first += taken;
        if (first < N) { /* the next one would not have fitted */
            size_t i = index[first];
            assert_true(tokens + d.offset[i + 1] - d.offset[i] > 60 || taken == b.max_seqs);
        }
        seen += taken;
    }
    assert_int_equal(seen, N);
    hkt_batch_buffer_destroy(&b);
    hkt_dataset_free(&d);
}

static void test_pack_limits(void **state)
{
    (void)state;
    hkt_dataset d = make_data(), empty = {.task = "test"};
    hkt_batch_buffer b;
    size_t index[N];
    for (size_t i = 0; i < N; i++)
        index[i] = i;
    assert_int_equal(hkt_batch_count(&d, index, 0, N, 1, N), 1); /* longer than a batch: alone */
    assert_int_equal(hkt_batch_count(&d, index, 0, N, 1000000, N), N);
    assert_int_equal(hkt_batch_count(&d, index, 0, N, 1000000, 3), 3);
    assert_int_equal(hkt_batch_count(&d, index, N, N, 60, N), 0);
    CHECK_OK(hkt_batch_buffer_create(&b, &d, 1));
    assert_int_equal(b.max_tokens, LONGEST);
    hkt_batch_buffer_destroy(&b);
    CHECK_OK(hkt_batch_buffer_create(&b, &d, 1000000));
    assert_int_equal(b.max_tokens, d.offset[N]);
    assert_int_equal(b.max_seqs, N);
    hkt_batch_buffer_destroy(&b);
    CHECK_FAILS(hkt_batch_buffer_create(&b, &empty, 10), HKT_EINPUT, "empty");
    hkt_dataset_free(&d);
}

static void test_order(void **state)
{
    (void)state;
    hkt_dataset d = make_data();
    hkt_batch_order a, b;
    size_t first_epoch[N], differ = 0;
    CHECK_OK(hkt_batch_order_create(&a, &d, 60, N, 9));
    CHECK_OK(hkt_batch_order_create(&b, &d, 60, N, 9));
    for (size_t epoch = 0; epoch < 2; epoch++) {
        unsigned char seen[N] = {0};
        do {
            CHECK_OK(hkt_batch_order_next(&a));
            CHECK_OK(hkt_batch_order_next(&b));
            assert_int_equal(a.epoch, epoch);
            assert_true(a.first == b.first && a.count == b.count && a.index[a.first] == b.index[a.first]);
            for (size_t k = a.first; k < a.first + a.count; k++) {
                assert_int_equal(seen[a.index[k]]++, 0);
                if (epoch == 0)
                    first_epoch[k] = a.index[k];
                differ += a.index[k] != first_epoch[k];
            }
        } while (!a.epoch_end);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(seen[i], 1);
    }
    assert_true(differ > N / 2); /* epochs are shuffled anew */
    hkt_batch_order_destroy(&a);
    hkt_batch_order_destroy(&b);
    hkt_dataset_free(&d);
}

/* The number of batches is that of going through them; one length: without drawing every epoch. */
static void test_order_total(void **state)
{
    (void)state;
    hkt_dataset d = make_data();
    hkt_batch_order o;
    volatile sig_atomic_t stop = 0;
    size_t total, n = 0, counted[4] = {0};
    CHECK_OK(hkt_batch_order_create(&o, &d, 60, N, 9));
    for (size_t e = 1; e < 4; e++) {
        do {
            CHECK_OK(hkt_batch_order_next(&o));
            n++;
        } while (!o.epoch_end);
        counted[e] = n;
    }
    for (size_t e = 1; e < 4; e++) {
        CHECK_OK(hkt_batch_order_total(&o, e, &stop, &total));
        assert_int_equal(total, counted[e]);
    }
    assert_true(o.epoch == 2 && o.epoch_end); /* untouched */
    stop = 1;
    CHECK_OK(hkt_batch_order_total(&o, (size_t)1e15, &stop, &total));
    assert_int_equal(total, 0);
    hkt_batch_order_destroy(&o);
    for (size_t i = 0; i <= N; i++)
        d.offset[i] = 3 * i;
    stop = 0;
    CHECK_OK(hkt_batch_order_create(&o, &d, 7, N, 9));
    CHECK_OK(hkt_batch_order_total(&o, (size_t)1e15, &stop, &total));
    assert_int_equal(total, (N + 1) / 2 * (size_t)1e15); /* two sequences of three tokens in seven */
    hkt_batch_order_destroy(&o);
    hkt_dataset_free(&d);
}

/* --- evaluation --------------------------------------------------------------------------------------------------- */

/* Cross entropy of one sequence in double, from the naive model. */
static double naive_loss(const hkt_layout *l, const float *params, const hkt_dataset *d, size_t i, size_t *guess)
{
    float z[CLASSES];
    double sum = 0;
    CHECK_OK(hkt_net_forward_ref_f32(l, params, d->offset[i + 1] - d->offset[i], d->tokens + d->offset[i], z, NULL));
    *guess = 0;
    for (size_t c = 0; c < CLASSES; c++) {
        sum += exp((double)z[c]);
        if (z[c] > z[*guess])
            *guess = c;
    }
    return log(sum) - (double)z[d->labels[i]];
}

static void test_evaluate(void **state)
{
    (void)state;
    const hkt_config c = small_config();
    hkt_dataset d = make_data();
    hkt_layout *l;
    CHECK_OK(hkt_layout_create(&l, &c));
    float *params = initial_params(l);
    size_t confusion[CLASSES * CLASSES], expected[CLASSES * CLASSES] = {0}, right = 0;
    unsigned char correct[N];
    double loss = 0;
    size_t guess[N];
    for (size_t i = 0; i < N; i++) {
        loss += naive_loss(l, params, &d, i, &guess[i]) / N;
        expected[(size_t)d.labels[i] * CLASSES + guess[i]]++;
        right += guess[i] == (size_t)d.labels[i];
    }
    assert_true(right > 0 && right < N);
    const size_t batch_tokens[] = {1, 60, 100000};
    for (size_t k = 0; k < 3; k++) {
        hkt_evaluation e;
        CHECK_OK(hkt_evaluate(l, params, &d, batch_tokens[k], NULL, &e, confusion, correct));
        assert_int_equal(e.n, N);
        assert_int_equal(e.tokens, d.offset[N]);
        assert_int_equal(e.correct, right);
        CHECK_NEAR(e.accuracy, (double)right / N, DBL_EPSILON);
        CHECK_NEAR(e.loss, loss, 1e-4 * loss); /* float32 of the whole model, as for the golden files */
        assert_memory_equal(confusion, expected, sizeof expected);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(correct[i], guess[i] == (size_t)d.labels[i]);
    }
    hkt_free(params);
    hkt_layout_destroy(l);
    hkt_dataset_free(&d);
}

static void test_evaluate_failures(void **state)
{
    (void)state;
    hkt_config c = small_config();
    hkt_dataset d = make_data();
    hkt_evaluation e;
    hkt_layout *l;
    CHECK_OK(hkt_layout_create(&l, &c));
    float *params = initial_params(l);
    size_t live = hkt_mem_live();
    hkt_status status = HKT_ESYSTEM;
    for (size_t n = 1; status != HKT_OK; n++) { /* every allocation fails once */
        hkt_mem_fail_at(n);
        status = hkt_evaluate(l, params, &d, 60, NULL, &e, NULL, NULL);
        assert_true(status == HKT_OK || (status == HKT_ESYSTEM && hkt_mem_failed()));
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
    }
    params[l->head_bias] = (float)NAN;
    CHECK_FAILS(hkt_evaluate(l, params, &d, 60, NULL, &e, NULL, NULL), HKT_ENUMERIC, "");
    CHECK_OK(hkt_evaluate_check(&c, &d, "F"));
    c.vocab++;
    CHECK_FAILS(hkt_evaluate_check(&c, &d, "F"), HKT_EINPUT, "F: expected a vocabulary of 11");
    hkt_free(params);
    hkt_layout_destroy(l);
    hkt_dataset_free(&d);
}

static void test_wilson(void **state)
{
    (void)state;
    /* Newcombe 1998, Statistics in Medicine 17, table I, method 3 (four digits): 81/263, 15/148, 0/20, 1/29. */
    const struct {
        size_t k, n;
        double low, high;
    } known[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double low, high;
        hkt_wilson(known[i].k, known[i].n, &low, &high);
        CHECK_NEAR(low, known[i].low, 0.00005);
        CHECK_NEAR(high, known[i].high, 0.00005);
        hkt_wilson(known[i].n - known[i].k, known[i].n, &low, &high); /* mirrored */
        CHECK_NEAR(1 - high, known[i].low, 0.00005);
        CHECK_NEAR(1 - low, known[i].high, 0.00005);
    }
}

/* --- a batch from a file ------------------------------------------------------------------------------------------ */

static int32_t tokens[] = {1, 2, 3, 99, 4, 5, 6, 7}, lengths[] = {3, 4}, labels[] = {0, 4};

/* 99 is beyond the first sequence and ignored. Renames or reshapes one tensor for the error cases. */
static hkt_status read_input(const char *without, size_t label_count, hkt_dtype dtype, hkt_input *in)
{
    const hkt_config c = small_config();
    hkt_tensor_out t[] = {{"input.tokens", dtype, 2, {2, 4}, tokens},
                          {"input.lengths", HKT_I32, 1, {2}, lengths},
                          {"input.labels", HKT_I32, 1, {label_count}, labels}};
    const char *const meta[] = {NULL};
    for (size_t i = 0; i < 3; i++)
        if (strcmp(t[i].name, without) == 0)
            t[i].name = "other";
    CHECK_OK(hkt_safetensors_write("input.safetensors", t, 3, meta));
    hkt_safetensors *f;
    CHECK_OK(hkt_safetensors_read(&f, "input.safetensors"));
    hkt_status status = hkt_input_read(in, f, &c);
    hkt_safetensors_free(f);
    return status;
}

#define BAD_INPUT(place, value, text)                                                                                  \
    do {                                                                                                               \
        int32_t kept_ = (place);                                                                                       \
        (place) = (value);                                                                                             \
        CHECK_FAILS(read_input("", 2, HKT_I32, &in), HKT_EINPUT, text);                                                \
        (place) = kept_;                                                                                               \
    } while (0)

static void test_input(void **state)
{
    (void)state;
    hkt_input in;
    size_t live = hkt_mem_live();
    CHECK_OK(read_input("", 2, HKT_I32, &in));
    const int32_t packed[] = {1, 2, 3, 4, 5, 6, 7};
    assert_int_equal(in.batch.n_seq, 2);
    assert_int_equal(in.n_tokens, 7);
    assert_memory_equal(in.batch.tokens, packed, sizeof packed);
    assert_memory_equal(in.batch.labels, labels, sizeof labels);
    hkt_input_free(&in);
    BAD_INPUT(lengths[1], 0, "tensor 'input.lengths': expected 1..4 at [1], found 0");
    BAD_INPUT(lengths[0], 5, "expected 1..4 at [0], found 5");
    BAD_INPUT(lengths[0], -1, "found -1");
    BAD_INPUT(labels[0], CLASSES, "tensor 'input.labels': expected 0..4 at [0], found 5");
    BAD_INPUT(labels[1], -1, "at [1], found -1");
    BAD_INPUT(tokens[5], VOCAB, "input.safetensors: tensor 'input.tokens': expected 0..10 at [1, 1], found 11");
    BAD_INPUT(tokens[0], -1, "at [0, 0], found -1");
    CHECK_FAILS(read_input("input.labels", 2, HKT_I32, &in), HKT_EINPUT, "expected tensor 'input.labels', found none");
    CHECK_FAILS(read_input("input.tokens", 2, HKT_I32, &in), HKT_EINPUT, "expected tensor 'input.tokens', found none");
    CHECK_FAILS(read_input("", 1, HKT_I32, &in), HKT_EINPUT, "expected 2 values, one per sequence, found 1");
    CHECK_FAILS(read_input("", 2, HKT_F32, &in), HKT_EINPUT, "input.tokens");
    assert_int_equal(hkt_mem_live(), live);
    unlink("input.safetensors");
}

/* --- golden files ------------------------------------------------------------------------------------------------- */

/* hkt-eval in one precision, with FILE as checkpoint and as input. */
static void run_eval(const char *file, const char *precision)
{
    char command[2048];
    snprintf(
        command, sizeof command,
        "'%s/bin/hkt-eval' --checkpoint '%s' --input '%s' --precision %s --logits l.npy --grads g.safetensors >out",
        getenv("BUILD"), file, file, precision);
    assert_int_equal(system(command), 0);
}

static double *values(const hkt_safetensors *f, const char *name, size_t *count)
{
    const hkt_tensor *t = hkt_safetensors_find(f, name);
    double *v = NULL;
    assert_non_null(t);
    CHECK_OK(HKT_NEW(&v, t->count));
    CHECK_OK(hkt_tensor_to_f64(t, v));
    *count = t->count;
    return v;
}

/* Largest relative difference of logits, loss and every gradient. */
static double compare_outputs(const hkt_safetensors *golden, const hkt_safetensors *ours)
{
    size_t n, m, ndim, shape[HKT_MAX_DIMS], grads = 0;
    double *logits, worst = 0;
    CHECK_OK(hkt_npy_read("l.npy", &ndim, shape, &logits));
    double *want = values(golden, "output.logits", &n);
    assert_int_equal(ndim, 2);
    assert_int_equal(shape[0] * shape[1], n);
    worst = check_relative(logits, want, n);
    hkt_free(logits);
    hkt_free(want);
    for (size_t i = 0; i < hkt_safetensors_count(ours); i++) {
        const char *name = hkt_safetensors_at(ours, i)->name;
        bool loss = strcmp(name, "loss") == 0;
        double *a = values(ours, name, &m), *b = values(golden, loss ? "output.loss" : name, &n);
        assert_int_equal(m, n);
        worst = fmax(worst, check_relative(a, b, n));
        grads += !loss;
        hkt_free(a);
        hkt_free(b);
    }
    for (size_t i = 0; i < hkt_safetensors_count(golden); i++)
        grads -= strncmp(hkt_safetensors_at(golden, i)->name, "grad.", 5) == 0;
    assert_int_equal(grads, 0); /* none is missing */
    return worst;
}

static double golden_difference(const char *name, const char *precision)
{
    char path[512];
    hkt_safetensors *golden, *ours;
    snprintf(path, sizeof path, "%s/../shared/golden/%s.safetensors", getenv("HKT_SOURCE"), name);
    run_eval(path, precision);
    CHECK_OK(hkt_safetensors_read(&golden, path));
    CHECK_OK(hkt_safetensors_read(&ours, "g.safetensors"));
    double worst = compare_outputs(golden, ours);
    hkt_safetensors_free(golden);
    hkt_safetensors_free(ours);
    unlink("l.npy");
    unlink("g.safetensors");
    unlink("out");
    return worst;
}

static void test_golden(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "bidirect", "mha", "ragged_s3", "score"};
    char path[512];
    snprintf(path, sizeof path, "%s/../shared/golden/base.safetensors",
             getenv("HKT_SOURCE") ? getenv("HKT_SOURCE") : "");
    if (!getenv("BUILD") || !hkt_file_exists(path))
        skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double f64 = golden_difference(names[i], "f64"), f32 = golden_difference(names[i], "f32");
        print_message("%s: relative difference %.2g in f64, %.2g in f32\n", names[i], f64, f32);
        CHECK_AT_MOST(f64, 1e-10);
        CHECK_AT_MOST(f32, 1e-4);
        assert_true(f32 > f64); /* the precisions are not the same computation */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack),     cmocka_unit_test(test_pack_limits),
        cmocka_unit_test(test_order),    cmocka_unit_test(test_order_total),
        cmocka_unit_test(test_evaluate), cmocka_unit_test(test_evaluate_failures),
        cmocka_unit_test(test_wilson),   cmocka_unit_test(test_input),
        cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_split.c - large batches, which the net cuts into slices: the same numbers as from a net that does the batch in
 * one piece, and the same bits for any number of threads. A net cuts when a batch holds many times its longest
 * sequence: the reference has the same weights and a longest sequence that no batch comes near to. */
#include "tests/check.h"

#include <float.h>

#include "tests/model.h"

enum { N_SEQ = 96, MAX_LEN = 64, FAR = 6000, C = 3 };

static hkt_config config_of(hkt_fusion fusion, size_t max_len)
{
    return (hkt_config){.vocab = 12,
                        .classes = C,
                        .max_len = max_len,
                        .d_model = 16,
                        .heads = 2,
                        .layers = 2,
                        .levels = 3,
                        .stride = 2,
                        .conv_width = 4,
                        .ffn_mult = 2,
                        .fusion = fusion,
                        .hybrid = true,
                        .causal = true};
}

/* Lengths 1..MAX_LEN in no order, more than 2,048 tokens in all: slices of several sequences, and uneven. */
static model ragged_model(hkt_fusion fusion, size_t max_len)
{
    size_t length[N_SEQ];
    hkt_config c = config_of(fusion, max_len);
    for (size_t b = 0; b < N_SEQ; b++)
        length[b] = 1 + b * 37 % MAX_LEN;
    return model_random(&c, N_SEQ, length, 5);
}

/* The workspace of a batch in slices is many times smaller than that of the batch in one piece. */
static bool is_cut(const model *m)
{
    hkt_net_f64 *net = model_net_f64(m, true, false);
    size_t bytes = hkt_net_bytes_f64(net), activations = model_tokens(m) * m->layout->config.d_model * sizeof(double);
    hkt_net_destroy_f64(net);
    return bytes < 20 * activations;
}

typedef struct {
    double logits[N_SEQ * C], loss, *grads;
} outcome;

static outcome run(const model *m, const hkt_dropout_spec *dropout)
{
    outcome r = {.grads = model_doubles(m->layout->total)};
    model_run_f64(m, dropout, r.logits, &r.loss, r.grads);
    return r;
}

/* Largest difference of a gradient over the largest entry of its tensor; pos beyond MAX_LEN rows is not compared. */
static double gradient_difference(const model *a, const double *x, const model *b, const double *y)
{
    double worst = 0;
    for (size_t i = 0; i < a->layout->n_params; i++) {
        const hkt_param *p = &a->layout->params[i], *q = &b->layout->params[i];
        size_t n = p->count < q->count ? p->count : q->count;
        worst = fmax(worst, check_relative(x + p->offset, y + q->offset, n));
    }
    return worst;
}

/* Sums of up to N_SEQ MAX_LEN terms in two orders through a few dozen operations. */
static const double TOLERANCE = 1e4 * DBL_EPSILON;

static void agrees_with_one_piece(void **state)
{
    (void)state;
    const hkt_dropout_spec dropout = {.rate = 0.25, .seed = 3, .step = 9};
    for (int i = 0; i < 6; i++) {
        const hkt_dropout_spec *spec = i % 2 ? &dropout : NULL;
        model cut = ragged_model((hkt_fusion)(i / 2), MAX_LEN), whole = ragged_model((hkt_fusion)(i / 2), FAR);
        assert_true(is_cut(&cut) && !is_cut(&whole));
        outcome a = run(&cut, spec), b = run(&whole, spec);
        CHECK_AT_MOST(check_relative(a.logits, b.logits, N_SEQ * C), TOLERANCE);
        CHECK_NEAR(a.loss, b.loss, TOLERANCE);
        CHECK_AT_MOST(gradient_difference(&cut, a.grads, &whole, b.grads), TOLERANCE);
        hkt_free(a.grads);
        hkt_free(b.grads);
        model_free(&cut);
        model_free(&whole);
    }
}

/* The dropout of another step must show. */
static void control_other_dropout(void **state)
{
    (void)state;
    model cut = ragged_model(HKT_FUSION_DYNAMIC, MAX_LEN), whole = ragged_model(HKT_FUSION_DYNAMIC, FAR);
    outcome a = run(&cut, &(hkt_dropout_spec){.rate = 0.25, .seed = 3, .step = 9});
    outcome b = run(&whole, &(hkt_dropout_spec){.rate = 0.25, .seed = 3, .step = 10});
    assert_false(check_relative(a.logits, b.logits, N_SEQ * C) <= 0.01);
    assert_false(gradient_difference(&cut, a.grads, &whole, b.grads) <= 0.01);
    hkt_free(a.grads);
    hkt_free(b.grads);
    model_free(&cut);
    model_free(&whole);
}

static void same_bits_for_any_threads(void **state)
{
    (void)state;
    const size_t before = hkt_threads();
    model m = ragged_model(HKT_FUSION_DYNAMIC, MAX_LEN);
    hkt_set_threads(1);
    outcome one = run(&m, NULL);
    for (size_t threads = 2; threads <= 9; threads += 7) {
        hkt_set_threads(threads);
        outcome many = run(&m, NULL);
        assert_memory_equal(one.logits, many.logits, sizeof one.logits);
        assert_memory_equal(&one.loss, &many.loss, sizeof one.loss);
        assert_memory_equal(one.grads, many.grads, m.layout->total * sizeof *one.grads);
        hkt_free(many.grads);
    }
    hkt_set_threads(before);
    hkt_free(one.grads);
    model_free(&m);
}

/* Fewer sequences than slots, one alone, and the whole batch again, on one net. */
static void batches_of_any_size(void **state)
{
    (void)state;
    model m = ragged_model(HKT_FUSION_STATIC, MAX_LEN);
    hkt_net_f64 *net = model_net_f64(&m, true, false);
    double logits[N_SEQ * C], part[N_SEQ * C], loss, *grads = model_doubles(m.layout->total),
                                                     *again = model_doubles(m.layout->total);
    CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, NULL, logits, &loss));
    CHECK_OK(hkt_net_gradient_f64(net, m.params, &m.batch, NULL, grads, &loss));
    for (size_t n = 1; n < N_SEQ; n += 13) {
        hkt_batch few = m.batch;
        few.n_seq = n;
        CHECK_OK(hkt_net_forward_f64(net, m.params, &few, NULL, NULL, part, NULL));
        assert_memory_equal(part, logits, n * C * sizeof *part);
    }
    CHECK_OK(hkt_net_gradient_f64(net, m.params, &m.batch, NULL, again, &loss));
    assert_memory_equal(grads, again, m.layout->total * sizeof *grads);
    hkt_net_destroy_f64(net);
    hkt_free(grads);
    hkt_free(again);
    model_free(&m);
}

static void names_what_is_wrong(void **state)
{
    (void)state;
    double loss;
    model m = ragged_model(HKT_FUSION_DYNAMIC, MAX_LEN);
    hkt_net_f64 *net = model_net_f64(&m, true, false);
    size_t first = 0;
    for (size_t b = 0; b < 70; b++)
        first += m.length[b];
    int32_t kept = m.tokens[first];
    m.tokens[first] = 12;
    CHECK_FAILS(hkt_net_forward_f64(net, m.params, &m.batch, NULL, NULL, NULL, &loss), HKT_EINPUT,
                "sequence 70: token 0: expected 0 to 11, found 12");
    m.tokens[first] = kept;
    m.params[m.layout->norm_bias] = (double)NAN;
    CHECK_FAILS(hkt_net_forward_f64(net, m.params, &m.batch, NULL, NULL, NULL, &loss), HKT_ENUMERIC,
                "sequence 0: logit 0: expected a finite value, found");
    hkt_net_destroy_f64(net);
    model_free(&m);
}

static void interventions_reach_the_slices(void **state)
{
    (void)state;
    hkt_intervention iv = {.no_attention = {true}};
    for (int part = 0; part < 2; part++) {
        double logits[2][N_SEQ * C];
        for (int far = 0; far < 2; far++) {
            model m = ragged_model(HKT_FUSION_DYNAMIC, far ? FAR : MAX_LEN);
            hkt_net_f64 *net = model_net_f64(&m, false, false);
            CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, &iv, logits[far], NULL));
            hkt_net_destroy_f64(net);
            model_free(&m);
        }
        CHECK_AT_MOST(check_relative(logits[0], logits[1], N_SEQ * C), TOLERANCE);
        iv = (hkt_intervention){.part = {HKT_PART_SYMMETRIC, HKT_PART_RANDOM}, .seed = 4};
    }
}

/* The Nth allocation fails: no net, one line, nothing leaks (the sanitizers see to that). */
static void out_of_memory(void **state)
{
    (void)state;
    model m = ragged_model(HKT_FUSION_DYNAMIC, MAX_LEN);
    for (size_t n = 1;; n++) {
        hkt_net_f64 *net = NULL;
        hkt_mem_fail_at(n);
        hkt_status status = hkt_net_create_f64(&net, m.layout, model_tokens(&m), N_SEQ, true, false);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_true(failed == (status == HKT_ESYSTEM) && failed == (net == NULL));
        hkt_net_destroy_f64(net);
        if (!failed)
            break;
    }
    model_free(&m);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_one_piece),
        cmocka_unit_test(control_other_dropout),
        cmocka_unit_test(same_bits_for_any_threads),
        cmocka_unit_test(batches_of_any_size),
        cmocka_unit_test(names_what_is_wrong),
        cmocka_unit_test(interventions_reach_the_slices),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

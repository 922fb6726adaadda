/* The net's interface: bad batches, interventions, taps, numerical failure, running out of memory. */
#include "tests/check.h"

#include <float.h>

#include "tests/model.h"

static const hkt_config base = {.vocab = 12,
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
enum { N_SEQ = sizeof lengths / sizeof lengths[0], C = 3 };

static hkt_status forward(const model *m, hkt_net_f64 *net)
{
    double loss;
    return hkt_net_forward_f64(net, m->params, &m->batch, NULL, NULL, NULL, &loss);
}

static void bad_batches(void **state)
{
    (void)state;
    model m = model_random(&base, N_SEQ, lengths, 1);
    hkt_net_f64 *net = model_net_f64(&m, true, false);
    m.tokens[21] = 12;
    CHECK_FAILS(forward(&m, net), HKT_EINPUT, "sequence 1: token 1: expected 0 to 11, found 12");
    m.tokens[21] = -1;
    CHECK_FAILS(forward(&m, net), HKT_EINPUT, "sequence 1: token 1: expected 0 to 11, found -1");
    m.tokens[21] = 3;
    m.labels[2] = 3;
    CHECK_FAILS(forward(&m, net), HKT_EINPUT, "sequence 2: label: expected 0 to 2, found 3");
    m.labels[2] = 0;
    m.length[1] = 0;
    CHECK_FAILS(forward(&m, net), HKT_EINPUT, "sequence 1: length: expected 1 to 20, found 0");
    m.length[1] = 21;
    CHECK_FAILS(forward(&m, net), HKT_EINPUT, "sequence 1: length: expected 1 to 20, found 21");
    m.length[1] = 10;
    CHECK_FAILS(forward(&m, net), HKT_EINPUT, "batch: expected at most 28 tokens, found more by sequence 1");
    m.length[1] = 7;
    m.batch.n_seq = 4;
    CHECK_FAILS(forward(&m, net), HKT_EINPUT, "batch: expected 1 to 3 sequences, found 4");
    m.batch.n_seq = 0;
    CHECK_FAILS(forward(&m, net), HKT_EINPUT, "batch: expected 1 to 3 sequences, found 0");
    m.batch.n_seq = N_SEQ;
    CHECK_OK(forward(&m, net));
    hkt_net_destroy_f64(net);
    model_free(&m);
}

static void not_finite(void **state)
{
    (void)state;
    model m = model_random(&base, N_SEQ, lengths, 1);
    hkt_net_f64 *net = model_net_f64(&m, true, false);
    m.params[m.layout->layer[1].out] = (double)NAN;
    CHECK_FAILS(forward(&m, net), HKT_ENUMERIC, "sequence 0: logit 0: expected a finite value, found");
    hkt_net_destroy_f64(net);
    model_free(&m);
}

/* Sequences of a batch do not see each other: logits alone and in the batch agree to rounding (a product of another
 * shape may round differently). */
static void sequences_are_independent(void **state)
{
    (void)state;
    model m = model_random(&base, N_SEQ, lengths, 1);
    double together[N_SEQ * C], alone[C];
    model_run_f64(&m, NULL, together, NULL, NULL);
    model one = m;
    one.batch.n_seq = 1;
    for (size_t b = 0, first = 0; b < N_SEQ; first += lengths[b++]) {
        one.length = m.length + b;
        one.batch.length = one.length;
        one.batch.tokens = m.tokens + first;
        one.batch.labels = m.labels + b;
        model_run_f64(&one, NULL, alone, NULL, NULL);
        CHECK_AT_MOST(check_relative(alone, together + b * C, C), 1000 * DBL_EPSILON);
    }
    model_free(&m);
}

static void logits_with(const model *m, const hkt_intervention *iv, double *logits)
{
    hkt_net_f64 *net = model_net_f64(m, false, false);
    CHECK_OK(hkt_net_forward_f64(net, m->params, &m->batch, NULL, iv, logits, NULL));
    hkt_net_destroy_f64(net);
}

/* Without attention and convolution the branch is zero, as it is with out = 0. */
static void intervention_on_everything(void **state)
{
    (void)state;
    for (int fusion = 0; fusion < 3; fusion++) {
        hkt_config c = base;
        c.fusion = (hkt_fusion)fusion;
        model m = model_random(&c, N_SEQ, lengths, 1);
        hkt_intervention iv = {.no_attention = {true, true, true}, .no_conv = {true, true, true}}, none = {0};
        double off[N_SEQ * C], zero[N_SEQ * C], whole[N_SEQ * C], untouched[N_SEQ * C];
        logits_with(&m, NULL, whole);
        logits_with(&m, &none, untouched);
        logits_with(&m, &iv, off);
        assert_memory_equal(whole, untouched, sizeof whole);
        assert_memory_not_equal(whole, off, sizeof whole);
        for (size_t n = 0; n < c.layers; n++)
            memset(m.params + m.layout->layer[n].out, 0, c.d_model * c.d_model * sizeof(double));
        logits_with(&m, NULL, zero);
        assert_memory_equal(off, zero, sizeof off);
        model_free(&m);
    }
}

/* Without the convolution of a level: as with its weights 0. */
static void intervention_on_convolution(void **state)
{
    (void)state;
    for (size_t l = 0; l < base.levels; l++) {
        model m = model_random(&base, N_SEQ, lengths, 1);
        hkt_intervention iv = {0};
        iv.no_conv[l] = true;
        double off[N_SEQ * C], zero[N_SEQ * C];
        logits_with(&m, &iv, off);
        for (size_t n = 0; n < base.layers; n++)
            memset(m.params + m.layout->layer[n].level[l].conv, 0, base.conv_width * base.d_model * sizeof(double));
        logits_with(&m, NULL, zero);
        assert_memory_equal(off, zero, sizeof off);
        model_free(&m);
    }
}

/* At one token A V = V and conv(V) = c_0 V, so Y = beta V + (1 - beta) c_0 V; without attention (1 - beta) c_0 V, which
 * c_0 - beta / (1 - beta) gives as well. */
static void intervention_on_attention(void **state)
{
    (void)state;
    for (size_t l = 0; l < base.levels; l++) {
        model m = model_random(&base, 1, &(size_t){1}, 1);
        hkt_intervention iv = {0};
        iv.no_attention[l] = true;
        double off[C], other[C], whole[C];
        logits_with(&m, &iv, off);
        logits_with(&m, NULL, whole);
        assert_memory_not_equal(off, whole, sizeof off);
        for (size_t n = 0; n < base.layers; n++)
            for (size_t i = 0; i < base.d_model; i++) {
                size_t h = i / (base.d_model / base.heads);
                double odds = exp(m.params[m.layout->layer[n].beta + l * base.heads + h]); /* beta / (1 - beta) */
                m.params[m.layout->layer[n].level[l].conv + i] -= odds;
            }
        logits_with(&m, NULL, other);
        CHECK_AT_MOST(check_relative(off, other, C), 1000 * DBL_EPSILON);
        model_free(&m);
    }
}

static void taps(void **state)
{
    (void)state;
    model m = model_random(&base, N_SEQ, lengths, 1);
    hkt_net_f64 *net = model_net_f64(&m, false, true);
    hkt_tap_f64 t;
    CHECK_OK(forward(&m, net));
    CHECK_FAILS(hkt_net_tap_f64(net, 2, &t), HKT_EINPUT, "layer: expected 0 to 1, found 2");
    double *hidden = model_doubles(base.layers * lengths[0] * base.d_model), logits[C];
    CHECK_OK(hkt_net_forward_ref_f64(m.layout, m.params, lengths[0], m.tokens, logits, hidden));
    for (size_t n = 0; n < base.layers; n++) {
        size_t size = lengths[0] * base.d_model;
        CHECK_OK(hkt_net_tap_f64(net, n, &t));
        CHECK_AT_MOST(check_relative(t.hidden, hidden + n * size, size), 1000 * DBL_EPSILON);
        for (size_t b = 0; b < N_SEQ; b++)
            CHECK_NEAR(t.alpha[b * 3] + t.alpha[b * 3 + 1] + t.alpha[b * 3 + 2], 1, 4 * DBL_EPSILON);
        for (size_t l = 0; l < 3; l++) {
            assert_int_equal(t.offset[l][N_SEQ], hkt_level_length(20, 2, l) + hkt_level_length(7, 2, l) + 1);
            assert_non_null(t.v[l]);
        }
    }
    hkt_free(hidden);
    hkt_net_destroy_f64(net);
    model_free(&m);
}

static void out_of_memory(void **state)
{
    (void)state;
    model m = model_random(&base, N_SEQ, lengths, 1);
    size_t live = hkt_mem_live(), n = 0;
    hkt_status status;
    do {
        hkt_net_f32 *net;
        hkt_mem_fail_at(++n);
        status = hkt_net_create_f32(&net, m.layout, 28, N_SEQ, true, false);
        assert_int_equal(status, hkt_mem_failed() ? HKT_ESYSTEM : HKT_OK);
        assert_int_equal(net != NULL, status == HKT_OK);
        hkt_net_destroy_f32(net);
        assert_int_equal(hkt_mem_live(), live);
    } while (status != HKT_OK);
    assert_true(n > 5);
    hkt_net_f32 *net;
    hkt_mem_fail_at(0);
    CHECK_FAILS(hkt_net_create_f32(&net, m.layout, (size_t)-1 / 2, 1, true, false), HKT_ESYSTEM, "overflow");
    assert_int_equal(hkt_mem_live(), live);
    model_free(&m);
}

/* Forward and backward do not allocate: they succeed when every allocation would fail. */
static void no_allocation_after_create(void **state)
{
    (void)state;
    model m = model_random(&base, N_SEQ, lengths, 1);
    hkt_net_f64 *net = model_net_f64(&m, true, false);
    double *grads = model_doubles(m.layout->total);
    hkt_mem_fail_at(1);
    CHECK_OK(forward(&m, net));
    double loss;
    CHECK_OK(hkt_net_gradient_f64(net, m.params, &m.batch, NULL, grads, &loss));
    assert_false(hkt_mem_failed());
    hkt_mem_fail_at(0);
    hkt_free(grads);
    hkt_net_destroy_f64(net);
    model_free(&m);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    hkt_set_threads(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_batches),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(sequences_are_independent),
        cmocka_unit_test(intervention_on_everything),
        cmocka_unit_test(intervention_on_convolution),
        cmocka_unit_test(intervention_on_attention),
        cmocka_unit_test(taps),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(no_allocation_after_create),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

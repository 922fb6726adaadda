/* What must be bit-identical: hidden states before a changed token; everything for any number of threads; logits of
 * the three kinds of workspace. */
#include "tests/check.h"

#include "tests/model.h"

/* Hidden states, over all layers, that differ after a change. */
typedef struct {
    size_t earlier, later, others; /* rows of the same sequence before the token, from it on; rows of other sequences */
} effect;

#define HKT_BODY "tests/causality.inc.h"
#include "num/both.h"

static const hkt_config base = {.vocab = 9,
                                .classes = 3,
                                .max_len = 2000,
                                .d_model = 24,
                                .heads = 3,
                                .layers = 2,
                                .levels = 3,
                                .stride = 2,
                                .conv_width = 4,
                                .ffn_mult = 2,
                                .fusion = HKT_FUSION_STATIC,
                                .hybrid = true,
                                .causal = true};

/* The changed sequence is longer than a chunk and than a row block of the attention, and starts in the middle of one.
 */
static const size_t lengths[] = {37, 560, 5};
enum { N_SEQ = sizeof lengths / sizeof lengths[0] };

/* The first and last token, and around the edges of tiles, strides and chunks. */
static const size_t positions[] = {0, 1, 16, 63, 64, 219, 255, 256, 511, 512, 559};
enum { N_POSITIONS = sizeof positions / sizeof positions[0] };

static void check_causal(const hkt_config *c)
{
    model m = model_random(c, N_SEQ, lengths, 11);
    effect effects[N_POSITIONS];
    for (int f64 = 0; f64 < 2; f64++) {
        (f64 ? change_tokens_f64 : change_tokens_f32)(&m, N_POSITIONS, positions, effects);
        for (size_t k = 0; k < N_POSITIONS; k++) {
            const effect *e = &effects[k];
            if (e->earlier || e->others || !e->later)
                fail_msg("%s, stride %zu, hybrid %d, f%d, token %zu: %zu earlier, %zu other, %zu later states moved",
                         hkt_fusion_name(c->fusion), c->stride, c->hybrid, f64 ? 64 : 32, positions[k], e->earlier,
                         e->others, e->later);
        }
    }
    model_free(&m);
}

static void check_mode(hkt_fusion fusion)
{
    for (int bits = 0; bits < 4; bits++) {
        hkt_config c = base;
        c.fusion = fusion;
        c.hybrid = bits & 1;
        c.stride = bits & 2 ? 3 : 2;
        check_causal(&c);
    }
}

static void static_fusion_is_causal(void **state)
{
    (void)state;
    check_mode(HKT_FUSION_STATIC);
}

static void score_fusion_is_causal(void **state)
{
    (void)state;
    check_mode(HKT_FUSION_SCORE);
}

static void standard_attention_is_causal(void **state)
{
    (void)state;
    hkt_config c = base;
    c.levels = 1;
    c.hybrid = false;
    check_causal(&c);
}

/* Controls: dynamic fusion reads the whole sequence; so does bidirectional attention. */
static void control_not_causal(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        hkt_config c = base;
        c.fusion = k == 0 ? HKT_FUSION_DYNAMIC : HKT_FUSION_STATIC;
        c.causal = k == 0;
        model m = model_random(&c, N_SEQ, lengths, 11);
        effect e;
        change_tokens_f32(&m, 1, &(size_t){256}, &e);
        assert_true(e.earlier > 0);
        assert_int_equal(e.others, 0);
        model_free(&m);
    }
}

static void any_number_of_threads(void **state)
{
    (void)state;
    const hkt_dropout_spec dropout = {.rate = 0.1, .seed = 1, .step = 2};
    const size_t ragged[] = {600, 3, 260, 1, 64, 255, 17, 2, 90, 31};
    for (int fusion = 0; fusion < 3; fusion++)
        for (int f64 = 0; f64 < 2; f64++) {
            hkt_config c = base;
            c.fusion = (hkt_fusion)fusion;
            model m = model_random(&c, sizeof ragged / sizeof ragged[0], ragged, 12);
            (f64 ? check_threads_f64 : check_threads_f32)(&m, &dropout);
            model_free(&m);
        }
}

/* Control: the comparison above notices another dropout mask. */
static void control_threads(void **state)
{
    (void)state;
    const hkt_dropout_spec one = {.rate = 0.1, .seed = 1, .step = 2}, other = {.rate = 0.1, .seed = 1, .step = 3};
    model m = model_random(&base, N_SEQ, lengths, 12);
    size_t size;
    float *a = step_with_threads_f32(&m, 1, &one, &size), *b = step_with_threads_f32(&m, 1, &other, &size);
    assert_memory_not_equal(a, b, size * sizeof *a);
    hkt_free(a);
    hkt_free(b);
    model_free(&m);
}

static void any_workspace(void **state)
{
    (void)state;
    for (int fusion = 0; fusion < 3; fusion++) {
        hkt_config c = base;
        c.fusion = (hkt_fusion)fusion;
        model m = model_random(&c, N_SEQ, lengths, 13);
        check_workspaces_f32(&m);
        check_workspaces_f64(&m);
        model_free(&m);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    hkt_set_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_fusion_is_causal),
        cmocka_unit_test(score_fusion_is_causal),
        cmocka_unit_test(standard_attention_is_causal),
        cmocka_unit_test(control_not_causal),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(control_threads),
        cmocka_unit_test(any_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

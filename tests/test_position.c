/* test_position.c - a sequence has the same logits, gradients and hidden states, bit by bit, whatever other sequences
 * are in the batch, whether it comes first, in the middle or last, with any number of threads and any instruction set.
 */
#include "tests/model.h"

#include "num/isa.h"

enum { TRIALS = 24, MAX_SEQS = 8, VOCAB_EACH = 9 };

/* A random shape; some of no whole vector, some with many heads or levels. */
static hkt_config random_config(hkt_rng *rng)
{
    static const size_t widths[] = {4, 6, 12, 16, 20, 32, 40, 64};
    size_t d = widths[hkt_rng_below(rng, 8)], heads = hkt_rng_below(rng, 2) ? 2 : 1;
    hkt_config c = {.vocab = MAX_SEQS * VOCAB_EACH,
                    .classes = 2 + hkt_rng_below(rng, 12),
                    .max_len = 1 + hkt_rng_below(rng, 130),
                    .d_model = d,
                    .heads = d % 4 == 0 && hkt_rng_below(rng, 2) ? 4 : heads,
                    .layers = 1 + hkt_rng_below(rng, 2),
                    .levels = 1 + hkt_rng_below(rng, 4),
                    .stride = 2 + hkt_rng_below(rng, 2),
                    .conv_width = 1 + hkt_rng_below(rng, 4),
                    .ffn_mult = 1 + hkt_rng_below(rng, 4),
                    .fusion = (hkt_fusion)hkt_rng_below(rng, 3),
                    .hybrid = hkt_rng_below(rng, 4) > 0,
                    .causal = hkt_rng_below(rng, 4) > 0};
    return c;
}

#define HKT_BODY "tests/test_position.inc.h"
#include "num/both.h"

static void test_trials(void **state)
{
    (void)state;
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 77);
    for (size_t i = 0; i < TRIALS; i++) {
        const hkt_config config = random_config(&rng);
        hkt_set_threads(1 + i % 3);
        check_positions_f32(&config, &rng, i);
        check_positions_f64(&config, &rng, i);
    }
    hkt_set_threads(0);
}

/* Batches large enough to be cut into slices, and products too large for one block. */
static void test_large(void **state)
{
    (void)state;
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 78);
    hkt_config config = random_config(&rng);
    config.max_len = 24;
    config.d_model = 516;
    config.heads = 3;
    config.layers = 1;
    config.levels = 2;
    config.fusion = HKT_FUSION_DYNAMIC;
    config.ffn_mult = 2;
    check_positions_f32(&config, &rng, 1000);
}

/* The measure sees a difference: another first token changes the logits and the gradient. */
static void test_control(void **state)
{
    (void)state;
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 79);
    const hkt_config config = random_config(&rng);
    check_control_f32(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trials),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_control),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

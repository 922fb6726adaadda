/* test_ablate.c - training with a part held fixed: downsampling stays the mean, attention stays off; nothing else does.
 * And training from other first shares. */
#include "tests/scratch.h"

#include "data/listops.h"
#include "model/checkpoint.h"
#include "num/blas.h"
#include "train/evaluate.h"
#include "train/trainer.h"

static hkt_train_spec tiny_spec(const char *out, hkt_ablation ablation)
{
    return (hkt_train_spec){.config = {.d_model = 8,
                                       .heads = 2,
                                       .layers = 2,
                                       .levels = 3,
                                       .stride = 3,
                                       .conv_width = 2,
                                       .ffn_mult = 2,
                                       .fusion = HKT_FUSION_DYNAMIC,
                                       .hybrid = true,
                                       .causal = true},
                            .task = "listops",
                            .data_dir = "data",
                            .out_dir = out,
                            .seed = 1,
                            .steps = 10,
                            .batch_tokens = 200,
                            .lr = 1e-2,
                            .final_lr_fraction = 1,
                            .clip = 1,
                            .adamw = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1},
                            .ablation = ablation};
}

static void train(const char *out, hkt_ablation ablation, hkt_checkpoint *model)
{
    static char command[] = "test_ablate";
    const hkt_provenance how = {.command = command, .seed = 1, .threads = hkt_threads(), .blas_core = ""};
    char path[64];
    hkt_train_result result;
    const hkt_train_spec spec = tiny_spec(out, ablation);
    CHECK_OK(hkt_train_run(&spec, &how, &result));
    snprintf(path, sizeof path, "%s/last.safetensors", out);
    CHECK_OK(hkt_checkpoint_read(model, path));
}

/* Parameters of a role: how many, and how many have exactly the value. */
static void count(const hkt_checkpoint *m, hkt_role role, double value, size_t *all, size_t *equal)
{
    *all = *equal = 0;
    for (size_t i = 0; i < m->layout->n_params; i++) {
        const hkt_param *p = &m->layout->params[i];
        for (size_t k = 0; p->role == role && k < p->count; k++) {
            ++*all;
            *equal += m->params[p->offset + k] == value;
        }
    }
}

static void check_share(const hkt_checkpoint *m, hkt_role role, double value, bool fixed)
{
    size_t all, equal;
    count(m, role, value, &all, &equal);
    assert_true(all > 0);
    assert_int_equal(equal, fixed ? all : 0);
}

static void only_what_is_asked_for_is_fixed(void **state)
{
    (void)state;
    const double mean = (double)(1.0f / 3.0f);
    hkt_checkpoint plain, down, off;
    train("plain", (hkt_ablation){false, false}, &plain);
    train("down", (hkt_ablation){.fixed_downsampling = true}, &down);
    train("off", (hkt_ablation){.no_attention = true}, &off);
    check_share(&plain, HKT_ROLE_DOWN, mean, false);
    check_share(&down, HKT_ROLE_DOWN, mean, true);
    check_share(&off, HKT_ROLE_DOWN, mean, false);
    check_share(&plain, HKT_ROLE_BETA, HKT_NO_ATTENTION_LOGIT, false);
    check_share(&down, HKT_ROLE_BETA, 0, false); /* 0: the first value */
    check_share(&off, HKT_ROLE_BETA, HKT_NO_ATTENTION_LOGIT, true);
    hkt_checkpoint_free(&plain);
    hkt_checkpoint_free(&down);
    hkt_checkpoint_free(&off);
}

static double loss_of(const hkt_checkpoint *m, const hkt_dataset *data, bool switched_off)
{
    hkt_intervention iv;
    hkt_evaluation e;
    float *params = calloc(m->layout->total, sizeof *params);
    assert_non_null(params);
    memset(&iv, 0, sizeof iv);
    for (size_t l = 0; l < HKT_MAX_LEVELS; l++)
        iv.no_attention[l] = switched_off;
    hkt_params_to_f32(m->layout, m->params, params);
    CHECK_OK(hkt_evaluate(m->layout, params, data, 1000, &iv, &e, NULL, NULL));
    free(params);
    return e.loss;
}

/* A model trained without attention computes the same when attention is taken out of the forward pass altogether. */
static void no_attention_is_none(void **state)
{
    (void)state;
    hkt_checkpoint plain, off;
    hkt_dataset data;
    train("plain2", (hkt_ablation){false, false}, &plain);
    train("off2", (hkt_ablation){.no_attention = true}, &off);
    CHECK_OK(hkt_dataset_read(&data, "listops", "data", "val", 0));
    CHECK_NEAR(loss_of(&off, &data, true), loss_of(&off, &data, false), 0);
    assert_true(fabs(loss_of(&plain, &data, true) - loss_of(&plain, &data, false)) > 1e-6);
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&plain);
    hkt_checkpoint_free(&off);
}

/* softmax(theta) and sigmoid(b) are the shares that were asked for; all else, and all of it by default, stays. */
static void first_shares(void **state)
{
    (void)state;
    hkt_config config = tiny_spec("unused", (hkt_ablation){false, false}).config;
    config.vocab = 5;
    config.classes = 2;
    config.max_len = 4;
    hkt_layout *layout;
    CHECK_OK(hkt_layout_create(&layout, &config));
    double *plain = calloc(layout->total, sizeof *plain), *set = calloc(layout->total, sizeof *set);
    assert_true(plain && set);
    hkt_init_params(layout, 1, plain);
    hkt_init_params(layout, 1, set);
    hkt_first_shares_set(&(hkt_first_shares){0}, layout, set);
    assert_memory_equal(plain, set, layout->total * sizeof *set);
    hkt_first_shares_set(&(hkt_first_shares){.attention = 0.9, .level0 = 0.7}, layout, set);
    size_t found = 0;
    for (size_t i = 0; i < layout->n_params; i++) {
        const hkt_param *p = &layout->params[i];
        const double *v = set + p->offset;
        for (size_t k = 0; p->role == HKT_ROLE_BETA && k < p->count; k++)
            CHECK_NEAR(1 / (1 + exp(-v[k])), 0.9, 1e-15);
        if (p->role == HKT_ROLE_THETA) {
            double sum = exp(v[0]) + exp(v[1]) + exp(v[2]);
            CHECK_NEAR(exp(v[0]) / sum, 0.7, 1e-15);
            CHECK_NEAR(exp(v[1]) / sum, 0.15, 1e-15);
            CHECK_NEAR(exp(v[2]) / sum, 0.15, 1e-15);
        }
        if (p->role == HKT_ROLE_BETA || p->role == HKT_ROLE_THETA)
            found++;
        else
            assert_memory_equal(plain + p->offset, v, p->count * sizeof *v);
    }
    assert_int_equal(found, 4);
    free(plain);
    free(set);
    hkt_layout_destroy(layout);
}

static void first_shares_refused(void **state)
{
    (void)state;
    const hkt_config whole = {.levels = 3, .hybrid = true}, one = {.levels = 1, .hybrid = true}, plain = {.levels = 3};
    CHECK_OK(hkt_first_shares_check(&(hkt_first_shares){0}, &(hkt_config){.levels = 1}));
    CHECK_OK(hkt_first_shares_check(&(hkt_first_shares){0.5, 0.5}, &whole));
    CHECK_FAILS(hkt_first_shares_check(&(hkt_first_shares){.attention = 1}, &whole), HKT_EUSAGE, "below 1, found 1");
    CHECK_FAILS(hkt_first_shares_check(&(hkt_first_shares){.attention = (double)NAN}, &whole), HKT_EUSAGE, "found nan");
    CHECK_FAILS(hkt_first_shares_check(&(hkt_first_shares){.level0 = -1}, &whole), HKT_EUSAGE, "found -1");
    CHECK_FAILS(hkt_first_shares_check(&(hkt_first_shares){.level0 = (double)NAN}, &whole), HKT_EUSAGE, "found nan");
    CHECK_FAILS(hkt_first_shares_check(&(hkt_first_shares){.level0 = 0.5}, &one), HKT_EUSAGE, "2 levels, found 1");
    CHECK_FAILS(hkt_first_shares_check(&(hkt_first_shares){.attention = 0.5}, &plain), HKT_EUSAGE, "a hybrid model");
}

static void refusals(void **state)
{
    (void)state;
    static char command[] = "test_ablate";
    const hkt_provenance how = {.command = command, .seed = 1, .threads = hkt_threads(), .blas_core = ""};
    hkt_checkpoint model;
    hkt_train_result result;
    hkt_train_spec spec = tiny_spec("refused", (hkt_ablation){.fixed_downsampling = true});
    spec.config.levels = 1;
    CHECK_FAILS(hkt_train_run(&spec, &how, &result), HKT_EUSAGE, "expected at least 2 levels, found 1");
    spec = tiny_spec("refused", (hkt_ablation){.no_attention = true});
    spec.config.hybrid = false;
    CHECK_FAILS(hkt_train_run(&spec, &how, &result), HKT_EUSAGE, "expected a hybrid model");
    assert_int_not_equal(access("refused", F_OK), 0);
    train("run", (hkt_ablation){.no_attention = true}, &model);
    hkt_checkpoint_free(&model);
    spec = tiny_spec("run", (hkt_ablation){false, false});
    spec.resume = true;
    CHECK_FAILS(hkt_train_run(&spec, &how, &result), HKT_EINPUT, "setting 'attention': the run has false");
}

static int setup(void **state)
{
    (void)state;
    const hkt_listops_spec data = {.train = 60,
                                   .val = 20,
                                   .test = 20,
                                   .min_length = 5,
                                   .max_length = 25,
                                   .max_depth = 4,
                                   .max_args = 4,
                                   .seed = 3};
    CHECK_OK(hkt_listops_generate(&data, "data"));
    return 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_asked_for_is_fixed),
        cmocka_unit_test(no_attention_is_none),
        cmocka_unit_test(first_shares),
        cmocka_unit_test(first_shares_refused),
        cmocka_unit_test(refusals),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, setup, NULL));
}

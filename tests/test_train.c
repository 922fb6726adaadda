/* A training run in a directory: overfitting, interruption and resuming to the same bytes, divergence, refusals. */
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "base/tsv.h"
#include "data/listops.h"
#include "model/checkpoint.h"
#include "num/blas.h"
#include "tests/check.h"
#include "train/run.h"
#include "train/trainer.h"

static volatile sig_atomic_t always = 1;

static hkt_provenance how(void)
{
    static char command[] = "test_train";
    return (hkt_provenance){.command = command, .seed = 1, .threads = hkt_threads(), .blas_core = hkt_blas_core()};
}

/* Twelve updates of a tiny model, five batches an epoch. */
static hkt_train_spec tiny_spec(const char *out)
{
    return (hkt_train_spec){.config = {.d_model = 8,
                                       .heads = 2,
                                       .layers = 1,
                                       .levels = 2,
                                       .stride = 2,
                                       .conv_width = 2,
                                       .ffn_mult = 2,
                                       .fusion = HKT_FUSION_DYNAMIC,
                                       .hybrid = true,
                                       .causal = true},
                            .task = "listops",
                            .data_dir = "data",
                            .out_dir = out,
                            .seed = 1,
                            .steps = 12,
                            .epochs = 1,
                            .batch_tokens = 200,
                            .lr = 3e-3,
                            .final_lr_fraction = 0.1,
                            .warmup = 3,
                            .clip = 1,
                            .dropout = 0.1,
                            .adamw = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01},
                            .eval_every = 4};
}

static hkt_status run(const hkt_train_spec *spec, hkt_train_result *result)
{
    hkt_train_result mine;
    const hkt_provenance p = how();
    return hkt_train_run(spec, &p, result ? result : &mine);
}

static void shell(const char *command)
{
    assert_int_equal(system(command), 0);
}

static void same_file(const char *a_dir, const char *b_dir, const char *name)
{
    char *a_path, *b_path, *a, *b;
    size_t a_size, b_size;
    CHECK_OK(hkt_path_join(&a_path, a_dir, name));
    CHECK_OK(hkt_path_join(&b_path, b_dir, name));
    CHECK_OK(hkt_file_read(a_path, &a, &a_size));
    CHECK_OK(hkt_file_read(b_path, &b, &b_size));
    if (a_size != b_size || memcmp(a, b, a_size) != 0)
        fail_msg("%s and %s differ", a_path, b_path);
    hkt_free(a);
    hkt_free(b);
    hkt_free(a_path);
    hkt_free(b_path);
}

/* Weights, and all columns of the log but the times. */
static void same_run(const char *a_dir, const char *b_dir)
{
    char path[64];
    hkt_table a, b;
    same_file(a_dir, b_dir, "last.safetensors");
    same_file(a_dir, b_dir, "best.safetensors");
    snprintf(path, sizeof path, "%s/log.tsv", a_dir);
    CHECK_OK(hkt_table_read(&a, path));
    snprintf(path, sizeof path, "%s/log.tsv", b_dir);
    CHECK_OK(hkt_table_read(&b, path));
    assert_int_equal(a.rows, b.rows);
    for (size_t i = 0; i < a.rows; i++)
        for (size_t j = 0; j < a.cols; j++)
            if (strcmp(a.column[j], "seconds") != 0 && strcmp(a.column[j], "tokens_per_s") != 0)
                assert_string_equal(a.cell[i * a.cols + j], b.cell[i * b.cols + j]);
    hkt_table_free(&a);
    hkt_table_free(&b);
}

/* The data of all tests, and the uninterrupted run that others are compared with. */
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
    shell("rm -rf data sixteen whole stopped torn other lr diverged");
    CHECK_OK(hkt_listops_generate(&data, "data"));
    hkt_train_spec spec = tiny_spec("whole");
    CHECK_OK(run(&spec, NULL));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return system("rm -rf data sixteen whole stopped torn other lr diverged");
}

/* --- learning ----------------------------------------------------------------------------------------------------- */

static void test_overfits_sixteen_sequences(void **state)
{
    (void)state;
    shell("mkdir -p sixteen && head -n 17 data/train.tsv >sixteen/train.tsv && cp sixteen/train.tsv sixteen/val.tsv");
    hkt_train_spec spec = tiny_spec("other");
    hkt_train_result r;
    spec.data_dir = "sixteen";
    spec.config.d_model = 16;
    spec.steps = 200;
    spec.batch_tokens = 1000;
    spec.eval_every = 100;
    spec.lr = 1e-2;
    spec.warmup = 10;
    spec.dropout = 0;
    CHECK_OK(run(&spec, &r));
    CHECK_NEAR(r.best_val_accuracy, 1, 0);
    CHECK_NEAR(r.last_val_accuracy, 1, 0);
    assert_int_equal(r.steps, 200);
    shell("rm -rf other");
    spec.lr = 0; /* control: without learning it does not come out */
    CHECK_OK(run(&spec, &r));
    CHECK_AT_MOST(r.best_val_accuracy, 0.9);
    shell("rm -rf other");
}

static void test_files_of_a_run(void **state)
{
    (void)state;
    hkt_table t;
    hkt_checkpoint c;
    json_error_t e;
    CHECK_OK(hkt_table_read(&t, "whole/log.tsv"));
    static const char *const columns[] = {"step",         "epoch", "train_loss",   "val_loss",
                                          "val_accuracy", "lr",    "tokens_per_s", "seconds"};
    assert_int_equal(t.cols, 8);
    for (size_t j = 0; j < 8; j++)
        assert_string_equal(t.column[j], columns[j]);
    assert_int_equal(t.rows, 3);
    assert_string_equal(t.cell[2 * 8], "12");
    hkt_table_free(&t);
    CHECK_OK(hkt_checkpoint_read(&c, "whole/best.safetensors"));
    assert_int_equal(c.layout->config.vocab, HKT_LISTOPS_VOCAB);
    hkt_checkpoint_free(&c);
    json_t *run_json = json_load_file("whole/run.json", 0, &e), *settings = json_object_get(run_json, "settings");
    assert_int_equal(json_integer_value(json_object_get(settings, "batch_tokens")), 200);
    assert_int_equal(json_integer_value(json_object_get(settings, "seed")), 1);
    json_t *start = json_array_get(json_object_get(run_json, "starts"), 0);
    assert_non_null(json_object_get(start, "commit"));
    assert_non_null(json_object_get(start, "blas_core"));
    assert_string_equal(json_string_value(json_object_get(start, "arithmetic")), "reproducible");
    assert_non_null(json_object_get(start, "isa"));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(run_json, "result"), "steps")), 12);
    json_decref(run_json);
}

static void test_epochs_and_threads(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("other"), one = tiny_spec("lr");
    hkt_table t;
    spec.steps = one.steps = spec.eval_every = one.eval_every = 0;
    spec.epochs = one.epochs = 3;
    hkt_set_threads(2);
    CHECK_OK(run(&spec, NULL));
    hkt_set_threads(1);
    CHECK_OK(run(&one, NULL));
    same_run("other", "lr");
    CHECK_OK(hkt_table_read(&t, "other/log.tsv"));
    assert_int_equal(t.rows, 3);
    for (size_t i = 0; i < 3; i++)
        CHECK_NEAR(atof(t.cell[i * t.cols + 1]), i + 1, 0);
    hkt_table_free(&t);
    shell("rm -rf other lr");
}

/* --- resuming ----------------------------------------------------------------------------------------------------- */

static void test_stopped_after_every_step(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("stopped");
    hkt_train_result r;
    spec.stop = &always;
    CHECK_FAILS(run(&spec, &r), HKT_ESYSTEM, "interrupted after step 1 of 12, saved at step 1: the same command with");
    spec.resume = true;
    for (size_t i = 2; i < 12; i++)
        CHECK_FAILS(run(&spec, &r), HKT_ESYSTEM, "interrupted");
    CHECK_OK(run(&spec, &r));
    assert_false(r.was_complete);
    same_run("whole", "stopped");
    CHECK_OK(run(&spec, &r));
    assert_true(r.was_complete);
    same_run("whole", "stopped");
}

/* A process killed between two renames leaves files of different ages: only the state counts. */
static void test_state_alone_decides(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("torn");
    spec.stop = &always;
    CHECK_FAILS(run(&spec, NULL), HKT_ESYSTEM, "step 1");
    spec.resume = true;
    shell("cp torn/state.safetensors torn/old.safetensors");
    spec.stop = NULL;
    CHECK_OK(run(&spec, NULL));
    same_run("whole", "torn");
    shell("mv torn/old.safetensors torn/state.safetensors"); /* everything else is ahead of the state */
    spec.stop = &always;
    CHECK_FAILS(run(&spec, NULL), HKT_ESYSTEM, "step 2");
    assert_false(hkt_file_exists("torn/best.safetensors")); /* there was no validation yet */
    spec.stop = NULL;
    CHECK_OK(run(&spec, NULL));
    same_run("whole", "torn");
    shell("rm torn/log.tsv torn/best.safetensors && echo >torn/last.safetensors"); /* the state is ahead */
    CHECK_OK(run(&spec, NULL));
    same_run("whole", "torn");
    shell("rm torn/*.safetensors torn/log.tsv"); /* killed before the first state */
    CHECK_OK(run(&spec, NULL));
    same_run("whole", "torn");
    shell("rm -rf torn"); /* before anything */
    CHECK_OK(run(&spec, NULL));
    same_run("whole", "torn");
}

static void test_resume_needs_the_same_settings(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("whole");
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "whole: holds a run already: continue it with --resume");
    spec.resume = true;
    spec.lr = 1e-3;
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "whole/run.json: setting 'lr': the run has 0.003, this command 0.001");
    spec = tiny_spec("whole");
    spec.resume = true;
    spec.config.heads = 4;
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "setting 'heads': the run has 2, this command 4");
    spec.config.heads = 2;
    spec.data_dir = "sixteen";
    spec.config.max_len = 25;
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "setting 'data'");
    spec.config.max_len = 0;
    spec.data_dir = "./data"; /* another path of the same data */
    CHECK_OK(run(&spec, NULL));
}

/* A copy with one bit flipped, of the fraction of the first weight behind the header. */
static void flip(const char *from, const char *to)
{
    size_t n;
    char *bytes;
    hkt_out *out;
    CHECK_OK(hkt_file_read(from, &bytes, &n));
    bytes[8 + (unsigned char)bytes[0] + 256 * (size_t)(unsigned char)bytes[1]] ^= 1;
    CHECK_OK(hkt_out_open(&out, to));
    assert_int_equal(fwrite(bytes, 1, n, hkt_out_stream(out)), n);
    CHECK_OK(hkt_out_commit(out));
    hkt_free(bytes);
}

static void test_damaged_run(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("other");
    spec.resume = true;
    shell("cp -r whole other && truncate -s -1 other/state.safetensors");
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "other/state.safetensors");
    shell("cp whole/last.safetensors other/state.safetensors");
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT,
                "other/state.safetensors: metadata 'hkt.file': expected 'training state', found none");
    flip("whole/state.safetensors", "other/state.safetensors");
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "other/state.safetensors: tensor 'params': expected checksum ");
    shell("cp whole/state.safetensors other && echo '{}' >other/run.json");
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "other/run.json: expected the settings");
    shell("rm other/run.json");
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "other/run.json: expected the settings of the run, found no file");
    shell("rm -rf other");
}

/* Copies whole's state with one value of one tensor replaced, into the run "other". */
static void spoil_state(const char *tensor, size_t at, double value)
{
    hkt_safetensors *f;
    const hkt_tensor *t;
    CHECK_OK(hkt_safetensors_read(&f, "whole/state.safetensors"));
    assert_non_null(t = hkt_safetensors_find(f, tensor));
    hkt_tensor_out out[6];
    char *bytes[6];
    assert_int_equal(hkt_safetensors_count(f), 6);
    for (size_t i = 0; i < 6; i++) {
        const hkt_tensor *x = hkt_safetensors_at(f, i);
        bytes[i] = malloc(x->count * 8);
        assert_non_null(bytes[i]);
        CHECK_OK(hkt_tensor_to_bytes(x, bytes[i]));
        if (x == t && t->dtype == HKT_F32)
            memcpy(bytes[i] + at * sizeof(float), &(float){(float)value}, sizeof(float));
        else if (x == t)
            memcpy(bytes[i] + at * sizeof value, &value, sizeof value);
        out[i] = (hkt_tensor_out){x->name, x->dtype, x->ndim, {x->shape[0], x->shape[1]}, bytes[i]};
    }
    const char *const meta[] = {"hkt.file", "training state", "hkt.settings", hkt_safetensors_meta(f, "hkt.settings"),
                                NULL};
    CHECK_OK(hkt_safetensors_write("other/state.safetensors", out, 6, meta));
    for (size_t i = 0; i < 6; i++)
        free(bytes[i]);
    hkt_safetensors_free(f);
}

static void test_damaged_state(void **state)
{
    (void)state;
    static const struct {
        const char *tensor;
        size_t at;
        double value;
        const char *message;
    } bad[] = {
        {"params", 5, (double)NAN, "tensor 'params': expected finite values, found nan at element 5"},
        {"best", 0, (double)INFINITY, "tensor 'best': expected finite values, found inf at element 0"},
        {"m", 3, -(double)NAN, "tensor 'm': expected finite values, found"},
        {"v", 9, -1, "tensor 'v': expected finite values from 0, found -1 at element 9"},
        {"progress", 0, (double)NAN,
         "tensor 'progress': step: expected an integer from 0 to 1000000000000000, found nan"},
        {"progress", 0, 11.5, "step: expected an integer"},
        {"progress", 1, 13, "tensor 'progress': best_step: expected an integer from 0 to 12, found 13"},
        {"progress", 2, 1.5, "best_accuracy: expected a number from 0 to 1, found 1.5"},
        {"progress", 3, (double)INFINITY, "loss_sum: expected a number from 0 to inf, found inf"},
        {"progress", 8, 10, "exploded: expected an integer from 0 to 9, found 10"},
        {"log", 0, 0, "tensor 'log': row 0, step: expected an integer from 1 to 12, found 0"},
        {"log", 8, 4, "tensor 'log': row 1, step: expected an integer from 5 to 12, found 4"},
        {"log", 16 + 3, (double)NAN, "tensor 'log': row 2, val_loss: expected a number from 0 to inf, found nan"},
    };
    hkt_train_spec spec = tiny_spec("other");
    spec.resume = true;
    shell("cp -r whole other");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spoil_state(bad[i].tensor, bad[i].at, bad[i].value);
        CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "other/state.safetensors: ");
        if (!strstr(hkt_error(), bad[i].message))
            fail_msg("message '%s' does not contain '%s'", hkt_error(), bad[i].message);
    }
    spoil_state("v", 9, 0); /* control */
    CHECK_OK(run(&spec, NULL));
    shell("rm -rf other");
}

static void test_foreign_state(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("other");
    spec.seed = 2;
    CHECK_OK(run(&spec, NULL));
    spec.resume = true;
    shell("cp whole/state.safetensors other");
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT,
                "other/state.safetensors: metadata 'hkt.settings': setting 'seed': expected 2, found 1");
    shell("rm -rf other");
    spec = tiny_spec("other");
    spec.config.heads = 4; /* the same number of parameters but for beta, which is padded */
    CHECK_OK(run(&spec, NULL));
    spec.resume = true;
    shell("cp whole/state.safetensors other");
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "setting 'heads': expected 4, found 2");
    shell("rm other/state.safetensors"); /* the results of a run are not written over */
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT,
                "other/state.safetensors: expected the state next to 'other/last.safetensors', found none");
    shell("rm -rf other");
}

static void test_one_process_per_directory(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("whole");
    const hkt_provenance p = how();
    hkt_checkpoint c;
    hkt_run first;
    json_error_t e;
    bool found;
    CHECK_OK(hkt_checkpoint_read(&c, "whole/last.safetensors"));
    json_t *record = json_load_file("whole/run.json", 0, &e);
    CHECK_OK(hkt_run_open(&first, "whole", c.layout, &spec.adamw, &p, record, true, &found));
    assert_true(found);
    spec.resume = true;
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "whole: another process is writing into this directory");
    hkt_run_close(&first);
    CHECK_OK(run(&spec, NULL));
    hkt_checkpoint_free(&c);
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* first_good: whether a state must have been saved after the first weights. */
static void check_diverges(double lr, double clip, size_t eval_every, const char *text, bool first_good)
{
    hkt_train_spec spec = tiny_spec("diverged");
    hkt_checkpoint c;
    spec.lr = lr;
    spec.clip = clip;
    spec.warmup = 40;
    spec.steps = 60;
    spec.eval_every = eval_every;
    CHECK_FAILS(run(&spec, NULL), HKT_ENUMERIC, "training diverged at step");
    const char *good = strstr(hkt_error(), "last good checkpoint: diverged/last.safetensors (step ");
    if (!strstr(hkt_error(), text) || !good || first_good == (strstr(good, "(step 0)") != NULL))
        fail_msg("message '%s'", hkt_error());
    CHECK_OK(hkt_checkpoint_read(&c, "diverged/last.safetensors")); /* refuses NaN */
    hkt_checkpoint_free(&c);
    if (first_good) {
        CHECK_OK(hkt_checkpoint_read(&c, "diverged/best.safetensors"));
        hkt_checkpoint_free(&c);
    }
    shell("rm -rf diverged");
}

static void test_divergence(void **state)
{
    (void)state;
    check_diverges(20, 1, 2, "in a row", true);
    check_diverges(1e30, 0, 0, "expected a finite value", false);
}

static void test_bad_data(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("other");
    spec.config.max_len = 4;
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "train.tsv:2");
    spec = tiny_spec("other");
    spec.data_dir = "nowhere";
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "nowhere: expected a directory of task 'listops', found nothing");
    spec.data_dir = "data/train.tsv";
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "data/train.tsv: expected a directory of task 'listops', found a file");
    spec = tiny_spec("other");
    spec.config.heads = 3;
    CHECK_FAILS(run(&spec, NULL), HKT_EINPUT, "heads");
    spec = tiny_spec("other");
    spec.steps = spec.epochs = 0;
    CHECK_FAILS(run(&spec, NULL), HKT_EUSAGE, "steps or epochs");
    assert_false(hkt_file_exists("other")); /* nothing was made */
    spec = tiny_spec("data/train.tsv/run");
    CHECK_FAILS(run(&spec, NULL), HKT_ESYSTEM, "data/train.tsv");
}

/* Every allocation fails once; whatever was saved, --resume goes on to the same bytes. */
static void test_failed_allocations(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("other");
    hkt_status status = HKT_ESYSTEM;
    const size_t live = hkt_mem_live();
    spec.resume = true;
    for (size_t n = 1; status != HKT_OK; n++) {
        hkt_mem_fail_at(n);
        status = run(&spec, NULL);
        assert_true(status == HKT_OK || (status == HKT_ESYSTEM && hkt_mem_failed()));
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
    }
    same_run("whole", "other");
    shell("rm -rf other");
}

/* Memory runs out at every place of the start: the directory is as before, so that the same command works later. Once
 * the first state is there, --resume goes on. */
static void test_failed_start(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("other");
    size_t untouched = 0;
    spec.keep = 2;
    while (!hkt_file_exists("other")) {
        hkt_mem_fail_at(++untouched);
        assert_int_equal(run(&spec, NULL), HKT_ESYSTEM);
        hkt_mem_fail_at(0);
    }
    assert_true(hkt_file_exists("other/state.safetensors") && --untouched > 50); /* control: it was tried */
    shell("rm -rf other");
    shell("mkdir -p other && echo mine >other/notes");
    hkt_mem_fail_at(untouched); /* the last of the start */
    assert_int_equal(run(&spec, NULL), HKT_ESYSTEM);
    hkt_mem_fail_at(0);
    shell("test \"$(ls other)\" = notes && rm -rf other");
}

static void test_stopped_while_counting(void **state)
{
    (void)state;
    hkt_train_spec spec = tiny_spec("other");
    spec.steps = 0;
    spec.epochs = 1000000000;
    spec.stop = &always;
    CHECK_FAILS(run(&spec, NULL), HKT_ESYSTEM, "interrupted before the first update: nothing was written");
    assert_false(hkt_file_exists("other"));
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overfits_sixteen_sequences),
        cmocka_unit_test(test_files_of_a_run),
        cmocka_unit_test(test_epochs_and_threads),
        cmocka_unit_test(test_stopped_after_every_step),
        cmocka_unit_test(test_state_alone_decides),
        cmocka_unit_test(test_resume_needs_the_same_settings),
        cmocka_unit_test(test_damaged_run),
        cmocka_unit_test(test_damaged_state),
        cmocka_unit_test(test_foreign_state),
        cmocka_unit_test(test_one_process_per_directory),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_bad_data),
        cmocka_unit_test(test_failed_allocations),
        cmocka_unit_test(test_failed_start),
        cmocka_unit_test(test_stopped_while_counting),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* test_cifar10.c - sequential CIFAR-10: grey values, every form of the published files, hostile ones; the byte data
 * set's own file and what is refused in it; a few steps of training. */
#include "tests/tarball.h"

#include <errno.h>

#include "base/safetensors.h"
#include "data/cifar10.h"
#include "data/dataset.h"
#include "num/blas.h"
#include "train/trainer.h"

enum { ROWS = 20, PIXELS = HKT_CIFAR10_PIXELS, RECORD = 1 + 3 * PIXELS, BATCH = ROWS * RECORD };
static const char *const file_name[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                        "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};

/* Record `row` of file `file`: the first two pixels tell which it is, the others vary by plane. */
static void record_of(unsigned char *record, size_t file, size_t row)
{
    record[0] = (unsigned char)((row + file) % 10);
    for (size_t plane = 0; plane < 3; plane++)
        for (size_t i = 0; i < PIXELS; i++)
            record[1 + plane * PIXELS + i] = (unsigned char)(i * (plane + 1) + 37 * row * plane + 11 * file);
    for (size_t plane = 0; plane < 3; plane++) {
        record[1 + plane * PIXELS] = (unsigned char)file;
        record[2 + plane * PIXELS] = (unsigned char)row;
        record[3 + plane * PIXELS] = 0; /* black is a value */
    }
}

static void make(tarball *t)
{
    static unsigned char batch[BATCH];
    t->n = 0;
    for (size_t file = 0; file < 6; file++) {
        for (size_t row = 0; row < ROWS; row++)
            record_of(batch + row * RECORD, file, row);
        tarball_add(t, file_name[file], batch, sizeof batch);
    }
    tarball_add(t, "batches.meta.txt", "airplane\n", 9);
    tarball_add(t, "readme.html", "", 0);
}

static hkt_status import(const char *from, const char *dir)
{
    hkt_import im;
    size_t live = hkt_mem_live();
    hkt_status status = hkt_cifar10_import(&im, from, dir, ROWS);
    hkt_import_free(&im);
    assert_int_equal(hkt_mem_live(), live);
    return status;
}

/* --- grey --------------------------------------------------------------------------------------------------------- */

/* Against BT.601 in double: |weight - rounded weight| 2^16 <= 1/2 for each of three weights, so the scaled sum is off
 * by at most 3 x 255 / 2 / 2^16 < 0.006 before both round to the nearest. */
static void grey_values(void **state)
{
    (void)state;
    static unsigned char rgb[3 * PIXELS], grey[PIXELS];
    static const unsigned char known[][4] = {{255, 0, 0, 76},      {0, 255, 0, 150}, {0, 0, 255, 29},
                                             {255, 255, 255, 255}, {0, 0, 0, 0},     {255, 255, 0, 226},
                                             {12, 200, 99, 132}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t plane = 0; plane < 3; plane++)
            rgb[plane * PIXELS + i] = known[i][plane];
    hkt_cifar10_grey(rgb, grey);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(grey[i], known[i][3]);
    for (unsigned start = 0; start < 256; start += 3) {
        for (size_t i = 0; i < sizeof rgb; i++)
            rgb[i] = (unsigned char)(i * 29 + i / 251 + start);
        hkt_cifar10_grey(rgb, grey);
        for (size_t i = 0; i < PIXELS; i++)
            CHECK_NEAR(grey[i], 0.299 * rgb[i] + 0.587 * rgb[PIXELS + i] + 0.114 * rgb[2 * PIXELS + i], 0.5 + 0.006);
        memset(rgb, (int)start, sizeof rgb);
        hkt_cifar10_grey(rgb, grey);
        for (size_t i = 0; i < PIXELS; i++)
            assert_int_equal(grey[i], start); /* grey pictures stay as they are */
    }
}

/* --- import ------------------------------------------------------------------------------------------------------- */

static void check_rows(const hkt_dataset *d, bool test, size_t seen[6][ROWS])
{
    unsigned char record[RECORD], grey[PIXELS];
    for (size_t i = 0; i < d->n; i++) {
        const int32_t *tokens = d->tokens + d->offset[i];
        size_t file = (size_t)tokens[0], row = (size_t)tokens[1];
        assert_int_equal(d->offset[i + 1] - d->offset[i], PIXELS);
        assert_true(test ? file == 5 : file < 5);
        record_of(record, file, row);
        hkt_cifar10_grey(record + 1, grey);
        assert_int_equal(d->labels[i], record[0]);
        for (size_t k = 0; k < PIXELS; k++)
            assert_int_equal(tokens[k], grey[k]);
        seen[file][row]++;
    }
}

static void splits_hold_what_was_published(void **state)
{
    (void)state;
    tarball t;
    hkt_dataset d;
    size_t seen[6][ROWS] = {{0}};
    make(&t);
    tarball_unpack(&t, "cifar-10-batches-bin");
    tarball_pack(&t, "a.tar.gz", 'z', true, "cifar-10-batches-bin/");
    CHECK_OK(import("cifar-10-batches-bin", "folder"));
    CHECK_OK(import("a.tar.gz", "archive"));
    tarball_check_same_splits("folder", "archive");
    CHECK_OK(hkt_dataset_read(&d, "cifar10", "folder", "val", PIXELS));
    assert_int_equal(d.n, 10); /* one of ten in each class */
    for (int32_t c = 0; c < 10; c++) {
        size_t count = 0;
        for (size_t i = 0; i < d.n; i++)
            count += d.labels[i] == c;
        assert_int_equal(count, 1);
    }
    check_rows(&d, false, seen);
    hkt_dataset_free(&d);
    CHECK_OK(hkt_dataset_read(&d, "cifar10", "folder", "train", 0));
    assert_int_equal(d.n, 90);
    assert_int_equal(d.vocab, 256);
    assert_int_equal(d.max_len, PIXELS);
    assert_string_equal(d.class_names[9], "truck");
    check_rows(&d, false, seen);
    hkt_dataset_free(&d);
    CHECK_OK(hkt_dataset_read(&d, "cifar10", "archive", "test", 0));
    check_rows(&d, true, seen);
    hkt_dataset_free(&d);
    for (size_t file = 0; file < 6; file++)
        for (size_t row = 0; row < ROWS; row++)
            assert_int_equal(seen[file][row], 1);
    CHECK_FAILS(hkt_dataset_read(&d, "cifar10", "folder", "val", 1023), HKT_EINPUT, "expected at most 1023 tokens");
    tarball_free(&t);
}

static void refuse(const tarball *t, const char *message)
{
    tarball_pack(t, "bad.tar", 0, false, "cifar-10-batches-bin/");
    CHECK_FAILS(import("bad.tar", "bad"), HKT_EINPUT, message);
    tarball_check_nothing("bad");
}

static void hostile_files(void **state)
{
    (void)state;
    tarball t;
    make(&t);
    tarball_file *third = tarball_find(&t, "data_batch_3.bin");
    third->bytes[7 * RECORD] = 10;
    refuse(&t, "bad.tar: data_batch_3.bin: record 7: expected a label 0..9, found 10");
    third->bytes[7 * RECORD] = 9;
    third->n = BATCH - 1;
    refuse(&t, "bad.tar: data_batch_3.bin: record 19: expected 3073 bytes, found 3072: the file is cut");
    third->n = BATCH - RECORD;
    refuse(&t, "bad.tar: data_batch_3.bin: expected 20 records of 3073 bytes, found 19");
    third->n = 0;
    refuse(&t, "bad.tar: data_batch_3.bin: expected 20 records of 3073 bytes, found 0");
    tarball_remove(&t, third);
    refuse(&t, "bad.tar: expected the file 'data_batch_3.bin', found none");
    tarball_free(&t);
    make(&t);
    static unsigned char longer[BATCH + 1];
    tarball_remove(&t, tarball_find(&t, "test_batch.bin"));
    tarball_add(&t, "test_batch.bin", longer, sizeof longer);
    refuse(&t, "bad.tar: test_batch.bin: expected 20 records of 3073 bytes, found more");
    tarball_free(&t);
    make(&t);
    tarball_add(&t, "copy/test_batch.bin", longer, BATCH);
    refuse(&t, "bad.tar: expected one 'test_batch.bin', found two");
    tarball_pack(&t, "whole.tar.xz", 'J', false, "");
    size_t size = tarball_size("whole.tar.xz");
    for (size_t n = 0; n < size; n += size / 11) {
        tarball_cut("whole.tar.xz", "cut.tar.xz", n);
        CHECK_FAILS(import("cut.tar.xz", "bad"), HKT_EINPUT, "cut.tar.xz: ");
        tarball_check_nothing("bad");
    }
    tarball_free(&t);
}

/* --- the file of a byte data set ---------------------------------------------------------------------------------- */

/* Two rows of IMDB, changed by each case before they are written. */
typedef struct {
    const char *task, *split, *file;
    hkt_tensor_out tensor[3];
    size_t n_tensors;
    unsigned char bytes[8], labels[2];
    int32_t lengths[2];
} packed;

static packed good(void)
{
    return (packed){.task = "imdb",
                    .split = "val",
                    .file = "data set",
                    .n_tensors = 3,
                    .bytes = {1, 2, 3, 255, 0},
                    .labels = {0, 1},
                    .lengths = {3, 2}};
}

static void write_packed(const packed *p, size_t n_bytes, size_t n_lengths, size_t n_labels, hkt_dtype label_type)
{
    const hkt_tensor_out tensors[] = {{"bytes", HKT_U8, 1, {n_bytes}, p->bytes},
                                      {"lengths", HKT_I32, 1, {n_lengths}, p->lengths},
                                      {"labels", label_type, 1, {n_labels}, p->labels}};
    const char *const meta[] = {"hkt.file", p->file, "hkt.task", p->task, "hkt.split", p->split, NULL};
    CHECK_OK(hkt_mkdir("p"));
    CHECK_OK(hkt_safetensors_write("p/val.safetensors", tensors, p->n_tensors, meta));
}

static void refuse_packed(const packed *p, size_t n_bytes, size_t n_lengths, size_t n_labels, const char *message)
{
    hkt_dataset d;
    write_packed(p, n_bytes, n_lengths, n_labels, HKT_U8);
    CHECK_FAILS(hkt_dataset_read(&d, "imdb", "p", "val", 0), HKT_EINPUT, message);
    assert_true(!d.tokens && !d.offset && !d.labels && d.n == 0);
}

static void hostile_byte_data_sets(void **state)
{
    (void)state;
    hkt_dataset d;
    packed p = good();
    write_packed(&p, 5, 2, 2, HKT_U8);
    CHECK_OK(hkt_dataset_read(&d, NULL, "p", "val", 0)); /* by what it says */
    assert_string_equal(d.task, "imdb");
    hkt_dataset_free(&d);
    p.task = "sorting";
    write_packed(&p, 5, 2, 2, HKT_U8);
    CHECK_FAILS(hkt_dataset_read(&d, NULL, "p", "val", 0), HKT_EINPUT,
                "p/val.safetensors: metadata 'hkt.task': expected listops|cifar10|imdb|text, found 'sorting'");
    p = good();
    write_packed(&p, 5, 2, 2, HKT_U8);
    CHECK_OK(hkt_dataset_read(&d, "imdb", "p", "val", 0));
    assert_true(d.n == 2 && d.offset[1] == 3 && d.tokens[3] == 256 && d.tokens[4] == 1 && d.labels[1] == 1);
    hkt_dataset_free(&d);
    refuse_packed(&p, 6, 2, 2, "p/val.safetensors: expected 6 bytes, the sum of the lengths, found fewer");
    refuse_packed(&p, 4, 2, 2, "p/val.safetensors: expected 4 bytes, the sum of the lengths, found more");
    refuse_packed(&p, 5, 2, 1, "expected as many lengths as labels and at least 1, found 2 and 1");
    refuse_packed(&p, 0, 0, 0, "expected as many lengths as labels and at least 1, found 0 and 0");
    p.n_tensors = 2;
    refuse_packed(&p, 5, 2, 2, "p/val.safetensors: expected the tensor 'labels', found none");
    p = good();
    p.lengths[1] = 0;
    refuse_packed(&p, 3, 2, 2, "tensor 'lengths': expected 1..2147483647 at [1], found 0");
    p.lengths[1] = -3;
    refuse_packed(&p, 3, 2, 2, "found -3");
    p = good();
    p.labels[1] = 2;
    refuse_packed(&p, 5, 2, 2, "tensor 'labels': expected 0..1 at [1], found 2");
    p = good();
    p.split = "test";
    refuse_packed(&p, 5, 2, 2, "metadata 'hkt.split': expected 'val', found 'test'");
    p = good();
    p.file = "something\nelse";
    refuse_packed(&p, 5, 2, 2, "metadata 'hkt.file': expected 'data set', found 'something\\x0aelse'");
    p = good();
    p.task = "cifar10";
    p.lengths[0] = 5;
    write_packed(&p, 5, 1, 1, HKT_U8);
    CHECK_FAILS(hkt_dataset_read(&d, "cifar10", "p", "val", 0), HKT_EINPUT,
                "tensor 'lengths': expected 1024..1024 at [0], found 5");
    p = good();
    write_packed(&p, 5, 2, 0, HKT_F32);
    CHECK_FAILS(hkt_dataset_read(&d, "imdb", "p", "val", 0), HKT_EINPUT,
                "tensor 'labels': expected U8 with 1 dimension, found F32 with 1");
    CHECK_FAILS(hkt_dataset_read(&d, "imdb", "p", "train", 0), HKT_EINPUT,
                "p: expected the file 'train.safetensors' as written by 'hkt-data imdb', found none");
}

/* --- training ----------------------------------------------------------------------------------------------------- */

static void a_few_steps_of_training(void **state)
{
    (void)state;
    tarball t;
    make(&t);
    tarball_unpack(&t, "small");
    CHECK_OK(import("small", "data"));
    static char command[] = "test_cifar10";
    const hkt_provenance how = {.command = command, .threads = hkt_threads(), .blas_core = hkt_blas_core()};
    const hkt_train_spec spec = {.config = {.d_model = 4,
                                            .heads = 2,
                                            .layers = 1,
                                            .levels = 3,
                                            .stride = 2,
                                            .conv_width = 2,
                                            .ffn_mult = 2,
                                            .hybrid = true,
                                            .causal = true,
                                            .fusion = HKT_FUSION_DYNAMIC},
                                 .task = "cifar10",
                                 .data_dir = "data",
                                 .out_dir = "run",
                                 .steps = 2,
                                 .batch_tokens = 4096,
                                 .lr = 1e-3,
                                 .final_lr_fraction = 1,
                                 .clip = 1,
                                 .adamw = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}};
    hkt_train_result result;
    CHECK_OK(hkt_train_run(&spec, &how, &result));
    assert_int_equal(result.steps, 2);
    CHECK_NEAR(result.last_val_loss, log(10), 0.5); /* hardly trained: near guessing among ten */
    tarball_free(&t);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grey_values),
        cmocka_unit_test(splits_hold_what_was_published),
        cmocka_unit_test(hostile_files),
        cmocka_unit_test(hostile_byte_data_sets),
        cmocka_unit_test(a_few_steps_of_training),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

/* test_imdb.c - IMDB reviews: every form of the published data gives the same splits, which hold what was published;
 * hostile archives and folders; disk full; no memory. */
#include "tests/tarball.h"

#include <errno.h>

#include "data/dataset.h"
#include "data/imdb.h"

enum { PER_FOLDER = 20, MAX_LENGTH = 50 };
static const hkt_imdb_spec spec = {.per_folder = PER_FOLDER, .max_length = MAX_LENGTH};
static const char *const part_name[] = {"train", "test"}, *const class_name[] = {"neg", "pos"};

/* Begins with part, class and number, so that every row of a split can be told. */
static size_t review_text(char *text, size_t part, size_t label, size_t id)
{
    size_t n = (size_t)sprintf(text, "%s %s %02zu <br />", part_name[part], class_name[label], id);
    for (size_t want = n + 7 * id; n < want; n++)
        text[n] = (char)('a' + n % 26);
    if (id == 3)
        memcpy(text + n - 2, "\xff\x80", 2); /* not UTF-8 */
    if (id == 4)
        memcpy(text + n - 2, "\xc3\xa9", 2); /* e with acute accent */
    if (id == 5)
        text[n - 1] = 0;
    return n;
}

static void review_name(char *name, size_t part, size_t label, size_t id)
{
    sprintf(name, "%s/%s/%zu_%zu.txt", part_name[part], class_name[label], id, (label ? 7 : 1) + id % 4);
}

static void make(tarball *t)
{
    char text[512], name[64];
    t->n = 0;
    for (size_t part = 0; part < 2; part++)
        for (size_t label = 0; label < 2; label++)
            for (size_t id = 0; id < PER_FOLDER; id++) {
                review_name(name, part, label, id);
                tarball_add(t, name, text, review_text(text, part, label, id));
            }
    /* What else is in the published archive, and what some systems add. */
    tarball_add(t, "README", "x", 1);
    tarball_add(t, "train/urls_pos.txt", "x", 1);
    tarball_add(t, "train/unsup/0_0.txt", "x", 1);
    tarball_add(t, "train/pos/._0_7.txt", "x", 1);
}

static hkt_status import(const char *from, const char *dir)
{
    hkt_import im;
    size_t live = hkt_mem_live();
    hkt_status status = hkt_imdb_import(&im, from, dir, &spec);
    hkt_import_free(&im);
    assert_int_equal(hkt_mem_live(), live);
    return status;
}

static void every_form_gives_the_same_bytes(void **state)
{
    (void)state;
    tarball t;
    make(&t);
    tarball_unpack(&t, "folder/aclImdb");
    tarball_pack(&t, "a.tar", 0, false, "aclImdb/");
    tarball_pack(&t, "a.tar.gz", 'z', true, "./aclImdb/");
    tarball_pack(&t, "a.tar.xz", 'J', true, "");
    CHECK_OK(import("a.tar", "tar"));
    CHECK_OK(import("a.tar.gz", "gz"));
    CHECK_OK(import("a.tar.xz", "xz"));
    CHECK_OK(import("folder/aclImdb", "inner"));
    CHECK_OK(import("folder//", "outer"));
    tarball_check_same_splits("tar", "gz");
    tarball_check_same_splits("tar", "xz");
    tarball_check_same_splits("tar", "inner");
    tarball_check_same_splits("tar", "outer");
    assert_int_equal(scratch_count("tar"), 3);
    assert_int_equal(symlink("folder/aclImdb", "link"), 0);
    CHECK_OK(import("link", "through-link"));
    tarball_check_same_splits("tar", "through-link");
    tarball_free(&t);
}

/* Every row of a split is one of the reviews, byte for byte; counts it in seen[part][label][id]. */
static void check_rows(const hkt_dataset *d, size_t part, size_t seen[2][2][PER_FOLDER])
{
    for (size_t i = 0; i < d->n; i++) {
        const int32_t *tokens = d->tokens + d->offset[i];
        size_t n = d->offset[i + 1] - d->offset[i], id = 0;
        char begin[16] = {0}, text[512], word[8];
        for (size_t k = 0; k < 12 && k < n; k++)
            begin[k] = (char)(tokens[k] - 1);
        assert_int_equal(sscanf(begin, "%*s %7s %zu", word, &id), 2);
        size_t label = strcmp(word, "pos") == 0, full = review_text(text, part, label, id);
        assert_int_equal(d->labels[i], label);
        assert_int_equal(n, full < MAX_LENGTH ? full : MAX_LENGTH);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(tokens[k], 1 + (int)(unsigned char)text[k]);
        seen[part][label][id]++;
    }
}

static void splits_hold_what_was_published(void **state)
{
    (void)state;
    tarball t;
    hkt_dataset train, val, test;
    size_t seen[2][2][PER_FOLDER] = {{{0}}}, sorted = 0;
    make(&t);
    tarball_pack(&t, "b.tar", 0, false, "aclImdb/");
    CHECK_OK(import("b.tar", "b"));
    CHECK_OK(hkt_dataset_read(&train, "imdb", "b", "train", MAX_LENGTH));
    CHECK_OK(hkt_dataset_read(&val, "imdb", "b", "val", 0));
    CHECK_OK(hkt_dataset_read(&test, "imdb", "b", "test", 1000));
    assert_int_equal(train.vocab, 257);
    assert_int_equal(train.classes, 2);
    assert_string_equal(train.class_names[1], "pos");
    assert_int_equal(val.max_len, MAX_LENGTH);
    assert_int_equal(test.max_len, 1000);
    assert_int_equal(val.n, 2 * PER_FOLDER / HKT_HOLD_OUT);
    assert_int_equal(train.n + val.n, 2 * PER_FOLDER);
    CHECK_NEAR(hkt_dataset_majority(&val), 0.5, 0); /* a tenth of each class */
    check_rows(&train, 0, seen);
    check_rows(&val, 0, seen);
    check_rows(&test, 1, seen);
    for (size_t part = 0; part < 2; part++)
        for (size_t label = 0; label < 2; label++)
            for (size_t id = 0; id < PER_FOLDER; id++)
                assert_int_equal(seen[part][label][id], 1);
    for (size_t i = 1; i < test.n; i++)
        sorted += test.labels[i] >= test.labels[i - 1];
    assert_true(sorted < test.n - 1); /* not by class: the first rows are a sample of all */
    hkt_dataset_free(&train);
    hkt_dataset_free(&val);
    hkt_dataset_free(&test);
    tarball_free(&t);
    CHECK_FAILS(hkt_dataset_read(&test, "imdb", "b", "test", MAX_LENGTH - 1), HKT_EINPUT,
                "b/test.safetensors: expected at most 49 tokens (hkt-train --max-len) in row");
    CHECK_FAILS(hkt_dataset_read(&test, "cifar10", "b", "test", 0), HKT_EINPUT,
                "b/test.safetensors: metadata 'hkt.task': expected 'cifar10', found 'imdb'");
    tarball_free(&t);
}

static void what_was_read_is_counted(void **state)
{
    (void)state;
    tarball t;
    hkt_import im;
    make(&t);
    tarball_pack(&t, "c.tar", 0, false, "");
    CHECK_OK(hkt_imdb_import(&im, "c.tar", "c", &spec));
    for (size_t part = 0; part < 2; part++) {
        size_t cut = 0, not_utf8 = 0;
        for (size_t i = 0; i < im.part[part].n; i++) {
            const hkt_import_row *row = &im.part[part].row[i];
            size_t length = strlen(part_name[part]) + 14 + 7 * (i % PER_FOLDER);
            assert_int_equal(row->full_length, length);
            cut += row->length < length;
            not_utf8 += row->not_utf8;
            assert_int_equal(row->not_utf8, i % PER_FOLDER == 3);
        }
        assert_int_equal(not_utf8, 2);
        assert_int_equal(cut, 2 * (PER_FOLDER - 5)); /* 5 + 14 + 7 id > 50 from id 5 on, 4 + 14 + 7 id too */
    }
    hkt_import_free(&im);
    tarball_free(&t);
}

static void refuse(const tarball *t, const char *message)
{
    tarball_pack(t, "bad.tar", 0, false, "aclImdb/");
    CHECK_FAILS(import("bad.tar", "bad"), HKT_EINPUT, message);
    tarball_check_nothing("bad");
}

static void hostile_files(void **state)
{
    (void)state;
    tarball t;
    static unsigned char big[(1 << 20) + 1];
    make(&t);
    for (size_t id = 0; id < PER_FOLDER; id++) {
        char name[64];
        review_name(name, 1, 1, id);
        tarball_remove(&t, tarball_find(&t, name));
    }
    refuse(&t, "bad.tar: expected 20 reviews in the folder 'test/pos', found 0");
    tarball_free(&t);

    make(&t);
    tarball_remove(&t, tarball_find(&t, "train/neg/7_4.txt"));
    refuse(&t, "bad.tar: expected 20 reviews in the folder 'train/neg', found 19");
    tarball_add(&t, "train/neg/7_4.txt", "", 0);
    refuse(&t, "bad.tar: train/neg/7_4.txt: expected a review, found an empty file");
    tarball_remove(&t, tarball_find(&t, "train/neg/7_4.txt"));
    tarball_add(&t, "train/neg/7_4.txt", big, sizeof big);
    refuse(&t, "bad.tar: train/neg/7_4.txt: expected a review of at most 1048576 bytes, found more");
    tarball_free(&t);

    static const struct {
        const char *name, *message;
    } extra[] = {
        {"train/neg/20_1.txt", "train/neg/20_1.txt: expected a review number 0..19, found 20"},
        {"train/neg/7_1.txt", "train/neg/7_1.txt: expected one review of number 7, found two"},
        {"test/pos/1_4.txt", "test/pos/1_4.txt: expected a rating 7..10 in a folder 'pos', found 4"},
        {"test/neg/1_7.txt", "test/neg/1_7.txt: expected a rating 1..4 in a folder 'neg', found 7"},
        {"test/neg/notes", "test/neg/notes: expected a name like 127_8.txt, found 'notes'"},
        {"test/neg/1_2.txt~", "expected a name like 127_8.txt"},
        {"test/neg/1_2", "expected a name like 127_8.txt"},
        {"test/neg/_2.txt", "expected a name like 127_8.txt"},
        {"test/neg/-1_2.txt", "expected a name like 127_8.txt"},
        {"test/neg/18446744073709551616_2.txt", "expected a name like 127_8.txt"},
        {"test/neg/1_2\n.txt", "expected a name like 127_8.txt, found '1_2\\x0a.txt'"},
    };
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
        make(&t);
        tarball_add(&t, extra[i].name, "x", 1);
        refuse(&t, extra[i].message);
        assert_null(strchr(hkt_error(), '\n'));
        tarball_free(&t);
    }
}

static void hostile_archives(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int filter;
    } form[] = {{"t.tar", 0}, {"t.tar.gz", 'z'}, {"t.tar.xz", 'J'}};
    tarball t;
    make(&t);
    for (size_t i = 0; i < 3; i++) {
        tarball_pack(&t, form[i].path, form[i].filter, false, "");
        CHECK_OK(import(form[i].path, "whole"));
        /* The last files of the fixture are passed over: a cut behind the reviews does no harm and may pass. */
        size_t size = tarball_size(form[i].path), needed = form[i].filter ? size * 3 / 4 : size - 8192;
        for (size_t n = 0; n < needed; n += needed / 29) {
            tarball_cut(form[i].path, "cut", n);
            CHECK_FAILS(import("cut", "out"), HKT_EINPUT, "cut: ");
            tarball_check_nothing("out");
        }
    }
    scratch_write_text("plain.txt", "no archive at all, whatever its name says");
    CHECK_FAILS(import("plain.txt", "out"), HKT_EINPUT,
                "plain.txt: expected a .tar, .tar.gz or .tar.xz archive, found none");
    CHECK_FAILS(import("absent", "out"), HKT_EINPUT, "cannot open 'absent'");
    CHECK_OK(hkt_mkdir("empty"));
    CHECK_FAILS(import("empty", "out"), HKT_EINPUT, "expected 20 reviews in the folder 'train/neg', found 0");
    CHECK_OK(hkt_mkdir("circle"));
    assert_int_equal(symlink("..", "circle/up"), 0);
    CHECK_FAILS(import("circle", "out"), HKT_EINPUT, "");
    tarball_check_nothing("out");
    tarball_free(&t);
}

/* /dev/full stands for a full disk, whichever split meets it. */
static void disk_full(void **state)
{
    (void)state;
    static const char *const split[] = {"train", "val", "test"};
    tarball t;
    make(&t);
    tarball_pack(&t, "d.tar", 0, false, "");
    for (size_t i = 0; i < 3; i++) {
        char dir[16], path[64];
        sprintf(dir, "full%zu", i);
        sprintf(path, "%s/%s.safetensors", dir, split[i]);
        CHECK_OK(hkt_mkdir(dir));
        assert_int_equal(symlink("/dev/full", path), 0);
        CHECK_FAILS(import("d.tar", dir), HKT_ESYSTEM, "No space left on device");
        assert_true(access(path, F_OK) == 0 || errno == ENOENT); /* the link itself may go with the others */
        unlink(path);
        assert_int_equal(scratch_count(dir), 0);
    }
    scratch_write_text("file", "");
    CHECK_FAILS(import("d.tar", "file"), HKT_ESYSTEM, "file");
    tarball_free(&t);
}

/* The n-th allocation fails, n rising until none does: an error each time, nothing left behind. */
static void out_of_memory(void **state)
{
    (void)state;
    tarball t;
    size_t n = 1;
    make(&t);
    tarball_unpack(&t, "m");
    for (bool failed = true; failed; n++) {
        hkt_import im;
        hkt_dataset d = {0};
        size_t live = hkt_mem_live();
        hkt_mem_fail_at(n);
        hkt_status status = hkt_imdb_import(&im, "m", "memory", &spec);
        hkt_import_free(&im);
        if (status == HKT_OK)
            status = hkt_dataset_read(&d, "imdb", "memory", "val", 0);
        hkt_dataset_free(&d);
        failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        assert_int_equal(hkt_mem_live(), live);
    }
    assert_true(n > 20);
    tarball_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_gives_the_same_bytes),
        cmocka_unit_test(splits_hold_what_was_published),
        cmocka_unit_test(what_was_read_is_counted),
        cmocka_unit_test(hostile_files),
        cmocka_unit_test(hostile_archives),
        cmocka_unit_test(disk_full),
        cmocka_unit_test(out_of_memory),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

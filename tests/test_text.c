/* test_text.c - own texts: labels and classes, one file or three, what is drawn for which split, cutting, hostile
 * files. */
#include "tests/scratch.h"

#include "base/file.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/text.h"

static hkt_status read_text(hkt_dataset *d, const char *path, const char *split, size_t max_len)
{
    return hkt_dataset_read(d, "text", path, split, max_len);
}

/* The text of row i; free() it. */
static char *text_of(const hkt_dataset *d, size_t i)
{
    size_t n = d->offset[i + 1] - d->offset[i];
    char *text = calloc(n + 1, 1);
    assert_non_null(text);
    for (size_t k = 0; k < n; k++)
        text[k] = (char)(d->tokens[d->offset[i] + k] - 1);
    return text;
}

static void check_row(const hkt_dataset *d, size_t i, const char *class_name, const char *text)
{
    char *found = text_of(d, i);
    assert_string_equal(found, text);
    assert_string_equal(d->class_names[d->labels[i]], class_name);
    free(found);
}

/* --- a directory -------------------------------------------------------------------------------------------------- */

static void directory_of_splits(void **state)
{
    (void)state;
    hkt_dataset d;
    CHECK_OK(hkt_mkdir("d"));
    scratch_write_text("d/train.tsv", "\xef\xbb\xbflabel\ttext\r\nspam\tbuy\tnow\r\nham\tcaf\xc3\xa9\r\nspam\t\xff");
    scratch_write_text("d/val.tsv", "ham\tlabel\n");
    CHECK_OK(read_text(&d, "d", "train", 0));
    assert_int_equal(d.n, 3);
    assert_int_equal(d.vocab, 257);
    assert_int_equal(d.classes, 2);
    assert_int_equal(d.max_len, 7);
    assert_string_equal(d.class_names[0], "ham");
    assert_string_equal(d.class_names[1], "spam");
    check_row(&d, 0, "spam", "buy\tnow");
    check_row(&d, 1, "ham", "caf\xc3\xa9");
    check_row(&d, 2, "spam", "\xff");
    assert_int_equal(d.tokens[d.offset[3] - 1], 256);
    hkt_dataset_free(&d);
    CHECK_OK(read_text(&d, "d", "val", 3));
    assert_int_equal(d.classes, 2); /* those of the training split */
    assert_int_equal(d.cut, 1);
    assert_int_equal(d.max_len, 3);
    check_row(&d, 0, "ham", "lab");
    hkt_dataset_free(&d);
    CHECK_FAILS(read_text(&d, "d", "test", 0), HKT_EINPUT, "d/test.tsv");
    scratch_write_text("d/test.tsv", "ham\tx\neggs\ty\n");
    CHECK_FAILS(read_text(&d, "d", "test", 0), HKT_EINPUT,
                "d/test.tsv:2: expected a label of the training split, found 'eggs'");
}

static void numbers_keep_their_order(void **state)
{
    (void)state;
    hkt_dataset d;
    CHECK_OK(hkt_mkdir("n"));
    scratch_write_text("n/train.tsv", "10\ta\n2\tb\n1\tc\n2\td\n");
    CHECK_OK(read_text(&d, "n", "train", 0));
    assert_int_equal(d.classes, 3);
    assert_string_equal(d.class_names[0], "1");
    assert_string_equal(d.class_names[1], "2");
    assert_string_equal(d.class_names[2], "10");
    assert_true(d.labels[0] == 2 && d.labels[1] == 1 && d.labels[2] == 0 && d.labels[3] == 1);
    hkt_dataset_free(&d);
    scratch_write_text("n/train.tsv", "8\ta\n007\tb\n7\tc\n0\td\n00010\te\n"); /* by value, whatever the zeros */
    CHECK_OK(read_text(&d, "n", "train", 0));
    static const char *const ordered[] = {"0", "007", "7", "8", "00010"};
    assert_int_equal(d.classes, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(d.class_names[i], ordered[i]);
    hkt_dataset_free(&d);
    scratch_write_text("n/train.tsv", "10\ta\n2\tb\nx\tc\n"); /* words: in the order of bytes */
    CHECK_OK(read_text(&d, "n", "train", 0));
    assert_string_equal(d.class_names[0], "10");
    assert_string_equal(d.class_names[1], "2");
    hkt_dataset_free(&d);
}

/* --- one file ----------------------------------------------------------------------------------------------------- */

enum { ROWS = 4000 };

/* n rows "i % 3<TAB>row i"; row 1000 + i repeats the text of row i for i < 100. */
static void write_rows(const char *path, size_t n)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%zu\trow %zu\n", i % 3, i >= 1000 && i < 1100 ? i - 1000 : i);
    assert_int_equal(fclose(f), 0);
}

/* split_of[i]: where row i went, 0 not seen. */
static void locate(const char *path, int split_of[ROWS])
{
    static const char *const split[] = {"train", "val", "test"};
    memset(split_of, 0, ROWS * sizeof *split_of);
    for (int s = 0; s < 3; s++) {
        hkt_dataset d;
        CHECK_OK(read_text(&d, path, split[s], 0));
        assert_int_equal(d.classes, 3);
        for (size_t i = 0; i < d.n; i++) {
            char *text = text_of(&d, i);
            size_t row;
            assert_int_equal(sscanf(text, "row %zu", &row), 1);
            free(text);
            assert_true(split_of[row] == 0 || split_of[row] == s + 1); /* equal texts: one split */
            split_of[row] = s + 1;
        }
        hkt_dataset_free(&d);
    }
}

static void one_file_is_split(void **state)
{
    (void)state;
    static int all[ROWS], part[ROWS];
    size_t count[4] = {0};
    write_rows("all.tsv", ROWS);
    write_rows("part.tsv", ROWS / 4);
    locate("all.tsv", all);
    locate("part.tsv", part);
    for (size_t i = 0; i < ROWS; i++) {
        count[all[i]]++;
        assert_true((all[i] == 0) == (i >= 1000 && i < 1100)); /* their text is that of another row */
        if (part[i] != 0)
            assert_int_equal(part[i], all[i]); /* more rows do not move the others */
    }
    /* Binomial, p = 0.1, n = 3900: mean 390, standard deviation 18.7; five of them. */
    CHECK_NEAR(count[2], 390, 94);
    CHECK_NEAR(count[3], 390, 94);
    hkt_dataset d;
    scratch_write_text("few.tsv", "a\tx\nb\ty\n");
    CHECK_OK(read_text(&d, "few.tsv", "train", 0));
    assert_int_equal(d.n, 2);
    hkt_dataset_free(&d);
    CHECK_FAILS(
        read_text(&d, "few.tsv", "val", 0), HKT_EINPUT,
        "few.tsv: expected a tenth of the rows in split 'val', found none of 2: give more rows, or a directory");
}

/* --- hostile files ------------------------------------------------------------------------------------------------ */

static void hostile_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "bad.tsv: expected rows of label<TAB>text, found none"},
        {"label\ttext\n", "bad.tsv: expected rows of label<TAB>text, found none"},
        {"a\tx\nno tab\n", "bad.tsv:2: expected label<TAB>text, found 'no tab'"},
        {"a\tx\n\nb\ty\n", "bad.tsv:2: expected label<TAB>text, found ''"},
        {"a\tx\nb\t\n", "bad.tsv:2: expected a text after the tab, found none"},
        {"a\tx\n\ty\n", "bad.tsv:2: expected a label before the tab, found none"},
        {"a\tx\na\ty\n", "bad.tsv: expected at least 2 different labels, found only 'a'"},
        {"a\tx\nlabel\n", "bad.tsv:2: expected label<TAB>text, found 'label'"},
    };
    hkt_dataset d;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scratch_write_text("bad.tsv", bad[i].text);
        CHECK_FAILS(read_text(&d, "bad.tsv", "train", 0), HKT_EINPUT, bad[i].message);
        assert_true(!d.tokens && !d.labels && !d.offset && !d.owned_names && d.n == 0);
    }
    FILE *f = fopen("many.tsv", "w");
    assert_non_null(f);
    for (size_t i = 0; i <= HKT_TEXT_MAX_CLASSES; i++)
        fprintf(f, "text %zu in the first column\t1\n", i);
    fclose(f);
    CHECK_FAILS(read_text(&d, "many.tsv", "train", 0), HKT_EINPUT,
                "many.tsv:1001: expected at most 1000 different labels, found 'text 1000 in the first c...' too");
    CHECK_FAILS(read_text(&d, "absent.tsv", "train", 0), HKT_EINPUT, "absent.tsv");
}

/* The n-th allocation fails, n rising until none does: an error each time, nothing left behind. */
static void out_of_memory(void **state)
{
    (void)state;
    size_t live = hkt_mem_live(), n = 1;
    CHECK_OK(hkt_mkdir("m"));
    scratch_write_text("m/train.tsv", "a\tx\nb\ty\n");
    scratch_write_text("m/val.tsv", "a\tx\n");
    for (bool failed = true; failed; n++) {
        hkt_dataset d;
        hkt_mem_fail_at(n);
        hkt_status status = read_text(&d, "m", "val", 0);
        hkt_dataset_free(&d);
        failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        assert_int_equal(hkt_mem_live(), live);
    }
    assert_true(n > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directory_of_splits), cmocka_unit_test(numbers_keep_their_order),
        cmocka_unit_test(one_file_is_split),   cmocka_unit_test(hostile_files),
        cmocka_unit_test(out_of_memory),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

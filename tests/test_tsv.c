/* test_tsv.c - tables, and what stands above them: provenance; progress. */
#include "tests/check.h"

#include <poll.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/provenance.h"
#include "base/tsv.h"
#include "tests/scratch.h"

/* --- provenance and tables ---------------------------------------------------------------------------------------- */

static char *args[] = {(char[]){"hkt-x"}, (char[]){"--out"}, (char[]){"a b's"}, (char[]){"tab\there\xc3"}, NULL};

static void test_provenance(void **state)
{
    (void)state;
    hkt_provenance p = hkt_provenance_make(4, args);
    assert_string_equal(p.command, "hkt-x --out 'a b'\\''s' $'tab\\011here\\303'");
    p.seed = UINT64_MAX;
    p.threads = 2;
    json_t *j = hkt_provenance_json(&p);
    assert_non_null(j);
    assert_string_equal(json_string_value(json_object_get(j, "command")), p.command);
    assert_string_equal(json_string_value(json_object_get(j, "seed")), "18446744073709551615");
    assert_string_equal(json_string_value(json_object_get(j, "version")), hkt_version);
    assert_string_equal(json_string_value(json_object_get(j, "commit")), hkt_commit);
    assert_string_equal(json_string_value(json_object_get(j, "arithmetic")), "reproducible");
    assert_non_null(json_string_value(json_object_get(json_object_get(j, "machine"), "processor")));
    assert_non_null(json_string_value(json_object_get(json_object_get(j, "libraries"), "jansson")));
    json_decref(j);
    p.seed = ((uint64_t)1 << 53) + 1; /* no double */
    j = hkt_provenance_json(&p);
    assert_string_equal(json_string_value(json_object_get(j, "seed")), "9007199254740993");
    json_decref(j);
    p.seed = (uint64_t)1 << 53;
    j = hkt_provenance_json(&p);
    assert_true(json_integer_value(json_object_get(j, "seed")) == (json_int_t)1 << 53);
    json_decref(j);
    p.seed = 7;
    j = hkt_provenance_json(&p);
    assert_int_equal(json_integer_value(json_object_get(j, "seed")), 7);
    json_decref(j);
}

enum { ROWS = 3 };
static const char *const table_text =
    "name\tn\tx\ti\n?a\t0\t0.33333333333333331\t0\nb?c?d'\t1\tNA\tNA\nNA\t2\t-inf\t2\n";

static hkt_status write_table(const char *path)
{
    hkt_tsv *t;
    hkt_provenance p = hkt_provenance_make(2, args);
    hkt_status status = hkt_tsv_open(&t, path, &p, "name\tn\tx\ti");
    HKT_TRY(status);
    const double x[ROWS] = {1.0 / 3, (double)-NAN, -(double)INFINITY};
    const char *const name[ROWS] = {"#a", "b\tc\nd\"", ""};
    for (size_t i = 0; i < ROWS; i++) {
        hkt_tsv_str(t, name[i]);
        hkt_tsv_size(t, i);
        hkt_tsv_real(t, x[i]);
        hkt_tsv_index(t, i == 1 ? HKT_TSV_NO_INDEX : i);
        hkt_tsv_end(t);
    }
    return hkt_tsv_commit(t);
}

static void test_tsv(void **state)
{
    (void)state;
    hkt_table t;
    size_t i, n, before = hkt_mem_live();
    CHECK_OK(write_table("t.tsv"));
    char *text = scratch_read("t.tsv", &n);
    assert_string_equal(text, table_text);
    CHECK_OK(hkt_table_read(&t, "t.tsv"));
    assert_true(t.rows == ROWS && t.cols == 4);
    CHECK_OK(hkt_table_column(&t, "x", &i));
    assert_int_equal(i, 2);
    CHECK_FAILS(hkt_table_column(&t, "y", &i), HKT_EINPUT, "'y'");
    assert_string_equal(t.cell[2], "0.33333333333333331");
    assert_string_equal(t.cell[11], "2");
    hkt_table_free(&t);
    scratch_write("cut.tsv", text, n);
    CHECK_OK(hkt_table_read(&t, "cut.tsv")); /* nothing beside it */
    hkt_table_free(&t);
    for (size_t cut = 0; cut < n; cut++) { /* between rows nobody could tell but F.json */
        scratch_write("t.tsv", text, cut);
        CHECK_FAILS(hkt_table_read(&t, "t.tsv"), HKT_EINPUT, "t.tsv: expected checksum ");
        scratch_write("cut.tsv", text, cut);
        if (cut > 0 && text[cut - 1] == '\n')
            continue;
        CHECK_FAILS(hkt_table_read(&t, "cut.tsv"), HKT_EINPUT, "cut.tsv");
    }
    free(text);
    assert_int_equal(hkt_mem_live(), before);
}

/* What is beside the table. */
static void test_tsv_info(void **state)
{
    (void)state;
    static const char *const column[][2] = {{"name", "text"}, {"n", "integer"}, {"x", "number"}, {"i", "integer"}};
    json_t *j;
    CHECK_OK(write_table("t.tsv"));
    CHECK_OK(hkt_json_read(&j, "t.tsv.json"));
    assert_string_equal(json_string_value(json_object_get(j, "format")), "hkt-tsv/1");
    assert_string_equal(json_string_value(json_object_get(json_object_get(j, "provenance"), "command")), "hkt-x --out");
    assert_int_equal(json_integer_value(json_object_get(j, "rows")), ROWS);
    json_t *columns = json_object_get(j, "columns");
    assert_int_equal(json_array_size(columns), 4);
    for (size_t i = 0; i < 4; i++) {
        json_t *c = json_array_get(columns, i);
        assert_string_equal(json_string_value(json_object_get(c, "name")), column[i][0]);
        assert_string_equal(json_string_value(json_object_get(c, "type")), column[i][1]);
    }
    json_decref(j);
    int saved = scratch_redirect(1, "out");
    CHECK_OK(write_table("-"));
    scratch_restore(1, saved);
    size_t n;
    char *text = scratch_read("out", &n);
    assert_string_equal(text, table_text); /* the table alone */
    free(text);
    assert_false(hkt_file_exists("-.json"));
    static const char *const bad[][2] = {{"{\"xxh3\": \"0123456789abcdef\"}", "t.tsv.json: key 'format'"},
                                         {"{\"format\": \"hkt-tsv/2\"}", "expected 'hkt-tsv/1', found 'hkt-tsv/2'"},
                                         {"{\"format\": \"hkt-tsv/1\"}", "t.tsv.json: key 'xxh3'"},
                                         {"{\"format\": \"hkt-tsv/1\", \"xxh3\": \"?\"}", "t.tsv: expected checksum ?"},
                                         {"{", "t.tsv.json: line 1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hkt_table t;
        scratch_write_text("t.tsv.json", bad[i][0]);
        CHECK_FAILS(hkt_table_read(&t, "t.tsv"), HKT_EINPUT, bad[i][1]);
    }
}

/* As JSON, with a column before the others and only the rows asked for. */
static void test_tsv_forms(void **state)
{
    (void)state;
    hkt_tsv *t;
    json_t *j, *row;
    hkt_table table;
    hkt_provenance p = hkt_provenance_make(2, args);
    hkt_tsv_form form = {
        .json = "form.as", .first = "model", .keep_column = {"name", "n", "x"}, .keep_text = {"12", NULL, NULL}};
    static const char *const outputs[][2] = {{NULL, "form.as"}, {"form", "form.as"}, {"form", NULL}};
    for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++) {
        unlink("form");
        unlink("form.as");
        form.json = outputs[k][1];
        CHECK_OK(hkt_tsv_open_as(&t, outputs[k][0], &p, "name\tn\tx", &form));
        hkt_tsv_first(t, 7);
        for (size_t i = 0; i < 3; i++) {
            hkt_tsv_str(t, i == 1 ? "oth\xffr" : "12");
            hkt_tsv_size(t, i == 2 ? SIZE_MAX : i);
            hkt_tsv_real(t, i == 0 ? (double)NAN : 0.5);
            hkt_tsv_end(t);
        }
        assert_int_equal(hkt_tsv_rows(t), 2);
        CHECK_OK(hkt_tsv_commit(t));
        assert_true(hkt_file_exists("form") == (outputs[k][0] != NULL));
        assert_true(hkt_file_exists("form.as") == (outputs[k][1] != NULL));
        if (!outputs[k][1])
            continue;
        CHECK_OK(hkt_json_read(&j, "form.as"));
        assert_string_equal(json_string_value(json_object_get(json_object_get(j, "provenance"), "command")), p.command);
        assert_int_equal(json_array_size(json_object_get(j, "rows")), 2);
        row = json_array_get(json_object_get(j, "rows"), 0);
        assert_int_equal(json_integer_value(json_object_get(row, "model")), 7);
        assert_string_equal(json_string_value(json_object_get(row, "name")), "12"); /* text, though it looks like one */
        assert_true(json_is_integer(json_object_get(row, "n")) && json_is_null(json_object_get(row, "x")));
        row = json_array_get(json_object_get(j, "rows"), 1);
        assert_string_equal(json_string_value(json_object_get(row, "n")), "18446744073709551615");
        assert_true(json_real_value(json_object_get(row, "x")) == 0.5);
        json_decref(j);
    }
    CHECK_OK(hkt_table_read(&table, "form"));
    assert_true(table.cols == 4 && table.rows == 2);
    assert_string_equal(table.column[0], "model");
    assert_string_equal(table.cell[0], "7");
    hkt_table_free(&table);
    form.keep_column[2] = "name"; /* the last place counts, too */
    form.keep_text[0] = NULL;
    form.keep_text[2] = "none";
    CHECK_OK(hkt_tsv_open_as(&t, "form", &p, "name\tn", &form));
    hkt_tsv_str(t, "12");
    hkt_tsv_size(t, 1);
    hkt_tsv_end(t);
    CHECK_OK(hkt_tsv_commit(t));
    CHECK_OK(hkt_table_read(&table, "form")); /* without rows: its head all the same */
    assert_true(table.cols == 3 && table.rows == 0);
    hkt_table_free(&table);
}

/* Every flipped bit is noticed. */
static void test_tsv_flipped(void **state)
{
    (void)state;
    hkt_table t;
    size_t n;
    CHECK_OK(write_table("t.tsv"));
    char *text = scratch_read("t.tsv", &n);
    for (size_t i = 0; i < 8 * n; i++) {
        text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
        scratch_write("t.tsv", text, n);
        assert_int_equal(hkt_table_read(&t, "t.tsv"), HKT_EINPUT);
        text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
    }
    scratch_write("t.tsv", text, n); /* control */
    CHECK_OK(hkt_table_read(&t, "t.tsv"));
    hkt_table_free(&t);
    free(text);
}

static void test_tsv_corrupt(void **state)
{
    (void)state;
    hkt_table t;
    static const char *const cases[][2] = {
        {"a\tb\n1\t2\n3\n", "t:3: expected 2 cells, found 1"},
        {"# x\na\tb\n1\t2\t3\n# ok\n", "t:3: expected 2 cells, found 3"},
        {"# x\na\n1\n", "incomplete table: expected '# ok' as the last line, found '1'"},
        {"a\n1", "incomplete table: expected a line end at the end of the file, found '1'"},
        {"a\tb\ta\n1\t2\t3\n", "t:1: expected different column names, found 'a' twice"},
        {"# ok\n", "column names"},
        {"", "column names"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scratch_write_text("t", cases[i][0]);
        CHECK_FAILS(hkt_table_read(&t, "t"), HKT_EINPUT, cases[i][1]);
        assert_non_null(strstr(hkt_error(), "found"));
        assert_true(t.cell == NULL && t.text == NULL);
    }
    scratch_write("t", "a\n\0\n", 4);
    CHECK_FAILS(hkt_table_read(&t, "t"), HKT_EINPUT, "zero byte");
    scratch_write_text("t", "# of an earlier version\na\n1\n\n# ok\n"); /* control: a row may be one empty cell */
    CHECK_OK(hkt_table_read(&t, "t"));
    assert_true(t.rows == 2 && t.cols == 1);
    hkt_table_free(&t);
}

static hkt_status read_and_free(void)
{
    hkt_table t;
    HKT_TRY(hkt_table_read(&t, "t.tsv"));
    hkt_table_free(&t);
    return HKT_OK;
}

static hkt_status write_again(void)
{
    return write_table("t.tsv");
}

static void test_tsv_injection(void **state)
{
    (void)state;
    hkt_status (*const calls[])(void) = {read_and_free, write_again};
    CHECK_OK(write_again());
    size_t live = hkt_mem_live(), files = scratch_count(".");
    for (size_t i = 0; i < 2; i++) {
        bool failed = true;
        for (size_t n = 1; failed; n++) {
            hkt_mem_fail_at(n);
            hkt_status status = calls[i]();
            failed = hkt_mem_failed();
            hkt_mem_fail_at(0);
            assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
            assert_int_equal(hkt_mem_live(), live);
            /* A table without its info, when the last but one rename fails, is one that can be read. */
            assert_int_equal(scratch_count("."), hkt_file_exists("t.tsv.json") ? files : files - 1);
            CHECK_OK(read_and_free());
            CHECK_OK(write_again());
        }
    }
}

static void test_progress_off_terminal(void **state)
{
    (void)state;
    size_t n;
    int saved = scratch_redirect(2, "stderr.txt");
    hkt_progress(true, "step %d", 1);
    hkt_note("done %d", 2);
    hkt_progress_clear();
    scratch_restore(2, saved);
    char *text = scratch_read("stderr.txt", &n);
    assert_string_equal(text, "done 2\n");
    free(text);
    saved = scratch_redirect(2, "stderr.txt");
    hkt_progress_every(0, 1e9);
    hkt_progress(false, "step %d", 3); /* due at once */
    hkt_progress(true, "step %d", 4);  /* not for a long time */
    hkt_progress_every(0, 0);
    hkt_progress(false, "step %d", 5);
    hkt_progress(false, "step %d", 6);
    hkt_progress_every(10, 30);
    scratch_restore(2, saved);
    text = scratch_read("stderr.txt", &n);
    assert_string_equal(text, "step 3\nstep 5\nstep 6\n");
    free(text);
    saved = scratch_redirect(2, "stderr.txt");
    hkt_progress_every(1e9, 0);
    hkt_progress(true, "step %d", 7); /* not yet */
    hkt_progress_every(0, 0);
    hkt_progress_within("check %d of 2", 1);
    hkt_progress_part(hkt_now() - 10, 1, 4, "part %d", 1);
    hkt_progress_part(hkt_now(), 0, 4, "part %d", 0); /* nobody knows yet */
    hkt_progress_within("%s", "");
    hkt_progress_part(hkt_now() - 3600, 1, 3, "part %d", 1);
    hkt_progress_every(10, 30);
    scratch_restore(2, saved);
    text = scratch_read("stderr.txt", &n);
    assert_string_equal(text, "check 1 of 2: part 1, 30 s left\ncheck 1 of 2: part 0\npart 1, 2 h 0 min left\n");
    free(text);
    const struct {
        double seconds;
        const char *text;
    } times[] = {{0, "0 s"},       {99.4, "99 s"},       {99.6, "2 min"},
                 {5969, "99 min"}, {5971, "1 h 40 min"}, {86399, "24 h 0 min"}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char time[32];
        hkt_time_text(time, sizeof time, times[i].seconds);
        assert_string_equal(time, times[i].text);
    }
    double t = hkt_now();
    assert_true(hkt_now() >= t);
}

/* On a terminal the line is rewritten in place, and erased before anything else is printed. */
static void test_progress_on_terminal(void **state)
{
    (void)state;
    char text[256] = "";
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        skip();
    int saved = scratch_redirect(2, ptsname(terminal));
    bool live = hkt_progress_live();
    hkt_progress(true, "step %d", 1);
    hkt_progress(false, "too soon");
    hkt_progress(true, "step %d", 2);
    hkt_note("note");
    hkt_progress(true, "step %d", 3);
    hkt_fail(HKT_EINPUT, "bad");
    hkt_report_failure("hkt-x", HKT_EINPUT);
    scratch_restore(2, saved);
    struct pollfd ready = {.fd = terminal, .events = POLLIN};
    for (size_t n = 0; !strstr(text, "bad\r\n") && poll(&ready, 1, 2000) == 1; n = strlen(text))
        assert_true(read(terminal, text + n, sizeof text - 1 - n) > 0);
    close(terminal);
    assert_true(live);
    assert_string_equal(text, "\rstep 1\033[K\rstep 2\033[K\r\033[Knote\r\n\rstep 3\033[K\r\033[Khkt-x: bad\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_provenance),
        cmocka_unit_test(test_tsv),
        cmocka_unit_test(test_tsv_info),
        cmocka_unit_test(test_tsv_forms),
        cmocka_unit_test(test_tsv_flipped),
        cmocka_unit_test(test_tsv_corrupt),
        cmocka_unit_test(test_tsv_injection),
        cmocka_unit_test(test_progress_off_terminal),
        cmocka_unit_test(test_progress_on_terminal),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

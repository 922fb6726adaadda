/* test_dataset.c - data sets in memory: ListOps tables in every form that is read, the errors of hostile files,
 * overlap, allocation failures. */
#include "tests/check.h"

#include "tests/listops_naive.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void write_file(const char *path, const char *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void check_same_dataset(const hkt_dataset *a, const hkt_dataset *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->max_len, b->max_len);
    assert_memory_equal(a->offset, b->offset, (a->n + 1) * sizeof *a->offset);
    assert_memory_equal(a->labels, b->labels, a->n * sizeof *a->labels);
    assert_memory_equal(a->tokens, b->tokens, a->offset[a->n] * sizeof *a->tokens);
}

/* Our file rewritten as LRA's csv module does: left-nested parentheses, CRLF. */
static char *to_lra(const char *dir, const char *name)
{
    char *ours = file_text(dir, name), *lra = malloc(16 * strlen(ours)), *end = lra, *save = NULL;
    assert_non_null(lra);
    for (char *line = strtok_r(ours, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (line == ours) {
            end += sprintf(end, "%s\r\n", line);
            continue;
        }
        const char *at = line;
        naive_value(&at, &end);
        end[-1] = '\t'; /* for the space after the last token */
        end += sprintf(end, "%s\r\n", at + 1);
    }
    hkt_free(ours);
    return lra;
}

static void both_forms_read_alike(void **state)
{
    (void)state;
    hkt_dataset ours, lra;
    CHECK_OK(hkt_listops_generate(&small, "ours"));
    char *text = to_lra("ours", "train.tsv");
    assert_non_null(strstr(text, "( ( ( [")); /* it is the other form */
    CHECK_OK(hkt_mkdir("lra"));
    write_file("lra/basic_train.tsv", text, strlen(text));
    free(text);
    CHECK_OK(hkt_dataset_read(&ours, "listops", "ours", "train", 0));
    CHECK_OK(hkt_dataset_read(&lra, "listops", "lra", "train", 0));
    assert_int_equal(ours.n, small.train);
    assert_int_equal(ours.vocab, 15);
    assert_int_equal(ours.classes, 10);
    check_same_dataset(&ours, &lra);
    hkt_dataset_free(&ours);
    hkt_dataset_free(&lra);
    assert_null(ours.tokens);
    CHECK_FAILS(hkt_dataset_read(&lra, "listops", "lra", "val", 0), HKT_EINPUT,
                "lra: expected the file 'val.tsv' or 'basic_val.tsv'");
    CHECK_FAILS(hkt_dataset_read(&lra, "listops", "lra", "dev", 0), HKT_EUSAGE, "found 'dev'");
    CHECK_FAILS(hkt_dataset_read(&lra, "sorting", "lra", "train", 0), HKT_EUSAGE, "found 'sorting'");
}

static void line_ends_and_marks(void **state)
{
    (void)state;
    static const char *const form[] = {
        "Source\tTarget\n[MAX 2 9 [MIN 4 7 ] 0 ]\t9\n[SM 5 6 ]\t1\n",
        "Source\tTarget\r\n[MAX 2 9 [MIN 4 7 ] 0 ]\t9\r\n[SM 5 6 ]\t1\r\n",
        "Source\tTarget\n[MAX 2 9 [MIN 4 7 ] 0 ]\t9\n[SM 5 6 ]\t1",
        "Source\tTarget\r\n[MAX 2 9 [MIN 4 7 ] 0 ]\t9\r\n[SM 5 6 ]\t1\r",
        "\xef\xbb\xbfSource\tTarget\r\n[MAX 2 9 [MIN 4 7 ] 0 ]\t9\n[SM 5 6 ]\t1\n",
        "Source\tTarget\n  [MAX  2 9 [MIN 4 7 ] 0 ] \t9\n[SM 5 6 ]\t1\n",
        "Source\tTarget\n( ( ( ( ( [MAX 2 ) 9 ) ( ( ( [MIN 4 ) 7 ) ] ) ) 0 ) ] )\t9\n( ( ( [SM 5 ) 6 ) ] )\t1\n",
    };
    static const int32_t tokens[] = {11, 2, 9, 10, 4, 7, 14, 0, 14, 13, 5, 6, 14};
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        hkt_dataset d;
        write_file("form.tsv", form[i], strlen(form[i]));
        CHECK_OK(hkt_listops_read(&d, "form.tsv", i % 2 ? 9 : 0)); /* 9 tokens are just allowed */
        assert_int_equal(d.n, 2);
        assert_int_equal(d.max_len, 9);
        assert_int_equal(d.offset[1], 9);
        assert_int_equal(d.offset[2], 13);
        assert_memory_equal(d.tokens, tokens, sizeof tokens);
        assert_true(d.labels[0] == 9 && d.labels[1] == 1);
        hkt_dataset_free(&d);
    }
}

#define HEADER "Source\tTarget\n"
static void hostile_files(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t size; /* 0: strlen */
        size_t max_len;
        const char *message;
    } bad[] = {
        {"", 0, 0, "bad.tsv:1: expected the header 'Source<TAB>Target', found an empty file"},
        {"\xef\xbb\xbf", 0, 0, "bad.tsv:1: expected the header 'Source<TAB>Target', found an empty file"},
        {"[MAX 1 2 ]\t2\n", 0, 0, "bad.tsv:1: expected the header 'Source<TAB>Target', found '[MAX 1 2 ]\\x092'"},
        {HEADER, 0, 0, "bad.tsv:2: expected a row after the header, found the end of the file"},
        {HEADER "1\t1\n[MAX 1 2 ] 2\n", 0, 0,
         "bad.tsv:3: expected a tab between source and target, found '[MAX 1 2 ] 2'"},
        {HEADER "1\t1\n\n", 0, 0, "bad.tsv:3: expected a tab between source and target, found ''"},
        {HEADER "[SM 5 5 ]\t10\n", 0, 0, "bad.tsv:2: expected a label 0..9, found '10'"},
        {HEADER "[SM 5 5 ]\tx\n", 0, 0, "bad.tsv:2: expected a label 0..9, found 'x'"},
        {HEADER "[SM 5 5 ]\t\n", 0, 0, "bad.tsv:2: expected a label 0..9, found ''"},
        {HEADER "[SM 5 5 ]\t-1\n", 0, 0, "bad.tsv:2: expected a label 0..9, found '-1'"},
        {HEADER "[SM 5 5 ]\t0\t0\n", 0, 0, "bad.tsv:2: expected a label 0..9, found '0\\x090'"},
        {HEADER "[SM 5 5 ]\t0\n[SM 5 5 ]\t1\n", 0, 0,
         "bad.tsv:3: expected the label 0, the value of the expression, found 1"},
        {HEADER "[SM 5 5 ]\t0\n", 0, 3, "bad.tsv:2: expected at most 3 tokens (hkt-train --max-len), found 4"},
        {HEADER "[SM 5 5\t0\n", 0, 0, "bad.tsv:2: token 4: expected 1 more ']', found the end of the expression"},
        {HEADER "5 ]\t5\n", 0, 0, "bad.tsv:2: token 2: expected the end of the expression, found ']'"},
        {HEADER "\t5\n", 0, 0, "bad.tsv:2: token 1: expected an operator or a value, found the end of the expression"},
        {HEADER "( ( [SM 5 ) 5 ) ] )\t0\n", 0, 0, "bad.tsv:2: after token 4: expected '(' before ')', found ')' alone"},
        {HEADER "( ( ( [SM 5 ) 5 ) ]\t0\n", 0, 0,
         "bad.tsv:2: after token 4: expected 1 more ')', found the end of the expression"},
        {HEADER "[FIRST 5 4 ]\t5\n", 0, 0,
         "bad.tsv:2: token 1: expected a digit, '[MIN', '[MAX', '[MED', '[SM' or ']', found '[FIRST'"},
        {HEADER "[SM 5 12 ]\t7\n", 0, 0, "bad.tsv:2: token 3: expected a digit"},
        {HEADER "[SM 5 5]\t0\n", 0, 0, "found '5]'"},
        {HEADER "[SM 5 \xff\x01 ]\t0\n", 0, 0, "found '\\xff\\x01'"},
        {HEADER "[SM 5 \0 ]\t0\n", sizeof HEADER - 1 + 13, 0, "bad.tsv:2: token 3: expected a digit, '[MIN'"},
        {HEADER "[SM 5 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ]\t0\n", 0, 0, "found 'aaaaaaaaaaaaaaaaaaaaaaaa...'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hkt_dataset d;
        write_file("bad.tsv", bad[i].data, bad[i].size ? bad[i].size : strlen(bad[i].data));
        CHECK_FAILS(hkt_listops_read(&d, "bad.tsv", bad[i].max_len), HKT_EINPUT, bad[i].message);
        assert_true(d.n == 0 && !d.tokens && !d.labels && !d.offset);
    }
    hkt_dataset d;
    CHECK_FAILS(hkt_listops_read(&d, "absent.tsv", 0), HKT_EINPUT, "absent.tsv");
    CHECK_FAILS(hkt_listops_read(&d, ".", 0), HKT_EINPUT, ".");
}

static void a_row_of_100000_brackets(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char *text = malloc(7 * DEPTH + 64), *end = text;
    hkt_dataset d;
    assert_non_null(text);
    end += sprintf(end, HEADER);
    for (size_t i = 0; i < DEPTH; i++)
        end += sprintf(end, "[MAX ");
    end += sprintf(end, "3");
    for (size_t i = 0; i < DEPTH; i++)
        end += sprintf(end, " ]");
    end += sprintf(end, "\t3\n");
    write_file("deep.tsv", text, (size_t)(end - text));
    CHECK_OK(hkt_listops_read(&d, "deep.tsv", 0));
    assert_int_equal(d.max_len, 2 * DEPTH + 1);
    hkt_dataset_free(&d);
    write_file("deep.tsv", text, (size_t)(end - text) / 2);
    CHECK_FAILS(hkt_listops_read(&d, "deep.tsv", 0), HKT_EINPUT, "deep.tsv:2: expected a tab");
    free(text);
}

/* Any file cut short is either refused or, cut at a row's end, read up to there. */
static void truncated_at_every_byte(void **state)
{
    (void)state;
    static const char text[] = HEADER "( ( ( [MAX 2 ) 9 ) ] )\t9\r\n[SM 5 6 ]\t1\r\n";
    for (size_t size = 0; size < sizeof text - 1; size++) {
        hkt_dataset d;
        write_file("cut.tsv", text, size);
        if (hkt_listops_read(&d, "cut.tsv", 0) == HKT_OK)
            assert_true(text[size - 1] == '9' || text[size - 1] == '1' || text[size - 1] == '\r' ||
                        text[size - 1] == '\n');
        hkt_dataset_free(&d);
    }
}

/* --- data sets ---------------------------------------------------------------------------------------------------- */

static void overlap_and_majority(void **state)
{
    (void)state;
    int32_t tokens_a[] = {1, 2, 3, 1, 2, 3, 1, 2, 2, 1}, tokens_b[] = {1, 2, 7, 1, 2, 2, 1};
    size_t offset_a[] = {0, 3, 6, 8, 10}, offset_b[] = {0, 2, 3, 5, 7};
    int32_t labels[] = {4, 4, 1, 4};
    const hkt_dataset sets[2] = {{.n = 4, .classes = 5, .offset = offset_a, .tokens = tokens_a, .labels = labels},
                                 {.n = 4, .classes = 5, .offset = offset_b, .tokens = tokens_b, .labels = labels}};
    size_t overlap[4];
    CHECK_OK(hkt_dataset_overlap(sets, 2, overlap));
    assert_int_equal(overlap[0], 1); /* 1 2 3 twice */
    assert_int_equal(overlap[3], 1); /* 1 2 twice */
    assert_int_equal(overlap[1], 3); /* rows of b in a: 1 2 twice, 2 1 */
    assert_int_equal(overlap[2], 2); /* rows of a in b: 1 2, 2 1 */
    CHECK_NEAR(hkt_dataset_majority(&sets[0]), 0.75, 0);
}

static hkt_status everything(void)
{
    hkt_dataset d = {0};
    size_t overlap;
    hkt_status status = hkt_listops_generate(&small, "injected");
    if (status == HKT_OK)
        status = hkt_dataset_read(&d, "listops", "injected", "val", 0);
    if (status == HKT_OK)
        status = hkt_dataset_overlap(&d, 1, &overlap);
    hkt_dataset_free(&d);
    return status;
}

/* The n-th allocation fails, n rising until none does: an error each time, nothing left behind. */
static void out_of_memory(void **state)
{
    (void)state;
    size_t live = hkt_mem_live(), n = 1;
    for (bool failed = true; failed; n = n < 30 ? n + 1 : n + 37) { /* evaluation allocates once per row */
        hkt_mem_fail_at(n);
        hkt_status status = everything();
        failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        assert_int_equal(hkt_mem_live(), live);
    }
    assert_true(n > 30);
}

/* Without a task the files decide. */
static void what_the_files_say(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *task; /* NULL: refused as listops */
    } cases[] = {{"val.tsv", "Source\tTarget\n[MAX 2 3 ]\t3\n", "listops"},
                 {"val.tsv", "\xef\xbb\xbfSource\tTarget\r\n[MAX 2 3 ]\t3\r\n", "listops"},
                 {"basic_val.tsv", "Source\tTarget\n[MAX 2 3 ]\t3\n", "listops"},
                 {"val.tsv", "a\tSource\nb\tTarget\n", "text"},
                 {"other.tsv", "a\tSource\nb\tTarget\n", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hkt_dataset d;
        char path[64];
        CHECK_OK(hkt_mkdir("said"));
        snprintf(path, sizeof path, "said/%s", cases[i].file);
        write_file(path, cases[i].text, strlen(cases[i].text));
        write_file("said/train.tsv", "a\tone\nb\ttwo\n", 12); /* the labels of own texts */
        if (cases[i].task) {
            CHECK_OK(hkt_dataset_read(&d, NULL, "said", "val", 0));
            assert_string_equal(d.task, cases[i].task);
            hkt_dataset_free(&d);
        } else {
            CHECK_FAILS(hkt_dataset_read(&d, NULL, "said", "val", 0), HKT_EINPUT, "said: expected the file 'val.tsv'");
        }
        CHECK_FAILS(hkt_dataset_read(&d, "cifar10", "said", "val", 0), HKT_EINPUT, "said: expected the file");
        remove(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_read_alike),   cmocka_unit_test(line_ends_and_marks),
        cmocka_unit_test(hostile_files),           cmocka_unit_test(a_row_of_100000_brackets),
        cmocka_unit_test(truncated_at_every_byte), cmocka_unit_test(overlap_and_majority),
        cmocka_unit_test(out_of_memory),           cmocka_unit_test(what_the_files_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

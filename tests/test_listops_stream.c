/* test_listops_stream.c - operators, short rows, and streams of ListOps: what is drawn, that no row of one split can be
 * in another, and what a damaged stream says. */
#include "tests/check.h"

#include "data/dataset.h"
#include "tests/listops_naive.h"

/* Few enough expressions that draws meet again at once: 4 operators, 2 digits. */
static const hkt_listops_spec tiny = {
    .train = 200, .val = 40, .test = 40, .min_length = 4, .max_length = 4, .max_depth = 2, .max_args = 2, .seed = 3};

static void operators_are_those_named(void **state)
{
    (void)state;
    unsigned set;
    char text[HKT_LISTOPS_NAMES];
    CHECK_OK(hkt_listops_operators_parse(&set, "MED,MIN"));
    assert_int_equal(set, 1 << 0 | 1 << 2);
    hkt_listops_operators_name(set, text);
    assert_string_equal(text, "MIN,MED");
    hkt_listops_operators_name(0, text);
    assert_string_equal(text, "MIN,MAX,MED,SM");
    CHECK_FAILS(hkt_listops_operators_parse(&set, "MIN,MIN"), HKT_EUSAGE, "found 'MIN' twice");
    CHECK_FAILS(hkt_listops_operators_parse(&set, "MIN,"), HKT_EUSAGE, "found ''");
    CHECK_FAILS(hkt_listops_operators_parse(&set, "MI"), HKT_EUSAGE, "found 'MI'");

    /* Each operator of the set in the share that is due, no other; within five standard deviations. */
    hkt_listops_spec spec = small;
    size_t count[HKT_LISTOPS_VOCAB] = {0}, n, total = 0;
    int32_t tokens[60];
    hkt_rng rng = hkt_rng_make(5, HKT_STREAM_TEST, 1);
    spec.operators = 1 << 0 | 1 << 1 | 1 << 2;
    for (size_t i = 0; i < 20000; i++)
        if (hkt_listops_draw(&rng, &spec, tokens, &n))
            for (size_t k = 0; k < n; k++)
                count[tokens[k]]++;
    for (int32_t op = HKT_LISTOPS_MIN; op <= HKT_LISTOPS_MED; op++)
        total += count[op];
    assert_int_equal(count[HKT_LISTOPS_SM], 0);
    for (int32_t op = HKT_LISTOPS_MIN; op <= HKT_LISTOPS_MED; op++)
        CHECK_NEAR((double)count[op] / (double)total, 1 / 3.0, 5 * sqrt(2 / 9.0 / (double)total));
}

/* A quarter of all expressions is set aside: of 400 of the tiny window about 50 each for test and validation. */
static void every_expression_has_one_split(void **state)
{
    (void)state;
    size_t count[HKT_SPLITS] = {0};
    for (int32_t op = HKT_LISTOPS_MIN; op <= HKT_LISTOPS_SM; op++)
        for (int32_t a = 0; a < 10; a++)
            for (int32_t b = 0; b < 10; b++)
                count[hkt_listops_split_of((const int32_t[]){op, a, b, HKT_LISTOPS_CLOSE}, 4)]++;
    assert_int_equal(count[0] + count[1] + count[2], 400);
    /* binomial, 400 draws of 1/8: 50 with a deviation of 6.6 */
    assert_in_range(count[HKT_TEST], 17, 83);
    assert_in_range(count[HKT_VAL], 17, 83);
}

static void read_splits(hkt_dataset data[HKT_SPLITS], const char *dir)
{
    for (size_t s = 0; s < HKT_SPLITS; s++)
        CHECK_OK(hkt_dataset_read(&data[s], "listops", dir, hkt_split_names[s], 0));
}

static size_t shared(const hkt_dataset data[HKT_SPLITS])
{
    size_t overlap[HKT_SPLITS * HKT_SPLITS], sum = 0;
    CHECK_OK(hkt_dataset_overlap(data, HKT_SPLITS, overlap));
    for (size_t a = 0; a < HKT_SPLITS; a++)
        for (size_t b = 0; b < HKT_SPLITS; b++)
            sum += a != b ? overlap[a * HKT_SPLITS + b] : 0;
    return sum;
}

/* 400 expressions, 20 epochs of 200 rows: every one is drawn many times, and none of test or validation ever. */
static void a_stream_never_meets_the_other_splits(void **state)
{
    (void)state;
    hkt_listops_spec spec = tiny;
    hkt_dataset data[HKT_SPLITS];
    spec.stream = true;
    CHECK_OK(hkt_listops_generate(&spec, "tiny"));
    read_splits(data, "tiny");
    for (size_t epoch = 0; epoch < 20; epoch++) {
        CHECK_OK(hkt_dataset_renew(&data[HKT_TRAIN], epoch));
        assert_int_equal(data[HKT_TRAIN].n, 200);
        assert_int_equal(shared(data), 0);
    }
    /* Control: draws of which the split is not asked for do meet them. */
    hkt_rng rng = hkt_rng_make(3, HKT_STREAM_TEST, 2);
    for (size_t i = 0, n; i < 200;) {
        int32_t *at = data[HKT_TRAIN].tokens + 4 * i;
        i += hkt_listops_draw(&rng, &tiny, at, &n);
    }
    assert_true(shared(data) > 0);
    for (size_t s = 0; s < HKT_SPLITS; s++)
        hkt_dataset_free(&data[s]);
}

/* Row i of epoch e is row train e + i of the stream, whatever was read before; its label is its value. */
static void rows_are_a_function_of_their_number(void **state)
{
    (void)state;
    hkt_listops_spec spec = small;
    hkt_dataset d;
    int32_t tokens[100];
    size_t n;
    int value;
    spec.stream = true;
    spec.short_share = 0.5;
    spec.short_min = 4;
    spec.short_max = 4;
    CHECK_OK(hkt_listops_generate(&spec, "rows"));
    CHECK_OK(hkt_dataset_read(&d, "listops", "rows", "train", 0));
    const uint64_t first = hkt_dataset_checksum(&d, 0);
    CHECK_OK(hkt_dataset_renew(&d, 7));
    assert_true(hkt_dataset_checksum(&d, 0) != first);
    for (size_t i = 0; i < d.n; i++) {
        CHECK_OK(hkt_listops_stream_row(&spec, 7 * spec.train + i, tokens, &n));
        assert_int_equal(n, d.offset[i + 1] - d.offset[i]);
        assert_memory_equal(tokens, d.tokens + d.offset[i], n * sizeof *tokens);
        CHECK_OK(hkt_listops_evaluate(tokens, n, &value));
        assert_int_equal(value, d.labels[i]);
        assert_true(n == 4 || (n >= small.min_length && n <= small.max_length));
    }
    CHECK_OK(hkt_dataset_renew(&d, 0));
    assert_true(hkt_dataset_checksum(&d, 0) == first);
    hkt_dataset_free(&d);
}

/* Rows of 4 tokens come from the share alone: binomial, within five standard deviations. Test rows are never short. */
static void short_rows_have_their_share(void **state)
{
    (void)state;
    hkt_listops_spec spec = small;
    hkt_dataset data[HKT_SPLITS];
    size_t rows = 0;
    spec.train = 300;
    spec.short_share = 0.3;
    spec.short_min = spec.short_max = 4;
    spec.max_args = 5;
    CHECK_OK(hkt_listops_generate(&spec, "short"));
    read_splits(data, "short");
    for (size_t i = 0; i < data[HKT_TRAIN].n; i++)
        rows += data[HKT_TRAIN].offset[i + 1] - data[HKT_TRAIN].offset[i] == 4;
    CHECK_NEAR((double)rows, 90, 5 * sqrt(300 * 0.3 * 0.7));
    for (size_t i = 0; i < data[HKT_TEST].n; i++)
        assert_true(data[HKT_TEST].offset[i + 1] - data[HKT_TEST].offset[i] >= small.min_length);
    assert_int_equal(shared(data), 0);
    for (size_t s = 0; s < HKT_SPLITS; s++)
        hkt_dataset_free(&data[s]);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

#define HEAD  "Stream\tValue\nrows\t3\nmin-length\t4\nmax-length\t40\nmax-depth\t4\nmax-args\t3\n"
#define SHORT "short-min\t4\nshort-max\t8\nshort-share\t0.5\nseed\t1\noperators\tMIN,SM\n"

static void damaged_streams_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {HEAD, "s/train.tsv:7: expected 'short-min<TAB>value', found 'the end of the file'"},
        {"Stream\tValue\nrows\tmany\n", "s/train.tsv:2: rows: expected a whole number up to 100000000, found 'many'"},
        {"Stream\tValue\nrows\t-3\n", "s/train.tsv:2: rows: expected a whole number"},
        {"Stream\tValue\nrows\t3 \n", "s/train.tsv:2: rows: expected a whole number"},
        {"Stream\tValue\nrows\t99999999999999999999\n", "s/train.tsv:2: rows: expected a whole number"},
        {"Stream\tValue\nrow\t3\n", "s/train.tsv:2: expected 'rows<TAB>value', found"},
        {HEAD "short-min\t4\nshort-max\t8\nshort-share\tnan\n", "s/train.tsv:9: short-share: expected a number 0 to 1"},
        {HEAD SHORT "more\t1\n", "s/train.tsv:12: expected the end of the file, found another line"},
        {HEAD "short-min\t4\nshort-max\t8\nshort-share\t0.5\nseed\t1\noperators\tMIN,AND\n",
         "s/train.tsv:11: operators: expected"},
        {HEAD "short-min\t9\nshort-max\t8\nshort-share\t0.5\nseed\t1\noperators\tMIN\n",
         "s/train.tsv:12: short length: expected 1 <= min <= max, found min 9, max 8"},
    };
    hkt_dataset d;
    CHECK_OK(hkt_mkdir("s"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text("s/train.tsv", bad[i].text);
        CHECK_FAILS(hkt_dataset_read(&d, "listops", "s", "train", 0), HKT_EINPUT, bad[i].message);
    }
    write_text("s/train.tsv", HEAD SHORT);
    write_text("s/test.tsv", HEAD SHORT);
    CHECK_OK(hkt_dataset_read(&d, "listops", "s", "train", 0)); /* control */
    assert_int_equal(d.n, 3);
    assert_int_equal(d.max_len, 40);
    hkt_dataset_free(&d);
    CHECK_FAILS(hkt_dataset_read(&d, "listops", "s", "train", 39), HKT_EINPUT, "expected at most 39 tokens");
    CHECK_FAILS(hkt_dataset_read(&d, "listops", "s", "test", 0), HKT_EINPUT, "expected rows, found a stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_those_named),
        cmocka_unit_test(every_expression_has_one_split),
        cmocka_unit_test(a_stream_never_meets_the_other_splits),
        cmocka_unit_test(rows_are_a_function_of_their_number),
        cmocka_unit_test(short_rows_have_their_share),
        cmocka_unit_test(damaged_streams_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

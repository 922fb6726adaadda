/* test_listops.c - ListOps evaluator against hand values and a naive recursion, draws against the exact law of lengths,
 * generated files against an independent reading. */
#include "tests/check.h"

#include <unistd.h>

#include "tests/listops_naive.h"

/* Token ids of a text with single spaces. */
static size_t tokens_of(const char *text, int32_t *ids)
{
    static const char *const name[] = {"0", "1", "2",    "3",    "4",    "5",   "6", "7",
                                       "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"};
    size_t n = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        for (int32_t id = 0; id < 15; id++)
            if (strlen(name[id]) == length && strncmp(text, name[id], length) == 0)
                ids[n++] = id;
        text += length + (text[length] == ' ');
    }
    return n;
}

/* LRA's length: a value 1, an operator node 2 plus its children. */
static size_t lra_length(const char **text)
{
    size_t length = 2;
    if (**text != '[') {
        *text += 1;
        return 1;
    }
    *text += strcspn(*text, " ");
    while ((*text)[1] != ']') {
        *text += 1;
        length += lra_length(text);
    }
    *text += 2;
    return length;
}

/* --- evaluator ---------------------------------------------------------------------------------------------------- */

static void values_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int value;
    } known[] = {
        {"7", 7},
        {"[MIN 4 2 9 ]", 2},
        {"[MAX 2 9 4 ]", 9},
        {"[MED 3 9 5 ]", 5},
        {"[MED 1 2 ]", 1},     /* 1.5 */
        {"[MED 8 9 ]", 8},     /* 8.5 */
        {"[MED 9 8 1 2 ]", 5}, /* (2 + 8) / 2 */
        {"[MED 0 0 1 1 ]", 0}, /* 0.5 */
        {"[MED 7 1 2 4 9 3 ]", 3},
        {"[MED 5 ]", 5},
        {"[SM 5 5 ]", 0},
        {"[SM 9 9 9 ]", 7},
        {"[SM 1 2 3 ]", 6},
        {"[MAX 2 9 [MIN 4 7 ] 0 ]", 9},
        {"[SM [MAX 1 8 ] [MED 3 4 6 7 ] [MIN 9 5 ] ]", 8}, /* 8 + 5 + 5 */
        {"[MIN [MIN [MIN 3 4 ] 5 ] [MAX 6 1 ] ]", 3},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int32_t ids[64];
        int value = -1;
        const char *text = known[i].text;
        CHECK_OK(hkt_listops_evaluate(ids, tokens_of(text, ids), &value));
        assert_int_equal(value, known[i].value);
        assert_int_equal(naive_value(&text, NULL), known[i].value); /* the naive one has to be right too */
    }
}

static void operators_against_sorting(void **state)
{
    (void)state;
    static const char *const op[] = {"[MIN", "[MAX", "[MED", "[SM"};
    hkt_rng rng = hkt_rng_make(1, HKT_STREAM_TEST, 0);
    for (int trial = 0; trial < 4000; trial++) {
        int32_t ids[16];
        int args[12], n = 1 + (int)hkt_rng_below(&rng, 12), value = -1;
        ids[0] = HKT_LISTOPS_MIN + trial % 4;
        for (int i = 0; i < n; i++)
            ids[i + 1] = args[i] = (int)hkt_rng_below(&rng, 10);
        ids[n + 1] = HKT_LISTOPS_CLOSE;
        CHECK_OK(hkt_listops_evaluate(ids, (size_t)n + 2, &value));
        assert_int_equal(value, naive_apply(op[trial % 4], args, n));
    }
}

static void deep_nesting(void **state)
{
    (void)state;
    enum { DEPTH = 100000, N = 2 * DEPTH + 1 };
    int32_t *ids = malloc(N * sizeof *ids);
    int value = -1;
    assert_non_null(ids);
    for (size_t i = 0; i < N; i++)
        ids[i] = i < DEPTH ? HKT_LISTOPS_MIN + (int32_t)(i % 4) : i == DEPTH ? 6 : HKT_LISTOPS_CLOSE;
    CHECK_OK(hkt_listops_evaluate(ids, N, &value));
    assert_int_equal(value, 6);
    CHECK_FAILS(hkt_listops_evaluate(ids, N - 3, &value), HKT_EINPUT, "token 199999: expected 3 more ']'");
    CHECK_FAILS(hkt_listops_evaluate(ids, DEPTH, &value), HKT_EINPUT, "expected 100000 more ']'");
    free(ids);
}

static void incomplete_expressions(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "token 1: expected an operator or a value, found the end"},
        {"]", "token 1: expected an operator or a value, found ']' without an open bracket"},
        {"[MAX ]", "token 2: expected an argument of '[MAX', found ']'"},
        {"[MAX 1 2", "token 4: expected 1 more ']'"},
        {"[MAX 1 [SM 2 ]", "token 6: expected 1 more ']'"},
        {"[MAX 1 ] ]", "token 4: expected the end of the expression, found ']'"},
        {"1 2", "token 2: expected the end of the expression, found '2'"},
        {"[MIN 1 2 ] 3", "token 5: expected the end of the expression, found '3'"},
    };
    int value = -1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t ids[16];
        CHECK_FAILS(hkt_listops_evaluate(ids, tokens_of(bad[i].text, ids), &value), HKT_EINPUT, bad[i].message);
    }
    CHECK_FAILS(hkt_listops_evaluate((const int32_t[]){10, 15, 14}, 3, &value), HKT_EINPUT, "expected an id in 0..14");
    CHECK_FAILS(hkt_listops_evaluate((const int32_t[]){-1}, 1, &value), HKT_EINPUT, "found -1");
    assert_int_equal(value, -1); /* untouched on error */
}

/* --- law of the draws --------------------------------------------------------------------------------------------- */

enum { LONGEST = 1999 };

/* Exact law of the length of an expression: f[n] = P(length = n), n <= LONGEST. A node of the last depth is a value;
 * above, f(z) = 3/4 z + 1/4 z^2 mean_{k = 2..args} g(z)^k with g the law one level below. */
static void length_law(size_t depth, size_t args, double f[LONGEST + 1])
{
    static double g[LONGEST + 1], power[LONGEST + 1], next[LONGEST + 1];
    memset(f, 0, (LONGEST + 1) * sizeof *f);
    f[1] = 1;
    for (size_t level = 1; level < depth; level++) {
        memcpy(g, f, sizeof g);
        memcpy(power, f, sizeof power);
        memset(f, 0, (LONGEST + 1) * sizeof *f);
        f[1] = 0.75;
        for (size_t k = 2; k <= args; k++) {
            memset(next, 0, sizeof next);
            for (size_t i = 1; i <= LONGEST; i++)
                for (size_t j = 1; power[i] > 0 && j <= LONGEST - i; j++)
                    next[i + j] += power[i] * g[j];
            memcpy(power, next, sizeof power);
            for (size_t n = 0; n + 2 <= LONGEST; n++)
                f[n + 2] += 0.25 / (double)(args - 1) * power[n];
        }
    }
}

static double window(const double f[LONGEST + 1], size_t min, size_t max)
{
    double p = 0;
    for (size_t n = min; n <= max; n++)
        p += f[n];
    return p;
}

/* Share of draws in the window of `spec`; every length and nesting is checked. */
static double accepted(const hkt_listops_spec *spec, size_t draws, uint32_t stream)
{
    static int32_t tokens[LONGEST];
    hkt_rng rng = hkt_rng_make(2, HKT_STREAM_TEST, stream);
    size_t hits = 0;
    for (size_t i = 0; i < draws; i++) {
        size_t n = 0, depth = 1;
        int value;
        if (!hkt_listops_draw(&rng, spec, tokens, &n))
            continue;
        hits++;
        assert_in_range(n, spec->min_length, spec->max_length);
        CHECK_OK(hkt_listops_evaluate(tokens, n, &value));
        for (size_t t = 0; t < n; t++) {
            assert_true(depth <= spec->max_depth);
            depth += tokens[t] >= HKT_LISTOPS_MIN && tokens[t] <= HKT_LISTOPS_SM;
            depth -= tokens[t] == HKT_LISTOPS_CLOSE;
        }
    }
    return (double)hits / (double)draws;
}

/* Observed shares within 5 standard errors of the exact law (a chance of 6e-7 per check, and the seed is fixed). */
static void lengths_follow_the_law(void **state)
{
    (void)state;
    enum { DRAWS = 60000 };
    static double f[LONGEST + 1], deeper[LONGEST + 1];
    hkt_listops_spec lra = hkt_listops_spec_lra(0);
    length_law(lra.max_depth, lra.max_args, f);
    length_law(lra.max_depth + 1, lra.max_args, deeper);
    static const size_t bounds[][2] = {{501, 1999}, {100, 512}, {1, 1}, {2, 50}, {1, 1999}};
    for (uint32_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        hkt_listops_spec spec = lra;
        spec.min_length = bounds[i][0];
        spec.max_length = bounds[i][1];
        double p = window(f, spec.min_length, spec.max_length);
        double tolerance = 5 * sqrt(p * (1 - p) / DRAWS);
        double share = accepted(&spec, DRAWS, i);
        print_message("length %zu..%zu: %.5f of the draws, exact %.5f\n", spec.min_length, spec.max_length, share, p);
        CHECK_NEAR(share, p, tolerance);
        if (i == 1) /* control: with one level more (a root of depth 0) the law is another one */
            assert_true(fabs(window(deeper, 100, 512) - share) > tolerance);
    }
    /* docs/formats.md: 8 % of the draws fall into LRA's window; of all up to 512 tokens 83 % are bare digits. */
    CHECK_NEAR(window(f, 501, 1999), 0.08, 0.005);
    CHECK_NEAR(f[1] / window(f, 1, 512), 0.83, 0.005);
}

/* Share of the largest class among `rows` accepted draws. */
static double majority(const hkt_listops_spec *spec, size_t rows, uint32_t stream)
{
    static int32_t tokens[LONGEST];
    size_t count[10] = {0}, largest = 0;
    hkt_rng rng = hkt_rng_make(3, HKT_STREAM_TEST, stream);
    for (size_t i = 0; i < rows;) {
        size_t n;
        int value = 0;
        if (!hkt_listops_draw(&rng, spec, tokens, &n))
            continue;
        CHECK_OK(hkt_listops_evaluate(tokens, n, &value));
        count[value]++;
        i++;
    }
    for (size_t c = 0; c < 10; c++)
        largest = count[c] > largest ? count[c] : largest;
    return (double)largest / (double)rows;
}

/* Reference shares are known to 0.05 %, a sample of n to 4 sqrt(p q / n). */
static void majority_shares(void **state)
{
    (void)state;
    enum { ROWS = 15000 };
    hkt_listops_spec lra = hkt_listops_spec_lra(0), ours = lra, all = lra;
    ours.min_length = 100;
    ours.max_length = 512;
    all.min_length = 1;
    double tolerance = 0.0005 + 4 * sqrt(0.16 * 0.84 / ROWS);
    double share_ours = majority(&ours, ROWS, 0), share_lra = majority(&lra, ROWS, 1),
           share_all = majority(&all, ROWS, 2);
    print_message("largest class: %.4f at 100..512, %.4f at LRA's window, %.4f without a least length\n", share_ours,
                  share_lra, share_all);
    CHECK_NEAR(share_ours, 0.158, tolerance);
    CHECK_NEAR(share_lra, 0.169, tolerance);
    assert_true(fabs(share_all - 0.158) > tolerance); /* control: bare digits are uniform */
}

/* --- generated files ---------------------------------------------------------------------------------------------- */

static void check_same_file(const char *dir_a, const char *dir_b, const char *name, bool same)
{
    char *a = file_text(dir_a, name), *b = file_text(dir_b, name);
    assert_int_equal(strcmp(a, b) == 0, same);
    hkt_free(a);
    hkt_free(b);
}

static void same_spec_same_bytes(void **state)
{
    (void)state;
    hkt_listops_spec other = small, more = small;
    other.seed = 12;
    more.train = 500;
    CHECK_OK(hkt_listops_generate(&small, "a"));
    CHECK_OK(hkt_listops_generate(&small, "b/nested"));
    CHECK_OK(hkt_listops_generate(&other, "other"));
    CHECK_OK(hkt_listops_generate(&more, "more"));
    static const char *const name[] = {"train.tsv", "val.tsv", "test.tsv"};
    for (size_t i = 0; i < 3; i++) {
        check_same_file("a", "b/nested", name[i], true);
        check_same_file("a", "other", name[i], false); /* control */
        check_same_file("a", "more", name[i], i > 0);
    }
    char *shorter = file_text("a", "train.tsv"), *longer = file_text("more", "train.tsv");
    assert_memory_equal(shorter, longer, strlen(shorter)); /* more rows prolong the file */
    hkt_free(shorter);
    hkt_free(longer);
    /* The same on every machine: the first row of the test split, as first generated. */
    char *text = file_text("a", "test.tsv");
    static const char expected[] = "Source\tTarget\n[SM 1 0 [SM 3 3 ] ]\t7\n";
    assert_memory_equal(text, expected, sizeof expected - 1);
    hkt_free(text);
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every row of the three files: source printed with single spaces, lengths in the window, label right by the naive
 * evaluator, no source twice anywhere. */
static void rows_are_right_and_distinct(void **state)
{
    (void)state;
    static const char *const name[] = {"train.tsv", "val.tsv", "test.tsv"};
    const size_t rows[] = {small.train, small.val, small.test};
    char *text[3], *source[600];
    size_t n = 0;
    CHECK_OK(hkt_listops_generate(&small, "rows"));
    for (size_t i = 0; i < 3; i++) {
        text[i] = file_text("rows", name[i]);
        size_t first = n;
        char *save = NULL;
        assert_string_equal(strtok_r(text[i], "\n", &save), "Source\tTarget");
        for (char *line; (line = strtok_r(NULL, "\n", &save)); n++) {
            char *tab = strchr(line, '\t');
            assert_non_null(tab);
            *tab = 0;
            const char *at = line, *again = line;
            assert_int_equal(naive_value(&at, NULL), tab[1] - '0');
            assert_int_equal(*at, 0);
            assert_int_equal(tab[2], 0);
            assert_in_range(lra_length(&again), small.min_length, small.max_length);
            assert_true(n < 600);
            source[n] = line;
        }
        assert_int_equal(n - first, rows[i]);
    }
    qsort(source, n, sizeof *source, compare_strings);
    for (size_t i = 1; i < n; i++)
        assert_string_not_equal(source[i - 1], source[i]);
    for (size_t i = 0; i < 3; i++)
        hkt_free(text[i]);
}

static void check_absent(const char *dir)
{
    static const char *const name[] = {"train.tsv", "val.tsv", "test.tsv"};
    for (size_t i = 0; i < 3; i++) {
        char *path;
        CHECK_OK(hkt_path_join(&path, dir, name[i]));
        assert_false(hkt_file_exists(path));
        hkt_free(path);
    }
}

static void impossible_specs(void **state)
{
    (void)state;
    hkt_listops_spec s = small;
    s.val = 0;
    CHECK_FAILS(hkt_listops_generate(&s, "no"), HKT_EUSAGE, "val 0");
    s = small;
    s.max_depth = 0;
    CHECK_FAILS(hkt_listops_generate(&s, "no"), HKT_EUSAGE, "max depth: expected 1..100, found 0");
    s.max_depth = HKT_LISTOPS_MAX_DEPTH + 1;
    CHECK_FAILS(hkt_listops_generate(&s, "no"), HKT_EUSAGE, "max depth: expected 1..100, found 101");
    s = small;
    s.max_args = 1;
    CHECK_FAILS(hkt_listops_generate(&s, "no"), HKT_EUSAGE, "max args");
    s = small;
    s.min_length = 61;
    CHECK_FAILS(hkt_listops_generate(&s, "no"), HKT_EUSAGE, "found min 61, max 60");
    s = small;
    s.max_depth = 3;
    s.max_args = 3; /* the longest is 2 + 3 (2 + 3) = 17 */
    s.min_length = 18;
    CHECK_FAILS(hkt_listops_generate(&s, "no"), HKT_EUSAGE, "expected at most 17");
    s.min_length = 17;
    CHECK_OK(hkt_listops_spec_check(&s));
    s = small;
    s.train = SIZE_MAX;
    CHECK_FAILS(hkt_listops_generate(&s, "no"), HKT_EUSAGE, "too many rows");
    assert_int_not_equal(access("no", F_OK), 0); /* nothing created */
    s = small;                                   /* ten different bare digits, thirty rows */
    s.train = s.val = s.test = 10;
    s.min_length = s.max_length = 1;
    CHECK_FAILS(hkt_listops_generate(&s, "few"), HKT_EUSAGE, "expected 30 different rows");
    check_absent("few");
}

static void unwritable_directory(void **state)
{
    (void)state;
    FILE *f = fopen("plain-file", "w");
    assert_non_null(f);
    fclose(f);
    CHECK_FAILS(hkt_listops_generate(&small, "plain-file"), HKT_ESYSTEM, "plain-file");
    CHECK_OK(hkt_mkdir("taken/train.tsv")); /* a folder in the place of the split that is written last */
    CHECK_FAILS(hkt_listops_generate(&small, "taken"), HKT_ESYSTEM, "train.tsv");
    assert_false(access("taken/val.tsv", F_OK) == 0 || access("taken/test.tsv", F_OK) == 0);
    CHECK_OK(hkt_mkdir("full")); /* a disk that is full */
    assert_int_equal(symlink("/dev/full", "full/train.tsv"), 0);
    CHECK_FAILS(hkt_listops_generate(&small, "full"), HKT_ESYSTEM, "cannot write 'full/train.tsv'");
    assert_false(access("full/val.tsv", F_OK) == 0 || access("full/test.tsv", F_OK) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_by_hand),         cmocka_unit_test(operators_against_sorting),
        cmocka_unit_test(deep_nesting),           cmocka_unit_test(incomplete_expressions),
        cmocka_unit_test(lengths_follow_the_law), cmocka_unit_test(majority_shares),
        cmocka_unit_test(same_spec_same_bytes),   cmocka_unit_test(rows_are_right_and_distinct),
        cmocka_unit_test(impossible_specs),       cmocka_unit_test(unwritable_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

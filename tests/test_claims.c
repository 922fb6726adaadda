/* The claims: every control of every check must fail, every quick run must give its committed verdict, and the numbers
 * stated in the paper's discussion come out. The reports around them: conditions, expectations, files. */
#include "tests/check.h"

#include <jansson.h>
#include <stdlib.h>

#include "analysis/claims/kurtosis/kurtosis.h"
#include "analysis/claims/report.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tsv.h"
#include "num/blas.h"
#include "tests/claim_check.h"
#include "tests/scratch.h"

static const char *const random_models[] = {"random models"};

/* Path of a file of the source tree. */
static const char *source(const char *name)
{
    static char path[4096];
    const char *root = getenv("HKT_SOURCE");
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
    return path;
}

static void check_controls(hkt_claim_list claims)
{
    for (size_t i = 0; i < claims.n; i++)
        for (size_t k = 0; k < claims.claim[i]->n_checks; k++) {
            const hkt_check *check = claims.claim[i]->checks[k];
            hkt_check_result r = {0};
            CHECK_OK(check->run(&quick, &r, true));
            print_message("control %s %s: %s, measured %.4g, bound %.4g\n", claims.claim[i]->id, check->name,
                          hkt_verdict_name(r.verdict), r.measured, r.bound);
            /* Not merely not HOLDS: a control that is skipped, or does not compute a number, shows nothing. */
            assert_int_equal(r.verdict, HKT_VIOLATED);
            assert_false(isnan(r.measured));
            hkt_check_result_free(&r);
        }
}

static void test_controls(void **state)
{
    (void)state;
    check_controls(hkt_claims);
    check_controls(hkt_foreign_claims);
    check_controls(hkt_stored_claims);
}

/* The verdicts of all checks are the committed ones. */
static void test_verdicts(void **state)
{
    (void)state;
    hkt_report r;
    size_t differ = 99;
    CHECK_OK(hkt_report_run(&r, hkt_claims, NULL, &quick, random_models, 1));
    CHECK_OK(hkt_report_compare(&r, hkt_claims, source("docs/verdicts.tsv"), stdout, &differ));
    assert_int_equal(differ, 0);
    char sentence[HKT_SENTENCE];
    /* Details and sentences are whole, and every comparison has its clause. */
    for (size_t i = 0; i < r.n; i++) {
        const hkt_check_result *c = hkt_report_result(r.entry + i, 0);
        assert_true(strlen(c->detail) + 1 < sizeof c->detail);
        assert_true(!c->relation || *c->found || r.entry[i].check->holds);
        assert_true(strlen(hkt_check_sentence(r.entry[i].check, c, sentence)) + 1 < sizeof sentence &&
                    !strstr(sentence, "{m") && !strstr(sentence, "{b"));
        if (r.entry[i].check->test && c->verdict != HKT_SKIPPED)
            assert_non_null(strstr(c->detail, r.entry[i].check->test->alternative));
    }
    hkt_report_free(&r);
}

/* The same seed gives the same table to the last digit; another seed another one. */
static void test_reproducible(void **state)
{
    (void)state;
    scratch_enter();
    hkt_provenance how = {.command = (char *)(uintptr_t) "test", .blas_core = ""};
    static const char *const name[] = {"a.tsv", "b.tsv", "c.tsv"};
    char *text[3];
    size_t n[3];
    for (size_t i = 0; i < 3; i++) {
        hkt_verify_context ctx = quick;
        hkt_report r;
        ctx.seed += i == 2;
        CHECK_OK(hkt_report_run(&r, (hkt_claim_list){hkt_claims.claim, 1}, "converse-witness", &ctx, random_models, 1));
        CHECK_OK(hkt_report_write_tsv(&r, name[i], &how));
        hkt_report_free(&r);
        text[i] = scratch_read(name[i], n + i);
    }
    assert_string_equal(text[0], text[1]);
    assert_string_not_equal(text[0], text[2]);
    for (size_t i = 0; i < 3; i++)
        free(text[i]);
    hkt_table t;
    CHECK_OK(hkt_table_read(&t, "a.tsv"));
    assert_int_equal(t.cols, 12);
    assert_int_equal(t.rows, 1);
    hkt_table_free(&t);
    scratch_leave(0);
}

/* Value of the column in the first row whose leading cells are s and L. */
static double row_value(const hkt_check_result *r, double s, double L, size_t column)
{
    for (size_t i = 0; i < r->rows.n_rows; i++) {
        const double *cell = r->rows.cell + i * r->rows.n_cols;
        if (cell[0] == s && cell[1] == L)
            return cell[column];
    }
    return (double)NAN;
}

/* From an independent search with exact fractions (Python's): number of T <= 4096 with R >= s^2/(s^2-1). */
static void test_cost_numbers(void **state)
{
    (void)state;
    static const struct {
        double s, L, count, largest;
    } expected[] = {{2, 1, 0, 0},        {2, 2, 3, 5},       {2, 3, 21, 41},     {2, 4, 105, 209},
                    {2, 5, 465, 929},    {2, 6, 1953, 3905}, {2, 7, 3536, 4095}, {2, 8, 3944, 4095},
                    {2, 12, 4094, 4095}, {3, 3, 208, 415},   {3, 4, 2077, 4078}, {3, 8, 4095, 4096},
                    {4, 2, 45, 89},      {4, 4, 3800, 4095}, {4, 12, 4096, 4096}};
    hkt_check_result r = run_check(&hkt_claim_cost, &quick, "bound-any-length");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CHECK_NEAR(row_value(&r, expected[i].s, expected[i].L, 2), expected[i].count, 0);
        CHECK_NEAR(row_value(&r, expected[i].s, expected[i].L, 3), expected[i].largest, 0);
    }
    assert_non_null(
        strstr(r.detail, "for 21 T: 1 2 3 5 6 7 9 10 11 13 15 17 19 21 23 25 27 29 33 37 41; with L = 8 for 3944"));
    hkt_check_result_free(&r);
    /* Without a limit on T the largest violations at s = 2 go on as 5, 41, 209, 929, 3905, ... */
    r = run_check(&hkt_claim_cost, &quick, "violations-by-residue");
    CHECK_NEAR(row_value(&r, 2, 3, 2), 41, 0);
    CHECK_NEAR(row_value(&r, 2, 6, 2), 3905, 0);
    CHECK_NEAR(row_value(&r, 2, 8, 2), 64769, 0);
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_cost, &quick, "bound-causal");
    CHECK_NEAR(row_value(&r, 2, 3, 2), 5, 0);
    CHECK_NEAR(row_value(&r, 2, 3, 3), 20, 0);
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_cost, &quick, "last-failure");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) /* where the search of 4096 lengths saw the last */
        if (expected[i].L > 1 && expected[i].largest < 4000)
            CHECK_NEAR(row_value(&r, expected[i].s, expected[i].L, 2), expected[i].largest, 0);
    CHECK_NEAR(row_value(&r, 2, 8, 2), 64769, 0);
    CHECK_NEAR(row_value(&r, 2, 3, 3), 20, 0);
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_cost, &quick, "projection-factor");
    CHECK_NEAR(row_value(&r, 2, 3, 2), 1.75, 0);
    hkt_check_result_free(&r);
}

/* Orthonormal rows: Sq = Sk = I and kappa = 1 + 2/p; one row: kappa = 3, the product of two normals. */
static void test_closed_form(void **state)
{
    (void)state;
    double w[8 * 16] = {0};
    for (size_t i = 0; i < 8; i++)
        w[i * 16 + i] = 1;
    for (size_t p = 1; p <= 8; p++)
        CHECK_NEAR(hkt_kurtosis_closed_form(16, p, w, w), 1 + 2 / (double)p, 1e-14);
    /* Sq = diag(1, 4), Sk = diag(9, 1): tr = 13, tr of the square = 97. */
    double q[4] = {1, 0, 0, 2}, k[4] = {3, 0, 0, 1};
    CHECK_NEAR(hkt_kurtosis_closed_form(2, 2, q, k), 1 + 2 * 97.0 / 169, 1e-14);
}

/* n Var(m4/m2^2) = E[(x^4 - 2 mu4 x^2 + mu4)^2] by quadrature over a symmetric density of variance 1. */
static double influence_variance(double (*density)(double), double end, double mu4)
{
    enum { STEPS = 200000 };
    double sum = 0, h = end / STEPS;
    for (int i = 0; i < STEPS; i++) {
        double x2 = (i + 0.5) * h * (i + 0.5) * h, f = x2 * x2 - 2 * mu4 * x2 + mu4;
        sum += 2 * h * f * f * density((i + 0.5) * h);
    }
    return sum;
}

static double normal_density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * acos(-1));
}

static double uniform_density(double x)
{
    (void)x;
    return 1 / (2 * sqrt(3));
}

static double laplace_density(double x)
{
    return exp(-sqrt(2) * x) / sqrt(2);
}

static void test_standard_errors(void **state)
{
    (void)state;
    hkt_check_result r = run_check(&hkt_claim_kurtosis, &quick, "laws");
    const double variance[] = {influence_variance(normal_density, 40, 3),
                               influence_variance(uniform_density, sqrt(3), 1.8),
                               influence_variance(laplace_density, 60, 6)};
    CHECK_NEAR(variance[0], 24, 1e-6);
    for (size_t i = 0; i < 3; i++) {
        const double *row = r.rows.cell + i * r.rows.n_cols;
        CHECK_NEAR(row[3], sqrt(variance[i] / row[6]) / 3, 1e-6 * row[3]);
    }
    hkt_check_result_free(&r);
}

/* At p = d/H < d the forms cannot be PSD; tied ones are: the negative mass of each is what it must be. */
static void test_psd_numbers(void **state)
{
    (void)state;
    hkt_check_result r = run_check(&hkt_claim_psd, &quick, "generic-inertia");
    double forms = 0;
    for (size_t i = 0; i < r.rows.n_rows; i++) {
        const double *c = r.rows.cell + i * r.rows.n_cols;
        double p = c[4];
        if (2 * p > 32)
            continue;
        forms++;
        assert_true(c[5] == 2 * p && c[6] == 2 * p && c[7] == p && c[8] == p && c[9] == 32 - 2 * p);
    }
    CHECK_NEAR(r.measured, forms, 0);
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_psd, &quick, "structure");
    for (size_t i = 0; i < r.rows.n_rows; i++)
        CHECK_AT_MOST(r.rows.cell[i * r.rows.n_cols + 3], 1e-9);
    hkt_check_result_free(&r);
    /* What counts is the upper end of v'Gv, to the last digit. */
    r = run_check(&hkt_claim_psd, &quick, "converse-witness");
    double worst = (double)-INFINITY;
    for (size_t i = 0; i < r.rows.n_rows; i++) {
        const double *c = r.rows.cell + i * r.rows.n_cols;
        assert_true(c[4] > 0);
        worst = fmax(worst, c[3] + c[4]);
    }
    assert_true(r.measured == worst);
    hkt_check_result_free(&r);
}

static void test_comparisons(void **state)
{
    (void)state;
    hkt_check_result r = {0};
    hkt_check_at_most(&r, 1, 2);
    assert_true(r.verdict == HKT_HOLDS && r.margin == 1);
    hkt_check_at_most(&r, 2, 2);
    assert_int_equal(r.verdict, HKT_HOLDS);
    hkt_check_below(&r, 2, 2);
    assert_int_equal(r.verdict, HKT_VIOLATED);
    hkt_check_at_least(&r, 3, 2);
    assert_true(r.verdict == HKT_HOLDS && r.margin == 1);
    /* At the bound: at most and at least hold, below does not. */
    hkt_check_at_most(&r, 2, 2);
    assert_true(r.verdict == HKT_HOLDS && r.margin == 0);
    hkt_check_at_least(&r, 2, 2);
    assert_true(r.verdict == HKT_HOLDS && r.margin == 0);
    hkt_check_below(&r, 2, 2);
    assert_true(r.verdict == HKT_VIOLATED && r.margin == 0);
    hkt_check_below(&r, 1, 2);
    assert_true(r.verdict == HKT_HOLDS && r.margin == 1);
    hkt_check_equal(&r, 3, 3);
    assert_int_equal(r.verdict, HKT_HOLDS);
    void (*const compare[])(hkt_check_result *, double, double) = {hkt_check_at_most, hkt_check_below,
                                                                   hkt_check_at_least, hkt_check_equal};
    for (size_t i = 0; i < 4; i++) {
        compare[i](&r, (double)NAN, 1);
        assert_int_equal(r.verdict, HKT_VIOLATED);
        compare[i](&r, 1, (double)NAN);
        assert_int_equal(r.verdict, HKT_VIOLATED);
    }
    assert_true(hkt_check_worse(1, 2) == 2 && hkt_check_worse(2, 1) == 2);
    assert_true(isnan(hkt_check_worse((double)NAN, 1)) && isnan(hkt_check_worse(1, (double)NAN)));
    assert_true(hkt_check_relative(0, 0) == 0 && hkt_check_relative(1, 2) == 0.5);
    assert_true(isinf(hkt_check_relative(1, 0)) && isnan(hkt_check_relative((double)NAN, 0)));
    static const struct {
        double low, high, measured;
        hkt_verdict verdict;
    } interval[] = {{1, 2, 1, HKT_HOLDS},
                    {-2, -1, -1, HKT_VIOLATED},
                    {-1, 2, -1, HKT_INCONCLUSIVE},
                    {0, 2, 0, HKT_INCONCLUSIVE},
                    {-2, 0, -2, HKT_INCONCLUSIVE}};
    for (size_t i = 0; i < sizeof interval / sizeof *interval; i++) {
        hkt_check_interval(&r, interval[i].low, interval[i].high);
        assert_true(r.verdict == interval[i].verdict && r.measured == interval[i].measured && r.bound == 0);
    }
    const double bad[][2] = {{(double)NAN, (double)NAN}, {1, (double)NAN}, {(double)NAN, -1}, {2, 1}, {-1, -2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hkt_check_interval(&r, bad[i][0], bad[i][1]);
        assert_int_equal(r.verdict, HKT_INCONCLUSIVE);
    }
    hkt_check_detail(&r, "x");
    hkt_check_left_out(&r, 0, "heads", "why");
    hkt_check_left_out(&r, 2, "heads", "why");
    assert_string_equal(r.detail, "x; 2 heads left out: why");
    hkt_check_skip(&r, "because of %d", 5);
    assert_true(r.verdict == HKT_SKIPPED && isnan(r.margin));
    assert_string_equal(r.detail, "because of 5");
    for (double i = 0; i < 100; i++)
        CHECK_OK(hkt_check_row(&r, "a\tb", i, 2 * i));
    assert_true(r.rows.n_cols == 2 && r.rows.n_rows == 100 && r.rows.cell[199] == 198);
    hkt_check_result_free(&r);
}

/* A claim made up here: what the report says of it must follow from these results alone. */
static hkt_status says(hkt_check_result *out, double measured, const char *condition)
{
    hkt_check_at_most(out, measured, 1);
    hkt_check_condition(out, "%s", condition);
    return HKT_OK;
}

static hkt_status good(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx, (void)control;
    return says(out, 0, "a");
}

static hkt_status bad(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx, (void)control;
    return says(out, 2, "a");
}

static hkt_status elsewhere(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)control;
    out->verdict = HKT_INCONCLUSIVE;
    out->measured = (double)ctx->tokens;
    hkt_check_found(out, "%zu tokens", ctx->tokens);
    return hkt_check_row(out, "x\ty", 1, (double)NAN);
}

static hkt_status skipped(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx, (void)control;
    hkt_check_skip(out, "not here");
    return HKT_OK;
}

static hkt_status broken(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx, (void)control;
    hkt_check_condition(out, "a");
    CHECK_OK(hkt_check_row(out, "x", 1));
    return hkt_fail(HKT_ENUMERIC, "no convergence");
}

static hkt_status of_nan(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx, (void)control;
    return says(out, (double)NAN, "a");
}

static hkt_status refuted(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx, (void)control;
    return says(out, 2, "");
}

static hkt_status no_memory(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx, (void)control, (void)out;
    return hkt_fail(HKT_ESYSTEM, "out of memory");
}

enum { MADE_UP = 6 };
#define MADE_UP_CHECK(...)                                                                                             \
    {                                                                                                                  \
        .statement = "s", .reference = "r", .failure = "f", .holds = "is {m}", .violated = "is not {b}", __VA_ARGS__   \
    }
static const hkt_check made_up_check[MADE_UP] = {
    MADE_UP_CHECK(.name = "good", .kind = HKT_EXACT, .finding = "it is so", .run = good),
    MADE_UP_CHECK(.name = "bad", .kind = HKT_IMPLEMENTATION, .finding = "it is so", .run = bad),
    MADE_UP_CHECK(.name = "else", .kind = HKT_EMPIRICAL, .finding = "and so", .of_model = true, .run = elsewhere),
    MADE_UP_CHECK(.name = "skip", .kind = HKT_EXACT, .finding = "or so", .run = skipped),
    MADE_UP_CHECK(.name = "fine", .kind = HKT_EXACT, .run = good),
    MADE_UP_CHECK(.name = "wrong", .kind = HKT_EXACT, .run = bad)};
static const hkt_headline made_up_headline[] = {{made_up_check + 2, "so", "not so", "whether it is so"},
                                                {made_up_check + 2, "", "", ""},
                                                {made_up_check, "", "", ""},
                                                {made_up_check + 1, "so it is", "so it is not", NULL},
                                                {made_up_check + 3, "so", "not so", NULL},
                                                {made_up_check, "and that", "and not", NULL}};
static const hkt_check *const made_up_checks[MADE_UP] = {made_up_check,     made_up_check + 1, made_up_check + 2,
                                                         made_up_check + 3, made_up_check + 4, made_up_check + 5};
static const hkt_claim made_up = {"made-up", "nowhere", "something", made_up_checks, 6, false, made_up_headline, 6};
static const hkt_claim *const made_up_claim[] = {&made_up};
static const hkt_claim_list made_up_list = {made_up_claim, 1};

#define MADE_UP_SAYS(tokens)                                                                                           \
    "Holds: is 0; and that. Fails: so it is not. Open: whether it is so; " tokens                                      \
    " tokens. Do not trust this: 1 of 2 "                                                                              \
    "checks of the method itself fail."

static void test_report(void **state)
{
    (void)state;
    const hkt_verify_context two[] = {{.tokens = 7}, {.tokens = 8}};
    const char *const names[] = {"first", "second"};
    hkt_report r;
    CHECK_OK(hkt_report_run(&r, made_up_list, NULL, two, names, 2));
    assert_int_equal(r.n, 6);
    assert_int_equal(r.entry[0].n_results, 1);
    assert_int_equal(r.entry[2].n_results, 2);
    CHECK_NEAR(hkt_report_result(r.entry + 2, 1)->measured, 8, 0);
    hkt_summary c = hkt_report_summary(&r, &made_up, 0);
    assert_int_equal(c.n, 3);
    assert_string_equal(c.finding[0].finding, "it is so");
    assert_string_equal(c.finding[0].condition, "a");
    assert_true(c.finding[0].verdict == HKT_VIOLATED && c.finding[0].checks == 2);
    assert_true(!*c.finding[1].condition && c.finding[1].verdict == HKT_INCONCLUSIVE);
    assert_true(c.finding[2].verdict == HKT_SKIPPED && c.finding[2].checks == 0);
    assert_true(c.method == 2 && c.method_failed == 1);
    char headline[HKT_HEADLINE];
    assert_string_equal(hkt_report_headline(&r, &made_up, 0, headline), MADE_UP_SAYS("7"));

    scratch_enter();
    hkt_provenance how = {.command = (char *)(uintptr_t) "test", .seed = 5, .blas_core = ""};
    CHECK_OK(hkt_report_write_json(&r, "r.json", &how));
    json_t *json = json_load_file("r.json", JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    json_t *claim = json_array_get(json_object_get(json, "claims"), 0);
    json_t *check = json_array_get(json_object_get(claim, "checks"), 2);
    json_t *second = json_array_get(json_object_get(check, "results"), 1);
    assert_string_equal(json_string_value(json_object_get(second, "subject")), "second");
    CHECK_NEAR(json_real_value(json_object_get(second, "measured")), 8, 0);
    json_t *cells = json_array_get(json_object_get(json_object_get(second, "table"), "rows"), 0);
    assert_true(json_is_null(json_array_get(cells, 1)));
    assert_int_equal(json_array_size(json_object_get(claim, "verdicts")), 6);
    json_t *said = json_array_get(json_object_get(claim, "headlines"), 1);
    assert_string_equal(json_string_value(json_object_get(said, "headline")), MADE_UP_SAYS("8"));
    json_decref(json);
    for (int rows = 0; rows < 2; rows++) {
        FILE *f = fopen("text", "w");
        hkt_report_print(&r, rows, f);
        fclose(f);
    }
    size_t n;
    char *text = scratch_read("text", &n);
    const char *const lines[] = {"claim made-up       VIOLATED     it is so [a]\n",
                                 "claim made-up       INCONCLUSIVE and so\n",
                                 "claim made-up       SKIPPED      or so\n",
                                 "\n  [1]\n  Holds: is 0",
                                 "\n  [2]\n  Holds: is 0",
                                 "1 of 2 checks of the method itself hold: DO NOT TRUST the above\n",
                                 "\n      x  y\n      1  -\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i]))
            fail_msg("expected '%s' in: %s", lines[i], text);
    free(text);
    scratch_leave(0);
    hkt_report_free(&r);
    CHECK_OK(hkt_report_errors(&(hkt_report){.n = 0}));
    CHECK_FAILS(hkt_report_run(&r, made_up_list, "god", two, names, 2), HKT_EUSAGE,
                "unknown check 'god' (did you mean 'good'?)");
}

/* A check that cannot be computed is ERROR with its reason, without the numbers that it had; the others go on. It
 * outweighs what holds and what is open, not what is refuted. */
static void test_errors(void **state)
{
    (void)state;
    static const hkt_check checks[] = {
        MADE_UP_CHECK(.name = "broken", .kind = HKT_EXACT, .finding = "it is so", .of_model = true, .run = broken),
        MADE_UP_CHECK(.name = "good", .kind = HKT_EXACT, .finding = "it is so", .run = good),
        MADE_UP_CHECK(.name = "nan", .kind = HKT_IMPLEMENTATION, .finding = "and so", .run = of_nan),
        MADE_UP_CHECK(.name = "else", .kind = HKT_EMPIRICAL, .finding = "and so", .of_model = true, .run = elsewhere),
        MADE_UP_CHECK(.name = "method", .kind = HKT_EXACT, .run = broken),
        MADE_UP_CHECK(.name = "once", .kind = HKT_EXACT, .finding = "or so", .run = refuted),
        MADE_UP_CHECK(.name = "again", .kind = HKT_EXACT, .finding = "or so", .run = of_nan)};
    const hkt_check *all[7], *none[2] = {checks + 1, &(hkt_check){.name = "none", .run = no_memory}};
    for (size_t i = 0; i < 7; i++)
        all[i] = checks + i;
    const hkt_claim claim = {"c", "p", "s", all, 7, false, NULL, 0}, *const list[] = {&claim},
                    *const stops[] = {&(hkt_claim){"d", "p", "s", none, 2, false, NULL, 0}};
    const hkt_verify_context two[2] = {{.tokens = 7}, {.tokens = 8}};
    const char *const names[] = {"first", "second"};
    hkt_report r;
    CHECK_OK(hkt_report_run(&r, (hkt_claim_list){list, 1}, NULL, two, names, 2));
    for (size_t k = 0; k < 2; k++) {
        const hkt_check_result *e = hkt_report_result(r.entry, k);
        assert_true(e->verdict == HKT_ERROR && isnan(e->measured) && isnan(e->bound) && isnan(e->margin));
        assert_string_equal(e->detail, "no convergence");
        assert_true(!*e->condition && e->rows.n_rows == 0);
    }
    assert_string_equal(hkt_report_result(r.entry + 2, 0)->detail, "what was computed is not a number");
    hkt_summary s = hkt_report_summary(&r, &claim, 0);
    assert_int_equal(s.n, 4);
    assert_true(s.finding[0].verdict == HKT_ERROR && s.finding[0].checks == 0);
    assert_true(s.finding[1].verdict == HKT_HOLDS && s.finding[1].checks == 1);
    assert_true(s.finding[2].verdict == HKT_ERROR && s.finding[2].checks == 1);
    assert_true(s.finding[3].verdict == HKT_VIOLATED && s.finding[3].checks == 1);
    assert_true(s.method == 1 && s.method_failed == 1);
    CHECK_FAILS(hkt_report_errors(&r), HKT_ENUMERIC,
                "5 verdicts are ERROR; the first, 'broken' of 'c' (first): no convergence");
    scratch_enter();
    hkt_provenance how = {.command = (char *)(uintptr_t) "test", .blas_core = ""};
    CHECK_OK(hkt_report_write_tsv(&r, "r.tsv", &how));
    hkt_table t;
    CHECK_OK(hkt_table_read(&t, "r.tsv"));
    assert_string_equal(t.cell[8], "ERROR");
    assert_string_equal(t.cell[10], "no convergence");
    hkt_table_free(&t);
    CHECK_OK(hkt_report_write_json(&r, "r.json", &how));
    FILE *f = fopen("text", "w");
    hkt_report_print(&r, false, f);
    fclose(f);
    size_t n;
    char *text = scratch_read("text", &n), *json = scratch_read("r.json", &n);
    assert_non_null(strstr(text, ", 5 ERROR\n"));
    assert_non_null(strstr(json, "\"verdict\": \"ERROR\""));
    free(text);
    free(json);
    scratch_leave(0);
    hkt_report_free(&r);
    CHECK_FAILS(hkt_report_run(&r, (hkt_claim_list){stops, 1}, NULL, two, names, 2), HKT_ESYSTEM,
                "check 'none' of 'd': out of memory");
}

static void test_expectations(void **state)
{
    (void)state;
    scratch_enter();
    hkt_report r;
    size_t differ;
    static const hkt_claim *const cost = &hkt_claim_cost;
    CHECK_OK(hkt_report_run(&r, (hkt_claim_list){&cost, 1}, "bound-divisible", &quick, random_models, 1));
    FILE *f = fopen("said", "w");
    scratch_write_text(
        "t", "claim\tcheck\trandom\tcheckpoint\tone_level\ncost\tbound-divisible\tHOLDS\tVIOLATED\tVIOLATED\n");
    CHECK_OK(hkt_report_compare(&r, hkt_claims, "t", f, &differ));
    assert_int_equal(differ, 0);
    scratch_write_text("t",
                       "claim\tcheck\trandom\tcheckpoint\tone_level\ncost\tbound-divisible\tVIOLATED\tHOLDS\tHOLDS\n");
    CHECK_OK(hkt_report_compare(&r, hkt_claims, "t", f, &differ));
    assert_int_equal(differ, 1);
    scratch_write_text("t", "claim\tcheck\trandom\tcheckpoint\tone_level\ncost\tclosed-form\tHOLDS\tHOLDS\tHOLDS\n");
    CHECK_OK(hkt_report_compare(&r, hkt_claims, "t", f, &differ));
    assert_int_equal(differ, 1);
    /* Which column: by the model. */
    hkt_layout layout = {.config = {.levels = 1}};
    hkt_checkpoint model = {.layout = &layout};
    hkt_verify_context context = {.model = &model};
    r.context = &context;
    scratch_write_text(
        "t", "claim\tcheck\trandom\tcheckpoint\tone_level\ncost\tbound-divisible\tVIOLATED\tVIOLATED\tHOLDS\n");
    CHECK_OK(hkt_report_compare(&r, hkt_claims, "t", stdout, &differ));
    assert_int_equal(differ, 0);
    layout.config.levels = 2;
    scratch_write_text(
        "t", "claim\tcheck\trandom\tcheckpoint\tone_level\ncost\tbound-divisible\tVIOLATED\tHOLDS\tVIOLATED\n");
    CHECK_OK(hkt_report_compare(&r, hkt_claims, "t", stdout, &differ));
    assert_int_equal(differ, 0);
    fclose(f);
    size_t n;
    char *said = scratch_read("said", &n);
    assert_string_equal(said, "cost bound-divisible (random models): expected VIOLATED, found HOLDS\n"
                              "cost bound-divisible (random models): expected no such check, found HOLDS\n");
    free(said);
    scratch_write_text("t", "claim\tcheck\trandom\tcheckpoint\tone_level\ncost\tno-such\tHOLDS\tHOLDS\tHOLDS\n");
    CHECK_FAILS(hkt_report_compare(&r, hkt_claims, "t", stdout, &differ), HKT_EINPUT,
                "no check 'no-such' of a claim 'cost'");
    scratch_write_text("t", "claim\tcheck\trandom\ncost\tclosed-form\tHOLDS\n");
    CHECK_FAILS(hkt_report_compare(&r, hkt_claims, "t", stdout, &differ), HKT_EINPUT, "checkpoint");
    hkt_report_free(&r);
    scratch_leave(0);
}

/* Names are keys: unique, without spaces; every text is there; every check has its line in docs/theory.md. */
static void check_registry(hkt_claim_list claims, const char *theory)
{
    for (size_t i = 0; i < claims.n; i++) {
        const hkt_claim *c = claims.claim[i];
        char mention[80];
        assert_ptr_equal(hkt_claim_find(claims, c->id), c);
        snprintf(mention, sizeof mention, "\n## %s", c->id);
        assert_non_null(strstr(theory, mention));
        for (size_t k = 0; k < c->n_checks; k++) {
            const hkt_check *check = c->checks[k];
            assert_ptr_equal(hkt_claim_check(c, check->name), check);
            assert_null(strpbrk(check->name, " \t"));
            assert_true(*check->statement && *check->reference && *check->failure);
            assert_true(!check->holds == !check->violated);
            snprintf(mention, sizeof mention, "`%s`", check->name);
            if (!strstr(theory, mention))
                fail_msg("docs/theory.md does not mention %s of %s", mention, c->id);
        }
        assert_true(c->n_headline > 0);
        for (size_t k = 0; k < c->n_headline; k++)
            assert_ptr_equal(hkt_claim_check(c, c->headline[k].check->name), c->headline[k].check);
    }
}

static void test_registry(void **state)
{
    (void)state;
    size_t n;
    char *theory = scratch_read(source("docs/theory.md"), &n);
    check_registry(hkt_claims, theory);
    check_registry(hkt_foreign_claims, theory);
    check_registry(hkt_stored_claims, theory);
    free(theory);
    assert_null(hkt_claim_find(hkt_claims, "nothing"));
    assert_null(hkt_claim_check(&hkt_claim_psd, "nothing"));
}

/* Running out of memory anywhere in a check is reported and leaves nothing behind. */
static void test_memory(void **state)
{
    (void)state;
    static const char *const name[] = {"decomposition", "converse-witness"};
    check_out_of_memory(&hkt_claim_psd, &quick, name, 2);
    run_out_of_memory(hkt_claim_check(&hkt_claim_psd, "negative-mass"), true, &quick);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_controls),     cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_reproducible), cmocka_unit_test(test_cost_numbers),
        cmocka_unit_test(test_closed_form),  cmocka_unit_test(test_standard_errors),
        cmocka_unit_test(test_psd_numbers),  cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_report),       cmocka_unit_test(test_errors),
        cmocka_unit_test(test_expectations), cmocka_unit_test(test_registry),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

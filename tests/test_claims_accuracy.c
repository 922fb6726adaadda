/* The claim `accuracy`: intervals against closed forms, verdicts on planted runs, and what is said of bad tables. */
#include "tests/check.h"

#include <string.h>

#include "analysis/claims/accuracy/accuracy.h"
#include "analysis/claims/list.h"
#include "analysis/claims/power.h"
#include "base/mem.h"
#include "num/blas.h"
#include "tests/scratch.h"

extern const hkt_claim hkt_claim_accuracy;
extern const hkt_check hkt_accuracy_hkt_over_mha, hkt_accuracy_paper_gain, hkt_accuracy_ablations,
    hkt_accuracy_one_level_below_mha, hkt_accuracy_above_majority;

static const hkt_planted good = {0.55, 0.50, 0.52, 0.366, 0.45};

/* Student's law with two degrees of freedom in closed form: F(t) = 1/2 + t / (2 sqrt(2 + t^2)), hence with a = 2F - 1
 * t = a sqrt(2 / (1 - a^2)). */
static double quantile_of_two(double p)
{
    double a = 2 * p - 1;
    return a * sqrt(2 / (1 - a * a));
}

static void test_interval(void **state)
{
    (void)state;
    CHECK_NEAR(quantile_of_two(0.975), 4.302652729749464, 1e-12); /* the tables' value */
    /* Differences 5, 6, 7 points: mean 6, standard deviation 1; of a: 55, 57, 56. */
    const hkt_runs_row run[] = {
        {"t", "hkt", "main", "0", "x", 0.55, 0.1, 1000}, {"t", "hkt", "main", "1", "x", 0.57, 0.1, 1000},
        {"t", "mha", "main", "2", "x", 0.49, 0.1, 1000}, {"t", "mha", "main", "0", "x", 0.50, 0.1, 1000},
        {"t", "mha", "main", "1", "x", 0.51, 0.1, 1000}, {"t", "hkt", "main", "2", "x", 0.56, 0.1, 1000},
        {"t", "hkt", "main", "3", "x", 0.99, 0.1, 1000}, {"u", "mha", "main", "0", "x", 0.30, 0.1, 1000},
        {"u", "hkt", "main", "0", "x", 0.40, 0.1, 1000}};
    const hkt_runs runs = {.run = run, .n = sizeof run / sizeof *run};
    hkt_paired_runs p[9];
    size_t n = 0;
    CHECK_OK(hkt_paired_runs_find(&runs, (hkt_side){"hkt", "main"}, (hkt_side){"mha", "main"}, p, &n));
    assert_int_equal(n, 2);
    assert_int_equal(hkt_paired_runs_bound(p, n, 1), 1);
    assert_true(!strcmp(p[0].task, "t") && p[0].n == 3 && !strcmp(p[1].task, "u") && p[1].n == 1);
    CHECK_NEAR(p[0].mean, 56, 1e-12);
    CHECK_NEAR(p[0].sd, 1, 1e-12);
    CHECK_NEAR(p[0].other, 50, 1e-12);
    CHECK_NEAR(p[0].difference, 6, 1e-12);
    CHECK_NEAR(p[0].low, 6 - quantile_of_two(0.975) / sqrt(3), 1e-9);
    CHECK_NEAR(p[0].high, 6 + quantile_of_two(0.975) / sqrt(3), 1e-9);
    CHECK_NEAR(p[1].difference, 10, 1e-12);
    assert_true(isnan(p[1].low) && isnan(p[1].high) && isnan(p[1].sd));
    /* Three of them: each at 1 - 0.05/3. */
    hkt_paired_runs three[] = {p[0], p[0], p[0]};
    assert_int_equal(hkt_paired_runs_bound(three, 3, 1), 3);
    CHECK_NEAR(three[2].high, 6 + quantile_of_two(1 - 0.025 / 3) / sqrt(3), 1e-9);
    /* To leave out two of three makes the interval no shorter; what has no interval gets none. */
    assert_int_equal(hkt_paired_runs_bound(three, 1, 3), 3);
    CHECK_NEAR(three[0].high, 6 + quantile_of_two(1 - 0.025 / 3) / sqrt(3), 1e-9);
    assert_int_equal(hkt_paired_runs_bound(p + 1, 1, 3), 0);
    assert_true(isnan(p[1].low));
}

/* P(X >= k), X binomial, by its sum. */
static double upper_tail(size_t k, size_t n, double p)
{
    double sum = 0, N = (double)n;
    for (size_t i = k; i <= n; i++) {
        double x = (double)i;
        sum += exp(lgamma(N + 1) - lgamma(x + 1) - lgamma(N - x + 1) + x * log(p) + (N - x) * log1p(-p));
    }
    return sum;
}

static void test_binomial(void **state)
{
    (void)state;
    double low, high;
    hkt_binomial_interval(0, 10, 0.05, &low, &high); /* (1 - high)^10 = 0.025 */
    assert_true(low == 0);
    CHECK_NEAR(high, 1 - pow(0.025, 0.1), 1e-12);
    hkt_binomial_interval(10, 10, 0.05, &low, &high);
    assert_true(high == 1);
    CHECK_NEAR(low, pow(0.025, 0.1), 1e-12);
    hkt_binomial_interval(5, 10, 0.05, &low, &high); /* Clopper & Pearson's table: 0.187, 0.813 */
    CHECK_NEAR(low, 0.187086, 1e-6);
    CHECK_NEAR(high, 0.812914, 1e-6);
    static const size_t k[] = {560, 3500, 17500}, n[] = {2000, 10000, 25000};
    for (size_t i = 0; i < 3; i++) {
        hkt_binomial_interval(k[i], n[i], 0.01, &low, &high);
        CHECK_NEAR(upper_tail(k[i], n[i], low), 0.005, 1e-7);
        CHECK_NEAR(1 - upper_tail(k[i] + 1, n[i], high), 0.005, 1e-7);
    }
}

static hkt_check_result look(const char *name, const hkt_runs *runs)
{
    const hkt_verify_context ctx = {.runs = runs};
    const hkt_check *check = hkt_claim_check(&hkt_claim_accuracy, name);
    hkt_check_result r = {0};
    assert_non_null(check);
    CHECK_OK(check->run(&ctx, &r, false));
    return r;
}

/* The powers with recorded runs: by the paper's gains and the spread of the pairs there are. */
static void test_powers(void **state)
{
    (void)state;
    static const double spread[] = {2, 0.5, 1}, paper_gain[] = {4.77, 1.44, 7.47};
    static const char *const task[] = {"listops", "cifar10", "imdb"}, *const seed[] = {"0", "1", "2"};
    hkt_runs_row run[24];
    size_t n = 0;
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < 3; i++) { /* differences of 3 + (-1, 0, 1) spread points */
            run[n++] = (hkt_runs_row){task[t], "mha", "main", seed[i], "x", 0.5, 0.2, 1000};
            run[n++] = (hkt_runs_row){task[t], "hkt", "main", seed[i], "x", 0.53 + 0.01 * spread[t] * ((double)i - 1),
                                      0.2,     1000};
        }
    for (size_t i = 0; i < 6; i++) /* two ablations; differences of 2 and 1 points spread */
        run[n++] = (hkt_runs_row){"listops",   "hkt", i < 3 ? "static" : "score",
                                  seed[i % 3], "y",   i < 3 ? 0.5 : 0.5 + 0.01 * ((double)(i % 3) - 1),
                                  0.2,         1000};
    const hkt_runs runs = {.run = run, .n = n};
    const hkt_verify_context ctx = {.runs = &runs};
    double all = 1, none = 1;
    for (size_t t = 0; t < 3; t++) {
        double power = hkt_power_student(3, paper_gain[t] / spread[t], 0.025 / 3);
        assert_true(power > 0.05 && power < 0.95);
        all *= power;
        none *= 1 - power;
    }
    CHECK_NEAR(hkt_accuracy_hkt_over_mha.test->power(&ctx), all, 1e-9);
    CHECK_NEAR(hkt_accuracy_paper_gain.test->power(&ctx), 1 - none, 1e-9);
    CHECK_NEAR(hkt_accuracy_ablations.test->power(&ctx), hkt_power_student(3, 4.77 / 2, 0.025 / 7), 1e-9);
    assert_true(isnan(hkt_accuracy_one_level_below_mha.test->power(&ctx))); /* no such runs */
    /* 1,000 sequences, 18 runs, a largest class of 20 %: noticed from the least k of a tail small enough on. */
    size_t k = 200;
    while (upper_tail(k, 1000, 0.2) > 0.025 / 18)
        k++;
    CHECK_NEAR(hkt_accuracy_above_majority.test->power(&ctx), upper_tail(k, 1000, 0.25), 1e-9);
    for (size_t i = 0; i < hkt_claim_accuracy.n_checks; i++) {
        const hkt_check *check = hkt_claim_accuracy.checks[i];
        hkt_check_result r = look(check->name, &runs);
        hkt_check_power(&r, check->test, &ctx);
        assert_true(r.verdict == HKT_SKIPPED || strstr(r.detail, check->test->alternative) != NULL);
        hkt_check_result_free(&r);
    }
}

static void expect(const char *name, const hkt_runs *runs, hkt_verdict verdict)
{
    hkt_check_result r = look(name, runs);
    if (r.verdict != verdict)
        fail_msg("%s: expected %s, found %s: %s", name, hkt_verdict_name(verdict), hkt_verdict_name(r.verdict),
                 r.detail);
    hkt_check_result_free(&r);
}

/* Runs that are as the paper says: everything holds; the accuracies of two sides exchanged or mixed: not. */
static void test_planted(void **state)
{
    (void)state;
    hkt_runs_row run[HKT_PLANTED_RUNS];
    hkt_planted p = good;
    hkt_runs runs = hkt_plant_runs(&p, run);
    for (size_t i = 0; i < hkt_claim_accuracy.n_checks; i++)
        expect(hkt_claim_accuracy.checks[i]->name, &runs, HKT_HOLDS);
    p = (hkt_planted){good.mha, good.hkt, good.matched, good.one_level, good.other};
    runs = hkt_plant_runs(&p, run);
    expect("hkt-over-mha", &runs, HKT_VIOLATED);
    expect("paper-gain", &runs, HKT_VIOLATED);
    expect("above-majority", &runs, HKT_HOLDS);
    expect("hkt-over-matched", &runs, HKT_VIOLATED);
    /* The labels of one seed exchanged: +5, -5, +5. */
    p = good;
    runs = hkt_plant_runs(&p, run);
    double swap = run[1].accuracy;
    run[1].accuracy = run[HKT_PLANTED_SEEDS + 1].accuracy;
    run[HKT_PLANTED_SEEDS + 1].accuracy = swap;
    expect("hkt-over-mha", &runs, HKT_INCONCLUSIVE);
    expect("paper-gain", &runs, HKT_INCONCLUSIVE); /* an interval that holds 4.77 and 0 */
    /* An ablation that is better: all others below the full model do not outweigh it. */
    p = good;
    p.one_level = 0.58;
    runs = hkt_plant_runs(&p, run);
    expect("ablations", &runs, HKT_VIOLATED);
    expect("one-level-below-mha", &runs, HKT_VIOLATED);
    hkt_check_result r = look("ablations", &runs);
    assert_string_equal(r.condition, "no-conv, static HOLDS; levels-1 VIOLATED");
    assert_true(r.rows.n_rows == 3 && r.rows.n_names == 2 && r.rows.n_cols == 7);
    assert_string_equal(r.rows.name[0], "listops");
    assert_string_equal(r.rows.name[1], "levels-1");
    CHECK_NEAR(r.rows.cell[1], 55, 1e-9); /* mean of the full model */
    CHECK_NEAR(r.rows.cell[3], 58, 1e-9); /* of the ablation */
    CHECK_NEAR(r.rows.cell[4], -3, 1e-9);
    assert_true(r.measured == r.rows.cell[6] && r.measured < 0); /* the upper end */
    hkt_check_result_free(&r);
    /* At chance: the interval of a run around the majority's share. */
    p = (hkt_planted){0.165, 0.16, 0.16, 0.16, 0.16};
    runs = hkt_plant_runs(&p, run);
    expect("above-majority", &runs, HKT_INCONCLUSIVE);
}

/* Too little to say anything: never HOLDS. */
static void test_too_few(void **state)
{
    (void)state;
    hkt_runs_row run[HKT_PLANTED_RUNS];
    hkt_runs runs = hkt_plant_runs(&good, run);
    for (size_t i = 0; i < HKT_PLANTED_RUNS; i++)
        run[i].seed = i % HKT_PLANTED_SEEDS == 0 ? "0" : i < HKT_PLANTED_SEEDS ? "8" : "9"; /* one pair */
    expect("hkt-over-mha", &runs, HKT_INCONCLUSIVE);
    expect("paper-gain", &runs, HKT_INCONCLUSIVE);
    expect("one-level-loss", &runs, HKT_INCONCLUSIVE);
    runs = hkt_plant_runs(&good, run);
    for (size_t i = 0; i < HKT_PLANTED_RUNS; i++)
        run[i].accuracy = i < HKT_PLANTED_SEEDS ? 0.55 : 0.50; /* copies of one run */
    expect("hkt-over-mha", &runs, HKT_INCONCLUSIVE);
    runs = hkt_plant_runs(&good, run);
    for (size_t i = 0; i < HKT_PLANTED_SEEDS; i++)
        run[i].config = "another ini"; /* not the same setting */
    expect("hkt-over-mha", &runs, HKT_SKIPPED);
    expect("ablations", &runs, HKT_HOLDS);
    runs = hkt_plant_runs(&good, run);
    for (size_t i = 0; i < HKT_PLANTED_RUNS; i++)
        run[i].task = "text"; /* not in the paper's table */
    expect("hkt-over-mha", &runs, HKT_HOLDS);
    expect("paper-gain", &runs, HKT_SKIPPED);
    runs.n = 0;
    const hkt_verify_context none = {.quick = true};
    for (size_t i = 0; i < hkt_claim_accuracy.n_checks; i++) {
        hkt_check_result r = {0};
        expect(hkt_claim_accuracy.checks[i]->name, &runs, HKT_SKIPPED);
        CHECK_OK(hkt_claim_accuracy.checks[i]->run(&none, &r, false));
        assert_int_equal(r.verdict, HKT_SKIPPED);
        assert_string_equal(r.detail, "needs --results DIR");
        hkt_check_result_free(&r);
    }
}

#define HEAD "# c\ntask\tmodel\tsetting\tseed\tconfig\ttest_accuracy\tmajority\ttest_sequences\n"
#define ROW  "listops\thkt\tmain\t0\t7\t0.5\t0.2\t100\n"

static void test_read(void **state)
{
    (void)state;
    scratch_enter();
    hkt_runs r;
    scratch_write_text("runs.tsv", HEAD ROW "# a comment\nimdb\tmha\tno-conv\t12\t7\t5e-1\t0.5\t25000\n# ok\n");
    CHECK_OK(hkt_runs_read(&r, "."));
    assert_true(r.n == 2 && !strcmp(r.run[1].task, "imdb") && !strcmp(r.run[1].model, "mha"));
    assert_true(!strcmp(r.run[1].setting, "no-conv") && !strcmp(r.run[1].seed, "12") && !strcmp(r.run[1].config, "7"));
    assert_true(r.run[1].accuracy == 0.5 && r.run[1].majority == 0.5 && r.run[1].n == 25000);
    hkt_runs_free(&r);
    /* The bad row is on line 5, after a comment. */
    static const struct {
        const char *row, *message;
    } bad[] = {
        {"listops\thkt\tmain\t1\t7\tnan\t0.2\t100\n",
         "./runs.tsv:5: column 'test_accuracy': expected a number in 0..1, found 'nan'"},
        {"listops\thkt\tmain\t1\t7\t1.5\t0.2\t100\n",
         "./runs.tsv:5: column 'test_accuracy': expected a number in 0..1, found '1.5'"},
        {"listops\thkt\tmain\t1\t7\t-0.1\t0.2\t100\n", "found '-0.1'"},
        {"listops\thkt\tmain\t1\t7\thigh\t0.2\t100\n",
         "./runs.tsv:5: column 'test_accuracy': expected a number in 0..1, found 'high'"},
        {"listops\thkt\tmain\t1\t7\t0.5x\t0.2\t100\n", "found '0.5x'"},
        {"listops\thkt\tmain\t1\t7\t\t0.2\t100\n", "found ''"},
        {"listops\thkt\tmain\t1\t7\t0.5\t2\t100\n",
         "./runs.tsv:5: column 'majority': expected a number in 0..1, found '2'"},
        {"listops\thkt\tmain\t1\t7\t0.5\t0.2\t0\n",
         "./runs.tsv:5: column 'test_sequences': expected a whole number, at least 1, found '0'"},
        {"listops\thkt\tmain\t1\t7\t0.5\t0.2\t10.5\n", "found '10.5'"},
        {"listops\tgpt\tmain\t1\t7\t0.5\t0.2\t100\n", "./runs.tsv:5: column 'model': expected hkt or mha, found 'gpt'"},
        {"listops\thkt\tmain\tx\t7\t0.5\t0.2\t100\n",
         "./runs.tsv:5: column 'seed': expected a whole number, found 'x'"},
        {"list ops\thkt\tmain\t1\t7\t0.5\t0.2\t100\n",
         "./runs.tsv:5: column 'task': expected a name of letters, digits and -_.+, found 'list ops'"},
        {"listops\thkt\tmain\t0\t7\t0.6\t0.2\t100\n",
         "./runs.tsv:5: expected each run once, found listops hkt main with seed 0 on line 3 too"},
        {"listops\tmha\tmain\t0\t7\t0.5\t0.2\t200\n", "./runs.tsv:5: expected the test split of 'listops' as on line 3 "
                                                      "(100 sequences, majority 0.2), found 200 and 0.2"},
        {"listops\tmha\tmain\t0\t7\t0.5\t0.3\t100\n", "found 100 and 0.3"},
        {"listops\tmha\tmain\t0\t7\t0.5\t0.2\n", "./runs.tsv:5: expected 8 cells, found 7"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[1000];
        snprintf(text, sizeof text, "%s%s# a comment\n%s# ok\n", HEAD, ROW, bad[i].row);
        scratch_write_text("runs.tsv", text);
        CHECK_FAILS(hkt_runs_read(&r, "."), HKT_EINPUT, bad[i].message);
    }
    scratch_write_text("runs.tsv", "task\tmodel\n# ok\n");
    CHECK_FAILS(hkt_runs_read(&r, "."), HKT_EINPUT, "./runs.tsv: expected a column 'setting', found none");
    scratch_write_text("runs.tsv", HEAD ROW);
    CHECK_FAILS(hkt_runs_read(&r, "."), HKT_EINPUT, "'# ok'");
    CHECK_FAILS(hkt_runs_read(&r, "nowhere"), HKT_EINPUT, "nowhere/runs.tsv");
    scratch_leave(0);
}

/* Running out of memory anywhere is reported and leaves nothing behind. */
static void test_no_memory(void **state)
{
    (void)state;
    scratch_enter();
    scratch_write_text("runs.tsv", HEAD ROW "listops\tmha\tmain\t0\t7\t0.6\t0.2\t100\n# ok\n");
    size_t live = hkt_mem_live();
    for (size_t n = 1;; n++) {
        hkt_runs r;
        hkt_check_result out[2] = {{0}, {0}};
        hkt_mem_fail_at(n);
        hkt_status status = hkt_runs_read(&r, ".");
        const hkt_verify_context ctx = {.runs = &r};
        if (status == HKT_OK)
            status = hkt_claim_check(&hkt_claim_accuracy, "hkt-over-mha")->run(&ctx, out, false);
        if (status == HKT_OK)
            status = hkt_claim_check(&hkt_claim_accuracy, "above-majority")->run(&ctx, out + 1, false);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        hkt_check_result_free(out);
        hkt_check_result_free(out + 1);
        hkt_runs_free(&r);
        assert_int_equal(hkt_mem_live(), live);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        if (!failed)
            break;
    }
    scratch_leave(0);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interval), cmocka_unit_test(test_binomial),
                                       cmocka_unit_test(test_powers),   cmocka_unit_test(test_planted),
                                       cmocka_unit_test(test_too_few),  cmocka_unit_test(test_read),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

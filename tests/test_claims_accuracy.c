/* The claim `accuracy`: intervals against closed forms, verdicts on planted runs, and what is said of bad tables. */
#include "tests/check.h"

#include <string.h>

#include "analysis/claims/accuracy/accuracy.h"
#include "analysis/claims/list.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "tests/scratch.h"

extern const hkt_claim hkt_claim_accuracy;
extern const hkt_check hkt_accuracy_hkt_over_mha, hkt_accuracy_paper_gain, hkt_accuracy_one_level_below_mha,
    hkt_accuracy_above_majority;

static const hkt_planted good = {0.55, 0.50, 0.52, 0.366, 0.45};

#define RUN(task_, model_, setting_, seed_, config_, accuracy_, n_)                                                    \
    {                                                                                                                  \
        .task = task_, .model = model_, .setting = setting_, .seed = seed_, .config = config_, .accuracy = accuracy_,  \
        .majority = 0.1, .n = n_, .reproducible = true                                                                 \
    }

static const hkt_look one_look[] = {{3, 0.05}};

static hkt_comparison main_pair(const char *task)
{
    return (hkt_comparison){.task = task, .a = {"hkt", "main"}, .b = {"mha", "main"}};
}

/* Means, spreads, seeds by number and not by place, the bound of the test set's term. */
static void test_measures(void **state)
{
    (void)state;
    hkt_runs_row run[] = {
        RUN("t", "hkt", "main", "0", "x", 0.55, 10000), RUN("t", "hkt", "main", "10", "x", 0.99, 10000),
        RUN("t", "hkt", "main", "1", "x", 0.57, 10000), RUN("t", "mha", "main", "2", "x", 0.49, 10000),
        RUN("t", "mha", "main", "0", "x", 0.50, 10000), RUN("t", "mha", "main", "1", "x", 0.51, 10000),
        RUN("t", "hkt", "main", "2", "x", 0.56, 10000), RUN("u", "mha", "main", "0", "x", 0.30, 10000),
        RUN("u", "hkt", "main", "0", "x", 0.40, 10000), RUN("t", "hkt", "main", "3", "y", 0.10, 10000)};
    const hkt_runs runs = {.run = run, .n = sizeof run / sizeof *run};
    const hkt_family family = {one_look, 1, 1};
    hkt_comparison c[] = {main_pair("t"), main_pair("u")};
    CHECK_OK(hkt_compare_runs(&runs, &family, c, 1));
    assert_true(c->n_a == 4 && c->n_b == 3 && c->look == 1 && c->seeds == 3 && c->unknown);
    CHECK_NEAR(c->mean_a, 56, 1e-12);
    CHECK_NEAR(c->sd_a, 1, 1e-12);
    CHECK_NEAR(c->mean_b, 50, 1e-12);
    CHECK_NEAR(c->w.difference, 6, 1e-12);
    CHECK_NEAR(c->w.variance[0], 1.0 / 3, 1e-12);
    CHECK_NEAR(c->w.variance[1], 1.0 / 3, 1e-12);
    CHECK_NEAR(c->w.variance[2], (0.56 * 0.44 + 0.25), 1e-12); /* 1e4 / 10000 */
    assert_true(c->w.df[0] == 2 && c->w.df[1] == 2 && c->w.df[2] == 9999);
    CHECK_NEAR(c->p, hkt_welch_p(&c->w), 1e-15);
    CHECK_NEAR(c->low, 6 - hkt_welch_half_width(&c->w, 0.05), 1e-12);
    CHECK_NEAR(c->half, hkt_welch_half_width(&c->w, 0.05), 1e-12);
    CHECK_NEAR(c->power, hkt_welch_power(&c->w, 1, 0.05), 1e-12);
    assert_true(c->statement == HKT_ABOVE && c->needed == 0);
    /* One seed: no look. Both together, the second without a test: Holm's factor for the first is 2. */
    CHECK_OK(hkt_compare_runs(&runs, &family, c, 2));
    assert_true(c[1].look == 0 && isnan(c[1].low) && c[1].statement == HKT_OPEN && c[1].n_a == 1);
    c[0] = main_pair("t");
    CHECK_OK(hkt_compare_runs(&runs, &family, c, 2));
    CHECK_NEAR(c->p, 2 * hkt_welch_p(&c->w), 1e-15);
    CHECK_NEAR(c->high, 6 + hkt_welch_half_width(&c->w, 0.025), 1e-12);
    /* Rows of the old arithmetic enter no test. */
    run[2].reproducible = false;
    c[0] = main_pair("t");
    CHECK_OK(hkt_compare_runs(&runs, &family, c, 1));
    assert_true(c->n_a == 3 && c->seeds == 3);
    CHECK_NEAR(c->mean_a, 70, 1e-12);
    /* Two sides on different test sequences. */
    run[3].n = run[4].n = run[5].n = 20000;
    c[0] = main_pair("t");
    CHECK_FAILS(
        hkt_compare_runs(&runs, &family, c, 1), HKT_EINPUT,
        "expected hkt main and mha main of 't' on the same test sequences, found 10000 (majority 0.1) and 20000 "
        "(0.1)");
}

enum { SEQUENCES = 400, SIDE = 3 };

/* The variance over sequences of the difference of the shares that are right, from the counts of pairs, against the
 * same from the sequences themselves. */
static void test_sequence_variance(void **state)
{
    (void)state;
    hkt_rng rng = hkt_rng_make(3, HKT_STREAM_TEST, 0);
    bool right[2 * SIDE][SEQUENCES];
    static const char *const seed[SIDE] = {"0", "1", "2"};
    hkt_runs_row run[2 * SIDE];
    hkt_runs_pair pair[SIDE * (2 * SIDE - 1)];
    size_t n_pairs = 0;
    for (size_t s = 0; s < SEQUENCES; s++) {
        double hard = hkt_rng_uniform(&rng); /* sequences differ, runs are alike */
        for (size_t r = 0; r < 2 * SIDE; r++)
            right[r][s] = hkt_rng_uniform(&rng) < (r < SIDE ? hard : 0.2 + 0.7 * hard);
    }
    for (size_t r = 0; r < 2 * SIDE; r++) {
        size_t n = 0;
        for (size_t s = 0; s < SEQUENCES; s++)
            n += right[r][s];
        run[r] = (hkt_runs_row)RUN("t", r < SIDE ? "hkt" : "mha", "main", seed[r % SIDE], "x", (double)n / SEQUENCES,
                                   SEQUENCES);
        for (size_t k = r + 1; k < 2 * SIDE; k++) {
            pair[n_pairs] = (hkt_runs_pair){r, k, 0};
            for (size_t s = 0; s < SEQUENCES; s++)
                pair[n_pairs].both += right[r][s] && right[k][s];
            n_pairs++;
        }
    }
    double d[SEQUENCES], mean = 0, v = 0;
    for (size_t s = 0; s < SEQUENCES; s++) {
        d[s] = 0;
        for (size_t r = 0; r < 2 * SIDE; r++)
            d[s] += (r < SIDE ? 1.0 : -1.0) * right[r][s] / SIDE;
        mean += d[s] / SEQUENCES;
    }
    for (size_t s = 0; s < SEQUENCES; s++)
        v += (d[s] - mean) * (d[s] - mean) / (SEQUENCES - 1);
    const hkt_family family = {one_look, 1, 1};
    hkt_runs runs = {.run = run, .n = 2 * SIDE, .pair = pair, .n_pairs = n_pairs};
    hkt_comparison c = main_pair("t");
    CHECK_OK(hkt_compare_runs(&runs, &family, &c, 1));
    assert_false(c.unknown);
    CHECK_NEAR(c.w.variance[2], 1e4 * v / SEQUENCES, 1e-9);
    for (size_t i = 0; i < n_pairs; i++) { /* a pair that is missing, any: the bound, which is larger */
        hkt_runs_pair one = pair[i];
        pair[i].i = pair[i].k = i == 0 ? 0 : pair[i - 1].k; /* no pair */
        pair[i].i = i == 0 ? 0 : pair[i - 1].i;
        hkt_comparison without = main_pair("t");
        CHECK_OK(hkt_compare_runs(&runs, &family, &without, 1));
        assert_true(without.unknown && without.w.variance[2] > c.w.variance[2]);
        pair[i] = one;
    }
}

static hkt_runs_row of_seed(const char *model, const char *seed, double accuracy)
{
    return (hkt_runs_row)RUN("t", model, "main", seed, "x", accuracy, 100000000);
}

/* Statements: open at the first look, made at the second, kept at the third whatever comes; equality; seeds needed. */
static void test_looks(void **state)
{
    (void)state;
    static const char *const seed[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    static const double wave[] = {-0.004, 0.004, 0.001, -0.003, 0.002, -0.001, 0.003, -0.002};
    static const hkt_look looks[] = {{3, 0.02}, {6, 0.02}, {8, 0.01}};
    const hkt_family family = {looks, 3, 1};
    hkt_runs_row run[16];
    const hkt_runs runs = {.run = run, .n = 16};
    for (size_t i = 0; i < 16; i++)
        run[i] = of_seed(i < 8 ? "hkt" : "mha", seed[i % 8], 0.5 + (i < 8 ? 0.01 : 0) + wave[i % 8]);
    hkt_comparison c = main_pair("t");
    CHECK_OK(hkt_compare_runs(&runs, &family, &c, 1));
    assert_true(c.look == 2 && c.seeds == 6 && c.statement == HKT_ABOVE && c.p < 0.02);
    run[6].accuracy = run[7].accuracy = 0.2; /* after the statement */
    c = main_pair("t");
    CHECK_OK(hkt_compare_runs(&runs, &family, &c, 1));
    assert_true(c.look == 2 && c.statement == HKT_ABOVE);
    for (size_t i = 0; i < 8; i++)
        run[i].accuracy = 0.49 + wave[i];
    c = main_pair("t");
    CHECK_OK(hkt_compare_runs(&runs, &family, &c, 1));
    assert_true(c.look == 2 && c.statement == HKT_BELOW && c.high < 0);
    for (size_t i = 0; i < 8; i++)
        run[i].accuracy = 0.5005 + wave[7 - i] / 4;
    c = main_pair("t");
    CHECK_OK(hkt_compare_runs(&runs, &family, &c, 1));
    assert_true(c.statement == HKT_EQUAL && c.p > 0.02 && c.p_equal < 0.02 && c.low < 0 && c.high > 0);
    assert_string_equal(hkt_statement_name(c.statement), "equal");
    for (size_t i = 0; i < 8; i++)
        run[i].accuracy = 0.506 + 4 * wave[7 - i];
    c = main_pair("t");
    CHECK_OK(hkt_compare_runs(&runs, &family, &c, 1));
    assert_true(c.look == 3 && c.seeds == 8 && c.statement == HKT_OPEN && c.needed > 8);
    assert_int_equal(c.needed, hkt_welch_seeds(&c.w, c.sd_a, c.sd_b, c.w.difference, 0.01, 0.8, 10000));
    for (size_t i = 0; i < 16; i++)
        run[i].n = 1000; /* the test set alone leaves 2 points open */
    c = main_pair("t");
    CHECK_OK(hkt_compare_runs(&runs, &family, &c, 1));
    assert_true(c.statement == HKT_OPEN && c.needed == 0);
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

/* The powers with recorded runs: the least over the tasks, with the variances found. */
static void test_powers(void **state)
{
    (void)state;
    static const double spread[] = {0.002, 0.0005, 0.001}, gain[] = {4.77, 1.44, 7.47};
    static const char *const task[] = {"listops", "cifar10", "imdb"}, *const seed[] = {"0", "1", "2"};
    hkt_runs_row run[18];
    size_t n = 0;
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < 3; i++) {
            run[n] =
                (hkt_runs_row)RUN(task[t], "mha", "main", seed[i], "x", 0.5 + spread[t] * ((double)i - 1) / 2, 100000);
            run[n++].majority = 0.2;
            run[n] =
                (hkt_runs_row)RUN(task[t], "hkt", "main", seed[i], "x", 0.53 + spread[t] * ((double)i - 1), 100000);
            run[n++].majority = 0.2;
        }
    const hkt_runs runs = {.run = run, .n = n};
    const hkt_verify_context ctx = {.runs = &runs}, none = {.runs = NULL};
    double one_point = 1, of_gain = 1;
    for (size_t t = 0; t < 3; t++) {
        const double s = 100 * spread[t], v = 1e4 * (0.53 * 0.47 + 0.25) / 100000;
        const hkt_welch w = {.variance = {s * s / 3, s * s / 12, v}, .df = {2, 2, 99999}};
        one_point = fmin(one_point, hkt_welch_power(&w, 1, 0.005 / 4));
        of_gain = fmin(of_gain, hkt_welch_power(&w, gain[t], 0.005 / 4));
    }
    assert_true(one_point > 0.05 && one_point < 0.95 && of_gain > one_point);
    CHECK_NEAR(hkt_accuracy_hkt_over_mha.test->power(&ctx), one_point, 1e-9);
    CHECK_NEAR(hkt_accuracy_paper_gain.test->power(&ctx), of_gain, 1e-9);
    assert_true(isnan(hkt_accuracy_one_level_below_mha.test->power(&ctx))); /* no such runs */
    assert_true(isnan(hkt_accuracy_hkt_over_mha.test->power(&none)));
    for (size_t i = 0; i < n; i++)
        run[i].n = 1000;
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
    for (size_t i = 0; i < hkt_claim_accuracy.n_checks; i++) {
        const char *name = hkt_claim_accuracy.checks[i]->name;
        expect(name, &runs, strcmp(name, "near-mha-over-mha") ? HKT_HOLDS : HKT_SKIPPED);
    }
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
    assert_string_equal(r.condition, "listops no-conv, listops static, listops fixed-down HOLDS; "
                                     "listops levels-1 VIOLATED");
    assert_true(r.rows.n_rows == 4 && r.rows.n_names == 3);
    assert_string_equal(r.rows.name[0], "listops");
    assert_string_equal(r.rows.name[1], "levels-1");
    assert_string_equal(r.rows.name[2], "below");
    assert_non_null(strstr(r.found, "listops levels-1 -3.00 ["));
    assert_true(r.measured < 0 && r.measured > -3); /* the upper end */
    hkt_check_result_free(&r);
    /* The last one of a family counts in it as the first does. */
    p = good;
    p.other = 0.58;
    runs = hkt_plant_runs(&p, run);
    for (size_t i = 0; i < 2 * HKT_PLANTED_SEEDS; i++)
        run[HKT_PLANTED_RUNS - 3 * HKT_PLANTED_SEEDS + i].accuracy -= 0.1;
    expect("ablations", &runs, HKT_VIOLATED); /* fixed-down alone */
    /* At chance: the interval of a run around the majority's share. */
    p = (hkt_planted){0.16, 0.16, 0.16, 0.16, 0.16};
    runs = hkt_plant_runs(&p, run);
    expect("above-majority", &runs, HKT_INCONCLUSIVE);
    /* Another base, and the start near MHA in it. */
    p = good;
    runs = hkt_plant_runs(&p, run);
    for (size_t i = 0; i < HKT_PLANTED_RUNS; i++)
        run[i].setting = i / HKT_PLANTED_SEEDS < 2    ? "stream"
                         : i / HKT_PLANTED_SEEDS == 2 ? "stream-near-mha"
                                                      : "three";
    for (size_t i = 0; i < HKT_PLANTED_RUNS; i++)
        run[i].model = i / HKT_PLANTED_SEEDS == 1 ? "mha" : "hkt";
    runs.n = 3 * HKT_PLANTED_SEEDS;
    expect("hkt-over-mha", &runs, HKT_HOLDS);
    expect("near-mha-over-mha", &runs, HKT_HOLDS);
    expect("above-majority", &runs, HKT_HOLDS);
    expect("ablations", &runs, HKT_SKIPPED);
}

/* Too little to say anything: never HOLDS. */
static void test_too_few(void **state)
{
    (void)state;
    hkt_runs_row run[HKT_PLANTED_RUNS];
    hkt_runs runs = hkt_plant_runs(&good, run);
    runs.n = 0;
    for (size_t i = 0; i < HKT_PLANTED_RUNS; i++)
        if (i % HKT_PLANTED_SEEDS < 2)
            run[runs.n++] = run[i]; /* two seeds */
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
    expect("hkt-over-mha", &runs, HKT_INCONCLUSIVE);
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

#define HEAD "# c\ntask\tmodel\tsetting\tseed\tarithmetic\tconfig\ttest_accuracy\tmajority\ttest_sequences\n"
#define ROW  "listops\thkt\tmain\t0\treproducible\t7\t0.5\t0.2\t100\n"

static void test_read(void **state)
{
    (void)state;
    scratch_enter();
    hkt_runs r;
    scratch_write_text("runs.tsv", HEAD ROW "# a comment\nimdb\tmha\tno-conv\t12\told\t7\t5e-1\t0.5\t25000\n# ok\n");
    CHECK_OK(hkt_runs_read(&r, "."));
    assert_true(r.n == 2 && !strcmp(r.run[1].task, "imdb") && !strcmp(r.run[1].model, "mha"));
    assert_true(!strcmp(r.run[1].setting, "no-conv") && !strcmp(r.run[1].seed, "12") && !strcmp(r.run[1].config, "7"));
    assert_true(r.run[1].accuracy == 0.5 && r.run[1].majority == 0.5 && r.run[1].n == 25000);
    assert_true(r.run[0].reproducible && !r.run[1].reproducible);
    hkt_runs_free(&r);
    /* The bad row is on line 5, after a comment. */
    static const struct {
        const char *row, *message;
    } bad[] = {
        {"listops\thkt\tmain\t1\treproducible\t7\tnan\t0.2\t100\n",
         "./runs.tsv:5: column 'test_accuracy': expected a number in 0..1, found 'nan'"},
        {"listops\thkt\tmain\t1\treproducible\t7\t1.5\t0.2\t100\n",
         "./runs.tsv:5: column 'test_accuracy': expected a number in 0..1, found '1.5'"},
        {"listops\thkt\tmain\t1\treproducible\t7\t-0.1\t0.2\t100\n", "found '-0.1'"},
        {"listops\thkt\tmain\t1\treproducible\t7\thigh\t0.2\t100\n",
         "./runs.tsv:5: column 'test_accuracy': expected a number in 0..1, found 'high'"},
        {"listops\thkt\tmain\t1\treproducible\t7\t0.5x\t0.2\t100\n", "found '0.5x'"},
        {"listops\thkt\tmain\t1\treproducible\t7\t\t0.2\t100\n", "found ''"},
        {"listops\thkt\tmain\t1\treproducible\t7\t0.5\t2\t100\n",
         "./runs.tsv:5: column 'majority': expected a number in 0..1, found '2'"},
        {"listops\thkt\tmain\t1\treproducible\t7\t0.5\t0.2\t0\n",
         "./runs.tsv:5: column 'test_sequences': expected a whole number, at least 1, found '0'"},
        {"listops\thkt\tmain\t1\treproducible\t7\t0.5\t0.2\t10.5\n", "found '10.5'"},
        {"listops\tgpt\tmain\t1\treproducible\t7\t0.5\t0.2\t100\n",
         "./runs.tsv:5: column 'model': expected hkt or mha, found 'gpt'"},
        {"listops\thkt\tmain\tx\treproducible\t7\t0.5\t0.2\t100\n",
         "./runs.tsv:5: column 'seed': expected a whole number, found 'x'"},
        {"list ops\thkt\tmain\t1\treproducible\t7\t0.5\t0.2\t100\n",
         "./runs.tsv:5: column 'task': expected a name of letters, digits and -_.+, found 'list ops'"},
        {"listops\thkt\tmain\t0\treproducible\t7\t0.6\t0.2\t100\n",
         "./runs.tsv:5: expected each run once, found listops hkt main with seed 0 on line 3 too"},
        {"listops\thkt\tmain\t1\treproducible\t7\t0.5\t0.2\t200\n",
         "./runs.tsv:5: expected the test split of 'listops main' as on line 3 "
         "(100 sequences, majority 0.2), found 200 and 0.2"},
        {"listops\thkt\tmain\t1\treproducible\t7\t0.5\t0.3\t100\n", "found 100 and 0.3"},
        {"listops\tmha\tmain\t0\treproducible\t7\t0.5\t0.2\n", "./runs.tsv:5: expected 9 cells, found 8"},
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

#define PAIR_HEAD "task\tmodel\tsetting\tseed\tother_model\tother_setting\tother_seed\tboth_right\n"

/* Runs of 50 and 70 right of 100 and of 60 of 200: a pair has 20 to 50 in common. */
static void test_read_agreement(void **state)
{
    (void)state;
    scratch_enter();
    hkt_runs r;
    scratch_write_text("runs.tsv", HEAD ROW "listops\tmha\tmain\t0\treproducible\t7\t0.7\t0.2\t100\n"
                                            "listops\tmha\tstream\t0\treproducible\t7\t0.3\t0.2\t200\n"
                                            "listops\thkt\tmain\t5\treproducible\t7\t0.4\t0.2\t100\n# ok\n");
    scratch_write_text("agreement.tsv", PAIR_HEAD "listops\tmha\tmain\t0\thkt\tmain\t0\t33\n"
                                                  "listops\thkt\tmain\t0\thkt\tmain\t5\t20\n# ok\n");
    CHECK_OK(hkt_runs_read(&r, "."));
    CHECK_NEAR(hkt_runs_both_right(&r, r.run, r.run + 1), 33, 0);
    CHECK_NEAR(hkt_runs_both_right(&r, r.run + 1, r.run), 33, 0);
    CHECK_NEAR(hkt_runs_both_right(&r, r.run + 3, r.run), 20, 0);
    CHECK_NEAR(hkt_runs_both_right(&r, r.run + 1, r.run + 1), 70, 0);
    assert_true(isnan(hkt_runs_both_right(&r, r.run + 1, r.run + 3)));
    hkt_runs_free(&r);
    static const struct {
        const char *row, *message;
    } bad[] = {
        {"listops\tmha\tmain\t1\thkt\tmain\t0\t33\n",
         "./agreement.tsv:2: expected a run of runs.tsv, found listops mha main with seed 1"},
        {"listops\tmha\tmain\t0\thkt\tmain\t9\t33\n", "found listops hkt main with seed 9"},
        {"listops\tmha\tmain\t0\tmha\tmain\t0\t33\n", "column 'other_seed': expected another run, found '0'"},
        {"listops\tmha\tmain\t0\tmha\tstream\t0\t33\n", "expected a run on the same test sequences, found '0'"},
        {"listops\tmha\tmain\t0\thkt\tmain\t0\t33.5\n", "column 'both_right': expected a whole number, found '33.5'"},
        {"listops\tmha\tmain\t0\thkt\tmain\t0\tnan\n", "expected a whole number, found 'nan'"},
        {"listops\tmha\tmain\t0\thkt\tmain\t0\t51\n",
         "expected 20 to 50, since the runs are right on 70 and 50 of 100, found 51"},
        {"listops\tmha\tmain\t0\thkt\tmain\t0\t19\n", "found 19"},
        {"listops\tmha\tmain\t0\thkt\tmain\t0\t33\nlistops\thkt\tmain\t0\tmha\tmain\t0\t33\n",
         "expected each pair of runs once, found listops hkt main with seed 0 and mha main with seed 0 twice"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[1000];
        snprintf(text, sizeof text, "%s%s# ok\n", PAIR_HEAD, bad[i].row);
        scratch_write_text("agreement.tsv", text);
        CHECK_FAILS(hkt_runs_read(&r, "."), HKT_EINPUT, bad[i].message);
    }
    scratch_write_text("agreement.tsv", "task\tmodel\n# ok\n");
    CHECK_FAILS(hkt_runs_read(&r, "."), HKT_EINPUT, "./agreement.tsv: expected a column 'setting', found none");
    scratch_leave(0);
}

/* Running out of memory anywhere is reported and leaves nothing behind. */
static void test_no_memory(void **state)
{
    (void)state;
    scratch_enter();
    scratch_write_text("runs.tsv", HEAD ROW "listops\tmha\tmain\t0\treproducible\t7\t0.6\t0.2\t100\n# ok\n");
    scratch_write_text("agreement.tsv", PAIR_HEAD "listops\tmha\tmain\t0\thkt\tmain\t0\t33\n# ok\n");
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_measures), cmocka_unit_test(test_sequence_variance),
                                       cmocka_unit_test(test_looks),    cmocka_unit_test(test_read_agreement),
                                       cmocka_unit_test(test_binomial), cmocka_unit_test(test_powers),
                                       cmocka_unit_test(test_planted),  cmocka_unit_test(test_too_few),
                                       cmocka_unit_test(test_read),     cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* accuracy.c - the claim `accuracy`: the paper's table from recorded runs (hkt-verify --results DIR). */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/claims/accuracy/accuracy.h"
#include "analysis/claims/power.h"
#include "base/mem.h"

static const hkt_side full = {"hkt", "main"}, plain = {"mha", "main"}, matched = {"mha", "matched"},
                      one_level = {"hkt", "levels-1"};
/* What an ablation takes away; levels-4, which adds a level, is none. */
static const hkt_side all_ablations[] = {{"hkt", "levels-1"},    {"hkt", "levels-2"}, {"hkt", "no-conv"},
                                         {"hkt", "static"},      {"hkt", "score"},    {"hkt", "fixed-down"},
                                         {"hkt", "no-attention"}};
enum { N_ABLATIONS = sizeof all_ablations / sizeof *all_ablations };

/* The paper's gains in points, 55.10 - 50.33, 35.45 - 34.01, 70.19 - 62.72, and how a pair spreads when its +- are
 * standard deviations of independent runs: sqrt(0.29^2 + 0.12^2), sqrt(0.09^2 + 0.19^2), sqrt(0.57^2 + 0.40^2). */
static const struct {
    const char *task;
    double gain, spread;
} paper[] = {{"listops", 4.77, 0.314}, {"cifar10", 1.44, 0.210}, {"imdb", 7.47, 0.696}};
enum { N_TASKS = sizeof paper / sizeof *paper };
enum { PAPER_SEEDS = 3 };
static const double paper_loss = 18.4; /* of one level against the full model; which task is not known */

/* --- joining the verdicts of several intervals -------------------------------------------------------------------- */

static int weight(hkt_verdict v)
{
    return v == HKT_VIOLATED ? 3 : v == HKT_INCONCLUSIVE ? 2 : 1;
}

/* The worst verdict; of equals that with the least margin. A fresh `out` is the first. */
static void join(hkt_check_result *out, const hkt_check_result *one, bool first)
{
    int a = weight(out->verdict), b = weight(one->verdict);
    if (!first && (b < a || (b == a && !(one->margin < out->margin))))
        return;
    out->verdict = one->verdict;
    out->measured = one->measured;
    out->bound = one->bound;
    out->margin = one->margin;
    out->relation = one->relation;
}

/* Appends to a text of `size` bytes while there is room. */
static void append(char *to, size_t size, const char *text)
{
    size_t used = strlen(to);
    if (used + strlen(text) < size)
        strcpy(to + used, text);
}

/* --- paired comparisons ------------------------------------------------------------------------------------------- */

typedef void (*judge_fn)(const hkt_paired_runs *p, hkt_check_result *out);

/* a above b: the whole interval above 0. */
static void judge_above(const hkt_paired_runs *p, hkt_check_result *out)
{
    hkt_check_interval(out, p->low, p->high);
}

/* The interval holds the number that the paper reports. VIOLATED without it; INCONCLUSIVE when it also holds 0.
 * Measured: the distance from that number; bound: half the interval. */
static void judge_equal(const hkt_paired_runs *p, double reported, hkt_check_result *out)
{
    hkt_check_at_most(out, fabs(p->difference - reported), (p->high - p->low) / 2);
    if (isnan(p->low) || (out->verdict == HKT_HOLDS && p->low <= 0))
        out->verdict = HKT_INCONCLUSIVE;
}

static double paper_gain(const char *task)
{
    for (size_t i = 0; i < N_TASKS; i++)
        if (!strcmp(task, paper[i].task))
            return paper[i].gain;
    return (double)NAN;
}

static void judge_gain(const hkt_paired_runs *p, hkt_check_result *out)
{
    judge_equal(p, paper_gain(p->task), out);
}

static void judge_loss(const hkt_paired_runs *p, hkt_check_result *out)
{
    judge_equal(p, paper_loss, out);
}

static hkt_status pair_row(hkt_check_result *out, const hkt_paired_runs *p)
{
    const char *name[] = {p->task, p->b.setting};
    return hkt_check_named_row(out, "task\tsetting\tn\tfirst\tsd\tsecond\tdifference\tlow\thigh", name, p->n, p->mean,
                               p->sd, p->other, p->difference, p->low, p->high);
}

/* Condition: which tasks, or ablations, have which verdict. */
static void name_verdicts(hkt_check_result *out, const hkt_paired_runs *p, size_t n)
{
    bool settings = n > 1 && !strcmp(p[0].task, p[1].task), all = true;
    for (size_t i = 0; i < n; i++)
        all = all && p[i].verdict == out->verdict;
    for (int v = HKT_HOLDS; v <= HKT_INCONCLUSIVE; v++) {
        bool first = true;
        for (size_t i = 0; i < n; i++) {
            if (p[i].verdict != (hkt_verdict)v)
                continue;
            append(out->condition, sizeof out->condition, first ? *out->condition ? "; " : "" : ", ");
            append(out->condition, sizeof out->condition, settings ? p[i].b.setting : p[i].task);
            first = false;
        }
        if (first || all)
            continue;
        append(out->condition, sizeof out->condition, " ");
        append(out->condition, sizeof out->condition, hkt_verdict_name((hkt_verdict)v));
    }
}

enum { IN_DETAIL = 3 }; /* more comparisons do not fit on the line */

/* Verdict, rows and detail from comparisons p [n] of `planned` at least; `what`: the difference in words. */
static hkt_status judge_pairs(hkt_check_result *out, hkt_paired_runs *p, size_t n, size_t planned, judge_fn judge,
                              const char *what)
{
    char scope[64];
    const size_t family = hkt_paired_runs_bound(p, n, planned);
    const bool few = n <= IN_DETAIL;
    if (n == 0) {
        hkt_check_skip(out, "no runs to compare: %s", what);
        return HKT_OK;
    }
    snprintf(scope, sizeof scope,
             n < family ? "95 %% for all %zu, %zu here"
             : n > 1    ? "95 %% for all %zu"
                        : "95 %%",
             family, n);
    hkt_check_detail(out, "%s, points, %s%s", what, family > 0 ? scope : "fewer than two pairs, no interval",
                     few ? ":" : "; a row each");
    for (size_t i = 0; i < n; i++) {
        hkt_check_result one = {.detail = ""};
        char text[120];
        judge(p + i, &one);
        join(out, &one, i == 0);
        p[i].verdict = one.verdict;
        snprintf(text, sizeof text, isnan(p[i].low) ? "%s %s %s %+.2f" : "%s %s %s %+.2f [%.2f, %.2f]",
                 i > 0 ? "," : "", p[i].task, p[i].b.setting, p[i].difference, p[i].low, p[i].high);
        if (few)
            append(out->detail, sizeof out->detail, text);
        HKT_TRY(pair_row(out, p + i));
    }
    name_verdicts(out, p, n);
    return HKT_OK;
}

static size_t keep_of_paper(hkt_paired_runs *p, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(paper_gain(p[i].task)))
            p[kept++] = p[i];
    return kept;
}

static hkt_status needs_results(hkt_check_result *out)
{
    hkt_check_skip(out, "needs --results DIR");
    return HKT_OK;
}

/* a against each of b [n_b], `planned` comparisons at least. For the paper's gains only tasks of its table count. */
static hkt_status against(const hkt_runs *runs, hkt_check_result *out, hkt_side a, const hkt_side *b, size_t n_b,
                          size_t planned, judge_fn judge, const char *what)
{
    hkt_paired_runs *p = NULL;
    size_t n = 0;
    HKT_TRY(HKT_NEW(&p, n_b * runs->n));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < n_b && status == HKT_OK; i++)
        status = hkt_paired_runs_find(runs, a, b[i], p, &n);
    if (judge == judge_gain)
        n = keep_of_paper(p, n);
    if (status == HKT_OK)
        status = judge_pairs(out, p, n, planned, judge, what);
    hkt_free(p);
    return status;
}

/* What of several intervals makes the check notice the alternative: all of them, any, or each by itself (the least). */
typedef enum { BY_ALL, BY_ANY, BY_EACH } noticed;

/* A comparison; accuracies for which what it says is false: its control; and the alternative of its power: a difference
 * of effect(task) points. For a number that the paper reports the alternative is a difference of 0, as far from it. */
typedef struct {
    const char *what;
    hkt_side a;
    const hkt_side *b; /* [n_b] */
    size_t n_b, planned;
    judge_fn judge;
    hkt_planted planted;
    double (*effect)(const char *task);
    noticed noticed;
} comparison;

static hkt_status compare(const hkt_verify_context *ctx, hkt_check_result *out, bool control, const comparison *c)
{
    hkt_runs_row run[HKT_PLANTED_RUNS];
    const hkt_runs planted = hkt_plant_runs(&c->planted, run), *runs = control ? &planted : ctx->runs;
    return runs ? against(runs, out, c->a, c->b, c->n_b, c->planned, c->judge, c->what) : needs_results(out);
}

/* Of p [n], in a family of so many intervals. NaN when one has no spread. */
static double power_of_pairs(const comparison *c, const hkt_paired_runs *p, size_t n, size_t family)
{
    double all = 1, none = 1, least = 1;
    for (size_t i = 0; i < n; i++) {
        double power = hkt_power_student(p[i].n, c->effect(p[i].task) / p[i].spread, 0.025 / (double)family);
        all *= power;
        none *= 1 - power;
        least = -hkt_check_worse(-least, -power);
    }
    return n == 0 || family == 0 ? (double)NAN : c->noticed == BY_ALL ? all : c->noticed == BY_ANY ? 1 - none : least;
}

/* With the pairs recorded and their spread over seeds; without runs as many seeds as the paper has, spread as there.
 * Tasks are taken as independent. */
static double compare_power(const hkt_verify_context *ctx, const comparison *c)
{
    hkt_paired_runs as_paper[N_TASKS], *p = NULL;
    size_t n = 0;
    if (!ctx->runs) {
        n = c->n_b == 1 ? c->planned : 1;
        for (size_t i = 0; i < n; i++)
            as_paper[i] = (hkt_paired_runs){.task = paper[i].task, .n = PAPER_SEEDS, .spread = paper[i].spread};
        return power_of_pairs(c, as_paper, n, c->planned);
    }
    hkt_status status = HKT_NEW(&p, c->n_b * ctx->runs->n);
    for (size_t i = 0; i < c->n_b && status == HKT_OK; i++)
        status = hkt_paired_runs_find(ctx->runs, c->a, c->b[i], p, &n);
    n = status == HKT_OK ? keep_of_paper(p, n) : 0;
    double power = power_of_pairs(c, p, n, hkt_paired_runs_bound(p, n, c->planned));
    hkt_free(p);
    return power;
}

static double whole_loss(const char *task)
{
    (void)task;
    return paper_loss;
}

static double loss_below_mha(const char *task)
{
    return paper_loss - paper_gain(task);
}

#define AS_RECORDED "; pairs spread as recorded (without runs: as the paper's +-, 3 seeds)"

/* Control: the two exchanged. */
static const comparison over_mha_pairs = {
    "HKT - MHA", full, &plain, 1, N_TASKS, judge_above, {0.50, 0.55, 0.52, 0.40, 0.45}, paper_gain, BY_ALL};

static hkt_status over_mha(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return compare(ctx, out, control, &over_mha_pairs);
}

static double over_mha_power(const hkt_verify_context *ctx)
{
    return compare_power(ctx, &over_mha_pairs);
}

static const hkt_check_test over_mha_test = {.level = "5 % for all intervals together",
                                             .multiplicity = "3 tasks, Bonferroni",
                                             .alternative =
                                                 "the paper's gains on all tasks, 4.77, 1.44, 7.47 points" AS_RECORDED,
                                             .power = over_mha_power};

const hkt_check hkt_accuracy_hkt_over_mha = {
    .name = "hkt-over-mha",
    .kind = HKT_STATISTICAL,
    .test = &over_mha_test,
    .statement = "the mean difference of test accuracies over seeds, HKT minus MHA of the same setting, lies above 0 "
                 "on every task, with its whole 95 % interval (Student t; Bonferroni over the tasks)",
    .reference = "paper, table of results; Student 1908",
    .failure = "on some task MHA is the better of the two",
    .finding = "HKT is more accurate than MHA of the same setting",
    .run = over_mha,
};

/* Control: a gain of 20 points. */
static const comparison gain_pairs = {"HKT - MHA (paper: 4.77, 1.44, 7.47)", full,       &plain, 1, N_TASKS, judge_gain,
                                      {0.70, 0.50, 0.52, 0.40, 0.45},        paper_gain, BY_ANY};

static hkt_status gain(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return compare(ctx, out, control, &gain_pairs);
}

static double gain_power(const hkt_verify_context *ctx)
{
    return compare_power(ctx, &gain_pairs);
}

static const hkt_check_test gain_test = {.level = "5 % for all intervals together",
                                         .multiplicity = "3 tasks, Bonferroni",
                                         .alternative = "no gain on any task" AS_RECORDED,
                                         .power = gain_power};

const hkt_check hkt_accuracy_paper_gain = {
    .name = "paper-gain",
    .kind = HKT_STATISTICAL,
    .test = &gain_test,
    .statement = "the same intervals hold the gains that the paper reports: 4.77 points on ListOps, 1.44 on sequential "
                 "CIFAR-10, 7.47 on IMDB; INCONCLUSIVE when one of them holds 0 as well",
    .reference = "paper, table of results",
    .failure = "in this setting the gain is another one",
    .finding = "the gain over MHA is as large as in the paper",
    .run = gain,
};

/* Control: MHA with as many parameters is better. */
static const comparison over_matched_pairs = {
    "HKT - MHA of as many parameters", full,       &matched, 1, 1, judge_above,
    {0.55, 0.50, 0.60, 0.40, 0.45},    paper_gain, BY_ALL};

static hkt_status over_matched(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return compare(ctx, out, control, &over_matched_pairs);
}

static double over_matched_power(const hkt_verify_context *ctx)
{
    return compare_power(ctx, &over_matched_pairs);
}

static const hkt_check_test over_matched_test = {
    .level = "5 % for all intervals together",
    .multiplicity = "one interval per task that was run, Bonferroni",
    .alternative = "a gain as large as the paper's over MHA, 4.77 points on ListOps" AS_RECORDED,
    .power = over_matched_power};

const hkt_check hkt_accuracy_hkt_over_matched = {
    .name = "hkt-over-matched",
    .kind = HKT_STATISTICAL,
    .test = &over_matched_test,
    .statement =
        "HKT against an MHA with as many parameters (its feed-forward part is wider): difference above 0, as above",
    .reference = "docs/theory.md, accuracy",
    .failure = "the gain is one of parameters",
    .finding = "HKT is more accurate than MHA of as many parameters",
    .run = over_matched,
};

/* Control: ablations that gain. */
static const comparison over_ablations_pairs = {
    "full - ablated", full,   all_ablations, N_ABLATIONS, N_ABLATIONS, judge_above, {0.55, 0.50, 0.52, 0.40, 0.60},
    paper_gain,       BY_EACH};

static hkt_status over_ablations(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return compare(ctx, out, control, &over_ablations_pairs);
}

static double over_ablations_power(const hkt_verify_context *ctx)
{
    return compare_power(ctx, &over_ablations_pairs);
}

static const hkt_check_test over_ablations_test = {
    .level = "5 % for all intervals together",
    .multiplicity = "7 ablations, Bonferroni",
    .alternative = "one ablation (the least seen) that takes the paper's whole gain away, 4.77 points" AS_RECORDED,
    .power = over_ablations_power};

const hkt_check hkt_accuracy_ablations = {
    .name = "ablations",
    .kind = HKT_STATISTICAL,
    .test = &over_ablations_test,
    .statement = "the full model is above each of its ablations (one level, two levels, no convolution, static fusion, "
                 "score fusion, fixed downsampling, no attention): differences as above, Bonferroni over the ablations",
    .reference = "paper, ablations",
    .failure = "something that was taken away did harm",
    .finding = "each ablation is less accurate than the full model",
    .run = over_ablations,
};

/* Control: a loss of 5 points. */
static const comparison loss_of_levels_pairs = {"HKT with L = 3 - with L = 1 (paper: 18.4)",
                                                full,
                                                &one_level,
                                                1,
                                                1,
                                                judge_loss,
                                                {0.55, 0.50, 0.52, 0.50, 0.45},
                                                whole_loss,
                                                BY_ANY};

static hkt_status loss_of_levels(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return compare(ctx, out, control, &loss_of_levels_pairs);
}

static double loss_of_levels_power(const hkt_verify_context *ctx)
{
    return compare_power(ctx, &loss_of_levels_pairs);
}

static const hkt_check_test loss_of_levels_test = {.level = "5 % for all intervals together",
                                                   .multiplicity = "one interval per task that was run, Bonferroni",
                                                   .alternative = "no loss" AS_RECORDED,
                                                   .power = loss_of_levels_power};

const hkt_check hkt_accuracy_one_level_loss = {
    .name = "one-level-loss",
    .kind = HKT_STATISTICAL,
    .test = &loss_of_levels_test,
    .statement = "the interval of the full model's difference to one level holds the paper's 18.4 points; INCONCLUSIVE "
                 "when it holds 0 as well",
    .reference = "paper, ablations",
    .failure = "in this setting levels are worth another number of points",
    .finding = "one level in the place of three costs 18.4 points",
    .run = loss_of_levels,
};

/* Control: one level above MHA. */
static const comparison below_mha_pairs = {
    "MHA - HKT with L = 1",         plain,          &one_level, 1, 1, judge_above,
    {0.55, 0.50, 0.52, 0.53, 0.45}, loss_below_mha, BY_ALL};

static hkt_status below_mha(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return compare(ctx, out, control, &below_mha_pairs);
}

static double below_mha_power(const hkt_verify_context *ctx)
{
    return compare_power(ctx, &below_mha_pairs);
}

static const hkt_check_test below_mha_test = {
    .level = "5 % for all intervals together",
    .multiplicity = "one interval per task that was run, Bonferroni",
    .alternative = "L = 1 as far below MHA as in the paper, 18.4 - 4.77 = 13.63 points" AS_RECORDED,
    .power = below_mha_power};

const hkt_check hkt_accuracy_one_level_below_mha = {
    .name = "one-level-below-mha",
    .kind = HKT_STATISTICAL,
    .test = &below_mha_test,
    .statement = "with one level HKT, a mix of attention and convolution, is below MHA, as the paper's 18.4 points "
                 "say: difference above 0, as above",
    .reference = "paper, ablations",
    .failure = "without its levels HKT is better than MHA: the convolution alone is a gain",
    .finding = "HKT of one level is less accurate than MHA",
    .run = below_mha,
};

/* --- the majority baseline ---------------------------------------------------------------------------------------- */

static bool in_table(const hkt_runs_row *r)
{
    return !strcmp(r->setting, "main");
}

/* The x at which P(X <= x) = p, X ~ Beta(a, b), by bisection: gsl_cdf_beta_Pinv gives NaN for a, b of some thousands,
 * gsl_cdf_beta_P does not. */
static double beta_quantile(double p, double a, double b)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double x = (low + high) / 2, below = gsl_cdf_beta_P(x, a, b);
        if (isnan(below))
            return below;
        *(below < p ? &low : &high) = x;
    }
    return (low + high) / 2;
}

void hkt_binomial_interval(size_t k, size_t n, double alpha, double *low, double *high)
{
    double right = (double)k, wrong = (double)(n - k);
    *low = k > 0 ? beta_quantile(alpha / 2, right, wrong + 1) : 0;
    *high = k < n ? 1 - beta_quantile(alpha / 2, wrong, right + 1) : 1;
}

static hkt_status majority_row(const hkt_runs_row *r, double alpha, hkt_check_result *out, bool first)
{
    hkt_check_result one = {.detail = ""};
    double low, high;
    hkt_binomial_interval((size_t)llround(r->accuracy * (double)r->n), r->n, alpha, &low, &high);
    hkt_check_interval(&one, 100 * (low - r->majority), 100 * (high - r->majority));
    join(out, &one, first);
    const char *name[] = {r->task, r->model, r->seed};
    return hkt_check_named_row(out, "task\tmodel\tseed\tn\taccuracy\tlow\thigh\tmajority", name, r->n,
                               100 * r->accuracy, 100 * low, 100 * high, 100 * r->majority);
}

static hkt_status judge_majority(const hkt_runs *runs, hkt_check_result *out)
{
    size_t family = 0, done = 0;
    for (size_t i = 0; i < runs->n; i++)
        family += in_table(runs->run + i);
    if (family == 0) {
        hkt_check_skip(out, "no runs of the setting 'main'");
        return HKT_OK;
    }
    for (size_t i = 0; i < runs->n; i++)
        if (in_table(runs->run + i))
            HKT_TRY(majority_row(runs->run + i, 0.05 / (double)family, out, done++ == 0));
    hkt_check_detail(out,
                     "least distance of the exact interval (Clopper-Pearson) of a run from the share of the largest "
                     "class, points; %zu runs, 95 %% over all (Bonferroni)",
                     family);
    return HKT_OK;
}

static hkt_status over_majority(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const hkt_planted below = {0.10, 0.50, 0.52, 0.40, 0.45};
    hkt_runs_row run[HKT_PLANTED_RUNS];
    const hkt_runs planted = hkt_plant_runs(&below, run), *runs = control ? &planted : ctx->runs;
    return runs ? judge_majority(runs, out) : needs_results(out);
}

/* A run of n sequences, 5 points above the largest class: noticed from the least k on with P(K >= k | majority) at most
 * tail. */
static double majority_power(size_t n, double majority, double tail)
{
    unsigned N = (unsigned)n, k = (unsigned)ceil(majority * (double)n);
    while (k <= N && k > 0 && gsl_cdf_binomial_Q(k - 1, majority, N) > tail)
        k++;
    return k > 0 ? gsl_cdf_binomial_Q(k - 1, fmin(1, majority + 0.05), N) : 1;
}

static double over_majority_power(const hkt_verify_context *ctx)
{
    const hkt_runs_row typical = {.setting = "main", .majority = 0.5, .n = 2000};
    const hkt_runs_row *run = ctx->runs ? ctx->runs->run : &typical;
    size_t n = ctx->runs ? ctx->runs->n : 1, family = 0;
    double least = 1;
    for (size_t i = 0; i < n; i++)
        family += in_table(run + i);
    if (!ctx->runs)
        family = 2 * N_TASKS * PAPER_SEEDS;
    for (size_t i = 0; i < n; i++)
        if (in_table(run + i))
            least = fmin(least, majority_power(run[i].n, run[i].majority, 0.025 / (double)family));
    return least;
}

static const hkt_check_test over_majority_test = {
    .level = "5 % for all runs together",
    .multiplicity = "all runs of the setting main, Bonferroni",
    .alternative = "a run 5 points above its largest class (without runs: of one half, 2,000 sequences, 18 runs)",
    .power = over_majority_power};

const hkt_check hkt_accuracy_above_majority = {
    .name = "above-majority",
    .kind = HKT_STATISTICAL,
    .test = &over_majority_test,
    .statement = "every run of HKT and MHA is above the share of the largest class of the test split, with its whole "
                 "95 % interval (binomial, exact; Bonferroni over the runs)",
    .reference = "Clopper & Pearson 1934",
    .failure = "a model is worse than the answer that is always the same",
    .finding = "both models are better than always answering the largest class",
    .run = over_majority,
};

static const hkt_check *const checks[] = {&hkt_accuracy_hkt_over_mha,       &hkt_accuracy_paper_gain,
                                          &hkt_accuracy_above_majority,     &hkt_accuracy_hkt_over_matched,
                                          &hkt_accuracy_ablations,          &hkt_accuracy_one_level_loss,
                                          &hkt_accuracy_one_level_below_mha};

const hkt_claim hkt_claim_accuracy = {
    .id = "accuracy",
    .place = "table of results",
    .statement = "HKT is more accurate than MHA retrained in the same setting",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .of_table = true,
};

/* hkt-verify - holds each claim of the paper against numbers: analysis/claims/list.h lists them. */
#include <stdio.h>
#include <string.h>

#include "analysis/claims/accuracy/runs.h"
#include "analysis/claims/list.h"
#include "analysis/claims/report.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/start.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "analysis/foreign/stored.h"
#include "foreign/foreign.h"
#include "num/blas.h"
#include "num/resources.h"
#include "train/evaluate.h"

enum { MAX_CLAIMS = 32, MAX_TOKENS = 4096 /* of forward passes: some checks are dense */ };
#define STREAMED "streamed-inertia"

typedef struct {
    hkt_opt_list checkpoints;
    const char *data, *task, *split, *results, *json, *tsv, *only, *expect, *certificate;
    const char *model, *map; /* of another kind */
    const char *scores[HKT_STORED_FILES], *mask;
    size_t n_scores;
    size_t tokens, threads;
    uint64_t seed;
    bool quick, measure, kinds;
    char **operands;
    size_t n_operands;
} options;

#define EPILOG                                                                                                         \
    "Examples:\n"                                                                                                      \
    "  hkt-verify all --quick\n"                                                                                       \
    "  hkt-verify psd --checkpoint run/best.safetensors --data data --json psd.json\n"                                 \
    "  hkt-verify cost --only bound-any-length\n"                                                                      \
    "  hkt-verify cost --measure\n"                                                                                    \
    "  hkt-verify accuracy --results experiments/results\n"                                                            \
    "  hkt-verify psd --certificate certificates && hkt-check certificates/*.cert\n"                                   \
    "  hkt-verify psd --model gpt2/                     a Hugging Face directory as it is\n"                           \
    "  hkt-verify all --quick --expect docs/verdicts.tsv\n"                                                            \
    "Verdicts are results, not errors: VIOLATED does not change the exit status unless --expect says otherwise.\n"     \
    "Exit status: 0 done (with --expect: every verdict as expected), 1 a verdict not as expected, 2 usage, 3 bad\n"    \
    "input, 4 a check that could not be computed (verdict ERROR), 5 system failure."

static hkt_status parse(options *o, int argc, char **argv, hkt_parse_action *action, size_t *command)
{
    const hkt_opt opts[] = {
        {"checkpoint", HKT_OPT_LIST, &o->checkpoints, "FILE", "model to verify, a column each; none: random models", 0,
         0},
        {"model", HKT_OPT_STRING, &o->model, "PATH",
         "psd, asymmetry, kurtosis: instead a model of another kind as it is on disk (docs/foreign.md)", 0, 0},
        {"map", HKT_OPT_STRING, &o->map, "FILE", "where queries and keys are in a model of no known family", 0, 0},
        {"scores", HKT_OPT_STRING, &o->scores[0], "Q K",
         "psd, asymmetry, kurtosis, information: instead queries and keys, or scores, that another program stored", 0,
         0},
        {"mask", HKT_OPT_CHOICE, &o->mask, "causal|none", "scores: which of them the model uses", 0, 0},
        {"data", HKT_OPT_STRING, &o->data, "DIR", "directory of the splits; none: random tokens", 0, 0},
        {"task", HKT_OPT_CHOICE, &o->task, HKT_TASKS, "what the data are; without it what their files say", 0, 0},
        {"split", HKT_OPT_CHOICE, &o->split, "train|val|test", "split to run the model on; without it val", 0, 0},
        {"results", HKT_OPT_STRING, &o->results, "DIR", "accuracy: recorded experiments (runs.tsv); none: skipped", 0,
         0},
        {"only", HKT_OPT_STRING, &o->only, "CHECK", "this check alone, with all its numbers", 0, 0},
        {"quick", HKT_OPT_FLAG, &o->quick, NULL, "smaller samples, same checks: seconds", 0, 0},
        {"measure", HKT_OPT_FLAG, &o->measure, NULL, "cost: the checks that read the clock, too, with their numbers", 0,
         0},
        {"kinds", HKT_OPT_FLAG, &o->kinds, NULL, "list: how many checks of each kind there are, by claim", 0, 0},
        {"tokens", HKT_OPT_SIZE, &o->tokens, "N",
         "psd: only the streamed check, on N tokens; others: length of forward passes, at most 4096", 0, 1e12},
        {"expect", HKT_OPT_STRING, &o->expect, "FILE", "compare with a table of expected verdicts", 0, 0},
        {"json", HKT_OPT_STRING, &o->json, "FILE", "everything, all digits; '-': standard output, without the table", 0,
         0},
        {"tsv", HKT_OPT_STRING, &o->tsv, "FILE", "one row per check and model; '-' as for --json", 0, 0},
        {"certificate", HKT_OPT_STRING, &o->certificate, "DIR", "writes what hkt-check can decide; a new directory", 0,
         0},
        {"seed", HKT_OPT_U64, &o->seed, "S", "of random models, inputs and samples", 0, 0},
        {"threads", HKT_OPT_SIZE, &o->threads, "N", "0: all processors", 0, 1024},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
    };
    const char *names[MAX_CLAIMS + 4] = {NULL}, *help[MAX_CLAIMS + 4] = {NULL};
    size_t n = hkt_claims.n;
    HKT_ASSERT(n <= MAX_CLAIMS);
    for (size_t i = 0; i < n; i++) {
        names[i] = hkt_claims.claim[i]->id;
        help[i] = hkt_claims.claim[i]->statement;
    }
    names[n] = "all";
    help[n] = "every claim";
    names[n + 1] = "list";
    help[n + 1] = "what there is: id, place in the paper, statement, kinds of checks";
    names[n + 2] = "explain";
    help[n + 2] = "one claim in full: explain CLAIM";
    const hkt_cli cli = {.program = "hkt-verify",
                         .synopsis = "CLAIM|all|list|explain CLAIM [options]",
                         .summary = "Proves, measures or refutes the paper's claims.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .commands = names,
                         .command_help = help};
    return hkt_opt_parse(&cli, argc, argv, action, command, &o->operands, &o->n_operands);
}

static hkt_status explain(const options *o)
{
    if (o->n_operands != 1)
        return hkt_fail(HKT_EUSAGE, "explain: expected one claim, found %zu", o->n_operands);
    const hkt_claim *claim = hkt_claim_find(hkt_claims, o->operands[0]);
    if (claim) {
        hkt_claim_explain(claim, stdout);
        const hkt_claim *foreign = hkt_claim_find(hkt_foreign_claims, claim->id);
        const hkt_claim *stored = hkt_claim_find(hkt_stored_claims, claim->id);
        if (foreign) {
            fputs("\nOn a model of another kind (--model):\n", stdout);
            hkt_claim_explain(foreign, stdout);
        }
        if (stored) {
            fputs("\nOn scores that another program stored (--scores):\n", stdout);
            hkt_claim_explain(stored, stdout);
        }
        return HKT_OK;
    }
    const char *names[MAX_CLAIMS + 1] = {NULL}, *nearest;
    for (size_t i = 0; i < hkt_claims.n; i++)
        names[i] = hkt_claims.claim[i]->id;
    nearest = hkt_nearest(o->operands[0], names);
    return nearest ? hkt_fail(HKT_EUSAGE, "unknown claim '%s' (did you mean '%s'?)", o->operands[0], nearest)
                   : hkt_fail(HKT_EUSAGE, "unknown claim '%s' ('hkt-verify list' shows them)", o->operands[0]);
}

/* What is verified: one context per checkpoint, or one without. */
typedef struct {
    hkt_runs runs;
    hkt_checkpoint model[HKT_OPT_LIST_MAX];
    hkt_foreign foreign;
    hkt_stored stored;
    hkt_score_source scores;
    hkt_dataset data;
    hkt_verify_context context[HKT_OPT_LIST_MAX];
    const char *name[HKT_OPT_LIST_MAX];
    char *escaped[HKT_OPT_LIST_MAX];      /* names of the checkpoints, in UTF-8 for the reports */
    char *certificates[HKT_OPT_LIST_MAX]; /* directories, of several checkpoints */
    size_t n;
} subjects;

static void subjects_free(subjects *s)
{
    for (size_t i = 0; i < HKT_OPT_LIST_MAX; i++)
        hkt_checkpoint_free(s->model + i);
    for (size_t i = 0; i < HKT_OPT_LIST_MAX; i++)
        hkt_free(s->escaped[i]);
    for (size_t i = 0; i < HKT_OPT_LIST_MAX; i++)
        hkt_free(s->certificates[i]);
    hkt_dataset_free(&s->data);
    hkt_foreign_close(&s->foreign);
    hkt_stored_close(&s->stored);
    hkt_runs_free(&s->runs);
}

static hkt_status subjects_open(const options *o, hkt_claim_list claims, subjects *s)
{
    bool of_table = claims.n == 1 && claims.claim[0]->of_table;
    if (o->results)
        HKT_TRY(hkt_runs_read(&s->runs, o->results));
    const hkt_verify_context base = {.seed = o->seed,
                                     .quick = o->quick,
                                     .tokens = o->tokens < MAX_TOKENS ? o->tokens : MAX_TOKENS,
                                     .stream_tokens = o->tokens,
                                     .measure = o->measure,
                                     .certificates = o->certificate,
                                     .runs = o->results ? &s->runs : NULL,
                                     .results = o->results};
    s->n = 1;
    s->name[0] = !of_table ? "random models" : o->results ? o->results : "no recorded runs";
    s->context[0] = base;
    if (o->model) {
        HKT_TRY(hkt_utf8_escape(&s->escaped[0], o->model));
        s->name[0] = s->escaped[0];
        s->context[0].foreign = &s->foreign;
        return hkt_foreign_open(&s->foreign, o->model, o->map);
    }
    if (o->n_scores) {
        HKT_TRY(hkt_utf8_escape(&s->escaped[0], o->scores[0]));
        s->name[0] = s->escaped[0];
        HKT_TRY(hkt_stored_open(&s->stored, o->scores, o->n_scores, o->mask, o->map));
        s->scores = hkt_score_of_stored(&s->stored);
        s->context[0].stored = &s->stored;
        s->context[0].scores = &s->scores;
        return HKT_OK;
    }
    if (o->checkpoints.count == 0 || of_table)
        return HKT_OK;
    s->n = o->checkpoints.count;
    if (o->data)
        HKT_TRY(hkt_dataset_read(&s->data, o->task, o->data, o->split ? o->split : "val", 0));
    for (size_t i = 0; i < s->n; i++) {
        HKT_TRY(hkt_utf8_escape(&s->escaped[i], o->checkpoints.item[i]));
        s->name[i] = s->escaped[i];
        HKT_TRY(hkt_checkpoint_read(s->model + i, o->checkpoints.item[i]));
        const size_t most = s->model[i].layout->config.max_len;
        if (o->tokens > most && !(o->only && strcmp(o->only, STREAMED) == 0))
            hkt_note("%s: sequences of %zu tokens, its most, instead of %zu", s->name[i], most, o->tokens);
        s->context[i] = base;
        s->context[i].model = s->model + i;
        if (o->certificate && s->n > 1) {
            char number[16];
            snprintf(number, sizeof number, "%zu", i + 1);
            HKT_TRY(hkt_path_join(&s->certificates[i], o->certificate, number));
            s->context[i].certificates = s->certificates[i];
        }
        if (!o->data)
            continue;
        HKT_TRY(hkt_evaluate_check(&s->model[i].layout->config, &s->data, s->name[i]));
        s->context[i].data = &s->data;
    }
    return HKT_OK;
}

/* What a model of another kind has no use for. */
static hkt_status check_model(const options *o)
{
    const struct {
        const char *name;
        bool given;
    } other[] = {{"checkpoint", o->checkpoints.count > 0},
                 {"data", o->data},
                 {"results", o->results},
                 {"certificate", o->certificate},
                 {"expect", o->expect},
                 {"tokens", o->tokens > 0},
                 {"measure", o->measure}};
    const char *input = o->model ? "model" : o->n_scores ? "scores" : NULL;
    if (o->map && !input)
        return hkt_fail(HKT_EUSAGE, "option '--map' needs '--model' or '--scores'");
    if (o->mask && !o->n_scores)
        return hkt_fail(HKT_EUSAGE, "option '--mask' needs '--scores'");
    if (o->model && o->n_scores)
        return hkt_fail(HKT_EUSAGE, "expected one of '--model' and '--scores', found both");
    for (size_t i = 0; i < sizeof other / sizeof *other && input; i++)
        if (other[i].given)
            return hkt_fail(HKT_EUSAGE, "option '--%s' has no effect with '--%s'", other[i].name, input);
    const hkt_file_option out[] = {{"json", o->json}, {"tsv", o->tsv}}, in[] = {{"model", o->model},
                                                                                {"map", o->map},
                                                                                {"scores", o->scores[0]},
                                                                                {"scores", o->scores[1]},
                                                                                {"scores", o->scores[2]}};
    return hkt_opt_check_outputs(out, 2, in, sizeof in / sizeof *in);
}

static hkt_status check_options(const options *o)
{
    if (o->data && o->checkpoints.count == 0)
        return hkt_fail(HKT_EUSAGE, "option '--data' needs '--checkpoint'");
    if (!o->data && (o->task || o->split))
        return hkt_fail(HKT_EUSAGE, "option '--%s' needs '--data'", o->task ? "task" : "split");
    if (o->json && o->tsv && !strcmp(o->json, "-") && !strcmp(o->tsv, "-"))
        return hkt_fail(HKT_EUSAGE, "only one of '--json' and '--tsv' can be standard output");
    HKT_TRY(check_model(o));
    if (o->certificate && hkt_file_exists(o->certificate))
        return hkt_fail(HKT_EUSAGE, "option '--certificate': expected a new directory, found '%s'", o->certificate);
    const hkt_file_option out[] = {{"json", o->json}, {"tsv", o->tsv}},
                          in[] = {{"data", o->data}, {"results", o->results}, {"expect", o->expect}};
    HKT_TRY(hkt_opt_check_outputs(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in));
    for (size_t i = 0; i < o->checkpoints.count; i++) {
        const hkt_file_option model = {"checkpoint", o->checkpoints.item[i]};
        HKT_TRY(hkt_opt_check_outputs(out, sizeof out / sizeof *out, &model, 1));
    }
    return HKT_OK;
}

/* Writes what the options ask for; *differences from the expected verdicts, 0 without --expect. */
static hkt_status show(const options *o, const hkt_report *r, const hkt_provenance *how, bool rows, size_t *differences)
{
    bool taken = (o->json && !strcmp(o->json, "-")) || (o->tsv && !strcmp(o->tsv, "-"));
    if (!taken) {
        if (r->entry[0].claim != r->entry[r->n - 1].claim || !r->entry[0].claim->of_table)
            hkt_note("seed %llu", (unsigned long long)o->seed);
        hkt_report_print(r, rows, stdout);
    }
    if (o->tsv)
        HKT_TRY(hkt_report_write_tsv(r, o->tsv, how));
    if (o->json)
        HKT_TRY(hkt_report_write_json(r, o->json, how));
    *differences = 0;
    if (!o->expect)
        return HKT_OK;
    FILE *f = taken ? stderr : stdout;
    HKT_TRY(hkt_report_compare(r, hkt_claims, o->expect, f, differences));
    if (*differences == 0)
        fprintf(f, "every verdict is as expected\n");
    else
        fprintf(f, "%zu verdicts are not as expected\n", *differences);
    return HKT_OK;
}

/* What to look at now: the numbers of the first check that is violated, and the page when its input was written. */
static hkt_status say_next(const options *o, const hkt_report *r)
{
    const char *slash = o->json ? strrchr(o->json, '/') : NULL;
    char *dir;
    for (size_t i = 0; i < r->n && !o->only; i++)
        if (r->entry[i].result[0].verdict == HKT_VIOLATED) {
            hkt_next((const char *const[]){"hkt-verify", "explain", r->entry[i].claim->id, NULL});
            hkt_next(
                (const char *const[]){"hkt-verify", r->entry[i].claim->id, "--only", r->entry[i].check->name, NULL});
            break;
        }
    if (!o->json || strcmp(slash ? slash + 1 : o->json, "verify.json") != 0)
        return HKT_OK;
    HKT_TRY(hkt_strdup(&dir, slash ? o->json : "."));
    if (slash)
        dir[slash == o->json ? 1 : slash - o->json] = 0;
    hkt_next((const char *const[]){"hkt-plot", "report", "--from", dir, "--out", "report.html", NULL});
    hkt_free(dir);
    return HKT_OK;
}

static hkt_status verify(const options *o, hkt_claim_list claims, const hkt_provenance *how, size_t *differences)
{
    subjects *s = NULL;
    hkt_report report = {0};
    /* The table of results is what is asked for with the claim of that name. */
    bool rows = o->only || o->measure || (o->results && claims.n == 1 && strcmp(claims.claim[0]->id, "accuracy") == 0);
    HKT_TRY(check_options(o));
    if (o->expect)
        HKT_TRY(hkt_report_check_expected(hkt_claims, o->expect));
    if (o->certificate)
        HKT_TRY(hkt_mkdir(o->certificate));
    HKT_TRY(HKT_NEW(&s, 1));
    hkt_status status = subjects_open(o, claims, s);
    if (status == HKT_OK)
        status = hkt_report_run(&report, claims, o->only, s->context, s->name, s->n);
    if (status == HKT_OK)
        status = show(o, &report, how, rows, differences);
    if (status == HKT_OK)
        status = say_next(o, &report);
    if (status == HKT_OK)
        status = hkt_report_errors(&report);
    hkt_report_free(&report);
    subjects_free(s);
    hkt_free(s);
    return status;
}

/* The claims to verify: one, or all that there are for the kind of model. */
static hkt_status choose_claims(const options *o, size_t command, hkt_claim_list *out)
{
    const hkt_claim_list all = o->model ? hkt_foreign_claims : o->n_scores ? hkt_stored_claims : hkt_claims;
    *out = all;
    if (command >= hkt_claims.n)
        return HKT_OK;
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.claim[i]->id, hkt_claims.claim[command]->id) == 0) {
            *out = (hkt_claim_list){all.claim + i, 1};
            return HKT_OK;
        }
    return hkt_fail(HKT_EUSAGE, "'%s' is not for '--%s'", hkt_claims.claim[command]->id, o->model ? "model" : "scores");
}

static hkt_status run(int argc, char **argv, size_t *differences)
{
    hkt_provenance how = hkt_provenance_make(argc, argv);
    hkt_parse_action action = HKT_PARSE_RUN;
    options o = {.seed = HKT_DEFAULT_SEED};
    size_t command = 0;
    HKT_TRY(parse(&o, argc, argv, &action, &command));
    if (action == HKT_PARSE_EXIT)
        return HKT_OK;
    if (command == hkt_claims.n + 2)
        return explain(&o);
    o.n_scores = o.scores[0] != NULL;
    for (; o.n_scores > 0 && o.n_scores < HKT_STORED_FILES && o.n_operands > 0; o.n_operands--)
        o.scores[o.n_scores++] = *o.operands++;
    if (o.n_operands > 0)
        return hkt_fail(HKT_EUSAGE, "expected one command, found '%s' as well", o.operands[0]);
    if (o.kinds && command <= hkt_claims.n)
        return hkt_fail(HKT_EUSAGE, "option '--kinds' has no effect but for 'list'");
    if (command < hkt_claims.n && strcmp(hkt_claims.claim[command]->id, "psd") == 0 && o.tokens > 0 && !o.only)
        o.only = STREAMED;
    if (o.tokens > MAX_TOKENS && !(o.only && strcmp(o.only, STREAMED) == 0))
        return hkt_fail(HKT_EUSAGE, "option '--tokens': expected at most %d but for 'psd' alone, found %zu", MAX_TOKENS,
                        o.tokens);
    how.seed = o.seed;
    how.threads = hkt_set_threads(o.threads);
    HKT_TRY(hkt_resources_check());
    how.blas_core = hkt_blas_core();
    if (command <= hkt_claims.n) {
        hkt_claim_list claims;
        HKT_TRY(choose_claims(&o, command, &claims));
        return verify(&o, claims, &how, differences);
    }
    (o.kinds ? hkt_claims_print_kinds : hkt_claims_print)(hkt_claims, stdout);
    return HKT_OK;
}

int main(int argc, char **argv)
{
    size_t differences = 0;
    hkt_start();
    hkt_num_init(argv);
    hkt_status status = run(argc, argv, &differences);
    if (status == HKT_OK)
        status = hkt_stdout_flush();
    int code = hkt_report_failure("hkt-verify", status);
    return code == 0 && differences > 0 ? HKT_EXIT_CLAIM : code;
}

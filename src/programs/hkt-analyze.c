/* hkt-analyze - measurements on a model, one table each: analysis/measure/list.h lists them. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/foreign/list.h"
#include "analysis/measure/list.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/start.h"
#include "base/terminal.h"
#include "num/blas.h"
#include "num/resources.h"
#include "programs/analyze.h"
#include "train/evaluate.h"

enum { MAX_MEASUREMENTS = 32 };

typedef struct {
    const char *checkpoint, *run, *task, *data, *split, *out, *json, *histogram, *npy, *layer, *level, *head;
    const char *second;      /* model of compare and of errors --target */
    const char *model, *map; /* of another kind */
    const char *scores[HKT_STORED_FILES], *hidden, *mask, *token_ids;
    size_t n_scores;
    const hkt_measurement *m;
    bool foreign; /* m is of models of another kind, or of what they give */
    size_t sequences, tokens, threads;
    uint64_t seed;
    hkt_config config; /* of `cost` without a checkpoint */
} options;

/* The model's shape is hkt-train's default with one level more; what a cost does not depend on is 1. */
static options default_options(void)
{
    return (options){.split = "val",
                     .out = "-",
                     .sequences = 256,
                     .seed = HKT_DEFAULT_SEED,
                     .config = {.vocab = 1,
                                .classes = 1,
                                .max_len = 1,
                                .d_model = 64,
                                .heads = 4,
                                .layers = 1,
                                .levels = 4,
                                .stride = 2,
                                .conv_width = 4,
                                .ffn_mult = 4,
                                .hybrid = true,
                                .causal = true}};
}

#define EPILOG                                                                                                         \
    "Examples:\n"                                                                                                      \
    "  hkt-analyze kurtosis --checkpoint run/best.safetensors --data data --histogram histogram.tsv\n"                 \
    "  hkt-analyze asymmetry --run run --out asymmetry-training.tsv\n"                                                 \
    "  hkt-analyze scores --checkpoint run/best.safetensors --data data --layer 0 --head 1 --level sum --npy s.npy\n"  \
    "  hkt-analyze compare a/best.safetensors b/best.safetensors --data data --json compare.json\n"                    \
    "  hkt-analyze cost --levels 4 --out cost.tsv\n"                                                                   \
    "  hkt-analyze inertia --model gpt2/ --out inertia.tsv                  a Hugging Face directory as it is\n"       \
    "  hkt-analyze kurtosis --scores q.npy k.npy --mask causal              queries and keys of any model\n"           \
    "Exit status: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 system failure."

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* The two models of compare, or the files that follow the one of --scores. */
static hkt_status take_operands(options *o, const hkt_measurement *m, char **operand, size_t n)
{
    if (o->n_scores) {
        for (; n > 0 && o->n_scores < HKT_STORED_FILES; n--)
            o->scores[o->n_scores++] = *operand++;
        return n == 0 ? HKT_OK
                      : hkt_fail(HKT_EUSAGE, "'--scores': expected at most %d files, found more", HKT_STORED_FILES);
    }
    size_t expected = m->needs & HKT_NEEDS_OTHER ? 2 : 0;
    if (n != expected)
        return hkt_fail(HKT_EUSAGE, "'%s': expected %zu checkpoints as operands, found %zu", m->name, expected, n);
    if (expected == 2 && o->checkpoint)
        return hkt_fail(HKT_EUSAGE, "'%s': expected two operands instead of '--checkpoint'", m->name);
    if (expected == 2) {
        o->checkpoint = operand[0];
        o->second = operand[1];
    }
    return HKT_OK;
}

/* A filter on a column that the table does not have would keep everything in silence. */
static hkt_status check_filter(const hkt_measurement *m, const char *name, const char *value)
{
    char cell[16], columns[512];
    snprintf(cell, sizeof cell, "\t%s\t", name);
    snprintf(columns, sizeof columns, "\t%s\t", m->columns);
    return value && !strstr(columns, cell)
               ? hkt_fail(HKT_EUSAGE, "option '--%s': the table of '%s' has no column '%s'", name, m->name, name)
               : HKT_OK;
}

static hkt_status check_files(const options *o, const hkt_measurement *m)
{
    const char *second = m->needs & HKT_NEEDS_OTHER ? "checkpoint" : "target";
    const hkt_file_option in[] = {{"checkpoint", o->checkpoint},
                                  {second, o->second},
                                  {"data", o->data},
                                  {"run", o->run}},
                          out[] = {{"out", o->out}, {"json", o->json}, {"histogram", o->histogram}, {"npy", o->npy}};
    return hkt_opt_check_outputs(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in);
}

/* What would be ignored is refused. */
static hkt_status check_effect(const hkt_cli *cli, const options *o, const hkt_measurement *m)
{
    char reason[64];
    for (size_t i = 0; i < hkt_measurements.n; i++) {
        const hkt_measurement *other = hkt_measurements.item[i];
        snprintf(reason, sizeof reason, "is only for '%s'", other->name);
        if (other != m && other->options)
            HKT_TRY(hkt_opt_refuse(cli, other->options, reason));
    }
    snprintf(reason, sizeof reason, "has no effect on '%s'", m->name);
    if (!(m->needs & HKT_NEEDS_MODEL))
        HKT_TRY(hkt_opt_refuse(cli, "data|split|task|seed", reason));
    if (!(m->needs & HKT_NEEDS_MODEL) && o->checkpoint)
        HKT_TRY(hkt_opt_refuse(cli, m->options, "has no effect with '--checkpoint'"));
    if (m->options && o->run)
        HKT_TRY(hkt_opt_refuse(cli, m->options, "needs '--checkpoint', found '--run'"));
    if (!o->data)
        HKT_TRY(hkt_opt_refuse(cli, "split|task|sequences", "needs '--data'"));
    if (!(m->needs & HKT_USES_SEQUENCES))
        HKT_TRY(hkt_opt_refuse(cli, "sequences", reason));
    if (!(m->needs & HKT_USES_TOKENS))
        HKT_TRY(hkt_opt_refuse(cli, "tokens", reason));
    return o->data && m->needs & HKT_USES_FIRST
               ? hkt_opt_refuse(cli, "tokens", "has no effect with '--data', whose first sequence is taken")
               : HKT_OK;
}

static foreign_options foreign_of(const options *o)
{
    return (foreign_options){.model = o->model,
                             .map = o->map,
                             .hidden = o->hidden,
                             .token_ids = o->token_ids,
                             .scores = {o->scores[0], o->scores[1], o->scores[2]},
                             .mask = o->mask,
                             .n_scores = o->n_scores,
                             .sequences = o->sequences,
                             .config = &o->config,
                             .histogram = o->histogram,
                             .out = o->out,
                             .layer = o->layer,
                             .head = o->head,
                             .json = o->json,
                             .tokens = o->tokens,
                             .seed = o->seed};
}

static hkt_status check_options(const hkt_cli *cli, const options *o, const hkt_measurement *m)
{
    const foreign_options foreign = foreign_of(o);
    if (o->foreign)
        return foreign_check(cli, &foreign, m);
    HKT_TRY(hkt_opt_refuse(cli, "map", "needs '--model' or '--scores'"));
    HKT_TRY(hkt_opt_refuse(cli, "mask", "needs '--scores'"));
    HKT_TRY(hkt_opt_refuse(cli, "token-ids", "needs '--model'"));
    if (o->run && o->checkpoint)
        return hkt_fail(HKT_EUSAGE, "expected one of '--checkpoint' and '--run', found both");
    if (o->run && (m->needs & HKT_NEEDS_OTHER || !(m->needs & HKT_NEEDS_MODEL)))
        return hkt_fail(HKT_EUSAGE, "option '--run' is not for '%s'", m->name);
    if (m->needs & HKT_NEEDS_MODEL && !o->run)
        HKT_TRY(hkt_opt_require("checkpoint", o->checkpoint));
    if (m->needs & HKT_NEEDS_DATA)
        HKT_TRY(hkt_opt_require("data", o->data));
    HKT_TRY(check_filter(m, "layer", o->layer));
    HKT_TRY(check_filter(m, "level", o->level));
    HKT_TRY(check_filter(m, "head", o->head));
    HKT_TRY(check_files(o, m));
    HKT_TRY(check_effect(cli, o, m));
    if (o->config.d_model % o->config.heads != 0)
        return hkt_fail(HKT_EUSAGE, "option '--heads': expected a divisor of '--d-model', %zu, found %zu",
                        o->config.d_model, o->config.heads);
    return HKT_OK;
}

/* JSON on standard output stands in the place of the table. */
static hkt_status choose_outputs(const hkt_cli *cli, options *o)
{
    if (ends_with(o->out, ".json"))
        return hkt_fail(HKT_EUSAGE, "option '--out': expected a table's name ('--json' writes JSON), found '%s'",
                        o->out);
    if (o->json && strcmp(o->json, "-") == 0 && !hkt_opt_given(cli, "out"))
        o->out = NULL;
    return HKT_OK;
}

/* The measurement of that name, place `what` in the list when it is there. */
static hkt_status find_measurement(options *o, const char *name, size_t what)
{
    const foreign_options of = foreign_of(o);
    const char *input = foreign_input(&of);
    const hkt_measurement *foreign = foreign_find(&of, name);
    const bool ours = what < hkt_measurements.n;
    o->foreign = input || (!ours && !(foreign->needs & HKT_NEEDS_FOREIGN));
    o->m = o->foreign ? foreign : ours ? hkt_measurements.item[what] : NULL;
    if (!o->m)
        return input ? hkt_fail(HKT_EUSAGE, "'%s' is not for '--%s'", name, input)
                     : hkt_fail(HKT_EUSAGE, "'%s': expected option '--model'", name);
    return HKT_OK;
}

static hkt_status parse(options *o, int argc, char **argv, hkt_parse_action *action)
{
    size_t what = 0;
    hkt_config *c = &o->config;
    const hkt_opt opts[] = {
        {"checkpoint", HKT_OPT_STRING, &o->checkpoint, "FILE", "model to measure", 0, 0},
        {"model", HKT_OPT_STRING, &o->model, "PATH",
         "instead: a model of another kind as it is on disk (docs/foreign.md)", 0, 0},
        {"map", HKT_OPT_STRING, &o->map, "FILE", "where queries and keys are in a model of no known family", 0, 0},
        {"scores", HKT_OPT_STRING, &o->scores[0], "Q K",
         "instead: queries and keys, or scores, that another program stored (docs/formats.md)", 0, 0},
        {"mask", HKT_OPT_CHOICE, &o->mask, "causal|none", "scores: which of them the model uses", 0, 0},
        {"token-ids", HKT_OPT_STRING, &o->token_ids, "FILE",
         "model: scores of its forward pass over these tokens (gpt2, llama, llama2.c)", 0, 0},
        {"hidden", HKT_OPT_STRING, &o->hidden, "FILE", "bands: hidden states that another program stored", 0, 0},
        {"run", HKT_OPT_STRING, &o->run, "RUN", "instead: every kept checkpoint of this run, a block of rows each", 0,
         0},
        {"data", HKT_OPT_STRING, &o->data, "DIR", "directory of the splits", 0, 0},
        {"split", HKT_OPT_CHOICE, &o->split, "train|val|test", "split to measure on", 0, 0},
        {"task", HKT_OPT_CHOICE, &o->task, HKT_TASKS, "what the data are; without it what their files say", 0, 0},
        {"sequences", HKT_OPT_SIZE, &o->sequences, "N", "at most the first N of the split; 0: all", 0, 0},
        {"layer", HKT_OPT_STRING, &o->layer, "N", "only rows of this layer", 0, 0},
        {"level", HKT_OPT_STRING, &o->level, "L", "only rows of this level, or 'sum'", 0, 0},
        {"head", HKT_OPT_STRING, &o->head, "H", "only rows of this head, or 'all'", 0, 0},
        {"histogram", HKT_OPT_STRING, &o->histogram, "FILE", "kurtosis: histogram of the standardised scores", 0, 0},
        {"npy", HKT_OPT_STRING, &o->npy, "FILE", "scores: the matrix of --layer, --level and --head", 0, 0},
        {"target", HKT_OPT_STRING, &o->second, "FILE", "errors: model whose scores are to be approximated", 0, 0},
        {"tokens", HKT_OPT_SIZE, &o->tokens, "N", "length of the sequence (docs: hkt-analyze(1)); 0: as it suits", 0,
         1 << 24},
        {"d-model", HKT_OPT_SIZE, &c->d_model, "D", "cost: model width", 1, 1 << 14},
        {"heads", HKT_OPT_SIZE, &c->heads, "H", "cost: heads", 1, 1 << 14},
        {"levels", HKT_OPT_SIZE, &c->levels, "L", "cost: most levels; bands --hidden: levels", 1, HKT_MAX_LEVELS},
        {"stride", HKT_OPT_SIZE, &c->stride, "S", "cost, bands --hidden: tokens of a level per token of the next", 2,
         1 << 14},
        {"out", HKT_OPT_STRING, &o->out, "FILE", "the table; '-': standard output", 0, 0},
        {"json", HKT_OPT_STRING, &o->json, "FILE", "the table as JSON; '-': standard output, without the table", 0, 0},
        {"seed", HKT_OPT_U64, &o->seed, "S", "of the bootstrap and of random tokens", 0, 0},
        {"threads", HKT_OPT_SIZE, &o->threads, "N", "0: all processors", 0, 1024},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
    };
    bool given[sizeof opts / sizeof *opts] = {false};
    const char *names[MAX_MEASUREMENTS + 1] = {NULL}, *help[MAX_MEASUREMENTS + 1] = {NULL};
    size_t n_names = hkt_measurements.n;
    HKT_ASSERT(n_names + hkt_foreign_measurements.n <= MAX_MEASUREMENTS);
    for (size_t i = 0; i < n_names; i++) {
        names[i] = hkt_measurements.item[i]->name;
        help[i] = hkt_measurements.item[i]->help;
    }
    foreign_add_names(names, help, &n_names);
    const hkt_cli cli = {.program = "hkt-analyze",
                         .synopsis =
                             "WHAT --checkpoint FILE --data DIR [options]\n       hkt-analyze compare A B [options]\n"
                             "       hkt-analyze WHAT --model PATH [options]\n"
                             "       hkt-analyze WHAT --scores Q K [LENGTHS] --mask causal|none [options]",
                         .summary = "Measures a model: one table per WHAT.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .commands = names,
                         .command_help = help,
                         .given = given};
    char **operand = NULL;
    size_t n = 0;
    HKT_TRY(hkt_opt_parse(&cli, argc, argv, action, &what, &operand, &n));
    if (*action == HKT_PARSE_EXIT)
        return HKT_OK;
    o->n_scores = o->scores[0] != NULL;
    HKT_TRY(choose_outputs(&cli, o));
    HKT_TRY(find_measurement(o, names[what], what));
    HKT_TRY(take_operands(o, o->m, operand, n));
    return check_options(&cli, o, o->m);
}

/* --- one table --- */

typedef struct {
    const options *o;
    const hkt_measurement *m;
    const hkt_provenance *how;
    hkt_tsv *out;
} table;

static hkt_status table_open(table *t)
{
    const options *o = t->o;
    const hkt_tsv_form form = {
        .json = o->json,
        .first = o->run ? "step" : NULL,
        .keep_column = {"layer", "level", "head"},
        .keep_text = {hkt_measure_filter(o->layer), hkt_measure_filter(o->level), hkt_measure_filter(o->head)}};
    return hkt_tsv_open_as(&t->out, o->out, t->how, t->m->columns, &form);
}

/* Figures are drawn from the tables of a directory. */
static hkt_status say_next(const options *o)
{
    char *dir;
    if (!o->out || strcmp(o->out, "-") == 0 || !ends_with(o->out, ".tsv"))
        return HKT_OK;
    const char *slash = strrchr(o->out, '/');
    HKT_TRY(hkt_strdup(&dir, slash ? o->out : "."));
    if (slash)
        dir[slash == o->out ? 1 : slash - o->out] = 0;
    hkt_next((const char *const[]){"hkt-plot", "all", "--from", dir, "--out", "figures", NULL});
    hkt_free(dir);
    return HKT_OK;
}

static hkt_status table_close(table *t, hkt_status status)
{
    const options *o = t->o;
    if (status == HKT_OK && hkt_tsv_rows(t->out) == 0 && (o->layer || o->level || o->head))
        status = hkt_fail(HKT_EINPUT, "'%s': expected a row with layer %s, level %s, head %s, found none", t->m->name,
                          o->layer ? o->layer : "any", o->level ? o->level : "any", o->head ? o->head : "any");
    if (status == HKT_OK)
        return hkt_tsv_commit(t->out);
    hkt_tsv_abort(t->out);
    return status;
}

/* Reads the data, which must fit the model; once, also for many checkpoints of a run. */
static hkt_status read_data(const options *o, const hkt_checkpoint *model, const char *name, hkt_dataset *data)
{
    if (!o->data)
        return HKT_OK;
    if (data->n == 0)
        HKT_TRY(hkt_dataset_read(data, o->task, o->data, o->split, model->layout->config.max_len));
    return hkt_evaluate_check(&model->layout->config, data, name);
}

static hkt_status write_rows(const table *t, const hkt_checkpoint *model, const hkt_checkpoint *other,
                             const hkt_dataset *data)
{
    const options *o = t->o;
    bool all = o->sequences == 0 || o->sequences > data->n;
    hkt_measure_context ctx = {.how = t->how,
                               .all = hkt_measurements,
                               .model = model,
                               .other = other,
                               .data = o->data ? data : NULL,
                               .sequences = all ? data->n : o->sequences,
                               .tokens = o->tokens,
                               .config = model ? &model->layout->config : &o->config,
                               .histogram = o->histogram,
                               .npy = o->npy,
                               .layer = hkt_measure_filter(o->layer),
                               .level = hkt_measure_filter(o->level),
                               .head = hkt_measure_filter(o->head),
                               .seed = o->seed};
    return t->m->run(&ctx, t->out);
}

/* One checkpoint, two of them for compare, none for cost. */
static hkt_status measure_models(table *t)
{
    const options *o = t->o;
    hkt_checkpoint model = {0}, other = {0};
    hkt_dataset data = {0};
    hkt_status status = o->checkpoint ? hkt_checkpoint_read(&model, o->checkpoint) : HKT_OK;
    if (status == HKT_OK && o->second)
        status = hkt_checkpoint_read(&other, o->second);
    if (status == HKT_OK && o->checkpoint)
        status = read_data(o, &model, o->checkpoint, &data);
    if (status == HKT_OK && o->second)
        status = read_data(o, &other, o->second, &data);
    if (status == HKT_OK && (status = table_open(t)) == HKT_OK)
        status = table_close(t, write_rows(t, o->checkpoint ? &model : NULL, o->second ? &other : NULL, &data));
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
    hkt_checkpoint_free(&other);
    return status;
}

/* --- the kept checkpoints of a run --- */

static hkt_status measure_kept(const table *t, const char *dir, const char *name, hkt_dataset *data)
{
    char *path;
    hkt_checkpoint model = {0};
    HKT_TRY(hkt_path_join(&path, dir, name));
    hkt_tsv_first(t->out, (size_t)strtoull(name + strlen("step-"), NULL, 10));
    hkt_note("%s", path);
    hkt_status status = hkt_checkpoint_read(&model, path);
    if (status == HKT_OK)
        status = read_data(t->o, &model, path, data);
    if (status == HKT_OK)
        status = write_rows(t, &model, NULL, data);
    hkt_checkpoint_free(&model);
    hkt_free(path);
    return status;
}

static int is_kept(const struct dirent *entry)
{
    return strncmp(entry->d_name, "step-", 5) == 0 && ends_with(entry->d_name, ".safetensors");
}

/* In the order of their steps, which have as many digits each. */
static hkt_status measure_run(table *t)
{
    struct dirent **entry = NULL;
    char *dir;
    hkt_dataset data = {0};
    HKT_TRY(hkt_path_join(&dir, t->o->run, "kept"));
    int n = scandir(dir, &entry, is_kept, alphasort);
    hkt_status status = n > 0 ? table_open(t)
                              : hkt_fail(HKT_EINPUT,
                                         "%s: expected kept checkpoints, found none; hkt-train"
                                         " --keep-checkpoints N keeps them",
                                         dir);
    if (status == HKT_OK) {
        for (int i = 0; i < n && status == HKT_OK; i++)
            status = measure_kept(t, dir, entry[i]->d_name, &data);
        status = table_close(t, status);
    }
    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
    hkt_dataset_free(&data);
    hkt_free(dir);
    return status;
}

static hkt_status run(int argc, char **argv)
{
    hkt_provenance how = hkt_provenance_make(argc, argv);
    hkt_parse_action action = HKT_PARSE_RUN;
    options o = default_options();
    HKT_TRY(parse(&o, argc, argv, &action));
    if (action == HKT_PARSE_EXIT)
        return HKT_OK;
    how.seed = o.seed;
    how.threads = hkt_set_threads(o.threads);
    HKT_TRY(hkt_resources_check());
    how.blas_core = hkt_blas_core();
    if (o.foreign) {
        const foreign_options foreign = foreign_of(&o);
        return foreign_run(&foreign, o.m, &how);
    }
    table t = {.o = &o, .m = o.m, .how = &how};
    HKT_TRY(o.run ? measure_run(&t) : measure_models(&t));
    return say_next(&o);
}

int main(int argc, char **argv)
{
    hkt_start();
    hkt_num_init(argv);
    return hkt_report_failure("hkt-analyze", run(argc, argv));
}

/* hkt-data - generates, imports, fetches, inspects and checks data sets. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/progress.h"
#include "base/provenance.h"
#include "base/start.h"
#include "data/check.h"
#include "data/cifar10.h"
#include "data/dataset.h"
#include "data/fetch.h"
#include "data/imdb.h"
#include "data/listops.h"
#include "data/report.h"

enum { LISTOPS, CIFAR10, IMDB, FETCH, INSPECT, CHECK };
static const char *const commands[] = {"listops", "cifar10", "imdb", "fetch", "inspect", "check", NULL};
static const char *const command_help[] = {
    "generate a ListOps data set",
    "make the splits of sequential CIFAR-10 from the published files",
    "make the splits of IMDB reviews as bytes from the published files",
    "where a published data set is, and its download: fetch cifar10|imdb|listops",
    "rows, lengths, classes, majority baseline, duplicates of a data set",
    "are the files of a data set, a run or a folder of tables those that were written (checksums)"};

typedef struct {
    const char *task, *out, *from, *preset, *operators;
    bool force;
    hkt_listops_spec listops; /* imdb has max_length too */
} options;

typedef struct {
    options o;
    size_t command;
    char **operands;
    size_t n_operands;
} request;

/* The window of 100 to 512 tokens fits models of max_len 512; 24,000 rows take about a second. */
static const hkt_listops_spec default_listops = {.train = 20000,
                                                 .val = 2000,
                                                 .test = 2000,
                                                 .min_length = 100,
                                                 .max_length = 512,
                                                 .max_depth = 10,
                                                 .max_args = 10,
                                                 .short_min = 4,
                                                 .short_max = 100,
                                                 .seed = HKT_DEFAULT_SEED};

#define EPILOG                                                                                                         \
    "Examples:\n"                                                                                                      \
    "  hkt-data listops --out data --train 5000 --seed 1\n"                                                            \
    "  hkt-data listops --out lra --preset lra\n"                                                                      \
    "  hkt-data fetch imdb --out downloads\n"                                                                          \
    "  hkt-data imdb --from downloads/aclImdb_v1.tar.gz --out imdb\n"                                                  \
    "  hkt-data inspect imdb\n"                                                                                        \
    "  hkt-data check run\n"                                                                                           \
    "Exit status: 0 done, 2 usage, 3 bad input, 5 system failure."

/* HKT_EUSAGE for an option that the command does not have. */
static hkt_status check_options(const hkt_cli *cli, size_t command)
{
    static const struct {
        const char *name;
        unsigned of; /* bit set of commands */
    } use[] = {
        {"out", 1 << LISTOPS | 1 << CIFAR10 | 1 << IMDB | 1 << FETCH},
        {"from", 1 << CIFAR10 | 1 << IMDB},
        {"task", 1 << INSPECT},
        {"max-length", 1 << LISTOPS | 1 << IMDB},
        {"preset", 1 << LISTOPS | 1 << IMDB},
        {"train|val|test|min-length|max-depth|max-args|operators|short-share|short-min|short-max|stream|seed|force",
         1 << LISTOPS}};
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < sizeof use / sizeof *use && status == HKT_OK; i++)
        if (!(use[i].of >> command & 1))
            status = hkt_opt_refuse(cli, use[i].name, "has no effect");
    return status == HKT_OK ? HKT_OK : hkt_fail_context(status, "%s", commands[command]);
}

static hkt_status parse(request *r, int argc, char **argv, hkt_parse_action *action)
{
    options *o = &r->o;
    hkt_listops_spec *s = &o->listops;
    const hkt_opt opts[] = {
        {"out", HKT_OPT_STRING, &o->out, "DIR", "directory of the splits, or of the download", 0, 0},
        {"from", HKT_OPT_STRING, &o->from, "PATH", "cifar10, imdb: folder, .tar, .tar.gz or .tar.xz as published", 0,
         0},
        {"task", HKT_OPT_CHOICE, &o->task, HKT_TASKS, "inspect: what the data are; without it what their files say", 0,
         0},
        {"preset", HKT_OPT_CHOICE, &o->preset, "default|lra",
         "listops, imdb: settings that the options below start from", 0, 0},
        {"train", HKT_OPT_SIZE, &s->train, "N", "listops: rows of the training split; of an epoch of a stream", 1, 1e8},
        {"val", HKT_OPT_SIZE, &s->val, "N", "listops: rows of the validation split", 1, 1e8},
        {"test", HKT_OPT_SIZE, &s->test, "N", "listops: rows of the test split", 1, 1e8},
        {"min-length", HKT_OPT_SIZE, &s->min_length, "N", "listops: fewest tokens of a row", 1, 1e6},
        {"max-length", HKT_OPT_SIZE, &s->max_length, "N", "most tokens of a row; imdb (1024): longer ones are cut", 1,
         1e6},
        {"max-depth", HKT_OPT_SIZE, &s->max_depth, "N", "listops: deepest nesting, the root being 1", 1,
         HKT_LISTOPS_MAX_DEPTH},
        {"max-args", HKT_OPT_SIZE, &s->max_args, "N", "listops: most arguments of an operator", 2, 1e6},
        {"operators", HKT_OPT_STRING, &o->operators, "NAMES", "listops: some of MIN,MAX,MED,SM", 0, 0},
        {"short-share", HKT_OPT_REAL, &s->short_share, "R", "listops: share of short rows in the training split", 0, 1},
        {"short-min", HKT_OPT_SIZE, &s->short_min, "N", "listops: fewest tokens of a short row", 1, 1e6},
        {"short-max", HKT_OPT_SIZE, &s->short_max, "N", "listops: most tokens of a short row", 1, 1e6},
        {"stream", HKT_OPT_FLAG, &s->stream, NULL, "listops: training rows without a file, fresh in every epoch", 0, 0},
        {"force", HKT_OPT_FLAG, &o->force, NULL, "listops: write the data set anew where there is one", 0, 0},
        {"seed", HKT_OPT_U64, &s->seed, "S", "listops: the same seed gives the same bytes", 0, 0},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0}};
    bool given[sizeof opts / sizeof *opts] = {false};
    const hkt_cli cli = {.program = "hkt-data",
                         .synopsis = "listops --out DIR [options] | cifar10|imdb --from PATH --out DIR | fetch TASK | "
                                     "inspect DIR [--task TASK] | check DIR",
                         .summary = "Generates, imports, fetches, inspects and checks data sets.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .commands = commands,
                         .command_help = command_help,
                         .given = given};
    HKT_TRY(hkt_opt_parse(&cli, argc, argv, action, &r->command, &r->operands, &r->n_operands));
    return *action == HKT_PARSE_EXIT ? HKT_OK : check_options(&cli, r->command);
}

/* What a command starts from; `parsed` says which, and which preset. */
static options defaults_of(const request *parsed)
{
    options d = {.preset = "default", .listops = default_listops};
    const bool lra = strcmp(parsed->o.preset, "lra") == 0;
    if (parsed->command == IMDB)
        d.listops.max_length = lra ? HKT_IMDB_MAX_LENGTH_LRA : HKT_IMDB_MAX_LENGTH;
    else if (lra)
        d.listops = hkt_listops_spec_lra(HKT_DEFAULT_SEED);
    return d;
}

/* n: operands that the command has. */
static hkt_status check_operands(const request *r, size_t n, const char *what)
{
    if (r->n_operands == n)
        return HKT_OK;
    if (n == 0)
        return hkt_fail(HKT_EUSAGE, "%s: expected options only, found '%s'", commands[r->command], r->operands[0]);
    return hkt_fail(HKT_EUSAGE, "%s: expected %s, found %zu operands", commands[r->command], what, r->n_operands);
}

/* Ends a report on standard output. */
static hkt_status close_report(hkt_out *out, hkt_status status)
{
    if (status == HKT_OK)
        return hkt_out_commit(out);
    hkt_out_abort(out);
    return status;
}

/* --- listops ------------------------------------------------------------------------------------------------------ */

static hkt_status check_new(const options *o)
{
    for (size_t i = 0; i < HKT_SPLITS && !o->force; i++) {
        char name[16], *path;
        snprintf(name, sizeof name, "%s.tsv", hkt_split_names[i]);
        HKT_TRY(hkt_path_join(&path, o->out, name));
        bool there = hkt_file_exists(path);
        hkt_free(path);
        if (there)
            return hkt_fail(HKT_EINPUT, "%s: has %s already: --force writes the data set anew", o->out, name);
    }
    return HKT_OK;
}

static hkt_status run_listops(const request *r)
{
    hkt_listops_spec spec = r->o.listops, *s = &spec;
    double start = hkt_now();
    char rows[32];
    HKT_TRY(check_operands(r, 0, NULL));
    HKT_TRY(hkt_opt_require("out", r->o.out));
    if (r->o.operators)
        HKT_TRY(hkt_listops_operators_parse(&s->operators, r->o.operators));
    HKT_TRY(check_new(&r->o));
    HKT_TRY(hkt_listops_generate(s, r->o.out));
    snprintf(rows, sizeof rows, s->stream ? "a stream of" : "%zu", s->train);
    hkt_note("%s: %s train, %zu val, %zu test rows of %zu..%zu tokens, seed %llu, in %.1f s", r->o.out, rows, s->val,
             s->test, s->min_length, s->max_length, (unsigned long long)s->seed, hkt_now() - start);
    return HKT_OK;
}

/* --- cifar10, imdb ------------------------------------------------------------------------------------------------ */

static hkt_status import(const request *r, hkt_import *im)
{
    if (r->command == CIFAR10)
        return hkt_cifar10_import(im, r->o.from, r->o.out, HKT_CIFAR10_BATCH_ROWS);
    const hkt_imdb_spec spec = {.per_folder = HKT_IMDB_PER_FOLDER, .max_length = r->o.listops.max_length};
    return hkt_imdb_import(im, r->o.from, r->o.out, &spec);
}

static hkt_status run_import(const request *r)
{
    hkt_import im = {.format = NULL};
    hkt_out *out;
    double start = hkt_now();
    HKT_TRY(check_operands(r, 0, NULL));
    HKT_TRY(hkt_opt_require("from", r->o.from));
    HKT_TRY(hkt_opt_require("out", r->o.out));
    hkt_status status = import(r, &im);
    if (status == HKT_OK)
        status = hkt_out_open(&out, "-");
    if (status == HKT_OK)
        status = close_report(out, hkt_report_import(hkt_out_stream(out), r->o.from, &im));
    if (status == HKT_OK)
        hkt_note("%s: written in %.1f s", r->o.out, hkt_now() - start);
    hkt_import_free(&im);
    return status;
}

/* --- fetch -------------------------------------------------------------------------------------------------------- */

static hkt_status run_fetch(const request *r)
{
    hkt_out *out;
    HKT_TRY(check_operands(r, 1, "one task"));
    if (r->o.out && strcmp(r->operands[0], "listops") == 0)
        return hkt_fail(HKT_EUSAGE, "fetch listops: option '--out' has no effect");
    HKT_TRY(hkt_out_open(&out, "-"));
    return close_report(out, hkt_fetch(hkt_out_stream(out), r->operands[0], r->o.out ? r->o.out : "."));
}

/* --- inspect ------------------------------------------------------------------------------------------------------ */

static hkt_status print_report(const hkt_dataset data[HKT_SPLITS], const char *dir)
{
    hkt_out *out;
    HKT_TRY(hkt_out_open(&out, "-"));
    return close_report(out, hkt_report_dataset(hkt_out_stream(out), dir, data));
}

static hkt_status run_inspect(const request *r)
{
    hkt_dataset data[HKT_SPLITS] = {{0}};
    hkt_status status = HKT_OK;
    HKT_TRY(check_operands(r, 1, "one directory"));
    for (size_t s = 0; s < HKT_SPLITS && status == HKT_OK; s++)
        status = hkt_dataset_read(&data[s], r->o.task, r->operands[0], hkt_split_names[s], 0);
    if (status == HKT_OK)
        status = print_report(data, r->operands[0]);
    for (size_t s = 0; s < HKT_SPLITS; s++)
        hkt_dataset_free(&data[s]);
    return status;
}

/* --- check -------------------------------------------------------------------------------------------------------- */

static hkt_status run_check(const request *r)
{
    hkt_out *out;
    HKT_TRY(check_operands(r, 1, "one directory"));
    HKT_TRY(hkt_out_open(&out, "-"));
    return close_report(out, hkt_check_directory(hkt_out_stream(out), r->operands[0]));
}

/* How the set was made, beside its splits: data.json. */
static hkt_status write_provenance(const request *r, hkt_provenance how)
{
    char *path;
    how.seed = r->command == LISTOPS ? r->o.listops.seed : 0;
    how.threads = 1;
    json_t *out = json_pack("{s:s, s:o}", "format", "hkt-data/1", "provenance", hkt_provenance_json(&how));
    if (!out)
        return hkt_fail(HKT_ESYSTEM, "out of memory for the provenance of '%s'", r->o.out);
    hkt_status status = hkt_path_join(&path, r->o.out, "data.json");
    if (status == HKT_OK) {
        status = hkt_json_write(out, path);
        hkt_free(path);
    }
    json_decref(out);
    return status;
}

static hkt_status run(int argc, char **argv)
{
    const hkt_provenance how = hkt_provenance_make(argc, argv);
    hkt_status status;
    request r = {.o = {.preset = "default", .listops = default_listops}};
    hkt_parse_action action;
    HKT_TRY(parse(&r, argc, argv, &action));
    if (action == HKT_PARSE_EXIT)
        return HKT_OK;
    /* Command and preset set the defaults: a second parse puts the options on top of them. */
    r.o = defaults_of(&r);
    HKT_TRY(parse(&r, argc, argv, &action));
    switch (r.command) {
    case LISTOPS:
    case CIFAR10:
    case IMDB:
        status = r.command == LISTOPS ? run_listops(&r) : run_import(&r);
        return status == HKT_OK ? write_provenance(&r, how) : status;
    case FETCH:
        return run_fetch(&r);
    case INSPECT:
        return run_inspect(&r);
    default:
        return run_check(&r);
    }
}

int main(int argc, char **argv)
{
    hkt_start();
    hkt_status status = run(argc, argv);
    return status == HKT_OK ? 0 : hkt_report_failure("hkt-data", status);
}

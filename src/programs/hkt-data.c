/* hkt-data - generates and inspects data sets. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/progress.h"
#include "data/dataset.h"
#include "data/listops.h"

enum { SPLITS = 3 };
static const char *const split_name[SPLITS] = {"train", "val", "test"};

enum { COMMAND_LISTOPS, COMMAND_INSPECT };

typedef struct {
    const char *task, *out, *preset;
    hkt_listops_spec listops;
} options;

/* The window of 100 to 512 tokens fits models of max_len 512; 24,000 rows take about a second. */
static const hkt_listops_spec default_listops = {.train = 20000,
                                                 .val = 2000,
                                                 .test = 2000,
                                                 .min_length = 100,
                                                 .max_length = 512,
                                                 .max_depth = 10,
                                                 .max_args = 10,
                                                 .seed = HKT_DEFAULT_SEED};

static hkt_status parse(options *o, int argc, char **argv, hkt_parse_action *action, size_t *command, char ***operands,
                        size_t *n_operands)
{
    hkt_listops_spec *s = &o->listops;
    const hkt_opt opts[] = {
        {"out", HKT_OPT_STRING, &o->out, "DIR", "listops: write train.tsv, val.tsv, test.tsv there", 0, 0},
        {"preset", HKT_OPT_CHOICE, &o->preset, "default|lra", "listops: settings that the options below start from", 0,
         0},
        {"train", HKT_OPT_SIZE, &s->train, "N", "rows of the training split", 1, 1e8},
        {"val", HKT_OPT_SIZE, &s->val, "N", "rows of the validation split", 1, 1e8},
        {"test", HKT_OPT_SIZE, &s->test, "N", "rows of the test split", 1, 1e8},
        {"min-length", HKT_OPT_SIZE, &s->min_length, "N", "fewest tokens of a row", 1, 1e6},
        {"max-length", HKT_OPT_SIZE, &s->max_length, "N", "most tokens of a row", 1, 1e6},
        {"max-depth", HKT_OPT_SIZE, &s->max_depth, "N", "deepest nesting, the root being 1", 1, HKT_LISTOPS_MAX_DEPTH},
        {"max-args", HKT_OPT_SIZE, &s->max_args, "N", "most arguments of an operator", 2, 1e6},
        {"seed", HKT_OPT_U64, &s->seed, "S", "the same seed gives the same bytes", 0, 0},
        {"task", HKT_OPT_CHOICE, &o->task, HKT_TASKS, "inspect: the kind of data", 0, 0},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0}};
    static const char *const commands[] = {"listops", "inspect", NULL};
    static const char *const command_help[] = {"generate a ListOps data set",
                                               "rows, lengths, classes, majority baseline, duplicates of a data set"};
    const hkt_cli cli = {.program = "hkt-data",
                         .synopsis = "listops --out DIR [options] | inspect DIR [--task TASK]",
                         .summary = "Generates and inspects data sets.",
                         .epilog = "Examples:\n"
                                   "  hkt-data listops --out data --train 5000 --seed 1\n"
                                   "  hkt-data listops --out lra --preset lra\n"
                                   "  hkt-data inspect data\n"
                                   "Exit status: 0 done, 2 usage, 3 bad input, 5 system failure.",
                         .opts = opts,
                         .commands = commands,
                         .command_help = command_help};
    return hkt_opt_parse(&cli, argc, argv, action, command, operands, n_operands);
}

static hkt_status run_listops(const options *o, size_t n_operands, char **operands)
{
    const hkt_listops_spec *s = &o->listops;
    double start = hkt_now();
    if (n_operands > 0)
        return hkt_fail(HKT_EUSAGE, "listops: expected options only, found '%s'", operands[0]);
    HKT_TRY(hkt_opt_require("out", o->out));
    HKT_TRY(hkt_listops_generate(s, o->out));
    hkt_note("%s: %zu train, %zu val, %zu test rows of %zu..%zu tokens in %.1f s", o->out, s->train, s->val, s->test,
             s->min_length, s->max_length, hkt_now() - start);
    return HKT_OK;
}

/* --- inspect ------------------------------------------------------------------------------------------------------ */

static size_t row_length(const hkt_dataset *d, size_t i)
{
    return d->offset[i + 1] - d->offset[i];
}

static size_t shortest(const hkt_dataset *d)
{
    size_t min = row_length(d, 0);
    for (size_t i = 1; i < d->n; i++)
        min = row_length(d, i) < min ? row_length(d, i) : min;
    return min;
}

/* count: [SPLITS][classes]. */
static void count_classes(const hkt_dataset data[SPLITS], size_t *count)
{
    for (size_t s = 0; s < SPLITS; s++)
        for (size_t i = 0; i < data[s].n; i++)
            count[s * data[s].classes + (size_t)data[s].labels[i]]++;
}

static void print_splits(FILE *f, const hkt_dataset data[SPLITS], const size_t *count, const size_t *overlap)
{
    fprintf(f, "%-6s %8s %9s %7s %9s %7s %9s %6s\n", "split", "rows", "distinct", "min", "mean", "max", "majority",
            "class");
    for (size_t s = 0; s < SPLITS; s++) {
        const hkt_dataset *d = &data[s];
        const size_t *c = count + s * d->classes;
        size_t largest = 0;
        for (size_t k = 1; k < d->classes; k++)
            largest = c[k] > c[largest] ? k : largest;
        fprintf(f, "%-6s %8zu %9zu %7zu %9.2f %7zu %9.4f %6zu\n", split_name[s], d->n, d->n - overlap[s * SPLITS + s],
                shortest(d), (double)d->offset[d->n] / (double)d->n, d->max_len, hkt_dataset_majority(d), largest);
    }
}

static void print_classes(FILE *f, const hkt_dataset data[SPLITS], const size_t *count)
{
    fprintf(f, "\n%-6s %8s %8s %8s\n", "class", split_name[0], split_name[1], split_name[2]);
    for (size_t k = 0; k < data[0].classes; k++) {
        fprintf(f, "%-6zu", k);
        for (size_t s = 0; s < SPLITS; s++)
            fprintf(f, " %8.4f", (double)count[s * data[s].classes + k] / (double)data[s].n);
        fputc('\n', f);
    }
}

enum { BINS = 12, BAR = 40 };

/* Bins of equal width over the lengths of all splits; the bar is for all rows together. */
static void print_lengths(FILE *f, const hkt_dataset data[SPLITS])
{
    size_t count[BINS][SPLITS + 1] = {{0}}, min = SIZE_MAX, max = 0, most = 0;
    for (size_t s = 0; s < SPLITS; s++) {
        min = shortest(&data[s]) < min ? shortest(&data[s]) : min;
        max = data[s].max_len > max ? data[s].max_len : max;
    }
    size_t width = (max - min) / BINS + 1;
    for (size_t s = 0; s < SPLITS; s++)
        for (size_t i = 0; i < data[s].n; i++) {
            size_t *bin = count[(row_length(&data[s], i) - min) / width];
            bin[s]++;
            bin[SPLITS]++;
            most = bin[SPLITS] > most ? bin[SPLITS] : most;
        }
    fprintf(f, "\n%-15s %8s %8s %8s\n", "length", split_name[0], split_name[1], split_name[2]);
    for (size_t b = 0; b < BINS && min + b * width <= max; b++) {
        static const char bar[BAR + 1] = "########################################";
        size_t first = min + b * width, last = first + width - 1 < max ? first + width - 1 : max;
        size_t marks = (count[b][SPLITS] * BAR + most - 1) / most;
        fprintf(f, "%6zu..%-7zu %8zu %8zu %8zu%s%.*s\n", first, last, count[b][0], count[b][1], count[b][2],
                marks ? "  " : "", (int)marks, bar);
    }
}

static void print_overlap(FILE *f, const size_t *overlap)
{
    fprintf(f, "\nduplicates across splits\n");
    for (size_t a = 0; a < SPLITS; a++)
        for (size_t b = a + 1; b < SPLITS; b++)
            fprintf(f, "%s rows that occur in %s: %zu\n", split_name[b], split_name[a], overlap[a * SPLITS + b]);
}

static hkt_status print_report(const hkt_dataset data[SPLITS], const char *dir)
{
    size_t overlap[SPLITS * SPLITS];
    size_t *count;
    hkt_out *out;
    HKT_TRY(hkt_dataset_overlap(data, SPLITS, overlap));
    HKT_TRY(HKT_NEW(&count, SPLITS * data[0].classes));
    count_classes(data, count);
    hkt_status status = hkt_out_open(&out, "-");
    if (status == HKT_OK) {
        FILE *f = hkt_out_stream(out);
        fprintf(f, "%s: task %s, vocabulary %zu, %zu classes\n\n", dir, data[0].task, data[0].vocab, data[0].classes);
        print_splits(f, data, count, overlap);
        print_classes(f, data, count);
        print_lengths(f, data);
        print_overlap(f, overlap);
        status = hkt_out_commit(out);
    }
    hkt_free(count);
    return status;
}

static hkt_status run_inspect(const options *o, size_t n_operands, char **operands)
{
    hkt_dataset data[SPLITS] = {{0}};
    hkt_status status = HKT_OK;
    if (n_operands != 1)
        return hkt_fail(HKT_EUSAGE, "inspect: expected one directory, found %zu operands", n_operands);
    if (o->out || memcmp(&o->listops, &default_listops, sizeof o->listops) != 0)
        return hkt_fail(HKT_EUSAGE, "inspect: expected no option but --task, found one of 'listops'");
    for (size_t s = 0; s < SPLITS && status == HKT_OK; s++)
        status = hkt_dataset_read(&data[s], o->task, operands[0], split_name[s], 0);
    if (status == HKT_OK)
        status = print_report(data, operands[0]);
    for (size_t s = 0; s < SPLITS; s++)
        hkt_dataset_free(&data[s]);
    return status;
}

int main(int argc, char **argv)
{
    options o = {.task = "listops", .preset = "default", .listops = default_listops};
    hkt_parse_action action;
    size_t command = 0, n_operands = 0;
    char **operands = NULL;
    hkt_status status = parse(&o, argc, argv, &action, &command, &operands, &n_operands);
    /* Explicit options win over the preset: a second parse on top of its values. */
    if (status == HKT_OK && action == HKT_PARSE_RUN && strcmp(o.preset, "lra") == 0) {
        o.listops = hkt_listops_spec_lra(HKT_DEFAULT_SEED);
        status = parse(&o, argc, argv, &action, &command, &operands, &n_operands);
    }
    if (status == HKT_OK && action == HKT_PARSE_RUN)
        status =
            command == COMMAND_LISTOPS ? run_listops(&o, n_operands, operands) : run_inspect(&o, n_operands, operands);
    return status == HKT_OK ? 0 : hkt_report_failure("hkt-data", status);
}

/* hkt-analyze - measurements on a model, one table each: analysis/measure.h lists them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measure.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/rng.h"
#include "num/blas.h"
#include "train/evaluate.h"

enum { MAX_MEASUREMENTS = 32 };

typedef struct {
    const char *checkpoint, *task, *data, *split, *out, *histogram;
    size_t sequences, tokens, threads;
    uint64_t seed;
    hkt_config config; /* of `cost` without a checkpoint */
} options;

/* The model's shape is hkt-train's default with one level more; what a cost does not depend on is 1. */
static options default_options(void)
{
    return (options){.task = "listops",
                     .split = "val",
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
    "  hkt-analyze spectrum --checkpoint run/best.safetensors --data data --out spectrum.tsv\n"                        \
    "  hkt-analyze cost --levels 4 --out cost.tsv\n"                                                                   \
    "Exit status: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 system failure."

static hkt_status parse(options *o, int argc, char **argv, hkt_parse_action *action, size_t *what)
{
    hkt_config *c = &o->config;
    const hkt_opt opts[] = {
        {"checkpoint", HKT_OPT_STRING, &o->checkpoint, "FILE", "model to measure", 0, 0},
        {"data", HKT_OPT_STRING, &o->data, "DIR", "directory of the splits", 0, 0},
        {"split", HKT_OPT_CHOICE, &o->split, "train|val|test", "split to measure on", 0, 0},
        {"task", HKT_OPT_CHOICE, &o->task, HKT_TASKS, "what the data are", 0, 0},
        {"sequences", HKT_OPT_SIZE, &o->sequences, "N", "kurtosis: at most the first N of the split; 0: all", 0, 0},
        {"histogram", HKT_OPT_STRING, &o->histogram, "FILE", "kurtosis: histogram of the standardised scores", 0, 0},
        {"tokens", HKT_OPT_SIZE, &o->tokens, "N", "random tokens of spectrum (512), longest length of cost (65536)", 0,
         1 << 24},
        {"d-model", HKT_OPT_SIZE, &c->d_model, "D", "cost: model width", 1, 1 << 14},
        {"heads", HKT_OPT_SIZE, &c->heads, "H", "cost: heads", 1, 1 << 14},
        {"levels", HKT_OPT_SIZE, &c->levels, "L", "cost: most levels", 1, HKT_MAX_LEVELS},
        {"stride", HKT_OPT_SIZE, &c->stride, "S", "cost: tokens of a level per token of the next", 2, 1 << 14},
        {"out", HKT_OPT_STRING, &o->out, "FILE", "table as TSV; '-': standard output", 0, 0},
        {"seed", HKT_OPT_U64, &o->seed, "S", "of the bootstrap and of random tokens", 0, 0},
        {"threads", HKT_OPT_SIZE, &o->threads, "N", "0: all processors", 0, 1024},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
    };
    const char *names[MAX_MEASUREMENTS + 1] = {NULL}, *help[MAX_MEASUREMENTS + 1] = {NULL};
    HKT_ASSERT(hkt_n_measurements <= MAX_MEASUREMENTS);
    for (size_t i = 0; i < hkt_n_measurements; i++) {
        names[i] = hkt_measurements[i]->name;
        help[i] = hkt_measurements[i]->help;
    }
    const hkt_cli cli = {.program = "hkt-analyze",
                         .synopsis = "WHAT --checkpoint FILE --data DIR [options]",
                         .summary = "Measures a model: one table per WHAT.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .commands = names,
                         .command_help = help};
    return hkt_opt_parse(&cli, argc, argv, action, what, NULL, NULL);
}

static hkt_status check_options(const options *o, const hkt_measurement *m)
{
    if (m->needs & HKT_NEEDS_MODEL)
        HKT_TRY(hkt_opt_require("checkpoint", o->checkpoint));
    if (m->needs & HKT_NEEDS_DATA)
        HKT_TRY(hkt_opt_require("data", o->data));
    if (o->data && !o->checkpoint)
        return hkt_fail(HKT_EUSAGE, "option '--data' needs '--checkpoint'");
    if (o->histogram && m != &hkt_measure_kurtosis)
        return hkt_fail(HKT_EUSAGE, "option '--histogram' is only for 'kurtosis', found '%s'", m->name);
    if (o->histogram && strcmp(o->histogram, o->out) == 0)
        return hkt_fail(HKT_EUSAGE, "options '--out' and '--histogram': expected two files, found '%s' twice", o->out);
    return HKT_OK;
}

/* Reads what the options name; the caller frees both also after a failure. */
static hkt_status read_inputs(const options *o, hkt_checkpoint *model, hkt_dataset *data)
{
    if (!o->checkpoint)
        return HKT_OK;
    HKT_TRY(hkt_checkpoint_read(model, o->checkpoint));
    if (!o->data)
        return HKT_OK;
    HKT_TRY(hkt_dataset_read(data, o->task, o->data, o->split, model->layout->config.max_len));
    return hkt_evaluate_check(&model->layout->config, data, o->checkpoint);
}

static hkt_status write_table(const hkt_measurement *m, const hkt_measure_context *ctx, const char *path)
{
    hkt_tsv *out;
    HKT_TRY(hkt_tsv_open(&out, path, ctx->how, m->columns));
    hkt_status status = m->run(ctx, out);
    if (status == HKT_OK)
        return hkt_tsv_commit(out);
    hkt_tsv_abort(out);
    return status;
}

static hkt_status measure(const options *o, const hkt_measurement *m, const hkt_provenance *how)
{
    hkt_checkpoint model = {0};
    hkt_dataset data = {0};
    hkt_status status = read_inputs(o, &model, &data);
    if (status == HKT_OK) {
        bool all = o->sequences == 0 || o->sequences > data.n;
        hkt_measure_context ctx = {.how = how,
                                   .model = o->checkpoint ? &model : NULL,
                                   .data = o->data ? &data : NULL,
                                   .sequences = all ? data.n : o->sequences,
                                   .tokens = o->tokens,
                                   .config = o->checkpoint ? &model.layout->config : &o->config,
                                   .histogram = o->histogram,
                                   .seed = o->seed};
        status = write_table(m, &ctx, o->out);
    }
    hkt_dataset_free(&data);
    hkt_checkpoint_free(&model);
    return status;
}

static hkt_status run(int argc, char **argv)
{
    hkt_provenance how = hkt_provenance_make(argc, argv);
    hkt_parse_action action = HKT_PARSE_RUN;
    options o = default_options();
    size_t what = 0;
    HKT_TRY(parse(&o, argc, argv, &action, &what));
    if (action == HKT_PARSE_EXIT)
        return HKT_OK;
    HKT_TRY(check_options(&o, hkt_measurements[what]));
    how.seed = o.seed;
    how.threads = hkt_set_threads(o.threads);
    how.blas_core = hkt_blas_core();
    return measure(&o, hkt_measurements[what], &how);
}

int main(int argc, char **argv)
{
    hkt_num_init(argv);
    return hkt_report_failure("hkt-analyze", run(argc, argv));
}

/* hkt-bench - speed and memory of a training step, of the kernels under it, and of the largest jobs of the analysis. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/provenance.h"
#include "base/rng.h"
#include "base/start.h"
#include "bench.h"
#include "num/blas.h"
#include "num/resources.h"
#include "num/kernels.h"

/* --- report ------------------------------------------------------------------------------------------------------- */

/* "VmHWM: N kB" of Linux: unlike ru_maxrss it does not begin with the size of the process that started this one. */
size_t hkt_bench_peak_rss(void)
{
    char line[256];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kib == 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %zu", &kib) != 1)
            kib = 0;
    if (f)
        fclose(f);
    return kib * 1024;
}

void hkt_bench_put(hkt_bench *b, const char *key, json_t *value)
{
    json_object_set_new(b->report, key, value);
}

void hkt_bench_put_count(hkt_bench *b, const char *key, size_t n)
{
    hkt_bench_put(b, key, json_integer((json_int_t)n));
}

void hkt_bench_put_timing(hkt_bench *b, const char *prefix, const hkt_timing *t, double tokens)
{
    const struct {
        const char *name;
        double value;
    } cells[] = {{"tokens_per_s", tokens / t->median},
                 {"tokens_per_s_low", tokens / t->high},
                 {"tokens_per_s_high", tokens / t->low},
                 {"seconds", t->median}};
    char key[64];
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        snprintf(key, sizeof key, "%s%s", prefix, cells[i].name);
        hkt_bench_put(b, key, hkt_json_real(cells[i].value));
    }
}

static void print_report(const hkt_bench *b)
{
    const char *key;
    json_t *value;
    json_object_foreach(b->report, key, value) if (json_is_string(value))
        printf("%-32s %s\n", key, json_string_value(value));
    else if (json_is_number(value)) printf("%-32s %.6g\n", key, json_number_value(value));
}

hkt_status hkt_bench_put_peak(hkt_bench *b, double *peak)
{
    HKT_TRY(hkt_timing_gemm_peak(b->repeats, b->seed, peak));
    hkt_bench_put(b, "gemm_madds_per_s", hkt_json_real(*peak));
    return HKT_OK;
}

/* --- program ------------------------------------------------------------------------------------------------------ */

typedef struct {
    const char *name, *help;
    hkt_status (*run)(hkt_bench *b);
    size_t seq_len, batch; /* unless given; 0: the command has none */
} command;

static const command commands[] = {
    {"step", "a full training step on random tokens, and the forward pass alone", hkt_bench_step, 512, 32},
    {"attention", "the attention kernel alone, forward and backward", hkt_bench_attention, 512, 32},
    {"gemm", "the single-precision matrix product of the BLAS library", hkt_bench_gemm, 0, 0},
    {"exp", "exp and tanh of vectors: speed on one thread, and the worst error", hkt_bench_exp, 0, 0},
    {"psd", "the inertia of the Gram matrix of a very long sequence, by streaming", hkt_bench_psd, 1048576, 1},
    {"kurtosis", "the moments of all scores, and the forward pass alone", hkt_bench_kurtosis, 1024, 256},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

#define EPILOG                                                                                                         \
    "Examples:\n"                                                                                                      \
    "  hkt-bench step --model hkt --levels 3 --d-model 64 --heads 4 --layers 2 --seq-len 512 --batch 32 --json -\n"    \
    "  hkt-bench step --profile\n"                                                                                     \
    "Exit status: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 system failure."

/* What follows from the options: the config, and the defaults of the command. */
static hkt_status complete(hkt_bench *b, const command *c)
{
    hkt_config *config = &b->config;
    if (strcmp(b->model, "mha") == 0) {
        config->levels = 1;
        config->hybrid = false;
        b->fusion = "static";
    }
    b->seq_len = b->seq_len ? b->seq_len : c->seq_len;
    b->batch = b->batch ? b->batch : c->batch;
    config->max_len = b->seq_len ? b->seq_len : 1;
    HKT_TRY(hkt_fusion_parse(&config->fusion, b->fusion));
    return hkt_config_check(config, "options");
}

static hkt_status parse(hkt_bench *b, int argc, char **argv, hkt_parse_action *action, const command **which)
{
    hkt_config *c = &b->config;
    const hkt_opt opts[] = {
        {"model", HKT_OPT_CHOICE, &b->model, "hkt|mha", "mha: one level, no convolution", 0, 0},
        {"levels", HKT_OPT_SIZE, &c->levels, "L", "levels of the hierarchy", 1, HKT_MAX_LEVELS},
        {"stride", HKT_OPT_SIZE, &c->stride, "S", "tokens of a level per token of the next", 2, HUGE_VAL},
        {"d-model", HKT_OPT_SIZE, &c->d_model, "D", "model width", 1, HUGE_VAL},
        {"heads", HKT_OPT_SIZE, &c->heads, "H", "heads of a layer", 1, HUGE_VAL},
        {"layers", HKT_OPT_SIZE, &c->layers, "N", "layers", 1, HUGE_VAL},
        {"fusion", HKT_OPT_CHOICE, &b->fusion, "dynamic|static|score", "how levels are joined", 0, 0},
        {"seq-len", HKT_OPT_SIZE, &b->seq_len, "T", "tokens of a sequence; 0: what suits the command", 0, 1e9},
        {"batch", HKT_OPT_SIZE, &b->batch, "B", "sequences; 0: what suits the command", 0, 1e9},
        {"ragged", HKT_OPT_FLAG, &b->ragged, NULL, "sequences of T/8 to T tokens (step, kurtosis)", 0, 0},
        {"profile", HKT_OPT_FLAG, &b->profile, NULL, "where the time of a step goes (step)", 0, 0},
        {"repeats", HKT_OPT_SIZE, &b->repeats, "N", "timed repeats, after one to warm up", 1, HKT_TIMING_MAX_REPEATS},
        {"threads", HKT_OPT_SIZE, &b->threads, "N", "0: all processors", 0, 1024},
        {"seed", HKT_OPT_U64, &b->seed, "S", "of weights and tokens", 0, 0},
        {"json", HKT_OPT_STRING, &b->json, "FILE", "results as JSON; '-': instead of the text", 0, 0},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
    };
    const char *names[N_COMMANDS + 1] = {NULL}, *help[N_COMMANDS + 1] = {NULL};
    size_t index = 0;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i].name;
        help[i] = commands[i].help;
    }
    const hkt_cli cli = {.program = "hkt-bench",
                         .synopsis = "step|attention|gemm|exp|psd|kurtosis [options]",
                         .summary = "Measures speed and memory.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .commands = names,
                         .command_help = help};
    HKT_TRY(hkt_opt_parse(&cli, argc, argv, action, &index, NULL, NULL));
    *which = &commands[index];
    return *action == HKT_PARSE_EXIT ? HKT_OK : complete(b, *which);
}

static void put_setting(hkt_bench *b, const command *c, const hkt_provenance *how)
{
    hkt_bench_put(b, "benchmark", json_string(c->name));
    hkt_bench_put(b, "provenance", hkt_provenance_json(how));
    hkt_bench_put_count(b, "threads", how->threads);
    hkt_bench_put(b, "blas", json_string(hkt_blas_version()));
    hkt_bench_put(b, "blas_core", json_string(how->blas_core));
    hkt_bench_put(b, "isa", json_string(hkt_isa()));
    hkt_bench_put_count(b, "repeats", b->repeats);
    if (c->seq_len == 0)
        return;
    hkt_bench_put(b, "model", json_string(b->model));
    hkt_bench_put(b, "config", hkt_config_json(&b->config));
    hkt_bench_put_count(b, "seq_len", b->seq_len);
    hkt_bench_put_count(b, "batch", b->batch);
}

static hkt_status run(int argc, char **argv, hkt_bench *b)
{
    hkt_provenance how = hkt_provenance_make(argc, argv);
    hkt_parse_action action = HKT_PARSE_RUN;
    const command *which;
    HKT_TRY(parse(b, argc, argv, &action, &which));
    if (action == HKT_PARSE_EXIT)
        return HKT_OK;
    how.seed = b->seed;
    how.threads = hkt_set_threads(b->threads);
    HKT_TRY(hkt_resources_check());
    how.blas_core = hkt_blas_core();
    b->report = json_object();
    if (!b->report)
        return hkt_fail(HKT_ESYSTEM, "out of memory for the report");
    put_setting(b, which, &how);
    HKT_TRY(which->run(b));
    if (b->json) {
        json_t *format = json_string("hkt-bench/1");
        if (json_object_set_new(b->report, "format", format) != 0)
            return hkt_fail(HKT_ESYSTEM, "out of memory for the report");
        HKT_TRY(hkt_json_write(b->report, b->json));
        json_object_del(b->report, "format"); /* not in the text */
    }
    if (!b->json || strcmp(b->json, "-") != 0)
        print_report(b);
    return hkt_stdout_flush();
}

int main(int argc, char **argv)
{
    hkt_bench b = {
        .model = "hkt", .fusion = "dynamic", .config = hkt_config_default(), .repeats = 5, .seed = HKT_DEFAULT_SEED};
    b.config.vocab = 16;
    b.config.classes = 10;
    hkt_start();
    hkt_num_init(argv);
    hkt_status status = run(argc, argv, &b);
    json_decref(b.report);
    return hkt_report_failure("hkt-bench", status);
}

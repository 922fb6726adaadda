/* hkt-bench - speed and memory of a training step, of the attention kernel, and of the matrix product that bounds both.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/provenance.h"
#include "base/rng.h"
#include "model/checkpoint.h"
#include "model/cost.h"
#include "model/net.h"
#include "num/attention.h"
#include "num/blas.h"
#include "num/kernels.h"
#include "train/adamw.h"
#include "train/timing.h"

typedef struct {
    const char *model, *fusion, *json;
    hkt_config config;
    size_t seq_len, batch, repeats, threads;
    uint64_t seed;
    json_t *report;
} options;

/* --- report ------------------------------------------------------------------------------------------------------- */

static size_t peak_rss(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss * 1024 : 0; /* Linux counts in KiB */
}

static void put(options *o, const char *key, json_t *value)
{
    json_object_set_new(o->report, key, value);
}

static void put_count(options *o, const char *key, size_t v)
{
    put(o, key, json_integer((json_int_t)v));
}

/* PREFIXseconds with its spread and PREFIXtokens_per_s of the median. */
static void put_timing(options *o, const char *prefix, const hkt_timing *t)
{
    const double tokens = (double)(o->seq_len * o->batch);
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
        put(o, key, hkt_json_real(cells[i].value));
    }
}

static void print_report(const options *o)
{
    const char *key;
    json_t *value;
    json_object_foreach(o->report, key, value) if (json_is_string(value))
        printf("%-28s %s\n", key, json_string_value(value));
    else if (json_is_number(value)) printf("%-28s %.6g\n", key, json_number_value(value));
}

/* Last: its matrices would count in the peak memory. */
static hkt_status put_peak(options *o, double *peak)
{
    HKT_TRY(hkt_timing_gemm_peak(o->repeats, o->seed, peak));
    put(o, "gemm_madds_per_s", hkt_json_real(*peak));
    return HKT_OK;
}

static hkt_status bench_gemm(options *o)
{
    double peak;
    return put_peak(o, &peak);
}

/* --- step --------------------------------------------------------------------------------------------------------- */

typedef struct {
    hkt_layout *layout;
    hkt_net_f32 *net;
    hkt_adamw adamw;
    float *params, *grads; /* [layout->total] */
    float *logits;         /* [B, C] */
    int32_t *tokens, *labels;
    size_t *lengths;
    hkt_batch batch;
} model;

static hkt_status random_batch(model *m, const options *o)
{
    hkt_rng rng = hkt_rng_make(o->seed, HKT_STREAM_BENCH, 0);
    const hkt_config *c = &m->layout->config;
    HKT_TRY(HKT_NEW(&m->tokens, o->batch * o->seq_len));
    HKT_TRY(HKT_NEW(&m->labels, o->batch));
    HKT_TRY(HKT_NEW(&m->lengths, o->batch));
    for (size_t i = 0; i < o->batch * o->seq_len; i++)
        m->tokens[i] = (int32_t)hkt_rng_below(&rng, c->vocab);
    for (size_t b = 0; b < o->batch; b++) {
        m->labels[b] = (int32_t)hkt_rng_below(&rng, c->classes);
        m->lengths[b] = o->seq_len;
    }
    m->batch = (hkt_batch){.n_seq = o->batch, .length = m->lengths, .tokens = m->tokens, .labels = m->labels};
    return HKT_OK;
}

static hkt_status model_create(model *m, const options *o)
{
    const hkt_adamw_spec spec = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01};
    double *initial;
    HKT_TRY(hkt_layout_create(&m->layout, &o->config));
    HKT_TRY(random_batch(m, o));
    HKT_TRY(HKT_NEW(&m->params, m->layout->total));
    HKT_TRY(HKT_NEW(&m->grads, m->layout->total));
    HKT_TRY(HKT_NEW(&m->logits, o->batch * m->layout->config.classes));
    HKT_TRY(hkt_adamw_create(&m->adamw, m->layout, &spec));
    HKT_TRY(HKT_NEW(&initial, m->layout->total));
    hkt_init_params(m->layout, o->seed, initial);
    hkt_params_to_f32(m->layout, initial, m->params);
    hkt_free(initial);
    return HKT_OK;
}

static void model_destroy(model *m)
{
    hkt_net_destroy_f32(m->net);
    hkt_adamw_destroy(&m->adamw);
    hkt_free(m->params);
    hkt_free(m->grads);
    hkt_free(m->logits);
    hkt_free(m->tokens);
    hkt_free(m->labels);
    hkt_free(m->lengths);
    hkt_layout_destroy(m->layout);
}

/* What hkt-train does in an update, without the reading of data. */
static hkt_status training_step(void *context)
{
    model *m = context;
    double loss;
    HKT_TRY(hkt_net_forward_f32(m->net, m->params, &m->batch, NULL, NULL, NULL, &loss));
    HKT_TRY(hkt_net_backward_f32(m->net, m->params, &m->batch, m->grads));
    double norm = hkt_grad_norm(m->layout, m->grads);
    hkt_adamw_step(&m->adamw, m->params, m->grads, norm > 1 ? 1 / norm : 1, 1e-3);
    return HKT_OK;
}

static hkt_status inference(void *context)
{
    model *m = context;
    return hkt_net_forward_f32(m->net, m->params, &m->batch, NULL, NULL, m->logits, NULL);
}

static hkt_status measure_model(options *o, model *m, double *madds_per_s)
{
    hkt_timing step, forward;
    HKT_TRY(model_create(m, o));
    HKT_TRY(hkt_net_create_f32(&m->net, m->layout, o->seq_len * o->batch, o->batch, true, false));
    HKT_TRY(hkt_timing_measure(training_step, m, o->repeats, &step));
    put_timing(o, "", &step);
    const double madds = (double)hkt_cost_step(&m->layout->config, o->seq_len).total * (double)o->batch;
    *madds_per_s = madds / step.median;
    put_count(o, "parameters", m->layout->n_weights);
    put(o, "madds_per_step", hkt_json_real(madds));
    put(o, "madds_per_s", hkt_json_real(*madds_per_s));
    put_count(o, "workspace_bytes", hkt_net_bytes_f32(m->net));
    put_count(o, "peak_rss_bytes", peak_rss()); /* before anything else is allocated */
    hkt_net_destroy_f32(m->net);
    m->net = NULL;
    HKT_TRY(hkt_net_create_f32(&m->net, m->layout, o->seq_len * o->batch, o->batch, false, false));
    HKT_TRY(hkt_timing_measure(inference, m, o->repeats, &forward));
    put_timing(o, "forward_", &forward);
    return HKT_OK;
}

static hkt_status bench_step(options *o)
{
    model m = {0};
    double madds_per_s = 0, peak = 0;
    hkt_status status = measure_model(o, &m, &madds_per_s);
    model_destroy(&m);
    HKT_TRY(status);
    HKT_TRY(put_peak(o, &peak));
    put(o, "share_of_gemm", hkt_json_real(madds_per_s / peak));
    return HKT_OK;
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

enum { BUFFER_Q, BUFFER_K, BUFFER_DQ, BUFFER_DK, BUFFER_V, BUFFER_DV, BUFFER_O, BUFFER_DO, BUFFERS };

/* One call of the kernel is an item: one head of one sequence, on one level or (score mode) over all of them. */
typedef struct {
    const options *o;
    size_t n_calls; /* per head and sequence */
    size_t d, p;
    float *buffer[HKT_MAX_LEVELS][BUFFERS]; /* [batch T_l, d] */
    float *lse[HKT_MAX_LEVELS];             /* [batch H, T_l] */
    hkt_attention_work_f32 **work;          /* [threads] */
    bool backward;
} kernel;

static hkt_status kernel_create(kernel *k, const options *o)
{
    const hkt_config *c = &o->config;
    hkt_rng rng = hkt_rng_make(o->seed, HKT_STREAM_BENCH, 2);
    *k = (kernel){.o = o, .d = c->d_model, .p = c->d_model / c->heads};
    k->n_calls = c->fusion == HKT_FUSION_SCORE ? 1 : c->levels;
    for (size_t l = 0; l < c->levels; l++) {
        size_t T = hkt_level_length(o->seq_len, c->stride, l), n = o->batch * T * k->d;
        for (size_t i = 0; i < (l < k->n_calls ? BUFFERS : BUFFER_V); i++) {
            HKT_TRY(HKT_NEW(&k->buffer[l][i], n));
            for (size_t e = 0; e < n; e++)
                k->buffer[l][i][e] = (float)hkt_rng_normal(&rng);
        }
        if (l < k->n_calls)
            HKT_TRY(HKT_NEW(&k->lse[l], o->batch * c->heads * T));
    }
    HKT_TRY(HKT_NEW(&k->work, hkt_threads()));
    for (size_t t = 0; t < hkt_threads(); t++)
        HKT_TRY(hkt_attention_work_create_f32(&k->work[t], o->seq_len, k->p, c->levels, c->stride));
    return HKT_OK;
}

static void kernel_destroy(kernel *k)
{
    for (size_t l = 0; l < HKT_MAX_LEVELS; l++) {
        for (size_t i = 0; i < BUFFERS; i++)
            hkt_free(k->buffer[l][i]);
        hkt_free(k->lse[l]);
    }
    for (size_t t = 0; k->work && t < hkt_threads(); t++)
        hkt_attention_work_destroy_f32(k->work[t]);
    hkt_free(k->work);
}

/* The part of a buffer that belongs to one head of sequence b. */
static float *part(const kernel *k, size_t level, int which, size_t b, size_t h)
{
    size_t T = hkt_level_length(k->o->seq_len, k->o->config.stride, level);
    return k->buffer[level][which] + b * T * k->d + h * k->p;
}

static void attend(const kernel *k, size_t call, size_t b, size_t h, hkt_attention_work_f32 *w)
{
    const hkt_config *c = &k->o->config;
    const size_t T = hkt_level_length(k->o->seq_len, c->stride, call), d = k->d;
    hkt_attention_f32 a = {.T = T, .p = k->p, .stride = c->stride, .causal = c->causal, .ld_v = d};
    float *dq[HKT_MAX_LEVELS], *dk[HKT_MAX_LEVELS];
    float *lse = k->lse[call] + (b * c->heads + h) * T;
    a.n_levels = c->fusion == HKT_FUSION_SCORE ? c->levels : 1;
    for (size_t l = 0; l < a.n_levels; l++) {
        a.q[l] = part(k, call + l, BUFFER_Q, b, h);
        a.k[l] = part(k, call + l, BUFFER_K, b, h);
        dq[l] = part(k, call + l, BUFFER_DQ, b, h);
        dk[l] = part(k, call + l, BUFFER_DK, b, h);
        a.ld_qk[l] = d;
        a.weight[l] = 1 / (float)a.n_levels;
    }
    a.v = part(k, call, BUFFER_V, b, h);
    float *out = part(k, call, BUFFER_O, b, h);
    if (k->backward)
        hkt_attention_backward_f32(&a, out, part(k, call, BUFFER_DO, b, h), d, lse, dq, dk, a.ld_qk,
                                   part(k, call, BUFFER_DV, b, h), d, NULL, w);
    else
        hkt_attention_forward_f32(&a, 0, T, out, d, lse, w);
}

static hkt_status attend_all(void *context)
{
    const kernel *k = context;
    const size_t heads = k->o->config.heads, per_call = k->o->batch * heads;
    size_t threads = 0;
#pragma omp parallel
    {
        size_t me;
#pragma omp atomic capture
        me = threads++;
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < k->n_calls * per_call; i++)
            attend(k, i / per_call, i % per_call / heads, i % heads, k->work[me]);
    }
    return HKT_OK;
}

static hkt_status bench_attention(options *o)
{
    kernel k = {0};
    hkt_timing forward = {0}, backward = {0};
    hkt_config c = o->config;
    c.layers = 1;
    hkt_status status = kernel_create(&k, o);
    if (status == HKT_OK)
        status = hkt_timing_measure(attend_all, &k, o->repeats, &forward);
    k.backward = true;
    if (status == HKT_OK)
        status = hkt_timing_measure(attend_all, &k, o->repeats, &backward);
    kernel_destroy(&k);
    HKT_TRY(status);
    const hkt_cost cost = hkt_cost_forward(&c, o->seq_len);
    const double madds = (double)(cost.scores + cost.values) * (double)o->batch;
    double peak;
    const hkt_timing both = {forward.median + backward.median, forward.low + backward.low,
                             forward.high + backward.high};
    put_timing(o, "", &both);
    put_timing(o, "forward_", &forward);
    put_timing(o, "backward_", &backward);
    put(o, "forward_madds", hkt_json_real(madds));
    put(o, "forward_madds_per_s", hkt_json_real(madds / forward.median));
    put_count(o, "peak_rss_bytes", peak_rss());
    HKT_TRY(put_peak(o, &peak));
    put(o, "share_of_gemm", hkt_json_real(madds / forward.median / peak));
    return HKT_OK;
}

/* --- program ------------------------------------------------------------------------------------------------------ */

typedef hkt_status command_fn(options *o);
static const char *const command_names[] = {"step", "attention", "gemm", NULL};
static const char *const command_help[] = {"a full training step on random tokens, and the forward pass alone",
                                           "the attention kernel alone, forward and backward",
                                           "the single-precision matrix product of the BLAS library", NULL};
static command_fn *const command_run[] = {bench_step, bench_attention, bench_gemm};

#define EPILOG                                                                                                         \
    "Example:\n"                                                                                                       \
    "  hkt-bench step --model hkt --levels 3 --d-model 64 --heads 4 --layers 2 --seq-len 512 --batch 32 --json -\n"    \
    "Exit status: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 system failure."

static hkt_status parse(options *o, int argc, char **argv, hkt_parse_action *action, size_t *command)
{
    hkt_config *c = &o->config;
    const hkt_opt opts[] = {
        {"model", HKT_OPT_CHOICE, &o->model, "hkt|mha", "mha: one level, no convolution", 0, 0},
        {"levels", HKT_OPT_SIZE, &c->levels, "L", "levels of the hierarchy", 1, HKT_MAX_LEVELS},
        {"stride", HKT_OPT_SIZE, &c->stride, "S", "tokens of a level per token of the next", 2, HUGE_VAL},
        {"d-model", HKT_OPT_SIZE, &c->d_model, "D", "model width", 1, HUGE_VAL},
        {"heads", HKT_OPT_SIZE, &c->heads, "H", "heads of a layer", 1, HUGE_VAL},
        {"layers", HKT_OPT_SIZE, &c->layers, "N", "layers", 1, HUGE_VAL},
        {"fusion", HKT_OPT_CHOICE, &o->fusion, "dynamic|static|score", "how levels are joined", 0, 0},
        {"seq-len", HKT_OPT_SIZE, &o->seq_len, "T", "tokens of a sequence", 1, 1e9},
        {"batch", HKT_OPT_SIZE, &o->batch, "B", "sequences", 1, 1e9},
        {"repeats", HKT_OPT_SIZE, &o->repeats, "N", "timed repeats, after one to warm up", 1, HKT_TIMING_MAX_REPEATS},
        {"threads", HKT_OPT_SIZE, &o->threads, "N", "0: all processors", 0, 1024},
        {"seed", HKT_OPT_U64, &o->seed, "S", "of weights and tokens", 0, 0},
        {"json", HKT_OPT_STRING, &o->json, "FILE", "results as JSON; '-': instead of the text", 0, 0},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
    };
    const hkt_cli cli = {.program = "hkt-bench",
                         .synopsis = "step|attention|gemm [options]",
                         .summary = "Measures speed and memory.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .commands = command_names,
                         .command_help = command_help};
    HKT_TRY(hkt_opt_parse(&cli, argc, argv, action, command, NULL, NULL));
    if (*action == HKT_PARSE_EXIT)
        return HKT_OK;
    if (strcmp(o->model, "mha") == 0) {
        c->levels = 1;
        c->hybrid = false;
        o->fusion = "static";
    }
    c->max_len = o->seq_len;
    HKT_TRY(hkt_fusion_parse(&c->fusion, o->fusion));
    return hkt_config_check(c, "options");
}

static void put_setting(options *o, size_t command, const hkt_provenance *how)
{
    const hkt_config *c = &o->config;
    put(o, "benchmark", json_string(command_names[command]));
    put(o, "provenance", hkt_provenance_json(how));
    put_count(o, "threads", how->threads);
    put(o, "blas", json_string(hkt_blas_version()));
    put(o, "blas_core", json_string(how->blas_core));
    put(o, "isa", json_string(hkt_isa()));
    put_count(o, "repeats", o->repeats);
    if (command_run[command] == bench_gemm)
        return;
    put(o, "model", json_string(o->model));
    put(o, "config", hkt_config_json(c));
    put_count(o, "seq_len", o->seq_len);
    put_count(o, "batch", o->batch);
}

static hkt_status run(int argc, char **argv, options *o)
{
    hkt_provenance how = hkt_provenance_make(argc, argv);
    hkt_parse_action action = HKT_PARSE_RUN;
    size_t command = 0;
    HKT_TRY(parse(o, argc, argv, &action, &command));
    if (action == HKT_PARSE_EXIT)
        return HKT_OK;
    how.seed = o->seed;
    how.threads = hkt_set_threads(o->threads);
    how.blas_core = hkt_blas_core();
    o->report = json_object();
    if (!o->report)
        return hkt_fail(HKT_ESYSTEM, "out of memory for the report");
    put_setting(o, command, &how);
    HKT_TRY(command_run[command](o));
    if (o->json)
        HKT_TRY(hkt_json_write(o->report, o->json));
    if (!o->json || strcmp(o->json, "-") != 0)
        print_report(o);
    return fflush(stdout) == 0 ? HKT_OK : hkt_fail(HKT_ESYSTEM, "cannot write to standard output");
}

int main(int argc, char **argv)
{
    options o = {.model = "hkt",
                 .fusion = "dynamic",
                 .config = {.vocab = 16,
                            .classes = 10,
                            .d_model = 64,
                            .heads = 4,
                            .layers = 2,
                            .levels = 3,
                            .stride = 2,
                            .conv_width = 4,
                            .ffn_mult = 4,
                            .hybrid = true,
                            .causal = true},
                 .seq_len = 512,
                 .batch = 32,
                 .repeats = 5,
                 .seed = HKT_DEFAULT_SEED};
    hkt_num_init(argv);
    hkt_status status = run(argc, argv, &o);
    json_decref(o.report);
    return hkt_report_failure("hkt-bench", status);
}

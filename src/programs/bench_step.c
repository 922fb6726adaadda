/* bench_step.c - a training step, the forward pass alone, and where the time of the step goes. */
#include <stdio.h>

#include "analysis/view/workload.h"
#include "base/json.h"
#include "base/progress.h"
#include "bench.h"
#include "model/cost.h"
#include "num/blas.h"
#include "train/adamw.h"

typedef struct {
    hkt_workload_model m;
    hkt_adamw adamw;
    double optimiser; /* seconds */
} trainee;

static hkt_status create(const hkt_bench *b, trainee *t)
{
    const hkt_adamw_spec spec = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01};
    HKT_TRY(hkt_workload_model_create(&t->m, &b->config, b->seq_len, b->batch, b->ragged, b->seed));
    HKT_TRY(hkt_adamw_create(&t->adamw, t->m.layout, &spec));
    return hkt_workload_net(&t->m, true);
}

static void destroy(trainee *t)
{
    hkt_adamw_destroy(&t->adamw);
    hkt_workload_model_free(&t->m);
}

/* What hkt-train does in an update, without the reading of data. */
static hkt_status training_step(void *context)
{
    trainee *t = context;
    hkt_workload_model *m = &t->m;
    HKT_TRY(hkt_workload_gradient(m));
    const double start = hkt_now(), norm = hkt_grad_norm(m->layout, m->grads);
    hkt_adamw_step(&t->adamw, m->params, m->grads, norm > 1 ? 1 / norm : 1, 1e-3);
    t->optimiser += hkt_now() - start;
    return HKT_OK;
}

static hkt_status inference(void *context)
{
    trainee *t = context;
    hkt_workload_model *m = &t->m;
    return hkt_net_forward_f32(m->net, m->params, &m->batch, NULL, NULL, NULL, NULL);
}

/* Of all sequences of the batch. */
static hkt_cost batch_cost(const hkt_workload_model *m)
{
    hkt_cost sum = {0};
    for (size_t b = 0; b < m->batch.n_seq; b++) {
        hkt_cost c = hkt_cost_step(&m->layout->config, m->lengths[b]);
        sum.projections += c.projections;
        sum.scores += c.scores;
        sum.values += c.values;
        sum.ffn += c.ffn;
        sum.total += c.total;
    }
    return sum;
}

/* --- profile ------------------------------------------------------------------------------------------------------ */

static const char *const phase_names[HKT_PHASES] = {[HKT_PHASE_PROJECT] = "projections",
                                                    [HKT_PHASE_ATTEND] = "attention",
                                                    [HKT_PHASE_ATTEND_BACK] = "attention_backward",
                                                    [HKT_PHASE_FFN] = "ffn",
                                                    [HKT_PHASE_GELU] = "gelu",
                                                    [HKT_PHASE_NORM] = "norms",
                                                    [HKT_PHASE_CONV] = "convolution",
                                                    [HKT_PHASE_DOWN] = "downsampling",
                                                    [HKT_PHASE_FUSION] = "fusion",
                                                    [HKT_PHASE_RESIDUAL] = "residual",
                                                    [HKT_PHASE_ENDS] = "ends",
                                                    [HKT_PHASE_SUMS] = "sums",
                                                    [HKT_PHASE_REST] = "rest"};

/* Bytes that the memory-bound phases of a step read and write when every operand crosses once; 0 for the others. */
static void count_bytes(const hkt_workload_model *m, double bytes[HKT_PHASES])
{
    const hkt_config *c = &m->layout->config;
    const double unit = (double)(c->d_model * c->layers * sizeof(float)), f = (double)c->ffn_mult;
    for (size_t p = 0; p < HKT_PHASES; p++)
        bytes[p] = 0;
    for (size_t b = 0; b < m->batch.n_seq; b++) {
        const double T = (double)m->lengths[b];
        bytes[HKT_PHASE_NORM] += unit * T * 2 * (2 + 4); /* x, y; x, dy, dx twice */
        bytes[HKT_PHASE_GELU] += unit * T * f * (2 + 4); /* x, y; x, dy, dx, y */
        bytes[HKT_PHASE_RESIDUAL] += unit * T * 2 * 3;   /* two terms and their sum */
        for (size_t l = 0; l < c->levels; l++) {
            const bool value = l < hkt_value_levels(c);
            const double rows = (double)hkt_level_length(m->lengths[b], c->stride, l);
            const double finer = l > 0 ? (double)hkt_level_length(m->lengths[b], c->stride, l - 1) : 0;
            bytes[HKT_PHASE_CONV] += value && c->hybrid ? unit * rows * (2 + 4) : 0; /* v, y; v, dy, dv twice */
            bytes[HKT_PHASE_DOWN] += unit * (l > 0 ? finer * (1 + 3) + rows * 2 : 0);
            if (value) /* o, conv, sum; y, o, y, conv, y, dconv, y twice, and the sums over the next level */
                bytes[HKT_PHASE_FUSION] += unit * (rows * (2 + 8 + 1) + T * (l > 0 ? 2 : 1) + (l > 0 ? rows : 0));
        }
    }
}

/* Shares of all threads' time, and how near each part comes to its limit: the matrix product or the copy. */
static void put_phases(hkt_bench *b, const trainee *t, double seconds, double peak)
{
    const double threads = (double)hkt_threads();
    const hkt_cost cost = batch_cost(&t->m);
    const double steps = (double)b->repeats;
    const double madds[HKT_PHASES] = {[HKT_PHASE_PROJECT] = (double)cost.projections,
                                      [HKT_PHASE_ATTEND] = (double)(cost.scores + cost.values) / 3,
                                      [HKT_PHASE_ATTEND_BACK] = (double)(cost.scores + cost.values) * 2 / 3,
                                      [HKT_PHASE_FFN] = (double)cost.ffn};
    double phase[HKT_PHASES], bytes[HKT_PHASES], known = 0;
    char key[64];
    hkt_net_phases_f32(t->m.net, phase);
    count_bytes(&t->m, bytes);
    for (size_t p = 0; p < HKT_PHASES; p++)
        known += p != HKT_PHASE_REST ? phase[p] : 0;
    phase[HKT_PHASE_REST] = threads * (seconds - t->optimiser) - known;
    hkt_bench_put(b, "time_optimiser", hkt_json_real(t->optimiser / seconds));
    for (size_t p = 0; p < HKT_PHASES; p++) {
        snprintf(key, sizeof key, "time_%s", phase_names[p]);
        hkt_bench_put(b, key, hkt_json_real(phase[p] / (threads * seconds)));
        snprintf(key, sizeof key, "share_of_gemm_%s", phase_names[p]);
        if (madds[p] > 0)
            hkt_bench_put(b, key, hkt_json_real(madds[p] * steps / phase[p] * threads / peak));
        snprintf(key, sizeof key, "bytes_per_s_%s", phase_names[p]);
        if (bytes[p] > 0)
            hkt_bench_put(b, key, hkt_json_real(bytes[p] * steps / phase[p] * threads));
    }
}

static hkt_status put_copy(hkt_bench *b, const char *key, size_t bytes)
{
    double rate;
    HKT_TRY(hkt_timing_copy(bytes, b->repeats, &rate));
    hkt_bench_put(b, key, hkt_json_real(rate));
    return HKT_OK;
}

static hkt_status profile(hkt_bench *b, double peak)
{
    trainee t = {0};
    hkt_status status = create(b, &t);
    if (status == HKT_OK)
        status = training_step(&t);
    if (status == HKT_OK)
        hkt_net_profile_f32(t.m.net, true);
    t.optimiser = 0;
    const double start = hkt_now();
    for (size_t i = 0; i < b->repeats && status == HKT_OK; i++)
        status = training_step(&t);
    if (status == HKT_OK)
        put_phases(b, &t, hkt_now() - start, peak);
    destroy(&t);
    HKT_TRY(status);
    HKT_TRY(put_copy(b, "copy_bytes_per_s_cached", (size_t)1 << 18));
    return put_copy(b, "copy_bytes_per_s", (size_t)1 << 26);
}

/* --- step --------------------------------------------------------------------------------------------------------- */

static hkt_status measure(hkt_bench *b, trainee *t, double *madds_per_s)
{
    hkt_timing step, forward;
    HKT_TRY(create(b, t));
    HKT_TRY(hkt_timing_measure(training_step, t, b->repeats, &step));
    const double tokens = (double)hkt_workload_tokens(&t->m), madds = (double)batch_cost(&t->m).total;
    *madds_per_s = madds / step.median;
    hkt_bench_put_timing(b, "", &step, tokens);
    hkt_bench_put_count(b, "tokens", (size_t)tokens);
    hkt_bench_put_count(b, "parameters", t->m.layout->n_weights);
    hkt_bench_put(b, "madds_per_step", hkt_json_real(madds));
    hkt_bench_put(b, "madds_per_s", hkt_json_real(*madds_per_s));
    hkt_bench_put_count(b, "workspace_bytes", hkt_net_bytes_f32(t->m.net));
    hkt_bench_put_count(b, "peak_rss_bytes", hkt_bench_peak_rss()); /* before anything else is allocated */
    HKT_TRY(hkt_workload_net(&t->m, false));
    HKT_TRY(hkt_timing_measure(inference, t, b->repeats, &forward));
    hkt_bench_put_timing(b, "forward_", &forward, tokens);
    hkt_bench_put(b, "forward_over_step", hkt_json_real(step.median / forward.median));
    return HKT_OK;
}

hkt_status hkt_bench_step(hkt_bench *b)
{
    trainee t = {0};
    double madds_per_s = 0, peak = 0;
    hkt_status status = measure(b, &t, &madds_per_s);
    destroy(&t);
    HKT_TRY(status);
    HKT_TRY(hkt_bench_put_peak(b, &peak));
    hkt_bench_put(b, "share_of_gemm", hkt_json_real(madds_per_s / peak));
    return b->profile ? profile(b, peak) : HKT_OK;
}

/* bench_analysis.c - the two largest jobs of the analysis: the inertia of the Gram matrix of a very long sequence, and
 * the kurtosis of all scores. */
#include <math.h>

#include "analysis/claims/list.h"
#include "analysis/view/scores.h"
#include "analysis/view/workload.h"
#include "base/json.h"
#include "base/mem.h"
#include "bench.h"

/* A random model in double, and a data set of random tokens in the arrays of a workload. */
typedef struct {
    hkt_workload_model random;
    hkt_checkpoint model;
    hkt_dataset data;
    hkt_net_f64 *net;
    hkt_verify_context context;
} subject;

static hkt_status open_subject(const hkt_bench *b, size_t T, size_t batch, subject *s)
{
    hkt_workload_model *r = &s->random;
    HKT_TRY(hkt_workload_model_create(r, &b->config, T, batch, b->ragged, b->seed));
    HKT_TRY(HKT_NEW(&s->model.params, r->layout->total));
    s->model.layout = r->layout;
    hkt_init_params(r->layout, b->seed, s->model.params);
    HKT_TRY(HKT_NEW(&s->data.offset, batch + 1));
    for (size_t i = 0; i < batch; i++)
        s->data.offset[i + 1] = s->data.offset[i] + r->lengths[i];
    s->data.task = "random";
    s->data.vocab = b->config.vocab;
    s->data.classes = b->config.classes;
    s->data.max_len = T;
    s->data.n = batch;
    s->data.tokens = r->tokens;
    s->data.labels = r->labels;
    return HKT_OK;
}

static void close_subject(subject *s)
{
    hkt_net_destroy_f64(s->net);
    hkt_free(s->model.params);
    hkt_free(s->data.offset);
    hkt_workload_model_free(&s->random);
}

/* Measures with the share of the time in BLAS. */
static hkt_status measure(hkt_bench *b, hkt_timing_work *work, void *context, hkt_timing *t)
{
    double share;
    hkt_bench_sample_start();
    hkt_status status = hkt_timing_measure(work, context, b->repeats, t);
    hkt_bench_sample_stop(&share);
    HKT_TRY(status);
    hkt_bench_put(b, "share_in_blas", hkt_json_real(share));
    return HKT_OK;
}

/* --- psd ---------------------------------------------------------------------------------------------------------- */

/* What `hkt-verify psd --tokens T` does on a random model. */
static hkt_status streamed_inertia(void *context)
{
    const hkt_verify_context *c = context;
    const hkt_check *check = hkt_claim_check(hkt_claim_find(hkt_claims, "psd"), "streamed-inertia");
    hkt_check_result result = {0};
    HKT_ASSERT(check);
    hkt_status status = check->run(c, &result, false);
    if (status == HKT_OK && result.verdict != HKT_HOLDS)
        status =
            hkt_fail(HKT_ENUMERIC, "psd: %s: expected HOLDS, found %s", check->name, hkt_verdict_name(result.verdict));
    hkt_check_result_free(&result);
    return status;
}

hkt_status hkt_bench_psd(hkt_bench *b)
{
    subject s = {0};
    hkt_timing t = {0};
    b->config.layers = b->config.max_len = 1; /* only the weights of q and k are used, of one layer */
    hkt_status status = open_subject(b, 1, 1, &s);
    hkt_verify_context context = {.seed = b->seed, .model = &s.model, .stream_tokens = b->seq_len};
    if (status == HKT_OK)
        status = measure(b, streamed_inertia, &context, &t);
    close_subject(&s);
    HKT_TRY(status);
    const double n = (double)(b->config.levels * b->config.d_model);
    hkt_bench_put_timing(b, "", &t, (double)b->seq_len);
    /* R of a T x n matrix: T n^2 multiply-adds (Golub & Van Loan 2013, 5.2.2, counted in pairs). */
    hkt_bench_put(b, "madds_per_s", hkt_json_real((double)b->seq_len * n * n / t.median));
    hkt_bench_put_count(b, "peak_rss_bytes", hkt_bench_peak_rss());
    return HKT_OK;
}

/* --- kurtosis ----------------------------------------------------------------------------------------------------- */

static hkt_status collect(void *context)
{
    const subject *s = context;
    hkt_score_moments moments;
    HKT_TRY(hkt_score_moments_collect(&moments, hkt_score_of_model(&s->model, &s->data), s->data.n));
    hkt_score_moments_free(&moments);
    return HKT_OK;
}

/* The forward pass over the same sequences in the same precision. */
static hkt_status forward(void *context)
{
    const subject *s = context;
    return hkt_net_forward_f64(s->net, s->model.params, &s->random.batch, NULL, NULL, NULL, NULL);
}

static hkt_status measure_kurtosis(hkt_bench *b, subject *s, hkt_timing *all, hkt_timing *alone)
{
    HKT_TRY(open_subject(b, b->seq_len, b->batch, s));
    HKT_TRY(hkt_net_create_f64(&s->net, s->model.layout, hkt_workload_tokens(&s->random), b->batch, false, false));
    HKT_TRY(hkt_timing_measure(forward, s, b->repeats, alone));
    return measure(b, collect, s, all);
}

hkt_status hkt_bench_kurtosis(hkt_bench *b)
{
    subject s = {0};
    hkt_timing all = {0}, alone = {0};
    hkt_status status = measure_kurtosis(b, &s, &all, &alone);
    const double tokens = status == HKT_OK ? (double)hkt_workload_tokens(&s.random) : 0;
    close_subject(&s);
    HKT_TRY(status);
    hkt_bench_put_timing(b, "", &all, tokens);
    hkt_bench_put_timing(b, "forward_", &alone, tokens);
    hkt_bench_put(b, "over_forward", hkt_json_real(all.median / alone.median));
    hkt_bench_put_count(b, "peak_rss_bytes", hkt_bench_peak_rss());
    return HKT_OK;
}

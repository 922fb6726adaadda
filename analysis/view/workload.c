#include "analysis/view/workload.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "model/checkpoint.h"
#include "num/attention.h"
#include "num/blas.h"

/* --- attention ---------------------------------------------------------------------------------------------------- */

static hkt_status create_level(hkt_workload_attention *w, size_t l, hkt_rng *rng)
{
    const hkt_config *c = w->config;
    size_t T = hkt_level_length(w->T, c->stride, l), n = w->batch * T * c->d_model;
    for (size_t i = 0; i < (l < w->n_calls ? HKT_WORKLOAD_BUFFERS : HKT_WORKLOAD_V); i++) {
        HKT_TRY(HKT_NEW(&w->buffer[l][i], n));
        for (size_t e = 0; e < n; e++)
            w->buffer[l][i][e] = (float)hkt_rng_normal(rng);
    }
    return l < w->n_calls ? HKT_NEW(&w->lse[l], w->batch * c->heads * T) : HKT_OK;
}

hkt_status hkt_workload_attention_create(hkt_workload_attention *w, const hkt_config *config, size_t T, size_t batch,
                                         uint64_t seed)
{
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_BENCH, 2);
    const bool score = hkt_fusion_of(config)->sums_scores;
    *w = (hkt_workload_attention){.config = config, .T = T, .batch = batch, .n_threads = hkt_threads()};
    w->n_calls = score ? 1 : config->levels;
    for (size_t l = 0; l < config->levels; l++)
        HKT_TRY(create_level(w, l, &rng));
    HKT_TRY(HKT_NEW(&w->work, w->n_threads));
    for (size_t t = 0; t < w->n_threads; t++)
        HKT_TRY(hkt_attention_work_create_f32(&w->work[t], T, config->d_model / config->heads,
                                              score ? config->levels : 1, config->stride));
    return HKT_OK;
}

void hkt_workload_attention_free(hkt_workload_attention *w)
{
    for (size_t l = 0; l < HKT_MAX_LEVELS; l++) {
        for (size_t i = 0; i < HKT_WORKLOAD_BUFFERS; i++)
            hkt_free(w->buffer[l][i]);
        hkt_free(w->lse[l]);
    }
    for (size_t t = 0; w->work && t < w->n_threads; t++)
        hkt_attention_work_destroy_f32(w->work[t]);
    hkt_free(w->work);
    *w = (hkt_workload_attention){0};
}

/* The part of a buffer that belongs to one head of sequence b. */
static float *part(const hkt_workload_attention *w, size_t level, int which, size_t b, size_t h)
{
    const hkt_config *c = w->config;
    size_t T = hkt_level_length(w->T, c->stride, level);
    return w->buffer[level][which] + b * T * c->d_model + h * (c->d_model / c->heads);
}

static void attend(const hkt_workload_attention *w, size_t call, size_t b, size_t h, bool backward, size_t thread)
{
    const hkt_config *c = w->config;
    const size_t T = hkt_level_length(w->T, c->stride, call), d = c->d_model;
    hkt_attention_f32 a = {.T = T, .p = d / c->heads, .stride = c->stride, .causal = c->causal, .ld_v = d};
    float *dq[HKT_MAX_LEVELS], *dk[HKT_MAX_LEVELS];
    float *lse = w->lse[call] + (b * c->heads + h) * T;
    a.n_levels = hkt_score_levels(c);
    for (size_t l = 0; l < a.n_levels; l++) {
        a.q[l] = part(w, call + l, HKT_WORKLOAD_Q, b, h);
        a.k[l] = part(w, call + l, HKT_WORKLOAD_K, b, h);
        dq[l] = part(w, call + l, HKT_WORKLOAD_DQ, b, h);
        dk[l] = part(w, call + l, HKT_WORKLOAD_DK, b, h);
        a.ld_qk[l] = d;
        a.weight[l] = 1 / (float)a.n_levels;
    }
    a.v = part(w, call, HKT_WORKLOAD_V, b, h);
    float *out = part(w, call, HKT_WORKLOAD_O, b, h);
    if (backward)
        hkt_attention_backward_f32(&a, out, part(w, call, HKT_WORKLOAD_DO, b, h), d, lse, dq, dk, a.ld_qk,
                                   part(w, call, HKT_WORKLOAD_DV, b, h), d, NULL, w->work[thread]);
    else
        hkt_attention_forward_f32(&a, 0, T, out, d, lse, w->work[thread]);
}

void hkt_workload_attend(const hkt_workload_attention *w, bool backward)
{
    const size_t heads = w->config->heads, per_call = w->batch * heads;
    size_t threads = 0;
#pragma omp parallel num_threads((int)w->n_threads)
    {
        size_t me;
#pragma omp atomic capture
        me = threads++;
        /* The finest level comes first: what is left at the end is small. */
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < w->n_calls * per_call; i++)
            attend(w, i / per_call, i % per_call / heads, i % heads, backward, me);
    }
}

/* --- model -------------------------------------------------------------------------------------------------------- */

static hkt_status random_batch(hkt_workload_model *m, size_t T, size_t batch, bool ragged, uint64_t seed)
{
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_BENCH, 0);
    const hkt_config *c = &m->layout->config;
    HKT_TRY(HKT_NEW(&m->tokens, batch * T));
    HKT_TRY(HKT_NEW(&m->labels, batch));
    HKT_TRY(HKT_NEW(&m->lengths, batch));
    for (size_t i = 0; i < batch * T; i++)
        m->tokens[i] = (int32_t)hkt_rng_below(&rng, c->vocab);
    for (size_t b = 0; b < batch; b++) {
        m->labels[b] = (int32_t)hkt_rng_below(&rng, c->classes);
        m->lengths[b] = ragged ? T - (size_t)hkt_rng_below(&rng, T - T / 8) : T;
    }
    m->batch = (hkt_batch){.n_seq = batch, .length = m->lengths, .tokens = m->tokens, .labels = m->labels};
    return HKT_OK;
}

hkt_status hkt_workload_model_create(hkt_workload_model *m, const hkt_config *config, size_t T, size_t batch,
                                     bool ragged, uint64_t seed)
{
    double *initial;
    *m = (hkt_workload_model){0};
    HKT_TRY(hkt_layout_create(&m->layout, config));
    HKT_TRY(random_batch(m, T, batch, ragged, seed));
    HKT_TRY(HKT_NEW(&m->params, m->layout->total));
    HKT_TRY(HKT_NEW(&m->grads, m->layout->total));
    HKT_TRY(HKT_NEW(&initial, m->layout->total));
    hkt_init_params(m->layout, seed, initial);
    hkt_params_to_f32(m->layout, initial, m->params);
    hkt_free(initial);
    return HKT_OK;
}

void hkt_workload_model_free(hkt_workload_model *m)
{
    hkt_net_destroy_f32(m->net);
    hkt_free(m->params);
    hkt_free(m->grads);
    hkt_free(m->tokens);
    hkt_free(m->labels);
    hkt_free(m->lengths);
    hkt_layout_destroy(m->layout);
    *m = (hkt_workload_model){0};
}

size_t hkt_workload_tokens(const hkt_workload_model *m)
{
    size_t total = 0;
    for (size_t b = 0; b < m->batch.n_seq; b++)
        total += m->lengths[b];
    return total;
}

hkt_status hkt_workload_net(hkt_workload_model *m, bool train)
{
    hkt_net_destroy_f32(m->net);
    m->net = NULL;
    return hkt_net_create_f32(&m->net, m->layout, hkt_workload_tokens(m), m->batch.n_seq, train, false);
}

hkt_status hkt_workload_gradient(hkt_workload_model *m)
{
    double loss;
    return hkt_net_gradient_f32(m->net, m->params, &m->batch, NULL, m->grads, &loss);
}

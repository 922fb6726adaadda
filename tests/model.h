/* model.h - what the tests of the model share: a model with a batch in double, run in either precision. */
#ifndef HKT_TESTS_MODEL_H
#define HKT_TESTS_MODEL_H

#include "tests/check.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/checkpoint.h"
#include "model/net.h"
#include "num/blas.h"

typedef struct {
    hkt_layout *layout;
    double *params; /* [layout->total] */
    size_t *length;
    int32_t *tokens, *labels;
    hkt_batch batch; /* points into the arrays above */
} model;

static inline void model_free(model *m)
{
    hkt_layout_destroy(m->layout);
    hkt_free(m->params);
    hkt_free(m->length);
    hkt_free(m->tokens);
    hkt_free(m->labels);
    *m = (model){0};
}

static inline size_t model_tokens(const model *m)
{
    size_t total = 0;
    for (size_t b = 0; b < m->batch.n_seq; b++)
        total += m->length[b];
    return total;
}

/* Values far from any special point: norms around 1, downsampling around 1/s, everything else N(0, sd^2). */
static inline void model_randomize(model *m, uint64_t seed)
{
    for (size_t i = 0; i < m->layout->n_params; i++) {
        const hkt_param *p = &m->layout->params[i];
        hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_TEST, (uint32_t)i);
        double mean = 0, sd = p->ndim == 2 ? 1 / sqrt((double)p->shape[1]) : 0.5;
        if (p->role == HKT_ROLE_NORM_WEIGHT)
            mean = 1, sd = 0.2;
        else if (p->role == HKT_ROLE_DOWN)
            mean = 1 / (double)m->layout->config.stride, sd = 0.2;
        else if (p->role == HKT_ROLE_EMBED || p->role == HKT_ROLE_POS || p->role == HKT_ROLE_CONV)
            sd = 0.5;
        for (size_t k = 0; k < p->count; k++)
            m->params[p->offset + k] = mean + sd * hkt_rng_normal(&rng);
    }
}

/* Random parameters, tokens and labels; lengths are given. Free with model_free. */
static inline model model_random(const hkt_config *config, size_t n_seq, const size_t *length, uint64_t seed)
{
    model m = {0};
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_TEST, 1u << 31);
    CHECK_OK(hkt_layout_create(&m.layout, config));
    CHECK_OK(HKT_NEW(&m.params, m.layout->total));
    CHECK_OK(HKT_NEW(&m.length, n_seq));
    CHECK_OK(HKT_NEW(&m.labels, n_seq));
    size_t total = 0;
    for (size_t b = 0; b < n_seq; b++) {
        m.length[b] = length[b];
        m.labels[b] = (int32_t)hkt_rng_below(&rng, config->classes);
        total += length[b];
    }
    CHECK_OK(HKT_NEW(&m.tokens, total));
    for (size_t i = 0; i < total; i++)
        m.tokens[i] = (int32_t)hkt_rng_below(&rng, config->vocab);
    m.batch = (hkt_batch){.n_seq = n_seq, .length = m.length, .tokens = m.tokens, .labels = m.labels};
    model_randomize(&m, seed);
    return m;
}

static inline double *model_doubles(size_t n)
{
    double *x;
    CHECK_OK(HKT_NEW(&x, n));
    return x;
}

#define HKT_BODY "tests/model.inc.h"
#include "num/both.h"

#endif

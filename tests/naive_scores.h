/* naive_scores.h - level inputs and score matrices of one sequence, straight from the definition (docs/theory.md,
 * "Attention"), on top of the naive forward pass: the oracle of the tests on scores. Results are malloc'd. */
#ifndef HKT_TESTS_NAIVE_SCORES_H
#define HKT_TESTS_NAIVE_SCORES_H

#include "model/checkpoint.h"
#include "model/net.h"

/* Residual stream that enters `layer`: [T, d]. */
static inline double *naive_residual(const hkt_layout *lay, const double *params, size_t T, const int32_t *tokens,
                                     size_t layer)
{
    size_t d = lay->config.d_model;
    double *x = malloc(T * d * sizeof *x), logits[64];
    if (layer == 0) {
        for (size_t i = 0; i < T * d; i++)
            x[i] = params[lay->embed + (size_t)tokens[i / d] * d + i % d] + params[lay->pos + i];
        return x;
    }
    double *hidden = malloc(lay->config.layers * T * d * sizeof *hidden);
    assert_int_equal(hkt_net_forward_ref_f64(lay, params, T, tokens, logits, hidden), HKT_OK);
    memcpy(x, hidden + (layer - 1) * T * d, T * d * sizeof *x);
    free(hidden);
    return x;
}

static inline void naive_layernorm(size_t T, size_t d, const double *gamma, const double *beta, double *x)
{
    for (size_t i = 0; i < T; i++) {
        double *row = x + i * d, mean = 0, variance = 0;
        for (size_t c = 0; c < d; c++)
            mean += row[c] / (double)d;
        for (size_t c = 0; c < d; c++)
            variance += (row[c] - mean) * (row[c] - mean) / (double)d;
        for (size_t c = 0; c < d; c++)
            row[c] = gamma[c] * (row[c] - mean) / sqrt(variance + 1e-5) + beta[c];
    }
}

/* X^(level): [*rows, d]. */
static inline double *naive_level_input(const hkt_layout *lay, const double *params, size_t T, const int32_t *tokens,
                                        size_t layer, size_t level, size_t *rows)
{
    size_t d = lay->config.d_model, s = lay->config.stride;
    const hkt_layer_offsets *at = &lay->layer[layer];
    double *x = naive_residual(lay, params, T, tokens, layer);
    naive_layernorm(T, d, params + at->norm1_weight, params + at->norm1_bias, x);
    *rows = T;
    for (size_t l = 1; l <= level; l++) {
        size_t next = (*rows + s - 1) / s;
        double *y = calloc(next * d, sizeof *y);
        const double *a = params + at->level[l].down;
        for (size_t j = 0; j < next; j++)
            for (size_t k = 0; k < s && k <= s * j; k++)
                for (size_t c = 0; c < d; c++)
                    y[j * d + c] += a[k * d + c] * x[(s * j - k) * d + c];
        free(x);
        x = y;
        *rows = next;
    }
    return x;
}

/* S^(level, head), unmasked: [*rows, *rows]. */
static inline double *naive_scores(const hkt_layout *lay, const double *params, size_t T, const int32_t *tokens,
                                   size_t layer, size_t level, size_t head, size_t *rows)
{
    size_t d = lay->config.d_model, p = d / lay->config.heads;
    double *x = naive_level_input(lay, params, T, tokens, layer, level, rows);
    const double *wq = params + lay->layer[layer].level[level].q + head * p * d;
    const double *wk = params + lay->layer[layer].level[level].k + head * p * d;
    double *q = calloc(*rows * p, sizeof *q), *k = calloc(*rows * p, sizeof *k), *s = calloc(*rows * *rows, sizeof *s);
    for (size_t i = 0; i < *rows * p; i++)
        for (size_t c = 0; c < d; c++) {
            q[i] += x[i / p * d + c] * wq[i % p * d + c];
            k[i] += x[i / p * d + c] * wk[i % p * d + c];
        }
    for (size_t i = 0; i < *rows; i++)
        for (size_t j = 0; j < *rows; j++)
            for (size_t c = 0; c < p; c++)
                s[i * *rows + j] += q[i * p + c] * k[j * p + c] / sqrt((double)p);
    free(x);
    free(q);
    free(k);
    return s;
}

/* A random model in memory: what hkt_checkpoint_free frees. Weights of q and k three times as wide as initial ones,
 * biases and theta drawn too, so that heads and levels differ. */
static inline hkt_checkpoint naive_model(const hkt_config *config, uint64_t seed)
{
    hkt_checkpoint model = {0};
    assert_int_equal(hkt_layout_create(&model.layout, config), HKT_OK);
    assert_int_equal(HKT_NEW(&model.params, model.layout->total), HKT_OK);
    hkt_init_params(model.layout, seed, model.params);
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_TEST, 1);
    for (size_t i = 0; i < model.layout->n_params; i++) {
        const hkt_param *p = &model.layout->params[i];
        for (size_t k = 0; k < p->count; k++)
            if (p->role == HKT_ROLE_QK)
                model.params[p->offset + k] *= 3;
            else if (p->role == HKT_ROLE_THETA || p->role == HKT_ROLE_NORM_BIAS || p->role == HKT_ROLE_EMBED)
                model.params[p->offset + k] += hkt_rng_normal(&rng);
    }
    return model;
}

/* Random sequences of the given lengths: what hkt_dataset_free frees. */
static inline hkt_dataset naive_data(const hkt_config *config, const size_t *length, size_t n)
{
    hkt_dataset data = {
        .task = "test", .vocab = config->vocab, .classes = config->classes, .max_len = config->max_len, .n = n};
    assert_int_equal(HKT_NEW(&data.offset, n + 1), HKT_OK);
    for (size_t i = 0; i < n; i++)
        data.offset[i + 1] = data.offset[i] + length[i];
    assert_int_equal(HKT_NEW(&data.tokens, data.offset[n]), HKT_OK);
    assert_int_equal(HKT_NEW(&data.labels, n), HKT_OK);
    hkt_rng rng = hkt_rng_make(5, HKT_STREAM_TEST, 2);
    for (size_t i = 0; i < data.offset[n]; i++)
        data.tokens[i] = (int32_t)hkt_rng_below(&rng, config->vocab);
    return data;
}

#endif

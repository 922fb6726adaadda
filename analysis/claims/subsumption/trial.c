/* trial.c - random models for the checks of `subsumption`, with lambda and beta at or near their limits. */
#include <string.h>

#include "analysis/claims/subsumption/subsumption.h"
#include "base/mem.h"

void hkt_subsumption_trial_close(hkt_subsumption_trial *t)
{
    hkt_subject_close(&t->s);
    hkt_free(t->tokens);
    hkt_free(t->x);
    *t = (hkt_subsumption_trial){0};
}

static size_t between(hkt_rng *rng, size_t lo, size_t hi)
{
    return lo + (size_t)hkt_rng_below(rng, hi - lo + 1);
}

hkt_config hkt_subsumption_random_config(hkt_rng *rng, size_t index, size_t T)
{
    size_t heads = index % 2 ? between(rng, 2, 4) : 1, p = between(rng, 1, 16);
    hkt_config c = {.vocab = 8,
                    .classes = 2,
                    .max_len = T,
                    .d_model = heads * p,
                    .heads = heads,
                    .layers = 1,
                    .levels = between(rng, 2, 4),
                    .stride = between(rng, 2, 3),
                    .conv_width = between(rng, 1, 5),
                    .ffn_mult = 1,
                    .fusion = (hkt_fusion)(index % 3),
                    .hybrid = true};
    c.causal = hkt_rng_below(rng, 2) == 0;
    return c;
}

static void normal_values(hkt_rng *rng, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = hkt_rng_normal(rng);
}

/* Makes the fused heads visible in the residual stream: out = I, no FFN; and gives gate and convolution weights of
 * order one. */
static void expose(const hkt_layout *layout, hkt_rng *rng, double *params)
{
    const hkt_config *c = &layout->config;
    const hkt_layer_offsets *at = &layout->layer[0];
    size_t d = c->d_model;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            params[at->out + i * d + j] = i == j;
    memset(params + at->down_weight, 0, c->ffn_mult * d * d * sizeof *params);
    for (size_t l = 0; l < hkt_value_levels(c); l++)
        normal_values(rng, c->conv_width * d, params + at->level[l].conv);
    if (at->gate != HKT_ABSENT)
        normal_values(rng, c->levels * d, params + at->gate);
}

void hkt_subsumption_set_limits(hkt_subsumption_trial *t, double theta_0, double beta_logit, bool to_float)
{
    const hkt_layer_offsets *at = &t->s.layout->layer[0];
    double *params = t->s.params;
    params[at->theta] = theta_0;
    for (size_t i = 0; i < hkt_value_levels(&t->config) * t->config.heads; i++)
        params[at->beta + i] = beta_logit;
    for (size_t i = 0; i < t->s.layout->total && to_float; i++)
        params[i] = (double)(float)params[i];
}

hkt_status hkt_subsumption_trial_open(uint64_t seed, const hkt_config *config, size_t T, hkt_rng *rng,
                                      hkt_subsumption_trial *t)
{
    size_t size = T * config->d_model;
    *t = (hkt_subsumption_trial){.config = *config, .T = T};
    hkt_status status = hkt_subject_fresh(config, seed, &t->s);
    if (status == HKT_OK)
        status = HKT_NEW(&t->tokens, T);
    if (status == HKT_OK)
        status = HKT_NEW(&t->x, 5 * size);
    if (status != HKT_OK) {
        hkt_subsumption_trial_close(t);
        return status;
    }
    t->y = t->x + size;
    t->slack = t->y + size;
    t->plain = t->slack + size;
    t->bound = t->plain + size;
    expose(t->s.layout, rng, t->s.params);
    for (size_t i = 0; i < T; i++)
        t->tokens[i] = (int32_t)hkt_rng_below(rng, config->vocab);
    return HKT_OK;
}

hkt_status hkt_subsumption_plain_heads(hkt_subsumption_trial *t, hkt_subsumption_target what, double u)
{
    const hkt_config *c = &t->config;
    size_t d = c->d_model, p = d / c->heads, size = t->T * p;
    const hkt_level_offsets *at = &t->s.layout->layer[0].level[0];
    double *head = NULL;
    HKT_TRY(HKT_NEW(&head, 2 * size));
    hkt_status status = HKT_OK;
    for (size_t h = 0; h < c->heads && status == HKT_OK; h++) {
        hkt_plain_head plain = {.T = t->T,
                                .d = d,
                                .p = p,
                                .causal = c->causal,
                                .x = t->x,
                                .wq = hkt_subject_wq(&t->s, 0, 0, h),
                                .wk = hkt_subject_wk(&t->s, 0, 0, h),
                                .wv = t->s.params + at->v + h * p * d,
                                .conv = t->s.params + at->conv + h * p,
                                .conv_width = c->conv_width,
                                .ld_conv = d};
        status = what == HKT_TO_ATTENTION ? hkt_plain_attention(&plain, u, head, head + size)
                                          : hkt_plain_convolution(&plain, u, head, head + size);
        for (size_t i = 0; i < size && status == HKT_OK; i++) {
            t->plain[i / p * d + h * p + i % p] = head[i];
            t->bound[i / p * d + h * p + i % p] = head[size + i];
        }
    }
    hkt_free(head);
    return status;
}

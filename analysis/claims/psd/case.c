/* case.c - Gram matrices for the checks of `psd`. */
#include <string.h>

#include "analysis/claims/psd/psd.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/kernels.h"

void hkt_psd_case_weights(const hkt_subject *s, size_t layer, size_t head, hkt_psd_case *c)
{
    size_t d = c->g.d;
    for (size_t l = 0; l < c->g.L; l++)
        hkt_score_form_sym(d, d / s->layout->config.heads, hkt_subject_wq(s, layer, l, head),
                           hkt_subject_wk(s, layer, l, head), c->ms[l]);
    double lambda[HKT_MAX_LEVELS];
    hkt_level_weights(s->layout, s->params, layer, lambda);
    memcpy(c->g.lambda, lambda, c->g.L * sizeof *lambda);
}

hkt_status hkt_psd_case_create(const hkt_subject *s, size_t layer, size_t head, size_t T, size_t levels,
                               hkt_psd_case *out)
{
    const hkt_config *config = &s->layout->config;
    size_t d = config->d_model, size = levels * d * d;
    *out = (hkt_psd_case){.g = {.T = T, .d = d, .L = levels, .stride = config->stride}};
    for (size_t l = 0; l < levels; l++)
        size += hkt_level_length(T, config->stride, l) * d;
    HKT_TRY(HKT_NEW(&out->mem, size));
    double *at = out->mem;
    for (size_t l = 0; l < levels; l++) {
        out->g.ms[l] = out->ms[l] = at;
        at += d * d;
        out->g.x[l] = out->x[l] = at;
        at += hkt_level_length(T, config->stride, l) * d;
    }
    hkt_psd_case_weights(s, layer, head, out);
    return HKT_OK;
}

void hkt_psd_case_free(hkt_psd_case *c)
{
    hkt_free(c->mem);
    *c = (hkt_psd_case){0};
}

hkt_status hkt_psd_case_gaussian(const hkt_subject *s, size_t layer, size_t head, size_t T, size_t levels,
                                 uint64_t seed, hkt_psd_case *out)
{
    HKT_TRY(hkt_psd_case_create(s, layer, head, T, levels, out));
    size_t d = out->g.d, stride = out->g.stride;
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 3);
    for (size_t i = 0; i < T * d; i++)
        out->x[0][i] = hkt_rng_normal(&rng);
    for (size_t l = 1; l < levels; l++)
        hkt_downsample_forward_f64(hkt_level_length(T, stride, l - 1), d, stride, out->x[l - 1],
                                   s->params + s->layout->layer[layer].level[l].down, out->x[l]);
    return HKT_OK;
}

/* Level l has T / s^l rows, so that full column rank needs T >= s^(L-1) d; twice that keeps Z well conditioned. */
void hkt_psd_affordable(const hkt_verify_context *ctx, const hkt_config *config, size_t *T, size_t *levels)
{
    size_t most = ctx->quick ? 512 : 1024;
    *levels = 1;
    *T = 2 * config->d_model;
    while (*levels < config->levels && *T * config->stride <= most) {
        *T *= config->stride;
        ++*levels;
    }
    while (2 * *T <= most)
        *T *= 2;
}

#include "analysis/claims/subject.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

static const hkt_config default_config = {.vocab = 16,
                                          .classes = 10,
                                          .max_len = 1024,
                                          .d_model = 32,
                                          .heads = 4,
                                          .layers = 2,
                                          .levels = 3,
                                          .stride = 2,
                                          .conv_width = 3,
                                          .ffn_mult = 2,
                                          .fusion = HKT_FUSION_DYNAMIC,
                                          .hybrid = true,
                                          .causal = true};

hkt_status hkt_subject_fresh(const hkt_config *config, uint64_t seed, hkt_subject *out)
{
    *out = (hkt_subject){0};
    HKT_TRY(hkt_layout_create(&out->own, config));
    out->layout = out->own;
    hkt_status status = HKT_NEW(&out->params, out->layout->total);
    if (status != HKT_OK) {
        hkt_subject_close(out);
        return status;
    }
    hkt_init_params(out->layout, seed, out->params);
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 1);
    for (size_t n = 0; n < config->layers; n++)
        if (out->layout->layer[n].theta != HKT_ABSENT)
            for (size_t l = 0; l < config->levels; l++)
                out->params[out->layout->layer[n].theta + l] = hkt_rng_normal(&rng);
    return HKT_OK;
}

hkt_status hkt_subject_open(const hkt_verify_context *ctx, hkt_subject *out)
{
    if (!ctx->model)
        return hkt_subject_fresh(&default_config, ctx->seed, out);
    *out = (hkt_subject){.layout = ctx->model->layout};
    HKT_TRY(HKT_NEW(&out->params, out->layout->total));
    memcpy(out->params, ctx->model->params, out->layout->total * sizeof *out->params);
    return HKT_OK;
}

void hkt_subject_close(hkt_subject *s)
{
    hkt_free(s->params);
    hkt_layout_destroy(s->own);
    *s = (hkt_subject){0};
}

const double *hkt_subject_wq(const hkt_subject *s, size_t layer, size_t level, size_t head)
{
    return hkt_query_rows(s->layout, s->params, layer, level, head);
}

const double *hkt_subject_wk(const hkt_subject *s, size_t layer, size_t level, size_t head)
{
    return hkt_key_rows(s->layout, s->params, layer, level, head);
}

void hkt_subject_tie(hkt_subject *s)
{
    const hkt_config *c = &s->layout->config;
    for (size_t n = 0; n < c->layers; n++)
        for (size_t l = 0; l < c->levels; l++) {
            const hkt_level_offsets *at = &s->layout->layer[n].level[l];
            memcpy(s->params + at->k, s->params + at->q, c->d_model * c->d_model * sizeof *s->params);
        }
}

hkt_status hkt_subject_sequences(const hkt_verify_context *ctx, const hkt_config *config, size_t n, size_t T,
                                 hkt_dataset *out)
{
    const hkt_dataset *data = ctx->data;
    if (data && data->vocab != config->vocab)
        return hkt_fail(HKT_EINPUT, "data: expected the model's vocabulary of %zu tokens, found %zu", config->vocab,
                        data->vocab);
    if (T > config->max_len)
        T = config->max_len;
    if (data && n > data->n)
        n = data->n;
    *out = (hkt_dataset){.task = data ? data->task : "random tokens",
                         .vocab = config->vocab,
                         .classes = config->classes,
                         .max_len = T,
                         .n = n};
    hkt_status status;
    HKT_TRY_GOTO(status, failed, HKT_NEW(&out->offset, n + 1));
    HKT_TRY_GOTO(status, failed, HKT_NEW(&out->tokens, n * T));
    HKT_TRY_GOTO(status, failed, HKT_NEW(&out->labels, n));
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 2);
    for (size_t i = 0; i < n; i++) {
        size_t length = data ? data->offset[i + 1] - data->offset[i] : T;
        length = length < T ? length : T;
        int32_t *to = out->tokens + out->offset[i];
        for (size_t j = 0; j < length; j++)
            to[j] = data ? data->tokens[data->offset[i] + j] : (int32_t)hkt_rng_below(&rng, config->vocab);
        out->offset[i + 1] = out->offset[i] + length;
        out->labels[i] = data ? data->labels[i] : 0;
    }
    return HKT_OK;
failed:
    hkt_dataset_free(out);
    return status;
}

hkt_status hkt_subject_see(const hkt_verify_context *ctx, const hkt_subject *s, size_t T, hkt_scene *out)
{
    hkt_dataset data = {0};
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_subject_sequences(ctx, &s->layout->config, 1, ctx->tokens ? ctx->tokens : T, &data));
    HKT_TRY_GOTO(status, done, hkt_scene_open(out, s->layout, s->params, data.offset[1]));
    status = hkt_scene_see(out, data.offset[1], data.tokens);
done:
    hkt_dataset_free(&data);
    return status;
}

bool hkt_subject_trained(const hkt_verify_context *ctx, hkt_check_result *out)
{
    if (!ctx->model)
        hkt_check_skip(out, "needs --checkpoint: it is about trained weights");
    return ctx->model != NULL;
}

hkt_status hkt_subject_held_out(const hkt_verify_context *ctx, size_t n, hkt_dataset *out)
{
    const hkt_config *c = &ctx->model->layout->config;
    return hkt_subject_sequences(ctx, c, n, ctx->tokens ? ctx->tokens : ctx->data ? c->max_len : 256, out);
}

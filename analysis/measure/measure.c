#include "analysis/measure/measure.h"

#include <stdio.h>
#include <string.h>

bool hkt_measure_wanted(const char *filter, size_t index)
{
    char text[24];
    if (!filter)
        return true;
    if (index == HKT_TSV_NO_INDEX)
        return strcmp(filter, HKT_TSV_MISSING) == 0;
    snprintf(text, sizeof text, "%zu", index);
    return strcmp(filter, text) == 0;
}

const char *hkt_measure_filter(const char *text)
{
    return text && (strcmp(text, "all") == 0 || strcmp(text, "sum") == 0) ? HKT_TSV_MISSING : text;
}

hkt_score_source hkt_measure_source(const hkt_measure_context *ctx)
{
    return ctx->scores ? *ctx->scores : hkt_score_of_model(ctx->model, ctx->data);
}

hkt_status hkt_measure_tokens(const hkt_measure_context *ctx, size_t fallback, size_t *T)
{
    const size_t most = ctx->model->layout->config.max_len;
    if (ctx->tokens > most)
        return hkt_fail(HKT_EUSAGE,
                        "option '--tokens': expected at most the longest sequence of the model, %zu, found %zu", most,
                        ctx->tokens);
    *T = ctx->tokens > 0 ? ctx->tokens : fallback < most ? fallback : most;
    return HKT_OK;
}

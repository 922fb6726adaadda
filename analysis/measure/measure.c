#include "analysis/measure/measure.h"

void hkt_measure_index(hkt_tsv *out, size_t index)
{
    if (index == HKT_NO_INDEX)
        hkt_tsv_str(out, "-");
    else
        hkt_tsv_size(out, index);
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

const hkt_measurement *const hkt_measurements[] = {
    &hkt_measure_describe,  &hkt_measure_kurtosis, &hkt_measure_spectrum, &hkt_measure_inertia,
    &hkt_measure_asymmetry, &hkt_measure_gates,    &hkt_measure_bands,    &hkt_measure_information,
    &hkt_measure_errors,    &hkt_measure_decay,    &hkt_measure_scores,   &hkt_measure_ablate,
    &hkt_measure_cost,      &hkt_measure_compare};
const size_t hkt_n_measurements = sizeof hkt_measurements / sizeof *hkt_measurements;

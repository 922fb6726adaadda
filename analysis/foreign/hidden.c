/* Bands of the hidden states of another program: of each layer's states as they are, and of what is left of them when
 * equal weights over s, s^2, ... tokens make coarser levels of them, against white noise (docs/theory.md, "bands"). */
#include <math.h>
#include <string.h>

#include "analysis/measure/measure.h"
#include "analysis/view/bands.h"
#include "base/mem.h"
#include "foreign/stored.h"

typedef struct {
    const hkt_measure_context *ctx;
    const hkt_tensor *x;
    size_t layers, n, T, d, L, stride;
    hkt_cascade cascade;
    double *taps;
    double *block, *level[HKT_MAX_LEVELS]; /* [T_l, d] of one sequence */
} hidden;

static hkt_status take_shape(hidden *h)
{
    const hkt_tensor *x = h->x;
    if (x->ndim < 2 || x->ndim > 4 || x->count == 0)
        return hkt_fail(HKT_EINPUT,
                        "%s: expected hidden states [layers, sequences, tokens, d], the first of them left out or not, "
                        "found %zu dimensions and %zu elements",
                        h->ctx->hidden, x->ndim, x->count);
    h->layers = x->ndim > 3 ? x->shape[0] : 1;
    h->n = x->ndim > 2 ? x->shape[x->ndim - 3] : 1;
    h->T = x->shape[x->ndim - 2];
    h->d = x->shape[x->ndim - 1];
    if (hkt_band_window_of(h->T, h->stride, h->L).n == 0)
        return hkt_fail(HKT_EINPUT, "%s: %zu levels of stride %zu: expected at least %zu tokens, found %zu",
                        h->ctx->hidden, h->L, h->stride, 2 * hkt_cascade_span(h->stride, h->L - 1), h->T);
    return HKT_OK;
}

static hkt_status prepare(hidden *h)
{
    size_t total = 0;
    HKT_TRY(hkt_cascade_make(h->stride, h->L, h->d, false, 0, &h->cascade, &h->taps));
    for (size_t l = 0; l < h->L; l++)
        total += hkt_level_length(h->T, h->stride, l) * h->d;
    HKT_TRY(HKT_NEW(&h->block, total));
    h->level[0] = h->block;
    for (size_t l = 1; l < h->L; l++)
        h->level[l] = h->level[l - 1] + hkt_level_length(h->T, h->stride, l - 1) * h->d;
    return HKT_OK;
}

static hkt_status read_states(const hidden *h, size_t layer, size_t seq)
{
    const size_t size = h->T * h->d;
    HKT_TRY(hkt_tensor_range_to_f64(h->x, (layer * h->n + seq) * size, size, h->level[0]));
    for (size_t i = 0; i < size; i++)
        if (!isfinite(h->level[0][i]))
            return hkt_fail(HKT_EINPUT,
                            "%s: expected finite numbers, found %g at layer %zu, sequence %zu, token %zu, element %zu",
                            h->ctx->hidden, h->level[0][i], layer, seq, i / h->d, i % h->d);
    return HKT_OK;
}

static double share(const double *energy, size_t L, size_t band)
{
    double total = 0;
    for (size_t b = 0; b < L; b++)
        total += energy[b];
    return total > 0 ? energy[band] / total : (double)NAN;
}

static void write_rows(const hidden *h, hkt_tsv *out, const char *quantity, size_t layer, const double *energy,
                       const double *noise)
{
    const size_t L = h->L;
    for (size_t i = 0; i < L * L; i++) {
        const double value = share(energy + i / L * L, L, i % L);
        hkt_tsv_str(out, quantity);
        hkt_tsv_size(out, layer);
        hkt_tsv_size(out, i / L);
        hkt_tsv_size(out, i % L);
        hkt_tsv_real(out, 1 / (double)hkt_cascade_span(h->stride, i / L));
        hkt_tsv_real(out, value);
        hkt_tsv_real(out, share(noise + i / L * L, L, i % L));
        hkt_tsv_str(out, isnan(value) ? "skipped: no energy" : "ok");
        hkt_tsv_end(out);
    }
}

static hkt_status see_layer(const hidden *h, hkt_tsv *out, size_t layer, size_t sequences)
{
    static const char *const name[] = {"raw", "detail"};
    const hkt_band_window window = hkt_band_window_of(h->T, h->stride, h->L);
    const size_t whole = window.begin + window.n, size = h->L * h->L;
    double energy[2 * HKT_MAX_LEVELS * HKT_MAX_LEVELS] = {0}, noise[HKT_MAX_LEVELS * HKT_MAX_LEVELS];
    for (size_t seq = 0; seq < sequences; seq++) {
        HKT_TRY(read_states(h, layer, seq));
        hkt_cascade_run(&h->cascade, h->T, h->level);
        for (int signal = 0; signal < 2; signal++)
            HKT_TRY(hkt_band_energy(h->stride, h->L, h->d, (const double *const *)h->level, window,
                                    (hkt_band_signal)signal, energy + (size_t)signal * size));
    }
    for (int signal = 0; signal < 2; signal++) {
        memset(noise, 0, sizeof noise);
        HKT_TRY(hkt_band_white_noise(&h->cascade, 0, whole, (hkt_band_signal)signal, noise));
        write_rows(h, out, name[signal], layer, energy + (size_t)signal * size, noise);
    }
    return HKT_OK;
}

static hkt_status run_with(hidden *h, hkt_tsv *out)
{
    const size_t most = h->ctx->sequences;
    HKT_TRY(take_shape(h));
    HKT_TRY(prepare(h));
    for (size_t layer = 0; layer < h->layers; layer++)
        if (hkt_measure_wanted(h->ctx->layer, layer))
            HKT_TRY(see_layer(h, out, layer, most == 0 || most > h->n ? h->n : most));
    return HKT_OK;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    hidden h = {.ctx = ctx, .L = ctx->config->levels, .stride = ctx->config->stride};
    hkt_safetensors *file = NULL;
    hkt_status status = hkt_stored_array(&file, &h.x, ctx->hidden, "x");
    if (status == HKT_OK)
        status = run_with(&h, out);
    hkt_safetensors_free(file);
    hkt_free(h.taps);
    hkt_free(h.block);
    return status;
}

const hkt_measurement hkt_hidden_bands = {
    .name = "bands",
    .help = "share of each band in the energy of stored hidden states and of their levels",
    .needs = HKT_USES_SEQUENCES,
    .columns = "quantity\tlayer\tlevel\tband\tedge\tvalue\treference\tstatus",
    .run = run,
};

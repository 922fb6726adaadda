/* What frequencies the levels hold (bands.h): the response of the downsampling filters, against the untrained boxcar,
 * and the share of each band in a level's energy over the data, against white noise through the same filters. */
#include <complex.h>
#include <math.h>
#include <stdio.h>

#include "analysis/bands.h"
#include "analysis/measure.h"
#include "base/mem.h"
#include "base/progress.h"
#include "model/net.h"

enum { FREQUENCIES = 128, NOISE_ROWS = 16, N_SIGNALS = 2 };
static const char *const signal_name[N_SIGNALS] = {[HKT_BANDS_RAW] = "raw", [HKT_BANDS_DETAIL] = "detail"};

typedef struct {
    const hkt_measure_context *ctx;
    const hkt_config *c;
    hkt_tsv *out;
    double *energy; /* [layers][N_SIGNALS][L, L] */
    size_t used;    /* sequences long enough for a transform */
} bands;

static void write_row(const bands *b, const char *quantity, size_t layer, size_t level, size_t band, double frequency,
                      double value, double reference)
{
    hkt_tsv_str(b->out, quantity);
    hkt_tsv_size(b->out, layer);
    hkt_tsv_size(b->out, level);
    hkt_measure_index(b->out, band);
    hkt_tsv_real(b->out, 1 / (double)hkt_cascade_span(b->c->stride, level));
    hkt_tsv_real(b->out, frequency);
    hkt_tsv_real(b->out, value);
    hkt_tsv_real(b->out, reference);
    hkt_tsv_str(b->out, isnan(value) ? "skipped: no energy, or no sequence of two rows of the coarsest level" : "ok");
    hkt_tsv_end(b->out);
}

/* Root mean square over the channels of |H|, and the response 1/s^l sum e^{-iwt} of equal weights. */
static void write_responses(const bands *b, size_t layer)
{
    hkt_cascade cascade = hkt_cascade_of(b->ctx->model->layout, b->ctx->model->params, layer);
    for (size_t level = 1; level < cascade.L; level++)
        for (size_t k = 0; k <= FREQUENCIES; k++) {
            double sum = 0;
            for (size_t channel = 0; channel < cascade.d; channel++) {
                double magnitude = cabs(hkt_cascade_response(&cascade, level, channel, k, 2 * FREQUENCIES));
                sum += magnitude * magnitude;
            }
            write_row(b, "response", layer, level, HKT_NO_INDEX, (double)k / FREQUENCIES, sqrt(sum / (double)cascade.d),
                      cabs(hkt_dirichlet(hkt_cascade_span(cascade.stride, level), k, 2 * FREQUENCIES)));
        }
}

static double share(size_t L, const double *row, size_t band)
{
    double total = 0;
    for (size_t k = 0; k < L; k++)
        total += row[k];
    return total > 0 ? row[band] / total : (double)NAN;
}

static hkt_status white_noise(const hkt_cascade *cascade, hkt_band_signal signal, double *energy)
{
    for (size_t i = 0; i < cascade->L * cascade->L; i++)
        energy[i] = 0;
    size_t T = NOISE_ROWS * hkt_cascade_span(cascade->stride, cascade->L - 1);
    for (size_t channel = 0; channel < cascade->d; channel++)
        HKT_TRY(hkt_band_white_noise(cascade, channel, T, signal, energy));
    return HKT_OK;
}

static hkt_status write_energies(const bands *b, size_t layer)
{
    size_t L = b->c->levels;
    hkt_cascade cascade = hkt_cascade_of(b->ctx->model->layout, b->ctx->model->params, layer);
    double noise[HKT_MAX_LEVELS * HKT_MAX_LEVELS];
    for (hkt_band_signal signal = HKT_BANDS_RAW; signal <= HKT_BANDS_DETAIL; signal++) {
        const double *energy = b->energy + (layer * N_SIGNALS + signal) * L * L;
        HKT_TRY(white_noise(&cascade, signal, noise));
        for (size_t i = 0; i < L * L; i++)
            write_row(b, signal_name[signal], layer, i / L, i % L, (double)NAN,
                      b->used > 0 ? share(L, energy + i / L * L, i % L) : (double)NAN,
                      share(L, noise + i / L * L, i % L));
    }
    return HKT_OK;
}

static hkt_status add_sequence(bands *b, hkt_net_f64 *net, size_t T, const int32_t *tokens)
{
    hkt_band_window window = hkt_band_window_of(T, b->c->stride, b->c->levels);
    hkt_batch batch = {.n_seq = 1, .length = &T, .tokens = tokens};
    hkt_tap_f64 tap;
    size_t L = b->c->levels;
    if (window.n == 0)
        return HKT_OK;
    b->used++;
    HKT_TRY(hkt_net_forward_f64(net, b->ctx->model->params, &batch, NULL, NULL, NULL, NULL));
    for (size_t layer = 0; layer < b->c->layers; layer++) {
        HKT_TRY(hkt_net_tap_f64(net, layer, &tap));
        for (hkt_band_signal signal = HKT_BANDS_RAW; signal <= HKT_BANDS_DETAIL; signal++)
            HKT_TRY(hkt_band_energy(b->c->stride, L, b->c->d_model, tap.x, window, signal,
                                    b->energy + (layer * N_SIGNALS + signal) * L * L));
    }
    return HKT_OK;
}

static hkt_status walk(bands *b)
{
    const hkt_dataset *data = b->ctx->data;
    size_t longest = 1;
    hkt_net_f64 *net;
    for (size_t i = 0; i < b->ctx->sequences; i++) {
        size_t T = data->offset[i + 1] - data->offset[i];
        longest = T > longest ? T : longest;
    }
    HKT_TRY(hkt_net_create_f64(&net, b->ctx->model->layout, longest, 1, false, true));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < b->ctx->sequences && status == HKT_OK; i++) {
        hkt_progress(false, "bands: sequence %zu of %zu", i + 1, b->ctx->sequences);
        status = add_sequence(b, net, data->offset[i + 1] - data->offset[i], data->tokens + data->offset[i]);
    }
    hkt_progress_clear();
    hkt_net_destroy_f64(net);
    return status;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    bands b = {.ctx = ctx, .c = &ctx->model->layout->config, .out = out};
    if (b.c->levels == 1) /* one level has one band, all of it */
        return HKT_OK;
    HKT_TRY(HKT_NEW(&b.energy, b.c->layers * N_SIGNALS * b.c->levels * b.c->levels));
    hkt_status status = walk(&b);
    for (size_t layer = 0; layer < b.c->layers && status == HKT_OK; layer++) {
        write_responses(&b, layer);
        status = write_energies(&b, layer);
    }
    hkt_free(b.energy);
    return status;
}

const hkt_measurement hkt_measure_bands = {
    "bands", "frequency response of the downsampling, and the share of each band in a level's energy",
    HKT_NEEDS_MODEL | HKT_NEEDS_DATA, "quantity\tlayer\tlevel\tband\tedge\tfrequency\tvalue\treference\tstatus", run};

/* What frequencies the levels hold (bands.h): the response of the downsampling filters, against the untrained boxcar,
 * and the share of each band in a level's energy over the data: of its input (raw), of what it holds beyond the next
 * one (detail), against white noise through the same filters, and of its output. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measure/measure.h"
#include "analysis/view/bands.h"
#include "base/mem.h"
#include "base/progress.h"
#include "model/net.h"

enum { FREQUENCIES = 128, NOISE_ROWS = 16 };
typedef enum { RAW, DETAIL, OUTPUT, N_SIGNALS } signal_kind;
static const char *const signal_name[N_SIGNALS] = {"raw", "detail", "output"};

typedef struct {
    const hkt_measure_context *ctx;
    const hkt_config *c;
    hkt_tsv *out;
    double *energy;            /* [layers][N_SIGNALS][L, L] */
    double *y[HKT_MAX_LEVELS]; /* outputs of the levels of one layer; NULL: the levels have none */
    double *outputs;           /* owns them */
} bands;

static void write_row(const bands *b, const char *quantity, size_t layer, size_t level, size_t band, double frequency,
                      double value, double reference)
{
    const char *problem = !isnan(value) ? "ok"
                          : strcmp(quantity, signal_name[OUTPUT]) == 0 && !b->outputs
                              ? "skipped: with score fusion the levels have no outputs"
                              : "skipped: no energy, or no sequence of two rows of the coarsest level";
    hkt_tsv_str(b->out, quantity);
    hkt_tsv_size(b->out, layer);
    hkt_tsv_size(b->out, level);
    hkt_measure_index(b->out, band);
    hkt_tsv_real(b->out, 1 / (double)hkt_cascade_span(b->c->stride, level));
    hkt_tsv_real(b->out, frequency);
    hkt_tsv_real(b->out, value);
    hkt_tsv_real(b->out, reference);
    hkt_tsv_str(b->out, problem);
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

/* Level inputs linear in the noise only: the outputs are not. */
static hkt_status white_noise(const hkt_cascade *cascade, signal_kind kind, double *energy)
{
    for (size_t i = 0; i < cascade->L * cascade->L; i++)
        energy[i] = 0;
    if (kind == OUTPUT)
        return HKT_OK;
    size_t T = NOISE_ROWS * hkt_cascade_span(cascade->stride, cascade->L - 1);
    for (size_t channel = 0; channel < cascade->d; channel++)
        HKT_TRY(hkt_band_white_noise(cascade, channel, T, kind == DETAIL ? HKT_BANDS_DETAIL : HKT_BANDS_RAW, energy));
    return HKT_OK;
}

static hkt_status write_energies(const bands *b, size_t layer)
{
    size_t L = b->c->levels;
    hkt_cascade cascade = hkt_cascade_of(b->ctx->model->layout, b->ctx->model->params, layer);
    double noise[HKT_MAX_LEVELS * HKT_MAX_LEVELS];
    for (signal_kind kind = RAW; kind < N_SIGNALS; kind++) {
        const double *energy = b->energy + (layer * N_SIGNALS + kind) * L * L;
        HKT_TRY(white_noise(&cascade, kind, noise));
        for (size_t i = 0; i < L * L; i++)
            write_row(b, signal_name[kind], layer, i / L, i % L, (double)NAN, share(L, energy + i / L * L, i % L),
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
    HKT_TRY(hkt_net_forward_f64(net, b->ctx->model->params, &batch, NULL, NULL, NULL, NULL));
    for (size_t layer = 0; layer < b->c->layers; layer++) {
        HKT_TRY(hkt_net_tap_f64(net, layer, &tap));
        if (b->outputs)
            hkt_band_outputs(&tap, b->c->d_model, b->y);
        for (signal_kind kind = RAW; kind < (b->outputs ? N_SIGNALS : OUTPUT); kind++)
            HKT_TRY(hkt_band_energy(
                b->c->stride, L, b->c->d_model, kind == OUTPUT ? (const double *const *)b->y : tap.x, window,
                kind == DETAIL ? HKT_BANDS_DETAIL : HKT_BANDS_RAW, b->energy + (layer * N_SIGNALS + kind) * L * L));
    }
    return HKT_OK;
}

/* Room for the outputs of a sequence of T tokens. */
static hkt_status create_outputs(bands *b, size_t T)
{
    size_t rows = 0;
    if (b->c->fusion == HKT_FUSION_SCORE)
        return HKT_OK;
    for (size_t l = 0; l < b->c->levels; l++)
        rows += hkt_level_length(T, b->c->stride, l);
    HKT_TRY(HKT_NEW(&b->outputs, rows * b->c->d_model));
    double *at = b->outputs;
    for (size_t l = 0; l < b->c->levels; at += hkt_level_length(T, b->c->stride, l++) * b->c->d_model)
        b->y[l] = at;
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
    HKT_TRY(create_outputs(b, longest));
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
    hkt_free(b.outputs);
    return status;
}

const hkt_measurement hkt_measure_bands = {
    "bands", "frequency response of the downsampling, and the share of each band in a level's energy",
    HKT_NEEDS_MODEL | HKT_NEEDS_DATA | HKT_USES_SEQUENCES,
    "quantity\tlayer\tlevel\tband\tedge\tfrequency\tvalue\treference\tstatus", run};

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

enum { FREQUENCIES = 128, NOISE_ROWS = 16 };
static const char *const signal_name[HKT_BANDS_SIGNALS] = {"raw", "detail", "output"};

typedef struct {
    const hkt_measure_context *ctx;
    const hkt_config *c;
    hkt_tsv *out;
    bool outputs;   /* score fusion has none */
    double *energy; /* [layers][HKT_BANDS_SIGNALS][L, L] */
} bands;

static void write_row(const bands *b, const char *quantity, size_t layer, size_t level, size_t band, double frequency,
                      double value, double reference)
{
    const char *problem = !isnan(value) ? "ok"
                          : strcmp(quantity, signal_name[HKT_BANDS_OUTPUT]) == 0 && !b->outputs
                              ? "skipped: with score fusion the levels have no outputs"
                              : "skipped: no energy, or no sequence of two rows of the coarsest level";
    hkt_tsv_str(b->out, quantity);
    hkt_tsv_size(b->out, layer);
    hkt_tsv_size(b->out, level);
    hkt_tsv_index(b->out, band);
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
            write_row(b, "response", layer, level, HKT_TSV_NO_INDEX, (double)k / FREQUENCIES,
                      sqrt(sum / (double)cascade.d),
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
static hkt_status white_noise(const hkt_cascade *cascade, hkt_band_signal kind, double *energy)
{
    for (size_t i = 0; i < cascade->L * cascade->L; i++)
        energy[i] = 0;
    if (kind == HKT_BANDS_OUTPUT)
        return HKT_OK;
    size_t T = NOISE_ROWS * hkt_cascade_span(cascade->stride, cascade->L - 1);
    for (size_t channel = 0; channel < cascade->d; channel++)
        HKT_TRY(hkt_band_white_noise(cascade, channel, T, kind, energy));
    return HKT_OK;
}

static hkt_status write_energies(const bands *b, size_t layer)
{
    size_t L = b->c->levels;
    hkt_cascade cascade = hkt_cascade_of(b->ctx->model->layout, b->ctx->model->params, layer);
    double noise[HKT_MAX_LEVELS * HKT_MAX_LEVELS];
    for (hkt_band_signal kind = HKT_BANDS_RAW; kind < HKT_BANDS_SIGNALS; kind++) {
        const double *energy = b->energy + (layer * HKT_BANDS_SIGNALS + kind) * L * L;
        HKT_TRY(white_noise(&cascade, kind, noise));
        for (size_t i = 0; i < L * L; i++)
            write_row(b, signal_name[kind], layer, i / L, i % L, (double)NAN, share(L, energy + i / L * L, i % L),
                      share(L, noise + i / L * L, i % L));
    }
    return HKT_OK;
}

static hkt_status add_sequence(void *self, const hkt_scene *scene)
{
    bands *b = self;
    const size_t L = b->c->levels;
    hkt_band_window window = hkt_band_window_of(scene->T, b->c->stride, L);
    for (size_t i = 0; i < b->c->layers * HKT_BANDS_SIGNALS && window.n > 0; i++) {
        hkt_band_signal signal = (hkt_band_signal)(i % HKT_BANDS_SIGNALS);
        if (signal != HKT_BANDS_OUTPUT || b->outputs)
            HKT_TRY(hkt_band_scene(scene, i / HKT_BANDS_SIGNALS, signal, window, b->energy + i * L * L));
    }
    return HKT_OK;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    bands b = {.ctx = ctx, .c = &ctx->model->layout->config, .out = out};
    hkt_scene scene = {0};
    if (b.c->levels == 1) /* one level has one band, all of it */
        return HKT_OK;
    b.outputs = !hkt_fusion_of(b.c)->sums_scores;
    HKT_TRY(HKT_NEW(&b.energy, b.c->layers * HKT_BANDS_SIGNALS * b.c->levels * b.c->levels));
    hkt_status status = hkt_scene_sequences(&scene, ctx->model->layout, ctx->model->params, ctx->data, ctx->sequences,
                                            "bands", add_sequence, &b);
    hkt_scene_close(&scene);
    for (size_t layer = 0; layer < b.c->layers && status == HKT_OK; layer++) {
        if (!hkt_measure_wanted(ctx->layer, layer))
            continue;
        write_responses(&b, layer);
        status = write_energies(&b, layer);
    }
    hkt_free(b.energy);
    return status;
}

const hkt_measurement hkt_measure_bands = {
    .name = "bands",
    .help = "frequency response of the downsampling, and the share of each band in a level's energy",
    .needs = HKT_NEEDS_MODEL | HKT_NEEDS_DATA | HKT_USES_SEQUENCES,
    .columns = "quantity\tlayer\tlevel\tband\tedge\tfrequency\tvalue\treference\tstatus",
    .run = run,
};

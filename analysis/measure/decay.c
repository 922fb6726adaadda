/* How the error of the best hierarchical sum falls with the number of levels (hierarchy.h), with the laws fitted to it
 * (fit.h): for the mean of the heads' full-resolution scores of each layer, and two kernels with known decay. */
#include <float.h>
#include <math.h>

#include "analysis/math/fit.h"
#include "analysis/measure/measure.h"
#include "analysis/view/hierarchy.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "base/progress.h"

enum { DEFAULT_TOKENS = 64, MAX_TOKENS = 512, RANK = 2 };
static const double sweep_tolerance = 1e-6;

typedef struct {
    const hkt_measure_context *ctx;
    hkt_tsv *out;
    size_t T;
    double *target, *score; /* [T, T] */
    size_t done, total;     /* targets */
    double start;
} decay;

static void write_curve(const decay *d, const char *target, size_t layer, const hkt_curve *curve,
                        const hkt_decay_fit *fit)
{
    for (size_t i = 0; i < curve->n; i++) {
        double L = (double)(i + 1);
        hkt_tsv_str(d->out, target);
        hkt_tsv_index(d->out, layer);
        hkt_tsv_size(d->out, i + 1);
        hkt_tsv_size(d->out, d->T);
        hkt_tsv_size(d->out, RANK);
        hkt_tsv_real(d->out, curve->error[i]);
        hkt_tsv_real(d->out, curve->bound[i]);
        hkt_tsv_real(d->out, fit->C * pow(fit->rho, L));
        hkt_tsv_real(d->out, fit->floor + fit->floor_C * pow(fit->floor_q, L));
        hkt_tsv_real(d->out, fit->rho);
        hkt_tsv_real(d->out, fit->margin);
        hkt_tsv_str(d->out, hkt_law_name(fit->law));
        hkt_tsv_str(d->out, curve->error[i] > 0 ? "ok" : "warning: no error left");
        hkt_tsv_end(d->out);
    }
}

/* Errors below `least` are rounding: E^2 is known to L T r eps (docs/theory.md, "decay"). */
static hkt_status measure_target(decay *d, const char *target, size_t layer)
{
    const hkt_search search = {.sweeps = 30, .tolerance = sweep_tolerance, .seed = d->ctx->seed};
    size_t stride = d->ctx->model->layout->config.stride, levels = hkt_hierarchy_depth(d->T, stride);
    hkt_decay_spec spec = {.level = 0.95, .noise = 100 * sweep_tolerance};
    hkt_curve curve;
    hkt_decay_fit fit;
    spec.least = sqrt((double)(levels * d->T * RANK) * DBL_EPSILON / (2 * spec.noise));
    hkt_progress_part(d->start, d->done, d->total, "decay: %s, %zu of %zu", target, d->done + 1, d->total);
    d->done++;
    HKT_TRY(hkt_hierarchy_curve(&curve, d->target, d->T, stride, levels, RANK, &search));
    HKT_TRY(hkt_fit_decay(curve.n, curve.error, &spec, &fit));
    write_curve(d, target, layer, &curve, &fit);
    return HKT_OK;
}

static hkt_status measure_kernels(decay *d)
{
    for (int power = 0; power < 2; power++) {
        for (size_t e = 0; e < d->T * d->T; e++) {
            double i = (double)(e / d->T), j = (double)(e % d->T), lag = fabs(i - j);
            d->target[e] = power ? 1 / (1 + lag) : exp(-8 * lag / (double)d->T);
        }
        HKT_TRY(measure_target(d, power ? "power kernel" : "exponential kernel", HKT_TSV_NO_INDEX));
    }
    return HKT_OK;
}

static hkt_status measure_layers(decay *d, hkt_scene *s)
{
    HKT_TRY(hkt_scene_see(s, d->T, d->ctx->data->tokens));
    for (size_t layer = 0; layer < s->layout->config.layers; layer++) {
        if (!hkt_measure_wanted(d->ctx->layer, layer))
            continue;
        hkt_scene_mean_score(s, layer, d->score, d->target);
        HKT_TRY(measure_target(d, "scores", layer));
    }
    return HKT_OK;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    decay d = {.ctx = ctx, .out = out, .T = ctx->tokens > 0 ? ctx->tokens : DEFAULT_TOKENS, .start = hkt_now()};
    hkt_scene scene = {0};
    hkt_status status;
    if (d.T > MAX_TOKENS)
        return hkt_fail(HKT_EUSAGE, "option '--tokens': expected at most %d for 'decay', found %zu", MAX_TOKENS, d.T);
    d.T = d.T < ctx->data->offset[1] ? d.T : ctx->data->offset[1];
    d.total = hkt_measure_wanted(ctx->layer, HKT_TSV_NO_INDEX) ? 2 : 0; /* kernels */
    for (size_t layer = 0; layer < ctx->model->layout->config.layers; layer++)
        d.total += hkt_measure_wanted(ctx->layer, layer);
    HKT_TRY_GOTO(status, done, HKT_NEW(&d.target, d.T * d.T));
    HKT_TRY_GOTO(status, done, HKT_NEW(&d.score, d.T * d.T));
    HKT_TRY_GOTO(status, done, hkt_scene_open(&scene, ctx->model->layout, ctx->model->params, d.T));
    HKT_TRY_GOTO(status, done, measure_layers(&d, &scene));
    if (hkt_measure_wanted(ctx->layer, HKT_TSV_NO_INDEX))
        status = measure_kernels(&d);
done:
    hkt_progress_clear();
    hkt_scene_close(&scene);
    hkt_free(d.target);
    hkt_free(d.score);
    return status;
}

const hkt_measurement hkt_measure_decay = {
    .name = "decay",
    .help = "error of the best hierarchical sum against its number of levels, and the law it follows",
    .needs = HKT_NEEDS_MODEL | HKT_NEEDS_DATA | HKT_USES_TOKENS,
    .columns = "target\tlayer\tlevels\ttokens\trank\terror\tbound\tgeometric\tfloor\trho\tmargin\tlaw\tstatus",
    .run = run,
};

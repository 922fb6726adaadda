/* Two models side by side on the same sequences: accuracy, and per layer, level and head kappa, antisymmetric energy,
 * lambda and beta; differences are second minus first. */
#include <math.h>
#include <string.h>

#include "analysis/math/bootstrap.h"
#include "analysis/math/paired.h"
#include "analysis/measure/measure.h"
#include "analysis/view/asymmetry.h"
#include "analysis/view/scores.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "train/evaluate.h"

enum { BATCH_TOKENS = 8192, REPLICATES = 1000, N_MODELS = 2 };

typedef struct {
    const char *quantity;
    size_t layer, level, head;
    double value[N_MODELS], lo, hi, p;
    const char *status;
} row;

static const row blank = {.layer = HKT_TSV_NO_INDEX,
                          .level = HKT_TSV_NO_INDEX,
                          .head = HKT_TSV_NO_INDEX,
                          .value = {(double)NAN, (double)NAN},
                          .lo = (double)NAN,
                          .hi = (double)NAN,
                          .p = (double)NAN,
                          .status = "ok"};

static void write_row(hkt_tsv *out, const row *r)
{
    hkt_tsv_str(out, r->quantity);
    hkt_tsv_index(out, r->layer);
    hkt_tsv_index(out, r->level);
    hkt_tsv_index(out, r->head);
    hkt_tsv_real(out, r->value[0]);
    hkt_tsv_real(out, r->value[1]);
    hkt_tsv_real(out, r->value[1] - r->value[0]);
    hkt_tsv_real(out, r->lo);
    hkt_tsv_real(out, r->hi);
    hkt_tsv_real(out, r->p);
    hkt_tsv_str(out, r->status);
    hkt_tsv_end(out);
}

/* --- accuracy --- */

static hkt_status evaluate(const hkt_checkpoint *model, const hkt_dataset *data, double *accuracy,
                           unsigned char *correct)
{
    float *params;
    hkt_evaluation e;
    HKT_TRY(HKT_NEW(&params, model->layout->total));
    hkt_params_to_f32(model->layout, model->params, params);
    hkt_status status = hkt_evaluate(model->layout, params, data, BATCH_TOKENS, NULL, &e, NULL, correct);
    *accuracy = e.accuracy;
    hkt_free(params);
    return status;
}

static hkt_status compare_accuracy(const hkt_measure_context *ctx, hkt_tsv *out)
{
    hkt_dataset data = *ctx->data;
    unsigned char *correct;
    row r = blank;
    data.n = ctx->sequences;
    HKT_TRY(HKT_NEW(&correct, N_MODELS * data.n));
    hkt_status status = evaluate(ctx->model, &data, &r.value[0], correct);
    if (status == HKT_OK)
        status = evaluate(ctx->other, &data, &r.value[1], correct + data.n);
    if (status == HKT_OK) {
        hkt_paired d = hkt_paired_difference(data.n, correct, correct + data.n);
        r.quantity = "accuracy";
        r.lo = d.lo;
        r.hi = d.hi;
        r.p = d.p;
        write_row(out, &r);
    }
    hkt_free(correct);
    return status;
}

/* --- kappa --- */

typedef struct {
    const hkt_moments *unit[N_MODELS]; /* one per sequence */
} both;

static double kappa_difference(const void *data, const size_t *index, size_t n)
{
    const both *b = data;
    return hkt_pooled_kappa(b->unit[1], index, n) - hkt_pooled_kappa(b->unit[0], index, n);
}

/* The same resampled sequences for both models. */
static hkt_status compare_kappa(const hkt_score_moments m[N_MODELS], row *r, uint64_t seed)
{
    both b = {{hkt_score_moments_units(&m[0], r->layer, r->level, r->head),
               hkt_score_moments_units(&m[1], r->layer, r->level, r->head)}};
    r->quantity = "kappa";
    for (size_t k = 0; k < N_MODELS; k++) {
        hkt_moments all = hkt_score_moments_pool(&m[k], r->layer, r->level, r->head);
        r->value[k] = hkt_moments_kappa(&all);
    }
    if (isnan(r->value[0]) || isnan(r->value[1])) {
        r->status = "skipped: kappa is not defined";
        return HKT_OK;
    }
    hkt_status status = hkt_bootstrap(kappa_difference, &b, m->n_units, REPLICATES, 0.95, seed, &r->lo, &r->hi);
    if (status != HKT_OK)
        r->status = "warning: no interval";
    return status == HKT_ESYSTEM ? status : HKT_OK;
}

/* --- weights --- */

static hkt_status antisymmetric_energy(const hkt_checkpoint *m, const row *r, double *out)
{
    const hkt_config *c = &m->layout->config;
    hkt_energy e;
    HKT_TRY(hkt_energy_share(c->d_model, c->d_model / c->heads,
                             hkt_query_rows(m->layout, m->params, r->layer, r->level, r->head),
                             hkt_key_rows(m->layout, m->params, r->layer, r->level, r->head), &e));
    *out = e.share;
    return HKT_OK;
}

static void compare_lambda(const hkt_measure_context *ctx, hkt_tsv *out, size_t layer)
{
    double lambda[N_MODELS][HKT_MAX_LEVELS];
    hkt_level_weights(ctx->model->layout, ctx->model->params, layer, lambda[0]);
    hkt_level_weights(ctx->other->layout, ctx->other->params, layer, lambda[1]);
    for (size_t level = 0; level < ctx->model->layout->config.levels; level++) {
        row r = blank;
        r.quantity = "lambda";
        r.layer = layer;
        r.level = level;
        r.value[0] = lambda[0][level];
        r.value[1] = lambda[1][level];
        write_row(out, &r);
    }
}

static hkt_status compare_head(const hkt_measure_context *ctx, hkt_tsv *out, const hkt_score_moments *m, row place)
{
    const hkt_checkpoint *model[N_MODELS] = {ctx->model, ctx->other};
    row r = place;
    if (m) {
        HKT_TRY(compare_kappa(m, &r, ctx->seed));
        write_row(out, &r);
    }
    r = place;
    r.quantity = "antisymmetric";
    for (size_t k = 0; k < N_MODELS; k++)
        HKT_TRY(antisymmetric_energy(model[k], &place, &r.value[k]));
    write_row(out, &r);
    if (place.level >= hkt_value_levels(&ctx->model->layout->config) ||
        place.level >= hkt_value_levels(&ctx->other->layout->config))
        return HKT_OK;
    r = place;
    r.quantity = "beta";
    for (size_t k = 0; k < N_MODELS; k++)
        r.value[k] = hkt_attention_share(model[k]->layout, model[k]->params, r.layer, r.level, r.head);
    write_row(out, &r);
    return HKT_OK;
}

static hkt_status compare_places(const hkt_measure_context *ctx, hkt_tsv *out, const hkt_score_moments *m)
{
    const hkt_config *c = &ctx->model->layout->config;
    for (size_t layer = 0; layer < c->layers; layer++) {
        compare_lambda(ctx, out, layer);
        for (size_t i = 0; i < c->levels * c->heads; i++) {
            row place = blank;
            place.layer = layer;
            place.level = i / c->heads;
            place.head = i % c->heads;
            HKT_TRY(compare_head(ctx, out, m, place));
        }
    }
    return HKT_OK;
}

/* Whether the places (layer, level, head) of both are the same. */
static bool same_shape(const hkt_config *a, const hkt_config *b)
{
    return a->layers == b->layers && a->levels == b->levels && a->heads == b->heads;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    hkt_score_moments m[N_MODELS] = {{.n_units = 0}, {.n_units = 0}};
    if (ctx->data)
        HKT_TRY(compare_accuracy(ctx, out));
    if (!same_shape(&ctx->model->layout->config, &ctx->other->layout->config)) {
        row r = blank;
        r.quantity = "places";
        r.status = "skipped: layers, levels or heads of the two models differ";
        write_row(out, &r);
        return HKT_OK;
    }
    hkt_status status = HKT_OK;
    if (ctx->data) {
        status = hkt_score_moments_collect(&m[0], hkt_score_of_model(ctx->model, ctx->data), ctx->sequences);
        if (status == HKT_OK)
            status = hkt_score_moments_collect(&m[1], hkt_score_of_model(ctx->other, ctx->data), ctx->sequences);
    }
    if (status == HKT_OK)
        status = compare_places(ctx, out, ctx->data ? m : NULL);
    hkt_score_moments_free(&m[0]);
    hkt_score_moments_free(&m[1]);
    return status;
}

const hkt_measurement hkt_measure_compare = {
    .name = "compare",
    .help = "two models side by side: `compare A B`",
    .needs = HKT_NEEDS_MODEL | HKT_NEEDS_OTHER | HKT_USES_SEQUENCES,
    .columns = "quantity\tlayer\tlevel\thead\tfirst\tsecond\tdifference\tdifference_lo\tdifference_hi\tp\tstatus",
    .run = run,
};

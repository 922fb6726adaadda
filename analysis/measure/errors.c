/* The three errors with which a head's hierarchical score matrix approximates a given one (view/errors.h): S* is the
 * mean over the heads of a layer's full-resolution scores, of another model (a trained one of standard attention, say)
 * or, without one, of the model itself. */
#include <math.h>

#include "analysis/measure/measure.h"
#include "analysis/view/errors.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "base/progress.h"

enum { DEFAULT_TOKENS = 128, MAX_TOKENS = 512 };

typedef struct {
    const hkt_measure_context *ctx;
    hkt_tsv *out;
    size_t T;
    hkt_scene own, other; /* the same tokens; other: empty without a target */
    double *target;       /* [T, T] */
    double *score;        /* [L][T, T] */
    size_t done, total;   /* heads */
    double start;
} errors;

/* One number relative to ||S*||. */
static void write_row(const errors *e, size_t layer, size_t head, const hkt_three_errors *r, const char *status)
{
    const double v[] = {r->total, r->hierarchical, r->downsampling, r->optimisation, r->given_inputs, r->lower};
    hkt_tsv_str(e->out, e->ctx->other ? "model" : "own");
    hkt_tsv_size(e->out, layer);
    hkt_tsv_size(e->out, head);
    hkt_tsv_size(e->out, e->T);
    hkt_tsv_real(e->out, r->size);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        hkt_tsv_real(e->out, v[i] / r->size);
    hkt_tsv_str(e->out, status);
    hkt_tsv_end(e->out);
}

static hkt_status measure_head(errors *e, size_t layer, size_t head)
{
    const hkt_config *c = &e->ctx->model->layout->config;
    const hkt_search search = {.sweeps = 30, .tolerance = 1e-6, .seed = e->ctx->seed};
    hkt_approximation a = {.T = e->T,
                           .d = c->d_model,
                           .p = c->d_model / c->heads,
                           .L = c->levels,
                           .stride = c->stride,
                           .target = e->target};
    const hkt_tap_f64 *tap = e->own.tap + layer;
    hkt_three_errors r;
    hkt_scene_mean_score(e->ctx->other ? &e->other : &e->own, layer, e->score, e->target);
    for (size_t level = 0; level < c->levels; level++) {
        double *score = e->score + level * e->T * e->T;
        hkt_score_dense(tap, level, head, a.p, score);
        a.score[level] = score;
        a.x[level] = tap->x[level];
        a.weight[level] = tap->lambda[level];
    }
    hkt_progress_part(e->start, e->done, e->total, "errors: head %zu of %zu", e->done + 1, e->total);
    e->done++;
    HKT_TRY(hkt_three_errors_measure(&a, &search, &r));
    write_row(e, layer, head, &r, "ok");
    return HKT_OK;
}

static hkt_status see(hkt_scene *s, const hkt_checkpoint *model, const errors *e)
{
    HKT_TRY(hkt_scene_open(s, model->layout, model->params, e->T));
    return hkt_scene_see(s, e->T, e->ctx->data->tokens);
}

static hkt_status measure(errors *e)
{
    const hkt_measure_context *ctx = e->ctx;
    const hkt_config *c = &ctx->model->layout->config;
    HKT_TRY(HKT_NEW(&e->target, e->T * e->T));
    HKT_TRY(HKT_NEW(&e->score, c->levels * e->T * e->T));
    HKT_TRY(see(&e->own, ctx->model, e));
    if (ctx->other)
        HKT_TRY(see(&e->other, ctx->other, e));
    for (size_t i = 0; i < c->layers * c->heads; i++)
        e->total += hkt_measure_wanted(ctx->layer, i / c->heads) && hkt_measure_wanted(ctx->head, i % c->heads);
    e->start = hkt_now();
    for (size_t i = 0; i < c->layers * c->heads; i++)
        if (hkt_measure_wanted(ctx->layer, i / c->heads) && hkt_measure_wanted(ctx->head, i % c->heads))
            HKT_TRY(measure_head(e, i / c->heads, i % c->heads));
    return HKT_OK;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    const hkt_config *c = &ctx->model->layout->config, *o = ctx->other ? &ctx->other->layout->config : c;
    errors e = {.ctx = ctx, .out = out, .T = ctx->tokens > 0 ? ctx->tokens : DEFAULT_TOKENS};
    if (e.T > MAX_TOKENS)
        return hkt_fail(HKT_EUSAGE, "option '--tokens': expected at most %d for 'errors', found %zu", MAX_TOKENS, e.T);
    if (o->layers != c->layers)
        return hkt_fail(HKT_EINPUT, "expected a target of %zu layers, found %zu", c->layers, o->layers);
    e.T = e.T < ctx->data->offset[1] ? e.T : ctx->data->offset[1];
    hkt_status status = measure(&e);
    hkt_progress_clear();
    hkt_scene_close(&e.own);
    hkt_scene_close(&e.other);
    hkt_free(e.target);
    hkt_free(e.score);
    return status;
}

const hkt_measurement hkt_measure_errors = {
    .name = "errors",
    .help = "hierarchical, downsampling and optimisation error of a score matrix",
    .needs = HKT_NEEDS_MODEL | HKT_NEEDS_DATA | HKT_USES_TOKENS,
    .columns = "target\tlayer\thead\ttokens\tsize\ttotal\thierarchical\tdownsampling\toptimisation\tgiven_"
               "inputs\tlower\tstatus",
    .options = "target",
    .run = run,
};

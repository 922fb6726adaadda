/* What the accuracy owes to each part: evaluated with a level, or the attention or convolution of a level or a head,
 * counted as zero, against the whole model on the same sequences. */
#include <math.h>
#include <string.h>

#include "analysis/math/paired.h"
#include "analysis/measure/measure.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "base/progress.h"
#include "train/evaluate.h"

enum { BATCH_TOKENS = 8192 };

typedef enum { NOTHING = 0, ATTENTION = 1, CONVOLUTION = 2, BOTH = 3 } part;
static const char *const part_name[] = {"none", "attention", "convolution", "level"};

typedef struct {
    const hkt_layout *layout;
    const double *params;
    const hkt_measure_context *ctx;
    hkt_dataset data;            /* the first sequences */
    float *whole, *changed;      /* [layout->total] */
    unsigned char *right, *left; /* [data.n] right or wrong: the whole model, what is left of it */
    hkt_tsv *out;
    size_t done, total; /* evaluations */
    double start;
} ablation;

static void write_row(ablation *a, part off, size_t layer, size_t level, size_t head, const hkt_evaluation *e,
                      const char *status)
{
    const size_t place[3] = {layer, level, head};
    hkt_paired change = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    double lo = (double)NAN, hi = (double)NAN;
    if (e) {
        change = hkt_paired_difference(a->data.n, a->right, a->left);
        hkt_wilson(e->correct, e->n, &lo, &hi);
    }
    hkt_tsv_str(a->out, part_name[off]);
    for (size_t k = 0; k < 3; k++)
        hkt_tsv_index(a->out, place[k]);
    hkt_tsv_size(a->out, a->data.n);
    hkt_tsv_real(a->out, e ? e->accuracy : (double)NAN);
    hkt_tsv_real(a->out, lo);
    hkt_tsv_real(a->out, hi);
    hkt_tsv_real(a->out, e ? e->loss : (double)NAN);
    hkt_tsv_real(a->out, change.value);
    hkt_tsv_real(a->out, change.lo);
    hkt_tsv_real(a->out, change.hi);
    hkt_tsv_real(a->out, change.p);
    hkt_tsv_str(a->out, status);
    hkt_tsv_end(a->out);
}

static hkt_status evaluate(ablation *a, const float *params, const hkt_intervention *iv, hkt_evaluation *e,
                           unsigned char *correct)
{
    hkt_progress_within("ablate");
    hkt_progress_part(a->start, a->done, a->total, "part %zu of %zu", a->done + 1, a->total);
    a->done++;
    hkt_progress_within("ablate, part %zu of %zu", a->done, a->total);
    return hkt_evaluate(a->layout, params, &a->data, BATCH_TOKENS, iv, e, NULL, correct);
}

/* The same parts of a level in every layer and head. */
static hkt_status ablate_level(ablation *a, part off, size_t level)
{
    hkt_intervention iv = {.seed = 0};
    hkt_evaluation e;
    if (level >= hkt_value_levels(&a->layout->config)) {
        write_row(a, off, HKT_TSV_NO_INDEX, level, HKT_TSV_NO_INDEX, NULL,
                  "skipped: with score fusion only level 0 has attention and convolution of its own");
        return HKT_OK;
    }
    iv.no_attention[level] = off & ATTENTION;
    iv.no_conv[level] = off & CONVOLUTION;
    HKT_TRY(evaluate(a, a->whole, &iv, &e, a->left));
    write_row(a, off, HKT_TSV_NO_INDEX, level, HKT_TSV_NO_INDEX, &e, "ok");
    return HKT_OK;
}

/* Columns of one head in [rows, d] times `factor`. */
static void scale_columns(float *w, size_t rows, size_t d, size_t first, size_t n, double factor)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < n; i++)
            w[r * d + first + i] = (float)(factor * (double)w[r * d + first + i]);
}

/* Y = beta A V + (1 - beta) conv(V) without one of its terms, by other weights: the convolution is linear in its
 * weights, so beta = 0 and weights (1 - beta) conv leave the second term as it was. */
static void change_head(ablation *a, part off, size_t layer, size_t head)
{
    const hkt_config *c = &a->layout->config;
    const size_t d = c->d_model, p = d / c->heads;
    memcpy(a->changed, a->whole, a->layout->total * sizeof *a->changed);
    for (size_t level = 0; level < hkt_value_levels(c); level++) {
        const hkt_level_offsets *o = &a->layout->layer[layer].level[level];
        if (!c->hybrid) {
            scale_columns(a->changed + o->v + head * p * d, p, d, 0, d, 0);
        } else if (off == CONVOLUTION) {
            scale_columns(a->changed + o->conv, c->conv_width, d, head * p, p, 0);
        } else {
            double beta = hkt_attention_share(a->layout, a->params, layer, level, head);
            scale_columns(a->changed + o->conv, c->conv_width, d, head * p, p, 1 - beta);
            a->changed[a->layout->layer[layer].beta + level * c->heads + head] = -1e4f; /* its sigmoid is 0 */
        }
    }
}

/* The same part of a head on every level. */
static hkt_status ablate_head(ablation *a, part off, size_t layer, size_t head)
{
    hkt_evaluation e;
    change_head(a, off, layer, head);
    HKT_TRY(evaluate(a, a->changed, NULL, &e, a->left));
    write_row(a, off, layer, HKT_TSV_NO_INDEX, head, &e, "ok");
    return HKT_OK;
}

static bool is_wanted(const ablation *a, size_t layer, size_t level, size_t head)
{
    const hkt_measure_context *ctx = a->ctx;
    return hkt_measure_wanted(ctx->layer, layer) && hkt_measure_wanted(ctx->level, level) &&
           hkt_measure_wanted(ctx->head, head);
}

/* The last part that is taken away alone. */
static part last_part(const hkt_config *c)
{
    return c->hybrid ? CONVOLUTION : ATTENTION;
}

static size_t count_evaluations(const ablation *a)
{
    const hkt_config *c = &a->layout->config;
    size_t n = 1;
    for (size_t level = 0; level < hkt_value_levels(c); level++)
        n += is_wanted(a, HKT_TSV_NO_INDEX, level, HKT_TSV_NO_INDEX) ? 1 + (size_t)last_part(c) : 0;
    for (size_t i = 0; i < c->layers * c->heads; i++)
        n += is_wanted(a, i / c->heads, HKT_TSV_NO_INDEX, i % c->heads) ? (size_t)last_part(c) : 0;
    return n;
}

static hkt_status ablate(ablation *a)
{
    const hkt_config *c = &a->layout->config;
    const part last = last_part(c);
    hkt_evaluation e;
    a->total = count_evaluations(a);
    a->start = hkt_now();
    HKT_TRY(evaluate(a, a->whole, NULL, &e, a->right));
    memcpy(a->left, a->right, a->data.n);
    write_row(a, NOTHING, HKT_TSV_NO_INDEX, HKT_TSV_NO_INDEX, HKT_TSV_NO_INDEX, &e, "ok");
    for (size_t level = 0; level < c->levels; level++) {
        if (!is_wanted(a, HKT_TSV_NO_INDEX, level, HKT_TSV_NO_INDEX))
            continue;
        HKT_TRY(ablate_level(a, BOTH, level));
        for (part off = ATTENTION; off <= last; off++)
            HKT_TRY(ablate_level(a, off, level));
    }
    for (size_t i = 0; i < c->layers * c->heads; i++)
        for (part off = ATTENTION; off <= last && is_wanted(a, i / c->heads, HKT_TSV_NO_INDEX, i % c->heads); off++)
            HKT_TRY(ablate_head(a, off, i / c->heads, i % c->heads));
    return HKT_OK;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    ablation a = {
        .layout = ctx->model->layout, .params = ctx->model->params, .ctx = ctx, .data = *ctx->data, .out = out};
    hkt_status status;
    a.data.n = ctx->sequences;
    HKT_TRY_GOTO(status, done, HKT_NEW(&a.whole, a.layout->total));
    HKT_TRY_GOTO(status, done, HKT_NEW(&a.changed, a.layout->total));
    HKT_TRY_GOTO(status, done, HKT_NEW(&a.right, a.data.n));
    HKT_TRY_GOTO(status, done, HKT_NEW(&a.left, a.data.n));
    hkt_params_to_f32(a.layout, a.params, a.whole);
    status = ablate(&a);
    hkt_progress_within("%s", "");
    hkt_progress_clear();
done:
    hkt_free(a.whole);
    hkt_free(a.changed);
    hkt_free(a.right);
    hkt_free(a.left);
    return status;
}

const hkt_measurement hkt_measure_ablate = {
    .name = "ablate",
    .help = "accuracy with a level, or the attention or convolution of a level or head, counted as zero",
    .needs = HKT_NEEDS_MODEL | HKT_NEEDS_DATA | HKT_USES_SEQUENCES,
    .columns = "part\tlayer\tlevel\thead\tsequences\taccuracy\taccuracy_lo\taccuracy_hi\tloss\tchange\tchange_"
               "lo\tchange_hi\tp\tstatus",
    .run = run,
};

/* Eigenvalues of the symmetric part of the scores for one sequence: of every level's Gram matrix U_l X M_s X' U_l' (at
 * the T tokens of level 0, without its weight), of the hierarchical sum of them weighted by lambda, and of the forms
 * M_s. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/math/linalg.h"
#include "analysis/measure/measure.h"
#include "analysis/view/gram.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "base/rng.h"

enum { DEFAULT_TOKENS = 512 };

typedef struct {
    const hkt_measure_context *ctx;
    size_t T;
    double *ms;                                            /* [L][d, d] forms of the head being looked at */
    const double *wq[HKT_MAX_LEVELS], *wk[HKT_MAX_LEVELS]; /* its rows [p, d] */
    double size[HKT_MAX_LEVELS];                           /* |Wq|_F |Wk|_F / sqrt(p) */
    double *scaled[HKT_MAX_LEVELS]; /* [T_l, d] rows of X^(l) times sqrt(tokens of level 0 that they stand for) */
    double *w;                      /* eigenvalues */
    hkt_scene scene;
    hkt_tsv *out;
    struct summary *summary; /* [n_summaries] to be filled instead of rows; NULL: rows */
    size_t n_summaries;
} spectrum;

/* Signs of the eigenvalues of one matrix, and how they were decided. */
typedef struct {
    hkt_inertia inertia;
    const char *by; /* "rank": exactly, from a proved rank; "tolerance": from the computed eigenvalues */
} signs;

/* Signs and sizes of the eigenvalues of one matrix. */
typedef struct summary {
    const char *kind;
    size_t layer, level, head, n; /* level: HKT_TSV_NO_INDEX is the sum */
    signs signs;
    double negative_mass, stable_rank; /* sum of |lambda| over negative ones / over all; hkt_stable_rank */
} summary;

static summary summarise(const char *kind, size_t layer, size_t level, size_t head, size_t n, const double *w, signs of)
{
    summary s = {.kind = kind, .layer = layer, .level = level, .head = head, .n = n, .signs = of};
    s.negative_mass = hkt_negative_mass(n, w);
    s.stable_rank = hkt_stable_rank(n, w);
    return s;
}

/* One token of level l stands for at most s^l tokens of level 0 (the last for what is left of T). U_l' U_l is the
 * diagonal of these numbers n_j, so U_l G U_l' has the non-zero eigenvalues of diag(sqrt n) G diag(sqrt n). */
static void scale_rows(spectrum *s, const hkt_tap_f64 *tap)
{
    const hkt_config *c = &s->scene.layout->config;
    size_t step = 1;
    for (size_t level = 0; level < c->levels; level++, step *= c->stride) {
        size_t rows = hkt_level_length(s->T, c->stride, level);
        for (size_t j = 0; j < rows; j++) {
            size_t tokens = s->T - j * step < step ? s->T - j * step : step;
            double weight = sqrt((double)tokens);
            for (size_t i = 0; i < c->d_model; i++)
                s->scaled[level][j * c->d_model + i] = weight * tap->x[level][j * c->d_model + i];
        }
    }
}

/* rank: 1 is the largest in magnitude of its sign. */
static void write_rows(spectrum *s, const char *kind, size_t layer, size_t level, size_t head, size_t n, signs of)
{
    if (s->summary) {
        s->summary[s->n_summaries++] = summarise(kind, layer, level, head, n, s->w, of);
        return;
    }
    hkt_inertia inertia = of.inertia;
    for (size_t i = 0; i < n; i++) {
        bool negative = i < inertia.negative, positive = i >= n - inertia.positive;
        hkt_tsv_str(s->out, kind);
        hkt_tsv_size(s->out, layer);
        hkt_tsv_index(s->out, level);
        hkt_tsv_size(s->out, head);
        hkt_tsv_size(s->out, i);
        hkt_tsv_size(s->out, positive ? n - i : negative ? i + 1 : i + 1 - inertia.negative);
        hkt_tsv_real(s->out, s->w[i]);
        hkt_tsv_str(s->out, negative ? "negative" : positive ? "positive" : "zero");
        hkt_tsv_str(s->out, of.by);
        hkt_tsv_str(s->out, "ok");
        hkt_tsv_end(s->out);
    }
}

/* The forms that the ranks decide have `full` eigenvalues other than 0, half of them negative, when rank = full. */
static signs decide(size_t n, const double *w, size_t rank, size_t full, double tolerance)
{
    if (full > 0 && rank == full)
        return (signs){{full / 2, full / 2, n - full}, "rank"};
    return (signs){hkt_inertia_of(n, w, tolerance), "tolerance"};
}

/* first: the level of the head whose weights level 0 of g has. */
static hkt_status write_gram(spectrum *s, size_t layer, size_t level, size_t head, const hkt_gram *g, size_t first)
{
    size_t n = g->L * g->d < g->T ? g->L * g->d : g->T, rank, full;
    HKT_TRY(hkt_gram_eigenvalues(g, s->w));
    HKT_TRY(
        hkt_gram_form_rank(g, g->d / s->scene.layout->config.heads, s->wq + first, s->wk + first, g->T, &rank, &full));
    double tolerance = hkt_gram_tolerance(g, s->size + first, (double)NAN);
    write_rows(s, "gram", layer, level, head, n, decide(n, s->w, rank, full, tolerance));
    return HKT_OK;
}

static hkt_status write_form(spectrum *s, size_t layer, size_t level, size_t head)
{
    size_t d = s->scene.layout->config.d_model, p = d / s->scene.layout->config.heads, rank;
    const double *wq = s->wq[level], *wk = s->wk[level];
    double *ms = s->ms + level * d * d, tolerance = hkt_form_tolerance(d, p, wq, wk);
    hkt_score_form_sym(d, p, wq, wk, ms);
    HKT_TRY(hkt_eigenvalues(d, ms, s->w));
    HKT_TRY(hkt_form_rank(d, p, wq, wk, &rank));
    s->size[level] = tolerance / ((double)(d + p) * DBL_EPSILON);
    write_rows(s, "form", layer, level, head, d, decide(d, s->w, rank, 2 * p, tolerance));
    return HKT_OK;
}

static hkt_status write_head(spectrum *s, size_t layer, size_t head)
{
    const hkt_layout *layout = s->scene.layout;
    const double *params = s->scene.params;
    const hkt_config *c = &layout->config;
    const hkt_tap_f64 *tap = s->scene.tap + layer;
    size_t d = c->d_model;
    hkt_gram sum = {.T = s->T, .d = d, .L = c->levels, .stride = c->stride};
    for (size_t level = 0; level < c->levels; level++) {
        double *ms = s->ms + level * d * d;
        s->wq[level] = hkt_query_rows(layout, params, layer, level, head);
        s->wk[level] = hkt_key_rows(layout, params, layer, level, head);
        HKT_TRY(write_form(s, layer, level, head));
        hkt_gram one = {.T = hkt_level_length(s->T, c->stride, level),
                        .d = d,
                        .L = 1,
                        .stride = c->stride,
                        .x = {s->scaled[level]},
                        .ms = {ms},
                        .lambda = {1}};
        HKT_TRY(write_gram(s, layer, level, head, &one, level));
        sum.x[level] = tap->x[level];
        sum.ms[level] = ms;
        sum.lambda[level] = tap->lambda[level];
    }
    return write_gram(s, layer, HKT_TSV_NO_INDEX, head, &sum, 0);
}

static hkt_status allocate(spectrum *s)
{
    const hkt_config *c = &s->scene.layout->config;
    HKT_TRY(HKT_NEW(&s->ms, c->levels * c->d_model * c->d_model));
    HKT_TRY(HKT_NEW(&s->w, c->levels * c->d_model));
    for (size_t level = 0; level < c->levels; level++)
        HKT_TRY(HKT_NEW(&s->scaled[level], hkt_level_length(s->T, c->stride, level) * c->d_model));
    return HKT_OK;
}

static hkt_status walk_layers(spectrum *s, const int32_t *tokens)
{
    const hkt_config *c = &s->scene.layout->config;
    HKT_TRY(allocate(s));
    HKT_TRY(hkt_scene_see(&s->scene, s->T, tokens));
    for (size_t layer = 0; layer < c->layers; layer++) {
        scale_rows(s, s->scene.tap + layer);
        for (size_t head = 0; head < c->heads; head++)
            if (hkt_measure_wanted(s->ctx->layer, layer) && hkt_measure_wanted(s->ctx->head, head))
                HKT_TRY(write_head(s, layer, head));
    }
    return HKT_OK;
}

/* Rows, or, when there is room for one per layer, head, and form or Gram matrix, *n summaries. */
static hkt_status run_on(const hkt_measure_context *ctx, const double *params, size_t T, const int32_t *tokens,
                         hkt_tsv *out, summary *summaries, size_t *n)
{
    spectrum s = {.ctx = ctx, .T = T, .out = out, .summary = summaries};
    hkt_status status = hkt_scene_open(&s.scene, ctx->model->layout, params, T);
    if (status == HKT_OK)
        status = walk_layers(&s, tokens);
    for (size_t level = 0; level < HKT_MAX_LEVELS; level++)
        hkt_free(s.scaled[level]);
    hkt_free(s.ms);
    hkt_free(s.w);
    hkt_scene_close(&s.scene);
    *n = s.n_summaries;
    return status;
}

typedef hkt_status run_tokens(const hkt_measure_context *ctx, size_t T, const int32_t *tokens, hkt_tsv *out);

/* The first sequence of the data, or ctx->tokens random tokens. */
static hkt_status with_tokens(const hkt_measure_context *ctx, run_tokens *run, hkt_tsv *out)
{
    const hkt_config *c = &ctx->model->layout->config;
    if (ctx->data)
        return run(ctx, ctx->data->offset[1], ctx->data->tokens, out);
    size_t T;
    HKT_TRY(hkt_measure_tokens(ctx, DEFAULT_TOKENS, &T));
    int32_t *tokens = NULL;
    HKT_TRY(HKT_NEW(&tokens, T));
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 0);
    for (size_t i = 0; i < T; i++)
        tokens[i] = (int32_t)hkt_rng_below(&rng, c->vocab);
    hkt_status status = run(ctx, T, tokens, out);
    hkt_free(tokens);
    return status;
}

static hkt_status write_spectrum(const hkt_measure_context *ctx, size_t T, const int32_t *tokens, hkt_tsv *out)
{
    size_t none;
    return run_on(ctx, ctx->model->params, T, tokens, out, NULL, &none);
}

static hkt_status run_spectrum(const hkt_measure_context *ctx, hkt_tsv *out)
{
    return with_tokens(ctx, write_spectrum, out);
}

const hkt_measurement hkt_measure_spectrum = {
    .name = "spectrum",
    .help = "eigenvalues of the Gram matrices of one sequence and of the forms M_s",
    .needs = HKT_NEEDS_MODEL | HKT_USES_TOKENS | HKT_USES_FIRST,
    .columns = "kind\tlayer\tlevel\thead\tindex\trank\teigenvalue\tsign\tdecided_by\tstatus",
    .run = run_spectrum,
};

/* --- inertia: the same in short, beside a model of this shape with fresh weights --- */

static void write_summary(hkt_tsv *out, const summary *s, const summary *fresh)
{
    hkt_tsv_str(out, s->kind);
    hkt_tsv_size(out, s->layer);
    hkt_tsv_index(out, s->level);
    hkt_tsv_size(out, s->head);
    hkt_tsv_size(out, s->n);
    hkt_tsv_size(out, s->signs.inertia.positive);
    hkt_tsv_size(out, s->signs.inertia.negative);
    hkt_tsv_size(out, s->signs.inertia.zero);
    hkt_tsv_str(out, s->signs.by);
    hkt_tsv_real(out, s->negative_mass);
    hkt_tsv_real(out, s->stable_rank);
    hkt_tsv_real(out, fresh->negative_mass);
    hkt_tsv_real(out, fresh->stable_rank);
    hkt_tsv_str(out, isnan(s->negative_mass) ? "skipped: all eigenvalues are zero" : "ok");
    hkt_tsv_end(out);
}

static hkt_status write_inertia(const hkt_measure_context *ctx, size_t T, const int32_t *tokens, hkt_tsv *out)
{
    const hkt_layout *layout = ctx->model->layout;
    const hkt_config *c = &layout->config;
    size_t n = c->layers * c->heads * (2 * c->levels + 1), wanted;
    summary *s = NULL;
    double *fresh = NULL;
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&s, 2 * n));
    HKT_TRY_GOTO(status, done, HKT_NEW(&fresh, layout->total));
    hkt_init_params(layout, ctx->seed, fresh);
    HKT_TRY_GOTO(status, done, run_on(ctx, ctx->model->params, T, tokens, NULL, s, &wanted));
    HKT_TRY_GOTO(status, done, run_on(ctx, fresh, T, tokens, NULL, s + n, &wanted));
    for (size_t i = 0; i < wanted; i++)
        write_summary(out, &s[i], &s[n + i]);
done:
    hkt_free(s);
    hkt_free(fresh);
    return status;
}

static hkt_status run_inertia(const hkt_measure_context *ctx, hkt_tsv *out)
{
    return with_tokens(ctx, write_inertia, out);
}

const hkt_measurement hkt_measure_inertia = {
    .name = "inertia",
    .help = "signs, negative mass and stable rank of the same, beside fresh random weights",
    .needs = HKT_NEEDS_MODEL | HKT_USES_TOKENS | HKT_USES_FIRST,
    .columns =
        "kind\tlayer\tlevel\thead\tn\tpositive\tnegative\tzero\tdecided_by\tnegative_mass\tstable_rank\tnegative_mass_"
        "random\tstable_rank_random\tstatus",
    .run = run_inertia,
};

/* The score matrices of one sequence as they are: per layer, head and level at the level's own resolution, and their
 * hierarchical sum over the levels, S^H = sum_l lambda_l U_l S^(l) U_l'. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measure/measure.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "base/npy.h"

enum { DEFAULT_TOKENS = 64, MAX_TOKENS = 4096 };

typedef struct {
    const hkt_measure_context *ctx;
    hkt_tsv *out;
    const hkt_config *config;
    hkt_scene scene;
    size_t T;
    double *level, *sum; /* [T, T] room of one level; the sum */
} scores;

/* level: HKT_TSV_NO_INDEX is the sum. n rows and columns, each of which stands for `factor` tokens. */
static hkt_status write_matrix(const scores *s, size_t layer, size_t head, size_t level, size_t n, size_t factor,
                               double lambda, const double *score)
{
    const hkt_measure_context *ctx = s->ctx;
    for (size_t e = 0; e < n * n; e++) {
        hkt_tsv_size(s->out, layer);
        hkt_tsv_index(s->out, level);
        hkt_tsv_size(s->out, head);
        hkt_tsv_size(s->out, e / n);
        hkt_tsv_size(s->out, e % n);
        hkt_tsv_size(s->out, factor);
        hkt_tsv_real(s->out, lambda);
        hkt_tsv_real(s->out, score[e]);
        hkt_tsv_str(s->out, s->config->causal && e % n > e / n ? "masked" : "used");
        hkt_tsv_str(s->out, isfinite(score[e]) ? "ok" : "warning: not finite");
        hkt_tsv_end(s->out);
    }
    if (ctx->npy && hkt_measure_wanted(ctx->layer, layer) && hkt_measure_wanted(ctx->head, head) &&
        hkt_measure_wanted(ctx->level, level))
        return hkt_npy_write(ctx->npy, HKT_F64, 2, (size_t[]){n, n}, score);
    return HKT_OK;
}

static hkt_status write_head(scores *s, size_t layer, size_t head)
{
    const hkt_config *c = s->config;
    const hkt_tap_f64 *tap = s->scene.tap + layer;
    memset(s->sum, 0, s->T * s->T * sizeof *s->sum);
    for (size_t level = 0; level < c->levels; level++) {
        size_t n = tap->offset[level][1], factor = hkt_level_factor(c->stride, level);
        hkt_score_dense(tap, level, head, c->d_model / c->heads, s->level);
        hkt_score_upsample(s->T, factor, tap->lambda[level], s->level, s->sum);
        HKT_TRY(write_matrix(s, layer, head, level, n, factor, tap->lambda[level], s->level));
    }
    return write_matrix(s, layer, head, HKT_TSV_NO_INDEX, s->T, 1, 1, s->sum);
}

static hkt_status walk(scores *s)
{
    const hkt_measure_context *ctx = s->ctx;
    HKT_TRY(HKT_NEW(&s->level, s->T * s->T));
    HKT_TRY(HKT_NEW(&s->sum, s->T * s->T));
    HKT_TRY(hkt_scene_open(&s->scene, ctx->model->layout, ctx->model->params, s->T));
    HKT_TRY(hkt_scene_see(&s->scene, s->T, ctx->data->tokens));
    for (size_t layer = 0; layer < s->config->layers; layer++)
        for (size_t head = 0; head < s->config->heads; head++)
            if (hkt_measure_wanted(ctx->layer, layer) && hkt_measure_wanted(ctx->head, head))
                HKT_TRY(write_head(s, layer, head));
    return HKT_OK;
}

/* The first `tokens` tokens of the first sequence. */
static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    scores s = {.ctx = ctx, .out = out, .config = &ctx->model->layout->config, .T = ctx->data->offset[1]};
    size_t most = ctx->tokens > 0 ? ctx->tokens : DEFAULT_TOKENS;
    if (ctx->npy && !(ctx->layer && ctx->level && ctx->head))
        return hkt_fail(HKT_EUSAGE, "option '--npy' needs '--layer', '--level' and '--head'");
    if (most > MAX_TOKENS)
        return hkt_fail(HKT_EUSAGE, "option '--tokens': expected at most %d for whole score matrices, found %zu",
                        MAX_TOKENS, most);
    s.T = s.T < most ? s.T : most;
    hkt_status status = walk(&s);
    hkt_free(s.level);
    hkt_free(s.sum);
    hkt_scene_close(&s.scene);
    return status;
}

const hkt_measurement hkt_measure_scores = {
    .name = "scores",
    .help = "score matrices of one sequence per level, and their hierarchical sum",
    .needs = HKT_NEEDS_MODEL | HKT_NEEDS_DATA | HKT_USES_TOKENS,
    .columns = "layer\tlevel\thead\ti\tj\tfactor\tlambda\tscore\tmask\tstatus",
    .options = "npy",
    .run = run,
};

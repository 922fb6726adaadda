/* What the model has learned to weigh: lambda per level, alpha per level over the data set, beta per level and head. */
#include <math.h>
#include <string.h>

#include "analysis/math/moments.h"
#include "analysis/measure/measure.h"
#include "analysis/view/scene.h"
#include "base/mem.h"

static void write_row(hkt_tsv *out, const char *quantity, const size_t place[3], const hkt_moments *m,
                      const char *status)
{
    hkt_tsv_str(out, quantity);
    for (size_t k = 0; k < 3; k++)
        hkt_tsv_index(out, place[k]);
    hkt_tsv_real(out, m->n > 0 ? m->mean : (double)NAN);
    hkt_tsv_real(out, m->n > 0 ? sqrt(hkt_moments_variance(m)) : (double)NAN);
    hkt_tsv_real(out, m->n > 0 ? m->lo : (double)NAN);
    hkt_tsv_real(out, m->n > 0 ? m->hi : (double)NAN);
    hkt_tsv_size(out, (size_t)m->n);
    hkt_tsv_str(out, status);
    hkt_tsv_end(out);
}

static void write_value(hkt_tsv *out, const char *quantity, size_t layer, size_t level, size_t head, double v)
{
    hkt_moments one;
    hkt_moments_clear(&one);
    hkt_moments_add(&one, v);
    write_row(out, quantity, (size_t[]){layer, level, head}, &one, "ok");
}

static void write_weights(const hkt_layout *layout, const double *params, hkt_tsv *out)
{
    const hkt_config *c = &layout->config;
    double lambda[HKT_MAX_LEVELS];
    for (size_t layer = 0; layer < c->layers; layer++) {
        hkt_level_weights(layout, params, layer, lambda);
        for (size_t level = 0; level < c->levels; level++)
            write_value(out, "lambda", layer, level, HKT_TSV_NO_INDEX, lambda[level]);
        for (size_t i = 0; c->hybrid && i < hkt_value_levels(c) * c->heads; i++)
            write_value(out, "beta", layer, i / c->heads, i % c->heads,
                        hkt_attention_share(layout, params, layer, i / c->heads, i % c->heads));
    }
}

/* self: hkt_moments [layers][levels], of alpha over the sequences. */
static hkt_status add_alpha(void *self, const hkt_scene *s)
{
    const hkt_config *c = &s->layout->config;
    hkt_moments *m = self;
    for (size_t i = 0; i < c->layers * c->levels; i++)
        hkt_moments_add(m + i, s->tap[i / c->levels].alpha[i % c->levels]);
    return HKT_OK;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    const hkt_config *c = &ctx->model->layout->config;
    size_t n = c->layers * c->levels;
    hkt_moments *alpha;
    const char *problem = !hkt_fusion_of(c)->gated ? "skipped: alpha is lambda, the fusion is not dynamic"
                          : c->levels == 1         ? "skipped: one level"
                          : !ctx->data             ? "skipped: alpha depends on the data, and there are none"
                                                   : NULL;
    HKT_TRY(HKT_NEW(&alpha, n));
    for (size_t i = 0; i < n; i++)
        hkt_moments_clear(&alpha[i]);
    hkt_scene scene = {0};
    hkt_status status = HKT_OK;
    if (!problem)
        status = hkt_scene_sequences(&scene, ctx->model->layout, ctx->model->params, ctx->data, ctx->sequences, "alpha",
                                     add_alpha, alpha);
    if (status == HKT_OK)
        write_weights(ctx->model->layout, ctx->model->params, out);
    for (size_t i = 0; i < n && status == HKT_OK; i++)
        write_row(out, "alpha", (size_t[]){i / c->levels, i % c->levels, HKT_TSV_NO_INDEX}, &alpha[i],
                  problem ? problem : "ok");
    hkt_scene_close(&scene);
    hkt_free(alpha);
    return status;
}

const hkt_measurement hkt_measure_gates = {
    .name = "gates",
    .help = "weights of the levels (lambda, alpha over the data) and of attention against convolution (beta)",
    .needs = HKT_NEEDS_MODEL | HKT_USES_SEQUENCES,
    .columns = "quantity\tlayer\tlevel\thead\tvalue\tsd\tlo\thi\tn\tstatus",
    .run = run,
};

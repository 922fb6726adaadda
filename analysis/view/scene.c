#include "analysis/view/scene.h"

#include <math.h>
#include <string.h>

#include "analysis/math/linalg.h"
#include "base/mem.h"
#include "base/progress.h"
#include "num/kernels.h"

hkt_status hkt_scene_open(hkt_scene *out, const hkt_layout *layout, const double *params, size_t max_tokens)
{
    const size_t d = layout->config.d_model;
    *out = (hkt_scene){.layout = layout, .params = params, .d = d, .p = d / layout->config.heads};
    HKT_TRY(HKT_NEW(&out->tap, layout->config.layers));
    return hkt_net_create_f64(&out->net, layout, max_tokens, 1, false, true);
}

void hkt_scene_close(hkt_scene *s)
{
    hkt_net_destroy_f64(s->net);
    hkt_free(s->tap);
    *s = (hkt_scene){0};
}

hkt_status hkt_scene_see(hkt_scene *s, size_t T, const int32_t *tokens)
{
    const hkt_batch batch = {.n_seq = 1, .length = &T, .tokens = tokens};
    s->T = T;
    HKT_TRY(hkt_net_forward_f64(s->net, s->params, &batch, NULL, NULL, NULL, NULL));
    for (size_t layer = 0; layer < s->layout->config.layers; layer++)
        HKT_TRY(hkt_net_tap_f64(s->net, layer, s->tap + layer));
    return HKT_OK;
}

hkt_status hkt_scene_sequences(hkt_scene *out, const hkt_layout *layout, const double *params, const hkt_dataset *data,
                               size_t n, const char *what, hkt_scene_visit visit, void *self)
{
    size_t longest = 1;
    for (size_t i = 0; i < n; i++) {
        size_t T = data->offset[i + 1] - data->offset[i];
        longest = T > longest ? T : longest;
    }
    const double start = hkt_now();
    hkt_status status = hkt_scene_open(out, layout, params, longest);
    for (size_t i = 0; i < n && status == HKT_OK; i++) {
        if (what)
            hkt_progress_part(start, i, n, "%s: sequence %zu of %zu", what, i + 1, n);
        status = hkt_scene_see(out, data->offset[i + 1] - data->offset[i], data->tokens + data->offset[i]);
        if (status == HKT_OK)
            status = visit(self, out);
    }
    hkt_progress_clear();
    return status;
}

void hkt_scene_scores(const hkt_scene *s, size_t layer, size_t head, size_t levels, double *level, double *out)
{
    const hkt_tap_f64 *tap = s->tap + layer;
    memset(out, 0, s->T * s->T * sizeof *out);
    for (size_t l = 0; l < levels; l++) {
        hkt_score_dense(tap, l, head, s->p, level);
        hkt_score_upsample(s->T, hkt_level_factor(s->layout->config.stride, l), tap->lambda[l], level, out);
    }
}

void hkt_scene_mean_score(const hkt_scene *s, size_t layer, double *level, double *out)
{
    const size_t heads = s->layout->config.heads;
    memset(out, 0, s->T * s->T * sizeof *out);
    for (size_t h = 0; h < heads; h++) {
        hkt_score_dense(s->tap + layer, 0, h, s->p, level);
        hkt_score_upsample(s->T, 1, 1 / (double)heads, level, out);
    }
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

void hkt_level_weights(const hkt_layout *layout, const double *params, size_t layer, double *lambda)
{
    size_t L = layout->config.levels;
    const double *theta = params + layout->layer[layer].theta;
    double most = -HUGE_VAL, sum = 0;
    lambda[0] = 1;
    if (L == 1)
        return;
    for (size_t l = 0; l < L; l++)
        most = theta[l] > most ? theta[l] : most;
    for (size_t l = 0; l < L; l++)
        sum += lambda[l] = exp(theta[l] - most);
    for (size_t l = 0; l < L; l++)
        lambda[l] /= sum;
}

double hkt_attention_share(const hkt_layout *layout, const double *params, size_t layer, size_t level, size_t head)
{
    if (!layout->config.hybrid)
        return 1;
    return 1 / (1 + exp(-params[layout->layer[layer].beta + level * layout->config.heads + head]));
}

static const double *head_rows(const hkt_layout *layout, const double *matrix, size_t head)
{
    const size_t d = layout->config.d_model;
    return matrix + head * (d / layout->config.heads) * d;
}

const double *hkt_query_rows(const hkt_layout *layout, const double *params, size_t layer, size_t level, size_t head)
{
    return head_rows(layout, params + layout->layer[layer].level[level].q, head);
}

const double *hkt_key_rows(const hkt_layout *layout, const double *params, size_t layer, size_t level, size_t head)
{
    return head_rows(layout, params + layout->layer[layer].level[level].k, head);
}

/* --- dense scores ------------------------------------------------------------------------------------------------- */

void hkt_score_dense(const hkt_tap_f64 *tap, size_t level, size_t head, size_t p, double *score)
{
    const size_t n = tap->offset[level][1], ld = tap->ld[level];
    hkt_products_f64(n, n, p, 1 / sqrt((double)p), tap->q[level] + head * p, ld, tap->k[level] + head * p, ld, score,
                     n);
}

/* out [n, p] = |X| |W|^T */
static void absolute_product(size_t n, size_t d, size_t p, const double *x, const double *w, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < p; r++) {
            double sum = 0;
            for (size_t c = 0; c < d; c++)
                sum += fabs(x[i * d + c]) * fabs(w[r * d + c]);
            out[i * p + r] = sum;
        }
}

void hkt_score_size(size_t n, size_t d, size_t p, const double *x, const double *wq, const double *wk, double *work,
                    double *out)
{
    double *aq = work, *ak = work + n * p;
    absolute_product(n, d, p, x, wq, aq);
    absolute_product(n, d, p, x, wk, ak);
    hkt_product(false, true, n, n, p, 1 / sqrt((double)p), aq, ak, 0, out);
}

void hkt_score_upsample(size_t T, size_t factor, double weight, const double *s, double *out)
{
    size_t n = (T - 1) / factor + 1;
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            out[i * T + j] += weight * s[i / factor * n + j / factor];
}

size_t hkt_level_factor(size_t stride, size_t level)
{
    size_t factor = 1;
    while (level-- > 0)
        if (!hkt_mul_size(factor, stride, &factor))
            return SIZE_MAX;
    return factor;
}

/* student.c - what the checks of `approximation` compare: score matrices S*, and models of them, which may be trained.
 */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "analysis/claims/approximation/approximation.h"
#include "analysis/math/linalg.h"
#include "analysis/view/hierarchy.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "num/kernels.h"

hkt_status hkt_student_create(hkt_student *out, size_t T, size_t d, size_t p, size_t L, size_t stride)
{
    size_t size = T * T, n[HKT_MAX_LEVELS];
    *out = (hkt_student){.a = {.T = T, .d = d, .p = p, .L = L, .stride = stride}, .n_weights = 2 * L * p * d};
    for (size_t l = 0; l < L; l++) {
        n[l] = hkt_level_length(T, stride, l);
        size += n[l] * (d + n[l]);
    }
    HKT_TRY(HKT_NEW(&out->mem, size + out->n_weights));
    double *at = out->mem;
    out->a.target = out->target = at;
    at += T * T;
    for (size_t l = 0; l < L; l++) {
        out->a.x[l] = out->x[l] = at;
        at += n[l] * d;
        out->a.score[l] = out->score[l] = at;
        at += n[l] * n[l];
        out->a.weight[l] = 1 / (double)L;
    }
    for (size_t l = 0; l < L; l++) {
        out->wq[l] = at + 2 * l * p * d;
        out->wk[l] = out->wq[l] + p * d;
    }
    return HKT_OK;
}

void hkt_student_free(hkt_student *s)
{
    hkt_free(s->mem);
    *s = (hkt_student){0};
}

/* [n_weights] twice; queries, keys and one more [T, p]; [T, T] twice. */
typedef struct {
    double *mem, *gradient, *start, *q, *k, *pull, *residual, *block;
} descent_work;

static hkt_status work_create(const hkt_student *s, descent_work *w)
{
    size_t T = s->a.T, p = s->a.p;
    HKT_TRY(HKT_NEW(&w->mem, 2 * s->n_weights + 3 * T * p + 2 * T * T));
    w->gradient = w->mem;
    w->start = w->gradient + s->n_weights;
    w->q = w->start + s->n_weights;
    w->k = w->q + T * p;
    w->pull = w->k + T * p;
    w->residual = w->pull + T * p;
    w->block = w->residual + T * T;
    return HKT_OK;
}

static void project(const hkt_student *s, size_t l, descent_work *w)
{
    size_t n = hkt_level_length(s->a.T, s->a.stride, l);
    hkt_product(false, true, n, s->a.p, s->a.d, 1, s->x[l], s->wq[l], 0, w->q);
    hkt_product(false, true, n, s->a.p, s->a.d, 1, s->x[l], s->wk[l], 0, w->k);
}

/* Scores at the present weights; residual = S* - S_T. Returns its squared norm. */
static double loss(hkt_student *s, descent_work *w)
{
    const hkt_approximation *a = &s->a;
    memcpy(w->residual, s->target, a->T * a->T * sizeof *s->target);
    for (size_t l = 0; l < a->L; l++) {
        size_t n = hkt_level_length(a->T, a->stride, l);
        project(s, l, w);
        hkt_product(false, true, n, n, a->p, 1 / sqrt((double)a->p), w->q, w->k, 0, s->score[l]);
        hkt_score_upsample(a->T, hkt_level_factor(a->stride, l), -a->weight[l], s->score[l], w->residual);
    }
    return cblas_ddot((int)(a->T * a->T), w->residual, 1, w->residual, 1);
}

/* With E = residual and E_l = U_l^T E U_l: d loss / d Wq_l = -2 w_l / sqrt(p) (E_l k)^T X, d loss / d Wk_l the same
 * with E_l^T q. Returns the squared norm. */
static double gradient(const hkt_student *s, descent_work *w)
{
    const hkt_approximation *a = &s->a;
    for (size_t l = 0; l < a->L; l++) {
        size_t n = hkt_level_length(a->T, a->stride, l), factor = hkt_level_factor(a->stride, l);
        double scale = -2 * a->weight[l] / sqrt((double)a->p), *to = w->gradient + (s->wq[l] - s->wq[0]);
        memset(w->block, 0, n * n * sizeof *w->block);
        for (size_t i = 0; i < a->T; i++)
            for (size_t j = 0; j < a->T; j++)
                w->block[i / factor * n + j / factor] += w->residual[i * a->T + j];
        project(s, l, w);
        hkt_product(false, false, n, a->p, n, 1, w->block, w->k, 0, w->pull);
        hkt_product(true, false, a->p, a->d, n, scale, w->pull, s->x[l], 0, to);
        hkt_product(true, false, n, a->p, n, 1, w->block, w->q, 0, w->pull);
        hkt_product(true, false, a->p, a->d, n, scale, w->pull, s->x[l], 0, to + a->p * a->d);
    }
    return cblas_ddot((int)s->n_weights, w->gradient, 1, w->gradient, 1);
}

/* One step; *length is where the search begins and where the next one will. False when no step lowers the loss. */
static bool step(hkt_student *s, descent_work *w, double *length, double *value)
{
    double slope = gradient(s, w);
    memcpy(w->start, s->wq[0], s->n_weights * sizeof *w->start);
    for (int halvings = 0; halvings < 60; halvings++, *length /= 2) {
        for (size_t i = 0; i < s->n_weights; i++)
            s->wq[0][i] = w->start[i] - *length * w->gradient[i];
        double next = loss(s, w);
        if (next <= *value - 0.1 * *length * slope) {
            *value = next;
            *length *= 2;
            return true;
        }
    }
    memcpy(s->wq[0], w->start, s->n_weights * sizeof *w->start);
    loss(s, w);
    return false;
}

hkt_status hkt_student_train(hkt_student *s, size_t steps)
{
    descent_work w;
    HKT_TRY(work_create(s, &w));
    double length = 1, value = loss(s, &w);
    while (steps-- > 0 && step(s, &w, &length, &value))
        ;
    hkt_free(w.mem);
    return HKT_OK;
}

/* --- pairs of S* and a model --- */

/* target [T, T] = mean over the first `heads` heads of S^(0,h); s->score[0] is scratch. */
static void mean_score(const hkt_student *s, const hkt_tap_f64 *tap, size_t heads)
{
    size_t size = s->a.T * s->a.T;
    memset(s->target, 0, size * sizeof *s->target);
    for (size_t h = 0; h < heads; h++) {
        hkt_score_dense(tap, 0, h, s->a.p, s->score[0]);
        cblas_daxpy((int)size, 1 / (double)heads, s->score[0], 1, s->target, 1);
    }
}

static void copy_level(hkt_student *s, const hkt_subject *subject, const hkt_tap_f64 *tap, size_t layer, size_t l)
{
    size_t n = hkt_level_length(s->a.T, s->a.stride, l), d = s->a.d, size = s->a.p * d * sizeof *s->mem;
    memcpy(s->x[l], tap->x[l], n * d * sizeof *s->mem);
    memcpy(s->wq[l], hkt_subject_wq(subject, layer, l, 0), size);
    memcpy(s->wk[l], hkt_subject_wk(subject, layer, l, 0), size);
    s->a.weight[l] = tap->lambda[l];
}

/* A level that the model has not: boxcar downsampling (the initial values of the model's), weights of level 0. */
static hkt_status boxcar_level(hkt_student *s, size_t l)
{
    size_t d = s->a.d, stride = s->a.stride, size = s->a.p * d * sizeof *s->mem;
    double *a = NULL;
    HKT_TRY(HKT_NEW(&a, stride * d));
    for (size_t i = 0; i < stride * d; i++)
        a[i] = 1 / (double)stride;
    hkt_downsample_forward_f64(hkt_level_length(s->a.T, stride, l - 1), d, stride, s->x[l - 1], a, s->x[l]);
    hkt_free(a);
    memcpy(s->wq[l], s->wq[0], size);
    memcpy(s->wk[l], s->wk[0], size);
    return HKT_OK;
}

hkt_status hkt_pair_student(hkt_student *out, const hkt_subject *subject, const hkt_tap_f64 *tap, size_t layer,
                            size_t T, hkt_pair pair)
{
    const hkt_config *c = &subject->layout->config;
    size_t levels = c->levels == 1 ? 3 : c->levels, p = c->d_model / c->heads;
    HKT_TRY(hkt_student_create(out, T, c->d_model, p, levels, c->stride));
    hkt_status status = HKT_OK;
    for (size_t l = 0; l < c->levels; l++)
        copy_level(out, subject, tap, layer, l);
    if (c->levels == 1) {
        out->a.weight[0] = 1 / (double)levels;
        for (size_t l = 1; l < levels && status == HKT_OK; l++)
            status = boxcar_level(out, l);
    }
    if (pair == HKT_PAIR_KERNEL)
        hkt_hierarchy_kernel(HKT_KERNEL_EXPONENTIAL, (double)T / 8, T, out->target);
    else
        mean_score(out, tap, pair == HKT_PAIR_LAYER ? c->heads : 1);
    if (status != HKT_OK)
        hkt_student_free(out);
    return status;
}

hkt_status hkt_pair_head(hkt_student *out, const hkt_subject *subject, const hkt_tap_f64 *tap, size_t head, size_t T)
{
    const hkt_config *c = &subject->layout->config;
    size_t p = c->d_model / c->heads;
    HKT_TRY(hkt_student_create(out, T, c->d_model, p, c->levels, c->stride));
    mean_score(out, tap, c->heads);
    for (size_t l = 0; l < c->levels; l++) {
        memcpy(out->x[l], tap->x[l], hkt_level_length(T, c->stride, l) * c->d_model * sizeof *out->mem);
        hkt_score_dense(tap, l, head, p, out->score[l]);
        out->a.weight[l] = tap->lambda[l];
    }
    return HKT_OK;
}

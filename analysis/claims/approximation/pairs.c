/* pairs.c - what the checks of `approximation` compare: score matrices S* and models of them. */
#include <cblas.h>
#include <string.h>

#include "analysis/claims/approximation/approximation.h"
#include "analysis/view/hierarchy.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "num/kernels.h"

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

#include "train/adamw.h"

#include <math.h>

#include "base/elementary.h"
#include "base/mem.h"

/* Below this many elements a parallel loop costs more than it saves. */
#define PARALLEL_MIN 32768

/* The constants of one update, in the precision of the loop. */
typedef struct {
    float beta1, rest1, beta2, rest2; /* beta, 1 - beta */
    float scale;                      /* of the gradients */
    float rate;                       /* lr / (1 - beta1^t) */
    float root;                       /* 1 / sqrt(1 - beta2^t) */
    float epsilon;
} update;

hkt_status hkt_adamw_create(hkt_adamw *out, const hkt_layout *layout, const hkt_adamw_spec *spec)
{
    *out = (hkt_adamw){.layout = layout, .spec = *spec};
    hkt_status status = HKT_NEW(&out->m, layout->total);
    if (status == HKT_OK)
        status = HKT_NEW(&out->v, layout->total);
    if (status != HKT_OK)
        hkt_adamw_destroy(out);
    return status;
}

void hkt_adamw_destroy(hkt_adamw *a)
{
    hkt_free(a->m);
    hkt_free(a->v);
    a->m = a->v = NULL;
}

/* Loshchilov & Hutter 2019, algorithm 2, lines 6-12; every element on its own, so threads do not change the result. */
static void update_range(const update *u, float keep, size_t n, float *w, float *m, float *v, const float *g)
{
#pragma omp parallel for simd schedule(static) if (n >= PARALLEL_MIN)
    for (size_t i = 0; i < n; i++) {
        float gi = u->scale * g[i];
        m[i] = u->beta1 * m[i] + u->rest1 * gi;
        v[i] = u->beta2 * v[i] + u->rest2 * gi * gi;
        w[i] = keep * w[i] - u->rate * m[i] / (sqrtf(v[i]) * u->root + u->epsilon);
    }
}

void hkt_adamw_step(hkt_adamw *a, float *params, const float *grads, double grad_scale, double lr)
{
    const hkt_adamw_spec *s = &a->spec;
    a->step++;
    const update u = {.beta1 = (float)s->beta1,
                      .rest1 = (float)(1 - s->beta1),
                      .beta2 = (float)s->beta2,
                      .rest2 = (float)(1 - s->beta2),
                      .scale = (float)grad_scale,
                      .rate = (float)(lr / (1 - hkt_power(s->beta1, a->step))),
                      .root = (float)(1 / sqrt(1 - hkt_power(s->beta2, a->step))),
                      .epsilon = (float)s->epsilon};
    for (size_t i = 0; i < a->layout->n_params; i++) {
        const hkt_param *p = &a->layout->params[i];
        float keep = p->decay ? (float)(1 - lr * s->weight_decay) : 1;
        size_t o = p->offset;
        update_range(&u, keep, p->count, params + o, a->m + o, a->v + o, grads + o);
    }
}

double hkt_grad_norm(const hkt_layout *layout, const float *grads)
{
    enum { LANES = 8 }; /* independent sums: vectorised, yet the order is fixed */
    double sum[LANES] = {0};
    for (size_t i = 0; i < layout->n_params; i++) {
        const float *g = grads + layout->params[i].offset;
        size_t n = layout->params[i].count, j = 0;
        for (; j + LANES <= n; j += LANES)
            for (size_t k = 0; k < LANES; k++)
                sum[k] += (double)g[j + k] * (double)g[j + k];
        for (; j < n; j++)
            sum[0] += (double)g[j] * (double)g[j];
    }
    double total = 0;
    for (size_t k = 0; k < LANES; k++)
        total += sum[k];
    return sqrt(total);
}

double hkt_lr_schedule(uint64_t step, uint64_t warmup, uint64_t total, double peak, double final_fraction)
{
    if (step < warmup)
        return peak * (double)step / (double)warmup;
    if (step >= total)
        return peak * final_fraction;
    double t = (double)(step - warmup) / (double)(total - warmup);
    double sine, cosine; /* of pi t */
    hkt_sincos(t / 2, &sine, &cosine);
    return peak * (final_fraction + (1 - final_fraction) * (1 + cosine) / 2);
}

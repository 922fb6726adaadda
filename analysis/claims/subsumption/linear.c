/* linear.c - checks of `subsumption` that the model is more than convolution: convolution is linear in X,
 * attention is not. */
#include <math.h>
#include <string.h>

#include "analysis/claims/subsumption/subsumption.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/attention.h"
#include "num/kernels.h"

enum { LINEAR_SHAPES = 20 };

/* One head on the kernels of the model: f(X) with X on a dyadic grid, so that 2X and X + Y are exact. */
typedef struct {
    hkt_plain_head h;
    bool attention; /* else convolution */
    double *mem, *x, *y, *q, *k, *v, *lse;
    double *fx, *f2x, *fy, *fsum, *bound; /* [T, p] */
    hkt_attention_work_f64 *work;
} map;

static void map_close(map *m)
{
    hkt_attention_work_destroy_f64(m->work);
    hkt_free(m->mem);
    *m = (map){0};
}

static double *take(double **at, size_t n)
{
    double *piece = *at;
    *at += n;
    return piece;
}

static void grid_values(hkt_rng *rng, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = nearbyint(hkt_rng_normal(rng) * 1024) / 1024;
}

static hkt_status map_open(hkt_rng *rng, bool attention, map *m)
{
    size_t T = 2 + (size_t)hkt_rng_below(rng, 63), p = 1 + (size_t)hkt_rng_below(rng, 16), d = 2 * p, w = 4;
    *m = (map){.attention = attention};
    HKT_TRY(HKT_NEW(&m->mem, 2 * T * d + 3 * p * d + w * p + 8 * T * p + T));
    double *at = m->mem, *weights;
    m->x = take(&at, T * d);
    m->y = take(&at, T * d);
    weights = take(&at, 3 * p * d + w * p);
    double **of_T_p[] = {&m->q, &m->k, &m->v, &m->fx, &m->f2x, &m->fy, &m->fsum, &m->bound};
    for (size_t i = 0; i < sizeof of_T_p / sizeof *of_T_p; i++)
        *of_T_p[i] = take(&at, T * p);
    m->lse = take(&at, T);
    grid_values(rng, 2 * T * d, m->x);
    for (size_t i = 0; i < 3 * p * d + w * p; i++)
        weights[i] = hkt_rng_normal(rng) / (i < 3 * p * d ? sqrt((double)d) : 1);
    m->h = (hkt_plain_head){.T = T,
                            .d = d,
                            .p = p,
                            .causal = hkt_rng_below(rng, 2) == 0,
                            .x = m->x,
                            .wq = weights,
                            .wk = weights + p * d,
                            .wv = weights + 2 * p * d,
                            .conv = weights + 3 * p * d,
                            .conv_width = w,
                            .ld_conv = p};
    return hkt_attention_work_create_f64(&m->work, T, p, 1, 2);
}

/* out [T, p] = f(a x + b y). */
static hkt_status apply(map *m, double a, const double *x, double b, const double *y, double *out)
{
    const hkt_plain_head *h = &m->h;
    double *input = NULL;
    HKT_TRY(HKT_NEW(&input, h->T * h->d));
    for (size_t i = 0; i < h->T * h->d; i++)
        input[i] = a * x[i] + b * y[i];
    hkt_linear_forward_f64(h->T, h->p, h->d, input, h->d, h->wq, NULL, m->q, h->p);
    hkt_linear_forward_f64(h->T, h->p, h->d, input, h->d, h->wk, NULL, m->k, h->p);
    hkt_linear_forward_f64(h->T, h->p, h->d, input, h->d, h->wv, NULL, m->v, h->p);
    hkt_free(input);
    if (!m->attention) {
        hkt_conv_forward_f64(h->T, h->p, h->conv_width, m->v, h->p, h->conv, out, h->p);
        return HKT_OK;
    }
    hkt_attention_f64 call = {.T = h->T, .p = h->p, .stride = 2, .n_levels = 1, .causal = h->causal};
    call.q[0] = m->q;
    call.k[0] = m->k;
    call.ld_qk[0] = call.ld_v = h->p;
    call.weight[0] = 1;
    call.v = m->v;
    hkt_attention_forward_f64(&call, 0, h->T, out, h->p, m->lse, m->work);
    return HKT_OK;
}

/* Rounding bound of f at a x + b y, added to m->bound with weight; scratch is overwritten. */
static hkt_status add_bound(map *m, double a, const double *x, double b, const double *y, double weight,
                            double *scratch)
{
    hkt_plain_head h = m->h;
    double *input = NULL;
    HKT_TRY(HKT_NEW(&input, h.T * h.d + h.T * h.p));
    for (size_t i = 0; i < h.T * h.d; i++)
        input[i] = a * x[i] + b * y[i];
    h.x = input;
    double *bound = input + h.T * h.d;
    hkt_status status = m->attention ? hkt_plain_attention(&h, 0x1p-53, scratch, bound)
                                     : hkt_plain_convolution(&h, 0x1p-53, scratch, bound);
    for (size_t i = 0; i < h.T * h.p && status == HKT_OK; i++)
        m->bound[i] += weight * bound[i];
    hkt_free(input);
    return status;
}

/* Largest |f(2X) - 2 f(X)| and |f(X+Y) - f(X) - f(Y)| over what rounding explains, and the first over the largest |2
 * f(X)|. */
typedef struct {
    double doubled, sum, relative;
} defect;

static double largest_ratio(size_t n, const double *a, double b, const double *x, const double *y, const double *bound)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double e = fabs(a[i] - b * x[i] - (y ? y[i] : 0));
        worst = hkt_check_worse(worst, e == 0 ? 0 : e / bound[i]);
    }
    return worst;
}

static hkt_status linearity(map *m, defect *out)
{
    size_t n = m->h.T * m->h.p;
    HKT_TRY(apply(m, 1, m->x, 0, m->y, m->fx));
    HKT_TRY(apply(m, 2, m->x, 0, m->y, m->f2x));
    HKT_TRY(apply(m, 1, m->y, 0, m->x, m->fy));
    HKT_TRY(apply(m, 1, m->x, 1, m->y, m->fsum));
    HKT_TRY(add_bound(m, 2, m->x, 0, m->y, 1, m->q));
    HKT_TRY(add_bound(m, 1, m->x, 0, m->y, 2, m->q));
    out->doubled = largest_ratio(n, m->f2x, 2, m->fx, NULL, m->bound);
    double gap = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        gap = fmax(gap, fabs(m->f2x[i] - 2 * m->fx[i]));
        size = fmax(size, fabs(2 * m->fx[i]));
    }
    out->relative = gap / size;
    memset(m->bound, 0, n * sizeof *m->bound);
    HKT_TRY(add_bound(m, 1, m->x, 1, m->y, 1, m->q));
    HKT_TRY(add_bound(m, 1, m->x, 0, m->y, 1, m->q));
    HKT_TRY(add_bound(m, 1, m->y, 0, m->x, 1, m->q));
    out->sum = largest_ratio(n, m->fsum, 1, m->fx, m->fy, m->bound);
    return HKT_OK;
}

typedef struct {
    double worst, least, relative_low, relative_high; /* worst of both defects, least of `doubled` */
} defects;

static hkt_status each_shape(const hkt_verify_context *ctx, bool attention, hkt_check_result *out, defects *t)
{
    *t = (defects){.least = (double)INFINITY, .relative_low = (double)INFINITY};
    for (size_t i = 0; i < LINEAR_SHAPES; i++) {
        hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, HKT_SUBSUMPTION_INPUTS + 1 + (uint32_t)i);
        map m;
        defect e = {(double)NAN, (double)NAN, (double)NAN};
        hkt_status status = map_open(&rng, attention, &m);
        if (status == HKT_OK)
            status = linearity(&m, &e);
        if (status == HKT_OK)
            status = hkt_check_row(out, "T\tp\tcausal\tf(2X)-2f(X)\tf(X+Y)-f(X)-f(Y)\trelative", m.h.T, m.h.p,
                                   m.h.causal, e.doubled, e.sum, e.relative);
        map_close(&m);
        HKT_TRY(status);
        t->worst = hkt_check_worse(hkt_check_worse(t->worst, e.doubled), e.sum);
        t->least = -hkt_check_worse(-t->least, -e.doubled);
        t->relative_low = fmin(t->relative_low, e.relative);
        t->relative_high = fmax(t->relative_high, e.relative);
    }
    return HKT_OK;
}

/* control: attention in its place. */
static hkt_status linear(const hkt_verify_context *ctx, hkt_check_result *out, bool attention)
{
    defects t;
    HKT_TRY(each_shape(ctx, attention, out, &t));
    hkt_check_at_most(out, t.worst, 1);
    hkt_check_detail(out, "|f(2X) - 2f(X)| and |f(X+Y) - f(X) - f(Y)|, %d shapes", LINEAR_SHAPES);
    return HKT_OK;
}

const hkt_check hkt_subsumption_convolution_linear = {
    .name = "convolution-linear",
    .kind = HKT_IMPLEMENTATION,
    .statement = "convolution is linear in X: f(2X) = 2 f(X) and f(X + Y) = f(X) + f(Y)",
    .reference = "definition",
    .failure = "the convolution is not a convolution",
    .run = linear,
    .holds = "the convolution is linear; the error is {m} of what rounding allows",
    .violated = "the convolution is not linear: {m} times what rounding allows",
};

/* control: convolution in its place. */
static hkt_status nonlinear(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const bool attention = !control;
    defects t;
    HKT_TRY(each_shape(ctx, attention, out, &t));
    hkt_check_at_least(out, t.least, 1);
    hkt_check_condition(out, "T >= 2");
    hkt_check_detail(out, "%d shapes; the difference is %.2g to %.2g of |2f(X)|", LINEAR_SHAPES, t.relative_low,
                     t.relative_high);
    return HKT_OK;
}

const hkt_check hkt_subsumption_strict_convolution = {
    .name = "strict-convolution",
    .kind = HKT_CERTIFIED,
    .statement = "attention is not: f(2X) and 2 f(X) differ far beyond rounding, on every shape",
    .reference = "docs/theory.md, subsumption",
    .failure = "no proof that the model is more than convolution",
    .finding = "attention is not linear in X: the head is more than a convolution",
    .run = nonlinear,
    .holds = "on every shape f(2X) and 2 f(X) differ, by {m} times the rounding bound or more",
    .violated = "on some shape f(2X) and 2 f(X) differ by {m} of the rounding bound only",
};

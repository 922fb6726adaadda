#include "analysis/foreign/forms.h"

#include <string.h>

#include "base/mem.h"

const char *hkt_form_kind_name(hkt_form_kind k)
{
    static const char *const names[HKT_FORMS] = {"weights", "norm", "affine", "group"};
    return names[k];
}

bool hkt_head_form_there(const hkt_foreign *model, const hkt_foreign_layer *weights, hkt_form_kind kind)
{
    switch (kind) {
    case HKT_FORM_NORM:
        return weights->has_norm || weights->has_head_norm;
    case HKT_FORM_AFFINE:
        return weights->has_bias || weights->has_shift;
    case HKT_FORM_GROUP:
        return model->shape.key_heads < model->shape.heads;
    default:
        return true;
    }
}

/* out [p, n] from one head's rows w [p, d]: gain of its own, gain of the norm, the plane of zero sums. */
static void fold(const hkt_foreign_shape *s, const double *w, const double *own, const double *gain, size_t n,
                 double *out)
{
    for (size_t i = 0; i < s->p; i++) {
        double sum = 0;
        for (size_t j = 0; j < s->d; j++)
            sum += out[i * n + j] = own[i] * w[i * s->d + j] * gain[j];
        for (size_t j = 0; j < s->d && s->norm == HKT_NORM_CENTRED; j++)
            out[i * n + j] -= sum / (double)s->d;
    }
}

/* out [p] = own (b + W shift). */
static void fold_bias(const hkt_foreign_shape *s, const double *w, const double *own, const double *b,
                      const double *shift, double *out)
{
    for (size_t i = 0; i < s->p; i++) {
        double sum = b[i];
        for (size_t j = 0; j < s->d; j++)
            sum += w[i * s->d + j] * shift[j];
        out[i] = own[i] * sum;
    }
}

/* The core of [p, n] rows with a column of biases more (NULL: none). */
static hkt_status factor(hkt_core *core, const hkt_foreign_shape *s, const double *q, const double *k,
                         const double *bias)
{
    if (!bias)
        return hkt_core_factor(core, s->d, s->p, q, k);
    const size_t n = s->d + 1, p = s->p;
    double *rows;
    HKT_TRY(HKT_NEW(&rows, 2 * p * n));
    for (size_t i = 0; i < 2 * p; i++) {
        memcpy(rows + i * n, i < p ? q + i * s->d : k + (i - p) * s->d, s->d * sizeof *rows);
        rows[i * n + s->d] = bias[i];
    }
    hkt_status status = hkt_core_factor(core, n, p, rows, rows + p * n);
    hkt_free(rows);
    return status;
}

static hkt_status make_group(hkt_head_form *out, const hkt_foreign_shape *s, const hkt_foreign_layer *l)
{
    const size_t n = s->p * s->d, share = s->heads / s->key_heads;
    double *sum;
    HKT_TRY(HKT_NEW(&sum, n));
    for (size_t h = out->key_head * share; h < (out->key_head + 1) * share; h++)
        for (size_t i = 0; i < n; i++)
            sum[i] += l->wq[h * n + i];
    hkt_status status = factor(&out->core, s, sum, l->wk + out->key_head * n, NULL);
    hkt_free(sum);
    return status;
}

/* q and k [p, d] scratch for the folded rows. */
static hkt_status make_folded(hkt_head_form *out, const hkt_foreign_shape *s, const hkt_foreign_layer *l, double *q,
                              double *k)
{
    const size_t n = s->p * s->d, p = s->p;
    const double *wq = l->wq + out->head * n, *wk = l->wk + out->key_head * n;
    fold(s, wq, l->query_gain, l->gain, s->d, q);
    fold(s, wk, l->key_gain, l->gain, s->d, k);
    out->dimension = s->d - (s->norm == HKT_NORM_CENTRED);
    if (out->kind == HKT_FORM_NORM)
        return factor(&out->core, s, q, k, NULL);
    out->dimension++;
    HKT_TRY(HKT_NEW(&out->bias, 3 * p)); /* and room for the keys' turned */
    fold_bias(s, wq, l->query_gain, l->bq + out->head * p, l->shift, out->bias);
    fold_bias(s, wk, l->key_gain, l->bk + out->key_head * p, l->shift, out->bias + p);
    HKT_TRY(factor(&out->linear, s, q, k, NULL));
    return factor(&out->core, s, q, k, out->bias);
}

hkt_status hkt_head_form_make(hkt_head_form *out, const hkt_foreign *model, const hkt_foreign_layer *weights,
                              hkt_form_kind kind, size_t layer, size_t index)
{
    hkt_foreign_shape s = model->shape;
    const bool group = kind == HKT_FORM_GROUP;
    const size_t n = s.p * s.d;
    double *q;
    if (!weights->has_norm) /* nothing is centred then */
        s.norm = HKT_NORM_NONE;
    *out = (hkt_head_form){.kind = kind,
                           .layer = layer,
                           .head = group ? HKT_NO_HEAD : index,
                           .key_head = group ? index : index / (s.heads / s.key_heads),
                           .dimension = s.d};
    if (group)
        return make_group(out, &s, weights);
    if (kind == HKT_FORM_WEIGHTS)
        return factor(&out->core, &s, weights->wq + index * n, weights->wk + out->key_head * n, NULL);
    HKT_TRY(HKT_NEW(&q, 2 * n));
    hkt_status status = make_folded(out, &s, weights, q, q + n);
    hkt_free(q);
    return status;
}

void hkt_head_form_free(hkt_head_form *f)
{
    hkt_core_free(&f->core);
    hkt_core_free(&f->linear);
    hkt_free(f->bias);
    *f = (hkt_head_form){0};
}

/* The terms that biases add to the score, a = scale Rq R bk and b = scale Rk R^T bq, in the coordinates of the core. */
static void linear_terms(const hkt_head_form *f, double scale, const hkt_rotation *r, double steps,
                         const double *turned, double *a, double *b)
{
    const hkt_core *c = &f->linear;
    double *bk = f->bias + 2 * c->p; /* to be turned */
    memcpy(bk, f->bias + c->p, c->p * sizeof *bk);
    hkt_rotate(r, steps, bk);
    hkt_product(false, false, c->k, 1, c->p, scale, c->rq, bk, 0, a);
    hkt_product(false, false, c->k, 1, c->p, scale, turned, f->bias, 0, b);
}

hkt_status hkt_head_form_summary(const hkt_head_form *f, const hkt_foreign *model, size_t lag, double *w,
                                 hkt_form_summary *out)
{
    const hkt_foreign_shape *s = &model->shape;
    const hkt_rotation r = {s->rotary, s->rotary_base, s->rotary_pairs};
    const size_t k = f->core.k, p = f->core.p;
    double *work, *spare = NULL;
    HKT_TRY(HKT_NEW(&work, k * (p + k + 2)));
    double *turned = work, *c = turned + k * p, *a = c + k * k, *b = a + k;
    hkt_core_form(&f->core, s->scale, &r, -(double)lag, turned, c);
    hkt_status status = hkt_core_summary(k, f->dimension, c, NULL, NULL, hkt_core_size(&f->core, s->scale), w, out);
    if (status == HKT_OK && f->bias && (status = HKT_NEW(&spare, f->dimension + 1)) == HKT_OK) {
        hkt_form_summary linear;
        hkt_core_form(&f->linear, s->scale, &r, -(double)lag, turned, c);
        linear_terms(f, s->scale, &r, -(double)lag, turned, a, b);
        status =
            hkt_core_summary(f->linear.k, f->linear.n, c, a, b, hkt_core_size(&f->linear, s->scale), spare, &linear);
        out->kappa = linear.kappa;
        out->skewness = linear.skewness;
    }
    hkt_free(spare);
    hkt_free(work);
    return status;
}

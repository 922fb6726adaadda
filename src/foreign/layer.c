/* layer.c - the query and key weights of one layer, whatever their layout in the tensors. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "foreign/foreign.h"

hkt_status hkt_foreign_layer_create(hkt_foreign_layer *out, const hkt_foreign_shape *s)
{
    const size_t q = s->heads * s->p, k = s->key_heads * s->p;
    HKT_TRY(HKT_NEW(&out->block, (q + k) * (s->d + 1) + 2 * s->d + 2 * s->p));
    out->wq = out->block;
    out->wk = out->wq + q * s->d;
    out->bq = out->wk + k * s->d;
    out->bk = out->bq + q;
    out->gain = out->bk + k;
    out->shift = out->gain + s->d;
    out->query_gain = out->shift + s->d;
    out->key_gain = out->query_gain + s->p;
    return HKT_OK;
}

void hkt_foreign_layer_free(hkt_foreign_layer *l)
{
    hkt_free(l->block);
    *l = (hkt_foreign_layer){0};
}

/* Row of a tensor in which the first row of a head's queries, or a key head's keys, is. */
static size_t first_row(const hkt_foreign *f, bool key, size_t head)
{
    const hkt_foreign_shape *s = &f->shape;
    switch (f->fusing) {
    case HKT_FUSED_BLOCKS:
        return ((key ? s->heads : 0) + head) * s->p;
    case HKT_FUSED_HEADS:
        return (3 * head + (key ? 1 : 0)) * s->p;
    case HKT_APART:
        break;
    }
    return head * s->p;
}

static hkt_status check_finite(const hkt_tensor *t, size_t n, const double *a)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(a[i]))
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected finite weights, found %g",
                            hkt_safetensors_path(t->file), t->name, a[i]);
    return HKT_OK;
}

/* out [heads p, d] from [out, in]: the rows of a head are one after the other. */
static hkt_status read_rows(const hkt_foreign *f, const hkt_tensor *t, bool key, size_t heads, double *out)
{
    const size_t n = f->shape.p * f->shape.d;
    for (size_t h = 0; h < heads; h++)
        HKT_TRY(hkt_tensor_range_to_f64(t, first_row(f, key, h) * f->shape.d, n, out + h * n));
    return HKT_OK;
}

/* The same from [in, out], input by input. */
static hkt_status read_columns(const hkt_foreign *f, const hkt_tensor *t, bool key, size_t heads, double *out)
{
    const size_t d = f->shape.d, p = f->shape.p, width = t->shape[1];
    double *row;
    HKT_TRY(HKT_NEW(&row, width));
    hkt_status status = HKT_OK;
    for (size_t c = 0; c < d && status == HKT_OK; c++) {
        status = hkt_tensor_range_to_f64(t, c * width, width, row);
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < p; i++)
                out[(h * p + i) * d + c] = row[first_row(f, key, h) + i];
    }
    hkt_free(row);
    return status;
}

/* bias may be NULL. */
static hkt_status read_side(const hkt_foreign *f, const hkt_tensor *t, const hkt_tensor *bias, bool key, double *w,
                            double *b)
{
    const size_t heads = key ? f->shape.key_heads : f->shape.heads, p = f->shape.p;
    HKT_TRY((f->transposed ? read_columns : read_rows)(f, t, key, heads, w));
    HKT_TRY(check_finite(t, heads * p * f->shape.d, w));
    memset(b, 0, heads * p * sizeof *b);
    for (size_t h = 0; h < heads && bias; h++)
        HKT_TRY(hkt_tensor_range_to_f64(bias, first_row(f, key, h), p, b + h * p));
    return bias ? check_finite(bias, heads * p, b) : HKT_OK;
}

/* out [n] = the tensor + offset, or `fallback` when there is none. */
static hkt_status read_vector(const hkt_tensor *t, size_t n, double offset, double fallback, double *out)
{
    if (t)
        HKT_TRY(hkt_tensor_range_to_f64(t, 0, n, out));
    for (size_t i = 0; i < n; i++)
        out[i] = t ? out[i] + offset : fallback;
    return t ? check_finite(t, n, out) : HKT_OK;
}

hkt_status hkt_foreign_layer_read(const hkt_foreign *f, size_t layer, hkt_foreign_layer *out)
{
    const hkt_foreign_names *n = &f->names;
    const hkt_tensor *query = hkt_foreign_tensor(f, n->query, layer),
                     *bias = hkt_foreign_tensor(f, n->query_bias, layer);
    const hkt_tensor *key = n->key ? hkt_foreign_tensor(f, n->key, layer) : query;
    const hkt_tensor *key_bias = n->key ? hkt_foreign_tensor(f, n->key_bias, layer) : bias;
    const bool first = layer == 0 && n->first_gain;
    const hkt_tensor *gain = hkt_foreign_tensor(f, first ? n->first_gain : n->gain, layer);
    const hkt_tensor *shift = hkt_foreign_tensor(f, first ? n->first_shift : n->shift, layer);
    const hkt_tensor *qg = hkt_foreign_tensor(f, n->query_gain, layer), *kg = hkt_foreign_tensor(f, n->key_gain, layer);
    const bool norm = f->shape.norm != HKT_NORM_NONE && gain && gain->count == f->shape.d;
    HKT_TRY(read_side(f, query, bias, false, out->wq, out->bq));
    HKT_TRY(read_side(f, key, key_bias, true, out->wk, out->bk));
    HKT_TRY(read_vector(norm ? gain : NULL, f->shape.d, f->shape.gain_offset, 1, out->gain));
    HKT_TRY(read_vector(norm ? shift : NULL, f->shape.d, 0, 0, out->shift));
    HKT_TRY(read_vector(qg, f->shape.p, f->shape.gain_offset, 1, out->query_gain));
    HKT_TRY(read_vector(kg, f->shape.p, f->shape.gain_offset, 1, out->key_gain));
    out->has_bias = bias || key_bias;
    out->has_norm = norm;
    out->has_shift = norm && shift;
    out->has_head_norm = qg || kg;
    return HKT_OK;
}

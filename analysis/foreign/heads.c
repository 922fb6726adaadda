#include "analysis/foreign/heads.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"

/* One form of one head, or of one group. */
typedef struct {
    hkt_form_kind kind;
    size_t index;
    bool there;
    hkt_form_row *row; /* [n_lags] */
    hkt_status status;
    char message[200];
} job;

typedef struct {
    const hkt_measure_context *ctx;
    const hkt_foreign *model;
    const hkt_form_walk *walk;
    hkt_foreign_layer now, before; /* of two layers next to each other */
    bool has_before;
    size_t layer, n_jobs;
    job *jobs; /* [n_jobs] */
    hkt_form_row *rows;
    double *w; /* [n_jobs, n_lags, d + 1] when asked for */
} walker;

static double inner(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* <Wq^T Wk, Vq^T Vk> = <Wq Vq^T, Wk Vk^T>, and <Wq^T Wk, (Vq^T Vk)^T> is the same with Vq and Vk exchanged. work [2, p,
 * p]. */
static double inner_of_forms(size_t d, size_t p, const double *wq, const double *wk, const double *vq, const double *vk,
                             double *work)
{
    double *a = work, *b = work + p * p;
    hkt_product(false, true, p, p, d, 1, wq, vq, 0, a);
    hkt_product(false, true, p, p, d, 1, wk, vk, 0, b);
    return inner(p * p, a, b);
}

hkt_status hkt_core_cosine(size_t d, size_t p, const double *wq, const double *wk, const double *vq, const double *vk,
                           double *cosine)
{
    double *work;
    HKT_TRY(HKT_NEW(&work, 2 * p * p));
    const double mixed = inner_of_forms(d, p, wq, wk, vq, vk, work) - inner_of_forms(d, p, wq, wk, vk, vq, work);
    const double first = inner_of_forms(d, p, wq, wk, wq, wk, work) - inner_of_forms(d, p, wq, wk, wk, wq, work);
    const double second = inner_of_forms(d, p, vq, vk, vq, vk, work) - inner_of_forms(d, p, vq, vk, vk, vq, work);
    *cosine = first > 0 && second > 0 ? mixed / sqrt(first * second) : (double)NAN;
    hkt_free(work);
    return HKT_OK;
}

static const char *status_of(const walker *k, const job *j, const hkt_form_row *r)
{
    if (r->s.norm == 0)
        return "skipped: the form is zero";
    if (r->lag > 0 && strstr(k->model->unused, "rope_scaling"))
        return "warning: rope_scaling is not looked at";
    return k->now.has_head_norm && j->kind != HKT_FORM_GROUP ? "warning: queries and keys are divided by their lengths"
                                                             : "ok";
}

static hkt_status see_form(const walker *k, job *j, hkt_head_form *form)
{
    const hkt_foreign_shape *s = &k->model->shape;
    double *scratch = NULL, cosine = (double)NAN;
    HKT_TRY(hkt_head_form_make(form, k->model, &k->now, j->kind, k->layer, j->index));
    if (k->walk->cosine && k->has_before && j->kind == HKT_FORM_WEIGHTS) {
        const size_t n = s->p * s->d, q = form->head * n, key = form->key_head * n;
        HKT_TRY(
            hkt_core_cosine(s->d, s->p, k->before.wq + q, k->before.wk + key, k->now.wq + q, k->now.wk + key, &cosine));
    }
    HKT_TRY(HKT_NEW(&scratch, s->d + 1));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < k->walk->n_lags && status == HKT_OK; i++) {
        hkt_form_row *r = &j->row[i];
        double *w = k->w ? k->w + ((size_t)(j - k->jobs) * k->walk->n_lags + i) * (s->d + 1) : scratch;
        *r = (hkt_form_row){.kind = j->kind,
                            .layer = k->layer,
                            .head = form->head,
                            .key_head = form->key_head,
                            .lag = k->walk->lags[i],
                            .n = s->d,
                            .p = s->p,
                            .w = k->w ? w : NULL,
                            .cosine = cosine};
        status = hkt_head_form_summary(form, k->model, r->lag, w, &r->s);
        r->status = status_of(k, j, r);
    }
    hkt_free(scratch);
    return status;
}

static void see_job(const walker *k, job *j)
{
    hkt_head_form form = {0};
    j->status = see_form(k, j, &form);
    if (j->status != HKT_OK)
        snprintf(j->message, sizeof j->message, "%s", hkt_error());
    hkt_head_form_free(&form);
}

/* What of the filters is about the layer in memory. */
static void choose_jobs(walker *k)
{
    const hkt_foreign_shape *s = &k->model->shape;
    for (size_t i = 0; i < k->n_jobs; i++) {
        job *j = &k->jobs[i];
        const bool heads = i < s->heads * HKT_FORM_GROUP;
        j->kind = heads ? (hkt_form_kind)(i % HKT_FORM_GROUP) : HKT_FORM_GROUP;
        j->index = heads ? i / HKT_FORM_GROUP : i - s->heads * HKT_FORM_GROUP;
        j->row = k->rows + i * k->walk->n_lags;
        j->status = HKT_OK;
        j->there = k->walk->kinds[j->kind] && hkt_head_form_there(k->model, &k->now, j->kind) &&
                   hkt_measure_wanted(k->ctx->head, heads ? j->index : HKT_TSV_NO_INDEX);
    }
}

static hkt_status see_layer(walker *k, hkt_tsv *out)
{
    choose_jobs(k);
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < k->n_jobs; i++)
        if (k->jobs[i].there)
            see_job(k, &k->jobs[i]);
    for (size_t i = 0; i < k->n_jobs; i++) {
        const job *j = &k->jobs[i];
        if (j->there && j->status != HKT_OK)
            return hkt_fail(j->status, "layer %zu, %s %zu: %s", k->layer,
                            j->kind == HKT_FORM_GROUP ? "key head" : "head", j->index, j->message);
        for (size_t lag = 0; lag < k->walk->n_lags && j->there; lag++)
            k->walk->write(out, &j->row[lag]);
    }
    return HKT_OK;
}

static hkt_status walk_layers(walker *k, hkt_tsv *out)
{
    const size_t layers = k->model->shape.layers;
    const double start = hkt_now();
    size_t in_before = HKT_TSV_NO_INDEX;
    for (k->layer = 0; k->layer < layers; k->layer++) {
        if (!hkt_measure_wanted(k->ctx->layer, k->layer))
            continue;
        if (k->walk->cosine && k->layer > 0 && in_before != k->layer - 1)
            HKT_TRY(hkt_foreign_layer_read(k->model, k->layer - 1, &k->before));
        k->has_before = k->walk->cosine && k->layer > 0;
        HKT_TRY(hkt_foreign_layer_read(k->model, k->layer, &k->now));
        HKT_TRY(see_layer(k, out));
        if (k->walk->cosine) {
            hkt_foreign_layer swap = k->before;
            k->before = k->now;
            k->now = swap;
            in_before = k->layer;
        }
        hkt_progress_part(start, k->layer + 1, layers, "layer %zu of %zu", k->layer + 1, layers);
    }
    return HKT_OK;
}

hkt_status hkt_form_walk_rows(const hkt_measure_context *ctx, hkt_tsv *out, const hkt_form_walk *walk)
{
    const hkt_foreign_shape *s = &ctx->foreign->shape;
    walker k = {.ctx = ctx, .model = ctx->foreign, .walk = walk, .n_jobs = s->heads * HKT_FORM_GROUP + s->key_heads};
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_foreign_layer_create(&k.now, s));
    if (walk->cosine)
        HKT_TRY_GOTO(status, done, hkt_foreign_layer_create(&k.before, s));
    HKT_TRY_GOTO(status, done, HKT_NEW(&k.jobs, k.n_jobs));
    HKT_TRY_GOTO(status, done, HKT_NEW(&k.rows, k.n_jobs * walk->n_lags));
    if (walk->spectrum)
        HKT_TRY_GOTO(status, done, HKT_NEW(&k.w, k.n_jobs * walk->n_lags * (s->d + 1)));
    status = walk_layers(&k, out);
    hkt_progress_clear();
done:
    hkt_foreign_layer_free(&k.now);
    hkt_foreign_layer_free(&k.before);
    hkt_free(k.jobs);
    hkt_free(k.rows);
    hkt_free(k.w);
    return status;
}

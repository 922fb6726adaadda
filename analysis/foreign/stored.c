#include "analysis/foreign/stored.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/progress.h"

/* --- queries and keys --------------------------------------------------------------------------------------------- */

hkt_status hkt_stored_pairs_create(hkt_stored_pairs *out, const hkt_stored *stored)
{
    *out = (hkt_stored_pairs){.block = NULL};
    return HKT_NEW(&out->block, hkt_stored_query_size(stored) + hkt_stored_key_size(stored));
}

void hkt_stored_pairs_free(hkt_stored_pairs *p)
{
    hkt_free(p->block);
    *p = (hkt_stored_pairs){.block = NULL};
}

/* Token i of every head by i steps. */
static void turn(const hkt_stored *s, size_t heads, size_t T, double *x)
{
    const hkt_rotation r = {s->rotary, s->rotary_base, s->rotary_pairs};
    for (size_t i = 0; i < heads * T && s->rotary > 0; i++)
        hkt_rotate(&r, (double)(i % T), x + i * s->p);
}

hkt_status hkt_stored_pairs_read(const hkt_stored *s, size_t layer, size_t seq, hkt_stored_pairs *out)
{
    double *q = out->block, *k = q + hkt_stored_query_size(s);
    const size_t T = s->length[seq];
    HKT_TRY(hkt_stored_read(s, layer, seq, q, k));
    for (size_t i = 0; i < s->heads * T * T && s->scores && s->scale != 1; i++)
        q[i] *= s->scale;
    if (!s->scores) {
        turn(s, s->heads, T, q);
        turn(s, s->key_heads, T, k);
    }
    out->pairs = (hkt_score_pairs){.T = T,
                                   .heads = s->heads,
                                   .share = s->heads / s->key_heads,
                                   .p = s->p,
                                   .q_ld = s->p,
                                   .k_ld = s->p,
                                   .q_step = T * s->p,
                                   .k_step = T * s->p,
                                   .scale = s->scale,
                                   .causal = s->causal,
                                   .q = q,
                                   .k = k,
                                   .matrix = s->scores ? q : NULL};
    return HKT_OK;
}

/* --- a source of scores ------------------------------------------------------------------------------------------- */

typedef struct {
    hkt_stored_pairs pairs;
    double *tile; /* [hkt_score_work] */
    hkt_status status;
    char message[300];
} worker;

static hkt_status see(const hkt_stored *s, worker *w, hkt_score_tile tile, hkt_score_visit visit, void *self)
{
    if (!w->tile) {
        HKT_TRY(hkt_stored_pairs_create(&w->pairs, s));
        HKT_TRY(HKT_NEW(&w->tile, hkt_score_work(s->heads, s->p)));
    }
    HKT_TRY(hkt_stored_pairs_read(s, tile.layer, tile.seq, &w->pairs));
    hkt_score_tiles(&w->pairs.pairs, tile, w->tile, visit, self);
    return HKT_OK;
}

/* A batch: HKT_SCORE_BATCH sequences of every layer. A thread has one layer and sequence in memory. */
static hkt_status walk_batch(const hkt_stored *s, worker *workers, size_t first, size_t n, hkt_score_visit visit,
                             void *self)
{
#pragma omp parallel for schedule(dynamic)
    for (size_t item = 0; item < s->layers * n; item++) {
        const size_t thread = (size_t)omp_get_thread_num();
        worker *w = &workers[thread];
        const hkt_score_tile tile = {.seq = first + item % n, .layer = item / n, .thread = thread};
        if (w->status != HKT_OK)
            continue;
        w->status = see(s, w, tile, visit, self);
        if (w->status != HKT_OK)
            snprintf(w->message, sizeof w->message, "%s", hkt_error());
    }
    for (size_t t = 0; t < hkt_score_walk_threads(); t++)
        if (workers[t].status != HKT_OK)
            return hkt_fail(workers[t].status, "%s", workers[t].message);
    return HKT_OK;
}

static hkt_status walk(const hkt_score_source *source, size_t n_seq, hkt_score_visit visit, hkt_score_batch_end end,
                       void *self)
{
    const hkt_stored *s = source->data;
    const double start = hkt_now();
    worker *workers;
    HKT_TRY(HKT_NEW(&workers, hkt_score_walk_threads()));
    hkt_status status = HKT_OK;
    for (size_t first = 0, n; first < n_seq && status == HKT_OK; first += n) {
        n = n_seq - first < HKT_SCORE_BATCH ? n_seq - first : HKT_SCORE_BATCH;
        status = walk_batch(s, workers, first, n, visit, self);
        if (status == HKT_OK && end)
            end(self, first, n);
        hkt_progress_part(start, first + n, n_seq, "scores: sequence %zu of %zu", first + n, n_seq);
    }
    hkt_progress_clear();
    for (size_t t = 0; t < hkt_score_walk_threads(); t++) {
        hkt_stored_pairs_free(&workers[t].pairs);
        hkt_free(workers[t].tile);
    }
    hkt_free(workers);
    return status;
}

static size_t entries(const hkt_score_source *source, size_t level, size_t seq)
{
    const hkt_stored *s = source->data;
    (void)level;
    return hkt_score_entries(s->length[seq], s->causal);
}

hkt_score_source hkt_score_of_stored(const hkt_stored *stored)
{
    return (hkt_score_source){.data = stored,
                              .n = stored->n,
                              .layers = stored->layers,
                              .levels = 1,
                              .heads = stored->heads,
                              .entries = entries,
                              .walk = walk};
}

/* --- score matrices as forms -------------------------------------------------------------------------------------- */

/* The core of Q^T, K^T [p, T]. */
static hkt_status factor(const hkt_score_pairs *s, size_t head, hkt_core *core)
{
    const size_t n = s->p * s->T;
    const double *q = s->q + head * s->q_step, *k = s->k + head / s->share * s->k_step;
    double *rows;
    HKT_TRY(HKT_NEW(&rows, 2 * n));
    for (size_t i = 0; i < s->T; i++)
        for (size_t c = 0; c < s->p; c++) {
            rows[c * s->T + i] = q[i * s->q_ld + c];
            rows[n + c * s->T + i] = k[i * s->k_ld + c];
        }
    hkt_status status = hkt_core_factor(core, s->T, s->p, rows, rows + n);
    hkt_free(rows);
    return status;
}

static hkt_status from_core(const hkt_score_pairs *s, const hkt_core *core, double *w, hkt_form_summary *out)
{
    const hkt_rotation none = {0, 1, false};
    double *work;
    HKT_TRY(HKT_NEW(&work, core->k * (core->p + core->k)));
    hkt_core_form(core, s->scale, &none, 0, work, work + core->k * core->p);
    hkt_status status =
        hkt_core_summary(core->k, s->T, work + core->k * core->p, NULL, NULL, hkt_core_size(core, s->scale), w, out);
    hkt_free(work);
    return status;
}

hkt_status hkt_score_matrix_summary(const hkt_score_pairs *s, size_t head, double *w, hkt_form_summary *out)
{
    if (s->matrix && s->causal)
        return hkt_fail(HKT_EINPUT, "scores above the diagonal are not known: store queries and keys");
    if (s->matrix) {
        const double *m = s->matrix + head * s->T * s->T;
        double size = 0;
        for (size_t i = 0; i < s->T * s->T; i++)
            size += m[i] * m[i];
        return hkt_core_summary(s->T, s->T, m, NULL, NULL, sqrt(size), w, out);
    }
    hkt_core core = {.n = 0};
    hkt_status status = factor(s, head, &core);
    if (status == HKT_OK)
        status = from_core(s, &core, w, out);
    hkt_core_free(&core);
    return status;
}

/* The score matrices of stored queries and keys as forms: one row for every layer, sequence and head. */
#include <math.h>
#include <stdio.h>

#include "analysis/foreign/stored.h"
#include "analysis/measure/measure.h"
#include "base/mem.h"
#include "base/progress.h"

typedef struct {
    hkt_form_summary s;
    hkt_status status;
    char message[200];
} job;

typedef void (*write_numbers)(hkt_tsv *out, const hkt_form_summary *s);

/* What was not computed is nan, and 0 where it is a count. */
static void write_row(hkt_tsv *out, size_t layer, size_t head, size_t sequence, const job *j, write_numbers numbers)
{
    const double none = (double)NAN;
    const hkt_form_summary unknown = {
        .negative_mass = none, .stable_rank = none, .norm = none, .antisymmetric = none, .trace = none};
    hkt_tsv_size(out, layer);
    hkt_tsv_size(out, head);
    hkt_tsv_size(out, sequence);
    numbers(out, j->status == HKT_OK ? &j->s : &unknown);
    char text[240] = "ok";
    if (j->status != HKT_OK)
        snprintf(text, sizeof text, "skipped: %s", j->message);
    else if (j->s.norm == 0)
        snprintf(text, sizeof text, "skipped: every score is zero");
    hkt_tsv_str(out, text);
    hkt_tsv_end(out);
}

/* All heads of the layer and sequence in `pairs`; w [heads, T]. */
static hkt_status see_heads(const hkt_measure_context *ctx, hkt_tsv *out, const hkt_score_pairs *pairs, size_t layer,
                            size_t sequence, job *jobs, double *w, write_numbers numbers)
{
#pragma omp parallel for schedule(dynamic)
    for (size_t h = 0; h < pairs->heads; h++) {
        if (!hkt_measure_wanted(ctx->head, h))
            continue;
        jobs[h].status = hkt_score_matrix_summary(pairs, h, w + h * pairs->T, &jobs[h].s);
        if (jobs[h].status != HKT_OK)
            snprintf(jobs[h].message, sizeof jobs[h].message, "%s", hkt_error());
    }
    for (size_t h = 0; h < pairs->heads; h++) {
        if (!hkt_measure_wanted(ctx->head, h))
            continue;
        if (jobs[h].status != HKT_OK && jobs[h].status != HKT_EINPUT)
            return hkt_fail(jobs[h].status, "layer %zu, sequence %zu, head %zu: %s", layer, sequence, h,
                            jobs[h].message);
        write_row(out, layer, h, sequence, &jobs[h], numbers);
    }
    return HKT_OK;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out, write_numbers numbers)
{
    const hkt_stored *s = ctx->stored;
    const double start = hkt_now();
    hkt_stored_pairs pairs = {.block = NULL};
    job *jobs = NULL;
    double *w = NULL;
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_stored_pairs_create(&pairs, s));
    HKT_TRY_GOTO(status, done, HKT_NEW(&jobs, s->heads));
    HKT_TRY_GOTO(status, done, HKT_NEW(&w, s->heads * s->T));
    for (size_t i = 0, n = s->layers * ctx->sequences; i < n; i++) {
        const size_t layer = i / ctx->sequences, sequence = i % ctx->sequences;
        if (!hkt_measure_wanted(ctx->layer, layer))
            continue;
        HKT_TRY_GOTO(status, done, hkt_stored_pairs_read(s, layer, sequence, &pairs));
        HKT_TRY_GOTO(status, done, see_heads(ctx, out, &pairs.pairs, layer, sequence, jobs, w, numbers));
        hkt_progress_part(start, i + 1, n, "matrices: %zu of %zu", i + 1, n);
    }
done:
    hkt_progress_clear();
    hkt_stored_pairs_free(&pairs);
    hkt_free(jobs);
    hkt_free(w);
    return status;
}

static void write_inertia(hkt_tsv *out, const hkt_form_summary *s)
{
    hkt_tsv_size(out, s->dimension);
    hkt_tsv_size(out, s->inertia.positive);
    hkt_tsv_size(out, s->inertia.negative);
    hkt_tsv_size(out, s->inertia.zero);
    hkt_tsv_real(out, s->negative_mass);
    hkt_tsv_real(out, s->stable_rank);
}

static hkt_status run_inertia(const hkt_measure_context *ctx, hkt_tsv *out)
{
    return run(ctx, out, write_inertia);
}

const hkt_measurement hkt_stored_inertia = {
    .name = "inertia",
    .help = "signs, negative mass and stable rank of the Gram matrices of stored scores",
    .needs = HKT_USES_SEQUENCES,
    .columns = "layer\thead\tsequence\tn\tpositive\tnegative\tzero\tnegative_mass\tstable_rank\tstatus",
    .run = run_inertia,
};

static void write_asymmetry(hkt_tsv *out, const hkt_form_summary *s)
{
    hkt_tsv_real(out, s->norm);
    hkt_tsv_real(out, s->antisymmetric);
    hkt_tsv_real(out, s->trace);
}

static hkt_status run_asymmetry(const hkt_measure_context *ctx, hkt_tsv *out)
{
    return run(ctx, out, write_asymmetry);
}

const hkt_measurement hkt_stored_asymmetry = {
    .name = "asymmetry",
    .help = "antisymmetric share of the matrices of stored scores",
    .needs = HKT_USES_SEQUENCES,
    .columns = "layer\thead\tsequence\tnorm\tantisymmetric\tsymmetry\tstatus",
    .run = run_asymmetry,
};

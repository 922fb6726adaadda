/* How far the scores are from Gaussian: kappa, excess kurtosis and skewness per layer, level and head, Mardia's kappa
 * over the heads of a level, each with a bootstrap interval over sequences. Conventions: moments.h, mardia.h. */
#include <math.h>
#include <stdio.h>

#include "analysis/math/bootstrap.h"
#include "analysis/math/quartic.h"
#include "analysis/measure/measure.h"
#include "analysis/view/scores.h"
#include "base/mem.h"

enum { REPLICATES = 1000, BINS = 160, N_STATISTICS = 3 };
static const double coverage = 0.95, histogram_limit = 10;

typedef struct {
    double q, n, ceiling, centred;                                  /* centred: kappa of the row-centred scores */
    double value[N_STATISTICS], lo[N_STATISTICS], hi[N_STATISTICS]; /* kappa, excess, skewness; NaN: not defined */
    char status[160];
    hkt_status failure; /* HKT_ESYSTEM: the table cannot be made */
} row;

static void row_clear(row *r)
{
    *r = (row){.q = 1, .centred = (double)NAN, .status = "ok"};
    for (size_t k = 0; k < N_STATISTICS; k++)
        r->value[k] = r->lo[k] = r->hi[k] = (double)NAN;
}

/* What prevents an interval goes into the status. */
static void note_failure(row *r, hkt_status status)
{
    if (status != HKT_OK)
        snprintf(r->status, sizeof r->status, "warning: no interval: %s", hkt_error());
    if (status == HKT_ESYSTEM)
        r->failure = status;
}

/* Percentile interval of statistic k. */
static void bootstrap_into(row *r, size_t k, hkt_statistic statistic, const void *units, size_t n_units, uint64_t seed)
{
    note_failure(r, hkt_bootstrap(statistic, units, n_units, REPLICATES, coverage, seed, &r->lo[k], &r->hi[k]));
}

/* One layer, level and head. */
static void scalar_row(const hkt_score_moments *m, size_t layer, size_t level, size_t head, uint64_t seed, row *r)
{
    const hkt_moments *units = hkt_score_moments_units(m, layer, level, head);
    hkt_moments all = hkt_score_moments_pool(m, layer, level, head);
    row_clear(r);
    r->n = all.n;
    hkt_moments centred = hkt_score_moments_pool_centred(m, layer, level, head);
    r->ceiling = all.n / 3;
    r->centred = hkt_moments_kappa(&centred);
    if (hkt_moments_problem(&all)) {
        snprintf(r->status, sizeof r->status, "skipped: scores are %s", hkt_moments_problem(&all));
        return;
    }
    r->value[0] = hkt_moments_kappa(&all);
    r->value[1] = hkt_moments_excess(&all);
    r->value[2] = hkt_moments_skewness(&all);
    hkt_status status = hkt_bootstrap_kappa(units, m->n_units, REPLICATES, coverage, seed, &r->lo[0], &r->hi[0]);
    r->lo[1] = 3 * r->lo[0] - 3;
    r->hi[1] = 3 * r->hi[0] - 3;
    note_failure(r, status);
    bootstrap_into(r, 2, hkt_pooled_skewness, units, m->n_units, seed);
}

/* The vectors of all heads' scores of one layer and level. */
static void joint_row(const hkt_score_moments *m, const hkt_score_joint *j, size_t layer, size_t level, uint64_t seed,
                      row *r)
{
    row_clear(r);
    r->q = (double)m->heads;
    if (!j->sums) {
        snprintf(r->status, sizeof r->status,
                 "skipped: the sums of all products up to degree four need more than 1 GiB: take fewer layers");
        return;
    }
    hkt_quartic_units units = {.q = j->heads, .sums = j->sums + (layer * j->levels + level) * j->n_units * j->size};
    for (size_t head = 0; head < j->heads; head++) {
        hkt_moments one = hkt_score_moments_pool(m, layer, level, head);
        if (!hkt_moments_problem(&one))
            continue;
        snprintf(r->status, sizeof r->status, "skipped: scores of head %zu are %s", head, hkt_moments_problem(&one));
        return;
    }
    r->failure = HKT_NEW(&units.pooled, hkt_quartic_units_scratch(j->heads));
    if (r->failure != HKT_OK) {
        snprintf(r->status, sizeof r->status, "%s", hkt_error());
        return;
    }
    for (size_t i = 0; i < j->n_units * j->size; i++)
        units.pooled[i % j->size] += units.sums[i];
    hkt_status status = hkt_quartic_kappa(j->heads, units.pooled, &r->n, &r->value[0]);
    r->ceiling = r->n / (r->q + 2);
    if (status == HKT_OK)
        bootstrap_into(r, 0, hkt_quartic_pooled_kappa, &units, j->n_units, seed);
    else
        snprintf(r->status, sizeof r->status, "skipped: %s", hkt_error());
    r->failure = status == HKT_ESYSTEM ? status : r->failure;
    hkt_free(units.pooled);
}

static void write_row(hkt_tsv *out, size_t layer, size_t level, size_t head, size_t sequences, const row *r)
{
    hkt_tsv_size(out, layer);
    hkt_tsv_size(out, level);
    hkt_tsv_index(out, head);
    hkt_tsv_size(out, (size_t)r->q);
    hkt_tsv_size(out, (size_t)r->n);
    hkt_tsv_size(out, sequences);
    for (size_t k = 0; k < N_STATISTICS; k++) {
        hkt_tsv_real(out, r->value[k]);
        hkt_tsv_real(out, r->lo[k]);
        hkt_tsv_real(out, r->hi[k]);
    }
    hkt_tsv_real(out, r->ceiling);
    hkt_tsv_real(out, r->centred);
    hkt_tsv_str(out, r->status);
    hkt_tsv_end(out);
}

/* head: that of all when it is `heads`. */
static bool is_wanted(const hkt_measure_context *ctx, size_t layer, size_t level, size_t head, size_t heads)
{
    return hkt_measure_wanted(ctx->layer, layer) && hkt_measure_wanted(ctx->level, level) &&
           hkt_measure_wanted(ctx->head, head < heads ? head : HKT_TSV_NO_INDEX);
}

/* Rows [layers][levels][heads + 1]: the heads, then all of them together. */
static hkt_status write_rows(const hkt_measure_context *ctx, hkt_tsv *out, const hkt_score_moments *m,
                             const hkt_score_joint *j)
{
    size_t per_level = m->heads + 1, n = m->layers * m->levels * per_level;
    row *rows = NULL;
    HKT_TRY(HKT_NEW(&rows, n));
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < n; i++) {
        size_t head = i % per_level, level = i / per_level % m->levels, layer = i / per_level / m->levels;
        if (!is_wanted(ctx, layer, level, head, m->heads))
            continue;
        if (head < m->heads)
            scalar_row(m, layer, level, head, ctx->seed, &rows[i]);
        else
            joint_row(m, j, layer, level, ctx->seed, &rows[i]);
    }
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < n && status == HKT_OK; i++) {
        if (!is_wanted(ctx, i / per_level / m->levels, i / per_level % m->levels, i % per_level, m->heads))
            continue;
        size_t head = i % per_level < m->heads ? i % per_level : HKT_TSV_NO_INDEX;
        if (rows[i].failure == HKT_OK)
            write_row(out, i / per_level / m->levels, i / per_level % m->levels, head, m->sequences, &rows[i]);
        else
            status = hkt_fail(rows[i].failure, "kurtosis: %s", rows[i].status);
    }
    hkt_free(rows);
    return status;
}

/* --- histogram --- */

static double normal_density(double z)
{
    return exp(-z * z / 2) / sqrt(2 * acos(-1));
}

/* The bins of one layer, level and head. */
static void write_bins(hkt_tsv *out, const hkt_score_histogram *h, size_t block, const size_t place[3],
                       const hkt_moments *all)
{
    double width = 2 * h->lim / (double)h->bins;
    for (size_t b = 0; b < h->bins; b++) {
        double lo = -h->lim + (double)b * width, centre = lo + width / 2;
        double count = (double)h->count[block * h->bins + b];
        bool tail = b == 0 || b + 1 == h->bins;
        const char *problem = hkt_moments_problem(all);
        for (size_t k = 0; k < 3; k++)
            hkt_tsv_size(out, place[k]);
        hkt_tsv_real(out, b == 0 ? -HUGE_VAL : lo);
        hkt_tsv_real(out, b + 1 == h->bins ? HUGE_VAL : lo + width);
        hkt_tsv_real(out, centre);
        hkt_tsv_size(out, (size_t)count);
        hkt_tsv_real(out, problem ? (double)NAN : count / all->n / width);
        hkt_tsv_real(out, normal_density(centre));
        hkt_tsv_real(out, hkt_moments_kappa(all));
        hkt_tsv_str(out, problem ? "skipped: no spread" : tail ? "warning: tail" : "ok");
        hkt_tsv_end(out);
    }
}

static hkt_status write_histogram(const hkt_measure_context *ctx, const hkt_score_moments *m)
{
    hkt_score_histogram h;
    hkt_tsv *out;
    HKT_TRY(hkt_score_histogram_collect(&h, hkt_measure_source(ctx), m->sequences, m, BINS, histogram_limit));
    hkt_status status = hkt_tsv_open(&out, ctx->histogram, ctx->how,
                                     "layer\tlevel\thead\tz_lo\tz_hi\tz\tcount\tdensity\tnormal\tkappa\tstatus");
    for (size_t i = 0; i < m->layers * m->levels * m->heads && status == HKT_OK; i++) {
        size_t place[3] = {i / m->heads / m->levels, i / m->heads % m->levels, i % m->heads};
        hkt_moments all = hkt_score_moments_pool(m, place[0], place[1], place[2]);
        write_bins(out, &h, i, place, &all);
    }
    if (status == HKT_OK)
        status = hkt_tsv_commit(out);
    hkt_score_histogram_free(&h);
    return status;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    hkt_score_moments moments;
    hkt_score_joint joint = {.sums = NULL};
    const hkt_score_source source = hkt_measure_source(ctx);
    HKT_TRY(hkt_score_joint_collect(&moments, &joint, source, ctx->sequences));
    hkt_status status = write_rows(ctx, out, &moments, &joint);
    if (status == HKT_OK && ctx->histogram && hkt_tsv_rows(out) > 0) /* else the filter refuses all */
        status = write_histogram(ctx, &moments);
    hkt_score_moments_free(&moments);
    hkt_score_joint_free(&joint);
    return status;
}

const hkt_measurement hkt_measure_kurtosis = {
    .name = "kurtosis",
    .help = "kurtosis and skewness of the scores per layer, level and head, with bootstrap intervals",
    .needs = HKT_NEEDS_MODEL | HKT_NEEDS_DATA | HKT_USES_SEQUENCES,
    .columns = "layer\tlevel\thead\tq\tn\tsequences\tkappa\tkappa_lo\tkappa_hi\texcess\texcess_lo\texcess_"
               "hi\tskewness\tskewness_lo\tskewness_hi\tceiling\tkappa_row_centred\tstatus",
    .options = "histogram",
    .run = run,
};

/* What the kurtosis correction of the entropy is worth: the leading terms of negentropy (entropy.h) against its value,
 * for laws whose entropy is known in closed form, and against an estimate from spacings for the scores of a model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/math/entropy.h"
#include "analysis/math/laws.h"
#include "analysis/measure/measure.h"
#include "analysis/view/sample.h"
#include "base/mem.h"

enum { SAMPLE = 20000, STEPS = 48 };

typedef struct {
    const char *kind;
    size_t layer, level, head, n;
    double kappa, skewness, negentropy;
    char status[120];
} row;

static void write_row(hkt_tsv *out, const row *r)
{
    double expansion = hkt_negentropy_expansion(r->skewness, 3 * (r->kappa - 1));
    hkt_tsv_str(out, r->kind);
    hkt_tsv_index(out, r->layer);
    hkt_tsv_index(out, r->level);
    hkt_tsv_index(out, r->head);
    hkt_tsv_size(out, r->n);
    hkt_tsv_real(out, r->kappa);
    hkt_tsv_real(out, r->skewness);
    hkt_tsv_real(out, r->negentropy);
    hkt_tsv_real(out, expansion);
    hkt_tsv_real(out, expansion / r->negentropy);
    hkt_tsv_str(out, r->status);
    hkt_tsv_end(out);
}

/* A family's laws with kappa from 1.01 to 101. */
static void write_laws(hkt_tsv *out, const char *name, const hkt_family *f)
{
    for (int i = 0; i <= STEPS; i++) {
        double kappa = 1 + 0.01 * pow(10000, (double)i / STEPS), parameter = f->parameter(kappa);
        row r = {.kind = name,
                 .layer = HKT_TSV_NO_INDEX,
                 .level = HKT_TSV_NO_INDEX,
                 .head = HKT_TSV_NO_INDEX,
                 .kappa = kappa,
                 .negentropy = hkt_entropy_gaussian(exp(2 * f->log_sd(parameter))) - f->entropy(parameter),
                 .status = "ok"};
        write_row(out, &r);
    }
}

/* One head's n values x, which are changed. */
static hkt_status write_head(hkt_tsv *out, row r, double *x)
{
    hkt_moments m;
    hkt_moments_clear(&m);
    hkt_moments_add_block(&m, x, r.n);
    r.kappa = hkt_moments_kappa(&m);
    r.skewness = hkt_moments_skewness(&m);
    hkt_status status = hkt_negentropy_spacing(x, r.n, &r.negentropy);
    if (status == HKT_ESYSTEM)
        return status;
    if (status != HKT_OK)
        snprintf(r.status, sizeof r.status, "skipped: %s", hkt_error());
    write_row(out, &r);
    return HKT_OK;
}

static hkt_status write_scores(const hkt_measure_context *ctx, hkt_tsv *out, const hkt_score_sample *s)
{
    double *x;
    HKT_TRY(HKT_NEW(&x, SAMPLE + s->n_seq));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < s->layers * s->levels * s->heads && status == HKT_OK; i++) {
        row r = {.kind = "scores",
                 .layer = i / s->heads / s->levels,
                 .level = i / s->heads % s->levels,
                 .head = i % s->heads,
                 .status = "ok"};
        const size_t *begin;
        if (!hkt_measure_wanted(ctx->layer, r.layer) || !hkt_measure_wanted(ctx->level, r.level) ||
            !hkt_measure_wanted(ctx->head, r.head))
            continue;
        const double *score = hkt_score_sample_of(s, r.layer, r.level, r.head, &begin);
        r.n = begin[s->n_seq];
        memcpy(x, score, r.n * sizeof *x);
        status = write_head(out, r, x);
    }
    hkt_free(x);
    return status;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    hkt_score_sample s;
    write_laws(out, "student", &hkt_family_student);
    write_laws(out, "power", &hkt_family_power);
    HKT_TRY(hkt_score_sample_collect(&s, hkt_measure_source(ctx), ctx->sequences, SAMPLE));
    hkt_status status = write_scores(ctx, out, &s);
    hkt_score_sample_free(&s);
    return status;
}

const hkt_measurement hkt_measure_information = {
    .name = "information",
    .help = "leading terms of the negentropy of scores against its value: where the kurtosis correction holds",
    .needs = HKT_NEEDS_MODEL | HKT_NEEDS_DATA | HKT_USES_SEQUENCES,
    .columns = "kind\tlayer\tlevel\thead\tn\tkappa\tskewness\tnegentropy\texpansion\tratio\tstatus",
    .run = run,
};

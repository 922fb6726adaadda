/* What the kurtosis correction of the entropy is worth: the leading terms of negentropy (entropy.h) against its value,
 * for laws whose entropy is known in closed form, and against an estimate from spacings for the scores of a model. */
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stdio.h>

#include "analysis/entropy.h"
#include "analysis/measure.h"
#include "analysis/score_walk.h"
#include "base/mem.h"

enum { SAMPLE = 20000, STEPS = 48 };

typedef struct {
    const char *kind;
    size_t layer, level, head, n;
    double kappa, skewness, negentropy;
    const char *status;
} row;

static void write_row(hkt_tsv *out, const row *r)
{
    double expansion = hkt_negentropy_expansion(r->skewness, 3 * (r->kappa - 1));
    hkt_tsv_str(out, r->kind);
    hkt_measure_index(out, r->layer);
    hkt_measure_index(out, r->level);
    hkt_measure_index(out, r->head);
    hkt_tsv_size(out, r->n);
    hkt_tsv_real(out, r->kappa);
    hkt_tsv_real(out, r->skewness);
    hkt_tsv_real(out, r->negentropy);
    hkt_tsv_real(out, expansion);
    hkt_tsv_real(out, expansion / r->negentropy);
    hkt_tsv_str(out, r->status);
    hkt_tsv_end(out);
}

/* --- laws ----------------------------------------------------------------------------------------------------------
 */

static void write_law(hkt_tsv *out, const char *name, double kappa, double variance, double entropy)
{
    row r = {.kind = name,
             .layer = HKT_NO_INDEX,
             .level = HKT_NO_INDEX,
             .head = HKT_NO_INDEX,
             .kappa = kappa,
             .negentropy = hkt_entropy_gaussian(variance) - entropy,
             .status = "ok"};
    write_row(out, &r);
}

/* Student's t with nu = 4 + 2/(kappa - 1) degrees of freedom (Johnson, Kotz & Balakrishnan 1995, ch. 28). */
static void write_student(hkt_tsv *out, double kappa)
{
    double nu = 4 + 2 / (kappa - 1);
    double entropy = (nu + 1) / 2 * (gsl_sf_psi((nu + 1) / 2) - gsl_sf_psi(nu / 2)) + log(nu) / 2 +
                     gsl_sf_lngamma(nu / 2) + gsl_sf_lngamma(0.5) - gsl_sf_lngamma((nu + 1) / 2);
    write_law(out, "student", kappa, nu / (nu - 2), entropy);
}

/* Density proportional to exp(-|x|^b): b = 2 normal, 1 Laplace (Johnson, Kotz & Balakrishnan 1995, ch. 24, Subbotin).
 */
static void write_power(hkt_tsv *out, double b)
{
    double variance = exp(gsl_sf_lngamma(3 / b) - gsl_sf_lngamma(1 / b));
    double kappa = exp(gsl_sf_lngamma(5 / b) + gsl_sf_lngamma(1 / b) - 2 * gsl_sf_lngamma(3 / b)) / 3;
    write_law(out, "power", kappa, variance, 1 / b - log(b / 2) + gsl_sf_lngamma(1 / b));
}

static void write_laws(hkt_tsv *out)
{
    for (int i = 0; i <= STEPS; i++)
        write_student(out, 1 + 0.01 * pow(10000, (double)i / STEPS)); /* 1.01 to 101 */
    for (int i = 0; i <= STEPS; i++)
        write_power(out, 1.95 * pow(0.35 / 1.95, (double)i / STEPS));
}

/* --- scores of a model ---------------------------------------------------------------------------------------------
 */

/* Every step-th score, counted over the sequences, of each layer, level and head. */
typedef struct {
    const hkt_config *c;
    size_t *step;  /* [L] */
    size_t *first; /* [L][n_seq + 1] scores of the level in earlier sequences */
    size_t *taken; /* [L] values taken of all sequences */
    size_t n_seq;
    double *sample; /* [layers][L][heads][SAMPLE] */
} samples;

static void visit(void *self, const hkt_score_tile *tile)
{
    samples *s = self;
    size_t step = s->step[tile->level], at = s->first[tile->level * (s->n_seq + 1) + tile->seq] + tile->before;
    for (size_t e = (step - at % step) % step; e < tile->n; e += step)
        for (size_t h = 0; h < tile->heads; h++)
            s->sample[((tile->layer * s->c->levels + tile->level) * s->c->heads + h) * SAMPLE + (at + e) / step] =
                tile->score[h * tile->ld + e];
}

static void plan(samples *s, const hkt_dataset *data)
{
    for (size_t level = 0; level < s->c->levels; level++) {
        size_t *first = s->first + level * (s->n_seq + 1);
        for (size_t i = 0; i < s->n_seq; i++) {
            size_t n = hkt_level_length(data->offset[i + 1] - data->offset[i], s->c->stride, level);
            first[i + 1] = first[i] + (s->c->causal ? n * (n + 1) / 2 : n * n);
        }
        s->step[level] = first[s->n_seq] / SAMPLE + 1;
        s->taken[level] = (first[s->n_seq] - 1) / s->step[level] + 1;
    }
}

static hkt_status write_scores(const samples *s, hkt_tsv *out)
{
    size_t L = s->c->levels, H = s->c->heads;
    for (size_t i = 0; i < s->c->layers * L * H; i++) {
        size_t level = i / H % L, n = s->taken[level];
        double *x = s->sample + i * SAMPLE;
        row r = {.kind = "scores", .layer = i / H / L, .level = level, .head = i % H, .n = n, .status = "ok"};
        hkt_moments m;
        hkt_moments_clear(&m);
        hkt_moments_add_block(&m, x, n);
        r.kappa = hkt_moments_kappa(&m);
        r.skewness = hkt_moments_skewness(&m);
        hkt_status status = hkt_negentropy_spacing(x, n, &r.negentropy);
        if (status == HKT_ESYSTEM)
            return status;
        if (status != HKT_OK) {
            r.negentropy = (double)NAN;
            r.status = "skipped: equal, few or infinite scores have no entropy";
        }
        write_row(out, &r);
    }
    return HKT_OK;
}

static hkt_status measure_scores(const hkt_measure_context *ctx, hkt_tsv *out)
{
    samples s = {.c = &ctx->model->layout->config, .n_seq = ctx->sequences};
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&s.step, s.c->levels));
    HKT_TRY_GOTO(status, done, HKT_NEW(&s.taken, s.c->levels));
    HKT_TRY_GOTO(status, done, HKT_NEW(&s.first, s.c->levels * (s.n_seq + 1)));
    HKT_TRY_GOTO(status, done, HKT_NEW(&s.sample, s.c->layers * s.c->levels * s.c->heads * SAMPLE));
    plan(&s, ctx->data);
    HKT_TRY_GOTO(status, done, hkt_score_walk(ctx->model, ctx->data, s.n_seq, visit, &s));
    status = write_scores(&s, out);
done:
    hkt_free(s.step);
    hkt_free(s.taken);
    hkt_free(s.first);
    hkt_free(s.sample);
    return status;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    write_laws(out);
    return measure_scores(ctx, out);
}

const hkt_measurement hkt_measure_information = {
    "information", "leading terms of the negentropy of scores against its value: where the kurtosis correction holds",
    HKT_NEEDS_MODEL | HKT_NEEDS_DATA,
    "kind\tlayer\tlevel\thead\tn\tkappa\tskewness\tnegentropy\texpansion\tratio\tstatus", run};

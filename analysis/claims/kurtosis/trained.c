/* trained.c - kappa of the scores of a trained model: every head, and the median head. */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "analysis/claims/kurtosis/kurtosis.h"
#include "analysis/claims/subject.h"
#include "analysis/math/bootstrap.h"
#include "analysis/math/multiple.h"
#include "analysis/view/scores.h"
#include "base/mem.h"
#include "base/rng.h"

enum { REPLICATES = 2000 };

/* Resampled sequences, the same for every head and for both models: heads of one model are dependent. */
typedef struct {
    const hkt_score_moments *trained, *fresh; /* fresh may be NULL: the reference is then 1 */
    size_t heads, n_units;
    double *kappa, *reference, *p; /* [heads] as measured; p: of the test of kappa against its reference */
    double *kappa_of, *excess_of;  /* [heads, REPLICATES]; excess = kappa - reference */
    bool *defined;                 /* [heads] */
    size_t n_defined;
    double *work; /* [max(heads, REPLICATES)] */
    size_t *index;
} resampling;

static void resampling_free(resampling *b)
{
    hkt_free(b->kappa);
    hkt_free(b->kappa_of);
    hkt_free(b->defined);
    hkt_free(b->work);
    hkt_free(b->index);
}

static hkt_status resampling_create(resampling *b, const hkt_score_moments *trained, const hkt_score_moments *fresh)
{
    size_t heads = trained->layers * trained->levels * trained->heads;
    *b = (resampling){.trained = trained, .fresh = fresh, .heads = heads, .n_units = trained->n_units};
    HKT_TRY(HKT_NEW(&b->kappa, 3 * heads));
    b->reference = b->kappa + heads;
    b->p = b->reference + heads;
    HKT_TRY(HKT_NEW(&b->kappa_of, 2 * heads * REPLICATES));
    b->excess_of = b->kappa_of + heads * REPLICATES;
    HKT_TRY(HKT_NEW(&b->defined, heads));
    HKT_TRY(HKT_NEW(&b->work, heads > REPLICATES ? heads : REPLICATES));
    return HKT_NEW(&b->index, b->n_units);
}

static double pooled(const hkt_score_moments *s, size_t head, const size_t *index)
{
    return hkt_pooled_kappa(s->moments + head * s->n_units, index, s->n_units);
}

/* kappa of a Gaussian, or of the untrained head when that is larger (fmax passes over NaN). */
static double reference_of(const resampling *b, size_t head)
{
    return b->fresh ? fmax(1, pooled(b->fresh, head, b->index)) : 1;
}

/* A head whose kappa is not defined, on all sequences or on some resample, is left out. */
static void resample(resampling *b, uint64_t seed)
{
    for (size_t i = 0; i < b->n_units; i++)
        b->index[i] = i;
    for (size_t h = 0; h < b->heads; h++) {
        b->kappa[h] = pooled(b->trained, h, b->index);
        b->reference[h] = reference_of(b, h);
        b->defined[h] = !isnan(b->kappa[h]);
        b->p[h] = 1;
    }
    for (size_t r = 0; r < REPLICATES; r++) {
        hkt_bootstrap_draw(seed, r, b->n_units, b->index);
        for (size_t h = 0; h < b->heads; h++) {
            if (!b->defined[h])
                continue;
            double kappa = pooled(b->trained, h, b->index), excess = kappa - reference_of(b, h);
            b->kappa_of[h * REPLICATES + r] = kappa;
            b->excess_of[h * REPLICATES + r] = excess;
            b->defined[h] = !isnan(kappa);
            b->p[h] += excess <= 0;
        }
    }
    for (size_t h = 0; h < b->heads; h++) {
        b->p[h] = b->defined[h] ? b->p[h] / (REPLICATES + 1) : (double)NAN;
        b->n_defined += b->defined[h];
    }
}

typedef struct {
    double value, low, high;
} estimate;

/* 95 % percentile interval of REPLICATES values, which are sorted. */
static estimate interval(double value, double *of)
{
    estimate e = {.value = value};
    hkt_bootstrap_interval(of, REPLICATES, 0.025, 0.975, &e.low, &e.high);
    return e;
}

static double median(double *x, size_t n)
{
    gsl_sort(x, 1, n);
    return gsl_stats_median_from_sorted_data(x, 1, n);
}

/* Median over the heads of kappa less its reference, or of kappa itself, with its interval. `of` [REPLICATES] scratch.
 */
static estimate median_head(const resampling *b, bool excess, double *of)
{
    for (size_t r = 0; r < REPLICATES; r++) {
        size_t n = 0;
        for (size_t h = 0; h < b->heads; h++)
            if (b->defined[h])
                b->work[n++] = (excess ? b->excess_of : b->kappa_of)[h * REPLICATES + r];
        of[r] = median(b->work, n);
    }
    size_t n = 0;
    for (size_t h = 0; h < b->heads; h++)
        if (b->defined[h])
            b->work[n++] = b->kappa[h] - (excess ? b->reference[h] : 0);
    return interval(median(b->work, n), of);
}

/* Rows, and how many heads are above their reference: false discovery rate 5 % over p, which becomes adjusted. */
static hkt_status head_rows(resampling *b, hkt_check_result *out, size_t *above)
{
    const hkt_score_moments *s = b->trained;
    *above = 0;
    HKT_TRY(hkt_false_discovery(b->heads, b->p, b->p));
    for (size_t h = 0; h < b->heads; h++) {
        size_t layer = h / (s->levels * s->heads), level = h / s->heads % s->levels, head = h % s->heads;
        hkt_moments pool = hkt_score_moments_pool(s, layer, level, head);
        estimate e = {b->kappa[h], (double)NAN, (double)NAN};
        if (b->defined[h])
            e = interval(b->kappa[h], b->kappa_of + h * REPLICATES);
        *above += b->defined[h] && b->p[h] <= 0.05;
        HKT_TRY(hkt_check_row(out, "layer\tlevel\thead\tkappa\tlow\thigh\treference\tceiling\tn_units\tp_adjusted",
                              layer, level, head, e.value, e.low, e.high, b->reference[h], pool.n / 3, s->n_units,
                              b->defined[h] ? b->p[h] : (double)NAN));
    }
    return HKT_OK;
}

static hkt_status judge(const hkt_score_moments *trained, const hkt_score_moments *fresh, uint64_t seed,
                        hkt_check_result *out)
{
    resampling b = {0};
    size_t above;
    if (trained->n_units < 2) {
        hkt_check_skip(out, "needs at least 2 sequences to resample, found %zu", trained->n_units);
        return HKT_OK;
    }
    double *of = NULL;
    hkt_status status;
    HKT_TRY_GOTO(status, done, resampling_create(&b, trained, fresh));
    HKT_TRY_GOTO(status, done, HKT_NEW(&of, REPLICATES));
    resample(&b, seed);
    estimate kappa = {0}, excess = {0};
    if (b.n_defined > 0) {
        excess = median_head(&b, true, of);
        kappa = median_head(&b, false, of);
    }
    HKT_TRY_GOTO(status, done, head_rows(&b, out, &above));
    if (b.n_defined > 0) {
        hkt_check_interval(out, excess.low, excess.high);
        hkt_check_detail(out,
                         "median head: kappa %.3g [%.3g, %.3g], less its reference %.3g [%.3g, %.3g]; %zu of %zu heads "
                         "above (FDR 5 %%)",
                         kappa.value, kappa.low, kappa.high, excess.value, excess.low, excess.high, above, b.n_defined);
        hkt_check_left_out(out, b.heads - b.n_defined, "heads", "scores constant or out of range");
    } else
        hkt_check_skip(out, "kappa is defined on none of the %zu heads: scores constant or out of range", b.heads);
done:
    hkt_free(of);
    resampling_free(&b);
    return status;
}

hkt_status hkt_kurtosis_judge(double (*draw)(hkt_rng *rng), size_t constant, uint64_t seed, hkt_check_result *out)
{
    enum { HEADS = 8, SEQUENCES = 24 };
    hkt_moments moments[HEADS * SEQUENCES];
    hkt_score_moments s = {.n_units = SEQUENCES, .layers = 1, .levels = 1, .heads = HEADS, .moments = moments};
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 80);
    for (size_t i = 0; i < HEADS * SEQUENCES; i++) {
        hkt_moments_clear(moments + i);
        for (size_t n = 0; n < 500; n++)
            hkt_moments_add(moments + i, i / SEQUENCES < constant ? 1 : draw(&rng));
    }
    return judge(&s, NULL, seed, out);
}

static double draw_uniform(hkt_rng *rng)
{
    return hkt_rng_uniform(rng);
}

/* control: scores with light tails. */
static hkt_status trained(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    if (control)
        return hkt_kurtosis_judge(draw_uniform, 0, ctx->seed, out);
    if (!hkt_subject_trained(ctx, out))
        return HKT_OK;
    const hkt_config *c = &ctx->model->layout->config;
    hkt_dataset data;
    hkt_subject fresh = {0};
    hkt_score_moments after = {0}, before = {0};
    HKT_TRY(hkt_subject_held_out(ctx, ctx->quick ? 24 : 128, &data));
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_subject_fresh(c, ctx->seed, &fresh));
    hkt_checkpoint initial = {.layout = fresh.own, .params = fresh.params};
    HKT_TRY_GOTO(status, done, hkt_score_moments_collect(&after, ctx->model, &data, data.n));
    HKT_TRY_GOTO(status, done, hkt_score_moments_collect(&before, &initial, &data, data.n));
    status = judge(&after, &before, ctx->seed, out);
    hkt_check_condition(out, "trained weights, %s", ctx->data ? "held-out data" : "random tokens");
done:
    hkt_score_moments_free(&after);
    hkt_score_moments_free(&before);
    hkt_subject_close(&fresh);
    hkt_dataset_free(&data);
    return status;
}

const hkt_check hkt_kurtosis_trained = {
    .name = "trained",
    .kind = HKT_EMPIRICAL,
    .statement = "the median over the heads of kappa less its reference, the larger of 1 and the head's kappa with "
                 "untrained weights, is above 0 with its whole 95 % bootstrap interval over sequences (the same for "
                 "all heads); heads whose scores are constant or out of range are left out",
    .reference = "paper (kappa about 33)",
    .failure = "training has made the scores of most heads no heavier-tailed than a Gaussian",
    .finding = "scores of most trained heads are heavier-tailed than a Gaussian and than untrained",
    .of_model = true,
    .run = trained,
};

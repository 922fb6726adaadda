/* trained.c - kappa of the scores of a trained model: every head, and the median head. */
#include <math.h>
#include <stdlib.h>

#include "analysis/claims/kurtosis/kurtosis.h"
#include "analysis/claims/subject.h"
#include "analysis/math/bootstrap.h"
#include "analysis/math/multiple.h"
#include "analysis/view/scores.h"
#include "base/elementary.h"
#include "base/mem.h"
#include "base/rng.h"

enum { REPLICATES = 2000, PAPER_KAPPA = 33 };

/* Resampled sequences, the same for every head and for both models: heads of one model are dependent. */
typedef struct {
    const hkt_score_moments *trained, *fresh; /* fresh may be NULL: the reference is then 1 */
    size_t heads;
    double *influence; /* [2, n_units] scratch */
} subject;

enum { KAPPA, RATIO, PER_HEAD }; /* log kappa; log kappa less the log of its reference */

/* The reference of a head is kappa of a Gaussian, or of the untrained head when that is larger (fmax passes over NaN).
 * Both models see the same sequences: the error of the ratio is that of the difference of their influences. out [heads,
 * PER_HEAD]. */
static void estimate_heads(const void *data, const size_t *index, size_t n, hkt_estimate *out)
{
    const subject *s = data;
    double *own = s->influence, *other = own + n;
    for (size_t h = 0; h < s->heads; h++) {
        hkt_estimate *e = out + h * PER_HEAD;
        e[KAPPA] = hkt_pooled_log_kappa(s->trained->moments + h * n, index, n, own);
        e[RATIO] = e[KAPPA];
        if (!s->fresh)
            continue;
        hkt_estimate before = hkt_pooled_log_kappa(s->fresh->moments + h * n, index, n, other);
        if (!(before.value > 0))
            continue;
        e[RATIO] = (hkt_estimate){e[KAPPA].value - before.value, 0};
        for (size_t i = 0; i < n; i++)
            e[RATIO].error += (own[i] - other[i]) * (own[i] - other[i]);
        e[RATIO].error = sqrt(e[RATIO].error);
    }
}

/* Estimates from all sequences and from the resamples. */
typedef struct {
    size_t heads, n_defined;
    hkt_estimate *whole, *of; /* [heads, PER_HEAD]; [REPLICATES, heads, PER_HEAD] */
    bool *defined;            /* [heads]; a head whose kappa is not defined, on some resample too, is left out */
    double *p;                /* [heads] of the test that the ratio is above 1 */
    hkt_estimate *middle;     /* [1 + REPLICATES] of the median head */
    hkt_estimate *sorted;     /* [heads] scratch */
    double *scratch;          /* [REPLICATES] */
} resampling;

static void resampling_free(resampling *b)
{
    hkt_free(b->whole);
    hkt_free(b->defined);
    hkt_free(b->p);
}

static hkt_status resampling_create(resampling *b, size_t heads)
{
    *b = (resampling){.heads = heads};
    HKT_TRY(HKT_NEW(&b->whole, (1 + REPLICATES) * (heads * PER_HEAD + 1) + heads));
    b->of = b->whole + heads * PER_HEAD;
    b->middle = b->of + REPLICATES * heads * PER_HEAD;
    b->sorted = b->middle + 1 + REPLICATES;
    HKT_TRY(HKT_NEW(&b->defined, heads));
    HKT_TRY(HKT_NEW(&b->p, heads + REPLICATES));
    b->scratch = b->p + heads;
    return HKT_OK;
}

static hkt_status resample(resampling *b, const hkt_score_moments *trained, const hkt_score_moments *fresh,
                           uint64_t seed)
{
    subject s = {trained, fresh, b->heads, NULL};
    size_t k = b->heads * PER_HEAD;
    HKT_TRY(HKT_NEW(&s.influence, 2 * trained->n_units));
    hkt_status status =
        hkt_bootstrap_estimates(estimate_heads, &s, trained->n_units, k, REPLICATES, seed, b->whole, b->of);
    hkt_free(s.influence);
    HKT_TRY(status);
    for (size_t h = 0; h < b->heads; h++) {
        b->defined[h] = !isnan(b->whole[h * PER_HEAD].value);
        for (size_t r = 0; r < REPLICATES; r++)
            b->defined[h] = b->defined[h] && !isnan(b->of[r * k + h * PER_HEAD].value);
        b->n_defined += b->defined[h];
        b->p[h] = b->defined[h]
                      ? hkt_bootstrap_p(b->whole[h * PER_HEAD + RATIO], b->of + h * PER_HEAD + RATIO, k, REPLICATES)
                      : (double)NAN;
    }
    return HKT_OK;
}

/* A value and its 95 % studentised interval, back from logarithms. */
typedef struct {
    double value, low, high;
} estimate;

static estimate interval(hkt_estimate whole, const hkt_estimate *of, size_t stride, double *scratch)
{
    double low, high;
    hkt_bootstrap_studentised(whole, of, stride, REPLICATES, 0.95, scratch, &low, &high);
    return (estimate){hkt_exp(whole.value), hkt_exp(low), hkt_exp(high)};
}

static int ascending(const void *a, const void *b)
{
    const hkt_estimate *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Median over the defined heads; its error is that of the middle head, of two their mean: only its proportions between
 * resamples matter for a studentised interval. of: the first head's estimate of one kind. */
static hkt_estimate median(const resampling *b, const hkt_estimate *of)
{
    size_t n = 0;
    for (size_t h = 0; h < b->heads; h++)
        if (b->defined[h])
            b->sorted[n++] = of[h * PER_HEAD];
    qsort(b->sorted, n, sizeof *b->sorted, ascending);
    hkt_estimate low = b->sorted[(n - 1) / 2], high = b->sorted[n / 2];
    return (hkt_estimate){(low.value + high.value) / 2, (low.error + high.error) / 2};
}

/* Median head, of one kind of estimate. */
static estimate median_head(const resampling *b, size_t kind)
{
    b->middle[0] = median(b, b->whole + kind);
    for (size_t r = 0; r < REPLICATES; r++)
        b->middle[1 + r] = median(b, b->of + r * b->heads * PER_HEAD + kind);
    return interval(b->middle[0], b->middle + 1, 1, b->scratch);
}

/* Rows, and how many heads are above their reference: false discovery rate 5 % over p, which becomes adjusted. */
static hkt_status head_rows(resampling *b, const hkt_score_moments *s, hkt_check_result *out, size_t *above)
{
    *above = 0;
    HKT_TRY(hkt_false_discovery(b->heads, b->p, b->p));
    for (size_t h = 0; h < b->heads; h++) {
        size_t layer = h / (s->levels * s->heads), level = h / s->heads % s->levels, head = h % s->heads;
        hkt_moments pool = hkt_score_moments_pool(s, layer, level, head);
        const hkt_estimate *e = b->whole + h * PER_HEAD;
        estimate kappa = {hkt_exp(e[KAPPA].value), (double)NAN, (double)NAN};
        if (b->defined[h])
            kappa = interval(e[KAPPA], b->of + h * PER_HEAD + KAPPA, b->heads * PER_HEAD, b->scratch);
        *above += b->defined[h] && b->p[h] <= 0.05;
        HKT_TRY(hkt_check_row(out, "layer\tlevel\thead\tkappa\tlow\thigh\treference\tceiling\tn_units\tp_adjusted",
                              layer, level, head, kappa.value, kappa.low, kappa.high,
                              hkt_exp(e[KAPPA].value - e[RATIO].value), pool.n / 3, s->n_units,
                              b->defined[h] ? b->p[h] : (double)NAN));
    }
    return HKT_OK;
}

hkt_status hkt_kurtosis_judge_scores(const hkt_score_moments *trained, const hkt_score_moments *fresh, uint64_t seed,
                                     hkt_check_result *out)
{
    resampling b = {0};
    size_t above;
    if (trained->n_units < 2) {
        hkt_check_skip(out, "needs at least 2 sequences to resample, found %zu", trained->n_units);
        return HKT_OK;
    }
    hkt_status status;
    HKT_TRY_GOTO(status, done, resampling_create(&b, trained->layers * trained->levels * trained->heads));
    HKT_TRY_GOTO(status, done, resample(&b, trained, fresh, seed));
    HKT_TRY_GOTO(status, done, head_rows(&b, trained, out, &above));
    if (b.n_defined > 0) {
        estimate kappa = median_head(&b, KAPPA), over = median_head(&b, RATIO);
        hkt_check_interval(out, hkt_log(over.low), hkt_log(over.high));
        hkt_check_detail(out,
                         "log of the median head's kappa over its reference, %.3g [%.3g, %.3g]; kappa %.3g [%.3g, "
                         "%.3g]; %zu of %zu heads above (FDR 5 %%)",
                         over.value, over.low, over.high, kappa.value, kappa.low, kappa.high, above, b.n_defined);
        hkt_check_found(
            out,
            "kappa %.3g [%.3g, %.3g], median of %zu heads, %zu sequences: %s the paper's 33, and %s its "
            "reference (a Gaussian's 1, or that of untrained weights if larger), %.3g [%.3g, %.3g] times; %zu "
            "of %zu heads are above theirs (FDR 5 %%)",
            kappa.value, kappa.low, kappa.high, b.n_defined, trained->n_units,
            kappa.high < PAPER_KAPPA  ? "below"
            : kappa.low > PAPER_KAPPA ? "above"
                                      : "its interval contains",
            out->verdict == HKT_HOLDS      ? "above"
            : out->verdict == HKT_VIOLATED ? "below"
                                           : "not told from",
            over.value, over.low, over.high, above, b.n_defined);
        hkt_check_left_out(out, b.heads - b.n_defined, "heads", "scores constant or out of range");
    } else
        hkt_check_skip(out, "kappa is defined on none of the %zu heads: scores constant or out of range", b.heads);
done:
    resampling_free(&b);
    return status;
}

enum { PLANTED_HEADS = 8, PLANTED_SEQUENCES = 24 };

static hkt_score_moments plant(double (*draw)(hkt_rng *rng), size_t constant, hkt_rng *rng, hkt_moments *moments)
{
    for (size_t i = 0; i < PLANTED_HEADS * PLANTED_SEQUENCES; i++) {
        hkt_moments_clear(moments + i);
        for (size_t n = 0; n < 500; n++)
            hkt_moments_add(moments + i, i / PLANTED_SEQUENCES < constant ? 1 : draw(rng));
    }
    return (hkt_score_moments){
        .n_units = PLANTED_SEQUENCES, .layers = 1, .levels = 1, .heads = PLANTED_HEADS, .moments = moments};
}

hkt_status hkt_kurtosis_judge(double (*draw)(hkt_rng *rng), double (*untrained)(hkt_rng *rng), size_t constant,
                              uint64_t seed, hkt_check_result *out)
{
    hkt_moments after[PLANTED_HEADS * PLANTED_SEQUENCES], before[PLANTED_HEADS * PLANTED_SEQUENCES];
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 80);
    hkt_score_moments s = plant(draw, constant, &rng, after), fresh = {0};
    if (untrained)
        fresh = plant(untrained, 0, &rng, before);
    return hkt_kurtosis_judge_scores(&s, untrained ? &fresh : NULL, seed, out);
}

static double draw_uniform(hkt_rng *rng)
{
    return hkt_rng_uniform(rng);
}

/* control: scores with light tails. */
static hkt_status trained(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    if (control)
        return hkt_kurtosis_judge(draw_uniform, NULL, 0, ctx->seed, out);
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
    HKT_TRY_GOTO(status, done, hkt_score_moments_collect(&after, hkt_score_of_model(ctx->model, &data), data.n));
    HKT_TRY_GOTO(status, done, hkt_score_moments_collect(&before, hkt_score_of_model(&initial, &data), data.n));
    status = hkt_kurtosis_judge_scores(&after, &before, ctx->seed, out);
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
    .statement = "the median over the heads of kappa over its reference, the larger of 1 and the head's kappa with "
                 "untrained weights, is above 1 with its whole 95 % studentised bootstrap interval over sequences (the "
                 "same for all heads); heads whose scores are constant or out of range are left out",
    .reference = "paper (kappa about 33)",
    .failure = "training has made the scores of most heads no heavier-tailed than a Gaussian",
    .finding = "scores of most trained heads are heavier-tailed than a Gaussian and than untrained",
    .of_model = true,
    .run = trained,
};

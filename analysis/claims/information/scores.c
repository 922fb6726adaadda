/* scores.c - the kurtosis term of the negentropy on the scores of a trained model. */
#include <math.h>
#include <string.h>

#include "analysis/claims/information/information.h"
#include "analysis/claims/subject.h"
#include "analysis/math/draw.h"
#include "analysis/math/entropy.h"
#include "analysis/view/sample.h"
#include "base/mem.h"

enum { GROUPS = 10, MOST = 100000, MOST_QUICK = 20000 }; /* of sequences, for the jackknife; scores of a head */

typedef struct {
    double skewness, kappa, expansion, negentropy, error; /* error: standard error of the negentropy */
    size_t n;
    bool defined;
} estimate;

/* Negentropy of all sequences but those i with i % GROUPS == left_out (GROUPS: none); scratch [begin[n_seq]]. *n
 * values. */
static hkt_status pooled(const double *score, const size_t *begin, size_t n_seq, size_t left_out, double *scratch,
                         size_t *n, double *negentropy)
{
    *n = 0;
    for (size_t i = 0; i < n_seq; i++) {
        size_t count = begin[i + 1] - begin[i];
        if (i % GROUPS == left_out)
            continue;
        memcpy(scratch + *n, score + begin[i], count * sizeof *scratch);
        *n += count;
    }
    return hkt_negentropy_spacing(scratch, *n, negentropy);
}

/* Scores that are all equal, or of which many are, have no density: undefined, not an error. */
static hkt_status estimate_head(const double *score, const size_t *begin, size_t n_seq, double *scratch, estimate *out)
{
    double part[GROUPS], mean = 0, spread = 0;
    hkt_moments m;
    size_t n;
    *out = (estimate){.n = begin[n_seq]};
    hkt_moments_clear(&m);
    hkt_moments_add_block(&m, score, begin[n_seq]);
    out->skewness = hkt_moments_skewness(&m);
    out->kappa = hkt_moments_kappa(&m);
    out->expansion = hkt_negentropy_expansion(out->skewness, hkt_moments_excess(&m));
    hkt_status status = pooled(score, begin, n_seq, GROUPS, scratch, &n, &out->negentropy);
    for (size_t g = 0; g < GROUPS && status == HKT_OK; g++) {
        status = pooled(score, begin, n_seq, g, scratch, &n, part + g);
        mean += part[g] / GROUPS;
    }
    for (size_t g = 0; g < GROUPS; g++)
        spread += status == HKT_OK ? (part[g] - mean) * (part[g] - mean) : (double)NAN;
    /* Delete-a-group jackknife (Efron & Tibshirani 1993, ch. 11). A bootstrap would repeat values, which have no
     * spacing. */
    out->error = sqrt((GROUPS - 1.0) / GROUPS * spread);
    out->defined = status == HKT_OK && !isnan(out->kappa);
    return status == HKT_EINPUT ? HKT_OK : status;
}

/* Over the heads so far. */
typedef struct {
    size_t heads, within, undefined;
    double worst, worst_kappa, worst_negentropy, worst_expansion;
} tally;

/* What is left of the relative error after two standard errors of the estimate. */
static void add_head(tally *t, const estimate *e)
{
    double beyond = fmax(fabs(e->expansion - e->negentropy) - 2 * e->error, 0) / fabs(e->negentropy);
    t->heads++;
    if (!e->defined) {
        t->undefined++;
        return;
    }
    t->within += beyond <= 0.1;
    if (hkt_check_worse(t->worst, beyond) != t->worst) {
        t->worst = beyond;
        t->worst_kappa = e->kappa;
        t->worst_negentropy = e->negentropy;
        t->worst_expansion = e->expansion;
    }
}

static hkt_status add_row(hkt_check_result *out, size_t layer, size_t level, size_t head, const estimate *e)
{
    return hkt_check_row(
        out, "layer\tlevel\thead\tkappa\tskewness\texpansion\tnegentropy\tstd_error\trel_error\tscores", layer, level,
        head, e->kappa, e->skewness, e->expansion, e->negentropy, e->error, e->expansion / e->negentropy - 1, e->n);
}

static void conclude(const tally *t, size_t n_seq, hkt_check_result *out)
{
    if (t->undefined == t->heads) {
        hkt_check_skip(out, "the scores of no head have a density");
        return;
    }
    hkt_check_at_most(out, t->worst, 0.1);
    hkt_check_detail(out,
                     "there it says %.4g nats for %.4g at kappa %.3g, two standard errors taken off; %zu of %zu heads "
                     "within 10 %%, %zu undefined; %zu sequences",
                     t->worst_expansion, t->worst_negentropy, t->worst_kappa, t->within, t->heads, t->undefined, n_seq);
}

static hkt_status judge(const hkt_score_sample *s, hkt_check_result *out)
{
    double *scratch = NULL;
    tally t = {0};
    size_t longest = 0;
    const size_t *begin;
    for (size_t l = 0; l < s->levels; l++) {
        hkt_score_sample_of(s, 0, l, 0, &begin);
        longest = begin[s->n_seq] > longest ? begin[s->n_seq] : longest;
    }
    HKT_TRY(HKT_NEW(&scratch, longest));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < s->layers * s->levels * s->heads && status == HKT_OK; i++) {
        size_t layer = i / (s->levels * s->heads), level = i / s->heads % s->levels, head = i % s->heads;
        estimate e;
        const double *score = hkt_score_sample_of(s, layer, level, head, &begin);
        HKT_TRY_GOTO(status, done, estimate_head(score, begin, s->n_seq, scratch, &e));
        add_head(&t, &e);
        status = add_row(out, layer, level, head, &e);
    }
    if (status == HKT_OK)
        conclude(&t, s->n_seq, out);
done:
    hkt_free(scratch);
    return status;
}

/* Laplace scores, kappa 2. */
static hkt_status judge_laplace(const hkt_verify_context *ctx, hkt_check_result *out)
{
    enum { HEADS = 4, SEQUENCES = 20, SCORES = 500 };
    size_t step = 1, begin[SEQUENCES + 1];
    hkt_score_sample s = {.n_seq = SEQUENCES, .layers = 1, .levels = 1, .heads = HEADS, .step = &step, .begin = begin};
    for (size_t i = 0; i <= SEQUENCES; i++)
        begin[i] = i * SCORES;
    HKT_TRY(HKT_NEW(&s.score, HEADS * SEQUENCES * SCORES));
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 144);
    for (size_t i = 0; i < HEADS * SEQUENCES * SCORES; i++)
        s.score[i] = hkt_draw_laplace(&rng);
    hkt_status status = judge(&s, out);
    hkt_free(s.score);
    return status;
}
static hkt_status trained(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    if (control)
        return judge_laplace(ctx, out);
    if (!hkt_subject_trained(ctx, out))
        return HKT_OK;
    hkt_dataset data;
    hkt_score_sample s;
    HKT_TRY(hkt_subject_held_out(ctx, ctx->quick ? 20 : 120, &data));
    if (data.n < GROUPS) {
        hkt_check_skip(out, "needs %d sequences, the data have %zu", GROUPS, data.n);
        hkt_dataset_free(&data);
        return HKT_OK;
    }
    hkt_status status =
        hkt_score_sample_collect(&s, hkt_score_of_model(ctx->model, &data), data.n, ctx->quick ? MOST_QUICK : MOST);
    if (status == HKT_OK) {
        status = judge(&s, out);
        hkt_check_condition(out, "trained weights, %s", ctx->data ? "held-out data" : "random tokens");
        hkt_score_sample_free(&s);
    }
    hkt_dataset_free(&data);
    return status;
}

const hkt_check hkt_information_trained = {
    .name = "trained",
    .kind = HKT_EMPIRICAL,
    .statement = "on every head of the trained model the expansion is within 10 % of the spacing estimate of its "
                 "scores' negentropy",
    .reference = "docs/theory.md, information",
    .failure = "the kurtosis correction does not hold for trained scores",
    .finding = "the kurtosis term is within 10 % of the negentropy",
    .of_model = true,
    .run = trained,
    .holds = "on every head the expansion is within {b%} % of the negentropy: at most {m%} % off",
    .violated = "on some head the expansion is off by {m} times the negentropy (limit {b})",
};

/* --- scores that another program stored --- */

static hkt_status stored(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_score_sample s;
    if (control)
        return judge_laplace(ctx, out);
    if (!ctx->scores || ctx->scores->n < GROUPS) {
        if (ctx->scores)
            hkt_check_skip(out, "needs %d sequences, found %zu", GROUPS, ctx->scores->n);
        else
            hkt_check_skip(out, "no stored scores (--scores)");
        return HKT_OK;
    }
    HKT_TRY(hkt_score_sample_collect(&s, *ctx->scores, ctx->scores->n, ctx->quick ? MOST_QUICK : MOST));
    hkt_status status = judge(&s, out);
    hkt_score_sample_free(&s);
    return status;
}

const hkt_check hkt_information_scores_expansion = {
    .name = "scores-expansion",
    .kind = HKT_EMPIRICAL,
    .statement = "on every head the expansion is within 10 % of the spacing estimate of the negentropy of its stored "
                 "scores",
    .reference = "docs/theory.md, information",
    .failure = "the kurtosis correction does not hold for these scores",
    .finding = "the kurtosis term is within 10 % of the negentropy of these scores",
    .of_model = true,
    .run = stored,
    .holds = "on every head the expansion is within {b%} % of the negentropy: at most {m%} % off",
    .violated = "on some head the expansion is off by {m} times the negentropy (limit {b})",
};

static const hkt_check *const checks[] = {&hkt_information_scores_expansion};
static const hkt_headline headline[] = {
    {&hkt_information_scores_expansion, "", "", NULL},
};

const hkt_claim hkt_stored_claim_information = {
    .id = "information",
    .place = "summary",
    .statement = "the entropy of scores has a correction by their kurtosis: does it hold for these stored ones?",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

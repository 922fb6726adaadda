/* stored.c - Prop. 3.1 and Prop. 3.5 on the score matrices of queries and keys that another program stored. */
#include <math.h>
#include <stdio.h>

#include "analysis/claims/check.h"
#include "analysis/foreign/stored.h"
#include "base/mem.h"
#include "base/rng.h"

typedef struct {
    size_t seen, good, left_out;
} tally;

/* Whether the statement holds of a matrix that is not zero. */
typedef bool (*judge_matrix)(const hkt_form_summary *s);

static hkt_status add_matrix(tally *t, hkt_check_result *out, const hkt_score_pairs *pairs, const size_t place[3],
                             double *w, judge_matrix holds)
{
    hkt_form_summary s;
    HKT_TRY(hkt_score_matrix_summary(pairs, place[2], w, &s));
    if (s.norm == 0) {
        t->left_out++;
        return HKT_OK;
    }
    t->seen++;
    t->good += holds(&s);
    return hkt_check_row(out, "layer\tsequence\thead\tn\tpositive\tnegative\tzero\tnegative_mass\tantisymmetric_share",
                         place[0], place[1], place[2], s.dimension, s.inertia.positive, s.inertia.negative,
                         s.inertia.zero, s.negative_mass, s.antisymmetric);
}

static hkt_status add_stored(tally *t, hkt_check_result *out, const hkt_stored *stored, judge_matrix holds)
{
    hkt_stored_pairs pairs = {.block = NULL};
    double *w = NULL;
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_stored_pairs_create(&pairs, stored));
    HKT_TRY_GOTO(status, done, HKT_NEW(&w, stored->T));
    for (size_t i = 0; i < stored->layers * stored->n; i++) {
        HKT_TRY_GOTO(status, done, hkt_stored_pairs_read(stored, i / stored->n, i % stored->n, &pairs));
        for (size_t h = 0; h < stored->heads; h++)
            HKT_TRY_GOTO(status, done,
                         add_matrix(t, out, &pairs.pairs, (size_t[]){i / stored->n, i % stored->n, h}, w, holds));
    }
done:
    hkt_stored_pairs_free(&pairs);
    hkt_free(w);
    return status;
}

/* One head of 24 tokens, p 4, whose keys are its queries: the score matrix is a Gram matrix. */
static hkt_status add_tied(tally *t, hkt_check_result *out, uint64_t seed, judge_matrix holds)
{
    enum { T = 24, P = 4 };
    double q[T * P], w[T];
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 72);
    for (size_t i = 0; i < T * P; i++)
        q[i] = hkt_rng_normal(&rng);
    const hkt_score_pairs pairs = {
        .T = T, .heads = 1, .share = 1, .p = P, .q_ld = P, .k_ld = P, .scale = 0.5, .q = q, .k = q};
    return add_matrix(t, out, &pairs, (size_t[]){0, 0, 0}, w, holds);
}

/* detail: with the number of matrices. */
static hkt_status count(const hkt_verify_context *ctx, hkt_check_result *out, bool control, judge_matrix holds,
                        const char *what)
{
    tally t = {0};
    const hkt_stored *s = ctx->stored;
    if (!control && (!s || (s->scores && s->causal))) {
        hkt_check_skip(out, s ? "scores above the diagonal are not known: store queries and keys"
                              : "no stored scores (--scores)");
        return HKT_OK;
    }
    HKT_TRY(control ? add_tied(&t, out, ctx->seed, holds) : add_stored(&t, out, s, holds));
    if (t.seen == 0) {
        hkt_check_skip(out, "every score is zero");
        return HKT_OK;
    }
    hkt_check_equal(out, (double)t.good, (double)t.seen);
    hkt_check_detail(out, "all pairs of tokens, masked or not: %s; %zu matrices", what, t.seen);
    hkt_check_left_out(out, t.left_out, "matrices", "every score is zero");
    return HKT_OK;
}

/* --- psd --- */

static bool has_negative(const hkt_form_summary *s)
{
    return s->inertia.negative > 0;
}

static hkt_status psd(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return count(ctx, out, control, has_negative, "with an eigenvalue of the symmetric part below minus the tolerance");
}

const hkt_check hkt_psd_scores_gram = {
    .name = "scores-gram",
    .kind = HKT_EMPIRICAL,
    .statement = "the symmetric part of no score matrix q_i.k_j of a sequence is PSD",
    .reference = "paper, Prop. 3.1; docs/theory.md, models of others",
    .failure = "a symmetric Gram matrix of these scores has no negative eigenvalue that rounding cannot explain",
    .finding = "no symmetric Gram matrix of these scores is PSD",
    .of_model = true,
    .run = psd,
    .holds = "all {m} score matrices have a symmetric part with a negative eigenvalue: none is PSD",
    .violated = "only {m} of {b} score matrices have a symmetric part with a negative eigenvalue",
};

static const hkt_check *const psd_checks[] = {&hkt_psd_scores_gram};
static const hkt_headline psd_headline[] = {
    {&hkt_psd_scores_gram, "", "", NULL},
};

const hkt_claim hkt_stored_claim_psd = {
    .id = "psd",
    .place = "Prop. 3.1",
    .statement = "the symmetric Gram matrix of the scores is PSD under a condition: is it for these stored ones?",
    .checks = psd_checks,
    .n_checks = sizeof psd_checks / sizeof *psd_checks,
    .headline = psd_headline,
    .n_headline = sizeof psd_headline / sizeof *psd_headline,
};

/* --- asymmetry --- */

/* Norms, which rounding changes by at most the tolerance. */
static bool has_both(const hkt_form_summary *s)
{
    return sqrt(s->antisymmetric) * s->norm > s->tolerance && sqrt(1 - s->antisymmetric) * s->norm > s->tolerance;
}

static hkt_status asymmetry(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return count(ctx, out, control, has_both, "with both parts above the tolerance");
}

const hkt_check hkt_asymmetry_scores_parts = {
    .name = "scores-parts",
    .kind = HKT_EMPIRICAL,
    .statement =
        "every score matrix q_i.k_j of a sequence has a symmetric and an antisymmetric part, both above rounding",
    .reference = "paper, Prop. 3.5; docs/theory.md, models of others",
    .failure = "the scores of a sequence are purely reciprocal or purely directional",
    .finding = "the scores of every head and sequence have a reciprocal and a directional part",
    .of_model = true,
    .run = asymmetry,
    .holds = "all {m} score matrices have a symmetric and an antisymmetric part",
    .violated = "only {m} of {b} score matrices have both a symmetric and an antisymmetric part",
};

static const hkt_check *const asymmetry_checks[] = {&hkt_asymmetry_scores_parts};
static const hkt_headline asymmetry_headline[] = {
    {&hkt_asymmetry_scores_parts, "", "", NULL},
};

const hkt_claim hkt_stored_claim_asymmetry = {
    .id = "asymmetry",
    .place = "Prop. 3.5",
    .statement = "scores have a reciprocal and a directional part: these stored ones?",
    .checks = asymmetry_checks,
    .n_checks = sizeof asymmetry_checks / sizeof *asymmetry_checks,
    .headline = asymmetry_headline,
    .n_headline = sizeof asymmetry_headline / sizeof *asymmetry_headline,
};

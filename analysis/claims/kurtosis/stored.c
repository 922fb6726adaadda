/* stored.c - kappa of the scores that another program stored. */
#include "analysis/claims/kurtosis/kurtosis.h"

static double draw_uniform(hkt_rng *rng)
{
    return hkt_rng_uniform(rng);
}

/* control: scores with light tails. */
static hkt_status run(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_score_moments m;
    if (control)
        return hkt_kurtosis_judge(draw_uniform, NULL, 0, ctx->seed, out);
    if (!ctx->scores) {
        hkt_check_skip(out, "no stored scores (--scores)");
        return HKT_OK;
    }
    HKT_TRY(hkt_score_moments_collect(&m, *ctx->scores, ctx->scores->n));
    hkt_status status = hkt_kurtosis_judge_scores(&m, NULL, ctx->seed, out);
    hkt_score_moments_free(&m);
    return status;
}

const hkt_check hkt_kurtosis_scores_tails = {
    .name = "scores-tails",
    .kind = HKT_EMPIRICAL,
    .statement = "the median over the heads of kappa of the stored scores is above a Gaussian's 1 with its whole 95 % "
                 "studentised bootstrap interval over sequences; heads whose scores are constant or out of range are "
                 "left out",
    .reference = "paper (kappa about 33); docs/theory.md, models of others",
    .failure = "the scores of most heads are no heavier-tailed than a Gaussian",
    .finding = "scores of most heads are heavier-tailed than a Gaussian",
    .of_model = true,
    .run = run,
};

static const hkt_check *const checks[] = {&hkt_kurtosis_scores_tails};
static const hkt_headline headline[] = {
    {&hkt_kurtosis_scores_tails, "", "", ""},
};

const hkt_claim hkt_stored_claim_kurtosis = {
    .id = "kurtosis",
    .place = "summary",
    .statement = "scores of a trained model are far from Gaussian, kappa about 33: these stored ones?",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

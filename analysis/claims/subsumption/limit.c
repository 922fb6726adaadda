/* limit.c - check `limit` of `subsumption`: how fast the model tends to standard attention. */
#include <math.h>

#include "analysis/claims/subsumption/subsumption.h"
#include "model/net.h"

/* bound [d] of |Y - A V^(0)| at finite theta_0 = beta logit (docs/theory.md, "subsumption", limit), and the largest of
 * 1 - alpha_0 beta. */
static void limit_bound(const hkt_subsumption_trial *t, const hkt_tap_f64 *tap, double beta, double *bound)
{
    const hkt_config *c = &t->config;
    size_t d = c->d_model;
    for (size_t j = 0; j < d; j++) {
        bound[j] = 0;
        for (size_t l = 0; l < c->levels; l++) {
            const double *conv = t->s.params + t->s.layout->layer[0].level[l].conv;
            double v = 0, taps = 0;
            for (size_t i = 0; i < tap->offset[l][1]; i++)
                v = fmax(v, fabs(tap->v[l][i * tap->ld[l] + j]));
            for (size_t k = 0; k < c->conv_width; k++)
                taps += fabs(conv[k * d + j]);
            double rest = 1 - tap->alpha[0] * beta + tap->alpha[0] * (1 - beta) * taps;
            bound[j] += l == 0 ? rest * v : tap->alpha[l] * fmax(1, taps) * v;
        }
    }
}

/* One point t = theta_0 = beta logit: ratio of the distance from the target to the bound for attention. */
static hkt_status approach(hkt_subsumption_trial *t, double point, hkt_subsumption_target what, hkt_check_result *out,
                           double *worst)
{
    hkt_scene scene = {0};
    double bound[64], beta = 1 / (1 + exp(-point)), distance = 0, ratio = 0;
    size_t d = t->config.d_model;
    hkt_status status;
    HKT_ASSERT(d <= sizeof bound / sizeof *bound);
    hkt_subsumption_set_limits(t, point, point, false);
    HKT_TRY(hkt_subsumption_forward_f64(t->s.layout, t->s.params, t->T, t->tokens, t->x, t->y, t->slack));
    HKT_TRY(hkt_subsumption_plain_heads(t, what, 0x1p-53));
    HKT_TRY_GOTO(status, done, hkt_scene_open(&scene, t->s.layout, t->s.params, t->T));
    HKT_TRY_GOTO(status, done, hkt_scene_see(&scene, t->T, t->tokens));
    limit_bound(t, scene.tap, beta, bound);
    for (size_t i = 0; i < t->T * d; i++) {
        double e = fabs(t->y[i] - t->plain[i]);
        distance = hkt_check_worse(distance, e);
        ratio = hkt_check_worse(ratio, e / (bound[i % d] * (1 + 0x1p-40) + 4 * (t->bound[i] + t->slack[i])));
    }
    *worst = hkt_check_worse(*worst, ratio);
    double cells[] = {point, 1 - scene.tap->alpha[0], 1 - beta, distance, ratio};
    status = hkt_check_row(out, "t\trest_of_alpha\t1-beta\tdistance\tof_bound", cells);
done:
    hkt_scene_close(&scene);
    return status;
}

/* control: the distance from convolution does not tend to zero. */
static hkt_status limit(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const hkt_subsumption_target what = control ? HKT_TO_CONVOLUTION : HKT_TO_ATTENTION;
    static const double point[] = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32};
    enum { POINTS = sizeof point / sizeof *point };
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, HKT_SUBSUMPTION_INPUTS);
    hkt_config c = hkt_subsumption_random_config(&rng, 1, 64);
    hkt_subsumption_trial t;
    double worst = 0;
    c.levels = 3;
    c.fusion = HKT_FUSION_STATIC;
    HKT_TRY(hkt_subsumption_trial_open(ctx->seed, &c, 64, &rng, &t));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < POINTS && status == HKT_OK; i++)
        status = approach(&t, point[i], what, out, &worst);
    hkt_subsumption_trial_close(&t);
    HKT_TRY(status);
    hkt_check_at_most(out, worst, 1);
    hkt_check_condition(out, "theta_0 and the logits of beta tend to infinity");
    hkt_check_detail(
        out, "distance from standard attention falls from %.2g at t = 1 to %.2g at t = 32; in units of its bound",
        out->rows.cell[3], out->rows.cell[(POINTS - 1) * out->rows.n_cols + 3]);
    return HKT_OK;
}

const hkt_check hkt_subsumption_limit = {
    .name = "limit",
    .kind = HKT_NUMERIC,
    .statement =
        "at finite theta_0 = beta logit = t the distance from standard attention is below a bound of order e^-t",
    .reference = "docs/theory.md, subsumption",
    .failure = "standard attention is not the limit of the model",
    .finding = "the distance from standard attention is of order e^-t at finite parameters t",
    .run = limit,
};

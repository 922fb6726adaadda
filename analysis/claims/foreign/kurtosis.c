/* kurtosis.c - the paper's kappa of about 33 on the heads of a model of another kind: what the weights alone can do. */
#include "analysis/claims/foreign/walk.h"
#include "analysis/math/certify.h"

static hkt_status see_kappa(hkt_foreign_walk *w, hkt_form_kind kind, size_t index)
{
    const char *const name[] = {hkt_form_kind_name(kind)};
    hkt_foreign_form f;
    hkt_form_summary s = {0};
    hkt_status status = hkt_foreign_form_open(&f, w, kind, index);
    if (status == HKT_OK)
        status = hkt_head_form_summary(&f.form, w->model, 0, f.eigenvalues, &s);
    if (status == HKT_OK && s.norm == 0)
        w->left_out++;
    else if (status == HKT_OK) {
        const double kappa = w->control ? 3 * s.kappa : s.kappa;
        w->seen++;
        w->good += kappa > 1;
        w->worst = hkt_check_worse(w->worst, kappa);
        status = hkt_check_named_row(w->out, HKT_FOREIGN_PLACE "kappa", name, w->layer, index, kappa);
    }
    hkt_foreign_form_close(&f);
    return status;
}

/* control: m4 / m2^2, without the division by 3 that makes 1 Gaussian. */
static hkt_status ceiling(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_foreign_walk w = {.out = out, .control = control};
    HKT_TRY(hkt_foreign_walk_heads(ctx, control ? HKT_FOREIGN_UNTIED : HKT_FOREIGN_MODEL, true, see_kappa, &w));
    if (hkt_foreign_walk_skips(&w, "every form is zero"))
        return HKT_OK;
    const size_t k = control ? 8 : 2 * ctx->foreign->shape.p;
    hkt_check_at_most(out, w.worst, 3 * (1 + 4 * hkt_gamma(k * k + 2 * k + 16)));
    hkt_check_detail(out, "%zu forms, %zu above a Gaussian's 1; the paper's 33 is beyond any weights", w.seen, w.good);
    hkt_check_left_out(out, w.left_out, "forms", "they are zero");
    hkt_check_condition(out, "inputs are independent and normal");
    return HKT_OK;
}

const hkt_check hkt_kurtosis_head_ceiling = {
    .name = "head-ceiling",
    .kind = HKT_IMPLEMENTATION,
    .statement =
        "kappa of the scores of independent standard normal inputs is at most 3, whatever the weights and biases (a "
        "theorem: only wrong arithmetic can violate it): here the largest over all forms at lag 0",
    .reference = "docs/theory.md, models of others",
    .failure = "the closed form is computed wrong",
    .finding =
        "these weights give normal inputs kappa of at most 3: heavy tails like the paper's 33 come from the inputs",
    .of_model = true,
    .run = ceiling,
    .holds = "normal inputs would give these heads a kappa of {m} at most; no weights give more than 3",
    .violated = "normal inputs would give a head a kappa of {m}, beyond the 3 that any weights can give: the "
                "arithmetic is wrong",
};

static const hkt_check *const checks[] = {&hkt_kurtosis_head_ceiling};
static const hkt_headline headline[] = {
    {&hkt_kurtosis_head_ceiling, "", "", NULL},
};

const hkt_claim hkt_foreign_claim_kurtosis = {
    .id = "kurtosis",
    .place = "summary",
    .statement =
        "scores of a trained model are far from Gaussian, kappa about 33: do this model's weights make them so?",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

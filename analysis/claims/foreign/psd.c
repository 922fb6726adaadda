/* psd.c - Prop. 3.1 on the heads of a model of another kind: is a form PSD? */
#include "analysis/claims/foreign/walk.h"
#include "analysis/view/gram.h"

/* --- head-inertia --- */

static hkt_status count_rank(hkt_foreign_walk *w, hkt_form_kind kind, size_t head)
{
    const hkt_foreign_shape *s = &w->model->shape;
    const size_t n = s->p * s->d, key = head / (s->heads / s->key_heads);
    const char *const name[] = {hkt_form_kind_name(kind)};
    size_t rank = 0;
    if (2 * s->p > s->d) {
        w->left_out++;
        return HKT_OK;
    }
    HKT_TRY(hkt_form_rank(s->d, s->p, w->weights.wq + head * n, w->weights.wk + key * n, &rank));
    w->seen++;
    w->good += rank == 2 * s->p;
    return hkt_check_named_row(w->out, HKT_FOREIGN_PLACE "rank\tp\td", name, w->layer, head, rank, s->p, s->d);
}

/* control: Wk = Wq, whose forms are PSD. */
static hkt_status inertia(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_foreign_walk w = {.out = out, .control = control};
    HKT_TRY(hkt_foreign_walk_heads(ctx, control ? HKT_FOREIGN_TIED : HKT_FOREIGN_MODEL, false, count_rank, &w));
    if (hkt_foreign_walk_skips(&w, "2p > d: ranks decide nothing"))
        return HKT_OK;
    hkt_check_equal(out, (double)w.good, (double)w.seen);
    hkt_check_detail(
        out,
        "[Wq; Wk] has rank 2p, proved modulo 2^61 - 1, so that M_s at every lag has inertia (p, p, d - 2p); %zu heads",
        w.seen);
    hkt_check_left_out(out, w.left_out, "heads", "2p > d");
    return HKT_OK;
}

const hkt_check hkt_psd_head_inertia = {
    .name = "head-inertia",
    .kind = HKT_EXACT,
    .statement = "[Wq; Wk] of every head, as stored, has rank 2p <= d: M_s then has p positive and p negative "
                 "eigenvalues, at every lag of rotary positions",
    .reference = "Sylvester's law of inertia; docs/theory.md, models of others",
    .failure = "a head has dependent or tied queries and keys: its form may be PSD",
    .finding = "M_s of every head has p negative eigenvalues: none meets the condition of Prop. 3.1",
    .of_model = true,
    .run = inertia,
    .holds = "all {m} heads have p positive and p negative eigenvalues: none is PSD",
    .violated = "only {m} of {b} heads are proved to have p negative eigenvalues",
};

/* --- head-forms --- */

enum { MOST_LAG = 1024 };

/* Every lag has a form; without rotary positions lag 0 is all. */
static hkt_status count_signs(hkt_foreign_walk *w, hkt_form_kind kind, size_t index)
{
    const char *const name[] = {hkt_form_kind_name(kind)};
    const size_t most = w->model->shape.rotary ? MOST_LAG : 0;
    hkt_foreign_form f;
    hkt_status status = hkt_foreign_form_open(&f, w, kind, index);
    for (size_t lag = 0; lag <= most && status == HKT_OK; lag = lag ? 2 * lag : 1) {
        hkt_form_summary s;
        status = hkt_head_form_summary(&f.form, w->model, lag, f.eigenvalues, &s);
        if (status != HKT_OK)
            break;
        if (s.norm == 0) {
            w->left_out++;
            continue;
        }
        w->seen++;
        w->good += s.inertia.negative > 0;
        status = hkt_check_named_row(w->out, HKT_FOREIGN_PLACE "lag\tn\tpositive\tnegative\tzero\tnegative_mass", name,
                                     w->layer, index, lag, s.dimension, s.inertia.positive, s.inertia.negative,
                                     s.inertia.zero, s.negative_mass);
    }
    hkt_foreign_form_close(&f);
    return status;
}

/* control: Wk = Wq, whose forms are PSD. */
static hkt_status forms(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_foreign_walk w = {.out = out, .control = control};
    HKT_TRY(hkt_foreign_walk_heads(ctx, control ? HKT_FOREIGN_TIED : HKT_FOREIGN_MODEL, true, count_signs, &w));
    if (hkt_foreign_walk_skips(&w, "every form is zero"))
        return HKT_OK;
    hkt_check_equal(out, (double)w.good, (double)w.seen);
    hkt_check_detail(out, "below minus the tolerance; %zu forms: weights, norm, affine, group%s", w.seen,
                     ctx->foreign && ctx->foreign->shape.rotary ? "; lags 0, 1, 2, 4, ..., 1024" : "");
    hkt_check_left_out(out, w.left_out, "forms", "they are zero");
    return HKT_OK;
}

const hkt_check hkt_psd_head_forms = {
    .name = "head-forms",
    .kind = HKT_EMPIRICAL,
    .statement =
        "no form of the model is PSD: with the norm's gain, with biases, of the heads that share a key head, at "
        "every lag of rotary positions",
    .reference = "paper, Prop. 3.1; docs/theory.md, models of others",
    .failure = "a form of the model has no negative eigenvalue that rounding cannot explain",
    .finding = "no form of the model is PSD: Prop. 3.1 does not apply to it",
    .of_model = true,
    .run = forms,
    .holds = "all {m} forms have a negative eigenvalue: none is PSD",
    .violated = "only {m} of {b} forms have a negative eigenvalue that rounding cannot explain",
};

static const hkt_check *const checks[] = {&hkt_psd_head_inertia, &hkt_psd_head_forms};
static const hkt_headline headline[] = {
    {&hkt_psd_head_inertia, "", "", NULL},
    {&hkt_psd_head_forms, "", "", NULL},
};

const hkt_claim hkt_foreign_claim_psd = {
    .id = "psd",
    .place = "Prop. 3.1",
    .statement = "if every M_s is PSD, the symmetric Gram matrix of the scores is PSD: is any M_s of this model?",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

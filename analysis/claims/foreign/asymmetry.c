/* asymmetry.c - Prop. 3.5 on the heads of a model of another kind: the two parts of a form and their energies. */
#include <float.h>
#include <math.h>

#include "analysis/claims/foreign/walk.h"
#include "analysis/math/certify.h"

/* c^2 <Wq Wq^T, Wk Wk^T> = ||M||^2, and terms = (c ||Wq||_F ||Wk||_F)^2, from the rows [p, d]. */
static void energy(const hkt_foreign_shape *s, const double *wq, const double *wk, double *norm2, double *terms)
{
    double sum = 0, q2 = 0, k2 = 0;
    for (size_t i = 0; i < s->p; i++)
        for (size_t j = 0; j < s->p; j++) {
            double q = 0, k = 0;
            for (size_t c = 0; c < s->d; c++) {
                q += wq[i * s->d + c] * wq[j * s->d + c];
                k += wk[i * s->d + c] * wk[j * s->d + c];
            }
            sum += q * k;
            q2 += i == j ? q : 0;
            k2 += i == j ? k : 0;
        }
    *norm2 = s->scale * s->scale * sum;
    *terms = s->scale * s->scale * q2 * k2;
}

/* What one head's core says of its parts, and its rows say without it. */
typedef struct {
    double symmetric, antisymmetric; /* energies */
    double norm2, terms;
} parts;

static hkt_status see(const hkt_foreign_walk *w, size_t head, parts *out)
{
    const hkt_foreign_shape *s = &w->model->shape;
    const size_t n = s->p * s->d, key = head / (s->heads / s->key_heads);
    hkt_foreign_form f;
    hkt_form_summary sum = {0};
    hkt_status status = hkt_foreign_form_open(&f, w, HKT_FORM_WEIGHTS, head);
    if (status == HKT_OK)
        status = hkt_head_form_summary(&f.form, w->model, 0, f.eigenvalues, &sum);
    if (status == HKT_OK) {
        energy(s, w->weights.wq + head * n, w->weights.wk + key * n, &out->norm2, &out->terms);
        out->antisymmetric = sum.norm > 0 ? sum.antisymmetric * sum.norm * sum.norm : 0;
        out->symmetric = 0;
        for (size_t i = 0; i < sum.dimension; i++)
            out->symmetric += f.eigenvalues[i] * f.eigenvalues[i];
    }
    hkt_foreign_form_close(&f);
    return status;
}

/* --- head-pythagoras --- */

static hkt_status add_up(hkt_foreign_walk *w, hkt_form_kind kind, size_t head)
{
    const char *const name[] = {hkt_form_kind_name(kind)};
    parts e;
    HKT_TRY(see(w, head, &e));
    const double error = fabs(e.symmetric + (w->control ? 0 : e.antisymmetric) - e.norm2);
    const double relative = hkt_check_relative(error, e.terms);
    w->seen++;
    w->worst = hkt_check_worse(w->worst, relative);
    return hkt_check_named_row(w->out, HKT_FOREIGN_PLACE "symmetric\tantisymmetric\tnorm_squared\trelative_error", name,
                               w->layer, head, e.symmetric, e.antisymmetric, e.norm2, relative);
}

/* control: without the antisymmetric part. */
static hkt_status pythagoras(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_foreign_walk w = {.out = out, .control = control};
    size_t d = 24, p = 4; /* of the planted heads */
    HKT_TRY(hkt_foreign_walk_heads(ctx, control ? HKT_FOREIGN_UNTIED : HKT_FOREIGN_MODEL, false, add_up, &w));
    if (hkt_foreign_walk_skips(&w, "no head"))
        return HKT_OK;
    if (!control) {
        d = ctx->foreign->shape.d;
        p = ctx->foreign->shape.p;
    }
    /* docs/theory.md, "models of others", checks. */
    hkt_check_at_most(out, w.worst, 4 * (double)(d + p) * DBL_EPSILON + hkt_gamma(2 * d + p * p + 8));
    hkt_check_detail(out,
                     "| ||M_s||^2 + ||M_a||^2 - ||M||^2 | over (c ||Wq|| ||Wk||)^2, %zu heads: parts from the core, "
                     "the whole from Wq Wq' and Wk Wk'",
                     w.seen);
    return HKT_OK;
}

const hkt_check hkt_asymmetry_head_pythagoras = {
    .name = "head-pythagoras",
    .kind = HKT_IMPLEMENTATION,
    .statement = "||M||^2 = ||M_s||^2 + ||M_a||^2 for the form of every head",
    .reference = "paper, Prop. 3.5; docs/theory.md, models of others",
    .failure = "the parts of a form that the tables show are not those of its weights",
    .of_model = true,
    .run = pythagoras,
    .holds = "the energies of the two parts add up to that of the form, to {m}; rounding allows {b}",
    .violated = "the energies of the two parts do not add up to that of the form: {m}, rounding allows {b}",
};

/* --- head-parts --- */

static hkt_status count_parts(hkt_foreign_walk *w, hkt_form_kind kind, size_t head)
{
    const hkt_foreign_shape *s = &w->model->shape;
    const char *const name[] = {hkt_form_kind_name(kind)};
    const double unit = (double)(s->d + s->p) * DBL_EPSILON;
    parts e;
    HKT_TRY(see(w, head, &e));
    if (!(e.norm2 > 0)) {
        w->left_out++;
        return HKT_OK;
    }
    const double share = e.antisymmetric / e.norm2, least = unit * sqrt(e.terms);
    w->seen++;
    w->good += sqrt(e.antisymmetric) > least && sqrt(e.symmetric) > least;
    return hkt_check_named_row(w->out, HKT_FOREIGN_PLACE "antisymmetric_share", name, w->layer, head, share);
}

/* control: Wk = Wq, whose forms are symmetric. */
static hkt_status both(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_foreign_walk w = {.out = out, .control = control};
    HKT_TRY(hkt_foreign_walk_heads(ctx, control ? HKT_FOREIGN_TIED : HKT_FOREIGN_MODEL, false, count_parts, &w));
    if (hkt_foreign_walk_skips(&w, "every form is zero"))
        return HKT_OK;
    hkt_check_equal(out, (double)w.good, (double)w.seen);
    hkt_check_detail(out, "both above rounding; %zu heads", w.seen);
    hkt_check_left_out(out, w.left_out, "heads", "the form is zero");
    return HKT_OK;
}

const hkt_check hkt_asymmetry_head_parts = {
    .name = "head-parts",
    .kind = HKT_EMPIRICAL,
    .statement =
        "the form of every head has a symmetric (reciprocal) and an antisymmetric (directional) part, both above "
        "the rounding of the core",
    .reference = "paper, Prop. 3.5; docs/theory.md, models of others",
    .failure = "a head's scores are purely reciprocal or purely directional",
    .finding = "the scores of every head have a reciprocal and a directional part",
    .of_model = true,
    .run = both,
    .holds = "all {m} heads have a reciprocal and a directional part",
    .violated = "only {m} of {b} heads have a reciprocal and a directional part",
};

static const hkt_check *const checks[] = {&hkt_asymmetry_head_pythagoras, &hkt_asymmetry_head_parts};
static const hkt_headline headline[] = {
    {&hkt_asymmetry_head_parts, "", "", NULL},
};

const hkt_claim hkt_foreign_claim_asymmetry = {
    .id = "asymmetry",
    .place = "Prop. 3.5",
    .statement =
        "scores have a reciprocal and a directional part, orthogonal to each other: those of this model's heads?",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

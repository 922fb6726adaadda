/* inertia.c - checks of `psd` on the signs of the forms M_s, from the weights alone. */
#include <math.h>

#include "analysis/claims/psd/psd.h"
#include "base/mem.h"

typedef struct {
    hkt_inertia inertia;
    double mass; /* sum |negative| / sum |all| */
    size_t rank; /* of [Wq; Wk] */
} form_signs;

/* tied: the form of the queries with themselves, whatever the keys are. */
static hkt_status signs_of(const hkt_subject *s, size_t layer, size_t level, size_t head, bool tied, form_signs *out)
{
    size_t d = s->layout->config.d_model, p = d / s->layout->config.heads;
    const double *wq = hkt_subject_wq(s, layer, level, head), *wk = hkt_subject_wk(s, layer, level, head);
    double *ms = NULL;
    HKT_TRY(HKT_NEW(&ms, d * d + 2 * p * d + d + 2 * p));
    double *stack = ms + d * d, *w = stack + 2 * p * d;
    hkt_status status;
    for (size_t i = 0; i < p * d; i++) {
        stack[i] = wq[i];
        stack[p * d + i] = wk[i];
    }
    HKT_TRY_GOTO(status, done, hkt_singular_values(2 * p, d, stack, w));
    out->rank = hkt_rank_of(2 * p, d, w);
    hkt_score_form_sym(d, p, wq, tied ? wq : wk, ms);
    HKT_TRY_GOTO(status, done, hkt_eigenvalues(d, ms, w));
    out->inertia = hkt_inertia_of(d, w);
    double mass = hkt_negative_mass(d, w);
    out->mass = isnan(mass) ? 0 : mass;
done:
    hkt_free(ms);
    return status;
}

typedef struct {
    size_t forms, regular, as_stated, violating; /* regular: 2p <= d and rank 2p */
    double mass_min, mass_max, mass_sum;
} form_counts;

static hkt_status count_forms(const hkt_subject *s, bool trained, bool tied, hkt_check_result *out, form_counts *n)
{
    const hkt_config *c = &s->layout->config;
    size_t d = c->d_model, p = d / c->heads;
    for (size_t layer = 0; layer < c->layers; layer++)
        for (size_t level = 0; level < c->levels; level++)
            for (size_t head = 0; head < c->heads; head++) {
                form_signs f;
                HKT_TRY(signs_of(s, layer, level, head, tied, &f));
                bool regular = 2 * p <= d && f.rank == 2 * p;
                n->regular += regular;
                n->as_stated += regular && f.inertia.positive == p && f.inertia.negative == p;
                n->violating += f.inertia.negative > 0;
                n->mass_min = n->forms == 0 ? f.mass : fmin(n->mass_min, f.mass);
                n->mass_max = n->forms == 0 ? f.mass : fmax(n->mass_max, f.mass);
                n->mass_sum += f.mass;
                n->forms++;
                double cells[] = {trained,
                                  (double)layer,
                                  (double)level,
                                  (double)head,
                                  (double)p,
                                  (double)f.rank,
                                  (double)f.inertia.positive,
                                  (double)f.inertia.negative,
                                  (double)f.inertia.zero,
                                  f.mass};
                HKT_TRY(hkt_check_row(
                    out, "trained\tlayer\tlevel\thead\tp\trank\tpositive\tnegative\tzero\tnegative_mass", cells));
            }
    return HKT_OK;
}

/* A fresh model of the subject's config with this many heads. */
static hkt_status count_fresh(const hkt_subject *like, size_t heads, uint64_t seed, bool tied, hkt_check_result *out,
                              form_counts *n)
{
    hkt_config c = like->layout->config;
    hkt_subject s;
    c.heads = heads;
    HKT_TRY(hkt_subject_fresh(&c, seed, &s));
    hkt_status status = count_forms(&s, false, tied, out, n);
    hkt_subject_close(&s);
    return status;
}

/* Fresh heads of the same width, heads of twice and half that number where d allows it, and one head of width d (2p >
 * d), which is reported but not counted; with a checkpoint, its own. control: the form Wq' Wq, of inertia (p, 0, d-p).
 */
static hkt_status generic(const hkt_verify_context *ctx, hkt_check_result *out, bool tied)
{
    hkt_subject s;
    form_counts n = {0}, one = {0};
    HKT_TRY(hkt_subject_open(ctx, &s));
    size_t d = s.layout->config.d_model, H = s.layout->config.heads;
    hkt_status status = HKT_OK;
    if (ctx->model)
        HKT_TRY_GOTO(status, done, count_forms(&s, true, tied, out, &n));
    for (size_t heads = H > 3 ? H / 2 : 2; heads <= 2 * H; heads++)
        if (d % heads == 0)
            HKT_TRY_GOTO(status, done, count_fresh(&s, heads, ctx->seed, tied, out, &n));
    HKT_TRY_GOTO(status, done, count_fresh(&s, 1, ctx->seed, tied, out, &one));
    if (n.regular == 0)
        hkt_check_skip(out, "no head with 2p <= d and [Wq; Wk] of rank 2p");
    else {
        hkt_check_equal(out, (double)n.as_stated, (double)n.regular);
        hkt_check_detail(
            out,
            "forms with inertia (p, p, d-2p), of %zu with 2p <= d; one head of width p = d: %zu of %zu forms have "
            "a negative eigenvalue",
            n.regular, one.violating, one.forms);
    }
    hkt_check_condition(out, "2p <= d and [Wq; Wk] has rank 2p");
done:
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_psd_generic_inertia = {
    .name = "generic-inertia",
    .kind = HKT_NUMERIC,
    .statement = "2 sqrt(p) M_s = [Wq;Wk]' J [Wq;Wk] has inertia (p, p, d-2p), fresh and trained",
    .reference = "Sylvester's law of inertia",
    .failure = "some untied head may meet the condition",
    .finding = "M_s of an untied head has p negative eigenvalues: it is never PSD",
    .of_model = true,
    .run = generic,
};

/* control: tied weights, which meet the condition. */
static hkt_status mass(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_subject s;
    form_counts n = {0};
    if (!control && !hkt_subject_trained(ctx, out))
        return HKT_OK;
    HKT_TRY(hkt_subject_open(ctx, &s));
    if (control)
        hkt_subject_tie(&s);
    hkt_status status = count_forms(&s, true, false, out, &n);
    hkt_subject_close(&s);
    HKT_TRY(status);
    hkt_check_equal(out, (double)n.violating, (double)n.forms);
    hkt_check_condition(out, "trained weights");
    hkt_check_detail(out, "forms with a negative eigenvalue; negative mass %.3f on average, %.3f to %.3f",
                     n.mass_sum / (double)n.forms, n.mass_min, n.mass_max);
    return HKT_OK;
}

const hkt_check hkt_psd_negative_mass = {
    .name = "negative-mass",
    .kind = HKT_EMPIRICAL,
    .statement = "no form of the trained model is PSD; sum|negative| / sum|all| for each",
    .reference = "paper's summary",
    .failure = "a trained head meets the condition",
    .finding = "no M_s of the trained model is PSD: Prop. 3.1 does not apply to it",
    .of_model = true,
    .run = mass,
};

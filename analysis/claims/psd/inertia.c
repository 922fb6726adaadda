/* inertia.c - checks of `psd` on signs: of the forms M_s, from the weights alone, and of the Gram matrix of a sequence
 * far too long for T x T, by streaming: the one check that `hkt-verify psd --tokens N` runs. */
#include <math.h>
#include <string.h>

#include "analysis/claims/psd/psd.h"
#include "analysis/view/stream.h"
#include "base/mem.h"
#include "base/progress.h"

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

/* ctx: for certificates, of the checkpoint's forms when there is one; NULL: none. */
static hkt_status count_forms(const hkt_verify_context *ctx, const hkt_subject *s, bool trained, bool tied,
                              hkt_check_result *out, form_counts *n)
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
                bool as_stated = regular && f.inertia.positive == p && f.inertia.negative == p;
                n->as_stated += as_stated;
                if (as_stated && ctx && (trained || !ctx->model))
                    HKT_TRY(hkt_psd_write_form(ctx, s, layer, level, head));
                n->violating += f.inertia.negative > 0;
                n->mass_min = n->forms == 0 ? f.mass : fmin(n->mass_min, f.mass);
                n->mass_max = n->forms == 0 ? f.mass : fmax(n->mass_max, f.mass);
                n->mass_sum += f.mass;
                n->forms++;
                HKT_TRY(hkt_check_row(
                    out, "trained\tlayer\tlevel\thead\tp\trank\tpositive\tnegative\tzero\tnegative_mass", trained,
                    layer, level, head, p, f.rank, f.inertia.positive, f.inertia.negative, f.inertia.zero, f.mass));
            }
    return HKT_OK;
}

/* A fresh model of the subject's config with this many heads. */
static hkt_status count_fresh(const hkt_verify_context *ctx, const hkt_subject *like, size_t heads, bool tied,
                              hkt_check_result *out, form_counts *n)
{
    hkt_config c = like->layout->config;
    hkt_subject s;
    c.heads = heads;
    HKT_TRY(hkt_subject_fresh(&c, ctx->seed, &s));
    hkt_status status = count_forms(ctx, &s, false, tied, out, n);
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
        HKT_TRY_GOTO(status, done, count_forms(ctx, &s, true, tied, out, &n));
    for (size_t heads = H > 3 ? H / 2 : 2; heads <= 2 * H; heads++)
        if (d % heads == 0)
            HKT_TRY_GOTO(status, done, count_fresh(ctx, &s, heads, tied, out, &n));
    HKT_TRY_GOTO(status, done, count_fresh(ctx, &s, 1, tied, out, &one));
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
    hkt_status status = count_forms(NULL, &s, true, false, out, &n);
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

/* --- streamed --- */

/* One layer's factor and what is compared with it. */
typedef struct {
    const hkt_subject *s;
    size_t layer, k, n; /* rows of R; Ld */
    double *r, *w, *form, *d_matrix;
    bool control;
} stream_case;

static hkt_status inertia_of_form(const hkt_gram *g, stream_case *c, hkt_inertia *out)
{
    hkt_gram_form(g, c->d_matrix);
    HKT_TRY(hkt_eigenvalues(c->n, c->d_matrix, c->form));
    *out = hkt_inertia_of(c->n, c->form);
    return HKT_OK;
}

/* control: G is made with the M_s of level 0 projected on the PSD cone, D is not. */
static hkt_status measure_head(stream_case *c, size_t head, const hkt_gram_stream *st, double seconds,
                               hkt_check_result *out, size_t *wrong)
{
    hkt_psd_case p;
    hkt_inertia form, gram = {0, 0, 0};
    HKT_TRY(hkt_psd_case_create(c->s, c->layer, head, st->stride, st->L, &p)); /* its level inputs are not used */
    hkt_status status;
    HKT_TRY_GOTO(status, done, inertia_of_form(&p.g, c, &form));
    if (c->control)
        HKT_TRY_GOTO(status, done, hkt_psd_projection(st->d, p.ms[0], p.ms[0]));
    status = hkt_gram_eigenvalues_of(&p.g, c->k, c->r, c->w);
done:
    hkt_psd_case_free(&p);
    HKT_TRY(status);
    gram = hkt_inertia_of(c->k, c->w);
    *wrong += gram.positive != form.positive || gram.negative != form.negative;
    return hkt_check_row(out, "layer\thead\tT\tD_pos\tD_neg\tG_pos\tG_neg\tG_zero\tseconds_factor", c->layer, head,
                         st->T, form.positive, form.negative, gram.positive, gram.negative,
                         (double)(st->T - gram.positive - gram.negative), seconds);
}

static hkt_status measure_layer(stream_case *c, const hkt_verify_context *ctx, size_t T, size_t L,
                                hkt_check_result *out, size_t *wrong)
{
    const hkt_config *config = &c->s->layout->config;
    hkt_gram_stream st = {.T = T, .d = config->d_model, .L = L, .stride = config->stride, .seed = ctx->seed};
    for (size_t l = 1; l < L; l++)
        st.down[l] = c->s->params + c->s->layout->layer[c->layer].level[l].down;
    double start = hkt_now();
    HKT_TRY(hkt_gram_stream_factor(&st, c->r, &c->k));
    double seconds = hkt_now() - start;
    for (size_t h = 0; h < config->heads; h++)
        HKT_TRY(measure_head(c, h, &st, seconds, out, wrong));
    return HKT_OK;
}

/* The checkpoint, or a random model of d 64, 4 heads, one layer. */
static hkt_status open_subject(const hkt_verify_context *ctx, hkt_subject *s)
{
    const hkt_config config = {.vocab = 16,
                               .classes = 10,
                               .max_len = 64,
                               .d_model = 64,
                               .heads = 4,
                               .layers = 1,
                               .levels = 3,
                               .stride = 2,
                               .conv_width = 4,
                               .ffn_mult = 1,
                               .fusion = HKT_FUSION_STATIC,
                               .hybrid = true,
                               .causal = true};
    return ctx->model ? hkt_subject_open(ctx, s) : hkt_subject_fresh(&config, ctx->seed, s);
}

static hkt_status stream(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    size_t full = ctx->quick ? (size_t)1 << 14 : (size_t)1 << 20, T = ctx->stream_tokens ? ctx->stream_tokens : full;
    T = control ? (size_t)1 << 12 : T;
    hkt_subject s;
    HKT_TRY(open_subject(ctx, &s));
    const hkt_config *config = &s.layout->config;
    size_t L = 1, n, wrong = 0;
    while (L < config->levels && hkt_level_length(T, config->stride, L) >= config->d_model)
        L++;
    n = L * config->d_model;
    stream_case c = {.s = &s, .n = n, .control = control};
    hkt_status status = HKT_OK;
    if (T < n)
        hkt_check_skip(out, "T = %zu is too short for full column rank: %zu columns", T, n);
    else
        status = HKT_NEW(&c.r, 2 * n * n + 2 * n);
    if (c.r) {
        c.d_matrix = c.r + n * n;
        c.w = c.d_matrix + n * n;
        c.form = c.w + n;
        for (c.layer = 0; c.layer < config->layers && status == HKT_OK; c.layer++)
            status = measure_layer(&c, ctx, T, L, out, &wrong);
        hkt_check_at_most(out, (double)wrong, 0);
        hkt_check_detail(out, "heads whose inertia differs from that of D, of %zu; T = %zu, L = %zu, d = %zu",
                         config->layers * config->heads, T, L, config->d_model);
    }
    hkt_check_condition(out, "Z has full column rank");
    hkt_free(c.r);
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_psd_streamed_inertia = {
    .name = "streamed-inertia",
    .kind = HKT_NUMERIC,
    .statement =
        "the same for a sequence that is never in memory (--tokens N; a million by default): R by streaming TSQR",
    .reference = "Sylvester's law of inertia; Demmel et al. 2012",
    .failure = "Prop. 3.1's condition is not necessary at scale",
    .finding = "the Gram matrix is PSD only when every M_s is, at full length too",
    .of_model = true,
    .run = stream,
};

/* inertia.c - checks of `psd` on signs: of the forms M_s, from the weights alone, and of the Gram matrix of a sequence
 * far too long for T x T, by streaming: the one check that `hkt-verify psd --tokens N` runs. */
#include <math.h>
#include <string.h>

#include "analysis/claims/psd/psd.h"
#include "analysis/math/modular.h"
#include "analysis/view/stream.h"
#include "base/mem.h"
#include "base/progress.h"

typedef struct {
    hkt_inertia inertia; /* of computed eigenvalues, beyond their tolerance */
    double mass;         /* sum |negative| / sum |all| */
    size_t rank;         /* of [Wq; Wk], proved */
    size_t form_rank;    /* of Wq^T Wk + Wk^T Wq, proved */
} form_signs;

/* *rank of Wq^T Wk + Wk^T Wq = [Wq^T, Wk^T] [Wk; Wq], the exact matrix. */
static hkt_status rank_of_form(size_t d, size_t p, const double *wq, const double *wk, size_t *rank)
{
    uint64_t *left = NULL;
    HKT_TRY(HKT_NEW(&left, 2 * d * 2 * p + d * d));
    uint64_t *right = left + d * 2 * p, *form = right + d * 2 * p;
    for (size_t i = 0; i < d; i++)
        for (size_t r = 0; r < p; r++) {
            left[i * 2 * p + r] = right[i * 2 * p + p + r] = hkt_modular_of(wq[r * d + i]);
            left[i * 2 * p + p + r] = right[i * 2 * p + r] = hkt_modular_of(wk[r * d + i]);
        }
    hkt_modular_product(d, d, 2 * p, left, right, form);
    hkt_status status = hkt_modular_rank(d, d, form, rank);
    hkt_free(left);
    return status;
}

/* tied: the form of the queries with themselves, whatever the keys are. */
static hkt_status signs_of(const hkt_subject *s, size_t layer, size_t level, size_t head, bool tied, form_signs *out)
{
    size_t d = s->layout->config.d_model, p = d / s->layout->config.heads;
    const double *wq = hkt_subject_wq(s, layer, level, head), *wk = hkt_subject_wk(s, layer, level, head);
    const double *key = tied ? wq : wk;
    double *ms = NULL;
    HKT_TRY(HKT_NEW(&ms, d * d + d));
    double *w = ms + d * d;
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_form_rank(d, p, wq, wk, &out->rank));
    HKT_TRY_GOTO(status, done, rank_of_form(d, p, wq, key, &out->form_rank));
    hkt_score_form_sym(d, p, wq, key, ms);
    HKT_TRY_GOTO(status, done, hkt_eigenvalues(d, ms, w));
    out->inertia = hkt_inertia_of(d, w, hkt_form_tolerance(d, p, wq, key));
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
                /* The ranks are exact; computed signs beyond their tolerance must not contradict. */
                bool as_stated = regular && f.form_rank == 2 * p && f.inertia.positive <= p && f.inertia.negative <= p;
                n->as_stated += as_stated;
                if (as_stated && !tied && ctx && (trained || !ctx->model))
                    HKT_TRY(hkt_psd_write_form(ctx, s, layer, level, head));
                n->violating += regular || f.inertia.negative > 0;
                n->mass_min = n->forms == 0 ? f.mass : fmin(n->mass_min, f.mass);
                n->mass_max = n->forms == 0 ? f.mass : fmax(n->mass_max, f.mass);
                n->mass_sum += f.mass;
                n->forms++;
                HKT_TRY(hkt_check_row(
                    out, "trained\tlayer\tlevel\thead\tp\trank\tform_rank\tpositive\tnegative\tzero\tnegative_mass",
                    trained, layer, level, head, p, f.rank, f.form_rank, f.inertia.positive, f.inertia.negative,
                    f.inertia.zero, f.mass));
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
            out, "%zu forms with 2p <= d; of one head of width p = d, %zu of %zu forms have a negative eigenvalue, too",
            n.regular, one.violating, one.forms);
    }
    hkt_check_condition(out, "2p <= d and [Wq; Wk] has rank 2p");
done:
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_psd_generic_inertia = {
    .name = "generic-inertia",
    .kind = HKT_EXACT,
    .statement = "2 sqrt(p) M_s = [Wq;Wk]' J [Wq;Wk] has inertia (p, p, d-2p), fresh and trained: both ranks are 2p, "
                 "proved modulo 2^61 - 1",
    .reference = "Sylvester's law of inertia",
    .failure = "some untied head may meet the condition",
    .finding = "M_s of an untied head has p negative eigenvalues: it is never PSD",
    .of_model = true,
    .run = generic,
    .holds = "all {m} forms have p positive and p negative eigenvalues, none is PSD",
    .violated = "only {m} of {b} forms have p positive and p negative eigenvalues",
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
    hkt_check_detail(out, "sum|negative| / sum|all| of their eigenvalues is %.3f on average, %.3f to %.3f",
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
    .holds = "all {m} forms of the trained model have a negative eigenvalue: none is PSD",
    .violated = "only {m} of {b} forms of the trained model have a negative eigenvalue",
};

/* --- streamed --- */

enum { PROOF_ROWS = 4 }; /* tokens that the ranks are proved from: as many times the columns of the coarsest level */

/* One layer's factor and what is compared with it. */
typedef struct {
    const hkt_subject *s;
    size_t layer, k, n, rank_z, rows; /* rows of R; Ld; proved; tokens in memory for proofs */
    double *r, *w;
    double *x[HKT_MAX_LEVELS]; /* the first tokens' levels */
    bool control;
} stream_case;

static double norm(size_t n, const double *a)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

/* control: G is made with Wk = Wq on level 0, D is not. The ranks of the first tokens prove those of all. */
static hkt_status measure_head(stream_case *c, size_t head, const hkt_gram_stream *st, double seconds,
                               hkt_check_result *out, size_t *wrong, size_t *decided)
{
    hkt_psd_case p;
    size_t rank_d = 0, rank_g = 0, full = 0, levels = st->L;
    HKT_TRY(hkt_psd_case_create(c->s, c->layer, head, st->stride, st->L, &p)); /* its level inputs are not used */
    hkt_status status;
    for (size_t l = 0; l < st->L; l++) {
        size_t one;
        HKT_TRY_GOTO(status, done, hkt_form_rank(st->d, p.p, p.wq[l], p.wk[l], &one));
        rank_d += p.g.lambda[l] > 0 ? one : 0;
        levels -= !(p.g.lambda[l] > 0);
    }
    if (c->control) {
        p.wk[0] = p.wq[0];
        hkt_score_form_sym(st->d, p.p, p.wq[0], p.wk[0], p.ms[0]);
    }
    HKT_TRY_GOTO(status, done, hkt_gram_eigenvalues_of(&p.g, c->k, c->r, c->w));
    p.g.T = st->T;
    double tolerance = hkt_gram_tolerance(&p.g, NULL, norm(c->n * c->n, c->r));
    hkt_inertia count = hkt_inertia_of(c->k, c->w, tolerance);
    p.g.T = c->rows;
    for (size_t l = 0; l < st->L; l++)
        p.g.x[l] = c->x[l];
    HKT_TRY_GOTO(status, done, hkt_gram_form_rank(&p.g, p.p, p.wq, p.wk, c->rows, &rank_g, &full));
    bool regular = rank_d == 2 * p.p * levels && c->rank_z == c->n; /* else outside the condition */
    *decided += regular;
    *wrong += regular && (rank_g != full || count.positive > full / 2 || count.negative > full / 2);
    status = hkt_check_row(out, "layer\thead\tT\trank_Z\trank_D\trank_G\tpositive\tnegative\tseconds_factor", c->layer,
                           head, st->T, c->rank_z, rank_d, rank_g, count.positive, count.negative, seconds);
done:
    hkt_psd_case_free(&p);
    return status;
}

/* The first tokens of the stream, in memory, and the rank of their rows of Z. */
static hkt_status prove_rank(stream_case *c, const hkt_gram_stream *st)
{
    hkt_gram_stream first = *st;
    hkt_gram g = {.T = c->rows, .d = st->d, .L = st->L, .stride = st->stride};
    first.T = c->rows;
    hkt_gram_stream_levels(&first, c->x);
    for (size_t l = 0; l < st->L; l++)
        g.x[l] = c->x[l];
    return hkt_gram_proved_rank(&g, c->rows, &c->rank_z);
}

static hkt_status measure_layer(stream_case *c, const hkt_verify_context *ctx, size_t T, size_t L,
                                hkt_check_result *out, size_t *wrong, size_t *decided)
{
    const hkt_config *config = &c->s->layout->config;
    hkt_gram_stream st = {.T = T, .d = config->d_model, .L = L, .stride = config->stride, .seed = ctx->seed};
    for (size_t l = 1; l < L; l++)
        st.down[l] = c->s->params + c->s->layout->layer[c->layer].level[l].down;
    double start = hkt_now();
    HKT_TRY(hkt_gram_stream_factor(&st, c->r, &c->k));
    double seconds = hkt_now() - start;
    HKT_TRY(prove_rank(c, &st));
    for (size_t h = 0; h < config->heads; h++)
        HKT_TRY(measure_head(c, h, &st, seconds, out, wrong, decided));
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
    size_t L = 1, n, wrong = 0, decided = 0, span = 1, size = 0;
    for (; L < config->levels && hkt_level_length(T, config->stride, L) >= config->d_model; L++)
        span *= config->stride;
    n = L * config->d_model;
    stream_case c = {.s = &s, .n = n, .control = control, .rows = PROOF_ROWS * span * config->d_model};
    c.rows = c.rows < T ? c.rows : T;
    for (size_t l = 0; l < L; l++)
        size += hkt_level_length(c.rows, config->stride, l) * config->d_model;
    hkt_status status = HKT_OK;
    if (T < n)
        hkt_check_skip(out, "T = %zu is too short for full column rank: %zu columns", T, n);
    else
        status = HKT_NEW(&c.r, n * n + n + size);
    if (c.r) {
        c.w = c.r + n * n;
        c.x[0] = c.w + n;
        for (size_t l = 1; l < L; l++)
            c.x[l] = c.x[l - 1] + hkt_level_length(c.rows, config->stride, l - 1) * config->d_model;
        for (c.layer = 0; c.layer < config->layers && status == HKT_OK; c.layer++)
            status = measure_layer(&c, ctx, T, L, out, &wrong, &decided);
        hkt_check_at_most(out, (double)wrong, 0);
        hkt_check_detail(out, "%zu heads, T = %zu, L = %zu, d = %zu", decided, T, L, config->d_model);
        if (decided == 0)
            hkt_check_skip(out, "no head has Z of full column rank under this downsampling and forms of rank 2p <= d");
    }
    hkt_check_condition(out, "Z has full column rank, forms of rank 2p <= d");
    hkt_free(c.r);
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_psd_streamed_inertia = {
    .name = "streamed-inertia",
    .kind = HKT_EXACT,
    .statement =
        "the same for a sequence that is never in memory (--tokens N; a million by default): ranks proved from "
        "its first tokens, signs counted from R by streaming TSQR",
    .reference = "Sylvester's law of inertia; Demmel et al. 2012",
    .failure = "Prop. 3.1's condition is not necessary at scale",
    .finding = "the Gram matrix is PSD only when every M_s is, at full length too",
    .of_model = true,
    .run = stream,
    .holds =
        "the Gram matrix of every head has the inertia of D, with as many negative as positive eigenvalues: (pL, pL)",
    .violated = "the Gram matrices of {m} heads are not proved to have the inertia (pL, pL) of D",
};

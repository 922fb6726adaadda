/* stream.c - the inertia of the Gram matrix of a sequence far too long for T x T, by streaming: the one check that
 * `hkt-verify psd --tokens N` runs. */
#include <string.h>

#include "analysis/claims/psd/psd.h"
#include "analysis/view/stream.h"
#include "base/mem.h"
#include "base/progress.h"

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
    hkt_status status = inertia_of_form(&p.g, c, &form);
    if (status == HKT_OK && c->control)
        status = hkt_psd_projection(st->d, p.ms[0], p.ms[0]);
    if (status == HKT_OK)
        status = hkt_gram_eigenvalues_of(&p.g, c->k, c->r, c->w);
    hkt_psd_case_free(&p);
    HKT_TRY(status);
    gram = hkt_inertia_of(c->k, c->w);
    *wrong += gram.positive != form.positive || gram.negative != form.negative;
    double cells[] = {(double)c->layer,
                      (double)head,
                      (double)st->T,
                      (double)form.positive,
                      (double)form.negative,
                      (double)gram.positive,
                      (double)gram.negative,
                      (double)(st->T - gram.positive - gram.negative),
                      seconds};
    return hkt_check_row(out, "layer\thead\tT\tD_pos\tD_neg\tG_pos\tG_neg\tG_zero\tseconds_factor", cells);
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

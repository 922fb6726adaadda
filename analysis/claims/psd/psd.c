/* psd.c - the claim `psd` (Prop. 3.1): the list of checks, and the decomposition itself: sym(S^H) of the forward pass
 * against the sum of level Grams. */
#include <math.h>
#include <string.h>

#include "analysis/claims/psd/psd.h"
#include "analysis/math/certify.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/kernels.h"

void hkt_psd_case_weights(const hkt_subject *s, size_t layer, size_t head, hkt_psd_case *c)
{
    c->p = c->g.d / s->layout->config.heads;
    for (size_t l = 0; l < c->g.L; l++) {
        c->wq[l] = hkt_subject_wq(s, layer, l, head);
        c->wk[l] = hkt_subject_wk(s, layer, l, head);
        hkt_score_form_sym(c->g.d, c->p, c->wq[l], c->wk[l], c->ms[l]);
    }
    double lambda[HKT_MAX_LEVELS];
    hkt_level_weights(s->layout, s->params, layer, lambda);
    memcpy(c->g.lambda, lambda, c->g.L * sizeof *lambda);
}

hkt_status hkt_psd_case_create(const hkt_subject *s, size_t layer, size_t head, size_t T, size_t levels,
                               hkt_psd_case *out)
{
    const hkt_config *config = &s->layout->config;
    size_t d = config->d_model, size = levels * d * d;
    *out = (hkt_psd_case){.g = {.T = T, .d = d, .L = levels, .stride = config->stride}};
    for (size_t l = 0; l < levels; l++)
        size += hkt_level_length(T, config->stride, l) * d;
    HKT_TRY(HKT_NEW(&out->mem, size));
    double *at = out->mem;
    for (size_t l = 0; l < levels; l++) {
        out->g.ms[l] = out->ms[l] = at;
        at += d * d;
        out->g.x[l] = out->x[l] = at;
        at += hkt_level_length(T, config->stride, l) * d;
    }
    hkt_psd_case_weights(s, layer, head, out);
    return HKT_OK;
}

void hkt_psd_case_free(hkt_psd_case *c)
{
    hkt_free(c->mem);
    *c = (hkt_psd_case){0};
}

hkt_status hkt_psd_case_gaussian(const hkt_subject *s, size_t layer, size_t head, size_t T, size_t levels,
                                 uint64_t seed, hkt_psd_case *out)
{
    HKT_TRY(hkt_psd_case_create(s, layer, head, T, levels, out));
    size_t d = out->g.d, stride = out->g.stride;
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 3);
    for (size_t i = 0; i < T * d; i++)
        out->x[0][i] = hkt_rng_normal(&rng);
    for (size_t l = 1; l < levels; l++)
        hkt_downsample_forward_f64(hkt_level_length(T, stride, l - 1), d, stride, out->x[l - 1],
                                   s->params + s->layout->layer[layer].level[l].down, out->x[l]);
    return HKT_OK;
}

/* Level l has T / s^l rows, so that full column rank needs T >= s^(L-1) d; twice that keeps Z well conditioned. */
void hkt_psd_affordable(const hkt_verify_context *ctx, const hkt_config *config, size_t *T, size_t *levels)
{
    size_t most = ctx->quick ? 512 : 1024;
    *levels = 1;
    *T = 2 * config->d_model;
    while (*levels < config->levels && *T * config->stride <= most) {
        *T *= config->stride;
        ++*levels;
    }
    while (2 * *T <= most)
        *T *= 2;
}

/* Scratch of one head: [T, T] matrices, and |X| |W|^T [T, p] twice. */
typedef struct {
    double *mem, *score, *gram, *size, *aq, *ak;
} decomposition_work;

static size_t upsample(size_t i, size_t stride, size_t level)
{
    while (level-- > 0)
        i /= stride;
    return i;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* out [T_l, p] = |X| |W|^T */
static void absolute_product(size_t n, size_t d, size_t p, const double *x, const double *w, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < p; r++) {
            out[i * p + r] = 0;
            for (size_t c = 0; c < d; c++)
                out[i * p + r] += fabs(x[i * d + c]) * fabs(w[r * d + c]);
        }
}

/* Adds level l of head h: score += lambda U q k^T U^T / sqrt(p) from the forward pass, size += the same of absolute
 * values. */
static void add_level(const hkt_subject *s, size_t layer, size_t h, size_t l, size_t T, const hkt_tap_f64 *tap,
                      decomposition_work *w)
{
    const hkt_config *c = &s->layout->config;
    size_t d = c->d_model, p = d / c->heads, n = hkt_level_length(T, c->stride, l);
    absolute_product(n, d, p, tap->x[l], hkt_subject_wq(s, layer, l, h), w->aq);
    absolute_product(n, d, p, tap->x[l], hkt_subject_wk(s, layer, l, h), w->ak);
    double scale = tap->lambda[l] / sqrt((double)p);
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++) {
            size_t a = upsample(i, c->stride, l), b = upsample(j, c->stride, l);
            w->score[i * T + j] +=
                scale * dot(tap->q[l] + a * tap->ld[l] + h * p, tap->k[l] + b * tap->ld[l] + h * p, p);
            w->size[i * T + j] += scale * dot(w->aq + a * p, w->ak + b * p, p);
        }
}

/* Largest |sym(S) - G| / size, size made symmetric as well; `raw`: S itself in the place of its symmetric part. */
static double decomposition_error(size_t T, const decomposition_work *w, bool raw)
{
    double worst = 0;
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++) {
            double a = w->score[i * T + j], b = w->score[j * T + i];
            double size = (w->size[i * T + j] + w->size[j * T + i]) / 2;
            double e = hkt_check_relative(fabs((raw ? a : (a + b) / 2) - w->gram[i * T + j]), size);
            worst = hkt_check_worse(worst, e);
        }
    return worst;
}

static hkt_status decompose_head(const hkt_subject *s, size_t layer, size_t head, size_t T, const hkt_tap_f64 *tap,
                                 bool raw, double *error)
{
    const hkt_config *config = &s->layout->config;
    size_t p = config->d_model / config->heads;
    hkt_psd_case c;
    decomposition_work w = {0};
    HKT_TRY(hkt_psd_case_create(s, layer, head, T, config->levels, &c));
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&w.mem, 3 * T * T + 2 * T * p));
    w.score = w.mem;
    w.gram = w.score + T * T;
    w.size = w.gram + T * T;
    w.aq = w.size + T * T;
    w.ak = w.aq + T * p;
    for (size_t l = 0; l < config->levels; l++) {
        c.g.x[l] = tap->x[l];
        add_level(s, layer, head, l, T, tap, &w);
    }
    HKT_TRY_GOTO(status, done, hkt_gram_dense(&c.g, w.gram));
    *error = decomposition_error(T, &w, raw);
done:
    hkt_free(w.mem);
    hkt_psd_case_free(&c);
    return status;
}

/* control: the score matrix itself, not its symmetric part. */
static hkt_status decompose(const hkt_verify_context *ctx, hkt_check_result *out, bool raw)
{
    hkt_subject s;
    hkt_scene f = {0};
    double worst = 0;
    HKT_TRY(hkt_subject_open(ctx, &s));
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_subject_see(ctx, &s, ctx->quick ? 32 : 96, &f));
    const hkt_config *c = &s.layout->config;
    for (size_t n = 0; n < c->layers; n++)
        for (size_t h = 0; h < c->heads; h++) {
            double e = (double)NAN;
            HKT_TRY_GOTO(status, done, decompose_head(&s, n, h, f.T, f.tap + n, raw, &e));
            worst = hkt_check_worse(worst, e);
            HKT_TRY_GOTO(status, done, hkt_check_row(out, "layer\thead\tT\trelative_error", n, h, f.T, e));
        }
    /* Each route makes at most 2 d + p + 3 L + 24 roundings on every term of the sum (docs/theory.md, "psd"). */
    size_t roundings = 2 * c->d_model + c->d_model / c->heads + 3 * c->levels + 24;
    hkt_check_at_most(out, worst, 2 * hkt_gamma(roundings));
    hkt_check_detail(out, "%zu heads, T = %zu", c->layers * c->heads, f.T);
done:
    hkt_scene_close(&f);
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_psd_decomposition = {
    .name = "decomposition",
    .kind = HKT_IMPLEMENTATION,
    .statement =
        "sym(S^H) from the forward pass equals sum_l lambda_l U_l X^(l) M_s^(l) X^(l)^T U_l^T built from the weights",
    .reference = "paper, Prop. 3.1",
    .failure = "the forward pass does not compute the paper's hierarchical score matrix",
    .finding = "sym(S^H) of the forward pass is the sum of the levels' Gram matrices",
    .of_model = true,
    .run = decompose,
    .holds = "the scores of the forward pass, made symmetric, and the sum of the levels' Gram matrices agree to {m} of "
             "the sum of absolute terms; rounding allows {b}",
    .violated = "the scores of the forward pass, made symmetric, and the sum of the levels' Gram matrices differ by "
                "{m} of the sum of absolute terms; rounding allows {b}",
};

extern const hkt_check hkt_psd_rump_hilbert, hkt_psd_refusals, hkt_psd_tied_gram, hkt_psd_projected_gram,
    hkt_psd_structure, hkt_psd_converse_inertia, hkt_psd_streamed_inertia, hkt_psd_converse_witness,
    hkt_psd_generic_inertia, hkt_psd_any_rank, hkt_psd_rotary, hkt_psd_shared_keys, hkt_psd_negative_mass;
static const hkt_check *const checks[] = {
    &hkt_psd_decomposition,    &hkt_psd_rump_hilbert,    &hkt_psd_refusals,         &hkt_psd_tied_gram,
    &hkt_psd_projected_gram,   &hkt_psd_structure,       &hkt_psd_converse_inertia, &hkt_psd_streamed_inertia,
    &hkt_psd_converse_witness, &hkt_psd_generic_inertia, &hkt_psd_any_rank,         &hkt_psd_rotary,
    &hkt_psd_shared_keys,      &hkt_psd_negative_mass};

static const hkt_headline headline[] = {
    {&hkt_psd_tied_gram, "the Gram matrix is PSD whenever the forms of all levels are, as with Wk = Wq",
     "a Gram matrix is not PSD although the forms of all its levels are", NULL},
    {&hkt_psd_converse_inertia, "if the inputs of the levels have full column rank, it is PSD only then",
     "the Gram matrix can be PSD although a form is not", NULL},
    {&hkt_psd_generic_inertia,
     "heads with separate Wq and Wk and 2p <= d never meet the condition, since p eigenvalues of their forms are "
     "negative",
     "some heads with separate Wq and Wk may meet the condition", NULL},
    {&hkt_psd_negative_mass, "of this model, no form is PSD: the proposition says nothing about it",
     "of this model, some forms are PSD", NULL},
};

const hkt_claim hkt_claim_psd = {
    .id = "psd",
    .place = "Prop. 3.1",
    .statement = "if every M_s is PSD, the symmetric hierarchical Gram matrix is PSD, a sum of level Grams",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

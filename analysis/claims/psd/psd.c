/* psd.c - the claim `psd` (Prop. 3.1): the table of checks, and the decomposition itself: sym(S^H) of the forward pass
 * against the sum of level Grams. */
#include <math.h>

#include "analysis/claims/psd/checks.h"
#include "analysis/math/certify.h"
#include "base/mem.h"

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

static hkt_status decompose(const hkt_verify_context *ctx, hkt_check_result *out, bool raw)
{
    hkt_subject s;
    hkt_psd_forward f = {0};
    double worst = 0;
    HKT_TRY(hkt_subject_open(ctx, &s));
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_psd_forward_run(ctx, &s, ctx->quick ? 32 : 96, &f));
    const hkt_config *c = &s.layout->config;
    for (size_t n = 0; n < c->layers; n++)
        for (size_t h = 0; h < c->heads; h++) {
            hkt_tap_f64 tap;
            double e = (double)NAN;
            HKT_TRY_GOTO(status, done, hkt_net_tap_f64(f.net, n, &tap));
            HKT_TRY_GOTO(status, done, decompose_head(&s, n, h, f.T, &tap, raw, &e));
            worst = hkt_check_worse(worst, e);
            double cells[] = {(double)n, (double)h, (double)f.T, e};
            HKT_TRY_GOTO(status, done, hkt_check_row(out, "layer\thead\tT\trelative_error", cells));
        }
    /* Each route makes at most 2 d + p + 3 L + 24 roundings on every term of the sum (docs/theory.md, "psd"). */
    size_t roundings = 2 * c->d_model + c->d_model / c->heads + 3 * c->levels + 24;
    hkt_check_at_most(out, worst, 2 * hkt_gamma(roundings));
    hkt_check_detail(out, "largest difference relative to the sum of absolute terms, %zu heads, T = %zu",
                     c->layers * c->heads, f.T);
done:
    hkt_psd_forward_free(&f);
    hkt_subject_close(&s);
    return status;
}

static hkt_status decomposition(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return decompose(ctx, out, false);
}

/* The score matrix itself, not its symmetric part. */
static hkt_status decomposition_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return decompose(ctx, out, true);
}

static const hkt_check checks[] = {
    {"decomposition", HKT_NUMERIC,
     "sym(S^H) from the forward pass equals sum_l lambda_l U_l X^(l) M_s^(l) X^(l)^T U_l^T built from the weights",
     "paper, Prop. 3.1", "the forward pass does not compute the paper's hierarchical score matrix", decomposition,
     decomposition_control, true, "sym(S^H) of the forward pass is the sum of the levels' Gram matrices"},
    {"rump-hilbert", HKT_CERTIFIED,
     "Rump's test certifies lcm-scaled Hilbert(8) and (10) and does not certify (12), on which plain Cholesky succeeds",
     "Rump 2006, BIT 46:433", "the certificate proves too little or too much: no certified verdict counts",
     hkt_psd_hilbert, hkt_psd_hilbert_control, false, NULL},
    {"refusals", HKT_CERTIFIED,
     "indefinite matrices get a certified negative quotient; NaN in one triangle, asymmetry by one ulp and infinity "
     "are refused",
     "Higham 2002, lemma 3.1", "the certificate accepts what it must not", hkt_psd_refusals, hkt_psd_refusals_control,
     false, NULL},
    {"tied-gram", HKT_CERTIFIED,
     "with Wk = Wq, G and D have lambda_min >= -delta, certified, delta no more than rounding explains (T > rank: G is "
     "singular)",
     "paper, Prop. 3.1; Rump 2006",
     "a model that meets the condition has a Gram matrix that is not PSD: Prop. 3.1 is wrong", hkt_psd_tied,
     hkt_psd_tied_control, true, "the Gram matrix is PSD when every M_s is: certified up to rounding"},
    {"projected-gram", HKT_CERTIFIED, "the same with every M_s replaced by the nearest PSD matrix",
     "paper, Prop. 3.1; Higham 1988",
     "a model that meets the condition has a Gram matrix that is not PSD: Prop. 3.1 is wrong", hkt_psd_projected,
     hkt_psd_projected_control, true, "the Gram matrix is PSD when every M_s is: certified up to rounding"},
    {"structure", HKT_NUMERIC,
     "all eigenvalues of G from the Ld x Ld matrix R D R^T, Z = QR, equal those of the dense T x T matrix",
     "docs/theory.md, psd", "G is not Z D Z^T", hkt_psd_structure, hkt_psd_structure_control, true, NULL},
    {"converse-inertia", HKT_NUMERIC,
     "inertia(G) = inertia(D) padded with T - Ld zeros: the condition is also necessary", "Sylvester's law of inertia",
     "Prop. 3.1's condition is not necessary", hkt_psd_converse, hkt_psd_converse_control, true,
     "the Gram matrix is PSD only when every M_s is: its inertia is that of D"},
    {"streamed-inertia", HKT_NUMERIC,
     "the same for a sequence that is never in memory (--tokens N; a million by default): R by streaming TSQR",
     "Sylvester's law of inertia; Demmel et al. 2012", "Prop. 3.1's condition is not necessary at scale",
     hkt_psd_stream, hkt_psd_stream_control, true, "the Gram matrix is PSD only when every M_s is, at full length too"},
    {"converse-witness", HKT_CERTIFIED,
     "a vector v with v'Gv < 0 beyond its rounding bound exists whenever some M_s is not PSD", "docs/theory.md, psd",
     "no proof that G is indefinite", hkt_psd_witness, hkt_psd_witness_control, true,
     "some v has v'Gv < 0: the Gram matrix is not PSD, certified"},
    {"generic-inertia", HKT_NUMERIC, "2 sqrt(p) M_s = [Wq;Wk]' J [Wq;Wk] has inertia (p, p, d-2p), fresh and trained",
     "Sylvester's law of inertia", "some untied head may meet the condition", hkt_psd_generic, hkt_psd_generic_control,
     true, "M_s of an untied head has p negative eigenvalues: it is never PSD"},
    {"negative-mass", HKT_EMPIRICAL, "no form of the trained model is PSD; sum|negative| / sum|all| for each",
     "paper's summary", "a trained head meets the condition", hkt_psd_mass, hkt_psd_mass_control, true,
     "no M_s of the trained model is PSD: Prop. 3.1 does not apply to it"},
};

const hkt_claim hkt_claim_psd = {
    "psd", "Prop. 3.1", "if every M_s is PSD, the symmetric hierarchical Gram matrix is PSD, a sum of level Grams",
    checks, sizeof checks / sizeof *checks};

/* certified.c - checks of `psd` whose verdict rests on a rounding bound alone (certify.h). */
#include <math.h>

#include "analysis/claims/psd/psd.h"
#include "analysis/math/certify.h"
#include "base/mem.h"

static uint64_t gcd(uint64_t a, uint64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* lcm(1..2n-1) times the Hilbert matrix: integers below 2^53, so the matrix is exact and its positive definiteness a
 * theorem. */
static void scaled_hilbert(size_t n, double *a)
{
    uint64_t lcm = 1;
    for (uint64_t k = 2; k < 2 * n; k++)
        lcm *= k / gcd(lcm, k);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = (double)(lcm / (i + j + 1));
}

/* What Rump's test must say of Hilbert(8), (10), (12), and what plain Cholesky says of (12). `plain` puts plain
 * Cholesky in the place of the test. */
static hkt_status hilbert(const hkt_verify_context *ctx, hkt_check_result *out, bool plain)
{
    static const struct {
        size_t n;
        bool certified;
    } expected[] = {{8, true}, {10, true}, {12, false}};
    size_t right = 0;
    for (size_t i = 0; i < 3; i++) {
        double a[12 * 12], c;
        bool certified, factored;
        scaled_hilbert(expected[i].n, a);
        HKT_TRY(hkt_certify_pd(expected[i].n, a, &c, &certified));
        HKT_TRY(hkt_cholesky_plain(expected[i].n, a, &factored));
        right += (plain ? factored : certified) == expected[i].certified;
        right += factored;
        if (certified && !plain)
            HKT_TRY(hkt_psd_write_dense(ctx, "rump-hilbert", expected[i].n, expected[i].n, a, NULL));
        HKT_TRY(
            hkt_check_row(out, "n\trump_c\tcertified\tplain_cholesky", expected[i].n, c / a[0], certified, factored));
    }
    hkt_check_equal(out, (double)right, 6);
    hkt_check_detail(out, "orders 8 and 10 are certified; order 12 has a Cholesky factor, but is not certified");
    return HKT_OK;
}

const hkt_check hkt_psd_rump_hilbert = {
    .name = "rump-hilbert",
    .kind = HKT_CERTIFIED,
    .statement = "Rump's test certifies lcm-scaled Hilbert(8) and (10) and does not certify (12), on which plain "
                 "Cholesky succeeds",
    .reference = "Rump 2006, BIT 46:433",
    .failure = "the certificate proves too little or too much: no certified verdict counts",
    .run = hilbert,
    .holds = "all {m} answers about Hilbert matrices are right",
    .violated = "only {m} of {b} answers about Hilbert matrices are right",
};

/* A 3 x 3 matrix of the test; fault 0 leaves it positive definite. */
static void faulty(int fault, double a[9])
{
    static const double spd[9] = {4, 1, 0, 1, 3, 1, 0, 1, 2};
    for (int i = 0; i < 9; i++)
        a[i] = spd[i];
    if (fault == 1) /* indefinite, with a positive diagonal */
        a[1] = a[3] = 5;
    if (fault == 2) /* the triangle that a careless test does not read */
        a[1] = (double)NAN;
    if (fault == 3)
        a[3] = (double)NAN;
    if (fault == 4)
        a[1] = nextafter(a[1], 2);
    if (fault == 5)
        a[4] = (double)INFINITY;
    if (fault == 6)
        a[4] = -a[4];
}

/* control: a sound matrix in the place of every faulty one: it must not be refused, so the count cannot be right. */
static hkt_status refusals(const hkt_verify_context *ctx, hkt_check_result *out, bool sound)
{
    size_t right = 0;
    hkt_certificate c;
    double a[9], worst = (double)-INFINITY;
    for (int fault = 1; fault <= 6; fault++) {
        faulty(sound ? 0 : fault, a);
        HKT_TRY(hkt_certify(3, a, &c));
        bool indefinite = fault == 1 || fault == 6;
        bool proved = c.verdict == HKT_CERT_NOT_PSD && c.quotient + c.quotient_error < 0;
        right += indefinite ? proved : c.verdict == HKT_CERT_REFUSED;
        if (proved) { /* fault 1: (1, -1, 0), fault 6: the second unit vector */
            const double v[3] = {fault == 1, fault == 1 ? -1 : 1, 0};
            HKT_TRY(hkt_psd_write_dense(ctx, "refusals", (size_t)fault, 3, a, v));
        }
        if (proved)
            worst = fmax(worst, c.quotient + c.quotient_error);
        HKT_TRY(hkt_check_row(out, "fault\tcertificate\tquotient\tquotient_error", fault, c.verdict, c.quotient,
                              c.quotient_error));
    }
    hkt_check_equal(out, (double)right, 6);
    hkt_check_detail(out, "indefinite: x'Ax <= %.3g certified; NaN in one triangle, asymmetry, infinity: refused",
                     worst);
    return HKT_OK;
}

const hkt_check hkt_psd_refusals = {
    .name = "refusals",
    .kind = HKT_CERTIFIED,
    .statement = "indefinite matrices get a certified negative quotient; NaN in one triangle, asymmetry by one ulp and "
                 "infinity are refused",
    .reference = "Higham 2002, lemma 3.1",
    .failure = "the certificate accepts what it must not",
    .run = refusals,
    .holds = "all {m} matrices that must not be certified are not",
    .violated = "only {m} of {b} matrices that must not be certified are not",
};

/* How M_s is made to meet (or, for the controls, to miss) the condition of Prop. 3.1. */
typedef enum { TIED, UNTIED, PROJECTED, BELOW_ZERO } condition;

static hkt_status impose(condition how, hkt_psd_case *c)
{
    size_t d = c->g.d;
    for (size_t l = 0; l < c->g.L && (how == PROJECTED || how == BELOW_ZERO); l++) {
        double trace = 0;
        HKT_TRY(hkt_psd_projection(d, c->ms[l], c->ms[l]));
        for (size_t i = 0; i < d; i++)
            trace += c->ms[l][i * d + i];
        for (size_t i = 0; i < d && how == BELOW_ZERO; i++)
            c->ms[l][i * d + i] -= 0.01 * trace / (double)d;
    }
    return HKT_OK;
}

/* 3 c for the certificate and gamma_k scale for the matrix. A negative diagonal has no c and needs none: it is not PSD.
 */
static double allowed(double c, size_t k, double scale)
{
    return (isnan(c) ? 0 : 3 * c) + hkt_gamma(k) * scale;
}

/* What rounding alone can take from a sum of level Grams with PSD forms (docs/theory.md, "psd", tied-gram):
 * gamma_{3d+L+10} sum_l lambda_l tr(M_l) sum_i |x_i|^2 in G itself, and 3 c in the certificate. */
static double allowed_shift(const hkt_gram *g, double c)
{
    double scale = 0;
    for (size_t l = 0; l < g->L; l++) {
        double trace = 0, norm = 0;
        for (size_t i = 0; i < g->d; i++)
            trace += fabs(g->ms[l][i * g->d + i]);
        for (size_t i = 0, step = 1; i < g->T; i++) {
            for (size_t k = 0; k < l && i == 0; k++)
                step *= g->stride;
            for (size_t j = 0; j < g->d; j++)
                norm += g->x[l][i / step * g->d + j] * g->x[l][i / step * g->d + j];
        }
        scale += g->lambda[l] * trace * norm;
    }
    return allowed(c, 3 * g->d + g->L + 10, scale);
}

/* Certified shift in units of what is allowed: <= 1 when the matrix is PSD up to rounding. A matrix certified not to be
 * PSD has no shift; it counts by its quotient, which must then exceed what is allowed. NaN: no certificate either way.
 */
static double excess(const hkt_certificate *c, double limit)
{
    if (c->verdict == HKT_CERT_PD || c->verdict == HKT_CERT_PSD_SHIFT)
        return c->delta / limit;
    double negative = -(c->quotient + c->quotient_error) / limit;
    return negative > 1 ? negative : (double)NAN;
}

/* Worst excess over the blocks lambda_l M_l of the small factor D; *delta the largest shift. */
static hkt_status certify_factor(const hkt_gram *g, double *block, double *worst, double *delta)
{
    size_t d = g->d;
    *worst = *delta = 0;
    for (size_t l = 0; l < g->L; l++) {
        hkt_certificate c;
        double trace = 0;
        for (size_t i = 0; i < d * d; i++)
            block[i] = g->lambda[l] * g->ms[l][i];
        for (size_t i = 0; i < d; i++)
            trace += fabs(block[i * d + i]);
        HKT_TRY(hkt_certify(d, block, &c));
        double e = excess(&c, allowed(c.c, d + 6, trace));
        *worst = hkt_check_worse(*worst, e);
        *delta = fmax(*delta, c.delta);
    }
    return HKT_OK;
}

/* Adds one head to the result; *worst: largest excess so far. */
static hkt_status certify_head(hkt_check_result *out, size_t layer, size_t head, const hkt_psd_case *c, double *worst)
{
    size_t T = c->g.T, d = c->g.d;
    double *dense = NULL, factor_worst = 0, factor_delta = 0;
    hkt_certificate cert;
    HKT_TRY(HKT_NEW(&dense, T * T + d * d));
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_gram_dense(&c->g, dense));
    HKT_TRY_GOTO(status, done, hkt_certify(T, dense, &cert));
    status = certify_factor(&c->g, dense + T * T, &factor_worst, &factor_delta);
done:
    hkt_free(dense);
    HKT_TRY(status);
    double limit = allowed_shift(&c->g, cert.c), e = excess(&cert, limit);
    *worst = hkt_check_worse(*worst, e);
    *worst = hkt_check_worse(*worst, factor_worst);
    double lowest = cert.verdict == HKT_CERT_NOT_PSD ? cert.quotient : -cert.delta;
    return hkt_check_row(out, "layer\thead\tT\tlambda_min_at_least\tallowed\tD_lambda_min_at_least\trump_c", layer,
                         head, T, lowest, limit, -factor_delta, cert.c);
}

static hkt_status certify_model(const hkt_verify_context *ctx, hkt_check_result *out, condition how)
{
    hkt_subject s;
    hkt_scene f = {0};
    hkt_psd_case c = {0};
    double worst = 0;
    HKT_TRY(hkt_subject_open(ctx, &s));
    if (how == TIED)
        hkt_subject_tie(&s);
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_subject_see(ctx, &s, ctx->quick ? 96 : 192, &f));
    const hkt_config *config = &s.layout->config;
    for (size_t n = 0; n < config->layers; n++)
        for (size_t h = 0; h < config->heads; h++) {
            HKT_TRY_GOTO(status, done, hkt_psd_case_create(&s, n, h, f.T, config->levels, &c));
            for (size_t l = 0; l < config->levels; l++)
                c.g.x[l] = f.tap[n].x[l];
            HKT_TRY_GOTO(status, done, impose(how, &c));
            HKT_TRY_GOTO(status, done, certify_head(out, n, h, &c, &worst));
            if (how == TIED || how == PROJECTED)
                HKT_TRY_GOTO(status, done,
                             hkt_psd_write_lowest(ctx, how == TIED ? "tied-gram" : "projected-gram", n, h, &c.g));
            hkt_psd_case_free(&c);
        }
    hkt_check_at_most(out, worst, 1);
    if (isnan(worst))
        out->verdict = HKT_INCONCLUSIVE;
    hkt_check_detail(out, "G and D of %zu heads, T = %zu", config->layers * config->heads, f.T);
done:
    hkt_psd_case_free(&c);
    hkt_scene_close(&f);
    hkt_subject_close(&s);
    return status;
}

static hkt_status tied(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_check_condition(out, "Wk = Wq (tied heads)");
    return certify_model(ctx, out, control ? UNTIED : TIED);
}

const hkt_check hkt_psd_tied_gram = {
    .name = "tied-gram",
    .kind = HKT_CERTIFIED,
    .statement = "with Wk = Wq, G and D have lambda_min >= -delta, certified, delta no more than rounding explains (T "
                 "> rank: G is singular)",
    .reference = "paper, Prop. 3.1; Rump 2006",
    .failure = "a model that meets the condition has a Gram matrix that is not PSD: Prop. 3.1 is wrong",
    .finding = "the Gram matrix is PSD when every M_s is: certified up to rounding",
    .of_model = true,
    .run = tied,
    .holds = "no eigenvalue of the Gram matrices is further below 0 than {m} of what rounding explains, certified",
    .violated = "an eigenvalue of a Gram matrix is further below 0 than rounding explains, {m} times",
};

static hkt_status projected(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_check_condition(out, "every M_s is projected on the PSD cone");
    return certify_model(ctx, out, control ? BELOW_ZERO : PROJECTED);
}

const hkt_check hkt_psd_projected_gram = {
    .name = "projected-gram",
    .kind = HKT_CERTIFIED,
    .statement = "the same with every M_s replaced by the nearest PSD matrix",
    .reference = "paper, Prop. 3.1; Higham 1988",
    .failure = "a model that meets the condition has a Gram matrix that is not PSD: Prop. 3.1 is wrong",
    .finding = "the Gram matrix is PSD when every M_s is: certified up to rounding",
    .of_model = true,
    .run = projected,
    .holds = "no eigenvalue of the Gram matrices is further below 0 than {m} of what rounding explains, certified",
    .violated = "an eigenvalue of a Gram matrix is further below 0 than rounding explains, {m} times",
};

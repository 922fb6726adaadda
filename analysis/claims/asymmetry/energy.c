/* energy.c - checks of `asymmetry` on the weights alone: the energy of M_a against what random weights give,
 * and the angles between the M_a of different levels. */
#include <gsl/gsl_cdf.h>
#include <math.h>

#include "analysis/claims/power.h"
#include "analysis/claims/asymmetry/asymmetry.h"
#include "analysis/claims/asymmetry/null.h"
#include "analysis/math/certify.h"
#include "analysis/math/multiple.h"
#include "analysis/view/asymmetry.h"
#include "base/mem.h"
#include "base/rng.h"

/* --- energy-moments --- */

typedef struct {
    double n, share, z, z2, z4; /* sums */
    double beyond_5, beyond_01; /* |z| outside the 95 % and the 99.9 % interval of a normal law */
} share_sums;

static hkt_status sample_shares(uint64_t seed, uint32_t sub, size_t d, size_t p, size_t draws, double shift,
                                share_sums *t)
{
    double *w = NULL;
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, sub);
    *t = (share_sums){.n = (double)draws};
    HKT_TRY(HKT_NEW(&w, 2 * p * d));
    hkt_status status = HKT_OK;
    for (size_t k = 0; k < draws && status == HKT_OK; k++) {
        hkt_energy e = {0};
        for (size_t i = 0; i < 2 * p * d; i++)
            w[i] = hkt_rng_normal(&rng);
        status = hkt_energy_share(d, p, w, w + p * d, &e);
        double z = e.z + shift / e.sd;
        t->share += e.share;
        t->z += z;
        t->z2 += z * z;
        t->z4 += z * z * z * z;
        t->beyond_5 += fabs(z) > gsl_cdf_ugaussian_Qinv(0.025);
        t->beyond_01 += fabs(z) > gsl_cdf_ugaussian_Qinv(0.0005);
    }
    hkt_free(w);
    return status;
}

static const size_t shape[][2] = {{16, 4}, {32, 8}, {64, 16}, {32, 32}}; /* d, p */
enum { SHAPES = sizeof shape / sizeof *shape };

/* half: 1/2 in the place of the expectation. */
static hkt_status moments(const hkt_verify_context *ctx, hkt_check_result *out, bool half)
{
    double worst = 0;
    for (size_t i = 0; i < SHAPES; i++) {
        size_t d = shape[i][0], p = shape[i][1];
        share_sums t;
        HKT_TRY(sample_shares(ctx->seed, HKT_ASYMMETRY_MOMENTS + (uint32_t)i, d, p, ctx->quick ? 2000 : 20000,
                              half ? -0.5 / (double)d : 0, &t));
        double n = t.n, m2 = t.z2 / n, m4 = t.z4 / n;
        double mean_z = t.z / n * sqrt(n), variance_z = (m2 - 1) / sqrt((m4 - m2 * m2) / n);
        worst = hkt_check_worse(hkt_check_worse(worst, fabs(mean_z)), fabs(variance_z));
        HKT_TRY(hkt_check_row(out, "d\tp\tn\tmean_share\texpected\tmean_z\tvariance_z\tz4\tsize_5%\tsize_0.1%", d, p, n,
                              t.share / n, (1 - 1 / (double)d) / 2, mean_z, variance_z, m4, t.beyond_5 / n,
                              t.beyond_01 / n));
    }
    hkt_check_at_most(out, worst, gsl_cdf_ugaussian_Qinv(0.001 / (2 * 2 * SHAPES)));
    hkt_check_detail(out, "%d shapes; level 0.1 %% for the family (Bonferroni)", SHAPES);
    hkt_check_condition(out, "independent normal Wq, Wk");
    return HKT_OK;
}

/* At least so much at every shape: the standard deviation of a share falls with the concentration of the singular
 * values, which is at least 1/p (Cauchy's inequality). */
static double moments_power(const hkt_verify_context *ctx)
{
    double least = 1, n = ctx->quick ? 2000 : 20000;
    for (size_t i = 0; i < SHAPES; i++) {
        double d = (double)shape[i][0], sd = hkt_energy_sd(shape[i][0], 1 / (double)shape[i][1]);
        least = fmin(least, hkt_power_normal(0.5 / d / sd * sqrt(n), gsl_cdf_ugaussian_Qinv(0.001 / (4 * SHAPES))));
    }
    return least;
}

static const hkt_check_test moments_test = {.level = "0.1 % for the family (normal approximation)",
                                            .multiplicity = "8: mean and variance at four shapes, Bonferroni",
                                            .alternative =
                                                "1/2 in the place of (1 - 1/d)/2 at one of the shapes (the least seen)",
                                            .power = moments_power};

const hkt_check hkt_asymmetry_energy_moments = {
    .name = "energy-moments",
    .kind = HKT_STATISTICAL,
    .test = &moments_test,
    .statement = "share |M_a|^2/|M|^2 of normal weights: expectation (1 - 1/d)/2 and variance given the singular "
                 "values, by Monte Carlo",
    .reference = "docs/theory.md, asymmetry (moments of Haar matrices)",
    .failure = "the random-weights expectation is wrong",
    .run = moments,
    .holds = "mean and variance of the antisymmetric share are those of the law: largest z {m}, limit {b}",
    .violated = "mean or variance of the antisymmetric share is not that of the law: z {m}, limit {b}",
};

/* --- energy of a model's heads --- */

enum { NULL_MODELS = 999 }; /* the largest of so many, and the model itself: level 0.1 % */

/* Of one head: the normal law for wide heads (energy-moments shows the sizes), Chebyshev's inequality for others. */
static double share_p(size_t p, double z)
{
    return p >= HKT_ASYMMETRY_NORMAL_WIDTH ? hkt_normal_p(z) : fmin(1, 1 / (z * z));
}

/* What the largest |z| of `heads` heads exceeds with probability 0.1 %. Normal tails that far out are too light by a
 * factor of up to 2 (docs/theory.md): half of the level makes up for that. */
static double share_limit(size_t d, size_t p, size_t heads, uint64_t seed)
{
    double largest[NULL_MODELS];
    if (p >= HKT_ASYMMETRY_NORMAL_WIDTH || d == 1)
        return gsl_cdf_ugaussian_Qinv(0.0005 / (double)heads / 2);
    hkt_asymmetry_null_shares(d, p, heads, NULL_MODELS, seed, largest);
    return largest[NULL_MODELS - 1];
}

typedef struct {
    size_t heads; /* all: layers * levels * heads */
    hkt_energy *energy;
    double *p, *adjusted;
} shares;

static void shares_free(shares *s)
{
    hkt_free(s->energy);
    hkt_free(s->p);
    *s = (shares){0};
}

/* Shares of every head, a row each. */
static hkt_status shares_of(const hkt_subject *s, hkt_check_result *out, shares *t)
{
    const hkt_config *c = &s->layout->config;
    size_t d = c->d_model, p = d / c->heads;
    *t = (shares){.heads = c->layers * c->levels * c->heads};
    HKT_TRY(HKT_NEW(&t->energy, t->heads));
    HKT_TRY(HKT_NEW(&t->p, 2 * t->heads));
    t->adjusted = t->p + t->heads;
    for (size_t i = 0; i < t->heads; i++) {
        size_t layer = i / (c->levels * c->heads), level = i / c->heads % c->levels, head = i % c->heads;
        HKT_TRY(hkt_energy_share(d, p, hkt_subject_wq(s, layer, level, head), hkt_subject_wk(s, layer, level, head),
                                 t->energy + i));
        t->p[i] = share_p(p, t->energy[i].z);
    }
    HKT_TRY(hkt_false_discovery(t->heads, t->p, t->adjusted));
    for (size_t i = 0; i < t->heads; i++) {
        const hkt_energy *e = t->energy + i;
        HKT_TRY(hkt_check_row(out, "layer\tlevel\thead\tshare\texpected\tsd\tz\tp\tadjusted_p",
                              (double)(i / (c->levels * c->heads)), (double)(i / c->heads % c->levels),
                              (double)(i % c->heads), e->share, e->expected, e->sd, e->z, t->p[i], t->adjusted[i]));
    }
    return HKT_OK;
}

static hkt_status judge_fresh(const hkt_subject *s, uint64_t seed, hkt_check_result *out)
{
    shares t;
    double worst = 0, least = 1, most = 0;
    const hkt_config *c = &s->layout->config;
    hkt_status status = shares_of(s, out, &t);
    for (size_t i = 0; i < t.heads && status == HKT_OK; i++) {
        worst = hkt_check_worse(worst, fabs(t.energy[i].z));
        least = fmin(least, t.energy[i].share);
        most = fmax(most, t.energy[i].share);
    }
    if (status == HKT_OK) {
        size_t p = c->d_model / c->heads;
        hkt_check_at_most(out, worst, share_limit(c->d_model, p, t.heads, seed));
        hkt_check_detail(out, "%zu heads, shares %.4f to %.4f, expected %.4f; level 0.1 %% for all (%s)", t.heads,
                         least, most, t.energy[0].expected,
                         p < HKT_ASYMMETRY_NORMAL_WIDTH ? "largest of 999 simulated models" : "Bonferroni");
    }
    shares_free(&t);
    return status;
}

/* control: Wk = Wq, so that M is symmetric. */
static hkt_status fresh(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_subject like, s;
    HKT_TRY(hkt_subject_open(ctx, &like));
    hkt_status status = hkt_subject_fresh(&like.layout->config, ctx->seed, &s);
    hkt_subject_close(&like);
    if (status == HKT_OK && control)
        hkt_subject_tie(&s);
    if (status == HKT_OK)
        status = judge_fresh(&s, ctx->seed, out);
    hkt_subject_close(&s);
    hkt_check_condition(out, "independent normal Wq, Wk");
    return status;
}

/* By simulation of 200 heads. */
static double fresh_power(const hkt_verify_context *ctx)
{
    enum { WIDTH = 64, HEAD = 16, HEADS = 24, DRAWS = 200 };
    double w[2 * HEAD * WIDTH], seen = 0;
    const double limit = share_limit(WIDTH, HEAD, HEADS, ctx->seed);
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 2410);
    for (int k = 0; k < DRAWS; k++) {
        hkt_energy e;
        for (size_t i = 0; i < HEAD * WIDTH; i++) {
            w[i] = hkt_rng_normal(&rng);
            w[HEAD * WIDTH + i] = w[i] / 2 + sqrt(0.75) * hkt_rng_normal(&rng);
        }
        if (hkt_energy_share(WIDTH, HEAD, w, w + HEAD * WIDTH, &e) != HKT_OK)
            return (double)NAN;
        seen += fabs(e.z) > limit;
    }
    return seen / DRAWS;
}

static const hkt_check_test fresh_test = {
    .level = "0.1 % for all heads",
    .multiplicity = "all heads of the model: Bonferroni, or the largest of simulated models",
    .alternative = "one head of 24 whose Wk has correlation 1/2 with Wq (d = 64, p = 16; simulated)",
    .power = fresh_power};

const hkt_check hkt_asymmetry_energy_fresh = {
    .name = "energy-fresh",
    .kind = HKT_STATISTICAL,
    .test = &fresh_test,
    .statement = "every head of an untrained model of this shape lies in the interval of that law",
    .reference = "docs/theory.md, asymmetry",
    .failure = "initial weights are not what the law supposes",
    .finding = "untrained heads have (1 - 1/d)/2 of their energy in M_a, as random weights do",
    .of_model = true,
    .run = fresh,
    .holds = "every untrained head has the antisymmetric share of random weights: largest z {m}, limit {b}",
    .violated = "some untrained head has not the antisymmetric share of random weights: z {m}, limit {b}",
};

static hkt_status judge_trained(const hkt_subject *s, hkt_check_result *out)
{
    shares t;
    hkt_status status = shares_of(s, out, &t);
    double margin = (double)INFINITY, least = 1, most = 0;
    size_t differ = 0, above = 0, zero = 0;
    for (size_t i = 0; i < t.heads && status == HKT_OK; i++) {
        const hkt_energy *e = t.energy + i;
        if (isnan(e->share)) { /* M = 0 */
            zero++;
            continue;
        }
        /* The smaller part in units of its rounding bound. */
        margin = -hkt_check_worse(-margin, -fmin(e->share, 1 - e->share) / e->error);
        least = fmin(least, e->share);
        most = fmax(most, e->share);
        differ += t.adjusted[i] <= 0.05;
        above += t.adjusted[i] <= 0.05 && e->z > 0;
    }
    if (status == HKT_OK && zero == t.heads)
        hkt_check_skip(out, "the forms M of all %zu heads are 0", t.heads);
    else if (status == HKT_OK) {
        hkt_check_at_least(out, margin, 1);
        hkt_check_detail(out,
                         "antisymmetric share of the energy %.3f to %.3f, of random weights %.3f; %zu of %zu heads "
                         "differ from these (FDR 5 %%), %zu are more antisymmetric",
                         least, most, t.energy[0].expected, differ, t.heads - zero, above);
        hkt_check_left_out(out, zero, "heads", "M = 0");
        hkt_asymmetry_reading(out, "trained weights; ", s->layout->config.causal);
    }
    shares_free(&t);
    return status;
}

/* control: Wk = Wq, so that the antisymmetric part is rounding. */
static hkt_status trained(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_subject s;
    hkt_status status = HKT_OK;
    if (!control && !hkt_subject_trained(ctx, out))
        return HKT_OK;
    HKT_TRY(hkt_subject_open(ctx, &s));
    if (control)
        hkt_subject_tie(&s);
    if (s.layout->config.d_model == 1)
        hkt_check_skip(out, "d = 1: a form of one number is symmetric");
    else
        status = judge_trained(&s, out);
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_asymmetry_energy_trained = {
    .name = "energy-trained",
    .kind = HKT_EMPIRICAL,
    .statement = "both parts of every trained M are there beyond rounding; share against the random-weights law, false "
                 "discovery rate 5 %",
    .reference = "Benjamini & Hochberg 1995",
    .failure = "a trained head is symmetric or antisymmetric",
    .finding = "every trained head has both parts",
    .of_model = true,
    .run = trained,
    .holds = "every trained head has both parts: the smaller is {m} times its rounding bound or more",
    .violated = "some trained head has only one part: the other is {m} of its rounding bound",
};

/* --- level-cosine --- */

/* Cosines of one head's pairs of levels. m [L, d, d] scratch. */
static void cosines_of(const hkt_subject *s, size_t layer, size_t head, bool twice, double *m, double *cosine)
{
    const hkt_config *c = &s->layout->config;
    size_t d = c->d_model, L = c->levels, at = 0;
    for (size_t l = 0; l < L; l++) {
        size_t shown = twice && l == 1 ? 0 : l;
        hkt_score_form(d, d / c->heads, hkt_subject_wq(s, layer, shown, head), hkt_subject_wk(s, layer, shown, head),
                       m + l * d * d);
    }
    for (size_t k = 1; k < L; k++)
        for (size_t l = 0; l < k; l++, at++)
            cosine[at] = hkt_directional_cosine(d, m + k * d * d, m + l * d * d);
}

/* p [n] of the cosines: normal with the exact variance, or, for narrow heads, by simulation. */
static hkt_status cosine_p(size_t d, size_t p_head, size_t n, const double *cosine, uint64_t seed, double *p)
{
    enum { DRAWS = 19999 };
    double *draws = NULL;
    if (p_head < HKT_ASYMMETRY_NORMAL_COSINE && d > 1) {
        HKT_TRY(HKT_NEW(&draws, DRAWS));
        hkt_status status = hkt_asymmetry_null_cosines(d, p_head, DRAWS, seed, draws);
        if (status != HKT_OK) {
            hkt_free(draws);
            return status;
        }
    }
    for (size_t i = 0; i < n; i++)
        p[i] = draws ? hkt_asymmetry_null_p(draws, DRAWS, fabs(cosine[i]))
                     : hkt_normal_p(cosine[i] * sqrt((double)d * (double)(d - 1) / 2));
    hkt_free(draws);
    return HKT_OK;
}

static hkt_status cosine_rows(const hkt_config *c, const double *cosine, const double *p, const double *adjusted,
                              hkt_check_result *out)
{
    size_t at = 0;
    for (size_t n = 0; n < c->layers; n++)
        for (size_t h = 0; h < c->heads; h++)
            for (size_t k = 1; k < c->levels; k++)
                for (size_t l = 0; l < k; l++, at++) {
                    HKT_TRY(hkt_check_row(out, "layer\thead\tlevel\tother\tcosine\tp\tadjusted_p", n, h, l, k,
                                          cosine[at], p[at], adjusted[at]));
                }
    return HKT_OK;
}

static hkt_status cosines(const hkt_subject *s, bool twice, uint64_t seed, hkt_check_result *out)
{
    const hkt_config *c = &s->layout->config;
    size_t d = c->d_model, each = c->levels * (c->levels - 1) / 2, n = c->layers * c->heads * each, differ = 0,
           none = 0;
    double *m = NULL, largest = 0;
    HKT_TRY(HKT_NEW(&m, c->levels * d * d + 3 * n));
    double *cosine = m + c->levels * d * d, *p = cosine + n, *adjusted = p + n;
    for (size_t i = 0; i < c->layers * c->heads; i++)
        cosines_of(s, i / c->heads, i % c->heads, twice, m, cosine + i * each);
    hkt_status status = cosine_p(d, d / c->heads, n, cosine, seed, p);
    if (status == HKT_OK)
        status = hkt_false_discovery(n, p, adjusted);
    if (status == HKT_OK)
        status = cosine_rows(c, cosine, p, adjusted, out);
    for (size_t i = 0; i < n; i++) {
        none += isnan(cosine[i]); /* an M_a is 0 */
        if (!isnan(cosine[i]))
            largest = hkt_check_worse(largest, fabs(cosine[i]));
        differ += adjusted[i] <= 0.05;
    }
    hkt_free(m);
    /* Three sums of d(d-1)/2 products, each of differences rounded once. */
    if (none == n) {
        hkt_check_skip(out, "M_a is 0 in every one of %zu pairs of levels", n);
        return status;
    }
    hkt_check_below(out, largest, 1 - 2 * hkt_gamma(d * (d - 1) + 16));
    hkt_check_detail(
        out, "%zu pairs of levels; %zu cosines differ from 0 (FDR 5 %%); random weights: standard deviation %.3g",
        n - none, differ, sqrt(2 / ((double)d * (double)(d - 1))));
    hkt_check_left_out(out, none, "pairs", "M_a = 0");
    hkt_check_condition(out, "trained weights");
    return status;
}

/* control: level 0 shown again as level 1. */
static hkt_status level_cosine(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_subject s;
    hkt_status status = HKT_OK;
    if (!control && !hkt_subject_trained(ctx, out))
        return HKT_OK;
    HKT_TRY(hkt_subject_open(ctx, &s));
    if (s.layout->config.levels == 1)
        hkt_check_skip(out, "one level: there is nothing to compare");
    else
        status = cosines(&s, control, ctx->seed, out);
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_asymmetry_level_cosine = {
    .name = "level-cosine",
    .kind = HKT_EMPIRICAL,
    .statement = "no two levels of a head have parallel M_a; cosines against the random-weights variance 2/(d(d-1)), "
                 "false discovery rate 5 %",
    .reference = "docs/theory.md, asymmetry; Benjamini & Hochberg 1995",
    .failure = "two levels have the same directional form",
    .finding = "no two levels of a trained head have the same directional form",
    .of_model = true,
    .run = level_cosine,
    .holds = "no two levels of a head have the same directional form: their |cosine| is at most {m}",
    .violated = "two levels of a head have the same directional form: their |cosine| is {m}",
};

/* asymmetry.c - the claim `asymmetry` (Props 3.5, 3.6): the table of checks, and the spectrum of M_a. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/claims/asymmetry/checks.h"
#include "analysis/math/linalg.h"
#include "analysis/view/asymmetry.h"
#include "base/mem.h"

void hkt_asymmetry_reading(hkt_check_result *out, const char *before, bool causal)
{
    hkt_check_condition(out, "%s%s", before,
                        causal ? "of scores: the causal mask uses j <= i alone" : "no mask: of the attention itself");
}

static int descending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* Largest |Re| and largest distance of the sorted |Im| from the singular values, in units of d eps |M|_F: a normal
 * matrix M has eigenvalues of these absolute values, and M + E, |E| of that size, is what dgeev solves exactly. pairs:
 * non-zero ones. `whole`: M in the place of M_a. */
static hkt_status pairs_of(const hkt_subject *s, size_t layer, size_t level, size_t head, bool whole, double *real_part,
                           double *distance, size_t *pairs)
{
    size_t d = s->layout->config.d_model, p = d / s->layout->config.heads;
    double *m = NULL;
    HKT_TRY(HKT_NEW(&m, 3 * d * d + 3 * d));
    double *ms = m + d * d, *ma = ms + d * d, *re = ma + d * d, *im = re + d, *sigma = im + d;
    hkt_status status;
    hkt_score_form(d, p, hkt_subject_wq(s, layer, level, head), hkt_subject_wk(s, layer, level, head), m);
    hkt_split(d, m, ms, ma);
    const double *form = whole ? m : ma;
    double unit = (double)d * DBL_EPSILON * sqrt(hkt_inner(d, form, form));
    HKT_TRY_GOTO(status, done, hkt_eigenvalues_general(d, form, re, im));
    HKT_TRY_GOTO(status, done, hkt_singular_values(d, d, form, sigma));
    for (size_t i = 0; i < d; i++)
        im[i] = fabs(im[i]);
    qsort(im, d, sizeof *im, descending);
    *real_part = *distance = 0;
    *pairs = 0;
    for (size_t i = 0; i < d; i++) {
        *real_part = hkt_check_worse(*real_part, hkt_check_relative(fabs(re[i]), unit));
        *distance = hkt_check_worse(*distance, hkt_check_relative(fabs(im[i] - sigma[i]), unit));
        *pairs += i % 2 == 0 && im[i] > unit;
    }
done:
    hkt_free(m);
    return status;
}

static hkt_status imaginary(const hkt_verify_context *ctx, hkt_check_result *out, bool whole)
{
    hkt_subject s;
    double worst = 0;
    size_t full = 0;
    HKT_TRY(hkt_subject_open(ctx, &s));
    const hkt_config *c = &s.layout->config;
    size_t p = c->d_model / c->heads, most = 2 * p < c->d_model ? p : c->d_model / 2, forms = 0;
    hkt_status status = HKT_OK;
    for (size_t n = 0; n < c->layers; n++)
        for (size_t l = 0; l < c->levels; l++)
            for (size_t h = 0; h < c->heads; h++, forms++) {
                double re = (double)NAN, distance = (double)NAN;
                size_t pairs = 0;
                HKT_TRY_GOTO(status, done, pairs_of(&s, n, l, h, whole, &re, &distance, &pairs));
                worst = hkt_check_worse(hkt_check_worse(worst, re), distance);
                full += pairs == most;
                double cells[] = {(double)n, (double)l, (double)h, (double)pairs, re, distance};
                HKT_TRY_GOTO(status, done,
                             hkt_check_row(out, "layer\tlevel\thead\tpairs\treal_part\tfrom_singular_values", cells));
            }
    hkt_check_at_most(out, worst, 1);
    hkt_check_detail(out,
                     "largest real part, and distance of |imaginary part| from the singular values, in d eps |M_a|_F; "
                     "%zu of %zu forms have min(p, d/2) = %zu pairs",
                     full, forms, most);
done:
    hkt_subject_close(&s);
    return status;
}

static hkt_status imaginary_pairs(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return imaginary(ctx, out, false);
}

static hkt_status imaginary_pairs_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return imaginary(ctx, out, true);
}

static const hkt_check checks[] = {
    {"unique", HKT_EXACT, "a sum of a symmetric and an antisymmetric integer matrix splits into just these two",
     "Sym and Skew meet in 0 alone", "the split is not unique, or not what the code computes", hkt_asymmetry_unique,
     hkt_asymmetry_unique_control, false, "the split into a symmetric and an antisymmetric part is unique"},
    {"forms", HKT_NUMERIC,
     "the parts of S^(l,h) from the forward pass are X M_s X' and X M_a X' from the weights: S_ij + S_ji (reciprocal) "
     "and S_ij - S_ji (directional) are twice these; under a causal mask this is said of scores alone",
     "paper, Prop. 3.5", "the parts of the scores do not come from those of M", hkt_asymmetry_forms,
     hkt_asymmetry_forms_control, true, "the two parts of the scores are X M_s X' and X M_a X'"},
    {"pythagoras", HKT_NUMERIC,
     "S^H = S_s + S_a, <S_s, S_a> = 0, |S|^2 = |S_s|^2 + |S_a|^2 for the hierarchical score matrix of every head",
     "paper, Prop. 3.5", "the parts are not orthogonal", hkt_asymmetry_pythagoras, hkt_asymmetry_pythagoras_control,
     true, "the two parts of S^H are orthogonal, their energies add up"},
    {"imaginary-pairs", HKT_NUMERIC,
     "eigenvalues of M_a (general eigensolver) are purely imaginary, in pairs +-i sigma, sigma its singular values",
     "spectral theorem for normal matrices; Bauer & Fike 1960", "M_a is not antisymmetric", imaginary_pairs,
     imaginary_pairs_control, true, "eigenvalues of M_a are imaginary, in pairs"},
    {"independence", HKT_NUMERIC,
     "the L upsampled symmetric and the L upsampled antisymmetric level matrices are linearly independent",
     "paper, Prop. 3.6; docs/theory.md, asymmetry", "some level adds no pair of its own", hkt_asymmetry_independence,
     hkt_asymmetry_independence_control, true, "L levels give L independent pairs of parts"},
    {"energy-moments", HKT_STATISTICAL,
     "share |M_a|^2/|M|^2 of normal weights: expectation (1 - 1/d)/2 and variance given the singular values, by Monte "
     "Carlo",
     "docs/theory.md, asymmetry (moments of Haar matrices)", "the random-weights expectation is wrong",
     hkt_asymmetry_moments, hkt_asymmetry_moments_control, false, NULL},
    {"energy-fresh", HKT_STATISTICAL, "every head of an untrained model of this shape lies in the interval of that law",
     "docs/theory.md, asymmetry", "initial weights are not what the law supposes", hkt_asymmetry_fresh,
     hkt_asymmetry_fresh_control, true,
     "untrained heads have (1 - 1/d)/2 of their energy in M_a, as random weights do"},
    {"energy-trained", HKT_EMPIRICAL,
     "both parts of every trained M are there beyond rounding; share against the random-weights law, false discovery "
     "rate 5 %",
     "Benjamini & Hochberg 1995", "a trained head is symmetric or antisymmetric", hkt_asymmetry_trained,
     hkt_asymmetry_trained_control, true, "every trained head has both parts"},
    {"level-cosine", HKT_EMPIRICAL,
     "no two levels of a head have parallel M_a; cosines against the random-weights variance 2/(d(d-1)), false "
     "discovery "
     "rate 5 %",
     "docs/theory.md, asymmetry; Benjamini & Hochberg 1995", "two levels have the same directional form",
     hkt_asymmetry_cosine, hkt_asymmetry_cosine_control, true,
     "no two levels of a trained head have the same directional form"},
    {"interventions", HKT_EMPIRICAL,
     "S replaced by S_s or by S_a, per level and on all: accuracy with one of them differs from that with a random "
     "part "
     "(M + R M' R')/2 of about the same energy",
     "McNemar 1947; Benjamini & Hochberg 1995", "for this model the two parts are no more than any half of the scores",
     hkt_asymmetry_effect, hkt_asymmetry_effect_control, true,
     "the trained model's accuracy tells the parts of S from random halves of it"},
};

const hkt_claim hkt_claim_asymmetry = {
    "asymmetry", "Props 3.5, 3.6",
    "scores split into a reciprocal and a directional part; L levels give L independent pairs", checks,
    sizeof checks / sizeof *checks};

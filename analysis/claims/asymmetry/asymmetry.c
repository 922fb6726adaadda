/* asymmetry.c - the claim `asymmetry` (Props 3.5, 3.6): the list of checks, and the spectrum of M_a. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/claims/asymmetry/asymmetry.h"
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
                HKT_TRY_GOTO(status, done,
                             hkt_check_row(out, "layer\tlevel\thead\tpairs\treal_part\tfrom_singular_values", n, l, h,
                                           pairs, re, distance));
            }
    hkt_check_at_most(out, worst, 1);
    hkt_check_detail(out, "in d eps |M_a|_F; %zu of %zu forms have min(p, d/2) = %zu pairs", full, forms, most);
done:
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_asymmetry_imaginary_pairs = {
    .name = "imaginary-pairs",
    .kind = HKT_IMPLEMENTATION,
    .statement =
        "eigenvalues of M_a (general eigensolver) are purely imaginary, in pairs +-i sigma, sigma its singular values",
    .reference = "spectral theorem for normal matrices; Bauer & Fike 1960",
    .failure = "M_a is not antisymmetric",
    .finding = "eigenvalues of M_a are imaginary, in pairs",
    .of_model = true,
    .run = imaginary,
    .holds = "the eigenvalues of M_a are pairs +-i sigma; the error is {m} of what is allowed",
    .violated = "an eigenvalue of M_a is further from a pair +-i sigma than is allowed, {m} times",
};

extern const hkt_check hkt_asymmetry_unique, hkt_asymmetry_forms, hkt_asymmetry_pythagoras, hkt_asymmetry_independence,
    hkt_asymmetry_energy_moments, hkt_asymmetry_energy_fresh, hkt_asymmetry_energy_trained, hkt_asymmetry_level_cosine,
    hkt_asymmetry_interventions;
static const hkt_check *const checks[] = {&hkt_asymmetry_unique,       &hkt_asymmetry_forms,
                                          &hkt_asymmetry_pythagoras,   &hkt_asymmetry_imaginary_pairs,
                                          &hkt_asymmetry_independence, &hkt_asymmetry_energy_moments,
                                          &hkt_asymmetry_energy_fresh, &hkt_asymmetry_energy_trained,
                                          &hkt_asymmetry_level_cosine, &hkt_asymmetry_interventions};

static const hkt_headline headline[] = {
    {&hkt_asymmetry_pythagoras, "scores split into a reciprocal and a directional part, which are orthogonal",
     "the reciprocal and the directional part of scores are not orthogonal", NULL},
    {&hkt_asymmetry_independence, "L levels of two tokens or more give L independent pairs of them",
     "some level adds no pair of its own", NULL},
    {&hkt_asymmetry_energy_trained, "of this model, every head has both parts",
     "of this model, some head has one part only", NULL},
    {&hkt_asymmetry_interventions,
     "of this model, putting one part in the place of the scores changes accuracy otherwise than a random half does",
     "of this model, putting one part in the place of the scores changes accuracy as a random half does",
     "of this model, whether one part in the place of the scores changes accuracy otherwise than a random half does"},
};

const hkt_claim hkt_claim_asymmetry = {
    .id = "asymmetry",
    .place = "Props 3.5, 3.6",
    .statement = "scores split into a reciprocal and a directional part; L levels give L independent pairs",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

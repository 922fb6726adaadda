/* expansion.c - the kurtosis term of the negentropy against the negentropy itself. */
#include <float.h>
#include <math.h>

#include "analysis/claims/information/information.h"
#include "analysis/math/entropy.h"
#include "analysis/math/laws.h"

#define TOLERANCE 0.1 /* "within 10 %" */

/* The kurtosis term at kappa. */
static double expansion(double kappa)
{
    return hkt_negentropy_expansion(0, 3 * (kappa - 1));
}

/* *error = expansion / J - 1 of the law with this kappa; J [out] may be NULL. */
static hkt_status relative_error(const hkt_family *f, double kappa, double *error, double *negentropy)
{
    double j;
    HKT_TRY(hkt_family_negentropy(f, f->parameter(kappa), &j));
    *error = expansion(kappa) / j - 1;
    if (negentropy)
        *negentropy = j;
    return HKT_OK;
}

/* --- quadrature --- */

/* One law; Gaussian entropy taken at `scale` times its standard deviation (1 in truth). */
static hkt_status closed_form(size_t family, const hkt_family *f, double parameter, double entropy, double scale,
                              hkt_check_result *out, double *worst)
{
    double j, log_sd = f->log_sd(parameter), gauss = hkt_entropy_gaussian(exp(2 * log_sd) * scale * scale);
    HKT_TRY(hkt_family_negentropy(f, parameter, &j));
    double closed = gauss - entropy;
    /* The rule stops at 1e-11; log densities and closed forms are differences of a few terms of size |h|, gauss or
     * lgamma of the parameter. */
    double bound = 1e-9 * j + 32 * DBL_EPSILON * (1 + fabs(gauss) + fabs(entropy) + parameter * log(1 + parameter));
    *worst = hkt_check_worse(*worst, fabs(j - closed) / bound);
    return hkt_check_row(out, "family\tparameter\tquadrature\tclosed_form\tdifference\tbound", family, parameter, j,
                         closed, fabs(j - closed), bound);
}

/* control: a standard deviation off by one part in a million. */
static hkt_status quadrature(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const double scale = control ? 1 + 1e-6 : 1;
    static const hkt_family *const family[] = {&hkt_family_student, &hkt_family_beta, &hkt_family_power};
    static const double kappa[] = {0.61, 0.75, 0.9, 0.99, 1.01, 1.1, 1.5, 2, 5, 33};
    double worst = 0;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < sizeof kappa / sizeof *kappa; k++)
            if (kappa[k] > family[i]->kappa_low && kappa[k] < family[i]->kappa_high) {
                double p = family[i]->parameter(kappa[k]);
                HKT_TRY(closed_form(i, family[i], p, family[i]->entropy(p), scale, out, &worst));
            }
    HKT_TRY(closed_form(1, &hkt_family_beta, 1, log(2), scale, out, &worst));    /* uniform on [-1, 1] */
    HKT_TRY(closed_form(3, &hkt_family_dot, 2, 1 + log(2), scale, out, &worst)); /* p = 2: Laplace */
    hkt_check_at_most(out, worst, 1);
    hkt_check_condition(out, "laws with a closed form");
    hkt_check_detail(out,
                     "largest difference in units of its bound over Student, symmetric beta (uniform), exponential "
                     "power (Laplace), dot product (p = 2)");
    return HKT_OK;
}

const hkt_check hkt_information_quadrature = {
    .name = "quadrature",
    .kind = HKT_NUMERIC,
    .statement = "negentropy by quadrature equals its closed form where there is one",
    .reference = "docs/theory.md, information",
    .failure = "the true negentropies below are wrong",
    .run = quadrature,
};

/* --- kappa -> 1 --- */

/* Limit of `value` at kappa = 1 from step, 2 step, 4 step; the error is of third order in the step. */
static double extrapolate(const double value[3])
{
    return (8 * value[0] - 6 * value[1] + value[2]) / 3;
}

/* Steps: larger for the dot product, where GSL's Bessel functions lose digits above order 100 (p > 200). */
typedef struct {
    const hkt_family *f;
    double step;
} approach;

static const approach edgeworth[] = {
    {&hkt_family_student, 1e-3}, {&hkt_family_beta, -1e-3}, {&hkt_family_dot, 1e-2}, {&hkt_family_gram_charlier, 1e-3}};
enum { N_EDGEWORTH = sizeof edgeworth / sizeof *edgeworth };

/* factor: of the expansion, 1 in truth. control: a coefficient 1 % too large. */
static hkt_status leading(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const double factor = control ? 1.01 : 1;
    double worst = 0;
    for (size_t i = 0; i < N_EDGEWORTH; i++) {
        double slope[3], error = 0;
        for (size_t k = 0; k < 3; k++) {
            double step = edgeworth[i].step * (1 << k);
            HKT_TRY(relative_error(edgeworth[i].f, 1 + step, &error, NULL));
            slope[k] = (factor * (1 + error) - 1) / (3 * step);
        }
        double limit = extrapolate(slope);
        worst = hkt_check_worse(worst, fabs(limit - 1));
        HKT_TRY(hkt_check_row(out, "family\tstep\tslope\tslope_2_steps\tslope_4_steps\tslope_at_1", i,
                              edgeworth[i].step, slope[0], slope[1], slope[2], limit));
    }
    hkt_check_at_most(out, worst, 0.01);
    hkt_check_condition(out, "Student, beta, dot product, Gram-Charlier laws, kappa -> 1");
    hkt_check_detail(out,
                     "largest distance from 1 of (expansion/J - 1)/(3(kappa-1)), extrapolated to kappa = 1; its error "
                     "is of third order in the step");
    return HKT_OK;
}

const hkt_check hkt_information_leading_term = {
    .name = "leading-term",
    .kind = HKT_NUMERIC,
    .statement = "as kappa -> 1, (3/16)(kappa-1)^2 exceeds the negentropy by 3(kappa-1) of it: it is the leading term",
    .reference = "Edgeworth; docs/theory.md, information",
    .failure = "the kurtosis term is not the leading term of the negentropy",
    .finding = "the kurtosis term is the leading term of the negentropy",
    .run = leading,
};

/* control: twice the expansion. */
static hkt_status leading_power(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const double factor = control ? 2 : 1;
    double worst = 0, exact = 4 / (9 * M_PI * M_PI - 84), limit = 0;
    for (int side = -1; side <= 1; side += 2) {
        double ratio[3], error;
        for (size_t k = 0; k < 3; k++) {
            HKT_TRY(relative_error(&hkt_family_power, 1 + side * 1e-3 * (1 << k), &error, NULL));
            ratio[k] = factor * (1 + error);
        }
        limit = extrapolate(ratio);
        worst = hkt_check_worse(worst, fabs(limit - 1));
        HKT_TRY(hkt_check_row(out, "step\tratio\tratio_2_steps\tratio_4_steps\tratio_at_1\tclosed_form", side * 1e-3,
                              ratio[0], ratio[1], ratio[2], limit, exact));
    }
    hkt_check_at_most(out, worst, TOLERANCE);
    hkt_check_condition(out, "exponential power laws, kappa -> 1");
    hkt_check_detail(out, "|expansion/J - 1| at kappa = 1: expansion/J is %.6f, in closed form 4/(9 pi^2 - 84) = %.6f",
                     limit, exact);
    return HKT_OK;
}

const hkt_check hkt_information_leading_term_power = {
    .name = "leading-term-power",
    .kind = HKT_NUMERIC,
    .statement = "as kappa -> 1 the expansion comes within 10 % of the negentropy along exponential power laws as well",
    .reference = "docs/theory.md, information",
    .failure = "kappa near 1 is not enough for the expansion: other orders have the same size",
    .finding = "the kurtosis term is the leading term of the negentropy",
    .run = leading_power,
};

/* --- the range of validity --- */

/* *kappa where the relative error is `error`: there is one such place between low and high. */
static hkt_status find_error(const hkt_family *f, double error, double low, double high, double *kappa)
{
    double at_low, at;
    HKT_TRY(relative_error(f, low, &at_low, NULL));
    for (int i = 0; i < 50; i++) {
        *kappa = 0.5 * (low + high);
        HKT_TRY(relative_error(f, *kappa, &at, NULL));
        if ((at > error) == (at_low > error))
            low = *kappa;
        else
            high = *kappa;
    }
    return HKT_OK;
}

/* Where the expansion is 10 % off; families numbered as in `edgeworth`, 4: exponential power. */
static hkt_status list_ends(hkt_check_result *out)
{
    static const struct {
        const hkt_family *f;
        double family, error, low, high;
    } end[] = {{&hkt_family_student, 0, TOLERANCE, 1.005, 2},  {&hkt_family_beta, 1, -TOLERANCE, 0.61, 0.995},
               {&hkt_family_dot, 2, TOLERANCE, 1.01, 2},       {&hkt_family_gram_charlier, 3, TOLERANCE, 1.005, 2},
               {&hkt_family_power, 4, -TOLERANCE, 1.005, 1.1}, {&hkt_family_power, 4, TOLERANCE, 1.1, 2}};
    for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
        double kappa, error, j;
        HKT_TRY(find_error(end[i].f, end[i].error, end[i].low, end[i].high, &kappa));
        HKT_TRY(relative_error(end[i].f, kappa, &error, &j));
        HKT_TRY(hkt_check_row(out, "family\tkappa\tnegentropy\texpansion\trelative_error", end[i].family, kappa, j,
                              expansion(kappa), error));
    }
    return HKT_OK;
}

/* The table kappa against relative error. */
static hkt_status list_laws(hkt_check_result *out)
{
    static const hkt_family *const family[] = {&hkt_family_student, &hkt_family_beta, &hkt_family_dot,
                                               &hkt_family_gram_charlier, &hkt_family_power};
    static const double kappa[] = {0.601, 0.7, 0.8, 0.9, 0.97, 0.99, 1.01, 1.03, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 33};
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        for (size_t k = 0; k < sizeof kappa / sizeof *kappa; k++)
            if (kappa[k] > family[i]->kappa_low && kappa[k] < family[i]->kappa_high) {
                double error, j;
                HKT_TRY(relative_error(family[i], kappa[k], &error, &j));
                HKT_TRY(hkt_check_row(out, "family\tkappa\tnegentropy\texpansion\trelative_error", i, kappa[k], j,
                                      expansion(kappa[k]), error));
            }
    return HKT_OK;
}

/* Largest relative error over kappa between 1 - half and 1 + half, in steps of a twentieth. control: three times as
 * far. */
static hkt_status range(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const double half = control ? 0.09 : 0.03;
    double worst = 0, error = 0;
    for (size_t i = 0; i < N_EDGEWORTH; i++)
        for (int k = 1; k <= 20; k++) {
            double distance = half * k / 20, kappa = 1 + (edgeworth[i].step < 0 ? -distance : distance);
            if (distance < fabs(edgeworth[i].step))
                continue;
            HKT_TRY(relative_error(edgeworth[i].f, kappa, &error, NULL));
            worst = hkt_check_worse(worst, fabs(error));
        }
    HKT_TRY(list_ends(out));
    HKT_TRY(list_laws(out));
    const double *end = out->rows.cell;
    size_t cols = out->rows.n_cols;
    hkt_check_at_most(out, worst, TOLERANCE);
    hkt_check_condition(out, "0.97 <= kappa <= 1.03; Student, beta, dot product, Gram-Charlier");
    hkt_check_detail(
        out,
        "largest relative error; it reaches 10 %% at kappa = %.4f (Student), %.4f (beta), %.4f (dot), %.4f "
        "(Gram-Charlier); exponential power: below 10 %% from %.4f to %.4f only",
        end[1], end[cols + 1], end[2 * cols + 1], end[3 * cols + 1], end[4 * cols + 1], end[5 * cols + 1]);
    return HKT_OK;
}

const hkt_check hkt_information_range = {
    .name = "range",
    .kind = HKT_NUMERIC,
    .statement = "for 0.97 <= kappa <= 1.03 the expansion is within 10 % of the negentropy",
    .reference = "docs/theory.md, information",
    .failure = "the expansion is valid in an even smaller range",
    .finding = "the kurtosis term is within 10 % of the negentropy",
    .run = range,
};

/* --- the paper's kappa --- */

/* control: at kappa = 2 as well. */
static hkt_status at_kappa(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const double kappa = control ? 2 : 33;
    static const hkt_family *const family[] = {&hkt_family_student, &hkt_family_power, &hkt_family_dot};
    double least = (double)INFINITY, j[3];
    for (size_t i = 0; i < 3; i++) {
        double error;
        HKT_TRY(relative_error(family[i], kappa, &error, j + i));
        least = -hkt_check_worse(-least, -fabs(error));
        HKT_TRY(hkt_check_row(out, "family\tkappa\tparameter\tnegentropy\texpansion\trelative_error", i, kappa,
                              family[i]->parameter(kappa), j[i], expansion(kappa), error));
    }
    hkt_check_at_most(out, least, TOLERANCE);
    hkt_check_condition(out, "kappa = %.3g; Student, exponential power, dot product", kappa);
    hkt_check_detail(
        out,
        "smallest relative error: the expansion says %.4g nats, the truth is %.4f (Student), %.4f (exponential "
        "power), %.4f (dot product)",
        expansion(kappa), j[0], j[1], j[2]);
    return HKT_OK;
}

const hkt_check hkt_information_kappa_33 = {
    .name = "kappa-33",
    .kind = HKT_NUMERIC,
    .statement = "at the paper's kappa = 33 the expansion, 192 nats, is within 10 % of the negentropy",
    .reference = "paper (kappa about 33)",
    .failure = "the correction must not be used at the kappa that the paper reports",
    .finding = "the kurtosis term is within 10 % of the negentropy",
    .run = at_kappa,
};

/* --- every negentropy at one kappa --- */

/* *log_a of the mixture (kappa 33, variance 1) whose negentropy is `target`: it grows as a falls. */
static hkt_status find_mixture(double target, double *log_a)
{
    double low = log(1e-9), high = log(600), j; /* of log(-log a) */
    for (int i = 0; i < 80; i++) {
        double middle = 0.5 * (low + high);
        *log_a = -exp(middle);
        HKT_TRY(hkt_family_negentropy(&hkt_family_mixture, *log_a, &j));
        if (j < target)
            low = middle;
        else
            high = middle;
    }
    return HKT_OK;
}

/* at: 0 finds the law of each target; otherwise log a of one law for all of them. control: one law for all of them: as
 * if kappa fixed the negentropy. */
static hkt_status any(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const double at = control ? -1 : 0;
    static const double target[] = {0.001, 0.08, 1, 12, 192, 400};
    double worst = 0, log_a = at, j, m2, m4;
    for (size_t i = 0; i < sizeof target / sizeof *target; i++) {
        if (at == 0)
            HKT_TRY(find_mixture(target[i], &log_a));
        HKT_TRY(hkt_family_negentropy(&hkt_family_mixture, log_a, &j));
        HKT_TRY(hkt_family_moment(&hkt_family_mixture, log_a, 2, &m2));
        HKT_TRY(hkt_family_moment(&hkt_family_mixture, log_a, 4, &m4));
        double kappa = m4 / (3 * m2 * m2);
        double e = hkt_check_worse(fabs(j - target[i]) / target[i], fabs(kappa - 33) / 33);
        worst = hkt_check_worse(worst, e);
        HKT_TRY(
            hkt_check_row(out, "target\tnegentropy\tkappa\tvariance\tlog_narrow_sd", target[i], j, kappa, m2, log_a));
    }
    hkt_check_at_most(out, worst, 1e-8); /* the quadrature promises 1e-9 for each of three integrals */
    hkt_check_condition(out, "kappa = 33, mixtures of two normals");
    hkt_check_detail(
        out,
        "largest relative distance from the target and from kappa = 33 over mixtures of two normals; 192 nats "
        "need a peak of width e^%.0f",
        out->rows.cell[4 * out->rows.n_cols + 4]);
    return HKT_OK;
}

const hkt_check hkt_information_any_negentropy = {
    .name = "any-negentropy",
    .kind = HKT_NUMERIC,
    .statement = "at kappa = 33 there are densities of every negentropy, from 0.001 to 400 nats: kappa alone says "
                 "nothing about it",
    .reference = "docs/theory.md, information",
    .failure = "kappa bounds the negentropy after all",
    .finding = "kappa says nothing about the negentropy: all values occur",
    .run = any,
};

/* quadrature.c - the check `quadrature` of `information`: negentropies by adaptive quadrature, which the tables use,
 * against their closed forms. */
#include <float.h>
#include <math.h>

#include "analysis/claims/information/information.h"
#include "analysis/math/entropy.h"
#include "analysis/math/laws.h"

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
    hkt_check_detail(out, "Student, symmetric beta (uniform), exponential power (Laplace), dot product (p = 2)");
    return HKT_OK;
}

const hkt_check hkt_information_quadrature = {
    .name = "quadrature",
    .kind = HKT_IMPLEMENTATION,
    .statement = "negentropy by quadrature equals its closed form where there is one",
    .reference = "docs/theory.md, information",
    .failure = "the true negentropies below are wrong",
    .run = quadrature,
    .holds = "negentropies by quadrature and by series agree; the error is {m} of what is allowed",
    .violated = "negentropies by quadrature and by series differ by {m} times what is allowed",
};

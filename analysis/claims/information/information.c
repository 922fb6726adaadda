/* information.c - the claim `information`: calibration of the entropy estimate; the list of checks. */
#include <math.h>

#include "analysis/claims/information/information.h"
#include "analysis/math/draw.h"
#include "analysis/math/entropy.h"
#include "base/mem.h"

enum { STUDENT_NU = 5 };

static double draw_student(hkt_rng *r)
{
    return hkt_draw_student(r, STUDENT_NU);
}

/* Entropy h and varentropy Var log f of the laws drawn. Student (nu = 5), with psi(3) - psi(5/2) = 3/2 - (8/3 - 2 log
 * 2), psi'(5/2) = pi^2/2 - 40/9, psi'(3) = pi^2/6 - 5/4: h = 3 (psi(3) - psi(5/2)) + log(sqrt(5) B(5/2, 1/2)), B = 3
 * pi/8; Var = 9 (psi'(5/2) - psi'(3)). */
typedef struct {
    double (*draw)(hkt_rng *r);
    double entropy, varentropy;
} law;

static const law laws[] = {
    {hkt_rng_normal, 1.4189385332046727418, 0.5}, /* log(2 pi e)/2 */
    {hkt_rng_uniform, 0, 0},
    {hkt_draw_laplace, 1.6931471805599453094, 1}, /* 1 + log 2 */
    {draw_student, 1.6275026724143960, 0.85881320326807553},
    {hkt_draw_exponential, 1, 1},
};
enum { N_LAWS = sizeof laws / sizeof *laws };

/* corrected: false leaves the bias in. */
static hkt_status calibrate(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const bool corrected = !control;
    size_t n = ctx->quick ? 20000 : 200000, m = hkt_entropy_spacing_window(n);
    double worst = 0, *x = NULL;
    HKT_TRY(HKT_NEW(&x, n));
    hkt_status status = HKT_OK;
    for (uint32_t i = 0; i < N_LAWS && status == HKT_OK; i++) {
        hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 128 + i);
        double h, se = hkt_entropy_spacing_error(n, m, laws[i].varentropy);
        for (size_t k = 0; k < n; k++)
            x[k] = laws[i].draw(&rng);
        HKT_TRY_GOTO(status, done, hkt_entropy_spacing(x, n, m, &h));
        h += corrected ? 0 : hkt_entropy_spacing_bias(n, m);
        worst = hkt_check_worse(worst, fabs(h - laws[i].entropy) / se);
        double cells[] = {i, laws[i].entropy, h, se, (h - laws[i].entropy) / se, (double)n, (double)m};
        status = hkt_check_row(out, "law\tentropy\testimate\tstandard_error\tz\tn\tm", cells);
    }
    hkt_check_at_most(out, worst, 3.719); /* normal quantile at 1 - 0.001/(2 * 5) */
    hkt_check_condition(out, "independent values of laws with known entropy");
    hkt_check_detail(out,
                     "largest |estimate - entropy| in standard errors over normal, uniform, Laplace, Student(%d), "
                     "exponential; n = %zu, m = %zu; level 0.1 %% over the 5",
                     STUDENT_NU, n, m);
done:
    hkt_free(x);
    return status;
}

const hkt_check hkt_information_vasicek = {
    .name = "vasicek",
    .kind = HKT_STATISTICAL,
    .statement = "the spacing estimate of entropy lies in its confidence interval on five laws with known entropy",
    .reference = "Vasicek 1976, J. R. Statist. Soc. B 38:54; Cressie 1976, Biometrika 63:343",
    .failure = "the entropy estimate is biased or wrong",
    .run = calibrate,
};

extern const hkt_check hkt_information_quadrature, hkt_information_leading_term, hkt_information_leading_term_power,
    hkt_information_range, hkt_information_kappa_33, hkt_information_any_negentropy, hkt_information_data_processing,
    hkt_information_trained;
static const hkt_check *const checks[] = {&hkt_information_vasicek,        &hkt_information_quadrature,
                                          &hkt_information_leading_term,   &hkt_information_leading_term_power,
                                          &hkt_information_range,          &hkt_information_kappa_33,
                                          &hkt_information_any_negentropy, &hkt_information_data_processing,
                                          &hkt_information_trained};

const hkt_claim hkt_claim_information = {
    .id = "information",
    .place = "non-Gaussian correction",
    .statement = "entropy of scores = Gaussian entropy - (3/16)(kappa-1)^2 to leading order",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
};

/* information.c - the claim `information`: calibration of the entropy estimate; the table of checks. */
#include <math.h>

#include "analysis/claims/information/checks.h"
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
static hkt_status calibrate(const hkt_verify_context *ctx, hkt_check_result *out, bool corrected)
{
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

static hkt_status vasicek(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return calibrate(ctx, out, true);
}

static hkt_status vasicek_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return calibrate(ctx, out, false);
}

static const hkt_check checks[] = {
    {"vasicek", HKT_STATISTICAL,
     "the spacing estimate of entropy lies in its confidence interval on five laws with known entropy",
     "Vasicek 1976, J. R. Statist. Soc. B 38:54; Cressie 1976, Biometrika 63:343",
     "the entropy estimate is biased or wrong", vasicek, vasicek_control, false, NULL},
    {"quadrature", HKT_NUMERIC, "negentropy by quadrature equals its closed form where there is one",
     "docs/theory.md, information", "the true negentropies below are wrong", hkt_information_quadrature,
     hkt_information_quadrature_control, false, NULL},
    {"leading-term", HKT_NUMERIC,
     "as kappa -> 1, (3/16)(kappa-1)^2 exceeds the negentropy by 3(kappa-1) of it: it is the leading term",
     "Edgeworth; docs/theory.md, information", "the kurtosis term is not the leading term of the negentropy",
     hkt_information_leading, hkt_information_leading_control, false,
     "the kurtosis term is the leading term of the negentropy"},
    {"leading-term-power", HKT_NUMERIC,
     "as kappa -> 1 the expansion comes within 10 % of the negentropy along exponential power laws as well",
     "docs/theory.md, information", "kappa near 1 is not enough for the expansion: other orders have the same size",
     hkt_information_leading_power, hkt_information_leading_power_control, false,
     "the kurtosis term is the leading term of the negentropy"},
    {"range", HKT_NUMERIC, "for 0.97 <= kappa <= 1.03 the expansion is within 10 % of the negentropy",
     "docs/theory.md, information", "the expansion is valid in an even smaller range", hkt_information_range,
     hkt_information_range_control, false, "the kurtosis term is within 10 % of the negentropy"},
    {"kappa-33", HKT_NUMERIC, "at the paper's kappa = 33 the expansion, 192 nats, is within 10 % of the negentropy",
     "paper (kappa about 33)", "the correction must not be used at the kappa that the paper reports",
     hkt_information_paper, hkt_information_paper_control, false, "the kurtosis term is within 10 % of the negentropy"},
    {"any-negentropy", HKT_NUMERIC,
     "at kappa = 33 there are densities of every negentropy, from 0.001 to 400 nats: kappa alone says nothing about it",
     "docs/theory.md, information", "kappa bounds the negentropy after all", hkt_information_any,
     hkt_information_any_control, false, "kappa says nothing about the negentropy: all values occur"},
    {"data-processing", HKT_NUMERIC,
     "I(Z; X^(l)) does not grow with l, for a Gaussian latent process Z and X^(0) = Z + noise, in every channel",
     "Cover & Thomas, Elements of Information Theory, 2.8; docs/theory.md, information",
     "a level is not a function of the level before", hkt_information_processing, hkt_information_processing_control,
     true, "information does not grow from level to level"},
    {"trained", HKT_EMPIRICAL,
     "on every head of the trained model the expansion is within 10 % of the spacing estimate of its scores' "
     "negentropy",
     "docs/theory.md, information", "the kurtosis correction does not hold for trained scores", hkt_information_trained,
     hkt_information_trained_control, true, "the kurtosis term is within 10 % of the negentropy"},
};

const hkt_claim hkt_claim_information = {"information", "non-Gaussian correction",
                                         "entropy of scores = Gaussian entropy - (3/16)(kappa-1)^2 to leading order",
                                         checks, sizeof checks / sizeof *checks};

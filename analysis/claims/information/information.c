/* information.c - the claim `information`: data processing from level to level, calibration of the entropy estimate,
 * and the list of checks. */
#include <math.h>
#include <string.h>

#include "analysis/claims/power.h"
#include "analysis/claims/information/information.h"
#include "analysis/math/ball.h"
#include "analysis/math/draw.h"
#include "analysis/math/entropy.h"
#include "analysis/view/bands.h"
#include "base/mem.h"

#define RHO   0.9 /* of the latent process */
#define NOISE 0.5 /* variance of the noise on it */

/* info [L] out: I(Z; X^(l)) in nats of one channel (docs/theory.md, "information"). */
static hkt_status information_levels(const hkt_cascade *c, size_t channel, size_t T, double noise, hkt_interval *info)
{
    double *taps = NULL;
    const double *filter[HKT_MAX_LEVELS];
    HKT_TRY(HKT_NEW(&taps, c->L * c->stride));
    for (size_t l = 1; l < c->L; l++) {
        filter[l - 1] = taps + (l - 1) * c->stride;
        for (size_t t = 0; t < c->stride; t++)
            taps[(l - 1) * c->stride + t] = c->down[l][t * c->d + channel];
    }
    hkt_status status = HKT_OK;
    for (size_t l = 0; l < c->L && status == HKT_OK; l++)
        status = hkt_ball_information(c->stride, l, filter, T, RHO, noise, info + l);
    hkt_free(taps);
    return status;
}

/* Measured: the smallest loss from one level to the next. fresh: level l is not made from level l - 1, but looks at the
 * latent process again, with a quarter of the noise each time. */
static hkt_status process(const hkt_cascade *layer, size_t layers, size_t T, bool fresh, hkt_check_result *out)
{
    const hkt_cascade *c = layer;
    hkt_interval least = {HUGE_VAL, HUGE_VAL};
    double widest = 0;
    for (size_t n = 0; n < layers; n++) {
        double mean[HKT_MAX_LEVELS] = {0};
        for (size_t i = 0; i < c->d; i++) {
            hkt_interval info[HKT_MAX_LEVELS];
            double noise = NOISE;
            HKT_TRY(information_levels(layer + n, i, T, noise, info));
            for (size_t l = 1; l < c->L && fresh; l++) {
                hkt_interval again[HKT_MAX_LEVELS];
                HKT_TRY(information_levels(layer + n, i, T, noise /= 4, again));
                info[l] = again[l];
            }
            for (size_t l = 0; l < c->L; l++) {
                mean[l] += hkt_interval_middle(info[l]) / (double)c->d;
                widest = hkt_check_worse(widest, hkt_interval_radius(info[l]));
                if (l == 0)
                    continue;
                least.low = -hkt_check_worse(-least.low, nextafter(info[l].high - info[l - 1].low, HUGE_VAL));
                least.high = -hkt_check_worse(-least.high, nextafter(info[l].low - info[l - 1].high, -HUGE_VAL));
            }
        }
        for (size_t l = 0; l < c->L; l++) {
            HKT_TRY(hkt_check_row(out, "layer\tlevel\tmean_information_nats\tshare_of_level_0", n, l, mean[l],
                                  mean[l] / mean[0]));
        }
    }
    hkt_check_enclosed_at_least(out, least.low, least.high, 0);
    hkt_check_condition(out, "Gaussian inputs; levels made one from the other");
    hkt_check_detail(out,
                     "the least of I(Z; X^(l)) - I(Z; X^(l+1)) over all channels, each enclosed to %.1g; Z: AR(1) with "
                     "rho = %.2g, noise %.2g, T = %zu",
                     widest, RHO, NOISE, T);
    return HKT_OK;
}

static hkt_status drawn_chain(const hkt_verify_context *ctx, bool fresh, hkt_check_result *out)
{
    hkt_cascade c;
    double *taps = NULL;
    HKT_TRY(hkt_cascade_make(2, 4, 8, true, ctx->seed, &c, &taps));
    hkt_status status = process(&c, 1, 64, fresh, out);
    hkt_free(taps);
    return status;
}

/* control: every level sees the signal with less noise than the one before it. */
static hkt_status data_processing(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    if (control || !ctx->model)
        return drawn_chain(ctx, control, out);
    const hkt_layout *layout = ctx->model->layout;
    if (layout->config.levels == 1) {
        hkt_check_skip(out, "the model has one level: nothing is processed");
        return HKT_OK;
    }
    hkt_cascade *layer = NULL;
    HKT_TRY(HKT_NEW(&layer, layout->config.layers));
    for (size_t n = 0; n < layout->config.layers; n++)
        layer[n] = hkt_cascade_of(layout, ctx->model->params, n);
    hkt_status status = process(layer, layout->config.layers, 64, false, out);
    hkt_free(layer);
    return status;
}

const hkt_check hkt_information_data_processing = {
    .name = "data-processing",
    .kind = HKT_CERTIFIED,
    .statement =
        "I(Z; X^(l)) does not grow with l, for a Gaussian latent process Z and X^(0) = Z + noise, in every channel",
    .reference = "Cover & Thomas, Elements of Information Theory, 2.8; docs/theory.md, information",
    .failure = "a level is not a function of the level before",
    .finding = "information does not grow from level to level",
    .of_model = true,
    .run = data_processing,
    .holds = "from each level to the next at least {m} nats of information are lost",
    .violated = "some level has more information than the finer one that it is made from, {m} nats",
    .open = "whether information is lost from each level to the next is open: {m} nats",
};

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
        status = hkt_check_row(out, "law\tentropy\testimate\tstandard_error\tz\tn\tm", i, laws[i].entropy, h, se,
                               (h - laws[i].entropy) / se, n, m);
    }
    hkt_check_at_most(out, worst, 3.719); /* normal quantile at 1 - 0.001/(2 * 5) */
    hkt_check_condition(out, "independent values of laws with known entropy");
    hkt_check_detail(out,
                     "normal, uniform, Laplace, Student(%d), exponential; n = %zu, m = %zu; level 0.1 %% over the 5",
                     STUDENT_NU, n, m);
done:
    hkt_free(x);
    return status;
}

static double vasicek_power(const hkt_verify_context *ctx)
{
    size_t n = ctx->quick ? 20000 : 200000, m = hkt_entropy_spacing_window(n);
    double least = 1;
    for (size_t i = 0; i < N_LAWS; i++)
        least = fmin(least, hkt_power_normal(0.05 / hkt_entropy_spacing_error(n, m, laws[i].varentropy), 3.719));
    return least;
}

static const hkt_check_test vasicek_test = {.level = "0.1 % for the family (normal approximation)",
                                            .multiplicity = "5 laws, Bonferroni",
                                            .alternative =
                                                "an entropy that is 0.05 nats off (the law for which it is least)",
                                            .power = vasicek_power};

const hkt_check hkt_information_vasicek = {
    .name = "vasicek",
    .kind = HKT_STATISTICAL,
    .test = &vasicek_test,
    .statement = "the spacing estimate of entropy lies in its confidence interval on five laws with known entropy",
    .reference = "Vasicek 1976, J. R. Statist. Soc. B 38:54; Cressie 1976, Biometrika 63:343",
    .failure = "the entropy estimate is biased or wrong",
    .run = calibrate,
    .holds = "estimates of the entropy are at most {m} standard errors off (limit {b})",
    .violated = "an estimate of the entropy is {m} standard errors off (limit {b})",
};

extern const hkt_check hkt_information_quadrature, hkt_information_leading_term, hkt_information_leading_term_power,
    hkt_information_range, hkt_information_kappa_33, hkt_information_any_negentropy, hkt_information_data_processing,
    hkt_information_trained;
static const hkt_check *const checks[] = {&hkt_information_vasicek,        &hkt_information_quadrature,
                                          &hkt_information_leading_term,   &hkt_information_leading_term_power,
                                          &hkt_information_range,          &hkt_information_kappa_33,
                                          &hkt_information_any_negentropy, &hkt_information_data_processing,
                                          &hkt_information_trained};

static const hkt_headline headline[] = {
    {&hkt_information_range,
     "the kurtosis correction is right to 10 % for 0.97 <= kappa <= 1.03, on three families of laws",
     "the kurtosis correction is not right to 10 % even near kappa = 1", NULL},
    {&hkt_information_leading_term_power, "it is the leading term for exponential power laws, too",
     "it is not the leading term for exponential power laws", NULL},
    {&hkt_information_kappa_33, "it is right to 10 % at kappa = 33",
     "at kappa = 33, the paper's value, it is off by many times the negentropy", NULL},
    {&hkt_information_trained, "of this model, it is right to 10 % on every head",
     "of this model, it is not right to 10 % on every head", NULL},
};

const hkt_claim hkt_claim_information = {
    .id = "information",
    .place = "non-Gaussian correction",
    .statement = "entropy of scores = Gaussian entropy - (3/16)(kappa-1)^2 to leading order",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

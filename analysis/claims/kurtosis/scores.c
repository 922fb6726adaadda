/* scores.c - kappa of score matrices at initialisation against its closed form. */
#include <cblas.h>
#include <math.h>

#include "analysis/claims/power.h"
#include "analysis/claims/kurtosis/kurtosis.h"
#include "analysis/claims/subject.h"
#include "analysis/math/linalg.h"
#include "analysis/math/moments.h"
#include "base/mem.h"
#include "base/rng.h"

/* --- at initialisation --- */

enum { D = 64, WIDTHS = 5, BLOCK = 256 };
static const size_t width[WIDTHS] = {4, 8, 16, 32, 64};

double hkt_kurtosis_closed_form(size_t d, size_t p, const double *wq, const double *wk)
{
    double sq[D * D], sk[D * D], product[D * D], trace = 0, trace2 = 0;
    HKT_ASSERT(p <= D);
    hkt_product(false, true, p, p, d, 1, wq, wq, 0, sq);
    hkt_product(false, true, p, p, d, 1, wk, wk, 0, sk);
    hkt_product(false, false, p, p, p, 1, sq, sk, 0, product);
    for (size_t i = 0; i < p; i++) {
        trace += product[i * p + i];
        for (size_t j = 0; j < p; j++)
            trace2 += product[i * p + j] * product[j * p + i];
    }
    return 1 + 2 * trace2 / (trace * trace);
}

/* Per head width, averaged over the D/p heads of one weight matrix. */
typedef struct {
    double sampled, error, closed; /* kappa, standard error over blocks, closed form */
} width_kappa;

typedef struct {
    const double *wq, *wk;
    double *x, *q, *k, *s; /* [BLOCK, D] three times, [BLOCK, BLOCK] */
} sampler;

/* Scores of BLOCK x BLOCK pairs of fresh inputs, into the moments of each width's heads; block_kappa [WIDTHS] out. */
static void sample_block(sampler *w, hkt_rng *rng, hkt_moments *moments, double *block_kappa)
{
    double *projected[2] = {w->q, w->k};
    const double *weight[2] = {w->wq, w->wk};
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < (size_t)BLOCK * D; i++)
            w->x[i] = hkt_rng_normal(rng);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, BLOCK, D, D, 1, w->x, D, weight[side], D, 0,
                    projected[side], D);
    }
    for (size_t i = 0, at = 0; i < WIDTHS; i++) {
        block_kappa[i] = 0;
        for (size_t h = 0; h < D / width[i]; h++, at++) {
            hkt_moments m;
            hkt_moments_clear(&m);
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, BLOCK, BLOCK, (int)width[i], 1, w->q + h * width[i], D,
                        w->k + h * width[i], D, 0, w->s, BLOCK);
            hkt_moments_add_block(&m, w->s, (size_t)BLOCK * BLOCK);
            block_kappa[i] += hkt_moments_kappa(&m) * (double)width[i] / D;
            hkt_moments_merge(moments + at, &m);
        }
    }
}

/* Means over the heads of each width. */
static void summarise(const double *wq, const double *wk, const hkt_moments *moments, const hkt_moments *blocks,
                      width_kappa *out)
{
    for (size_t i = 0, at = 0; i < WIDTHS; i++) {
        out[i] = (width_kappa){.error = sqrt(hkt_moments_variance(blocks + i) / (blocks[i].n - 1))};
        for (size_t h = 0; h < D / width[i]; h++, at++) {
            size_t rows = h * width[i] * D;
            out[i].sampled += hkt_moments_kappa(moments + at) * (double)width[i] / D;
            out[i].closed += hkt_kurtosis_closed_form(D, width[i], wq + rows, wk + rows) * (double)width[i] / D;
        }
    }
}

static hkt_status sample_widths(const hkt_verify_context *ctx, width_kappa *out)
{
    enum { HEADS = 16 + 8 + 4 + 2 + 1 };
    hkt_config config = {.vocab = 2,
                         .classes = 2,
                         .max_len = 2,
                         .d_model = D,
                         .heads = 1,
                         .layers = 1,
                         .levels = 1,
                         .stride = 2,
                         .conv_width = 1,
                         .ffn_mult = 1,
                         .fusion = HKT_FUSION_STATIC,
                         .causal = true};
    hkt_subject s;
    HKT_TRY(hkt_subject_fresh(&config, ctx->seed, &s));
    sampler w = {.wq = hkt_subject_wq(&s, 0, 0, 0), .wk = hkt_subject_wk(&s, 0, 0, 0)};
    hkt_moments moments[HEADS], blocks[WIDTHS];
    for (size_t i = 0; i < HEADS; i++)
        hkt_moments_clear(moments + i);
    for (size_t i = 0; i < WIDTHS; i++)
        hkt_moments_clear(blocks + i);
    hkt_status status = HKT_NEW(&w.x, 3 * BLOCK * D + BLOCK * BLOCK);
    if (status == HKT_OK) {
        w.q = w.x + BLOCK * D;
        w.k = w.q + BLOCK * D;
        w.s = w.k + BLOCK * D;
        hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 64);
        for (size_t b = 0; b < (ctx->quick ? 32u : 512u); b++) {
            double kappa[WIDTHS];
            sample_block(&w, &rng, moments, kappa);
            for (size_t i = 0; i < WIDTHS; i++)
                hkt_moments_add(blocks + i, kappa[i]);
        }
        summarise(w.wq, w.wk, moments, blocks, out);
    }
    hkt_free(w.x);
    hkt_subject_close(&s);
    return status;
}

/* gaussian: the infinite-width value 1 in the place of the closed form. */
static hkt_status init(const hkt_verify_context *ctx, hkt_check_result *out, bool gaussian)
{
    width_kappa k[WIDTHS];
    double worst = 0, error = 0;
    HKT_TRY(sample_widths(ctx, k));
    for (size_t i = 0; i < WIDTHS; i++) {
        double closed = gaussian ? 1 : k[i].closed, e = fabs(k[i].sampled - closed) / closed;
        worst = hkt_check_worse(worst, e);
        error = fmax(error, k[i].error / closed);
        HKT_TRY(hkt_check_row(out, "p\td\tkappa\tstandard_error\tclosed_form\tisotropic", width[i], D, k[i].sampled,
                              k[i].error, k[i].closed, 1 + 2.0 / (double)width[i]));
    }
    hkt_check_at_most(out, worst, 0.02);
    hkt_check_condition(out, "Gaussian inputs, initial weights");
    hkt_check_detail(out, "p = 4..64, d = %d; the standard error is at most %.2g %%", D, 100 * error);
    return HKT_OK;
}

/* Standard errors of the check, from those of its quick run. */
static bool width_errors(const hkt_verify_context *ctx, width_kappa *k)
{
    hkt_verify_context quick = *ctx;
    quick.quick = true;
    if (sample_widths(&quick, k) != HKT_OK)
        return false;
    for (size_t i = 0; i < WIDTHS; i++)
        k[i].error *= ctx->quick ? 1 : sqrt(32.0 / 512);
    return true;
}

static double init_power(const hkt_verify_context *ctx)
{
    width_kappa k[WIDTHS];
    double least = 1;
    if (!width_errors(ctx, k))
        return (double)NAN;
    for (size_t i = 0; i < WIDTHS; i++)
        least = fmin(least, hkt_power_normal(0.03 * k[i].closed / k[i].error, 0.02 * k[i].closed / k[i].error));
    return least;
}

static const hkt_check_test init_test = {.level =
                                             "below 1e-10: 2 % is 7 standard errors with --quick, 28 in the full run",
                                         .multiplicity = "5 widths, the probabilities added up",
                                         .alternative = "a closed form that is 3 % off",
                                         .power = init_power};

const hkt_check hkt_kurtosis_init_closed_form = {
    .name = "init-closed-form",
    .kind = HKT_STATISTICAL,
    .test = &init_test,
    .statement =
        "scores of Gaussian inputs under initial weights have kappa = 1 + 2 tr((Sq Sk)^2)/tr(Sq Sk)^2, within 2 %",
    .reference = "docs/theory.md, kurtosis",
    .failure = "the scores at initialisation are not the bilinear form of the theory",
    .finding = "untrained scores have kappa = 1 + 2 tr((Sq Sk)^2)/tr(Sq Sk)^2",
    .run = init,
    .holds = "kappa is 1 + 2 tr((Sq Sk)^2)/tr(Sq Sk)^2 to within {m%} % (limit {b%} %)",
    .violated = "kappa is {m%} % away from 1 + 2 tr((Sq Sk)^2)/tr(Sq Sk)^2 (limit {b%} %)",
};

/* Least squares of y - 1 on 1/p. */
static void fit(const double *y, double *slope, double *intercept)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < WIDTHS; i++) {
        mx += 1 / (double)width[i] / WIDTHS;
        my += (y[i] - 1) / WIDTHS;
    }
    for (size_t i = 0; i < WIDTHS; i++) {
        double x = 1 / (double)width[i] - mx;
        xx += x * x;
        xy += x * (y[i] - 1 - my);
    }
    *slope = xy / xx;
    *intercept = my - *slope * mx;
}

/* constant: scores whose kappa does not depend on the width. */
static hkt_status slope(const hkt_verify_context *ctx, hkt_check_result *out, bool constant)
{
    width_kappa k[WIDTHS];
    double sampled[WIDTHS], closed[WIDTHS], b, a, closed_b, closed_a;
    HKT_TRY(sample_widths(ctx, k));
    for (size_t i = 0; i < WIDTHS; i++) {
        sampled[i] = constant ? k[WIDTHS - 1].sampled : k[i].sampled;
        closed[i] = k[i].closed;
    }
    fit(sampled, &b, &a);
    fit(closed, &closed_b, &closed_a);
    HKT_TRY(hkt_check_row(out,
                          "slope\tintercept\tslope_closed_form\tintercept_closed_form\tslope_theory\tintercept_theory",
                          b, a, closed_b, closed_a, 2, 4.0 / D));
    hkt_check_at_most(out, fabs(b - 2) / 2, 4.0 / D);
    hkt_check_condition(out, "Gaussian inputs, initial weights");
    hkt_check_detail(out, "slope %.4f, intercept %.4f (theory 4/d = %.4f), d = %d", b, a, 4.0 / D, D);
    return HKT_OK;
}

/* Errors of the widths are taken as independent. */
static double slope_power(const hkt_verify_context *ctx)
{
    width_kappa k[WIDTHS];
    double mean = 0, xx = 0, variance = 0;
    if (!width_errors(ctx, k))
        return (double)NAN;
    for (size_t i = 0; i < WIDTHS; i++)
        mean += 1 / (double)width[i] / WIDTHS;
    for (size_t i = 0; i < WIDTHS; i++) {
        double x = 1 / (double)width[i] - mean;
        xx += x * x;
        variance += x * x * k[i].error * k[i].error;
    }
    double error = sqrt(variance) / xx;
    return hkt_power_normal(0.25 / error, 2 * 4.0 / D / error);
}

static const hkt_check_test slope_test = {
    .level = "below 1e-10: 4/d = 6 % is 7 standard errors of the slope with --quick, 30 in the full run",
    .multiplicity = "one slope",
    .alternative = "a slope of 2.25",
    .power = slope_power};

const hkt_check hkt_kurtosis_init_slope = {
    .name = "init-slope",
    .kind = HKT_STATISTICAL,
    .test = &slope_test,
    .statement = "kappa - 1 at initialisation grows with 1/p at slope 2, up to 4/d relative",
    .reference = "docs/theory.md, kurtosis",
    .failure = "the finite-width correction is not of order 1/p",
    .finding = "kappa - 1 of untrained scores is 2/p to first order",
    .run = slope,
    .holds = "kappa - 1 is 2/p to within {m%} % of the slope (limit {b%} %)",
    .violated = "kappa - 1 is not 2/p: the slope is {m%} % off (limit {b%} %)",
};

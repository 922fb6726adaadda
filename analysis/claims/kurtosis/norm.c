/* norm.c - check of `kurtosis`: kappa of the scores of inputs that a layer norm has made, in closed form. */
#include <math.h>

#include "analysis/claims/power.h"
#include "analysis/claims/kurtosis/kurtosis.h"
#include "analysis/math/linalg.h"
#include "analysis/math/moments.h"

enum { D = 16, P = 4 };

/* b [D, D] = (C M C)' C M C, C = I - 1 1'/D, M = wq' wk. */
static void centred_form(const double *wq, const double *wk, double *b)
{
    double q[P * D], k[P * D], m[D * D];
    for (size_t r = 0; r < P; r++) {
        double mean_q = 0, mean_k = 0;
        for (size_t j = 0; j < D; j++) {
            mean_q += wq[r * D + j] / D;
            mean_k += wk[r * D + j] / D;
        }
        for (size_t j = 0; j < D; j++) {
            q[r * D + j] = wq[r * D + j] - mean_q;
            k[r * D + j] = wk[r * D + j] - mean_k;
        }
    }
    hkt_product(true, false, D, D, P, 1, q, k, 0, m);
    hkt_product(true, false, D, D, D, 1, m, m, 0, b);
}

/* What a layer norm without gain and shift makes of a normal vector: uniform on the sphere of norm sqrt(D) across 1. */
static void draw_normed(hkt_rng *rng, double *x)
{
    double mean = 0, square = 0;
    for (size_t j = 0; j < D; j++) {
        x[j] = hkt_rng_normal(rng);
        mean += x[j] / D;
    }
    for (size_t j = 0; j < D; j++) {
        x[j] -= mean;
        square += x[j] * x[j] / D;
    }
    for (size_t j = 0; j < D; j++)
        x[j] /= sqrt(square);
}

static void draw_weights(hkt_rng *rng, double *wq, double *wk)
{
    for (size_t i = 0; i < P * D; i++) {
        wq[i] = hkt_rng_normal(rng) / sqrt(D);
        wk[i] = hkt_rng_normal(rng) / sqrt(D);
    }
}

/* E s^2 and E s^4 of s = x'My against their exact values; control: those of independent normal x and y. */
static hkt_status layer_norm(const hkt_verify_context *ctx, hkt_check_result *out, bool gaussian)
{
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 2400);
    double wq[P * D], wk[P * D], b[D * D], trace = 0, square = 0;
    size_t n = ctx->quick ? 100000 : 1000000;
    draw_weights(&rng, wq, wk);
    centred_form(wq, wk, b);
    for (size_t i = 0; i < D * D; i++) {
        trace += i % (D + 1) == 0 ? b[i] : 0;
        square += b[i] * b[i];
    }
    /* x is c times a unit vector of D - 1 dimensions, c^2 = D: E (x'z)^2 = c^2 |z|^2 / m, E (x'z)^4 = 3 c^4 |z|^4 /
     * (m (m + 2)), m = D - 1. */
    const double m = D - 1, c2 = gaussian ? 1 : D / m, c4 = gaussian ? 1 : (double)D * D / (m * (m + 2));
    const double exact2 = c2 * c2 * trace, exact4 = 3 * c4 * c4 * (trace * trace + 2 * square);
    hkt_moments s2, s4;
    hkt_moments_clear(&s2);
    hkt_moments_clear(&s4);
    for (size_t i = 0; i < n; i++) {
        double x[D], y[D], s = 0;
        draw_normed(&rng, x);
        draw_normed(&rng, y);
        for (size_t r = 0; r < P; r++) {
            double q = 0, k = 0;
            for (size_t j = 0; j < D; j++) {
                q += wq[r * D + j] * x[j];
                k += wk[r * D + j] * y[j];
            }
            s += q * k;
        }
        hkt_moments_add(&s2, s * s);
        hkt_moments_add(&s4, s * s * s * s);
    }
    double z2 = fabs(s2.mean - exact2) / sqrt(hkt_moments_variance(&s2) / (double)n);
    double z4 = fabs(s4.mean - exact4) / sqrt(hkt_moments_variance(&s4) / (double)n);
    double kappa = exact4 / (3 * exact2 * exact2), normal = 1 + 2 * square / (trace * trace);
    HKT_TRY(hkt_check_row(out, "d\tp\tdraws\tkappa_exact\tkappa\tkappa_normal\tz_2\tz_4", D, P, n, kappa,
                          s4.mean / (3 * s2.mean * s2.mean), normal, z2, z4));
    hkt_check_at_most(out, hkt_check_worse(z2, z4), 3.481); /* normal quantile at 1 - 0.001/(2 * 2) */
    hkt_check_detail(out,
                     "largest z of E s^2, E s^4 over %zu draws, d = %d, p = %d; level 0.1 %% over the 2 (Bonferroni); "
                     "kappa %.4f, of normal inputs %.4f",
                     n, D, P, kappa, normal);
    return HKT_OK;
}

/* The variance of s^4 is at most that for normal inputs, whose cumulants are c_2k = (2k-1)! tr(B^k) (docs/theory.md):
 * E s^8 = c_8 + 28 c_6 c_2 + 35 c_4^2 + 210 c_4 c_2^2 + 105 c_2^4. */
static double layer_norm_power(const hkt_verify_context *ctx)
{
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 2400);
    double wq[P * D], wk[P * D], b[D * D], power[D * D], next[D * D], c[5] = {0}, factorial = 1;
    draw_weights(&rng, wq, wk);
    centred_form(wq, wk, b);
    for (size_t i = 0; i < D * D; i++)
        power[i] = b[i];
    for (size_t k = 1; k <= 4; k++) {
        for (size_t i = 0; i < D; i++)
            c[k] += factorial * power[i * (D + 1)];
        factorial *= (double)(2 * k) * (double)(2 * k + 1);
        hkt_product(false, false, D, D, D, 1, power, b, 0, next);
        for (size_t i = 0; i < D * D; i++)
            power[i] = next[i];
    }
    double s4 = c[2] + 3 * c[1] * c[1],
           s8 = c[4] + 28 * c[3] * c[1] + 35 * c[2] * c[2] + 210 * c[2] * c[1] * c[1] + 105 * c[1] * c[1] * c[1] * c[1];
    double error = sqrt((s8 / (s4 * s4) - 1) / (ctx->quick ? 100000 : 1000000));
    return hkt_power_normal(0.1 / error, 3.481);
}

static const hkt_check_test layer_norm_test = {.level = "0.1 % for the family",
                                               .multiplicity = "2: E s^2 and E s^4, Bonferroni",
                                               .alternative = "an E s^4 that is 10 % off",
                                               .power = layer_norm_power};

const hkt_check hkt_kurtosis_layer_norm = {
    .name = "layer-norm",
    .kind = HKT_STATISTICAL,
    .test = &layer_norm_test,
    .statement = "behind a layer norm kappa = ((d-1)/(d+1))^2 (1 + 2 tr(B^2)/tr(B)^2), B = (CMC)'CMC, C = I - 11'/d",
    .reference = "docs/theory.md, kurtosis",
    .failure = "the closed form of kappa behind a layer norm is wrong",
    .finding = "at initialisation kappa is a function of the weights, also behind a layer norm",
    .run = layer_norm,
};

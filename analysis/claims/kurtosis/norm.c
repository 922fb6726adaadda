/* norm.c - check of `kurtosis`: kappa of the scores of inputs that a layer norm has made, in closed form. */
#include <math.h>

#include "analysis/claims/power.h"
#include "analysis/claims/kurtosis/kurtosis.h"
#include "analysis/math/linalg.h"
#include "analysis/math/moments.h"

enum { D = 16, P = 4, DRAWS = 1000000, QUICK_DRAWS = 100000 };

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

/* E s^2, E s^4 and E s^8 of s = x'My (docs/theory.md, "Behind a layer norm"): given y, s is a coordinate of a point of
 * the sphere times |z|, z = CMCy, and |z|^2 = y'By a quadratic form of such a point. gaussian: of independent normal x,
 * y. */
static void exact_moments(const double *b, bool gaussian, double *second, double *fourth, double *eighth)
{
    double power[D * D], next[D * D], trace[5] = {0}, m = D - 1;
    for (size_t i = 0; i < D * D; i++)
        power[i] = b[i];
    for (size_t r = 1; r <= 4; r++) {
        for (size_t i = 0; i < D; i++)
            trace[r] += power[i * (D + 1)];
        hkt_product(false, false, D, D, D, 1, power, b, 0, next);
        for (size_t i = 0; i < D * D; i++)
            power[i] = next[i];
    }
    /* Moments of the form for normal y from its cumulants 2^(r-1) (r-1)! tr(B^r); of the sphere by a factor for each
     * side: E over the sphere = E over the normal law times D^r/(m (m+2) .. (m+2r-2)). */
    const double k1 = trace[1], k2 = 2 * trace[2], k3 = 8 * trace[3], k4 = 48 * trace[4];
    const double c1 = gaussian ? 1 : D / m, c2 = gaussian ? 1 : c1 * D / (m + 2),
                 c4 = gaussian ? 1 : c2 * D * D / ((m + 4) * (m + 6));
    *second = c1 * c1 * k1;
    *fourth = 3 * c2 * c2 * (k1 * k1 + k2);
    *eighth = 105 * c4 * c4 * (k4 + 4 * k3 * k1 + 3 * k2 * k2 + 6 * k2 * k1 * k1 + k1 * k1 * k1 * k1);
}

/* Means of s^2 and s^4 against their exact values, in exact standard errors; control: those of independent normal x and
 * y. */
static hkt_status layer_norm(const hkt_verify_context *ctx, hkt_check_result *out, bool gaussian)
{
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 2400);
    double wq[P * D], wk[P * D], b[D * D], exact2, exact4, exact8, normal2, normal4, normal8;
    size_t n = ctx->quick ? QUICK_DRAWS : DRAWS;
    draw_weights(&rng, wq, wk);
    centred_form(wq, wk, b);
    exact_moments(b, gaussian, &exact2, &exact4, &exact8);
    exact_moments(b, true, &normal2, &normal4, &normal8);
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
    double z2 = fabs(s2.mean - exact2) / sqrt((exact4 - exact2 * exact2) / (double)n);
    double z4 = fabs(s4.mean - exact4) / sqrt((exact8 - exact4 * exact4) / (double)n);
    double kappa = exact4 / (3 * exact2 * exact2), normal = normal4 / (3 * normal2 * normal2);
    HKT_TRY(hkt_check_row(out, "d\tp\tdraws\tkappa_exact\tkappa\tkappa_normal\tz_2\tz_4\tsd_s4_exact\tsd_s4", D, P, n,
                          kappa, s4.mean / (3 * s2.mean * s2.mean), normal, z2, z4, sqrt(exact8 - exact4 * exact4),
                          sqrt(hkt_moments_variance(&s4))));
    hkt_check_at_most(out, hkt_check_worse(z2, z4), 3.481); /* normal quantile at 1 - 0.001/(2 * 2) */
    hkt_check_detail(out,
                     "E s^2 and E s^4 over %zu draws, d = %d, p = %d; level 0.1 %% over the 2 (Bonferroni); kappa "
                     "%.4f, of normal inputs %.4f",
                     n, D, P, kappa, normal);
    return HKT_OK;
}

static double layer_norm_power(const hkt_verify_context *ctx)
{
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 2400);
    double wq[P * D], wk[P * D], b[D * D], second, fourth, eighth;
    draw_weights(&rng, wq, wk);
    centred_form(wq, wk, b);
    exact_moments(b, false, &second, &fourth, &eighth);
    double error = sqrt((eighth / (fourth * fourth) - 1) / (ctx->quick ? QUICK_DRAWS : DRAWS));
    return hkt_power_normal(0.1 / error, 3.481);
}

static const hkt_check_test layer_norm_test = {.level = "0.1 % for the family (normal approximation)",
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
    .holds = "moments behind a layer norm are those of the closed form: largest z {m}, limit {b}",
    .violated = "a moment behind a layer norm is not that of the closed form: z {m}, limit {b}",
};

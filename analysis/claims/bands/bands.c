/* bands.c - the claim `bands`: the filter of the cascade and the band energies of white noise against their closed
 * forms, which signals by level are band-dominant on white noise, and the list of checks. */
#include <float.h>
#include <math.h>

#include "analysis/claims/check.h"
#include "analysis/claims/subject.h"
#include "analysis/math/ball.h"
#include "analysis/view/bands.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/kernels.h"

/* Transforms of a filter of n taps are taken over OVERSAMPLE n points. */
enum { OVERSAMPLE = 4, LONGEST = 256 };

/* Impulse response of `level` in all channels, h [s^level, d], by running the layer's downsampling on unit impulses:
 * row 1 of level l sees tokens 1 .. s^l, token s^l - m through tap m. */
static hkt_status run_impulses(const hkt_cascade *c, size_t level, double *h)
{
    size_t span = hkt_cascade_span(c->stride, level), T = 2 * span, rows = 0;
    double *x[HKT_MAX_LEVELS], *mem = NULL;
    hkt_cascade upto = *c;
    upto.L = level + 1;
    for (size_t l = 0; l <= level; l++)
        rows += hkt_level_length(T, c->stride, l);
    HKT_TRY(HKT_NEW(&mem, rows * c->d));
    x[0] = mem;
    for (size_t l = 1; l <= level; l++)
        x[l] = x[l - 1] + hkt_level_length(T, c->stride, l - 1) * c->d;
    for (size_t m = 0; m < span; m++) {
        for (size_t i = 0; i < T * c->d; i++)
            x[0][i] = i / c->d == span - m;
        hkt_cascade_run(&upto, T, x);
        for (size_t i = 0; i < c->d; i++)
            h[m * c->d + i] = x[level][c->d + i];
    }
    hkt_free(mem);
    return HKT_OK;
}

/* What a channel's run impulse response is compared with. */
typedef struct {
    double taps, spectrum; /* largest differences */
    double gain, low;      /* |H(0)|, share of the filter's energy below pi/s^level */
} comparison;

/* (1/2 pi) times the integral of |H|^2 over |w| < pi/n, over that of all w: sum_{m,m'} h_m h_m' sin(x)/(n x), x = pi
 * (m-m')/n. */
static double share_below(size_t n, const double *h)
{
    double low = 0, all = 0;
    for (size_t m = 0; m < n; m++) {
        all += h[m] * h[m];
        for (size_t k = 0; k < n; k++) {
            double x = M_PI * ((double)m - (double)k) / (double)n;
            low += h[m] * h[k] * (m == k ? 1 : sin(x) / x) / (double)n;
        }
    }
    return low / all;
}

/* Against the multiplied-out filter, and the product of the responses of the first `factors` filters. */
static hkt_status compare_channel(const hkt_cascade *c, size_t level, size_t channel, size_t factors, const double *run,
                                  comparison *out)
{
    size_t n = hkt_cascade_span(c->stride, level), M = OVERSAMPLE * n;
    double *h = NULL;
    double complex *z = NULL;
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&h, n));
    HKT_TRY_GOTO(status, done, HKT_NEW(&z, M / 2 + 1));
    hkt_cascade_impulse(c, level, channel, h);
    for (size_t m = 0; m < n; m++) {
        out->taps = hkt_check_worse(out->taps, fabs(run[m * c->d + channel] - h[m]));
        h[m] = run[m * c->d + channel];
    }
    HKT_TRY_GOTO(status, done, hkt_spectrum(n, h, M, z));
    for (size_t k = 0; 2 * k <= M; k++)
        out->spectrum = hkt_check_worse(out->spectrum, cabs(z[k] - hkt_cascade_response(c, factors, channel, k, M)));
    out->gain = cabs(z[0]);
    out->low = share_below(n, h);
done:
    hkt_free(h);
    hkt_free(z);
    return status;
}

/* Largest error of a transform of M points of a filter with sum |h| <= size, of its taps, and of the factors
 * multiplied; docs/theory.md, bands. */
static double response_bound(size_t M, double size)
{
    return 25 * log2((double)M) * DBL_EPSILON * size;
}

/* Taps of the cascade with all filters 1 by running it, which small integers make exact: s^level taps of 1, no more, so
 * that 1/s^level times them is the boxcar and its transform the Dirichlet kernel. Measured: taps that differ from a
 * boxcar of `taps` tokens. */
static hkt_status boxcar(size_t stride, size_t level, size_t taps, hkt_check_result *out, double *wrong)
{
    hkt_cascade c;
    double *a = NULL, *x[HKT_MAX_LEVELS], *mem = NULL;
    size_t n = hkt_cascade_span(stride, level), T = 3 * n, rows = 0, differ = 0;
    HKT_TRY(hkt_cascade_make(stride, level + 1, 1, false, 0, &c, &a));
    for (size_t i = 0; i < stride * (level + 1); i++)
        a[i] = 1;
    for (size_t l = 0; l <= level; l++)
        rows += hkt_level_length(T, stride, l);
    hkt_status status = HKT_NEW(&mem, rows);
    x[0] = mem;
    for (size_t l = 1; l <= level && status == HKT_OK; l++)
        x[l] = x[l - 1] + hkt_level_length(T, stride, l - 1);
    for (size_t token = 0; token < T && status == HKT_OK; token++) {
        for (size_t i = 0; i < T; i++)
            x[0][i] = i == token;
        hkt_cascade_run(&c, T, x);
        for (size_t j = 0; j < 3; j++) /* row j sees tokens n j - m, m < taps */
            differ += x[level][j] != (token <= n * j && token + taps > n * j);
    }
    hkt_free(mem);
    hkt_free(a);
    HKT_TRY(status);
    *wrong += (double)differ;
    return hkt_check_row(out, "stride\tlevel\ttaps\twrong_taps", stride, level, n, differ);
}

/* control: a boxcar one token longer. */
static hkt_status boxcars(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    double wrong = 0;
    for (size_t s = 2; s <= 4; s++)
        for (size_t level = 1; hkt_cascade_span(s, level) <= LONGEST; level++)
            HKT_TRY(boxcar(s, level, hkt_cascade_span(s, level) + control, out, &wrong));
    hkt_check_at_most(out, wrong, 0);
    hkt_check_condition(out, "untrained filters (a = 1/s)");
    hkt_check_detail(out, "impulses at every token of three rows, s = 2..4, s^l <= %d", LONGEST);
    return HKT_OK;
}

const hkt_check hkt_bands_response = {
    .name = "response",
    .kind = HKT_EXACT,
    .statement =
        "unit impulses sent through the untrained cascade, times s^l, come out as a boxcar of s^l tokens, whose "
        "transform is the Dirichlet kernel",
    .reference = "docs/theory.md, bands; Oppenheim & Schafer, Discrete-Time Signal Processing, 2.6",
    .failure = "the cascade is not the low-pass filter of the theory",
    .run = boxcars,
    .holds = "every row of the untrained cascade is a boxcar",
    .violated = "{m} elements of the untrained cascade's rows are not those of a boxcar",
};

/* --- the model's own filters --- */

/* prod_m sum_t |a^(m)_t| >= sum |h|. */
static double filter_size(const hkt_cascade *c, size_t level, size_t channel)
{
    double size = 1;
    for (size_t l = 1; l <= level; l++) {
        double sum = 0;
        for (size_t t = 0; t < c->stride; t++)
            sum += fabs(c->down[l][t * c->d + channel]);
        size *= sum;
    }
    return size;
}

/* Measured: the largest error in units of its bound. skipped: leaves that many of the last filters out of the product.
 */
static hkt_status compare_level(const hkt_cascade *c, size_t layer, size_t level, size_t skipped, hkt_check_result *out,
                                double *worst)
{
    size_t n = hkt_cascade_span(c->stride, level);
    double *h = NULL, largest = 0, gain = 0, low = 0;
    HKT_TRY(HKT_NEW(&h, n * c->d));
    hkt_status status = run_impulses(c, level, h);
    for (size_t i = 0; i < c->d && status == HKT_OK; i++) {
        comparison channel = {0};
        status = compare_channel(c, level, i, level - skipped, h, &channel);
        double error = hkt_check_worse(channel.taps, channel.spectrum);
        largest = hkt_check_worse(largest, error / response_bound(OVERSAMPLE * n, filter_size(c, level, i)));
        gain += channel.gain / (double)c->d;
        low += channel.low / (double)c->d;
    }
    hkt_free(h);
    HKT_TRY(status);
    *worst = hkt_check_worse(*worst, largest);
    return hkt_check_row(out, "layer\tlevel\ttaps\terror_over_bound\tmean_gain_at_0\tmean_share_below_cutoff", layer,
                         level, n, largest, gain, low);
}

static hkt_status compare_layers(const hkt_cascade *layer, size_t layers, size_t skipped, hkt_check_result *out)
{
    double worst = 0;
    size_t levels = 0, L = layer[0].L;
    for (size_t level = 1; level < L && hkt_cascade_span(layer[0].stride, level) <= LONGEST; level++, levels++)
        for (size_t n = 0; n < layers; n++)
            HKT_TRY(compare_level(layer + n, n, level, skipped, out, &worst));
    hkt_check_at_most(out, worst, 1);
    hkt_check_condition(out, "any filters");
    hkt_check_detail(out, "all channels of %zu layers, %zu of %zu levels", layers, levels, L - 1);
    return HKT_OK;
}

static hkt_status drawn_filters(const hkt_verify_context *ctx, size_t skipped, hkt_check_result *out)
{
    hkt_cascade c;
    double *taps = NULL;
    HKT_TRY(hkt_cascade_make(2, 4, 32, true, ctx->seed, &c, &taps));
    hkt_status status = compare_layers(&c, 1, skipped, out);
    hkt_free(taps);
    return status;
}

/* control: the last filter left out of the product. */
static hkt_status response_product(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    if (control || !ctx->model)
        return drawn_filters(ctx, control, out);
    const hkt_layout *layout = ctx->model->layout;
    if (layout->config.levels == 1) {
        hkt_check_skip(out, "the model has one level: no cascade");
        return HKT_OK;
    }
    hkt_cascade *layer = NULL;
    HKT_TRY(HKT_NEW(&layer, layout->config.layers));
    for (size_t n = 0; n < layout->config.layers; n++)
        layer[n] = hkt_cascade_of(layout, ctx->model->params, n);
    hkt_status status = compare_layers(layer, layout->config.layers, 0, out);
    hkt_free(layer);
    return status;
}

const hkt_check hkt_bands_response_product = {
    .name = "response-product",
    .kind = HKT_IMPLEMENTATION,
    .statement =
        "the response of the model's own cascade is the product of its filters' responses at w, s w, s^2 w, ...",
    .reference = "noble identity; docs/theory.md, bands",
    .failure = "levels are not a cascade of the stored filters",
    .of_model = true,
    .run = response_product,
    .holds = "the response of the cascade is the product of its filters' responses; the error is {m} of what rounding "
             "allows",
    .violated =
        "the response of the cascade is not the product of its filters' responses: {m} times what rounding allows",
};

/* --- white noise --- */

/* energy [L, L] += band energies summed over the unit impulses at tokens 0 .. T-1 and over the channels: the
 * expectation for white noise, since E x x' = I. */
static hkt_status sum_impulses(const hkt_cascade *c, size_t T, hkt_band_signal signal, double *energy)
{
    double *x[HKT_MAX_LEVELS], *mem = NULL;
    const double *view[HKT_MAX_LEVELS];
    size_t rows = 0;
    for (size_t l = 0; l < c->L; l++)
        rows += hkt_level_length(T, c->stride, l);
    HKT_TRY(HKT_NEW(&mem, rows * c->d));
    for (size_t l = 0, at = 0; l < c->L; at += hkt_level_length(T, c->stride, l++) * c->d)
        view[l] = x[l] = mem + at;
    hkt_status status = HKT_OK;
    for (size_t token = 0; token < T && status == HKT_OK; token++) {
        for (size_t i = 0; i < T * c->d; i++)
            x[0][i] = i / c->d == token;
        hkt_cascade_run(c, T, x);
        status = hkt_band_energy(c->stride, c->L, c->d, view, (hkt_band_window){0, T}, signal, energy);
    }
    hkt_free(mem);
    return status;
}

/* Measured: the largest difference in a row of the matrix relative to the row's sum, in units of its bound. */
static hkt_status compare_white(size_t stride, size_t L, hkt_band_signal signal, hkt_band_signal closed, uint64_t seed,
                                hkt_check_result *out, double *worst)
{
    enum { D = 3 };
    double sum[HKT_MAX_LEVELS * HKT_MAX_LEVELS] = {0}, exact[HKT_MAX_LEVELS * HKT_MAX_LEVELS] = {0}, *taps = NULL;
    size_t T = 2 * hkt_cascade_span(stride, L);
    hkt_cascade c;
    HKT_TRY(hkt_cascade_make(stride, L, D, true, seed, &c, &taps));
    hkt_status status = sum_impulses(&c, T, signal, sum);
    for (size_t i = 0; i < D && status == HKT_OK; i++)
        status = hkt_band_white_noise(&c, i, T, closed, exact);
    hkt_free(taps);
    HKT_TRY(status);
    /* T D impulses with T/2 frequencies each are summed; transform and cascade add 2 * 14 log2 T and a few more. */
    double bound = ((double)(T * T * D) + 64 * log2((double)T)) * DBL_EPSILON / 2;
    for (size_t l = 0; l < L; l++) {
        double total = 0;
        for (size_t b = 0; b < L; b++)
            total += exact[l * L + b];
        for (size_t b = 0; b < L; b++) {
            double e = fabs(sum[l * L + b] - exact[l * L + b]) / total;
            *worst = hkt_check_worse(*worst, e / bound);
            HKT_TRY(hkt_check_row(out, "detail\tstride\tlevels\tlevel\tband\tenergy\tclosed_form\terror", signal,
                                  stride, L, l, b, sum[l * L + b], exact[l * L + b], e));
        }
    }
    return HKT_OK;
}

/* control: the closed form of the details for raw levels, and the other way round. */
static hkt_status compare_all(const hkt_verify_context *ctx, hkt_check_result *out, bool swapped)
{
    static const size_t stride[] = {2, 3, 4}, levels[] = {4, 3, 3};
    double worst = 0;
    for (size_t i = 0; i < 3; i++)
        for (int kind = 0; kind < 2; kind++) {
            hkt_band_signal signal = kind ? HKT_BANDS_DETAIL : HKT_BANDS_RAW;
            hkt_band_signal other = kind ? HKT_BANDS_RAW : HKT_BANDS_DETAIL;
            HKT_TRY(compare_white(stride[i], levels[i], signal, swapped ? other : signal, ctx->seed, out, &worst));
        }
    hkt_check_at_most(out, worst, 1);
    hkt_check_condition(out, "white noise; raw levels and details, any filters");
    hkt_check_detail(out, "s = 2, 3, 4, one boxcar channel and two of drawn filters");
    return HKT_OK;
}

const hkt_check hkt_bands_white_noise = {
    .name = "white-noise",
    .kind = HKT_IMPLEMENTATION,
    .statement = "band-energy matrices of raw levels and details, summed over unit impulses at every token, equal "
                 "their closed form",
    .reference = "docs/theory.md, bands",
    .failure = "the closed form, or the measurement of band energies, is wrong",
    .run = compare_all,
    .holds = "measured band energies are those of the closed form; the error is {m} of what rounding allows",
    .violated = "measured band energies are not those of the closed form: {m} times what rounding allows",
};

/* Dominance of one level, enclosed: own share over the largest other one; bands in reverse when `reversed`. */
static hkt_status level_dominance(size_t stride, size_t L, size_t level, bool detail, bool reversed, hkt_interval *own,
                                  hkt_interval *dominance)
{
    hkt_interval share[HKT_MAX_LEVELS], other = {0, 0};
    HKT_TRY(hkt_ball_bands(stride, L, level, detail, share));
    size_t mine = reversed ? L - 1 - level : level;
    for (size_t b = 0; b < L; b++)
        if (b != mine) { /* the largest lies between the largest lower and the largest upper end */
            other.low = fmax(other.low, share[b].low);
            other.high = fmax(other.high, share[b].high);
        }
    *own = share[mine];
    *dominance = hkt_interval_ratio(share[mine], other);
    return HKT_OK;
}

/* Strides first..last, from `fewest` levels to as many as s^L <= 4096 allows. Measured: the smallest dominance. */
static hkt_status dominance(hkt_check_result *out, size_t first, size_t last, size_t fewest, bool detail, bool reversed,
                            hkt_interval *least)
{
    *least = (hkt_interval){HUGE_VAL, HUGE_VAL};
    for (size_t s = first; s <= last; s++)
        for (size_t L = fewest; hkt_cascade_span(s, L) <= 4096; L++)
            for (size_t l = 0; l < L; l++) {
                hkt_interval own, d;
                HKT_TRY(level_dominance(s, L, l, detail, reversed, &own, &d));
                least->low = -hkt_check_worse(-least->low, -d.low);
                least->high = -hkt_check_worse(-least->high, -d.high);
                HKT_TRY(hkt_check_row(out, "stride\tlevels\tlevel\tshare_own\tdominance_low\tdominance_high", s, L, l,
                                      hkt_interval_middle(own), d.low, d.high));
            }
    hkt_check_enclosed_at_least(out, least->low, least->high, 1);
    return HKT_OK;
}

/* control: levels and bands in reverse. */
static hkt_status raw_narrow(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    hkt_interval least;
    HKT_TRY(dominance(out, 2, 2, 3, false, control, &least));
    hkt_check_condition(out, "raw levels U_l X^(l), white noise, s = 2, L >= 3");
    hkt_check_detail(out,
                     "the smallest ratio over levels, T -> infinity, is in [%.10f, %.10f]; raw level L-2 holds more "
                     "below its band than in it",
                     least.low, least.high);
    return HKT_OK;
}

const hkt_check hkt_bands_raw_white_noise = {
    .name = "raw-white-noise",
    .kind = HKT_CERTIFIED,
    .statement = "every raw level has its largest band energy in its own band",
    .reference = "docs/theory.md, bands",
    .failure = "raw levels keep what lies below their band: they are not band-limited below",
    .finding = "each level has its largest band energy in its own band",
    .run = raw_narrow,
    .holds = "every level has in its own band {m} times the energy of any other band, or more",
    .violated = "some level has in its own band only {m} times the energy of another band",
    .open = "whether every level has most energy in its own band is open: {m} times that of another band",
};

/* control: the same at s = 2. */
static hkt_status raw_wide(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    hkt_interval least;
    HKT_TRY(dominance(out, control ? 2 : 3, control ? 2 : 8, control ? 3 : 2, false, false, &least));
    hkt_check_condition(out, "raw levels, white noise, s >= 3 (bands wider than all below)");
    hkt_check_detail(out,
                     "the smallest ratio over levels, s = 3..8, T -> infinity, is in [%.10f, %.10f]; by width alone, "
                     "since no level passes its own band better than those below",
                     least.low, least.high);
    return HKT_OK;
}

const hkt_check hkt_bands_raw_wide_stride = {
    .name = "raw-wide-stride",
    .kind = HKT_CERTIFIED,
    .statement = "every raw level has its largest band energy in its own band",
    .reference = "docs/theory.md, bands",
    .failure = "even wide bands hold less than what lies below",
    .finding = "each level has its largest band energy in its own band",
    .run = raw_wide,
    .holds = "every level has in its own band {m} times the energy of any other band, or more",
    .violated = "some level has in its own band only {m} times the energy of another band",
    .open = "whether every level has most energy in its own band is open: {m} times that of another band",
};

/* control: raw levels in the place of details. */
static hkt_status details(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    hkt_interval least;
    HKT_TRY(dominance(out, 2, 8, 2, !control, false, &least));
    hkt_check_condition(out, "details U_l X^(l) - U_{l+1} X^(l+1), white noise");
    hkt_check_detail(out, "the smallest ratio over levels, s = 2..8, s^L <= 4096, T -> infinity, is in [%.10f, %.10f]",
                     least.low, least.high);
    return HKT_OK;
}

const hkt_check hkt_bands_details_white_noise = {
    .name = "details-white-noise",
    .kind = HKT_CERTIFIED,
    .statement = "the detail of every level has its largest band energy in its own band",
    .reference = "docs/theory.md, bands",
    .failure = "what a level adds to the next coarser one is not in its band",
    .finding = "each level has its largest band energy in its own band",
    .run = details,
    .holds = "every level has in its own band {m} times the energy of any other band, or more",
    .violated = "some level has in its own band only {m} times the energy of another band",
    .open = "whether every level has most energy in its own band is open: {m} times that of another band",
};

extern const hkt_check hkt_bands_product_identity, hkt_bands_white_noise_identity, hkt_bands_raw_hidden,
    hkt_bands_details_hidden, hkt_bands_outputs;
static const hkt_check *const checks[] = {&hkt_bands_response,
                                          &hkt_bands_product_identity,
                                          &hkt_bands_response_product,
                                          &hkt_bands_white_noise,
                                          &hkt_bands_white_noise_identity,
                                          &hkt_bands_raw_white_noise,
                                          &hkt_bands_raw_wide_stride,
                                          &hkt_bands_details_white_noise,
                                          &hkt_bands_raw_hidden,
                                          &hkt_bands_details_hidden,
                                          &hkt_bands_outputs};

static const hkt_headline headline[] = {
    {&hkt_bands_details_white_noise,
     "for white noise, what a level adds to the next coarser one (its detail) is mostly in the band of the level",
     "for white noise, the detail of some level is mostly outside of its band", NULL},
    {&hkt_bands_raw_white_noise, "for white noise, the levels themselves are mostly in their band",
     "for white noise, the levels themselves are not mostly in their band at stride 2 with three levels or more: they "
     "hold what lies below it as well",
     NULL},
    {&hkt_bands_raw_hidden, "of this model, most levels are mostly in their band",
     "of this model, most levels are mostly outside of their band",
     "of this model, whether most levels are mostly in their band"},
    {&hkt_bands_details_hidden, "of this model, most details are mostly in their band",
     "of this model, most details are mostly outside of their band",
     "of this model, whether most details are mostly in their band"},
    {&hkt_bands_outputs, "of this model, most outputs are mostly in their band",
     "of this model, most outputs of levels are mostly outside of their band",
     "of this model, whether most outputs of levels are mostly in their band"},
};

const hkt_claim hkt_claim_bands = {
    .id = "bands",
    .place = "summary",
    .statement = "level l of the cascade holds the frequencies pi/s^(l+1) to pi/s^l",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

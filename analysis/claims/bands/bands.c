/* bands.c - the claim `bands`: which signals by level are band-dominant on white noise; the list of checks. */
#include "analysis/claims/check.h"
#include "analysis/view/bands.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"

/* Band energies of untrained filters on white noise; levels and bands in reverse when `reversed`. */
static hkt_status untrained(size_t stride, size_t L, hkt_band_signal signal, bool reversed, double *energy)
{
    hkt_cascade c;
    double *taps = NULL, own[HKT_MAX_LEVELS * HKT_MAX_LEVELS] = {0};
    HKT_TRY(hkt_cascade_make(stride, L, 1, false, 0, &c, &taps));
    hkt_status status = hkt_band_white_noise(&c, 0, 8 * hkt_cascade_span(stride, L), signal, own);
    for (size_t i = 0; i < L * L; i++)
        energy[i] = own[reversed ? i / L * L + L - 1 - i % L : i];
    hkt_free(taps);
    return status;
}

/* Strides first..last, from `fewest` levels to as many as s^L <= 4096 allows. Measured: the smallest dominance. */
static hkt_status dominance(hkt_check_result *out, size_t first, size_t last, size_t fewest, hkt_band_signal signal,
                            bool reversed)
{
    double worst = (double)-INFINITY; /* of 1/dominance: hkt_check_worse keeps NaN */
    for (size_t s = first; s <= last; s++)
        for (size_t L = fewest; hkt_cascade_span(s, L) <= 4096; L++) {
            double energy[HKT_MAX_LEVELS * HKT_MAX_LEVELS];
            HKT_TRY(untrained(s, L, signal, reversed, energy));
            for (size_t l = 0; l < L; l++) {
                double total = 0, dominates = hkt_band_dominance(L, l, energy);
                for (size_t b = 0; b < L; b++)
                    total += energy[l * L + b];
                worst = hkt_check_worse(worst, 1 / dominates);
                double cells[] = {(double)s, (double)L, (double)l, energy[l * L + l] / total, dominates};
                HKT_TRY(hkt_check_row(out, "stride\tlevels\tlevel\tshare_own\town_over_largest_other", cells));
            }
        }
    hkt_check_at_least(out, 1 / worst, 1);
    return HKT_OK;
}

/* control: levels and bands in reverse. */
static hkt_status raw_narrow(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    HKT_TRY(dominance(out, 2, 2, 3, HKT_BANDS_RAW, control));
    hkt_check_condition(out, "raw levels U_l X^(l), white noise, s = 2, L >= 3");
    hkt_check_detail(out,
                     "energy in the own band over the largest other one, smallest over levels: raw level L-2 holds "
                     "more below its band than in it");
    return HKT_OK;
}

const hkt_check hkt_bands_raw_white_noise = {
    .name = "raw-white-noise",
    .kind = HKT_NUMERIC,
    .statement = "every raw level has its largest band energy in its own band",
    .reference = "docs/theory.md, bands",
    .failure = "raw levels keep what lies below their band: they are not band-limited below",
    .finding = "each level has its largest band energy in its own band",
    .run = raw_narrow,
};

/* control: the same at s = 2. */
static hkt_status raw_wide(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    HKT_TRY(dominance(out, control ? 2 : 3, control ? 2 : 8, control ? 3 : 2, HKT_BANDS_RAW, false));
    hkt_check_condition(out, "raw levels, white noise, s >= 3 (bands wider than all below)");
    hkt_check_detail(out,
                     "smallest dominance, s = 3..8: by width alone, since no level passes its own band better than "
                     "those below");
    return HKT_OK;
}

const hkt_check hkt_bands_raw_wide_stride = {
    .name = "raw-wide-stride",
    .kind = HKT_NUMERIC,
    .statement = "every raw level has its largest band energy in its own band",
    .reference = "docs/theory.md, bands",
    .failure = "even wide bands hold less than what lies below",
    .finding = "each level has its largest band energy in its own band",
    .run = raw_wide,
};

/* control: raw levels in the place of details. */
static hkt_status details(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    HKT_TRY(dominance(out, 2, 8, 2, control ? HKT_BANDS_RAW : HKT_BANDS_DETAIL, false));
    hkt_check_condition(out, "details U_l X^(l) - U_{l+1} X^(l+1), white noise");
    hkt_check_detail(out, "energy in the own band over the largest other one, smallest over levels, s = 2..8, s^L <= "
                          "4096");
    return HKT_OK;
}

const hkt_check hkt_bands_details_white_noise = {
    .name = "details-white-noise",
    .kind = HKT_NUMERIC,
    .statement = "the detail of every level has its largest band energy in its own band",
    .reference = "docs/theory.md, bands",
    .failure = "what a level adds to the next coarser one is not in its band",
    .finding = "each level has its largest band energy in its own band",
    .run = details,
};

extern const hkt_check hkt_bands_response, hkt_bands_response_product, hkt_bands_white_noise, hkt_bands_raw_hidden,
    hkt_bands_details_hidden, hkt_bands_outputs;
static const hkt_check *const checks[] = {
    &hkt_bands_response,        &hkt_bands_response_product, &hkt_bands_white_noise,
    &hkt_bands_raw_white_noise, &hkt_bands_raw_wide_stride,  &hkt_bands_details_white_noise,
    &hkt_bands_raw_hidden,      &hkt_bands_details_hidden,   &hkt_bands_outputs};

const hkt_claim hkt_claim_bands = {
    .id = "bands",
    .place = "summary",
    .statement = "level l of the cascade holds the frequencies pi/s^(l+1) to pi/s^l",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
};

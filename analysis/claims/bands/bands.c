/* bands.c - the claim `bands`: which signals by level are band-dominant on white noise; the table of checks. */
#include "analysis/claims/bands/checks.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"

hkt_status hkt_bands_cascade(size_t stride, size_t L, size_t d, bool drawn, uint64_t seed, hkt_cascade *out,
                             double **taps)
{
    HKT_TRY(HKT_NEW(taps, L * stride * d));
    *out = (hkt_cascade){.d = d, .L = L, .stride = stride};
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 112);
    for (size_t i = 0; i < L * stride * d; i++) {
        double z = hkt_rng_normal(&rng);
        (*taps)[i] = (drawn && i % d > 0 ? 1 + z : 1) / (double)stride;
    }
    for (size_t l = 1; l < L; l++)
        out->down[l] = *taps + l * stride * d;
    return HKT_OK;
}

/* Band energies of untrained filters on white noise; levels and bands in reverse when `reversed`. */
static hkt_status untrained(size_t stride, size_t L, hkt_band_signal signal, bool reversed, double *energy)
{
    hkt_cascade c;
    double *taps = NULL, own[HKT_MAX_LEVELS * HKT_MAX_LEVELS] = {0};
    HKT_TRY(hkt_bands_cascade(stride, L, 1, false, 0, &c, &taps));
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

static hkt_status raw_narrow(const hkt_verify_context *ctx, hkt_check_result *out)
{
    (void)ctx;
    HKT_TRY(dominance(out, 2, 2, 3, HKT_BANDS_RAW, false));
    hkt_check_condition(out, "raw levels U_l X^(l), white noise, s = 2, L >= 3");
    hkt_check_detail(out,
                     "energy in the own band over the largest other one, smallest over levels: raw level L-2 holds "
                     "more below its band than in it");
    return HKT_OK;
}

static hkt_status raw_narrow_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    (void)ctx;
    return dominance(out, 2, 2, 3, HKT_BANDS_RAW, true);
}

static hkt_status raw_wide(const hkt_verify_context *ctx, hkt_check_result *out)
{
    (void)ctx;
    HKT_TRY(dominance(out, 3, 8, 2, HKT_BANDS_RAW, false));
    hkt_check_condition(out, "raw levels, white noise, s >= 3 (bands wider than all below)");
    hkt_check_detail(out,
                     "smallest dominance, s = 3..8: by width alone, since no level passes its own band better than "
                     "those below");
    return HKT_OK;
}

/* The same at s = 2. */
static hkt_status raw_wide_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    (void)ctx;
    return dominance(out, 2, 2, 3, HKT_BANDS_RAW, false);
}

static hkt_status details(const hkt_verify_context *ctx, hkt_check_result *out)
{
    (void)ctx;
    HKT_TRY(dominance(out, 2, 8, 2, HKT_BANDS_DETAIL, false));
    hkt_check_condition(out, "details U_l X^(l) - U_{l+1} X^(l+1), white noise");
    hkt_check_detail(out, "energy in the own band over the largest other one, smallest over levels, s = 2..8, s^L <= "
                          "4096");
    return HKT_OK;
}

/* Raw levels in the place of details. */
static hkt_status details_control(const hkt_verify_context *ctx, hkt_check_result *out)
{
    (void)ctx;
    return dominance(out, 2, 8, 2, HKT_BANDS_RAW, false);
}

static const hkt_check checks[] = {
    {"response", HKT_NUMERIC,
     "unit impulses sent through the untrained cascade come out as a boxcar of s^l tokens, whose transform is the "
     "product of Dirichlet kernels",
     "docs/theory.md, bands; Oppenheim & Schafer, Discrete-Time Signal Processing, 2.6",
     "the cascade is not the low-pass filter of the theory", hkt_bands_response, hkt_bands_response_control, false,
     NULL},
    {"response-product", HKT_NUMERIC,
     "the response of the model's own cascade is the product of its filters' responses at w, s w, s^2 w, ...",
     "noble identity; docs/theory.md, bands", "levels are not a cascade of the stored filters", hkt_bands_product,
     hkt_bands_product_control, true, NULL},
    {"white-noise", HKT_NUMERIC,
     "band-energy matrices of raw levels and details, summed over unit impulses at every token, equal their closed "
     "form",
     "docs/theory.md, bands", "the closed form, or the measurement of band energies, is wrong", hkt_bands_white,
     hkt_bands_white_control, false, NULL},
    {"raw-white-noise", HKT_NUMERIC, "every raw level has its largest band energy in its own band",
     "docs/theory.md, bands", "raw levels keep what lies below their band: they are not band-limited below", raw_narrow,
     raw_narrow_control, false, "each level has its largest band energy in its own band"},
    {"raw-wide-stride", HKT_NUMERIC, "every raw level has its largest band energy in its own band",
     "docs/theory.md, bands", "even wide bands hold less than what lies below", raw_wide, raw_wide_control, false,
     "each level has its largest band energy in its own band"},
    {"details-white-noise", HKT_NUMERIC, "the detail of every level has its largest band energy in its own band",
     "docs/theory.md, bands", "what a level adds to the next coarser one is not in its band", details, details_control,
     false, "each level has its largest band energy in its own band"},
    {"raw-hidden", HKT_EMPIRICAL,
     "most raw levels of the model's hidden states have their largest band energy in their own band, beyond a "
     "bootstrap "
     "interval over sequences",
     "docs/theory.md, bands", "raw levels of hidden states hold mostly what lies below their band",
     hkt_bands_hidden_raw, hkt_bands_hidden_raw_control, true,
     "most levels have their largest band energy in their own band"},
    {"details-hidden", HKT_EMPIRICAL, "the same of the details", "docs/theory.md, bands",
     "the spectrum of the hidden states falls so steeply that details leak", hkt_bands_hidden_details,
     hkt_bands_hidden_details_control, true, "most levels have their largest band energy in their own band"},
    {"outputs", HKT_EMPIRICAL, "the same of the outputs U_l Y^(l) of the levels", "docs/theory.md, bands",
     "level outputs hold mostly what lies below their band", hkt_bands_outputs, hkt_bands_outputs_control, true,
     "most levels have their largest band energy in their own band"},
};

const hkt_claim hkt_claim_bands = {"bands", "summary",
                                   "level l of the cascade holds the frequencies pi/s^(l+1) to pi/s^l", checks,
                                   sizeof checks / sizeof *checks};

/* bands.h - frequency bands of the levels: the cascade's filter, and how the energy of signals by level spreads over
 * the bands. Derivations: docs/theory.md, "bands".
 *
 * Band b of L bands holds the frequencies pi/s^(b+1) < w < pi/s^b in radians per token, the last one all below pi/s^b,
 * zero included; a frequency on an edge counts half on either side. Frequencies are written as k/M, w = 2 pi k/M, so
 * that they are reduced exactly. Energies are sums of squares over tokens (Parseval): the bands of a signal add up to
 * its sum of squares. */
#ifndef HKT_ANALYSIS_VIEW_BANDS_H
#define HKT_ANALYSIS_VIEW_BANDS_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/view/scene.h"
#include "base/status.h"
#include "model/layout.h"

/* The downsampling filters of one layer. */
typedef struct {
    size_t d, L, stride;
    const double *down[HKT_MAX_LEVELS]; /* [s, d], row k is a_k; levels 1 .. L-1, borrowed */
} hkt_cascade;

hkt_cascade hkt_cascade_of(const hkt_layout *layout, const double *params, size_t layer);
/* Filters that own their taps: every channel a boxcar (a = 1/s), or, when drawn, from channel 1 on 1/s plus normals of
 * standard deviation 1/s. The caller frees *taps. Errors: HKT_ESYSTEM. */
hkt_status hkt_cascade_make(size_t stride, size_t L, size_t d, bool drawn, uint64_t seed, hkt_cascade *out,
                            double **taps);
/* s^level, the tokens under one row. */
size_t hkt_cascade_span(size_t stride, size_t level);
/* x [out]: X^(1) .. X^(L-1) from X^(0) = x[0]; x[l] [T_l, d]. */
void hkt_cascade_run(const hkt_cascade *c, size_t T, double *const x[]);
/* h [out] [s^level]: X^(level)_j = sum_m h_m X^(0)_{s^level j - m} in one channel, by multiplying the filters out. */
void hkt_cascade_impulse(const hkt_cascade *c, size_t level, size_t channel, double *h);
/* Response of that filter at frequency k/M: prod_{m=1..level} A^(m)(s^(m-1) k/M), A(w) = sum_t a_t e^{-iwt}. */
double complex hkt_cascade_response(const hkt_cascade *c, size_t level, size_t channel, size_t k, size_t M);
/* (1/n) sum_{t<n} e^{-iwt}, the normalised Dirichlet kernel with its phase, at frequency k/M; a few eps. */
double complex hkt_dirichlet(size_t n, size_t k, size_t M);

/* z [out] [M/2 + 1]: sum_t x_t e^{-2 pi i t k/M}, k = 0 .. M/2, of n <= M values (GSL, not normalised). Errors:
 * HKT_ESYSTEM. */
hkt_status hkt_spectrum(size_t n, const double *x, size_t M, double complex *z);

/* Which signal a level is judged by: what it holds, upsampled (U_l x_l), what it holds beyond the next one (U_l x_l -
 * U_{l+1} x_{l+1}; the coarsest level: U_l x_l), or its output (U_l Y^(l)). */
typedef enum { HKT_BANDS_RAW, HKT_BANDS_DETAIL, HKT_BANDS_OUTPUT, HKT_BANDS_SIGNALS } hkt_band_signal;

/* Tokens begin .. begin + n - 1, what a transform is taken over: whole rows of the coarsest level, after the first one,
 * which sees the zeros before the sequence. n = 0: the sequence is shorter than two rows. */
typedef struct {
    size_t begin, n;
} hkt_band_window;
hkt_band_window hkt_band_window_of(size_t T, size_t stride, size_t L);

/* y[l] [T_l, d] out: the outputs Y^(l) of every level for the first sequence of the tap's batch, to be taken for x
 * below. Not for score fusion, whose levels have no outputs. */
void hkt_band_outputs(const hkt_tap_f64 *tap, size_t d, double *const y[]);

/* energy [L, L] +=: row l the signal of level l, column b band b, summed over d channels. x[l] [ceil(T/s^l), d]. begin
 * and n of the window are multiples of s^(L-1), n > 0. Errors: HKT_ESYSTEM. */
hkt_status hkt_band_energy(size_t stride, size_t L, size_t d, const double *const x[], hkt_band_window window,
                           hkt_band_signal signal, double *energy);

/* The same for one layer of the scene and its sequence; not the outputs of score fusion. Errors: HKT_ESYSTEM. */
hkt_status hkt_band_scene(const hkt_scene *s, size_t layer, hkt_band_signal signal, hkt_band_window window,
                          double *energy);
/* energy [L, L] += expectation of the same for X^(0) white noise of variance 1 and X^(l) from the cascade, one channel,
 * tokens 0 .. T-1, s^(L-1) | T: exact for this T, with the zeros before the sequence. */
hkt_status hkt_band_white_noise(const hkt_cascade *c, size_t channel, size_t T, hkt_band_signal signal, double *energy);

/* Energy of level l in band l over the largest in any other band: above 1 when the level is band-dominant. L >= 2; NaN
 * for a level without energy. */
double hkt_band_dominance(size_t L, size_t level, const double *energy);

#endif

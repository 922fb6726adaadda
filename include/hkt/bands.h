/* hkt/bands.h - how the energy of a model's levels spreads over frequency bands (docs/theory.md, "bands"). Band b of L
 * holds the frequencies between pi/s^(b+1) and pi/s^b radians per token, the last one all below pi/s^(L-1). */
#ifndef HKT_BANDS_H
#define HKT_BANDS_H

#include <hkt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    HKT_BANDS_OF_INPUTS,  /* what a level holds, upsampled to the tokens */
    HKT_BANDS_OF_DETAILS, /* what it holds beyond the next coarser level */
    HKT_BANDS_OF_OUTPUTS  /* its output; not for fusion "score", whose levels have none */
} hkt_bands_signal;

/* energy [L, L] out: row l the signal of level l, column b band b, sums of squares over channels and tokens of one
 * layer for tokens [T]; the first and last tokens that do not fill a row of the coarsest level, and its first row, are
 * left out. A level is band-dominant when its own band has the most. Errors: those of hkt_heads_walk; HKT_EUSAGE for a
 * layer or signal that there is not; HKT_EINPUT for a sequence that is shorter than two rows of the coarsest level. */
HKT_API hkt_status hkt_bands_energy(const hkt_model *model, size_t T, const int32_t *tokens, size_t layer,
                                    hkt_bands_signal signal, double *energy);

#ifdef __cplusplus
}
#endif

#endif

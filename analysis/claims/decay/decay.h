/* decay.h - inside the claim `decay`: matrices with a known or interesting E_L. */
#ifndef HKT_ANALYSIS_CLAIMS_DECAY_DECAY_H
#define HKT_ANALYSIS_CLAIMS_DECAY_DECAY_H

#include "analysis/claims/check.h"
#include "analysis/math/fit.h"
#include "analysis/view/hierarchy.h"
#include "base/rng.h"

enum { HKT_DECAY_STRIDE = 2 };

/* --- planted.c: s [T, T] out --- */

void hkt_decay_noise_fill(size_t T, hkt_rng *rng, double *s);
/* ||S|| = 1 and E_L = error[L - 1] exactly for L = 1 .. levels and this rank (docs/theory.md, "decay"). Needs
 * E_{L-1}^2 - E_L^2 > 0 that falls with L (E_0 = 1) and room: T_l >= rank (levels - l). */
hkt_status hkt_decay_planted_fill(size_t T, size_t levels, size_t rank, const double *error, hkt_rng *rng, double *s);

/* --- what is measured on all of them --- */

hkt_search hkt_decay_search(const hkt_verify_context *ctx);
/* E_L for L = 1 .. levels (0: until a level has one row), and the law it follows. */
hkt_status hkt_decay_measure(const double *s, size_t T, size_t levels, size_t rank, const hkt_search *search,
                             hkt_curve *curve, hkt_decay_fit *fit);

#endif

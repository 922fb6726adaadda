/* information.h - inside the claim `information`: what its files and tests share. */
#ifndef HKT_ANALYSIS_CLAIMS_INFORMATION_INFORMATION_H
#define HKT_ANALYSIS_CLAIMS_INFORMATION_INFORMATION_H

#include "analysis/claims/check.h"
#include "analysis/view/bands.h"

/* info [L] out: I(Z; X^(l)) in nats of one channel, X^(0) = Z + noise, Z a stationary AR(1) process with coefficient
 * rho and variance 1, noise white of this variance. */
hkt_status hkt_information_levels(const hkt_cascade *c, size_t channel, size_t T, double rho, double noise,
                                  double *info);

#endif

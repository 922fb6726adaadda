/* null.h - inside the claim `asymmetry`: what random weights give, by simulation, where heads are too narrow for the
 * normal law to be right in its tails (docs/theory.md, "asymmetry"). A test that compares with the largest of n draws
 * of the null hypothesis has level 1/(n + 1) exactly (Barnard 1963, J. R. Statist. Soc. B 25:294). */
#ifndef HKT_ANALYSIS_CLAIMS_ASYMMETRY_NULL_H
#define HKT_ANALYSIS_CLAIMS_ASYMMETRY_NULL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* From these widths on the normal tail is used, for shares and for cosines; its true sizes are in docs/theory.md. */
enum { HKT_ASYMMETRY_NORMAL_WIDTH = 16, HKT_ASYMMETRY_NORMAL_COSINE = 8 };

/* p < HKT_ASYMMETRY_NORMAL_WIDTH, d >= 2. largest [models] out, ascending: of each model of `heads` independent heads
 * of random weights, the largest |z| of its energy shares (view/asymmetry.h). The same for any number of threads. */
void hkt_asymmetry_null_shares(size_t d, size_t p, size_t heads, size_t models, uint64_t seed, double *largest);

/* cosine [n] out, ascending: |cosine| of the M_a of two independent heads of random weights, p as above. Errors:
 * HKT_ESYSTEM. */
hkt_status hkt_asymmetry_null_cosines(size_t d, size_t p, size_t n, uint64_t seed, double *cosine);

/* (1 + draws >= x) / (n + 1), draws ascending: the p-value of x under the null hypothesis, exactly valid. */
double hkt_asymmetry_null_p(const double *draws, size_t n, double x);

#endif

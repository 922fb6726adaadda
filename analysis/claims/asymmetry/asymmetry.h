/* asymmetry.h - inside the claim `asymmetry`: what its files share. */
#ifndef HKT_ANALYSIS_CLAIMS_ASYMMETRY_ASYMMETRY_H
#define HKT_ANALYSIS_CLAIMS_ASYMMETRY_ASYMMETRY_H

#include "analysis/claims/check.h"
#include "analysis/claims/subject.h"

/* Sub-streams of HKT_STREAM_VERIFY. */
enum { HKT_ASYMMETRY_UNIQUE = 1000, HKT_ASYMMETRY_MOMENTS = 1100 };

/* What S_ij +- S_ji says depends on the mask: sets the condition. `before` comes first, "" = nothing. */
void hkt_asymmetry_reading(hkt_check_result *out, const char *before, bool causal);

#endif

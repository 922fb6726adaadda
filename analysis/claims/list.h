/* list.h - every claim of the paper. For programs and tests: the report gets the list from its caller, and no claim
 * knows it. */
#ifndef HKT_ANALYSIS_CLAIMS_LIST_H
#define HKT_ANALYSIS_CLAIMS_LIST_H

#include "analysis/claims/check.h"

extern const hkt_claim hkt_claim_psd, hkt_claim_asymmetry, hkt_claim_subsumption, hkt_claim_cost, hkt_claim_kurtosis,
    hkt_claim_bands, hkt_claim_approximation, hkt_claim_information, hkt_claim_decay, hkt_claim_accuracy;
extern const hkt_claim_list hkt_claims;

#endif

/* list.h - every claim of the paper. For programs and tests: the report gets the list from its caller, and no claim
 * knows it. */
#ifndef HKT_ANALYSIS_CLAIMS_LIST_H
#define HKT_ANALYSIS_CLAIMS_LIST_H

#include "analysis/claims/check.h"

extern const hkt_claim_list hkt_claims;
/* The same statements judged on a model of another kind, by checks of their own. */
extern const hkt_claim_list hkt_foreign_claims;
/* And on scores that another program stored. */
extern const hkt_claim_list hkt_stored_claims;

#endif

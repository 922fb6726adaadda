#include "analysis/claims/list.h"

extern const hkt_claim hkt_claim_psd, hkt_claim_asymmetry, hkt_claim_subsumption, hkt_claim_cost, hkt_claim_kurtosis,
    hkt_claim_bands, hkt_claim_approximation, hkt_claim_information, hkt_claim_decay, hkt_claim_accuracy;

static const hkt_claim *const claims[] = {
    &hkt_claim_psd,   &hkt_claim_asymmetry,     &hkt_claim_subsumption, &hkt_claim_cost,  &hkt_claim_kurtosis,
    &hkt_claim_bands, &hkt_claim_approximation, &hkt_claim_information, &hkt_claim_decay, &hkt_claim_accuracy};
const hkt_claim_list hkt_claims = {claims, sizeof claims / sizeof *claims};

extern const hkt_claim hkt_foreign_claim_psd, hkt_foreign_claim_asymmetry, hkt_foreign_claim_kurtosis;

static const hkt_claim *const foreign[] = {&hkt_foreign_claim_psd, &hkt_foreign_claim_asymmetry,
                                           &hkt_foreign_claim_kurtosis};
const hkt_claim_list hkt_foreign_claims = {foreign, sizeof foreign / sizeof *foreign};

extern const hkt_claim hkt_stored_claim_psd, hkt_stored_claim_asymmetry, hkt_stored_claim_kurtosis,
    hkt_stored_claim_information;

static const hkt_claim *const stored[] = {&hkt_stored_claim_psd, &hkt_stored_claim_asymmetry,
                                          &hkt_stored_claim_kurtosis, &hkt_stored_claim_information};
const hkt_claim_list hkt_stored_claims = {stored, sizeof stored / sizeof *stored};

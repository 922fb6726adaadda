/* checks.h - inside the claim `asymmetry`: the checks by file (asymmetry.c has the registry's table). */
#ifndef HKT_ANALYSIS_CLAIMS_ASYMMETRY_CHECKS_H
#define HKT_ANALYSIS_CLAIMS_ASYMMETRY_CHECKS_H

#include "analysis/claims/check.h"
#include "analysis/claims/subject.h"

/* Sub-streams of HKT_STREAM_VERIFY. */
enum { HKT_ASYMMETRY_UNIQUE = 1000, HKT_ASYMMETRY_MOMENTS = 1100 };

/* What S_ij +- S_ji says depends on the mask: sets the condition. `before` comes first, "" = nothing. */
void hkt_asymmetry_reading(hkt_check_result *out, const char *before, bool causal);

/* asymmetry_split.c */
hkt_status hkt_asymmetry_unique(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_unique_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_forms(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_forms_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_pythagoras(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_pythagoras_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_independence(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_independence_control(const hkt_verify_context *ctx, hkt_check_result *out);

/* asymmetry_energy.c */
hkt_status hkt_asymmetry_moments(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_moments_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_fresh(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_fresh_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_trained(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_trained_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_cosine(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_cosine_control(const hkt_verify_context *ctx, hkt_check_result *out);

/* asymmetry_effect.c */
hkt_status hkt_asymmetry_effect(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_asymmetry_effect_control(const hkt_verify_context *ctx, hkt_check_result *out);

#endif

/* bound.h - checks of the claim `cost` on R = sum_l (T_l / T)^2, in integers; see cost.c for their place in the
 * registry. */
#ifndef HKT_ANALYSIS_CLAIMS_COST_BOUND_H
#define HKT_ANALYSIS_CLAIMS_COST_BOUND_H

#include "analysis/claims/check.h"

/* The range searched: s in 2..4, L in 1..12, T in 1..4096. */
enum { HKT_COST_STRIDES = 4, HKT_COST_LEVELS = 12, HKT_COST_TOKENS = 4096 };

hkt_status hkt_cost_closed_form(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_closed_form_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_divisible(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_divisible_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_any_length(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_any_length_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_residues(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_residues_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_envelope(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_envelope_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_causal(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_causal_control(const hkt_verify_context *ctx, hkt_check_result *out);

#endif

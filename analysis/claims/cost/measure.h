/* measure.h - the checks of the claim `cost` that read the clock. Private to it. */
#ifndef HKT_ANALYSIS_CLAIMS_COST_MEASURE_H
#define HKT_ANALYSIS_CLAIMS_COST_MEASURE_H

#include "analysis/claims/check.h"

hkt_status hkt_cost_kernel_time(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_kernel_time_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_step_time(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_cost_step_time_control(const hkt_verify_context *ctx, hkt_check_result *out);

#endif

/* checks.h - inside the claim `bands`: the checks by file (bands.c has the registry's table). */
#ifndef HKT_ANALYSIS_CLAIMS_BANDS_CHECKS_H
#define HKT_ANALYSIS_CLAIMS_BANDS_CHECKS_H

#include "analysis/claims/check.h"
#include "analysis/view/bands.h"

/* Filters that own their taps: every channel a boxcar (a = 1/s), or, from channel 1 on, 1/s plus normals of standard
 * deviation 1/s. The caller frees *taps. `information` uses them too. */
hkt_status hkt_bands_cascade(size_t stride, size_t L, size_t d, bool drawn, uint64_t seed, hkt_cascade *out,
                             double **taps);

/* bands_filter.c */
hkt_status hkt_bands_response(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_response_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_product(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_product_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_white(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_white_control(const hkt_verify_context *ctx, hkt_check_result *out);

/* bands_model.c */
hkt_status hkt_bands_hidden_raw(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_hidden_raw_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_hidden_details(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_hidden_details_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_outputs(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_bands_outputs_control(const hkt_verify_context *ctx, hkt_check_result *out);

#endif

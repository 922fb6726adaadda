/* checks.h - inside the claim `information`: the checks by file (information.c has the registry's table).
 */
#ifndef HKT_ANALYSIS_CLAIMS_INFORMATION_CHECKS_H
#define HKT_ANALYSIS_CLAIMS_INFORMATION_CHECKS_H

#include "analysis/claims/check.h"
#include "analysis/view/bands.h"

/* information_expansion.c */
hkt_status hkt_information_quadrature(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_quadrature_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_leading(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_leading_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_leading_power(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_leading_power_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_range(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_range_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_paper(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_paper_control(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_any(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_any_control(const hkt_verify_context *ctx, hkt_check_result *out);

/* information_chain.c */
hkt_status hkt_information_processing(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_processing_control(const hkt_verify_context *ctx, hkt_check_result *out);
/* info [L] out: I(Z; X^(l)) in nats of one channel, X^(0) = Z + noise, Z a stationary AR(1) process with coefficient
 * rho and variance 1, noise white of this variance. */
hkt_status hkt_information_levels(const hkt_cascade *c, size_t channel, size_t T, double rho, double noise,
                                  double *info);

/* information_scores.c */
hkt_status hkt_information_trained(const hkt_verify_context *ctx, hkt_check_result *out);
hkt_status hkt_information_trained_control(const hkt_verify_context *ctx, hkt_check_result *out);

#endif

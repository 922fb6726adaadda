/* kurtosis.h - inside the claim `kurtosis`: what its files and tests share. */
#ifndef HKT_ANALYSIS_CLAIMS_KURTOSIS_KURTOSIS_H
#define HKT_ANALYSIS_CLAIMS_KURTOSIS_KURTOSIS_H

#include "analysis/claims/check.h"
#include "analysis/view/scores.h"
#include "base/rng.h"

/* The verdict of `trained` on these scores, at least two units. fresh: of the same places before training, NULL: the
 * reference is a Gaussian's 1 alone. */
hkt_status hkt_kurtosis_judge_scores(const hkt_score_moments *trained, const hkt_score_moments *fresh, uint64_t seed,
                                     hkt_check_result *out);
/* The verdict of `trained` on 8 planted heads of 24 sequences, 500 independent scores each; the first `constant` heads
 * have scores that do not vary. untrained: the law of the same heads before training, NULL: none. */
hkt_status hkt_kurtosis_judge(double (*draw)(hkt_rng *rng), double (*untrained)(hkt_rng *rng), size_t constant,
                              uint64_t seed, hkt_check_result *out);

/* kappa = 1 + 2 tr((Sq Sk)^2) / tr(Sq Sk)^2 of x' Wq' Wk y for x, y independent standard normal, Sq = Wq Wq', Sk = Wk
 * Wk' (docs/theory.md, "kurtosis"); wq, wk [p, d], p <= 64. */
double hkt_kurtosis_closed_form(size_t d, size_t p, const double *wq, const double *wk);

#endif

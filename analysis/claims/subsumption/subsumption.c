/* subsumption.c - the claim `subsumption` (Prop. 3.4): the table of checks. */
#include "analysis/claims/subsumption/checks.h"

static const hkt_check checks[] = {
    {"attention-f32", HKT_NUMERIC,
     "theta_0 large (lambda, alpha one-hot on level 0) and beta = 1: the fused heads equal textbook attention, float32",
     "paper, Prop. 3.4; docs/theory.md, subsumption", "the model does not contain standard attention",
     hkt_subsumption_attention_f32, hkt_subsumption_attention_f32_control, false,
     "a hierarchical head is standard attention"},
    {"attention-f64", HKT_NUMERIC, "the same in float64", "paper, Prop. 3.4; docs/theory.md, subsumption",
     "the model does not contain standard attention", hkt_subsumption_attention_f64,
     hkt_subsumption_attention_f64_control, false, "a hierarchical head is standard attention"},
    {"convolution-f32", HKT_NUMERIC,
     "theta_0 large and beta = 0: the fused heads equal the direct causal convolution of V, float32",
     "paper, Prop. 3.4; docs/theory.md, subsumption", "the model does not contain causal convolution",
     hkt_subsumption_convolution_f32, hkt_subsumption_convolution_f32_control, false,
     "a hierarchical head is a causal convolution"},
    {"convolution-f64", HKT_NUMERIC, "the same in float64", "paper, Prop. 3.4; docs/theory.md, subsumption",
     "the model does not contain causal convolution", hkt_subsumption_convolution_f64,
     hkt_subsumption_convolution_f64_control, false, "a hierarchical head is a causal convolution"},
    {"limit", HKT_NUMERIC,
     "at finite theta_0 = beta logit = t the distance from standard attention is below a bound of order e^-t",
     "docs/theory.md, subsumption", "standard attention is not the limit of the model", hkt_subsumption_limit,
     hkt_subsumption_limit_control, false,
     "the distance from standard attention is of order e^-t at finite parameters t"},
    {"strict-score", HKT_CERTIFIED,
     "some S^H has sigma_{p+1} > 0, proved: it is no single-head score matrix, whose rank is at most p",
     "Eckart & Young 1936; Rump 2006", "no proof that the model has score matrices that attention has not",
     hkt_subsumption_rank, hkt_subsumption_rank_control, true,
     "some S^H is no score matrix of one standard head: certified"},
    {"strict-attention", HKT_CERTIFIED,
     "the lower left quarter of some S^H has sigma_{p+2} > 0, proved: no single head gives the same attention weights, "
     "masked or not",
     "docs/theory.md, subsumption; Rump 2006", "no proof that the model has attention weights that attention has not",
     hkt_subsumption_block, hkt_subsumption_block_control, true,
     "some S^H gives weights that no standard head gives: certified"},
    {"convolution-linear", HKT_NUMERIC, "convolution is linear in X: f(2X) = 2 f(X) and f(X + Y) = f(X) + f(Y)",
     "definition", "the convolution is not a convolution", hkt_subsumption_linear, hkt_subsumption_linear_control,
     false, NULL},
    {"strict-convolution", HKT_NUMERIC, "attention is not: f(2X) and 2 f(X) differ far beyond rounding, on every shape",
     "docs/theory.md, subsumption", "no proof that the model is more than convolution", hkt_subsumption_nonlinear,
     hkt_subsumption_nonlinear_control, false, "attention is not linear in X: the head is more than a convolution"},
};

const hkt_claim hkt_claim_subsumption = {
    "subsumption", "Prop. 3.4", "one head contains standard attention and causal convolution, and is more than either",
    checks, sizeof checks / sizeof *checks};

/* subsumption.c - the claim `subsumption` (Prop. 3.4): the list of checks. */
#include "analysis/claims/subsumption/subsumption.h"

extern const hkt_check hkt_subsumption_attention_f32, hkt_subsumption_attention_f64, hkt_subsumption_convolution_f32,
    hkt_subsumption_convolution_f64, hkt_subsumption_limit, hkt_subsumption_strict_score,
    hkt_subsumption_strict_attention, hkt_subsumption_width_score, hkt_subsumption_width_attention,
    hkt_subsumption_convolution_linear, hkt_subsumption_strict_convolution;
static const hkt_check *const checks[] = {&hkt_subsumption_attention_f32,
                                          &hkt_subsumption_attention_f64,
                                          &hkt_subsumption_convolution_f32,
                                          &hkt_subsumption_convolution_f64,
                                          &hkt_subsumption_limit,
                                          &hkt_subsumption_strict_score,
                                          &hkt_subsumption_strict_attention,
                                          &hkt_subsumption_width_score,
                                          &hkt_subsumption_width_attention,
                                          &hkt_subsumption_convolution_linear,
                                          &hkt_subsumption_strict_convolution};

static const hkt_headline headline[] = {
    {&hkt_subsumption_attention_f64, "one head is standard attention (all weight on the finest level, beta = 1)",
     "a head does not become standard attention", NULL},
    {&hkt_subsumption_convolution_f64, "one head is a causal convolution (the same with beta = 0)",
     "a head does not become a causal convolution", NULL},
    {&hkt_subsumption_width_attention,
     "with two levels or more it has attention weights that no standard head of any width has",
     "that it has attention weights that no standard head has is not proved", NULL},
};

const hkt_claim hkt_claim_subsumption = {
    .id = "subsumption",
    .place = "Prop. 3.4",
    .statement = "one head contains standard attention and causal convolution, and is more than either",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

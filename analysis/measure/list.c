#include "analysis/measure/list.h"

extern const hkt_measurement hkt_measure_describe, hkt_measure_kurtosis, hkt_measure_spectrum, hkt_measure_inertia,
    hkt_measure_asymmetry, hkt_measure_gates, hkt_measure_bands, hkt_measure_information, hkt_measure_errors,
    hkt_measure_decay, hkt_measure_scores, hkt_measure_ablate, hkt_measure_cost, hkt_measure_compare;

static const hkt_measurement *const measurements[] = {
    &hkt_measure_describe,  &hkt_measure_kurtosis, &hkt_measure_spectrum, &hkt_measure_inertia,
    &hkt_measure_asymmetry, &hkt_measure_gates,    &hkt_measure_bands,    &hkt_measure_information,
    &hkt_measure_errors,    &hkt_measure_decay,    &hkt_measure_scores,   &hkt_measure_ablate,
    &hkt_measure_cost,      &hkt_measure_compare};
const hkt_measurement_list hkt_measurements = {measurements, sizeof measurements / sizeof *measurements};

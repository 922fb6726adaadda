#include "analysis/foreign/list.h"

extern const hkt_measurement hkt_foreign_families, hkt_foreign_describe, hkt_foreign_inertia, hkt_foreign_spectrum,
    hkt_foreign_asymmetry, hkt_foreign_kurtosis, hkt_foreign_lags;

static const hkt_measurement *const measurements[] = {
    &hkt_foreign_families,  &hkt_foreign_describe, &hkt_foreign_inertia, &hkt_foreign_spectrum,
    &hkt_foreign_asymmetry, &hkt_foreign_kurtosis, &hkt_foreign_lags};
const hkt_measurement_list hkt_foreign_measurements = {measurements, sizeof measurements / sizeof *measurements};

extern const hkt_measurement hkt_measure_kurtosis, hkt_measure_information, hkt_stored_inertia, hkt_stored_asymmetry,
    hkt_hidden_bands;

static const hkt_measurement *const of_stored[] = {&hkt_measure_kurtosis, &hkt_measure_information, &hkt_stored_inertia,
                                                   &hkt_stored_asymmetry};
const hkt_measurement_list hkt_stored_measurements = {of_stored, sizeof of_stored / sizeof *of_stored};

static const hkt_measurement *const of_hidden[] = {&hkt_hidden_bands};
const hkt_measurement_list hkt_hidden_measurements = {of_hidden, sizeof of_hidden / sizeof *of_hidden};

static const hkt_measurement *const of_forward[] = {&hkt_measure_kurtosis, &hkt_measure_information};
const hkt_measurement_list hkt_forward_measurements = {of_forward, sizeof of_forward / sizeof *of_forward};

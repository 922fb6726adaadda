#include "analysis/foreign/list.h"

extern const hkt_measurement hkt_foreign_families, hkt_foreign_describe, hkt_foreign_inertia, hkt_foreign_spectrum,
    hkt_foreign_asymmetry, hkt_foreign_kurtosis, hkt_foreign_lags;

static const hkt_measurement *const measurements[] = {
    &hkt_foreign_families,  &hkt_foreign_describe, &hkt_foreign_inertia, &hkt_foreign_spectrum,
    &hkt_foreign_asymmetry, &hkt_foreign_kurtosis, &hkt_foreign_lags};
const hkt_measurement_list hkt_foreign_measurements = {measurements, sizeof measurements / sizeof *measurements};

#include "analysis/measure.h"

const hkt_measurement *const hkt_measurements[] = {&hkt_measure_kurtosis, &hkt_measure_spectrum, &hkt_measure_cost};
const size_t hkt_n_measurements = sizeof hkt_measurements / sizeof *hkt_measurements;

/* list.h - every measurement of hkt-analyze. For programs and tests: no measurement knows the list. */
#ifndef HKT_ANALYSIS_MEASURE_LIST_H
#define HKT_ANALYSIS_MEASURE_LIST_H

#include "analysis/measure/measure.h"

extern const hkt_measurement_list hkt_measurements;

#endif

/* list.h - what hkt-analyze can say of a model of another kind. Only programs and tests include it. */
#ifndef HKT_ANALYSIS_FOREIGN_LIST_H
#define HKT_ANALYSIS_FOREIGN_LIST_H

#include "analysis/measure/measure.h"

extern const hkt_measurement_list hkt_foreign_measurements; /* of its weights: hkt_measure_context.foreign */

/* With stored queries and keys, and with stored hidden states. */
extern const hkt_measurement_list hkt_stored_measurements, hkt_hidden_measurements;
/* Of the scores of a forward pass. */
extern const hkt_measurement_list hkt_forward_measurements;

#endif

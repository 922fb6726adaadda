/* record.h - run.json: the settings of a training run, its starts, and its result. */
#ifndef HKT_TRAIN_RECORD_H
#define HKT_TRAIN_RECORD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/provenance.h"
#include "base/status.h"
#include "data/dataset.h"
#include "model/layout.h"
#include "train/trainer.h"

/* A new record with the settings of `spec` (config filled from the data) and no start. data_hash: see below. */
hkt_status hkt_record_create(json_t **out, const hkt_train_spec *spec, const hkt_layout *layout, size_t total_steps,
                             uint64_t data_hash);
/* HKT_EINPUT naming the first setting of `now` that differs from the record read from `path`. */
hkt_status hkt_record_compare(const json_t *old, const json_t *now, const char *path);
/* The settings of a record, borrowed. */
json_t *hkt_record_settings(const json_t *record);
/* HKT_EINPUT naming the first setting in which `found` differs from `expected`. */
hkt_status hkt_record_same_settings(json_t *expected, const json_t *found);
/* Adds a start after `step` updates. Notes on stderr what may change the bytes of the result: another
 * commit, BLAS core or instruction set than in the start before. */
hkt_status hkt_record_start(json_t *record, const hkt_provenance *how, size_t step);
hkt_status hkt_record_result(json_t *record, const hkt_train_result *result);

#endif

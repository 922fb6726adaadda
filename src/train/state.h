/* state.h - state.safetensors, from which a run is resumed: weights, best weights, moments, progress, log, and the
 * settings of the run that it belongs to. */
#ifndef HKT_TRAIN_STATE_H
#define HKT_TRAIN_STATE_H

#include "base/status.h"
#include "train/run.h"

/* Reads run->state_path into `run`, whose record is that of the run and whose arrays are allocated. Errors: HKT_EINPUT
 * naming file, tensor, place, expected, found: a tensor or value that a state cannot have, or the state of a run with
 * other settings. */
hkt_status hkt_state_read(hkt_run *run);

/* Writes run->state_path. spent: what the run has taken until now. */
hkt_status hkt_state_write(const hkt_run *run, const hkt_run_spent *spent);

#endif

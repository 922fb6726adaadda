/* run.h - the directory of a training run. state.safetensors alone says where the run stands: it is replaced by one
 * rename; log.tsv, best.safetensors and last.safetensors are written after it, and again from it on resuming. */
#ifndef HKT_TRAIN_RUN_H
#define HKT_TRAIN_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dir.h"
#include "base/provenance.h"
#include "base/status.h"
#include "model/layout.h"
#include "train/adamw.h"

/* A row of log.tsv, in the order of its columns. train_loss and tokens_per_s: since the row before. */
typedef struct {
    double step, epoch, train_loss, val_loss, val_accuracy, lr, tokens_per_s, seconds;
} hkt_run_row;

/* What a run carries from update to update, next to the weights; all double, so that it is one tensor of the state. */
typedef struct {
    double step;                                      /* updates done */
    double best_step;                                 /* 0: no validation yet */
    double best_accuracy;                             /* of the first best validation */
    double loss_sum, sequences, tokens, busy_seconds; /* of the updates since the last row */
    double seconds;                                   /* until the last start; in the state: until it was saved */
    double exploded;                                  /* updates in a row with an exploded loss */
    double cpu_seconds;                               /* of all threads, as `seconds` */
    double peak_bytes;                                /* most memory that a start of the run had, resident */
} hkt_run_progress;

/* What a run has taken: time on the clock, time of all threads, most resident memory. */
typedef struct {
    double seconds, cpu_seconds, peak_bytes;
} hkt_run_spent;

/* Of this process; seconds: of a clock whose zero is arbitrary. */
hkt_run_spent hkt_run_spent_here(void);

typedef struct {
    const hkt_layout *layout;  /* borrowed */
    const hkt_provenance *how; /* borrowed; heads log.tsv */
    hkt_dir dir;
    char *record_path, *state_path, *last_path, *best_path, *log_path, *kept_path;
    json_t *record; /* run.json */
    hkt_run_progress at;
    size_t saved_step;    /* of state.safetensors */
    float *params, *best; /* [layout->total]; best is valid when at.best_step > 0 */
    hkt_adamw adamw;
    hkt_run_row *rows; /* [n_rows] */
    size_t n_rows, max_rows;
} hkt_run;

/* Creates and locks the directory and reads the state when there is one (*found; otherwise the values are zero); writes
 * nothing. `record` says what this run is to be; the reference is stolen. Errors: HKT_EINPUT when there is a run and
 * `resume` is false, when the run has other settings, or when its files are damaged. */
hkt_status hkt_run_open(hkt_run *out, const char *dir, const hkt_layout *layout, const hkt_adamw_spec *adamw,
                        const hkt_provenance *how, json_t *record, bool resume, bool *found);
/* Removes what was written of a run that could not be started: run.json, the first state and checkpoints. */
void hkt_run_discard(hkt_run *run);
/* Frees and unlocks; removes the directory when it was made for nothing. Only after hkt_run_open, which may have
 * failed. */
void hkt_run_close(hkt_run *run);

/* Room for n rows of the log. */
hkt_status hkt_run_reserve_rows(hkt_run *run, size_t n);
hkt_status hkt_run_add_row(hkt_run *run, const hkt_run_row *row);
/* Remembers the weights as the best when `accuracy` is above the best so far. */
void hkt_run_consider_best(hkt_run *run, double accuracy);

/* Writes state.safetensors, then last.safetensors. spent: what the run has taken until now, from hkt_run_spent. */
hkt_status hkt_run_save(hkt_run *run, const hkt_run_spent *spent);
/* Writes log.tsv and best.safetensors (removed when there is no best). */
hkt_status hkt_run_publish(const hkt_run *run);
/* Writes last.safetensors alone. */
hkt_status hkt_run_write_last(const hkt_run *run);
/* Writes the weights to RUN/kept/step-NNNNNNNN.safetensors, for measurements over training. */
hkt_status hkt_run_keep(const hkt_run *run);
/* Writes run.json. */
hkt_status hkt_run_write_record(const hkt_run *run);

#endif

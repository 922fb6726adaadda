/* trainer.h - a training run in a directory: run.json, log.tsv, best.safetensors, last.safetensors, state.safetensors.
 * Killed at any time and resumed, it ends with the same bytes as an uninterrupted run. */
#ifndef HKT_TRAIN_TRAINER_H
#define HKT_TRAIN_TRAINER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/provenance.h"
#include "base/status.h"
#include "data/dataset.h"
#include "model/config.h"
#include "train/ablate.h"
#include "train/adamw.h"
#include "train/shares.h"

/* A run has exploded when the loss of this many updates in a row is above HKT_EXPLODED_LOSS times the loss of guessing,
 * ln C. */
#define HKT_EXPLODED_STEPS 10
#define HKT_EXPLODED_LOSS  10

typedef struct {
    hkt_config config; /* vocab and classes come from the data; max_len 0: the longest that is read */
    const char *task;  /* NULL: what the data say */
    const char *data_dir, *out_dir;
    uint64_t seed;
    size_t steps; /* total updates; 0: from epochs */
    size_t epochs;
    size_t batch_tokens;
    double lr, final_lr_fraction; /* peak, and end of the cosine as a fraction of it */
    size_t warmup;                /* steps */
    double clip;                  /* gradient norm; 0: off */
    double dropout;
    hkt_adamw_spec adamw;
    hkt_ablation ablation;
    hkt_first_shares first;
    size_t eval_every;                 /* steps between validations; 0: once an epoch; always after the last step */
    size_t save_every;                 /* steps between resumable states; 0: at every validation */
    size_t keep;                       /* checkpoints kept at equal distances, next to the first weights; 0: none */
    bool resume;                       /* continue the run in out_dir; start when there is none */
    const volatile sig_atomic_t *stop; /* set by a signal handler: finish the step, save, return; NULL: never */
} hkt_train_spec;

typedef struct {
    size_t steps; /* updates done */
    double best_val_accuracy, last_val_accuracy, last_val_loss, seconds, tokens_per_s;
    double cpu_seconds; /* of all threads and starts */
    double peak_bytes;  /* most resident memory of a start */
    size_t best_step;
    size_t parameters;
    bool was_complete; /* nothing was left to do */
} hkt_train_result;

/* Errors: HKT_EINPUT for data or a run directory that does not fit the spec (an existing run without resume; a resumed
 * run with other settings, naming the setting); HKT_ENUMERIC with step and last good checkpoint when the loss is NaN
 * or explodes; HKT_ESYSTEM, also when stopped by spec->stop (the state is saved). Progress goes to stderr. */
hkt_status hkt_train_run(const hkt_train_spec *spec, const hkt_provenance *how, hkt_train_result *out);

#endif

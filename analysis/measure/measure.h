/* measure.h - the registry of measurements: what hkt-analyze can say about a model, each as one table.
 *
 * How to add a measurement:
 *   1. analysis/measure_NAME.c: one `const hkt_measurement hkt_measure_NAME` with its columns and a function that
 * writes rows.
 *   2. declare it below and add it to hkt_measurements[] in measure.c.
 *   3. describe its columns in docs/man/hkt-analyze.1, and test it against an independent computation in tests/.
 * Rules: numbers and what became of them are separate columns; the last column, "status", is "ok", "skipped: REASON" or
 * "warning: REASON"; what was skipped is nan. */
#ifndef HKT_ANALYSIS_MEASURE_MEASURE_H
#define HKT_ANALYSIS_MEASURE_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/provenance.h"
#include "base/status.h"
#include "base/tsv.h"
#include "data/dataset.h"
#include "model/checkpoint.h"

/* What a measurement looks at. Members that it does not need may be NULL or 0. */
typedef struct {
    const hkt_provenance *how; /* for the second table of some measurements */
    const hkt_checkpoint *model;
    const hkt_checkpoint *other; /* the second model of `compare`, the target of `errors` */
    const hkt_dataset *data;     /* fits the model; NULL: random tokens, where a measurement can do with them */
    size_t sequences;            /* first sequences of the data, at most data->n */
    size_t tokens;            /* length of random sequences, longest length of `cost`; 0: the measurement's default */
    const hkt_config *config; /* of `cost`, which needs no weights */
    const char *histogram;    /* kurtosis: path of the histogram; NULL: none */
    const char *npy;          /* scores: path of the matrix of this layer, level and head; NULL: none */
    const char *layer, *level, *head; /* rows that are wanted, as text; NULL: all. A measurement may write the others
                                         too: they are filtered out */
    uint64_t seed;                    /* of bootstrap and random tokens */
} hkt_measure_context;

/* HKT_USES: what may be given besides, and has no effect elsewhere. */
enum {
    HKT_NEEDS_MODEL = 1,
    HKT_NEEDS_DATA = 2,
    HKT_NEEDS_OTHER = 4,
    HKT_USES_SEQUENCES = 8, /* of the data: several of them */
    HKT_USES_TOKENS = 16
};

typedef struct {
    const char *name;                                                /* "kurtosis" */
    const char *help;                                                /* one line */
    unsigned needs;                                                  /* HKT_NEEDS_..., HKT_USES_... */
    const char *columns;                                             /* tab-separated */
    hkt_status (*run)(const hkt_measure_context *ctx, hkt_tsv *out); /* writes whole rows */
} hkt_measurement;

/* Writes a cell: the index, or "-" for HKT_NO_INDEX. */
#define HKT_NO_INDEX ((size_t)-1)
void hkt_measure_index(hkt_tsv *out, size_t index);

/* Length of a sequence of the model: ctx->tokens, or, when that is 0, `fallback` or the model's longest if shorter.
 * HKT_EUSAGE when ctx->tokens is above the model's longest. */
hkt_status hkt_measure_tokens(const hkt_measure_context *ctx, size_t fallback, size_t *T);

extern const hkt_measurement hkt_measure_describe, hkt_measure_kurtosis, hkt_measure_spectrum, hkt_measure_inertia,
    hkt_measure_asymmetry, hkt_measure_gates, hkt_measure_bands, hkt_measure_information, hkt_measure_errors,
    hkt_measure_decay, hkt_measure_scores, hkt_measure_ablate, hkt_measure_cost, hkt_measure_compare;
extern const hkt_measurement *const hkt_measurements[];
extern const size_t hkt_n_measurements;

#endif

/* measure.h - what a measurement is: something that hkt-analyze can say about a model, as one table. How to add one:
 *   1. analysis/measure/NAME.c: one `const hkt_measurement hkt_measure_NAME` with its columns and a function that
 *      writes rows.
 *   2. name it in list.c; hkt-analyze and `describe` have it then.
 *   3. describe its columns in docs/man/hkt-analyze.1, and test it against an independent computation in tests/.
 * Rules: numbers and what became of them are separate columns; the last column, "status", is "ok", "skipped: REASON" or
 * "warning: REASON"; what was skipped is nan. What the filters leave out need not be computed. */
#ifndef HKT_ANALYSIS_MEASURE_MEASURE_H
#define HKT_ANALYSIS_MEASURE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/view/walk.h"
#include "base/provenance.h"
#include "base/status.h"
#include "base/tsv.h"
#include "data/dataset.h"
#include "model/checkpoint.h"

struct hkt_measurement;
struct hkt_foreign; /* foreign/foreign.h */
struct hkt_stored;  /* foreign/stored.h */
typedef struct {
    const struct hkt_measurement *const *item; /* [n] */
    size_t n;
} hkt_measurement_list;

/* What a measurement looks at. Members that it does not need may be NULL or 0. */
typedef struct {
    const hkt_provenance *how; /* for the second table of some measurements */
    hkt_measurement_list all;  /* of `describe`: what there is */
    const hkt_checkpoint *model;
    const hkt_checkpoint *other; /* the second model of `compare`, the target of `errors` */
    const struct hkt_foreign
        *foreign; /* a model of another kind: for the measurements of analysis/foreign, and only them */
    const struct hkt_stored *stored; /* queries and keys, or scores, of another program; */
    const hkt_score_source *scores;  /* the same as a source; NULL: those of model and data */
    const char *hidden;              /* bands of hidden states of another program: their file */
    const hkt_dataset *data;         /* fits the model; NULL: random tokens, where a measurement can do with them */
    size_t sequences;                /* first sequences of the data, at most data->n */
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
    HKT_USES_TOKENS = 16,
    HKT_USES_FIRST = 32,   /* of the data: the whole first sequence, so that a length has no effect */
    HKT_NEEDS_FOREIGN = 64 /* a model of another kind */
};

typedef struct hkt_measurement {
    const char *name;    /* "kurtosis" */
    const char *help;    /* one line */
    unsigned needs;      /* HKT_NEEDS_..., HKT_USES_... */
    const char *columns; /* tab-separated */
    const char *options; /* of its own, "npy" or "heads|levels": refused with any other measurement; NULL: none */
    hkt_status (*run)(const hkt_measure_context *ctx, hkt_tsv *out); /* writes whole rows */
} hkt_measurement;

/* The scores that a measurement is about. */
hkt_score_source hkt_measure_source(const hkt_measure_context *ctx);

/* Length of a sequence of the model: ctx->tokens, or, when that is 0, `fallback` or the model's longest if shorter.
 * HKT_EUSAGE when ctx->tokens is above the model's longest. */
hkt_status hkt_measure_tokens(const hkt_measure_context *ctx, size_t fallback, size_t *T);

/* Whether a filter of the context (NULL: none) lets a row with this index pass; HKT_TSV_NO_INDEX stands for "NA". */
bool hkt_measure_wanted(const char *filter, size_t index);
/* The filter that an option's text asks for: "all" heads and the "sum" over levels have no index. */
const char *hkt_measure_filter(const char *text);

#endif

/* runs.h - recorded experiments: the rows of runs.tsv (docs/formats.md, "Recorded experiments"). */
#ifndef HKT_ANALYSIS_CLAIMS_ACCURACY_RUNS_H
#define HKT_ANALYSIS_CLAIMS_ACCURACY_RUNS_H

#include <stddef.h>

#include "analysis/claims/check.h"
#include "base/tsv.h"

typedef struct {
    const char *task, *model, *setting, *seed, *config;
    double accuracy, majority; /* on the test split: of the model, and share of its largest class; in 0..1 */
    size_t n;                  /* sequences of the test split */
} hkt_runs_row;

struct hkt_runs {
    const hkt_runs_row *run; /* [n] */
    size_t n;
    hkt_table table;   /* the texts of a file that was read; else zero */
    hkt_runs_row *own; /* run, when read from a file */
};

/* Reads DIR/runs.tsv. HKT_EINPUT, with file and line: a missing column; a cell that is not a number or not in its
 * range; a model other than hkt and mha; a run that is there twice; runs of one task on different test splits. */
hkt_status hkt_runs_read(hkt_runs *out, const char *dir);
void hkt_runs_free(hkt_runs *r);

#endif

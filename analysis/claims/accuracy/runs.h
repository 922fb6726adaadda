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
    bool reproducible;         /* column arithmetic; other rows are older than the protocol and enter no test */
} hkt_runs_row;

/* Test sequences on which the runs i < k both are right. */
typedef struct {
    size_t i, k, both;
} hkt_runs_pair;

struct hkt_runs {
    const hkt_runs_row *run; /* [n] */
    size_t n;
    hkt_table table;     /* the texts of a file that was read; else zero */
    hkt_runs_row *own;   /* run, when read from a file */
    hkt_runs_pair *pair; /* [n_pairs], in order; owned */
    size_t n_pairs;
};

/* Reads DIR/runs.tsv, and DIR/agreement.tsv when it is there. HKT_EINPUT, with file and line: a missing column; a cell
 * that is not a number or not in its range; a model other than hkt and mha; a run, or a pair, that is there twice; runs
 * of one setting on different test splits; a pair of runs that are not in runs.tsv, or that cannot both be right on so
 * many sequences. */
hkt_status hkt_runs_read(hkt_runs *out, const char *dir);
void hkt_runs_free(hkt_runs *r);
/* Test sequences on which two runs of r are right (x may be y); NaN when that is not recorded. */
double hkt_runs_both_right(const hkt_runs *r, const hkt_runs_row *x, const hkt_runs_row *y);

#endif

/* analyze.h - the parts of hkt-analyze. */
#ifndef HKT_PROGRAMS_ANALYZE_H
#define HKT_PROGRAMS_ANALYZE_H

#include "analysis/measure/measure.h"
#include "base/opt.h"
#include "foreign/stored.h"

/* A model of another kind, or its scores or hidden states as another program stored them. */
typedef struct {
    const char *model, *map, *hidden, *token_ids;
    const char *scores[HKT_STORED_FILES], *mask;
    size_t n_scores;        /* files */
    const char *out, *json; /* one of them may be NULL */
    const char *layer, *head, *histogram;
    size_t tokens, sequences;
    const hkt_config *config; /* levels and stride of --hidden */
    uint64_t seed;
} foreign_options;

/* The option that says what is measured: "model", "scores" or "hidden"; NULL when none was given. */
const char *foreign_input(const foreign_options *o);
/* The measurement of that name on what the options name (without any of them: on a model); NULL when there is none. */
const hkt_measurement *foreign_find(const foreign_options *o, const char *name);
/* Adds the names of those that `names` [*n] has not yet, with their help. */
void foreign_add_names(const char **names, const char **help, size_t *n);
/* HKT_EUSAGE for options without effect on it. */
hkt_status foreign_check(const hkt_cli *cli, const foreign_options *o, const hkt_measurement *m);
hkt_status foreign_run(const foreign_options *o, const hkt_measurement *m, const hkt_provenance *how);

#endif

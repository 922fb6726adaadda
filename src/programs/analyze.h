/* analyze.h - the parts of hkt-analyze. */
#ifndef HKT_PROGRAMS_ANALYZE_H
#define HKT_PROGRAMS_ANALYZE_H

#include "analysis/measure/measure.h"
#include "base/opt.h"

/* A model of another kind, or its scores. */
typedef struct {
    const char *model, *map;
    const char *out, *layer, *head;
    bool json;
    size_t tokens;
    uint64_t seed;
} foreign_options;

/* The measurement of that name on models of another kind; NULL when there is none. */
const hkt_measurement *foreign_find(const char *name);
/* Adds the names of those that `names` [*n] has not yet, with their help. */
void foreign_add_names(const char **names, const char **help, size_t *n);
/* HKT_EUSAGE for options without effect on it. */
hkt_status foreign_check(const hkt_cli *cli, const foreign_options *o, const hkt_measurement *m);
hkt_status foreign_run(const foreign_options *o, const hkt_measurement *m, const hkt_provenance *how);

#endif

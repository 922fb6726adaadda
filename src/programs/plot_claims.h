/* plot_claims.h - verify.json, what hkt-verify wrote, as parts of the report. */
#ifndef HKT_PROGRAMS_PLOT_CLAIMS_H
#define HKT_PROGRAMS_PLOT_CLAIMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* Reads it; *out is NULL when it is not there. HKT_EINPUT when it is something else. */
hkt_status hkt_plot_claims_read(const char *path, json_t **out);
/* The member, a string; "" when there is none. */
const char *hkt_plot_text(const json_t *object, const char *key);
/* The claim of that id, or NULL. */
const json_t *hkt_plot_claim(const json_t *verify, const char *id);
/* What a check of a claim found on the first subject; "" when it was skipped or is not there. */
const char *hkt_plot_found(const json_t *verify, const char *claim, const char *check);

/* "14 HOLDS, 3 VIOLATED, 1 INCONCLUSIVE, 2 SKIPPED, 0 ERROR" over all checks. */
void hkt_plot_write_counts(FILE *f, const json_t *verify);
/* What holds, fails and is open, a paragraph each; with several subjects each under its name. */
void hkt_plot_write_headlines(FILE *f, const json_t *claim);
/* The checks: those about the claim, those of the method, and how each of them works; collapsed. */
void hkt_plot_write_checks(FILE *f, const json_t *claim);

#endif

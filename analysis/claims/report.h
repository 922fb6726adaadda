/* report.h - runs checks over one or more subjects (checkpoints, or random models) and shows what came out. */
#ifndef HKT_ANALYSIS_CLAIMS_REPORT_H
#define HKT_ANALYSIS_CLAIMS_REPORT_H

#include <stdio.h>

#include "analysis/claims/check.h"
#include "base/provenance.h"

/* One check and its result on each subject. */
typedef struct {
    const hkt_claim *claim;
    const hkt_check *check;
    hkt_check_result *result; /* [n_subjects]; one shared result when the check does not look at the model */
    size_t n_results;         /* n_subjects or 1 */
} hkt_report_entry;

typedef struct {
    const hkt_verify_context *context; /* [n_subjects], borrowed */
    const char *const *subject;        /* [n_subjects] names, borrowed */
    size_t n_subjects;
    hkt_report_entry *entry; /* [n], claims together */
    size_t n;
} hkt_report;

/* Runs all checks of the claims, or the one called `only` (NULL: all). Shows progress on a terminal. Errors: HKT_EUSAGE
 * when no claim has such a check (with the nearest name); HKT_ESYSTEM. A check that fails otherwise, on one subject,
 * has the verdict ERROR there with the message as detail, and the others go on; so has one that comes out VIOLATED by a
 * NaN. */
hkt_status hkt_report_run(hkt_report *out, hkt_claim_list claims, const char *only, const hkt_verify_context *contexts,
                          const char *const *subjects, size_t n_subjects);
void hkt_report_free(hkt_report *r);
/* HKT_OK, or HKT_ENUMERIC with a message when a check could not be computed: how many, and the first one's reason. */
hkt_status hkt_report_errors(const hkt_report *r);
/* What a result is about: a checkpoint or random models, the table of recorded runs, or NULL: mathematics or code. */
const char *hkt_report_subject(const hkt_report *r, const hkt_report_entry *e, size_t subject);
const hkt_check_result *hkt_report_result(const hkt_report_entry *e, size_t subject);

/* What a claim comes to: a line for each finding of its checks and each condition, with the worst verdict of the checks
 * that have both. Checks of the method are counted apart. */
typedef struct {
    const char *finding;
    const char *condition; /* "" = always; points into the report */
    hkt_verdict verdict;   /* SKIPPED when all of its checks are; ERROR when one is and none is VIOLATED */
    size_t checks;         /* made: neither SKIPPED nor ERROR */
} hkt_finding;
enum { HKT_MAX_FINDINGS = 32 };
typedef struct {
    hkt_finding finding[HKT_MAX_FINDINGS];
    size_t n;
    size_t method, method_failed; /* checks of the method not skipped, and those of them that do not hold */
} hkt_summary;
hkt_summary hkt_report_summary(const hkt_report *r, const hkt_claim *claim, size_t subject);
/* The same in plain words: "Holds: A; B. Fails: C. Open: D."; the reason when nothing could be looked at; "" when none
 * of the checks that the headline is made of was to be made. text [HKT_HEADLINE]; returns it. */
enum { HKT_HEADLINE = 3200 };
const char *hkt_report_headline(const hkt_report *r, const hkt_claim *claim, size_t subject, char *text);

/* For people: per claim its findings, then each check with its sentence; checks of the method that hold are only
 * counted. rows: every check, with its own numbers. On a terminal as wide as that, with colours unless NO_COLOR is set
 * (no-color.org) and 4 significant digits; else 100 columns. */
void hkt_report_print(const hkt_report *r, bool rows, FILE *f);
hkt_status hkt_report_write_tsv(const hkt_report *r, const char *path, const hkt_provenance *how);
hkt_status hkt_report_write_json(const hkt_report *r, const char *path, const hkt_provenance *how);

/* Before the work: whether the table can be read and names only checks that there are, in `all` claims. HKT_EINPUT. */
hkt_status hkt_report_check_expected(hkt_claim_list all, const char *path);
/* Compares with a table of expected verdicts (columns claim, check, random, checkpoint, one_level: the verdict on
 * random models, on a checkpoint, and on one of a single level), names every difference on `f`, and counts them. A
 * check of the report that the table does not have is a difference; a line of the table that names no known check is
 * HKT_EINPUT. */
hkt_status hkt_report_compare(const hkt_report *r, hkt_claim_list all, const char *path, FILE *f, size_t *differences);

/* Id, place, statement and kinds of every claim of the list. */
void hkt_claims_print(hkt_claim_list list, FILE *f);
/* How many checks of each kind the claims have: a line per claim, and one for all. */
void hkt_claims_print_kinds(hkt_claim_list list, FILE *f);
/* One claim in full. */
void hkt_claim_explain(const hkt_claim *claim, FILE *f);

#endif

/* check.h - what a claim of the paper and its checks are, and how a check states its verdict. A check measures a
 * quantity, compares it with a bound, and has a control: an input for which it must come out VIOLATED. How to add one:
 * docs/adding.md. list.h names all claims; nothing that is named there includes it. */
#ifndef HKT_ANALYSIS_CLAIMS_CHECK_H
#define HKT_ANALYSIS_CLAIMS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/view/walk.h"
#include "base/status.h"
#include "data/dataset.h"
#include "model/checkpoint.h"

/* What a verdict rests on. Exact: integers, rationals, ranks modulo a prime. Certified: an enclosure or a
 * rounding-error bound that is printed and proved, whatever rounding did. Implementation: our kernels or searches
 * against the bound of their own rounding; the statement of mathematics behind it is proved in docs/theory.md.
 * Statistical: a test or interval of stated level. Empirical: measured on trained weights. */
typedef enum { HKT_EXACT, HKT_CERTIFIED, HKT_IMPLEMENTATION, HKT_STATISTICAL, HKT_EMPIRICAL, HKT_KINDS } hkt_kind;
typedef enum { HKT_HOLDS, HKT_VIOLATED, HKT_INCONCLUSIVE, HKT_SKIPPED, HKT_ERROR } hkt_verdict;
#define HKT_N_VERDICTS (HKT_ERROR + 1)

typedef struct hkt_runs hkt_runs;       /* accuracy_runs.h */
typedef struct hkt_foreign hkt_foreign; /* foreign/foreign.h */
typedef struct hkt_stored hkt_stored;   /* foreign/stored.h */

typedef struct {
    uint64_t seed;
    bool quick;                     /* seconds instead of minutes: smaller samples, same checks */
    const hkt_checkpoint *model;    /* NULL: seeded random models */
    const hkt_dataset *data;        /* NULL: random tokens */
    const hkt_runs *runs;           /* NULL: no recorded experiments */
    const char *results;            /* where `runs` was read; NULL without them */
    const hkt_foreign *foreign;     /* of the checks of hkt_foreign_claims; NULL: none */
    const hkt_stored *stored;       /* of the checks of hkt_stored_claims; NULL: none */
    const hkt_score_source *scores; /* the same as a source */
    size_t tokens;                  /* length of forward passes; 0: each check's own */
    size_t stream_tokens;           /* length of the streamed psd check; 0: its default */
    bool measure;                   /* checks that read the clock are made, too */
    const char *certificates;       /* directory of certificates of the verdicts; NULL: none are written */
} hkt_verify_context;

/* The numbers behind one verdict: a table of its own. Columns of text, if any, come first. */
enum { HKT_ROW_NAMES = 3, HKT_ROW_NAME = 40 };
typedef char hkt_row_name[HKT_ROW_NAME];
typedef struct {
    const char *columns; /* tab-separated names, static text; NULL while there is no row */
    size_t n_names, n_cols, n_rows, capacity;
    hkt_row_name *name; /* [n_rows, n_names], owned */
    double *cell;       /* [n_rows, n_cols], owned */
} hkt_rows;

/* Zero-initialise; hkt_check_result_free afterwards. */
typedef struct {
    hkt_verdict verdict;
    const char *relation;           /* that of measured to bound which decides: "<=", "<", ">=", ">", "="; NULL: none */
    double measured, bound, margin; /* margin: the distance to the bound, in its unit, at least 0 on the side that HOLDS
                                       (an equality has 0) and at most 0 on the other; NaN is printed "-" */
    char condition[160];            /* under which condition the verdict is meant; "" = always */
    char detail[400];               /* one line: what was measured, or the reason of SKIPPED and ERROR */
    char found[400];                /* the sentence with its numbers; "": that of hkt_check_sentence */
    hkt_rows rows;
} hkt_check_result;

/* Makes the check. control: the same code on an input, or against a bound, for which it must come out VIOLATED; needs
 * no checkpoint. An error is for what keeps the check from being made (scores that overflow, LAPACK failed, no memory),
 * never for a claim that fails. */
typedef hkt_status (*hkt_check_fn)(const hkt_verify_context *ctx, hkt_check_result *out, bool control);

/* What the test of a statistical check is, and what it can see. */
typedef struct {
    const char *level, *multiplicity;
    const char *alternative;                        /* that the power is against */
    double (*power)(const hkt_verify_context *ctx); /* P(the check notices the alternative); NaN: not computed */
} hkt_check_test;

/* The check "rump-hilbert" of the claim "psd" is the constant hkt_psd_rump_hilbert, defined beside its code. */
typedef struct {
    const char *name; /* "rump-hilbert" */
    hkt_kind kind;
    const char *statement; /* what is checked, and how */
    const char *reference; /* equation, paper, book */
    const char *failure;   /* what VIOLATED would mean */
    const char *finding;   /* what HOLDS establishes and VIOLATED refutes, for the claim's summary; NULL: a check of the
                              method itself, which says nothing about the claim */
    const hkt_check_test *test; /* of statistical checks; else NULL */
    bool of_model;              /* looks at the checkpoint: made for each; else made once */
    hkt_check_fn run;
    const char *unit; /* of measured and bound; NULL: a count or a ratio */
    /* What was found, a clause for each verdict, of which {m} is the measured number, {b} the bound, {m%} and {b%} the
     * same in per cent. NULL: the check says it itself (hkt_check_found); open: "not decided". */
    const char *holds, *violated, *open;
} hkt_check;

/* A part of what a claim comes to in plain words: a clause for each verdict of a check; "": the check's own, NULL:
 * nothing. */
typedef struct {
    const hkt_check *check;
    const char *holds, *violated, *open;
} hkt_headline;

typedef struct {
    const char *id;                 /* "psd" */
    const char *place;              /* "Prop. 3.1" */
    const char *statement;          /* one line */
    const hkt_check *const *checks; /* [n_checks] */
    size_t n_checks;
    bool of_table;                /* judges a table of recorded runs: neither models nor a seed */
    const hkt_headline *headline; /* [n_headline] */
    size_t n_headline;
} hkt_claim;

/* Claims in their order: all of them (list.h), or those that were asked for. */
typedef struct {
    const hkt_claim *const *claim; /* [n] */
    size_t n;
} hkt_claim_list;

/* NULL when there is none of that id. */
const hkt_claim *hkt_claim_find(hkt_claim_list list, const char *id);
/* NULL when the claim has none of that name. */
const hkt_check *hkt_claim_check(const hkt_claim *claim, const char *name);

/* Sets verdict and margin: HOLDS exactly when measured <= bound (margin = bound - measured). NaN gives VIOLATED. */
void hkt_check_at_most(hkt_check_result *out, double measured, double bound);
/* HOLDS exactly when measured < bound. */
void hkt_check_below(hkt_check_result *out, double measured, double bound);
/* HOLDS exactly when measured >= bound (margin = measured - bound). NaN gives VIOLATED. */
void hkt_check_at_least(hkt_check_result *out, double measured, double bound);
/* HOLDS exactly when measured == bound (exact checks; margin = -|measured - bound|). */
void hkt_check_equal(hkt_check_result *out, double measured, double bound);
/* For a quantity known by an interval: HOLDS when all of [low, high] is above 0, VIOLATED when all of it is below,
 * INCONCLUSIVE otherwise, also for NaN. Measured: the end next to 0 that decides (low, or high when VIOLATED). */
void hkt_check_interval(hkt_check_result *out, double low, double high);
/* For a quantity that is enclosed in [low, high]: HOLDS when all of it is >= bound (<= bound), VIOLATED when none of it
 * is, INCONCLUSIVE otherwise, also for NaN. Measured: the end that decides. */
void hkt_check_enclosed_at_least(hkt_check_result *out, double low, double high, double bound);
void hkt_check_enclosed_at_most(hkt_check_result *out, double low, double high, double bound);
/* SKIPPED with the reason. */
void hkt_check_skip(hkt_check_result *out, const char *reason, ...) __attribute__((format(printf, 2, 3)));
/* ERROR with the reason: the check could not be computed. The numbers and the rows are dropped. */
void hkt_check_error(hkt_check_result *out, const char *reason);
/* The larger of the two; NaN once either is, so that a measure over many parts keeps the NaN of one. */
double hkt_check_worse(double worst, double next);
/* error / scale; no error at all is agreement whatever the scale, so that a head without weights agrees with 0. */
double hkt_check_relative(double error, double scale);
/* Texts; cut at the size of their fields. */
void hkt_check_detail(hkt_check_result *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What was found, in the quantity's own terms, where measured and bound alone do not say it. */
void hkt_check_found(hkt_check_result *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hkt_check_condition(hkt_check_result *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends the power of the check's test and its alternative to the detail, unless there is no test or the result is
 * SKIPPED or ERROR. */
void hkt_check_power(hkt_check_result *out, const hkt_check_test *test, const hkt_verify_context *ctx);
/* Appends "; N WHAT left out: WHY" to the detail, nothing for n = 0: heads, say, for which a measure is not defined. */
void hkt_check_left_out(hkt_check_result *out, size_t n, const char *what, const char *why);
/* Appends a row: hkt_check_row(out, "layer\thead\tkappa", layer, head, kappa) has one number for each of the
 * tab-separated columns, which are the same at every call. */
#define hkt_check_row(out, columns, ...)                                                                               \
    hkt_check_add_row(out, columns, 0, NULL, HKT_CHECK_COUNT(((double[]){__VA_ARGS__})), (double[]){__VA_ARGS__})
/* The same with the texts of the array `names`, at most HKT_ROW_NAMES, in the first columns; they are cut at
 * HKT_ROW_NAME - 1 characters. */
#define hkt_check_named_row(out, columns, names, ...)                                                                  \
    hkt_check_add_row(out, columns, HKT_CHECK_COUNT(names), names, HKT_CHECK_COUNT(((double[]){__VA_ARGS__})),         \
                      (double[]){__VA_ARGS__})
#define HKT_CHECK_COUNT(array) (sizeof(array) / sizeof *(array))
/* n_names + n_cells is asserted to be the number of columns. */
hkt_status hkt_check_add_row(hkt_check_result *out, const char *columns, size_t n_names, const char *const *name,
                             size_t n_cells, const double *cell);
void hkt_check_result_free(hkt_check_result *out);

/* What every output says of a result: what hkt_check_found was given, or the check's clause for the verdict with its
 * numbers and the detail; the detail alone when nothing was compared. text [HKT_SENTENCE]; returns it. */
enum { HKT_SENTENCE = 800, HKT_NUMBER = 32 };
const char *hkt_check_sentence(const hkt_check *check, const hkt_check_result *result, char *text);
/* The same without the detail, where it is not all there is. */
const char *hkt_check_clause(const hkt_check *check, const hkt_check_result *result, char *text);
/* Whole numbers below 2^53 in full, others with `digits` significant ones, "-" for NaN. text [HKT_NUMBER]; it
 * is returned. */
const char *hkt_check_number(double v, int digits, char *text);

const char *hkt_kind_name(hkt_kind k);
const char *hkt_verdict_name(hkt_verdict v);

#endif

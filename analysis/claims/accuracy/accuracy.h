/* accuracy.h - inside the claim `accuracy`: comparisons of recorded runs by docs/protocol.md, and planted runs for
 * controls. */
#ifndef HKT_ANALYSIS_CLAIMS_ACCURACY_ACCURACY_H
#define HKT_ANALYSIS_CLAIMS_ACCURACY_ACCURACY_H

#include "analysis/claims/accuracy/runs.h"
#include "analysis/math/welch.h"

/* --- compare.c --- */

/* Which runs: model and setting. */
typedef struct {
    const char *model;
    char setting[HKT_ROW_NAME];
} hkt_side;

/* A look uses the first `seeds` seeds of each side and spends `level` of the error. */
typedef struct {
    size_t seeds;
    double level;
} hkt_look;

/* Tests that were planned together. */
typedef struct {
    const hkt_look *look; /* [n_looks], seeds rising */
    size_t n_looks, planned;
} hkt_family;

/* EQUAL: within HKT_EQUAL_WITHIN points. */
typedef enum { HKT_OPEN, HKT_ABOVE, HKT_BELOW, HKT_EQUAL } hkt_statement;
#define HKT_EQUAL_WITHIN 1.0

/* Side a against side b on one task, in percentage points. Set task, a and b; the rest is of the look at which the
 * statement was made, or else of the last that the runs allow. */
typedef struct {
    const char *task;
    hkt_side a, b;
    size_t n_a, n_b; /* runs that there are */
    size_t look;     /* from 1; 0: too few seeds for the first, and the numbers below are NaN */
    size_t seeds;    /* of each side, at the look */
    double mean_a, sd_a, mean_b, sd_b;
    hkt_welch w;       /* without variance when the accuracies do not vary over seeds: no test */
    bool unknown;      /* the test set's term is a bound: it is not recorded which sequences are right */
    double p, p_equal; /* adjusted (Holm) */
    double low, high;  /* interval at the level of the comparison's own step of Holm: without 0 when p says so */
    double half;       /* half the interval that holds together with those of the family (Bonferroni) */
    double power;      /* to find a difference of HKT_EQUAL_WITHIN, at level / planned */
    size_t needed;     /* open: seeds that would find a difference as large as this one with 80 %; 0: no number would */
    hkt_statement statement;
    hkt_verdict verdict; /* of a check on it */
} hkt_comparison;

/* Fills c [n] by the looks of the family in turn. Two runs of one side whose settings had other content (column config)
 * are not of the same setting: those of the first count; so it is for the two sides when their settings have one name.
 * HKT_EINPUT when the two sides were evaluated on different test sequences. */
hkt_status hkt_compare_runs(const hkt_runs *runs, const hkt_family *f, hkt_comparison *c, size_t n);
/* "above", "below", "equal", "open". */
const char *hkt_statement_name(hkt_statement s);

/* --- accuracy.c --- */

/* Whether the run is one that the claim is about: reproducible, in the setting main, stream or three. */
bool hkt_runs_of_claim(const hkt_runs_row *r);
/* The worst verdict of two, with its numbers; of equals that with the least margin. A fresh `out` is the first. */
void hkt_accuracy_join(hkt_check_result *out, const hkt_check_result *one, bool first);

/* --- majority.c --- */

/* Interval of a proportion, k of n: each end leaves it out with probability at most alpha/2 (Clopper & Pearson 1934,
 * Biometrika 26:404). NaN when n is too large for the incomplete beta function, about 10^7. */
void hkt_binomial_interval(size_t k, size_t n, double alpha, double *low, double *high);

/* --- planted.c --- */

/* Mean accuracies of the planted runs. */
typedef struct {
    double hkt, mha, matched, one_level, other; /* other: the ablations besides L = 1 */
} hkt_planted;
enum { HKT_PLANTED_SEEDS = 5, HKT_PLANTED_SIDES = 7, HKT_PLANTED_RUNS = HKT_PLANTED_SIDES * HKT_PLANTED_SEEDS };
/* Runs of CIFAR-10, whose accuracies have a spread of 0.02 points over seeds. */
hkt_runs hkt_plant_runs(const hkt_planted *p, hkt_runs_row run[HKT_PLANTED_RUNS]);

#endif

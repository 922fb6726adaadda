/* multiple.h - many tests at once, and the test of two classifiers on the same sequences. */
#ifndef HKT_ANALYSIS_MATH_MULTIPLE_H
#define HKT_ANALYSIS_MATH_MULTIPLE_H

#include <stddef.h>

#include "base/status.h"

/* adjusted [n] out: the p-values of Benjamini & Hochberg 1995 (J. R. Statist. Soc. B 57:289): rejecting those at most
 * alpha keeps the expected share of false rejections at most alpha when the tests are independent or positively
 * dependent. NaN counts as 1. adjusted may be p. Errors: HKT_ESYSTEM. */
hkt_status hkt_false_discovery(size_t n, const double *p, double *adjusted);

/* adjusted [n] out: the p-values of Holm 1979 (Scand. J. Statist. 6:65): rejecting those at most alpha makes a false
 * rejection with probability at most alpha, whatever the dependence. `family` >= n tests were planned; those that are
 * missing count with p = 1. NaN counts as 1. adjusted may be p. Errors: HKT_ESYSTEM. */
hkt_status hkt_holm(size_t n, size_t family, const double *p, double *adjusted);

/* Two-sided exact test of McNemar (1947, Psychometrika 12:153): `gained` sequences are right only with the change,
 * `lost` only without it; under the null hypothesis each of them is as likely. 1 when both are 0. */
double hkt_mcnemar(size_t gained, size_t lost);

/* Two-sided p-value of a standard normal z. */
double hkt_normal_p(double z);

#endif

/* welch.h - difference of two means over seeds, measured on one finite test set: Welch's test (1947, Biometrika 34:28)
 * with a third term for the test set, docs/protocol.md. In whatever unit the caller measures. Pure, thread-safe. */
#ifndef HKT_ANALYSIS_MATH_WELCH_H
#define HKT_ANALYSIS_MATH_WELCH_H

#include <stddef.h>

enum { HKT_WELCH_TERMS = 3 };
typedef struct {
    double difference;                /* of the means */
    double variance[HKT_WELCH_TERMS]; /* of it: s1^2/n1, s2^2/n2, v/m */
    double df[HKT_WELCH_TERMS];       /* n1 - 1, n2 - 1, m - 1 */
} hkt_welch;

/* Standard error, the square root of the sum of the variances. */
double hkt_welch_error(const hkt_welch *w);
/* Degrees of freedom by Welch & Satterthwaite: (sum V_i)^2 / sum(V_i^2 / df_i); NaN when all variances are 0. */
double hkt_welch_df(const hkt_welch *w);
/* Two-sided p-value of a difference of 0; NaN without variance. */
double hkt_welch_p(const hkt_welch *w);
/* p-value of |difference| >= margin, by two one-sided tests: the larger of theirs (Schuirmann 1987, J. Pharmacokinet.
 * Biopharm. 15:657). Small when the difference lies within the margin. NaN without variance. */
double hkt_welch_equal_p(const hkt_welch *w, double margin);
/* Half the interval that leaves out the true difference with probability `level`. */
double hkt_welch_half_width(const hkt_welch *w, double level);
/* Probability that the two-sided test at `level` rejects a difference of 0 when it is delta, for the variances as they
 * are: noncentral Student law of these degrees of freedom. */
double hkt_welch_power(const hkt_welch *w, double delta, double level);
/* Least number of seeds of each side, 2 .. most, for which the power at delta is `power`, when the standard deviations
 * are sd1 and sd2 and the third term stays as it is in w; 0 when not even `most` are enough. */
size_t hkt_welch_seeds(const hkt_welch *w, double sd1, double sd2, double delta, double level, double power,
                       size_t most);

#endif

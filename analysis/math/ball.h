/* ball.h - statements of mathematics, enclosed: numbers that are given by formulas or integrals, computed in ball
 * arithmetic (Arb: Johansson 2017, IEEE Trans. Comput. 66:1281), in which every operation returns a set that contains
 * the exact result. What comes out is an interval of two doubles, rounded outwards: the true value lies in it, whatever
 * the precision was. Nothing that trains uses this. Thread-safe. Arb and FLINT enter through ball*.c alone. */
#ifndef HKT_ANALYSIS_MATH_BALL_H
#define HKT_ANALYSIS_MATH_BALL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* low <= value <= high. A value that could not be enclosed has low = -infinity, high = infinity. */
typedef struct {
    double low, high;
} hkt_interval;

/* True when x in the interval is known to be below, above y; false when it is not known. */
bool hkt_interval_below(hkt_interval x, double y);
bool hkt_interval_above(hkt_interval x, double y);
/* Quotient of positive quantities, rounded outwards. */
hkt_interval hkt_interval_ratio(hkt_interval x, hkt_interval y);
/* Half of the width; the middle. */
double hkt_interval_radius(hkt_interval x);
double hkt_interval_middle(hkt_interval x);

/* --- log determinants --- */

/* (1/2) (log det (D + G / noise) - log det D) for rows h of a filter over an AR(1) process: the rows f_j of `rows`
 * levels' tokens, f_j = taps[0 .. span-1] reversed so that token span j - m has weight taps_m (tokens before 0 are
 * left out), D = diag |f_j|^2, G_ij = f_i' Sigma f_j, Sigma_tu = rho^|t - u|, 0 <= t, u < T: mutual information in nats
 * (docs/theory.md, "information"). The taps are those of a cascade of `level` filters a[l] [stride] (l = 0 first),
 * multiplied out exactly. Errors: HKT_ESYSTEM (Arb itself stops the program when it has no memory). */
hkt_status hkt_ball_information(size_t stride, size_t level, const double *const *a, size_t T, double rho, double noise,
                                hkt_interval *out);

/* --- laws --- */

/* Families of symmetric laws, as in laws.h: Student's t, symmetric beta, exponential power, Gram-Charlier. */
typedef enum { HKT_BALL_STUDENT, HKT_BALL_BETA, HKT_BALL_POWER, HKT_BALL_GRAM_CHARLIER } hkt_ball_law;

/* Negentropy in nats of the law whose kappa is this double, exactly (of an exponential power law: one is shown to
 * exist, and its parameter enclosed). Student, beta and power by closed forms, the others by rigorous quadrature
 * (Petras' algorithm: Johansson 2018, arXiv 1802.07942) with bounds of the tails. kappa must be one that the family
 * has. */
hkt_interval hkt_ball_negentropy(hkt_ball_law law, double kappa);
/* (3/16) (kappa - 1)^2 / J. */
hkt_interval hkt_ball_expansion_ratio(hkt_ball_law law, double kappa);
/* Limit of that ratio as kappa -> 1 along exponential power laws, from power series in b - 2; and 4/(9 pi^2 - 84). */
hkt_interval hkt_ball_power_limit(void);
hkt_interval hkt_ball_power_closed_form(void);
/* Negentropy of the mixture of two normals with variance 1, this kappa > 1 and narrow standard deviation e^log_a:
 * bounds by the concavity of entropy, H(e) apart (docs/theory.md, "information"). */
hkt_interval hkt_ball_mixture(double kappa, double log_a);

/* --- bands --- */

/* share [L] out: of the energy of level `level` on white noise, T -> infinity, untrained cascade (a = 1/s), the part in
 * each of L bands: raw level U_l X^(l), or its detail. s^L <= 4096. Errors: HKT_ESYSTEM. */
hkt_status hkt_ball_bands(size_t stride, size_t L, size_t level, bool detail, hkt_interval *share);

#endif

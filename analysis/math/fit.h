/* fit.h - which law a positive sequence E_1, E_2, .. follows as it decreases: geometric C rho^L, a power law C L^-a, or
 * geometric towards a floor, f + C q^L. All are fitted to log E_L with independent normal errors of one variance, and
 * compared by AICc (Burnham & Anderson 2002, Model Selection and Multimodel Inference, sec. 2.4). Thread-safe. */
#ifndef HKT_ANALYSIS_MATH_FIT_H
#define HKT_ANALYSIS_MATH_FIT_H

#include <stddef.h>

#include "base/status.h"

/* y = a + b x by least squares. [b_low, b_high]: interval of b (Student's t, n - 2 degrees of freedom). */
typedef struct {
    double a, b, b_error, b_low, b_high;
    double rss; /* sum of squared residuals */
} hkt_line;

/* level: 0.95. HKT_EINPUT when n < 3 or all x are equal. */
hkt_status hkt_fit_line(size_t n, const double *x, const double *y, double level, hkt_line *out);

typedef enum { HKT_LAW_GEOMETRIC, HKT_LAW_POWER, HKT_LAW_FLOOR, HKT_LAW_UNDECIDED } hkt_law;
enum { HKT_FIT_LEAST = 6, HKT_FIT_MOST = 64 }; /* AICc of the floor law (4 parameters with the variance) needs n > 5 */
#define HKT_FIT_MARGIN 4.0 /* AICc difference from which the other law has "considerably less support" (p. 70) */

typedef struct {
    size_t n;                         /* elements used */
    double C, rho, rho_low, rho_high; /* geometric */
    double exponent;                  /* a of the power law */
    double floor, floor_C, floor_q;   /* f, C, q */
    double aicc[HKT_LAW_UNDECIDED];   /* by law */
    double margin; /* AICc of the better of the two others minus that of the geometric law: > 0 speaks for it */
    /* GEOMETRIC: margin >= 4 and rho_high < 1. POWER or FLOOR, the better of the two: margin <= -4. Else UNDECIDED,
     * also when fewer than HKT_FIT_LEAST elements are used; all other members but n are then NaN. */
    hkt_law law;
} hkt_decay_fit;

typedef struct {
    double level; /* of the interval of rho */
    double least; /* elements from the first one below this on are not used: they are rounding */
    double noise; /* relative error of the elements that is known beforehand: variances are not estimated below its
                     square */
} hkt_decay_spec;

/* e [n], L = 1 .. n, n <= HKT_FIT_MOST. HKT_EINPUT for an element that is not finite or not positive; HKT_ESYSTEM. */
hkt_status hkt_fit_decay(size_t n, const double *e, const hkt_decay_spec *spec, hkt_decay_fit *out);
const char *hkt_law_name(hkt_law law);

#endif

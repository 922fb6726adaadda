/* draw.h - random numbers from the laws that several claims calibrate on. */
#ifndef HKT_ANALYSIS_MATH_DRAW_H
#define HKT_ANALYSIS_MATH_DRAW_H

#include <stddef.h>

#include "base/rng.h"

/* Density exp(-x), x >= 0. */
double hkt_draw_exponential(hkt_rng *r);
/* Density exp(-|x|)/2. */
double hkt_draw_laplace(hkt_rng *r);
/* Student's t with nu degrees of freedom. */
double hkt_draw_student(hkt_rng *r, int nu);
/* Root of a sum of squares of n normals, n >= 1, at a cost that does not depend on n (Marsaglia & Tsang 2000, ACM
 * Trans. Math. Software 26:363). */
double hkt_draw_chi(hkt_rng *r, size_t n);

#endif

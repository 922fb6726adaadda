/* draw.h - random numbers from the laws that several claims calibrate on. */
#ifndef HKT_ANALYSIS_MATH_DRAW_H
#define HKT_ANALYSIS_MATH_DRAW_H

#include "base/rng.h"

/* Density exp(-x), x >= 0. */
double hkt_draw_exponential(hkt_rng *r);
/* Density exp(-|x|)/2. */
double hkt_draw_laplace(hkt_rng *r);
/* Student's t with nu degrees of freedom. */
double hkt_draw_student(hkt_rng *r, int nu);

#endif

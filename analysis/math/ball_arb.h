/* ball_arb.h - inside ball*.c: the one place through which FLINT and Arb enter (as in Debian 12, where they are two
 * libraries). */
#ifndef HKT_ANALYSIS_MATH_BALL_ARB_H
#define HKT_ANALYSIS_MATH_BALL_ARB_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#include <acb_calc.h>
#include <arb.h>
#include <arb_mat.h>
#include <arb_poly.h>
#pragma GCC diagnostic pop

#include "analysis/math/ball.h"

/* The smallest interval of doubles around the ball. */
hkt_interval hkt_interval_of(const arb_t x);

#endif

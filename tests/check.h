/* check.h - what every test program shares: cmocka with its includes, and comparisons in which NaN fails. */
#ifndef HKT_TESTS_CHECK_H
#define HKT_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/status.h"

/* A name of the test itself in a body that is included once per precision (num/both.h). */
#define RN(name) HKT_REAL_NAME(name)

/* |a - b| <= tol; false for NaN. Prints both on failure. */
#define CHECK_NEAR(a, b, tol)                                                                                          \
    do {                                                                                                               \
        double check_a_ = (double)(a), check_b_ = (double)(b), check_t_ = (double)(tol);                               \
        if (!(fabs(check_a_ - check_b_) <= check_t_))                                                                  \
            fail_msg("%s = %.17g, %s = %.17g, differ by %.3g > %.3g", #a, check_a_, #b, check_b_,                      \
                     fabs(check_a_ - check_b_), check_t_);                                                             \
    } while (0)

/* a <= b; false for NaN. */
#define CHECK_AT_MOST(a, b)                                                                                            \
    do {                                                                                                               \
        double check_a_ = (double)(a), check_b_ = (double)(b);                                                         \
        if (!(check_a_ <= check_b_))                                                                                   \
            fail_msg("%s = %.17g is not <= %s = %.17g", #a, check_a_, #b, check_b_);                                   \
    } while (0)

#define CHECK_OK(expr)                                                                                                 \
    do {                                                                                                               \
        hkt_status check_s_ = (expr);                                                                                  \
        if (check_s_ != HKT_OK)                                                                                        \
            fail_msg("%s: status %d: %s", #expr, (int)check_s_, hkt_error());                                          \
    } while (0)

/* The call must fail with `status` and its message must contain `text`. */
#define CHECK_FAILS(expr, status, text)                                                                                \
    do {                                                                                                               \
        hkt_status check_s_ = (expr);                                                                                  \
        if (check_s_ != (status))                                                                                      \
            fail_msg("%s: expected status %d, got %d (%s)", #expr, (int)(status), (int)check_s_, hkt_error());         \
        if (!strstr(hkt_error(), (text)))                                                                              \
            fail_msg("%s: message '%s' does not contain '%s'", #expr, hkt_error(), (text));                            \
    } while (0)

/* max |a_i - b_i| / max |b_i| over n values; NaN anywhere gives NaN. */
static inline double check_relative(const double *a, const double *b, size_t n)
{
    double diff = 0, scale = 0;
    for (size_t i = 0; i < n; i++) {
        double e = fabs(a[i] - b[i]), s = fabs(b[i]);
        if (isnan(e))
            return (double)NAN;
        diff = fmax(diff, e);
        scale = fmax(scale, s);
    }
    return diff == 0 ? 0 : diff / scale;
}

#endif

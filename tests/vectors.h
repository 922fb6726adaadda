/* vectors.h - random numbers for tests, and the norm. */
#ifndef HKT_TESTS_VECTORS_H
#define HKT_TESTS_VECTORS_H

#include <math.h>
#include <stddef.h>

#include "base/rng.h"

static inline void normals(hkt_rng *rng, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = hkt_rng_normal(rng);
}

static inline double norm(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

#endif

#include "analysis/math/multiple.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

typedef struct {
    double p;
    size_t index;
} ranked;

static int ascending(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return (x->p > y->p) - (x->p < y->p);
}

hkt_status hkt_false_discovery(size_t n, const double *p, double *adjusted)
{
    ranked *r = NULL;
    HKT_TRY(HKT_NEW(&r, n));
    for (size_t i = 0; i < n; i++)
        r[i] = (ranked){isnan(p[i]) ? 1 : p[i], i};
    qsort(r, n, sizeof *r, ascending);
    double least = 1;
    for (size_t rank = n; rank > 0; rank--) {
        least = fmin(least, r[rank - 1].p * (double)n / (double)rank);
        adjusted[r[rank - 1].index] = least;
    }
    hkt_free(r);
    return HKT_OK;
}

double hkt_mcnemar(size_t gained, size_t lost)
{
    size_t few = gained < lost ? gained : lost, n = gained + lost;
    return n == 0 ? 1 : fmin(1, 2 * gsl_cdf_binomial_P((unsigned)few, 0.5, (unsigned)n));
}

double hkt_normal_p(double z)
{
    return erfc(fabs(z) / sqrt(2));
}

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

/* The p-values in ascending order, NaN as 1; owned by the caller. */
static hkt_status rank_all(size_t n, const double *p, ranked **out)
{
    ranked *r = NULL;
    HKT_TRY(HKT_NEW(&r, n));
    for (size_t i = 0; i < n; i++)
        r[i] = (ranked){isnan(p[i]) ? 1 : p[i], i};
    qsort(r, n, sizeof *r, ascending);
    *out = r;
    return HKT_OK;
}

hkt_status hkt_false_discovery(size_t n, const double *p, double *adjusted)
{
    ranked *r = NULL;
    HKT_TRY(rank_all(n, p, &r));
    double least = 1;
    for (size_t rank = n; rank > 0; rank--) {
        least = fmin(least, r[rank - 1].p * (double)n / (double)rank);
        adjusted[r[rank - 1].index] = least;
    }
    hkt_free(r);
    return HKT_OK;
}

hkt_status hkt_holm(size_t n, size_t family, const double *p, double *adjusted)
{
    ranked *r = NULL;
    HKT_TRY(rank_all(n, p, &r));
    double most = 0;
    for (size_t rank = 0; rank < n; rank++) {
        most = fmax(most, fmin(1, r[rank].p * (double)(family - rank)));
        adjusted[r[rank].index] = most;
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

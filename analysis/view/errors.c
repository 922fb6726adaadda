#include "analysis/view/errors.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "analysis/math/certify.h"
#include "analysis/view/scene.h"
#include "base/mem.h"

static double distance(size_t T, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < T * T; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* to [T, T] += the term of level l in S_T. */
static void add_term(const hkt_approximation *a, size_t l, double *to)
{
    hkt_score_upsample(a->T, hkt_level_factor(a->stride, l), a->weight[l], a->score[l], to);
}

/* Starts h from the terms of another sum (from == NULL: of S_T), seeks the best, and writes it to out [T, T]. term
 * [T, T] is scratch. */
static hkt_status seek(const hkt_approximation *a, const hkt_search *search, const hkt_hierarchy *from,
                       hkt_hierarchy *h, double *term, double *out)
{
    hkt_descent d;
    for (size_t l = 0; l < a->L; l++) {
        memset(term, 0, a->T * a->T * sizeof *term);
        if (from)
            HKT_TRY(hkt_hierarchy_term(from, l, term));
        else
            add_term(a, l, term);
        HKT_TRY(hkt_hierarchy_set(h, l, term));
    }
    HKT_TRY(hkt_hierarchy_search(h, a->target, search, &d));
    return hkt_hierarchy_sum(h, out);
}

hkt_status hkt_three_errors_measure(const hkt_approximation *a, const hkt_search *search, hkt_three_errors *out)
{
    size_t size = a->T * a->T;
    double *mem = NULL;
    hkt_hierarchy inputs = {0}, levels = {0};
    hkt_curve bounds;
    HKT_TRY(HKT_NEW(&mem, 4 * size));
    double *term = mem, *model = mem + size, *given = mem + 2 * size, *best = mem + 3 * size;
    *out = (hkt_three_errors){.size = cblas_dnrm2((int)size, a->target, 1)};
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_hierarchy_inputs(&inputs, a->T, a->stride, a->L, a->p, a->d, a->x));
    HKT_TRY_GOTO(status, done, hkt_hierarchy_levels(&levels, a->T, a->stride, a->L, a->p));
    HKT_TRY_GOTO(status, done, seek(a, search, NULL, &inputs, term, given));
    HKT_TRY_GOTO(status, done, seek(a, search, &inputs, &levels, term, best));
    for (size_t l = 0; l < a->L; l++)
        add_term(a, l, model);
    out->total = distance(a->T, a->target, model);
    out->hierarchical = distance(a->T, a->target, best);
    out->given_inputs = distance(a->T, a->target, given);
    out->downsampling = distance(a->T, best, given);
    out->optimisation = distance(a->T, given, model);
    HKT_TRY_GOTO(status, done, hkt_hierarchy_bounds(&bounds, a->target, a->T, a->stride, a->L, a->p));
    out->lower = bounds.bound[a->L - 1] * out->size;
done:
    hkt_hierarchy_free(&inputs);
    hkt_hierarchy_free(&levels);
    hkt_free(mem);
    return status;
}

/* A difference is off by u of itself, its square and T^2 sums by gamma_(T^2 + 2), the root by u; ||S*|| by as much. */
hkt_status hkt_three_errors_least(const hkt_approximation *a, const hkt_three_errors *e, double *least)
{
    const double off = 4 * hkt_gamma(a->T * a->T + 8);
    hkt_hierarchy_floor f;
    HKT_TRY(hkt_hierarchy_certify(a->target, a->T, a->stride, a->L, a->p, &f));
    *least = fmin(f.proved, fmin(e->downsampling, e->optimisation)) / e->size * (1 - off);
    return HKT_OK;
}

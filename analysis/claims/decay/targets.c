/* targets.c - matrices for the checks of `decay`, and what is measured on them. */
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/claims/decay/decay.h"
#include "analysis/math/linalg.h"
#include "base/mem.h"

void hkt_decay_noise_fill(size_t T, hkt_rng *rng, double *s)
{
    for (size_t i = 0; i < T * T; i++)
        s[i] = hkt_rng_normal(rng);
}

/* Row `at` of u [.., T]: a random unit vector, constant on the blocks of level l, orthogonal to the rows before. Those
 * are constant on blocks that are unions of its own, so subtracting them does not leave the level. */
static void next_direction(size_t T, size_t l, hkt_rng *rng, double *u, size_t at)
{
    double *row = u + at * T, value = 0;
    size_t step = 1;
    for (size_t i = 0; i < l; i++)
        step *= HKT_DECAY_STRIDE;
    for (size_t i = 0; i < T; i++)
        row[i] = value = i % step == 0 ? hkt_rng_normal(rng) : value;
    for (int twice = 0; twice < 2; twice++) { /* twice is enough (Giraud et al. 2005) */
        for (size_t k = 0; k < at; k++)
            cblas_daxpy((int)T, -cblas_ddot((int)T, row, 1, u + k * T, 1), u + k * T, 1, row, 1);
        cblas_dscal((int)T, 1 / cblas_dnrm2((int)T, row, 1), row, 1);
    }
}

/* `rank` directions for each level, coarsest first, then `extra` of level 0. */
static void nested_directions(size_t T, size_t levels, size_t rank, size_t extra, hkt_rng *rng, double *u)
{
    size_t at = 0;
    for (size_t l = levels; l-- > 0;)
        for (size_t k = 0; k < rank; k++)
            next_direction(T, l, rng, u, at++);
    for (size_t k = 0; k < extra; k++)
        next_direction(T, 0, rng, u, at++);
}

/* S = sum of sigma_l u v^T over the directions of each level, with r sigma_l^2 = E_l^2 - E_{l+1}^2, and what is left,
 * E_levels^2, on so many directions that none outweighs those of the last level. */
hkt_status hkt_decay_planted_fill(size_t T, size_t levels, size_t rank, const double *error, hkt_rng *rng, double *s)
{
    double left = error[levels - 1] * error[levels - 1], before = 1, sigma[HKT_MAX_LEVELS], last = (double)INFINITY;
    for (size_t l = 0; l < levels; l++) {
        sigma[l] = sqrt((before - error[l] * error[l]) / (double)rank);
        before = error[l] * error[l];
        HKT_ASSERT(sigma[l] < last);
        last = sigma[l];
    }
    size_t extra = (size_t)ceil(left / (last * last)), n = levels * rank + extra;
    HKT_ASSERT(n <= T);
    double *u = NULL;
    HKT_TRY(HKT_NEW(&u, 2 * n * T));
    double *v = u + n * T;
    nested_directions(T, levels, rank, extra, rng, u);
    nested_directions(T, levels, rank, extra, rng, v);
    for (size_t k = 0; k < n; k++)
        cblas_dscal((int)T, k < levels * rank ? sigma[levels - 1 - k / rank] : sqrt(left / (double)extra), u + k * T,
                    1);
    hkt_product(true, false, T, T, n, 1, u, v, 0, s);
    hkt_free(u);
    return HKT_OK;
}

hkt_search hkt_decay_search(const hkt_verify_context *ctx)
{
    return (hkt_search){.sweeps = ctx->quick ? 20 : 30, .tolerance = 1e-6, .random = 0, .seed = ctx->seed};
}

hkt_status hkt_decay_measure(const double *s, size_t T, size_t levels, size_t rank, const hkt_search *search,
                             hkt_curve *curve, hkt_decay_fit *fit)
{
    levels = levels > 0 ? levels : hkt_hierarchy_depth(T, HKT_DECAY_STRIDE);
    /* Variances are not estimated below this: more sweeps and starts still change E_L by 0.1 to 3 %, smoothly in L
     * (docs/theory.md, "decay"). E_L^2 is known to L T r eps, so E_L to within `noise` as long as it is above `least`.
     */
    const double noise = 1e-3;
    hkt_decay_spec spec = {.level = 0.95, .noise = noise};
    spec.least = sqrt((double)(levels * T * rank) * DBL_EPSILON / (2 * noise));
    HKT_TRY(hkt_hierarchy_curve(curve, s, T, HKT_DECAY_STRIDE, levels, rank, search));
    return hkt_fit_decay(curve->n, curve->error, &spec, fit);
}

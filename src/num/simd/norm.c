/* norm.c - layer norm, and the dot product. */
#include <math.h>

#include "num/kernels.h"
#include "num/simd/simd.h"
#include "num/simd/vec.h"

real I(dot)(size_t n, const real *x, const real *y)
{
    vec_block sum = {0};
    BLOCK_LOOP(i, w, left, n, {
        const size_t at = i + w * LANES;
        sum.part[w] = vec_fma(vec_load_n(x + at, left), vec_load_n(y + at, left), sum.part[w]);
    });
    return vec_sum(sum);
}

void I(dot_rows)(size_t n, size_t d, const real *x, const real *y, size_t ld, real *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = I(dot)(d, x + i * ld, y + i * ld);
}

static real row_mean(size_t d, const real *x)
{
    vec_block sum = {0};
    BLOCK_LOOP(i, w, left, d, sum.part[w] += vec_load_n(x + i + w * LANES, left););
    return vec_sum(sum) / (real)d;
}

static real row_variance(size_t d, const real *x, real mean)
{
    vec_block sum = {0};
    BLOCK_LOOP(i, w, left, d, {
        vec e = vec_load_n(x + i + w * LANES, left) - mean;
        if (left < LANES)
            e = vec_select(vec_first(left), e, (vec){0});
        sum.part[w] = vec_fma(e, e, sum.part[w]);
    });
    return vec_sum(sum) / (real)d;
}

void I(layernorm_forward)(size_t n, size_t d, const real *x, const real *gamma, const real *beta, real *y, real *mean,
                          real *rstd)
{
    for (size_t i = 0; i < n; i++, x += d, y += d) {
        real m = row_mean(d, x), r = 1 / (real)sqrt((double)(row_variance(d, x, m) + (real)HKT_LAYERNORM_EPS));
        mean[i] = m;
        rstd[i] = r;
        VEC_LOOP(c, left, d, {
            vec xhat = (vec_load_n(x + c, left) - m) * r;
            vec_store_n(y + c, left, vec_fma(vec_load_n(gamma + c, left), xhat, vec_load_n(beta + c, left)));
        });
    }
}

/* *mean_g = mean of g = gamma dy over the row, *mean_gx = mean of g xhat. */
static void gradient_means(size_t d, const real *x, const real *gamma, const real *dy, real m, real r, real *mean_g,
                           real *mean_gx)
{
    vec_block sum_g = {0}, sum_gx = {0};
    BLOCK_LOOP(c, w, left, d, {
        const size_t at = c + w * LANES;
        vec g = vec_load_n(gamma + at, left) * vec_load_n(dy + at, left);
        sum_g.part[w] += g;
        sum_gx.part[w] = vec_fma(g, (vec_load_n(x + at, left) - m) * r, sum_gx.part[w]);
    });
    *mean_g = vec_sum(sum_g) / (real)d;
    *mean_gx = vec_sum(sum_gx) / (real)d;
}

/* dx += rstd (g - mean(g) - xhat mean(g xhat)). */
void I(layernorm_backward)(size_t n, size_t d, const real *x, const real *gamma, const real *mean, const real *rstd,
                           const real *dy, real *dx, real *dgamma, real *dbeta)
{
    for (size_t i = 0; i < n; i++, x += d, dy += d, dx += d) {
        real m = mean[i], r = rstd[i], mean_g, mean_gx;
        gradient_means(d, x, gamma, dy, m, r, &mean_g, &mean_gx);
        VEC_LOOP(c, left, d, {
            vec g = vec_load_n(dy + c, left), xhat = (vec_load_n(x + c, left) - m) * r;
            vec_store_n(dgamma + c, left, vec_fma(g, xhat, vec_load_n(dgamma + c, left)));
            vec_store_n(dbeta + c, left, g + vec_load_n(dbeta + c, left));
            g = vec_fma(-xhat, vec_set(mean_gx), vec_fma(vec_load_n(gamma + c, left), g, vec_set(-mean_g)));
            vec_store_n(dx + c, left, vec_fma(vec_set(r), g, vec_load_n(dx + c, left)));
        });
    }
}

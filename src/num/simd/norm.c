/* norm.c - layer norm, and the dot product. */
#include <math.h>

#include "num/kernels.h"
#include "num/simd/simd.h"
#include "num/simd/vec.h"

real I(dot)(size_t n, const real *x, const real *y)
{
    vec lanes = {0};
    real tail = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        lanes = vec_fma(vec_load(x + i), vec_load(y + i), lanes);
    for (; i < n; i++)
        tail = FMA(x[i], y[i], tail);
    return vec_sum(lanes) + tail;
}

void I(dot_rows)(size_t n, size_t d, const real *x, const real *y, size_t ld, real *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = I(dot)(d, x + i * ld, y + i * ld);
}

static real row_mean(size_t d, const real *x)
{
    vec lanes = {0};
    real tail = 0;
    size_t i = 0;
    for (; i + LANES <= d; i += LANES)
        lanes += vec_load(x + i);
    for (; i < d; i++)
        tail += x[i];
    return (vec_sum(lanes) + tail) / (real)d;
}

static real row_variance(size_t d, const real *x, real mean)
{
    vec lanes = {0};
    real tail = 0;
    size_t i = 0;
    for (; i + LANES <= d; i += LANES) {
        vec e = vec_load(x + i) - mean;
        lanes = vec_fma(e, e, lanes);
    }
    for (; i < d; i++)
        tail = FMA(x[i] - mean, x[i] - mean, tail);
    return (vec_sum(lanes) + tail) / (real)d;
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
    vec lanes_g = {0}, lanes_gx = {0};
    real tail_g = 0, tail_gx = 0;
    size_t c = 0;
    for (; c + LANES <= d; c += LANES) {
        vec g = vec_load(gamma + c) * vec_load(dy + c);
        lanes_g += g;
        lanes_gx = vec_fma(g, (vec_load(x + c) - m) * r, lanes_gx);
    }
    for (; c < d; c++) {
        real g = gamma[c] * dy[c];
        tail_g += g;
        tail_gx = FMA(g, (x[c] - m) * r, tail_gx);
    }
    *mean_g = (vec_sum(lanes_g) + tail_g) / (real)d;
    *mean_gx = (vec_sum(lanes_gx) + tail_gx) / (real)d;
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

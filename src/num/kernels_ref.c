/* kernels_ref.c - the naive versions: one scalar formula each, the oracle of the fast ones. */
#include "num/kernels.h"
#include "num/real.h"

#include <math.h>

void hkt_layernorm_forward_ref(size_t n, size_t d, const real *x, const real *gamma, const real *beta, real *y,
                               real *mean, real *rstd)
{
    for (size_t i = 0; i < n; i++) {
        const real *row = x + i * d;
        double m = 0, v = 0;
        for (size_t c = 0; c < d; c++)
            m += (double)row[c] / (double)d;
        for (size_t c = 0; c < d; c++)
            v += ((double)row[c] - m) * ((double)row[c] - m) / (double)d;
        mean[i] = (real)m;
        rstd[i] = (real)(1 / sqrt(v + HKT_LAYERNORM_EPS));
        for (size_t c = 0; c < d; c++)
            y[i * d + c] = gamma[c] * ((row[c] - mean[i]) * rstd[i]) + beta[c];
    }
}

/* With g = gamma dy: dx = rstd (g - mean(g) - xhat mean(g xhat)). */
void hkt_layernorm_backward_ref(size_t n, size_t d, const real *x, const real *gamma, const real *mean,
                                const real *rstd, const real *dy, real *dx, real *dgamma, real *dbeta)
{
    for (size_t i = 0; i < n; i++) {
        double sum_g = 0, sum_gx = 0;
        for (size_t c = 0; c < d; c++) {
            double xhat = ((double)x[i * d + c] - (double)mean[i]) * (double)rstd[i];
            double g = (double)gamma[c] * (double)dy[i * d + c];
            sum_g += g;
            sum_gx += g * xhat;
            dgamma[c] += (real)((double)dy[i * d + c] * xhat);
            dbeta[c] += dy[i * d + c];
        }
        for (size_t c = 0; c < d; c++) {
            double xhat = ((double)x[i * d + c] - (double)mean[i]) * (double)rstd[i];
            double g = (double)gamma[c] * (double)dy[i * d + c];
            dx[i * d + c] += (real)((double)rstd[i] * (g - sum_g / (double)d - xhat * sum_gx / (double)d));
        }
    }
}

void hkt_gelu_forward_ref(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) {
        double v = (double)x[i];
        y[i] = (real)(v / 2 * (1 + tanh(HKT_GELU_SCALE * (v + HKT_GELU_CUBIC * v * v * v))));
    }
}

void hkt_gelu_backward_ref(size_t n, const real *x, const real *dy, real *dx)
{
    for (size_t i = 0; i < n; i++) {
        double v = (double)x[i];
        double t = tanh(HKT_GELU_SCALE * (v + HKT_GELU_CUBIC * v * v * v));
        double inner = HKT_GELU_SCALE * (1 + 3 * HKT_GELU_CUBIC * v * v);
        dx[i] = (real)((double)dy[i] * (0.5 * (1 + t) + 0.5 * v * (1 - t * t) * inner));
    }
}

void hkt_downsample_forward_ref(size_t T, size_t d, size_t s, const real *x, const real *a, real *y)
{
    for (size_t j = 0; j * s < T; j++)
        for (size_t c = 0; c < d; c++) {
            real sum = 0;
            for (size_t k = 0; k < s && k <= s * j; k++)
                sum += a[k * d + c] * x[(s * j - k) * d + c];
            y[j * d + c] = sum;
        }
}

void hkt_downsample_backward_ref(size_t T, size_t d, size_t s, const real *x, const real *a, const real *dy, real *dx,
                                 real *da)
{
    for (size_t j = 0; j * s < T; j++)
        for (size_t c = 0; c < d; c++)
            for (size_t k = 0; k < s && k <= s * j; k++) {
                dx[(s * j - k) * d + c] += a[k * d + c] * dy[j * d + c];
                da[k * d + c] += x[(s * j - k) * d + c] * dy[j * d + c];
            }
}

void hkt_conv_forward_ref(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, real *y, size_t ld_y)
{
    for (size_t j = 0; j < T; j++)
        for (size_t i = 0; i < d; i++) {
            real sum = 0;
            for (size_t k = 0; k < w && k <= j; k++)
                sum += c[k * d + i] * v[(j - k) * ld_v + i];
            y[j * ld_y + i] = sum;
        }
}

void hkt_conv_backward_ref(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, const real *dy,
                           size_t ld_dy, real *dv, size_t ld_dv, real *dc)
{
    for (size_t j = 0; j < T; j++)
        for (size_t i = 0; i < d; i++)
            for (size_t k = 0; k < w && k <= j; k++) {
                dv[(j - k) * ld_dv + i] += c[k * d + i] * dy[j * ld_dy + i];
                dc[k * d + i] += v[(j - k) * ld_v + i] * dy[j * ld_dy + i];
            }
}

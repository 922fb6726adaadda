/* kernels.c - the public names of the vector kernels, and the kernels that are loops over vector rows. */
#include "num/kernels.h"

#include <string.h>

#include "num/isa.h"
#include "num/real.h"
#include "num/simd/simd.h"

const R(hkt_simd_table) *R(hkt_simd)(void)
{
    static const R(hkt_simd_table) *const tables[] = {
        [HKT_ISA_GENERIC] = &HKT_SIMD_NAME(table, generic),
#if defined(__x86_64__)
        [HKT_ISA_AVX2] = &HKT_SIMD_NAME(table, avx2),
        [HKT_ISA_AVX512] = &HKT_SIMD_NAME(table, avx512),
#endif
    };
    return tables[hkt_isa_current()];
}

void R(hkt_vexp)(size_t n, const real *x, real *y)
{
    R(hkt_simd)()->exp(n, x, y);
}

void R(hkt_vtanh)(size_t n, const real *x, real *y)
{
    R(hkt_simd)()->tanh(n, x, y);
}

void R(hkt_gelu_forward)(size_t n, const real *x, real *y)
{
    R(hkt_simd)()->gelu_forward(n, x, y);
}

void R(hkt_gelu_backward)(size_t n, const real *x, const real *dy, real *dx)
{
    R(hkt_simd)()->gelu_backward(n, x, dy, dx);
}

void R(hkt_axpy)(size_t n, real a, const real *x, real *y)
{
    R(hkt_simd)()->axpy(n, a, x, y);
}

void R(hkt_layernorm_forward)(size_t n, size_t d, const real *x, const real *gamma, const real *beta, real *y,
                              real *mean, real *rstd)
{
    R(hkt_simd)()->layernorm_forward(n, d, x, gamma, beta, y, mean, rstd);
}

void R(hkt_layernorm_backward)(size_t n, size_t d, const real *x, const real *gamma, const real *mean, const real *rstd,
                               const real *dy, real *dx, real *dgamma, real *dbeta)
{
    R(hkt_simd)()->layernorm_backward(n, d, x, gamma, mean, rstd, dy, dx, dgamma, dbeta);
}

void R(hkt_dropout)(size_t n, size_t first, double rate, uint64_t seed, uint64_t step, uint32_t site, const real *x,
                    real *y)
{
    /* Step and block share one 64-bit counter. */
    HKT_ASSERT(rate >= 0 && rate < 1 && step >> 32 == 0 && (first + n) / 4 >> 32 == 0);
    R(hkt_simd)()->dropout(n, first, (uint32_t)(rate * 0x1p32), (real)(1 / (1 - rate)), seed, step, site, x, y);
}

/* y_j = sum_{k < w, k <= step j} c_k * x_{step j - k}: the convolution at step 1, the downsampling at step w. */
static void filter_forward(size_t n, size_t d, size_t w, size_t step, const real *x, size_t ld_x, const real *c,
                           real *y, size_t ld_y)
{
    const R(hkt_simd_table) *simd = R(hkt_simd)();
    for (size_t j = 0; j < n; j++) {
        memset(y + j * ld_y, 0, d * sizeof *y);
        for (size_t k = 0; k < w && k <= step * j; k++)
            simd->mul_add(d, c + k * d, x + (step * j - k) * ld_x, y + j * ld_y);
    }
}

static void filter_backward(size_t n, size_t d, size_t w, size_t step, const real *x, size_t ld_x, const real *c,
                            const real *dy, size_t ld_dy, real *dx, size_t ld_dx, real *dc)
{
    const R(hkt_simd_table) *simd = R(hkt_simd)();
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < w && k <= step * j; k++) {
            simd->mul_add(d, c + k * d, dy + j * ld_dy, dx + (step * j - k) * ld_dx);
            simd->mul_add(d, x + (step * j - k) * ld_x, dy + j * ld_dy, dc + k * d);
        }
}

void R(hkt_downsample_forward)(size_t T, size_t d, size_t s, const real *x, const real *a, real *y)
{
    filter_forward((T + s - 1) / s, d, s, s, x, d, a, y, d);
}

void R(hkt_downsample_backward)(size_t T, size_t d, size_t s, const real *x, const real *a, const real *dy, real *dx,
                                real *da)
{
    filter_backward((T + s - 1) / s, d, s, s, x, d, a, dy, d, dx, d, da);
}

void R(hkt_conv_forward)(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, real *y, size_t ld_y)
{
    filter_forward(T, d, w, 1, v, ld_v, c, y, ld_y);
}

void R(hkt_conv_backward)(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, const real *dy,
                          size_t ld_dy, real *dv, size_t ld_dv, real *dc)
{
    filter_backward(T, d, w, 1, v, ld_v, c, dy, ld_dy, dv, ld_dv, dc);
}

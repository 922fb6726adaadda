/* kernels.c - the public names of the vector kernels, and the kernels that are loops over vector rows. */
#include "num/kernels.h"

#include "num/isa.h"
#include "num/real.h"
#include "num/simd/simd.h"

const hkt_simd_table *hkt_simd(void)
{
    static const hkt_simd_table *const tables[] = {
#if defined(__aarch64__)
        [HKT_ISA_GENERIC] = &HKT_SIMD_NAME(table, neon),
#else
        [HKT_ISA_GENERIC] = &HKT_SIMD_NAME(table, generic),
        [HKT_ISA_AVX2] = &HKT_SIMD_NAME(table, avx2),
        [HKT_ISA_AVX512] = &HKT_SIMD_NAME(table, avx512),
#endif
    };
    return tables[hkt_isa_current()];
}

void hkt_vexp(size_t n, const real *x, real *y)
{
    hkt_simd()->exp(n, x, y);
}

void hkt_vtanh(size_t n, const real *x, real *y)
{
    hkt_simd()->tanh(n, x, y);
}

void hkt_gelu_forward(size_t n, const real *x, real *y)
{
    hkt_simd()->gelu_forward(n, x, y);
}

void hkt_gelu_backward(size_t n, const real *x, const real *dy, real *dx, real *y)
{
    hkt_simd()->gelu_backward(n, x, dy, dx, y);
}

void hkt_axpy(size_t n, real a, const real *x, real *y)
{
    hkt_simd()->axpy(n, a, x, y);
}

void hkt_add(size_t n, const real *x, const real *y, real *out)
{
    hkt_simd()->add(n, x, y, out);
}

void hkt_sum_rows(size_t n, size_t d, const real *x, size_t ld_x, real *out)
{
    hkt_simd()->sum_rows(n, d, x, ld_x, out);
}

void hkt_dot_columns(size_t n, size_t d, const real *x, const real *y, real *out)
{
    hkt_simd()->dot_columns(n, d, x, y, out);
}

void hkt_scale_rows(size_t n, size_t d, real weight, const real *a, const real *x, real *y)
{
    hkt_simd()->scale_rows(n, d, weight, a, x, y);
}

void hkt_mix(size_t n, size_t d, size_t span, size_t skip, real weight, const real *a, const real *x, const real *b,
             const real *y, bool add, real *out)
{
    hkt_simd()->mix(n, d, span, skip, weight, a, x, b, y, add, out);
}

void hkt_sum_spans(size_t n, size_t d, size_t s, const real *x, real *y)
{
    hkt_simd()->sum_spans(n, d, s, x, y);
}

void hkt_layernorm_forward(size_t n, size_t d, const real *x, const real *gamma, const real *beta, real *y, real *mean,
                           real *rstd)
{
    hkt_simd()->layernorm_forward(n, d, x, gamma, beta, y, mean, rstd);
}

void hkt_layernorm_backward(size_t n, size_t d, const real *x, const real *gamma, const real *mean, const real *rstd,
                            const real *dy, real *dx, real *dgamma, real *dbeta)
{
    hkt_simd()->layernorm_backward(n, d, x, gamma, mean, rstd, dy, dx, dgamma, dbeta);
}

void hkt_dropout(size_t n, size_t first, double rate, uint64_t seed, uint64_t step, uint32_t site, const real *x,
                 real *y)
{
    /* Step and block share one 64-bit counter. */
    HKT_ASSERT(rate >= 0 && rate < 1 && step >> 32 == 0 && (first + n) / 4 >> 32 == 0);
    hkt_simd()->dropout(n, first, (uint32_t)(rate * 0x1p32), (real)(1 / (1 - rate)), seed, step, site, x, y);
}

void hkt_downsample_forward(size_t T, size_t d, size_t s, const real *x, const real *a, real *y)
{
    hkt_simd()->filter_forward((T + s - 1) / s, d, s, s, x, d, a, y, d);
}

void hkt_downsample_backward(size_t T, size_t d, size_t s, const real *x, const real *a, const real *dy, real *dx,
                             real *da)
{
    hkt_simd()->filter_backward((T + s - 1) / s, d, s, s, x, d, a, dy, d, dx, d, da);
}

void hkt_conv_forward(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, real *y, size_t ld_y)
{
    hkt_simd()->filter_forward(T, d, w, 1, v, ld_v, c, y, ld_y);
}

void hkt_conv_backward(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, const real *dy,
                       size_t ld_dy, real *dv, size_t ld_dv, real *dc)
{
    hkt_simd()->filter_backward(T, d, w, 1, v, ld_v, c, dy, ld_dy, dv, ld_dv, dc);
}

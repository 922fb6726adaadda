/* linear.c - the three products of a linear layer. */
#include "num/gemm.h"
#include "num/kernels.h"
#include "num/real.h"
#include "num/simd/simd.h"

#include <string.h>

/* Entries of a matrix up to which the tile product, which packs nothing, is the faster one; beyond, its panels fall out
 * of the cache, for the gradient of the weights, which changes them, earlier (docs/performance.md). */
enum { TILE_ENTRIES = 1 << 18, TILE_GRADIENT_ENTRIES = 1 << 17 };

static bool fits_tile(size_t columns, size_t entries, size_t most)
{
    return columns % HKT_SIMD_PAD == 0 && entries <= most;
}

static void fill_rows(size_t n, size_t m, const real *bias, real *y, size_t ld_y)
{
    for (size_t i = 0; i < n; i++)
        memcpy(y + i * ld_y, bias, m * sizeof *y);
}

void R(hkt_linear_forward)(size_t n, size_t m, size_t k, const real *x, size_t ld_x, const real *w, const real *bias,
                           real *y, size_t ld_y)
{
    if (n == 0)
        return;
    if (bias)
        fill_rows(n, m, bias, y, ld_y);
    gemm_nt(n, m, k, 1, x, ld_x, w, k, bias ? 1 : 0, y, ld_y);
}

void R(hkt_linear_pack)(size_t m, size_t k, const real *w, real *w_t)
{
    R(hkt_simd)()->transpose(m, k, 1, w, k, w_t, m);
}

void R(hkt_linear_forward_packed)(size_t n, size_t m, size_t k, const real *x, size_t ld_x, const real *w_t,
                                  const real *bias, real *y, size_t ld_y)
{
    if (n == 0)
        return;
    if (fits_tile(m, m * k, TILE_ENTRIES)) {
        R(hkt_simd)()->tile_gemm(n, m, k, x, ld_x, 1, w_t, m, bias, 0, y, ld_y);
        return;
    }
    if (bias)
        fill_rows(n, m, bias, y, ld_y);
    gemm_nn(n, m, k, 1, x, ld_x, w_t, m, bias ? 1 : 0, y, ld_y);
}

void R(hkt_linear_backward_input)(size_t n, size_t m, size_t k, const real *dy, size_t ld_dy, const real *w, real beta,
                                  real *dx, size_t ld_dx)
{
    if (n == 0)
        return;
    if ((beta == 0 || beta == 1) && fits_tile(k, m * k, TILE_ENTRIES))
        R(hkt_simd)()->tile_gemm(n, k, m, dy, ld_dy, 1, w, k, beta == 0 ? NULL : dx, ld_dx, dx, ld_dx);
    else
        gemm_nn(n, k, m, 1, dy, ld_dy, w, k, beta, dx, ld_dx);
}

void R(hkt_linear_backward_weight)(size_t n, size_t m, size_t k, const real *dy, size_t ld_dy, const real *x,
                                   size_t ld_x, real *dw, real *db)
{
    if (n == 0)
        return;
    if (fits_tile(k, m * k, TILE_GRADIENT_ENTRIES))
        R(hkt_simd)()->tile_gemm(m, k, n, dy, 1, ld_dy, x, ld_x, dw, k, dw, k);
    else
        gemm_tn(m, k, n, 1, dy, ld_dy, x, ld_x, 1, dw, k);
    if (db)
        R(hkt_simd)()->sum_rows(n, m, dy, ld_dy, db);
}

/* linear.c - the three products of a linear layer. */
#include "num/gemm.h"
#include "num/kernels.h"
#include "num/real.h"

#include <string.h>

void R(hkt_linear_forward)(size_t n, size_t m, size_t k, const real *x, size_t ld_x, const real *w, const real *bias,
                           real *y, size_t ld_y)
{
    if (n == 0)
        return;
    if (bias)
        for (size_t i = 0; i < n; i++)
            memcpy(y + i * ld_y, bias, m * sizeof *y);
    gemm_nt(n, m, k, 1, x, ld_x, w, k, bias ? 1 : 0, y, ld_y);
}

void R(hkt_linear_backward_input)(size_t n, size_t m, size_t k, const real *dy, size_t ld_dy, const real *w, real beta,
                                  real *dx, size_t ld_dx)
{
    if (n > 0)
        gemm_nn(n, k, m, 1, dy, ld_dy, w, k, beta, dx, ld_dx);
}

void R(hkt_linear_backward_weight)(size_t n, size_t m, size_t k, const real *dy, size_t ld_dy, const real *x,
                                   size_t ld_x, real *dw, real *db)
{
    if (n == 0)
        return;
    gemm_tn(m, k, n, 1, dy, ld_dy, x, ld_x, 1, dw, k);
    if (db)
        for (size_t i = 0; i < n; i++)
            R(hkt_axpy)(m, 1, dy + i * ld_dy, db);
}

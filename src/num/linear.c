/* linear.c - the products of a linear layer, and of queries with keys. */
#include "num/kernels.h"
#include "num/real.h"
#include "num/simd/simd.h"

/* Rows and columns of w that are transposed at a time. */
enum { ROWS = 64, DEPTH = 256 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* y [n, m] = init + x w^T, w [m, k] with row stride ld_w; init [m], the same for all rows, or NULL. */
static void multiply_transposed(size_t n, size_t m, size_t k, const real *x, size_t ld_x, const real *w, size_t ld_w,
                                const real *init, real *y, size_t ld_y)
{
    real w_t[DEPTH * ROWS];
    const hkt_simd_table *simd = hkt_simd();
    for (size_t j = 0; j < m; j += ROWS)
        for (size_t t = 0; t < k; t += DEPTH) {
            const size_t rows = smaller(ROWS, m - j), depth = smaller(DEPTH, k - t);
            const real *start = t > 0 ? y + j : init ? init + j : NULL;
            simd->transpose(rows, depth, 1, w + j * ld_w + t, ld_w, w_t, ROWS);
            simd->gemm(n, rows, depth, x + t, ld_x, 1, w_t, ROWS, start, t > 0 ? ld_y : 0, y + j, ld_y);
        }
}

void hkt_linear_forward(size_t n, size_t m, size_t k, const real *x, size_t ld_x, const real *w, const real *bias,
                        real *y, size_t ld_y)
{
    multiply_transposed(n, m, k, x, ld_x, w, k, bias, y, ld_y);
}

void hkt_products(size_t n, size_t m, size_t k, real scale, const real *x, size_t ld_x, const real *y, size_t ld_y,
                  real *out, size_t ld_out)
{
    multiply_transposed(n, m, k, x, ld_x, y, ld_y, NULL, out, ld_out);
    hkt_simd()->copy_rows(n, m, m, scale, out, ld_out, out, ld_out);
}

void hkt_linear_pack(size_t m, size_t k, const real *w, real *w_t)
{
    hkt_simd()->transpose(m, k, 1, w, k, w_t, m);
}

void hkt_linear_forward_packed(size_t n, size_t m, size_t k, const real *x, size_t ld_x, const real *w_t,
                               const real *bias, real *y, size_t ld_y)
{
    hkt_simd()->gemm(n, m, k, x, ld_x, 1, w_t, m, bias, 0, y, ld_y);
}

void hkt_linear_backward_input(size_t n, size_t m, size_t k, const real *dy, size_t ld_dy, const real *w, real *dx,
                               size_t ld_dx)
{
    hkt_simd()->gemm(n, k, m, dy, ld_dy, 1, w, k, NULL, 0, dx, ld_dx);
}

void hkt_linear_backward_weight(size_t n, size_t m, size_t k, const real *dy, size_t ld_dy, const real *x, size_t ld_x,
                                real *dw, real *db)
{
    hkt_simd()->gemm(m, k, n, dy, 1, ld_dy, x, ld_x, dw, k, dw, k);
    if (db)
        hkt_simd()->sum_rows(n, m, dy, ld_dy, db);
}

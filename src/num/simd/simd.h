/* simd.h - the table of vector kernels. Every src/num/simd/NAME.c is compiled once per precision and instruction set
 * (macro HKT_ISA_NAME); its functions are written I(name) and become hkt_simd_name_f32_avx2 and so on. The rest of the
 * library calls them through hkt_simd(), the table of the instruction set in use. Results are the same bits for all
 * instruction sets (see vec.h). Private to src/num and its tests. */
#ifndef HKT_NUM_SIMD_SIMD_H
#define HKT_NUM_SIMD_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "num/real.h"

#define hkt_simd_table HKT_REAL_NAME(hkt_simd_table)
#define hkt_simd       HKT_REAL_NAME(hkt_simd)

#ifdef HKT_REAL_F64
#define HKT_SIMD_PRECISION f64
#else
#define HKT_SIMD_PRECISION f32
#endif
#define HKT_SIMD_PASTE(name, precision, isa) hkt_simd_##name##_##precision##_##isa
#define HKT_SIMD_NAME_(name, precision, isa) HKT_SIMD_PASTE(name, precision, isa)
#define HKT_SIMD_NAME(name, isa)             HKT_SIMD_NAME_(name, HKT_SIMD_PRECISION, isa)

/* Elements of the widest vector: buffers of the tile and row functions are padded to a multiple of it. */
#define HKT_SIMD_PAD (64 / sizeof(real))

/* F(return type, name, arguments). Arguments as in kernels.h where the name is the same. Elementwise functions allow
 * output = input. The others:
 *
 * - dropout: an element is kept when its random word is >= threshold, and then multiplied by scale.
 * - dot: the sum of x[i] y[i]. dot_rows: out[i] = that of rows i of x and y [n, d], both with row stride ld.
 * - filter_forward: y_j = sum_{k < w, k <= step j} c_k * x_{step j - k}, j < n: the convolution at step 1, the
 *   downsampling at step w. filter_backward adds to dx and dc.
 * - transpose: y [p, n] = scale x^T, x [n, p]. copy_rows: y [n, width] = scale x [n, p], zero in columns p..width-1.
 * - softmax_rows: one tile of an online softmax. Row r < m of x (row stride ld) holds scores times log2 e, of which it
 *   sees the first n_r = first + slope r (at least 0, at most n; slope 0 or 1); x = 2^(x - new maximum), zero from n_r
 *   to n_pad, a multiple of HKT_SIMD_PAD. max[r] and sum[r] are updated; factor[r] = 2^(old maximum - new), the factor
 *   of what was summed before.
 * - softmax_finish: y [n, p] = o / sum; lse = max ln 2 + ln(sum), the natural logarithm of the row's sum
 *   (NULL: not wanted).
 * - softmax_gradient: x as before softmax_rows, g the gradient of the probabilities; x = 2^x / e^lse,
 *   g = x (g - delta), both zero from n_r to n_pad.
 * - gemm: c [m, n] = init + a b, a(i, t) = a[i rs + t cs], t < k, b [k, n]. init: NULL for zero, or [m, n] with row
 *   stride ld_init (0: the same row for all), may be c. Every element is init, to which the products are added in the
 *   order of t by fused multiply-adds, whatever its place in c and the sizes. tile_gemm: the same, for operands that
 *   stay in the cache.
 * - tile_expand: fine(i, j) = coarse((i + i0) / s, (j + j0) / s), i < m, j < n; i0, j0 < s.
 * - tile_reduce: the transpose: every entry of coarse is the sum of the fine entries above it. Destroys fine. */
/* The formatter takes the `*` of these arguments for a product. */
/* clang-format off */
#define HKT_SIMD_FUNCTIONS(F)                                                                                          \
    F(void, exp, (size_t n, const real *x, real *y))                                                                   \
    F(void, tanh, (size_t n, const real *x, real *y))                                                                  \
    F(void, gelu_forward, (size_t n, const real *x, real *y))                                                          \
    F(void, gelu_backward, (size_t n, const real *x, const real *dy, real *dx, real *y))                               \
    F(void, axpy, (size_t n, real a, const real *x, real *y))                                                          \
    F(void, add, (size_t n, const real *x, const real *y, real *out))                                                  \
    F(void, dropout,                                                                                                   \
      (size_t n, size_t first, uint32_t threshold, real scale, uint64_t seed, uint64_t step, uint32_t site,            \
       const real *x, real *y))                                                                                        \
    F(void, layernorm_forward,                                                                                         \
      (size_t n, size_t d, const real *x, const real *gamma, const real *beta, real *y, real *mean, real *rstd))       \
    F(void, layernorm_backward,                                                                                        \
      (size_t n, size_t d, const real *x, const real *gamma, const real *mean, const real *rstd, const real *dy,       \
       real *dx, real *dgamma, real *dbeta))                                                                           \
    F(real, dot, (size_t n, const real *x, const real *y))                                                             \
    F(void, dot_rows, (size_t n, size_t d, const real *x, const real *y, size_t ld, real *out))                        \
    F(void, filter_forward,                                                                                            \
      (size_t n, size_t d, size_t w, size_t step, const real *x, size_t ld_x, const real *c, real *y, size_t ld_y))    \
    F(void, filter_backward,                                                                                           \
      (size_t n, size_t d, size_t w, size_t step, const real *x, size_t ld_x, const real *c, const real *dy,           \
       size_t ld_dy, real *dx, size_t ld_dx, real *dc))                                                                \
    F(void, sum_rows, (size_t n, size_t d, const real *x, size_t ld_x, real *out))                                     \
    F(void, dot_columns, (size_t n, size_t d, const real *x, const real *y, real *out))                                \
    F(void, scale_rows, (size_t n, size_t d, real weight, const real *a, const real *x, real *y))                      \
    F(void, sum_spans, (size_t n, size_t d, size_t s, const real *x, real *y))                                         \
    F(void, mix,                                                                                                       \
      (size_t n, size_t d, size_t span, size_t skip, real weight, const real *a, const real *x, const real *b,         \
       const real *y, bool add, real *out))                                                                            \
    F(void, transpose, (size_t n, size_t p, real scale, const real *x, size_t ld_x, real *y, size_t ld_y))             \
    F(void, copy_rows,                                                                                                 \
      (size_t n, size_t p, size_t width, real scale, const real *x, size_t ld_x, real *y, size_t ld_y))                \
    F(void, softmax_rows,                                                                                              \
      (size_t m, ptrdiff_t first, size_t slope, size_t n, size_t n_pad, real *x, size_t ld, real *max, real *sum,      \
       real *factor))                                                                                                  \
    F(void, softmax_finish,                                                                                            \
      (size_t n, size_t p, const real *o, size_t ld_o, const real *max, const real *sum, real *y, size_t ld_y,         \
       real *lse))                                                                                                     \
    F(void, softmax_gradient,                                                                                          \
      (size_t m, ptrdiff_t first, size_t slope, size_t n, size_t n_pad, real *x, real *g, size_t ld,                   \
       const real *lse, const real *delta))                                                                            \
    F(void, tile_gemm,                                                                                                 \
      (size_t m, size_t n, size_t k, const real *a, size_t rs, size_t cs, const real *b, size_t ld_b,                  \
       const real *init, size_t ld_init, real *c, size_t ld_c))                                                        \
    F(void, gemm,                                                                                                      \
      (size_t m, size_t n, size_t k, const real *a, size_t rs, size_t cs, const real *b, size_t ld_b,                  \
       const real *init, size_t ld_init, real *c, size_t ld_c))                                                        \
    F(void, tile_expand,                                                                                               \
      (size_t m, size_t n, size_t s, size_t i0, size_t j0, const real *coarse, size_t ld_coarse, real *fine,           \
       size_t ld_fine))                                                                                                \
    F(void, tile_reduce,                                                                                               \
      (size_t m, size_t n, size_t s, size_t i0, size_t j0, real *fine, size_t ld_fine, real *coarse,                   \
       size_t ld_coarse))
/* clang-format on */

typedef struct {
#define HKT_SIMD_MEMBER(type, name, arguments) type(*name) arguments;
    HKT_SIMD_FUNCTIONS(HKT_SIMD_MEMBER)
#undef HKT_SIMD_MEMBER
} hkt_simd_table;

/* The table of hkt_isa_current(). */
const hkt_simd_table *hkt_simd(void);

extern const hkt_simd_table HKT_SIMD_NAME(table, generic), HKT_SIMD_NAME(table, avx2), HKT_SIMD_NAME(table, avx512),
    HKT_SIMD_NAME(table, neon);

#ifdef HKT_ISA_NAME
#define I(name)                                   HKT_SIMD_NAME(name, HKT_ISA_NAME)
#define HKT_SIMD_PROTOTYPE(type, name, arguments) type I(name) arguments;
HKT_SIMD_FUNCTIONS(HKT_SIMD_PROTOTYPE)
#undef HKT_SIMD_PROTOTYPE
#endif

#endif

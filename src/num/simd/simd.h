/* simd.h - the table of vector kernels. Every src/num/simd/NAME.c is compiled once per precision and instruction set
 * (macro HKT_ISA_NAME); its functions are written I(name) and become hkt_simd_name_f32_avx2 and so on. The rest of the
 * library calls them through R(hkt_simd)(), the table of the instruction set in use. Results may differ between
 * instruction sets by rounding; for one they are a pure function of the arguments. Private to src/num and its tests. */
#ifndef HKT_NUM_SIMD_SIMD_H
#define HKT_NUM_SIMD_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "num/real.h"

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
 * - mul_add: y[i] += a[i] x[i]. dot: the sum of x[i] y[i].
 * - softmax_row: one tile of an online softmax. x[0..n) holds scores; x = exp(x - new maximum), zero in x[n..n_pad);
 *   *max and *sum are updated; returns exp(old maximum - new), the factor of what was summed before.
 * - softmax_grad: x[0..n) holds scores, g[0..n) the gradient of the probabilities; x = exp(x - lse), g = x (g - delta),
 *   both zero in [n..n_pad). n_pad is a multiple of HKT_SIMD_PAD in both.
 * - tile_gemm: c [m, n] = a b (add: +=), a(i, t) = a[i rs + t cs], t < k, b [k, n]; n a multiple of HKT_SIMD_PAD.
 * - tile_expand: fine(i, j) = coarse((i + i0) / s, (j + j0) / s), i < m, j < n; i0, j0 < s.
 * - tile_reduce: the transpose: every entry of coarse is the sum of the fine entries above it. Destroys fine. */
#define HKT_SIMD_FUNCTIONS(F)                                                                                          \
    F(void, exp, (size_t n, const real *x, real *y))                                                                   \
    F(void, tanh, (size_t n, const real *x, real *y))                                                                  \
    F(void, gelu_forward, (size_t n, const real *x, real *y))                                                          \
    F(void, gelu_backward, (size_t n, const real *x, const real *dy, real *dx))                                        \
    F(void, axpy, (size_t n, real a, const real *x, real *y))                                                          \
    F(void, mul_add, (size_t n, const real *a, const real *x, real *y))                                                \
    F(void, dropout,                                                                                                   \
      (size_t n, size_t first, uint32_t threshold, real scale, uint64_t seed, uint64_t step, uint32_t site,            \
       const real *x, real *y))                                                                                        \
    F(void, layernorm_forward,                                                                                         \
      (size_t n, size_t d, const real *x, const real *gamma, const real *beta, real *y, real *mean, real *rstd))       \
    F(void, layernorm_backward,                                                                                        \
      (size_t n, size_t d, const real *x, const real *gamma, const real *mean, const real *rstd, const real *dy,       \
       real *dx, real *dgamma, real *dbeta))                                                                           \
    F(real, dot, (size_t n, const real *x, const real *y))                                                             \
    F(real, softmax_row, (size_t n, size_t n_pad, real * x, real * max, real * sum))                                   \
    F(void, softmax_grad, (size_t n, size_t n_pad, real * x, real * g, real lse, real delta))                          \
    F(void, tile_gemm,                                                                                                 \
      (size_t m, size_t n, size_t k, const real *a, size_t rs, size_t cs, const real *b, size_t ld_b, bool add,        \
       real *c, size_t ld_c))                                                                                          \
    F(void, tile_expand,                                                                                               \
      (size_t m, size_t n, size_t s, size_t i0, size_t j0, const real *coarse, size_t ld_coarse, real *fine,           \
       size_t ld_fine))                                                                                                \
    F(void, tile_reduce,                                                                                               \
      (size_t m, size_t n, size_t s, size_t i0, size_t j0, real * fine, size_t ld_fine, real * coarse,                 \
       size_t ld_coarse))

typedef struct {
#define HKT_SIMD_MEMBER(type, name, arguments) type(*name) arguments;
    HKT_SIMD_FUNCTIONS(HKT_SIMD_MEMBER)
#undef HKT_SIMD_MEMBER
} R(hkt_simd_table);

/* The table of hkt_isa_current(). */
const R(hkt_simd_table) *R(hkt_simd)(void);

extern const R(hkt_simd_table) HKT_SIMD_NAME(table, generic), HKT_SIMD_NAME(table, avx2), HKT_SIMD_NAME(table, avx512);

#ifdef HKT_ISA_NAME
#define I(name)                                   HKT_SIMD_NAME(name, HKT_ISA_NAME)
#define HKT_SIMD_PROTOTYPE(type, name, arguments) type I(name) arguments;
HKT_SIMD_FUNCTIONS(HKT_SIMD_PROTOTYPE)
#undef HKT_SIMD_PROTOTYPE
#endif

#endif

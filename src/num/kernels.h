/* kernels.h - the other kernels of a training step, each over a contiguous range of rows so that the caller can split
 * work between threads. Every fast kernel NAME has a naive NAME_ref with the same contract. Row-major, no aliasing
 * unless stated. Wide loops are compiled for several instruction sets and chosen at run time. */
#ifndef HKT_NUM_KERNELS_H
#define HKT_NUM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Instruction set in use: "avx512", "avx2" or "generic" on x86-64, "neon" on aarch64. HKT_ISA=generic|avx2|avx512 in
 * the environment lowers it; any other value, and a set that the processor lacks, is ignored. */
const char *hkt_isa(void);

#define HKT_LAYERNORM_EPS 1e-5
/* gelu(x) = x/2 (1 + tanh(HKT_GELU_SCALE (x + HKT_GELU_CUBIC x^3))), scale = sqrt(2/pi). */
#define HKT_GELU_SCALE 0.79788456080286535588
#define HKT_GELU_CUBIC 0.044715

#define hkt_vexp                    HKT_REAL_NAME(hkt_vexp)
#define hkt_vtanh                   HKT_REAL_NAME(hkt_vtanh)
#define hkt_linear_forward          HKT_REAL_NAME(hkt_linear_forward)
#define hkt_linear_pack             HKT_REAL_NAME(hkt_linear_pack)
#define hkt_linear_forward_packed   HKT_REAL_NAME(hkt_linear_forward_packed)
#define hkt_linear_backward_input   HKT_REAL_NAME(hkt_linear_backward_input)
#define hkt_linear_backward_weight  HKT_REAL_NAME(hkt_linear_backward_weight)
#define hkt_products                HKT_REAL_NAME(hkt_products)
#define hkt_layernorm_forward       HKT_REAL_NAME(hkt_layernorm_forward)
#define hkt_layernorm_backward      HKT_REAL_NAME(hkt_layernorm_backward)
#define hkt_layernorm_forward_ref   HKT_REAL_NAME(hkt_layernorm_forward_ref)
#define hkt_layernorm_backward_ref  HKT_REAL_NAME(hkt_layernorm_backward_ref)
#define hkt_gelu_forward            HKT_REAL_NAME(hkt_gelu_forward)
#define hkt_gelu_backward           HKT_REAL_NAME(hkt_gelu_backward)
#define hkt_gelu_forward_ref        HKT_REAL_NAME(hkt_gelu_forward_ref)
#define hkt_gelu_backward_ref       HKT_REAL_NAME(hkt_gelu_backward_ref)
#define hkt_downsample_forward      HKT_REAL_NAME(hkt_downsample_forward)
#define hkt_downsample_backward     HKT_REAL_NAME(hkt_downsample_backward)
#define hkt_downsample_forward_ref  HKT_REAL_NAME(hkt_downsample_forward_ref)
#define hkt_downsample_backward_ref HKT_REAL_NAME(hkt_downsample_backward_ref)
#define hkt_conv_forward            HKT_REAL_NAME(hkt_conv_forward)
#define hkt_conv_backward           HKT_REAL_NAME(hkt_conv_backward)
#define hkt_conv_forward_ref        HKT_REAL_NAME(hkt_conv_forward_ref)
#define hkt_conv_backward_ref       HKT_REAL_NAME(hkt_conv_backward_ref)
#define hkt_dropout                 HKT_REAL_NAME(hkt_dropout)
#define hkt_axpy                    HKT_REAL_NAME(hkt_axpy)
#define hkt_add                     HKT_REAL_NAME(hkt_add)
#define hkt_sum_rows                HKT_REAL_NAME(hkt_sum_rows)
#define hkt_dot_columns             HKT_REAL_NAME(hkt_dot_columns)
#define hkt_scale_rows              HKT_REAL_NAME(hkt_scale_rows)
#define hkt_mix                     HKT_REAL_NAME(hkt_mix)
#define hkt_sum_spans               HKT_REAL_NAME(hkt_sum_spans)
#define HKT_BODY                    "num/kernels.h"
#include "num/both.h"

#elif defined HKT_BODY

/* y[i] = exp(x[i]), tanh(x[i]): at most 2 ulp over the whole range; NaN and infinities as in C. y may equal x. */
void hkt_vexp(size_t n, const real *x, real *y);
void hkt_vtanh(size_t n, const real *x, real *y);

/* y [n, m] = x [n, k] w^T (+ bias), w [m, k] (stored [out, in]); ld_* row strides; bias [m] or NULL. */
void hkt_linear_forward(size_t n, size_t m, size_t k, const real *x, size_t ld_x, const real *w, const real *bias,
                        real *y, size_t ld_y);
/* The same with w_t [k, m] = w^T, made once by hkt_linear_pack for many calls. */
void hkt_linear_pack(size_t m, size_t k, const real *w, real *w_t);
void hkt_linear_forward_packed(size_t n, size_t m, size_t k, const real *x, size_t ld_x, const real *w_t,
                               const real *bias, real *y, size_t ld_y);
/* dx [n, k] = dy [n, m] w. */
void hkt_linear_backward_input(size_t n, size_t m, size_t k, const real *dy, size_t ld_dy, const real *w, real *dx,
                               size_t ld_dx);
/* dw [m, k] += dy^T x; db [m] += column sums of dy (NULL: none). */
void hkt_linear_backward_weight(size_t n, size_t m, size_t k, const real *dy, size_t ld_dy, const real *x, size_t ld_x,
                                real *dw, real *db);

/* out [n, m] = scale (x y^T), x [n, k] and y [m, k]: the scores of queries x and keys y. */
void hkt_products(size_t n, size_t m, size_t k, real scale, const real *x, size_t ld_x, const real *y, size_t ld_y,
                  real *out, size_t ld_out);

/* Layer norm (Ba et al. 2016), eps 1e-5, biased variance: xhat = (x - mean) rstd; y = gamma xhat + beta. x, y [n, d];
 * mean, rstd [n] out. */
void hkt_layernorm_forward(size_t n, size_t d, const real *x, const real *gamma, const real *beta, real *y, real *mean,
                           real *rstd);
/* dx [n, d] += (accumulates: the residual gradient is already there); dgamma, dbeta [d] +=. */
void hkt_layernorm_backward(size_t n, size_t d, const real *x, const real *gamma, const real *mean, const real *rstd,
                            const real *dy, real *dx, real *dgamma, real *dbeta);
void hkt_layernorm_forward_ref(size_t n, size_t d, const real *x, const real *gamma, const real *beta, real *y,
                               real *mean, real *rstd);
void hkt_layernorm_backward_ref(size_t n, size_t d, const real *x, const real *gamma, const real *mean,
                                const real *rstd, const real *dy, real *dx, real *dgamma, real *dbeta);

/* gelu, tanh form (Hendrycks & Gimpel 2016), off by a few eps |x|; y may equal x. Backward: dx[i] = dy[i] gelu'(x[i]);
 * dx may equal dy. y: gelu(x) once more, which costs little here, or NULL. */
void hkt_gelu_forward(size_t n, const real *x, real *y);
void hkt_gelu_backward(size_t n, const real *x, const real *dy, real *dx, real *y);
void hkt_gelu_forward_ref(size_t n, const real *x, real *y);
void hkt_gelu_backward_ref(size_t n, const real *x, const real *dy, real *dx);

/* One cascade step of one sequence (docs/model.md 2.1, step 1): y [ceil(T/s), d], y_j = sum_k a_k * x_{s j - k}; a [s,
 * d]. */
void hkt_downsample_forward(size_t T, size_t d, size_t s, const real *x, const real *a, real *y);
/* dx [T, d] += ; da [s, d] +=. */
void hkt_downsample_backward(size_t T, size_t d, size_t s, const real *x, const real *a, const real *dy, real *dx,
                             real *da);
void hkt_downsample_forward_ref(size_t T, size_t d, size_t s, const real *x, const real *a, real *y);
void hkt_downsample_backward_ref(size_t T, size_t d, size_t s, const real *x, const real *a, const real *dy, real *dx,
                                 real *da);

/* Causal depthwise convolution of one sequence (step 5): y_j = sum_{k<w} c_k * v_{j-k}; v [T, d] with row stride ld_v,
 * c [w, d], y [T, d] with row stride ld_y. */
void hkt_conv_forward(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, real *y, size_t ld_y);
/* dv [T, d] (ld_dv) += ; dc [w, d] +=. */
void hkt_conv_backward(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, const real *dy,
                       size_t ld_dy, real *dv, size_t ld_dv, real *dc);
void hkt_conv_forward_ref(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, real *y,
                          size_t ld_y);
void hkt_conv_backward_ref(size_t T, size_t d, size_t w, const real *v, size_t ld_v, const real *c, const real *dy,
                           size_t ld_dy, real *dv, size_t ld_dv, real *dc);

/* Inverted dropout by Philox: element i (global index first + i) is kept with probability 1 - rate, rate < 1, and
 * scaled by 1/(1 - rate). The mask is a pure function of (seed, step, site, index): the same call on the gradient is
 * the backward pass. Element i uses word (i % 64) / 16 of the block hkt_rng_block(seed, HKT_STREAM_DROPOUT, site, step
 * << 32 | b, ..), b = 16 (i / 64) + i % 16; step and b are below 2^32. x and y may be equal. */
void hkt_dropout(size_t n, size_t first, double rate, uint64_t seed, uint64_t step, uint32_t site, const real *x,
                 real *y);

/* y[i] += a x[i]. */
void hkt_axpy(size_t n, real a, const real *x, real *y);
/* out[i] = x[i] + y[i]; out may be x or y. */
void hkt_add(size_t n, const real *x, const real *y, real *out);
/* out [d] += column sums of x [n, d], row stride ld_x. */
void hkt_sum_rows(size_t n, size_t d, const real *x, size_t ld_x, real *out);
/* out [d] += column sums of x * y, both [n, d]. */
void hkt_dot_columns(size_t n, size_t d, const real *x, const real *y, real *out);
/* y = weight a * x, x and y [n, d], a [d]; y may equal x. */
void hkt_scale_rows(size_t n, size_t d, real weight, const real *a, const real *x, real *y);

/* The fusion of a level (step 6): out_i = weight (a * x_j + b * y_j), j = floor((i + skip) / span), i < n; added when
 * `add`. out [n, d], x and y [.., d], a and b [d]; b and y NULL: without them. */
void hkt_mix(size_t n, size_t d, size_t span, size_t skip, real weight, const real *a, const real *x, const real *b,
             const real *y, bool add, real *out);
/* Its transpose with weights 1: y_j = sum of x_i over s j <= i < min(s (j + 1), n); y [ceil(n/s), d]. */
void hkt_sum_spans(size_t n, size_t d, size_t s, const real *x, real *y);

#endif

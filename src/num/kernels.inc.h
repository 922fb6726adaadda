/* Body of kernels.h for one precision; see num/both.h. */

/* y[i] = exp(x[i]), tanh(x[i]): at most 2 ulp over the whole range; NaN and infinities as in C. y may equal x. */
void RN(hkt_vexp)(size_t n, const REAL *x, REAL *y);
void RN(hkt_vtanh)(size_t n, const REAL *x, REAL *y);

/* y [n, m] = x [n, k] w^T (+ bias), w [m, k] (stored [out, in]); ld_* row strides; bias [m] or NULL. */
void RN(hkt_linear_forward)(size_t n, size_t m, size_t k, const REAL *x, size_t ld_x, const REAL *w, const REAL *bias,
                            REAL *y, size_t ld_y);
/* The same with w_t [k, m] = w^T, made once by hkt_linear_pack for many calls. */
void RN(hkt_linear_pack)(size_t m, size_t k, const REAL *w, REAL *w_t);
void RN(hkt_linear_forward_packed)(size_t n, size_t m, size_t k, const REAL *x, size_t ld_x, const REAL *w_t,
                                   const REAL *bias, REAL *y, size_t ld_y);
/* dx [n, k] = dy [n, m] w. */
void RN(hkt_linear_backward_input)(size_t n, size_t m, size_t k, const REAL *dy, size_t ld_dy, const REAL *w, REAL *dx,
                                   size_t ld_dx);
/* dw [m, k] += dy^T x; db [m] += column sums of dy (NULL: none). */
void RN(hkt_linear_backward_weight)(size_t n, size_t m, size_t k, const REAL *dy, size_t ld_dy, const REAL *x,
                                    size_t ld_x, REAL *dw, REAL *db);

/* out [n, m] = scale (x y^T), x [n, k] and y [m, k]: the scores of queries x and keys y. */
void RN(hkt_products)(size_t n, size_t m, size_t k, REAL scale, const REAL *x, size_t ld_x, const REAL *y, size_t ld_y,
                      REAL *out, size_t ld_out);

/* Layer norm (Ba et al. 2016), eps 1e-5, biased variance: xhat = (x - mean) rstd; y = gamma xhat + beta. x, y [n, d];
 * mean, rstd [n] out. */
void RN(hkt_layernorm_forward)(size_t n, size_t d, const REAL *x, const REAL *gamma, const REAL *beta, REAL *y,
                               REAL *mean, REAL *rstd);
/* dx [n, d] += (accumulates: the residual gradient is already there); dgamma, dbeta [d] +=. */
void RN(hkt_layernorm_backward)(size_t n, size_t d, const REAL *x, const REAL *gamma, const REAL *mean,
                                const REAL *rstd, const REAL *dy, REAL *dx, REAL *dgamma, REAL *dbeta);
void RN(hkt_layernorm_forward_ref)(size_t n, size_t d, const REAL *x, const REAL *gamma, const REAL *beta, REAL *y,
                                   REAL *mean, REAL *rstd);
void RN(hkt_layernorm_backward_ref)(size_t n, size_t d, const REAL *x, const REAL *gamma, const REAL *mean,
                                    const REAL *rstd, const REAL *dy, REAL *dx, REAL *dgamma, REAL *dbeta);

/* gelu, tanh form (Hendrycks & Gimpel 2016), off by a few eps |x|; y may equal x. Backward: dx[i] = dy[i] gelu'(x[i]);
 * dx may equal dy. y: gelu(x) once more, which costs little here, or NULL. */
void RN(hkt_gelu_forward)(size_t n, const REAL *x, REAL *y);
void RN(hkt_gelu_backward)(size_t n, const REAL *x, const REAL *dy, REAL *dx, REAL *y);
void RN(hkt_gelu_forward_ref)(size_t n, const REAL *x, REAL *y);
void RN(hkt_gelu_backward_ref)(size_t n, const REAL *x, const REAL *dy, REAL *dx);

/* One cascade step of one sequence (docs/model.md 2.1, step 1): y [ceil(T/s), d], y_j = sum_k a_k * x_{s j - k}; a [s,
 * d]. */
void RN(hkt_downsample_forward)(size_t T, size_t d, size_t s, const REAL *x, const REAL *a, REAL *y);
/* dx [T, d] += ; da [s, d] +=. */
void RN(hkt_downsample_backward)(size_t T, size_t d, size_t s, const REAL *x, const REAL *a, const REAL *dy, REAL *dx,
                                 REAL *da);
void RN(hkt_downsample_forward_ref)(size_t T, size_t d, size_t s, const REAL *x, const REAL *a, REAL *y);
void RN(hkt_downsample_backward_ref)(size_t T, size_t d, size_t s, const REAL *x, const REAL *a, const REAL *dy,
                                     REAL *dx, REAL *da);

/* Causal depthwise convolution of one sequence (step 5): y_j = sum_{k<w} c_k * v_{j-k}; v [T, d] with row stride ld_v,
 * c [w, d], y [T, d] with row stride ld_y. */
void RN(hkt_conv_forward)(size_t T, size_t d, size_t w, const REAL *v, size_t ld_v, const REAL *c, REAL *y,
                          size_t ld_y);
/* dv [T, d] (ld_dv) += ; dc [w, d] +=. */
void RN(hkt_conv_backward)(size_t T, size_t d, size_t w, const REAL *v, size_t ld_v, const REAL *c, const REAL *dy,
                           size_t ld_dy, REAL *dv, size_t ld_dv, REAL *dc);
void RN(hkt_conv_forward_ref)(size_t T, size_t d, size_t w, const REAL *v, size_t ld_v, const REAL *c, REAL *y,
                              size_t ld_y);
void RN(hkt_conv_backward_ref)(size_t T, size_t d, size_t w, const REAL *v, size_t ld_v, const REAL *c, const REAL *dy,
                               size_t ld_dy, REAL *dv, size_t ld_dv, REAL *dc);

/* Inverted dropout by Philox: element i (global index first + i) is kept with probability 1 - rate, rate < 1, and
 * scaled by 1/(1 - rate). The mask is a pure function of (seed, step, site, index): the same call on the gradient is
 * the backward pass. Element i uses word (i % 64) / 16 of the block hkt_rng_block(seed, HKT_STREAM_DROPOUT, site, step
 * << 32 | b, ..), b = 16 (i / 64) + i % 16; step and b are below 2^32. x and y may be equal. */
void RN(hkt_dropout)(size_t n, size_t first, double rate, uint64_t seed, uint64_t step, uint32_t site, const REAL *x,
                     REAL *y);

/* y[i] += a x[i]. */
void RN(hkt_axpy)(size_t n, REAL a, const REAL *x, REAL *y);
/* out[i] = x[i] + y[i]; out may be x or y. */
void RN(hkt_add)(size_t n, const REAL *x, const REAL *y, REAL *out);
/* out [d] += column sums of x [n, d], row stride ld_x. */
void RN(hkt_sum_rows)(size_t n, size_t d, const REAL *x, size_t ld_x, REAL *out);
/* out [d] += column sums of x * y, both [n, d]. */
void RN(hkt_dot_columns)(size_t n, size_t d, const REAL *x, const REAL *y, REAL *out);
/* y = weight a * x, x and y [n, d], a [d]; y may equal x. */
void RN(hkt_scale_rows)(size_t n, size_t d, REAL weight, const REAL *a, const REAL *x, REAL *y);

/* The fusion of a level (step 6): out_i = weight (a * x_j + b * y_j), j = floor((i + skip) / span), i < n; added when
 * `add`. out [n, d], x and y [.., d], a and b [d]; b and y NULL: without them. */
void RN(hkt_mix)(size_t n, size_t d, size_t span, size_t skip, REAL weight, const REAL *a, const REAL *x, const REAL *b,
                 const REAL *y, bool add, REAL *out);
/* Its transpose with weights 1: y_j = sum of x_i over s j <= i < min(s (j + 1), n); y [ceil(n/s), d]. */
void RN(hkt_sum_spans)(size_t n, size_t d, size_t s, const REAL *x, REAL *y);

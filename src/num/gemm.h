/* gemm.h - row-major matrix products of the precision of this source, on cblas. Private to src/num. */
#ifndef HKT_NUM_GEMM_H
#define HKT_NUM_GEMM_H

#include <cblas.h>
#include <stddef.h>

#include "num/real.h"

#ifdef HKT_REAL_F64
#define HKT_CBLAS(name) cblas_d##name
#else
#define HKT_CBLAS(name) cblas_s##name
#endif

/* c [m, n] = alpha a [m, k] b [k, n] + beta c. */
static inline void gemm_nn(size_t m, size_t n, size_t k, real alpha, const real *a, size_t ld_a, const real *b,
                           size_t ld_b, real beta, real *c, size_t ld_c)
{
    HKT_CBLAS(gemm)
    (CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, alpha, a, (blasint)ld_a, b,
     (blasint)ld_b, beta, c, (blasint)ld_c);
}

/* c [m, n] = alpha a [m, k] b^T + beta c, b [n, k]. */
static inline void gemm_nt(size_t m, size_t n, size_t k, real alpha, const real *a, size_t ld_a, const real *b,
                           size_t ld_b, real beta, real *c, size_t ld_c)
{
    HKT_CBLAS(gemm)
    (CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)m, (blasint)n, (blasint)k, alpha, a, (blasint)ld_a, b,
     (blasint)ld_b, beta, c, (blasint)ld_c);
}

/* c [m, n] = alpha a^T b + beta c, a [k, m], b [k, n]. */
static inline void gemm_tn(size_t m, size_t n, size_t k, real alpha, const real *a, size_t ld_a, const real *b,
                           size_t ld_b, real beta, real *c, size_t ld_c)
{
    HKT_CBLAS(gemm)
    (CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, alpha, a, (blasint)ld_a, b,
     (blasint)ld_b, beta, c, (blasint)ld_c);
}

#endif

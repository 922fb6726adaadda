/* vec.h - vectors as wide as the instruction set of this unit, whose results do not depend on that width. Elements that
 * do not meet are given the same operations everywhere, the fused multiply-add among them. Sums across a vector are
 * taken over BLOCK virtual lanes, those of the widest vector: element i goes to lane i mod BLOCK, and the lanes are
 * added by halves. Nothing is left to fast-math or to the compiler (-ffp-contract=off). */
#ifndef HKT_NUM_SIMD_VEC_H
#define HKT_NUM_SIMD_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "num/real.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define HKT_VEC_BYTES 64
#elif defined(__AVX2__)
#define HKT_VEC_BYTES 32
#else
#define HKT_VEC_BYTES 16
#endif

#ifdef HKT_REAL_F64
typedef uint64_t bits;
#else
typedef uint32_t bits;
#endif
typedef real vec __attribute__((vector_size(HKT_VEC_BYTES)));
typedef real vec_unaligned __attribute__((vector_size(HKT_VEC_BYTES), aligned(sizeof(real)), may_alias));
typedef bits vec_bits __attribute__((vector_size(HKT_VEC_BYTES))); /* also masks: all ones or zero per lane */
enum {
    LANES = HKT_VEC_BYTES / sizeof(real),
    BLOCK = 64 / sizeof(real), /* virtual lanes */
    PARTS = BLOCK / LANES      /* vectors that hold them */
};

#define VEC_INLINE static inline __attribute__((always_inline))

/* a b + c, rounded once; a call of the C library where the processor cannot. */
#ifdef HKT_REAL_F64
#define FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#endif

#if defined(__AVX512F__) && defined(HKT_REAL_F64)
#define VEC_OP(op)   _mm512_##op##_pd
#define VEC_MASK     __mmask8
#define VEC_CMP_MASK _mm512_cmp_pd_mask
#elif defined(__AVX512F__)
#define VEC_OP(op)   _mm512_##op##_ps
#define VEC_MASK     __mmask16
#define VEC_CMP_MASK _mm512_cmp_ps_mask
#elif defined(__FMA__) && defined(HKT_REAL_F64)
#define VEC_OP(op) _mm256_##op##_pd
#elif defined(__FMA__)
#define VEC_OP(op) _mm256_##op##_ps
#endif

VEC_INLINE vec vec_load(const real *x)
{
    return *(const vec_unaligned *)x;
}

VEC_INLINE void vec_store(real *x, vec v)
{
    *(vec_unaligned *)x = v;
}

/* All ones in the first n lanes. */
VEC_INLINE vec_bits vec_first(size_t n)
{
    vec_bits lane;
    for (bits i = 0; i < LANES; i++)
        lane[i] = i;
    return (vec_bits)(lane < (bits)n);
}

/* The first n values (all LANES when n is larger), zero in the other lanes. */
VEC_INLINE vec vec_load_n(const real *x, size_t n)
{
    if (n >= LANES)
        return vec_load(x);
#if defined(__AVX512F__)
    return VEC_OP(maskz_loadu)((VEC_MASK)((1u << n) - 1), x);
#elif defined(__FMA__)
    return VEC_OP(maskload)(x, (__m256i)vec_first(n));
#else
    vec v = {0};
    for (size_t i = 0; i < n; i++)
        v[i] = x[i];
    return v;
#endif
}

VEC_INLINE void vec_store_n(real *x, size_t n, vec v)
{
    if (n >= LANES) {
        vec_store(x, v);
        return;
    }
#if defined(__AVX512F__)
    VEC_OP(mask_storeu)(x, (VEC_MASK)((1u << n) - 1), v);
#elif defined(__FMA__)
    VEC_OP(maskstore)(x, (__m256i)vec_first(n), v);
#else
    for (size_t i = 0; i < n; i++)
        x[i] = v[i];
#endif
}

/* Runs the statements for i = 0, LANES, 2 LANES, .. < n with left = the number of valid lanes: one copy in which the
 * compiler knows that all are, one for the rest. */
#define VEC_LOOP(i, left, n, ...)                                                                                      \
    do {                                                                                                               \
        size_t i = 0;                                                                                                  \
        for (; i + LANES <= (n); i += LANES) {                                                                         \
            const size_t left = LANES;                                                                                 \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
        if (i < (n)) {                                                                                                 \
            const size_t left = (n)-i;                                                                                 \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    } while (0)

VEC_INLINE vec vec_set(real x)
{
    return x - (vec){0}; /* x in every lane; x + 0 would turn -0 into 0 and therefore cost an addition */
}

/* a b + c, rounded once. */
#if defined(VEC_OP)
VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return VEC_OP(fmadd)(a, b, c);
}
#elif defined(__ARM_NEON) && defined(__aarch64__)
VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
#ifdef HKT_REAL_F64
    return (vec)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#endif
}
#elif defined(__SSE2__) && !defined(HKT_REAL_F64)
typedef double pair __attribute__((vector_size(16)));
typedef int64_t pair_bits __attribute__((vector_size(16)));

/* a b + c for floats held as doubles, rounded to odd (Boldo & Melquiond 2008, section 3), so that rounding it to a
 * float afterwards is the only rounding: a b is exact in a double, and the sum's error is known (Knuth's two-sum). An
 * inexact sum whose last bit is 0 moves to its neighbour on the side of the error. No comparison holds for the error of
 * an infinite sum, which is not a number. */
VEC_INLINE __m128 fma_odd(__m128d a, __m128d b, __m128d c)
{
    pair product = (pair)a * (pair)b, sum = product + (pair)c, part = sum - product;
    pair error = (product - (sum - part)) + ((pair)c - part);
    pair_bits inexact = (error > 0) | (error < 0), even = ((pair_bits)sum & 1) - 1;
    pair_bits away = (error > 0) ^ (sum < 0); /* all ones: the neighbour has the larger magnitude */
    return _mm_cvtpd_ps((__m128d)((pair_bits)sum + (inexact & even & ((away & 2) - 1))));
}

VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
#define HIGH(v) _mm_cvtps_pd(_mm_movehl_ps(v, v))
    __m128 low = fma_odd(_mm_cvtps_pd(a), _mm_cvtps_pd(b), _mm_cvtps_pd(c));
    return (vec)_mm_movelh_ps(low, fma_odd(HIGH(a), HIGH(b), HIGH(c)));
#undef HIGH
}
#else
VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
    vec sum;
    for (size_t i = 0; i < LANES; i++)
        sum[i] = FMA(a[i], b[i], c[i]);
    return sum;
}
#endif

/* Lane by lane mask ? a : b. */
VEC_INLINE vec vec_select(vec_bits mask, vec a, vec b)
{
    return (vec)(((vec_bits)a & mask) | ((vec_bits)b & ~mask));
}

/* v, with zero in the lanes where x < low. */
VEC_INLINE vec vec_zero_below(vec x, real low, vec v)
{
#if defined(__AVX512F__)
    return VEC_OP(maskz_mov)(VEC_CMP_MASK(x, vec_set(low), _CMP_NLT_UQ), v);
#else
    return vec_select((vec_bits)(x < low), (vec){0}, v);
#endif
}

/* Lane by lane the larger (smaller); b where a or b is NaN. */
VEC_INLINE vec vec_max(vec a, vec b)
{
#ifdef VEC_OP
    return VEC_OP(max)(a, b);
#else
    return vec_select((vec_bits)(a > b), a, b);
#endif
}

VEC_INLINE vec vec_min(vec a, vec b)
{
#ifdef VEC_OP
    return VEC_OP(min)(a, b);
#else
    return vec_select((vec_bits)(a < b), a, b);
#endif
}

/* --- sums across lanes ----------------------------------------------------------------------------------------------
 */

/* One value per virtual lane. */
typedef struct {
    vec part[PARTS];
} vec_block;

/* Lanes of part w when `left` elements remain. */
VEC_INLINE size_t lanes_left(size_t left, size_t w)
{
    return left <= w * LANES ? 0 : left - w * LANES;
}

/* Runs the statements for i = 0, BLOCK, 2 BLOCK, .. < n and the parts w of each block, with left = the number of valid
 * lanes from i + w LANES on, 0 when there is none: VEC_LOOP for sums across lanes. */
#define BLOCK_LOOP(i, w, left, n, ...)                                                                                 \
    do {                                                                                                               \
        size_t i = 0;                                                                                                  \
        for (; i + BLOCK <= (n); i += BLOCK)                                                                           \
            for (size_t w = 0; w < PARTS; w++) {                                                                       \
                const size_t left = LANES;                                                                             \
                __VA_ARGS__                                                                                            \
            }                                                                                                          \
        for (size_t w = 0; w < PARTS && i < (n); w++) {                                                                \
            const size_t left = lanes_left((n)-i, w);                                                                  \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    } while (0)

typedef real vec_quarter __attribute__((vector_size(16)));

/* The BLOCK lanes reduced by halves, lane i with lane i + half, down to the last 16 bytes; OP(a, b) for the vectors of
 * each width. */
#if HKT_VEC_BYTES > 16
typedef real vec_half __attribute__((vector_size(HKT_VEC_BYTES / 2)));
typedef union {
    vec whole;
    vec_half half[2];
    vec_quarter quarter[HKT_VEC_BYTES / 16];
} vec_parts;
#endif

VEC_INLINE real vec_sum(vec_block b)
{
    for (size_t n = PARTS / 2; n > 0; n /= 2)
        for (size_t i = 0; i < n; i++)
            b.part[i] += b.part[i + n];
#if HKT_VEC_BYTES > 16
    vec_parts u = {b.part[0]};
#if HKT_VEC_BYTES == 64
    u.half[0] += u.half[1];
#endif
    vec_quarter q = u.quarter[0] + u.quarter[1];
#else
    vec_quarter q = b.part[0];
#endif
#ifdef HKT_REAL_F64
    return q[0] + q[1];
#else
    return (q[0] + q[2]) + (q[1] + q[3]);
#endif
}

/* The largest lane, in any order: it is the same value. */
VEC_INLINE real vec_largest(vec v)
{
    typedef bits mask_quarter __attribute__((vector_size(16)));
    union {
        vec whole;
        vec_quarter part[HKT_VEC_BYTES / 16];
    } u = {v};
    vec_quarter q = u.part[0];
    for (size_t i = 1; i < HKT_VEC_BYTES / 16; i++) {
        mask_quarter larger = (mask_quarter)(u.part[i] > q);
        q = (vec_quarter)(((mask_quarter)u.part[i] & larger) | ((mask_quarter)q & ~larger));
    }
    real most = q[0];
    for (size_t i = 1; i < 16 / sizeof(real); i++)
        most = q[i] > most ? q[i] : most;
    return most;
}

#endif

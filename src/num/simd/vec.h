/* vec.h - vectors as wide as the instruction set of this unit. Reductions keep one partial sum per lane and add the
 * lanes in a fixed order, so that no fast-math is needed. */
#ifndef HKT_NUM_SIMD_VEC_H
#define HKT_NUM_SIMD_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "num/real.h"

#if defined(__FMA__)
#include <immintrin.h>
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
enum { LANES = HKT_VEC_BYTES / sizeof(real) };

#define VEC_INLINE static inline __attribute__((always_inline))

/* a b + c, rounded once where the instruction set can do so at speed. */
#if !defined(__FMA__)
#define FMA(a, b, c) ((a) * (b) + (c))
#elif defined(HKT_REAL_F64)
#define FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#endif

#if defined(__AVX512F__) && defined(HKT_REAL_F64)
#define VEC_OP(op)   _mm512_##op##_pd
#define VEC_CMP_MASK _mm512_cmp_pd_mask
#elif defined(__AVX512F__)
#define VEC_OP(op)   _mm512_##op##_ps
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

/* The first n values (all LANES when n is larger), zero in the other lanes. */
VEC_INLINE vec vec_load_n(const real *x, size_t n)
{
    if (n >= LANES)
        return vec_load(x);
    vec v = {0};
    for (size_t i = 0; i < n; i++)
        v[i] = x[i];
    return v;
}

VEC_INLINE void vec_store_n(real *x, size_t n, vec v)
{
    if (n >= LANES)
        vec_store(x, v);
    else
        for (size_t i = 0; i < n; i++)
            x[i] = v[i];
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

VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
#ifdef VEC_OP
    return VEC_OP(fmadd)(a, b, c);
#else
    return a * b + c;
#endif
}

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

/* 1/x for 1 <= x <= 2, off by at most 2 ulp; NaN passes. */
VEC_INLINE vec vec_inverse(vec x)
{
#if defined(__AVX512F__)
    /* Newton's step y (2 - x y) squares the relative error, 2^-14 at first. */
    vec y = VEC_OP(rcp14)(x);
    y = vec_fma(y, vec_fma(-x, y, vec_set(1)), y);
    return sizeof(real) == 4 ? y : vec_fma(y, vec_fma(-x, y, vec_set(1)), y);
#else
    return 1 / x;
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

/* The lanes are combined first 16 bytes with 16 bytes, then one by one. */
typedef real vec_quarter __attribute__((vector_size(16)));
typedef union {
    vec whole;
    vec_quarter part[HKT_VEC_BYTES / 16];
} vec_parts;

VEC_INLINE real vec_sum(vec v)
{
    vec_parts u = {v};
    vec_quarter q = u.part[0];
    for (size_t i = 1; i < HKT_VEC_BYTES / 16; i++)
        q += u.part[i];
    real sum = q[0];
    for (size_t i = 1; i < 16 / sizeof(real); i++)
        sum += q[i];
    return sum;
}

VEC_INLINE real vec_largest(vec v)
{
    typedef bits mask_quarter __attribute__((vector_size(16)));
    vec_parts u = {v};
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

/* All ones in the first n lanes. */
VEC_INLINE vec_bits vec_first(size_t n)
{
    vec_bits lane;
    for (bits i = 0; i < LANES; i++)
        lane[i] = i;
    return (vec_bits)(lane < (bits)n);
}

#endif

/* vmath.h - exp and tanh of a vector, without branches.
 *
 * exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 with ln 2 in two parts (Cody & Waite 1980), |r| <= ln(2)/2;
 * exp(r) - 1 by its Taylor polynomial of degree N. Its remainder, about |r|^(N+1)/(N+1)!, is at most 5e-9 for N = 7
 * (float; half an ulp of 1 is 6e-8) and 4e-18 for N = 13 (double; 1.1e-16). */
#ifndef HKT_NUM_SIMD_VMATH_H
#define HKT_NUM_SIMD_VMATH_H

#include "num/simd/vec.h"

#ifdef HKT_REAL_F64
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023u
#define ROUNDER       0x1.8p52                   /* adding it rounds to an integer, held in the low bits */
#define EXP_HIGH      710.0                      /* exp overflows */
#define EXP_LOW       -746.0                     /* exp rounds to zero */
#define EXP2_SMALL    -865.617                   /* far below rounding beside 1, far above subnormal */
#define TANH_HIGH     20.0                       /* tanh rounds to 1 */
#define LN2_HIGH      6.93147180369123816490e-01 /* 32 bits: n LN2_HIGH is exact */
#define LN2_LOW       1.90821492927058770002e-10
#else
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127u
#define ROUNDER       0x1.8p23f
#define EXP_HIGH      89.0f
#define EXP_LOW       -104.0f
#define EXP2_SMALL    -92.3325f /* 64 log2 e */
#define TANH_HIGH     10.0f
#define LN2_HIGH      0.693359375f /* 10 bits */
#define LN2_LOW       -2.12194440e-4f
#endif
#define LOG2_E   REAL_C(1.44269504088896340736)
#define SIGN_BIT ((bits)1 << (8 * sizeof(real) - 1))

/* Returns n modulo 2^32 (2^64); *r = x - n ln 2; x in [EXP_LOW, EXP_HIGH] or NaN. */
VEC_INLINE vec_bits exp_reduce(vec x, vec *r)
{
    vec t = vec_fma(x, vec_set(LOG2_E), vec_set(ROUNDER)), n = t - ROUNDER;
    *r = vec_fma(-n, vec_set(LN2_LOW), vec_fma(-n, vec_set(LN2_HIGH), x));
    return (vec_bits)t - (vec_bits)vec_set(ROUNDER);
}

/* exp(r) - 1. */
VEC_INLINE vec exp_tail(vec r)
{
#define TERM(factorial) q = vec_fma(q, r, vec_set((real)(1.0 / factorial)))
#ifdef HKT_REAL_F64
    vec q = vec_set(1.0 / 6227020800.0); /* 1/13! */
    TERM(479001600.0);
    TERM(39916800.0);
    TERM(3628800.0);
    TERM(362880.0);
    TERM(40320.0);
    TERM(5040.0);
#else
    vec q = vec_set((real)(1.0 / 5040.0)); /* 1/7! */
#endif
    TERM(720.0);
    TERM(120.0);
    TERM(24.0);
    TERM(6.0);
    TERM(2.0);
#undef TERM
    return vec_fma(q, r * r, r);
}

/* 2^n is applied as two factors, each a normal number, so that subnormal results are rounded once. NaN passes the
 * limits. */
VEC_INLINE vec vec_exp(vec x)
{
    vec r;
    vec_bits n = exp_reduce(vec_min(vec_set(EXP_HIGH), vec_max(vec_set(EXP_LOW), x)), &r) + 2 * EXPONENT_BIAS;
    vec_bits n1 = n >> 1, n2 = n - n1;
    return (1 + exp_tail(r)) * (vec)(n1 << MANTISSA_BITS) * (vec)(n2 << MANTISSA_BITS);
}

/* 2^x for x <= 1, zero for x < EXP2_SMALL: what softmax and gelu need. No result, nor its product with an ordinary
 * number, is subnormal, which would cost a hundred cycles each. 2^x = 2^n 2^r, n = round(x), by the polynomial of least
 * relative error on |r| <= 1/2 (Remez): 2e-9 for degree 6 (float), 4e-18 for degree 11 (double). */
VEC_INLINE vec vec_exp2_flush(vec x)
{
    vec t = x + ROUNDER, r = x - (t - ROUNDER);
#define TERM(c) q = vec_fma(q, r, vec_set(c))
#ifdef HKT_REAL_F64
    vec q = vec_set(4.4352809446103361611e-10);
    TERM(7.0741056262456593708e-9);
    TERM(1.0178198033328527662e-7);
    TERM(1.3215433089594629037e-6);
    TERM(1.52527334899608046e-5);
    TERM(1.5403530462514613026e-4);
    TERM(1.3333558146789950323e-3);
    TERM(9.6181291075883350833e-3);
    TERM(5.5504108664819921483e-2);
    TERM(2.4022650695910156205e-1);
    TERM(6.9314718055994533046e-1);
#else
    vec q = vec_set(1.5345812158740182e-4f);
    TERM(1.3399931209474140e-3f);
    TERM(9.6184889565227916e-3f);
    TERM(5.5503287769976638e-2f);
    TERM(2.4022646890639572e-1f);
    TERM(6.9314720573725267e-1f);
#endif
    TERM(1);
#undef TERM
    /* The factor 2^n is added to the exponent: the result is a normal number. */
    return vec_zero_below(x, EXP2_SMALL, (vec)((vec_bits)q + ((vec_bits)t << MANTISSA_BITS)));
}

/* With e = exp(2|x|) - 1 = 2^n (exp(r) - 1) + (2^n - 1): tanh|x| = q = e / (e + 2), corrected by its residual
 * e - q (e + 2), because the rounding of e + 2 alone would cost up to an ulp. Its two forms are each accurate on their
 * side. */
VEC_INLINE vec vec_tanh(vec x)
{
    vec_bits sign = (vec_bits)x & SIGN_BIT;
    vec r, a = vec_min(vec_set(TANH_HIGH), (vec)((vec_bits)x ^ sign));
    vec power = (vec)((exp_reduce(2 * a, &r) + EXPONENT_BIAS) << MANTISSA_BITS);
    vec e = vec_fma(power, exp_tail(r), power - 1), inverse = 1 / (e + 2), q = e * inverse;
    vec residual = vec_select((vec_bits)(q < REAL_C(0.5)), vec_fma(-q, e, e - 2 * q), vec_fma(e, 1 - q, -2 * q));
    q = vec_fma(residual, inverse, q);
    return (vec)((vec_bits)vec_min(vec_set(1), q) | sign);
}

#endif

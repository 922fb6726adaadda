/* elementwise.c - loops over independent elements. */
#include <string.h>

#include "num/kernels.h"
#include "num/simd/simd.h"
#include "num/simd/vmath.h"

#include "base/rng.h"

void I(exp)(size_t n, const real *x, real *y)
{
    VEC_LOOP(i, left, n, vec_store_n(y + i, left, vec_exp(vec_load_n(x + i, left))););
}

void I(tanh)(size_t n, const real *x, real *y)
{
    VEC_LOOP(i, left, n, vec_store_n(y + i, left, vec_tanh(vec_load_n(x + i, left))););
}

/* gelu(x) = x sigma(2u), u = scale (x + cubic x^3), since (1 + tanh u)/2 = sigma(2u). With e = exp(-2|u|) = 2^(-2 |u|
 * log2 e) <= 1, sigma(2u) is 1/(1 + e) or e/(1 + e), and its derivative sigma (1 - sigma) = e/(1 + e)^2: nothing
 * overflows or cancels. */
VEC_INLINE vec gelu_sigma(vec x, vec *slope)
{
    vec u = 2 * LOG2_E * (real)HKT_GELU_SCALE * x * vec_fma((real)HKT_GELU_CUBIC * x, x, vec_set(1));
    vec e = vec_exp2_flush((vec)((vec_bits)u | SIGN_BIT)), s = 1 / (1 + e);
    *slope = e * s * s;
    return vec_select((vec_bits)(u < 0), e * s, s);
}

void I(gelu_forward)(size_t n, const real *x, real *y)
{
    VEC_LOOP(i, left, n, {
        vec v = vec_load_n(x + i, left), slope;
        vec_store_n(y + i, left, v * gelu_sigma(v, &slope));
    });
}

/* (x sigma(2u))' = sigma + x sigma' (2u)', (2u)' = 2 scale (1 + 3 cubic x^2). */
void I(gelu_backward)(size_t n, const real *x, const real *dy, real *dx, real *y)
{
    VEC_LOOP(i, left, n, {
        vec v = vec_load_n(x + i, left), slope, sigma = gelu_sigma(v, &slope);
        vec du = 2 * (real)HKT_GELU_SCALE * vec_fma((real)(3 * HKT_GELU_CUBIC) * v, v, vec_set(1));
        vec_store_n(dx + i, left, vec_load_n(dy + i, left) * vec_fma(v * slope, du, sigma));
        if (y)
            vec_store_n(y + i, left, v * sigma);
    });
}

void I(axpy)(size_t n, real a, const real *x, real *y)
{
    VEC_LOOP(i, left, n, {
        vec sum = vec_fma(vec_set(a), vec_load_n(x + i, left), vec_load_n(y + i, left));
        vec_store_n(y + i, left, sum);
    });
}

void I(add)(size_t n, const real *x, const real *y, real *out)
{
    VEC_LOOP(i, left, n, vec_store_n(out + i, left, vec_load_n(x + i, left) + vec_load_n(y + i, left)););
}

/* One block gives four words; 16 blocks side by side give the words of GROUP elements. */
enum { BLOCKS = 16, GROUP = 4 * BLOCKS };

typedef uint64_t wide __attribute__((vector_size(HKT_VEC_BYTES)));
typedef uint32_t narrow __attribute__((vector_size(HKT_VEC_BYTES / 2)));
enum { WIDE_LANES = HKT_VEC_BYTES / 8 };

/* Products of the low halves of the lanes. */
VEC_INLINE wide multiply_low(wide a, uint32_t b)
{
#if HKT_VEC_BYTES == 64
    return (wide)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(b));
#elif HKT_VEC_BYTES == 32
    return (wide)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
#else
    return (a & 0xffffffffu) * b;
#endif
}

/* Philox4x32-10 (Salmon et al. 2011, section 3.3) with the key and counter of hkt_rng_block(seed, HKT_STREAM_DROPOUT,
 * site, step << 32 | block, ..) for the blocks of one group: word w of block b goes to out[BLOCKS w + b]. The high
 * halves of the lanes hold rubbish that nothing reads. */
static void philox_group(uint64_t seed, uint64_t step, uint32_t site, uint32_t group, uint32_t out[GROUP])
{
    for (uint32_t first = 0; first < BLOCKS; first += WIDE_LANES) {
        uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
        wide x0, x1 = step - (wide){0}, x2 = HKT_STREAM_DROPOUT - (wide){0}, x3 = site - (wide){0};
        for (uint32_t i = 0; i < WIDE_LANES; i++)
            x0[i] = BLOCKS * group + first + i;
        for (int round = 0; round < 10; round++, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
            wide a = multiply_low(x0, 0xD2511F53u), b = multiply_low(x2, 0xCD9E8D57u);
            x0 = (b >> 32) ^ x1 ^ key0;
            x1 = b;
            x2 = (a >> 32) ^ x3 ^ key1;
            x3 = a;
        }
        wide x[4] = {x0, x1, x2, x3};
        for (int w = 0; w < 4; w++) {
            narrow words = __builtin_convertvector(x[w], narrow);
            memcpy(out + BLOCKS * w + first, &words, sizeof words);
        }
    }
}

/* Element i takes word (i % 64) / 16 of block 16 (i / 64) + i % 16. */
void I(dropout)(size_t n, size_t first, uint32_t threshold, real scale, uint64_t seed, uint64_t step, uint32_t site,
                const real *x, real *y)
{
    uint32_t word[GROUP];
    real factor[GROUP];
    for (size_t i = 0; i < n;) {
        size_t skip = (first + i) % GROUP, count = GROUP - skip < n - i ? GROUP - skip : n - i;
        philox_group(seed, step, site, (uint32_t)((first + i) / GROUP), word);
        for (int j = 0; j < GROUP; j++)
            factor[j] = word[j] >= threshold ? scale : 0;
        VEC_LOOP(j, left, count,
                 { vec_store_n(y + i + j, left, vec_load_n(x + i + j, left) * vec_load_n(factor + skip + j, left)); });
        i += count;
    }
}

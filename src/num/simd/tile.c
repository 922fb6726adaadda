/* tile.c - small matrix products and the change of resolution of score tiles. */
#include <string.h>

#include "num/simd/simd.h"
#include "num/simd/vec.h"

enum { MAX_ROWS = 12, MAX_VECS = 4 };

/* c [rows, vecs] = init + a b in registers; rows and vecs are constants at every call. */
VEC_INLINE void micro(int rows, int vecs, size_t k, const real *a, size_t rs, size_t cs, const real *b, size_t ld_b,
                      const real *init, size_t ld_init, real *c, size_t ld_c)
{
    vec sum[MAX_ROWS][MAX_VECS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++)
            sum[i][v] = init ? vec_load(init + (size_t)i * ld_init + (size_t)v * LANES) : (vec){0};
    const real *group[MAX_ROWS / 3];
    for (int g = 0; g < (rows + 2) / 3; g++)
        group[g] = a + 3 * (size_t)g * rs;
    for (size_t t = 0; t < k; t++, b += ld_b) {
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vecs; v++)
                sum[i][v] =
                    vec_fma(vec_set(group[i / 3][(size_t)(i % 3) * rs]), vec_load(b + (size_t)v * LANES), sum[i][v]);
        for (int g = 0; g < (rows + 2) / 3; g++)
            group[g] += cs;
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++)
            vec_store(c + (size_t)i * ld_c + (size_t)v * LANES, sum[i][v]);
}

/* All rows of one panel of vecs vectors: most in blocks of `rows`, the rest by four and one. */
VEC_INLINE void panel(int rows, int vecs, size_t m, size_t k, const real *a, size_t rs, size_t cs, const real *b,
                      size_t ld_b, const real *init, size_t ld_init, real *c, size_t ld_c)
{
#define MICRO(rows)                                                                                                    \
    micro(rows, vecs, k, a + i * rs, rs, cs, b, ld_b, init ? init + i * ld_init : NULL, ld_init, c + i * ld_c, ld_c)
    size_t i = 0, step = (size_t)rows;
    for (; i + step <= m; i += step)
        MICRO(rows);
    for (; i + 4 <= m; i += 4)
        MICRO(4);
    for (; i < m; i++)
        MICRO(1);
#undef MICRO
}

/* Register blocks: enough sums to hide the latency of fma, few enough to stay in the 32 registers of AVX-512, else 16.
 */
void I(tile_gemm)(size_t m, size_t n, size_t k, const real *a, size_t rs, size_t cs, const real *b, size_t ld_b,
                  const real *init, size_t ld_init, real *c, size_t ld_c)
{
#define PANELS(rows, vecs)                                                                                             \
    for (; j + vecs * LANES <= n; j += vecs * LANES)                                                                   \
    panel(rows, vecs, m, k, a, rs, cs, b + j, ld_b, init ? init + j : NULL, ld_init, c + j, ld_c)
    size_t j = 0;
#if HKT_VEC_BYTES == 64
    PANELS(6, 4);
    PANELS(8, 2);
#else
    PANELS(6, 2);
#endif
    PANELS(12, 1);
#undef PANELS
}

/* The entries of `coarse` each repeated s times; the first one s - j0 times. */
static void expand_row(size_t n, size_t s, size_t j0, const real *restrict coarse, real *restrict fine)
{
    for (; n > 0 && j0 > 0 && j0 < s; j0++, n--)
        *fine++ = *coarse;
    coarse += j0 > 0;
    size_t whole = n / s;
    if (s == 2) {
        for (size_t c = 0; c < whole; c++)
            fine[2 * c] = fine[2 * c + 1] = coarse[c];
    } else {
        for (size_t c = 0; c < whole; c++)
            for (size_t t = 0; t < s; t++)
                fine[s * c + t] = coarse[c];
    }
    for (size_t j = s * whole; j < n; j++)
        fine[j] = coarse[whole];
}

void I(tile_expand)(size_t m, size_t n, size_t s, size_t i0, size_t j0, const real *coarse, size_t ld_coarse,
                    real *fine, size_t ld_fine)
{
    for (size_t i = 0; i < m; i++, fine += ld_fine)
        if (i > 0 && (i + i0) % s != 0)
            memcpy(fine, fine - ld_fine, n * sizeof *fine);
        else
            expand_row(n, s, j0, coarse + (i + i0) / s * ld_coarse, fine);
}

/* Sums of s neighbours; the first one of s - j0. */
static void reduce_row(size_t n, size_t s, size_t j0, const real *restrict fine, real *restrict coarse)
{
    if (j0 > 0) {
        real sum = 0;
        for (; n > 0 && j0 < s; j0++, n--)
            sum += *fine++;
        *coarse++ = sum;
    }
    size_t whole = n / s;
    if (s == 2) {
        for (size_t c = 0; c < whole; c++)
            coarse[c] = fine[2 * c] + fine[2 * c + 1];
    } else {
        for (size_t c = 0; c < whole; c++) {
            real sum = 0;
            for (size_t t = 0; t < s; t++)
                sum += fine[s * c + t];
            coarse[c] = sum;
        }
    }
    if (s * whole < n) {
        real sum = 0;
        for (size_t j = s * whole; j < n; j++)
            sum += fine[j];
        coarse[whole] = sum;
    }
}

void I(tile_reduce)(size_t m, size_t n, size_t s, size_t i0, size_t j0, real *fine, size_t ld_fine, real *coarse,
                    size_t ld_coarse)
{
    real *first = fine;
    for (size_t i = 0; i < m; i++, fine += ld_fine) {
        if (i == 0 || (i + i0) % s == 0)
            first = fine;
        else
            I(axpy)(n, 1, fine, first);
        if (i + 1 == m || (i + 1 + i0) % s == 0)
            reduce_row(n, s, j0, first, coarse + (i + i0) / s * ld_coarse);
    }
}

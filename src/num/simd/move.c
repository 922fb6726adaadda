/* move.c - copies of blocks of rows: padded, scaled, transposed. */
#include <string.h>

#include "num/simd/simd.h"
#include "num/simd/vec.h"

#ifdef HKT_REAL_F64
#define LANE_COUNT (HKT_VEC_BYTES / 8)
#else
#define LANE_COUNT (HKT_VEC_BYTES / 4)
#endif
#if defined(__clang__)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (vec_bits){__VA_ARGS__})
#endif

/* a0 b0 a1 b1 .. from the first and from the second halves of a and b. */
#if LANE_COUNT == 16
#define ZIP_LOW(a, b)  SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif LANE_COUNT == 8
#define ZIP_LOW(a, b)  SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif LANE_COUNT == 4
#define ZIP_LOW(a, b)  SHUFFLE(a, b, 0, 4, 1, 5)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#else
#define ZIP_LOW(a, b)  SHUFFLE(a, b, 0, 2)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 1, 3)
#endif

/* A square block: log2(LANES) rounds, each of which zips row i with row i + LANES/2. */
VEC_INLINE void transpose_block(real scale, const real *x, size_t ld_x, real *y, size_t ld_y)
{
    vec from[LANES], to[LANES];
    for (size_t i = 0; i < LANES; i++)
        from[i] = scale * vec_load(x + i * ld_x);
    for (size_t round = 1; round < LANES; round *= 2) {
        for (size_t i = 0; i < LANES / 2; i++) {
            to[2 * i] = ZIP_LOW(from[i], from[i + LANES / 2]);
            to[2 * i + 1] = ZIP_HIGH(from[i], from[i + LANES / 2]);
        }
        for (size_t i = 0; i < LANES; i++)
            from[i] = to[i];
    }
    for (size_t i = 0; i < LANES; i++)
        vec_store(y + i * ld_y, from[i]);
}

void I(transpose)(size_t n, size_t p, real scale, const real *x, size_t ld_x, real *y, size_t ld_y)
{
    const size_t whole = n / LANES * LANES;
    size_t c = 0;
    for (; c + LANES <= p; c += LANES)
        for (size_t i = 0; i < whole; i += LANES)
            transpose_block(scale, x + i * ld_x + c, ld_x, y + c * ld_y + i, ld_y);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i < whole ? c : 0; k < p; k++)
            y[k * ld_y + i] = scale * x[i * ld_x + k];
}

void I(copy_rows)(size_t n, size_t p, size_t width, real scale, const real *x, size_t ld_x, real *y, size_t ld_y)
{
    const size_t whole = p / LANES * LANES;
    for (size_t r = 0; r < n; r++, x += ld_x, y += ld_y) {
        for (size_t i = 0; i < whole; i += LANES)
            vec_store(y + i, scale * vec_load(x + i));
        for (size_t i = whole; i < p; i++)
            y[i] = scale * x[i];
        for (size_t i = p; i < width; i++)
            y[i] = 0;
    }
}

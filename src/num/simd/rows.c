/* rows.c - kernels over rows of d values: filters along the sequence, sums over rows, the fusion of levels. */
#include <string.h>

#include "num/simd/simd.h"
#include "num/simd/vec.h"

VEC_INLINE void add_product(size_t left, const real *a, const real *x, real *y)
{
    vec_store_n(y, left, vec_fma(vec_load_n(a, left), vec_load_n(x, left), vec_load_n(y, left)));
}

/* The inputs of output j are x_{step j}, x_{step j - 1}, .. : as many as there are, at most w. */
static size_t taps(size_t w, size_t last)
{
    return w < last + 1 ? w : last + 1;
}

void I(filter_forward)(size_t n, size_t d, size_t w, size_t step, const real *x, size_t ld_x, const real *c, real *y,
                       size_t ld_y)
{
    for (size_t j = 0; j < n; j++, y += ld_y) {
        const real *newest = x + step * j * ld_x;
        const size_t count = taps(w, step * j);
        VEC_LOOP(i, left, d, {
            vec sum = {0};
            for (size_t k = 0; k < count; k++)
                sum = vec_fma(vec_load_n(c + k * d + i, left), vec_load_n(newest - k * ld_x + i, left), sum);
            vec_store_n(y + i, left, sum);
        });
    }
}

void I(filter_backward)(size_t n, size_t d, size_t w, size_t step, const real *x, size_t ld_x, const real *c,
                        const real *dy, size_t ld_dy, real *dx, size_t ld_dx, real *dc)
{
    for (size_t j = 0; j < n; j++, dy += ld_dy)
        for (size_t k = 0, count = taps(w, step * j); k < count; k++) {
            const size_t t = step * j - k;
            VEC_LOOP(i, left, d, {
                add_product(left, c + k * d + i, dy + i, dx + t * ld_dx + i);
                add_product(left, x + t * ld_x + i, dy + i, dc + k * d + i);
            });
        }
}

void I(sum_rows)(size_t n, size_t d, const real *x, size_t ld_x, real *out)
{
    enum { STRIP = 4 * LANES }; /* columns whose sums stay in registers */
    size_t i = 0;
    for (; i + STRIP <= d; i += STRIP) {
        vec s0 = vec_load(out + i), s1 = vec_load(out + i + LANES), s2 = vec_load(out + i + 2 * LANES),
            s3 = vec_load(out + i + 3 * LANES);
        for (size_t r = 0; r < n; r++) {
            const real *row = x + r * ld_x + i;
            s0 += vec_load(row);
            s1 += vec_load(row + LANES);
            s2 += vec_load(row + 2 * LANES);
            s3 += vec_load(row + 3 * LANES);
        }
        vec_store(out + i, s0);
        vec_store(out + i + LANES, s1);
        vec_store(out + i + 2 * LANES, s2);
        vec_store(out + i + 3 * LANES, s3);
    }
    for (size_t r = 0; r < n && i < d; r++)
        VEC_LOOP(c, left, d - i, {
            real *to = out + i + c;
            vec_store_n(to, left, vec_load_n(x + r * ld_x + i + c, left) + vec_load_n(to, left));
        });
}

void I(dot_columns)(size_t n, size_t d, const real *x, const real *y, real *out)
{
    enum { ROWS = 32 }; /* short partial sums keep the rounding error small */
    for (size_t at = 0; at < n; at += ROWS) {
        const size_t end = at + ROWS < n ? at + ROWS : n;
        VEC_LOOP(i, left, d, {
            vec sum = {0};
            for (size_t r = at; r < end; r++)
                sum = vec_fma(vec_load_n(x + r * d + i, left), vec_load_n(y + r * d + i, left), sum);
            vec_store_n(out + i, left, vec_load_n(out + i, left) + sum);
        });
    }
}

void I(scale_rows)(size_t n, size_t d, real weight, const real *a, const real *x, real *y)
{
    for (size_t r = 0; r < n; r++)
        VEC_LOOP(i, left, d, {
            vec_store_n(y + r * d + i, left, weight * vec_load_n(a + i, left) * vec_load_n(x + r * d + i, left));
        });
}

void I(sum_spans)(size_t n, size_t d, size_t s, const real *x, real *y)
{
    for (size_t first = 0; first < n; first += s, y += d) {
        const size_t end = first + s < n ? first + s : n;
        VEC_LOOP(i, left, d, {
            vec sum = vec_load_n(x + first * d + i, left);
            for (size_t r = first + 1; r < end; r++)
                sum += vec_load_n(x + r * d + i, left);
            vec_store_n(y + i, left, sum);
        });
    }
}

void I(mix)(size_t n, size_t d, size_t span, size_t skip, real weight, const real *a, const real *x, const real *b,
            const real *y, bool add, real *out)
{
    for (size_t r = 0; r < n; r++, out += d)
        VEC_LOOP(i, left, d, {
            const size_t from = (r + skip) / span * d + i;
            vec sum = vec_load_n(a + i, left) * vec_load_n(x + from, left);
            if (y)
                sum = vec_fma(vec_load_n(b + i, left), vec_load_n(y + from, left), sum);
            sum = add ? vec_fma(vec_set(weight), sum, vec_load_n(out + i, left)) : weight * sum;
            vec_store_n(out + i, left, sum);
        });
}

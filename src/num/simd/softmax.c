/* softmax.c - the row operations of tiled attention. */
#include <math.h>

#include "num/simd/simd.h"
#include "num/simd/vmath.h"

/* The vectors from j on that the mask cuts short or drops. */
static void clear(size_t j, size_t end, real *x)
{
    for (; j < end; j += LANES)
        vec_store(x + j, (vec){0});
}

static real row_max(size_t n, const real *x)
{
    vec low = vec_set(-(real)INFINITY), even = low, odd = low;
    size_t j = 0;
    for (; j + 2 * LANES <= n; j += 2 * LANES) {
        even = vec_max(vec_load(x + j), even);
        odd = vec_max(vec_load(x + j + LANES), odd);
    }
    for (; j < n; j += LANES)
        even = vec_max(vec_select(vec_first(n - j), vec_load(x + j), low), even);
    return vec_largest(vec_max(even, odd));
}

real I(softmax_row)(size_t n, size_t n_pad, real *x, real *max, real *sum)
{
    size_t j = 0;
    real old = *max, tile = row_max(n, x), new = tile > old ? tile : old;
    vec lanes = {0};
    for (; j + LANES <= n; j += LANES) {
        vec p = vec_exp_flush(vec_load(x + j) - new);
        vec_store(x + j, p);
        lanes += p;
    }
    if (j < n) {
        vec p = vec_select(vec_first(n - j), vec_exp_flush(vec_load(x + j) - new), (vec){0});
        vec_store(x + j, p);
        lanes += p;
        j += LANES;
    }
    clear(j, n_pad, x);
    if (n == 0)
        return 1;
    real factor = old == new ? 1 : vec_exp_flush(vec_set(old - new))[0];
    *max = new;
    *sum = FMA(*sum, factor, vec_sum(lanes));
    return factor;
}

void I(softmax_grad)(size_t n, size_t n_pad, real *x, real *g, real lse, real delta)
{
    size_t j = 0;
    for (; j < n; j += LANES) {
        vec_bits seen = vec_first(n - j < LANES ? n - j : LANES);
        vec p = vec_select(seen, vec_exp_flush(vec_load(x + j) - lse), (vec){0});
        vec_store(x + j, p);
        vec_store(g + j, vec_select(seen, p * (vec_load(g + j) - delta), (vec){0}));
    }
    clear(j, n_pad, x);
    clear(j, n_pad, g);
}

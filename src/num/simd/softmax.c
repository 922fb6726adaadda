/* softmax.c - the row operations of tiled attention. */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/elementary.h"
#include "num/simd/simd.h"
#include "num/simd/vmath.h"

/* Rows handled together: their loops are as long as each other's, which the processor can foresee, and their sums over
 * lanes overlap. seen[r] is the number of visible keys of row r, rising. */
enum { GROUP = 4 };

/* The first `seen` lanes from j on. */
VEC_INLINE vec_bits lanes_seen(size_t seen, size_t j)
{
    return vec_first(seen <= j ? 0 : seen - j < LANES ? seen - j : LANES);
}

VEC_INLINE void group_max(int rows, const size_t *seen, const real *x, size_t ld, real *largest)
{
    const vec low = vec_set(-(real)INFINITY);
    vec top[GROUP] = {low, low, low, low};
    size_t j = 0;
    for (; j + LANES <= seen[0]; j += LANES)
        for (int r = 0; r < rows; r++)
            top[r] = vec_max(vec_load(x + (size_t)r * ld + j), top[r]);
    for (; j < seen[rows - 1]; j += LANES)
        for (int r = 0; r < rows; r++)
            top[r] = vec_max(vec_select(lanes_seen(seen[r], j), vec_load(x + (size_t)r * ld + j), low), top[r]);
    for (int r = 0; r < rows; r++)
        largest[r] = vec_largest(top[r]);
}

VEC_INLINE void group_softmax(int rows, const size_t *seen, size_t n_pad, real *x, size_t ld, real *max, real *sum,
                              real *factor)
{
    real new[GROUP];
    vec_block lanes[GROUP] = {0};
    group_max(rows, seen, x, ld, new);
    for (int r = 0; r < rows; r++)
        new[r] = new[r] > max[r] ? new[r] : max[r];
    size_t j = 0;
    for (; j + BLOCK <= seen[0]; j += BLOCK)
        for (int r = 0; r < rows; r++)
            for (size_t w = 0; w < PARTS; w++) {
                real *to = x + (size_t)r * ld + j + w * LANES;
                vec p = vec_exp2_flush(vec_load(to) - new[r]);
                vec_store(to, p);
                lanes[r].part[w] += p;
            }
    for (; j < n_pad; j += BLOCK)
        for (int r = 0; r < rows; r++)
            for (size_t w = 0; w < PARTS; w++) {
                real *to = x + (size_t)r * ld + j + w * LANES;
                vec p = vec_exp2_flush(vec_load(to) - new[r]);
                p = vec_select(lanes_seen(seen[r], j + w * LANES), p, (vec){0});
                vec_store(to, p);
                lanes[r].part[w] += p;
            }
    for (int r = 0; r < rows; r++) {
        factor[r] = max[r] == new[r] ? 1 : vec_exp2_flush(vec_set(max[r] - new[r]))[0];
        sum[r] = FMA(sum[r], factor[r], vec_sum(lanes[r]));
        max[r] = new[r];
    }
}

/* Visible keys of rows r..r+GROUP-1. */
VEC_INLINE void count_seen(size_t r, ptrdiff_t first, size_t slope, size_t n, size_t *seen)
{
    for (size_t g = 0; g < GROUP; g++) {
        ptrdiff_t end = first + (ptrdiff_t)(slope * (r + g));
        seen[g] = end < 0 ? 0 : (size_t)end < n ? (size_t)end : n;
    }
}

void I(softmax_rows)(size_t m, ptrdiff_t first, size_t slope, size_t n, size_t n_pad, real *x, size_t ld, real *max,
                     real *sum, real *factor)
{
    size_t seen[GROUP], r = 0;
    for (; r + GROUP <= m; r += GROUP) {
        count_seen(r, first, slope, n, seen);
        group_softmax(GROUP, seen, n_pad, x + r * ld, ld, max + r, sum + r, factor + r);
    }
    for (; r < m; r++) {
        count_seen(r, first, slope, n, seen);
        group_softmax(1, seen, n_pad, x + r * ld, ld, max + r, sum + r, factor + r);
    }
}

VEC_INLINE void group_gradient(int rows, const size_t *seen, size_t n_pad, real *x, real *g, size_t ld, const real *lse,
                               const real *delta)
{
    real shift[GROUP];
    for (int r = 0; r < rows; r++)
        shift[r] = LOG2_E * lse[r];
    size_t j = 0;
    for (; j + LANES <= seen[0]; j += LANES)
        for (int r = 0; r < rows; r++) {
            size_t at = (size_t)r * ld + j;
            vec p = vec_exp2_flush(vec_load(x + at) - shift[r]);
            vec_store(x + at, p);
            vec_store(g + at, p * (vec_load(g + at) - delta[r]));
        }
    for (; j < n_pad; j += LANES)
        for (int r = 0; r < rows; r++) {
            size_t at = (size_t)r * ld + j;
            vec_bits mask = lanes_seen(seen[r], j);
            vec p = vec_select(mask, vec_exp2_flush(vec_load(x + at) - shift[r]), (vec){0});
            vec_store(x + at, p);
            vec_store(g + at, vec_select(mask, p * (vec_load(g + at) - delta[r]), (vec){0}));
        }
}

void I(softmax_gradient)(size_t m, ptrdiff_t first, size_t slope, size_t n, size_t n_pad, real *x, real *g, size_t ld,
                         const real *lse, const real *delta)
{
    size_t seen[GROUP], r = 0;
    for (; r + GROUP <= m; r += GROUP) {
        count_seen(r, first, slope, n, seen);
        group_gradient(GROUP, seen, n_pad, x + r * ld, g + r * ld, ld, lse + r, delta + r);
    }
    for (; r < m; r++) {
        count_seen(r, first, slope, n, seen);
        group_gradient(1, seen, n_pad, x + r * ld, g + r * ld, ld, lse + r, delta + r);
    }
}

/* lse[i] = max[i] ln 2 + log sum[i]; several rows at once when every sum is an ordinary number, as it is unless a row
 * sees no key or a score is not finite. */
static void row_lse(size_t n, const real *max, const real *sum, real *lse)
{
    bool ordinary = true;
    for (size_t i = 0; i < n; i++)
        ordinary &= (double)sum[i] >= DBL_MIN && (double)sum[i] <= DBL_MAX;
    if (ordinary)
        for (size_t i = 0; i < n; i++)
            lse[i] = FMA(max[i], REAL_C(0.69314718055994530942), (real)hkt_log_normal((double)sum[i], 0));
    else
        for (size_t i = 0; i < n; i++)
            lse[i] = FMA(max[i], REAL_C(0.69314718055994530942), (real)hkt_log((double)sum[i]));
}

void I(softmax_finish)(size_t n, size_t p, const real *o, size_t ld_o, const real *max, const real *sum, real *y,
                       size_t ld_y, real *lse)
{
    for (size_t i = 0; i < n; i++, o += ld_o, y += ld_y) {
        const real inverse = 1 / sum[i];
        VEC_LOOP(c, left, p, { vec_store_n(y + c, left, inverse * vec_load_n(o + c, left)); });
    }
    if (lse)
        row_lse(n, max, sum, lse);
}

/* hierarchy_floor.c - a proved lower bound of the error of every hierarchical sum. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/math/certify.h"
#include "analysis/math/linalg.h"
#include "analysis/math/rank.h"
#include "analysis/view/hierarchy.h"
#include "base/mem.h"

/* out [T, T] = (I - P) s: every row less the mean of its block of `block` rows, the last block as long as it is. */
static void without_block_means(size_t T, size_t block, const double *s, double *out)
{
    for (size_t first = 0; first < T; first += block) {
        const size_t end = first + block < T ? first + block : T;
        for (size_t j = 0; j < T; j++) {
            double sum = 0;
            for (size_t k = first; k < end; k++)
                sum += s[k * T + j];
            for (size_t i = first; i < end; i++)
                out[i * T + j] = s[i * T + j] - sum / (double)(end - first);
        }
    }
}

/* What levels 0 .. m-1 have to approximate: S when there are no others, else what is not constant on blocks of s^m rows
 * (block: their length; 1 for S). False when there is no such m. */
static bool remainder_of(const double *s, size_t T, size_t stride, size_t levels, size_t m, double *out, size_t *block)
{
    *block = 1;
    for (size_t l = 0; l < m; l++)
        *block *= stride;
    if (m > levels || *block > T)
        return false;
    if (m < levels) {
        without_block_means(T, *block, s, out);
    } else {
        *block = 1;
        memcpy(out, s, T * T * sizeof *s);
    }
    return true;
}

/* The m and count for which count sigma_{rm + count}^2, as computed, is largest. scratch [T, T + 1]. */
static hkt_status best_place(const double *s, size_t T, size_t stride, size_t levels, size_t rank, double *scratch,
                             hkt_hierarchy_floor *out)
{
    double *sigma = scratch + T * T, best = -1;
    for (size_t m = 1, block; remainder_of(s, T, stride, levels, m, scratch, &block); m++) {
        HKT_TRY(hkt_singular_values(T, T, scratch, sigma));
        for (size_t k = 1; rank * m + k <= T; k++) {
            double square = (double)k * sigma[rank * m + k - 1] * sigma[rank * m + k - 1];
            if (square > best) {
                best = square;
                out->levels = m;
                out->count = k;
            }
        }
    }
    return HKT_OK;
}

hkt_status hkt_hierarchy_certify(const double *s, size_t T, size_t stride, size_t levels, size_t rank,
                                 hkt_hierarchy_floor *out)
{
    double *scratch = NULL, square = 0;
    size_t block;
    hkt_rank_bound bound;
    *out = (hkt_hierarchy_floor){0};
    HKT_TRY(hkt_check_finite("hierarchy", T * T, s));
    HKT_TRY(HKT_NEW(&scratch, T * T + T));
    hkt_status status;
    HKT_TRY_GOTO(status, done, best_place(s, T, stride, levels, rank, scratch, out));
    if (out->count == 0)
        goto done;
    remainder_of(s, T, stride, levels, out->levels, scratch, &block);
    for (size_t i = 0; i < T * T; i++)
        square += s[i] * s[i];
    out->norm = sqrt(square) * (1 + hkt_gamma(2 * T * T + 8)) + 0x1p-500;
    /* A mean of b numbers is off by gamma_(b+1) times that of their absolute values, whose norm is at most |S|; the
     * difference by u (|S| + that mean). */
    double error = block == 1 ? 0 : 2 * hkt_gamma(block + 4) * out->norm + 0x1p-1000;
    HKT_TRY_GOTO(status, done, hkt_rank_certify(T, T, scratch, error, rank * out->levels + out->count, &bound));
    out->proved = sqrt((double)out->count) * bound.lower * (1 - 8 * DBL_EPSILON);
done:
    hkt_free(scratch);
    return status;
}

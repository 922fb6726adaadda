/* attention.c - forward pass of tiled attention (Dao et al. 2022, algorithm 1) with scores of several resolutions. */
#include "num/attention.h"
#include "num/real.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "num/attention_work.h"

/* Hands out pieces of one block; without a block it only counts. */
typedef struct {
    real *block;
    size_t used;
} carver;

static real *take(carver *c, size_t rows, size_t columns)
{
    real *piece = c->block ? c->block + c->used : NULL;
    c->used += padded(rows * columns);
    return piece;
}

static void carve_level(attention_level *v, carver *c, size_t width, bool finest)
{
    v->k_t = take(c, width, v->ld_t);
    v->q = take(c, v->rows, width);
    v->k = take(c, v->rows, width);
    v->dq = take(c, v->rows, width);
    v->dk = take(c, v->rows, width);
    /* A window of n rows touches at most (n - 1)/factor + 2 coarse ones. */
    v->ld_tile = padded((BLOCK_COLUMNS - 1) / v->factor + 2) + HKT_SIMD_PAD;
    v->tile = finest ? NULL : take(c, (BLOCK_ROWS - 1) / v->factor + 2, v->ld_tile);
}

static void carve(R(hkt_attention_work) *w, carver *c)
{
    w->score = take(c, BLOCK_ROWS, LD_TILE);
    w->grad = take(c, BLOCK_ROWS, LD_TILE);
    w->o = take(c, BLOCK_ROWS, w->width);
    w->max = take(c, 1, BLOCK_ROWS);
    w->sum = take(c, 1, BLOCK_ROWS);
    w->delta = take(c, 1, w->max_T);
    w->v = take(c, w->max_T, w->width);
    w->d_o = take(c, w->max_T, w->width);
    w->dv = take(c, w->max_T, w->width);
    w->v_t = take(c, w->width, w->level[0].ld_t);
    for (size_t l = 0; l < w->max_levels; l++)
        carve_level(&w->level[l], c, w->width, l == 0);
}

/* Sizes of a call with T rows of p. */
static void set_sizes(R(hkt_attention_work) *w, size_t T, size_t p, size_t n_levels)
{
    size_t factor = 1;
    w->width = padded(p);
    for (size_t l = 0; l < n_levels; l++) {
        attention_level *v = &w->level[l];
        v->factor = factor;
        v->rows = (T - 1) / factor + 1;
        /* A tile may start anywhere and reads whole vectors. */
        v->ld_t = padded(v->rows) + HKT_SIMD_PAD;
        if (!hkt_mul_size(factor, w->stride, &factor))
            factor = SIZE_MAX;
    }
}

hkt_status R(hkt_attention_work_create)(R(hkt_attention_work) **out, size_t max_T, size_t max_p, size_t max_levels,
                                        size_t stride)
{
    HKT_ASSERT(max_T > 0 && max_p > 0 && max_levels > 0 && max_levels <= HKT_MAX_LEVELS);
    *out = NULL;
    size_t area;
    /* Generous: fewer than eight arrays per level. */
    if (!hkt_mul_size(max_T + BLOCK_COLUMNS, max_p + BLOCK_ROWS, &area) ||
        !hkt_mul_size(area, 8 * (HKT_MAX_LEVELS + 1) * sizeof(real), &area))
        return hkt_fail(HKT_ESYSTEM, "attention workspace: %zu rows of %zu are too many", max_T, max_p);
    R(hkt_attention_work) *w = NULL;
    HKT_TRY(HKT_NEW(&w, 1));
    w->max_T = max_T;
    w->max_p = max_p;
    w->max_levels = max_levels;
    w->stride = stride;
    set_sizes(w, max_T, max_p, max_levels);
    carver c = {0};
    carve(w, &c);
    hkt_status status = HKT_NEW(&c.block, c.used);
    if (status != HKT_OK) {
        hkt_free(w);
        return status;
    }
    w->block = c.block;
    c.used = 0;
    carve(w, &c);
    *out = w;
    return HKT_OK;
}

void R(hkt_attention_work_destroy)(R(hkt_attention_work) *w)
{
    if (w)
        hkt_free(w->block);
    hkt_free(w);
}

void R(hkt_attention_transpose)(size_t n, size_t p, real scale, const real *x, size_t ld_x, real *out, size_t ld_out)
{
    enum { STRIP = 16 }; /* rows whose cache lines are reused by all columns */
    for (size_t j0 = 0; j0 < n; j0 += STRIP) {
        size_t j1 = j0 + STRIP < n ? j0 + STRIP : n;
        for (size_t c = 0; c < p; c++)
            for (size_t j = j0; j < j1; j++)
                out[c * ld_out + j] = scale * x[j * ld_x + c];
    }
    for (size_t c = 0; c < p; c++)
        memset(out + c * ld_out + n, 0, (ld_out - n) * sizeof *out);
}

void R(hkt_attention_pad)(const R(hkt_attention_work) *w, size_t n, size_t p, const real *x, size_t ld_x, real *out)
{
    for (size_t i = 0; i < n; i++, x += ld_x, out += w->width) {
        memcpy(out, x, p * sizeof *out);
        memset(out + p, 0, (w->width - p) * sizeof *out);
    }
}

void R(hkt_attention_prepare)(const R(hkt_attention) *a, size_t n_keys, R(hkt_attention_work) *w)
{
    HKT_ASSERT(a->T > 0 && a->T <= w->max_T && a->p > 0 && a->p <= w->max_p);
    HKT_ASSERT(a->n_levels > 0 && a->n_levels <= w->max_levels && (a->n_levels == 1 || a->stride == w->stride));
    set_sizes(w, a->T, a->p, a->n_levels);
    for (size_t l = 0; l < a->n_levels; l++) {
        attention_level *v = &w->level[l];
        R(hkt_attention_transpose)
        ((n_keys - 1) / v->factor + 1, a->p, a->weight[l] / (real)sqrt((double)a->p), a->k[l], a->ld_qk[l], v->k_t,
         v->ld_t);
    }
}

void R(hkt_attention_scores)(const R(hkt_attention) *a, const attention_tile *t, R(hkt_attention_work) *w)
{
    const R(hkt_simd_table) *simd = R(hkt_simd)();
    for (size_t l = a->n_levels; l-- > 0;) {
        attention_level *v = &w->level[l];
        attention_tile c = tile_at(t, v->factor);
        size_t m = c.i1 - c.i0, n = c.j1 - c.j0, ld = l ? v->ld_tile : LD_TILE;
        real *tile = l ? v->tile : w->score;
        bool coarser = l + 1 < a->n_levels; /* the next tile already holds the sum of all coarser ones */
        if (coarser)
            simd->tile_expand(m, n, a->stride, c.i0 % a->stride, c.j0 % a->stride, v[1].tile, v[1].ld_tile, tile, ld);
        simd->tile_gemm(m, padded(n), a->p, a->q[l] + c.i0 * a->ld_qk[l], a->ld_qk[l], 1, v->k_t + c.j0, v->ld_t,
                        coarser, tile, ld);
    }
}

/* Online softmax over one tile: w->o, max, sum are those of all keys before j1. */
static void add_tile(const R(hkt_attention) *a, const attention_tile *t, R(hkt_attention_work) *w)
{
    const R(hkt_simd_table) *simd = R(hkt_simd)();
    size_t m = t->i1 - t->i0, n = t->j1 - t->j0;
    R(hkt_attention_scores)(a, t, w);
    for (size_t r = 0; r < m; r++) {
        real factor =
            simd->softmax_row(visible_keys(a, t, t->i0 + r), padded(n), w->score + r * LD_TILE, w->max + r, w->sum + r);
        for (size_t c = 0; t->j0 > 0 && factor != 1 && c < w->width; c++)
            w->o[r * w->width + c] *= factor;
    }
    simd->tile_gemm(m, w->width, n, w->score, LD_TILE, 1, w->v + t->j0 * w->width, w->width, t->j0 > 0, w->o, w->width);
}

void R(hkt_attention_forward)(const R(hkt_attention) *a, size_t row_begin, size_t row_end, real *o, size_t ld_o,
                              real *lse, R(hkt_attention_work) *w)
{
    HKT_ASSERT(row_begin <= row_end && row_end <= a->T);
    if (row_begin == row_end)
        return;
    size_t n_keys = a->causal ? row_end : a->T;
    R(hkt_attention_prepare)(a, n_keys, w);
    R(hkt_attention_pad)(w, n_keys, a->p, a->v, a->ld_v, w->v);
    for (size_t i0 = row_begin; i0 < row_end; i0 += BLOCK_ROWS) {
        size_t i1 = i0 + BLOCK_ROWS < row_end ? i0 + BLOCK_ROWS : row_end;
        size_t keys = a->causal ? i1 : a->T;
        for (size_t r = 0; r < BLOCK_ROWS; r++) {
            w->max[r] = -(real)INFINITY;
            w->sum[r] = 0;
        }
        for (size_t j0 = 0; j0 < keys; j0 += BLOCK_COLUMNS) {
            attention_tile t = {i0, i1, j0, j0 + BLOCK_COLUMNS < keys ? j0 + BLOCK_COLUMNS : keys};
            add_tile(a, &t, w);
        }
        for (size_t i = i0; i < i1; i++) {
            real inverse = 1 / w->sum[i - i0];
            for (size_t c = 0; c < a->p; c++)
                o[i * ld_o + c] = w->o[(i - i0) * w->width + c] * inverse;
            lse[i] = w->max[i - i0] + (real)log((double)w->sum[i - i0]);
        }
    }
}

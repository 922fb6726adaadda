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

static void carve(hkt_attention_work *w, carver *c)
{
    w->score = take(c, BLOCK_ROWS, LD_TILE);
    w->grad = take(c, BLOCK_ROWS, LD_TILE);
    w->o = take(c, BLOCK_ROWS, w->width);
    w->max = take(c, 1, BLOCK_ROWS);
    w->sum = take(c, 1, BLOCK_ROWS);
    w->factor = take(c, 1, BLOCK_ROWS);
    w->delta = take(c, 1, w->max_T);
    w->v = take(c, w->max_T, w->width);
    w->d_o = take(c, w->max_T, w->width);
    w->dv = take(c, w->max_T, w->width);
    w->v_t = take(c, w->width, w->level[0].ld_t);
    for (size_t l = 0; l < w->max_levels; l++)
        carve_level(&w->level[l], c, w->width, l == 0);
}

/* Sizes of a call with T rows of p. */
static void set_sizes(hkt_attention_work *w, size_t T, size_t p, size_t n_levels)
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

hkt_status hkt_attention_work_create(hkt_attention_work **out, size_t max_T, size_t max_p, size_t max_levels,
                                     size_t stride)
{
    HKT_ASSERT(max_T > 0 && max_p > 0 && max_levels > 0 && max_levels <= HKT_MAX_LEVELS);
    *out = NULL;
    size_t area;
    /* Generous: fewer than eight arrays per level. */
    if (!hkt_mul_size(max_T + BLOCK_COLUMNS, max_p + BLOCK_ROWS, &area) ||
        !hkt_mul_size(area, 8 * (HKT_MAX_LEVELS + 1) * sizeof(real), &area))
        return hkt_fail(HKT_ESYSTEM, "attention workspace: %zu rows of %zu are too many", max_T, max_p);
    hkt_attention_work *w = NULL;
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

void hkt_attention_work_destroy(hkt_attention_work *w)
{
    if (w)
        hkt_free(w->block);
    hkt_free(w);
}

/* out [p, ld_out] = scale x^T, x [n, p], followed by zeros up to ld_out. */
static void transpose(size_t n, size_t p, real scale, const real *x, size_t ld_x, real *out, size_t ld_out)
{
    hkt_simd()->transpose(n, p, scale, x, ld_x, out, ld_out);
    for (size_t c = 0; c < p; c++)
        memset(out + c * ld_out + n, 0, (ld_out - n) * sizeof *out);
}

void hkt_attention_prepare(const hkt_attention *a, size_t n_keys, hkt_attention_work *w)
{
    HKT_ASSERT(a->T > 0 && a->T <= w->max_T && a->p > 0 && a->p <= w->max_p);
    HKT_ASSERT(a->n_levels > 0 && a->n_levels <= w->max_levels && (a->n_levels == 1 || a->stride == w->stride));
    set_sizes(w, a->T, a->p, a->n_levels);
    for (size_t l = 0; l < a->n_levels; l++) {
        attention_level *v = &w->level[l];
        real scale = (real)((double)a->weight[l] * ATTENTION_LOG2_E / sqrt((double)a->p));
        transpose((n_keys - 1) / v->factor + 1, a->p, scale, a->k[l], a->ld_qk[l], v->k_t, v->ld_t);
    }
}

void hkt_attention_prepare_values(const hkt_attention *a, hkt_attention_work *w)
{
    transpose(a->T, a->p, 1, a->v, a->ld_v, w->v_t, w->level[0].ld_t);
}

size_t hkt_attention_pieces(const hkt_attention *a, const attention_tile *t, attention_tile *piece)
{
    size_t n = 0, all = visible_keys(a, t, t->i0), middle = t->j0 + all / HKT_SIMD_PAD * HKT_SIMD_PAD;
    piece[0] = *t;
    if (a->n_levels > 1 || all == t->j1 - t->j0)
        return 1;
    if (middle > t->j0)
        piece[n++].j1 = middle;
    for (size_t i = t->i0; i < t->i1; i += STRIP_ROWS) {
        size_t end = smaller(i + STRIP_ROWS, t->i1);
        if (smaller(end, t->j1) > middle)
            piece[n++] = (attention_tile){i, end, middle, smaller(end, t->j1)};
    }
    return n;
}

/* The sum over levels, from the coarsest, whose tiles hold the sum so far. */
static void add_levels(const hkt_attention *a, const attention_tile *t, hkt_attention_work *w)
{
    const hkt_simd_table *simd = hkt_simd();
    for (size_t l = a->n_levels; l-- > 0;) {
        attention_level *v = &w->level[l];
        attention_tile c = tile_at(t, v->factor);
        size_t m = c.i1 - c.i0, n = c.j1 - c.j0, ld = l ? v->ld_tile : LD_TILE;
        real *tile = l ? v->tile : w->score;
        bool coarser = l + 1 < a->n_levels;
        if (coarser)
            simd->tile_expand(m, n, a->stride, c.i0 % a->stride, c.j0 % a->stride, v[1].tile, v[1].ld_tile, tile, ld);
        simd->tile_gemm(m, padded(n), a->p, a->q[l] + c.i0 * a->ld_qk[l], a->ld_qk[l], 1, v->k_t + c.j0, v->ld_t,
                        coarser ? tile : NULL, ld, tile, ld);
    }
}

void hkt_attention_scores(const hkt_attention *a, const attention_tile *t, hkt_attention_work *w)
{
    const attention_level *v = &w->level[0];
    attention_tile piece[MAX_PIECES];
    if (a->n_levels > 1) {
        add_levels(a, t, w);
        return;
    }
    for (size_t n = hkt_attention_pieces(a, t, piece), i = 0; i < n; i++)
        hkt_simd()->tile_gemm(piece[i].i1 - piece[i].i0, padded(piece[i].j1 - piece[i].j0), a->p,
                              a->q[0] + piece[i].i0 * a->ld_qk[0], a->ld_qk[0], 1, v->k_t + piece[i].j0, v->ld_t, NULL,
                              0, tile_entry(t, w->score, piece[i].i0, piece[i].j0), LD_TILE);
}

/* Online softmax over one tile: w->o, max, sum are those of all keys before j1. */
static void add_tile(const hkt_attention *a, const attention_tile *t, hkt_attention_work *w)
{
    const hkt_simd_table *simd = hkt_simd();
    attention_tile piece[MAX_PIECES];
    hkt_attention_scores(a, t, w);
    for (size_t i = t->i0; i < t->i1; i += STRIP_ROWS) {
        const attention_strip s = strip_at(a, t, i);
        const size_t r = i - t->i0;
        simd->softmax_rows(s.end - i, s.first, s.slope, s.n, s.n_pad, w->score + r * LD_TILE, LD_TILE, w->max + r,
                           w->sum + r, w->factor + r);
    }
    for (size_t r = 0; r < t->i1 - t->i0 && t->j0 > 0; r++)
        for (size_t c = 0; w->factor[r] != 1 && c < w->width; c++)
            w->o[r * w->width + c] *= w->factor[r];
    for (size_t n = hkt_attention_pieces(a, t, piece), i = 0; i < n; i++) {
        real *o = w->o + (piece[i].i0 - t->i0) * w->width;
        simd->tile_gemm(piece[i].i1 - piece[i].i0, w->width, piece[i].j1 - piece[i].j0,
                        tile_entry(t, w->score, piece[i].i0, piece[i].j0), LD_TILE, 1, w->v + piece[i].j0 * w->width,
                        w->width, piece[i].j0 > 0 ? o : NULL, w->width, o, w->width);
    }
}

void hkt_attention_forward(const hkt_attention *a, size_t row_begin, size_t row_end, real *o, size_t ld_o, real *lse,
                           hkt_attention_work *w)
{
    HKT_ASSERT(row_begin <= row_end && row_end <= a->T);
    if (row_begin == row_end)
        return;
    const hkt_simd_table *simd = hkt_simd();
    size_t n_keys = a->causal ? row_end : a->T;
    hkt_attention_prepare(a, n_keys, w);
    simd->copy_rows(n_keys, a->p, w->width, 1, a->v, a->ld_v, w->v, w->width);
    for (size_t i0 = row_begin; i0 < row_end; i0 += BLOCK_ROWS) {
        size_t i1 = smaller(i0 + BLOCK_ROWS, row_end), keys = a->causal ? i1 : a->T;
        for (size_t r = 0; r < BLOCK_ROWS; r++) {
            w->max[r] = -(real)INFINITY;
            w->sum[r] = 0;
        }
        for (size_t j0 = 0; j0 < keys; j0 += BLOCK_COLUMNS)
            add_tile(a, &(attention_tile){i0, i1, j0, smaller(j0 + BLOCK_COLUMNS, keys)}, w);
        simd->softmax_finish(i1 - i0, a->p, w->o, w->width, w->max, w->sum, o + i0 * ld_o, ld_o, lse ? lse + i0 : NULL);
    }
}

/* attention_work.h - the workspace of tiled attention and its pieces shared by the forward and the backward pass.
 * Private to src/num. */
#ifndef HKT_NUM_ATTENTION_WORK_H
#define HKT_NUM_ATTENTION_WORK_H

#include "num/attention.h"
#include "num/real.h"
#include "num/simd/simd.h"

/* Tile of scores: BLOCK_ROWS queries by at most BLOCK_COLUMNS keys. It stays in the second-level cache; under a causal
 * mask BLOCK_ROWS/2 columns per row are computed in vain. */
enum { BLOCK_ROWS = 48, BLOCK_COLUMNS = 512 };

/* All products are taken by tile_gemm, whose second operand has rows padded to HKT_SIMD_PAD; `width` is p padded. */
typedef struct {
    size_t factor; /* s^l */
    size_t rows;   /* T_l */
    real *k_t;     /* [p, ld_t]: w_l / sqrt(p) times k^T; zero between T_l and the next multiple */
    size_t ld_t;
    real *q, *k;   /* [T_l, width] */
    real *dq, *dk; /* [T_l, width], without the factor w_l / sqrt(p) */
    real *tile;    /* scores of this level, then their gradient; level 0: NULL */
    size_t ld_tile;
} attention_level;

struct R(hkt_attention_work) {
    size_t max_T, max_p, max_levels, stride;
    real *block; /* owns everything below */
    attention_level level[HKT_MAX_LEVELS];
    size_t width;
    real *v, *d_o, *dv; /* [T, width] */
    real *v_t;          /* [p, level[0].ld_t] */
    real *score, *grad; /* [BLOCK_ROWS, LD_TILE] */
    real *o;            /* [BLOCK_ROWS, width] */
    real *max, *sum;    /* [BLOCK_ROWS] of the online softmax */
    real *delta;        /* [T]: <dO_i, O_i> */
};

/* A row more than a power of two, so that rows do not compete for the same cache lines. */
enum { LD_TILE = BLOCK_COLUMNS + HKT_SIMD_PAD };

/* Rows i0..i1-1, keys j0..j1-1. */
typedef struct {
    size_t i0, i1, j0, j1;
} attention_tile;

static inline size_t padded(size_t n)
{
    return (n + HKT_SIMD_PAD - 1) / HKT_SIMD_PAD * HKT_SIMD_PAD;
}

/* Keys of the tile that row i sees. */
static inline size_t visible_keys(const R(hkt_attention) *a, const attention_tile *t, size_t i)
{
    size_t end = a->causal && i + 1 < t->j1 ? i + 1 : t->j1;
    return end > t->j0 ? end - t->j0 : 0;
}

/* The tile at level l: the same rows and keys, coarser. */
static inline attention_tile tile_at(const attention_tile *t, size_t factor)
{
    return (attention_tile){t->i0 / factor, (t->i1 - 1) / factor + 1, t->j0 / factor, (t->j1 - 1) / factor + 1};
}

/* Sizes of this call; transposed keys of positions < n_keys. */
void R(hkt_attention_prepare)(const R(hkt_attention) *a, size_t n_keys, R(hkt_attention_work) *w);
/* out [n, width] = x [n, p] with zeros appended to the rows. */
void R(hkt_attention_pad)(const R(hkt_attention_work) *w, size_t n, size_t p, const real *x, size_t ld_x, real *out);
/* out [p, ld_out] = scale x^T, x [n, p], followed by zeros up to ld_out. */
void R(hkt_attention_transpose)(size_t n, size_t p, real scale, const real *x, size_t ld_x, real *out, size_t ld_out);
/* w->score = S of the tile (unmasked). */
void R(hkt_attention_scores)(const R(hkt_attention) *a, const attention_tile *t, R(hkt_attention_work) *w);

#endif

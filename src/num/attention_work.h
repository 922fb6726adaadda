/* attention_work.h - the workspace of tiled attention and its pieces shared by the forward and the backward pass.
 * Private to src/num. */
#ifndef HKT_NUM_ATTENTION_WORK_H
#define HKT_NUM_ATTENTION_WORK_H

#include "num/attention.h"
#include "num/real.h"
#include "num/simd/simd.h"

#define hkt_attention_prepare        HKT_REAL_NAME(hkt_attention_prepare)
#define hkt_attention_prepare_values HKT_REAL_NAME(hkt_attention_prepare_values)
#define hkt_attention_pieces         HKT_REAL_NAME(hkt_attention_pieces)
#define hkt_attention_scores         HKT_REAL_NAME(hkt_attention_scores)

/* Tile of scores: BLOCK_ROWS queries by at most BLOCK_COLUMNS keys. It stays in the second-level cache. Under a causal
 * mask the part on the diagonal is taken in strips of STRIP_ROWS rows, of which STRIP_ROWS/2 columns per row are
 * computed in vain. */
enum { BLOCK_ROWS = 48, BLOCK_COLUMNS = 512, STRIP_ROWS = 12, MAX_PIECES = 1 + BLOCK_ROWS / STRIP_ROWS };

/* Scores are kept in units of ln 2 (times log2 e), so that exp is 2^x. */
#define ATTENTION_LOG2_E 1.44269504088896340736

/* All products are taken by tile_gemm, whose second operand has rows padded to HKT_SIMD_PAD; `width` is p padded. */
typedef struct {
    size_t factor; /* s^l */
    size_t rows;   /* T_l */
    real *k_t;     /* [p, ld_t]: w_l log2(e) / sqrt(p) times k^T; zero from T_l on */
    size_t ld_t;
    real *q, *k;   /* [T_l, width] */
    real *dq, *dk; /* [T_l, width], without the factor w_l / sqrt(p) */
    real *tile;    /* scores of this level, then their gradient; level 0: NULL */
    size_t ld_tile;
} attention_level;

struct hkt_attention_work {
    size_t max_T, max_p, max_levels, stride;
    real *block; /* owns everything below */
    attention_level level[HKT_MAX_LEVELS];
    size_t width;
    real *v, *d_o, *dv;       /* [T, width] */
    real *v_t;                /* [p, level[0].ld_t] */
    real *score, *grad;       /* [BLOCK_ROWS, LD_TILE] */
    real *o;                  /* [BLOCK_ROWS, width] */
    real *max, *sum, *factor; /* [BLOCK_ROWS] of the online softmax */
    real *delta;              /* [T]: <dO_i, O_i> */
};

/* A row more than a power of two, so that rows do not compete for the same cache lines. */
enum { LD_TILE = BLOCK_COLUMNS + HKT_SIMD_PAD };

static inline size_t padded(size_t n)
{
    return (n + HKT_SIMD_PAD - 1) / HKT_SIMD_PAD * HKT_SIMD_PAD;
}

/* Rows i0..i1-1, keys j0..j1-1. */
typedef struct {
    size_t i0, i1, j0, j1;
} attention_tile;

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Keys of the tile that row i sees. */
static inline size_t visible_keys(const hkt_attention *a, const attention_tile *t, size_t i)
{
    size_t end = a->causal ? smaller(i + 1, t->j1) : t->j1;
    return end > t->j0 ? end - t->j0 : 0;
}

/* Rows of a tile for which the same keys are computed: n_pad, a multiple of HKT_SIMD_PAD. */
typedef struct {
    size_t begin, end;
    ptrdiff_t first; /* keys that row `begin` sees, negative when all lie after it; each row sees `slope` more */
    size_t slope, n, n_pad;
} attention_strip;

/* The strip that begins at row i. More levels than one need all keys, since a coarse key holds several. */
static inline attention_strip strip_at(const hkt_attention *a, const attention_tile *t, size_t i)
{
    size_t n = t->j1 - t->j0, end = smaller(i + STRIP_ROWS, t->i1);
    return (attention_strip){.begin = i,
                             .end = end,
                             .first = a->causal ? (ptrdiff_t)(i + 1) - (ptrdiff_t)t->j0 : (ptrdiff_t)n,
                             .slope = a->causal,
                             .n = n,
                             .n_pad = padded(a->n_levels > 1 ? n : visible_keys(a, t, end - 1))};
}

/* Entry (i, j) of an array over the tile. */
static inline real *tile_entry(const attention_tile *t, real *tile, size_t i, size_t j)
{
    return tile + (i - t->i0) * LD_TILE + (j - t->j0);
}

/* The tile at level l: the same rows and keys, coarser. */
static inline attention_tile tile_at(const attention_tile *t, size_t factor)
{
    return (attention_tile){t->i0 / factor, (t->i1 - 1) / factor + 1, t->j0 / factor, (t->j1 - 1) / factor + 1};
}

/* Sizes of this call; transposed keys of positions < n_keys. */
void hkt_attention_prepare(const hkt_attention *a, size_t n_keys, hkt_attention_work *w);
/* Transposed values of all rows. */
void hkt_attention_prepare_values(const hkt_attention *a, hkt_attention_work *w);
/* The parts of a tile that products are made of: all of it, or (one level, causal, on the diagonal) the keys that all
 * rows see and one strip per STRIP_ROWS rows. Returns their number, at most MAX_PIECES. */
size_t hkt_attention_pieces(const hkt_attention *a, const attention_tile *t, attention_tile *piece);
/* w->score = S of the tile (unmasked), of one level in the pieces alone. */
void hkt_attention_scores(const hkt_attention *a, const attention_tile *t, hkt_attention_work *w);

#endif

/* attention_backward.c - backward pass of tiled attention (Dao et al. 2022, section B.2):
 *     P = exp(S - lse), dV = P^T dO, dP = dO V^T, dS = P * (dP - delta), delta_i = <dO_i, O_i>,
 * and per level, with D_l = U_l^T dS U_l (the sum of dS over the entries of the level):
 *     dQ_l = w_l / sqrt(p) D_l K_l,  dK_l = w_l / sqrt(p) D_l^T Q_l,  dw_l = <D_l K_l, Q_l> / sqrt(p). */
#include "num/attention.h"
#include "num/real.h"

#include <math.h>
#include <string.h>

#include "num/attention_work.h"

static void prepare(const hkt_attention *a, const real *o, const real *d_o, size_t ld_o, hkt_attention_work *w)
{
    const hkt_simd_table *simd = hkt_simd();
    hkt_attention_prepare(a, a->T, w); /* sets the width */
    hkt_attention_prepare_values(a, w);
    const size_t width = w->width;
    simd->copy_rows(a->T, a->p, width, 1, d_o, ld_o, w->d_o, width);
    simd->dot_rows(a->T, a->p, d_o, o, ld_o, w->delta);
    memset(w->dv, 0, a->T * width * sizeof *w->dv);
    for (size_t l = 0; l < a->n_levels; l++) {
        attention_level *v = &w->level[l];
        simd->copy_rows(v->rows, a->p, width, 1, a->q[l], a->ld_qk[l], v->q, width);
        simd->copy_rows(v->rows, a->p, width, 1, a->k[l], a->ld_qk[l], v->k, width);
        memset(v->dq, 0, v->rows * width * sizeof *v->dq);
        memset(v->dk, 0, v->rows * width * sizeof *v->dk);
    }
}

/* dQ and dK of level l, rows and keys of c, from its part of dS. */
static void add_products(const attention_level *v, const attention_tile *c, size_t width, const real *tile, size_t ld)
{
    const hkt_simd_table *simd = hkt_simd();
    size_t m = c->i1 - c->i0, n = c->j1 - c->j0;
    real *dq = v->dq + c->i0 * width, *dk = v->dk + c->j0 * width;
    simd->tile_gemm(m, width, n, tile, ld, 1, v->k + c->j0 * width, width, dq, width, dq, width);
    simd->tile_gemm(n, width, m, tile, 1, ld, v->q + c->i0 * width, width, dk, width, dk, width);
}

/* Adds the part of dQ and dK of the coarser levels that one tile of dS (in w->grad) gives, level by level. */
static void add_coarser(const hkt_attention *a, const attention_tile *t, hkt_attention_work *w)
{
    size_t ld = LD_TILE;
    real *tile = w->grad;
    attention_tile c = *t;
    for (size_t l = 1; l < a->n_levels; l++) {
        attention_level *v = &w->level[l];
        hkt_simd()->tile_reduce(c.i1 - c.i0, c.j1 - c.j0, a->stride, c.i0 % a->stride, c.j0 % a->stride, tile, ld,
                                v->tile, v->ld_tile);
        c = tile_at(t, v->factor);
        tile = v->tile;
        ld = v->ld_tile;
        add_products(v, &c, w->width, tile, ld);
    }
}

static void add_tile(const hkt_attention *a, const attention_tile *t, const real *lse, hkt_attention_work *w)
{
    const hkt_simd_table *simd = hkt_simd();
    size_t width = w->width;
    attention_tile piece[MAX_PIECES];
    const size_t n = hkt_attention_pieces(a, t, piece);
    hkt_attention_scores(a, t, w);
    for (size_t i = 0; i < n; i++)
        simd->tile_gemm(piece[i].i1 - piece[i].i0, padded(piece[i].j1 - piece[i].j0), a->p,
                        w->d_o + piece[i].i0 * width, width, 1, w->v_t + piece[i].j0, w->level[0].ld_t, NULL, 0,
                        tile_entry(t, w->grad, piece[i].i0, piece[i].j0), LD_TILE);
    for (size_t i = t->i0; i < t->i1; i += STRIP_ROWS) {
        const attention_strip s = strip_at(a, t, i);
        simd->softmax_gradient(s.end - i, s.first, s.slope, s.n, s.n_pad, tile_entry(t, w->score, i, t->j0),
                               tile_entry(t, w->grad, i, t->j0), LD_TILE, lse + i, w->delta + i);
    }
    for (size_t i = 0; i < n; i++) {
        const attention_tile *c = &piece[i];
        real *dv = w->dv + c->j0 * width;
        simd->tile_gemm(c->j1 - c->j0, width, c->i1 - c->i0, tile_entry(t, w->score, c->i0, c->j0), 1, LD_TILE,
                        w->d_o + c->i0 * width, width, dv, width, dv, width);
        add_products(&w->level[0], c, width, tile_entry(t, w->grad, c->i0, c->j0), LD_TILE);
    }
    add_coarser(a, t, w);
}

/* Scales and writes dQ and dK of level l. */
static void finish_level(const hkt_attention *a, size_t l, const hkt_attention_work *w, real *dq, real *dk,
                         size_t ld_dqk)
{
    const hkt_simd_table *simd = hkt_simd();
    const attention_level *v = &w->level[l];
    real scale = (real)((double)a->weight[l] / sqrt((double)a->p));
    simd->copy_rows(v->rows, a->p, a->p, scale, v->dq, w->width, dq, ld_dqk);
    simd->copy_rows(v->rows, a->p, a->p, scale, v->dk, w->width, dk, ld_dqk);
}

/* dw_l = <D_l K_l, Q_l> / sqrt(p). */
static real weight_gradient(const hkt_attention *a, const attention_level *v, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i < v->rows; i++)
        sum += (double)hkt_simd()->dot(width, v->dq + i * width, v->q + i * width);
    return (real)(sum / sqrt((double)a->p));
}

void hkt_attention_backward(const hkt_attention *a, const real *o, const real *d_o, size_t ld_o, const real *lse,
                            real *const dq[], real *const dk[], const size_t ld_dqk[], real *dv, size_t ld_dv,
                            real *d_weight, hkt_attention_work *w)
{
    prepare(a, o, d_o, ld_o, w);
    for (size_t i0 = 0; i0 < a->T; i0 += BLOCK_ROWS) {
        size_t i1 = smaller(i0 + BLOCK_ROWS, a->T), keys = a->causal ? i1 : a->T;
        for (size_t j0 = 0; j0 < keys; j0 += BLOCK_COLUMNS)
            add_tile(a, &(attention_tile){i0, i1, j0, smaller(j0 + BLOCK_COLUMNS, keys)}, lse, w);
    }
    hkt_simd()->copy_rows(a->T, a->p, a->p, 1, w->dv, w->width, dv, ld_dv);
    for (size_t l = 0; l < a->n_levels; l++) {
        finish_level(a, l, w, dq[l], dk[l], ld_dqk[l]);
        if (d_weight)
            d_weight[l] = weight_gradient(a, &w->level[l], w->width);
    }
}

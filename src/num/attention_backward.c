/* attention_backward.c - backward pass of tiled attention (Dao et al. 2022, section B.2):
 *     P = exp(S - lse), dV = P^T dO, dP = dO V^T, dS = P * (dP - delta), delta_i = <dO_i, O_i>,
 * and per level, with D_l = U_l^T dS U_l (the sum of dS over the entries of the level):
 *     dQ_l = w_l / sqrt(p) D_l K_l,  dK_l = w_l / sqrt(p) D_l^T Q_l,  dw_l = <D_l K_l, Q_l> / sqrt(p). */
#include "num/attention.h"
#include "num/real.h"

#include <math.h>
#include <string.h>

#include "num/attention_work.h"

static void prepare(const R(hkt_attention) *a, const real *o, const real *d_o, size_t ld_o, R(hkt_attention_work) *w)
{
    const R(hkt_simd_table) *simd = R(hkt_simd)();
    R(hkt_attention_prepare)(a, a->T, w);
    R(hkt_attention_transpose)(a->T, a->p, 1, a->v, a->ld_v, w->v_t, w->level[0].ld_t);
    R(hkt_attention_pad)(w, a->T, a->p, d_o, ld_o, w->d_o);
    memset(w->dv, 0, a->T * w->width * sizeof *w->dv);
    for (size_t i = 0; i < a->T; i++)
        w->delta[i] = simd->dot(a->p, d_o + i * ld_o, o + i * ld_o);
    for (size_t l = 0; l < a->n_levels; l++) {
        attention_level *v = &w->level[l];
        R(hkt_attention_pad)(w, v->rows, a->p, a->q[l], a->ld_qk[l], v->q);
        R(hkt_attention_pad)(w, v->rows, a->p, a->k[l], a->ld_qk[l], v->k);
        memset(v->dq, 0, v->rows * w->width * sizeof *v->dq);
        memset(v->dk, 0, v->rows * w->width * sizeof *v->dk);
    }
}

/* Adds the part of dQ and dK that one tile of dS (in w->grad) gives, level by level. */
static void add_level_gradients(const R(hkt_attention) *a, const attention_tile *t, R(hkt_attention_work) *w)
{
    const R(hkt_simd_table) *simd = R(hkt_simd)();
    size_t width = w->width, ld = LD_TILE;
    real *tile = w->grad;
    attention_tile c = *t;
    for (size_t l = 0; l < a->n_levels; l++) {
        attention_level *v = &w->level[l];
        if (l > 0) {
            simd->tile_reduce(c.i1 - c.i0, c.j1 - c.j0, a->stride, c.i0 % a->stride, c.j0 % a->stride, tile, ld,
                              v->tile, v->ld_tile);
            c = tile_at(t, v->factor);
            tile = v->tile;
            ld = v->ld_tile;
        }
        size_t m = c.i1 - c.i0, n = c.j1 - c.j0;
        simd->tile_gemm(m, width, n, tile, ld, 1, v->k + c.j0 * width, width, true, v->dq + c.i0 * width, width);
        simd->tile_gemm(n, width, m, tile, 1, ld, v->q + c.i0 * width, width, true, v->dk + c.j0 * width, width);
    }
}

static void add_tile(const R(hkt_attention) *a, const attention_tile *t, const real *lse, R(hkt_attention_work) *w)
{
    const R(hkt_simd_table) *simd = R(hkt_simd)();
    size_t m = t->i1 - t->i0, n = t->j1 - t->j0, width = w->width;
    R(hkt_attention_scores)(a, t, w);
    simd->tile_gemm(m, padded(n), a->p, w->d_o + t->i0 * width, width, 1, w->v_t + t->j0, w->level[0].ld_t, false,
                    w->grad, LD_TILE);
    for (size_t r = 0; r < m; r++)
        simd->softmax_grad(visible_keys(a, t, t->i0 + r), padded(n), w->score + r * LD_TILE, w->grad + r * LD_TILE,
                           lse[t->i0 + r], w->delta[t->i0 + r]);
    simd->tile_gemm(n, width, m, w->score, 1, LD_TILE, w->d_o + t->i0 * width, width, true, w->dv + t->j0 * width,
                    width);
    add_level_gradients(a, t, w);
}

/* out [n, p] = scale x [n, width]. */
static void write_out(size_t n, size_t p, size_t width, real scale, const real *x, real *out, size_t ld_out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < p; c++)
            out[i * ld_out + c] = scale * x[i * width + c];
}

/* Scales and writes dQ and dK of level l; returns the gradient of its weight. */
static real finish_level(const R(hkt_attention) *a, size_t l, const R(hkt_attention_work) *w, real *dq, real *dk,
                         size_t ld_dqk)
{
    const attention_level *v = &w->level[l];
    double inverse_sqrt_p = 1 / sqrt((double)a->p), d_weight = 0;
    real scale = (real)((double)a->weight[l] * inverse_sqrt_p);
    write_out(v->rows, a->p, w->width, scale, v->dq, dq, ld_dqk);
    write_out(v->rows, a->p, w->width, scale, v->dk, dk, ld_dqk);
    for (size_t i = 0; i < v->rows; i++)
        d_weight += (double)R(hkt_simd)()->dot(w->width, v->dq + i * w->width, v->q + i * w->width);
    return (real)(d_weight * inverse_sqrt_p);
}

void R(hkt_attention_backward)(const R(hkt_attention) *a, const real *o, const real *d_o, size_t ld_o, const real *lse,
                               real *const dq[], real *const dk[], const size_t ld_dqk[], real *dv, size_t ld_dv,
                               real *d_weight, R(hkt_attention_work) *w)
{
    prepare(a, o, d_o, ld_o, w);
    for (size_t i0 = 0; i0 < a->T; i0 += BLOCK_ROWS) {
        size_t i1 = i0 + BLOCK_ROWS < a->T ? i0 + BLOCK_ROWS : a->T, keys = a->causal ? i1 : a->T;
        for (size_t j0 = 0; j0 < keys; j0 += BLOCK_COLUMNS) {
            attention_tile t = {i0, i1, j0, j0 + BLOCK_COLUMNS < keys ? j0 + BLOCK_COLUMNS : keys};
            add_tile(a, &t, lse, w);
        }
    }
    write_out(a->T, a->p, w->width, 1, w->dv, dv, ld_dv);
    for (size_t l = 0; l < a->n_levels; l++) {
        real g = finish_level(a, l, w, dq[l], dk[l], ld_dqk[l]);
        if (d_weight)
            d_weight[l] = g;
    }
}

/* attention_ref.c - attention with its T x T matrices in memory, entry by entry: the oracle of the tiled kernel. */
#include "num/attention.h"
#include "num/real.h"

#include <math.h>

#include "base/mem.h"

static real dot(const real *x, const real *y, size_t n)
{
    real sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static size_t power(size_t s, size_t l)
{
    size_t r = 1;
    while (l-- > 0)
        r *= s;
    return r;
}

static size_t visible(const hkt_attention *a, size_t i)
{
    return a->causal ? i + 1 : a->T;
}

/* <q[l] row floor(i/s^l), k[l] row floor(j/s^l)> / sqrt(p): the score of one level. */
static real level_score(const hkt_attention *a, size_t l, size_t i, size_t j)
{
    size_t f = power(a->stride, l);
    return dot(a->q[l] + i / f * a->ld_qk[l], a->k[l] + j / f * a->ld_qk[l], a->p) / (real)sqrt((double)a->p);
}

static void fill_scores(const hkt_attention *a, real *S)
{
    for (size_t i = 0; i < a->T; i++)
        for (size_t j = 0; j < a->T; j++) {
            S[i * a->T + j] = 0;
            for (size_t l = 0; l < a->n_levels; l++)
                S[i * a->T + j] += a->weight[l] * level_score(a, l, i, j);
        }
}

/* Row softmax in place over the visible keys, zero elsewhere; returns log sum exp. */
static real softmax_row(real *row, size_t n_visible, size_t n)
{
    real max = row[0], sum = 0;
    for (size_t j = 1; j < n_visible; j++)
        max = row[j] > max ? row[j] : max;
    for (size_t j = 0; j < n_visible; j++)
        sum += row[j] = (real)exp((double)(row[j] - max));
    for (size_t j = 0; j < n; j++)
        row[j] = j < n_visible ? row[j] / sum : 0;
    return max + (real)log((double)sum);
}

hkt_status hkt_attention_forward_ref(const hkt_attention *a, real *o, size_t ld_o, real *lse, real *scores)
{
    size_t T = a->T;
    real *S = NULL;
    HKT_TRY(HKT_NEW(&S, T * T));
    fill_scores(a, S);
    for (size_t i = 0; scores && i < T * T; i++)
        scores[i] = S[i];
    for (size_t i = 0; i < T; i++) {
        real row_lse = softmax_row(S + i * T, visible(a, i), T);
        if (lse)
            lse[i] = row_lse;
        for (size_t c = 0; c < a->p; c++) {
            real sum = 0;
            for (size_t j = 0; j < T; j++)
                sum += S[i * T + j] * a->v[j * a->ld_v + c];
            o[i * ld_o + c] = sum;
        }
    }
    hkt_free(S);
    return HKT_OK;
}

/* Turns A (row softmax) into dS = A * (dA - sum_j A dA), dA = dO V^T; adds dv += A^T dO. */
static void score_gradient_row(const hkt_attention *a, size_t i, const real *d_o, real *row, real *dv, size_t ld_dv)
{
    real mean = 0;
    for (size_t j = 0; j < a->T; j++)
        mean += row[j] * dot(d_o, a->v + j * a->ld_v, a->p);
    for (size_t j = 0; j < visible(a, i); j++) {
        for (size_t c = 0; c < a->p; c++)
            dv[j * ld_dv + c] += row[j] * d_o[c];
        row[j] *= dot(d_o, a->v + j * a->ld_v, a->p) - mean;
    }
}

/* dq, dk of level l and the gradient of its weight, from dS. */
static real level_gradient(const hkt_attention *a, size_t l, const real *dS, real *dq, real *dk, size_t ld)
{
    size_t T = a->T, f = power(a->stride, l), rows = (T + f - 1) / f;
    real scale = a->weight[l] / (real)sqrt((double)a->p), d_weight = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < a->p; c++)
            dq[r * ld + c] = dk[r * ld + c] = 0;
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < visible(a, i); j++) {
            d_weight += dS[i * T + j] * level_score(a, l, i, j);
            for (size_t c = 0; c < a->p; c++) {
                dq[i / f * ld + c] += scale * dS[i * T + j] * a->k[l][j / f * a->ld_qk[l] + c];
                dk[j / f * ld + c] += scale * dS[i * T + j] * a->q[l][i / f * a->ld_qk[l] + c];
            }
        }
    return d_weight;
}

hkt_status hkt_attention_backward_ref(const hkt_attention *a, const real *d_o, size_t ld_o, real *const dq[],
                                      real *const dk[], const size_t ld_dqk[], real *dv, size_t ld_dv, real *d_weight)
{
    size_t T = a->T;
    real *S = NULL;
    HKT_TRY(HKT_NEW(&S, T * T));
    fill_scores(a, S);
    for (size_t j = 0; j < T; j++)
        for (size_t c = 0; c < a->p; c++)
            dv[j * ld_dv + c] = 0;
    for (size_t i = 0; i < T; i++) {
        softmax_row(S + i * T, visible(a, i), T);
        score_gradient_row(a, i, d_o + i * ld_o, S + i * T, dv, ld_dv);
    }
    for (size_t l = 0; l < a->n_levels; l++) {
        real g = level_gradient(a, l, S, dq[l], dk[l], ld_dqk[l]);
        if (d_weight)
            d_weight[l] = g;
    }
    hkt_free(S);
    return HKT_OK;
}

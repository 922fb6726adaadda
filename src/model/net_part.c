/* net_part.c - interventions on score matrices: S replaced by one of its parts (part.h), exactly and on the ordinary
 * attention kernel, by heads of twice the width:
 *
 *     (a Q K^T + b Q' K'^T) / sqrt(p) = sqrt(2) <[a Q, b Q'], [K, K']> / sqrt(2p),
 *
 * with Q' = K, K' = Q for the symmetric (b = 1/2) and antisymmetric (b = -1/2) part, and for the random part those of
 * the rotated input: X R M^T R^T X^T = (X R Wk^T)(X R Wq^T)^T / sqrt(p). */
#include "model/net_internal.h"
#include "num/real.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Scratch of one thread: one head of one sequence. */
typedef struct {
    hkt_attention_work *attention;               /* heads of width 2p */
    real *q[HKT_MAX_LEVELS], *k[HKT_MAX_LEVELS]; /* [T_l, 2p] */
    real *v, *o;                                 /* [T, 2p] */
    real *block;
} part_worker;

struct hkt_net_parts {
    part_worker *worker;           /* [n_workers] */
    real *rotated[HKT_MAX_LEVELS]; /* [R_l, 2d] q and k of X^(l) R */
    real *block;                   /* backs rotated */
    size_t *index;                 /* [d] R */
    double *sign;
};

bool hkt_net_needs_parts(const net_pass *pass, size_t first, size_t n)
{
    for (size_t l = first; l < first + n; l++)
        if (pass->iv.part[l] != HKT_PART_WHOLE)
            return true;
    return false;
}

static hkt_status create_worker(const net_pass *pass, part_worker *w)
{
    const hkt_config *c = &pass->layout->config;
    size_t levels = hkt_score_levels(c), stride = c->levels > 1 ? c->stride : 2;
    size_t T = net_min(pass->max_tokens, c->max_len), width = 2 * c->d_model / c->heads, rows = 2 * T;
    HKT_TRY(hkt_attention_work_create(&w->attention, T, width, levels, stride));
    for (size_t i = 0; i < levels; i++)
        rows += 2 * hkt_level_length(T, stride, i);
    HKT_TRY(hkt_alloc((void **)&w->block, rows * width, sizeof(real), "workspace of score parts"));
    w->v = w->block;
    w->o = w->v + T * width;
    real *at = w->o + T * width;
    for (size_t i = 0; i < levels; i++) {
        size_t size = hkt_level_length(T, stride, i) * width;
        w->q[i] = at;
        w->k[i] = at + size;
        at += 2 * size;
    }
    return HKT_OK;
}

static hkt_status create(const net_pass *pass, hkt_net_parts *parts)
{
    const hkt_config *c = &pass->layout->config;
    size_t rows = 0;
    for (size_t l = 0; l < c->levels; l++)
        rows += hkt_net_capacity(pass, l);
    HKT_TRY(HKT_NEW(&parts->index, c->d_model));
    HKT_TRY(HKT_NEW(&parts->sign, c->d_model));
    HKT_TRY(hkt_alloc((void **)&parts->block, rows * 2 * c->d_model, sizeof(real), "workspace of score parts"));
    real *at = parts->block;
    for (size_t l = 0; l < c->levels; l++) {
        parts->rotated[l] = at;
        at += hkt_net_capacity(pass, l) * 2 * c->d_model;
    }
    HKT_TRY(HKT_NEW(&parts->worker, pass->n_workers));
    for (size_t t = 0; t < pass->n_workers; t++)
        HKT_TRY(create_worker(pass, &parts->worker[t]));
    return HKT_OK;
}

hkt_status hkt_net_parts_create(net_pass *pass)
{
    HKT_TRY(HKT_NEW(&pass->parts, 1));
    hkt_status status = create(pass, pass->parts);
    if (status != HKT_OK)
        hkt_net_parts_destroy(pass);
    return status;
}

void hkt_net_parts_destroy(net_pass *pass)
{
    hkt_net_parts *parts = pass->parts;
    if (!parts)
        return;
    for (size_t t = 0; parts->worker && t < pass->n_workers; t++) {
        hkt_attention_work_destroy(parts->worker[t].attention);
        hkt_free(parts->worker[t].block);
    }
    hkt_free(parts->worker);
    hkt_free(parts->block);
    hkt_free(parts->index);
    hkt_free(parts->sign);
    hkt_free(parts);
    pass->parts = NULL;
}

/* q and k of rows at..at+m-1 of the rotated X^(l). */
static void rotate_rows(const net_pass *pass, const net_layer *a, const real *w, size_t l, size_t at, size_t m)
{
    const hkt_net_parts *parts = pass->parts;
    size_t d = pass->layout->config.d_model;
    real *x = net_worker_of(pass)->a;
    for (size_t i = 0; i < m; i++)
        for (size_t c = 0; c < d; c++)
            x[i * d + c] = (real)parts->sign[c] * a->level_x[l][(at + i) * d + parts->index[c]];
    hkt_linear_forward(m, 2 * d, d, x, d, w, NULL, parts->rotated[l] + at * 2 * d, 2 * d);
}

void hkt_net_parts_prepare(net_pass *pass, const real *params, size_t layer)
{
    const hkt_config *c = &pass->layout->config;
    for (size_t l = 0; l < c->levels; l++) {
        if (pass->iv.part[l] != HKT_PART_RANDOM)
            continue;
        const real *w = params + pass->layout->layer[layer].level[l].q;
        size_t rows = net_rows(pass, l);
        hkt_part_rotation(pass->iv.seed, layer, l, c->d_model, pass->parts->index, pass->parts->sign);
#pragma omp parallel for schedule(dynamic) num_threads(net_team(pass, net_chunks(rows)))
        for (size_t i = 0; i < net_chunks(rows); i++)
            rotate_rows(pass, &pass->layer[layer], w, l, i * NET_CHUNK, net_min(NET_CHUNK, rows - i * NET_CHUNK));
    }
}

/* out [n, 2p] = [a x, b y]; y NULL: zeros. */
static void side_by_side(size_t n, size_t p, real a, const real *x, size_t ld_x, real b, const real *y, size_t ld_y,
                         real *out)
{
    for (size_t i = 0; i < n; i++, out += 2 * p)
        for (size_t c = 0; c < p; c++) {
            out[c] = a * x[i * ld_x + c];
            out[p + c] = y ? b * y[i * ld_y + c] : 0;
        }
}

/* Level i of the call from `plain` (width p) to `wide` (width 2p), rows 0..n-1. */
static void widen_level(const net_pass *pass, const net_item *item, const hkt_attention *plain, size_t i, size_t n,
                        part_worker *w, hkt_attention *wide)
{
    size_t l = item->level + i, d = pass->layout->config.d_model, p = plain->p;
    hkt_score_part part = pass->iv.part[l];
    const real *q2 = plain->k[i], *k2 = plain->q[i];
    size_t ld2 = plain->ld_qk[i];
    if (part == HKT_PART_RANDOM) {
        k2 = pass->parts->rotated[l] + pass->offset[l][item->seq] * 2 * d + item->head * p;
        q2 = k2 + d;
        ld2 = 2 * d;
    }
    real a = part == HKT_PART_WHOLE ? 1 : REAL_C(0.5);
    real b = part == HKT_PART_WHOLE ? 0 : part == HKT_PART_ANTISYMMETRIC ? REAL_C(-0.5) : REAL_C(0.5);
    side_by_side(n, p, a, plain->q[i], plain->ld_qk[i], b, q2, ld2, w->q[i]);
    side_by_side(n, p, 1, plain->k[i], plain->ld_qk[i], 1, k2, ld2, w->k[i]);
    wide->q[i] = w->q[i];
    wide->k[i] = w->k[i];
    wide->ld_qk[i] = 2 * p;
    wide->weight[i] = plain->weight[i] * (real)sqrt(2);
}

void hkt_net_part_forward(const net_pass *pass, const net_item *item, const hkt_attention *call, real *o, size_t ld_o,
                          real *lse)
{
    part_worker *w = &pass->parts->worker[omp_get_thread_num()];
    size_t p = call->p, n = call->causal ? item->row_end : call->T; /* rows that are read */
    hkt_attention wide = *call;
    for (size_t i = 0; i < call->n_levels; i++)
        widen_level(pass, item, call, i, (n - 1) / pass->span[i] + 1, w, &wide);
    side_by_side(n, p, 1, call->v, call->ld_v, 0, NULL, 0, w->v);
    wide.p = 2 * p;
    wide.v = w->v;
    wide.ld_v = 2 * p;
    hkt_attention_forward(&wide, item->row_begin, item->row_end, w->o, 2 * p, lse, w->attention);
    for (size_t r = item->row_begin; r < item->row_end; r++)
        memcpy(o + r * ld_o, w->o + r * 2 * p, p * sizeof *o);
}

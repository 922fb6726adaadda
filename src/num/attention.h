/* attention.h - softmax attention over one head of one sequence, tiled: no T x T matrix is ever stored.
 *
 * One kernel serves all fusion modes. The score of query i and key j is
 *
 *     S_ij = sum_{l < n_levels} weight[l] * <q[l] row floor(i/s^l), k[l] row floor(j/s^l)> / sqrt(p)
 *
 * (docs/model.md 2.1, step 4) with n_levels = 1, weight = 1 for dynamic and static fusion (each level is its own
 * sequence), and n_levels = L, weight = lambda in score mode. A = row softmax of S (causal: j <= i); O = A V. A score
 * 64 (double: 600) or more below the largest of its row counts as minus infinity. */
#ifndef HKT_NUM_ATTENTION_H
#define HKT_NUM_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define HKT_MAX_LEVELS 12

#define hkt_attention_work         HKT_REAL_NAME(hkt_attention_work)
#define hkt_attention              HKT_REAL_NAME(hkt_attention)
#define hkt_attention_work_create  HKT_REAL_NAME(hkt_attention_work_create)
#define hkt_attention_work_destroy HKT_REAL_NAME(hkt_attention_work_destroy)
#define hkt_attention_forward      HKT_REAL_NAME(hkt_attention_forward)
#define hkt_attention_backward     HKT_REAL_NAME(hkt_attention_backward)
#define hkt_attention_forward_ref  HKT_REAL_NAME(hkt_attention_forward_ref)
#define hkt_attention_backward_ref HKT_REAL_NAME(hkt_attention_backward_ref)
#define HKT_BODY                   "num/attention.h"
#include "num/both.h"

#elif defined HKT_BODY

typedef struct {
    size_t T;        /* rows at level 0 of this call */
    size_t p;        /* head width */
    size_t stride;   /* s: level l has ceil(T / s^l) rows */
    size_t n_levels; /* 1..HKT_MAX_LEVELS */
    bool causal;
    const real *q[HKT_MAX_LEVELS]; /* [ceil(T/s^l), p], row stride ld_qk */
    const real *k[HKT_MAX_LEVELS]; /* the same */
    size_t ld_qk[HKT_MAX_LEVELS];
    real weight[HKT_MAX_LEVELS];
    const real *v; /* [T, p], row stride ld_v */
    size_t ld_v;
} hkt_attention;

/* Scratch of one thread, reusable over any number of calls with T <= max_T, p <= max_p, n_levels <= max_levels and,
 * when n_levels > 1, the same stride. Memory O(tile), plus O(max_T p). */
typedef struct hkt_attention_work hkt_attention_work;
hkt_status hkt_attention_work_create(hkt_attention_work **out, size_t max_T, size_t max_p, size_t max_levels,
                                     size_t stride);
void hkt_attention_work_destroy(hkt_attention_work *w);

/* o [out]: [T, p], row stride ld_o (overwritten). lse [out]: [T], log sum_j exp(S_ij), for the backward pass; or NULL.
 * Rows row_begin..row_end-1 only. Thread-safe with one `w` per thread. */
void hkt_attention_forward(const hkt_attention *a, size_t row_begin, size_t row_end, real *o, size_t ld_o, real *lse,
                           hkt_attention_work *w);

/* Backward of all rows (recomputes the scores tile by tile; Dao et al. 2022, section B.2).
 * d_o [in]: [T, p] gradient of o, row stride ld_o, the same stride as o. delta [T] is computed inside.
 * dq, dk [out]: per level, row strides ld_dqk[l]; dv [out]: row stride ld_dv: all overwritten.
 * d_weight [out]: [n_levels] gradient of weight[l], or NULL. */
void hkt_attention_backward(const hkt_attention *a, const real *o, const real *d_o, size_t ld_o, const real *lse,
                            real *const dq[], real *const dk[], const size_t ld_dqk[], real *dv, size_t ld_dv,
                            real *d_weight, hkt_attention_work *w);

/* Naive references with the T x T matrices in memory: the oracle of the tests. Same contract; `scores` [T, T] or NULL
 * receives S (unmasked). */
hkt_status hkt_attention_forward_ref(const hkt_attention *a, real *o, size_t ld_o, real *lse, real *scores);
hkt_status hkt_attention_backward_ref(const hkt_attention *a, const real *d_o, size_t ld_o, real *const dq[],
                                      real *const dk[], const size_t ld_dqk[], real *dv, size_t ld_dv, real *d_weight);

#endif

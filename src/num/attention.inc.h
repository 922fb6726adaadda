/* Body of attention.h for one precision; see num/both.h. */
typedef struct {
    size_t T;        /* rows at level 0 of this call */
    size_t p;        /* head width */
    size_t stride;   /* s: level l has ceil(T / s^l) rows */
    size_t n_levels; /* 1..HKT_MAX_LEVELS */
    bool causal;
    const REAL *q[HKT_MAX_LEVELS]; /* [ceil(T/s^l), p], row stride ld_qk */
    const REAL *k[HKT_MAX_LEVELS]; /* the same */
    size_t ld_qk[HKT_MAX_LEVELS];
    REAL weight[HKT_MAX_LEVELS];
    const REAL *v; /* [T, p], row stride ld_v */
    size_t ld_v;
} RN(hkt_attention);

/* Scratch of one thread, reusable over any number of calls with T <= max_T, p <= max_p, n_levels <= max_levels and,
 * when n_levels > 1, the same stride. Memory O(tile), plus O(max_T p). */
typedef struct RN(hkt_attention_work) RN(hkt_attention_work);
hkt_status RN(hkt_attention_work_create)(RN(hkt_attention_work) **out, size_t max_T, size_t max_p, size_t max_levels,
                                         size_t stride);
void RN(hkt_attention_work_destroy)(RN(hkt_attention_work) *w);

/* o [out]: [T, p], row stride ld_o (overwritten). lse [out]: [T], log sum_j exp(S_ij), for the backward pass; or NULL.
 * Rows row_begin..row_end-1 only. Thread-safe with one `w` per thread. */
void RN(hkt_attention_forward)(const RN(hkt_attention) *a, size_t row_begin, size_t row_end, REAL *o, size_t ld_o,
                               REAL *lse, RN(hkt_attention_work) *w);

/* Backward of all rows (recomputes the scores tile by tile; Dao et al. 2022, section B.2).
 * d_o [in]: [T, p] gradient of o, row stride ld_o, the same stride as o. delta [T] is computed inside.
 * dq, dk [out]: per level, row strides ld_dqk[l]; dv [out]: row stride ld_dv: all overwritten.
 * d_weight [out]: [n_levels] gradient of weight[l], or NULL. */
void RN(hkt_attention_backward)(const RN(hkt_attention) *a, const REAL *o, const REAL *d_o, size_t ld_o,
                                const REAL *lse, REAL *const dq[], REAL *const dk[], const size_t ld_dqk[], REAL *dv,
                                size_t ld_dv, REAL *d_weight, RN(hkt_attention_work) *w);

/* Naive references with the T x T matrices in memory: the oracle of the tests. Same contract; `scores` [T, T] or NULL
 * receives S (unmasked). */
hkt_status RN(hkt_attention_forward_ref)(const RN(hkt_attention) *a, REAL *o, size_t ld_o, REAL *lse, REAL *scores);
hkt_status RN(hkt_attention_backward_ref)(const RN(hkt_attention) *a, const REAL *d_o, size_t ld_o, REAL *const dq[],
                                          REAL *const dk[], const size_t ld_dqk[], REAL *dv, size_t ld_dv,
                                          REAL *d_weight);

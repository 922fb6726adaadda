/* hkt/heads.h - the queries, keys and scores of every head, for one sequence at a time. */
#ifndef HKT_HEADS_H
#define HKT_HEADS_H

#include <hkt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What one head shows of a sequence of T tokens. Its scores, before the softmax: S_ij = q_i . k_j / sqrt(p), of which a
 * causal model uses j <= i. */
typedef struct {
    size_t layer, level, head;
    size_t n;            /* tokens of the level: ceil(T / stride^level) */
    size_t p;            /* width of a head */
    size_t ld;           /* numbers from a row of q, and of k, to the next */
    const double *q, *k; /* [n, p] */
    double level_weight; /* lambda_l, the level's share of the hierarchical sum; 1 at one level */
    bool causal;
} hkt_heads_view;

/* Called for one head; the view is valid during the call. Anything but HKT_OK ends the walk. */
typedef hkt_status (*hkt_heads_visit)(void *self, const hkt_heads_view *head);

/* Runs the forward pass over tokens [T] and shows every head: layers, in them levels, in them heads, in rising order.
 * Errors: HKT_EUSAGE for NULL or T = 0; HKT_EINPUT for a token out of range or a sequence longer than the model's;
 * HKT_ENUMERIC; HKT_ESYSTEM; or what `visit` returned. */
HKT_API hkt_status hkt_heads_walk(const hkt_model *model, size_t T, const int32_t *tokens, hkt_heads_visit visit,
                                  void *self);

/* score [n, n] out: q k^T / sqrt(p); rows of q are ld_q numbers apart, rows of k ld_k. The same bits on every
 * processor. Errors: HKT_EUSAGE for NULL, n = 0, p = 0, ld < p; HKT_EINPUT for a value that is not finite. */
HKT_API hkt_status hkt_heads_scores(size_t n, size_t p, const double *q, size_t ld_q, const double *k, size_t ld_k,
                                    double *score);

#ifdef __cplusplus
}
#endif

#endif

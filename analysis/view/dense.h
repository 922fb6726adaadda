/* dense.h - one head's score matrices with every entry in memory: for checks and oracles at small T. */
#ifndef HKT_ANALYSIS_VIEW_DENSE_H
#define HKT_ANALYSIS_VIEW_DENSE_H

#include <stddef.h>

#include "model/net.h"

/* S^(l,h) = q k^T / sqrt(p) of the tap's first sequence; score [T_l, T_l] out, T_l = offset[l][1]. */
void hkt_score_dense(const hkt_tap_f64 *tap, size_t level, size_t head, size_t p, double *score);

/* out [n, n] = |X| |Wq|^T |Wk| |X|^T / sqrt(p), the sum of absolute terms behind S; x [n, d], wq, wk [p, d]; work
 * [2 n p]. */
void hkt_score_size(size_t n, size_t d, size_t p, const double *x, const double *wq, const double *wk, double *work,
                    double *out);

/* out [T, T] += weight U_l s U_l^T, s [ceil(T/factor), ceil(T/factor)], factor = stride^l. */
void hkt_score_upsample(size_t T, size_t factor, double weight, const double *s, double *out);

/* s^l, at most SIZE_MAX. */
size_t hkt_level_factor(size_t stride, size_t level);

#endif

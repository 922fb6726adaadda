/* stream.h - the hierarchical Gram matrix of a sequence that is never in memory: rows of Z are made, folded into R
 * and forgotten (docs/theory.md, "psd", streaming). Memory O(threads (Ld)^2), whatever the number of tokens. */
#ifndef HKT_ANALYSIS_VIEW_STREAM_H
#define HKT_ANALYSIS_VIEW_STREAM_H

#include <stdint.h>

#include "analysis/view/gram.h"

typedef struct {
    size_t T, d, L, stride;
    uint64_t seed;                      /* X^(0)_{i,c}: independent standard normals, a pure function of (seed, i, c) */
    const double *down[HKT_MAX_LEVELS]; /* [s, d], l >= 1: the cascade (docs/model.md 2.1, step 1) */
} hkt_gram_stream;

/* R of Z = QR: r [Ld, Ld] out, its first *k = min(T, Ld) rows, the others 0. Segments of the rows are folded in
 * parallel and joined in their order: the same bits for any number of threads. HKT_EINPUT when a group of s^(L-1)
 * rows overflows. */
hkt_status hkt_gram_stream_factor(const hkt_gram_stream *g, double *r, size_t *k);

/* The same levels in memory, for the dense oracle: x[l] [T_l, d] out, the caller's. */
void hkt_gram_stream_levels(const hkt_gram_stream *g, double *const x[]);

#endif

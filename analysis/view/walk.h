/* walk.h - one walk over all score matrices S^(l,h) of a model on a data set, tile by tile, in double. No T x T
 * matrix is stored; memory does not depend on the number of sequences: they are taken in batches. */
#ifndef HKT_ANALYSIS_VIEW_WALK_H
#define HKT_ANALYSIS_VIEW_WALK_H

#include <stddef.h>

#include "base/status.h"
#include "data/dataset.h"
#include "model/checkpoint.h"

/* Entries of one tile of one layer, level and sequence: the same n entries (i, j) for every head, only j <= i when the
 * model is causal. The score of head h at entry e is score[h * ld + e]. */
typedef struct {
    size_t seq, layer, level;
    size_t thread; /* 0 .. hkt_score_walk_threads() - 1: selects the visitor's scratch */
    size_t heads, n, ld;
    size_t before; /* entries of this layer, level and sequence in earlier tiles */
    const double *score;
    size_t rows;
    const size_t *row_end;  /* [rows]: the entries of row r end before row_end[r] and begin where row r - 1 ends */
    const double *row_mean; /* [heads, rows]: means of the rows, over all their entries (those of other tiles, too) */
} hkt_score_tile;

/* Called from several threads, but never at the same time for the same (seq, layer, level), whose tiles come in a fixed
 * order: sums kept per (seq, layer, level) do not depend on the number of threads. */
typedef void (*hkt_score_visit)(void *self, const hkt_score_tile *tile);

/* Called from one thread when all scores of sequences first .. first + n - 1 were shown, which are a batch; n is at
 * most HKT_SCORE_BATCH. */
typedef void (*hkt_score_batch_end)(void *self, size_t first, size_t n);
enum { HKT_SCORE_BATCH = 64 };

/* Runs the float64 forward pass over sequences 0 .. n_seq - 1 and shows every score once (shows progress on a
 * terminal). Errors: HKT_EINPUT when the data do not fit the model, HKT_ENUMERIC for a logit that is not finite,
 * HKT_ESYSTEM. */
hkt_status hkt_score_walk(const hkt_checkpoint *model, const hkt_dataset *data, size_t n_seq, hkt_score_visit visit,
                          void *self);
/* The same; `end` (NULL: none) is called after every batch. */
hkt_status hkt_score_walk_batches(const hkt_checkpoint *model, const hkt_dataset *data, size_t n_seq,
                                  hkt_score_visit visit, hkt_score_batch_end end, void *self);
size_t hkt_score_walk_threads(void);

#endif

/* walk.h - one walk over all score matrices S^(l,h) of a source of scores, tile by tile, in double: of a model on a
 * data set, or of queries and keys that another program stored (analysis/foreign/stored.h). No T x T matrix is made;
 * memory does not depend on the number of sequences: they are taken in batches. */
#ifndef HKT_ANALYSIS_VIEW_WALK_H
#define HKT_ANALYSIS_VIEW_WALK_H

#include <stdbool.h>
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

/* Where scores come from. */
typedef struct hkt_score_source hkt_score_source;
struct hkt_score_source {
    const void *model, *data;        /* borrowed; for the two functions */
    size_t n, layers, levels, heads; /* n: sequences */
    /* Scores of one head on a level of a sequence. */
    size_t (*entries)(const hkt_score_source *s, size_t level, size_t seq);
    /* hkt_score_walk, n_seq checked. */
    hkt_status (*walk)(const hkt_score_source *s, size_t n_seq, hkt_score_visit visit, hkt_score_batch_end end,
                       void *self);
};
/* The float64 forward pass of the model over the data. Errors of its walk: HKT_EINPUT when the data do not fit the
 * model, HKT_ENUMERIC for a logit that is not finite, HKT_ESYSTEM. */
hkt_score_source hkt_score_of_model(const hkt_checkpoint *model, const hkt_dataset *data);

/* Shows every score of sequences 0 .. n_seq - 1 once (and progress on a terminal); `end` (NULL: none) is called after
 * every batch. Errors: HKT_EINPUT when there are not so many sequences; those of the source. */
hkt_status hkt_score_walk(hkt_score_source source, size_t n_seq, hkt_score_visit visit, hkt_score_batch_end end,
                          void *self);
size_t hkt_score_walk_threads(void);

/* What the walk over one layer, level and sequence reads: row i of head h is at q + h q_step + i q_ld, its key, which
 * `share` heads have in common, at k + (h / share) k_step + i k_ld. */
typedef struct {
    size_t T, heads, share, p, q_ld, k_ld, q_step, k_step;
    double scale; /* the score is scale q.k */
    bool causal;
    const double *q, *k;
    const double *matrix; /* [heads, T, T] the scores themselves; NULL: from q and k */
} hkt_score_pairs;
enum { HKT_SCORE_TILE = 64 * 128 };
/* Doubles of scratch for the tiles of so many heads of width p. */
size_t hkt_score_work(size_t heads, size_t p);
/* Shows all tiles. tile: seq, layer, level and thread; work [hkt_score_work]. */
void hkt_score_tiles(const hkt_score_pairs *s, hkt_score_tile tile, double *work, hkt_score_visit visit, void *self);
/* What a head has: T (T + 1) / 2 or T^2. */
size_t hkt_score_entries(size_t T, bool causal);

#endif

/* sample.h - a systematic sample of the scores S^(l,h)_{ij} of every head, by sequence: every step-th entry of
 * the walk over a score matrix (walk.h). For estimates that need the values themselves, not sums over them. */
#ifndef HKT_ANALYSIS_VIEW_SAMPLE_H
#define HKT_ANALYSIS_VIEW_SAMPLE_H

#include <stddef.h>

#include "analysis/view/walk.h"
#include "base/status.h"

typedef struct {
    size_t n_seq, layers, levels, heads;
    size_t *step;  /* [levels] odd, so that it does not fall in with the width of a tile */
    size_t *begin; /* [levels][n_seq + 1] where the values of a sequence begin */
    double *score; /* by layer, level and head: begin[level][n_seq] values each */
} hkt_score_sample;

/* About `most` values for each head (most >= 1; at most one more for every sequence), entries j <= i when the model is
 * causal, over the first n_seq sequences. Results do not depend on the number of threads. Errors: those of
 * hkt_score_walk; *out is then empty. */
hkt_status hkt_score_sample_collect(hkt_score_sample *out, hkt_score_source source, size_t n_seq, size_t most);
void hkt_score_sample_free(hkt_score_sample *s);

/* Values of one head, those of sequence i from begin[i] to begin[i+1], begin [n_seq + 1]. */
const double *hkt_score_sample_of(const hkt_score_sample *s, size_t layer, size_t level, size_t head,
                                  const size_t **begin);

#endif

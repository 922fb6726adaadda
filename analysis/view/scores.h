/* scores.h - statistics of the score matrices of a source, without materialising them (walk.h). */
#ifndef HKT_ANALYSIS_VIEW_SCORES_H
#define HKT_ANALYSIS_VIEW_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/math/moments.h"
#include "analysis/view/walk.h"
#include "base/status.h"

/* Sums are kept for n_units units, what a bootstrap resamples: the sequences or, when there are more than
 * HKT_SCORE_UNITS, that many groups of neighbours, so that memory does not depend on their number. Sequence i is of
 * unit i n_units / sequences. */
enum { HKT_SCORE_UNITS = 256 };

/* Moments of the scores S^(l,h)_{ij} (entries j <= i when causal, all otherwise) per unit. */
typedef struct {
    size_t n_units, sequences, layers, levels, heads;
    hkt_moments *moments; /* [layers][levels][heads][n_units] */
    /* The same of S_ij less the mean of row i over its entries: what softmax sees, which is blind to a constant per
     * row. NULL unless collected by hkt_score_joint_collect. */
    hkt_moments *centred;
} hkt_score_moments;

/* Over the first n_seq sequences; memory independent of n_seq. Every level by itself: the
 * hierarchical sum is not included. Results do not depend on the number of threads. Errors: those of hkt_score_walk;
 * *out is then empty. */
hkt_status hkt_score_moments_collect(hkt_score_moments *out, hkt_score_source source, size_t n_seq);
void hkt_score_moments_free(hkt_score_moments *s);

/* Sums for Mardia's kurtosis of the vectors (S^(l,0)_{ij}, ..., S^(l,H-1)_{ij}): the scores that the H heads of one
 * level give to the same pair (i, j), per unit (quartic.h). */
typedef struct {
    size_t n_units, sequences, layers, levels, heads;
    size_t step;  /* every step-th entry of a score matrix is used (in the order of the walk, starting at the sequence's
                     index modulo step): odd, about 4 + ((H+1)(H+2)/10)^2, which bounds the cost per score */
    size_t size;  /* hkt_quartic_size(heads) */
    double *sums; /* [layers][levels][n_units][size] */
} hkt_score_joint;

/* All three in one pass; plus one more over the first sequence, for centre and scale of the joint sums. These grow with
 * the fourth power of the heads: joint->sums is NULL when they would need more than 1 GiB. */
hkt_status hkt_score_joint_collect(hkt_score_moments *moments, hkt_score_joint *joint, hkt_score_source source,
                                   size_t n_seq);
void hkt_score_joint_free(hkt_score_joint *j);

/* Counts of standardised scores z = (S - mean)/sd per layer/level/head in equal bins of [-lim, lim]; first and last bin
 * hold the tails. Second pass (needs mean and sd from the first). All counts are 0 where kappa is undefined. */
typedef struct {
    size_t bins;
    double lim;
    uint64_t *count; /* [layers][levels][heads][bins] */
} hkt_score_histogram;
hkt_status hkt_score_histogram_collect(hkt_score_histogram *out, hkt_score_source source, size_t n_seq,
                                       const hkt_score_moments *moments, size_t bins, double lim);
void hkt_score_histogram_free(hkt_score_histogram *h);

/* The units of one layer, level and head, [n_units]: data of hkt_bootstrap with the statistics of bootstrap.h. */
const hkt_moments *hkt_score_moments_units(const hkt_score_moments *m, size_t layer, size_t level, size_t head);
/* Moments of one layer, level and head over all sequences. */
hkt_moments hkt_score_moments_pool(const hkt_score_moments *s, size_t layer, size_t level, size_t head);
/* The same of the row-centred scores, which must be there. */
hkt_moments hkt_score_moments_pool_centred(const hkt_score_moments *s, size_t layer, size_t level, size_t head);

#endif

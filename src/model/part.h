/* part.h - the parts of a score matrix that an intervention may put in its place (docs/theory.md, "asymmetry").
 *
 * Per level and head S = X M X^T, M = Wq^T Wk / sqrt(p). Every part is X (M +- R M^T R^T)/2 X^T with an orthogonal R,
 * and the two signs split M into orthogonal parts whatever R is: with R = I into M_s and M_a. */
#ifndef HKT_MODEL_PART_H
#define HKT_MODEL_PART_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    HKT_PART_WHOLE,         /* S */
    HKT_PART_SYMMETRIC,     /* S_s = (S + S^T)/2 */
    HKT_PART_ANTISYMMETRIC, /* S_a = (S - S^T)/2 */
    HKT_PART_RANDOM         /* X (M + R M^T R^T)/2 X^T, R a random signed permutation */
} hkt_score_part;

/* R of HKT_PART_RANDOM: (x R)_c = sign[c] x[index[c]], sign +1 or -1; a function of (seed, layer, level), uniform over
 * the 2^d d! signed permutations. index, sign [d] out. */
void hkt_part_rotation(uint64_t seed, size_t layer, size_t level, size_t d, size_t *index, double *sign);

/* "whole", "symmetric", "antisymmetric", "random". */
const char *hkt_part_name(hkt_score_part part);

#endif

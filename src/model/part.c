#include "model/part.h"

#include "base/rng.h"
#include "num/attention.h" /* HKT_MAX_LEVELS */

enum { FIRST_SUB = 1 << 20 }; /* far above the sub-streams of the claims' own checks */

void hkt_part_rotation(uint64_t seed, size_t layer, size_t level, size_t d, size_t *index, double *sign)
{
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, (uint32_t)(FIRST_SUB + layer * HKT_MAX_LEVELS + level));
    for (size_t c = 0; c < d; c++) {
        index[c] = c;
        sign[c] = hkt_rng_below(&rng, 2) ? 1 : -1;
    }
    hkt_rng_shuffle(&rng, index, d);
}

const char *hkt_part_name(hkt_score_part part)
{
    static const char *const name[] = {"whole", "symmetric", "antisymmetric", "random"};
    return name[part];
}

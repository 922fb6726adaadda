/* cost.h - multiply-adds and memory of the model from its formula (exact integers); the yardstick of hkt-bench and of
 * the claim `cost`. The masked half of causal attention is not counted, nor softmax, norms, gelu, and the sums that
 * combine the levels: only products with weights and between q, k, A, v. Exact while the total stays below 2^64. */
#ifndef HKT_MODEL_COST_H
#define HKT_MODEL_COST_H

#include <stdint.h>

#include "model/layout.h"

typedef struct {
    uint64_t projections; /* q, k, v, out of all layers */
    uint64_t scores;      /* q k^T */
    uint64_t values;      /* A v */
    uint64_t downsample, conv;
    uint64_t ffn;
    uint64_t head;
    uint64_t total;
} hkt_cost;

/* Forward pass over one sequence of T tokens, in multiply-adds. Causal: T_l (T_l + 1)/2 pairs per level; else T_l^2.
 * Score mode: each level's scores once, at the level's own resolution. */
hkt_cost hkt_cost_forward(const hkt_config *c, size_t T);
/* One training step: forward and backward without recomputation, 3 times the forward pass. */
hkt_cost hkt_cost_step(const hkt_config *c, size_t T);

#endif

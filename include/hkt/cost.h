/* hkt/cost.h - multiply-adds of a model, exactly: products with weights and between q, k, A and v; not softmax, norms
 * and activations. Causal attention counts the pairs j <= i. */
#ifndef HKT_COST_H
#define HKT_COST_H

#include <hkt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint64_t projections; /* q, k, v, out of all layers */
    uint64_t scores;      /* q k^T */
    uint64_t values;      /* A v */
    uint64_t downsample, conv, ffn;
    uint64_t head; /* the classifier */
    uint64_t total;
} hkt_cost_result;

/* A forward pass over one sequence of T tokens. Errors: HKT_EUSAGE for NULL, T = 0 or T > 2^24. */
HKT_API hkt_status hkt_cost_sequence(const hkt_model *model, size_t T, hkt_cost_result *out);

#ifdef __cplusplus
}
#endif

#endif

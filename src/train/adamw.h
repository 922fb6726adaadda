/* adamw.h - AdamW (Loshchilov & Hutter 2019): decoupled decay, bias-corrected moments, one pass over the parameters. */
#ifndef HKT_TRAIN_ADAMW_H
#define HKT_TRAIN_ADAMW_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/layout.h"

typedef struct {
    double beta1, beta2, epsilon, weight_decay;
} hkt_adamw_spec;

typedef struct {
    const hkt_layout *layout; /* borrowed: says which parameters decay */
    hkt_adamw_spec spec;
    float *m, *v;  /* [layout->total], owned; first and second moments, zero before the first update */
    uint64_t step; /* updates done */
} hkt_adamw;

hkt_status hkt_adamw_create(hkt_adamw *out, const hkt_layout *layout, const hkt_adamw_spec *spec);
/* Frees the moments; may be called on a zeroed struct. */
void hkt_adamw_destroy(hkt_adamw *a);
/* params -= lr (m_hat / (sqrt(v_hat) + eps) + decay * params), gradients scaled by grad_scale (clipping).
 * params [in/out], grads [in]: [layout->total]. The result does not depend on the number of threads. */
void hkt_adamw_step(hkt_adamw *a, float *params, const float *grads, double grad_scale, double lr);
/* Euclidean norm of the gradients, summed in double in a fixed order. */
double hkt_grad_norm(const hkt_layout *layout, const float *grads);

/* Learning rate of update `step` (1 = the first): linear warm-up that reaches `peak` at step `warmup`, then a cosine
 * that reaches final_fraction * peak at step `total`, constant after it. */
double hkt_lr_schedule(uint64_t step, uint64_t warmup, uint64_t total, double peak, double final_fraction);

#endif

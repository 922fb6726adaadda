/* workload.h - pieces of work that are timed: the attention kernel alone, and a model on one batch, both on random
 * numbers. Single precision, as in training. */
#ifndef HKT_ANALYSIS_VIEW_WORKLOAD_H
#define HKT_ANALYSIS_VIEW_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/net.h"

enum {
    HKT_WORKLOAD_Q,
    HKT_WORKLOAD_K,
    HKT_WORKLOAD_DQ,
    HKT_WORKLOAD_DK,
    HKT_WORKLOAD_V,
    HKT_WORKLOAD_DV,
    HKT_WORKLOAD_O,
    HKT_WORKLOAD_DO,
    HKT_WORKLOAD_BUFFERS
};

/* The attention of one layer: one call of the kernel per head, sequence and level, or (score mode) for all levels. */
typedef struct {
    const hkt_config *config; /* borrowed */
    size_t T, batch;
    size_t n_calls, n_threads;                           /* calls per head and sequence */
    float *buffer[HKT_MAX_LEVELS][HKT_WORKLOAD_BUFFERS]; /* [batch T_l, d] */
    float *lse[HKT_MAX_LEVELS];                          /* [batch H, T_l] */
    hkt_attention_work_f32 **work;                       /* [n_threads] */
} hkt_workload_attention;

/* Normal q, k, v and dO. Free also after an error. */
hkt_status hkt_workload_attention_create(hkt_workload_attention *out, const hkt_config *config, size_t T, size_t batch,
                                         uint64_t seed);
void hkt_workload_attention_free(hkt_workload_attention *w);
/* The forward pass, which the backward pass needs to have been run. */
void hkt_workload_attend(const hkt_workload_attention *w, bool backward);

typedef struct {
    hkt_layout *layout;
    hkt_net_f32 *net;
    float *params, *grads; /* [layout->total] */
    int32_t *tokens, *labels;
    size_t *lengths;
    hkt_batch batch;
} hkt_workload_model;

/* Random weights, tokens and labels; batch sequences of T tokens, or ragged: of T/8 to T tokens, uniformly. The net is
 * hkt_workload_net's. Free also after an error. */
hkt_status hkt_workload_model_create(hkt_workload_model *out, const hkt_config *config, size_t T, size_t batch,
                                     bool ragged, uint64_t seed);
void hkt_workload_model_free(hkt_workload_model *m);
/* (Re)places the net by one for training, or not. */
hkt_status hkt_workload_net(hkt_workload_model *m, bool train);
/* Forward and backward pass. */
hkt_status hkt_workload_gradient(hkt_workload_model *m);
size_t hkt_workload_tokens(const hkt_workload_model *m);

#endif

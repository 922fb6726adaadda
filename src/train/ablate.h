/* ablate.h - training with a part of the model held at a fixed value, for ablations. The checkpoint holds that value,
 * so that a trained model is evaluated like any other. */
#ifndef HKT_TRAIN_ABLATE_H
#define HKT_TRAIN_ABLATE_H

#include <stdbool.h>

#include "base/status.h"
#include "model/layout.h"

/* Mixing logit of a head without attention: beta = 1 / (1 + e^40) = 4e-18, below half a unit in the last place of a
 * float next to the convolution's share, 1 - beta = 1. */
#define HKT_NO_ATTENTION_LOGIT (-40)

typedef struct {
    bool fixed_downsampling; /* every level is the mean over the stride, the initial value */
    bool no_attention;       /* the convolution alone mixes tokens */
} hkt_ablation;

/* HKT_EUSAGE when the model has no such part: downsampling needs two levels, no attention needs the convolution. */
hkt_status hkt_ablation_check(const hkt_ablation *a, const hkt_config *config);

/* Takes weight decay off the fixed parameters. */
void hkt_ablation_fix(const hkt_ablation *a, hkt_layout *layout);

/* Sets the fixed parameters among the first weights. params: [layout->total]. */
void hkt_ablation_start(const hkt_ablation *a, const hkt_layout *layout, double *params);

/* Zeroes the gradients of the fixed parameters: with zero moments and no decay AdamW leaves them bit for bit. grads:
 * [layout->total]. */
void hkt_ablation_mask(const hkt_ablation *a, const hkt_layout *layout, float *grads);

#endif

/* evaluate.h - accuracy and loss of a model over a data set. */
#ifndef HKT_TRAIN_EVALUATE_H
#define HKT_TRAIN_EVALUATE_H

#include <stddef.h>

#include "base/status.h"
#include "data/dataset.h"
#include "model/net.h"
#include "train/batch.h"

typedef struct {
    size_t n, correct;
    double accuracy, loss; /* mean cross entropy */
    double seconds;
    size_t tokens;
} hkt_evaluation;

/* confusion: [C * C] counts, row = label, column = prediction; or NULL. correct: [n] 0/1 per sequence, or NULL.
 * iv: NULL = none. Batches of at most batch_tokens tokens (a longer sequence goes alone). The prediction is the first
 * largest logit. Errors: HKT_EINPUT for data that do not fit the model; HKT_ENUMERIC when a logit is not finite. */
hkt_status hkt_evaluate(const hkt_layout *layout, const float *params, const hkt_dataset *data, size_t batch_tokens,
                        const hkt_intervention *iv, hkt_evaluation *out, size_t *confusion, unsigned char *correct);

/* HKT_EINPUT unless vocabulary and classes of the task are those of the model. `what` names the model. */
hkt_status hkt_evaluate_check(const hkt_config *config, const hkt_dataset *data, const char *what);

/* 95 % interval of a proportion (Wilson 1927): k successes of n >= 1. */
void hkt_wilson(size_t k, size_t n, double *low, double *high);

#endif

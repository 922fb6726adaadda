/* apply.h - a model applied to one batch, its outputs and gradients written to files, in either precision: what another
 * implementation is compared with. */
#ifndef HKT_TRAIN_APPLY_H
#define HKT_TRAIN_APPLY_H

#include "base/status.h"
#include "model/checkpoint.h"
#include "model/net.h"

#define hkt_apply HKT_REAL_NAME(hkt_apply)
#define HKT_BODY  "train/apply.h"
#include "num/both.h"

#elif defined HKT_BODY

/* Computes in this precision from the weights of the checkpoint. batch: with labels. loss [out]: mean cross entropy.
 * logits_path: receives the logits [B, C] as .npy, or NULL. grads_path: receives `loss` (a scalar) and `grad.NAME` of
 * every parameter as safetensors, or NULL. Files have this precision. Errors: HKT_ENUMERIC, HKT_ESYSTEM. */
hkt_status hkt_apply(const hkt_checkpoint *model, const hkt_batch *batch, const char *logits_path,
                     const char *grads_path, double *loss);

#endif

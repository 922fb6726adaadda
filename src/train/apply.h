/* apply.h - a model applied to one batch, its outputs and gradients written to files, in either precision: what another
 * implementation is compared with. */
#ifndef HKT_TRAIN_APPLY_H
#define HKT_TRAIN_APPLY_H

#include "base/status.h"
#include "model/checkpoint.h"
#include "model/net.h"

#define HKT_BODY "train/apply.inc.h"
#include "num/both.h"

#endif

/* checkpoint.h - models on disk: safetensors with metadata `hkt.config` (docs/model.md 2.2), and initial values. */
#ifndef HKT_MODEL_CHECKPOINT_H
#define HKT_MODEL_CHECKPOINT_H

#include <stdint.h>

#include "base/safetensors.h"
#include "base/status.h"
#include "model/layout.h"

typedef struct {
    hkt_layout *layout;
    double *params;  /* [layout->total], padding zero */
    bool stored_f64; /* any tensor was F64 */
} hkt_checkpoint;

/* Reads and checks: every tensor of the table present with its shape and a float dtype, all values finite; no tensor of
 * the model's families (of another layer, level, fusion or head) that the configuration does not have, and none below
 * `layers.` that no model of this kind has; other names are ignored. Errors: HKT_EINPUT naming file, tensor, expected,
 * found. */
hkt_status hkt_checkpoint_read(hkt_checkpoint *out, const char *path);
/* The same from an open file. */
hkt_status hkt_checkpoint_from(hkt_checkpoint *out, const hkt_safetensors *file);
void hkt_checkpoint_free(hkt_checkpoint *c);

/* Writes params [layout->total] as F32 with `hkt.config` and the extra metadata pairs {key, value, ..., NULL} (or
 * NULL). Errors: HKT_ESYSTEM. */
hkt_status hkt_checkpoint_write(const char *path, const hkt_layout *layout, const float *params,
                                const char *const *meta);

/* Initial values (docs/theory.md, "Initial values"), independent normals:
 *   embed, pos                   N(0, 0.02^2)
 *   q, k, v, ffn.up, head weight N(0, 1/fan_in), fan_in = number of columns (d for all of them)
 *   out, ffn.down weight         N(0, 1/(2 N fan_in)): the 2N branches of the residual stream add up to variance O(1)
 *   conv                         row 0 (the token itself) N(1, 0.02^2), other rows N(0, 0.02^2)
 *   down                         1/s;   norm weight 1;   biases, theta, gate, beta 0
 * A tensor's values are a function of (seed, index of the tensor in the table) alone. params [out]: [layout->total],
 * padding zero. */
void hkt_init_params(const hkt_layout *layout, uint64_t seed, double *params);

/* Rounds [layout->total] values to nearest; exact for a checkpoint that was written by hkt_checkpoint_write. */
void hkt_params_to_f32(const hkt_layout *layout, const double *in, float *out);

#endif

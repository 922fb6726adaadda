/* layout.h - one table {name, shape, role, offset} of all parameters: it drives initialisation, checkpoint and
 * optimiser. Parameters and gradients are one flat block each, carved by this table. */
#ifndef HKT_MODEL_LAYOUT_H
#define HKT_MODEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "model/config.h"

typedef enum {
    HKT_ROLE_EMBED,
    HKT_ROLE_POS,
    HKT_ROLE_NORM_WEIGHT,
    HKT_ROLE_NORM_BIAS,
    HKT_ROLE_DOWN,
    HKT_ROLE_QK,
    HKT_ROLE_V,
    HKT_ROLE_CONV,
    HKT_ROLE_THETA,
    HKT_ROLE_GATE,
    HKT_ROLE_BETA,
    HKT_ROLE_OUT,
    HKT_ROLE_FFN_UP,
    HKT_ROLE_FFN_DOWN,
    HKT_ROLE_FFN_BIAS,
    HKT_ROLE_HEAD_WEIGHT,
    HKT_ROLE_HEAD_BIAS
} hkt_role;

typedef struct {
    char name[64];
    hkt_role role;
    size_t ndim, shape[2];
    size_t offset, count; /* in elements of the flat block */
    bool decay;           /* weight decay applies (not on norms, biases, theta, beta, gate) */
} hkt_param;

#define HKT_ABSENT ((size_t)-1)

/* Offsets of one level's parameters. q, k, v are adjacent, so that [q; k; v] is one [3d, d] matrix (score mode, l >= 1:
 * [q; k] is [2d, d]). HKT_ABSENT where the tensor does not exist. */
typedef struct {
    size_t down;    /* [s, d], l >= 1 */
    size_t q, k, v; /* [d, d] */
    size_t conv;    /* [w, d] */
} hkt_level_offsets;

typedef struct {
    size_t norm1_weight, norm1_bias, norm2_weight, norm2_bias; /* [d] */
    hkt_level_offsets level[HKT_MAX_LEVELS];
    size_t theta;                                      /* [L] */
    size_t gate;                                       /* [L, d] */
    size_t beta;                                       /* [L, H], [1, H] in score mode */
    size_t out;                                        /* [d, d] */
    size_t up_weight, up_bias, down_weight, down_bias; /* [f d, d], [f d], [d, f d], [d] */
} hkt_layer_offsets;

typedef struct {
    hkt_config config;
    hkt_param *params; /* [n_params], in file order */
    size_t n_params;
    size_t total; /* elements of the flat block; every tensor starts at a multiple of 16 elements, but k and v follow
                     q directly; the padding is zero */
    size_t n_weights; /* number of parameters proper (sum of counts) */
    size_t embed, pos, norm_weight, norm_bias, head_weight, head_bias;
    hkt_layer_offsets *layer; /* [N] */
} hkt_layout;

/* Checks the config (HKT_EINPUT) and builds the table. hkt_layout_destroy frees; accepts NULL. */
hkt_status hkt_layout_create(hkt_layout **out, const hkt_config *config);
void hkt_layout_destroy(hkt_layout *l);
/* NULL when absent. */
const hkt_param *hkt_layout_find(const hkt_layout *l, const char *name);

/* Number of levels that own v, conv, beta: L, or 1 in score mode. */
size_t hkt_value_levels(const hkt_config *c);

#endif

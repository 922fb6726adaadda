#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "model/checkpoint.h"

/* Mean of the first row and of the others, and standard deviation, of a tensor's initial values. */
typedef struct {
    double first, rest, sd;
} init_law;

static init_law law_of(const hkt_config *c, const hkt_param *p)
{
    double fan_in = (double)p->shape[1];       /* of a weight matrix [out, in] */
    double residual = 2.0 * (double)c->layers; /* branches that add to the residual stream */
    switch (p->role) {
    case HKT_ROLE_EMBED:
    case HKT_ROLE_POS:
        return (init_law){0, 0, 0.02};
    case HKT_ROLE_NORM_WEIGHT:
        return (init_law){1, 1, 0};
    case HKT_ROLE_DOWN:
        return (init_law){1.0 / (double)c->stride, 1.0 / (double)c->stride, 0};
    case HKT_ROLE_CONV:
        return (init_law){1, 0, 0.02};
    case HKT_ROLE_QK:
    case HKT_ROLE_V:
    case HKT_ROLE_HEAD_WEIGHT:
    case HKT_ROLE_FFN_UP:
        return (init_law){0, 0, 1 / sqrt(fan_in)};
    case HKT_ROLE_OUT:
    case HKT_ROLE_FFN_DOWN:
        return (init_law){0, 0, 1 / sqrt(fan_in * residual)};
    default: /* biases, theta, gate, beta */
        return (init_law){0, 0, 0};
    }
}

static void fill(const hkt_config *c, const hkt_param *p, uint64_t seed, size_t index, double *out)
{
    init_law law = law_of(c, p);
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_INIT, (uint32_t)index);
    size_t row = p->ndim == 2 ? p->shape[1] : p->count;
    for (size_t i = 0; i < p->count; i++) {
        out[i] = i < row ? law.first : law.rest;
        if (law.sd > 0)
            out[i] += law.sd * hkt_rng_normal(&rng);
    }
}

void hkt_init_params(const hkt_layout *layout, uint64_t seed, double *params)
{
    memset(params, 0, layout->total * sizeof *params);
    for (size_t i = 0; i < layout->n_params; i++)
        fill(&layout->config, &layout->params[i], seed, i, params + layout->params[i].offset);
}

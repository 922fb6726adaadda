#include "model/cost.h"

static uint64_t pairs(const hkt_config *c, uint64_t T)
{
    return c->causal ? T * (T + 1) / 2 : T * T;
}

hkt_cost hkt_cost_forward(const hkt_config *c, size_t T)
{
    uint64_t d = c->d_model, N = c->layers;
    hkt_cost out = {.projections = T * d * d, .ffn = 2 * T * d * c->ffn_mult * d, .head = c->classes * d};
    for (size_t l = 0; l < c->levels; l++) {
        uint64_t rows = hkt_level_length(T, c->stride, l);
        bool values = l < hkt_value_levels(c);
        out.projections += (values ? 3 : 2) * rows * d * d;
        out.scores += pairs(c, rows) * d;
        out.values += values ? pairs(c, rows) * d : 0;
        out.downsample += l > 0 ? rows * c->stride * d : 0;
        out.conv += values && c->hybrid ? rows * c->conv_width * d : 0;
    }
    out.projections *= N;
    out.scores *= N;
    out.values *= N;
    out.downsample *= N;
    out.conv *= N;
    out.ffn *= N;
    out.total = out.projections + out.scores + out.values + out.downsample + out.conv + out.ffn + out.head;
    return out;
}

hkt_cost hkt_cost_step(const hkt_config *c, size_t T)
{
    /* Each product y = x w^T has two gradients of the same size: dx = dy w and dw = dy^T x. */
    hkt_cost out = hkt_cost_forward(c, T);
    uint64_t *field[] = {&out.projections, &out.scores, &out.values, &out.downsample,
                         &out.conv,        &out.ffn,    &out.head,   &out.total};
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++)
        *field[i] *= 3;
    return out;
}

#include "model/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Elements to which a tensor's start is rounded up: 64 bytes in float. */
enum { ALIGN = 16 };

/* Walks the table twice: the first time params is NULL and it only counts. */
typedef struct {
    hkt_layout *layout;
    size_t n, at;
} builder;

__attribute__((format(printf, 2, 0))) static void set_name(hkt_param *p, const char *format, va_list args)
{
    int n = vsnprintf(p->name, sizeof p->name, format, args);
    HKT_ASSERT(n > 0 && (size_t)n < sizeof p->name);
}

static bool decays(hkt_role role)
{
    switch (role) {
    case HKT_ROLE_NORM_WEIGHT:
    case HKT_ROLE_NORM_BIAS:
    case HKT_ROLE_THETA:
    case HKT_ROLE_GATE:
    case HKT_ROLE_BETA:
    case HKT_ROLE_FFN_BIAS:
    case HKT_ROLE_HEAD_BIAS:
        return false;
    default:
        return true;
    }
}

/* Places a [rows, cols] tensor (cols = 0: [rows]) directly after the previous one. Products are within the limits of
 * hkt_config_check. */
__attribute__((format(printf, 5, 0))) static size_t append(builder *b, hkt_role role, size_t rows, size_t cols,
                                                           const char *format, va_list args)
{
    size_t count = cols ? rows * cols : rows, offset = b->at;
    if (b->layout->params) {
        hkt_param *p = &b->layout->params[b->n];
        *p = (hkt_param){.role = role,
                         .ndim = cols ? 2 : 1,
                         .shape = {rows, cols},
                         .offset = offset,
                         .count = count,
                         .decay = decays(role)};
        set_name(p, format, args);
        b->layout->n_weights += count;
    }
    b->n++;
    b->at += count;
    return offset;
}

__attribute__((format(printf, 5, 6))) static size_t add(builder *b, hkt_role role, size_t rows, size_t cols,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    b->at = (b->at + ALIGN - 1) / ALIGN * ALIGN;
    size_t offset = append(b, role, rows, cols, format, args);
    va_end(args);
    return offset;
}

__attribute__((format(printf, 5, 6))) static size_t add_adjacent(builder *b, hkt_role role, size_t rows, size_t cols,
                                                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t offset = append(b, role, rows, cols, format, args);
    va_end(args);
    return offset;
}

static hkt_level_offsets add_level(builder *b, size_t n, size_t l)
{
    const hkt_config *c = &b->layout->config;
    size_t d = c->d_model;
    bool values = l < hkt_value_levels(c);
    hkt_level_offsets o = {HKT_ABSENT, HKT_ABSENT, HKT_ABSENT, HKT_ABSENT, HKT_ABSENT};
    if (l > 0)
        o.down = add(b, HKT_ROLE_DOWN, c->stride, d, "layers.%zu.attn.level.%zu.down.weight", n, l);
    o.q = add(b, HKT_ROLE_QK, d, d, "layers.%zu.attn.level.%zu.q.weight", n, l);
    o.k = add_adjacent(b, HKT_ROLE_QK, d, d, "layers.%zu.attn.level.%zu.k.weight", n, l);
    if (values)
        o.v = add_adjacent(b, HKT_ROLE_V, d, d, "layers.%zu.attn.level.%zu.v.weight", n, l);
    if (values && c->hybrid)
        o.conv = add(b, HKT_ROLE_CONV, c->conv_width, d, "layers.%zu.attn.level.%zu.conv.weight", n, l);
    return o;
}

static hkt_layer_offsets add_layer(builder *b, size_t n)
{
    const hkt_config *c = &b->layout->config;
    size_t d = c->d_model, L = c->levels, fd = c->ffn_mult * d;
    hkt_layer_offsets o;
    o.norm1_weight = add(b, HKT_ROLE_NORM_WEIGHT, d, 0, "layers.%zu.norm1.weight", n);
    o.norm1_bias = add(b, HKT_ROLE_NORM_BIAS, d, 0, "layers.%zu.norm1.bias", n);
    for (size_t l = 0; l < HKT_MAX_LEVELS; l++)
        o.level[l] = l < L ? add_level(b, n, l)
                           : (hkt_level_offsets){HKT_ABSENT, HKT_ABSENT, HKT_ABSENT, HKT_ABSENT, HKT_ABSENT};
    o.theta = L > 1 ? add(b, HKT_ROLE_THETA, L, 0, "layers.%zu.attn.theta", n) : HKT_ABSENT;
    o.gate = hkt_config_gated(c) ? add(b, HKT_ROLE_GATE, L, d, "layers.%zu.attn.gate.weight", n) : HKT_ABSENT;
    o.beta = c->hybrid ? add(b, HKT_ROLE_BETA, hkt_value_levels(c), c->heads, "layers.%zu.attn.beta", n) : HKT_ABSENT;
    o.out = add(b, HKT_ROLE_OUT, d, d, "layers.%zu.attn.out.weight", n);
    o.norm2_weight = add(b, HKT_ROLE_NORM_WEIGHT, d, 0, "layers.%zu.norm2.weight", n);
    o.norm2_bias = add(b, HKT_ROLE_NORM_BIAS, d, 0, "layers.%zu.norm2.bias", n);
    o.up_weight = add(b, HKT_ROLE_FFN_UP, fd, d, "layers.%zu.ffn.up.weight", n);
    o.up_bias = add(b, HKT_ROLE_FFN_BIAS, fd, 0, "layers.%zu.ffn.up.bias", n);
    o.down_weight = add(b, HKT_ROLE_FFN_DOWN, d, fd, "layers.%zu.ffn.down.weight", n);
    o.down_bias = add(b, HKT_ROLE_FFN_BIAS, d, 0, "layers.%zu.ffn.down.bias", n);
    return o;
}

static void build(builder *b)
{
    hkt_layout *l = b->layout;
    const hkt_config *c = &l->config;
    b->n = b->at = 0;
    l->embed = add(b, HKT_ROLE_EMBED, c->vocab, c->d_model, "embed.weight");
    l->pos = add(b, HKT_ROLE_POS, c->max_len, c->d_model, "pos.weight");
    for (size_t n = 0; n < c->layers; n++)
        l->layer[n] = add_layer(b, n);
    l->norm_weight = add(b, HKT_ROLE_NORM_WEIGHT, c->d_model, 0, "norm.weight");
    l->norm_bias = add(b, HKT_ROLE_NORM_BIAS, c->d_model, 0, "norm.bias");
    l->head_weight = add(b, HKT_ROLE_HEAD_WEIGHT, c->classes, c->d_model, "head.weight");
    l->head_bias = add(b, HKT_ROLE_HEAD_BIAS, c->classes, 0, "head.bias");
    l->n_params = b->n;
    l->total = (b->at + ALIGN - 1) / ALIGN * ALIGN;
}

hkt_status hkt_layout_create(hkt_layout **out, const hkt_config *config)
{
    *out = NULL;
    HKT_TRY(hkt_config_check(config, "config"));
    hkt_status status;
    hkt_layout *l = NULL;
    HKT_TRY(HKT_NEW(&l, 1));
    l->config = *config;
    HKT_TRY_GOTO(status, fail, HKT_NEW(&l->layer, config->layers));
    builder b = {.layout = l};
    build(&b);
    HKT_TRY_GOTO(status, fail, HKT_NEW(&l->params, l->n_params));
    build(&b);
    *out = l;
    return HKT_OK;
fail:
    hkt_layout_destroy(l);
    return status;
}

void hkt_layout_destroy(hkt_layout *l)
{
    if (!l)
        return;
    hkt_free(l->layer);
    hkt_free(l->params);
    hkt_free(l);
}

const hkt_param *hkt_layout_find(const hkt_layout *l, const char *name)
{
    for (size_t i = 0; i < l->n_params; i++)
        if (strcmp(l->params[i].name, name) == 0)
            return &l->params[i];
    return NULL;
}

size_t hkt_value_levels(const hkt_config *c)
{
    return hkt_fusion_of(c)->sums_scores ? 1 : c->levels;
}

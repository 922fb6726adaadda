/* net.c - the workspace: one block, carved by one plan. */
#include "model/net_internal.h"
#include "num/real.h"

#include <string.h>

#include "base/mem.h"
#include "num/blas.h"

/* Walks the plan twice: the first time base is NULL and it only counts. */
typedef struct {
    real *base;
    size_t at; /* elements */
    bool overflow;
} arena;

enum { ALIGN = 64 / sizeof(real) };

static real *carve(arena *a, size_t rows, size_t cols)
{
    real *p = a->base ? a->base + a->at : NULL;
    size_t n;
    if (!hkt_mul_size(rows, cols, &n) || !hkt_add_size(n, ALIGN - 1, &n) ||
        !hkt_add_size(a->at, n / ALIGN * ALIGN, &a->at))
        a->overflow = true;
    return p;
}

/* sum_b ceil(T_b / s^l) over at most max_seqs sequences of max_tokens tokens in all. */
size_t hkt_net_capacity(const hkt_net *net, size_t level)
{
    size_t rows = net->max_tokens, s = net->layout->config.stride;
    for (size_t l = 0; l < level; l++)
        rows = net_min(rows, rows / s + net->max_seqs);
    return rows;
}

/* What a tap shows: residual stream, level inputs, q, k, v, outputs of attention and convolution. */
static void plan_taps(const hkt_net *net, arena *a, net_layer *y)
{
    const hkt_config *c = &net->layout->config;
    y->x = carve(a, net->max_tokens, c->d_model);
    for (size_t l = 0; l < c->levels; l++) {
        size_t rows = hkt_net_capacity(net, l);
        bool value = l < hkt_value_levels(c);
        y->level_x[l] = carve(a, rows, c->d_model);
        y->qkv[l] = carve(a, rows, net->ld[l]);
        y->o[l] = value ? carve(a, rows, c->d_model) : NULL;
        y->conv[l] = value && c->hybrid ? carve(a, rows, c->d_model) : NULL;
    }
}

/* What only the backward pass needs again. */
static void plan_rest(const hkt_net *net, arena *a, net_layer *y)
{
    const hkt_config *c = &net->layout->config;
    size_t d = c->d_model, rows = net->max_tokens;
    for (size_t l = 0; l < hkt_value_levels(c); l++)
        y->lse[l] = net->train ? carve(a, hkt_net_capacity(net, l), c->heads) : NULL;
    y->mean1 = carve(a, rows, 1);
    y->rstd1 = carve(a, rows, 1);
    y->mean2 = carve(a, rows, 1);
    y->rstd2 = carve(a, rows, 1);
    y->mixed = carve(a, rows, d);
    y->normed2 = carve(a, rows, d);
    if (net->train) {
        y->x_mid = carve(a, rows, d);
        y->up = carve(a, rows, c->ffn_mult * d);
    }
}

/* Level and head weights: small, one set per layer always. */
static void plan_weights(const hkt_net *net, arena *a, net_layer *y)
{
    const hkt_config *c = &net->layout->config;
    size_t d = c->d_model, Lv = hkt_value_levels(c);
    y->lambda = carve(a, c->levels, 1);
    y->alpha = carve(a, net->max_seqs, c->levels);
    y->xbar = net_gated(net) ? carve(a, net->max_seqs, d) : NULL;
    y->beta = carve(a, Lv, c->heads);
    y->share_o = carve(a, Lv, d);
    y->share_conv = carve(a, Lv, d);
}

static void plan_layers(hkt_net *net, arena *a)
{
    size_t N = net->layout->config.layers, d = net->layout->config.d_model;
    for (size_t n = 0; n < N; n++) {
        net_layer *y = &net->layer[n];
        if (n > 0 && !net->train)
            *y = net->layer[0];
        if (n == 0 || net->train || net->keep_taps)
            plan_taps(net, a, y);
        if (n == 0 || net->train)
            plan_rest(net, a, y);
        plan_weights(net, a, y);
    }
    net->layer[N].x = net->train || net->keep_taps ? carve(a, net->max_tokens, d) : net->layer[0].x;
    for (size_t n = 0; n < N && !net->train; n++)
        net->layer[n].x_mid = net->layer[n + 1].x; /* the sums of the residual stream work in place */
}

static void plan_grads(hkt_net *net, arena *a)
{
    const hkt_config *c = &net->layout->config;
    size_t d = c->d_model, B = net->max_seqs, Lv = hkt_value_levels(c);
    net_grads *g = &net->grad;
    g->x = carve(a, net->max_tokens, d);
    for (size_t l = 0; l < c->levels; l++) {
        size_t rows = hkt_net_capacity(net, l);
        g->y[l] = l < Lv ? carve(a, rows, d) : NULL;
        g->conv[l] = l < Lv && c->hybrid ? carve(a, rows, d) : NULL;
        g->qkv[l] = carve(a, rows, net->ld[l]);
        g->level_x[l] = carve(a, rows, d);
    }
    g->alpha = carve(a, B, c->levels);
    g->head_weight = c->fusion == HKT_FUSION_SCORE ? carve(a, B, c->heads * c->levels) : NULL;
    g->xbar = net_gated(net) ? carve(a, B, d) : NULL;
    g->pooled = carve(a, B, d);
    g->logits = carve(a, B, c->classes);
    g->partial = net->member ? NULL : carve(a, NET_GROUPS, net->partial_size);
}

static void plan(hkt_net *net, arena *a)
{
    const hkt_config *c = &net->layout->config;
    net->logits = carve(a, net->max_seqs, c->classes);
    if (!net->member)
        net->packed = carve(a, net->layout->total, 1);
    if (net->split)
        return; /* the rest is in its members */
    plan_layers(net, a);
    if (net->train)
        plan_grads(net, a);
    net->mean = carve(a, net->max_tokens, 1);
    net->rstd = carve(a, net->max_tokens, 1);
    net->pooled = carve(a, net->max_seqs, c->d_model);
    for (size_t t = 0; t < net->n_workers; t++) {
        net->worker[t].a = carve(a, NET_CHUNK, c->d_model);
        net->worker[t].b = carve(a, NET_CHUNK, c->d_model);
        net->worker[t].wide = carve(a, NET_CHUNK, c->ffn_mult * c->d_model);
        net->worker[t].act = net->train ? carve(a, NET_CHUNK, c->ffn_mult * c->d_model) : NULL;
    }
}

/* Sizes that follow from the layout. */
static void set_shape(hkt_net *net)
{
    const hkt_layout *lay = net->layout;
    const hkt_config *c = &lay->config;
    for (size_t l = 0; l < c->levels; l++) {
        net->ld[l] = (l < hkt_value_levels(c) ? 3 : 2) * c->d_model;
        net->span[l] = l == 0 ? 1 : net->span[l - 1];
        if (l > 0 && !hkt_mul_size(net->span[l - 1], c->stride, &net->span[l]))
            net->span[l] = (size_t)-1;
    }
    /* All layers have the same table; the last one ends where the final norm begins. */
    size_t layer = lay->norm_weight - lay->layer[c->layers - 1].norm1_weight;
    size_t final_norm = lay->head_weight - lay->norm_weight;
    net->partial_size = layer > final_norm ? layer : final_norm;
}

static hkt_status create_block(hkt_net *net)
{
    arena count = {0};
    plan(net, &count);
    if (count.overflow)
        return hkt_fail(HKT_ESYSTEM, "workspace for %zu tokens: size overflows", net->max_tokens);
    HKT_TRY(hkt_alloc((void **)&net->block, count.at, sizeof(real), "workspace"));
    net->bytes += count.at * sizeof(real);
    plan(net, &(arena){.base = net->block});
    return HKT_OK;
}

static hkt_status create_tables(hkt_net *net)
{
    const hkt_config *c = &net->layout->config;
    size_t n_offsets = net->max_seqs + 1, n_items = hkt_net_max_items(net), *offset;
    HKT_TRY(HKT_NEW(&net->item, n_items));
    HKT_TRY(HKT_NEW(&net->back_item, n_items));
    HKT_TRY(HKT_NEW(&offset, c->levels * n_offsets));
    for (size_t l = 0; l < c->levels; l++)
        net->offset[l] = offset + l * n_offsets;
    net->bytes += 2 * n_items * sizeof(net_item) + c->levels * n_offsets * sizeof *offset;
    return HKT_OK;
}

static hkt_status create_workers(hkt_net *net)
{
    const hkt_config *c = &net->layout->config;
    size_t levels = c->fusion == HKT_FUSION_SCORE ? c->levels : 1, stride = c->levels > 1 ? c->stride : 2;
    for (size_t t = 0; t < net->n_workers; t++)
        HKT_TRY(hkt_attention_work_create(&net->worker[t].attention, net_min(net->max_tokens, c->max_len),
                                          c->d_model / c->heads, levels, stride));
    return HKT_OK;
}

static hkt_status create(hkt_net *net)
{
    set_shape(net);
    if (!net->member && hkt_net_splits(net)) {
        HKT_TRY(hkt_net_split_create(net));
        HKT_TRY(create_block(net));
        return HKT_OK;
    }
    HKT_TRY(HKT_NEW(&net->worker, net->n_workers));
    HKT_TRY(HKT_NEW(&net->layer, net->layout->config.layers + 1));
    HKT_TRY(create_block(net)); /* first: a batch size that overflows fails here */
    HKT_TRY(create_tables(net));
    return create_workers(net);
}

/* Takes over `shape`: what the caller asks for. */
static hkt_status create_from(hkt_net **out, const hkt_net *shape)
{
    *out = NULL;
    HKT_ASSERT(shape->max_tokens > 0 && shape->max_seqs > 0);
    hkt_net *net;
    HKT_TRY(HKT_NEW(&net, 1));
    *net = *shape;
    net->max_seqs = net_min(net->max_seqs, net->max_tokens);
    hkt_status status = create(net);
    if (status == HKT_OK)
        *out = net;
    else
        hkt_net_destroy(net);
    return status;
}

hkt_status hkt_net_create(hkt_net **out, const hkt_layout *layout, size_t max_tokens, size_t max_seqs, bool train,
                          bool keep_taps)
{
    return create_from(out, &(hkt_net){.layout = layout,
                                       .max_tokens = max_tokens,
                                       .max_seqs = max_seqs,
                                       .train = train,
                                       .keep_taps = keep_taps,
                                       .n_workers = hkt_threads()});
}

hkt_status hkt_net_create_member(hkt_net **out, const hkt_net *whole, size_t max_tokens)
{
    return create_from(out, &(hkt_net){.layout = whole->layout,
                                       .max_tokens = max_tokens,
                                       .max_seqs = whole->max_seqs,
                                       .train = whole->train,
                                       .n_workers = 1,
                                       .member = true});
}

void hkt_net_destroy(hkt_net *net)
{
    if (!net)
        return;
    for (size_t t = 0; net->worker && t < net->n_workers; t++)
        hkt_attention_work_destroy(net->worker[t].attention);
    hkt_free(net->worker);
    hkt_free(net->layer);
    hkt_free(net->item);
    hkt_free(net->back_item);
    hkt_free(net->offset[0]);
    hkt_free(net->block);
    hkt_net_parts_destroy(net);
    hkt_net_split_destroy(net);
    hkt_free(net);
}

void hkt_net_start_clocks(const hkt_net *net)
{
    for (size_t t = 0; net->profile && net->worker && t < net->n_workers; t++)
        net->worker[t].last = hkt_now();
}

void hkt_net_profile(hkt_net *net, bool on)
{
    net->profile = on;
    for (size_t t = 0; t < net->n_workers; t++)
        if (net->split)
            hkt_net_profile(hkt_net_member(net, t), on);
        else
            memset(net->worker[t].seconds, 0, sizeof net->worker[t].seconds);
}

void hkt_net_phases(const hkt_net *net, double seconds[HKT_PHASES])
{
    memset(seconds, 0, HKT_PHASES * sizeof *seconds);
    for (size_t t = 0; t < net->n_workers; t++) {
        double part[HKT_PHASES];
        if (net->split)
            hkt_net_phases(hkt_net_member(net, t), part);
        for (size_t p = 0; p < HKT_PHASES; p++)
            seconds[p] += net->split ? part[p] : net->worker[t].seconds[p];
    }
}

size_t hkt_net_bytes(const hkt_net *net)
{
    return net->bytes;
}

hkt_status hkt_net_tap(const hkt_net *net, size_t layer, hkt_tap *out)
{
    const hkt_config *c = &net->layout->config;
    HKT_ASSERT((net->train || net->keep_taps) && !net->split && net->n_seq > 0);
    if (layer >= c->layers)
        return hkt_fail(HKT_EINPUT, "layer: expected 0 to %zu, found %zu", c->layers - 1, layer);
    const net_layer *a = &net->layer[layer];
    *out = (hkt_tap){.n_levels = c->levels,
                     .lambda = a->lambda,
                     .alpha = a->alpha,
                     .share_o = a->share_o,
                     .share_conv = a->share_conv};
    out->hidden = net->layer[layer + 1].x;
    for (size_t l = 0; l < c->levels; l++) {
        out->offset[l] = net->offset[l];
        out->x[l] = a->level_x[l];
        out->ld[l] = net->ld[l];
        out->q[l] = a->qkv[l];
        out->k[l] = a->qkv[l] + c->d_model;
        out->v[l] = l < hkt_value_levels(c) ? a->qkv[l] + 2 * c->d_model : NULL;
        out->o[l] = a->o[l];
        out->conv[l] = a->conv[l];
    }
    return HKT_OK;
}

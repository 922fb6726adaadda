/* net_pass.c - the activations of a pass: one block, carved by one plan. */
#include "model/net_internal.h"
#include "num/real.h"

#include "base/mem.h"

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
size_t hkt_net_capacity(const net_pass *pass, size_t level)
{
    size_t rows = pass->max_tokens, s = pass->layout->config.stride;
    for (size_t l = 0; l < level; l++)
        rows = net_min(rows, rows / s + pass->max_seqs);
    return rows;
}

/* What a tap shows: residual stream, level inputs, q, k, v, outputs of attention and convolution. */
static void plan_taps(const net_pass *pass, arena *a, net_layer *y)
{
    const hkt_config *c = &pass->layout->config;
    y->x = carve(a, pass->max_tokens, c->d_model);
    for (size_t l = 0; l < c->levels; l++) {
        size_t rows = hkt_net_capacity(pass, l);
        bool value = l < hkt_value_levels(c);
        y->level_x[l] = carve(a, rows, c->d_model);
        y->qkv[l] = carve(a, rows, pass->ld[l]);
        y->o[l] = value ? carve(a, rows, c->d_model) : NULL;
        y->conv[l] = value && c->hybrid ? carve(a, rows, c->d_model) : NULL;
    }
}

/* What only the backward pass needs again. */
static void plan_rest(const net_pass *pass, arena *a, net_layer *y)
{
    const hkt_config *c = &pass->layout->config;
    size_t d = c->d_model, rows = pass->max_tokens;
    for (size_t l = 0; l < hkt_value_levels(c); l++)
        y->lse[l] = pass->train ? carve(a, hkt_net_capacity(pass, l), c->heads) : NULL;
    y->mean1 = carve(a, rows, 1);
    y->rstd1 = carve(a, rows, 1);
    y->mean2 = carve(a, rows, 1);
    y->rstd2 = carve(a, rows, 1);
    y->mixed = carve(a, rows, d);
    y->normed2 = carve(a, rows, d);
    if (pass->train) {
        y->x_mid = carve(a, rows, d);
        y->up = carve(a, rows, c->ffn_mult * d);
    }
}

/* Level and head weights: small, one set per layer always. */
static void plan_weights(const net_pass *pass, arena *a, net_layer *y)
{
    const hkt_config *c = &pass->layout->config;
    size_t d = c->d_model, Lv = hkt_value_levels(c);
    y->lambda = carve(a, c->levels, 1);
    y->alpha = carve(a, pass->max_seqs, c->levels);
    y->xbar = net_gated(pass) ? carve(a, pass->max_seqs, d) : NULL;
    y->beta = carve(a, Lv, c->heads);
    y->share_o = carve(a, Lv, d);
    y->share_conv = carve(a, Lv, d);
}

static void plan_layers(net_pass *pass, arena *a)
{
    size_t N = pass->layout->config.layers, d = pass->layout->config.d_model;
    for (size_t n = 0; n < N; n++) {
        net_layer *y = &pass->layer[n];
        if (n > 0 && !pass->train)
            *y = pass->layer[0];
        if (n == 0 || pass->train || pass->keep_taps)
            plan_taps(pass, a, y);
        if (n == 0 || pass->train)
            plan_rest(pass, a, y);
        plan_weights(pass, a, y);
    }
    pass->layer[N].x = pass->train || pass->keep_taps ? carve(a, pass->max_tokens, d) : pass->layer[0].x;
    for (size_t n = 0; n < N && !pass->train; n++)
        pass->layer[n].x_mid = pass->layer[n + 1].x; /* the sums of the residual stream work in place */
}

static void plan_grads(net_pass *pass, arena *a)
{
    const hkt_config *c = &pass->layout->config;
    size_t d = c->d_model, B = pass->max_seqs, Lv = hkt_value_levels(c);
    net_grads *g = &pass->grad;
    g->x = carve(a, pass->max_tokens, d);
    for (size_t l = 0; l < c->levels; l++) {
        size_t rows = hkt_net_capacity(pass, l);
        g->y[l] = l < Lv ? carve(a, rows, d) : NULL;
        g->conv[l] = l < Lv && c->hybrid ? carve(a, rows, d) : NULL;
        g->qkv[l] = carve(a, rows, pass->ld[l]);
        g->level_x[l] = carve(a, rows, d);
    }
    g->alpha = carve(a, B, c->levels);
    g->head_weight = hkt_fusion_of(c)->sums_scores ? carve(a, B, c->heads * c->levels) : NULL;
    g->xbar = net_gated(pass) ? carve(a, B, d) : NULL;
    g->pooled = carve(a, B, d);
    g->logits = carve(a, B, c->classes);
    g->partial = pass->one_sum ? NULL : carve(a, NET_GROUPS, pass->partial_size);
}

static void plan(net_pass *pass, arena *a)
{
    const hkt_config *c = &pass->layout->config;
    plan_layers(pass, a);
    if (pass->train)
        plan_grads(pass, a);
    pass->mean = carve(a, pass->max_tokens, 1);
    pass->rstd = carve(a, pass->max_tokens, 1);
    pass->pooled = carve(a, pass->max_seqs, c->d_model);
    for (size_t t = 0; t < pass->n_workers; t++) {
        pass->worker[t].a = carve(a, NET_CHUNK, c->d_model);
        pass->worker[t].b = carve(a, NET_CHUNK, c->d_model);
        pass->worker[t].wide = carve(a, NET_CHUNK, c->ffn_mult * c->d_model);
        pass->worker[t].act = pass->train ? carve(a, NET_CHUNK, c->ffn_mult * c->d_model) : NULL;
    }
}

/* Sizes that follow from the layout. */
static void set_shape(net_pass *pass)
{
    const hkt_layout *lay = pass->layout;
    const hkt_config *c = &lay->config;
    for (size_t l = 0; l < c->levels; l++) {
        pass->ld[l] = (l < hkt_value_levels(c) ? 3 : 2) * c->d_model;
        pass->span[l] = l == 0 ? 1 : pass->span[l - 1];
        if (l > 0 && !hkt_mul_size(pass->span[l - 1], c->stride, &pass->span[l]))
            pass->span[l] = (size_t)-1;
    }
    /* All layers have the same table; the last one ends where the final norm begins. */
    size_t layer = lay->norm_weight - lay->layer[c->layers - 1].norm1_weight;
    size_t final_norm = lay->head_weight - lay->norm_weight;
    pass->partial_size = layer > final_norm ? layer : final_norm;
}

static hkt_status create_block(net_pass *pass)
{
    arena count = {0};
    plan(pass, &count);
    if (count.overflow)
        return hkt_fail(HKT_ESYSTEM, "workspace for %zu tokens: size overflows", pass->max_tokens);
    HKT_TRY(hkt_alloc((void **)&pass->block, count.at, sizeof(real), "workspace"));
    pass->bytes += count.at * sizeof(real);
    plan(pass, &(arena){.base = pass->block});
    return HKT_OK;
}

static hkt_status create_tables(net_pass *pass)
{
    const hkt_config *c = &pass->layout->config;
    size_t n_offsets = pass->max_seqs + 1, n_items = hkt_net_max_items(pass), *offset;
    HKT_TRY(HKT_NEW(&pass->item, n_items));
    HKT_TRY(HKT_NEW(&pass->back_item, n_items));
    HKT_TRY(HKT_NEW(&offset, c->levels * n_offsets));
    for (size_t l = 0; l < c->levels; l++)
        pass->offset[l] = offset + l * n_offsets;
    pass->bytes += 2 * n_items * sizeof(net_item) + c->levels * n_offsets * sizeof *offset;
    return HKT_OK;
}

static hkt_status create_workers(net_pass *pass)
{
    const hkt_config *c = &pass->layout->config;
    size_t levels = hkt_score_levels(c), stride = c->levels > 1 ? c->stride : 2;
    for (size_t t = 0; t < pass->n_workers; t++)
        HKT_TRY(hkt_attention_work_create(&pass->worker[t].attention, net_min(pass->max_tokens, c->max_len),
                                          c->d_model / c->heads, levels, stride));
    return HKT_OK;
}

hkt_status hkt_net_pass_create(net_pass *pass)
{
    set_shape(pass);
    HKT_TRY(HKT_NEW(&pass->worker, pass->n_workers));
    HKT_TRY(HKT_NEW(&pass->layer, pass->layout->config.layers + 1));
    HKT_TRY(create_block(pass)); /* first: a batch size that overflows fails here */
    HKT_TRY(create_tables(pass));
    return create_workers(pass);
}

void hkt_net_pass_destroy(net_pass *pass)
{
    for (size_t t = 0; pass->worker && t < pass->n_workers; t++)
        hkt_attention_work_destroy(pass->worker[t].attention);
    hkt_free(pass->worker);
    hkt_free(pass->layer);
    hkt_free(pass->item);
    hkt_free(pass->back_item);
    hkt_free(pass->offset[0]);
    hkt_free(pass->block);
    hkt_net_parts_destroy(pass);
}

void hkt_net_start_clocks(const net_pass *pass)
{
    for (size_t t = 0; pass->profile && t < pass->n_workers; t++)
        pass->worker[t].last = hkt_now();
}

/* net.c - the network: what all passes share, and its entry points. */
#include "model/net_internal.h"
#include "num/real.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "num/blas.h"

static hkt_status create_passes(hkt_net *net, size_t n, const net_pass *shape)
{
    HKT_TRY(HKT_NEW(&net->pass, n));
    for (; net->n_passes < n; net->n_passes++) {
        net_pass *pass = &net->pass[net->n_passes];
        *pass = *shape;
        hkt_status status = hkt_net_pass_create(pass);
        net->bytes += pass->bytes;
        if (status != HKT_OK) {
            hkt_net_pass_destroy(pass);
            return status;
        }
    }
    return HKT_OK;
}

static hkt_status create(hkt_net *net)
{
    enum { LINE = 64 / sizeof(real) };
    const size_t total = net->layout->total, classes = net->layout->config.classes;
    net_pass shape = {.layout = net->layout,
                      .max_tokens = net->max_tokens,
                      .max_seqs = net->max_seqs,
                      .train = net->train,
                      .keep_taps = net->keep_taps,
                      .n_workers = net->n_threads};
    size_t n_passes = 1;
    if (hkt_net_splits(net)) {
        HKT_TRY(hkt_net_slices_create(net, &shape.max_tokens));
        shape.n_workers = 1;
        shape.one_sum = true;
        n_passes = net->n_threads;
    }
    HKT_TRY(create_passes(net, n_passes, &shape));
    HKT_TRY(HKT_NEW(&net->packed, total));
    HKT_TRY(hkt_alloc((void **)&net->logits, net->max_seqs, classes * sizeof(real), "logits"));
    net->bytes += (total + (net->max_seqs * classes + LINE - 1) / LINE * LINE) * sizeof(real);
    for (size_t i = 0; i < n_passes; i++)
        net->pass[i].packed = net->packed;
    return HKT_OK;
}

hkt_status hkt_net_create(hkt_net **out, const hkt_layout *layout, size_t max_tokens, size_t max_seqs, bool train,
                          bool keep_taps)
{
    *out = NULL;
    HKT_ASSERT(max_tokens > 0 && max_seqs > 0);
    hkt_net *net;
    HKT_TRY(HKT_NEW(&net, 1));
    *net = (hkt_net){.layout = layout,
                     .max_tokens = max_tokens,
                     .max_seqs = net_min(max_seqs, max_tokens),
                     .train = train,
                     .keep_taps = keep_taps,
                     .n_threads = hkt_threads()};
    hkt_status status = create(net);
    if (status == HKT_OK)
        *out = net;
    else
        hkt_net_destroy(net);
    return status;
}

void hkt_net_destroy(hkt_net *net)
{
    if (!net)
        return;
    for (size_t i = 0; i < net->n_passes; i++)
        hkt_net_pass_destroy(&net->pass[i]);
    hkt_free(net->pass);
    hkt_net_slices_destroy(net);
    hkt_free(net->packed);
    hkt_free(net->logits);
    hkt_free(net);
}

/* The transposes that the projections and the FFN read. */
static void pack(const hkt_net *net, const real *params)
{
    const hkt_config *c = &net->layout->config;
    const size_t d = c->d_model, fd = c->ffn_mult * d;
#pragma omp parallel for schedule(static) num_threads(net->n_threads)
    for (size_t n = 0; n < c->layers; n++) {
        const hkt_layer_offsets *o = &net->layout->layer[n];
        for (size_t l = 0; l < c->levels; l++)
            hkt_linear_pack(net->pass->ld[l], d, params + o->level[l].q, net->packed + o->level[l].q);
        hkt_linear_pack(d, d, params + o->out, net->packed + o->out);
        hkt_linear_pack(fd, d, params + o->up_weight, net->packed + o->up_weight);
        hkt_linear_pack(d, fd, params + o->down_weight, net->packed + o->down_weight);
    }
}

static hkt_status check_logits(const hkt_net *net)
{
    size_t C = net->layout->config.classes;
    for (size_t i = 0; i < net->n_seq * C; i++)
        if (!isfinite(net->logits[i]))
            return hkt_fail(HKT_ENUMERIC, "sequence %zu: logit %zu: expected a finite value, found %g", i / C, i % C,
                            (double)net->logits[i]);
    return HKT_OK;
}

/* Mean cross entropy in double. */
static double cross_entropy(const hkt_net *net, const int32_t *labels)
{
    size_t C = net->layout->config.classes;
    double loss = 0;
    for (size_t b = 0; b < net->n_seq; b++)
        loss += hkt_net_loss(C, net->logits + b * C, (size_t)labels[b]);
    return loss / (double)net->n_seq;
}

/* Checks the batch, and tells every pass what it needs of the call. */
static hkt_status begin(hkt_net *net, const real *params, const hkt_batch *batch, const hkt_dropout_spec *dropout,
                        const hkt_intervention *iv)
{
    HKT_ASSERT(!dropout || (dropout->rate >= 0 && dropout->rate < 1));
    net->n_seq = 0;
    HKT_TRY(hkt_net_check_batch(net, batch));
    net->n_seq = batch->n_seq;
    for (size_t i = 0; i < net->n_passes; i++) {
        net_pass *pass = &net->pass[i];
        pass->dropout = dropout ? *dropout : (hkt_dropout_spec){0};
        pass->iv = iv ? *iv : (hkt_intervention){0};
        pass->mean_of = batch->n_seq;
        hkt_net_start_clocks(pass);
    }
    pack(net, params);
    return HKT_OK;
}

/* One pass takes the whole batch. */
static hkt_status run_whole(hkt_net *net, const real *params, const hkt_batch *batch)
{
    net->pass->logits = net->logits;
    hkt_net_bind(net->pass, batch);
    return hkt_net_run(net->pass, params, batch);
}

hkt_status hkt_net_forward(hkt_net *net, const real *params, const hkt_batch *batch, const hkt_dropout_spec *dropout,
                           const hkt_intervention *iv, real *logits, double *loss)
{
    HKT_ASSERT(batch->labels || !loss);
    HKT_TRY(begin(net, params, batch, dropout, iv));
    HKT_TRY(net->slices ? hkt_net_slices_run(net, params, batch, false) : run_whole(net, params, batch));
    HKT_TRY(check_logits(net));
    if (logits)
        memcpy(logits, net->logits, net->n_seq * net->layout->config.classes * sizeof *logits);
    if (loss)
        *loss = cross_entropy(net, batch->labels);
    return HKT_OK;
}

hkt_status hkt_net_gradient(hkt_net *net, const real *params, const hkt_batch *batch, const hkt_dropout_spec *dropout,
                            real *grads, double *loss)
{
    HKT_ASSERT(net->train && batch->labels);
    HKT_TRY(begin(net, params, batch, dropout, NULL));
    HKT_TRY(net->slices ? hkt_net_slices_run(net, params, batch, true) : run_whole(net, params, batch));
    HKT_TRY(check_logits(net));
    if (net->slices) {
        hkt_net_slices_gradient(net, grads);
    } else {
        hkt_net_start_clocks(net->pass);
        memset(grads, 0, net->layout->total * sizeof *grads);
        hkt_net_add_gradient(net->pass, params, batch, grads);
    }
    *loss = cross_entropy(net, batch->labels);
    return HKT_OK;
}

void hkt_net_profile(hkt_net *net, bool on)
{
    for (size_t i = 0; i < net->n_passes; i++) {
        net_pass *pass = &net->pass[i];
        pass->profile = on;
        for (size_t t = 0; t < pass->n_workers; t++)
            memset(pass->worker[t].seconds, 0, sizeof pass->worker[t].seconds);
    }
}

void hkt_net_phases(const hkt_net *net, double seconds[HKT_PHASES])
{
    memset(seconds, 0, HKT_PHASES * sizeof *seconds);
    for (size_t i = 0; i < net->n_passes; i++)
        for (size_t t = 0; t < net->pass[i].n_workers; t++)
            for (size_t p = 0; p < HKT_PHASES; p++)
                seconds[p] += net->pass[i].worker[t].seconds[p];
}

size_t hkt_net_bytes(const hkt_net *net)
{
    return net->bytes;
}

hkt_status hkt_net_tap(const hkt_net *net, size_t layer, hkt_tap *out)
{
    const hkt_config *c = &net->layout->config;
    const net_pass *pass = net->pass;
    HKT_ASSERT((net->train || net->keep_taps) && !net->slices && net->n_seq > 0);
    if (layer >= c->layers)
        return hkt_fail(HKT_EINPUT, "layer: expected 0 to %zu, found %zu", c->layers - 1, layer);
    const net_layer *a = &pass->layer[layer];
    *out = (hkt_tap){.n_levels = c->levels,
                     .lambda = a->lambda,
                     .alpha = a->alpha,
                     .share_o = a->share_o,
                     .share_conv = a->share_conv};
    out->hidden = pass->layer[layer + 1].x;
    for (size_t l = 0; l < c->levels; l++) {
        out->offset[l] = pass->offset[l];
        out->x[l] = a->level_x[l];
        out->ld[l] = pass->ld[l];
        out->q[l] = a->qkv[l];
        out->k[l] = a->qkv[l] + c->d_model;
        out->v[l] = l < hkt_value_levels(c) ? a->qkv[l] + 2 * c->d_model : NULL;
        out->o[l] = a->o[l];
        out->conv[l] = a->conv[l];
    }
    return HKT_OK;
}

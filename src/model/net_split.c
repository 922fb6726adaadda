/* net_split.c - a large batch as slices of consecutive sequences. A slice is the batch of a small pass that belongs to
 * one thread, whose activations stay near its processor; forward and backward of a slice follow each other, so that no
 * more activations exist than those of one slice per thread.
 *
 * The slices are divided into groups, and a group's gradients added up in the order of its slices, then the groups in
 * their order: slices and groups depend on the batch alone, so that the bits do not depend on the number of threads. */
#include "model/net_internal.h"
#include "num/real.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/cost.h"

/* Sequences first..last-1 of the batch. */
typedef struct {
    size_t first, last, row; /* row: tokens before them */
    double cost;
    size_t group;
} slice;

struct hkt_net_slices {
    size_t slice_tokens; /* largest slice */
    slice *slice;        /* [max_seqs] in the order of the batch */
    slice **order;       /* [max_seqs] by falling cost */
    size_t n_slices;
    real *grads;       /* [NET_GROUPS, total]; train only */
    hkt_status status; /* of the last run */
    char error[256];
};

/* Worth it when every thread finds work, and when the gradients of the groups take less room than the activations of
 * the whole batch (about 16 d per token and layer) would. Slices of sequences that exceed NET_CHUNK are single
 * sequences. */
bool hkt_net_splits(const hkt_net *net)
{
    const hkt_config *c = &net->layout->config;
    const size_t slice_tokens = c->max_len > NET_CHUNK ? c->max_len : NET_CHUNK;
    if (net->keep_taps || net->max_seqs < NET_GROUPS || net->max_tokens / NET_GROUPS < slice_tokens)
        return false;
    return !net->train || net->layout->total / (2 * c->d_model * c->layers) < net->max_tokens;
}

hkt_status hkt_net_slices_create(hkt_net *net, size_t *slice_tokens)
{
    const hkt_config *c = &net->layout->config;
    hkt_net_slices *s;
    HKT_TRY(HKT_NEW(&net->slices, 1));
    s = net->slices;
    *slice_tokens = s->slice_tokens = c->max_len > NET_CHUNK ? c->max_len : NET_CHUNK;
    HKT_TRY(HKT_NEW(&s->slice, net->max_seqs));
    HKT_TRY(HKT_NEW(&s->order, net->max_seqs));
    net->bytes += net->max_seqs * (sizeof *s->slice + sizeof *s->order);
    if (net->train) {
        HKT_TRY(hkt_alloc((void **)&s->grads, net->layout->total, NET_GROUPS * sizeof *s->grads, "gradients"));
        net->bytes += net->layout->total * NET_GROUPS * sizeof *s->grads;
    }
    return HKT_OK;
}

void hkt_net_slices_destroy(hkt_net *net)
{
    hkt_net_slices *s = net->slices;
    if (!s)
        return;
    hkt_free(s->slice);
    hkt_free(s->order);
    hkt_free(s->grads);
    hkt_free(s);
}

/* Insertion into falling cost; equal costs keep the order of the batch. */
static void insert(slice **order, size_t n, slice *it)
{
    for (; n > 0 && order[n - 1]->cost < it->cost; n--)
        order[n] = order[n - 1];
    order[n] = it;
}

/* The costliest first, each to the group with the least so far (Graham 1969). */
static void assign_groups(hkt_net_slices *s)
{
    double load[NET_GROUPS] = {0};
    for (size_t i = 0; i < s->n_slices; i++) {
        size_t least = 0;
        for (size_t g = 1; g < NET_GROUPS; g++)
            least = load[g] < load[least] ? g : least;
        s->order[i]->group = least;
        load[least] += s->order[i]->cost;
    }
}

static void cut(const hkt_net *net, const hkt_batch *batch)
{
    hkt_net_slices *s = net->slices;
    s->n_slices = 0;
    size_t row = 0, tokens = 0;
    for (size_t b = 0; b < batch->n_seq; b++) {
        const size_t T = batch->length[b];
        if (b == 0 || tokens + T > s->slice_tokens) {
            s->slice[s->n_slices++] = (slice){.first = b, .row = row};
            tokens = 0;
        }
        slice *it = &s->slice[s->n_slices - 1];
        it->last = b + 1;
        it->cost += (double)hkt_cost_forward(&net->layout->config, T).total;
        tokens += T;
        row += T;
    }
    for (size_t i = 0; i < s->n_slices; i++)
        insert(s->order, i, &s->slice[i]);
    assign_groups(s);
}

/* Forward pass of one slice, and with `grads` also its gradient, which is added there. */
static void run_slice(hkt_net *net, const real *params, const hkt_batch *batch, const slice *it, real *grads)
{
    hkt_net_slices *s = net->slices;
    const hkt_config *c = &net->layout->config;
    net_pass *pass = &net->pass[omp_get_thread_num()];
    const hkt_batch part = {.n_seq = it->last - it->first,
                            .length = batch->length + it->first,
                            .tokens = batch->tokens + it->row,
                            .labels = batch->labels ? batch->labels + it->first : NULL};
    pass->logits = net->logits + it->first * c->classes;
    pass->first_row = it->row;
    hkt_net_start_clocks(pass);
    hkt_net_bind(pass, &part);
    hkt_status status = hkt_net_run(pass, params, &part);
    if (status == HKT_OK) {
        if (grads)
            hkt_net_add_gradient(pass, params, &part, grads);
        return;
    }
#pragma omp critical(hkt_net_slices_error)
    {
        s->status = status;
        snprintf(s->error, sizeof s->error, "%s", hkt_error());
    }
}

static void run_group(hkt_net *net, const real *params, const hkt_batch *batch, size_t g)
{
    hkt_net_slices *s = net->slices;
    const net_pass *pass = &net->pass[omp_get_thread_num()];
    real *grads = s->grads + g * net->layout->total;
    hkt_net_start_clocks(pass);
    memset(grads, 0, net->layout->total * sizeof *grads);
    net_lap(pass, HKT_PHASE_SUMS);
    for (size_t i = 0; i < s->n_slices; i++)
        if (s->slice[i].group == g)
            run_slice(net, params, batch, &s->slice[i], grads);
}

hkt_status hkt_net_slices_run(hkt_net *net, const real *params, const hkt_batch *batch, bool backward)
{
    hkt_net_slices *s = net->slices;
    s->status = HKT_OK;
    cut(net, batch);
    if (backward) {
#pragma omp parallel for schedule(dynamic) num_threads(net->n_threads)
        for (size_t g = 0; g < NET_GROUPS; g++)
            run_group(net, params, batch, g);
    } else {
#pragma omp parallel for schedule(dynamic) num_threads(net->n_threads)
        for (size_t i = 0; i < s->n_slices; i++)
            run_slice(net, params, batch, s->order[i], NULL);
    }
    return s->status == HKT_OK ? HKT_OK : hkt_fail(s->status, "%s", s->error);
}

void hkt_net_slices_gradient(const hkt_net *net, real *grads)
{
    enum { BLOCK = 4096 };
    const size_t total = net->layout->total;
#pragma omp parallel for schedule(static) num_threads(net->n_threads)
    for (size_t at = 0; at < total; at += BLOCK) {
        const size_t n = net_min(BLOCK, total - at);
        const net_pass *pass = &net->pass[omp_get_thread_num()];
        hkt_net_start_clocks(pass);
        memset(grads + at, 0, n * sizeof *grads);
        for (size_t g = 0; g < NET_GROUPS; g++)
            hkt_axpy(n, 1, net->slices->grads + g * total + at, grads + at);
        net_lap(pass, HKT_PHASE_SUMS);
    }
}

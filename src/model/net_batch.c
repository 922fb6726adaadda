/* net_batch.c - what a batch determines: row offsets per level and the items of the attention. */
#include "model/net_internal.h"
#include "num/real.h"

static hkt_status check_sequence(const hkt_config *c, const hkt_batch *batch, size_t b, size_t first)
{
    size_t T = batch->length[b];
    if (T < 1 || T > c->max_len)
        return hkt_fail(HKT_EINPUT, "sequence %zu: length: expected 1 to %zu, found %zu", b, c->max_len, T);
    for (size_t i = 0; i < T; i++) {
        int32_t token = batch->tokens[first + i];
        if (token < 0 || (size_t)token >= c->vocab)
            return hkt_fail(HKT_EINPUT, "sequence %zu: token %zu: expected 0 to %zu, found %d", b, i, c->vocab - 1,
                            (int)token);
    }
    if (batch->labels && (batch->labels[b] < 0 || (size_t)batch->labels[b] >= c->classes))
        return hkt_fail(HKT_EINPUT, "sequence %zu: label: expected 0 to %zu, found %d", b, c->classes - 1,
                        (int)batch->labels[b]);
    return HKT_OK;
}

hkt_status hkt_net_check_batch(const hkt_net *net, const hkt_batch *batch)
{
    if (batch->n_seq < 1 || batch->n_seq > net->max_seqs)
        return hkt_fail(HKT_EINPUT, "batch: expected 1 to %zu sequences, found %zu", net->max_seqs, batch->n_seq);
    size_t total = 0;
    for (size_t b = 0; b < batch->n_seq; b++) {
        if (batch->length[b] > net->max_tokens - total && batch->length[b] <= net->layout->config.max_len)
            return hkt_fail(HKT_EINPUT, "batch: expected at most %zu tokens, found more by sequence %zu",
                            net->max_tokens, b);
        HKT_TRY(check_sequence(&net->layout->config, batch, b, total));
        total += batch->length[b];
    }
    return HKT_OK;
}

static void set_offsets(net_pass *pass, const hkt_batch *batch)
{
    const hkt_config *c = &pass->layout->config;
    for (size_t l = 0; l < c->levels; l++) {
        pass->offset[l][0] = 0;
        for (size_t b = 0; b < batch->n_seq; b++)
            pass->offset[l][b + 1] = pass->offset[l][b] + hkt_level_length(batch->length[b], c->stride, l);
    }
}

/* Pairs of query rows begin..end-1 with their keys. */
static double pairs(const hkt_config *c, size_t T, size_t begin, size_t end)
{
    double rows = (double)(end - begin);
    return c->causal ? rows * ((double)begin + (double)end + 1) / 2 : rows * (double)T;
}

/* Falling cost; then the heads of a sequence one after the other, since they share rows. */
static bool comes_later(const net_item *a, const net_item *b)
{
    if (a->cost != b->cost)
        return a->cost < b->cost;
    if (a->seq != b->seq)
        return a->seq > b->seq;
    return a->level != b->level ? a->level > b->level : a->head > b->head;
}

/* Shell sort (Knuth, TAOCP 3, 5.2.1): qsort may allocate. */
static void sort_items(net_item *item, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < n; i++) {
            net_item it = item[i];
            size_t j = i;
            for (; j >= gap && comes_later(&item[j - gap], &it); j -= gap)
                item[j] = item[j - gap];
            item[j] = it;
        }
}

/* Appends the items of one (sequence, level): row blocks of every head. */
static size_t add_items(const net_pass *pass, net_item *item, size_t n, net_item it, size_t block)
{
    const hkt_config *c = &pass->layout->config;
    size_t T = net_length(pass, it.level, it.seq), p = c->d_model / c->heads;
    for (it.head = 0; it.head < c->heads; it.head++)
        for (size_t begin = 0; begin < T; begin += block) {
            it.row_begin = begin;
            it.row_end = net_min(begin + block, T);
            it.cost = pairs(c, T, it.row_begin, it.row_end) * 2 * (double)p;
            item[n++] = it;
        }
    return n;
}

static void set_items(net_pass *pass)
{
    const hkt_config *c = &pass->layout->config;
    size_t n = 0, n_back = 0;
    for (size_t b = 0; b < pass->n_seq; b++)
        for (size_t l = 0; l < hkt_value_levels(c); l++) {
            net_item it = {.seq = b, .level = l};
            size_t T = net_length(pass, l, b);
            n = add_items(pass, pass->item, n, it, NET_ROW_BLOCK);
            n_back = add_items(pass, pass->back_item, n_back, it, T);
            if (c->hybrid) {
                it.head = c->heads;
                it.row_end = T;
                it.cost = (double)(T * c->conv_width * c->d_model);
                pass->item[n++] = it;
            }
        }
    sort_items(pass->item, n);
    sort_items(pass->back_item, n_back);
    pass->n_items = n;
    pass->n_back_items = n_back;
}

size_t hkt_net_max_items(const net_pass *pass)
{
    const hkt_config *c = &pass->layout->config;
    size_t blocks = pass->max_tokens / NET_ROW_BLOCK + pass->max_seqs;
    return hkt_value_levels(c) * (c->heads * blocks + pass->max_seqs);
}

size_t hkt_net_sequence_of(const net_pass *pass, size_t row)
{
    size_t lo = 0, hi = pass->n_seq; /* offset[lo] <= row < offset[hi] */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (pass->offset[0][mid] <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

void hkt_net_bind(net_pass *pass, const hkt_batch *batch)
{
    pass->n_seq = batch->n_seq;
    set_offsets(pass, batch);
    set_items(pass);
}

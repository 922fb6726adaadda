#include "train/batch.h"

#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/rng.h"

static size_t length_of(const hkt_dataset *data, size_t i)
{
    return data->offset[i + 1] - data->offset[i];
}

hkt_status hkt_batch_buffer_create(hkt_batch_buffer *out, const hkt_dataset *data, size_t batch_tokens)
{
    *out = (hkt_batch_buffer){0};
    if (data->n == 0)
        return hkt_fail(HKT_EINPUT, "data set is empty");
    size_t shortest = length_of(data, 0), longest = shortest, all = data->offset[data->n];
    for (size_t i = 1; i < data->n; i++) {
        size_t len = length_of(data, i);
        shortest = len < shortest ? len : shortest;
        longest = len > longest ? len : longest;
    }
    if (data->stream.draw) {
        shortest = data->stream.shortest;
        longest = data->stream.longest;
        all = SIZE_MAX;
    }
    size_t most = batch_tokens > longest ? batch_tokens : longest;
    size_t seqs = most / (shortest > 0 ? shortest : 1);
    out->max_tokens = most < all ? most : all;
    out->max_seqs = seqs < data->n ? seqs : data->n;
    hkt_status status = HKT_NEW(&out->tokens, out->max_tokens);
    if (status == HKT_OK)
        status = HKT_NEW(&out->lengths, out->max_seqs);
    if (status == HKT_OK)
        status = HKT_NEW(&out->labels, out->max_seqs);
    if (status != HKT_OK)
        hkt_batch_buffer_destroy(out);
    return status;
}

void hkt_batch_buffer_destroy(hkt_batch_buffer *b)
{
    hkt_free(b->tokens);
    hkt_free(b->lengths);
    hkt_free(b->labels);
    *b = (hkt_batch_buffer){0};
}

size_t hkt_batch_count(const hkt_dataset *data, const size_t *index, size_t first, size_t n, size_t batch_tokens,
                       size_t max_seqs)
{
    size_t count = 0, tokens = 0;
    while (first + count < n && count < max_seqs) {
        tokens += length_of(data, index[first + count]);
        if (count > 0 && tokens > batch_tokens)
            break;
        count++;
    }
    return count;
}

size_t hkt_batch_pack(const hkt_dataset *data, const size_t *index, size_t first, size_t n, size_t batch_tokens,
                      size_t max_seqs, int32_t *tokens, size_t *lengths, int32_t *labels, hkt_batch *batch)
{
    size_t count = hkt_batch_count(data, index, first, n, batch_tokens, max_seqs);
    int32_t *t = tokens;
    for (size_t b = 0; b < count; b++) {
        size_t i = index[first + b];
        lengths[b] = length_of(data, i);
        labels[b] = data->labels[i];
        memcpy(t, data->tokens + data->offset[i], lengths[b] * sizeof *t);
        t += lengths[b];
    }
    *batch = (hkt_batch){.n_seq = count, .length = lengths, .tokens = tokens, .labels = labels};
    return count;
}

static void shuffle_epoch(hkt_batch_order *o)
{
    for (size_t i = 0; i < o->data->n; i++)
        o->index[i] = i;
    hkt_rng rng = hkt_rng_make(o->seed, HKT_STREAM_SHUFFLE, (uint32_t)o->epoch);
    hkt_rng_shuffle(&rng, o->index, o->data->n);
}

hkt_status hkt_batch_order_create(hkt_batch_order *out, hkt_dataset *data, size_t batch_tokens, size_t max_seqs,
                                  uint64_t seed)
{
    *out = (hkt_batch_order){.data = data, .batch_tokens = batch_tokens, .max_seqs = max_seqs, .seed = seed};
    HKT_TRY(HKT_NEW(&out->index, data->n));
    shuffle_epoch(out);
    return HKT_OK;
}

void hkt_batch_order_destroy(hkt_batch_order *o)
{
    hkt_free(o->index);
    o->index = NULL;
}

static bool one_length(const hkt_dataset *data)
{
    for (size_t i = 1; i < data->n; i++)
        if (length_of(data, i) != length_of(data, 0))
            return false;
    return true;
}

hkt_status hkt_batch_order_next(hkt_batch_order *o)
{
    o->first += o->count;
    if (o->first == o->data->n) {
        o->first = 0;
        o->epoch++;
        HKT_TRY(hkt_dataset_renew(o->data, o->epoch));
        shuffle_epoch(o);
    }
    o->count = hkt_batch_count(o->data, o->index, o->first, o->data->n, o->batch_tokens, o->max_seqs);
    o->epoch_end = o->first + o->count == o->data->n;
    return HKT_OK;
}

/* Adds the batches of the epoch that begins with the next one. */
static hkt_status count_epoch(hkt_batch_order *o, size_t *n)
{
    do {
        HKT_TRY(hkt_batch_order_next(o));
        ++*n;
    } while (!o->epoch_end);
    return HKT_OK;
}

hkt_status hkt_batch_order_total(const hkt_batch_order *o, size_t epochs, const volatile sig_atomic_t *stop,
                                 size_t *total)
{
    hkt_batch_order copy;
    const bool equal = one_length(o->data);
    *total = 0;
    HKT_TRY(hkt_batch_order_create(&copy, o->data, o->batch_tokens, o->max_seqs, o->seed));
    size_t n = 0;
    hkt_status status = HKT_OK;
    for (size_t e = 0; status == HKT_OK && e < (equal ? 1 : epochs) && !(stop && *stop); e++) {
        status = count_epoch(&copy, &n);
        hkt_progress(false, "counting the updates: epoch %zu of %zu", e + 1, epochs);
    }
    hkt_batch_order_destroy(&copy);
    if (!(stop && *stop))
        *total = equal ? epochs * n : n;
    return status;
}

/* batch.h - batches by token count, without padding, and the order of batches in an epoch. */
#ifndef HKT_TRAIN_BATCH_H
#define HKT_TRAIN_BATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/dataset.h"
#include "model/net.h"

/* Buffers for any batch of a data set, of any epoch. */
typedef struct {
    size_t max_tokens; /* batch_tokens or the longest sequence, at most all tokens of data that are no stream */
    size_t max_seqs;
    int32_t *tokens; /* [max_tokens] */
    size_t *lengths; /* [max_seqs] */
    int32_t *labels; /* [max_seqs] */
} hkt_batch_buffer;

hkt_status hkt_batch_buffer_create(hkt_batch_buffer *out, const hkt_dataset *data, size_t batch_tokens);
/* May be called on a zeroed struct. */
void hkt_batch_buffer_destroy(hkt_batch_buffer *b);

/* How many of the sequences index[first], index[first + 1], ... index[n - 1] form the next batch: until the next one
 * would exceed batch_tokens or max_seqs; at least one while first < n. */
size_t hkt_batch_count(const hkt_dataset *data, const size_t *index, size_t first, size_t n, size_t batch_tokens,
                       size_t max_seqs);

/* Packs the hkt_batch_count sequences into `batch`, which points into the caller's buffers: tokens [batch_tokens or the
 * longest], lengths and labels [max_seqs]. Returns the number of sequences taken. */
size_t hkt_batch_pack(const hkt_dataset *data, const size_t *index, size_t first, size_t n, size_t batch_tokens,
                      size_t max_seqs, int32_t *tokens, size_t *lengths, int32_t *labels, hkt_batch *batch);

/* The batches of a training run, one after the other: a pure function of (data, batch_tokens, seed, number). Every
 * epoch visits every sequence once, in an order drawn from (seed, HKT_STREAM_SHUFFLE, epoch); with a stream every epoch
 * has sequences of its own, which are put in place when it begins. */
typedef struct {
    hkt_dataset *data; /* borrowed; at epoch 0 when the order is created */
    size_t batch_tokens, max_seqs;
    uint64_t seed;
    size_t *index;  /* [data->n], owned: the order of this epoch */
    size_t epoch;   /* from 0 */
    size_t first;   /* current batch: sequences index[first .. first + count - 1] */
    size_t count;   /* 0 before the first hkt_batch_order_next */
    bool epoch_end; /* the current batch is the last of its epoch */
} hkt_batch_order;

hkt_status hkt_batch_order_create(hkt_batch_order *out, hkt_dataset *data, size_t batch_tokens, size_t max_seqs,
                                  uint64_t seed);
void hkt_batch_order_destroy(hkt_batch_order *o);
/* Batches of the first `epochs` epochs of data that are no stream. Their number depends on the order of each epoch,
 * unless all sequences are of one length, so that each epoch is drawn: *total is 0 when *stop (NULL: never) is set
 * before the end. Errors: HKT_ESYSTEM. */
hkt_status hkt_batch_order_total(const hkt_batch_order *o, size_t epochs, const volatile sig_atomic_t *stop,
                                 size_t *total);
/* Moves to the next batch, into the next epoch when this one is used up. Errors: those of hkt_dataset_renew. */
hkt_status hkt_batch_order_next(hkt_batch_order *o);

#endif

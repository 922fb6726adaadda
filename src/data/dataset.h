/* dataset.h - labelled token sequences in memory. */
#ifndef HKT_DATA_DATASET_H
#define HKT_DATA_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The tasks there are, written as the choices of an option (base/opt.h). */
#define HKT_TASKS "listops|cifar10|imdb|text"

typedef struct hkt_dataset hkt_dataset;

/* Training rows that are drawn anew for every epoch. */
typedef struct {
    void *source; /* what `draw` needs; owned: freed with hkt_free */
    hkt_status (*draw)(hkt_dataset *d,
                       size_t epoch); /* puts the rows of that epoch, as many, in the place of those there */
    size_t shortest, longest;         /* bounds on the length of a row, of any epoch */
} hkt_dataset_stream;

struct hkt_dataset {
    const char *task; /* static */
    size_t vocab, classes;
    size_t max_len;                 /* as asked for when reading, else the longest sequence */
    size_t n;                       /* sequences */
    size_t *offset;                 /* [n + 1] into tokens, owned */
    int32_t *tokens;                /* [offset[n]], owned */
    int32_t *labels;                /* [n], owned */
    size_t cut;                     /* sequences that were longer than max_len and are cut to it */
    const char *const *class_names; /* [classes], or NULL: numbers */
    void *owned_names;              /* backs class_names, or NULL when they are static */
    hkt_dataset_stream stream;      /* zero: the rows are the same in every epoch */
};

/* For the message about a longer sequence: the model decides, and where it is said. */
#define HKT_MAX_LEN_HINT "hkt-train --max-len"

/* Frees and zeroes; a zeroed data set is fine. */
void hkt_dataset_free(hkt_dataset *d);

/* Reads "train", "val" or "test" of a task (NULL: what its files are) from a directory; own texts also from a file.
 * max_len: 0 = the longest in the split; else a longer sequence is HKT_EINPUT with file and place, but cut for the task
 * text. *out owns its arrays (hkt_dataset_free); zeroed on error. Errors: HKT_EUSAGE for an unknown task or split;
 * HKT_EINPUT: "FILE[:LINE]: expected ..., found ...". */
hkt_status hkt_dataset_read(hkt_dataset *out, const char *task, const char *dir, const char *split, size_t max_len);

/* Puts the rows of that epoch in place; nothing to do for rows that are always the same. */
hkt_status hkt_dataset_renew(hkt_dataset *d, size_t epoch);

/* FNV-1a over lengths, tokens and labels of the rows in place, continued from `hash` (0: start): tells data apart. */
uint64_t hkt_dataset_checksum(const hkt_dataset *d, uint64_t hash);

/* Share of the largest class: the accuracy of always answering it. */
double hkt_dataset_majority(const hkt_dataset *d);

/* 64-bit FNV-1a of a sequence: equal sequences have equal hashes. */
uint64_t hkt_dataset_hash(const int32_t *tokens, size_t n);

/* overlap[a * n_sets + b], a != b: rows of set b whose token sequence occurs in set a; a == b: rows of a that repeat an
 * earlier row of a. Sequences are compared token by token. Errors: HKT_ESYSTEM. */
hkt_status hkt_dataset_overlap(const hkt_dataset *sets, size_t n_sets, size_t *overlap);

#endif

/* packed.h - the file of a split whose tokens are bytes (imdb, cifar10): a safetensors file with the bytes of all rows
 * one after the other, their lengths and their labels. Rules: docs/formats.md, "Byte data sets". */
#ifndef HKT_DATA_PACKED_H
#define HKT_DATA_PACKED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "data/dataset.h"
#include "data/splits.h"

/* What a task's bytes are. Static. */
typedef struct {
    const char *task;
    size_t classes;
    const char *const *class_names; /* [classes] */
    int32_t first_token;            /* token of byte 0; the vocabulary is first_token + 256 */
    size_t length;                  /* of every row; 0: any length from 1 */
} hkt_packed_format;

/* The rows of one split. */
typedef struct {
    size_t n, n_bytes;
    size_t max_length;           /* rows were cut to it */
    const unsigned char *bytes;  /* [n_bytes] */
    const int32_t *lengths;      /* [n], of sum n_bytes */
    const unsigned char *labels; /* [n] */
} hkt_packed_rows;

/* Writes to an open stream, which the caller checks. Errors: HKT_ESYSTEM. */
hkt_status hkt_packed_write(FILE *f, const hkt_packed_format *format, hkt_split split, const hkt_packed_rows *rows);

/* Reads DIR/SPLIT.safetensors. max_len as in hkt_dataset_read. Errors: HKT_EINPUT: "FILE: expected ..., found ...". */
hkt_status hkt_packed_read(hkt_dataset *out, const hkt_packed_format *format, const char *dir, hkt_split split,
                           size_t max_len);

#endif

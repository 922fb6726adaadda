/* import.h - a published data set of byte sequences on its way to our files: collected with its place in the
 * distribution, ordered, a part of the training rows held out for validation, written. */
#ifndef HKT_DATA_IMPORT_H
#define HKT_DATA_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/packed.h"

/* The parts that the publisher made. */
typedef enum { HKT_IMPORT_TRAIN, HKT_IMPORT_TEST, HKT_IMPORT_PARTS } hkt_import_side;

/* One of HKT_HOLD_OUT training rows of each class (rounded up) becomes a validation row. */
enum { HKT_HOLD_OUT = 10 };

typedef struct {
    size_t begin;       /* into the bytes of its part */
    size_t length;      /* bytes kept; 0: the row is missing */
    size_t full_length; /* before cutting */
    unsigned char label;
    bool not_utf8; /* of a text */
} hkt_import_row;

typedef struct {
    size_t n;            /* rows that the part has when complete */
    hkt_import_row *row; /* [n] by place in the distribution, so that the order of an archive does not matter; owned */
    unsigned char *bytes;
    size_t n_bytes, max_bytes;
} hkt_import_part;

typedef struct {
    const hkt_packed_format *format;
    size_t max_length;
    hkt_import_part part[HKT_IMPORT_PARTS];
    size_t n_val; /* rows of part TRAIN held out; set by hkt_import_write */
} hkt_import;

/* Errors: HKT_ESYSTEM; *out may be freed then. */
hkt_status hkt_import_create(hkt_import *out, const hkt_packed_format *format, size_t max_length, size_t n_train,
                             size_t n_test);
void hkt_import_free(hkt_import *im);

/* Sets row `place` (below n, still missing) of a part; keeps the first max_length bytes. length >= 1. */
hkt_status hkt_import_add(hkt_import *im, hkt_import_side part, size_t place, int label, const unsigned char *bytes,
                          size_t length, bool not_utf8);

/* Writes DIR/train, val and test.safetensors, all or none. Every row must be there (HKT_ASSERT). Rows of both parts
 * come in an order drawn by Philox from a fixed seed; validation takes the first tenth of every class in that order.
 * The same rows give the same bytes. Errors: HKT_ESYSTEM. */
hkt_status hkt_import_write(hkt_import *im, const char *dir);

#endif

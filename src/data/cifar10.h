/* cifar10.h - sequential CIFAR-10 (Krizhevsky 2009): images as 1,024 grey pixels in raster order. Rules:
 * docs/formats.md, "CIFAR-10". */
#ifndef HKT_DATA_CIFAR10_H
#define HKT_DATA_CIFAR10_H

#include <stddef.h>

#include "base/status.h"
#include "data/import.h"
#include "data/packed.h"

enum { HKT_CIFAR10_PIXELS = 32 * 32, HKT_CIFAR10_BATCHES = 5, HKT_CIFAR10_BATCH_ROWS = 10000 };

/* Tokens are the grey values 0..255. */
extern const hkt_packed_format hkt_cifar10_format;

/* grey[i] = (19595 R + 38470 G + 7471 B + 32768) >> 16: the luma of ITU-R BT.601 in integers, as in the Python Imaging
 * Library. rgb: [3, HKT_CIFAR10_PIXELS]. */
void hkt_cifar10_grey(const unsigned char *rgb, unsigned char *grey);

/* Reads data_batch_1..5.bin and test_batch.bin from a folder or archive and writes the splits into `dir`. batch_rows:
 * records that every batch must have, HKT_CIFAR10_BATCH_ROWS as published. *im [out]: what was read, for the report;
 * free it (hkt_import_free), also on error. Errors: HKT_EINPUT naming file and record (from 0); HKT_ESYSTEM. */
hkt_status hkt_cifar10_import(hkt_import *im, const char *from, const char *dir, size_t batch_rows);

#endif

/* splits.h - the three splits of a data set: their names, and their files, written all or none. */
#ifndef HKT_DATA_SPLITS_H
#define HKT_DATA_SPLITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/dir.h"
#include "base/file.h"
#include "base/status.h"

typedef enum { HKT_TRAIN, HKT_VAL, HKT_TEST, HKT_SPLITS } hkt_split;

/* "train", "val", "test". */
extern const char *const hkt_split_names[HKT_SPLITS];
/* Errors: HKT_EUSAGE for another name. */
hkt_status hkt_split_parse(hkt_split *out, const char *name);

/* Streams of the generator (base/rng.h, HKT_STREAM_DATA): `sub`. The first HKT_SPLITS belong to generated splits. */
enum { HKT_SUB_ORDER = 16, HKT_SUB_TEXT = 32, HKT_SUB_STREAM = 48, HKT_SUB_STREAM_SPLIT };

typedef struct {
    hkt_dir dir;
    char *path[HKT_SPLITS];
    hkt_out *out[HKT_SPLITS];
} hkt_splits;

/* Creates and locks DIR and opens DIR/train.EXTENSION, val, test. Errors, and nothing is left then: HKT_EINPUT when
 * another process has DIR open so; HKT_ESYSTEM. */
hkt_status hkt_splits_open(hkt_splits *s, const char *dir, const char *extension);
FILE *hkt_splits_stream(const hkt_splits *s, hkt_split split);
/* Flushes one split, so that a full disk shows while all can still be dropped. Errors: HKT_ESYSTEM. */
hkt_status hkt_splits_flush(const hkt_splits *s, hkt_split split);
/* Puts all three in place, or none: those already in place are removed when a later one fails. Frees. */
hkt_status hkt_splits_commit(hkt_splits *s);
/* Drops all three, and DIR when it was made for them; frees. A zeroed struct is fine. */
void hkt_splits_abort(hkt_splits *s);

#endif

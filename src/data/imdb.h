/* imdb.h - IMDB reviews as bytes (Maas et al. 2011), positive or negative. Rules: docs/formats.md, "IMDB". */
#ifndef HKT_DATA_IMDB_H
#define HKT_DATA_IMDB_H

#include <stddef.h>

#include "base/status.h"
#include "data/import.h"
#include "data/packed.h"

enum { HKT_IMDB_PER_FOLDER = 12500, HKT_IMDB_MAX_LENGTH = 1024, HKT_IMDB_MAX_LENGTH_LRA = 4096 };

/* Tokens are bytes + 1; 0 is not used. */
extern const hkt_packed_format hkt_imdb_format;

typedef struct {
    size_t
        per_folder; /* reviews in each of train/neg, train/pos, test/neg, test/pos: HKT_IMDB_PER_FOLDER as published */
    size_t max_length; /* longer reviews are cut to as many bytes */
} hkt_imdb_spec;

/* Reads {train,test}/{neg,pos}/ID_RATING.txt from a folder or archive (other files are passed over) and writes the
 * splits into `dir`. *im [out]: what was read, for the report; free it (hkt_import_free), also on error. Errors:
 * HKT_EINPUT naming the file or folder; HKT_ESYSTEM. */
hkt_status hkt_imdb_import(hkt_import *im, const char *from, const char *dir, const hkt_imdb_spec *spec);

#endif

/* archive.h - the files of a folder, or of a tar archive (plain, gzip, xz), one after the other. Nothing is extracted:
 * an archive is read as a stream, so the names in it cannot do harm. The only way to libarchive. */
#ifndef HKT_DATA_ARCHIVE_H
#define HKT_DATA_ARCHIVE_H

#include <stddef.h>

#include "base/status.h"

typedef struct hkt_archive hkt_archive;

/* path: a folder, an archive file, or "-" for an archive on standard input. Errors: HKT_EINPUT. */
hkt_status hkt_archive_open(hkt_archive **out, const char *path);

/* Moves to the next regular file. *name [out]: its path inside the folder or archive, valid until the next call; NULL
 * at the end. Files of a folder come in the order of their names and include what symbolic links name. Errors:
 * HKT_EINPUT: "PATH: ..." for a damaged or truncated archive, or a folder that cannot be read. */
hkt_status hkt_archive_next(hkt_archive *a, const char **name);

/* Reads the current file on. *got < size only at its end. Errors: HKT_EINPUT, without path and name. */
hkt_status hkt_archive_read(hkt_archive *a, void *data, size_t size, size_t *got);

/* Accepts NULL. */
void hkt_archive_close(hkt_archive *a);

/* The last n components of a path (all of it when it has fewer). */
const char *hkt_archive_tail(const char *name, size_t n);

#endif

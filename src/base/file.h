/* file.h - whole-file reading, and outputs that are complete or absent: written to a temporary file beside the target,
 * flushed, fsynced, then renamed. */
#ifndef HKT_BASE_FILE_H
#define HKT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* Reads a whole file. *data owns size + 1 bytes (the last is 0); free with hkt_free. Errors: HKT_EINPUT with path and
 * reason. Directories and other non-regular files are refused; "-" is standard input. */
hkt_status hkt_file_read(const char *path, char **data, size_t *size);

/* Opens a regular file for hkt_file_read_at. *fd: the caller closes it; -1 on error. Errors as hkt_file_read;
 * "-" is refused. */
hkt_status hkt_file_open(const char *path, int *fd, size_t *size);
/* Fills data[0..n-1] from byte `offset` on. Errors: HKT_EINPUT, also when the file has become shorter. Thread-safe. */
hkt_status hkt_file_read_at(int fd, const char *path, size_t offset, void *data, size_t n);

/* Both name one file, also by different paths or links, and also when it is still to be made. */
bool hkt_file_same(const char *a, const char *b);

/* There is a file of that name and it lies in this directory. */
bool hkt_file_in_directory(const char *path, const char *dir);
/* Says before the work what would keep a file from being written: its directory is missing or not writable, or it is a
 * directory itself. HKT_ESYSTEM. */
hkt_status hkt_file_writable(const char *path);

/* Most bytes of a file's name in that directory. */
size_t hkt_file_name_max(const char *dir);

typedef struct hkt_out hkt_out;

/* Opens an output: a temporary "NAME.tmp-PID-N" beside it, NAME cut when that would be longer than the file system
 * allows. Temporaries of the same target whose process is gone are removed. path "-" is standard output (buffered,
 * checked at commit). Errors: HKT_ESYSTEM. */
hkt_status hkt_out_open(hkt_out **out, const char *path);
/* The stream to write to. Owned by the hkt_out. */
FILE *hkt_out_stream(hkt_out *out);
/* It goes to a file of its own, by a temporary one: neither standard output nor a device or pipe. */
bool hkt_out_is_file(const hkt_out *out);
/* Flushes, checks, fsyncs: afterwards only the rename can fail. The output stays open. */
hkt_status hkt_out_sync(hkt_out *out);
/* The same, then renames; frees. On error the temporary file is removed and the old target is untouched. */
hkt_status hkt_out_commit(hkt_out *out);
/* Removes the temporary file; frees. Accepts NULL. */
void hkt_out_abort(hkt_out *out);

/* What was printed has reached standard output; else HKT_ESYSTEM with the reason. */
hkt_status hkt_stdout_flush(void);
/* For a handler of signals that ends the process: removes the temporary files of all outputs that are open. */
void hkt_out_remove_all(void);

/* Creates the directory and its parents when missing. */
hkt_status hkt_mkdir(const char *path);
bool hkt_file_exists(const char *path);
bool hkt_file_is_directory(const char *path);

/* "dir/name" in memory that the caller frees with hkt_free. */
hkt_status hkt_path_join(char **out, const char *dir, const char *name);

#endif

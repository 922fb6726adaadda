/* check.h - are the files of a directory those that were written? */
#ifndef HKT_DATA_CHECK_H
#define HKT_DATA_CHECK_H

#include <stdio.h>

#include "base/status.h"

/* Reads every safetensors file and every table of results in `dir` and the directories in it, and prints a line
 * "FILE<TAB>whole", "FILE<TAB>no checksum" or "FILE<TAB>damaged: REASON" for each, in the order of the names; other
 * files are passed over. Errors: HKT_EINPUT when a file is damaged (all are read and printed), when there is none to
 * check, or when the directory cannot be read; HKT_ESYSTEM. */
hkt_status hkt_check_directory(FILE *f, const char *dir);

#endif

/* fetch.h - where the published data sets are, and their download by the program curl. */
#ifndef HKT_DATA_FETCH_H
#define HKT_DATA_FETCH_H

#include <stdio.h>

#include "base/status.h"

/* Prints on `f` where the original of a task is published, by whom, under what terms, and its checksum; then downloads
 * it into `dir` unless it is there already, and checks it (program md5sum). Tasks without a download (listops is
 * generated) are only described. Errors: HKT_EUSAGE for another task; HKT_ESYSTEM when curl or md5sum is missing or
 * there is no network; HKT_EINPUT when the file is not the published one: a download is then removed, an existing file
 * kept. */
hkt_status hkt_fetch(FILE *f, const char *task, const char *dir);

#endif

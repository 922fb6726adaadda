/* dir.h - a directory that one process at a time writes into. */
#ifndef HKT_BASE_DIR_H
#define HKT_BASE_DIR_H

#include <stdbool.h>

#include "base/status.h"

/* Zeroed: closed. */
typedef struct {
    char *path; /* owned; NULL: closed */
    bool made;  /* by hkt_dir_open */
    int lock;   /* descriptor that holds the lock */
} hkt_dir;

/* Creates the directory and its parents when missing, and locks it (flock, so only against those who ask) until
 * hkt_dir_close. Errors, closed then: HKT_EINPUT when another process has it open; HKT_ESYSTEM. */
hkt_status hkt_dir_open(hkt_dir *out, const char *path);
/* Unlocks and frees; removes the directory when hkt_dir_open made it and nothing is in it. Closed: does nothing. */
void hkt_dir_close(hkt_dir *dir);

#endif

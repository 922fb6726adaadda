/* process.h - runs another program without a shell. */
#ifndef HKT_BASE_PROCESS_H
#define HKT_BASE_PROCESS_H

#include "base/status.h"

/* Runs argv[0] (looked up in PATH; argv ends with NULL) with the environment of this process and no standard input, and
 * waits. *exit_status: as of the program, 128 + N when signal N ended it. *text: what it wrote on standard output and
 * standard error; free with hkt_free; NULL on error. Errors: HKT_ESYSTEM when it cannot be run. */
hkt_status hkt_process_run(char *const *argv, int *exit_status, char **text);

#endif

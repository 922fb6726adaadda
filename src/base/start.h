/* start.h - what every program does before anything else. */
#ifndef HKT_BASE_START_H
#define HKT_BASE_START_H

/* SIGINT, SIGTERM and SIGHUP, unless they are ignored, remove the temporary files of outputs before they end the
 * process; the shell says 128 + the number of the signal. A limit on the size of files (ulimit -f) makes a write fail
 * with its error, as a full disk does, in the place of a signal that ends the process and leaves its temporary files.
 */
void hkt_start(void);

#endif

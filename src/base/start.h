/* start.h - what every program does before anything else. */
#ifndef HKT_BASE_START_H
#define HKT_BASE_START_H

/* A limit on the size of files (ulimit -f) makes a write fail with its error, as a full disk does, in the place of a
 * signal that ends the process and leaves its temporary files. */
void hkt_start(void);

#endif

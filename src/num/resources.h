/* resources.h - what the libraries below take for granted: found out before the work. */
#ifndef HKT_NUM_RESOURCES_H
#define HKT_NUM_RESOURCES_H

#include "base/status.h"

/* Tries once, after hkt_set_threads, whether the threads of our loops can be made, where OpenMP's library would end the
 * process, and whether there is address space for the work areas of OpenBLAS, one per thread, for which it would ask
 * for ever; where OpenBLAS allows it, they are taken now. Errors: HKT_ESYSTEM; HKT_EUSAGE for an HKT_ISA that names no
 * instruction set. */
hkt_status hkt_resources_check(void);

#endif

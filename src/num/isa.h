/* isa.h - which instruction set the vector kernels use. Private to src/num and its tests. */
#ifndef HKT_NUM_ISA_H
#define HKT_NUM_ISA_H

#include <stdbool.h>

#include "base/status.h"

/* HKT_ISA_GENERIC: what every processor of the architecture has, SSE2 on x86-64 and NEON on aarch64, where it is named
 * "neon" and is the only one. */
typedef enum { HKT_ISA_GENERIC, HKT_ISA_AVX2, HKT_ISA_AVX512 } hkt_isa_level;

/* The level in use: chosen at the first call, the same for the life of the process. Thread-safe. */
hkt_isa_level hkt_isa_current(void);

/* HKT_EUSAGE when the environment variable HKT_ISA names none. One that this processor lacks is lowered. */
hkt_status hkt_isa_check(void);

/* Tests only: switches to a level; false when this processor lacks it. Not while kernels run in other threads. */
bool hkt_isa_select(hkt_isa_level level);

#endif

/* blas.h - the only door to OpenBLAS's control functions.
 *
 * Parallelism is ours (OpenMP over independent work items); every BLAS call inside runs on one BLAS thread. */
#ifndef HKT_NUM_BLAS_H
#define HKT_NUM_BLAS_H

#include <stddef.h>

#include "base/status.h"

/* One BLAS thread, GSL's aborting error handler off (gsl_set_error_handler_off). */
void hkt_num_start(void);
/* For programs; call first in main. An OpenBLAS older than the processor does not recognise it and falls back to its
 * slowest kernels (Prescott): when the processor has AVX-512 or AVX2 and the loaded core is such a fallback and
 * OPENBLAS_CORETYPE is unset, sets it to SkylakeX or Haswell and executes the program again (the variable is only read
 * when the library is loaded). Then hkt_num_start. */
void hkt_num_init(char **argv);

/* Kernel set that OpenBLAS uses ("SkylakeX"). */
const char *hkt_blas_core(void);
/* Library version text ("OpenBLAS 0.3.21"). */
const char *hkt_blas_version(void);
/* Threads of BLAS calls made outside parallel regions: only for measuring the peak; 1 otherwise. */
void hkt_blas_set_threads(size_t n);

/* c = a b, all [n, n], by the BLAS library's sgemm: the yardstick of what the machine can do. */
void hkt_blas_sgemm(size_t n, const float *a, const float *b, float *c);

/* Threads of our own parallel loops: 0 = all processors of the affinity mask. Returns the number in use. */
size_t hkt_set_threads(size_t n);
size_t hkt_threads(void);

#endif

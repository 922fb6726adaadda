/* timing.h - repeated measurement of one piece of work, and the yardstick: the BLAS library's own matrix product. */
#ifndef HKT_TRAIN_TIMING_H
#define HKT_TRAIN_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define HKT_TIMING_MAX_REPEATS 1000

typedef struct {
    double median, low, high; /* seconds */
} hkt_timing;

typedef hkt_status hkt_timing_work(void *context);

/* Runs `work` once to warm up, then `repeats` (1..HKT_TIMING_MAX_REPEATS) times. Returns its first failure. */
hkt_status hkt_timing_measure(hkt_timing_work *work, void *context, size_t repeats, hkt_timing *out);

/* Multiply-adds per second of the fastest of a few square sgemm on hkt_threads() BLAS threads. Afterwards BLAS has one
 * thread again. */
hkt_status hkt_timing_gemm_peak(size_t repeats, uint64_t seed, double *peak);

/* Bytes per second, read plus written, of copies of `bytes` per thread on hkt_threads() threads. */
hkt_status hkt_timing_copy(size_t bytes, size_t repeats, double *rate);

#endif

/* hkt/hkt.h - status, messages, version and set-up of the library; every other public header includes it.
 *
 * A function that can fail returns a status; the message is hkt_error() of the same thread. Every message names the
 * function that was called wrongly, or the file. The library does not end the process, does not run programs, prints
 * nothing, and changes nothing of the caller's but what hkt_init says. Arrays are of the caller, row by row, in double,
 * and are not kept after the call. When a function fails, what it would have written is unspecified, except pointers to
 * new objects, which are NULL. Functions may be called from several threads at a time. */
#ifndef HKT_HKT_H
#define HKT_HKT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HKT_API __attribute__((visibility("default")))
#else
#define HKT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    HKT_OK = 0,
    HKT_EUSAGE = 2,   /* wrong argument: NULL, a size that is 0 or too large, a number out of range */
    HKT_EINPUT = 3,   /* missing, truncated, corrupt or ill-shaped input; a value that is not finite */
    HKT_ENUMERIC = 4, /* a result that is not finite, a LAPACK failure */
    HKT_ESYSTEM = 5   /* out of memory, disk full, cannot create a file */
} hkt_status;

/* The last message recorded by this thread: one line without its end; "" when there is none. Valid until the next
 * failure in the thread. */
HKT_API const char *hkt_error(void);

/* The version and the commit of the library that runs ("0.1.0"; "unknown" when it was built outside git and not from a
 * release's archive). */
HKT_API const char *hkt_library_version(void);
HKT_API const char *hkt_library_commit(void);
/* Which kernels OpenBLAS has chosen for this processor ("SkylakeX"). "Prescott" on a processor with AVX2 means that
 * OpenBLAS does not know the processor and is slow; the environment variable OPENBLAS_CORETYPE chooses others. */
HKT_API const char *hkt_library_blas_core(void);

/* Sets the library up; the first call of any other function that needs it does so, with threads = 0. Changes two things
 * of the process: OpenBLAS uses one thread (parallelism is the library's), and GSL's error handler is off.
 * threads: of the parallel loops in calls from this thread; 0: OMP_NUM_THREADS, else all processors. May be called
 * again. Results do not depend on it. Errors: HKT_EUSAGE for more than 4096 threads. */
HKT_API hkt_status hkt_init(size_t threads);

#ifdef __cplusplus
}
#endif

#endif

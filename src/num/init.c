/* init.c - what programs, not the library's users, do about OpenBLAS's choice of kernels. */
#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "num/blas.h"

#if defined(__x86_64__)
/* The core to ask for when the loaded one lacks the vector instructions of this processor; NULL when it is fine. */
static const char *better_core(const char *loaded)
{
    static const char *const good[] = {"Haswell", "Zen", "Excavator", "SkylakeX", "Cooperlake", "SapphireRapids"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!strcasecmp(loaded, good[i]))
            return NULL;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell" : NULL;
}
#else
static const char *better_core(const char *loaded)
{
    (void)loaded;
    return NULL;
}
#endif

void hkt_num_init(char **argv)
{
    /* Set only when unset, so that the second run cannot come here again. */
    const char *core = getenv("OPENBLAS_CORETYPE") ? NULL : better_core(openblas_get_corename());
    if (core && setenv("OPENBLAS_CORETYPE", core, 0) == 0)
        execv("/proc/self/exe", argv); /* returns only on failure: then we go on, slower */
    /* After execv of /proc/self/exe the process is named "exe", and pkill and top would not know it. */
    const char *slash = argv[0] ? strrchr(argv[0], '/') : NULL;
    if (argv[0])
        prctl(PR_SET_NAME, slash ? slash + 1 : argv[0], 0, 0, 0);
    hkt_num_start();
}

/* isa.c - chooses the instruction set of the vector kernels from the processor and HKT_ISA. */
#include "num/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "num/kernels.h"

#if defined(__aarch64__)
static const char *const names[] = {"neon"};
#else
static const char *const names[] = {"generic", "avx2", "avx512"};
#endif
static atomic_int current = -1;

/* The highest level this processor can run. */
static int best_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return avx2 && avx512 ? HKT_ISA_AVX512 : avx2 ? HKT_ISA_AVX2 : HKT_ISA_GENERIC;
#else
    return HKT_ISA_GENERIC;
#endif
}

static int chosen_level(void)
{
    const char *wish = getenv("HKT_ISA");
    int best = best_level();
    for (int i = 0; wish && i < best; i++)
        if (!strcmp(wish, names[i]))
            return i;
    return best;
}

hkt_status hkt_isa_check(void)
{
    static const char *const known[] = {"generic", "avx2", "avx512", "neon"};
    const char *wish = getenv("HKT_ISA");
    for (size_t i = 0; wish && i < sizeof known / sizeof *known; i++)
        if (!strcmp(wish, known[i]))
            return HKT_OK;
    return wish ? hkt_fail(HKT_EUSAGE, "HKT_ISA: expected generic, avx2, avx512 or neon, found '%s'", wish) : HKT_OK;
}

hkt_isa_level hkt_isa_current(void)
{
    int level = atomic_load_explicit(&current, memory_order_relaxed);
    if (level < 0) {
        /* Threads that race here compute the same value. */
        level = chosen_level();
        atomic_store_explicit(&current, level, memory_order_relaxed);
    }
    return (hkt_isa_level)level;
}

bool hkt_isa_select(hkt_isa_level level)
{
    if ((int)level > best_level())
        return false;
    atomic_store(&current, (int)level);
    return true;
}

const char *hkt_isa(void)
{
    return names[hkt_isa_current()];
}

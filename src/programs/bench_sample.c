/* bench_sample.c - the share of the processor time spent in the BLAS library, by sampling (profil(2) of old). */
#include <link.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "bench.h"

/* Addresses of the library's code, and the looks. */
static uintptr_t code_begin, code_end;
static atomic_ulong looks, in_blas;

static uintptr_t program_counter(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

static void look(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    uintptr_t at = program_counter(context);
    if (at == 0)
        return;
    atomic_fetch_add(&looks, 1);
    if (at >= code_begin && at < code_end)
        atomic_fetch_add(&in_blas, 1);
}

/* The executable segments of the library, known by its file name. */
static int find_code(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    if (!strstr(info->dlpi_name, "openblas"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        begin = from < begin ? from : begin;
        end = from + p->p_memsz > end ? from + p->p_memsz : end;
    }
    code_begin = begin;
    code_end = end;
    return 1;
}

static void set_timer(long microseconds)
{
    const struct itimerval every = {.it_interval = {0, microseconds}, .it_value = {0, microseconds}};
    setitimer(ITIMER_PROF, &every, NULL);
}

void hkt_bench_sample_start(void)
{
    struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO | SA_RESTART};
    dl_iterate_phdr(find_code, NULL);
    atomic_store(&looks, 0);
    atomic_store(&in_blas, 0);
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGPROF, &action, NULL) == 0)
        set_timer(1000);
}

void hkt_bench_sample_stop(double *share)
{
    set_timer(0);
    unsigned long n = atomic_load(&looks);
    *share = n > 0 && code_end > 0 ? (double)atomic_load(&in_blas) / (double)n : (double)NAN;
}

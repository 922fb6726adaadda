/* early.c - linked to the programs that use OpenBLAS: what must be done before its library is set up.
 *
 * When it is loaded, OpenBLAS makes a thread per processor. We use none of them (parallelism is ours), but where they
 * cannot be made it sends the process SIGINT, and where their work areas cannot be had they ask for them for ever, so
 * that the process cannot end either. Only the environment can forbid them, and the environment that a process was
 * started with cannot be added to before the C library is set up: so the program is executed again with it. This
 * happens before any library is set up and costs a millisecond or two. */
#include <string.h>
#include <unistd.h>

#define NAME "OPENBLAS_NUM_THREADS"

static void start_without_threads(int argc, char **argv, char **envp)
{
    static char setting[] = NAME "=1";
    size_t n = 0, at;
    (void)argc;
    while (envp[n])
        n++;
    for (at = 0; at < n && strncmp(envp[at], NAME "=", sizeof NAME) != 0; at++)
        continue;
    if (n > 100000 || (at < n && strcmp(envp[at], setting) == 0))
        return;
    char **changed = __builtin_alloca((n + 2) * sizeof *changed); /* malloc is not set up yet */
    memcpy(changed, envp, n * sizeof *changed);
    changed[at] = setting;
    changed[at < n ? n : n + 1] = NULL;
    execve("/proc/self/exe", argv, changed); /* returns only on failure: then we go on as we are */
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) = start_without_threads;

/* fault.c - a library for LD_PRELOAD: the FAULT_AT-th call that a program (or jansson, for it) makes to get memory, to
 * write, to sync, to rename or to create fails as the system would let it. FAULT_LOG gets the name of the function.
 * With glibc. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the C library itself calls: asking for the next symbol would need memory. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);
extern int _IO_fflush(FILE *f);

static atomic_long left = -1; /* calls until the fault; -1: not read yet */

static bool of_program(const void *caller)
{
    Dl_info at, program;
    const char *name;
    if (!dladdr(caller, &at) || !dladdr((const void *)getauxval(AT_ENTRY), &program))
        return false;
    name = strrchr(at.dli_fname, '/');
    return at.dli_fbase == program.dli_fbase || strncmp(name ? name + 1 : at.dli_fname, "libjansson", 10) == 0;
}

static bool fault(const char *name, const void *caller, int error)
{
    const char *text, *log;
    if (atomic_load(&left) == -1)
        atomic_store(&left, (text = getenv("FAULT_AT")) ? strtol(text, NULL, 10) : 0);
    if (atomic_load(&left) <= 0 || !of_program(caller) || atomic_fetch_sub(&left, 1) != 1)
        return false;
    log = getenv("FAULT_LOG");
    int fd = log ? (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (fd >= 0) {
        (void)!write(fd, name, strlen(name));
        (void)!write(fd, "\n", 1);
        close(fd);
    }
    errno = error;
    return true;
}
#define FAULT(error) fault(__func__, __builtin_return_address(0), error)

void *malloc(size_t n)
{
    return FAULT(ENOMEM) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return FAULT(ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return FAULT(ENOMEM) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return FAULT(ENOMEM) ? NULL : __libc_memalign(alignment, n);
}

int fflush(FILE *f)
{
    return FAULT(ENOSPC) ? EOF : _IO_fflush(f);
}

int fsync(int fd)
{
    return FAULT(EIO) ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    return FAULT(EIO) ? -1 : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return FAULT(EIO) ? -1 : (int)syscall(SYS_renameat, from_dir, from, to_dir, to);
}

int mkdir(const char *path, mode_t mode)
{
    return FAULT(ENOSPC) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return (flags & O_CREAT) && FAULT(ENOSPC) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

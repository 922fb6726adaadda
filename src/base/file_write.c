/* file_write.c - the outputs of file.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define MARK ".tmp-"
enum { SUFFIX = sizeof MARK - 1 + 9 + 1 + 2 /* "PID-N": at most 9 digits and 2 */ };

struct hkt_out {
    FILE *stream;
    char *path;       /* target with symbolic links resolved, or the name for messages */
    const char *name; /* of the target in its directory, a part of `path` */
    int dir;          /* that directory; -1 when the target is written directly: standard output, devices, pipes */
    char *temporary;  /* its name in `dir`; NULL as above */
};

/* Outputs with a temporary file, for hkt_out_remove_all; what has no place here is removed by the next command. */
enum { MOST_OPEN = 64 };
static hkt_out *_Atomic open_outs[MOST_OPEN];
static atomic_bool removed; /* by the handler: the process ends */

static void remember(hkt_out *out)
{
    for (size_t i = 0; i < MOST_OPEN; i++) {
        hkt_out *none = NULL;
        if (atomic_compare_exchange_strong(&open_outs[i], &none, out))
            return;
    }
}

static void forget(hkt_out *out)
{
    for (size_t i = 0; i < MOST_OPEN; i++) {
        hkt_out *this = out;
        if (atomic_compare_exchange_strong(&open_outs[i], &this, NULL))
            return;
    }
}

void hkt_out_remove_all(void)
{
    atomic_store(&removed, true);
    for (size_t i = 0; i < MOST_OPEN; i++) {
        const hkt_out *out = atomic_load(&open_outs[i]);
        if (out)
            unlinkat(out->dir, out->temporary, 0);
    }
}

static void out_free(hkt_out *out)
{
    if (!out)
        return;
    forget(out);
    if (out->dir >= 0)
        close(out->dir);
    hkt_free(out->path);
    hkt_free(out->temporary);
    hkt_free(out);
}

static hkt_status cannot_create(const hkt_out *out, int error)
{
    return hkt_fail(HKT_ESYSTEM, "cannot create '%s': %s", out->path, strerror(error));
}

/* --- temporaries of killed processes ------------------------------------------------------------------------------ */

/* Process number of a temporary "STEM.tmp-PID-N"; 0: it is none. n: bytes of the stem. */
static long temporary_pid(const char *entry, const char *stem, size_t n)
{
    long pid;
    int end = 0;
    if (strncmp(entry, stem, n) != 0 || strncmp(entry + n, MARK, sizeof MARK - 1) != 0)
        return 0;
    entry += n + sizeof MARK - 1;
    return sscanf(entry, "%9ld-%*9d%n", &pid, &end) == 1 && end > 0 && entry[end] == 0 && pid > 0 ? pid : 0;
}

/* Nobody writes the temporary any more: no such process here, and no lock of one elsewhere on the same disk. */
static bool is_stale(int dir, const char *entry, long pid)
{
    if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    int fd = openat(dir, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool stale = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return stale;
}

/* A killed process could not remove its temporary of this target. n: bytes of the name that its temporaries start with.
 */
static void remove_stale(const hkt_out *out, size_t n)
{
    int fd = openat(out->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        long pid = temporary_pid(e->d_name, out->name, n);
        if (pid > 0 && is_stale(fd, e->d_name, pid))
            unlinkat(fd, e->d_name, 0);
    }
    closedir(d);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* Opens the directory of the target; *most: bytes of a name in it. */
static hkt_status open_directory(hkt_out *out, size_t *most)
{
    char *slash = strrchr(out->path, '/');
    out->name = slash ? slash + 1 : out->path;
    if (slash)
        *slash = 0;
    const char *dir = !slash ? "." : *out->path ? out->path : "/";
    out->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    *most = hkt_file_name_max(dir);
    if (slash)
        *slash = '/';
    if (out->dir < 0)
        return cannot_create(out, error);
    return strlen(out->name) <= *most ? HKT_OK : cannot_create(out, ENAMETOOLONG);
}

/* Bytes of the target's name that fit before the suffix; no character of UTF-8 is cut. */
static size_t stem_size(const char *name, size_t most)
{
    size_t n = strlen(name);
    if (n + SUFFIX <= most || most <= SUFFIX)
        return n;
    for (n = most - SUFFIX; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80; n--)
        continue;
    return n;
}

/* Creates a new file beside the target. */
static hkt_status open_temporary(hkt_out *out)
{
    size_t most;
    int fd = -1;
    HKT_TRY(open_directory(out, &most));
    const size_t stem = stem_size(out->name, most), size = stem + SUFFIX + 16;
    HKT_TRY(HKT_NEW(&out->temporary, size));
    remove_stale(out, stem);
    snprintf(out->temporary, size, "%.*s" MARK "%ld-%d", (int)stem, out->name, (long)getpid(), 0);
    remember(out);                            /* before it is there: a signal may come right after */
    for (int n = 0; n < 100 && fd < 0; n++) { /* another thread of ours may write the same target */
        snprintf(out->temporary, size, "%.*s" MARK "%ld-%d", (int)stem, out->name, (long)getpid(), n);
        fd = hkt_fault(ENOSPC) ? -1 : openat(out->dir, out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return cannot_create(out, errno);
    (void)flock(fd, LOCK_EX | LOCK_NB); /* for remove_stale; not every file system has locks */
    if (atomic_load(&removed))          /* the handler of another thread has been here */
        unlinkat(out->dir, out->temporary, 0);
    out->stream = fdopen(fd, "w");
    if (out->stream)
        return HKT_OK;
    int error = errno;
    close(fd);
    unlinkat(out->dir, out->temporary, 0);
    return cannot_create(out, error);
}

/* Opens what `out->path` names: a temporary beside it, or itself when it exists and is no regular file. */
static hkt_status open_target(hkt_out *out)
{
    struct stat st;
    if (stat(out->path, &st) != 0 || S_ISREG(st.st_mode))
        return open_temporary(out);
    if (S_ISDIR(st.st_mode))
        return hkt_fail(HKT_ESYSTEM, "cannot create '%s': is a directory", out->path);
    out->stream = fopen(out->path, "we");
    if (!out->stream)
        return hkt_fail(HKT_ESYSTEM, "cannot open '%s': %s", out->path, strerror(errno));
    return HKT_OK;
}

/* The path that a rename must replace: a symbolic link stays, the file that it names is replaced. */
static hkt_status resolve(char **out, const char *path)
{
    char *real = realpath(path, NULL);
    hkt_status status = hkt_strdup(out, real ? real : path);
    free(real);
    return status;
}

hkt_status hkt_out_open(hkt_out **out, const char *path)
{
    hkt_out *o = NULL;
    hkt_status status;
    *out = NULL;
    HKT_TRY(HKT_NEW(&o, 1));
    o->dir = -1;
    if (strcmp(path, "-") == 0) {
        HKT_TRY_GOTO(status, fail, hkt_strdup(&o->path, "standard output"));
        o->stream = stdout;
    } else {
        HKT_TRY_GOTO(status, fail, resolve(&o->path, path));
        HKT_TRY_GOTO(status, fail, open_target(o));
    }
    *out = o;
    return HKT_OK;
fail:
    out_free(o);
    return status;
}

FILE *hkt_out_stream(hkt_out *out)
{
    return out->stream;
}

/* --- closing ------------------------------------------------------------------------------------------------------ */

/* The data have reached the stream's file; a regular file also the disk. 0, or the error number. */
static int flush(hkt_out *out)
{
    int earlier =
        ferror(out->stream) ? EIO : 0; /* the number of an earlier error is lost unless the flush repeats it */
    errno = 0;
    if (hkt_fault(ENOSPC) || fflush(out->stream) != 0)
        return errno ? errno : EIO;
    if (earlier)
        return earlier;
    return out->temporary && (hkt_fault(EIO) || fsync(fileno(out->stream)) != 0) ? errno : 0;
}

/* The rename itself survives a crash only when the directory is on disk too; not every file system can do it. */
static void sync_directory(const hkt_out *out)
{
    int fd = openat(out->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

bool hkt_out_is_file(const hkt_out *out)
{
    return out->temporary;
}

static hkt_status cannot_write(const hkt_out *out, int error)
{
    return hkt_fail(HKT_ESYSTEM, "cannot write '%s': %s", out->path, strerror(error));
}

hkt_status hkt_out_sync(hkt_out *out)
{
    int error = flush(out);
    return error ? cannot_write(out, error) : HKT_OK;
}

hkt_status hkt_out_commit(hkt_out *out)
{
    hkt_status status = HKT_OK;
    int error = flush(out);
    if (out->stream != stdout && fclose(out->stream) != 0 && !error)
        error = errno;
    if (error)
        status = cannot_write(out, error);
    else if (out->temporary && (hkt_fault(EIO) || renameat(out->dir, out->temporary, out->dir, out->name) != 0))
        status = hkt_fail(HKT_ESYSTEM, "cannot replace '%s': %s", out->path, strerror(errno));
    if (out->temporary && status == HKT_OK)
        sync_directory(out);
    else if (out->temporary)
        unlinkat(out->dir, out->temporary, 0);
    out_free(out);
    return status;
}

hkt_status hkt_stdout_flush(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return HKT_OK;
    return hkt_fail(HKT_ESYSTEM, "cannot write 'standard output': %s", strerror(errno ? errno : EIO));
}

void hkt_out_abort(hkt_out *out)
{
    if (!out)
        return;
    if (out->stream != stdout)
        fclose(out->stream);
    if (out->temporary)
        unlinkat(out->dir, out->temporary, 0);
    out_free(out);
}

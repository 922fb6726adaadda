#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

hkt_status hkt_file_read_at(int fd, const char *path, size_t offset, void *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (char *)data + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hkt_fail(HKT_EINPUT, "cannot read '%s': %s", path, strerror(errno));
        if (got == 0) /* it has shrunk */
            return hkt_fail(HKT_EINPUT, "cannot read '%s': expected %zu bytes, found %zu", path, offset + n,
                            offset + done);
        done += (size_t)got;
    }
    return HKT_OK;
}

hkt_status hkt_file_open(const char *path, int *fd, size_t *size)
{
    struct stat st;
    int f = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block before it is refused */
    *fd = -1;
    *size = 0;
    if (f >= 0 && fstat(f, &st) == 0 && S_ISREG(st.st_mode)) {
        *fd = f;
        *size = (size_t)st.st_size;
        return HKT_OK;
    }
    int error = errno;
    if (f < 0)
        return hkt_fail(HKT_EINPUT, "cannot open '%s': %s", path, strerror(error));
    close(f);
    return hkt_fail(HKT_EINPUT, "cannot read '%s': %s", path,
                    S_ISDIR(st.st_mode) ? "is a directory" : "not a regular file");
}

hkt_status hkt_file_read(const char *path, char **data, size_t *size)
{
    int fd;
    void *p = NULL;
    *data = NULL;
    HKT_TRY(hkt_file_open(path, &fd, size));
    hkt_status status = hkt_alloc(&p, *size + 1, 1, path);
    if (status == HKT_OK)
        status = hkt_file_read_at(fd, path, 0, p, *size);
    close(fd);
    if (status == HKT_OK) {
        *data = p;
        return HKT_OK;
    }
    hkt_free(p);
    *size = 0;
    return status;
}

bool hkt_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool hkt_file_is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The directory that `path` is in: "." for a bare name. False when the name is too long. */
static bool parent_of(const char *path, char parent[4096])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n >= 4096)
        return false;
    memcpy(parent, n ? path : ".", n ? n : 1);
    parent[n ? n : 1] = 0;
    return true;
}

/* False when it is not there. */
static bool stat_parent(const char *path, struct stat *st)
{
    char parent[4096];
    return parent_of(path, parent) && stat(parent, st) == 0;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool hkt_file_same(const char *a, const char *b)
{
    struct stat x, y;
    if (strcmp(a, b) == 0)
        return true;
    bool a_there = stat(a, &x) == 0, b_there = stat(b, &y) == 0;
    if (a_there != b_there)
        return false;
    if (!a_there && (strcmp(name_of(a), name_of(b)) != 0 || !stat_parent(a, &x) || !stat_parent(b, &y)))
        return false;
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool hkt_file_in_directory(const char *path, const char *dir)
{
    char parent[4096];
    return hkt_file_exists(path) && parent_of(path, parent) && hkt_file_same(parent, dir);
}

hkt_status hkt_file_writable(const char *path)
{
    struct stat st;
    char parent[4096];
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return hkt_fail(HKT_ESYSTEM, "cannot create '%s': is a directory", path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return HKT_OK; /* a device or pipe */
    if (!parent_of(path, parent))
        errno = ENAMETOOLONG;
    else if (access(parent, W_OK | X_OK) == 0)
        return HKT_OK;
    return hkt_fail(HKT_ESYSTEM, "cannot create '%s': %s", path, strerror(errno));
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

struct hkt_out {
    FILE *stream;
    char *path;      /* target with symbolic links resolved, or the name for messages */
    char *temporary; /* NULL when the target is written directly: standard output, devices, pipes */
};

static void out_free(hkt_out *out)
{
    if (out) {
        hkt_free(out->path);
        hkt_free(out->temporary);
        hkt_free(out);
    }
}

/* Process number of a temporary "NAME.tmp-PID-N" of the target NAME; 0: it is none. */
static long temporary_pid(const char *entry, const char *name)
{
    static const char mark[] = ".tmp-";
    size_t n = strlen(name);
    long pid;
    int end = 0;
    if (strncmp(entry, name, n) != 0 || strncmp(entry + n, mark, sizeof mark - 1) != 0)
        return 0;
    entry += n + sizeof mark - 1;
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

/* A killed process could not remove its temporary of this target. */
static void remove_stale(char *path)
{
    char *slash = strrchr(path, '/');
    const char *name = name_of(path);
    if (slash)
        *slash = 0;
    DIR *d = opendir(!slash ? "." : *path ? path : "/");
    if (slash)
        *slash = '/';
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        long pid = temporary_pid(e->d_name, name);
        if (pid > 0 && is_stale(dirfd(d), e->d_name, pid))
            unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
}

/* Creates a new file beside the target: "PATH.tmp-PID-N". */
static hkt_status open_temporary(hkt_out *out)
{
    size_t size = strlen(out->path) + 48;
    int fd = -1;
    HKT_TRY(HKT_NEW(&out->temporary, size));
    remove_stale(out->path);
    for (int n = 0; n < 100 && fd < 0; n++) { /* another thread of ours may write the same target */
        snprintf(out->temporary, size, "%s.tmp-%ld-%d", out->path, (long)getpid(), n);
        fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return hkt_fail(HKT_ESYSTEM, "cannot create '%s': %s", out->path, strerror(errno));
    (void)flock(fd, LOCK_EX | LOCK_NB); /* for remove_stale; not every file system has locks */
    out->stream = fdopen(fd, "w");
    if (out->stream)
        return HKT_OK;
    int error = errno;
    close(fd);
    unlink(out->temporary);
    return hkt_fail(HKT_ESYSTEM, "cannot create '%s': %s", out->path, strerror(error));
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

/* The data have reached the stream's file; a regular file also the disk. 0, or the error number. */
static int flush(hkt_out *out)
{
    int earlier =
        ferror(out->stream) ? EIO : 0; /* the number of an earlier error is lost unless the flush repeats it */
    errno = 0;
    if (fflush(out->stream) != 0)
        return errno ? errno : EIO;
    if (earlier)
        return earlier;
    return out->temporary && fsync(fileno(out->stream)) != 0 ? errno : 0;
}

/* The rename itself survives a crash only when the directory is on disk too; not every file system can do it. */
static void sync_directory(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    int fd = open(!slash ? "." : *path ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    if (slash)
        *slash = '/';
}

hkt_status hkt_out_commit(hkt_out *out)
{
    hkt_status status = HKT_OK;
    int error = flush(out);
    if (out->stream != stdout && fclose(out->stream) != 0 && !error)
        error = errno;
    if (error)
        status = hkt_fail(HKT_ESYSTEM, "cannot write '%s': %s", out->path, strerror(error));
    else if (out->temporary && rename(out->temporary, out->path) != 0)
        status = hkt_fail(HKT_ESYSTEM, "cannot replace '%s': %s", out->path, strerror(errno));
    if (out->temporary && status == HKT_OK)
        sync_directory(out->path);
    else if (out->temporary)
        unlink(out->temporary);
    out_free(out);
    return status;
}

void hkt_out_abort(hkt_out *out)
{
    if (!out)
        return;
    if (out->stream != stdout)
        fclose(out->stream);
    if (out->temporary)
        unlink(out->temporary);
    out_free(out);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static hkt_status make_one(const char *path)
{
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return HKT_OK;
    int error = errno;
    if (stat(path, &st) != 0)
        return hkt_fail(HKT_ESYSTEM, "cannot create directory '%s': %s", path, strerror(error));
    if (!S_ISDIR(st.st_mode))
        return hkt_fail(HKT_ESYSTEM, "cannot create directory '%s': exists and is not a directory", path);
    return HKT_OK;
}

hkt_status hkt_mkdir(const char *path)
{
    char *copy;
    hkt_status status = HKT_OK;
    HKT_TRY(hkt_strdup(&copy, path));
    for (char *p = copy + 1; *copy && *p && status == HKT_OK; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        status = make_one(copy);
        *p = '/';
    }
    if (status == HKT_OK)
        status = make_one(copy);
    hkt_free(copy);
    return status;
}

hkt_status hkt_path_join(char **out, const char *dir, const char *name)
{
    size_t n = strlen(dir), size = n + strlen(name) + 2;
    const char *slash = n == 0 || dir[n - 1] == '/' ? "" : "/";
    HKT_TRY(HKT_NEW(out, size));
    snprintf(*out, size, "%s%s%s", dir, slash, name);
    return HKT_OK;
}

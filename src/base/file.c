#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
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
    if (strcmp(path, "-") == 0) {
        if (f >= 0)
            close(f);
        return hkt_fail(HKT_EINPUT, "'-': expected a file, as it is not read in one go; found standard input");
    }
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

/* Twice the room, with what is in it. */
static hkt_status grow(char **data, size_t n, size_t *room)
{
    enum { FIRST = 1 << 16 };
    size_t more = *room > 0 ? 2 * *room : FIRST;
    char *p;
    HKT_TRY(hkt_alloc((void **)&p, more + 1, 1, "standard input"));
    if (n > 0)
        memcpy(p, *data, n);
    hkt_free(*data);
    *data = p;
    *room = more;
    return HKT_OK;
}

static hkt_status drain(char **data, size_t *size)
{
    size_t room = 0;
    for (ssize_t got = 1; got != 0;) {
        if (*size == room)
            HKT_TRY(grow(data, *size, &room));
        got = read(STDIN_FILENO, *data + *size, room - *size);
        if (got < 0 && errno != EINTR)
            return hkt_fail(HKT_EINPUT, "cannot read standard input: %s", strerror(errno));
        *size += got > 0 ? (size_t)got : 0;
    }
    return HKT_OK;
}

/* Kept as long as the program runs: some files are looked at before the work and read after it. */
static hkt_status read_standard_input(char **data, size_t *size)
{
    static char *kept;
    static size_t kept_size;
    hkt_status status = kept ? HKT_OK : drain(&kept, &kept_size);
    if (status == HKT_OK)
        status = hkt_alloc((void **)data, kept_size + 1, 1, "standard input");
    if (status != HKT_OK) {
        hkt_free(kept);
        kept = NULL;
        kept_size = 0;
        return status;
    }
    memcpy(*data, kept, kept_size);
    *size = kept_size;
    return HKT_OK;
}

hkt_status hkt_file_read(const char *path, char **data, size_t *size)
{
    int fd;
    void *p = NULL;
    *data = NULL;
    *size = 0;
    if (strcmp(path, "-") == 0)
        return read_standard_input(data, size);
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

size_t hkt_file_name_max(const char *dir)
{
    long n = pathconf(dir, _PC_NAME_MAX);
    return n > 0 ? (size_t)n : NAME_MAX;
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
    if (!parent_of(path, parent) || strlen(name_of(path)) > hkt_file_name_max(parent))
        errno = ENAMETOOLONG;
    else if (access(parent, W_OK | X_OK) == 0)
        return HKT_OK;
    return hkt_fail(HKT_ESYSTEM, "cannot create '%s': %s", path, strerror(errno));
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

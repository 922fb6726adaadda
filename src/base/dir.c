#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

static hkt_status lock(hkt_dir *d)
{
    d->lock = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->lock < 0)
        return hkt_fail(HKT_ESYSTEM, "%s: cannot open: %s", d->path, strerror(errno));
    if (flock(d->lock, LOCK_EX | LOCK_NB) == 0)
        return HKT_OK;
    int error = errno;
    close(d->lock);
    if (error == EWOULDBLOCK)
        return hkt_fail(HKT_EINPUT, "%s: another process is writing into this directory", d->path);
    return hkt_fail(HKT_ESYSTEM, "%s: cannot lock: %s", d->path, strerror(error));
}

hkt_status hkt_dir_open(hkt_dir *out, const char *path)
{
    *out = (hkt_dir){.path = NULL};
    HKT_TRY(hkt_strdup(&out->path, path));
    const bool existed = hkt_file_exists(path);
    hkt_status status = hkt_mkdir(path);
    if (status == HKT_OK)
        status = lock(out);
    if (status == HKT_OK) {
        out->made = !existed; /* only the owner of the lock may remove it */
        return HKT_OK;
    }
    hkt_free(out->path);
    out->path = NULL;
    return status;
}

void hkt_dir_close(hkt_dir *dir)
{
    if (!dir->path)
        return;
    if (dir->made)
        rmdir(dir->path); /* fails when there is anything in it */
    close(dir->lock);
    hkt_free(dir->path);
    *dir = (hkt_dir){.path = NULL};
}

#include "data/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/progress.h"

enum { BLOCK = 1 << 16 };

struct hkt_archive {
    char *path;
    struct archive *tar; /* an archive, or NULL */
    bool started;        /* an entry of it was read: it is one */
    FTS *folder;         /* a folder, or NULL */
    FILE *file;          /* the current file of a folder */
    const char *name;
    size_t files; /* seen */
};

/* --- archives ----------------------------------------------------------------------------------------------------- */

/* Without the path, which callers put before it. */
static hkt_status damaged(const hkt_archive *a)
{
    const char *text = archive_error_string(a->tar), *reason = text ? text : "no reason given";
    if (a->started)
        return hkt_fail(HKT_EINPUT, "the archive is damaged or cut short: %s", reason);
    return hkt_fail(HKT_EINPUT, "expected a .tar, .tar.gz or .tar.xz archive, found none: %s", reason);
}

/* Only formats that the library reads itself: others it hands to programs that it looks for. */
static hkt_status open_tar(hkt_archive *a)
{
    a->tar = archive_read_new();
    if (!a->tar)
        return hkt_fail(HKT_ESYSTEM, "out of memory for %s", a->path);
    if (archive_read_support_format_tar(a->tar) != ARCHIVE_OK ||
        archive_read_support_filter_gzip(a->tar) != ARCHIVE_OK || archive_read_support_filter_xz(a->tar) != ARCHIVE_OK)
        return hkt_fail(HKT_ESYSTEM, "libarchive cannot read tar, gzip and xz");
    if (archive_read_open_filename(a->tar, strcmp(a->path, "-") == 0 ? NULL : a->path, BLOCK) != ARCHIVE_OK)
        return hkt_fail_context(damaged(a), "%s", a->path);
    return HKT_OK;
}

/* A warning leaves the entry usable. A name that cannot be told is passed over: it is none that anybody asks for. */
static hkt_status next_in_tar(hkt_archive *a)
{
    struct archive_entry *entry;
    int status;
    while ((status = archive_read_next_header(a->tar, &entry)) == ARCHIVE_OK || status == ARCHIVE_WARN) {
        a->started = true;
        a->name = archive_entry_filetype(entry) == AE_IFREG ? archive_entry_pathname(entry) : NULL;
        if (a->name)
            return HKT_OK;
    }
    a->name = NULL;
    return status == ARCHIVE_EOF ? HKT_OK : hkt_fail_context(damaged(a), "%s", a->path);
}

static hkt_status read_in_tar(hkt_archive *a, char *data, size_t size, size_t *got)
{
    while (*got < size) {
        la_ssize_t n = archive_read_data(a->tar, data + *got, size - *got);
        if (n < 0)
            return damaged(a);
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return HKT_OK;
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static hkt_status open_folder(hkt_archive *a)
{
    char *roots[] = {a->path, NULL};
    a->folder = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
    return a->folder ? HKT_OK : hkt_fail(HKT_EINPUT, "cannot read '%s': %s", a->path, strerror(errno));
}

static hkt_status open_file(hkt_archive *a, const FTSENT *e)
{
    a->file = fopen(e->fts_path, "re");
    if (!a->file)
        return hkt_fail(HKT_EINPUT, "cannot open '%s': %s", e->fts_path, strerror(errno));
    a->name = e->fts_path + strlen(a->path);
    while (*a->name == '/')
        a->name++;
    return HKT_OK;
}

static void close_file(hkt_archive *a)
{
    if (a->file)
        fclose(a->file);
    a->file = NULL;
    a->name = NULL;
}

static hkt_status next_in_folder(hkt_archive *a)
{
    const FTSENT *e;
    close_file(a);
    while (errno = 0, e = fts_read(a->folder)) {
        if (e->fts_info == FTS_F)
            return open_file(a, e);
        if (e->fts_info == FTS_DC)
            return hkt_fail(HKT_EINPUT, "cannot read '%s': a folder that contains itself", e->fts_path);
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
            return hkt_fail(HKT_EINPUT, "cannot read '%s': %s", e->fts_path, strerror(e->fts_errno));
    }
    return errno == 0 ? HKT_OK : hkt_fail(HKT_EINPUT, "cannot read '%s': %s", a->path, strerror(errno));
}

static hkt_status read_in_folder(hkt_archive *a, char *data, size_t size, size_t *got)
{
    errno = 0;
    *got = fread(data, 1, size, a->file);
    if (!ferror(a->file))
        return HKT_OK;
    return hkt_fail(HKT_EINPUT, "cannot read: %s", strerror(errno ? errno : EIO));
}

/* --- both --------------------------------------------------------------------------------------------------------- */

hkt_status hkt_archive_open(hkt_archive **out, const char *path)
{
    struct stat st;
    hkt_archive *a = NULL;
    *out = NULL;
    const bool stream = strcmp(path, "-") == 0;
    if (!stream && stat(path, &st) != 0)
        return hkt_fail(HKT_EINPUT, "cannot open '%s': %s", path, strerror(errno));
    HKT_TRY(HKT_NEW(&a, 1));
    hkt_status status = hkt_strdup(&a->path, path);
    if (status == HKT_OK)
        status = !stream && S_ISDIR(st.st_mode) ? open_folder(a) : open_tar(a);
    if (status == HKT_OK)
        *out = a;
    else
        hkt_archive_close(a);
    return status;
}

hkt_status hkt_archive_next(hkt_archive *a, const char **name)
{
    hkt_status status = a->tar ? next_in_tar(a) : next_in_folder(a);
    *name = status == HKT_OK ? a->name : NULL;
    if (*name)
        hkt_progress(false, "%s: file %zu", a->path, ++a->files);
    return status;
}

hkt_status hkt_archive_read(hkt_archive *a, void *data, size_t size, size_t *got)
{
    HKT_ASSERT(a->name);
    *got = 0;
    return a->tar ? read_in_tar(a, data, size, got) : read_in_folder(a, data, size, got);
}

void hkt_archive_close(hkt_archive *a)
{
    if (!a)
        return;
    hkt_progress_clear();
    close_file(a);
    if (a->folder)
        fts_close(a->folder);
    if (a->tar)
        archive_read_free(a->tar);
    hkt_free(a->path);
    hkt_free(a);
}

const char *hkt_archive_tail(const char *name, size_t n)
{
    const char *at = name + strlen(name);
    while (at > name && (at[-1] != '/' || --n > 0))
        at--;
    return at;
}

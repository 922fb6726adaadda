/* tarball.h - published data sets in miniature for tests: the same files as a folder or as an archive. */
#ifndef HKT_TESTS_TARBALL_H
#define HKT_TESTS_TARBALL_H

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/scratch.h"

enum { TARBALL_MAX = 1024 };

typedef struct {
    char name[64];
    unsigned char *bytes;
    size_t n;
} tarball_file;

typedef struct {
    tarball_file file[TARBALL_MAX];
    size_t n;
} tarball;

/* Adds a file at the end; its bytes may be changed through the result. */
static inline tarball_file *tarball_add(tarball *t, const char *name, const void *bytes, size_t n)
{
    assert_true(t->n < TARBALL_MAX);
    tarball_file *f = &t->file[t->n++];
    snprintf(f->name, sizeof f->name, "%s", name);
    f->bytes = malloc(n + 1);
    assert_non_null(f->bytes);
    if (n > 0)
        memcpy(f->bytes, bytes, n);
    f->n = n;
    return f;
}

static inline tarball_file *tarball_find(tarball *t, const char *name)
{
    size_t i = 0;
    while (i < t->n && strcmp(t->file[i].name, name) != 0)
        i++;
    assert_true(i < t->n);
    return &t->file[i];
}

static inline void tarball_remove(tarball *t, tarball_file *f)
{
    free(f->bytes);
    *f = t->file[--t->n];
}

static inline void tarball_free(tarball *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->file[i].bytes);
    t->n = 0;
}

/* filter: 0 none, 'z' gzip, 'J' xz. backwards: the last file first. prefix: before every name. */
static inline void tarball_pack(const tarball *t, const char *path, int filter, bool backwards, const char *prefix)
{
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    assert_true(a && e);
    archive_write_set_format_pax_restricted(a);
    if (filter == 'z')
        archive_write_add_filter_gzip(a);
    if (filter == 'J')
        archive_write_add_filter_xz(a);
    archive_write_set_bytes_in_last_block(a, 1);
    assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
    for (size_t i = 0; i < t->n; i++) {
        const tarball_file *f = &t->file[backwards ? t->n - 1 - i : i];
        char name[128];
        snprintf(name, sizeof name, "%s%s", prefix, f->name);
        archive_entry_clear(e);
        archive_entry_set_pathname(e, name);
        archive_entry_set_size(e, (la_int64_t)f->n);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, f->bytes, f->n), f->n);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_entry_free(e);
    archive_write_free(a);
}

/* The same files below a folder. */
static inline void tarball_unpack(const tarball *t, const char *folder)
{
    for (size_t i = 0; i < t->n; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, t->file[i].name);
        char *slash = strrchr(path, '/');
        *slash = 0;
        CHECK_OK(hkt_mkdir(path));
        *slash = '/';
        scratch_write(path, t->file[i].bytes, t->file[i].n);
    }
}

static inline void tarball_check_same_file(const char *a, const char *b)
{
    size_t na, nb;
    char *x = scratch_read(a, &na), *y = scratch_read(b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(x, y, na);
    free(x);
    free(y);
}

/* The three files that an import writes. */
static inline void tarball_check_same_splits(const char *a, const char *b)
{
    static const char *const name[] = {"train", "val", "test"};
    for (size_t i = 0; i < 3; i++) {
        char x[128], y[128];
        snprintf(x, sizeof x, "%s/%s.safetensors", a, name[i]);
        snprintf(y, sizeof y, "%s/%s.safetensors", b, name[i]);
        tarball_check_same_file(x, y);
    }
}

/* The first `n` bytes of a file as another. */
static inline void tarball_cut(const char *from, const char *to, size_t n)
{
    size_t size;
    char *bytes = scratch_read(from, &size);
    assert_true(n <= size);
    scratch_write(to, bytes, n);
    free(bytes);
}

static inline size_t tarball_size(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (size_t)st.st_size;
}

/* A refused import leaves neither a split nor a temporary file, nor memory. */
static inline void tarball_check_nothing(const char *dir)
{
    assert_true(access(dir, F_OK) != 0 || scratch_count(dir) == 0);
}

#endif

/* scratch.h - a directory of its own for a test program that writes files: removed on success, kept after a failure. */
#ifndef HKT_TESTS_SCRATCH_H
#define HKT_TESTS_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

static char scratch_dir[4096];

/* Creates a directory and makes it the current one. */
static inline void scratch_enter(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(scratch_dir, sizeof scratch_dir, "%s/hkt-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(scratch_dir) || chdir(scratch_dir) != 0) {
        perror(scratch_dir);
        exit(99);
    }
}

static inline int scratch_remove(const char *path, const struct stat *st, int type, struct FTW *level)
{
    (void)st, (void)type, (void)level;
    return remove(path);
}

/* Returns `failures` for main. */
static inline int scratch_leave(int failures)
{
    if (chdir("/") == 0 && failures == 0)
        nftw(scratch_dir, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
    return failures;
}

static inline void scratch_write(const char *name, const void *bytes, size_t n)
{
    unlink(name); /* ext4 writes a truncated and refilled file to the disk at once, a new one later */
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void scratch_write_text(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

/* The whole file; free() it. Adds a final 0. */
static inline char *scratch_read(const char *name, size_t *n)
{
    FILE *f = fopen(name, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = calloc(*n + 1, 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

/* Files in the directory: outputs that failed must leave none. */
static inline size_t scratch_count(const char *dir)
{
    size_t n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

/* Sends descriptor `fd` (1 or 2) to a file; scratch_restore undoes it. Returns the saved descriptor. */
static inline int scratch_redirect(int fd, const char *path)
{
    fflush(NULL);
    int saved = dup(fd), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(saved >= 0 && to >= 0 && dup2(to, fd) == fd);
    close(to);
    return saved;
}

static inline void scratch_restore(int fd, int saved)
{
    fflush(NULL);
    clearerr(fd == 1 ? stdout : stderr);
    dup2(saved, fd);
    close(saved);
}

#endif

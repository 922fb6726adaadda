#include "data/check.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/safetensors.h"
#include "base/tsv.h"

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static hkt_status check_tensors(const char *path, bool *sealed)
{
    hkt_safetensors *file;
    HKT_TRY(hkt_safetensors_read(&file, path));
    *sealed = hkt_safetensors_has_checksum(file);
    hkt_status status = hkt_safetensors_verify(file);
    hkt_safetensors_free(file);
    return status;
}

/* The first n bytes of `path` name the table. */
static hkt_status check_table(const char *path, size_t n)
{
    char *table_path;
    hkt_table t;
    HKT_TRY(hkt_strdup(&table_path, path));
    table_path[n] = 0;
    hkt_status status = hkt_table_read(&t, table_path);
    hkt_table_free(&t);
    hkt_free(table_path);
    return status;
}

typedef struct {
    FILE *f;
    size_t files, damaged;
} tally;

static hkt_status check_file(tally *t, const char *path)
{
    bool sealed = true;
    hkt_status status;
    size_t n = strlen(path);
    if (ends_with(path, ".safetensors"))
        status = check_tensors(path, &sealed);
    else if (ends_with(path, ".tsv.json")) /* of a result table; data sets have none */
        status = check_table(path, n -= strlen(".json"));
    else
        return HKT_OK;
    if (status != HKT_OK && status != HKT_EINPUT)
        return status;
    t->files++;
    t->damaged += status != HKT_OK;
    if (status == HKT_OK)
        fprintf(t->f, "%.*s\t%s\n", (int)n, path, sealed ? "whole" : "no checksum");
    else
        fprintf(t->f, "%.*s\tdamaged: %s\n", (int)n, path, hkt_error());
    return HKT_OK;
}

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static hkt_status walk(tally *t, FTS *tree, const char *dir)
{
    const FTSENT *e;
    while (errno = 0, e = fts_read(tree)) {
        if (e->fts_info == FTS_F)
            HKT_TRY(check_file(t, e->fts_path));
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
            return hkt_fail(HKT_EINPUT, "cannot read '%s': %s", e->fts_path, strerror(e->fts_errno));
    }
    if (errno != 0)
        return hkt_fail(HKT_EINPUT, "cannot read '%s': %s", dir, strerror(errno));
    if (t->files == 0)
        return hkt_fail(HKT_EINPUT, "%s: expected safetensors files or tables of results, found none", dir);
    if (t->damaged > 0)
        return hkt_fail(HKT_EINPUT, "%s: expected whole files, found %zu of %zu damaged", dir, t->damaged, t->files);
    return HKT_OK;
}

hkt_status hkt_check_directory(FILE *f, const char *dir)
{
    char *path;
    tally t = {.f = f};
    HKT_TRY(hkt_strdup(&path, dir));
    char *roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_names);
    hkt_status status = tree ? walk(&t, tree, dir) : hkt_fail(HKT_EINPUT, "cannot read '%s': %s", dir, strerror(errno));
    if (tree)
        fts_close(tree);
    hkt_free(path);
    return status;
}

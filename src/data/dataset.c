/* dataset.c - the table of tasks, and what is common to all data sets. */
#include "data/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "data/cifar10.h"
#include "data/imdb.h"
#include "data/lines.h"
#include "data/listops.h"
#include "data/splits.h"
#include "data/text.h"

void hkt_dataset_free(hkt_dataset *d)
{
    hkt_free(d->offset);
    hkt_free(d->tokens);
    hkt_free(d->labels);
    hkt_free(d->owned_names);
    hkt_free(d->stream.source);
    *d = (hkt_dataset){0};
}

/* DIR/SPLIT.tsv, or DIR/basic_SPLIT.tsv, the name that LRA gives it. */
static hkt_status listops_path(char **path, const char *dir, hkt_split split)
{
    static const char *const prefix[] = {"", "basic_"};
    char name[32];
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s.tsv", prefix[i], hkt_split_names[split]);
        HKT_TRY(hkt_path_join(path, dir, name));
        if (hkt_file_exists(*path))
            return HKT_OK;
        hkt_free(*path);
        *path = NULL;
    }
    return hkt_fail(HKT_EINPUT, "%s: expected the file '%s.tsv' or 'basic_%s.tsv', found neither", dir,
                    hkt_split_names[split], hkt_split_names[split]);
}

static hkt_status listops_read(hkt_dataset *out, const char *dir, hkt_split split, size_t max_len)
{
    char *path;
    HKT_TRY(listops_path(&path, dir, split));
    hkt_status status = hkt_listops_read(out, path, max_len);
    if (status == HKT_OK && out->stream.draw && split != HKT_TRAIN) {
        hkt_dataset_free(out);
        status = hkt_fail(HKT_EINPUT, "%s:1: expected rows, found a stream, which only a training split can be", path);
    }
    hkt_free(path);
    return status;
}

static hkt_status cifar10_read(hkt_dataset *out, const char *dir, hkt_split split, size_t max_len)
{
    return hkt_packed_read(out, &hkt_cifar10_format, dir, split, max_len);
}

static hkt_status imdb_read(hkt_dataset *out, const char *dir, hkt_split split, size_t max_len)
{
    return hkt_packed_read(out, &hkt_imdb_format, dir, split, max_len);
}

typedef struct {
    const char *name;
    hkt_status (*read)(hkt_dataset *out, const char *dir, hkt_split split, size_t max_len);
} task;

/* A new task is one line here, its reader, and its name in HKT_TASKS. */
static const task tasks[] = {
    {"listops", listops_read}, {"cifar10", cifar10_read}, {"imdb", imdb_read}, {"text", hkt_text_read}};

static hkt_status find_task(const task **out, const char *name)
{
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(tasks[i].name, name) == 0) {
            *out = &tasks[i];
            return HKT_OK;
        }
    return hkt_fail(HKT_EUSAGE, "task: expected %s, found '%s'", HKT_TASKS, name);
}

/* --- what the data are --- */

/* The first line of a file; cut to what the headers of tables have, empty when there is none. */
static hkt_status first_line(const char *path, char *line, size_t room)
{
    int fd;
    size_t size;
    HKT_TRY(hkt_file_open(path, &fd, &size));
    size = size < room - 1 ? size : room - 1;
    hkt_status status = hkt_file_read_at(fd, path, 0, line, size);
    close(fd);
    line[status == HKT_OK ? size : 0] = 0;
    hkt_span text = {line, line + strlen(line)}, first = text;
    hkt_span_skip_bom(&text);
    (void)hkt_span_line(&text, &first);
    const size_t n = hkt_span_size(first);
    memmove(line, first.at, n);
    line[n] = 0;
    return status;
}

/* Metadata of a safetensors file of a data set. */
static hkt_status task_of_packed(const char **name, const char *path)
{
    hkt_safetensors *file;
    const task *t = NULL;
    HKT_TRY(hkt_safetensors_read(&file, path));
    const char *said = hkt_safetensors_meta(file, "hkt.task");
    hkt_status status = HKT_OK;
    if (!said)
        status = hkt_fail(HKT_EINPUT, "%s: metadata 'hkt.task': expected %s, found none", path, HKT_TASKS);
    else if (find_task(&t, said) != HKT_OK)
        status = hkt_fail(HKT_EINPUT, "%s: metadata 'hkt.task': expected %s, found '%.40s'", path, HKT_TASKS, said);
    else
        *name = t->name;
    hkt_safetensors_free(file);
    return status;
}

/* A table of listops has a header, one of own texts none. */
static hkt_status task_of_table(const char **name, const char *path)
{
    char line[64];
    HKT_TRY(first_line(path, line, sizeof line));
    if (*line && strcmp(line, "Source\tTarget") != 0 && strcmp(line, HKT_LISTOPS_STREAM_HEADER) != 0)
        *name = "text";
    return HKT_OK;
}

/* By the file of the split, or the one of own texts; listops, whose reader says what it misses, when there is none. */
static hkt_status recognise(const char **name, const char *dir, hkt_split split)
{
    static const char *const extension[] = {"safetensors", "tsv"};
    hkt_status status = HKT_OK;
    bool found = hkt_file_exists(dir) && !hkt_file_is_directory(dir);
    *name = "listops";
    if (found)
        return task_of_table(name, dir);
    for (size_t i = 0; i < 2 && status == HKT_OK && !found; i++) {
        char file[32], *path;
        snprintf(file, sizeof file, "%s.%s", hkt_split_names[split], extension[i]);
        HKT_TRY(hkt_path_join(&path, dir, file));
        found = hkt_file_exists(path);
        if (found)
            status = i == 0 ? task_of_packed(name, path) : task_of_table(name, path);
        hkt_free(path);
    }
    return status;
}

/* The text task alone may be one file. */
static hkt_status check_place(const task *t, const char *dir)
{
    const bool file = t->read == hkt_text_read;
    if (hkt_file_is_directory(dir) || (file && hkt_file_exists(dir)))
        return HKT_OK;
    return hkt_fail(HKT_EINPUT, "%s: expected a directory%s of task '%s', found %s", dir, file ? " or file" : "",
                    t->name, hkt_file_exists(dir) ? "a file" : "nothing");
}

hkt_status hkt_dataset_read(hkt_dataset *out, const char *task_name, const char *dir, const char *split_name,
                            size_t max_len)
{
    const task *t = NULL;
    hkt_split split = HKT_TRAIN;
    *out = (hkt_dataset){0};
    HKT_TRY(hkt_split_parse(&split, split_name));
    if (!task_name)
        HKT_TRY(recognise(&task_name, dir, split));
    HKT_TRY(find_task(&t, task_name));
    HKT_TRY(check_place(t, dir));
    return t->read(out, dir, split, max_len);
}

hkt_status hkt_dataset_renew(hkt_dataset *d, size_t epoch)
{
    return d->stream.draw ? d->stream.draw(d, epoch) : HKT_OK;
}

static uint64_t fnv1a(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ b[i]) * 0x100000001b3u;
    return hash;
}

uint64_t hkt_dataset_checksum(const hkt_dataset *d, uint64_t hash)
{
    if (hash == 0)
        hash = 0xcbf29ce484222325u; /* offset basis of the 64-bit FNV */
    for (size_t i = 0; i <= d->n; i++) {
        uint64_t offset = d->offset[i];
        hash = fnv1a(hash, &offset, sizeof offset);
    }
    hash = fnv1a(hash, d->tokens, d->offset[d->n] * sizeof *d->tokens);
    return fnv1a(hash, d->labels, d->n * sizeof *d->labels);
}

double hkt_dataset_majority(const hkt_dataset *d)
{
    size_t most = 0;
    for (size_t c = 0; c < d->classes; c++) {
        size_t count = 0;
        for (size_t i = 0; i < d->n; i++)
            count += (size_t)d->labels[i] == c;
        most = count > most ? count : most;
    }
    return (double)most / (double)d->n;
}

uint64_t hkt_dataset_hash(const int32_t *tokens, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint32_t)tokens[i]) * 0x100000001b3u;
    return h ^ h >> 32; /* low bits alone must do as a table index */
}

typedef struct {
    uint64_t hash;
    const int32_t *tokens;
    size_t n, set;
} row;

/* Total order on content; the hash decides nearly always. */
static int compare_content(const row *a, const row *b)
{
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return memcmp(a->tokens, b->tokens, a->n * sizeof *a->tokens);
}

static int compare_rows(const void *a, const void *b)
{
    return compare_content(a, b);
}

/* rows[0..n-1] have the same content. count: [n_sets] workspace. */
static void add_group(const row *rows, size_t n, size_t n_sets, size_t *count, size_t *overlap)
{
    memset(count, 0, n_sets * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[rows[i].set]++;
    for (size_t a = 0; a < n_sets; a++)
        for (size_t b = 0; b < n_sets; b++)
            if (count[a] > 0)
                overlap[a * n_sets + b] += a == b ? count[a] - 1 : count[b];
}

static void count_overlap(row *rows, size_t n, size_t n_sets, size_t *count, size_t *overlap)
{
    qsort(rows, n, sizeof *rows, compare_rows);
    memset(overlap, 0, n_sets * n_sets * sizeof *overlap);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && compare_content(&rows[first], &rows[end]) == 0; end++)
            continue;
        add_group(rows + first, end - first, n_sets, count, overlap);
    }
}

hkt_status hkt_dataset_overlap(const hkt_dataset *sets, size_t n_sets, size_t *overlap)
{
    size_t total = 0, at = 0;
    row *rows;
    size_t *count;
    for (size_t s = 0; s < n_sets; s++)
        total += sets[s].n;
    HKT_TRY(HKT_NEW(&rows, total));
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&count, n_sets));
    for (size_t s = 0; s < n_sets; s++)
        for (size_t i = 0; i < sets[s].n; i++) {
            const int32_t *tokens = sets[s].tokens + sets[s].offset[i];
            size_t n = sets[s].offset[i + 1] - sets[s].offset[i];
            rows[at++] = (row){hkt_dataset_hash(tokens, n), tokens, n, s};
        }
    count_overlap(rows, total, n_sets, count, overlap);
    hkt_free(count);
done:
    hkt_free(rows);
    return status;
}

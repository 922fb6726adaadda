#include "base/tsv.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

hkt_status hkt_tsv_info_path(char **out, const char *path)
{
    const size_t n = strlen(path), size = n + sizeof ".json";
    HKT_TRY(hkt_alloc((void **)out, 1, size, NULL));
    snprintf(*out, size, "%s.json", path);
    return HKT_OK;
}

static size_t count_char(const char *s, char c)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == c;
    return n;
}

typedef struct {
    const char *path;
    char *next;  /* NULL at the end */
    size_t line; /* number of the line returned last */
} reader;

/* The next line, cut at its end in place; NULL at the end of the text. */
static char *next_line(reader *r)
{
    char *line = r->next;
    if (!line || *line == 0)
        return NULL;
    char *end = strchr(line, '\n');
    r->next = end ? end + 1 : NULL;
    if (end)
        *end = 0;
    r->line++;
    return line;
}

/* Splits `line` at tabs into exactly n cells. */
static hkt_status split(const reader *r, char *line, char **cell, size_t n)
{
    size_t found = count_char(line, '\t') + 1;
    if (found != n)
        return hkt_fail(HKT_EINPUT, "%s:%zu: expected %zu cells, found %zu", r->path, r->line, n, found);
    for (size_t i = 0; i < n; i++) {
        cell[i] = line;
        char *tab = strchr(line, '\t');
        if (tab) {
            *tab = 0;
            line = tab + 1;
        }
    }
    return HKT_OK;
}

static hkt_status read_header(hkt_table *t, reader *r)
{
    char *line;
    do
        line = next_line(r);
    while (line && *line == '#');
    if (!line)
        return hkt_fail(HKT_EINPUT, "%s: expected a line of column names, found none", r->path);
    t->cols = count_char(line, '\t') + 1;
    HKT_TRY(HKT_NEW(&t->column, t->cols));
    HKT_TRY(split(r, line, t->column, t->cols));
    for (size_t i = 0; i < t->cols; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(t->column[i], t->column[k]) == 0)
                return hkt_fail(HKT_EINPUT, "%s:%zu: expected different column names, found '%s' twice", r->path,
                                r->line, t->column[i]);
    return HKT_OK;
}

/* `most`: no fewer than the rows there are. `old`: the table of an earlier version. */
static hkt_status read_rows(hkt_table *t, reader *r, size_t most, bool old)
{
    char *line;
    size_t cells;
    if (!hkt_mul_size(most, t->cols, &cells))
        return hkt_fail(HKT_EINPUT, "%s: expected a table that fits into memory, found %zu lines of %zu cells", r->path,
                        most, t->cols);
    HKT_TRY(HKT_NEW(&t->cell, cells));
    const char *last = "nothing";
    while ((line = next_line(r))) {
        last = line;
        if (*line != '#')
            HKT_TRY(split(r, line, t->cell + t->rows++ * t->cols, t->cols));
    }
    if (old && strcmp(last, "# ok") != 0)
        return hkt_fail(HKT_EINPUT, "%s: incomplete table: expected '# ok' as the last line, found '%.40s'", r->path,
                        last);
    return HKT_OK;
}

/* The sum in F.json; NULL in *info: there is none. */
static hkt_status read_info(const char *info_path, json_t **info, const char **sum)
{
    const char *format;
    *info = NULL;
    if (strcmp(info_path, "-.json") == 0 || !hkt_file_exists(info_path)) /* standard input has none */
        return HKT_OK;
    HKT_TRY(hkt_json_read(info, info_path));
    HKT_TRY(hkt_json_get_string(*info, "format", info_path, &format));
    if (strcmp(format, HKT_TSV_INFO) != 0)
        return hkt_fail(HKT_EINPUT, "%s: key 'format': expected '" HKT_TSV_INFO "', found '%.40s'", info_path, format);
    return hkt_json_get_string(*info, HKT_TSV_CHECKSUM, info_path, sum);
}

/* Against F.json, where that is. */
static hkt_status check_checksum(const char *text, size_t size, const char *path)
{
    char *info_path;
    json_t *info;
    const char *sum = "";
    uint64_t expected, found = hkt_checksum_of(text, size);
    HKT_TRY(hkt_tsv_info_path(&info_path, path));
    hkt_status status = read_info(info_path, &info, &sum);
    if (status == HKT_OK && info && (!hkt_checksum_parse(sum, &expected) || found != expected))
        status = hkt_fail(HKT_EINPUT,
                          "%s: expected checksum %.*s, found %016" PRIx64
                          ": the table is damaged, or was changed and kept %s",
                          path, HKT_CHECKSUM_DIGITS, sum, found, info_path);
    json_decref(info);
    hkt_free(info_path);
    return status;
}

json_t *hkt_table_info(const char *path)
{
    char *info_path;
    json_t *info = NULL;
    if (hkt_tsv_info_path(&info_path, path) != HKT_OK)
        return NULL;
    if (hkt_file_exists(info_path))
        (void)hkt_json_read(&info, info_path);
    hkt_free(info_path);
    return info;
}

static hkt_status parse(hkt_table *t, const char *path, size_t size)
{
    reader r = {path, t->text, 0};
    const bool old = *t->text == '#';
    if (memchr(t->text, 0, size))
        return hkt_fail(HKT_EINPUT, "%s: expected text, found a zero byte", path);
    HKT_TRY(check_checksum(t->text, size, path));
    if (size > 0 && t->text[size - 1] != '\n') {
        const char *end = strrchr(t->text, '\n');
        return hkt_fail(HKT_EINPUT, "%s: incomplete table: expected a line end at the end of the file, found '%.40s'",
                        path, end ? end + 1 : t->text);
    }
    size_t most = count_char(t->text, '\n');
    HKT_TRY(read_header(t, &r));
    return read_rows(t, &r, most, old);
}

hkt_status hkt_table_read(hkt_table *out, const char *path)
{
    size_t size;
    *out = (hkt_table){0};
    HKT_TRY(hkt_file_read(path, &out->text, &size));
    hkt_status status = parse(out, path, size);
    if (status != HKT_OK)
        hkt_table_free(out);
    return status;
}

void hkt_table_free(hkt_table *t)
{
    hkt_free(t->column);
    hkt_free(t->cell);
    hkt_free(t->text);
    *t = (hkt_table){0};
}

hkt_status hkt_table_column(const hkt_table *t, const char *name, size_t *index)
{
    for (size_t i = 0; i < t->cols; i++)
        if (strcmp(t->column[i], name) == 0) {
            *index = i;
            return HKT_OK;
        }
    return hkt_fail(HKT_EINPUT, "expected a column '%s', found none", name);
}

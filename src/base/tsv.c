#include "base/tsv.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

static size_t count_char(const char *s, char c)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == c;
    return n;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

struct hkt_tsv {
    hkt_out *out;
    FILE *f;
    size_t cols, cell; /* cells of a row; cells written of the present one */
};

hkt_status hkt_tsv_open(hkt_tsv **out, const char *path, const hkt_provenance *how, const char *columns)
{
    hkt_tsv *t = NULL;
    *out = NULL;
    HKT_TRY(HKT_NEW(&t, 1));
    hkt_status status = hkt_out_open(&t->out, path);
    if (status != HKT_OK) {
        hkt_free(t);
        return status;
    }
    t->f = hkt_out_stream(t->out);
    t->cols = count_char(columns, '\t') + 1;
    hkt_provenance_print(how, t->f);
    fprintf(t->f, "%s\n", columns);
    *out = t;
    return HKT_OK;
}

static void next_cell(hkt_tsv *t)
{
    HKT_ASSERT(t->cell < t->cols);
    if (t->cell++ > 0)
        putc('\t', t->f);
}

void hkt_tsv_str(hkt_tsv *t, const char *s)
{
    bool first = t->cell == 0;
    next_cell(t);
    /* Nothing in a cell may look like the end of it or like a comment. */
    for (const char *p = s; *p; p++)
        putc((unsigned char)*p < 0x20 || (first && p == s && *p == '#') ? '?' : *p, t->f);
}

void hkt_tsv_size(hkt_tsv *t, size_t v)
{
    next_cell(t);
    fprintf(t->f, "%zu", v);
}

void hkt_tsv_real(hkt_tsv *t, double v)
{
    next_cell(t);
    if (isnan(v))
        fputs("nan", t->f); /* printf would keep the sign */
    else
        fprintf(t->f, "%.17g", v);
}

void hkt_tsv_end(hkt_tsv *t)
{
    HKT_ASSERT(t->cell == t->cols);
    putc('\n', t->f);
    t->cell = 0;
}

hkt_status hkt_tsv_commit(hkt_tsv *t)
{
    HKT_ASSERT(t->cell == 0);
    fputs("# ok\n", t->f);
    hkt_status status = hkt_out_commit(t->out);
    hkt_free(t);
    return status;
}

void hkt_tsv_abort(hkt_tsv *t)
{
    if (t)
        hkt_out_abort(t->out);
    hkt_free(t);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

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
    return split(r, line, t->column, t->cols);
}

/* Rows up to `# ok`. `most`: no fewer than the rows there are. */
static hkt_status read_rows(hkt_table *t, reader *r, size_t most)
{
    char *line;
    size_t cells;
    if (!hkt_mul_size(most, t->cols, &cells))
        return hkt_fail(HKT_EINPUT, "%s: too many cells", r->path);
    HKT_TRY(HKT_NEW(&t->cell, cells));
    while ((line = next_line(r))) {
        if (strcmp(line, "# ok") == 0)
            break;
        if (*line != '#')
            HKT_TRY(split(r, line, t->cell + t->rows++ * t->cols, t->cols));
    }
    if (!line)
        return hkt_fail(HKT_EINPUT, "%s: incomplete table: expected '# ok' as the last line", r->path);
    if (next_line(r))
        return hkt_fail(HKT_EINPUT, "%s:%zu: expected nothing after '# ok'", r->path, r->line);
    return HKT_OK;
}

static hkt_status parse(hkt_table *t, const char *path, size_t size)
{
    reader r = {path, t->text, 0};
    if (memchr(t->text, 0, size))
        return hkt_fail(HKT_EINPUT, "%s: expected text, found a zero byte", path);
    size_t most = count_char(t->text, '\n') + 1;
    HKT_TRY(read_header(t, &r));
    return read_rows(t, &r, most);
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

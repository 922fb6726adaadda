#include "base/tsv.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"

#define CHECKSUM_LINE "# xxh3: "

static size_t count_char(const char *s, char c)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == c;
    return n;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* A row is gathered cell by cell and written, or left out, as a whole. */
typedef struct {
    bool text; /* false: a number */
    size_t at; /* of its text in hkt_tsv.row */
} row_cell;

struct hkt_tsv {
    hkt_out *out;
    FILE *f;     /* what is to be written next, in memory: `piece` */
    char *piece; /* [piece_size] */
    size_t piece_size;
    hkt_checksum sum;          /* of what was written */
    const hkt_provenance *how; /* borrowed */
    bool headed;               /* the head is written: with the first row, so that a failure before leaves nothing */
    hkt_tsv_form form;
    size_t cols, n; /* cells of a row without `first`; cells so far of the present one */
    char *columns;  /* names, each ended by a zero byte */
    row_cell *cell; /* [cols] */
    char *row;      /* [size] texts, each ended by a zero byte; `used` of them */
    size_t used, size;
    const char *first;
    size_t rows;       /* written */
    hkt_status status; /* first failure, reported by hkt_tsv_commit */
};

static void free_tsv(hkt_tsv *t)
{
    if (t->f)
        fclose(t->f);
    free(t->piece); /* the stream's */
    hkt_free(t->columns);
    hkt_free(t->cell);
    hkt_free(t->row);
    hkt_free(t);
}

/* Sends what is in memory on its way, through the checksum. Errors of the disk stay in the stream until the commit. */
static void send(hkt_tsv *t)
{
    if (fflush(t->f) != 0) {
        t->status = hkt_fail(HKT_ESYSTEM, "out of memory for a row of a table");
        return;
    }
    hkt_checksum_add(&t->sum, t->piece, t->piece_size);
    fwrite(t->piece, 1, t->piece_size, hkt_out_stream(t->out));
    rewind(t->f);
}

static void write_json_head(hkt_tsv *t)
{
    json_t *provenance = hkt_provenance_json(t->how);
    fputs("{\"format\": \"hkt-table/1\",\n\"provenance\": ", t->f);
    if (!provenance || json_dumpf(provenance, t->f, JSON_INDENT(2)) != 0)
        t->status = hkt_fail(HKT_ESYSTEM, "cannot write the provenance as JSON");
    json_decref(provenance);
    fputs(",\n\"rows\": [", t->f);
}

static void write_tsv_head(hkt_tsv *t)
{
    hkt_provenance_print(t->how, t->f);
    if (t->form.first)
        fprintf(t->f, "%s\t", t->form.first);
    const char *column = t->columns;
    for (size_t i = 0; i < t->cols; i++, column += strlen(column) + 1)
        fprintf(t->f, "%s%c", column, i + 1 < t->cols ? '\t' : '\n');
}

static void write_head(hkt_tsv *t)
{
    if (t->headed)
        return;
    t->headed = true;
    if (t->form.json)
        write_json_head(t);
    else
        write_tsv_head(t);
}

static hkt_status prepare(hkt_tsv *t, const char *path, const char *columns)
{
    t->cols = count_char(columns, '\t') + 1;
    HKT_TRY(hkt_strdup(&t->columns, columns));
    for (char *tab = t->columns; (tab = strchr(tab, '\t')); tab++)
        *tab = 0;
    HKT_TRY(HKT_NEW(&t->cell, t->cols));
    hkt_checksum_start(&t->sum);
    t->f = open_memstream(&t->piece, &t->piece_size);
    if (!t->f)
        return hkt_fail(HKT_ESYSTEM, "out of memory for a table");
    return hkt_out_open(&t->out, path);
}

hkt_status hkt_tsv_open_as(hkt_tsv **out, const char *path, const hkt_provenance *how, const char *columns,
                           const hkt_tsv_form *form)
{
    hkt_tsv *t = NULL;
    *out = NULL;
    HKT_TRY(HKT_NEW(&t, 1));
    t->how = how;
    t->form = *form;
    t->first = "";
    hkt_status status = prepare(t, path, columns);
    if (status == HKT_OK) {
        *out = t;
        return HKT_OK;
    }
    hkt_out_abort(t->out);
    free_tsv(t);
    return status;
}

hkt_status hkt_tsv_open(hkt_tsv **out, const char *path, const hkt_provenance *how, const char *columns)
{
    return hkt_tsv_open_as(out, path, how, columns, &(hkt_tsv_form){.json = false});
}

void hkt_tsv_first(hkt_tsv *t, const char *text)
{
    t->first = text;
}

size_t hkt_tsv_rows(const hkt_tsv *t)
{
    return t->rows;
}

/* Room for a cell of n characters and its zero byte; NULL when there is no memory. */
static char *next_cell(hkt_tsv *t, bool text, size_t n)
{
    HKT_ASSERT(t->n < t->cols);
    if (t->used + n + 1 > t->size) {
        char *row;
        size_t size = 2 * (t->used + n + 1) + 256;
        if (HKT_NEW(&row, size) != HKT_OK) {
            t->status = HKT_ESYSTEM;
            t->n++;
            return NULL;
        }
        if (t->used > 0)
            memcpy(row, t->row, t->used);
        hkt_free(t->row);
        t->row = row;
        t->size = size;
    }
    t->cell[t->n++] = (row_cell){text, t->used};
    char *p = t->row + t->used;
    t->used += n + 1;
    p[n] = 0;
    return p;
}

void hkt_tsv_str(hkt_tsv *t, const char *s)
{
    bool first = t->n == 0 && !t->form.first;
    char *p = next_cell(t, true, strlen(s));
    /* Nothing in a cell may look like the end of it or like a comment. */
    for (size_t i = 0; p && s[i]; i++)
        p[i] = (unsigned char)s[i] < 0x20 || (first && i == 0 && s[i] == '#') ? '?' : s[i];
}

static void put_number(hkt_tsv *t, const char *text)
{
    char *p = next_cell(t, false, strlen(text));
    if (p)
        memcpy(p, text, strlen(text));
}

void hkt_tsv_size(hkt_tsv *t, size_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", v);
    put_number(t, text);
}

void hkt_tsv_real(hkt_tsv *t, double v)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", v);
    put_number(t, isnan(v) ? "nan" : text); /* printf would keep the sign */
}

static bool is_kept(const hkt_tsv *t)
{
    const char *column = t->columns;
    for (size_t i = 0; i < t->cols; i++, column += strlen(column) + 1)
        for (size_t k = 0; k < HKT_TSV_KEEP; k++)
            if (t->form.keep_text[k] && strcmp(column, t->form.keep_column[k]) == 0 &&
                strcmp(t->row + t->cell[i].at, t->form.keep_text[k]) != 0)
                return false;
    return true;
}

static json_t *cell_json(const hkt_tsv *t, size_t i)
{
    const char *text = t->row + t->cell[i].at;
    if (t->cell[i].text)
        return hkt_json_name(text);
    bool whole = strspn(text, "0123456789") == strlen(text);
    return whole ? hkt_json_whole(strtoull(text, NULL, 10)) : hkt_json_real(strtod(text, NULL));
}

static void write_json_row(hkt_tsv *t)
{
    json_t *row = json_object();
    const char *column = t->columns;
    bool failed = t->form.first && json_object_set_new(row, t->form.first, hkt_json_name(t->first)) != 0;
    for (size_t i = 0; i < t->cols; i++, column += strlen(column) + 1)
        failed = json_object_set_new(row, column, cell_json(t, i)) != 0 || failed;
    fputs(t->rows > 0 ? ",\n" : "\n", t->f);
    if (failed || json_dumpf(row, t->f, JSON_REAL_PRECISION(17)) != 0)
        t->status = hkt_fail(HKT_ESYSTEM, "cannot write a row as JSON: out of memory");
    json_decref(row);
}

static void write_row(hkt_tsv *t)
{
    if (t->form.first)
        fprintf(t->f, "%s\t", t->first);
    for (size_t i = 0; i < t->cols; i++)
        fprintf(t->f, "%s%c", t->row + t->cell[i].at, i + 1 < t->cols ? '\t' : '\n');
}

void hkt_tsv_end(hkt_tsv *t)
{
    HKT_ASSERT(t->n == t->cols);
    if (t->status == HKT_OK && is_kept(t)) {
        write_head(t);
        if (t->form.json)
            write_json_row(t);
        else
            write_row(t);
        send(t);
        t->rows++;
    }
    t->n = 0;
    t->used = 0;
}

static void write_end(hkt_tsv *t)
{
    char sum[HKT_CHECKSUM_DIGITS + 1];
    hkt_checksum_format(sum, hkt_checksum_end(&t->sum));
    if (t->form.json)
        fputs("\n]}\n", t->f);
    else
        fprintf(t->f, CHECKSUM_LINE "%s\n# ok\n", sum);
}

hkt_status hkt_tsv_commit(hkt_tsv *t)
{
    HKT_ASSERT(t->n == 0);
    write_head(t);
    send(t);
    write_end(t);
    send(t);
    hkt_status status = t->status;
    if (status == HKT_OK)
        status = hkt_out_commit(t->out);
    else
        hkt_out_abort(t->out);
    free_tsv(t);
    return status;
}

void hkt_tsv_abort(hkt_tsv *t)
{
    if (!t)
        return;
    hkt_out_abort(t->out);
    free_tsv(t);
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
    HKT_TRY(split(r, line, t->column, t->cols));
    for (size_t i = 0; i < t->cols; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(t->column[i], t->column[k]) == 0)
                return hkt_fail(HKT_EINPUT, "%s:%zu: expected different column names, found '%s' twice", r->path,
                                r->line, t->column[i]);
    return HKT_OK;
}

/* Rows up to `# ok`. `most`: no fewer than the rows there are. */
static hkt_status read_rows(hkt_table *t, reader *r, size_t most)
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
        if (strcmp(line, "# ok") == 0)
            break;
        if (*line != '#')
            HKT_TRY(split(r, line, t->cell + t->rows++ * t->cols, t->cols));
    }
    if (!line)
        return hkt_fail(HKT_EINPUT, "%s: incomplete table: expected '# ok' as the last line, found '%.40s'", r->path,
                        last);
    if ((line = next_line(r)))
        return hkt_fail(HKT_EINPUT, "%s:%zu: expected nothing after '# ok', found '%.40s'", r->path, r->line, line);
    return HKT_OK;
}

/* The line of the checksum, the last but one; NULL: there is none. */
static const char *find_checksum(const char *text, size_t size)
{
    const size_t digits = HKT_CHECKSUM_DIGITS, line = sizeof CHECKSUM_LINE - 1 + digits + 1;
    const char *end = text + size;
    if (end > text && end[-1] == '\n')
        end--;
    end -= sizeof "# ok" - 1;
    if (end - text <= (ptrdiff_t)line || strncmp(end, "# ok", 4) != 0 || end[-1] != '\n')
        return NULL;
    return strncmp(end - line, CHECKSUM_LINE, sizeof CHECKSUM_LINE - 1) == 0 ? end - line : NULL;
}

/* Of all bytes before its own line. */
static hkt_status check_checksum(const char *text, size_t size, const char *path, bool *there)
{
    const char *line = find_checksum(text, size);
    uint64_t expected, found;
    *there = line;
    if (!line)
        return HKT_OK;
    found = hkt_checksum_of(text, (size_t)(line - text));
    if (hkt_checksum_parse(line + sizeof CHECKSUM_LINE - 1, &expected) && found == expected)
        return HKT_OK;
    return hkt_fail(HKT_EINPUT,
                    "%s: expected checksum %.*s, found %016" PRIx64
                    ": the table is damaged, or was changed and kept the line '" CHECKSUM_LINE "'",
                    path, HKT_CHECKSUM_DIGITS, line + sizeof CHECKSUM_LINE - 1, found);
}

static hkt_status parse(hkt_table *t, const char *path, size_t size)
{
    reader r = {path, t->text, 0};
    const bool program = strstr(t->text, "\n# version: "); /* wrote it; not a script */
    if (memchr(t->text, 0, size))
        return hkt_fail(HKT_EINPUT, "%s: expected text, found a zero byte", path);
    HKT_TRY(check_checksum(t->text, size, path, &t->has_checksum));
    size_t most = count_char(t->text, '\n') + 1;
    HKT_TRY(read_header(t, &r));
    HKT_TRY(read_rows(t, &r, most));
    if (program && !t->has_checksum)
        hkt_note("%s: has no checksum: damage would not be noticed", path);
    return HKT_OK;
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

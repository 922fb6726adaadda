/* tsv_write.c - the writing part of tsv.h. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "base/tsv.h"

typedef enum { UNKNOWN, INTEGER, NUMBER, TEXT } cell_type;
static const char *const type_name[] = {"unknown", "integer", "number", "text"};

/* A row is gathered cell by cell and written, or left out, as a whole. */
typedef struct {
    cell_type type;
    bool missing;
    size_t at; /* of its text in hkt_tsv.row */
} row_cell;

struct hkt_tsv {
    hkt_out *out;  /* the table; NULL: there will be none */
    hkt_out *json; /* the same as JSON; NULL: there will be none */
    FILE *f;       /* what is to be written next of the table, in memory: `piece` */
    char *piece;   /* [piece_size] */
    size_t piece_size;
    hkt_checksum sum; /* of what was written */
    char *info_path;
    hkt_out *info;             /* F.json; NULL: there will be none */
    const hkt_provenance *how; /* borrowed */
    bool headed;               /* the head is written: with the first row, so that a failure before leaves nothing */
    hkt_tsv_form form;
    size_t cols, n;  /* cells of a row without `first`; cells so far of the present one */
    char *columns;   /* names, each ended by a zero byte */
    cell_type *type; /* [cols] of what the rows have had so far */
    row_cell *cell;  /* [cols] */
    char *row;       /* [size] texts, each ended by a zero byte; `used` of them */
    size_t used, size;
    size_t first, rows; /* of the next row, in column form.first; rows written */
    hkt_status status;  /* first failure, reported by hkt_tsv_commit */
    FILE *shown;        /* on a terminal: the table in memory, `shown_text`, until it can be aligned; else NULL */
    char *shown_text;
    size_t shown_size;
};

/* Sends what is in memory on its way, through the checksum. Errors of the disk stay in the stream until the commit. */
static void send(hkt_tsv *t)
{
    if (fflush(t->f) != 0) {
        t->status = hkt_fail(HKT_ESYSTEM, "out of memory for a row of a table");
        return;
    }
    hkt_checksum_add(&t->sum, t->piece, t->piece_size);
    fwrite(t->piece, 1, t->piece_size, t->shown ? t->shown : hkt_out_stream(t->out));
    rewind(t->f);
}

static void write_json_head(hkt_tsv *t)
{
    FILE *f = hkt_out_stream(t->json);
    json_t *provenance = hkt_provenance_json(t->how);
    fputs("{\"format\": \"hkt-table/1\",\n\"provenance\": ", f);
    if (!provenance || (json_dumpf(provenance, f, JSON_INDENT(2)) != 0 && !ferror(f)))
        t->status = hkt_fail(HKT_ESYSTEM, "cannot write the provenance as JSON: out of memory");
    json_decref(provenance);
    fputs(",\n\"rows\": [", f);
}

static void write_tsv_head(hkt_tsv *t)
{
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
    if (t->json)
        write_json_head(t);
    if (t->out)
        write_tsv_head(t);
}

static hkt_status open_table(hkt_tsv *t, const char *path)
{
    HKT_TRY(hkt_tsv_info_path(&t->info_path, path));
    hkt_checksum_start(&t->sum);
    t->f = open_memstream(&t->piece, &t->piece_size);
    if (!t->f)
        return hkt_fail(HKT_ESYSTEM, "out of memory for a table");
    HKT_TRY(hkt_out_open(&t->out, path));
    return hkt_out_is_file(t->out) ? hkt_out_open(&t->info, t->info_path) : HKT_OK;
}

static hkt_status prepare(hkt_tsv *t, const char *path, const char *columns)
{
    t->cols = 1;
    HKT_TRY(hkt_strdup(&t->columns, columns));
    for (char *tab = t->columns; (tab = strchr(tab, '\t')); tab++, t->cols++)
        *tab = 0;
    HKT_TRY(HKT_NEW(&t->type, t->cols));
    HKT_TRY(HKT_NEW(&t->cell, t->cols));
    if (path)
        HKT_TRY(open_table(t, path));
    return t->form.json ? hkt_out_open(&t->json, t->form.json) : HKT_OK;
}

/* On a terminal a table is for a person: it is shown as a whole, with aligned columns. */
static hkt_status prepare_shown(hkt_tsv *t, const char *path)
{
    if (!path || strcmp(path, "-") != 0 || hkt_terminal_width(stdout) == 0)
        return HKT_OK;
    t->shown = open_memstream(&t->shown_text, &t->shown_size);
    return t->shown ? HKT_OK : hkt_fail(HKT_ESYSTEM, "out of memory for a table");
}

static hkt_status show(hkt_tsv *t)
{
    if (!t->shown)
        return HKT_OK;
    if (fflush(t->shown) != 0)
        return hkt_fail(HKT_ESYSTEM, "out of memory for a table");
    return hkt_terminal_table(hkt_out_stream(t->out), hkt_terminal_width(stdout), t->shown_text, t->shown_size);
}

hkt_status hkt_tsv_open_as(hkt_tsv **out, const char *path, const hkt_provenance *how, const char *columns,
                           const hkt_tsv_form *form)
{
    hkt_tsv *t = NULL;
    *out = NULL;
    HKT_TRY(HKT_NEW(&t, 1));
    t->how = how;
    t->form = *form;
    hkt_status status = prepare(t, path, columns);
    if (status == HKT_OK)
        status = prepare_shown(t, path);
    if (status == HKT_OK) {
        *out = t;
        return HKT_OK;
    }
    hkt_tsv_abort(t);
    return status;
}

hkt_status hkt_tsv_open(hkt_tsv **out, const char *path, const hkt_provenance *how, const char *columns)
{
    return hkt_tsv_open_as(out, path, how, columns, &(hkt_tsv_form){.json = NULL});
}

void hkt_tsv_first(hkt_tsv *t, size_t number)
{
    t->first = number;
}

size_t hkt_tsv_rows(const hkt_tsv *t)
{
    return t->rows;
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

/* A column has one type; numbers may be whole in some rows. */
static void note_type(hkt_tsv *t, cell_type type)
{
    cell_type *column = t->type + t->n;
    HKT_ASSERT(*column == UNKNOWN || (*column == TEXT) == (type == TEXT));
    if (type > *column)
        *column = type;
}

/* Room for a cell of n characters and its zero byte; NULL when there is no memory. */
static char *next_cell(hkt_tsv *t, cell_type type, bool missing, size_t n)
{
    HKT_ASSERT(t->n < t->cols);
    note_type(t, type);
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
    t->cell[t->n++] = (row_cell){type, missing, t->used};
    char *p = t->row + t->used;
    t->used += n + 1;
    p[n] = 0;
    return p;
}

static void put_text(hkt_tsv *t, cell_type type, bool missing, const char *text)
{
    const size_t n = strlen(text);
    char *p = next_cell(t, type, missing, n);
    if (p)
        memcpy(p, text, n);
}

void hkt_tsv_str(hkt_tsv *t, const char *s)
{
    if (!s || !*s) {
        put_text(t, TEXT, true, HKT_TSV_MISSING);
        return;
    }
    bool first = t->n == 0 && !t->form.first;
    char *p = next_cell(t, TEXT, false, strlen(s));
    /* Nothing in a cell may look like the end of it, like a quotation or like a comment. */
    for (size_t i = 0; p && s[i]; i++)
        p[i] = (unsigned char)s[i] < 0x20 || (first && i == 0 && s[i] == '#') ? '?' : s[i] == '"' ? '\'' : s[i];
}

void hkt_tsv_size(hkt_tsv *t, size_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", v);
    put_text(t, INTEGER, false, text);
}

void hkt_tsv_index(hkt_tsv *t, size_t v)
{
    if (v == HKT_TSV_NO_INDEX)
        put_text(t, INTEGER, true, HKT_TSV_MISSING);
    else
        hkt_tsv_size(t, v);
}

void hkt_tsv_real(hkt_tsv *t, double v)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", v);
    put_text(t, NUMBER, isnan(v), isnan(v) ? HKT_TSV_MISSING : text);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

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
    const row_cell *c = t->cell + i;
    const char *text = t->row + c->at;
    return c->missing           ? json_null()
           : c->type == TEXT    ? hkt_json_name(text)
           : c->type == INTEGER ? hkt_json_whole(strtoull(text, NULL, 10))
                                : hkt_json_real(strtod(text, NULL));
}

static void write_json_row(hkt_tsv *t)
{
    FILE *f = hkt_out_stream(t->json);
    json_t *row = json_object();
    const char *column = t->columns;
    bool failed = t->form.first && json_object_set_new(row, t->form.first, hkt_json_whole(t->first)) != 0;
    for (size_t i = 0; i < t->cols; i++, column += strlen(column) + 1)
        failed = json_object_set_new(row, column, cell_json(t, i)) != 0 || failed;
    fputs(t->rows > 0 ? ",\n" : "\n", f);
    if (failed || (json_dumpf(row, f, JSON_REAL_PRECISION(17)) != 0 && !ferror(f)))
        t->status = hkt_fail(HKT_ESYSTEM, "cannot write a row as JSON: out of memory");
    json_decref(row);
}

static void write_row(hkt_tsv *t)
{
    if (t->form.first)
        fprintf(t->f, "%zu\t", t->first);
    for (size_t i = 0; i < t->cols; i++)
        fprintf(t->f, "%s%c", t->row + t->cell[i].at, i + 1 < t->cols ? '\t' : '\n');
    send(t);
}

/* A row on a terminal does not follow what stands on the line of progress. */
static void clear_line(const hkt_tsv *t)
{
    if ((t->out && !hkt_out_is_file(t->out)) || (t->json && !hkt_out_is_file(t->json)))
        hkt_progress_clear();
}

void hkt_tsv_end(hkt_tsv *t)
{
    HKT_ASSERT(t->n == t->cols);
    if (t->status == HKT_OK && is_kept(t)) {
        clear_line(t);
        write_head(t);
        if (t->json)
            write_json_row(t);
        if (t->out)
            write_row(t);
        t->rows++;
    }
    t->n = 0;
    t->used = 0;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static json_t *columns_json(const hkt_tsv *t)
{
    json_t *columns = json_array();
    const char *column = t->columns;
    if (t->form.first)
        json_array_append_new(columns, json_pack("{s:s, s:s}", "name", t->form.first, "type", type_name[INTEGER]));
    for (size_t i = 0; i < t->cols; i++, column += strlen(column) + 1)
        json_array_append_new(columns, json_pack("{s:s, s:s}", "name", column, "type", type_name[t->type[i]]));
    return columns;
}

/* What F.json says of a table F. */
static hkt_status write_info(const hkt_tsv *t, FILE *f)
{
    char sum[HKT_CHECKSUM_DIGITS + 1];
    hkt_checksum_format(sum, hkt_checksum_end(&t->sum));
    json_t *info =
        json_pack("{s:s, s:o, s:o, s:I, s:s}", "format", HKT_TSV_INFO, "provenance", hkt_provenance_json(t->how),
                  "columns", columns_json(t), "rows", (json_int_t)t->rows, HKT_TSV_CHECKSUM, sum);
    bool bad = !info || json_dumpf(info, f, JSON_INDENT(2)) != 0;
    json_decref(info);
    if ((bad && !ferror(f)) || hkt_json_starved())
        return hkt_fail(HKT_ESYSTEM, "cannot write '%s': out of memory for its json", t->info_path);
    putc('\n', f);
    return HKT_OK;
}

/* Both are on disk before one is renamed. Between the renames the table has no info rather than that of an older one.
 */
static hkt_status commit_with_info(hkt_tsv *t)
{
    hkt_status status = write_info(t, hkt_out_stream(t->info));
    if (status == HKT_OK)
        status = hkt_out_sync(t->info);
    if (status == HKT_OK)
        status = hkt_out_sync(t->out);
    if (status == HKT_OK && unlink(t->info_path) != 0 && errno != ENOENT)
        status = hkt_fail(HKT_ESYSTEM, "cannot replace '%s': %s", t->info_path, strerror(errno));
    if (status != HKT_OK)
        return status;
    hkt_out *out = t->out, *info = t->info;
    t->out = t->info = NULL;
    status = hkt_out_commit(out);
    if (status == HKT_OK)
        return hkt_out_commit(info);
    hkt_out_abort(info);
    return status;
}

static hkt_status commit_table(hkt_tsv *t)
{
    send(t); /* the head, when there was no row */
    HKT_TRY(t->status);
    HKT_TRY(show(t));
    if (t->info)
        return commit_with_info(t);
    hkt_out *out = t->out;
    t->out = NULL;
    return hkt_out_commit(out);
}

hkt_status hkt_tsv_commit(hkt_tsv *t)
{
    HKT_ASSERT(t->n == 0);
    write_head(t);
    if (t->json)
        fputs("\n]}\n", hkt_out_stream(t->json));
    hkt_status status = t->status;
    if (status == HKT_OK && t->json)
        status = hkt_out_sync(t->json);
    if (status == HKT_OK && t->out)
        status = commit_table(t);
    if (status == HKT_OK && t->json) {
        status = hkt_out_commit(t->json);
        t->json = NULL;
    }
    hkt_tsv_abort(t);
    return status;
}

void hkt_tsv_abort(hkt_tsv *t)
{
    if (!t)
        return;
    hkt_out_abort(t->out);
    hkt_out_abort(t->json);
    hkt_out_abort(t->info);
    if (t->f)
        fclose(t->f);
    free(t->piece); /* the stream's */
    if (t->shown)
        fclose(t->shown);
    free(t->shown_text);
    hkt_free(t->info_path);
    hkt_free(t->columns);
    hkt_free(t->type);
    hkt_free(t->cell);
    hkt_free(t->row);
    hkt_free(t);
}

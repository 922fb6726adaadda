#include "analysis/claims/accuracy/runs.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

enum { TASK, MODEL, SETTING, SEED, CONFIG, ACCURACY, MAJORITY, SEQUENCES, N_COLUMNS };
static const char *const column_name[N_COLUMNS] = {"task",   "model",         "setting",  "seed",
                                                   "config", "test_accuracy", "majority", "test_sequences"};

typedef struct {
    const char *path;
    const hkt_table *table;
    size_t column[N_COLUMNS];
} source;

/* Line of a row of the table, from 1: comments may stand anywhere, so the text is looked at again. 0: not to be read.
 */
static size_t line_of(const source *s, size_t row)
{
    char *text = NULL;
    size_t size, line = 0, seen = 0;
    if (hkt_file_read(s->path, &text, &size) != HKT_OK)
        return 0;
    for (const char *at = text; at && seen < row + 2; line++) { /* the names come first */
        seen += *at != '#';
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    hkt_free(text);
    return line;
}

static const char *cell(const source *s, size_t row, int column)
{
    return s->table->cell[row * s->table->cols + s->column[column]];
}

static hkt_status bad(const source *s, size_t row, int column, const char *expected)
{
    return hkt_fail(HKT_EINPUT, "%s:%zu: column '%s': expected %s, found '%s'", s->path, line_of(s, row),
                    column_name[column], expected, cell(s, row, column));
}

/* A number of the whole cell. strtod takes spaces before it and words such as nan. */
static bool read_number(const char *text, double low, double high, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end > text && *end == 0 && strspn(text, "0123456789.eE+-") == strlen(text) && *out >= low && *out <= high;
}

/* Names go into tables and JSON. */
static hkt_status read_name(const source *s, size_t row, int column, const char **out)
{
    *out = cell(s, row, column);
    size_t n = strspn(*out, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+");
    if (n == 0 || (*out)[n] || n >= HKT_ROW_NAME)
        return bad(s, row, column, "a name of letters, digits and -_.+");
    return HKT_OK;
}

static hkt_status read_run(const source *s, size_t row, hkt_runs_row *out)
{
    double n;
    HKT_TRY(read_name(s, row, TASK, &out->task));
    HKT_TRY(read_name(s, row, MODEL, &out->model));
    HKT_TRY(read_name(s, row, SETTING, &out->setting));
    out->config = cell(s, row, CONFIG);
    out->seed = cell(s, row, SEED);
    if (strcmp(out->model, "hkt") && strcmp(out->model, "mha"))
        return bad(s, row, MODEL, "hkt or mha");
    if (!*out->seed || out->seed[strspn(out->seed, "0123456789")])
        return bad(s, row, SEED, "a whole number");
    if (!read_number(cell(s, row, ACCURACY), 0, 1, &out->accuracy))
        return bad(s, row, ACCURACY, "a number in 0..1");
    if (!read_number(cell(s, row, MAJORITY), 0, 1, &out->majority))
        return bad(s, row, MAJORITY, "a number in 0..1");
    if (!read_number(cell(s, row, SEQUENCES), 1, INT_MAX, &n) || n != floor(n))
        return bad(s, row, SEQUENCES, "a whole number, at least 1");
    out->n = (size_t)n;
    return HKT_OK;
}

/* Against the rows before. */
static hkt_status check_run(const source *s, const hkt_runs_row *run, size_t row)
{
    const hkt_runs_row *a = run + row;
    for (size_t i = 0; i < row; i++) {
        const hkt_runs_row *b = run + i;
        if (strcmp(a->task, b->task))
            continue;
        if (!strcmp(a->model, b->model) && !strcmp(a->setting, b->setting) && !strcmp(a->seed, b->seed))
            return hkt_fail(HKT_EINPUT, "%s:%zu: expected each run once, found %s %s %s with seed %s on line %zu too",
                            s->path, line_of(s, row), a->task, a->model, a->setting, a->seed, line_of(s, i));
        if (a->n != b->n || a->majority != b->majority)
            return hkt_fail(HKT_EINPUT,
                            "%s:%zu: expected the test split of '%s' as on line %zu (%zu sequences, majority %g), "
                            "found %zu and %g",
                            s->path, line_of(s, row), a->task, line_of(s, i), b->n, b->majority, a->n, a->majority);
    }
    return HKT_OK;
}

static hkt_status read_rows(hkt_runs *out, const char *path)
{
    source s = {.path = path, .table = &out->table};
    for (int k = 0; k < N_COLUMNS; k++) {
        hkt_status status = hkt_table_column(&out->table, column_name[k], s.column + k);
        if (status != HKT_OK)
            return hkt_fail_context(status, "%s", path);
    }
    out->n = out->table.rows;
    HKT_TRY(HKT_NEW(&out->own, out->n));
    out->run = out->own;
    for (size_t i = 0; i < out->n; i++) {
        HKT_TRY(read_run(&s, i, out->own + i));
        HKT_TRY(check_run(&s, out->own, i));
    }
    return HKT_OK;
}

hkt_status hkt_runs_read(hkt_runs *out, const char *dir)
{
    char *path;
    *out = (hkt_runs){.n = 0};
    HKT_TRY(hkt_path_join(&path, dir, "runs.tsv"));
    hkt_status status = hkt_table_read(&out->table, path);
    if (status == HKT_OK)
        status = read_rows(out, path);
    hkt_free(path);
    if (status != HKT_OK)
        hkt_runs_free(out);
    return status;
}

void hkt_runs_free(hkt_runs *r)
{
    hkt_table_free(&r->table);
    hkt_free(r->own);
    *r = (hkt_runs){.n = 0};
}

/* The table of a figure: there, complete, not empty, and nothing that gnuplot would leave out in silence. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/tsv.h"
#include "programs/plot.h"

typedef enum { NUMBER, MISSING, TEXT } cell_kind;

static cell_kind kind_of(const char *text)
{
    char *end;
    double v = strtod(text, &end);
    if (strcmp(text, HKT_TSV_MISSING) == 0)
        return MISSING;
    return end != text && *end == 0 && isfinite(v) ? NUMBER : TEXT;
}

/* A row that says itself why it has no number. */
static bool is_skipped(const hkt_table *t, size_t row)
{
    const char *status = t->cell[row * t->cols + t->cols - 1];
    return strncmp(status, "skipped: ", 9) == 0;
}

/* What gnuplot would read as something else, or leave out in silence. */
static hkt_status check_numbers(const hkt_table *t, const char *path, const char *name, size_t column, bool needed)
{
    size_t missing = 0, unexplained = 0, first = 0;
    for (size_t r = 0; r < t->rows; r++) {
        const char *text = t->cell[r * t->cols + column];
        cell_kind kind = kind_of(text);
        if (kind == TEXT)
            return hkt_fail(HKT_EINPUT, "%s: row %zu: expected a number in column '%s', found '%s'", path, r + 1, name,
                            text);
        missing += kind == MISSING;
        if (kind == MISSING && !is_skipped(t, r))
            first = unexplained++ ? first : r;
    }
    if (missing == t->rows && needed)
        return hkt_fail(HKT_EINPUT, "%s: expected numbers in column '%s', found none", path, name);
    if (unexplained > 0 && needed)
        hkt_note("%s: %zu of %zu rows have no number in column '%s' and are not drawn; the first is row %zu: '%s'",
                 path, unexplained, t->rows, name, first + 1, t->cell[first * t->cols + column]);
    return HKT_OK;
}

typedef enum { TEXTS, NUMBERS, NUMBERS_OR_NONE } column_kind;

/* Every name in a list separated by spaces. */
static hkt_status check_columns(const hkt_table *t, const char *path, const char *names, column_kind kind)
{
    while (names && *names) {
        char name[64];
        size_t n = strcspn(names, " "), column;
        HKT_ASSERT(n < sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        if (hkt_table_column(t, name, &column) != HKT_OK)
            return hkt_fail(HKT_EINPUT, "%s: expected a column '%s', found none", path, name);
        if (kind != TEXTS)
            HKT_TRY(check_numbers(t, path, name, column, kind == NUMBERS));
        names += n + strspn(names + n, " ");
    }
    return HKT_OK;
}

hkt_status hkt_plot_check_table(const char *path, const hkt_figure *f, size_t *rows)
{
    hkt_table t;
    HKT_TRY(hkt_table_read(&t, path));
    *rows = t.rows;
    hkt_status status = HKT_OK;
    if (t.rows > 0)
        status = check_columns(&t, path, f->numbers, NUMBERS);
    if (t.rows > 0 && status == HKT_OK)
        status = check_columns(&t, path, f->optional, NUMBERS_OR_NONE);
    if (t.rows > 0 && status == HKT_OK)
        status = check_columns(&t, path, f->texts, TEXTS);
    hkt_table_free(&t);
    return status;
}

hkt_status hkt_plot_fail_missing(const hkt_plot_options *o, const hkt_figure *f, const char *what)
{
    char *command = NULL, file[4096];
    size_t size;
    /* The one conversion in every maker is %s, the directory of the file that ends it. */
    const char *hole = strstr(f->maker, "%s");
    FILE *text = open_memstream(&command, &size);
    if (!text)
        return hkt_fail(HKT_ESYSTEM, "out of memory for a message");
    const size_t tail = strcspn(hole + 2, " ");
    snprintf(file, sizeof file, "%s%.*s", o->from, (int)tail, hole + 2);
    fprintf(text, "%.*s", (int)(hole - f->maker), f->maker);
    hkt_quote_word(text, file);
    fputs(hole + 2 + tail, text);
    hkt_status status = fclose(text) == 0 ? HKT_EINPUT : HKT_ESYSTEM;
    status = hkt_fail(status, "figure '%s': %s; make it with: %s", f->name, what, command ? command : "?");
    free(command);
    return status;
}

/* --- what the script is told: gnuplot assignments, strings in single quotes --- */

void hkt_plot_put_string(FILE *script, const char *name, const char *text)
{
    fprintf(script, "%s='", name);
    for (; *text; text++)
        if (*text == '\'')
            fputs("''", script);
        else
            putc((unsigned char)*text < 0x20 ? '?' : *text, script);
    fputs("'; ", script);
}

void hkt_plot_put_element(FILE *script, const char *array, size_t i, const char *text)
{
    char name[64];
    snprintf(name, sizeof name, "%s[%zu]", array, i);
    hkt_plot_put_string(script, name, text);
}

static hkt_status put_runs_of(const hkt_plot_options *o, const hkt_figure *f, FILE *script, bool *missing)
{
    hkt_plot_runs all;
    hkt_status status = hkt_plot_find_runs(o, f, &all);
    *missing = status == HKT_OK && all.n == 0;
    if (*missing)
        status = hkt_plot_fail_missing(
            o, f, f->evaluated ? "no evaluated run is there" : "no run with a validated epoch is there");
    else if (status == HKT_OK)
        status = hkt_plot_put_runs(&all, script);
    hkt_plot_free_runs(&all);
    return status;
}

static hkt_status check_table_of(const hkt_plot_options *o, const hkt_figure *f, bool *missing)
{
    char *path, what[512];
    size_t rows = 0;
    HKT_TRY(hkt_path_join(&path, o->from, f->table));
    *missing = !hkt_file_exists(path);
    snprintf(what, sizeof what, "'%s' is missing", path);
    hkt_status status = *missing ? hkt_plot_fail_missing(o, f, what) : hkt_plot_check_table(path, f, &rows);
    snprintf(what, sizeof what, "'%s' has no rows", path);
    *missing = *missing || (status == HKT_OK && rows == 0);
    if (status == HKT_OK && rows == 0)
        status = hkt_plot_fail_missing(o, f, what);
    hkt_free(path);
    return status;
}

bool hkt_plot_has_table(const hkt_plot_options *o, const hkt_figure *f)
{
    char *path;
    if (!f->table || hkt_path_join(&path, o->from, f->table) != HKT_OK)
        return false;
    const bool there = hkt_file_exists(path);
    hkt_free(path);
    return there;
}

hkt_status hkt_plot_input(const hkt_plot_options *o, const hkt_figure *f, FILE *script, bool *missing)
{
    *missing = false;
    return f->table ? check_table_of(o, f, missing) : put_runs_of(o, f, script, missing);
}

#include "analysis/claims/accuracy/runs.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

enum { TASK, MODEL, SETTING, SEED, CONFIG, ACCURACY, MAJORITY, SEQUENCES, ARITHMETIC, N_COLUMNS };
static const char *const of_runs[N_COLUMNS] = {"task",          "model",    "setting",        "seed",      "config",
                                               "test_accuracy", "majority", "test_sequences", "arithmetic"};
enum { OTHER_MODEL = SEED + 1, OTHER_SETTING, OTHER_SEED, BOTH, N_PAIR_COLUMNS };
static const char *const of_pairs[N_PAIR_COLUMNS] = {"task",        "model",         "setting",    "seed",
                                                     "other_model", "other_setting", "other_seed", "both_right"};

typedef struct {
    const char *path;
    const hkt_table *table;
    const char *const *column_name;
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
                    s->column_name[column], expected, cell(s, row, column));
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
    out->reproducible = !strcmp(cell(s, row, ARITHMETIC), "reproducible");
    return HKT_OK;
}

static bool same_setting(const hkt_runs_row *a, const hkt_runs_row *b)
{
    return !strcmp(a->task, b->task) && !strcmp(a->model, b->model) && !strcmp(a->setting, b->setting);
}

/* Against the rows before. */
static hkt_status check_run(const source *s, const hkt_runs_row *run, size_t row)
{
    const hkt_runs_row *a = run + row;
    for (size_t i = 0; i < row; i++) {
        const hkt_runs_row *b = run + i;
        if (!same_setting(a, b))
            continue;
        if (!strcmp(a->seed, b->seed))
            return hkt_fail(HKT_EINPUT, "%s:%zu: expected each run once, found %s %s %s with seed %s on line %zu too",
                            s->path, line_of(s, row), a->task, a->model, a->setting, a->seed, line_of(s, i));
        if (a->n != b->n || a->majority != b->majority)
            return hkt_fail(HKT_EINPUT,
                            "%s:%zu: expected the test split of '%s %s' as on line %zu (%zu sequences, majority %g), "
                            "found %zu and %g",
                            s->path, line_of(s, row), a->task, a->setting, line_of(s, i), b->n, b->majority, a->n,
                            a->majority);
    }
    return HKT_OK;
}

static hkt_status find_columns(source *s, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        hkt_status status = hkt_table_column(s->table, s->column_name[k], s->column + k);
        if (status != HKT_OK)
            return hkt_fail_context(status, "%s", s->path);
    }
    return HKT_OK;
}

static hkt_status read_rows(hkt_runs *out, const char *path)
{
    source s = {.path = path, .table = &out->table, .column_name = of_runs};
    HKT_TRY(find_columns(&s, N_COLUMNS));
    out->n = out->table.rows;
    HKT_TRY(HKT_NEW(&out->own, out->n));
    out->run = out->own;
    for (size_t i = 0; i < out->n; i++) {
        HKT_TRY(read_run(&s, i, out->own + i));
        HKT_TRY(check_run(&s, out->own, i));
    }
    return HKT_OK;
}

/* --- agreement.tsv ------------------------------------------------------------------------------------------------ */

static size_t right(const hkt_runs_row *r)
{
    return (size_t)llround(r->accuracy * (double)r->n);
}

/* The run of the row: model, setting and seed in three columns from `first` on. */
static hkt_status find_run(const source *s, size_t row, int first, const hkt_runs *r, size_t *out)
{
    const hkt_runs_row wanted = {
        .task = cell(s, row, TASK), .model = cell(s, row, first), .setting = cell(s, row, first + 1)};
    for (*out = 0; *out < r->n; ++*out)
        if (same_setting(r->run + *out, &wanted) && !strcmp(r->run[*out].seed, cell(s, row, first + 2)))
            return HKT_OK;
    return hkt_fail(HKT_EINPUT, "%s:%zu: expected a run of runs.tsv, found %s %s %s with seed %s", s->path,
                    line_of(s, row), wanted.task, wanted.model, wanted.setting, cell(s, row, first + 2));
}

static hkt_status read_pair(const source *s, size_t row, const hkt_runs *r, hkt_runs_pair *out)
{
    double both;
    size_t i, k;
    HKT_TRY(find_run(s, row, MODEL, r, &i));
    HKT_TRY(find_run(s, row, OTHER_MODEL, r, &k));
    const hkt_runs_row *x = r->run + i, *y = r->run + k;
    if (i == k || x->n != y->n)
        return bad(s, row, OTHER_SEED, i == k ? "another run" : "a run on the same test sequences");
    const size_t a = right(x), b = right(y), most = a < b ? a : b, least = a + b > x->n ? a + b - x->n : 0;
    if (!read_number(cell(s, row, BOTH), 0, INT_MAX, &both) || both != floor(both))
        return bad(s, row, BOTH, "a whole number");
    if (both < (double)least || both > (double)most)
        return hkt_fail(HKT_EINPUT,
                        "%s:%zu: column 'both_right': expected %zu to %zu, since the runs are right on %zu and %zu of "
                        "%zu, found %s",
                        s->path, line_of(s, row), least, most, a, b, x->n, cell(s, row, BOTH));
    *out = (hkt_runs_pair){i < k ? i : k, i < k ? k : i, (size_t)both};
    return HKT_OK;
}

static int by_runs(const void *x, const void *y)
{
    const hkt_runs_pair *a = x, *b = y;
    return a->i != b->i ? (a->i > b->i) - (a->i < b->i) : (a->k > b->k) - (a->k < b->k);
}

static hkt_status read_pairs(hkt_runs *out, const hkt_table *table, const char *path)
{
    source s = {.path = path, .table = table, .column_name = of_pairs};
    HKT_TRY(find_columns(&s, N_PAIR_COLUMNS));
    HKT_TRY(HKT_NEW(&out->pair, table->rows));
    for (size_t row = 0; row < table->rows; row++)
        HKT_TRY(read_pair(&s, row, out, out->pair + row));
    out->n_pairs = table->rows;
    qsort(out->pair, out->n_pairs, sizeof *out->pair, by_runs);
    for (size_t i = 1; i < out->n_pairs; i++) {
        const hkt_runs_row *x = out->run + out->pair[i].i, *y = out->run + out->pair[i].k;
        if (by_runs(out->pair + i - 1, out->pair + i) == 0)
            return hkt_fail(HKT_EINPUT,
                            "%s: expected each pair of runs once, found %s %s %s with seed %s and %s %s with seed %s "
                            "twice",
                            path, x->task, x->model, x->setting, x->seed, y->model, y->setting, y->seed);
    }
    return HKT_OK;
}

double hkt_runs_both_right(const hkt_runs *r, const hkt_runs_row *x, const hkt_runs_row *y)
{
    const size_t i = (size_t)(x - r->run), k = (size_t)(y - r->run);
    if (i == k)
        return (double)right(x);
    const hkt_runs_pair wanted = {i < k ? i : k, i < k ? k : i, 0}, *found = NULL;
    if (r->n_pairs > 0)
        found = bsearch(&wanted, r->pair, r->n_pairs, sizeof *r->pair, by_runs);
    return found ? (double)found->both : (double)NAN;
}

static hkt_status read_agreement(hkt_runs *out, const char *dir)
{
    char *path;
    hkt_table table = {0};
    HKT_TRY(hkt_path_join(&path, dir, "agreement.tsv"));
    hkt_status status = HKT_OK;
    if (hkt_file_exists(path)) {
        status = hkt_table_read(&table, path);
        if (status == HKT_OK)
            status = read_pairs(out, &table, path);
        hkt_table_free(&table);
    }
    hkt_free(path);
    return status;
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
    if (status == HKT_OK)
        status = read_agreement(out, dir);
    if (status != HKT_OK)
        hkt_runs_free(out);
    return status;
}

void hkt_runs_free(hkt_runs *r)
{
    hkt_table_free(&r->table);
    hkt_free(r->own);
    hkt_free(r->pair);
    *r = (hkt_runs){.n = 0};
}

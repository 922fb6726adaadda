#include "data/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/lines.h"

typedef struct {
    hkt_span label, text;
    size_t line;
} row;

/* A file taken apart. */
typedef struct {
    const char *path;
    char *data;
    row *rows; /* [n] */
    size_t n, bytes;
} table;

/* Different labels, in order. */
typedef struct {
    hkt_span name[HKT_TEXT_MAX_CLASSES];
    size_t n;
    bool numbers; /* all are integers without sign */
} label_set;

/* --- a file ------------------------------------------------------------------------------------------------------- */

static hkt_status parse_row(hkt_span line, row *out)
{
    const char *tab = memchr(line.at, '\t', hkt_span_size(line));
    if (!tab)
        return hkt_fail(HKT_EINPUT, "expected label<TAB>text, found '%s'", hkt_span_quote(line).text);
    *out = (row){.label = {line.at, tab}, .text = {tab + 1, line.end}};
    if (hkt_span_size(out->label) == 0)
        return hkt_fail(HKT_EINPUT, "expected a label before the tab, found none");
    if (hkt_span_size(out->text) == 0)
        return hkt_fail(HKT_EINPUT, "expected a text after the tab, found none");
    return HKT_OK;
}

static size_t count_lines(hkt_span text)
{
    size_t n = 0;
    hkt_span line;
    while (hkt_span_line(&text, &line))
        n++;
    return n;
}

/* A first line "label<TAB>text" is a header. */
static hkt_status parse_table(table *t, hkt_span text)
{
    hkt_span line;
    hkt_span_skip_bom(&text);
    HKT_TRY(HKT_NEW(&t->rows, count_lines(text)));
    for (size_t number = 1; hkt_span_line(&text, &line); number++) {
        if (number == 1 && hkt_span_equals(line, "label\ttext"))
            continue;
        row *r = &t->rows[t->n];
        hkt_status status = parse_row(line, r);
        if (status != HKT_OK)
            return hkt_fail_context(status, "%s:%zu", t->path, number);
        r->line = number;
        t->bytes += hkt_span_size(r->text);
        t->n++;
    }
    return t->n > 0 ? HKT_OK : hkt_fail(HKT_EINPUT, "%s: expected rows of label<TAB>text, found none", t->path);
}

/* May be freed also on error. */
static hkt_status table_read(table *t, const char *path)
{
    size_t size;
    *t = (table){.path = path};
    HKT_TRY(hkt_file_read(path, &t->data, &size));
    return parse_table(t, (hkt_span){t->data, t->data + size});
}

static void table_free(table *t)
{
    hkt_free(t->data);
    hkt_free(t->rows);
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

static bool is_number(hkt_span s)
{
    while (s.at < s.end && *s.at >= '0' && *s.at <= '9')
        s.at++;
    return s.at == s.end;
}

static hkt_span without_zeros(hkt_span s)
{
    while (s.at < s.end && *s.at == '0')
        s.at++;
    return s;
}

/* By value: without leading zeros the longer is the greater. Labels of one value (7, 007) are in the order of bytes. */
static int compare_numbers(const void *a, const void *b)
{
    const hkt_span *p = a, *q = b;
    hkt_span x = without_zeros(*p), y = without_zeros(*q);
    size_t nx = hkt_span_size(x), ny = hkt_span_size(y);
    int order = nx != ny ? (nx > ny) - (nx < ny) : hkt_span_compare(x, y);
    return order != 0 ? order : hkt_span_compare(*p, *q);
}

/* Place of `label` in the set, or where it belongs; the set is in the order of bytes. */
static size_t lower_bound(const label_set *s, hkt_span label)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hkt_span_compare(s->name[middle], label) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const label_set *s, size_t i, hkt_span label)
{
    return i < s->n && hkt_span_compare(s->name[i], label) == 0;
}

static hkt_status collect_labels(label_set *s, const table *t)
{
    s->numbers = true;
    for (size_t i = 0; i < t->n; i++) {
        hkt_span label = t->rows[i].label;
        size_t at = lower_bound(s, label);
        if (is_at(s, at, label))
            continue;
        if (s->n == HKT_TEXT_MAX_CLASSES)
            return hkt_fail(HKT_EINPUT, "%s:%zu: expected at most %d different labels, found '%s' too", t->path,
                            t->rows[i].line, HKT_TEXT_MAX_CLASSES, hkt_span_quote(label).text);
        memmove(s->name + at + 1, s->name + at, (s->n - at) * sizeof *s->name);
        s->name[at] = label;
        s->n++;
        s->numbers = s->numbers && is_number(label);
    }
    if (s->n < 2)
        return hkt_fail(HKT_EINPUT, "%s: expected at least 2 different labels, found only '%s'", t->path,
                        hkt_span_quote(s->name[0]).text);
    return HKT_OK;
}

/* class_of[i]: class of the i-th label of the set; names [out]: in the order of classes. */
static void order_classes(const label_set *s, int32_t *class_of, hkt_span *names)
{
    memcpy(names, s->name, s->n * sizeof *names);
    if (s->numbers)
        qsort(names, s->n, sizeof *names, compare_numbers);
    for (size_t c = 0; c < s->n; c++)
        class_of[lower_bound(s, names[c])] = (int32_t)c;
}

/* One block: the pointers, then the texts. */
static hkt_status name_classes(hkt_dataset *d, const hkt_span *names, size_t n)
{
    size_t size = n * sizeof(char *);
    for (size_t c = 0; c < n; c++)
        size += hkt_span_size(names[c]) + 1;
    HKT_TRY(hkt_alloc(&d->owned_names, size, 1, "class names"));
    const char **name = d->owned_names;
    char *text = (char *)(name + n);
    for (size_t c = 0; c < n; c++) {
        name[c] = text;
        text = (char *)mempcpy(text, names[c].at, hkt_span_size(names[c])) + 1;
    }
    d->class_names = name;
    d->classes = n;
    return HKT_OK;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static hkt_split draw_split(const int32_t *tokens, size_t n)
{
    uint32_t word[4];
    hkt_rng_block(HKT_DEFAULT_SEED, HKT_STREAM_DATA, HKT_SUB_TEXT, hkt_dataset_hash(tokens, n), word);
    switch ((uint64_t)word[0] * 10 >> 32) {
    case 0:
        return HKT_TEST;
    case 1:
        return HKT_VAL;
    default:
        return HKT_TRAIN;
    }
}

/* Appends the text; with `split` only when it is drawn for it. Tokens behind the last row are spoilt. */
static void add_row(hkt_dataset *d, const row *r, int32_t label, const hkt_split *split, size_t max_len)
{
    int32_t *tokens = d->tokens + d->offset[d->n];
    size_t n = hkt_span_size(r->text);
    for (size_t i = 0; i < n; i++)
        tokens[i] = 1 + (int32_t)(unsigned char)r->text.at[i];
    if (split && draw_split(tokens, n) != *split)
        return;
    if (max_len > 0 && n > max_len) {
        n = max_len;
        d->cut++;
    }
    d->labels[d->n++] = label;
    d->offset[d->n] = d->offset[d->n - 1] + n;
    d->max_len = n > d->max_len ? n : d->max_len;
}

/* Rows of `t` (split: those drawn for it; NULL: all), with the labels of `s`. */
static hkt_status fill(hkt_dataset *d, const table *t, const label_set *s, const hkt_split *split, size_t max_len)
{
    int32_t class_of[HKT_TEXT_MAX_CLASSES];
    hkt_span names[HKT_TEXT_MAX_CLASSES];
    order_classes(s, class_of, names);
    HKT_TRY(name_classes(d, names, s->n));
    HKT_TRY(HKT_NEW(&d->offset, t->n + 1));
    HKT_TRY(HKT_NEW(&d->labels, t->n));
    HKT_TRY(HKT_NEW(&d->tokens, t->bytes));
    for (size_t i = 0; i < t->n; i++) {
        size_t at = lower_bound(s, t->rows[i].label);
        if (!is_at(s, at, t->rows[i].label))
            return hkt_fail(HKT_EINPUT, "%s:%zu: expected a label of the training split, found '%s'", t->path,
                            t->rows[i].line, hkt_span_quote(t->rows[i].label).text);
        add_row(d, &t->rows[i], class_of[at], split, max_len);
    }
    if (d->n == 0)
        return hkt_fail(HKT_EINPUT,
                        "%s: expected a tenth of the rows in split '%s', found none of %zu: give more rows, or a "
                        "directory with train.tsv, val.tsv and test.tsv",
                        t->path, hkt_split_names[*split], t->n);
    return HKT_OK;
}

static hkt_status read_one_file(hkt_dataset *d, const char *path, hkt_split split, size_t max_len)
{
    table t;
    label_set s = {.n = 0};
    hkt_status status = table_read(&t, path);
    if (status == HKT_OK)
        status = collect_labels(&s, &t);
    if (status == HKT_OK)
        status = fill(d, &t, &s, &split, max_len);
    table_free(&t);
    return status;
}

static hkt_status path_of(char **out, const char *dir, hkt_split split)
{
    char name[16];
    snprintf(name, sizeof name, "%s.tsv", hkt_split_names[split]);
    return hkt_path_join(out, dir, name);
}

static hkt_status read_directory(hkt_dataset *d, const char *dir, hkt_split split, size_t max_len)
{
    char *train_path = NULL, *path = NULL;
    table train = {.n = 0}, t = {.n = 0};
    label_set s = {.n = 0};
    hkt_status status;
    HKT_TRY_GOTO(status, done, path_of(&train_path, dir, HKT_TRAIN));
    HKT_TRY_GOTO(status, done, path_of(&path, dir, split));
    HKT_TRY_GOTO(status, done, table_read(&train, train_path));
    HKT_TRY_GOTO(status, done, collect_labels(&s, &train));
    if (split != HKT_TRAIN)
        HKT_TRY_GOTO(status, done, table_read(&t, path));
    status = fill(d, split == HKT_TRAIN ? &train : &t, &s, NULL, max_len);
done:
    table_free(&train);
    table_free(&t);
    hkt_free(train_path);
    hkt_free(path);
    return status;
}

hkt_status hkt_text_read(hkt_dataset *out, const char *path, hkt_split split, size_t max_len)
{
    struct stat st;
    bool directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    *out = (hkt_dataset){.task = "text", .vocab = 257};
    hkt_status status =
        directory ? read_directory(out, path, split, max_len) : read_one_file(out, path, split, max_len);
    if (status != HKT_OK)
        hkt_dataset_free(out);
    else if (max_len > 0)
        out->max_len = max_len;
    return status;
}

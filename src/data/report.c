#include "data/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "data/listops.h"

/* One column of every table: lengths and labels of a split or part, wherever they are. */
typedef struct {
    const char *name;
    size_t n;
    size_t *length; /* [n] */
    size_t *count;  /* [classes] rows of each class */
    size_t min, max, total;
} column;

typedef struct {
    column col[HKT_SPLITS];
    size_t n, classes;
    const char *const *class_names;
    int name_width;
} columns;

static hkt_status column_create(column *c, const char *name, size_t n, size_t classes)
{
    *c = (column){.name = name, .n = n, .min = SIZE_MAX};
    HKT_TRY(HKT_NEW(&c->length, n));
    return HKT_NEW(&c->count, classes);
}

static void column_set(column *c, size_t i, size_t length, size_t label)
{
    c->length[i] = length;
    c->count[label]++;
    c->total += length;
    c->min = length < c->min ? length : c->min;
    c->max = length > c->max ? length : c->max;
}

/* The first of the most frequent classes. */
static size_t largest_class(const column *c, size_t classes)
{
    size_t largest = 0;
    for (size_t k = 1; k < classes; k++)
        largest = c->count[k] > c->count[largest] ? k : largest;
    return largest;
}

static void columns_free(columns *t)
{
    for (size_t i = 0; i < t->n; i++) {
        hkt_free(t->col[i].length);
        hkt_free(t->col[i].count);
    }
}

static columns columns_make(size_t n, size_t classes, const char *const *class_names)
{
    columns t = {.n = n, .classes = classes, .class_names = class_names, .name_width = 6};
    for (size_t k = 0; class_names && k < classes; k++) {
        int width = (int)strlen(class_names[k]);
        t.name_width = width > t.name_width ? width : t.name_width;
    }
    return t;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static void print_class(FILE *f, const columns *t, size_t k, int width)
{
    if (t->class_names)
        fprintf(f, "%*s", width, t->class_names[k]);
    else
        fprintf(f, "%*zu", width, k);
}

/* distinct, outermost: [n], or NULL. */
static void print_rows(FILE *f, const columns *t, const size_t *distinct, const double *outermost)
{
    fprintf(f, "%-6s %8s", "split", "rows");
    if (distinct)
        fprintf(f, " %9s", "distinct");
    fprintf(f, " %7s %9s %7s %9s %*s%s\n", "min", "mean", "max", "majority", t->name_width, "class",
            outermost ? " outermost" : "");
    for (size_t s = 0; s < t->n; s++) {
        const column *c = &t->col[s];
        size_t largest = largest_class(c, t->classes);
        fprintf(f, "%-6s %8zu", c->name, c->n);
        if (distinct)
            fprintf(f, " %9zu", distinct[s]);
        fprintf(f, " %7zu %9.2f %7zu %9.4f ", c->min, (double)c->total / (double)c->n, c->max,
                (double)c->count[largest] / (double)c->n);
        print_class(f, t, largest, t->name_width);
        if (outermost)
            fprintf(f, " %9.4f", outermost[s]);
        fputc('\n', f);
    }
}

static void print_header(FILE *f, const columns *t, const char *first, int width)
{
    fprintf(f, "\n%-*s", width, first);
    for (size_t s = 0; s < t->n; s++)
        fprintf(f, " %8s", t->col[s].name);
    fputc('\n', f);
}

static void print_classes(FILE *f, const columns *t)
{
    print_header(f, t, "class", t->name_width);
    for (size_t k = 0; k < t->classes; k++) {
        print_class(f, t, k, -t->name_width);
        for (size_t s = 0; s < t->n; s++)
            fprintf(f, " %8.4f", (double)t->col[s].count[k] / (double)t->col[s].n);
        fputc('\n', f);
    }
}

enum { BINS = 12, BAR = 40 };

typedef struct {
    size_t min, max, width, most;
    size_t count[BINS][HKT_SPLITS + 1]; /* the last: all columns together */
} histogram;

static histogram count_lengths(const columns *t)
{
    histogram h = {.min = SIZE_MAX};
    for (size_t s = 0; s < t->n; s++) {
        h.min = t->col[s].min < h.min ? t->col[s].min : h.min;
        h.max = t->col[s].max > h.max ? t->col[s].max : h.max;
    }
    h.width = (h.max - h.min) / BINS + 1;
    for (size_t s = 0; s < t->n; s++)
        for (size_t i = 0; i < t->col[s].n; i++) {
            size_t *bin = h.count[(t->col[s].length[i] - h.min) / h.width];
            bin[s]++;
            bin[HKT_SPLITS]++;
            h.most = bin[HKT_SPLITS] > h.most ? bin[HKT_SPLITS] : h.most;
        }
    return h;
}

/* Bins of equal width over the lengths of all columns; the bar is for all rows together. */
static void print_lengths(FILE *f, const columns *t)
{
    static const char bar[BAR + 1] = "########################################";
    const histogram h = count_lengths(t);
    print_header(f, t, "length", 15);
    for (size_t b = 0; b < BINS && h.min + b * h.width <= h.max; b++) {
        size_t first = h.min + b * h.width, last = first + h.width - 1 < h.max ? first + h.width - 1 : h.max;
        size_t marks = (h.count[b][HKT_SPLITS] * BAR + h.most - 1) / h.most;
        fprintf(f, "%6zu..%-7zu", first, last);
        for (size_t s = 0; s < t->n; s++)
            fprintf(f, " %8zu", h.count[b][s]);
        fprintf(f, "%s%.*s\n", marks ? "  " : "", (int)marks, bar);
    }
}

/* --- a data set --------------------------------------------------------------------------------------------------- */

static hkt_status add_dataset(columns *t, const char *name, const hkt_dataset *d)
{
    column *c = &t->col[t->n++];
    HKT_TRY(column_create(c, name, d->n, t->classes));
    for (size_t i = 0; i < d->n; i++)
        column_set(c, i, d->offset[i + 1] - d->offset[i], (size_t)d->labels[i]);
    return HKT_OK;
}

static void print_overlap(FILE *f, const size_t *overlap)
{
    fprintf(f, "\nduplicates across splits\n");
    for (size_t a = 0; a < HKT_SPLITS; a++)
        for (size_t b = a + 1; b < HKT_SPLITS; b++)
            fprintf(f, "%s rows that occur in %s: %zu\n", hkt_split_names[b], hkt_split_names[a],
                    overlap[a * HKT_SPLITS + b]);
}

/* As in run.json (`data`) and in what hkt-eval --json says of the test split. */
static void print_checksums(FILE *f, const hkt_dataset data[HKT_SPLITS])
{
    fprintf(f, "\nchecksum of train and val: %016" PRIx64 "\nchecksum of test: %016" PRIx64 "\n",
            hkt_dataset_checksum(&data[HKT_VAL], hkt_dataset_checksum(&data[HKT_TRAIN], 0)),
            hkt_dataset_checksum(&data[HKT_TEST], 0));
}

hkt_status hkt_report_dataset(FILE *f, const char *name, const hkt_dataset data[HKT_SPLITS])
{
    size_t overlap[HKT_SPLITS * HKT_SPLITS], distinct[HKT_SPLITS];
    double outermost[HKT_SPLITS];
    const bool listops = strcmp(data[0].task, "listops") == 0;
    columns t = columns_make(0, data[0].classes, data[0].class_names);
    hkt_status status = hkt_dataset_overlap(data, HKT_SPLITS, overlap);
    for (size_t s = 0; s < HKT_SPLITS && status == HKT_OK; s++) {
        status = add_dataset(&t, hkt_split_names[s], &data[s]);
        distinct[s] = data[s].n - overlap[s * HKT_SPLITS + s];
        outermost[s] = listops ? hkt_listops_outermost(&data[HKT_TRAIN], &data[s]) : 0;
    }
    if (status == HKT_OK) {
        fprintf(f, "%s: task %s, vocabulary %zu, %zu classes\n\n", name, data[0].task, data[0].vocab, data[0].classes);
        print_rows(f, &t, distinct, listops ? outermost : NULL);
        print_classes(f, &t);
        print_lengths(f, &t);
        print_overlap(f, overlap);
        print_checksums(f, data);
    }
    columns_free(&t);
    return status;
}

/* --- an import ---------------------------------------------------------------------------------------------------- */

static const char *const part_names[HKT_IMPORT_PARTS] = {"train", "test"};

static hkt_status add_part(columns *t, const char *name, const hkt_import_part *p)
{
    column *c = &t->col[t->n++];
    HKT_TRY(column_create(c, name, p->n, t->classes));
    for (size_t i = 0; i < p->n; i++)
        column_set(c, i, p->row[i].full_length, p->row[i].label);
    return HKT_OK;
}

static void print_changes(FILE *f, const hkt_import *im)
{
    fputc('\n', f);
    for (size_t p = 0; p < HKT_IMPORT_PARTS; p++) {
        size_t cut = 0, not_utf8 = 0;
        for (size_t i = 0; i < im->part[p].n; i++) {
            cut += im->part[p].row[i].length < im->part[p].row[i].full_length;
            not_utf8 += im->part[p].row[i].not_utf8;
        }
        if (im->format->length == 0)
            fprintf(f, "%s rows longer than %zu, cut: %zu; not valid UTF-8, kept as bytes: %zu\n", part_names[p],
                    im->max_length, cut, not_utf8);
    }
    fprintf(f, "written: %zu train, %zu val (held out of train), %zu test\n", im->part[HKT_IMPORT_TRAIN].n - im->n_val,
            im->n_val, im->part[HKT_IMPORT_TEST].n);
}

hkt_status hkt_report_import(FILE *f, const char *name, const hkt_import *im)
{
    columns t = columns_make(0, im->format->classes, im->format->class_names);
    hkt_status status = HKT_OK;
    for (size_t p = 0; p < HKT_IMPORT_PARTS && status == HKT_OK; p++)
        status = add_part(&t, part_names[p], &im->part[p]);
    if (status == HKT_OK) {
        fprintf(f, "%s: task %s as published, %zu classes\n\n", name, im->format->task, t.classes);
        print_rows(f, &t, NULL, NULL);
        print_classes(f, &t);
        print_lengths(f, &t);
        print_changes(f, im);
    }
    columns_free(&t);
    return status;
}

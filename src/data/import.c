#include "data/import.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/splits.h"

static hkt_status part_create(hkt_import_part *p, size_t n)
{
    p->n = n;
    return HKT_NEW(&p->row, n);
}

hkt_status hkt_import_create(hkt_import *out, const hkt_packed_format *format, size_t max_length, size_t n_train,
                             size_t n_test)
{
    *out = (hkt_import){.format = format, .max_length = max_length};
    HKT_TRY(part_create(&out->part[HKT_IMPORT_TRAIN], n_train));
    return part_create(&out->part[HKT_IMPORT_TEST], n_test);
}

void hkt_import_free(hkt_import *im)
{
    for (size_t i = 0; i < HKT_IMPORT_PARTS; i++) {
        hkt_free(im->part[i].row);
        hkt_free(im->part[i].bytes);
    }
    *im = (hkt_import){0};
}

/* Room for `more` bytes. */
static hkt_status grow(hkt_import_part *p, size_t more)
{
    enum { FIRST = 1 << 20 };
    if (p->max_bytes - p->n_bytes >= more)
        return HKT_OK;
    size_t size = p->max_bytes ? 2 * p->max_bytes : FIRST;
    while (size - p->n_bytes < more)
        size *= 2;
    unsigned char *bytes;
    HKT_TRY(HKT_NEW(&bytes, size));
    if (p->n_bytes > 0)
        memcpy(bytes, p->bytes, p->n_bytes);
    hkt_free(p->bytes);
    p->bytes = bytes;
    p->max_bytes = size;
    return HKT_OK;
}

hkt_status hkt_import_add(hkt_import *im, hkt_import_side part, size_t place, int label, const unsigned char *bytes,
                          size_t length, bool not_utf8)
{
    hkt_import_part *p = &im->part[part];
    size_t kept = length < im->max_length ? length : im->max_length;
    HKT_ASSERT(place < p->n && p->row[place].length == 0 && kept > 0);
    HKT_TRY(grow(p, kept));
    memcpy(p->bytes + p->n_bytes, bytes, kept);
    p->row[place] = (hkt_import_row){.begin = p->n_bytes,
                                     .length = kept,
                                     .full_length = length,
                                     .label = (unsigned char)label,
                                     .not_utf8 = not_utf8};
    p->n_bytes += kept;
    return HKT_OK;
}

/* --- order and hold-out ------------------------------------------------------------------------------------------- */

static void draw_order(hkt_import_side part, size_t *index, size_t n)
{
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_DATA, HKT_SUB_ORDER + (uint32_t)part);
    for (size_t i = 0; i < n; i++)
        index[i] = i;
    hkt_rng_shuffle(&rng, index, n);
}

/* Moves the first tenth of every class to the front; both parts keep their order. scratch: [n]. Returns the size of the
 * front. */
static size_t hold_out(const hkt_import_part *p, size_t *index, size_t *scratch)
{
    size_t quota[256] = {0}, front = 0, back = 0;
    for (size_t i = 0; i < p->n; i++)
        quota[p->row[i].label]++;
    for (size_t c = 0; c < 256; c++)
        quota[c] = (quota[c] + HKT_HOLD_OUT - 1) / HKT_HOLD_OUT;
    for (size_t i = 0; i < p->n; i++) {
        size_t *left = &quota[p->row[index[i]].label];
        if (*left > 0) {
            --*left;
            index[front++] = index[i];
        } else {
            scratch[back++] = index[i];
        }
    }
    memcpy(index + front, scratch, back * sizeof *index);
    return front;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void gather(const hkt_import_part *p, const size_t *index, size_t n, unsigned char *bytes, int32_t *lengths,
                   unsigned char *labels)
{
    for (size_t i = 0; i < n; i++) {
        const hkt_import_row *row = &p->row[index[i]];
        HKT_ASSERT(row->length > 0);
        memcpy(bytes, p->bytes + row->begin, row->length);
        bytes += row->length;
        lengths[i] = (int32_t)row->length;
        labels[i] = row->label;
    }
}

static size_t total_bytes(const hkt_import_part *p, const size_t *index, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += p->row[index[i]].length;
    return total;
}

static hkt_status write_split(const hkt_import *im, const hkt_import_part *p, const size_t *index, size_t n,
                              const hkt_splits *out, hkt_split split)
{
    unsigned char *bytes = NULL, *labels = NULL;
    int32_t *lengths = NULL;
    hkt_packed_rows rows = {.n = n, .n_bytes = total_bytes(p, index, n), .max_length = im->max_length};
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&bytes, rows.n_bytes));
    HKT_TRY_GOTO(status, done, HKT_NEW(&lengths, n));
    HKT_TRY_GOTO(status, done, HKT_NEW(&labels, n));
    gather(p, index, n, bytes, lengths, labels);
    rows.bytes = bytes;
    rows.lengths = lengths;
    rows.labels = labels;
    status = hkt_packed_write(hkt_splits_stream(out, split), im->format, split, &rows);
    status = status == HKT_OK ? hkt_splits_flush(out, split) : hkt_fail_context(status, "%s", out->path[split]);
done:
    hkt_free(bytes);
    hkt_free(lengths);
    hkt_free(labels);
    return status;
}

/* index, scratch: [n of the larger part]. */
static hkt_status write_all(hkt_import *im, const hkt_splits *out, size_t *index, size_t *scratch)
{
    const hkt_import_part *train = &im->part[HKT_IMPORT_TRAIN], *test = &im->part[HKT_IMPORT_TEST];
    draw_order(HKT_IMPORT_TRAIN, index, train->n);
    im->n_val = hold_out(train, index, scratch);
    HKT_TRY(write_split(im, train, index, im->n_val, out, HKT_VAL));
    HKT_TRY(write_split(im, train, index + im->n_val, train->n - im->n_val, out, HKT_TRAIN));
    draw_order(HKT_IMPORT_TEST, index, test->n);
    return write_split(im, test, index, test->n, out, HKT_TEST);
}

hkt_status hkt_import_write(hkt_import *im, const char *dir)
{
    size_t *index = NULL, *scratch = NULL;
    size_t n_train = im->part[HKT_IMPORT_TRAIN].n, n_test = im->part[HKT_IMPORT_TEST].n;
    hkt_splits out = {.path = {NULL}};
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&index, n_train > n_test ? n_train : n_test));
    HKT_TRY_GOTO(status, done, HKT_NEW(&scratch, n_train));
    HKT_TRY_GOTO(status, done, hkt_splits_open(&out, dir, "safetensors"));
    HKT_TRY_GOTO(status, done, write_all(im, &out, index, scratch));
    status = hkt_splits_commit(&out);
done:
    hkt_splits_abort(&out);
    hkt_free(index);
    hkt_free(scratch);
    return status;
}

#include "base/safetensors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

enum { PREFIX = 8, HEADER_MAX = 100000000 };

/* A tensor with its place in the data section, for sorting. */
typedef struct {
    hkt_tensor tensor;
    size_t begin, end, order;
} entry;

struct hkt_safetensors {
    char *path, *bytes;
    size_t size;                /* of the file */
    json_t *header;             /* owns the names and metadata */
    hkt_tensor *tensor;         /* [count], in the order of their data */
    const hkt_tensor **by_name; /* [count], for the search */
    size_t count;
};

/* --- one tensor --------------------------------------------------------------------------------------------------- */

static hkt_status read_dtype(const hkt_safetensors *f, const json_t *info, hkt_tensor *t)
{
    const char *name = json_string_value(json_object_get(info, "dtype"));
    for (int d = HKT_F64; name && d <= HKT_U8; d++)
        if (strcmp(name, hkt_dtype_name((hkt_dtype)d)) == 0) {
            t->dtype = (hkt_dtype)d;
            return HKT_OK;
        }
    return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected dtype F64, F32, F16, BF16, I64, I32 or U8, found %s%s%s",
                    f->path, t->name, name ? "'" : "", name ? name : "none", name ? "'" : "");
}

/* A JSON integer that fits size_t and is not negative. */
static bool to_size(const json_t *v, size_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > SIZE_MAX)
        return false;
    *out = (size_t)json_integer_value(v);
    return true;
}

static hkt_status read_shape(const hkt_safetensors *f, const json_t *info, hkt_tensor *t)
{
    const json_t *shape = json_object_get(info, "shape");
    t->ndim = json_array_size(shape);
    t->count = 1;
    if (!json_is_array(shape))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected 'shape' to be an array", f->path, t->name);
    if (t->ndim > HKT_MAX_DIMS)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected at most %d dimensions, found %zu", f->path, t->name,
                        HKT_MAX_DIMS, t->ndim);
    for (size_t i = 0; i < t->ndim; i++) {
        if (!to_size(json_array_get(shape, i), &t->shape[i]))
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': dimension %zu: expected a non-negative integer", f->path,
                            t->name, i);
        if (!hkt_mul_size(t->count, t->shape[i], &t->count))
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': product of the shape overflows", f->path, t->name);
    }
    return HKT_OK;
}

static hkt_status read_offsets(const hkt_safetensors *f, const json_t *info, size_t data_size, entry *e)
{
    const hkt_tensor *t = &e->tensor;
    const json_t *offsets = json_object_get(info, "data_offsets");
    size_t bytes;
    if (json_array_size(offsets) != 2 || !to_size(json_array_get(offsets, 0), &e->begin) ||
        !to_size(json_array_get(offsets, 1), &e->end))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected 'data_offsets' to be two non-negative integers", f->path,
                        t->name);
    if (e->begin > e->end || e->end > data_size)
        return hkt_fail(HKT_EINPUT,
                        "%s: tensor '%s': expected ascending offsets within %zu bytes of data, found [%zu, %zu]",
                        f->path, t->name, data_size, e->begin, e->end);
    if (!hkt_mul_size(t->count, hkt_dtype_size(t->dtype), &bytes))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': size in bytes overflows", f->path, t->name);
    if (bytes != e->end - e->begin)
        return hkt_fail(HKT_EINPUT,
                        "%s: tensor '%s': expected %zu bytes for its shape and dtype, found offsets [%zu, %zu]",
                        f->path, t->name, bytes, e->begin, e->end);
    return HKT_OK;
}

static hkt_status read_entry(const hkt_safetensors *f, const char *name, const json_t *info, const char *data,
                             size_t data_size, entry *e)
{
    e->tensor.name = name;
    if (!json_is_object(info))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected an object with dtype, shape and data_offsets", f->path,
                        name);
    HKT_TRY(read_dtype(f, info, &e->tensor));
    HKT_TRY(read_shape(f, info, &e->tensor));
    HKT_TRY(read_offsets(f, info, data_size, e));
    e->tensor.data = data + e->begin;
    return HKT_OK;
}

/* --- all tensors -------------------------------------------------------------------------------------------------- */

static hkt_status check_metadata(const hkt_safetensors *f, json_t *meta)
{
    if (!json_is_object(meta))
        return hkt_fail(HKT_EINPUT, "%s: expected '__metadata__' to be an object", f->path);
    for (void *at = json_object_iter(meta); at; at = json_object_iter_next(meta, at))
        if (!json_is_string(json_object_iter_value(at)))
            return hkt_fail(HKT_EINPUT, "%s: metadata '%s': expected a string", f->path, json_object_iter_key(at));
    return HKT_OK;
}

static int by_offset(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) /* empty tensors before the one that starts where they are */
        return x->end < y->end ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Sorted by offset, the tensors must cover the data without hole or overlap. */
static hkt_status check_coverage(const hkt_safetensors *f, const entry *e, size_t n, size_t data_size)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (e[i].begin != at)
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': %s: expected to begin at offset %zu, found %zu", f->path,
                            e[i].tensor.name, e[i].begin > at ? "hole in the data" : "overlaps another tensor", at,
                            e[i].begin);
        at = e[i].end;
    }
    if (at != data_size)
        return hkt_fail(HKT_EINPUT, "%s: expected %zu bytes of data, found %zu", f->path, at, data_size);
    return HKT_OK;
}

static int compare_names(const void *a, const void *b)
{
    const hkt_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Takes the first n of e. */
static hkt_status store(hkt_safetensors *f, const entry *e, size_t n)
{
    HKT_TRY(HKT_NEW(&f->tensor, n));
    HKT_TRY(hkt_alloc((void **)&f->by_name, n, sizeof *f->by_name, NULL));
    for (size_t i = 0; i < n; i++) {
        f->tensor[i] = e[i].tensor;
        f->by_name[i] = &f->tensor[i];
    }
    qsort(f->by_name, n, sizeof *f->by_name, compare_names);
    f->count = n;
    return HKT_OK;
}

static hkt_status read_entries(hkt_safetensors *f, entry *e, const char *data, size_t data_size)
{
    size_t n = 0;
    for (void *at = json_object_iter(f->header); at; at = json_object_iter_next(f->header, at)) {
        const char *name = json_object_iter_key(at);
        json_t *value = json_object_iter_value(at);
        if (strcmp(name, "__metadata__") == 0) {
            HKT_TRY(check_metadata(f, value));
            continue;
        }
        e[n].order = n;
        HKT_TRY(read_entry(f, name, value, data, data_size, &e[n]));
        n++;
    }
    qsort(e, n, sizeof *e, by_offset);
    HKT_TRY(check_coverage(f, e, n, data_size));
    return store(f, e, n);
}

/* --- file --------------------------------------------------------------------------------------------------------- */

/* Splits the file into header and data. */
static hkt_status read_header(hkt_safetensors *f, size_t *length)
{
    uint64_t n;
    char what[512];
    if (f->size < PREFIX)
        return hkt_fail(HKT_EINPUT, "%s: expected at least %d bytes, found %zu", f->path, PREFIX, f->size);
    memcpy(&n, f->bytes, sizeof n);
    if (n > HEADER_MAX)
        return hkt_fail(HKT_EINPUT, "%s: expected a header of at most %d bytes, found length %llu", f->path, HEADER_MAX,
                        (unsigned long long)n);
    if (n > f->size - PREFIX)
        return hkt_fail(HKT_EINPUT, "%s: truncated: expected a header of %llu bytes, found %zu", f->path,
                        (unsigned long long)n, f->size - PREFIX);
    *length = (size_t)n;
    snprintf(what, sizeof what, "%s: header", f->path);
    HKT_TRY(hkt_json_parse(&f->header, f->bytes + PREFIX, *length, what));
    if (!json_is_object(f->header))
        return hkt_fail(HKT_EINPUT, "%s: expected an object", what);
    return HKT_OK;
}

static hkt_status read_file(hkt_safetensors *f, const char *path)
{
    size_t length;
    entry *e = NULL;
    HKT_TRY(hkt_strdup(&f->path, path));
    HKT_TRY(hkt_file_read(path, &f->bytes, &f->size));
    HKT_TRY(read_header(f, &length));
    HKT_TRY(HKT_NEW(&e, json_object_size(f->header)));
    hkt_status status = read_entries(f, e, f->bytes + PREFIX + length, f->size - PREFIX - length);
    hkt_free(e);
    return status;
}

hkt_status hkt_safetensors_read(hkt_safetensors **out, const char *path)
{
    hkt_safetensors *f = NULL;
    *out = NULL;
    HKT_TRY(HKT_NEW(&f, 1));
    hkt_status status = read_file(f, path);
    if (status == HKT_OK)
        *out = f;
    else
        hkt_safetensors_free(f);
    return status;
}

void hkt_safetensors_free(hkt_safetensors *f)
{
    if (!f)
        return;
    json_decref(f->header);
    hkt_free(f->tensor);
    hkt_free(f->by_name);
    hkt_free(f->bytes);
    hkt_free(f->path);
    hkt_free(f);
}

size_t hkt_safetensors_count(const hkt_safetensors *f)
{
    return f->count;
}

const hkt_tensor *hkt_safetensors_at(const hkt_safetensors *f, size_t i)
{
    HKT_ASSERT(i < f->count);
    return &f->tensor[i];
}

const hkt_tensor *hkt_safetensors_find(const hkt_safetensors *f, const char *name)
{
    const hkt_tensor key = {.name = name}, *p = &key;
    const hkt_tensor **found = bsearch(&p, f->by_name, f->count, sizeof *f->by_name, compare_names);
    return found ? *found : NULL;
}

const char *hkt_safetensors_meta(const hkt_safetensors *f, const char *key)
{
    return json_string_value(json_object_get(json_object_get(f->header, "__metadata__"), key));
}

const char *hkt_safetensors_path(const hkt_safetensors *f)
{
    return f->path;
}

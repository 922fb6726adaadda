#include "base/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/safetensors_internal.h"
#include "base/signature.h"

enum { PREFIX = 8, HEADER_MAX = 100000000, PIECE = 1 << 16 /* of data, a multiple of every element */ };

/* A tensor with its place in the data section, for sorting. */
typedef struct {
    hkt_tensor tensor;
    size_t begin, end, order;
} entry;

struct hkt_safetensors {
    char *path;
    int fd;
    size_t size;                /* of the file */
    char *bytes;                /* [PREFIX + length of the header] */
    json_t *header;             /* owns the names and metadata */
    uint64_t *checksum;         /* [count], in the order of their data; NULL: the file has none */
    hkt_tensor *tensor;         /* [count], in the order of their data */
    const hkt_tensor **by_name; /* [count], for the search */
    size_t count;
};

/* --- one tensor --------------------------------------------------------------------------------------------------- */

static hkt_status read_dtype(const hkt_safetensors *f, const json_t *info, hkt_tensor *t)
{
    const char *name = json_string_value(json_object_get(info, "dtype"));
    for (int d = HKT_F64; name && d <= HKT_F8_E5M2; d++)
        if (strcmp(name, hkt_dtype_name((hkt_dtype)d)) == 0) {
            t->dtype = (hkt_dtype)d;
            return HKT_OK;
        }
    return hkt_fail(HKT_EINPUT,
                    "%s: tensor '%s': expected a dtype such as F64, F32, F16, BF16, I64, I32 or U8, found %s%s%s",
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
    hkt_json_text found;
    t->ndim = json_array_size(shape);
    t->count = 1;
    if (!json_is_array(shape))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected 'shape' to be an array, found %s", f->path, t->name,
                        hkt_json_describe(shape, &found));
    if (t->ndim > HKT_MAX_DIMS)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected at most %d dimensions, found %zu", f->path, t->name,
                        HKT_MAX_DIMS, t->ndim);
    for (size_t i = 0; i < t->ndim; i++) {
        if (!to_size(json_array_get(shape, i), &t->shape[i]))
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': dimension %zu: expected a non-negative integer, found %s",
                            f->path, t->name, i, hkt_json_describe(json_array_get(shape, i), &found));
        if (!hkt_mul_size(t->count, t->shape[i], &t->count))
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': product of the shape overflows: found %zu x %zu", f->path,
                            t->name, t->count, t->shape[i]);
    }
    return HKT_OK;
}

static hkt_status read_offsets(const hkt_safetensors *f, const json_t *info, size_t data_size, entry *e)
{
    const hkt_tensor *t = &e->tensor;
    const json_t *offsets = json_object_get(info, "data_offsets");
    hkt_json_text found;
    size_t bytes;
    if (json_array_size(offsets) != 2 || !to_size(json_array_get(offsets, 0), &e->begin) ||
        !to_size(json_array_get(offsets, 1), &e->end))
        return hkt_fail(HKT_EINPUT,
                        "%s: tensor '%s': expected 'data_offsets' to be two non-negative integers, found %s", f->path,
                        t->name, hkt_json_describe(offsets, &found));
    if (e->begin > e->end || e->end > data_size)
        return hkt_fail(HKT_EINPUT,
                        "%s: tensor '%s': expected ascending offsets within %zu bytes of data, found [%zu, %zu]",
                        f->path, t->name, data_size, e->begin, e->end);
    if (!hkt_mul_size(t->count, hkt_dtype_size(t->dtype), &bytes))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': size in bytes overflows: found %zu elements of %s", f->path,
                        t->name, t->count, hkt_dtype_name(t->dtype));
    if (bytes != e->end - e->begin)
        return hkt_fail(HKT_EINPUT,
                        "%s: tensor '%s': expected %zu bytes for its shape and dtype, found offsets [%zu, %zu]",
                        f->path, t->name, bytes, e->begin, e->end);
    return HKT_OK;
}

/* data: offset of the data in the file. */
static hkt_status read_entry(const hkt_safetensors *f, const char *name, const json_t *info, size_t data, entry *e)
{
    hkt_json_text found;
    e->tensor.name = name;
    e->tensor.file = f;
    if (!json_is_object(info))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected an object with dtype, shape and data_offsets, found %s",
                        f->path, name, hkt_json_describe(info, &found));
    HKT_TRY(read_dtype(f, info, &e->tensor));
    HKT_TRY(read_shape(f, info, &e->tensor));
    HKT_TRY(read_offsets(f, info, f->size - data, e));
    e->tensor.offset = data + e->begin;
    return HKT_OK;
}

/* --- all tensors -------------------------------------------------------------------------------------------------- */

static hkt_status check_metadata(const hkt_safetensors *f, json_t *meta)
{
    hkt_json_text found;
    if (!json_is_object(meta))
        return hkt_fail(HKT_EINPUT, "%s: expected '__metadata__' to be an object, found %s", f->path,
                        hkt_json_describe(meta, &found));
    for (void *at = json_object_iter(meta); at; at = json_object_iter_next(meta, at))
        if (!json_is_string(json_object_iter_value(at)))
            return hkt_fail(HKT_EINPUT, "%s: metadata '%s': expected a string, found %s", f->path,
                            json_object_iter_key(at), hkt_json_describe(json_object_iter_value(at), &found));
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
        f->tensor[i].checksum = f->checksum ? &f->checksum[i] : NULL;
        f->by_name[i] = &f->tensor[i];
    }
    qsort(f->by_name, n, sizeof *f->by_name, compare_names);
    f->count = n;
    return HKT_OK;
}

/* data: offset of the data in the file. */
static hkt_status read_entries(hkt_safetensors *f, entry *e, size_t data)
{
    size_t n = 0;
    for (void *at = json_object_iter(f->header); at; at = json_object_iter_next(f->header, at)) {
        const char *name = json_object_iter_key(at);
        if (strcmp(name, "__metadata__") == 0)
            continue;
        e[n].order = n;
        HKT_TRY(read_entry(f, name, json_object_iter_value(at), data, &e[n]));
        n++;
    }
    qsort(e, n, sizeof *e, by_offset);
    HKT_TRY(check_coverage(f, e, n, f->size - data));
    return store(f, e, n);
}

/* --- checksums ---------------------------------------------------------------------------------------------------- */

static hkt_status damaged_header(const hkt_safetensors *f, uint64_t expected, uint64_t found)
{
    return hkt_fail(HKT_EINPUT,
                    "%s: header: expected checksum %016" PRIx64 ", found %016" PRIx64
                    ": it is damaged, or a program changed it and kept the metadata '" HKT_CHECKSUM_KEY "'",
                    f->path, expected, found);
}

/* Of the length, the header and its padding, with '0' for the digits of the sum itself. size: of them all. */
static hkt_status check_header_sum(const hkt_safetensors *f, size_t size, uint64_t expected)
{
    static const char zeros[] = "0000000000000000";
    hkt_checksum c;
    const char *start = memmem(f->bytes, size, HKT_CHECKSUM_START, sizeof HKT_CHECKSUM_START - 1);
    if (start)
        start += sizeof HKT_CHECKSUM_START - 1;
    if (start && (size_t)(f->bytes + size - start) < HKT_CHECKSUM_DIGITS)
        start = NULL; /* of something else */
    hkt_checksum_start(&c);
    if (start) {
        hkt_checksum_add(&c, f->bytes, (size_t)(start - f->bytes));
        hkt_checksum_add(&c, zeros, HKT_CHECKSUM_DIGITS);
        start += HKT_CHECKSUM_DIGITS;
        hkt_checksum_add(&c, start, (size_t)(f->bytes + size - start));
    }
    uint64_t found = hkt_checksum_end(&c);
    return start && found == expected ? HKT_OK : damaged_header(f, expected, found);
}

/* Reads the checksums when there are any. size: of length, header and padding. */
static hkt_status read_checksums(hkt_safetensors *f, size_t size)
{
    const json_t *meta = json_object_get(f->header, "__metadata__");
    const char *text = json_string_value(json_object_get(meta, HKT_CHECKSUM_KEY)), *at;
    const size_t n = json_object_size(f->header) - 1;
    uint64_t header;
    if (!text)
        return HKT_OK;
    if (!(at = hkt_checksum_parse(text, &header)))
        return hkt_fail(HKT_EINPUT, "%s: metadata '" HKT_CHECKSUM_KEY "': expected %d digits, found '%.40s'", f->path,
                        HKT_CHECKSUM_DIGITS, text);
    HKT_TRY(check_header_sum(f, size, header));
    HKT_TRY(HKT_NEW(&f->checksum, n));
    for (size_t i = 0; i < n; i++)
        if (*at != ' ' || !(at = hkt_checksum_parse(at + 1, &f->checksum[i])))
            return hkt_fail(HKT_EINPUT,
                            "%s: metadata '" HKT_CHECKSUM_KEY "': expected checksums of %zu tensors, found %zu",
                            f->path, n, i);
    if (*at)
        return hkt_fail(HKT_EINPUT,
                        "%s: metadata '" HKT_CHECKSUM_KEY "': expected checksums of %zu tensors, found more", f->path,
                        n);
    return HKT_OK;
}

/* --- file --------------------------------------------------------------------------------------------------------- */

/* What a header starts with; spaces may come before. start: [n] bytes behind the length. */
static bool looks_like_header(const char *start, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", start[i]) || start[i] == 0)
            return start[i] == '{' || start[i] == '[';
    return true; /* nothing but spaces: too little to tell */
}

/* Checks the length of the header; reads it. *size: of length, header and padding. */
static hkt_status read_header(hkt_safetensors *f, size_t *size)
{
    enum { START = 64 };
    char start[START], what[512];
    uint64_t n;
    hkt_json_text found;
    size_t have = f->size < START ? f->size : START;
    HKT_TRY(hkt_file_read_at(f->fd, f->path, 0, start, have));
    if (have < PREFIX)
        return hkt_fail(HKT_EINPUT, "%s: expected at least %d bytes, found %zu", f->path, PREFIX, f->size);
    if (!looks_like_header(start + PREFIX, have - PREFIX))
        return hkt_not_a(f->path, "a safetensors file", "'{' after 8 bytes", start, have);
    memcpy(&n, start, sizeof n);
    if (n > HEADER_MAX)
        return hkt_fail(HKT_EINPUT, "%s: expected a header of at most %d bytes, found length %llu", f->path, HEADER_MAX,
                        (unsigned long long)n);
    if (n > f->size - PREFIX)
        return hkt_fail(HKT_EINPUT, "%s: truncated: expected a header of %llu bytes, found %zu", f->path,
                        (unsigned long long)n, f->size - PREFIX);
    *size = PREFIX + (size_t)n;
    HKT_TRY(hkt_alloc((void **)&f->bytes, *size, 1, f->path));
    HKT_TRY(hkt_file_read_at(f->fd, f->path, 0, f->bytes, *size));
    snprintf(what, sizeof what, "%s: header", f->path);
    HKT_TRY(hkt_json_parse(&f->header, f->bytes + PREFIX, (size_t)n, what));
    if (!json_is_object(f->header))
        return hkt_fail(HKT_EINPUT, "%s: expected an object, found %s", what, hkt_json_describe(f->header, &found));
    return HKT_OK;
}

/* size: of length, header and padding. */
static hkt_status read_tensors(hkt_safetensors *f, size_t size)
{
    entry *e = NULL;
    HKT_TRY(HKT_NEW(&e, json_object_size(f->header)));
    hkt_status status = read_entries(f, e, size);
    hkt_free(e);
    return status;
}

static hkt_status read_file(hkt_safetensors *f, const char *path)
{
    size_t header;
    HKT_TRY(hkt_strdup(&f->path, path));
    HKT_TRY(hkt_file_open(path, &f->fd, &f->size));
    HKT_TRY(read_header(f, &header));
    json_t *meta = json_object_get(f->header, "__metadata__");
    if (meta)
        HKT_TRY(check_metadata(f, meta));
    HKT_TRY(read_checksums(f, header));
    return read_tensors(f, header);
}

/* The header is f's already. */
static hkt_status read_headless(hkt_safetensors *f, const char *path, size_t data)
{
    HKT_TRY(hkt_strdup(&f->path, path));
    HKT_TRY(hkt_file_open(path, &f->fd, &f->size));
    if (f->size < data)
        return hkt_fail(HKT_EINPUT, "%s: expected at least %zu bytes, found %zu", path, data, f->size);
    return read_tensors(f, data);
}

hkt_status hkt_safetensors_read_foreign(hkt_safetensors **out, const char *path, json_t *header, size_t data)
{
    hkt_safetensors *f = NULL;
    *out = NULL;
    hkt_status status = HKT_NEW(&f, 1);
    if (status != HKT_OK) {
        json_decref(header);
        return status;
    }
    f->fd = -1;
    f->header = header;
    status = header ? read_headless(f, path, data) : read_file(f, path);
    if (status == HKT_OK)
        *out = f;
    else
        hkt_safetensors_free(f);
    return status;
}

hkt_status hkt_safetensors_read(hkt_safetensors **out, const char *path)
{
    HKT_TRY(hkt_safetensors_read_foreign(out, path, NULL, 0));
    if (!(*out)->checksum)
        hkt_note("%s: has no checksum: damage of its data would not be noticed", path);
    return HKT_OK;
}

void hkt_safetensors_free(hkt_safetensors *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    json_decref(f->header);
    hkt_free(f->checksum);
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

bool hkt_safetensors_has_checksum(const hkt_safetensors *f)
{
    return f->checksum != NULL;
}

/* --- data --------------------------------------------------------------------------------------------------------- */

static hkt_status check_sum(const hkt_tensor *t, uint64_t found)
{
    if (!t->checksum || found == *t->checksum)
        return HKT_OK;
    return hkt_fail(HKT_EINPUT,
                    "%s: tensor '%s': expected checksum %016" PRIx64 ", found %016" PRIx64 ": its data are damaged",
                    t->file->path, t->name, *t->checksum, found);
}

hkt_status hkt_tensor_each(const hkt_tensor *t, hkt_tensor_take *take, void *out)
{
    _Alignas(8) char piece[PIECE];
    const size_t size = hkt_dtype_size(t->dtype), most = PIECE / size;
    hkt_checksum c;
    if (t->data)
        return take(t, 0, t->count, t->data, out);
    hkt_checksum_start(&c);
    for (size_t first = 0, n; first < t->count; first += n) {
        n = t->count - first < most ? t->count - first : most;
        HKT_TRY(hkt_file_read_at(t->file->fd, t->file->path, t->offset + first * size, piece, n * size));
        if (t->checksum)
            hkt_checksum_add(&c, piece, n * size);
        HKT_TRY(take(t, first, n, piece, out));
    }
    return check_sum(t, hkt_checksum_end(&c));
}

hkt_status hkt_tensor_range(const hkt_tensor *t, size_t begin, size_t n, hkt_tensor_take *take, void *out)
{
    _Alignas(8) char piece[PIECE];
    const size_t size = hkt_dtype_size(t->dtype), most = PIECE / size;
    HKT_ASSERT(begin <= t->count && n <= t->count - begin);
    if (t->data)
        return take(t, 0, n, (const char *)t->data + begin * size, out);
    for (size_t first = 0, m; first < n; first += m) {
        m = n - first < most ? n - first : most;
        HKT_TRY(hkt_file_read_at(t->file->fd, t->file->path, t->offset + (begin + first) * size, piece, m * size));
        HKT_TRY(take(t, first, m, piece, out));
    }
    return HKT_OK;
}

static hkt_status take_nothing(const hkt_tensor *t, size_t first, size_t n, const char *bytes, void *out)
{
    (void)t, (void)first, (void)n, (void)bytes, (void)out;
    return HKT_OK;
}

hkt_status hkt_safetensors_verify(const hkt_safetensors *f)
{
    for (size_t i = 0; i < f->count; i++)
        HKT_TRY(hkt_tensor_each(&f->tensor[i], take_nothing, NULL));
    return HKT_OK;
}

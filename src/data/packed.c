#include "data/packed.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "data/lines.h"

hkt_status hkt_packed_write(FILE *f, const hkt_packed_format *format, hkt_split split, const hkt_packed_rows *rows)
{
    char max_length[24];
    snprintf(max_length, sizeof max_length, "%zu", rows->max_length);
    const char *const meta[] = {"hkt.file",       "data set",  "hkt.task",
                                format->task,     "hkt.split", hkt_split_names[split],
                                "hkt.max_length", max_length,  NULL};
    const hkt_tensor_out tensors[] = {{"bytes", HKT_U8, 1, {rows->n_bytes}, rows->bytes},
                                      {"lengths", HKT_I32, 1, {rows->n}, rows->lengths},
                                      {"labels", HKT_U8, 1, {rows->n}, rows->labels}};
    return hkt_safetensors_print(f, tensors, sizeof tensors / sizeof *tensors, meta);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct {
    const hkt_packed_format *format;
    const hkt_safetensors *file;
    const char *path;
    size_t max_len;
} reader;

static hkt_status check_meta(const reader *r, const char *key, const char *expected)
{
    const char *found = hkt_safetensors_meta(r->file, key);
    if (!found)
        return hkt_fail(HKT_EINPUT, "%s: metadata '%s': expected '%s', found none", r->path, key, expected);
    if (strcmp(found, expected) != 0)
        return hkt_fail(HKT_EINPUT, "%s: metadata '%s': expected '%s', found '%s'", r->path, key, expected,
                        hkt_span_quote((hkt_span){found, found + strlen(found)}).text);
    return HKT_OK;
}

static hkt_status find(const reader *r, const char *name, hkt_dtype dtype, const hkt_tensor **out)
{
    const hkt_tensor *t = hkt_safetensors_find(r->file, name);
    if (!t)
        return hkt_fail(HKT_EINPUT, "%s: expected the tensor '%s', found none", r->path, name);
    if (t->dtype != dtype || t->ndim != 1)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected %s with 1 dimension, found %s with %zu", r->path, name,
                        hkt_dtype_name(dtype), hkt_dtype_name(t->dtype), t->ndim);
    *out = t;
    return HKT_OK;
}

static hkt_status check_length(const reader *r, size_t row, int32_t length)
{
    size_t low = r->format->length ? r->format->length : 1, high = r->format->length ? low : INT32_MAX;
    if (length < 1 || (size_t)length < low || (size_t)length > high)
        return hkt_fail(HKT_EINPUT, "%s: tensor 'lengths': expected %zu..%zu at [%zu], found %d", r->path, low, high,
                        row, (int)length);
    if (r->max_len > 0 && (size_t)length > r->max_len)
        return hkt_fail(HKT_EINPUT, "%s: expected at most %zu tokens (" HKT_MAX_LEN_HINT ") in row %zu, found %d",
                        r->path, r->max_len, row, (int)length);
    return HKT_OK;
}

/* lengths: [n]. */
static hkt_status fill_offsets(const reader *r, hkt_dataset *d, const int32_t *lengths, size_t n, size_t n_bytes)
{
    HKT_TRY(HKT_NEW(&d->offset, n + 1));
    for (size_t i = 0; i < n; i++) {
        HKT_TRY(check_length(r, i, lengths[i]));
        d->offset[i + 1] = d->offset[i] + (size_t)lengths[i];
        d->max_len = (size_t)lengths[i] > d->max_len ? (size_t)lengths[i] : d->max_len;
        if (d->offset[i + 1] > n_bytes)
            break;
        d->n++;
    }
    if (d->n != n || d->offset[n] != n_bytes)
        return hkt_fail(HKT_EINPUT, "%s: expected %zu bytes, the sum of the lengths, found %s", r->path, n_bytes,
                        d->n != n ? "more" : "fewer");
    return HKT_OK;
}

static hkt_status fill_labels(const reader *r, hkt_dataset *d, const hkt_tensor *labels)
{
    HKT_TRY(HKT_NEW(&d->labels, labels->count));
    HKT_TRY(hkt_tensor_to_i32(labels, d->labels));
    for (size_t i = 0; i < labels->count; i++)
        if ((size_t)d->labels[i] >= d->classes)
            return hkt_fail(HKT_EINPUT, "%s: tensor 'labels': expected 0..%zu at [%zu], found %d", r->path,
                            d->classes - 1, i, (int)d->labels[i]);
    return HKT_OK;
}

static hkt_status fill_tokens(const reader *r, hkt_dataset *d, const hkt_tensor *bytes)
{
    HKT_TRY(HKT_NEW(&d->tokens, bytes->count));
    HKT_TRY(hkt_tensor_to_i32(bytes, d->tokens));
    for (size_t i = 0; i < bytes->count; i++)
        d->tokens[i] += r->format->first_token;
    return HKT_OK;
}

static hkt_status fill(const reader *r, hkt_dataset *d, hkt_split split)
{
    const hkt_tensor *bytes = NULL, *lengths = NULL, *labels = NULL;
    int32_t *length;
    HKT_TRY(check_meta(r, "hkt.file", "data set"));
    HKT_TRY(check_meta(r, "hkt.task", r->format->task));
    HKT_TRY(check_meta(r, "hkt.split", hkt_split_names[split]));
    HKT_TRY(find(r, "bytes", HKT_U8, &bytes));
    HKT_TRY(find(r, "lengths", HKT_I32, &lengths));
    HKT_TRY(find(r, "labels", HKT_U8, &labels));
    if (lengths->count == 0 || labels->count != lengths->count)
        return hkt_fail(HKT_EINPUT, "%s: expected as many lengths as labels and at least 1, found %zu and %zu", r->path,
                        lengths->count, labels->count);
    HKT_TRY(HKT_NEW(&length, lengths->count));
    hkt_status status = hkt_tensor_to_i32(lengths, length);
    if (status == HKT_OK)
        status = fill_offsets(r, d, length, lengths->count, bytes->count);
    hkt_free(length);
    HKT_TRY(status);
    HKT_TRY(fill_labels(r, d, labels));
    return fill_tokens(r, d, bytes);
}

static hkt_status read_file(hkt_dataset *d, const hkt_packed_format *format, const char *path, hkt_split split,
                            size_t max_len)
{
    hkt_safetensors *file;
    HKT_TRY(hkt_safetensors_read(&file, path));
    reader r = {.format = format, .file = file, .path = path, .max_len = max_len};
    hkt_status status = fill(&r, d, split);
    hkt_safetensors_free(file);
    return status;
}

hkt_status hkt_packed_read(hkt_dataset *out, const hkt_packed_format *format, const char *dir, hkt_split split,
                           size_t max_len)
{
    char name[32], *path;
    *out = (hkt_dataset){.task = format->task,
                         .vocab = (size_t)format->first_token + 256,
                         .classes = format->classes,
                         .class_names = format->class_names};
    snprintf(name, sizeof name, "%s.safetensors", hkt_split_names[split]);
    HKT_TRY(hkt_path_join(&path, dir, name));
    hkt_status status = hkt_file_exists(path)
                            ? read_file(out, format, path, split, max_len)
                            : hkt_fail(HKT_EINPUT, "%s: expected the file '%s' as written by 'hkt-data %s', found none",
                                       dir, name, format->task);
    hkt_free(path);
    if (status != HKT_OK)
        hkt_dataset_free(out);
    else if (max_len > 0)
        out->max_len = max_len;
    return status;
}

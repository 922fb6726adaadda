/* safetensors_write.c - the writer of safetensors.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "base/safetensors_internal.h"
#include "base/utf8.h"

static hkt_status out_of_memory(void)
{
    return hkt_fail(HKT_ESYSTEM, "out of memory for the safetensors header");
}

static size_t bytes_of(const hkt_tensor_out *t)
{
    size_t bytes = hkt_dtype_size(t->dtype);
    HKT_ASSERT(t->ndim <= HKT_MAX_DIMS);
    for (size_t i = 0; i < t->ndim; i++)
        HKT_ASSERT(hkt_mul_size(bytes, t->shape[i], &bytes));
    return bytes;
}

/* The checksums as text, zero for the header: hkt_free. */
static hkt_status make_checksums(char **out, const hkt_tensor_out *tensors, size_t n)
{
    HKT_TRY(hkt_alloc((void **)out, n + 1, HKT_CHECKSUM_DIGITS + 1, "the checksums"));
    char *at = *out;
    hkt_checksum_format(at, 0);
    for (size_t i = 0; i < n; i++) {
        at += HKT_CHECKSUM_DIGITS;
        *at++ = ' ';
        hkt_checksum_format(at, hkt_checksum_of(tensors[i].data, bytes_of(&tensors[i])));
    }
    return HKT_OK;
}

static hkt_status add_metadata(json_t *header, const char *const *meta, const hkt_tensor_out *tensors, size_t n)
{
    json_t *object = json_object();
    char *sums;
    if (json_object_set_new(header, "__metadata__", object) != 0)
        return out_of_memory();
    for (; meta && *meta; meta += 2)
        if (json_object_set_new(object, meta[0], json_string(meta[1])) != 0)
            return hkt_utf8_valid(meta[1], strlen(meta[1]))
                       ? out_of_memory()
                       : hkt_fail(HKT_EINPUT, "metadata '%s': expected UTF-8, found '%s'", meta[0], meta[1]);
    HKT_TRY(make_checksums(&sums, tensors, n));
    int failed = json_object_set_new(object, HKT_CHECKSUM_KEY, json_string(sums));
    hkt_free(sums);
    return failed ? out_of_memory() : HKT_OK;
}

/* Adds one tensor at `begin` and moves `begin` behind it. */
static hkt_status add_tensor(json_t *header, const hkt_tensor_out *t, size_t *begin)
{
    HKT_ASSERT(!json_object_get(header, t->name));
    size_t end = *begin + bytes_of(t);
    json_t *shape = json_array();
    for (size_t i = 0; i < t->ndim; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)t->shape[i])) != 0) {
            json_decref(shape);
            return out_of_memory();
        }
    json_t *info = json_pack("{s:s, s:o, s:[I, I]}", "dtype", hkt_dtype_name(t->dtype), "shape", shape, "data_offsets",
                             (json_int_t)*begin, (json_int_t)end);
    if (json_object_set_new(header, t->name, info) != 0)
        return out_of_memory();
    *begin = end;
    return HKT_OK;
}

static hkt_status make_header(char **text, const hkt_tensor_out *tensors, size_t n, const char *const *meta)
{
    size_t at = 0;
    hkt_status status = HKT_OK;
    json_t *header = json_object();
    if (!header)
        return out_of_memory();
    HKT_TRY_GOTO(status, done, add_metadata(header, meta, tensors, n));
    for (size_t i = 0; i < n; i++)
        HKT_TRY_GOTO(status, done, add_tensor(header, &tensors[i], &at));
    *text = json_dumps(header, JSON_COMPACT);
    if (hkt_json_starved()) { /* also of the metadata, which callers have made */
        free(*text);
        *text = NULL;
    }
    if (!*text)
        status = out_of_memory();
done:
    json_decref(header);
    return status;
}

/* Puts the checksum of the header into it. pad: number of spaces that will follow; prefix: what stands before. */
static void seal(char *header, size_t length, size_t pad, uint64_t prefix)
{
    char sum[HKT_CHECKSUM_DIGITS + 1];
    hkt_checksum c;
    hkt_checksum_start(&c);
    hkt_checksum_add(&c, &prefix, sizeof prefix);
    hkt_checksum_add(&c, header, length);
    hkt_checksum_add(&c, "       ", pad);
    hkt_checksum_format(sum, hkt_checksum_end(&c));
    char *at = strstr(header, HKT_CHECKSUM_START); /* quotes within texts are escaped: it can be nothing else */
    HKT_ASSERT(at);
    memcpy(at + sizeof HKT_CHECKSUM_START - 1, sum, HKT_CHECKSUM_DIGITS);
}

hkt_status hkt_safetensors_print(FILE *f, const hkt_tensor_out *tensors, size_t n, const char *const *meta)
{
    char *header;
    HKT_TRY(make_header(&header, tensors, n, meta));
    size_t length = strlen(header), pad = (8 - length % 8) % 8;
    uint64_t prefix = length + pad;
    seal(header, length, pad, prefix);
    fwrite(&prefix, sizeof prefix, 1, f);
    fprintf(f, "%s%*s", header, (int)pad, "");
    free(header); /* jansson's */
    for (size_t i = 0; i < n; i++) {
        size_t bytes = bytes_of(&tensors[i]);
        /* The reason is lost unless it is told now: nothing is left to flush after a failed write. */
        if (bytes > 0 && fwrite(tensors[i].data, 1, bytes, f) < bytes)
            return hkt_fail(HKT_ESYSTEM, "cannot write: %s", strerror(errno));
    }
    return HKT_OK;
}

hkt_status hkt_safetensors_write(const char *path, const hkt_tensor_out *tensors, size_t n, const char *const *meta)
{
    hkt_out *out;
    HKT_TRY(hkt_out_open(&out, path));
    hkt_status status = hkt_safetensors_print(hkt_out_stream(out), tensors, n, meta);
    if (status == HKT_OK)
        return hkt_out_commit(out);
    hkt_out_abort(out);
    return hkt_fail_context(status, "%s", path);
}

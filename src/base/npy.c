#include "base/npy.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/signature.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, HEADER_MAX = 10000, ALIGNMENT = 64 };

/* Every element type that is read; the first of a dtype is the one that is written. */
typedef struct {
    const char *descr;
    size_t size;
    bool is_float, is_signed;
    hkt_dtype dtype; /* floats, and what hkt_npy_write accepts */
} element;
static const element elements[] = {
    {"<f8", 8, true, true, HKT_F64},   {"<f4", 4, true, true, HKT_F32},   {"<f2", 2, true, true, HKT_F16},
    {"<i8", 8, false, true, HKT_I64},  {"<i4", 4, false, true, HKT_I32},  {"|u1", 1, false, false, HKT_U8},
    {"<i2", 2, false, true, HKT_I64},  {"|i1", 1, false, true, HKT_I64},  {"<u2", 2, false, false, HKT_I64},
    {"<u4", 4, false, false, HKT_I64}, {"<u8", 8, false, false, HKT_I64},
};
enum { ELEMENTS = sizeof elements / sizeof elements[0] };

/* --- writing ------------------------------------------------------------------------------------------------------ */

static const char *descr_of(hkt_dtype dtype)
{
    for (int i = 0; i < ELEMENTS; i++)
        if (elements[i].dtype == dtype)
            return elements[i].descr;
    hkt_abort(__FILE__, __LINE__, "dtype unknown to numpy");
}

/* The dictionary, padded so that data start at a multiple of 64. Returns its length. */
static size_t format_header(char *out, size_t size, hkt_dtype dtype, size_t ndim, const size_t *shape)
{
    int n = snprintf(out, size, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(dtype));
    for (size_t i = 0; i < ndim; i++)
        n += snprintf(out + n, size - (size_t)n, i + 1 < ndim ? "%zu, " : ndim == 1 ? "%zu," : "%zu", shape[i]);
    n += snprintf(out + n, size - (size_t)n, "), }");
    while ((MAGIC + 4 + n + 1) % ALIGNMENT != 0)
        out[n++] = ' ';
    out[n++] = '\n';
    return (size_t)n;
}

hkt_status hkt_npy_write(const char *path, hkt_dtype dtype, size_t ndim, const size_t *shape, const void *data)
{
    char header[512];
    hkt_out *out;
    size_t count = 1;
    HKT_ASSERT(ndim <= HKT_MAX_DIMS);
    for (size_t i = 0; i < ndim; i++)
        HKT_ASSERT(hkt_mul_size(count, shape[i], &count));
    size_t length = format_header(header, sizeof header, dtype, ndim, shape);
    HKT_TRY(hkt_out_open(&out, path));
    FILE *f = hkt_out_stream(out);
    fwrite(magic, 1, MAGIC, f);
    fwrite((const char[]){1, 0, (char)(length & 255), (char)(length >> 8)}, 1, 4, f);
    fwrite(header, 1, length, f);
    if (count > 0)
        fwrite(data, hkt_dtype_size(dtype), count, f);
    return hkt_out_commit(out);
}

/* --- the dictionary ----------------------------------------------------------------------------------------------- */

typedef struct {
    const char *path, *at, *end;
    const element *type;
    size_t ndim, *shape;
    bool has_descr, has_order, has_shape;
} header_parser;

static hkt_status bad_header(const header_parser *p, const char *expected)
{
    return hkt_fail(HKT_EINPUT, "%s: header: expected %s, found '%.*s'", p->path, expected,
                    (int)(p->end - p->at > 20 ? 20 : p->end - p->at), p->at);
}

static void skip_space(header_parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n'))
        p->at++;
}

/* Takes `token` after blanks; false when something else is there. */
static bool take(header_parser *p, const char *token)
{
    size_t n = strlen(token);
    skip_space(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, token, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* A quoted string without escapes, as numpy writes it. */
static bool take_string(header_parser *p, char *out, size_t size)
{
    skip_space(p);
    if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
        return false;
    const char *first = p->at + 1, *last = memchr(first, *p->at, (size_t)(p->end - first));
    if (!last || (size_t)(last - first) >= size)
        return false;
    memcpy(out, first, (size_t)(last - first));
    out[last - first] = 0;
    p->at = last + 1;
    return true;
}

static bool take_size(header_parser *p, size_t *out)
{
    const char *first;
    size_t v = 0;
    skip_space(p);
    for (first = p->at; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (!hkt_mul_size(v, 10, &v) || !hkt_add_size(v, (size_t)(*p->at - '0'), &v))
            return false;
    *out = v;
    return p->at > first;
}

static hkt_status take_descr(header_parser *p)
{
    char descr[16];
    if (p->has_descr || !take_string(p, descr, sizeof descr))
        return bad_header(p, "one simple dtype");
    p->has_descr = true;
    for (int i = 0; i < ELEMENTS; i++)
        if (strcmp(elements[i].descr, descr) == 0) {
            p->type = &elements[i];
            return HKT_OK;
        }
    return hkt_fail(HKT_EINPUT, "%s: expected a little-endian float or integer dtype, found '%s'", p->path, descr);
}

static hkt_status take_order(header_parser *p)
{
    if (take(p, "True"))
        return hkt_fail(HKT_EINPUT, "%s: expected C order, found Fortran order", p->path);
    if (p->has_order || !take(p, "False"))
        return bad_header(p, "'fortran_order' once, True or False");
    p->has_order = true;
    return HKT_OK;
}

static hkt_status take_shape(header_parser *p)
{
    bool comma = true; /* (3) is a number in Python, not a shape */
    if (p->has_shape || !take(p, "("))
        return bad_header(p, "one tuple of sizes");
    p->has_shape = true;
    while (!take(p, ")")) {
        if (p->ndim == HKT_MAX_DIMS)
            return hkt_fail(HKT_EINPUT, "%s: expected at most %d dimensions, found more", p->path, HKT_MAX_DIMS);
        if (!comma || !take_size(p, &p->shape[p->ndim]))
            return bad_header(p, "a size");
        p->ndim++;
        comma = take(p, ",");
    }
    if (p->ndim == 1 && !comma)
        return bad_header(p, "',' in the tuple of one size");
    return HKT_OK;
}

static hkt_status take_entry(header_parser *p)
{
    char key[32];
    if (!take_string(p, key, sizeof key))
        return bad_header(p, "a key");
    if (!take(p, ":"))
        return bad_header(p, "':'");
    if (strcmp(key, "descr") == 0)
        return take_descr(p);
    if (strcmp(key, "fortran_order") == 0)
        return take_order(p);
    if (strcmp(key, "shape") == 0)
        return take_shape(p);
    return hkt_fail(HKT_EINPUT, "%s: header: expected keys descr, fortran_order, shape, found '%s'", p->path, key);
}

static hkt_status parse_header(header_parser *p)
{
    bool comma = true;
    if (!take(p, "{"))
        return bad_header(p, "'{'");
    while (!take(p, "}")) {
        if (!comma)
            return bad_header(p, "',' or '}'");
        HKT_TRY(take_entry(p));
        comma = take(p, ",");
    }
    skip_space(p);
    if (p->at != p->end)
        return bad_header(p, "the end");
    if (!p->has_descr || !p->has_order || !p->has_shape)
        return hkt_fail(HKT_EINPUT, "%s: header: expected keys descr, fortran_order and shape, found no %s", p->path,
                        !p->has_descr   ? "descr"
                        : !p->has_order ? "fortran_order"
                                        : "shape");
    return HKT_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Sets p->at, p->end to the dictionary. */
static hkt_status find_header(header_parser *p, const char *bytes, size_t size)
{
    uint16_t short_length;
    uint32_t length;
    if (size < MAGIC + 4 || memcmp(bytes, magic, MAGIC) != 0)
        return hkt_not_a(p->path, "a .npy file", "\\x93NUMPY", bytes, size);
    int major = (unsigned char)bytes[MAGIC];
    if (major < 1 || major > 3)
        return hkt_fail(HKT_EINPUT, "%s: expected .npy version 1, 2 or 3, found %d", p->path, major);
    size_t start = MAGIC + 2 + (major == 1 ? sizeof short_length : sizeof length);
    if (size < start)
        return hkt_fail(HKT_EINPUT, "%s: truncated header: expected at least %zu bytes, found %zu", p->path, start,
                        size);
    memcpy(&short_length, bytes + MAGIC + 2, sizeof short_length);
    length = short_length;
    if (major > 1)
        memcpy(&length, bytes + MAGIC + 2, sizeof length);
    if (length > HEADER_MAX)
        return hkt_fail(HKT_EINPUT, "%s: expected a header of at most %d bytes, found length %lu", p->path, HEADER_MAX,
                        (unsigned long)length);
    if (length > size - start)
        return hkt_fail(HKT_EINPUT, "%s: truncated: expected a header of %lu bytes, found %zu", p->path,
                        (unsigned long)length, size - start);
    p->at = bytes + start;
    p->end = p->at + length;
    return HKT_OK;
}

/* The number of elements, checked against the bytes after the header. */
static hkt_status check_size(const header_parser *p, size_t found, size_t *count)
{
    size_t bytes = 0;
    bool fits = true;
    *count = 1;
    for (size_t i = 0; i < p->ndim; i++)
        fits = fits && hkt_mul_size(*count, p->shape[i], count);
    if (!fits || !hkt_mul_size(*count, p->type->size, &bytes))
        return hkt_fail(HKT_EINPUT, "%s: product of the shape overflows: found %zu dimensions, the first %zu", p->path,
                        p->ndim, p->shape[0]);
    if (bytes != found)
        return hkt_fail(HKT_EINPUT, "%s: expected %zu bytes of data for its shape and dtype, found %zu", p->path, bytes,
                        found);
    return HKT_OK;
}

static double load_int(const element *type, const char *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, type->size);
    uint64_t sign = (uint64_t)1 << (8 * type->size - 1);
    if (!type->is_signed || (bits & sign) == 0)
        return (double)bits;
    return -(double)((sign << 1) - bits); /* two's complement; sign << 1 is 0 for 64 bits, as it must be */
}

static hkt_status convert(const header_parser *p, size_t count, double *out)
{
    if (p->type->is_float) {
        hkt_tensor t = {.name = p->path, .dtype = p->type->dtype, .count = count, .data = p->end};
        return hkt_tensor_to_f64(&t, out);
    }
    for (size_t i = 0; i < count; i++)
        out[i] = load_int(p->type, p->end + i * p->type->size);
    return HKT_OK;
}

static hkt_status read_array(header_parser *p, const char *bytes, size_t size, double **data)
{
    size_t count;
    HKT_TRY(find_header(p, bytes, size));
    HKT_TRY(parse_header(p));
    HKT_TRY(check_size(p, size - (size_t)(p->end - bytes), &count));
    HKT_TRY(HKT_NEW(data, count));
    return convert(p, count, *data);
}

hkt_status hkt_npy_read(const char *path, size_t *ndim, size_t shape[HKT_MAX_DIMS], double **data)
{
    char *bytes;
    size_t size;
    header_parser p = {.path = path, .shape = shape};
    *data = NULL;
    HKT_TRY(hkt_file_read(path, &bytes, &size));
    hkt_status status = read_array(&p, bytes, size, data);
    hkt_free(bytes);
    *ndim = p.ndim;
    return status;
}

/* Reads and parses the header at the front of the file; *start: where the data begin. bytes: [MAGIC + 6 + HEADER_MAX]
 * scratch. */
static hkt_status read_front(header_parser *p, char *bytes, size_t *start)
{
    int fd;
    size_t size, count;
    HKT_TRY(hkt_file_open(p->path, &fd, &size));
    const size_t have = size < MAGIC + 6 + HEADER_MAX ? size : MAGIC + 6 + HEADER_MAX;
    hkt_status status = hkt_file_read_at(fd, p->path, 0, bytes, have);
    close(fd);
    HKT_TRY(status);
    HKT_TRY(find_header(p, bytes, have));
    HKT_TRY(parse_header(p));
    *start = (size_t)(p->end - bytes);
    if (p->type->size != hkt_dtype_size(p->type->dtype) || strcmp(p->type->descr, "<u8") == 0)
        return hkt_fail(HKT_EINPUT, "%s: expected dtype <f8, <f4, <f2, <i8, <i4 or |u1, found '%s'", p->path,
                        p->type->descr);
    return check_size(p, size - *start, &count);
}

hkt_status hkt_npy_open(hkt_safetensors **out, const char *path, const char *name)
{
    size_t shape[HKT_MAX_DIMS], start = 0, bytes;
    char *front;
    header_parser p = {.path = path, .shape = shape};
    *out = NULL;
    HKT_TRY(hkt_alloc((void **)&front, MAGIC + 6 + HEADER_MAX, 1, NULL));
    hkt_status status = read_front(&p, front, &start);
    hkt_free(front);
    HKT_TRY(status);
    json_t *sizes = json_array(), *header = NULL;
    bytes = p.type->size;
    for (size_t i = 0; i < p.ndim; i++) {
        bytes *= shape[i];
        json_array_append_new(sizes, json_integer((json_int_t)shape[i]));
    }
    if (sizes)
        header = json_pack("{s:{s:s, s:o, s:[i, I]}}", name, "dtype", hkt_dtype_name(p.type->dtype), "shape", sizes,
                           "data_offsets", 0, (json_int_t)bytes);
    if (!header)
        return hkt_fail(HKT_ESYSTEM, "%s: out of memory", path);
    return hkt_safetensors_read_foreign(out, path, header, start);
}

/* safetensors.h - reader and writer of the safetensors format.
 * Rules: https://github.com/huggingface/safetensors (format section); docs/formats.md lists every check. */
#ifndef HKT_BASE_SAFETENSORS_H
#define HKT_BASE_SAFETENSORS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* The first seven are read and written; tensors of the others, which programs of other people keep masks and the like
 * in, may be in a file but not be asked for. */
typedef enum {
    HKT_F64,
    HKT_F32,
    HKT_F16,
    HKT_BF16,
    HKT_I64,
    HKT_I32,
    HKT_U8,
    HKT_BOOL,
    HKT_I8,
    HKT_I16,
    HKT_U16,
    HKT_U32,
    HKT_U64,
    HKT_F8_E4M3,
    HKT_F8_E5M2
} hkt_dtype;

#define HKT_MAX_DIMS 8

typedef struct {
    const char *name; /* owned by the file */
    hkt_dtype dtype;
    size_t ndim, shape[HKT_MAX_DIMS];
    size_t count;                       /* product of the shape (1 for a scalar) */
    const void *data;                   /* little-endian bytes in memory, possibly unaligned; NULL: in the file */
    const struct hkt_safetensors *file; /* that has them, from byte `offset` */
    size_t offset;
    const uint64_t *checksum; /* of the bytes, as the file says; NULL: it does not */
} hkt_tensor;

typedef struct hkt_safetensors hkt_safetensors;

/* Opens a file, reads and checks its header: length <= 1e8, exact file size, UTF-8 JSON object, unique keys, known
 * dtypes, contiguous offsets without hole or overlap, checked shape products, its checksum. Data stay in the file and
 * are read, by pread, when a tensor is asked for: a file that is cut meanwhile is an error, and memory is needed for
 * what is asked for only. A note says that a file has no checksum. Errors: HKT_EINPUT: "PATH: tensor 'NAME': expected
 * ..., found ..." . *out owns everything; hkt_safetensors_free. */
hkt_status hkt_safetensors_read(hkt_safetensors **out, const char *path);
/* The same for a file that another program wrote, without the note. header: what stands where in a file without a
 * header of its own, as a safetensors header would say it, the data beginning at byte `data` (a new reference, taken
 * also on error); NULL: the file has one, and `data` is not looked at. */
hkt_status hkt_safetensors_read_foreign(hkt_safetensors **out, const char *path, json_t *header, size_t data);
void hkt_safetensors_free(hkt_safetensors *f);
/* Reads all data and compares the checksums: HKT_EINPUT naming the first damaged tensor. */
hkt_status hkt_safetensors_verify(const hkt_safetensors *f);
/* The file has checksums. */
bool hkt_safetensors_has_checksum(const hkt_safetensors *f);

size_t hkt_safetensors_count(const hkt_safetensors *f);
const hkt_tensor *hkt_safetensors_at(const hkt_safetensors *f, size_t i);
/* NULL when there is none of that name. */
const hkt_tensor *hkt_safetensors_find(const hkt_safetensors *f, const char *name);
/* Metadata value or NULL. */
const char *hkt_safetensors_meta(const hkt_safetensors *f, const char *key);
const char *hkt_safetensors_path(const hkt_safetensors *f);

const char *hkt_dtype_name(hkt_dtype t);
size_t hkt_dtype_size(hkt_dtype t);

/* Copies the bytes of a tensor as they are: out [out]: [count] elements. Errors of all four: HKT_EINPUT naming the
 * tensor when its data are not those of its checksum or cannot be read; `out` is spoilt then. Thread-safe. */
hkt_status hkt_tensor_to_bytes(const hkt_tensor *t, void *out);
/* Converts all elements of a float tensor. Errors: HKT_EINPUT naming the tensor when the dtype is not a float type. */
hkt_status hkt_tensor_to_f64(const hkt_tensor *t, double *out);
hkt_status hkt_tensor_to_f32(const hkt_tensor *t, float *out);
/* Converts elements [first, first + n) of a float tensor in a file, without looking at its checksum. Errors as above.
 */
hkt_status hkt_tensor_range_to_f64(const hkt_tensor *t, size_t first, size_t n, double *out);
/* Converts I32, I64, U8; HKT_EINPUT when a value does not fit int32. */
hkt_status hkt_tensor_to_i32(const hkt_tensor *t, int32_t *out);

typedef struct {
    const char *name;
    hkt_dtype dtype;
    size_t ndim, shape[HKT_MAX_DIMS];
    const void *data; /* native, contiguous */
} hkt_tensor_out;

/* Writes the tensors in the given order; meta is {key, value, key, value, ..., NULL} or NULL, the checksums come after
 * it. Header padded with spaces to 8 bytes; temporary file, fsync, rename. Same input, same bytes. */
hkt_status hkt_safetensors_write(const char *path, const hkt_tensor_out *tensors, size_t n, const char *const *meta);
/* The same bytes to an open stream, which the caller flushes and checks. Errors: HKT_ESYSTEM. */
hkt_status hkt_safetensors_print(FILE *f, const hkt_tensor_out *tensors, size_t n, const char *const *meta);

#endif

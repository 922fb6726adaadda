/* npy.h - NumPy .npy files (NEP 1): write v1; read v1-v3 of little-endian floats and integers in C order. */
#ifndef HKT_BASE_NPY_H
#define HKT_BASE_NPY_H

#include <stddef.h>

#include "base/safetensors.h"
#include "base/status.h"

/* data: native, C order, product(shape) elements of dtype (F64, F32, I64, I32, U8). Temporary file + rename. */
hkt_status hkt_npy_write(const char *path, hkt_dtype dtype, size_t ndim, const size_t *shape, const void *data);

/* Reads as double. *data owns product(shape) values (hkt_free). Errors: HKT_EINPUT. */
hkt_status hkt_npy_read(const char *path, size_t *ndim, size_t shape[HKT_MAX_DIMS], double **data);

/* The same array as the one tensor, `name`, of a file whose data stay there until a range is asked for. Also refuses
 * integers that safetensors.h has no dtype to read by: <i2, |i1, <u2, <u4, <u8. hkt_safetensors_free. Errors:
 * HKT_EINPUT, HKT_ESYSTEM. */
hkt_status hkt_npy_open(hkt_safetensors **out, const char *path, const char *name);

#endif

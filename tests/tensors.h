/* tensors.h - safetensors files for tests: by hand from a header, with a tensor of every type, without checksums. */
#ifndef HKT_TESTS_TENSORS_H
#define HKT_TESTS_TENSORS_H

#include "base/safetensors.h"
#include "tests/check.h"
#include "tests/scratch.h"

/* Writes prefix + header + `data` bytes 0, 1, 2, ... to "t". */
static inline void make(const char *header, size_t data)
{
    size_t n = strlen(header);
    uint64_t prefix = n;
    unsigned char *bytes = malloc(8 + n + data);
    assert_non_null(bytes);
    memcpy(bytes, &prefix, 8); /* little-endian, as everything here */
    memcpy(bytes + 8, header, n);
    for (size_t i = 0; i < data; i++)
        bytes[8 + n + i] = (unsigned char)i;
    scratch_write("t", bytes, 8 + n + data);
    free(bytes);
}

static inline void expect_refused(const char *header, size_t data, const char *message)
{
    hkt_safetensors *f;
    make(header, data);
    CHECK_FAILS(hkt_safetensors_read(&f, "t"), HKT_EINPUT, message);
    assert_null(f);
    assert_int_equal(strncmp(hkt_error(), "t: ", 3), 0);
}

static inline void expect_accepted(const char *header, size_t data, size_t count)
{
    hkt_safetensors *f;
    make(header, data);
    CHECK_OK(hkt_safetensors_read(&f, "t"));
    assert_int_equal(hkt_safetensors_count(f), count);
    hkt_safetensors_free(f);
}

#define T(name, dtype, shape, begin, end)                                                                              \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

/* --- a file with every type --------------------------------------------------------------------------------------- */

static const double f64[6] = {1.0 / 3, -0.0, 5e-324, 1e300, -2, 0};
static const float f32[2] = {0.1f, -3};
static const uint16_t f16[3] = {0x3c00, 0x0001, 0xfc00}, bf16[2] = {0x3f80, 0xc040};
static const int64_t i64[2] = {-5, 4000000000};
static const int32_t i32[2] = {INT32_MIN, 7};
static const uint8_t u8[3] = {0, 128, 255};
static const hkt_tensor_out every[] = {
    {"layers.0/wq", HKT_F64, 2, {2, 3}, f64}, {"f32", HKT_F32, 1, {2}, f32},       {"f16", HKT_F16, 1, {3}, f16},
    {"bf16", HKT_BF16, 1, {2}, bf16},         {"i64", HKT_I64, 1, {2}, i64},       {"i32", HKT_I32, 2, {2, 1}, i32},
    {"u8", HKT_U8, 3, {1, 3, 1}, u8},         {"empty", HKT_F32, 2, {0, 4}, NULL}, {"scalar", HKT_F32, 0, {0}, f32},
};
enum { EVERY = sizeof every / sizeof every[0] };
static const char *const meta[] = {"hkt.config", "{\"d\": 1}", "format", "pt", NULL};

/* A file of ours as other programs would write it: the key of its checksums is another. */
static inline char *without_checksum(const char *path, size_t *n)
{
    char *bytes = scratch_read(path, n), *key = memmem(bytes, *n, "hkt.xxh3", 8);
    assert_non_null(key);
    memcpy(key, "old.xxh3", 8);
    return bytes;
}

#endif

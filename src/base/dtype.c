/* dtype.c - element types of safetensors.h: names, sizes, conversion. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/safetensors.h"
#include "base/safetensors_internal.h"

/* Files are little-endian and elements are copied as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a little-endian machine is needed");

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [HKT_F64] = {"F64", 8}, [HKT_F32] = {"F32", 4},         [HKT_F16] = {"F16", 2},         [HKT_BF16] = {"BF16", 2},
    [HKT_I64] = {"I64", 8}, [HKT_I32] = {"I32", 4},         [HKT_U8] = {"U8", 1},           [HKT_BOOL] = {"BOOL", 1},
    [HKT_I8] = {"I8", 1},   [HKT_I16] = {"I16", 2},         [HKT_U16] = {"U16", 2},         [HKT_U32] = {"U32", 4},
    [HKT_U64] = {"U64", 8}, [HKT_F8_E4M3] = {"F8_E4M3", 1}, [HKT_F8_E5M2] = {"F8_E5M2", 1},
};

const char *hkt_dtype_name(hkt_dtype t)
{
    return dtypes[t].name;
}

size_t hkt_dtype_size(hkt_dtype t)
{
    return dtypes[t].size;
}

/* IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. Every value is exact in double. */
static double from_half(uint16_t h)
{
    int exponent = h >> 10 & 31;
    double fraction = h & 1023, v;
    if (exponent == 31)
        v = (double)(fraction == 0 ? INFINITY : NAN);
    else if (exponent == 0)
        v = fraction * 0x1p-24;
    else
        v = ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -v : v;
}

/* bfloat16 is the upper half of a binary32. */
static float from_bfloat(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Element i of a float tensor as double. */
static double load_float(hkt_dtype dtype, const char *data, size_t i)
{
    double d;
    float f;
    uint16_t h;
    switch (dtype) {
    case HKT_F64:
        memcpy(&d, data + i * sizeof d, sizeof d);
        return d;
    case HKT_F32:
        memcpy(&f, data + i * sizeof f, sizeof f);
        return (double)f;
    case HKT_F16:
        memcpy(&h, data + i * sizeof h, sizeof h);
        return from_half(h);
    case HKT_BF16:
        memcpy(&h, data + i * sizeof h, sizeof h);
        return (double)from_bfloat(h);
    default:
        break;
    }
    hkt_abort(__FILE__, __LINE__, "not a float type");
}

/* Element i of an integer tensor. */
static int64_t load_int(hkt_dtype dtype, const char *data, size_t i)
{
    int64_t l;
    int32_t w;
    if (dtype == HKT_U8)
        return (unsigned char)data[i];
    if (dtype == HKT_I32) {
        memcpy(&w, data + i * sizeof w, sizeof w);
        return w;
    }
    memcpy(&l, data + i * sizeof l, sizeof l);
    return l;
}

static hkt_status check_kind(const hkt_tensor *t, bool want_float)
{
    bool is_float = t->dtype <= HKT_BF16, is_int = !is_float && t->dtype <= HKT_U8;
    if (want_float ? is_float : is_int)
        return HKT_OK;
    return hkt_fail(HKT_EINPUT, "tensor '%s': expected %s, found %s", t->name,
                    want_float ? "floats (F64, F32, F16, BF16)" : "integers (I64, I32, U8)", hkt_dtype_name(t->dtype));
}

static hkt_status take_bytes(const hkt_tensor *t, size_t first, size_t n, const char *bytes, void *out)
{
    const size_t size = hkt_dtype_size(t->dtype);
    memcpy((char *)out + first * size, bytes, n * size);
    return HKT_OK;
}

static hkt_status take_f64(const hkt_tensor *t, size_t first, size_t n, const char *bytes, void *out)
{
    double *v = (double *)out + first;
    for (size_t i = 0; i < n; i++)
        v[i] = load_float(t->dtype, bytes, i);
    return HKT_OK;
}

static hkt_status take_f32(const hkt_tensor *t, size_t first, size_t n, const char *bytes, void *out)
{
    float *v = (float *)out + first;
    for (size_t i = 0; i < n; i++)
        v[i] = (float)load_float(t->dtype, bytes, i);
    return HKT_OK;
}

static hkt_status take_i32(const hkt_tensor *t, size_t first, size_t n, const char *bytes, void *out)
{
    int32_t *w = (int32_t *)out + first;
    for (size_t i = 0; i < n; i++) {
        int64_t v = load_int(t->dtype, bytes, i);
        if (v < INT32_MIN || v > INT32_MAX)
            return hkt_fail(HKT_EINPUT, "tensor '%s': element %zu: expected 32 bits, found %lld", t->name, first + i,
                            (long long)v);
        w[i] = (int32_t)v;
    }
    return HKT_OK;
}

hkt_status hkt_tensor_to_bytes(const hkt_tensor *t, void *out)
{
    return hkt_tensor_each(t, take_bytes, out);
}

hkt_status hkt_tensor_to_f64(const hkt_tensor *t, double *out)
{
    HKT_TRY(check_kind(t, true));
    return hkt_tensor_each(t, take_f64, out);
}

hkt_status hkt_tensor_range_to_f64(const hkt_tensor *t, size_t first, size_t n, double *out)
{
    HKT_TRY(check_kind(t, true));
    return hkt_tensor_range(t, first, n, take_f64, out);
}

hkt_status hkt_tensor_to_f32(const hkt_tensor *t, float *out)
{
    HKT_TRY(check_kind(t, true));
    return hkt_tensor_each(t, take_f32, out);
}

hkt_status hkt_tensor_to_i32(const hkt_tensor *t, int32_t *out)
{
    HKT_TRY(check_kind(t, false));
    return hkt_tensor_each(t, take_i32, out);
}

/* test_npy.c - NumPy arrays: the bytes that NumPy writes, round trips, hostile files. */
#include "tests/check.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/rng.h"
#include "tests/scratch.h"

static size_t ndim, shape[HKT_MAX_DIMS];
static double *values;

static hkt_status read_npy(const char *path)
{
    return hkt_npy_read(path, &ndim, shape, &values);
}

/* Writes a file of `major` with this dictionary and `data` bytes 1, 2, 3, ... to "t". */
static void make(int major, const char *dictionary, size_t data)
{
    size_t n = strlen(dictionary), start = major == 1 ? 10 : 12;
    unsigned char *bytes = calloc(start + n + data, 1);
    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)major;
    bytes[8] = n & 255;
    bytes[9] = (unsigned char)(n >> 8);
    memcpy(bytes + start, dictionary, n);
    for (size_t i = 0; i < data; i++)
        bytes[start + n + i] = (unsigned char)(i + 1);
    scratch_write("t", bytes, start + n + data);
    free(bytes);
}

static void expect_refused(const char *dictionary, size_t data, const char *message)
{
    make(1, dictionary, data);
    CHECK_FAILS(read_npy("t"), HKT_EINPUT, message);
    assert_non_null(strstr(hkt_error(), "found"));
    assert_null(values);
}

static void expect_accepted(int major, const char *dictionary, size_t data)
{
    make(major, dictionary, data);
    CHECK_OK(read_npy("t"));
    hkt_free(values);
}

#define DICT(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

/* numpy.save of array([[1.5, -2, 0.25]]), NumPy's layout: 118 bytes of dictionary so that the data start at 128. */
static void test_numpy_bytes(void **state)
{
    (void)state;
    static const double data[] = {1.5, -2, 0.25};
    char expected[128 + sizeof data];
    size_t n;
    memset(expected, ' ', 128);
    memcpy(expected, "\x93NUMPY\1\0\x76\0", 10);
    memcpy(expected + 10, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }", 59);
    expected[127] = '\n';
    memcpy(expected + 128, data, sizeof data);
    CHECK_OK(hkt_npy_write("n.npy", HKT_F64, 2, (const size_t[]){1, 3}, data));
    char *found = scratch_read("n.npy", &n);
    assert_int_equal(n, sizeof expected);
    assert_memory_equal(found, expected, n);
    free(found);
    CHECK_OK(read_npy("n.npy"));
    assert_true(ndim == 2 && shape[0] == 1 && shape[1] == 3);
    assert_memory_equal(values, data, sizeof data);
    hkt_free(values);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const double f64[] = {1.0 / 3, -0.0, 5e-324, (double)INFINITY, -1e308, 7};
    static const float f32[] = {0.1f, -3, 1e-45f};
    static const int64_t i64[] = {INT64_MIN, -1, (int64_t)1 << 53};
    static const int32_t i32[] = {INT32_MIN, -1, INT32_MAX};
    static const uint8_t u8[] = {0, 128, 255};
    CHECK_OK(hkt_npy_write("r", HKT_F64, 3, (const size_t[]){1, 2, 3}, f64));
    CHECK_OK(read_npy("r"));
    assert_true(ndim == 3 && shape[0] == 1 && shape[1] == 2 && shape[2] == 3);
    assert_memory_equal(values, f64, sizeof f64);
    hkt_free(values);
    const void *data[] = {f32, i64, i32, u8};
    const hkt_dtype dtype[] = {HKT_F32, HKT_I64, HKT_I32, HKT_U8};
    for (size_t k = 0; k < 4; k++) {
        CHECK_OK(hkt_npy_write("r", dtype[k], 1, (const size_t[]){3}, data[k]));
        CHECK_OK(read_npy("r"));
        assert_true(ndim == 1 && shape[0] == 3);
        for (size_t i = 0; i < 3; i++)
            assert_true(values[i] == (k == 0   ? (double)f32[i]
                                      : k == 1 ? (double)i64[i]
                                      : k == 2 ? (double)i32[i]
                                               : (double)u8[i]));
        hkt_free(values);
    }
}

static void test_shapes(void **state)
{
    (void)state;
    static const double x = 4;
    CHECK_OK(hkt_npy_write("s", HKT_F64, 0, NULL, &x)); /* a scalar */
    CHECK_OK(read_npy("s"));
    assert_true(ndim == 0 && values[0] == 4);
    hkt_free(values);
    CHECK_OK(hkt_npy_write("s", HKT_F32, 2, (const size_t[]){0, 3}, NULL));
    CHECK_OK(read_npy("s"));
    assert_true(ndim == 2 && shape[0] == 0 && shape[1] == 3 && values != NULL);
    hkt_free(values);
    CHECK_OK(hkt_npy_write("s", HKT_F64, 8, (const size_t[]){1, 1, 1, 1, 1, 1, 1, 1}, &x));
    CHECK_OK(read_npy("s"));
    assert_true(ndim == 8);
    hkt_free(values);
}

static void test_types_and_versions(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary;
        size_t size;
        double first; /* of bytes 1, 2, 3, ... */
    } cases[] = {
        {DICT("'|u1'", "False", "(1,)"), 1, 0x01},       {DICT("'|i1'", "False", "(1,)"), 1, 0x01},
        {DICT("'<u2'", "False", "(1,)"), 2, 0x0201},     {DICT("'<i2'", "False", "(1,)"), 2, 0x0201},
        {DICT("'<u4'", "False", "(1,)"), 4, 0x04030201}, {DICT("'<i4'", "False", "(1,)"), 4, 0x04030201},
        {DICT("'<f2'", "False", "(1,)"), 2, 0x201p-24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int major = 1; major <= 3; major++) {
            make(major, cases[i].dictionary, cases[i].size);
            CHECK_OK(read_npy("t"));
            assert_true(values[0] == cases[i].first);
            hkt_free(values);
        }
    expect_accepted(1, DICT("'<u8'", "False", "(1,)"), 8);
    expect_accepted(1, "{\"shape\":(2,2),\"fortran_order\":False,\"descr\":\"<f4\"}\n", 16); /* as other writers do */
    expect_accepted(1, DICT("'<f4'", "False", "( 2 , 2, )"), 16);
    /* Negative values of every signed width. */
    static const char negative[] = "\xfe\xff\xff\xff\xff\xff\xff\xff";
    static const char *const descr[] = {"'|i1'", "'<i2'", "'<i4'", "'<i8'"};
    for (size_t i = 0; i < 4; i++) {
        char bytes[256];
        int n = snprintf(bytes + 10, 200, "{'descr': %s, 'fortran_order': False, 'shape': ()}", descr[i]);
        memcpy(bytes, "\x93NUMPY\1\0", 8);
        bytes[8] = (char)n;
        bytes[9] = 0;
        memcpy(bytes + 10 + n, negative, 8);
        scratch_write("t", bytes, 10 + (size_t)n + ((size_t)1 << i));
        CHECK_OK(read_npy("t"));
        assert_true(values[0] == -2);
        hkt_free(values);
    }
}

static void test_prefix(void **state)
{
    (void)state;
    char bytes[20000] = "\x93NUMPY\2\0\x11\x27\0\0"; /* 10001 */
    scratch_write("t", "", 0);
    CHECK_FAILS(read_npy("t"), HKT_EINPUT, "t: not a .npy file: expected \\x93NUMPY, found ");
    scratch_write("t", "\x93NUMPX\1\0\0\0", 10);
    CHECK_FAILS(read_npy("t"), HKT_EINPUT, "not a .npy file");
    make(4, DICT("'<f4'", "False", "(1,)"), 4);
    CHECK_FAILS(read_npy("t"), HKT_EINPUT, "expected .npy version 1, 2 or 3, found 4");
    scratch_write("t", "\x93NUMPY\2\0\0\0", 10);
    CHECK_FAILS(read_npy("t"), HKT_EINPUT, "truncated header: expected at least 12 bytes, found 10");
    scratch_write("t", bytes, sizeof bytes);
    CHECK_FAILS(read_npy("t"), HKT_EINPUT, "header of at most 10000 bytes, found length 10001");
    bytes[8] = 0x10; /* control: 10000 is allowed, but these are zeros */
    scratch_write("t", bytes, sizeof bytes);
    CHECK_FAILS(read_npy("t"), HKT_EINPUT, "header: expected '{'");
    scratch_write("t", bytes, 9000);
    CHECK_FAILS(read_npy("t"), HKT_EINPUT, "truncated: expected a header of 10000 bytes, found 8988");
    CHECK_FAILS(read_npy("absent"), HKT_EINPUT, "cannot open 'absent'");
}

static void test_dictionary(void **state)
{
    (void)state;
    expect_refused("", 0, "header: expected '{'");
    expect_refused("{}", 0, "expected keys descr, fortran_order and shape, found no ");
    expect_refused("{'descr': '<f4', 'fortran_order': False}", 4,
                   "expected keys descr, fortran_order and shape, found no ");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", 4, "found 'x'");
    expect_refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4, "one simple dtype");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}", 4, "one tuple");
    expect_refused(DICT("'<f4'", "False", "(1,)") "x", 4, "expected the end, found 'x'");
    expect_refused("{'descr' '<f4', 'fortran_order': False, 'shape': (1,)}", 4, "expected ':'");
    expect_refused("{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", 4, "expected ',' or '}'");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", 4, "expected ',' or '}'");
    expect_refused("{'descr", 0, "expected a key");
    expect_refused(DICT("'|O'", "False", "(1,)"), 8, "float or integer dtype, found '|O'");
    expect_refused(DICT("'>f8'", "False", "(1,)"), 8, "found '>f8'");
    expect_refused(DICT("'<c16'", "False", "(1,)"), 16, "found '<c16'");
    expect_refused(DICT("[('a', '<f8')]", "False", "(1,)"), 8, "one simple dtype");
    expect_refused(DICT("'<f8'", "True", "(1,)"), 8, "expected C order, found Fortran order");
    expect_refused(DICT("'<f8'", "0", "(1,)"), 8, "'fortran_order' once");
    expect_refused(DICT("'<f8'", "False", "1"), 8, "one tuple of sizes");
    expect_refused(DICT("'<f8'", "False", "(1)"), 8, "',' in the tuple of one size");
    expect_refused(DICT("'<f8'", "False", "(1, -1)"), 8, "expected a size, found '-1)");
    expect_refused(DICT("'<f8'", "False", "(1 1)"), 8, "expected a size, found '1)");
    expect_refused(DICT("'<f8'", "False", "(,)"), 8, "expected a size");
    expect_refused(DICT("'<f8'", "False", "(99999999999999999999,)"), 8, "expected a size");
    expect_refused(DICT("'<f8'", "False", "(1,1,1,1,1,1,1,1,1)"), 8, "at most 8 dimensions, found more");
}

static void test_size(void **state)
{
    (void)state;
    expect_refused(DICT("'<f8'", "False", "(4294967296, 4294967296)"), 0, "product of the shape overflows");
    expect_refused(DICT("'<f8'", "False", "(2305843009213693952,)"), 0, "product of the shape overflows");
    expect_refused(DICT("'<f8'", "False", "(2,)"), 15, "expected 16 bytes of data for its shape and dtype, found 15");
    expect_refused(DICT("'<f8'", "False", "(2,)"), 17, "found 17");
    expect_accepted(1, DICT("'<f8'", "False", "(2,)"), 16); /* control */
}

static void test_write_fails(void **state)
{
    (void)state;
    static const double x = 1;
    CHECK_FAILS(hkt_npy_write("absent/x", HKT_F64, 0, NULL, &x), HKT_ESYSTEM, "absent/x");
    if (hkt_file_exists("/dev/full"))
        CHECK_FAILS(hkt_npy_write("/dev/full", HKT_F64, 0, NULL, &x), HKT_ESYSTEM, "No space left on device");
}

static void test_fuzz(void **state)
{
    (void)state;
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    static const char alphabet[] = "0123456789(){},:'\"<|fiu \n";
    hkt_rng r = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 30);
    size_t n, accepted = 0, live = hkt_mem_live();
    char copy[128 + sizeof data];
    CHECK_OK(hkt_npy_write("f", HKT_F32, 2, (const size_t[]){2, 3}, data));
    char *bytes = scratch_read("f", &n);
    assert_int_equal(n, sizeof copy);
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, bytes, n);
        for (uint64_t k = 1 + hkt_rng_below(&r, 3); k > 0; k--)
            copy[hkt_rng_below(&r, 80)] =
                hkt_rng_below(&r, 2) ? (char)hkt_rng_u32(&r) : alphabet[hkt_rng_below(&r, sizeof alphabet - 1)];
        scratch_write("t", copy, hkt_rng_below(&r, 4) ? n : (size_t)hkt_rng_below(&r, n));
        hkt_status status = read_npy("t");
        assert_true(status == HKT_OK || status == HKT_EINPUT);
        assert_int_equal(status == HKT_OK, values != NULL);
        accepted += status == HKT_OK;
        hkt_free(values);
        assert_int_equal(hkt_mem_live(), live);
    }
    free(bytes);
    print_message("seed %u: %zu of 20000 accepted\n", HKT_DEFAULT_SEED, accepted);
    assert_true(accepted > 100 && accepted < 19000);
}

static void test_injection(void **state)
{
    (void)state;
    size_t live = hkt_mem_live();
    make(1, DICT("'<f8'", "False", "(2,)"), 16);
    for (size_t n = 1;; n++) {
        hkt_mem_fail_at(n);
        hkt_status status = read_npy("t");
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        assert_int_equal(status == HKT_OK, values != NULL);
        hkt_free(values);
        assert_int_equal(hkt_mem_live(), live);
        if (!failed) {
            assert_int_equal(n - 1, 2); /* the bytes, the values */
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy_bytes), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_shapes),      cmocka_unit_test(test_types_and_versions),
        cmocka_unit_test(test_prefix),      cmocka_unit_test(test_dictionary),
        cmocka_unit_test(test_size),        cmocka_unit_test(test_write_fails),
        cmocka_unit_test(test_fuzz),        cmocka_unit_test(test_injection),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

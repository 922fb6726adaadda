/* test_safetensors.c - reader against hostile files, writer, conversions. */
#include "tests/check.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/safetensors.h"
#include "tests/scratch.h"
#include "tests/tensors.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void test_valid(void **state)
{
    (void)state;
    hkt_safetensors *f;
    make("  {\"__metadata__\":{\"k\":\"v\",\"\xc3\xa9\":\"\"}," T("b", "U8", "[2,3]", 4, 10) "," T("a", "F32", "[]", 0,
                                                                                                   4) "} \n",
         10);
    CHECK_OK(hkt_safetensors_read(&f, "t"));
    assert_int_equal(hkt_safetensors_count(f), 2);
    assert_string_equal(hkt_safetensors_path(f), "t");
    assert_string_equal(hkt_safetensors_meta(f, "k"), "v");
    assert_string_equal(hkt_safetensors_meta(f, "\xc3\xa9"), "");
    assert_null(hkt_safetensors_meta(f, "x"));
    assert_null(hkt_safetensors_find(f, "__metadata__"));
    const hkt_tensor *a = hkt_safetensors_at(f, 0), *b = hkt_safetensors_find(f, "b"); /* in the order of the data */
    assert_string_equal(a->name, "a");
    assert_true(a->ndim == 0 && a->count == 1 && a->dtype == HKT_F32);
    assert_true(b->ndim == 2 && b->shape[0] == 2 && b->shape[1] == 3 && b->count == 6 && b->dtype == HKT_U8);
    unsigned char bytes[8];
    CHECK_OK(hkt_tensor_to_bytes(a, bytes));
    assert_memory_equal(bytes, "\0\1\2\3", 4);
    CHECK_OK(hkt_tensor_to_bytes(b, bytes));
    assert_memory_equal(bytes, "\4\5\6\7\10\11", 6);
    assert_ptr_equal(hkt_safetensors_at(f, 1), b);
    hkt_safetensors_free(f);
    hkt_safetensors_free(NULL);
}

static void test_accepted(void **state)
{
    (void)state;
    expect_accepted("{}", 0, 0);
    expect_accepted("{\"__metadata__\":{}}", 0, 0);
    expect_accepted("{" T("a", "F64", "[0]", 0, 0) "}", 0, 1);
    expect_accepted("{" T("a", "F32", "[1]", 0, 4) "," T("e", "F32", "[0,5]", 0, 0) "," T("f", "U8", "[0]", 4, 4) "}",
                    4, 3);
    expect_accepted("{" T("a", "F32", "[0,4294967296,4294967296]", 0, 0) "}", 0, 1);
    expect_accepted("{" T("a", "U8", "[1,1,1,1,1,1,1,1]", 0, 1) "}", 1, 1);
    expect_accepted("{" T("", "BF16", "[1]", 0, 2) "}", 2, 1);
    expect_accepted("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"extra\":1}}", 1, 1);
}

static void test_prefix(void **state)
{
    (void)state;
    hkt_safetensors *f;
    uint64_t length = 100000001;
    scratch_write("t", "", 0);
    CHECK_FAILS(hkt_safetensors_read(&f, "t"), HKT_EINPUT, "t: expected at least 8 bytes, found 0");
    scratch_write("t", "\2\0\0\0\0\0\0", 7);
    CHECK_FAILS(hkt_safetensors_read(&f, "t"), HKT_EINPUT, "t: expected at least 8 bytes, found 7");
    scratch_write("t", &length, 8);
    CHECK_FAILS(hkt_safetensors_read(&f, "t"), HKT_EINPUT, "at most 100000000 bytes, found length 100000001");
    length = 100000000; /* control: this much is allowed, but it is not there */
    scratch_write("t", &length, 8);
    CHECK_FAILS(hkt_safetensors_read(&f, "t"), HKT_EINPUT, "truncated: expected a header of 100000000 bytes, found 0");
    length = UINT64_MAX;
    scratch_write("t", &length, 8);
    CHECK_FAILS(hkt_safetensors_read(&f, "t"), HKT_EINPUT, "found length 18446744073709551615");
    CHECK_FAILS(hkt_safetensors_read(&f, "absent"), HKT_EINPUT, "cannot open 'absent'");
    CHECK_FAILS(hkt_safetensors_read(&f, "."), HKT_EINPUT, "is a directory");
}

static void test_header(void **state)
{
    (void)state;
    expect_refused("", 0, "t: header: line 1");
    expect_refused("[]", 0, "header: expected an object");
    expect_refused("{", 0, "header: line 1 column");
    expect_refused("{} x", 0, "header: line 1 column");
    expect_refused("{\"\xff\":1}", 0, "unable to decode byte 0xff");
    expect_refused("{\"a\\u0000\":1}", 0, "header");
    expect_refused("{" T("a", "U8", "[1]", 0, 1) "," T("a", "U8", "[1]", 1, 2) "}", 2,
                   "duplicate object key near '\"a\"'");
    expect_refused("{" T("a", "U8", "[1]", 0, 1) "," T("\\u0061", "U8", "[1]", 1, 2) "}", 2, "duplicate object key");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
                   "near '\"dtype\"'");
    expect_refused("{\"__metadata__\":[]}", 0, "expected '__metadata__' to be an object");
    expect_refused("{\"__metadata__\":{\"k\":1}}", 0, "metadata 'k': expected a string");
}

static void test_deep_header(void **state)
{
    (void)state;
    enum { DEPTH = 1000000 };
    char *text = malloc(DEPTH + 1);
    assert_non_null(text);
    memset(text, '[', DEPTH);
    text[DEPTH] = 0;
    expect_refused(text, 0, "depth");
    for (size_t i = 0; i < DEPTH; i++)
        text[i] = "{\"a\":"[i % 5];
    expect_refused(text, 0, "depth");
    free(text);
}

static void test_tensor(void **state)
{
    (void)state;
    expect_refused("{\"a\":1}", 0, "tensor 'a': expected an object");
    expect_refused("{" T("a", "C64", "[1]", 0, 8) "}", 8,
                   "tensor 'a': expected a dtype such as F64, F32, F16, BF16, I64, I32 or U8, found 'C64'");
    expect_refused("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "I32 or U8, found none");
    expect_refused("{\"a\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "tensor 'a': expected a dtype");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "expected 'shape' to be an array");
    expect_refused("{" T("a", "U8", "{}", 0, 1) "}", 1, "expected 'shape' to be an array");
    expect_refused("{" T("a", "U8", "[-1]", 0, 1) "}", 1, "dimension 0: expected a non-negative integer");
    expect_refused("{" T("a", "U8", "[1,1.0]", 0, 1) "}", 1, "dimension 1: expected a non-negative integer");
    expect_refused("{" T("a", "U8", "[\"1\"]", 0, 1) "}", 1, "dimension 0");
    expect_refused("{" T("a", "U8", "[1,1,1,1,1,1,1,1,1]", 0, 1) "}", 1, "at most 8 dimensions, found 9");
    expect_refused("{" T("a", "U8", "[4294967296,4294967296]", 0, 0) "}", 0,
                   "tensor 'a': product of the shape overflows");
    expect_refused("{" T("a", "F64", "[4611686018427387904]", 0, 0) "}", 0, "tensor 'a': size in bytes overflows");
    expect_refused("{" T("a", "U8", "[18446744073709551616]", 0, 0) "}", 0, "too big integer");
}

static void test_offsets(void **state)
{
    (void)state;
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "expected 'data_offsets' to be two");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1,
                   "expected 'data_offsets' to be two");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", 1, "to be two");
    expect_refused("{" T("a", "U8", "[1]", -1, 0) "}", 1, "to be two non-negative");
    expect_refused("{" T("a", "U8", "[1]", 1, 0) "}", 1, "ascending offsets within 1 bytes of data, found [1, 0]");
    expect_refused("{" T("a", "U8", "[2]", 0, 2) "}", 1, "within 1 bytes of data, found [0, 2]");
    expect_refused("{" T("a", "F32", "[1]", 0, 3) "}", 3,
                   "expected 4 bytes for its shape and dtype, found offsets [0, 3]");
    expect_refused("{" T("a", "F32", "[2]", 0, 4) "}", 4, "expected 8 bytes");
    expect_refused("{" T("a", "U8", "[2]", 0, 2) "," T("b", "U8", "[2]", 1, 3) "}", 3, "tensor 'b': overlaps another");
    expect_refused("{" T("a", "U8", "[2]", 0, 2) "," T("b", "U8", "[2]", 0, 2) "}", 2, "tensor 'b': overlaps another");
    expect_refused("{" T("a", "U8", "[1]", 0, 1) "," T("b", "U8", "[1]", 2, 3) "}", 3,
                   "tensor 'b': hole in the data: expected to begin at offset 1, found 2");
    expect_refused("{" T("a", "U8", "[1]", 1, 2) "}", 2, "tensor 'a': hole in the data");
    expect_refused("{" T("a", "U8", "[1]", 0, 1) "}", 2, "expected 1 bytes of data, found 2");
    expect_refused("{}", 1, "expected 0 bytes of data, found 1");
    expect_accepted("{" T("a", "U8", "[2]", 0, 2) "," T("b", "U8", "[2]", 2, 4) "}", 4, 2); /* control */
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void test_round_trip(void **state)
{
    (void)state;
    hkt_safetensors *f;
    size_t n, n2;
    CHECK_OK(hkt_safetensors_write("e", every, EVERY, meta));
    CHECK_OK(hkt_safetensors_write("e2", every, EVERY, meta));
    char *a = scratch_read("e", &n), *b = scratch_read("e2", &n2);
    assert_int_equal(n, n2);
    assert_memory_equal(a, b, n);
    assert_int_equal(a[0] % 8, 0); /* padded header: the data are aligned */
    assert_int_equal(strncmp(a + 8, "{\"__metadata__\":{\"hkt.config\":", 30), 0);
    free(a);
    free(b);
    CHECK_OK(hkt_safetensors_read(&f, "e"));
    assert_int_equal(hkt_safetensors_count(f), EVERY);
    for (size_t i = 0; i < EVERY; i++) {
        const hkt_tensor *t = hkt_safetensors_find(f, every[i].name);
        assert_non_null(t);
        assert_true(t->dtype == every[i].dtype && t->ndim == every[i].ndim);
        assert_memory_equal(t->shape, every[i].shape, t->ndim * sizeof *t->shape);
        char bytes[64];
        CHECK_OK(hkt_tensor_to_bytes(t, bytes));
        if (t->count > 0)
            assert_memory_equal(bytes, every[i].data, t->count * hkt_dtype_size(t->dtype));
    }
    assert_true(hkt_safetensors_has_checksum(f));
    CHECK_OK(hkt_safetensors_verify(f));
    assert_string_equal(hkt_safetensors_meta(f, "hkt.config"), "{\"d\": 1}");
    hkt_safetensors_free(f);
}

/* The bytes of a small file, written by hand from the format's description. */
static void test_written_bytes(void **state)
{
    (void)state;
    enum { HEADER = 8 + 120, AT = 8 + 29 /* of the header's checksum */ };
    char expected[] = "\x78\0\0\0\0\0\0\0{\"__metadata__\":{\"hkt.xxh3\":\"0000000000000000 ----------------\"},"
                      "\"a\":{\"dtype\":\"U8\",\"shape\":[1,3],\"data_offsets\":[0,3]}} \0\x80\xff",
         sum[HKT_CHECKSUM_DIGITS + 1];
    size_t n;
    assert_int_equal(sizeof expected - 1, HEADER + 3);
    hkt_checksum_format(sum, hkt_checksum_of(u8, 3));
    memcpy(expected + AT + 17, sum, 16);
    hkt_checksum_format(sum, hkt_checksum_of(expected, HEADER));
    memcpy(expected + AT, sum, 16);
    CHECK_OK(hkt_safetensors_write("h", &(hkt_tensor_out){"a", HKT_U8, 2, {1, 3}, u8}, 1, NULL));
    char *found = scratch_read("h", &n);
    assert_int_equal(n, sizeof expected - 1);
    assert_memory_equal(found, expected, n);
    free(found);
}

static void test_cut_and_grown(void **state)
{
    (void)state;
    hkt_safetensors *f;
    size_t n;
    CHECK_OK(hkt_safetensors_write("e", every, EVERY, meta));
    char *bytes = scratch_read("e", &n); /* n + 1 bytes */
    for (size_t size = 0; size <= n + 1; size++) {
        scratch_write("cut", bytes, size);
        hkt_status status = hkt_safetensors_read(&f, "cut");
        assert_int_equal(status, size == n ? HKT_OK : HKT_EINPUT);
        hkt_safetensors_free(f);
    }
    free(bytes);
}

static void test_write_fails(void **state)
{
    (void)state;
    size_t before = scratch_count("."), live = hkt_mem_live();
    CHECK_FAILS(hkt_safetensors_write("w", every, EVERY, (const char *const[]){"k", "\xff", NULL}), HKT_EINPUT,
                "metadata 'k': expected UTF-8");
    CHECK_FAILS(hkt_safetensors_write("absent/w", every, EVERY, meta), HKT_ESYSTEM, "absent/w");
    if (hkt_file_exists("/dev/full"))
        CHECK_FAILS(hkt_safetensors_write("/dev/full", every, EVERY, meta), HKT_ESYSTEM, "No space left on device");
    assert_int_equal(scratch_count("."), before);
    assert_int_equal(hkt_mem_live(), live);
}

/* --- conversions -------------------------------------------------------------------------------------------------- */

static double one(hkt_dtype dtype, uint64_t bits)
{
    char bytes[9]; /* at an odd address, as in files */
    memcpy(bytes + 1, &bits, 8);
    hkt_tensor t = {.name = "x", .dtype = dtype, .count = 1, .data = bytes + 1};
    double d;
    float f;
    CHECK_OK(hkt_tensor_to_f64(&t, &d));
    CHECK_OK(hkt_tensor_to_f32(&t, &f));
    assert_true(isnan(d) ? isnan(f) : f == (float)d && !signbit(f) == !signbit(d));
    return d;
}

static void test_half(void **state)
{
    (void)state;
    static const struct {
        uint16_t bits;
        double value;
    } known[] = {
        {0x0000, 0},  {0x0001, 0x1p-24}, {0x03ff, 0x3ffp-24}, {0x0400, 0x1p-14},  {0x3555, 0.333251953125}, {0x3c00, 1},
        {0xc000, -2}, {0x7bff, 65504},   {0xfbff, -65504},    {0x8001, -0x1p-24}, {0x3c01, 1.0009765625},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_true(one(HKT_F16, known[i].bits) == known[i].value);
    /* Each finite value is one unit in the last place above the one before; that fixes all of them. */
    for (uint16_t h = 0; h < 0x7bff; h++) {
        int exponent = h >> 10 > 1 ? h >> 10 : 1;
        assert_true(one(HKT_F16, h + 1u) - one(HKT_F16, h) == ldexp(1, exponent - 25));
        assert_true(one(HKT_F16, h | 0x8000u) == -one(HKT_F16, h));
    }
    assert_true(signbit(one(HKT_F16, 0x8000)) && !signbit(one(HKT_F16, 0)));
    assert_true(one(HKT_F16, 0x7c00) == (double)INFINITY && one(HKT_F16, 0xfc00) == -(double)INFINITY);
    assert_true(isnan(one(HKT_F16, 0x7c01)) && isnan(one(HKT_F16, 0x7e00)) && isnan(one(HKT_F16, 0xffff)));
}

static void test_bfloat(void **state)
{
    (void)state;
    assert_true(one(HKT_BF16, 0x3f80) == 1 && one(HKT_BF16, 0xc040) == -3);
    assert_true(one(HKT_BF16, 0x4049) == 3.140625);
    assert_true(one(HKT_BF16, 0x0001) == 0x1p-133 && one(HKT_BF16, 0x0080) == 0x1p-126); /* subnormal, normal */
    assert_true(one(HKT_BF16, 0x7f7f) == 0x1.fep127);
    assert_true(one(HKT_BF16, 0x7f80) == (double)INFINITY && one(HKT_BF16, 0xff80) == -(double)INFINITY);
    assert_true(isnan(one(HKT_BF16, 0x7fc0)) && isnan(one(HKT_BF16, 0x7f81)));
    for (uint16_t h = 0; h < 0x7f80; h++)
        assert_true(one(HKT_BF16, h + 1u) > one(HKT_BF16, h));
}

static void test_kinds(void **state)
{
    (void)state;
    hkt_safetensors *f;
    double d[6];
    int32_t w[3];
    CHECK_OK(hkt_safetensors_write("e", every, EVERY, NULL));
    CHECK_OK(hkt_safetensors_read(&f, "e"));
    CHECK_OK(hkt_tensor_to_f64(hkt_safetensors_find(f, "layers.0/wq"), d));
    assert_memory_equal(d, f64, sizeof f64);
    CHECK_OK(hkt_tensor_to_i32(hkt_safetensors_find(f, "i32"), w));
    assert_memory_equal(w, i32, sizeof i32);
    CHECK_OK(hkt_tensor_to_i32(hkt_safetensors_find(f, "u8"), w));
    assert_true(w[0] == 0 && w[1] == 128 && w[2] == 255);
    CHECK_FAILS(hkt_tensor_to_i32(hkt_safetensors_find(f, "i64"), w), HKT_EINPUT,
                "tensor 'i64': element 1: expected 32 bits, found 4000000000");
    CHECK_FAILS(hkt_tensor_to_i32(hkt_safetensors_find(f, "f32"), w), HKT_EINPUT, "tensor 'f32': expected integers");
    CHECK_FAILS(hkt_tensor_to_f64(hkt_safetensors_find(f, "u8"), d), HKT_EINPUT, "tensor 'u8': expected floats");
    hkt_safetensors_free(f);
}

/* --- faults at random and one by one ------------------------------------------------------------------------------ */

/* Reads everything that a file which was accepted promises. */
static void touch(const hkt_safetensors *f)
{
    double d[64];
    int32_t w[64];
    for (size_t i = 0; i < hkt_safetensors_count(f); i++) {
        const hkt_tensor *t = hkt_safetensors_at(f, i);
        assert_true(t->count <= 64 && strlen(t->name) < 1000);
        if (hkt_tensor_to_f64(t, d) != HKT_OK && hkt_tensor_to_i32(t, w) != HKT_OK)
            assert_int_equal(t->dtype, HKT_I64);
    }
}

/* Flips, replaces, removes or doubles up to four bytes, mostly in the header. Returns the new size. */
static size_t damage(hkt_rng *r, char *bytes, size_t n, size_t header)
{
    for (uint64_t k = 1 + hkt_rng_below(r, 4); k > 0 && n > 0; k--) {
        size_t limit = hkt_rng_below(r, 8) == 0 || header > n ? n : header;
        size_t at = (size_t)hkt_rng_below(r, limit);
        switch (hkt_rng_below(r, 5)) {
        case 0:
            bytes[at] = (char)(bytes[at] ^ 1 << hkt_rng_below(r, 8));
            break;
        case 1:
            bytes[at] = (char)hkt_rng_u32(r);
            break;
        case 2: /* plausible JSON */
            bytes[at] = "0123456789-[]{},:\"eFIU\\ "[hkt_rng_below(r, 24)];
            break;
        case 3:
            memmove(bytes + at, bytes + at + 1, --n - at);
            break;
        default:
            n = hkt_rng_below(r, 4) == 0 ? at : n;
        }
    }
    return n;
}

static void test_fuzz(void **state)
{
    (void)state;
    hkt_rng r = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 20);
    size_t n, accepted = 0, refused = 0, live = hkt_mem_live();
    hkt_safetensors *f;
    CHECK_OK(hkt_safetensors_write("e", every, EVERY, meta));
    /* With a checksum hardly anything would get past the header. */
    char *bytes = without_checksum("e", &n), *copy = malloc(n);
    int saved = scratch_redirect(2, "/dev/null"); /* a note each */
    size_t header = 8 + (unsigned char)bytes[0] + 256 * (size_t)(unsigned char)bytes[1];
    assert_non_null(copy);
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, bytes, n);
        scratch_write("fuzz", copy, damage(&r, copy, n, header));
        hkt_status status = hkt_safetensors_read(&f, "fuzz");
        if (status == HKT_OK)
            touch(f);
        else if (status != HKT_EINPUT)
            fail_msg("status %d: %s", (int)status, hkt_error());
        assert_int_equal(status == HKT_OK, f != NULL);
        hkt_safetensors_free(f);
        assert_int_equal(hkt_mem_live(), live);
        *(status == HKT_OK ? &accepted : &refused) += 1;
    }
    scratch_restore(2, saved);
    print_message("seed %u: %zu accepted, %zu refused\n", HKT_DEFAULT_SEED, accepted, refused);
    assert_true(accepted > 100 && refused > 1000); /* both ways were taken */
    free(bytes);
    free(copy);
}

static hkt_status read_and_free(void)
{
    hkt_safetensors *f;
    hkt_status status = hkt_safetensors_read(&f, "e");
    assert_int_equal(status == HKT_OK, f != NULL);
    hkt_safetensors_free(f);
    return status;
}

static hkt_status write_again(void)
{
    return hkt_safetensors_write("e", every, EVERY, meta);
}

/* Fails allocation 1, 2, 3, ... until the call gets through; returns how many failed. */
static size_t inject(hkt_status (*call)(void))
{
    size_t live = hkt_mem_live(), files = scratch_count(".");
    for (size_t n = 1;; n++) {
        hkt_mem_fail_at(n);
        hkt_status status = call();
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
        assert_int_equal(scratch_count("."), files);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        if (!failed)
            return n - 1;
        assert_true(strstr(hkt_error(), "out of memory") || strstr(hkt_error(), "cannot "));
    }
}

static void test_injection(void **state)
{
    (void)state;
    CHECK_OK(write_again());
    assert_int_equal(inject(read_and_free),
                     7); /* the file, its path, header, checksums, entries, tensors, their names */
    assert_true(inject(write_again) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),         cmocka_unit_test(test_accepted),    cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_header),        cmocka_unit_test(test_deep_header), cmocka_unit_test(test_tensor),
        cmocka_unit_test(test_offsets),       cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_written_bytes),
        cmocka_unit_test(test_cut_and_grown), cmocka_unit_test(test_write_fails), cmocka_unit_test(test_half),
        cmocka_unit_test(test_bfloat),        cmocka_unit_test(test_kinds),       cmocka_unit_test(test_fuzz),
        cmocka_unit_test(test_injection),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

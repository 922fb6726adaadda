/* test_checksum.c - checksums of safetensors files: what damage they find and how it is named; data stay in the file;
 * what is no safetensors file. */
#include "tests/check.h"

#include <sys/resource.h>

#include "base/checksum.h"
#include "base/safetensors.h"
#include "tests/scratch.h"
#include "tests/tensors.h"

static hkt_status read_whole(const char *path, bool *sealed)
{
    hkt_safetensors *f;
    HKT_TRY(hkt_safetensors_read(&f, path));
    *sealed = hkt_safetensors_has_checksum(f);
    hkt_status status = hkt_safetensors_verify(f);
    hkt_safetensors_free(f);
    return status;
}

static void test_known_sums(void **state)
{
    (void)state;
    char text[HKT_CHECKSUM_DIGITS + 1];
    uint64_t sum;
    hkt_checksum c;
    assert_true(hkt_checksum_of(NULL, 0) == 0x2d06800538d394c2); /* of XXH3's specification */
    hkt_checksum_start(&c);
    assert_true(hkt_checksum_end(&c) == 0x2d06800538d394c2);
    for (size_t i = 0; i < sizeof f64; i++)
        hkt_checksum_add(&c, (const char *)f64 + i, 1);
    assert_true(hkt_checksum_end(&c) == hkt_checksum_of(f64, sizeof f64));
    hkt_checksum_format(text, 0x0123456789abcdef);
    assert_string_equal(text, "0123456789abcdef");
    assert_ptr_equal(hkt_checksum_parse(text, &sum), text + 16);
    assert_true(sum == 0x0123456789abcdef);
    assert_null(hkt_checksum_parse("0123456789abcde", &sum));
    assert_null(hkt_checksum_parse("0123456789ABCDEF", &sum));
}

/* Every single flipped bit is noticed, but in the key of the checksums: then the file has none, which is said. */
static void test_flipped_bits(void **state)
{
    (void)state;
    size_t n, unnoticed = 0;
    bool sealed = false;
    CHECK_OK(hkt_safetensors_write("e", every, EVERY, meta));
    CHECK_OK(read_whole("e", &sealed));
    assert_true(sealed);
    char *bytes = scratch_read("e", &n);
    size_t key = (size_t)((char *)memmem(bytes, n, "hkt.xxh3", 8) - bytes);
    for (size_t i = 0; i < 8 * n; i++) {
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        scratch_write("flipped", bytes, n);
        if (read_whole("flipped", &sealed) == HKT_OK) {
            unnoticed++;
            assert_false(sealed);
            assert_in_range(i / 8, key, key + 7);
        }
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
    }
    print_message("%zu bits flipped, %zu of them in the key\n", 8 * n, unnoticed);
    assert_in_range(unnoticed, 1, 64);
    free(bytes);
}

static void test_damage_is_named(void **state)
{
    (void)state;
    size_t n;
    bool sealed = false;
    double d[6];
    hkt_safetensors *f;
    CHECK_OK(hkt_safetensors_write("e", every, EVERY, meta));
    char *bytes = scratch_read("e", &n);
    size_t header = 8 + (unsigned char)bytes[0] + 256 * (size_t)(unsigned char)bytes[1];
    bytes[header + 40] ^= 1; /* of the sixth double */
    scratch_write("d", bytes, n);
    CHECK_FAILS(read_whole("d", &sealed), HKT_EINPUT, "d: tensor 'layers.0/wq': expected checksum ");
    CHECK_OK(hkt_safetensors_read(&f, "d"));
    CHECK_FAILS(hkt_tensor_to_f64(hkt_safetensors_find(f, "layers.0/wq"), d), HKT_EINPUT, "its data are damaged");
    CHECK_OK(hkt_tensor_to_f64(hkt_safetensors_find(f, "f32"), d)); /* what is whole can be read */
    hkt_safetensors_free(f);
    bytes[header + 40] ^= 1;
    *(char *)memmem(bytes, n, "bf16", 4) = 'B';
    scratch_write("d", bytes, n);
    CHECK_FAILS(read_whole("d", &sealed), HKT_EINPUT, "d: header: expected checksum ");
    free(bytes);
    bytes = without_checksum("e", &n);
    bytes[header + 40] ^= 1;
    scratch_write("d", bytes, n);
    int saved = scratch_redirect(2, "note");
    CHECK_OK(read_whole("d", &sealed)); /* control: nobody can know */
    scratch_restore(2, saved);
    assert_false(sealed);
    free(bytes);
    bytes = scratch_read("note", &n);
    assert_string_equal(bytes, "d: has no checksum: damage of its data would not be noticed\n");
    free(bytes);
}

static void test_wrong_sums(void **state)
{
    (void)state;
    expect_refused("{\"__metadata__\":{\"hkt.xxh3\":\"12\"}}", 0, "'hkt.xxh3': expected 16 digits, found '12'");
    expect_refused("{\"__metadata__\":{\"hkt.xxh3\":\"0000000000000000\"}}", 0,
                   "header: expected checksum 0000000000000000, found ");
    expect_refused("{\"__metadata__\":{\"hkt.xxh3\": \"0000000000000000\"}}", 0, "header: expected checksum 00");
    expect_refused("{\"__metadata__\":{\"hkt.xxh3\": \"0000000000000000\"},\"hkt.xxh3\":\"\"}", 0, "header: expected");
}

/* Data are not in memory before they are asked for, and a file that shrinks meanwhile is an error, no signal. */
static void test_large_and_shrinking(void **state)
{
    (void)state;
    const off_t size = (off_t)4 << 30;
    hkt_safetensors *f;
    struct rusage before, after;
    char header[256];
    float v = 1;
    int n = snprintf(header, sizeof header,
                     "{" T("small", "F32", "[1]", 0, 4) ",\"large\":{\"dtype\":\"U8\",\"shape\":"
                                                        "[%lld],\"data_offsets\":[4,%lld]}}",
                     (long long)size - 4, (long long)size);
    make(header, 4);
    assert_int_equal(truncate("t", 8 + n + size), 0); /* sparse */
    getrusage(RUSAGE_SELF, &before);
    CHECK_OK(hkt_safetensors_read(&f, "t"));
    CHECK_OK(hkt_tensor_to_f32(hkt_safetensors_find(f, "small"), &v));
    getrusage(RUSAGE_SELF, &after);
    assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 1 << 16); /* kB */
    assert_memory_equal(&v, "\0\1\2\3", 4);
    assert_int_equal(truncate("t", 8 + n + 2), 0);
    CHECK_FAILS(hkt_tensor_to_f32(hkt_safetensors_find(f, "small"), &v), HKT_EINPUT, "cannot read 't': expected ");
    hkt_safetensors_free(f);
}

/* --- what is none ------------------------------------------------------------------------------------------------- */

static void test_other_formats(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *message;
    } cases[] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", 58,
         "t: not a safetensors file: expected '{' after 8 bytes, found a Git LFS pointer (fetch the file itself: git "
         "lfs "
         "pull), first bytes 'version https://...'"},
        {"GGUF\3\0\0\0\1\0\0\0", 12, "found a GGUF model, first bytes 'GGUF\\x03\\x00"},
        {"PK\3\4\0\0\10\10\0\0\0\0", 12, "found a zip archive (PyTorch's .pt"},
        {"\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j", 12, "found a Python pickle (PyTorch's old .pt)"},
        {"<!DOCTYPE html>\n<html>", 22, "found an HTML page"},
        {"\0\1\0\0\0\3\0\0\5\0\0\0", 12, "found another format, first bytes '\\x00\\x01"}, /* llama2.c: no mark */
        {"24ka\1\0\0\0\0\1\0\0", 12, "found a llama2.c model"},
    };
    hkt_safetensors *f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_write("t", cases[i].bytes, cases[i].n);
        CHECK_FAILS(hkt_safetensors_read(&f, "t"), HKT_EINPUT, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_sums),          cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_damage_is_named),     cmocka_unit_test(test_wrong_sums),
        cmocka_unit_test(test_large_and_shrinking), cmocka_unit_test(test_other_formats),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

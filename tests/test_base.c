/* test_base.c - status, memory, files, JSON, random numbers. */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/check.h"

#include "base/dir.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "tests/scratch.h"

/* --- status ------------------------------------------------------------------------------------------------------- */

static hkt_status tried(hkt_status s, int *reached)
{
    HKT_TRY(s);
    *reached = 1;
    return HKT_OK;
}

static void test_status(void **state)
{
    (void)state;
    int reached = 0;
    assert_int_equal(hkt_fail(HKT_EINPUT, "'%s': expected %d", "a\nb\033[31m", 3), HKT_EINPUT);
    assert_string_equal(hkt_error(), "'a?b?[31m': expected 3"); /* one line, nothing for the terminal */
    assert_int_equal(hkt_fail_context(HKT_EINPUT, "file %d", 7), HKT_EINPUT);
    assert_string_equal(hkt_error(), "file 7: 'a?b?[31m': expected 3");
    hkt_fail(HKT_EUSAGE, "again: %s", hkt_error()); /* the old message as an argument */
    assert_string_equal(hkt_error(), "again: file 7: 'a?b?[31m': expected 3");
    assert_int_equal(tried(HKT_ENUMERIC, &reached), HKT_ENUMERIC);
    assert_int_equal(reached, 0);
    assert_int_equal(tried(HKT_OK, &reached), HKT_OK);
    assert_int_equal(reached, 1);
}

static void test_status_long_message(void **state)
{
    (void)state;
    char big[5000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    hkt_fail(HKT_EINPUT, "%s", big);
    assert_true(strlen(hkt_error()) > 500 && strlen(hkt_error()) < sizeof big);
    hkt_fail_context(HKT_EINPUT, "%s", big);
    assert_true(strlen(hkt_error()) > 500 && strlen(hkt_error()) < sizeof big);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void test_mem(void **state)
{
    (void)state;
    size_t n = 1, before = hkt_mem_live();
    double *p;
    assert_false(hkt_mul_size(SIZE_MAX / 2 + 1, 2, &n));
    assert_false(hkt_add_size(SIZE_MAX, 1, &n));
    assert_int_equal(n, 1);
    assert_true(hkt_mul_size(SIZE_MAX / 2, 2, &n) && n == SIZE_MAX - 1);
    assert_true(hkt_mul_size(SIZE_MAX, 0, &n) && n == 0);
    for (size_t count = 0; count < 200; count++) {
        CHECK_OK(HKT_NEW(&p, count));
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t i = 0; i < count; i++)
            assert_true(p[i] == 0);
        memset(p, 0xff, count * sizeof *p); /* the next block reuses it and must be zeroed again */
        assert_int_equal(hkt_mem_live(), before + 1);
        hkt_free(p);
    }
    hkt_free(NULL);
    CHECK_FAILS(hkt_alloc((void **)&p, SIZE_MAX / 2, 3, "scores"), HKT_ESYSTEM, "scores");
    assert_null(p);
    CHECK_FAILS(hkt_alloc((void **)&p, SIZE_MAX - 3, 1, "scores"), HKT_ESYSTEM, "bytes for scores");
    assert_int_equal(hkt_mem_live(), before);
}

static void test_mem_injection(void **state)
{
    (void)state;
    int *a, *b;
    hkt_mem_fail_at(2);
    CHECK_OK(HKT_NEW(&a, 4));
    assert_false(hkt_mem_failed());
    CHECK_FAILS(HKT_NEW(&b, 4), HKT_ESYSTEM, "out of memory: 16 bytes");
    assert_null(b);
    assert_true(hkt_mem_failed());
    CHECK_OK(HKT_NEW(&b, 4)); /* once only */
    hkt_mem_fail_at(0);
    assert_false(hkt_mem_failed());
    hkt_free(a);
    hkt_free(b);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void test_file_read(void **state)
{
    (void)state;
    char *data;
    size_t size;
    scratch_write("bytes", "a\0b\n", 4);
    CHECK_OK(hkt_file_read("bytes", &data, &size));
    assert_int_equal(size, 4);
    assert_memory_equal(data, "a\0b\n", 5);
    hkt_free(data);
    scratch_write("empty", "", 0);
    CHECK_OK(hkt_file_read("empty", &data, &size));
    assert_int_equal(size, 0);
    hkt_free(data);
    CHECK_FAILS(hkt_file_read("absent", &data, &size), HKT_EINPUT, "cannot open 'absent': No such file");
    CHECK_FAILS(hkt_file_read(".", &data, &size), HKT_EINPUT, "is a directory");
    CHECK_FAILS(hkt_file_read("/dev/zero", &data, &size), HKT_EINPUT, "not a regular file");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    CHECK_FAILS(hkt_file_read("fifo", &data, &size), HKT_EINPUT, "not a regular file"); /* and does not wait */
    assert_null(data);
    assert_true(hkt_file_exists("bytes") && !hkt_file_exists("absent"));
}

static void expect_content(const char *path, const char *text)
{
    size_t n;
    char *found = scratch_read(path, &n);
    assert_string_equal(found, text);
    free(found);
}

static void test_file_write(void **state)
{
    (void)state;
    hkt_out *out;
    CHECK_OK(hkt_mkdir("w/deep/er"));
    CHECK_OK(hkt_mkdir("w/deep/er"));
    scratch_write_text("w/old", "old");
    CHECK_OK(hkt_out_open(&out, "w/old"));
    fputs("new", hkt_out_stream(out));
    expect_content("w/old", "old"); /* until the commit */
    hkt_out_abort(out);
    expect_content("w/old", "old");
    assert_int_equal(scratch_count("w"), 2);
    CHECK_OK(hkt_out_open(&out, "w/old"));
    fputs("new", hkt_out_stream(out));
    CHECK_OK(hkt_out_commit(out));
    expect_content("w/old", "new");
    assert_int_equal(scratch_count("w"), 2);
    hkt_out_abort(NULL);
    /* The target of a link is replaced, not the link. */
    assert_int_equal(symlink("old", "w/link"), 0);
    CHECK_OK(hkt_out_open(&out, "w/link"));
    fputs("linked", hkt_out_stream(out));
    CHECK_OK(hkt_out_commit(out));
    expect_content("w/old", "linked");
    CHECK_FAILS(hkt_out_open(&out, "absent/x"), HKT_ESYSTEM, "No such file or directory");
    CHECK_FAILS(hkt_out_open(&out, "w"), HKT_ESYSTEM, "is a directory");
    assert_null(out);
    CHECK_FAILS(hkt_mkdir("w/old"), HKT_ESYSTEM, "not a directory");
    CHECK_FAILS(hkt_mkdir("w/old/x"), HKT_ESYSTEM, "w/old");
    CHECK_FAILS(hkt_mkdir(""), HKT_ESYSTEM, "cannot create directory");
}

/* A directory that turns up at the target makes the rename fail: the temporary goes. */
static void test_file_rename_fails(void **state)
{
    (void)state;
    hkt_out *out;
    CHECK_OK(hkt_mkdir("r"));
    CHECK_OK(hkt_out_open(&out, "r/x"));
    CHECK_OK(hkt_mkdir("r/x/y"));
    CHECK_FAILS(hkt_out_commit(out), HKT_ESYSTEM, "cannot replace 'r/x': ");
    assert_int_equal(scratch_count("r"), 1);
}

/* Temporaries of a killed process go when their target is written again, and only those. */
static void test_file_stale(void **state)
{
    (void)state;
    hkt_out *out;
    char alive[64], locked[64];
    long dead = 999999999; /* above the largest process number that Linux gives, 2^22 */
    CHECK_OK(hkt_mkdir("stale"));
    snprintf(alive, sizeof alive, "stale/x.tmp-%ld-7", (long)getppid());
    snprintf(locked, sizeof locked, "stale/x.tmp-%ld-1", dead);
    static const char *const others[] = {"stale/y.tmp-999999999-0", "stale/x.tmp-999999999-0.bak",
                                         "stale/x.tmp-0-0",         "stale/x.tmp--5-0",
                                         "stale/x.tmp-999999999",   "stale/ax.tmp-999999999-0"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        scratch_write_text(others[i], "other");
    scratch_write_text(alive, "alive");
    scratch_write_text(locked, "locked");
    scratch_write_text("stale/x.tmp-999999999-0", "dead");
    int fd = open(locked, O_RDONLY); /* a process that we cannot see, on the same disk */
    assert_int_equal(flock(fd, LOCK_EX), 0);
    CHECK_OK(hkt_out_open(&out, "stale/x"));
    fputs("new", hkt_out_stream(out));
    CHECK_OK(hkt_out_commit(out));
    assert_false(hkt_file_exists("stale/x.tmp-999999999-0"));
    assert_true(hkt_file_exists(alive) && hkt_file_exists(locked));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(hkt_file_exists(others[i]));
    close(fd);
    CHECK_OK(hkt_out_open(&out, "stale/x"));
    hkt_out_abort(out);
    assert_false(hkt_file_exists(locked));
    expect_content("stale/x", "new");
}

/* Names up to what the file system allows; temporaries are cut, between characters, and still known as stale. */
static void test_file_long_names(void **state)
{
    (void)state;
    hkt_out *out;
    char path[300], stale[300];
    CHECK_OK(hkt_mkdir("long"));
    const size_t most = hkt_file_name_max("long");
    assert_in_range(most, 14, 255);
    for (size_t n = most - 30; n <= most; n++)
        for (int utf8 = 0; utf8 < 2; utf8++) {
            int at = snprintf(path, sizeof path, "long/%s", n % 2 && utf8 ? "a" : "");
            while ((size_t)at < 5 + n)
                at += snprintf(path + at, sizeof path - (size_t)at, utf8 ? "\xc3\xa9" : "x");
            if (utf8 && (size_t)at > 5 + n) /* half a character too many */
                continue;
            CHECK_OK(hkt_file_writable(path));
            CHECK_OK(hkt_out_open(&out, path));
            fputs("long", hkt_out_stream(out));
            CHECK_OK(hkt_out_commit(out));
            expect_content(path, "long");
            assert_int_equal(scratch_count("long"), 1);
            unlink(path);
        }
    snprintf(path, sizeof path, "long/%0*d", (int)most, 0);
    snprintf(stale, sizeof stale, "long/%0*d.tmp-999999999-0", (int)most - 17, 0);
    scratch_write_text(stale, "dead");
    CHECK_OK(hkt_out_open(&out, path));
    assert_false(hkt_file_exists(stale));
    hkt_out_abort(out);
    assert_int_equal(scratch_count("long"), 0);
    snprintf(path, sizeof path, "long/%0*d", (int)most + 1, 0);
    CHECK_FAILS(hkt_file_writable(path), HKT_ESYSTEM, "File name too long");
    CHECK_FAILS(hkt_out_open(&out, path), HKT_ESYSTEM, "File name too long");
}

/* RFC 3629's limits, and that jansson agrees. */
static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text, *escaped;
    } cases[] = {{"", ""},
                 {"plain", "plain"},
                 {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
                 {"a\xff", "a\\xff"},
                 {"\xc3", "\\xc3"},
                 {"\xc0\x80", "\\xc0\\x80"},                   /* too long for its value */
                 {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* half of a surrogate pair */
                 {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF */
                 {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        CHECK_OK(hkt_utf8_escape(&text, cases[i].text));
        assert_string_equal(text, cases[i].escaped);
        json_t *plain = json_string(cases[i].text), *name = hkt_json_name(cases[i].text);
        assert_int_equal(plain != NULL, hkt_utf8_valid(cases[i].text, strlen(cases[i].text)));
        assert_string_equal(json_string_value(name), text);
        json_decref(plain);
        json_decref(name);
        hkt_free(text);
    }
}

static void test_file_same(void **state)
{
    (void)state;
    CHECK_OK(hkt_mkdir("same/deep"));
    scratch_write_text("same/a", "");
    scratch_write_text("same/b", "");
    assert_int_equal(symlink("a", "same/link"), 0);
    assert_int_equal(link("same/a", "same/hard"), 0);
    assert_true(hkt_file_same("same/a", "same/a") && hkt_file_same("same/a", "./same/deep/../a"));
    assert_true(hkt_file_same("same/a", "same/link") && hkt_file_same("same/hard", "same/a"));
    assert_true(hkt_file_same("same/new", "same/deep/../new") && hkt_file_same("new", "./new")); /* to be made */
    assert_false(hkt_file_same("same/a", "same/b"));
    assert_false(hkt_file_same("same/a", "same/new"));
    assert_false(hkt_file_same("same/new", "same/deep/new"));
    assert_false(hkt_file_same("same/new", "absent/new"));
}

static hkt_status write_bytes(const char *path, size_t n)
{
    hkt_out *out;
    HKT_TRY(hkt_out_open(&out, path));
    for (size_t i = 0; i < n; i++)
        putc('x', hkt_out_stream(out));
    return hkt_out_commit(out);
}

static void test_file_disk_full(void **state)
{
    (void)state;
    size_t before = hkt_mem_live();
    if (!hkt_file_exists("/dev/full"))
        skip();
    CHECK_FAILS(write_bytes("/dev/full", 5), HKT_ESYSTEM, "cannot write '/dev/full': No space left on device");
    CHECK_FAILS(write_bytes("/dev/full", 1 << 20), HKT_ESYSTEM, "cannot write '/dev/full'");
    /* Standard output, with a line that fits its buffer and with one that does not. */
    for (size_t n = 5; n <= 1 << 20; n <<= 18) {
        int saved = scratch_redirect(1, "/dev/full");
        hkt_status status = write_bytes("-", n);
        scratch_restore(1, saved);
        assert_int_equal(status, HKT_ESYSTEM);
        assert_non_null(strstr(hkt_error(), "cannot write 'standard output': "));
        saved = scratch_redirect(1, "stdout.txt"); /* control */
        status = write_bytes("-", n);
        scratch_restore(1, saved);
        assert_int_equal(status, HKT_OK);
    }
    assert_int_equal(hkt_mem_live(), before);
}

static void test_file_injection(void **state)
{
    (void)state;
    size_t before = hkt_mem_live();
    CHECK_OK(hkt_mkdir("inject"));
    for (size_t n = 1;; n++) {
        hkt_mem_fail_at(n);
        hkt_status status = write_bytes("inject/x", 3);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), before);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        assert_int_equal(scratch_count("inject"), failed ? 0 : 1);
        if (!failed)
            break;
        assert_true(n < 100);
    }
}

static void test_dir(void **state)
{
    (void)state;
    hkt_dir d, other, closed = {0};
    CHECK_OK(hkt_dir_open(&d, "mine/deep"));
    CHECK_FAILS(hkt_dir_open(&other, "mine/deep"), HKT_EINPUT,
                "mine/deep: another process is writing into this directory");
    assert_null(other.path);
    hkt_dir_close(&other);
    assert_true(hkt_file_is_directory("mine/deep")); /* it was not the other's to remove */
    hkt_dir_close(&d);
    assert_false(hkt_file_exists("mine/deep"));
    assert_true(hkt_file_is_directory("mine"));
    CHECK_OK(hkt_dir_open(&d, "mine")); /* existed, so it stays */
    hkt_dir_close(&d);
    assert_true(hkt_file_is_directory("mine"));
    CHECK_OK(hkt_dir_open(&d, "mine/kept"));
    scratch_write_text("mine/kept/file", "x");
    hkt_dir_close(&d);
    assert_true(hkt_file_exists("mine/kept/file"));
    scratch_write_text("mine/file", "x");
    CHECK_FAILS(hkt_dir_open(&d, "mine/file"), HKT_ESYSTEM, "not a directory");
    hkt_dir_close(&closed);
}

static void test_path_join(void **state)
{
    (void)state;
    static const char *const cases[][3] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path;
        CHECK_OK(hkt_path_join(&path, cases[i][0], cases[i][1]));
        assert_string_equal(path, cases[i][2]);
        hkt_free(path);
    }
}

/* --- json --------------------------------------------------------------------------------------------------------- */

static hkt_status parse(json_t **j, const char *text)
{
    return hkt_json_parse(j, text, strlen(text), "FILE");
}

static void test_json_parse(void **state)
{
    (void)state;
    json_t *j;
    CHECK_OK(parse(&j, " {\"a\": 1} "));
    json_decref(j);
    CHECK_FAILS(parse(&j, "{\"a\": 1, \"a\": 2}"), HKT_EINPUT, "duplicate object key near '\"a\"'");
    assert_null(j);
    CHECK_FAILS(parse(&j, "{\"x\": {\"a\": 1, \"a\": 2}}"), HKT_EINPUT, "FILE: line 1 column");
    CHECK_FAILS(parse(&j, "{\"a\": 1}x"), HKT_EINPUT, "end of file expected");
    CHECK_FAILS(parse(&j, "{\"a\": 1"), HKT_EINPUT, "FILE");
    CHECK_FAILS(parse(&j, ""), HKT_EINPUT, "FILE");
    CHECK_FAILS(parse(&j, "{\"a\": NaN}"), HKT_EINPUT, "FILE");
    CHECK_FAILS(parse(&j, "{\"a\": 1e999}"), HKT_EINPUT, "overflow");
    CHECK_FAILS(parse(&j, "{\"a\": 18446744073709551616}"), HKT_EINPUT, "too big");
    CHECK_FAILS(parse(&j, "{\"\xff\": 1}"), HKT_EINPUT, "unable to decode byte 0xff");
    CHECK_FAILS(hkt_json_parse(&j, "{}\0", 3, "FILE"), HKT_EINPUT, "FILE");
    CHECK_FAILS(hkt_json_read(&j, "absent.json"), HKT_EINPUT, "absent.json");
}

static void test_json_deep(void **state)
{
    (void)state;
    enum { DEPTH = 1000000 };
    char *text = malloc(DEPTH);
    json_t *j;
    assert_non_null(text);
    memset(text, '[', DEPTH);
    CHECK_FAILS(hkt_json_parse(&j, text, DEPTH, "FILE"), HKT_EINPUT, "depth");
    for (size_t i = 0; i + 5 <= DEPTH; i += 5)
        memcpy(text + i, "{\"a\":", 5);
    CHECK_FAILS(hkt_json_parse(&j, text, DEPTH, "FILE"), HKT_EINPUT, "depth");
    free(text);
}

static void test_json_get(void **state)
{
    (void)state;
    json_t *j;
    size_t n = 9;
    bool b = false;
    const char *s = NULL;
    double v = 0;
    CHECK_OK(parse(&j, "{\"n\": 4096, \"b\": true, \"s\": \"x\", \"v\": 0.5, \"neg\": -1, \"null\": null, \"a\": []}"));
    CHECK_OK(hkt_json_get_size(j, "n", "F", &n));
    CHECK_OK(hkt_json_get_bool(j, "b", "F", &b));
    CHECK_OK(hkt_json_get_string(j, "s", "F", &s));
    CHECK_OK(hkt_json_get_real(j, "v", "F", &v));
    assert_true(n == 4096 && b && strcmp(s, "x") == 0 && v == 0.5);
    CHECK_OK(hkt_json_get_real(j, "neg", "F", &v));
    assert_true(v == -1);
    CHECK_FAILS(hkt_json_get_size(j, "neg", "F", &n), HKT_EINPUT,
                "F: key 'neg': expected a non-negative integer, found -1");
    CHECK_FAILS(hkt_json_get_size(j, "v", "F", &n), HKT_EINPUT, "found 0.5");
    CHECK_FAILS(hkt_json_get_size(j, "absent", "F", &n), HKT_EINPUT, "found nothing");
    CHECK_FAILS(hkt_json_get_bool(j, "n", "F", &b), HKT_EINPUT, "expected true or false, found 4096");
    CHECK_FAILS(hkt_json_get_string(j, "a", "F", &s), HKT_EINPUT, "expected a string, found an array");
    CHECK_FAILS(hkt_json_get_real(j, "s", "F", &v), HKT_EINPUT, "expected a number, found string 'x'");
    CHECK_FAILS(hkt_json_get_real(j, "null", "F", &v), HKT_EINPUT, "found null");
    assert_true(n == 4096);
    json_decref(j);
}

/* Doubles survive writing and reading; NaN becomes null. */
static void test_json_write(void **state)
{
    (void)state;
    json_t *back, *j = json_object();
    const double values[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0};
    char key[2] = "a";
    for (size_t i = 0; i < 5; i++, key[0]++)
        json_object_set_new(j, key, hkt_json_real(values[i]));
    json_object_set_new(j, "nan", hkt_json_real((double)NAN));
    json_object_set_new(j, "inf", hkt_json_real((double)INFINITY));
    CHECK_OK(hkt_json_write(j, "j.json"));
    CHECK_OK(hkt_json_read(&back, "j.json"));
    assert_true(json_equal(j, back));
    assert_true(json_is_null(json_object_get(back, "nan")) && json_is_null(json_object_get(back, "inf")));
    json_decref(j);
    json_decref(back);
}

/* --- random numbers ----------------------------------------------------------------------------------------------- */

/* Known-answer vectors of Random123's philox4x32-10 (tests/kat_vectors): counter, key, result. */
static void test_rng_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], result[4];
    } kat[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof kat / sizeof kat[0]; i++) {
        uint32_t out[4];
        const uint32_t *c = kat[i].counter, *k = kat[i].key;
        hkt_rng_block(k[0] | (uint64_t)k[1] << 32, c[2], c[3], c[0] | (uint64_t)c[1] << 32, out);
        assert_memory_equal(out, kat[i].result, sizeof out);
        hkt_rng_block(k[0] | (uint64_t)k[1] << 32, c[2], c[3] ^ 1, c[0] | (uint64_t)c[1] << 32, out); /* control */
        assert_memory_not_equal(out, kat[i].result, sizeof out);
    }
}

static hkt_rng test_stream(uint32_t sub)
{
    print_message("seed %u, stream %d, sub %u\n", HKT_DEFAULT_SEED, HKT_STREAM_TEST, sub);
    return hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, sub);
}

static void test_rng_sequence(void **state)
{
    (void)state;
    hkt_rng a = test_stream(1), b = a;
    uint32_t block[4];
    for (uint64_t i = 0; i < 10; i++) {
        hkt_rng_block(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 1, i, block);
        for (int k = 0; k < 4; k++)
            assert_int_equal(hkt_rng_u32(&a), block[k]);
    }
    hkt_rng_block(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 1, 0, block);
    assert_true(hkt_rng_u64(&b) == (block[0] | (uint64_t)block[1] << 32));
}

/* Means of n draws lie within 5 standard errors (one run in 1.7 million would not; the seed is fixed). */
static void test_rng_moments(void **state)
{
    (void)state;
    enum { N = 200000 };
    hkt_rng r = test_stream(2);
    double u = 0, u2 = 0, z = 0, z2 = 0, z4 = 0;
    for (int i = 0; i < N; i++) {
        double v = hkt_rng_uniform(&r), w = hkt_rng_normal(&r);
        assert_true(v >= 0 && v < 1);
        u += v, u2 += v * v, z += w, z2 += w * w, z4 += w * w * w * w;
    }
    double se = 5 / sqrt(N);
    CHECK_NEAR(u / N, 0.5, se * sqrt(1.0 / 12));
    CHECK_NEAR(u2 / N, 1.0 / 3, se * sqrt(4.0 / 45)); /* var u^2 = 1/5 - 1/9 */
    CHECK_NEAR(z / N, 0, se);
    CHECK_NEAR(z2 / N, 1, se * sqrt(2.0));
    CHECK_NEAR(z4 / N, 3, se * sqrt(96.0)); /* var z^4 = 105 - 9 */
}

/* Pearson's statistic of equally likely cells. */
static double chi_square(const size_t *count, size_t cells, size_t draws)
{
    double expected = (double)draws / (double)cells, sum = 0;
    for (size_t i = 0; i < cells; i++)
        sum += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    return sum;
}

static void test_rng_below_and_shuffle(void **state)
{
    (void)state;
    enum { N = 60000 };
    hkt_rng r = test_stream(3);
    size_t die[6] = {0}, order[6] = {0};
    for (int i = 0; i < N; i++) {
        size_t p[3] = {0, 1, 2};
        uint64_t x = hkt_rng_below(&r, 6);
        assert_true(x < 6);
        die[x]++;
        hkt_rng_shuffle(&r, p, 3);
        assert_int_equal(1 << p[0] | 1 << p[1] | 1 << p[2], 7);
        order[2 * p[0] + (p[1] > p[2])]++;
    }
    CHECK_AT_MOST(chi_square(die, 6, N), 25.7);   /* 0.9999 quantile of chi-square with 5 degrees of freedom */
    CHECK_AT_MOST(chi_square(order, 6, N), 25.7); /* all six permutations alike */
    /* 3 * 2^62: without rejection the lowest third would come twice as often. */
    size_t low = 0;
    for (int i = 0; i < N; i++)
        low += hkt_rng_below(&r, (uint64_t)3 << 62) < (uint64_t)1 << 62;
    CHECK_NEAR((double)low / N, 1.0 / 3, 5 * sqrt(2.0 / 9 / N));
    assert_true(hkt_rng_below(&r, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_status_long_message),
        cmocka_unit_test(test_mem),
        cmocka_unit_test(test_mem_injection),
        cmocka_unit_test(test_file_read),
        cmocka_unit_test(test_file_write),
        cmocka_unit_test(test_file_rename_fails),
        cmocka_unit_test(test_file_stale),
        cmocka_unit_test(test_file_long_names),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_file_same),
        cmocka_unit_test(test_file_disk_full),
        cmocka_unit_test(test_file_injection),
        cmocka_unit_test(test_dir),
        cmocka_unit_test(test_path_join),
        cmocka_unit_test(test_json_parse),
        cmocka_unit_test(test_json_deep),
        cmocka_unit_test(test_json_get),
        cmocka_unit_test(test_json_write),
        cmocka_unit_test(test_rng_known_answers),
        cmocka_unit_test(test_rng_sequence),
        cmocka_unit_test(test_rng_moments),
        cmocka_unit_test(test_rng_below_and_shuffle),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

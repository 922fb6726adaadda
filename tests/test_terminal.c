/* test_terminal.c - what is printed for a person: lines and tables. */
#include "tests/check.h"

#include "base/mem.h"
#include "base/terminal.h"

static char *table(int width, const char *text)
{
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    CHECK_OK(hkt_terminal_table(f, width, text, strlen(text)));
    fclose(f);
    return out;
}

static void shows(int width, const char *text, const char *expected)
{
    char *out = table(width, text);
    assert_string_equal(out, expected);
    free(out);
}

/* Numbers to the right with four significant digits, whole ones in full, texts to the left, NA as "-". */
static void tables(void **state)
{
    (void)state;
    shows(80, "layer\tkappa\tn\tstatus\n0\t1.23456789\t363033\tok\n1\tNA\t7\tskipped: no scores\n",
          "layer  kappa       n  status\n"
          "    0  1.235  363033  ok\n"
          "    1      -       7  skipped: no scores\n");
    shows(80, "x\n-3.0000000000000001e-17\n12345678\ninf\n", "       x\n  -3e-17\n12345678\n     inf\n");
    shows(80, "text\tn\na\t1\n2\t2\n", "text  n\na     1\n2     2\n");
    shows(80, "layer\tn\n", "layer  n\n");
}

/* Too wide: what is the same in every row stands above, the rest comes in blocks, each with the place of its rows. */
static void wide(void **state)
{
    (void)state;
    const char *text = "layer\thead\tsequences\talpha\tbeta\tstatus\n0\t0\t8\t0.5\t0.25\tok\n0\t1\t8\t0.5\t0.75\tok\n";
    shows(60, text,
          "layer  head  sequences  alpha  beta  status\n"
          "    0     0          8    0.5  0.25  ok\n"
          "    0     1          8    0.5  0.75  ok\n");
    shows(20, text,
          "layer: 0\nsequences: 8\nalpha: 0.5\nstatus: ok\n"
          "head  beta\n"
          "   0  0.25\n"
          "   1  0.75\n");
    shows(12, "layer\tgamma\tdelta\n0\t0.5\t1.5\n1\t2.5\t3.5\n",
          "layer  gamma\n    0    0.5\n    1    2.5\n\n"
          "layer  delta\n    0    1.5\n    1    3.5\n");
}

static void lines(void **state)
{
    (void)state;
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    hkt_terminal_wrap(f, 10, 0, 2, "one two  three four");
    assert_int_equal(hkt_terminal_width(f), 0);
    fclose(f);
    assert_string_equal(out, "  one two\n  three\n  four\n");
    free(out);
}

static void memory(void **state)
{
    (void)state;
    const char text[] = "layer\tx\n0\t1\n";
    char *out = NULL;
    size_t size, live = hkt_mem_live();
    FILE *f = open_memstream(&out, &size);
    for (size_t n = 1;; n++) {
        hkt_mem_fail_at(n);
        const hkt_status status = hkt_terminal_table(f, 80, text, sizeof text - 1);
        const bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        if (!failed)
            break;
    }
    fclose(f);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables), cmocka_unit_test(wide), cmocka_unit_test(lines),
                                       cmocka_unit_test(memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

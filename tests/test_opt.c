/* test_opt.c - options: values, config files, messages, help. */
#include "tests/check.h"

#include "base/mem.h"
#include "base/opt.h"
#include "base/rng.h"
#include "tests/scratch.h"

static bool hybrid;
static size_t levels;
static uint64_t seed;
static double lr;
static const char *out, *model;
static hkt_opt_list inputs;

static const hkt_opt opts[] = {
    {"hybrid", HKT_OPT_FLAG, &hybrid, NULL, "hybrid heads", 0, 0},
    {"levels", HKT_OPT_SIZE, &levels, "N", "levels of the hierarchy", 1, 8},
    {"seed", HKT_OPT_U64, &seed, "N", "seed of every random number", 0, 0},
    {"lr", HKT_OPT_REAL, &lr, "RATE", "peak learning rate", 0, (double)INFINITY},
    {"out", HKT_OPT_STRING, &out, "DIR", "run directory", 0, 0},
    {"model", HKT_OPT_CHOICE, &model, "hkt|mha", "kind of model", 0, 0},
    {"input", HKT_OPT_LIST, &inputs, "FILE", "a file to read, one of several, with a text that needs two lines", 0, 0},
    {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
};
static const char *const commands[] = {"psd", "kurtosis", "all", NULL};
static const char *const command_help[] = {"positive semi-definiteness", "kurtosis of the scores", "every claim"};
static const hkt_cli cli = {"hkt-x", "[options]", "Does x.", "Exit status: 0.", opts, NULL, NULL, true, NULL};
static const hkt_cli cli_commands = {"hkt-x", "COMMAND", "Does x.", NULL, opts, commands, command_help, true, NULL};

enum { MAX_ARGS = 50 };
static hkt_parse_action action;
static size_t command, n_operands;
static char **operands;
static char messages[1 << 16]; /* what the parse wrote on stderr */

/* Parses "hkt-x WORDS" with words separated by blanks. */
static hkt_status parse_with(const hkt_cli *c, const char *words, bool with_operands)
{
    static char text[2048]; /* values point into it until the next parse */
    char *argv[MAX_ARGS + 1] = {(char[]){"hkt-x"}};
    int argc = 1;
    size_t n;
    snprintf(text, sizeof text, "%s", words);
    for (char *w = strtok(text, " "); w && argc < MAX_ARGS; w = strtok(NULL, " "))
        argv[argc++] = w;
    hybrid = false, levels = 3, seed = 1, lr = 1e-3, out = NULL, model = "hkt";
    inputs = (hkt_opt_list){1, {"default"}};
    int saved = scratch_redirect(2, "stderr.txt");
    hkt_status status = hkt_opt_parse(c, argc, argv, &action, &command, with_operands ? &operands : NULL,
                                      with_operands ? &n_operands : NULL);
    scratch_restore(2, saved);
    char *found = scratch_read("stderr.txt", &n);
    snprintf(messages, sizeof messages, "%s", found);
    free(found);
    return status;
}

static hkt_status parse(const char *words)
{
    return parse_with(&cli, words, false);
}

#define EXPECT_MESSAGE(text)                                                                                           \
    do {                                                                                                               \
        if (!strstr(messages, (text)))                                                                                 \
            fail_msg("'%s' is not in: %s", (text), messages);                                                          \
    } while (0)

static size_t lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

/* --- command line ------------------------------------------------------------------------------------------------- */

static void test_values(void **state)
{
    (void)state;
    CHECK_OK(parse(""));
    assert_true(!hybrid && levels == 3 && inputs.count == 1 && action == HKT_PARSE_RUN);
    CHECK_OK(
        parse("--hybrid --levels 8 --seed=18446744073709551615 --lr 2.5e-4 --out a --model mha --input b --input c"));
    assert_true(hybrid && levels == 8 && seed == UINT64_MAX && lr == 2.5e-4);
    assert_string_equal(out, "a");
    assert_string_equal(model, "mha");
    assert_int_equal(inputs.count, 2);
    assert_string_equal(inputs.item[0], "b");
    assert_string_equal(inputs.item[1], "c");
    CHECK_OK(parse("--hybrid --no-hybrid --levels 1 --levels 2"));
    assert_true(!hybrid && levels == 2); /* the last wins */
    assert_string_equal(messages, "");
}

static void test_bad_values(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"--levels 0", "hkt-x: option '--levels': expected an integer from 1 to 8, found '0'\n"},
        {"--levels 9", "found '9'"},
        {"--levels -1", "found '-1'"},
        {"--levels=+1", "found '+1'"},
        {"--levels 3x", "found '3x'"},
        {"--levels 0x3", "found '0x3'"},
        {"--levels=", "found ''"},
        {"--levels 99999999999999999999", "found '99999999999999999999'"},
        {"--levels 3.0", "found '3.0'"},
        {"--seed 18446744073709551616", "expected an integer from 0 to 2^64 - 1, found '18446744073709551616'"},
        {"--seed -1", "found '-1'"},
        {"--lr nan", "option '--lr': expected a number >= 0, found 'nan'"},
        {"--lr inf", "found 'inf'"},
        {"--lr 1e999", "found '1e999'"},
        {"--lr -1", "found '-1'"},
        {"--lr 1e-3x", "found '1e-3x'"},
        {"--lr=", "found ''"},
        {"--model hk", "option '--model': expected hkt|mha, found 'hk'"},
        {"--model hkt|mha", "found 'hkt|mha'"},
        {"--model=", "found ''"},
        {"--levles=3", "hkt-x: unknown option '--levles' (did you mean '--levels'?)\n"},
        {"--zzzzzz", "hkt-x: unknown option '--zzzzzz'\n"},
        {"--l=3", "option '--l' is ambiguous (did you mean '--levels'?)"},
        {"-x", "unknown option '-x'"},
        {"--hybrid=1", "option '--hybrid' takes no value"},
        {"--out", "option '--out' needs a value"},
        {"--out=", "option '--out': expected DIR, found ''"},
        {"stray", "unexpected argument 'stray'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_FAILS(parse(cases[i][0]), HKT_EUSAGE, "1 bad argument; 'hkt-x --help' lists all options");
        EXPECT_MESSAGE(cases[i][1]);
        assert_int_equal(lines(messages), 1);
    }
}

static void test_all_mistakes_are_reported(void **state)
{
    (void)state;
    CHECK_FAILS(parse("--levles=3 --levels x --lr nan --hybrid stray"), HKT_EUSAGE, "4 bad arguments");
    EXPECT_MESSAGE("'--levles'");
    EXPECT_MESSAGE("'--levels'");
    EXPECT_MESSAGE("'--lr'");
    EXPECT_MESSAGE("'stray'");
    assert_int_equal(lines(messages), 4);
}

static void test_list_limit(void **state)
{
    (void)state;
    char words[1024] = "";
    for (int i = 0; i < HKT_OPT_LIST_MAX + 1; i++)
        strcat(words, "--input=x ");
    CHECK_FAILS(parse(words), HKT_EUSAGE, "1 bad argument");
    EXPECT_MESSAGE("option '--input': given more than 32 times");
}

static void test_commands_and_operands(void **state)
{
    (void)state;
    CHECK_OK(parse_with(&cli_commands, "kurtosis --levels 2 a b", true));
    assert_true(command == 1 && levels == 2 && n_operands == 2);
    assert_string_equal(operands[1], "b");
    CHECK_OK(parse_with(&cli_commands, "--levels 2 all -- --levels", true));
    assert_true(command == 2 && n_operands == 1);
    assert_string_equal(operands[0], "--levels");
    CHECK_FAILS(parse_with(&cli_commands, "kurtossis", false), HKT_EUSAGE, "1 bad argument");
    EXPECT_MESSAGE("unknown command 'kurtossis' (did you mean 'kurtosis'?)");
    CHECK_FAILS(parse_with(&cli_commands, "zzz", false), HKT_EUSAGE, "1 bad argument");
    EXPECT_MESSAGE("unknown command 'zzz'\n");
    CHECK_FAILS(parse_with(&cli_commands, "--levels 2", false), HKT_EUSAGE, "1 bad argument");
    EXPECT_MESSAGE("expected a command (psd, kurtosis, all), found none");
    CHECK_FAILS(parse_with(&cli_commands, "psd more", false), HKT_EUSAGE, "1 bad argument");
    EXPECT_MESSAGE("unexpected argument 'more'");
}

static void test_require(void **state)
{
    (void)state;
    CHECK_OK(hkt_opt_require("data", "x"));
    CHECK_FAILS(hkt_opt_require("data", NULL), HKT_EUSAGE, "option '--data' is required");
}

/* An option that the command line has is known as given, also with its default; one of a config file is not. */
static void test_given_and_refused(void **state)
{
    (void)state;
    bool given[sizeof opts / sizeof *opts] = {false};
    hkt_cli asked = cli;
    asked.given = given;
    scratch_write_text("given.ini", "levels = 5\nseed = 2\n");
    CHECK_OK(parse_with(&asked, "--model hkt --no-hybrid --config given.ini --seed 1", false));
    assert_true(hkt_opt_given(&asked, "model") && hkt_opt_given(&asked, "hybrid") && hkt_opt_given(&asked, "seed"));
    assert_false(hkt_opt_given(&asked, "levels") || hkt_opt_given(&asked, "lr"));
    CHECK_FAILS(hkt_opt_refuse(&asked, "lr|model", "needs '--out'"), HKT_EUSAGE, "option '--model' needs '--out'");
    CHECK_FAILS(hkt_opt_refuse(&asked, "seed", "x"), HKT_EUSAGE, "option '--seed' x");
    CHECK_FAILS(hkt_opt_refuse(&asked, "hybrid", "x"), HKT_EUSAGE, "option '--no-hybrid' x");
    CHECK_OK(hkt_opt_refuse(&asked, "lr|levels|input|out", "x"));
    CHECK_OK(hkt_opt_refuse(&asked, "see|seeds|mode", "x")); /* whole names only */
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"levels", "d-model", "psd", "all", NULL};
    assert_string_equal(hkt_nearest("levels", names), "levels");
    assert_string_equal(hkt_nearest("lvels", names), "levels");
    assert_string_equal(hkt_nearest("leveels", names), "levels");
    assert_string_equal(hkt_nearest("dmodel", names), "d-model");
    assert_string_equal(hkt_nearest("pds", names), "psd"); /* neighbours that changed places: one edit */
    assert_null(hkt_nearest("pxx", names));                /* two edits of three */
    assert_null(hkt_nearest("dsp", names));
    assert_string_equal(hkt_nearest("psx", names), "psd");
    assert_null(hkt_nearest("", names));
    assert_null(hkt_nearest("x", names));
    assert_null(hkt_nearest("quite-something-else", names));
    char big[1000];
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = 0;
    assert_null(hkt_nearest(big, names));
}

/* --- config ------------------------------------------------------------------------------------------------------- */

static void test_config(void **state)
{
    (void)state;
    scratch_write_text("good.ini", "; comment\n# comment\nhybrid = true\n\n[model]\n  levels = 5 ; why\n  model=mha\r\n"
                                   "[train]\nlr: 0.5\nout = a b\ninput = x\ninput = y\nseed = 9");
    CHECK_OK(parse("--config good.ini"));
    assert_true(hybrid && levels == 5 && lr == 0.5 && seed == 9 && inputs.count == 2);
    assert_string_equal(model, "mha");
    assert_string_equal(out, "a b");
    assert_string_equal(inputs.item[1], "y");
    /* The command line wins, wherever it stands, and replaces lists. */
    CHECK_OK(parse("--levels 2 --no-hybrid --config good.ini --input z"));
    assert_true(!hybrid && levels == 2 && lr == 0.5 && inputs.count == 1);
    assert_string_equal(inputs.item[0], "z");
    assert_string_equal(messages, "");
}

static void test_bad_config(void **state)
{
    (void)state;
    scratch_write_text("bad.ini",
                       "levles = 3\nlevels = 9\n[s]\nlr = x\nhybrid = yes\nlevels = 2\nseed = 1\nseed = 2\n");
    CHECK_FAILS(parse("--config bad.ini --lr y"), HKT_EUSAGE, "7 bad arguments");
    EXPECT_MESSAGE("hkt-x: bad.ini:1: 'levles': unknown option (did you mean 'levels'?)\n");
    EXPECT_MESSAGE("hkt-x: bad.ini:2: 'levels': expected an integer from 1 to 8, found '9'\n");
    EXPECT_MESSAGE("bad.ini:4: 'lr': expected a number");
    EXPECT_MESSAGE("bad.ini:5: 'hybrid': expected true or false, found 'yes'");
    EXPECT_MESSAGE("bad.ini:6: 'levels': given twice");
    EXPECT_MESSAGE("bad.ini:8: 'seed': given twice");
    EXPECT_MESSAGE("option '--lr'");
    scratch_write_text("bad.ini", "levels = 3\nnonsense\n");
    CHECK_FAILS(parse("--config bad.ini"), HKT_EUSAGE, "1 bad argument");
    EXPECT_MESSAGE("bad.ini:2: expected '[section]' or 'name = value', found 'nonsense'");
    scratch_write("bad.ini", "levels = 3\0\n", 12);
    CHECK_FAILS(parse("--config bad.ini"), HKT_EINPUT, "zero byte");
    CHECK_FAILS(parse("--config absent.ini"), HKT_EINPUT, "cannot open 'absent.ini'");
    scratch_write_text("bad.ini", "no-hybrid = true\n");
    CHECK_FAILS(parse("--config bad.ini"), HKT_EUSAGE, "1 bad argument");
    EXPECT_MESSAGE("bad.ini:1: 'no-hybrid': unknown option (did you mean 'hybrid'?)\n");
    scratch_write_text("bad.ini", "config = bad.ini\n");
    CHECK_FAILS(parse("--config bad.ini"), HKT_EUSAGE, "1 bad argument");
    EXPECT_MESSAGE("bad.ini:1: 'config': unknown option");
}

static void test_config_long_line(void **state)
{
    (void)state;
    char text[2000] = "levels = 4\nout = ";
    memset(text + strlen(text), 'x', 1500);
    strcat(text, "\nseed = 3\n");
    scratch_write_text("long.ini", text);
    CHECK_FAILS(parse("--config long.ini"), HKT_EUSAGE, "1 bad argument");
    EXPECT_MESSAGE("long.ini:2: line is longer than");
    assert_true(levels == 4 && seed == 3);
}

/* Random edits of a config file: a status, never a crash. */
static void test_config_fuzz(void **state)
{
    (void)state;
    char text[] = "[model]\nlevels = 3\nhybrid = true\nlr = 1e-3\n; x\nout = dir\n";
    hkt_rng r = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 10);
    print_message("seed %u\n", HKT_DEFAULT_SEED);
    for (int i = 0; i < 500; i++) {
        char edited[sizeof text];
        memcpy(edited, text, sizeof text);
        size_t n = (size_t)hkt_rng_below(&r, sizeof text);
        for (int k = 0; k < 3; k++)
            edited[hkt_rng_below(&r, sizeof text)] = (char)hkt_rng_u32(&r);
        scratch_write("fuzz.ini", edited, n);
        hkt_status s = parse("--config fuzz.ini");
        assert_true(s == HKT_OK || s == HKT_EUSAGE || s == HKT_EINPUT);
        assert_int_equal(s == HKT_OK, messages[0] == 0 && s != HKT_EINPUT);
    }
}

static void test_injection(void **state)
{
    (void)state;
    size_t before = hkt_mem_live();
    for (size_t n = 1;; n++) {
        hkt_mem_fail_at(n);
        hkt_status s = parse("--levels 2 --hybrid");
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), before);
        assert_int_equal(s, failed ? HKT_ESYSTEM : HKT_OK);
        if (!failed)
            break;
        assert_true(n < 100);
    }
}

/* --- help --------------------------------------------------------------------------------------------------------- */

/* Standard output of a parse that must end the program. */
static char *printed(const hkt_cli *c, const char *words)
{
    size_t n;
    int saved = scratch_redirect(1, "stdout.txt");
    hkt_status status = parse_with(c, words, false);
    scratch_restore(1, saved);
    CHECK_OK(status);
    assert_int_equal(action, HKT_PARSE_EXIT);
    return scratch_read("stdout.txt", &n);
}

static void test_help(void **state)
{
    (void)state;
    char *text = printed(&cli_commands, "psd --levels x --help --zzz");
    static const char *const expected[] = {
        "Usage: hkt-x COMMAND\n\nDoes x.\n\nCommands:\n",
        "\n  psd                       positive semi-definiteness\n",
        "\n  --[no-]hybrid             hybrid heads [off]\n",
        "\n  --levels N                levels of the hierarchy [3]\n",
        "\n  --lr RATE                 peak learning rate [0.001]\n",
        "\n  --model hkt|mha           kind of model [hkt]\n",
        "\n  --config FILE  ",
        "\n  --help    ",
        "\n  --version    ",
        "\n  --input FILE              a file to read, one of several, with a text that\n",
        "\n                            needs two lines (may be repeated)\n",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (!strstr(text, expected[i]))
            fail_msg("'%s' is not in:\n%s", expected[i], text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 80);
    free(text);
    text = printed(&cli, "-h");
    assert_non_null(strstr(text, "\n\nExit status: 0.\n"));
    assert_null(strstr(text, "Commands"));
    free(text);
    text = printed(&cli, "--version");
    assert_int_equal(strncmp(text, "hkt-x (hkt) ", 12), 0);
    free(text);
}

static void test_help_disk_full(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    int saved = scratch_redirect(1, "/dev/full");
    hkt_status status = parse("--help");
    scratch_restore(1, saved);
    assert_int_equal(status, HKT_ESYSTEM);
    assert_non_null(strstr(hkt_error(), "No space left on device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_all_mistakes_are_reported),
        cmocka_unit_test(test_list_limit),
        cmocka_unit_test(test_commands_and_operands),
        cmocka_unit_test(test_require),
        cmocka_unit_test(test_given_and_refused),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_bad_config),
        cmocka_unit_test(test_config_long_line),
        cmocka_unit_test(test_config_fuzz),
        cmocka_unit_test(test_injection),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_help_disk_full),
    };
    scratch_enter();
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

#include "base/opt.h"

#include <getopt.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/opt_internal.h"
#include "base/progress.h"

/* One option as found on the command line; applied after the config file. */
typedef struct {
    const hkt_opt *opt;
    const char *text; /* NULL: a flag, set to `yes` */
    bool yes;
} given;

typedef struct {
    const hkt_cli *cli;
    size_t n; /* options in the table */
    struct option *longs;
    const char **names; /* long names for getopt and for suggestions, NULL-terminated */
    const char **keys;  /* [n + 1] names that a config file may hold, NULL-terminated */
    char **negations;   /* [n] "no-NAME" of the flags */
    given *found;       /* [argc] */
    size_t n_found;
    bool *seen;         /* [n] options already set from the source being applied */
    const char *config; /* --config FILE */
    bool help, version;
    size_t bad;
} parse;

/* getopt's codes: 2 i + CODE for option i, one more for its negation; then the options that every program has. */
enum { CODE = 256 };
enum { CODE_HELP, CODE_VERSION, CODE_QUIET, CODE_CONFIG, N_COMMON };

/* Prints the recorded message and counts it, so that one run shows every mistake. */
static void reject(parse *p, hkt_status status)
{
    hkt_report_failure(p->cli->program, status);
    p->bad++;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static void add_long(parse *p, size_t *at, const char *name, int has_arg, size_t code)
{
    p->names[*at] = name;
    p->longs[(*at)++] = (struct option){name, has_arg, NULL, CODE + (int)code};
}

static hkt_status add_negation(parse *p, size_t *at, size_t i)
{
    const char *name = p->cli->opts[i].name;
    size_t size = strlen(name) + 4;
    HKT_TRY(HKT_NEW(&p->negations[i], size));
    snprintf(p->negations[i], size, "no-%s", name);
    add_long(p, at, p->negations[i], no_argument, 2 * i + 1);
    return HKT_OK;
}

static hkt_status make_tables(parse *p, size_t argc)
{
    size_t at = 0;
    while (p->cli->opts[p->n].name)
        p->n++;
    HKT_TRY(HKT_NEW(&p->longs, 2 * p->n + N_COMMON + 1));
    HKT_TRY(hkt_alloc((void **)&p->names, 2 * p->n + N_COMMON + 1, sizeof *p->names, "option names"));
    HKT_TRY(hkt_alloc((void **)&p->keys, p->n + 1, sizeof *p->keys, "option names"));
    HKT_TRY(HKT_NEW(&p->negations, p->n));
    HKT_TRY(HKT_NEW(&p->found, argc));
    HKT_TRY(HKT_NEW(&p->seen, p->n));
    for (size_t i = 0; i < p->n; i++) {
        p->keys[i] = p->cli->opts[i].name;
        bool flag = p->cli->opts[i].type == HKT_OPT_FLAG;
        add_long(p, &at, p->cli->opts[i].name, flag ? no_argument : required_argument, 2 * i);
        if (flag)
            HKT_TRY(add_negation(p, &at, i));
    }
    add_long(p, &at, "help", no_argument, 2 * p->n + CODE_HELP);
    add_long(p, &at, "version", no_argument, 2 * p->n + CODE_VERSION);
    add_long(p, &at, "quiet", no_argument, 2 * p->n + CODE_QUIET);
    if (p->cli->config)
        add_long(p, &at, "config", required_argument, 2 * p->n + CODE_CONFIG);
    return HKT_OK;
}

static void free_tables(parse *p)
{
    for (size_t i = 0; p->negations && i < p->n; i++)
        hkt_free(p->negations[i]);
    hkt_free(p->negations);
    hkt_free(p->longs);
    hkt_free(p->names);
    hkt_free(p->keys);
    hkt_free(p->found);
    hkt_free(p->seen);
}

/* --- command line ------------------------------------------------------------------------------------------------- */

static const char *name_of_code(const parse *p, int code)
{
    for (size_t i = 0; p->longs[i].name; i++)
        if (p->longs[i].val == code)
            return p->longs[i].name;
    return "";
}

/* getopt refused `arg` ("--name" or "--name=value"): unknown, or the beginning of several names. */
static void reject_name(parse *p, const char *arg)
{
    char name[64];
    size_t n = strcspn(arg + 2, "=");
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name), arg + 2);
    for (size_t i = 0; p->names[i]; i++)
        if (strncmp(p->names[i], name, strlen(name)) == 0) {
            reject(p, hkt_fail(HKT_EUSAGE, "option '--%s' is ambiguous (did you mean '--%s'?)", name, p->names[i]));
            return;
        }
    const char *nearest = hkt_nearest(name, p->names);
    reject(p, nearest ? hkt_fail(HKT_EUSAGE, "unknown option '--%s' (did you mean '--%s'?)", name, nearest)
                      : hkt_fail(HKT_EUSAGE, "unknown option '--%s'", name));
}

static void reject_option(parse *p, char **argv)
{
    if (optopt >= CODE)
        reject(p, hkt_fail(HKT_EUSAGE, "option '--%s' takes no value", name_of_code(p, optopt)));
    else if (optopt)
        reject(p, hkt_fail(HKT_EUSAGE, "unknown option '-%c'", optopt));
    else
        reject_name(p, argv[optind - 1]);
}

static void accept(parse *p, int code)
{
    size_t i = (size_t)(code - CODE);
    if (i < 2 * p->n)
        p->found[p->n_found++] = (given){&p->cli->opts[i / 2], optarg, i % 2 == 0};
    else if (i == 2 * p->n + CODE_HELP)
        p->help = true;
    else if (i == 2 * p->n + CODE_VERSION)
        p->version = true;
    else if (i == 2 * p->n + CODE_QUIET)
        hkt_progress_quiet();
    else
        p->config = optarg;
}

static void scan(parse *p, int argc, char **argv)
{
    int code;
    optind = 0; /* glibc: start afresh, also in a second parse */
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":hV", p->longs, NULL)) != -1 && !p->help && !p->version) {
        if (code == ':')
            reject(p, hkt_fail(HKT_EUSAGE, "option '--%s' needs a value", name_of_code(p, optopt)));
        else if (code == '?')
            reject_option(p, argv);
        else if (code == 'h')
            p->help = true;
        else if (code == 'V')
            p->version = true;
        else
            accept(p, code);
    }
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

/* A list given by a stronger source replaces the weaker one's instead of growing it. */
static hkt_status set(parse *p, const hkt_opt *o, const char *text)
{
    bool *seen = &p->seen[o - p->cli->opts];
    if (o->type == HKT_OPT_LIST && !*seen)
        ((hkt_opt_list *)o->value)->count = 0;
    *seen = true;
    return hkt_opt_set(o, text);
}

static void apply_command_line(parse *p)
{
    memset(p->seen, 0, p->n * sizeof *p->seen);
    for (size_t i = 0; i < p->n_found; i++) {
        const given *g = &p->found[i];
        if (p->cli->given)
            p->cli->given[g->opt - p->cli->opts] = true;
        hkt_status status = set(p, g->opt, g->text ? g->text : g->yes ? "true" : "false");
        if (status != HKT_OK)
            reject(p, hkt_fail_context(status, "option '--%s'", g->opt->name));
    }
}

/* inih asks for lines like fgets does; counting them here gives messages a line number. */
typedef struct {
    parse *p;
    const char *text;
    size_t line;
} config_reader;

static char *next_line(char *buffer, int size, void *stream)
{
    config_reader *r = stream;
    if (*r->text == 0)
        return NULL;
    r->text += strspn(r->text, " \t"); /* inih would take an indented line for the rest of the last value */
    size_t n = strcspn(r->text, "\n"), kept = n;
    r->line++;
    if (n > (size_t)size - 2) {
        reject(r->p, hkt_fail(HKT_EUSAGE, "%s:%zu: line is longer than %d bytes", r->p->config, r->line, size - 2));
        kept = 0;
    }
    memcpy(buffer, r->text, kept);
    memcpy(buffer + kept, "\n", 2);
    r->text += n + (r->text[n] == '\n');
    return buffer;
}

static hkt_status set_from_config(parse *p, const char *name, const char *value)
{
    for (const hkt_opt *o = p->cli->opts; o->name; o++) {
        char *copy;
        if (strcmp(o->name, name) != 0)
            continue;
        if (p->seen[o - p->cli->opts] && o->type != HKT_OPT_LIST)
            return hkt_fail(HKT_EUSAGE, "given twice");
        if (o->type != HKT_OPT_STRING && o->type != HKT_OPT_CHOICE && o->type != HKT_OPT_LIST)
            return set(p, o, value);
        HKT_TRY(hkt_strdup_kept(&copy, value)); /* the option points to it as long as the program runs */
        return set(p, o, copy);
    }
    const char *nearest = hkt_nearest(name, p->keys);
    return nearest ? hkt_fail(HKT_EUSAGE, "unknown option (did you mean '%s'?)", nearest)
                   : hkt_fail(HKT_EUSAGE, "unknown option");
}

/* Problems are reported here, so that inih itself only stops for lines that are not ini. */
static int on_setting(void *user, const char *section, const char *name, const char *value)
{
    config_reader *r = user;
    (void)section; /* sections are for the eye */
    hkt_status status = set_from_config(r->p, name, value);
    if (status != HKT_OK)
        reject(r->p, hkt_fail_context(status, "%s:%zu: '%s'", r->p->config, r->line, name));
    return 1;
}

static hkt_status apply_config(parse *p)
{
    char *text;
    size_t size;
    HKT_TRY(hkt_file_read(p->config, &text, &size));
    if (memchr(text, 0, size)) {
        hkt_free(text);
        return hkt_fail(HKT_EINPUT, "%s: expected text, found a zero byte", p->config);
    }
    config_reader r = {p, text, 0};
    int line = ini_parse_stream(next_line, &r, on_setting, &r);
    if (line > 0) {
        const char *at = text;
        for (int i = 1; i < line; i++)
            at += strcspn(at, "\n") + 1;
        reject(p, hkt_fail(HKT_EUSAGE, "%s:%d: expected '[section]' or 'name = value', found '%.*s'", p->config, line,
                           (int)(strcspn(at, "\n") < 40 ? strcspn(at, "\n") : 40), at));
    }
    hkt_free(text);
    return line < 0 ? hkt_fail(HKT_ESYSTEM, "%s: out of memory", p->config) : HKT_OK;
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

static void reject_no_command(parse *p)
{
    char list[512];
    size_t at = 0;
    for (const char *const *name = p->cli->commands; *name && at < sizeof list; name++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "", *name);
    reject(p, hkt_fail(HKT_EUSAGE, "expected a command (%s), found none", list));
}

/* Takes the first operand for the command. */
static void take_command(parse *p, char ***operands, size_t *n, size_t *command)
{
    const char *const *names = p->cli->commands;
    if (*n == 0) {
        reject_no_command(p);
        return;
    }
    const char *name = (*operands)[0];
    ++*operands;
    --*n;
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) {
            *command = i;
            return;
        }
    const char *nearest = hkt_nearest(name, names);
    reject(p, nearest ? hkt_fail(HKT_EUSAGE, "unknown command '%s' (did you mean '%s'?)", name, nearest)
                      : hkt_fail(HKT_EUSAGE, "unknown command '%s'", name));
}

static void take_operands(parse *p, int argc, char **argv, size_t *command, char ***operands, size_t *n_operands)
{
    char **rest = argv + optind;
    size_t n = (size_t)(argc - optind);
    if (p->cli->commands)
        take_command(p, &rest, &n, command);
    if (operands) {
        *operands = rest;
        *n_operands = n;
        return;
    }
    for (size_t i = 0; i < n; i++)
        reject(p, hkt_fail(HKT_EUSAGE, "unexpected argument '%s'", rest[i]));
}

static hkt_status run(parse *p, int argc, char **argv, hkt_parse_action *action, size_t *command, char ***operands,
                      size_t *n_operands)
{
    HKT_TRY(make_tables(p, (size_t)argc));
    scan(p, argc, argv);
    *action = p->help || p->version ? HKT_PARSE_EXIT : HKT_PARSE_RUN;
    if (p->help)
        return hkt_opt_print_help(p->cli);
    if (p->version)
        return hkt_opt_print_version(p->cli);
    if (p->config)
        HKT_TRY(apply_config(p));
    apply_command_line(p);
    take_operands(p, argc, argv, command, operands, n_operands);
    if (p->bad)
        return hkt_fail(HKT_EUSAGE, "%zu bad argument%s; '%s --help' lists all options", p->bad, p->bad > 1 ? "s" : "",
                        p->cli->program);
    return HKT_OK;
}

hkt_status hkt_opt_parse(const hkt_cli *cli, int argc, char **argv, hkt_parse_action *action, size_t *command,
                         char ***operands, size_t *n_operands)
{
    parse p = {.cli = cli};
    hkt_status status = run(&p, argc, argv, action, command, operands, n_operands);
    free_tables(&p);
    return status;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static hkt_status check_output(const hkt_file_option *out, const hkt_file_option *other, bool directory)
{
    if (!other->path || strcmp(out->option, other->option) == 0)
        return HKT_OK;
    if (hkt_file_same(out->path, other->path))
        return hkt_fail(HKT_EUSAGE, "option '--%s': expected another file than that of '--%s', found '%s'", out->option,
                        other->option, out->path);
    if (directory && hkt_file_in_directory(out->path, other->path))
        return hkt_fail(HKT_EUSAGE, "option '--%s': expected a file outside of '--%s', or a new one, found '%s'",
                        out->option, other->option, out->path);
    return HKT_OK;
}

hkt_status hkt_opt_check_outputs(const hkt_file_option *out, size_t n_out, const hkt_file_option *in, size_t n_in)
{
    for (size_t i = 0; i < n_out; i++) {
        if (!out[i].path)
            continue;
        for (size_t k = 0; k < i; k++)
            HKT_TRY(check_output(out + i, out + k, false));
        if (strcmp(out[i].path, "-") == 0)
            continue;
        for (size_t k = 0; k < n_in; k++)
            HKT_TRY(check_output(out + i, in + k, true));
        HKT_TRY(hkt_file_writable(out[i].path));
    }
    return HKT_OK;
}

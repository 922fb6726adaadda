#include "base/opt_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/provenance.h"

enum { COLUMN = 28, WIDTH = 80, TEXT = 1024 };

/* "  LEFT    TEXT" with TEXT wrapped between COLUMN and WIDTH; on the next line when LEFT is too long. */
static void print_entry(const char *left, const char *text)
{
    size_t at = (size_t)printf("  %s", left);
    if (at + 2 > COLUMN) {
        putchar('\n');
        at = 0;
    }
    while (*text) {
        size_t word = strcspn(text, " ");
        bool first = at <= COLUMN;
        if (!first && at + 1 + word > WIDTH) {
            putchar('\n');
            at = 0;
            first = true;
        }
        printf("%*s%.*s", first ? (int)(COLUMN - at) : 1, "", (int)word, text);
        at = (first ? COLUMN : at + 1) + word;
        text += word + strspn(text + word, " ");
    }
    putchar('\n');
}

/* " [DEFAULT]", or nothing when there is none. */
static void default_text(const hkt_opt *o, char *out, size_t size)
{
    *out = 0;
    switch (o->type) {
    case HKT_OPT_FLAG:
        snprintf(out, size, " [%s]", *(const bool *)o->value ? "on" : "off");
        break;
    case HKT_OPT_SIZE:
        snprintf(out, size, " [%zu]", *(const size_t *)o->value);
        break;
    case HKT_OPT_U64:
        snprintf(out, size, " [%llu]", (unsigned long long)*(const uint64_t *)o->value);
        break;
    case HKT_OPT_REAL:
        snprintf(out, size, " [%.10g]", *(const double *)o->value);
        break;
    case HKT_OPT_STRING:
    case HKT_OPT_CHOICE:
        if (*(const char *const *)o->value)
            snprintf(out, size, " [%s]", *(const char *const *)o->value);
        break;
    case HKT_OPT_LIST:
        break;
    }
}

static void print_option(const hkt_opt *o)
{
    char left[TEXT], text[TEXT], value[TEXT / 2];
    default_text(o, value, sizeof value);
    if (o->type == HKT_OPT_FLAG)
        snprintf(left, sizeof left, "--[no-]%s", o->name);
    else
        snprintf(left, sizeof left, "--%s %s", o->name, o->arg ? o->arg : "VALUE");
    snprintf(text, sizeof text, "%s%s%s", o->help, value, o->type == HKT_OPT_LIST ? " (may be repeated)" : "");
    print_entry(left, text);
}

hkt_status hkt_opt_print_help(const hkt_cli *cli)
{
    printf("Usage: %s %s\n\n%s\n", cli->program, cli->synopsis, cli->summary);
    if (cli->commands) {
        printf("\nCommands:\n");
        for (size_t i = 0; cli->commands[i]; i++)
            print_entry(cli->commands[i], cli->command_help[i]);
    }
    printf("\nOptions:\n");
    for (const hkt_opt *o = cli->opts; o->name; o++)
        print_option(o);
    if (cli->config)
        print_entry("--config FILE", "read options from FILE (ini: name = value); the command line wins");
    print_entry("--help", "print this text and exit");
    print_entry("--quiet", "no notes and no progress on standard error; errors are said");
    print_entry("--version", "print the version and exit");
    if (cli->epilog)
        printf("\n%s\n", cli->epilog);
    return hkt_stdout_flush();
}

hkt_status hkt_opt_print_version(const hkt_cli *cli)
{
    printf("%s (hkt) %s, commit %s\n", cli->program, hkt_version, hkt_commit);
    return hkt_stdout_flush();
}

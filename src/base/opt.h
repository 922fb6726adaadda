/* opt.h - options from one table: parsed by getopt_long, filled from an ini file (inih), printed by --help. One long
 * option has one meaning in every program. */
#ifndef HKT_BASE_OPT_H
#define HKT_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum {
    HKT_OPT_FLAG,   /* bool *; --name sets true, --no-name false; ini: true/false */
    HKT_OPT_SIZE,   /* size_t *, in [min, max] */
    HKT_OPT_U64,    /* uint64_t * */
    HKT_OPT_REAL,   /* double *, finite, in [min, max] */
    HKT_OPT_STRING, /* const char **, not empty, no "-" for DIR or RUN; in argv or memory of the parse, never freed */
    HKT_OPT_CHOICE, /* const char **; one of `arg`, written "hkt|mha" */
    HKT_OPT_LIST    /* hkt_opt_list *; repeatable string */
} hkt_opt_type;

#define HKT_OPT_LIST_MAX 32
typedef struct {
    size_t count;
    const char *item[HKT_OPT_LIST_MAX];
} hkt_opt_list;

typedef struct {
    const char *name; /* long option without dashes; NULL ends the table */
    hkt_opt_type type;
    void *value;     /* holds the default before the parse */
    const char *arg; /* "FILE", "N", or the choices "a|b|c"; NULL for flags */
    const char *help;
    double min, max; /* range for SIZE and REAL, max may be INFINITY; both 0: no limit but the type's (REAL: finite) */
} hkt_opt;

typedef struct {
    const char *program;  /* "hkt-train" */
    const char *synopsis; /* "--task TASK --data DIR --out RUN [options]" */
    const char *summary;  /* one line */
    const char *epilog;   /* examples, exit status; may be NULL */
    const hkt_opt *opts;
    const char *const *commands;     /* names ended by NULL, or NULL when there are no subcommands */
    const char *const *command_help; /* one line per command, same order */
    bool config;                     /* accept --config FILE (ini; keys are option names; command line wins) */
    bool *given; /* [options], zeroed; the parse sets those that the command line has; NULL: not wanted */
} hkt_cli;

typedef enum { HKT_PARSE_RUN, HKT_PARSE_EXIT } hkt_parse_action;

/* Parses argv. Reports ALL bad options on stderr (with the nearest known name), then returns HKT_EUSAGE with a
 * summary message. `--help` and `--version` print on stdout and set *action = HKT_PARSE_EXIT (status HKT_OK).
 * *command: index into cli->commands (operand 1), or untouched without commands. *operands, *n_operands: what is left
 * (points into argv); both NULL: nothing may be left. Values of a config file belong to the process. */
hkt_status hkt_opt_parse(const hkt_cli *cli, int argc, char **argv, hkt_parse_action *action, size_t *command,
                         char ***operands, size_t *n_operands);

/* HKT_EUSAGE naming the option when a required string option is NULL. */
hkt_status hkt_opt_require(const char *name, const char *value);

/* The command line has the option (cli->given); what a config file sets does not count, as one file may serve several
 * modes of a program. */
bool hkt_opt_given(const hkt_cli *cli, const char *name);
/* HKT_EUSAGE when the command line has one of the options `names` ("split|json"), with the reason: "option '--split'
 * has no effect with '--input'". */
hkt_status hkt_opt_refuse(const hkt_cli *cli, const char *names, const char *reason);

/* A file that an option names; NULL: not given. */
typedef struct {
    const char *option, *path;
} hkt_file_option;
/* Before the work: no output ("-" is none) may be an input, another output, or a file that is there already in a
 * directory of inputs (HKT_EUSAGE), and its directory must exist and be writable (HKT_ESYSTEM). */
hkt_status hkt_opt_check_outputs(const hkt_file_option *out, size_t n_out, const hkt_file_option *in, size_t n_in);

/* The nearest of `names` (NULL-terminated) to `given` by edit distance, or NULL when none is near. */
const char *hkt_nearest(const char *given, const char *const *names);

#endif

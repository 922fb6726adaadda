/* plot.h - the parts of hkt-plot: the registry of figures, their inputs, gnuplot, and the report. Private to it. */
#ifndef HKT_PROGRAMS_PLOT_H
#define HKT_PROGRAMS_PLOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* How to add a figure: a line in plot_figures.c, plots/NAME.gp (see plots/style.gp for what it is given), its input in
 * docs/man/hkt-plot.1, and a table for it in tests/cli_plot.sh. */
typedef struct {
    const char *name;     /* also of the script */
    const char *claim;    /* that it belongs to */
    const char *check;    /* whose finding it shows; NULL: none */
    const char *shows;    /* one sentence */
    const char *table;    /* file in --from; NULL: log.tsv of every run there */
    const char *numbers;  /* columns that must hold numbers, separated by spaces; rows without one are not drawn */
    const char *optional; /* columns of numbers that may all be missing; NULL: none */
    const char *texts;    /* the other columns it reads */
    const char *width;    /* "column" or "page" unless --width says */
    const char *maker;    /* command that makes the table; %s: --from */
    bool evaluated;       /* of the runs only those with eval.json */
    bool of_others; /* of a model of another kind: nothing is said when there is no such table, unless asked for */
} hkt_figure;

extern const hkt_figure hkt_figures[];
extern const size_t hkt_n_figures;
enum { HKT_MAX_FIGURES = 32 };

typedef struct {
    const char *from, *out, *format, *width, *plots;
    char *from_real, *plots_real; /* absolute: a name that gnuplot cannot take for anything else */
} hkt_plot_options;

/* --- plot_input.c */
/* The figure has a table, and that is in --from. */
bool hkt_plot_has_table(const hkt_plot_options *o, const hkt_figure *f);
/* Checks the input of a figure and writes to `script` what the figure's script needs to know of it. *missing: it is not
 * there, or has no rows (an HKT_EINPUT too, which says what makes it). */
hkt_status hkt_plot_input(const hkt_plot_options *o, const hkt_figure *f, FILE *script, bool *missing);
/* The table of `f` at `path`: there, complete, and nothing in it that gnuplot would leave out in silence. */
hkt_status hkt_plot_check_table(const char *path, const hkt_figure *f, size_t *rows);
/* An HKT_EINPUT that says `what` and the command that makes the input. */
hkt_status hkt_plot_fail_missing(const hkt_plot_options *o, const hkt_figure *f, const char *what);
/* gnuplot assignments NAME='TEXT'; and NAME[i]='TEXT'; */
void hkt_plot_put_string(FILE *script, const char *name, const char *text);
void hkt_plot_put_element(FILE *script, const char *array, size_t i, const char *text);

/* --- plot_runs.c */
enum { HKT_MAX_RUNS = 64 };
typedef struct {
    char *log;                                /* path of log.tsv */
    char name[128], label[192];               /* of the directory; "HKT, 3 levels, dynamic fusion" */
    char task[32];                            /* "listops"; "" without run.json */
    json_t *record, *test, *val;              /* run.json, eval.json and eval-val.json; NULL: not there */
    char *record_path, *test_path, *val_path; /* for messages */
} hkt_plot_run;
typedef struct {
    size_t n;
    hkt_plot_run run[HKT_MAX_RUNS];
} hkt_plot_runs;
/* The runs in --from, in the order of their names, and --from itself when it is one. Free also after an error. */
hkt_status hkt_plot_find_runs(const hkt_plot_options *o, const hkt_figure *f, hkt_plot_runs *out);
void hkt_plot_free_runs(hkt_plot_runs *r);
hkt_status hkt_plot_put_runs(const hkt_plot_runs *all, FILE *script);

/* --- plot_draw.c */
/* Draws one figure in one format and width ("column" or "page") to `path`, by way of a temporary file. `inputs`: the
 * assignments of hkt_plot_input. */
hkt_status hkt_plot_draw(const hkt_plot_options *o, const hkt_figure *f, const char *inputs, const char *format,
                         const char *width, const char *path);

/* --- plot_setup.c */
/* Parts of the report: a table of the runs, their settings, what made everything and on which machine. verify: of
 * verify.json, or NULL. */
void hkt_plot_write_results(FILE *f, const hkt_plot_runs *runs);
void hkt_plot_write_settings(FILE *f, const hkt_plot_runs *runs);
hkt_status hkt_plot_write_reproduce(FILE *f, const hkt_plot_options *o, const hkt_plot_runs *runs,
                                    const json_t *verify);

/* --- plot_report.c */
/* Writes the page o->out from what is in o->from. */
hkt_status hkt_plot_report(const hkt_plot_options *o);

#endif

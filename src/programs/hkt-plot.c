/* hkt-plot - draws figures from tables with gnuplot. Statistics are in the tables; this program only checks that they
 * are there and complete, and the scripts in plots/ only draw. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/process.h"
#include "base/progress.h"
#include "base/tsv.h"

/* How to add a figure: a line here, plots/NAME.gp (see plots/style.gp for what it is given), its inputs in
 * docs/man/hkt-plot.1, and a table for it in tests/cli_plot.sh. */
typedef struct {
    const char *name;    /* also of the script */
    const char *shows;   /* one sentence */
    const char *table;   /* file in --from; NULL: log.tsv of every run there */
    const char *numbers; /* columns that must hold numbers, separated by spaces */
    const char *texts;   /* the other columns it reads */
    const char *width;   /* "column" or "page" unless --width says */
    const char *maker;   /* command that makes the table; %s: --from */
} figure;

static const figure figures[] = {
    {"training", "Validation accuracy per epoch of every run, against always answering the most frequent class.", NULL,
     "epoch val_accuracy", "", "column", "hkt-train --data DATA --out %s/RUN"},
    {"scores", "Distribution of the standardised scores per level against the normal density, with kappa.",
     "histogram.tsv", "layer level head z count density kappa", "status", "page",
     "hkt-analyze kurtosis --checkpoint FILE --data DATA --histogram %s/histogram.tsv"},
    {"spectrum", "Eigenvalues of the Gram matrix per level and of the hierarchical sum, by sign.", "spectrum.tsv",
     "layer head rank eigenvalue", "kind level sign status", "page",
     "hkt-analyze spectrum --checkpoint FILE --data DATA --out %s/spectrum.tsv"},
    {"cost", "Cost of the hierarchy over standard attention against length, with the bound s^2/(s^2-1).", "cost.tsv",
     "d_model levels stride tokens tokens_per_d ratio bound", "quantity status", "page",
     "hkt-analyze cost --out %s/cost.tsv"},
};
enum { N_FIGURES = sizeof figures / sizeof *figures };

typedef struct {
    const char *from, *out, *format, *width, *plots;
    char *from_real, *plots_real; /* absolute: a name that gnuplot cannot take for anything else */
} options;

/* --- tables: there, complete, not empty, and nothing that gnuplot would leave out in silence
 * -------------------------- */

static bool is_number(const char *text)
{
    char *end;
    double v = strtod(text, &end);
    return end != text && *end == 0 && isfinite(v);
}

/* Notes the rows whose cell in this column is not a number. */
static hkt_status check_column(const hkt_table *t, const char *path, const char *name, bool number)
{
    size_t column, bad = 0, first = 0;
    if (hkt_table_column(t, name, &column) != HKT_OK)
        return hkt_fail(HKT_EINPUT, "%s: expected a column '%s', found none", path, name);
    for (size_t r = 0; r < t->rows && number; r++)
        if (!is_number(t->cell[r * t->cols + column]))
            first = bad++ ? first : r;
    if (bad == t->rows && number)
        return hkt_fail(HKT_EINPUT, "%s: expected numbers in column '%s', found none", path, name);
    if (bad > 0)
        hkt_note("%s: %zu of %zu rows have no number in column '%s' and are not drawn; the first is row %zu: '%s'",
                 path, bad, t->rows, name, first + 1, t->cell[first * t->cols + column]);
    return HKT_OK;
}

/* Every name in a list separated by spaces. */
static hkt_status check_columns(const hkt_table *t, const char *path, const char *names, bool number)
{
    while (*names) {
        char name[64];
        size_t n = strcspn(names, " ");
        HKT_ASSERT(n < sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        HKT_TRY(check_column(t, path, name, number));
        names += n + strspn(names + n, " ");
    }
    return HKT_OK;
}

static hkt_status check_table(const char *path, const figure *f, size_t *rows)
{
    hkt_table t;
    HKT_TRY(hkt_table_read(&t, path));
    *rows = t.rows;
    hkt_status status = HKT_OK;
    if (t.rows > 0) {
        status = check_columns(&t, path, f->numbers, true);
        if (status == HKT_OK)
            status = check_columns(&t, path, f->texts, false);
    }
    hkt_table_free(&t);
    return status;
}

static hkt_status fail_missing(const options *o, const figure *f, const char *what)
{
    char command[512];
    /* The one conversion in every maker is %s. */
    const char *hole = strstr(f->maker, "%s");
    snprintf(command, sizeof command, "%.*s%s%s", (int)(hole - f->maker), f->maker, o->from, hole + 2);
    return hkt_fail(HKT_EINPUT, "figure '%s': %s; make it with: %s", f->name, what, command);
}

/* --- what the script is told: gnuplot assignments, strings in single quotes
 * ------------------------------------------- */

static void put_string(FILE *script, const char *name, const char *text)
{
    fprintf(script, "%s='", name);
    for (; *text; text++)
        if (*text == '\'')
            fputs("''", script);
        else
            putc((unsigned char)*text < 0x20 ? '?' : *text, script);
    fputs("'; ", script);
}

static void put_element(FILE *script, const char *array, size_t i, const char *text)
{
    char name[64];
    snprintf(name, sizeof name, "%s[%zu]", array, i);
    put_string(script, name, text);
}

/* --- the figure of the runs
 * ------------------------------------------------------------------------------------------- */

enum { MAX_RUNS = 64 };

typedef struct {
    char *log;
    char name[128], label[192];
} run;

typedef struct {
    size_t n;
    run run[MAX_RUNS];
    double majority; /* share of the most frequent class, by the first eval.json found; NaN: none */
    char majority_split[32];
} runs;

static void free_runs(runs *r)
{
    for (size_t i = 0; i < r->n; i++)
        hkt_free(r->run[i].log);
}

/* "MHA", or "HKT, 3 levels, dynamic fusion". */
static hkt_status describe_model(const json_t *settings, const char *path, char *label, size_t size)
{
    size_t levels;
    bool hybrid;
    const char *fusion;
    HKT_TRY(hkt_json_get_size(settings, "levels", path, &levels));
    HKT_TRY(hkt_json_get_bool(settings, "hybrid", path, &hybrid));
    HKT_TRY(hkt_json_get_string(settings, "fusion", path, &fusion));
    if (levels == 1 && !hybrid)
        snprintf(label, size, "MHA");
    else
        snprintf(label, size, "HKT, %zu level%s, %s fusion", levels, levels == 1 ? "" : "s", fusion);
    return HKT_OK;
}

/* Reads DIR/NAME; *out is NULL when it is not there. */
static hkt_status read_optional(const char *dir, const char *name, char **path, json_t **out)
{
    *out = NULL;
    HKT_TRY(hkt_path_join(path, dir, name));
    return hkt_file_exists(*path) ? hkt_json_read(out, *path) : HKT_OK;
}

/* Label from DIR/run.json; without it the directory's name. */
static hkt_status describe_run(const char *dir, const char *name, run *r)
{
    char *path = NULL;
    json_t *record;
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->label, sizeof r->label, "%s", name);
    hkt_status status = read_optional(dir, "run.json", &path, &record);
    if (record)
        status = describe_model(json_object_get(record, "settings"), path, r->label, sizeof r->label);
    json_decref(record);
    hkt_free(path);
    return status;
}

/* The baseline from DIR/eval.json (hkt-eval --json). */
static hkt_status find_majority(const char *dir, runs *all)
{
    char *path = NULL;
    json_t *record;
    const char *split;
    hkt_status status = read_optional(dir, "eval.json", &path, &record);
    if (record) {
        status = hkt_json_get_real(record, "majority", path, &all->majority);
        if (status == HKT_OK)
            status = hkt_json_get_string(record, "split", path, &split);
        if (status == HKT_OK)
            snprintf(all->majority_split, sizeof all->majority_split, "%s", split);
    }
    json_decref(record);
    hkt_free(path);
    return status;
}

/* Adds DIR when it has a log with rows. */
static hkt_status add_run(runs *all, const figure *f, const char *dir, const char *name)
{
    size_t rows = 0;
    char *log;
    HKT_TRY(hkt_path_join(&log, dir, "log.tsv"));
    hkt_status status = hkt_file_exists(log) ? check_table(log, f, &rows) : HKT_OK;
    if (status == HKT_OK && rows > 0 && all->n == MAX_RUNS)
        status = hkt_fail(HKT_EINPUT, "figure '%s': expected at most %d runs, found more", f->name, MAX_RUNS);
    if (status != HKT_OK || rows == 0) {
        hkt_free(log);
        return status;
    }
    run *r = &all->run[all->n++];
    r->log = log;
    HKT_TRY(describe_run(dir, name, r));
    return isnan(all->majority) ? find_majority(dir, all) : HKT_OK;
}

static hkt_status add_entry(runs *all, const figure *f, const char *parent, const char *name)
{
    char *dir;
    HKT_TRY(hkt_path_join(&dir, parent, name));
    hkt_status status = add_run(all, f, dir, name);
    hkt_free(dir);
    return status;
}

/* The runs in --from, in the order of their names, and --from itself when it is one. */
static hkt_status find_runs(const options *o, const figure *f, runs *all)
{
    struct dirent **entry;
    int n = scandir(o->from_real, &entry, NULL, alphasort);
    if (n < 0)
        return hkt_fail(HKT_EINPUT, "cannot read '%s': %s", o->from, strerror(errno));
    hkt_status status = add_run(all, f, o->from_real, o->from);
    for (int i = 0; i < n; i++) {
        if (status == HKT_OK && entry[i]->d_name[0] != '.')
            status = add_entry(all, f, o->from_real, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    return status;
}

static void put_runs(FILE *script, const runs *all)
{
    fprintf(script, "n_runs=%zu; array run_log[%zu]; array run_label[%zu]; ", all->n, all->n, all->n);
    if (isnan(all->majority))
        fputs("majority=NaN; ", script);
    else
        fprintf(script, "majority=%.17g; ", all->majority);
    put_string(script, "majority_split", all->majority_split);
    for (size_t i = 0; i < all->n; i++) {
        const run *r = &all->run[i];
        bool unique = true;
        for (size_t k = 0; k < all->n; k++)
            unique = unique && (k == i || strcmp(r->label, all->run[k].label) != 0);
        char label[sizeof r->label + sizeof r->name + 4];
        snprintf(label, sizeof label, unique ? "%s" : "%s (%s)", r->label, r->name);
        put_element(script, "run_log", i + 1, r->log);
        put_element(script, "run_label", i + 1, label);
    }
}

/* --- inputs of a figure
 * ----------------------------------------------------------------------------------------------- */

/* Checks the inputs and writes what the script needs to know of them. *missing: they are not there (an HKT_EINPUT too).
 */
static hkt_status put_runs_of(const options *o, const figure *f, FILE *script, bool *missing)
{
    runs all = {.majority = (double)NAN};
    hkt_status status = find_runs(o, f, &all);
    *missing = status == HKT_OK && all.n == 0;
    if (*missing)
        status = fail_missing(o, f, "no run with a validated epoch is there");
    else if (status == HKT_OK)
        put_runs(script, &all);
    free_runs(&all);
    return status;
}

static hkt_status check_table_of(const options *o, const figure *f, bool *missing)
{
    char *path, what[512];
    size_t rows = 0;
    HKT_TRY(hkt_path_join(&path, o->from, f->table));
    *missing = !hkt_file_exists(path);
    snprintf(what, sizeof what, "'%s' is missing", path);
    hkt_status status = *missing ? fail_missing(o, f, what) : check_table(path, f, &rows);
    snprintf(what, sizeof what, "'%s' has no rows", path);
    if (status == HKT_OK && rows == 0)
        status = fail_missing(o, f, what);
    hkt_free(path);
    return status;
}

/* --- gnuplot
 * ---------------------------------------------------------------------------------------------------------- */

/* Lines about fonts come from libraries and say nothing of the figure. */
static bool is_font_chatter(const char *line)
{
    return strncmp(line, "Fontconfig", 10) == 0 || strstr(line, "Pango-WARNING");
}

/* gnuplot says with status 0 that it left something out: whatever it says is a failure. */
static hkt_status judge(const figure *f, int exit_status, char *text)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        line += strspn(line, " \t^");
        if (*line && !is_font_chatter(line))
            return hkt_fail(HKT_ENUMERIC, "figure '%s': gnuplot: %s", f->name, line);
    }
    return exit_status == 0 ? HKT_OK
                            : hkt_fail(HKT_ENUMERIC, "figure '%s': gnuplot ended with status %d", f->name, exit_status);
}

static hkt_status run_gnuplot(const options *o, const figure *f, const char *settings)
{
    char *path, *text, name[64];
    int exit_status;
    snprintf(name, sizeof name, "%s.gp", f->name);
    HKT_TRY(hkt_path_join(&path, o->plots_real, name));
    char *settings_copy = NULL;
    hkt_status status = hkt_strdup(&settings_copy, settings);
    if (status == HKT_OK) {
        char program[] = "gnuplot", defaults[] = "-d", execute[] = "-e"; /* -d: no start-up file of the user */
        char *const argv[] = {program, defaults, execute, settings_copy, path, NULL};
        status = hkt_process_run(argv, &exit_status, &text);
    }
    if (status == HKT_OK) {
        status = judge(f, exit_status, text);
        hkt_free(text);
    }
    hkt_free(settings_copy);
    hkt_free(path);
    return status;
}

static hkt_status finish_file(const figure *f, const char *temporary, const char *path)
{
    struct stat info;
    if (stat(temporary, &info) != 0 || info.st_size == 0)
        return hkt_fail(HKT_ENUMERIC, "figure '%s': gnuplot drew nothing", f->name);
    mode_t mask = umask(0);
    umask(mask);
    if (chmod(temporary, 0666 & ~mask) != 0 || rename(temporary, path) != 0)
        return hkt_fail(HKT_ESYSTEM, "cannot write '%s': %s", path, strerror(errno));
    printf("%s\n", path);
    return HKT_OK;
}

/* One file. `inputs`: assignments that depend on the figure. */
static hkt_status draw_format(const options *o, const figure *f, const char *inputs, const char *format)
{
    char name[64], *path, *settings = NULL;
    size_t size;
    const char *width = o->width ? o->width : f->width;
    snprintf(name, sizeof name, "%s.%s", f->name, format);
    HKT_TRY(hkt_path_join(&path, o->out, name));
    char temporary[PATH_MAX];
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int fd = mkstemp(temporary);
    FILE *script = fd >= 0 ? open_memstream(&settings, &size) : NULL;
    hkt_status status = script ? HKT_OK : hkt_fail(HKT_ESYSTEM, "cannot create '%s': %s", path, strerror(errno));
    if (script) {
        put_string(script, "format", format);
        put_string(script, "from", o->from_real);
        put_string(script, "plots", o->plots_real);
        put_string(script, "out", temporary);
        fprintf(script, "width_mm=%d; %s", strcmp(width, "page") == 0 ? 178 : 85, inputs);
        fclose(script);
        status = run_gnuplot(o, f, settings);
    }
    if (status == HKT_OK)
        status = finish_file(f, temporary, path);
    if (fd >= 0) {
        close(fd);
        if (status != HKT_OK)
            unlink(temporary);
    }
    free(settings);
    hkt_free(path);
    return status;
}

static hkt_status draw_formats(const options *o, const figure *f, const char *inputs)
{
    static const char *const formats[] = {"pdf", "png", "svg"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strstr(o->format, formats[i]))
            HKT_TRY(draw_format(o, f, inputs, formats[i]));
    return HKT_OK;
}

static hkt_status draw(const options *o, const figure *f, bool *missing)
{
    char *inputs = NULL;
    size_t size;
    FILE *script = open_memstream(&inputs, &size);
    if (!script)
        return hkt_fail(HKT_ESYSTEM, "out of memory for figure '%s'", f->name);
    *missing = false;
    hkt_status status = f->table ? check_table_of(o, f, missing) : put_runs_of(o, f, script, missing);
    fclose(script);
    if (status == HKT_OK)
        status = draw_formats(o, f, inputs);
    free(inputs);
    return status;
}

/* Draws what there is data for; the rest is reported. Data that are there but broken are a failure. */
static hkt_status draw_all(const options *o)
{
    hkt_status worst = HKT_OK;
    size_t drawn = 0, missing_n = 0;
    for (size_t i = 0; i < N_FIGURES; i++) {
        bool missing;
        hkt_status status = draw(o, &figures[i], &missing);
        drawn += status == HKT_OK;
        missing_n += missing;
        if (status != HKT_OK)
            hkt_note("hkt-plot: %s", hkt_error());
        if (status != HKT_OK && !missing)
            worst = status;
    }
    if (drawn == 0)
        return hkt_fail(HKT_EINPUT, "nothing to draw in '%s'", o->from);
    return worst == HKT_OK ? HKT_OK
                           : hkt_fail(worst, "%zu of %d figures failed", N_FIGURES - drawn - missing_n, N_FIGURES);
}

/* --- options
 * ---------------------------------------------------------------------------------------------------------- */

static bool has_style(const char *dir)
{
    char *path;
    bool found = hkt_path_join(&path, dir, "style.gp") == HKT_OK && hkt_file_exists(path);
    hkt_free(path);
    return found;
}

/* The directory of this executable, with no final slash. */
static void executable_dir(char *dir, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", dir, size - 1);
    dir[n > 0 ? n : 0] = 0;
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
}

/* --plots, $HKT_PLOTS, beside the build directory that this executable is in, installed near it, installed. */
static hkt_status find_scripts(options *o)
{
    static const char *const near[] = {"../../plots", "../../../plots", "../../../../plots", "../share/hkt/plots"};
    char dir[PATH_MAX], candidate[2 * PATH_MAX];
    const char *named = o->plots ? o->plots : getenv("HKT_PLOTS");
    executable_dir(dir, sizeof dir);
    snprintf(candidate, sizeof candidate, "%s", named ? named : "");
    for (size_t i = 0; !named && i < sizeof near / sizeof *near && !has_style(candidate); i++)
        snprintf(candidate, sizeof candidate, "%s/%s", dir, near[i]);
    if (!named && !has_style(candidate))
        snprintf(candidate, sizeof candidate, "%s/plots", HKT_SHAREDIR);
    if (!has_style(candidate))
        return hkt_fail(HKT_EINPUT, "no 'style.gp' in '%s'%s: give the directory of the scripts with --plots",
                        candidate, named ? "" : " nor near this program");
    o->plots_real = realpath(candidate, NULL);
    return o->plots_real ? HKT_OK : hkt_fail(HKT_ESYSTEM, "cannot resolve '%s': %s", candidate, strerror(errno));
}

/* Commas, and names of formats between them. */
static hkt_status check_formats(const char *list)
{
    for (const char *p = list;; p += 4) {
        if (strncmp(p, "pdf", 3) != 0 && strncmp(p, "png", 3) != 0 && strncmp(p, "svg", 3) != 0)
            break;
        if (p[3] == 0)
            return HKT_OK;
        if (p[3] != ',')
            break;
    }
    return hkt_fail(HKT_EUSAGE, "option '--format': expected pdf, png and svg separated by commas, found '%s'", list);
}

#define EPILOG                                                                                                         \
    "Examples:\n"                                                                                                      \
    "  hkt-plot all --from demo --out demo/figures\n"                                                                  \
    "  hkt-plot cost --from tables --out figures --format pdf,svg --width column\n"                                    \
    "Exit status: 0 done, 2 usage, 3 missing or bad data, 4 gnuplot failed, 5 system failure."

static hkt_status parse(options *o, int argc, char **argv, hkt_parse_action *action, size_t *command)
{
    const hkt_opt opts[] = {
        {"from", HKT_OPT_STRING, &o->from, "DIR", "directory of the tables and runs", 0, 0},
        {"out", HKT_OPT_STRING, &o->out, "DIR", "directory of the figures; created when missing", 0, 0},
        {"format", HKT_OPT_STRING, &o->format, "LIST", "of pdf, png, svg, separated by commas", 0, 0},
        {"width", HKT_OPT_CHOICE, &o->width, "column|page", "85 or 178 mm; without it what suits the figure", 0, 0},
        {"plots", HKT_OPT_STRING, &o->plots, "DIR", "directory of the gnuplot scripts", 0, 0},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
    };
    const char *names[N_FIGURES + 3] = {NULL}, *help[N_FIGURES + 3] = {NULL};
    for (size_t i = 0; i < N_FIGURES; i++) {
        names[i] = figures[i].name;
        help[i] = figures[i].shows;
    }
    names[N_FIGURES] = "all";
    help[N_FIGURES] = "Every figure that there are data for.";
    names[N_FIGURES + 1] = "list";
    help[N_FIGURES + 1] = "Prints the figures: name, input, what it shows.";
    const hkt_cli cli = {.program = "hkt-plot",
                         .synopsis = "FIGURE|all|list --from DIR --out DIR [options]",
                         .summary = "Draws figures from tables.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .commands = names,
                         .command_help = help};
    return hkt_opt_parse(&cli, argc, argv, action, command, NULL, NULL);
}

static void print_list(void)
{
    for (size_t i = 0; i < N_FIGURES; i++)
        printf("%s\t%s\t%s\n", figures[i].name, figures[i].table ? figures[i].table : "*/log.tsv", figures[i].shows);
}

static hkt_status prepare(options *o)
{
    HKT_TRY(hkt_opt_require("from", o->from));
    HKT_TRY(hkt_opt_require("out", o->out));
    HKT_TRY(check_formats(o->format));
    o->from_real = realpath(o->from, NULL);
    if (!o->from_real)
        return hkt_fail(HKT_EINPUT, "cannot open '%s': %s", o->from, strerror(errno));
    HKT_TRY(find_scripts(o));
    return hkt_mkdir(o->out);
}

static hkt_status start(int argc, char **argv)
{
    options o = {.format = "pdf,png,svg"};
    hkt_parse_action action = HKT_PARSE_RUN;
    size_t command = 0;
    bool missing;
    HKT_TRY(parse(&o, argc, argv, &action, &command));
    if (action == HKT_PARSE_EXIT)
        return HKT_OK;
    hkt_status status = HKT_OK;
    if (command == N_FIGURES + 1)
        print_list();
    else
        status = prepare(&o);
    if (status == HKT_OK && command <= N_FIGURES)
        status = command == N_FIGURES ? draw_all(&o) : draw(&o, &figures[command], &missing);
    free(o.from_real);
    free(o.plots_real);
    return status;
}

int main(int argc, char **argv)
{
    setenv("LC_ALL", "C.UTF-8", 1); /* of gnuplot: numbers with points, text in UTF-8 */
    hkt_status status = start(argc, argv);
    if (status == HKT_OK && fflush(stdout) != 0)
        status = hkt_fail(HKT_ESYSTEM, "cannot write to standard output");
    return hkt_report_failure("hkt-plot", status);
}

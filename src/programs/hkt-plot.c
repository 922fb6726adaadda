/* hkt-plot - draws figures from tables with gnuplot, and puts them into a report. Statistics are in the tables; this
 * program only checks that they are there and complete, and the scripts in plots/ only draw. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/progress.h"
#include "base/start.h"
#include "base/terminal.h"
#include "programs/plot.h"

static hkt_status draw_formats(const hkt_plot_options *o, const hkt_figure *f, const char *inputs)
{
    static const char *const formats[] = {"pdf", "png", "svg"};
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && status == HKT_OK; i++) {
        char name[64], *path;
        if (!strstr(o->format, formats[i]))
            continue;
        snprintf(name, sizeof name, "%s.%s", f->name, formats[i]);
        HKT_TRY(hkt_path_join(&path, o->out, name));
        status = hkt_plot_draw(o, f, inputs, formats[i], o->width ? o->width : f->width, path);
        hkt_progress_clear();
        if (status == HKT_OK)
            printf("%s\n", path);
        hkt_free(path);
    }
    return status;
}

static hkt_status draw(const hkt_plot_options *o, const hkt_figure *f, bool *missing)
{
    char *inputs = NULL;
    size_t size;
    FILE *script = open_memstream(&inputs, &size);
    if (!script)
        return hkt_fail(HKT_ESYSTEM, "out of memory for figure '%s'", f->name);
    hkt_status status = hkt_plot_input(o, f, script, missing);
    fclose(script);
    if (status == HKT_OK) {
        status = draw_formats(o, f, inputs);
        *missing = status == HKT_EINPUT; /* some of the rows */
    }
    free(inputs);
    return status;
}

/* Draws what there is data for; the rest is reported. Data that are there but broken are a failure. */
static hkt_status draw_all(const hkt_plot_options *o)
{
    hkt_status worst = HKT_OK;
    size_t drawn = 0, missing_n = 0;
    const double start = hkt_now();
    for (size_t i = 0; i < hkt_n_figures; i++) {
        bool missing;
        hkt_progress_part(start, i, hkt_n_figures, "figure %zu of %zu, %s", i + 1, hkt_n_figures, hkt_figures[i].name);
        hkt_status status = draw(o, &hkt_figures[i], &missing);
        drawn += status == HKT_OK;
        missing_n += missing;
        if (status != HKT_OK && !(missing && hkt_figures[i].of_others))
            hkt_note("hkt-plot: %s", hkt_error());
        if (status != HKT_OK && !missing)
            worst = status;
    }
    hkt_progress_clear();
    if (drawn == 0)
        return hkt_fail(HKT_EINPUT, "nothing to draw in '%s'", o->from);
    return worst == HKT_OK
               ? HKT_OK
               : hkt_fail(worst, "%zu of %zu figures failed", hkt_n_figures - drawn - missing_n, hkt_n_figures);
}

/* --- options --- */

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
static hkt_status find_scripts(hkt_plot_options *o)
{
    static const char *const near[] = {"../../plots", "../../../plots", "../../../../plots", "../share/hkt/plots"};
    char dir[PATH_MAX], candidate[2 * PATH_MAX];
    const char *named = o->plots ? o->plots : getenv("HKT_PLOTS");
    executable_dir(dir, sizeof dir);
    snprintf(candidate, sizeof candidate, "%s", named ? named : "");
    for (size_t i = 0; !named && i < sizeof near / sizeof *near && !has_style(candidate); i++)
        snprintf(candidate, sizeof candidate, "%s/%s", dir, near[i]);
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

/* Commands that are no figure. */
enum { ALL, LIST, REPORT, N_WHOLE };
static const char *const whole[N_WHOLE][2] = {
    [ALL] = {"all", "Every figure that there are data for."},
    [LIST] = {"list", "Prints the figures: name, input, what it shows."},
    [REPORT] = {"report", "One self-contained html page: results, claims, figures, settings, commands."}};

#define EPILOG                                                                                                         \
    "Examples:\n"                                                                                                      \
    "  hkt-plot all --from demo --out demo/figures\n"                                                                  \
    "  hkt-plot report --from demo --out demo/report.html\n"                                                           \
    "  hkt-plot cost --from tables --out figures --format pdf,svg --width column\n"                                    \
    "Exit status: 0 done, 2 usage, 3 missing or bad data, 4 gnuplot failed, 5 system failure."

static hkt_status parse(hkt_plot_options *o, int argc, char **argv, hkt_parse_action *action, size_t *command)
{
    const hkt_opt opts[] = {
        {"from", HKT_OPT_STRING, &o->from, "DIR", "directory of the tables and runs", 0, 0},
        {"out", HKT_OPT_STRING, &o->out, "PATH", "directory of the figures, created when missing; report: the page", 0,
         0},
        {"format", HKT_OPT_STRING, &o->format, "LIST", "of pdf, png, svg, separated by commas", 0, 0},
        {"width", HKT_OPT_CHOICE, &o->width, "column|page", "85 or 178 mm; without it what suits the figure", 0, 0},
        {"plots", HKT_OPT_STRING, &o->plots, "DIR", "directory of the gnuplot scripts", 0, 0},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
    };
    const char *names[HKT_MAX_FIGURES + N_WHOLE + 1] = {NULL}, *help[HKT_MAX_FIGURES + N_WHOLE + 1] = {NULL};
    HKT_ASSERT(hkt_n_figures <= HKT_MAX_FIGURES);
    for (size_t i = 0; i < hkt_n_figures; i++) {
        names[i] = hkt_figures[i].name;
        help[i] = hkt_figures[i].shows;
    }
    for (size_t i = 0; i < N_WHOLE; i++) {
        names[hkt_n_figures + i] = whole[i][0];
        help[hkt_n_figures + i] = whole[i][1];
    }
    const hkt_cli cli = {.program = "hkt-plot",
                         .synopsis = "FIGURE|all|report|list --from DIR --out DIR [options]",
                         .summary = "Draws figures from tables, and a report.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .commands = names,
                         .command_help = help};
    return hkt_opt_parse(&cli, argc, argv, action, command, NULL, NULL);
}

static const char *input_of(const hkt_figure *f)
{
    return f->table ? f->table : f->evaluated ? "*/eval.json" : "*/log.tsv";
}

/* The command that makes the input, in a directory DIR. */
static void print_maker(FILE *out, const hkt_figure *f)
{
    const char *hole = strstr(f->maker, "%s");
    fprintf(out, "%.*sDIR%s", (int)(hole - f->maker), f->maker, hole + 2);
}

/* For a person a paragraph each, otherwise tab-separated: figure, claim, input, what it shows, what makes the input. */
static void print_figure(FILE *to, int width, const hkt_figure *f, const char *maker)
{
    if (width == 0) {
        fprintf(to, "%s\t%s\t%s\t%s\t%s\n", f->name, f->claim, input_of(f), f->shows, maker);
        return;
    }
    fprintf(to, "%-20s%-15s%s\n", f->name, f->claim, input_of(f));
    hkt_terminal_wrap(to, width, 0, 4, f->shows);
    hkt_terminal_wrap(to, width, fprintf(to, "    made by"), 8, maker);
}

/* Figure by figure, so that a full disk is noticed with its reason. */
static hkt_status print_list(void)
{
    const int width = hkt_terminal_width(stdout);
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < hkt_n_figures && status == HKT_OK; i++) {
        char *maker = NULL;
        size_t size;
        FILE *text = open_memstream(&maker, &size);
        if (!text)
            return hkt_fail(HKT_ESYSTEM, "out of memory for the list of figures");
        print_maker(text, &hkt_figures[i]);
        fclose(text);
        print_figure(stdout, width, &hkt_figures[i], maker);
        free(maker);
        status = hkt_stdout_flush();
    }
    return status;
}

/* Figures can be put into it. */
static hkt_status make_directory(const char *dir)
{
    char *path;
    HKT_TRY(hkt_mkdir(dir));
    HKT_TRY(hkt_path_join(&path, dir, "figure"));
    hkt_status status = hkt_file_writable(path);
    hkt_free(path);
    return status;
}

static hkt_status prepare(hkt_plot_options *o, bool directory)
{
    HKT_TRY(hkt_opt_require("from", o->from));
    HKT_TRY(hkt_opt_require("out", o->out));
    if (directory && strcmp(o->out, "-") == 0)
        return hkt_fail(HKT_EUSAGE, "option '--out': expected a directory, found '-'");
    HKT_TRY(check_formats(o->format));
    o->from_real = realpath(o->from, NULL);
    if (!o->from_real)
        return hkt_fail(HKT_EINPUT, "cannot open '%s': %s", o->from, strerror(errno));
    HKT_TRY(find_scripts(o));
    return directory ? make_directory(o->out) : HKT_OK;
}

static hkt_status act(hkt_plot_options *o, size_t command)
{
    bool missing;
    if (command == hkt_n_figures + LIST)
        return print_list();
    bool report = command == hkt_n_figures + REPORT, there = o->out && access(o->out, F_OK) == 0;
    HKT_TRY(prepare(o, !report));
    hkt_status status = report                           ? hkt_plot_report(o)
                        : command == hkt_n_figures + ALL ? draw_all(o)
                                                         : draw(o, &hkt_figures[command], &missing);
    if (status != HKT_OK && !report && !there)
        rmdir(o->out); /* stays when something was drawn */
    return status;
}

static hkt_status start(int argc, char **argv)
{
    hkt_plot_options o = {.format = "pdf,png,svg"};
    hkt_parse_action action = HKT_PARSE_RUN;
    size_t command = 0;
    HKT_TRY(parse(&o, argc, argv, &action, &command));
    hkt_status status = action == HKT_PARSE_EXIT ? HKT_OK : act(&o, command);
    free(o.from_real);
    free(o.plots_real);
    return status;
}

int main(int argc, char **argv)
{
    hkt_start();
    setenv("LC_ALL", "C.UTF-8", 1); /* of gnuplot: numbers with points, text in UTF-8 */
    hkt_status status = start(argc, argv);
    if (status == HKT_OK)
        status = hkt_stdout_flush();
    return hkt_report_failure("hkt-plot", status);
}

/* The report on the runs: their accuracies and settings, every command in the order in which it was given, and the
 * machine. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/provenance.h"
#include "base/tsv.h"
#include "programs/plot.h"
#include "programs/plot_claims.h"
#include "programs/plot_html.h"

/* --- results: a row per run --- */

static double member(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static void write_run(FILE *f, const hkt_plot_run *r)
{
    const json_t *e = r->test, *result = json_object_get(r->record, "result");
    double accuracy = member(e, "accuracy"), majority = member(e, "majority");
    char interval[64] = "-";
    if (e)
        snprintf(interval, sizeof interval, "%.2f to %.2f", 100 * member(e, "accuracy_low"),
                 100 * member(e, "accuracy_high"));
    fputs("<tr>", f);
    hkt_html_row_head(f, r->label);
    hkt_html_number(f, "test accuracy (%)", 2, 100 * accuracy);
    hkt_html_cell(f, "95 % interval", interval);
    hkt_html_number(f, "most frequent class (%)", 2, 100 * majority);
    hkt_html_number(f, "accuracy / most frequent", 2, accuracy / majority);
    hkt_html_number(f, "loss", 4, member(e, "loss"));
    hkt_html_number(f, "sequences", 0, member(e, "sequences"));
    hkt_html_number(f, "parameters", 0, member(r->record, "parameters"));
    hkt_html_number(f, "best step", 0, member(result, "best_step"));
    hkt_html_number(f, "training (s)", 1, member(result, "seconds"));
    hkt_html_number(f, "tokens/s in training", 0, member(result, "tokens_per_s"));
    fputs("</tr>\n", f);
}

void hkt_plot_write_results(FILE *f, const hkt_plot_runs *runs)
{
    static const char *const heads[] = {"model",
                                        "test accuracy (%)",
                                        "95 % interval",
                                        "most frequent class (%)",
                                        "accuracy / most frequent",
                                        "loss",
                                        "sequences",
                                        "parameters",
                                        "best step",
                                        "training (s)",
                                        "tokens/s in training"};
    fputs("<h2 id=\"results\">Runs</h2>\n", f);
    if (runs->n == 0) {
        fputs("<p>There is no training run here.</p>\n", f);
        return;
    }
    fputs("<p>Test accuracy of the checkpoint of each run that was best on the validation split. The interval (Wilson, "
          "95 %) covers the choice of test sequences, not that of seeds.</p>\n",
          f);
    hkt_html_table_start(f, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < runs->n; i++)
        write_run(f, &runs->run[i]);
    hkt_html_table_end(f);
}

/* --- settings --- */

static void write_setting(FILE *f, const hkt_plot_runs *runs, const char *const *heads, const char *key)
{
    fputs("<tr>", f);
    hkt_html_row_head(f, key);
    for (size_t i = 0; i < runs->n; i++) {
        const json_t *v = json_object_get(json_object_get(runs->run[i].record, "settings"), key);
        char *text = v && !json_is_string(v) ? json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;
        hkt_html_cell(f, heads[i + 1], text ? text : v ? json_string_value(v) : "-");
        free(text);
    }
    fputs("</tr>\n", f);
}

void hkt_plot_write_settings(FILE *f, const hkt_plot_runs *runs)
{
    const char *heads[HKT_MAX_RUNS + 1] = {"setting"}, *key;
    json_t *value;
    fputs("<h2 id=\"settings\">Settings of the runs</h2>\n", f);
    json_t *first = runs->n > 0 ? json_object_get(runs->run[0].record, "settings") : NULL;
    if (!first) {
        fputs("<p>No run here has a run.json.</p>\n", f);
        return;
    }
    for (size_t i = 0; i < runs->n; i++)
        heads[i + 1] = runs->run[i].label;
    hkt_html_table_start(f, heads, runs->n + 1);
    json_object_foreach(first, key, value) write_setting(f, runs, heads, key);
    hkt_html_table_end(f);
}

/* --- commands and machine --- */

/* Commands in their order, each once. */
enum { MAX_COMMANDS = 256 };
typedef struct {
    json_t *owner; /* array of strings */
} commands;

static void add_command(commands *c, const json_t *object)
{
    const char *command = hkt_plot_text(object, "command");
    bool known = !*command || json_array_size(c->owner) == MAX_COMMANDS;
    for (size_t i = 0; i < json_array_size(c->owner) && !known; i++)
        known = strcmp(json_string_value(json_array_get(c->owner, i)), command) == 0;
    if (!known)
        json_array_append_new(c->owner, json_string(command));
}

/* data.json of the data that a run was trained on: below --from, or where the run found them. NULL: not there. */
static json_t *data_record(const hkt_plot_options *o, const json_t *record)
{
    const char *dir = hkt_plot_text(record, "data_dir"), *last = strrchr(dir, '/');
    const char *const places[][2] = {{o->from_real, last ? last + 1 : dir}, {dir, ""}};
    json_t *out = NULL;
    for (size_t i = 0; i < 2 && !out && *dir; i++) {
        char path[PATH_MAX];
        const int n = snprintf(path, sizeof path, "%s/%s/data.json", places[i][0], places[i][1]);
        if (n < (int)sizeof path && hkt_file_exists(path) && hkt_json_read(&out, path) != HKT_OK)
            out = NULL;
    }
    return out;
}

static hkt_status collect_commands(commands *c, const hkt_plot_options *o, const hkt_plot_runs *runs,
                                   const json_t *verify)
{
    for (size_t i = 0; i < runs->n; i++) {
        json_t *data = data_record(o, runs->run[i].record);
        add_command(c, json_object_get(data, "provenance"));
        json_decref(data);
    }
    for (size_t i = 0; i < runs->n; i++) {
        const json_t *starts = json_object_get(runs->run[i].record, "starts");
        for (size_t k = 0; k < json_array_size(starts); k++)
            add_command(c, json_array_get(starts, k));
        add_command(c, json_object_get(runs->run[i].test, "provenance"));
        add_command(c, json_object_get(runs->run[i].val, "provenance"));
    }
    add_command(c, json_object_get(verify, "provenance"));
    for (size_t i = 0; i < hkt_n_figures; i++) {
        char *path;
        if (!hkt_figures[i].table)
            continue;
        HKT_TRY(hkt_path_join(&path, o->from_real, hkt_figures[i].table));
        json_t *info = hkt_table_info(path);
        hkt_free(path);
        add_command(c, json_object_get(info, "provenance"));
        json_decref(info);
    }
    return HKT_OK;
}

static void write_made(FILE *f, const char *what, const json_t *made, double seconds)
{
    const json_t *machine = json_object_get(made, "machine"), *libraries = json_object_get(made, "libraries"), *value;
    const char *key;
    if (!json_is_object(made))
        return;
    fputs("<tr>", f);
    hkt_html_row_head(f, what);
    hkt_html_cell(f, "commit", hkt_plot_text(made, "commit"));
    char *seed = json_dumps(json_object_get(made, "seed"), JSON_ENCODE_ANY);
    hkt_html_cell(f, "seed", seed ? seed : "-");
    free(seed);
    hkt_html_number(f, "threads", 0, member(made, "threads"));
    hkt_html_cell(f, "processor", hkt_plot_text(machine, "processor"));
    hkt_html_cell(f, "instruction set", *hkt_plot_text(made, "isa") ? hkt_plot_text(made, "isa") : "-");
    hkt_html_cell(f, "BLAS core", hkt_plot_text(made, "blas_core"));
    fprintf(f, "<td data-head=\"libraries\">");
    hkt_html_text(f, hkt_plot_text(made, "compiler"));
    json_object_foreach((json_t *)(uintptr_t)libraries, key, value)
    {
        fputs(", ", f);
        hkt_html_text(f, key);
        putc(' ', f);
        hkt_html_text(f, json_string_value(value) ? json_string_value(value) : "");
    }
    fputs("</td>", f);
    hkt_html_number(f, "seconds", 1, seconds);
    fputs("</tr>\n", f);
}

static void write_machines(FILE *f, const hkt_plot_runs *runs, const json_t *verify)
{
    static const char *const heads[] = {"made",      "commit",    "seed",   "threads", "processor", "instruction set",
                                        "BLAS core", "libraries", "seconds"};
    hkt_html_table_start(f, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < runs->n; i++) {
        const json_t *starts = json_object_get(runs->run[i].record, "starts");
        write_made(f, runs->run[i].label, json_array_get(starts, json_array_size(starts) - 1),
                   member(json_object_get(runs->run[i].record, "result"), "seconds"));
    }
    write_made(f, "verdicts", json_object_get(verify, "provenance"), (double)NAN);
    hkt_html_table_end(f);
}

/* The day on which verify.json was written, else the last run.json. */
static void write_date(FILE *f, const hkt_plot_options *o, const hkt_plot_runs *runs)
{
    char path[PATH_MAX], date[32];
    struct stat s;
    struct tm day;
    int n = snprintf(path, sizeof path, "%s/verify.json", o->from_real);
    bool there = n < (int)sizeof path && stat(path, &s) == 0;
    for (size_t i = runs->n; i > 0 && !there; i--)
        there = stat(runs->run[i - 1].record_path, &s) == 0;
    if (there && gmtime_r(&s.st_mtime, &day) && strftime(date, sizeof date, "%Y-%m-%d", &day) > 0)
        fprintf(f, " The results are of %s.", date);
}

hkt_status hkt_plot_write_reproduce(FILE *f, const hkt_plot_options *o, const hkt_plot_runs *runs, const json_t *verify)
{
    commands c = {json_array()};
    if (!c.owner)
        return hkt_fail(HKT_ESYSTEM, "out of memory for the commands of the report");
    hkt_status status = collect_commands(&c, o, runs, verify);
    fprintf(f, "<h2 id=\"reproduce\">How to reproduce</h2>\n<p>hkt %s, commit %s.", hkt_version, hkt_commit);
    write_date(f, o, runs);
    fputs(" Every command, in its order:</p>\n<pre>", f);
    for (size_t i = 0; i < json_array_size(c.owner); i++) {
        hkt_html_text(f, json_string_value(json_array_get(c.owner, i)));
        fputs("\n", f);
    }
    json_decref(c.owner);
    fputs("hkt-plot report --from ", f);
    hkt_html_text(f, o->from);
    fputs(" --out ", f);
    hkt_html_text(f, o->out);
    fputs("</pre>\n", f);
    write_machines(f, runs, verify);
    fputs("<p>Beside each table is a file of the same name and <code>.json</code> that says how it was made. "
          "What is the same when these commands are run again: the bytes of data, weights, logits, accuracies, scores "
          "and their moments, on every x86-64 or 64-bit ARM processor, for any number of threads, with gcc and clang. "
          "Eigenvalues and what is built on them may differ in the last digits with the BLAS core; times differ.</p>\n",
          f);
    return status;
}

/* The report: one page of html with everything in it. Tables and pictures come from the files in --from as they are;
 * this source only arranges them. No date and no name of a machine: the same files make the same bytes. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/provenance.h"
#include "base/tsv.h"
#include "programs/plot.h"
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
    hkt_html_cell(f, "model", r->label);
    hkt_html_number(f, "test accuracy (%)", 2, 100 * accuracy);
    hkt_html_cell(f, "95 % interval", interval);
    hkt_html_number(f, "most frequent class (%)", 2, 100 * majority);
    hkt_html_number(f, "accuracy / most frequent", 2, accuracy / majority);
    hkt_html_number(f, "loss", 4, member(e, "loss"));
    hkt_html_number(f, "sequences", 0, member(e, "sequences"));
    hkt_html_number(f, "parameters", 0, member(r->record, "parameters"));
    hkt_html_number(f, "best step", 0, member(result, "best_step"));
    hkt_html_number(f, "tokens/s in training", 0, member(result, "tokens_per_s"));
    fputs("</tr>\n", f);
}

static void write_results(FILE *f, const hkt_plot_runs *runs)
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
                                        "tokens/s in training"};
    fputs("<h2 id=\"results\">Results</h2>\n", f);
    if (runs->n == 0) {
        fputs("<p>There is no training run here.</p>\n", f);
        return;
    }
    fputs(
        "<p>Every run with a validated epoch; accuracy on the split that <code>hkt-eval --json</code> was given, at the"
        " best step by validation accuracy; the interval (Wilson) is over sequences, not over seeds.</p>\n",
        f);
    hkt_html_table_start(f, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < runs->n; i++)
        write_run(f, &runs->run[i]);
    hkt_html_table_end(f);
}

/* --- claims --- */

static const char *const claim_columns[] = {"claim",    "check", "kind",    "condition",
                                            "measured", "bound", "verdict", "detail"};
enum { N_CLAIM_COLUMNS = sizeof claim_columns / sizeof *claim_columns };

static void write_claim_rows(FILE *f, const hkt_table *t, const size_t *at)
{
    hkt_html_table_start(f, claim_columns, N_CLAIM_COLUMNS);
    for (size_t r = 0; r < t->rows; r++) {
        fputs("<tr>", f);
        for (size_t k = 0; k < N_CLAIM_COLUMNS; k++) {
            const char *name = claim_columns[k], *text = t->cell[r * t->cols + at[k]];
            const bool missing = strcmp(text, HKT_TSV_MISSING) == 0;
            if (strcmp(name, "measured") == 0 || strcmp(name, "bound") == 0)
                hkt_html_number(f, name, -4, missing ? (double)NAN : strtod(text, NULL));
            else
                hkt_html_cell(f, name, missing ? "-" : text);
        }
        fputs("</tr>\n", f);
    }
    hkt_html_table_end(f);
}

/* "14 HOLDS, 3 VIOLATED, 1 INCONCLUSIVE", and ", 1 ERROR" when there is one */
static void write_verdict_counts(FILE *f, const hkt_table *t, size_t column)
{
    static const char *const verdicts[] = {"HOLDS", "VIOLATED", "INCONCLUSIVE", "ERROR"};
    const char *separator = "";
    fputs("<p><strong>", f);
    for (size_t v = 0; v < sizeof verdicts / sizeof *verdicts; v++) {
        size_t n = 0;
        for (size_t r = 0; r < t->rows; r++)
            n += strcmp(t->cell[r * t->cols + column], verdicts[v]) == 0;
        if (n > 0 || strcmp(verdicts[v], "ERROR") != 0)
            fprintf(f, "%s%zu %s", separator, n, verdicts[v]);
        separator = ", ";
    }
    fputs("</strong>. A check says VIOLATED when its statement fails under the condition in its row; that is a "
          "finding, not"
          " a fault of the program; ERROR: the check could not be computed, for the reason in its row. "
          "<code>hkt-verify explain CLAIM</code> says what each check does.</p>\n",
          f);
}

static hkt_status write_claims(FILE *f, const char *path, const char *from)
{
    hkt_table t;
    size_t at[N_CLAIM_COLUMNS];
    fputs("<h2 id=\"claims\">Claims</h2>\n", f);
    if (!hkt_file_exists(path)) {
        fputs("<p class=\"missing\">Not there yet. Make it with: <code>hkt-verify all --checkpoint FILE --tsv ", f);
        hkt_html_text(f, from);
        fputs("/verify.tsv</code></p>\n", f);
        return HKT_OK;
    }
    HKT_TRY(hkt_table_read(&t, path));
    hkt_status status = HKT_OK;
    for (size_t k = 0; k < N_CLAIM_COLUMNS && status == HKT_OK; k++)
        status = hkt_table_column(&t, claim_columns[k], &at[k]);
    if (status == HKT_OK) {
        write_verdict_counts(f, &t, at[6]);
        write_claim_rows(f, &t, at);
    } else {
        status = hkt_fail_context(status, "%s", path);
    }
    hkt_table_free(&t);
    return status;
}

/* The command that made a table, with `before` and `after`; nothing when nothing beside the table says it. */
static void write_table_command(FILE *f, const char *before, const char *path, const char *after)
{
    json_t *info = hkt_table_info(path);
    const char *command = json_string_value(json_object_get(json_object_get(info, "provenance"), "command"));
    if (command) {
        fputs(before, f);
        hkt_html_text(f, command);
        fputs(after, f);
    }
    json_decref(info);
}

/* --- figures --- */

/* Draws into a temporary file and copies it into the page. */
static hkt_status write_svg(FILE *f, const hkt_plot_options *o, const hkt_figure *fig, const char *inputs,
                            const char *width)
{
    char path[PATH_MAX], prefix[96], *text;
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/hkt-plot.XXXXXX", dir && *dir ? dir : P_tmpdir);
    size_t size;
    int fd = mkstemp(path);
    if (fd < 0)
        return hkt_fail(HKT_ESYSTEM, "cannot create '%s'", path);
    close(fd);
    hkt_status status = hkt_plot_draw(o, fig, inputs, "svg", width, path);
    if (status == HKT_OK && (status = hkt_file_read(path, &text, &size)) == HKT_OK) {
        snprintf(prefix, sizeof prefix, "%s-%s-", fig->name, width);
        hkt_html_svg(f, text, prefix);
        hkt_free(text);
    }
    unlink(path);
    return status;
}

static hkt_status write_pictures(FILE *f, const hkt_plot_options *o, const hkt_figure *fig, const char *inputs)
{
    bool page = strcmp(fig->width, "page") == 0;
    hkt_status status = HKT_OK;
    if (page) {
        fputs("<div class=\"page\">", f);
        status = write_svg(f, o, fig, inputs, "page");
        fputs("</div>\n", f);
    }
    fprintf(f, "<div class=\"column%s\">", page ? " instead" : "");
    if (status == HKT_OK)
        status = write_svg(f, o, fig, inputs, "column");
    fputs("</div>\n", f);
    return status;
}

/* What it shows and, when it was drawn, how to make it again. */
static hkt_status write_caption(FILE *f, const hkt_plot_options *o, const hkt_figure *fig, size_t number, bool drawn)
{
    char *path;
    fprintf(f, "<figcaption><strong>Figure %zu, %s.</strong> ", number, fig->name);
    hkt_html_text(f, fig->shows);
    if (!drawn) {
        fputs("</figcaption>\n", f);
        return HKT_OK;
    }
    fprintf(f, " <span class=\"source\">From %s", fig->table ? fig->table : "the runs");
    if (fig->table) {
        HKT_TRY(hkt_path_join(&path, o->from_real, fig->table));
        write_table_command(f, ", made by <code>", path, "</code>");
        hkt_free(path);
    } else {
        fprintf(f, ", made by <code>%s</code>", fig->evaluated ? "hkt-eval --json" : "hkt-train");
    }
    fprintf(f, "; drawn by <code>hkt-plot %s --from ", fig->name);
    hkt_html_text(f, o->from);
    fputs(" --out DIR</code>.</span></figcaption>\n", f);
    return HKT_OK;
}

static hkt_status write_figure(FILE *f, const hkt_plot_options *o, const hkt_figure *fig, size_t number)
{
    char *inputs = NULL;
    size_t size;
    bool missing = false;
    FILE *script = open_memstream(&inputs, &size);
    if (!script)
        return hkt_fail(HKT_ESYSTEM, "out of memory for figure '%s'", fig->name);
    hkt_status status = hkt_plot_input(o, fig, script, &missing);
    fclose(script);
    fprintf(f, "<figure id=\"%s\">\n", fig->name);
    if (status == HKT_OK) {
        status = write_pictures(f, o, fig, inputs);
        missing = status == HKT_EINPUT; /* some of the rows */
    }
    free(inputs);
    if (missing) {
        fputs("<p class=\"missing\">Not drawn: ", f);
        hkt_html_text(f, hkt_error());
        fputs("</p>\n", f);
        status = HKT_OK;
    }
    if (status == HKT_OK)
        status = write_caption(f, o, fig, number, !missing);
    fputs("</figure>\n", f);
    return status;
}

static hkt_status write_figures(FILE *f, const hkt_plot_options *o)
{
    fputs("<h2 id=\"figures\">Figures</h2>\n", f);
    for (size_t i = 0; i < hkt_n_figures; i++)
        if (!hkt_figures[i].of_others || hkt_plot_has_table(o, &hkt_figures[i]))
            HKT_TRY(write_figure(f, o, &hkt_figures[i], i + 1));
    return HKT_OK;
}

/* --- settings and commands --- */

static void write_setting(FILE *f, const hkt_plot_runs *runs, const char *const *heads, const char *key)
{
    fputs("<tr>", f);
    hkt_html_cell(f, heads[0], key);
    for (size_t i = 0; i < runs->n; i++) {
        const json_t *v = json_object_get(json_object_get(runs->run[i].record, "settings"), key);
        char *text = v && !json_is_string(v) ? json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;
        hkt_html_cell(f, heads[i + 1], text ? text : v ? json_string_value(v) : "-");
        free(text);
    }
    fputs("</tr>\n", f);
}

static void write_settings(FILE *f, const hkt_plot_runs *runs)
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

static void write_command_of(FILE *f, const json_t *object)
{
    const json_t *command = json_object_get(object, "command");
    if (json_is_string(command)) {
        hkt_html_text(f, json_string_value(command));
        fputs("\n", f);
    }
}

/* Of figure i - 1: the figure before has the same table, or the second table of the same command. */
static bool is_repeated(const hkt_plot_options *o, size_t i)
{
    char *text[2] = {NULL, NULL};
    for (size_t k = 0; k < 2 && i >= 2 && hkt_figures[i - 2].table; k++) {
        char *path;
        size_t size;
        FILE *f = open_memstream(&text[k], &size);
        if (f && hkt_path_join(&path, o->from_real, hkt_figures[i - 2 + k].table) == HKT_OK) {
            write_table_command(f, "", path, "");
            hkt_free(path);
        }
        if (f)
            fclose(f);
    }
    bool same = text[0] && text[1] && *text[0] && strcmp(text[0], text[1]) == 0;
    free(text[0]);
    free(text[1]);
    return same;
}

static hkt_status write_reproduce(FILE *f, const hkt_plot_options *o, const hkt_plot_runs *runs)
{
    fprintf(
        f,
        "<h2 id=\"reproduce\">How to reproduce</h2>\n<p>hkt %s, commit %s. Everything: <code>make demo</code> in the"
        " source. Step by step, as it was run:</p>\n<pre>",
        hkt_version, hkt_commit);
    for (size_t i = 0; i < runs->n; i++) {
        const json_t *starts = json_object_get(runs->run[i].record, "starts");
        for (size_t k = 0; k < json_array_size(starts); k++)
            write_command_of(f, json_array_get(starts, k));
        write_command_of(f, json_object_get(runs->run[i].test, "provenance"));
    }
    for (size_t i = 0; i <= hkt_n_figures; i++) {
        char *path;
        const char *table = i == 0 ? "verify.tsv" : hkt_figures[i - 1].table;
        if (!table || is_repeated(o, i))
            continue;
        HKT_TRY(hkt_path_join(&path, o->from_real, table));
        write_table_command(f, "", path, "\n");
        hkt_free(path);
    }
    fputs("hkt-plot report --from ", f);
    hkt_html_text(f, o->from);
    fputs(" --out ", f);
    hkt_html_text(f, o->out);
    fputs("</pre>\n<p>Beside each table is a file of the same name and <code>.json</code> with its command, version, "
          "commit, "
          "seed, threads, BLAS core and machine. "
          "Data, weights, accuracies and moments of scores are the same byte for byte on every machine, for any number "
          "of threads; eigenvalues and what is built on them may differ in the last digits, times differ.</p>\n",
          f);
    return HKT_OK;
}

/* --- the page --- */

static hkt_status write_page(FILE *f, const hkt_plot_options *o, const hkt_plot_runs *runs)
{
    char *verify;
    hkt_html_head(f, "Hierarchical Kernel Transformer: report of one run");
    write_results(f, runs);
    HKT_TRY(hkt_path_join(&verify, o->from_real, "verify.tsv"));
    hkt_status status = write_claims(f, verify, o->from);
    hkt_free(verify);
    HKT_TRY(status);
    HKT_TRY(write_figures(f, o));
    write_settings(f, runs);
    HKT_TRY(write_reproduce(f, o, runs));
    hkt_html_foot(f);
    return HKT_OK;
}

hkt_status hkt_plot_report(const hkt_plot_options *o)
{
    hkt_plot_runs runs;
    hkt_out *out = NULL;
    hkt_status status = hkt_plot_find_runs(o, &hkt_figures[0], &runs);
    if (status == HKT_OK)
        status = hkt_out_open(&out, o->out);
    if (status == HKT_OK)
        status = write_page(hkt_out_stream(out), o, &runs);
    if (status == HKT_OK)
        status = hkt_out_commit(out);
    else
        hkt_out_abort(out);
    hkt_plot_free_runs(&runs);
    if (status == HKT_OK && strcmp(o->out, "-") != 0)
        printf("%s\n", o->out);
    return status;
}

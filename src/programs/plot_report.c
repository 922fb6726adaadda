/* The report: one page of html with everything in it. Tables, verdicts and pictures come from the files in --from as
 * they are; this source only arranges them: the same files make the same bytes. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/tsv.h"
#include "programs/plot.h"
#include "programs/plot_claims.h"
#include "programs/plot_html.h"

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

/* What is seen, for readers who do not see it, and as the caption: what it shows and what was found. */
static void write_alternative(const hkt_figure *fig, const char *found, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s", fig->shows, *found ? " Found: " : "", found, *found ? "." : "");
}

/* Draws into a temporary file and copies it into the page. */
static hkt_status write_svg(FILE *f, const hkt_plot_options *o, const hkt_figure *fig, const char *found,
                            const char *inputs, const char *width)
{
    char path[PATH_MAX], id[96], alternative[1600], *text;
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/hkt-plot.XXXXXX", dir && *dir ? dir : P_tmpdir);
    size_t size;
    int fd = mkstemp(path);
    if (fd < 0)
        return hkt_fail(HKT_ESYSTEM, "cannot create '%s'", path);
    close(fd);
    hkt_status status = hkt_plot_draw(o, fig, inputs, "svg", width, path);
    if (status == HKT_OK && (status = hkt_file_read(path, &text, &size)) == HKT_OK) {
        snprintf(id, sizeof id, "svg-%s-%s", fig->name, width);
        write_alternative(fig, found, alternative, sizeof alternative);
        hkt_html_svg(f, text, id, alternative);
        hkt_free(text);
    }
    unlink(path);
    return status;
}

static hkt_status write_pictures(FILE *f, const hkt_plot_options *o, const hkt_figure *fig, const char *found,
                                 const char *inputs)
{
    bool page = strcmp(fig->width, "page") == 0;
    hkt_status status = HKT_OK;
    if (page) {
        fputs("<div class=\"page\">", f);
        status = write_svg(f, o, fig, found, inputs, "page");
        fputs("</div>\n", f);
    }
    fprintf(f, "<div class=\"column%s\">", page ? " instead" : "");
    if (status == HKT_OK)
        status = write_svg(f, o, fig, found, inputs, "column");
    fputs("</div>\n", f);
    return status;
}

static bool same_place(const hkt_table *t, size_t i, size_t m, const size_t *at, const bool *there, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (there[k] && strcmp(t->cell[i * t->cols + at[k]], t->cell[m * t->cols + at[k]]) != 0)
            return false;
    return true;
}

/* How many heads and sequences, or rows, a table has numbers of. */
static void write_sample(FILE *f, const char *path)
{
    static const char *const of[] = {"layer", "level", "head", "sequences"};
    enum { PLACES = 3, SEQUENCES = 3 };
    hkt_table t;
    size_t at[4], places = 0, n_at = 0;
    double sequences = 0;
    bool there[4];
    if (hkt_table_read(&t, path) != HKT_OK)
        return;
    for (size_t k = 0; k < 4; k++)
        there[k] = hkt_table_column(&t, of[k], &at[k]) == HKT_OK;
    for (size_t k = 0; k < PLACES; k++)
        n_at += there[k];
    for (size_t i = 0; i < t.rows; i++) {
        bool first = n_at > 1;
        for (size_t m = 0; m < i && first; m++)
            first = !same_place(&t, i, m, at, there, PLACES);
        for (size_t k = 0; k < PLACES; k++)
            first = first && !(there[k] && strcmp(t.cell[i * t.cols + at[k]], HKT_TSV_MISSING) == 0);
        places += first;
        if (there[SEQUENCES])
            sequences = fmax(sequences, strtod(t.cell[i * t.cols + at[SEQUENCES]], NULL));
    }
    if (places > 0)
        fprintf(f, " n: %zu %s", places,
                there[2] ? there[1] ? "heads of levels and layers" : "heads of layers" : "levels of layers");
    else
        fprintf(f, " n: %zu rows", t.rows);
    if (sequences > 0)
        fprintf(f, ", %.0f sequences", sequences);
    putc('.', f);
    hkt_table_free(&t);
}

/* What it shows and, when it was drawn, how to make it again. */
static hkt_status write_caption(FILE *f, const hkt_plot_options *o, const hkt_figure *fig, const char *found,
                                size_t number, bool drawn)
{
    char *path, text[1600];
    fprintf(f, "<figcaption><strong>Figure %zu, %s.</strong> ", number, fig->name);
    write_alternative(fig, drawn ? found : "", text, sizeof text);
    hkt_html_text(f, text);
    if (drawn && fig->table) {
        HKT_TRY(hkt_path_join(&path, o->from_real, fig->table));
        write_sample(f, path);
        hkt_free(path);
    }
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

static hkt_status write_figure(FILE *f, const hkt_plot_options *o, const hkt_figure *fig, const json_t *verify,
                               size_t number)
{
    const char *found = fig->check ? hkt_plot_found(verify, fig->claim, fig->check) : "";
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
        status = write_pictures(f, o, fig, found, inputs);
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
        status = write_caption(f, o, fig, found, number, !missing);
    fputs("</figure>\n", f);
    return status;
}

/* --- claims --- */

static bool is_shown(const hkt_plot_options *o, const hkt_figure *fig)
{
    return !fig->of_others || hkt_plot_has_table(o, fig);
}

/* The figure that stands for a claim in the overview: the first that shows a finding, else the first. NULL: none. */
static const hkt_figure *small_figure(const hkt_plot_options *o, const char *claim)
{
    const hkt_figure *first = NULL;
    for (size_t i = 0; i < hkt_n_figures; i++) {
        const hkt_figure *fig = &hkt_figures[i];
        if (strcmp(fig->claim, claim) != 0 || !is_shown(o, fig) || (fig->table && !hkt_plot_has_table(o, fig)))
            continue;
        if (fig->check)
            return fig;
        first = first ? first : fig;
    }
    return first;
}

/* Of a column figure, about. */
enum { SMALL_WIDTH = 321, SMALL_HEIGHT = 210 };

/* The picture itself is further down: here it is referred to. */
static void write_small(FILE *f, const hkt_figure *fig)
{
    fputs("<td class=\"bare\">", f);
    if (fig) {
        fprintf(f, "<a class=\"thumb\" href=\"#%s\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", fig->name,
                SMALL_WIDTH, SMALL_HEIGHT);
        hkt_html_text(f, fig->shows);
        fprintf(f, "\"><use href=\"#svg-%s-column\" width=\"%d\" height=\"%d\"/></svg></a>", fig->name, SMALL_WIDTH,
                SMALL_HEIGHT);
    }
    fputs("</td>", f);
}

static void write_overview(FILE *f, const hkt_plot_options *o, const json_t *verify)
{
    static const char *const heads[] = {"claim", "statement", "what holds, what fails", "figure"};
    size_t i;
    const json_t *claim;
    hkt_html_table_start(f, heads, sizeof heads / sizeof *heads);
    json_array_foreach(json_object_get(verify, "claims"), i, claim)
    {
        const char *id = hkt_plot_text(claim, "id");
        fprintf(f, "<tr><th scope=\"row\"><a href=\"#claim-%s\">%s</a></th><td data-head=\"statement\">", id, id);
        hkt_html_text(f, hkt_plot_text(claim, "statement"));
        fputs(" <span class=\"source\">(", f);
        hkt_html_text(f, hkt_plot_text(claim, "place"));
        fputs(")</span></td><td class=\"bare\">", f);
        hkt_plot_write_headlines(f, claim);
        fputs("</td>", f);
        write_small(f, small_figure(o, id));
        fputs("</tr>\n", f);
    }
    hkt_html_table_end(f);
}

static hkt_status write_figures_of(FILE *f, const hkt_plot_options *o, const char *claim, const json_t *verify,
                                   size_t *number)
{
    for (size_t i = 0; i < hkt_n_figures; i++)
        if (strcmp(hkt_figures[i].claim, claim) == 0 && is_shown(o, &hkt_figures[i]))
            HKT_TRY(write_figure(f, o, &hkt_figures[i], verify, ++*number));
    return HKT_OK;
}

/* id and statement as a heading; claim: NULL when there are no verdicts. */
static hkt_status write_claim(FILE *f, const hkt_plot_options *o, const char *id, const json_t *claim,
                              const json_t *verify, size_t *number)
{
    fprintf(f, "<section aria-labelledby=\"claim-%s\">\n<h2 id=\"claim-%s\">%s", id, id, id);
    if (claim) {
        fputs(": ", f);
        hkt_html_text(f, hkt_plot_text(claim, "statement"));
        fputs(" <span class=\"source\">(", f);
        hkt_html_text(f, hkt_plot_text(claim, "place"));
        fputs(")</span>", f);
    }
    fputs("</h2>\n", f);
    if (claim)
        hkt_plot_write_headlines(f, claim);
    HKT_TRY(write_figures_of(f, o, id, verify, number));
    if (claim)
        hkt_plot_write_checks(f, claim);
    fputs("</section>\n", f);
    return HKT_OK;
}

/* The claims of verify.json in its order, then those that only figures belong to. */
static hkt_status write_claims(FILE *f, const hkt_plot_options *o, const json_t *verify)
{
    size_t number = 0, i;
    const json_t *claim;
    json_array_foreach(json_object_get(verify, "claims"), i, claim)
        HKT_TRY(write_claim(f, o, hkt_plot_text(claim, "id"), claim, verify, &number));
    for (size_t k = 0; k < hkt_n_figures; k++) {
        bool seen = hkt_plot_claim(verify, hkt_figures[k].claim) != NULL;
        for (size_t m = 0; m < k; m++)
            seen = seen || strcmp(hkt_figures[m].claim, hkt_figures[k].claim) == 0;
        if (!seen)
            HKT_TRY(write_claim(f, o, hkt_figures[k].claim, NULL, verify, &number));
    }
    return HKT_OK;
}

static void write_verdicts(FILE *f, const hkt_plot_options *o, const json_t *verify)
{
    fputs("<h2 id=\"claims\">Claims</h2>\n", f);
    if (!verify) {
        fputs("<p class=\"missing\">There are no verdicts yet. Make them with: <code>hkt-verify all --checkpoint FILE "
              "--json ",
              f);
        hkt_html_text(f, o->from);
        fputs("/verify.json</code></p>\n", f);
        return;
    }
    fputs("<p><strong>", f);
    hkt_plot_write_counts(f, verify);
    fputs("</strong> of ", f);
    for (size_t i = 0; i < json_array_size(json_object_get(verify, "subjects")); i++) {
        fputs(i ? ", <code>" : "<code>", f);
        hkt_html_text(f, json_string_value(json_array_get(json_object_get(verify, "subjects"), i)));
        fputs("</code>", f);
    }
    fputs(". VIOLATED: the statement is false under the condition of its row, which is a finding and no fault of the "
          "program. INCONCLUSIVE: the data do not decide it. SKIPPED: it does not apply, for the reason in its row. "
          "ERROR: it could not be computed.</p>\n",
          f);
    write_overview(f, o, verify);
}

/* --- the page --- */

static hkt_status write_page(FILE *f, const hkt_plot_options *o, const hkt_plot_runs *runs, const json_t *verify)
{
    hkt_html_head(f, "Hierarchical Kernel Transformer: report of one run");
    write_verdicts(f, o, verify);
    HKT_TRY(write_claims(f, o, verify));
    hkt_plot_write_results(f, runs);
    hkt_plot_write_settings(f, runs);
    HKT_TRY(hkt_plot_write_reproduce(f, o, runs, verify));
    hkt_html_foot(f);
    return HKT_OK;
}

static hkt_status read_verdicts(const hkt_plot_options *o, json_t **verify)
{
    char *path;
    HKT_TRY(hkt_path_join(&path, o->from_real, "verify.json"));
    hkt_status status = hkt_plot_claims_read(path, verify);
    hkt_free(path);
    return status;
}

hkt_status hkt_plot_report(const hkt_plot_options *o)
{
    hkt_plot_runs runs;
    hkt_out *out = NULL;
    json_t *verify = NULL;
    hkt_status status = hkt_plot_find_runs(o, &hkt_figures[0], &runs);
    if (status == HKT_OK)
        status = read_verdicts(o, &verify);
    if (status == HKT_OK)
        status = hkt_out_open(&out, o->out);
    if (status == HKT_OK)
        status = write_page(hkt_out_stream(out), o, &runs, verify);
    if (status == HKT_OK)
        status = hkt_out_commit(out);
    else
        hkt_out_abort(out);
    json_decref(verify);
    hkt_plot_free_runs(&runs);
    if (status == HKT_OK && strcmp(o->out, "-") != 0)
        printf("%s\n", o->out);
    return status;
}

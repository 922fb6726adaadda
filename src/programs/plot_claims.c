#include "programs/plot_claims.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "programs/plot_html.h"

static const char *const verdicts[] = {"HOLDS", "VIOLATED", "INCONCLUSIVE", "SKIPPED", "ERROR"};
enum { N_VERDICTS = sizeof verdicts / sizeof *verdicts, HOLDS = 0 };

const char *hkt_plot_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

hkt_status hkt_plot_claims_read(const char *path, json_t **out)
{
    *out = NULL;
    if (!hkt_file_exists(path))
        return HKT_OK;
    HKT_TRY(hkt_json_read(out, path));
    if (strcmp(hkt_plot_text(*out, "format"), "hkt-verify/1") == 0 &&
        json_array_size(json_object_get(*out, "claims")) > 0)
        return HKT_OK;
    json_decref(*out);
    *out = NULL;
    return hkt_fail(HKT_EINPUT, "%s: expected what hkt-verify --json writes (format hkt-verify/1 with claims)", path);
}

static const json_t *named(const json_t *array, const char *key, const char *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach(array, i, one) if (strcmp(hkt_plot_text(one, key), name) == 0) return one;
    return NULL;
}

const json_t *hkt_plot_claim(const json_t *verify, const char *id)
{
    return named(json_object_get(verify, "claims"), "id", id);
}

const char *hkt_plot_found(const json_t *verify, const char *claim, const char *check)
{
    const json_t *c = named(json_object_get(hkt_plot_claim(verify, claim), "checks"), "name", check);
    const json_t *first = json_array_get(json_object_get(c, "results"), 0);
    return strcmp(hkt_plot_text(first, "verdict"), "SKIPPED") == 0 ? "" : hkt_plot_text(first, "found");
}

/* --- counts */

typedef struct {
    size_t n[N_VERDICTS], checks, results;
} counts;

/* method: checks of the method alone; otherwise those about the claim alone. */
static void count_claim(counts *c, const json_t *claim, bool method)
{
    size_t i, k;
    const json_t *check, *result;
    json_array_foreach(json_object_get(claim, "checks"), i, check)
    {
        if (json_is_null(json_object_get(check, "finding")) != method)
            continue;
        c->checks++;
        json_array_foreach(json_object_get(check, "results"), k, result)
        {
            c->results++;
            for (size_t v = 0; v < N_VERDICTS; v++)
                c->n[v] += strcmp(hkt_plot_text(result, "verdict"), verdicts[v]) == 0;
        }
    }
}

static void write_counts(FILE *f, const counts *c, bool all)
{
    const char *separator = "";
    for (size_t v = 0; v < N_VERDICTS; v++)
        if (all || c->n[v] > 0) {
            fprintf(f, "%s%zu %s", separator, c->n[v], verdicts[v]);
            separator = ", ";
        }
}

void hkt_plot_write_counts(FILE *f, const json_t *verify)
{
    counts c = {.checks = 0};
    size_t i;
    const json_t *claim;
    json_array_foreach(json_object_get(verify, "claims"), i, claim)
    {
        count_claim(&c, claim, false);
        count_claim(&c, claim, true);
    }
    write_counts(f, &c, true);
}

/* --- headlines */

/* The groups of a headline (analysis/claims/report.h) by the words they begin with, and the class of the page. */
static const struct {
    const char *begins, *class;
} groups[] = {{"Holds: ", "HOLDS"},        {"Fails: ", "VIOLATED"},        {"Open: ", "INCONCLUSIVE"},
              {"Not computed: ", "ERROR"}, {"Not looked at: ", "SKIPPED"}, {"Do not trust this: ", "ERROR"}};

static size_t group_at(const char *p)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strncmp(p, groups[i].begins, strlen(groups[i].begins)) == 0)
            return i + 1;
    return 0;
}

static void write_headline(FILE *f, const char *text)
{
    const char *p = text;
    while (*p) {
        const size_t group = group_at(p), skip = group ? strlen(groups[group - 1].begins) : 0;
        const char *end = p + skip;
        while (*end && !(end[0] == '.' && end[1] == ' ' && group_at(end + 2)))
            end++;
        end += *end == '.';
        fputs("<p>", f);
        if (group)
            fprintf(f, "<strong class=\"%s\">%.*s</strong> ", groups[group - 1].class, (int)skip - 1, p);
        hkt_html_bytes(f, p + skip, (size_t)(end - p) - skip);
        fputs("</p>\n", f);
        p = end + strspn(end, " ");
    }
}

void hkt_plot_write_headlines(FILE *f, const json_t *claim)
{
    const json_t *all = json_object_get(claim, "headlines"), *one;
    size_t i;
    json_array_foreach(all, i, one)
    {
        if (json_array_size(all) > 1) {
            fputs("<p><code>", f);
            hkt_html_text(f, hkt_plot_text(one, "subject"));
            fputs("</code></p>\n", f);
        }
        write_headline(f, hkt_plot_text(one, "headline"));
    }
}

/* --- checks */

static const char *const columns[] = {"check",    "verdict", "what was found", "condition",
                                      "measured", "bound",   "margin",         "kind"};

static double real(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static void write_result(FILE *f, const json_t *claim, const json_t *check, const json_t *result, size_t index)
{
    char bound[80], number[48];
    const char *id = hkt_plot_text(claim, "id"), *name = hkt_plot_text(check, "name"),
               *subject = hkt_plot_text(result, "subject"), *relation = hkt_plot_text(result, "relation");
    const double limit = real(result, "bound");
    const bool several = json_array_size(json_object_get(check, "results")) > 1;
    if (index == 0)
        fprintf(f, "<tr id=\"check-%s-%s\">", id, name);
    else
        fputs("<tr>", f);
    fprintf(f, "<th scope=\"row\"><a href=\"#explain-%s-%s\">%s</a>", id, name, name);
    if (several) {
        fputs("<br><code>", f);
        hkt_html_text(f, subject);
        fputs("</code>", f);
    }
    fputs("</th>", f);
    hkt_html_cell(f, "verdict", hkt_plot_text(result, "verdict"));
    hkt_html_cell(f, "what was found", hkt_plot_text(result, "found"));
    hkt_html_cell(f, "condition", *hkt_plot_text(result, "condition") ? hkt_plot_text(result, "condition") : "-");
    hkt_html_number(f, "measured", -4, real(result, "measured"));
    snprintf(bound, sizeof bound, "%s %s", relation, hkt_html_number_text(-4, limit, number, sizeof number));
    hkt_html_cell(f, "bound", isnan(limit) ? "-" : bound);
    hkt_html_number(f, "margin", -4, real(result, "margin"));
    hkt_html_cell(f, "kind", hkt_plot_text(check, "kind"));
    fputs("</tr>\n", f);
}

static void write_table(FILE *f, const json_t *claim, bool method)
{
    size_t i, k;
    const json_t *check, *result;
    hkt_html_table_start(f, columns, sizeof columns / sizeof *columns);
    json_array_foreach(json_object_get(claim, "checks"), i, check)
    {
        if (json_is_null(json_object_get(check, "finding")) == method)
            json_array_foreach(json_object_get(check, "results"), k, result) write_result(f, claim, check, result, k);
    }
    hkt_html_table_end(f);
}

static void write_term(FILE *f, const char *term, const char *text)
{
    if (!*text)
        return;
    fprintf(f, "<dt>%s</dt><dd>", term);
    hkt_html_text(f, text);
    fputs("</dd>\n", f);
}

static void write_explanation(FILE *f, const json_t *claim, const json_t *check)
{
    const char *id = hkt_plot_text(claim, "id"), *name = hkt_plot_text(check, "name"),
               *finding = hkt_plot_text(check, "finding");
    const json_t *test = json_object_get(check, "test");
    fprintf(f, "<h4 id=\"explain-%s-%s\"><a href=\"#check-%s-%s\">%s</a> (%s)</h4>\n<dl>\n", id, name, id, name, name,
            hkt_plot_text(check, "kind"));
    write_term(f, "checks", hkt_plot_text(check, "statement"));
    write_term(f, "reference", hkt_plot_text(check, "reference"));
    write_term(f, "level", hkt_plot_text(test, "level"));
    write_term(f, "multiplicity", hkt_plot_text(test, "multiplicity"));
    if (json_is_number(json_object_get(test, "power"))) {
        fprintf(f, "<dt>power</dt><dd>%.3f against ", real(test, "power"));
        hkt_html_text(f, hkt_plot_text(test, "alternative"));
        fputs("</dd>\n", f);
    }
    write_term(f, "HOLDS establishes",
               *finding ? finding : "nothing about the claim: it is the method itself that is checked");
    write_term(f, "VIOLATED would mean", hkt_plot_text(check, "failure"));
    fputs("</dl>\n", f);
}

static void write_group(FILE *f, const json_t *claim, bool method)
{
    counts c = {.checks = 0};
    count_claim(&c, claim, method);
    if (c.checks == 0)
        return;
    fprintf(f, "<details>\n<summary>%zu check%s %s: ", c.checks, c.checks == 1 ? "" : "s",
            method ? "of the method itself" : "of the claim");
    if (method && c.n[HOLDS] == c.results)
        fputs(c.checks == 1 ? "it holds" : "all hold", f);
    else
        write_counts(f, &c, false);
    fputs("</summary>\n", f);
    write_table(f, claim, method);
    fputs("</details>\n", f);
}

void hkt_plot_write_checks(FILE *f, const json_t *claim)
{
    size_t i;
    const json_t *check;
    write_group(f, claim, false);
    write_group(f, claim, true);
    fputs("<details>\n<summary>How each check works</summary>\n<p>margin: the distance of what was measured to the "
          "bound, in its unit; at least 0 where the check holds (an equality: 0), below it or 0 where it does not. "
          "Proofs, sources and the derivation of the bounds: docs/theory.md.</p>\n",
          f);
    json_array_foreach(json_object_get(claim, "checks"), i, check) write_explanation(f, claim, check);
    fputs("</details>\n", f);
}

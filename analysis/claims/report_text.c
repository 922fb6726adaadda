/* report_text.c - the report for people; the list of claims and their explanation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/report.h"
#include "base/rng.h"
#include "base/terminal.h"

/* FULL: from this width on a check, its numbers and its verdict are one line. */
enum { WIDTH = 100, FULL = 95 };

typedef struct {
    int width, digits;
    bool colour;
} text_style;

static const char *const colours[HKT_N_VERDICTS] = {[HKT_HOLDS] = "\033[32m",
                                                    [HKT_VIOLATED] = "\033[31m",
                                                    [HKT_INCONCLUSIVE] = "\033[33m",
                                                    [HKT_SKIPPED] = "\033[2m",
                                                    [HKT_ERROR] = "\033[1;31m"};

static text_style style_of(FILE *f)
{
    text_style s = {WIDTH, 5, false};
    const int width = hkt_terminal_width(f);
    if (width == 0)
        return s;
    const char *no_colour = getenv("NO_COLOR");
    s.colour = !no_colour || !*no_colour;
    s.digits = 4;
    s.width = width;
    return s;
}

static void print_wrapped(FILE *f, int width, int indent, const char *text)
{
    hkt_terminal_wrap(f, width, 0, indent, text);
}

enum { MAX_COLUMNS = 16 };

/* Text of row i, column k, numbers with `digits`; `text` is room for a number. */
static const char *cell_text(const hkt_rows *rows, size_t i, size_t k, int digits, char text[32])
{
    if (k < rows->n_names)
        return rows->name[i * rows->n_names + k];
    double v = rows->cell[i * rows->n_cols + k - rows->n_names];
    snprintf(text, 32, "%.*g", digits, v);
    return isnan(v) ? "-" : text;
}

/* Columns as wide as their name or their widest cell; returns the width of the table. */
static int column_widths(const hkt_rows *rows, int digits, int width[MAX_COLUMNS])
{
    char text[32];
    const char *name = rows->columns;
    int sum = 4;
    for (size_t k = 0; k < rows->n_names + rows->n_cols; k++) {
        width[k] = (int)strcspn(name, "\t");
        name += width[k] + 1;
        for (size_t i = 0; i < rows->n_rows; i++) {
            int w = (int)strlen(cell_text(rows, i, k, digits, text));
            width[k] = w > width[k] ? w : width[k];
        }
        sum += 2 + width[k];
    }
    return sum;
}

/* Texts to the left, numbers to the right, with six digits or as many as there is room for. */
static void print_rows(const text_style *s, const hkt_rows *rows, FILE *f)
{
    int width[MAX_COLUMNS], digits = 6;
    char text[32];
    const char *name = rows->columns;
    size_t n = rows->n_names + rows->n_cols;
    HKT_ASSERT(n <= MAX_COLUMNS);
    if (n == 0)
        return;
    while (column_widths(rows, digits, width) > s->width && digits > 3)
        digits--;
    for (size_t k = 0; k < n; k++) {
        int length = (int)strcspn(name, "\t");
        fprintf(f, "%s%*.*s", k > 0 ? "  " : "      ", k < rows->n_names ? -width[k] : width[k], length, name);
        name += length + 1;
    }
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t k = 0; k < n; k++)
            fprintf(f, "%s%*s", k > 0 ? "  " : "\n      ", k < rows->n_names ? -width[k] : width[k],
                    cell_text(rows, i, k, digits, text));
    fputc('\n', f);
}

static void print_summary(const text_style *style, const hkt_report *r, const hkt_claim *claim, size_t subject, FILE *f)
{
    hkt_summary s = hkt_report_summary(r, claim, subject);
    for (size_t i = 0; i < s.n; i++) {
        char text[400];
        const hkt_finding *x = s.finding + i;
        int at = fprintf(f, "claim %-13s %-12s", claim->id, hkt_verdict_name(x->verdict));
        snprintf(text, sizeof text, *x->condition ? "%s [%s]" : "%s", x->finding, x->condition);
        hkt_terminal_wrap(f, style->width, at, style->width < FULL ? 8 : 38, text);
    }
    if (s.method > 0) {
        char text[120];
        snprintf(text, sizeof text, "%zu of %zu checks of the method itself hold%s", s.method - s.method_failed,
                 s.method, s.method_failed > 0 ? ": DO NOT TRUST the above" : "");
        hkt_terminal_wrap(f, style->width, fprintf(f, "claim %-13s %-12s", claim->id, "-"),
                          style->width < FULL ? 8 : 38, text);
    }
}

static bool same_summary(const hkt_report *r, const hkt_claim *claim, size_t i, size_t k)
{
    char first[HKT_HEADLINE], second[HKT_HEADLINE];
    if (strcmp(hkt_report_headline(r, claim, i, first), hkt_report_headline(r, claim, k, second)))
        return false;
    hkt_summary a = hkt_report_summary(r, claim, i), b = hkt_report_summary(r, claim, k);
    size_t same = 0;
    if (a.n != b.n || a.method != b.method || a.method_failed != b.method_failed)
        return false;
    while (same < a.n && a.finding[same].verdict == b.finding[same].verdict &&
           a.finding[same].finding == b.finding[same].finding &&
           !strcmp(a.finding[same].condition, b.finding[same].condition))
        same++;
    return same == a.n;
}

/* A check of the method itself that holds on every subject: the summary counts it. */
static bool is_collapsed(const hkt_report_entry *e)
{
    size_t holds = 0;
    while (holds < e->n_results && e->result[holds].verdict == HKT_HOLDS)
        holds++;
    return !e->check->finding && holds == e->n_results;
}

/* Number, relation, bound, margin and verdict from column `at` on, on a line of their own where there is no room. */
static void print_result(const text_style *s, const hkt_report_entry *e, size_t k, int at, bool rows, FILE *f)
{
    const hkt_check_result *c = e->result + k;
    const int wide = s->width < FULL ? 9 : 12;
    char measured[HKT_NUMBER], bound[HKT_NUMBER], margin[HKT_NUMBER], label[16] = "", found[HKT_SENTENCE];
    if (e->n_results > 1)
        snprintf(label, sizeof label, "[%zu]", k + 1);
    if (e->n_results > 1 || s->width < FULL)
        fprintf(f, "%s      %-*s", k > 0 ? "" : "\n", s->width < FULL ? 4 : at - 6, label);
    fprintf(f, " %*s %2s %*s %*s  %s%s%s\n", wide, hkt_check_number(c->measured, s->digits, measured),
            c->relation ? c->relation : "-", wide, hkt_check_number(c->bound, s->digits, bound), wide,
            hkt_check_number(c->margin, s->digits, margin), s->colour ? colours[c->verdict] : "",
            hkt_verdict_name(c->verdict), s->colour ? "\033[0m" : "");
    print_wrapped(f, s->width, 6, hkt_check_sentence(e->check, c, found));
    if (rows)
        print_rows(s, &c->rows, f);
}

static void print_entry(const text_style *s, const hkt_report_entry *e, bool rows, FILE *f)
{
    int at = fprintf(f, "  %-21s %-14s", e->check->name, hkt_kind_name(e->check->kind));
    for (size_t k = 0; k < e->n_results; k++)
        print_result(s, e, k, at, rows, f);
}

/* What is so of a subject, and of those after it of which the same is. */
static void print_findings(const text_style *s, const hkt_report *r, const hkt_claim *claim, size_t subject, FILE *f)
{
    char headline[HKT_HEADLINE];
    if (subject > 0 && same_summary(r, claim, subject - 1, subject))
        return;
    if (r->n_subjects > 1)
        fprintf(f, "  [%zu]", subject + 1);
    for (size_t m = subject + 1; m < r->n_subjects && same_summary(r, claim, m - 1, m); m++)
        fprintf(f, " [%zu]", m + 1);
    if (r->n_subjects > 1)
        fputc('\n', f);
    if (*hkt_report_headline(r, claim, subject, headline))
        print_wrapped(f, s->width, 2, headline);
    print_summary(s, r, claim, subject, f);
}

/* Statement, findings on each subject, and the checks with a row for each subject. */
static void print_claim(const text_style *s, const hkt_report *r, const hkt_claim *claim, bool rows, FILE *f)
{
    fprintf(f, "%s (%s)\n", claim->id, claim->place);
    print_wrapped(f, s->width, 2, claim->statement);
    for (size_t k = 0; k < r->n_subjects; k++)
        print_findings(s, r, claim, k, f);
    if (s->width >= FULL)
        fprintf(f, "  %-21s %-14s %12s %2s %12s %12s  %s\n", "check", "kind", "measured", "", "bound", "margin",
                "verdict");
    for (size_t i = 0; i < r->n; i++)
        if (r->entry[i].claim == claim && (rows || !is_collapsed(r->entry + i)))
            print_entry(s, r->entry + i, rows, f);
}

static bool is_first(const hkt_report *r, size_t i)
{
    return i == 0 || r->entry[i - 1].claim != r->entry[i].claim;
}

/* A line per claim: how many of its findings are established, refuted, open, not looked at, not computed. */
static void print_overview(const hkt_report *r, size_t subject, FILE *f)
{
    if (r->n_subjects > 1)
        fprintf(f, "[%zu]\n", subject + 1);
    fprintf(f, "%-14s %12s %8s %5s %8s %6s  %s\n", "findings of", "established", "refuted", "open", "skipped", "error",
            "checks of the method that hold");
    for (size_t i = 0; i < r->n; i++) {
        size_t count[HKT_N_VERDICTS] = {0};
        if (!is_first(r, i))
            continue;
        hkt_summary s = hkt_report_summary(r, r->entry[i].claim, subject);
        for (size_t k = 0; k < s.n; k++)
            count[s.finding[k].verdict]++;
        fprintf(f, "%-14s %12zu %8zu %5zu %8zu %6zu  ", r->entry[i].claim->id, count[HKT_HOLDS], count[HKT_VIOLATED],
                count[HKT_INCONCLUSIVE], count[HKT_SKIPPED], count[HKT_ERROR]);
        if (s.method > 0)
            fprintf(f, "%zu of %zu\n", s.method - s.method_failed, s.method);
        else
            fprintf(f, "-\n");
    }
}

static void print_totals(const text_style *style, const hkt_report *r, FILE *f)
{
    size_t count[HKT_N_VERDICTS] = {0};
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->entry[i].n_results; k++)
            count[r->entry[i].result[k].verdict]++;
    char text[160] = "verdicts:";
    for (int v = HKT_HOLDS; v < HKT_N_VERDICTS; v++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s %zu %s", v ? "," : "", count[v], hkt_verdict_name((hkt_verdict)v));
    }
    print_wrapped(f, style->width, 0, text);
}

void hkt_report_print(const hkt_report *r, bool rows, FILE *f)
{
    const text_style s = style_of(f);
    for (size_t k = 0; k < r->n_subjects; k++)
        fprintf(f, "[%zu] %s\n", k + 1, r->subject[k]);
    for (size_t i = 0; i < r->n; i++)
        if (is_first(r, i)) {
            fputc('\n', f);
            print_claim(&s, r, r->entry[i].claim, rows, f);
        }
    fputc('\n', f);
    for (size_t k = 0; k < r->n_subjects && r->entry[0].claim != r->entry[r->n - 1].claim; k++)
        print_overview(r, k, f);
    print_totals(&s, r, f);
}

void hkt_claims_print(hkt_claim_list list, FILE *f)
{
    const int width = style_of(f).width;
    for (size_t i = 0; i < list.n; i++) {
        const hkt_claim *c = list.claim[i];
        size_t count[HKT_KINDS] = {0};
        for (size_t k = 0; k < c->n_checks; k++)
            count[c->checks[k]->kind]++;
        fprintf(f, "%s (%s):", c->id, c->place);
        const char *separator = "";
        for (int kind = HKT_EXACT; kind <= HKT_EMPIRICAL; kind++)
            if (count[kind] > 0) {
                fprintf(f, "%s %zu %s", separator, count[kind], hkt_kind_name((hkt_kind)kind));
                separator = ",";
            }
        fputc('\n', f);
        print_wrapped(f, width, 4, c->statement);
    }
}

void hkt_claims_print_kinds(hkt_claim_list list, FILE *f)
{
    size_t all[HKT_KINDS] = {0}, total = 0;
    fprintf(f, "%-16s", "claim");
    for (int kind = 0; kind < HKT_KINDS; kind++)
        fprintf(f, "%15s", hkt_kind_name((hkt_kind)kind));
    fprintf(f, "%8s\n", "checks");
    for (size_t i = 0; i < list.n; i++) {
        const hkt_claim *c = list.claim[i];
        size_t count[HKT_KINDS] = {0};
        for (size_t k = 0; k < c->n_checks; k++)
            count[c->checks[k]->kind]++;
        fprintf(f, "%-16s", c->id);
        for (int kind = 0; kind < HKT_KINDS; kind++) {
            fprintf(f, "%15zu", count[kind]);
            all[kind] += count[kind];
        }
        fprintf(f, "%8zu\n", c->n_checks);
        total += c->n_checks;
    }
    fprintf(f, "%-16s", "all");
    for (int kind = 0; kind < HKT_KINDS; kind++)
        fprintf(f, "%15zu", all[kind]);
    fprintf(f, "%8zu\n", total);
}

static void print_field(FILE *f, int width, const char *name, const char *text)
{
    fprintf(f, "    %s\n", name);
    print_wrapped(f, width, 6, text);
}

static void print_test(FILE *f, int width, const hkt_check_test *test)
{
    const hkt_verify_context full = {.seed = HKT_DEFAULT_SEED}, quick = {.seed = HKT_DEFAULT_SEED, .quick = true};
    char text[400];
    if (!test)
        return;
    print_field(f, width, "level", test->level);
    print_field(f, width, "multiplicity", test->multiplicity);
    snprintf(text, sizeof text, "%.3f (with --quick %.3f) against %s", test->power(&full), test->power(&quick),
             test->alternative);
    print_field(f, width, "power", text);
}

void hkt_claim_explain(const hkt_claim *claim, FILE *f)
{
    const int width = style_of(f).width;
    fprintf(f, "%s (%s)\n", claim->id, claim->place);
    print_wrapped(f, width, 2, claim->statement);
    print_wrapped(f, width, 2,
                  "margin: the distance of what was measured to the bound, in its unit; at least 0 where the check "
                  "holds (an equality: 0), below it or 0 where it does not.");
    fputs("  Proofs, sources and the bounds' derivations: docs/theory.md.\n", f);
    for (size_t k = 0; k < claim->n_checks; k++) {
        const hkt_check *c = claim->checks[k];
        fprintf(f, "\n  %s (%s)\n", c->name, hkt_kind_name(c->kind));
        print_field(f, width, "checks", c->statement);
        print_field(f, width, "reference", c->reference);
        print_test(f, width, c->test);
        print_field(f, width, "HOLDS establishes",
                    c->finding ? c->finding : "nothing about the claim: it is the method itself that is checked");
        print_field(f, width, "VIOLATED would mean", c->failure);
    }
}

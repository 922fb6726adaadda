/* report_text.c - the report on a terminal of 100 columns; the list of claims and their explanation. */
#include <math.h>
#include <string.h>

#include "analysis/claims/report.h"
#include "base/rng.h"

enum { WIDTH = 100, PER_BLOCK = 3 };

/* `text` in lines of at most WIDTH columns, every line indented; the first one goes on at column `at`. */
static void print_wrapped_from(FILE *f, int at, int indent, const char *text)
{
    while (*text) {
        size_t word = strcspn(text, " ");
        if (at > 0 && at + 1 + (int)word > WIDTH) {
            fputc('\n', f);
            at = 0;
        }
        at += fprintf(f, "%*s%.*s", at > 0 ? 1 : indent, "", (int)word, text);
        text += word + strspn(text + word, " ");
    }
    fputc('\n', f);
}

static void print_wrapped(FILE *f, int indent, const char *text)
{
    print_wrapped_from(f, 0, indent, text);
}

static void print_number(FILE *f, int width, double v)
{
    if (isnan(v))
        fprintf(f, " %*s", width, "-");
    else
        fprintf(f, " %*.5g", width, v);
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
static void print_rows(const hkt_rows *rows, FILE *f)
{
    int width[MAX_COLUMNS], digits = 6;
    char text[32];
    const char *name = rows->columns;
    size_t n = rows->n_names + rows->n_cols;
    HKT_ASSERT(n <= MAX_COLUMNS);
    if (n == 0)
        return;
    while (column_widths(rows, digits, width) > WIDTH && digits > 3)
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

/* The detail of a result that needs one: anything but a plain HOLDS, or everything when asked for. */
static void print_detail(const hkt_check_result *result, bool rows, FILE *f)
{
    if (rows || result->verdict != HKT_HOLDS)
        print_wrapped(f, 6, result->detail);
    if (rows)
        print_rows(&result->rows, f);
}

static void print_summary(const hkt_report *r, const hkt_claim *claim, size_t subject, FILE *f)
{
    hkt_summary s = hkt_report_summary(r, claim, subject);
    for (size_t i = 0; i < s.n; i++) {
        char text[400];
        const hkt_finding *x = s.finding + i;
        int at = fprintf(f, "claim %-13s %-12s", claim->id, hkt_verdict_name(x->verdict));
        snprintf(text, sizeof text, *x->condition ? "%s [%s]" : "%s", x->finding, x->condition);
        print_wrapped_from(f, at, 38, text);
    }
    if (s.method > 0)
        fprintf(f, "claim %-13s %-12s %zu of %zu checks of the method itself hold%s\n", claim->id, "-",
                s.method - s.method_failed, s.method, s.method_failed > 0 ? ": DO NOT TRUST the lines above" : "");
}

static bool same_summary(const hkt_report *r, const hkt_claim *claim, size_t i, size_t k)
{
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

static void print_entry(const hkt_report_entry *e, bool rows, FILE *f)
{
    const hkt_check_result *result = hkt_report_result(e, 0);
    fprintf(f, "  %-21s %-11s", e->check->name, hkt_kind_name(e->check->kind));
    print_number(f, 12, result->measured);
    print_number(f, 12, result->bound);
    print_number(f, 12, result->margin);
    fprintf(f, "  %s\n", hkt_verdict_name(result->verdict));
    print_detail(result, rows, f);
}

/* One claim on one subject. */
static void print_claim(const hkt_report *r, const hkt_claim *claim, bool rows, FILE *f)
{
    fprintf(f, "%s (%s)\n", claim->id, claim->place);
    print_wrapped(f, 2, claim->statement);
    fprintf(f, "  %-21s %-11s %12s %12s %12s  %s\n", "check", "kind", "measured", "bound", "margin", "verdict");
    for (size_t i = 0; i < r->n; i++)
        if (r->entry[i].claim == claim)
            print_entry(r->entry + i, rows, f);
    print_summary(r, claim, 0, f);
}

/* One claim on subjects first .. last - 1, a column each. */
static void print_claim_columns(const hkt_report *r, const hkt_claim *claim, size_t first, size_t last, bool rows,
                                FILE *f)
{
    fprintf(f, "%s (%s)\n", claim->id, claim->place);
    print_wrapped(f, 2, claim->statement);
    fprintf(f, "  %-21s", "check");
    for (size_t k = first; k < last; k++)
        fprintf(f, "  [%zu]%*s", k + 1, k + 1 < 10 ? 20 : 19, "");
    fputc('\n', f);
    for (size_t i = 0; i < r->n; i++) {
        if (r->entry[i].claim != claim)
            continue;
        fprintf(f, "  %-21s", r->entry[i].check->name);
        for (size_t k = first; k < last; k++) {
            const hkt_check_result *result = hkt_report_result(r->entry + i, k);
            fprintf(f, "  %-12s", hkt_verdict_name(result->verdict));
            print_number(f, 10, result->measured);
        }
        fputc('\n', f);
        for (size_t k = first; k < last && rows; k++)
            print_detail(hkt_report_result(r->entry + i, k), rows, f);
    }
    for (size_t k = first; k < last; k++) {
        if (k > first && same_summary(r, claim, k - 1, k))
            continue;
        fprintf(f, "  [%zu]", k + 1);
        for (size_t m = k + 1; m < last && same_summary(r, claim, m - 1, m); m++)
            fprintf(f, " [%zu]", m + 1);
        fputc('\n', f);
        print_summary(r, claim, k, f);
    }
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

static void print_totals(const hkt_report *r, FILE *f)
{
    size_t count[HKT_N_VERDICTS] = {0};
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->entry[i].n_results; k++)
            count[r->entry[i].result[k].verdict]++;
    fputs("verdicts:", f);
    for (int v = HKT_HOLDS; v < HKT_N_VERDICTS; v++)
        fprintf(f, "%s %zu %s", v ? "," : "", count[v], hkt_verdict_name((hkt_verdict)v));
    fputc('\n', f);
}

void hkt_report_print(const hkt_report *r, bool rows, FILE *f)
{
    for (size_t k = 0; k < r->n_subjects; k++)
        fprintf(f, "[%zu] %s\n", k + 1, r->subject[k]);
    for (size_t first = 0; first < r->n_subjects; first += PER_BLOCK)
        for (size_t i = 0; i < r->n; i++) {
            const hkt_claim *claim = r->entry[i].claim;
            if (!is_first(r, i))
                continue;
            fputc('\n', f);
            if (r->n_subjects == 1)
                print_claim(r, claim, rows, f);
            else
                print_claim_columns(r, claim, first,
                                    first + PER_BLOCK < r->n_subjects ? first + PER_BLOCK : r->n_subjects, rows, f);
        }
    fputc('\n', f);
    for (size_t k = 0; k < r->n_subjects && r->entry[0].claim != r->entry[r->n - 1].claim; k++)
        print_overview(r, k, f);
    print_totals(r, f);
}

void hkt_claims_print(hkt_claim_list list, FILE *f)
{
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
        print_wrapped(f, 4, c->statement);
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

static void print_field(FILE *f, const char *name, const char *text)
{
    fprintf(f, "    %s\n", name);
    print_wrapped(f, 6, text);
}

static void print_test(FILE *f, const hkt_check_test *test)
{
    const hkt_verify_context full = {.seed = HKT_DEFAULT_SEED}, quick = {.seed = HKT_DEFAULT_SEED, .quick = true};
    char text[400];
    if (!test)
        return;
    print_field(f, "level", test->level);
    print_field(f, "multiplicity", test->multiplicity);
    snprintf(text, sizeof text, "%.3f (with --quick %.3f) against %s", test->power(&full), test->power(&quick),
             test->alternative);
    print_field(f, "power", text);
}

void hkt_claim_explain(const hkt_claim *claim, FILE *f)
{
    fprintf(f, "%s (%s)\n", claim->id, claim->place);
    print_wrapped(f, 2, claim->statement);
    fputs("  Proofs, sources and the bounds' derivations: docs/theory.md.\n", f);
    for (size_t k = 0; k < claim->n_checks; k++) {
        const hkt_check *c = claim->checks[k];
        fprintf(f, "\n  %s (%s)\n", c->name, hkt_kind_name(c->kind));
        print_field(f, "checks", c->statement);
        print_field(f, "reference", c->reference);
        print_test(f, c->test);
        print_field(f, "HOLDS establishes",
                    c->finding ? c->finding : "nothing about the claim: it is the method itself that is checked");
        print_field(f, "VIOLATED would mean", c->failure);
    }
}

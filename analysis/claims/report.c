/* report.c - running a selection of checks, what they come to, and the comparison with expected verdicts. */
#include <math.h>
#include <string.h>

#include "analysis/claims/report.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/progress.h"
#include "base/tsv.h"
#include "num/blas.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static size_t count_checks(hkt_claim_list list, const char *only)
{
    size_t count = 0;
    for (size_t i = 0; i < list.n; i++)
        for (size_t k = 0; k < list.claim[i]->n_checks; k++)
            count += !only || !strcmp(list.claim[i]->checks[k]->name, only);
    return count;
}

static hkt_status unknown_check(hkt_claim_list list, const char *only)
{
    const char **names = NULL, *nearest;
    size_t at = 0;
    HKT_TRY(hkt_alloc((void **)&names, count_checks(list, NULL) + 1, sizeof *names, "check names"));
    for (size_t i = 0; i < list.n; i++)
        for (size_t k = 0; k < list.claim[i]->n_checks; k++)
            names[at++] = list.claim[i]->checks[k]->name;
    nearest = hkt_nearest(only, names);
    hkt_free(names);
    return nearest ? hkt_fail(HKT_EUSAGE, "unknown check '%s' (did you mean '%s'?)", only, nearest)
                   : hkt_fail(HKT_EUSAGE, "unknown check '%s' ('hkt-verify explain CLAIM' lists them)", only);
}

/* Verdicts of all checks, each on what it looks at: first .. first + n_results - 1 are those of an entry. */
typedef struct {
    hkt_report *report;
    size_t done, total;
    double start;
    size_t failed; /* the first verdict that the machine did not allow; `total`: none */
    hkt_status status;
    char message[500];
} verdicts;

/* What is left is a guess: checks take from nothing to minutes. */
static void show(verdicts *v, const hkt_report_entry *e, const char *subject)
{
    char time[32];
#pragma omp critical(hkt_verdicts)
    {
        hkt_progress_within("check %zu of %zu, %s %s", v->done + 1, v->total, e->claim->id, e->check->name);
        hkt_time_text(time, sizeof time,
                      (hkt_now() - v->start) * (double)(v->total - v->done) / (double)(v->done > 0 ? v->done : 1));
        hkt_progress(true, "%s%s%s%s", v->done > 0 ? "about " : "", v->done > 0 ? time : "",
                     v->done > 0 ? " left; " : "", subject);
        v->done++;
    }
}

static hkt_status judge(const hkt_report *r, hkt_report_entry *e, size_t i)
{
    hkt_check_result *out = e->result + i;
    hkt_status status = e->check->run(r->context + i, out, false);
    if (status == HKT_ESYSTEM) /* it is about the machine, not about the check */
        return hkt_fail_context(status, "check '%s' of '%s'", e->check->name, e->claim->id);
    if (status != HKT_OK)
        hkt_check_error(out, hkt_error());
    else if (out->verdict == HKT_VIOLATED && (isnan(out->measured) || isnan(out->bound)))
        hkt_check_error(out, "what was computed is not a number"); /* it refutes nothing */
    hkt_check_power(out, e->check->test, r->context + i);
    return HKT_OK;
}

/* Verdict `at`; after a failure nothing that comes later. */
static void judge_at(verdicts *v, size_t at)
{
    hkt_report_entry *e = v->report->entry;
    size_t i = at, failed;
    for (; i >= e->n_results; e++)
        i -= e->n_results;
#pragma omp atomic read
    failed = v->failed;
    if (at > failed)
        return;
    show(v, e, v->report->subject[i]);
    hkt_status status = judge(v->report, e, i);
    if (status == HKT_OK)
        return;
#pragma omp critical(hkt_verdicts)
    if (at < v->failed) { /* the message is the thread's */
        snprintf(v->message, sizeof v->message, "%s", hkt_error());
        v->status = status;
#pragma omp atomic write
        v->failed = at;
    }
}

/* Checks side by side: most of them are loops of one thread. What reads the clock is alone. */
static hkt_status judge_all(hkt_report *r)
{
    verdicts v = {.report = r, .start = hkt_now()};
    bool alone = false;
    for (size_t i = 0; i < r->n; i++)
        v.total += r->entry[i].n_results;
    for (size_t i = 0; i < r->n_subjects; i++)
        alone |= r->context[i].measure;
    v.failed = v.total;
    const size_t n = v.total;
#pragma omp parallel for schedule(dynamic) num_threads((int)hkt_threads()) if (!alone && n > 1)
    for (size_t at = 0; at < n; at++)
        judge_at(&v, at);
    hkt_progress_within("%s", "");
    hkt_progress_clear();
    return v.status == HKT_OK ? HKT_OK : hkt_fail(v.status, "%s", v.message);
}

hkt_status hkt_report_run(hkt_report *out, hkt_claim_list claims, const char *only, const hkt_verify_context *contexts,
                          const char *const *subjects, size_t n_subjects)
{
    *out = (hkt_report){.context = contexts, .subject = subjects, .n_subjects = n_subjects};
    size_t n = count_checks(claims, only);
    if (n == 0)
        return unknown_check(claims, only);
    HKT_TRY(HKT_NEW(&out->entry, n));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < claims.n; i++)
        for (size_t k = 0; k < claims.claim[i]->n_checks && status == HKT_OK; k++) {
            const hkt_check *check = claims.claim[i]->checks[k];
            if (only && strcmp(check->name, only))
                continue;
            hkt_report_entry *e = out->entry + out->n++;
            *e = (hkt_report_entry){claims.claim[i], check, NULL, check->of_model ? n_subjects : 1};
            status = HKT_NEW(&e->result, e->n_results);
        }
    if (status == HKT_OK)
        status = judge_all(out);
    if (status != HKT_OK)
        hkt_report_free(out);
    return status;
}

void hkt_report_free(hkt_report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        for (size_t k = 0; r->entry[i].result && k < r->entry[i].n_results; k++)
            hkt_check_result_free(r->entry[i].result + k);
        hkt_free(r->entry[i].result);
    }
    hkt_free(r->entry);
    *r = (hkt_report){0};
}

hkt_status hkt_report_errors(const hkt_report *r)
{
    const hkt_report_entry *first = NULL;
    const char *reason = "", *subject = "";
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->entry[i].n_results; k++) {
            if (r->entry[i].result[k].verdict != HKT_ERROR || n++ > 0)
                continue;
            first = r->entry + i;
            reason = first->result[k].detail;
            subject = r->subject[k];
        }
    return n == 0 ? HKT_OK
                  : hkt_fail(HKT_ENUMERIC, "%zu verdicts are ERROR; the first, '%s' of '%s' (%s): %s", n,
                             first->check->name, first->claim->id, subject, reason);
}

const char *hkt_report_subject(const hkt_report *r, const hkt_report_entry *e, size_t subject)
{
    if (e->check->of_model)
        return r->subject[subject];
    return e->claim->of_table ? r->context[0].results : NULL;
}

const hkt_check_result *hkt_report_result(const hkt_report_entry *e, size_t subject)
{
    return e->result + (e->n_results == 1 ? 0 : subject);
}

/* VIOLATED outweighs ERROR outweighs INCONCLUSIVE outweighs HOLDS: what one check refutes, another need not compute. */
static hkt_verdict worse(hkt_verdict a, hkt_verdict b)
{
    static const int weight[HKT_N_VERDICTS] = {
        [HKT_SKIPPED] = 0, [HKT_HOLDS] = 1, [HKT_INCONCLUSIVE] = 2, [HKT_ERROR] = 3, [HKT_VIOLATED] = 4};
    return weight[a] >= weight[b] ? a : b;
}

static void add_finding(hkt_summary *s, const char *finding, const hkt_check_result *result)
{
    const char *condition = result->verdict == HKT_SKIPPED ? "" : result->condition;
    size_t at = 0;
    while (at < s->n && (strcmp(s->finding[at].finding, finding) || strcmp(s->finding[at].condition, condition)))
        at++;
    if (at == s->n) {
        HKT_ASSERT(s->n < HKT_MAX_FINDINGS);
        s->finding[s->n++] = (hkt_finding){finding, condition, result->verdict, 0};
    }
    s->finding[at].verdict = worse(s->finding[at].verdict, result->verdict);
    s->finding[at].checks += result->verdict != HKT_SKIPPED && result->verdict != HKT_ERROR;
}

hkt_summary hkt_report_summary(const hkt_report *r, const hkt_claim *claim, size_t subject)
{
    hkt_summary s = {.n = 0};
    for (size_t i = 0; i < r->n; i++) {
        const hkt_check_result *result = hkt_report_result(r->entry + i, subject);
        const char *finding = r->entry[i].check->finding;
        if (r->entry[i].claim != claim)
            continue;
        if (finding) {
            add_finding(&s, finding, result);
            continue;
        }
        s.method += result->verdict != HKT_SKIPPED;
        s.method_failed += result->verdict != HKT_SKIPPED && result->verdict != HKT_HOLDS;
    }
    return s;
}

static const hkt_report_entry *find_entry(const hkt_report *r, const hkt_check *check)
{
    size_t i = 0;
    while (i < r->n && r->entry[i].check != check)
        i++;
    return i < r->n ? r->entry + i : NULL;
}

/* Clause of a part of the headline if its verdict is `verdict`; NULL: it says nothing of it. room [HKT_SENTENCE]. */
static const char *headline_clause(const hkt_headline *part, const hkt_check_result *result, hkt_verdict verdict,
                                   char *room)
{
    if (result->verdict != verdict)
        return NULL;
    if (verdict == HKT_ERROR) {
        snprintf(room, HKT_SENTENCE, "%s (%s)", part->check->name, result->detail);
        return room;
    }
    const char *clause = verdict == HKT_HOLDS ? part->holds : verdict == HKT_VIOLATED ? part->violated : part->open;
    return clause && !*clause ? hkt_check_clause(part->check, result, room) : clause;
}

/* Appends "Holds: A; B. " to text [HKT_HEADLINE]. */
static void add_clauses(const hkt_report *r, const hkt_claim *claim, size_t subject, hkt_verdict verdict, char *text)
{
    static const char *const says[HKT_N_VERDICTS] = {[HKT_HOLDS] = "Holds: ",
                                                     [HKT_VIOLATED] = "Fails: ",
                                                     [HKT_INCONCLUSIVE] = "Open: ",
                                                     [HKT_ERROR] = "Not computed: "};
    char room[HKT_SENTENCE];
    size_t n = 0;
    for (size_t i = 0; i < claim->n_headline; i++) {
        const hkt_report_entry *e = find_entry(r, claim->headline[i].check);
        const char *clause =
            e ? headline_clause(claim->headline + i, hkt_report_result(e, subject), verdict, room) : NULL;
        size_t at = strlen(text);
        if (clause)
            snprintf(text + at, HKT_HEADLINE - at, "%s%s%s", !n && at ? " " : "", n ? "; " : says[verdict], clause);
        n += clause != NULL;
    }
    size_t at = strlen(text);
    if (n > 0)
        snprintf(text + at, HKT_HEADLINE - at, ".");
}

/* Why nothing was looked at: the reason of the first part that was to be. */
static void add_reason(const hkt_report *r, const hkt_claim *claim, size_t subject, char *text)
{
    for (size_t i = 0; i < claim->n_headline && !*text; i++) {
        const hkt_report_entry *e = find_entry(r, claim->headline[i].check);
        if (e && hkt_report_result(e, subject)->verdict == HKT_SKIPPED)
            snprintf(text, HKT_HEADLINE, "Not looked at: %s.", hkt_report_result(e, subject)->detail);
    }
}

const char *hkt_report_headline(const hkt_report *r, const hkt_claim *claim, size_t subject, char *text)
{
    static const hkt_verdict order[] = {HKT_HOLDS, HKT_VIOLATED, HKT_INCONCLUSIVE, HKT_ERROR};
    *text = 0;
    for (size_t i = 0; i < COUNT(order); i++)
        add_clauses(r, claim, subject, order[i], text);
    add_reason(r, claim, subject, text);
    const hkt_summary s = hkt_report_summary(r, claim, subject);
    const size_t at = strlen(text);
    if (s.method_failed > 0)
        snprintf(text + at, HKT_HEADLINE - at, "%sDo not trust this: %zu of %zu checks of the method itself fail.",
                 at ? " " : "", s.method_failed, s.method);
    return text;
}

typedef struct {
    hkt_table table;
    size_t claim, check, random, checkpoint, one_level; /* columns */
} expectations;

static const char *cell(const expectations *e, size_t row, size_t column)
{
    return e->table.cell[row * e->table.cols + column];
}

static hkt_status read_expectations(hkt_claim_list all, const char *path, expectations *out)
{
    HKT_TRY(hkt_table_read(&out->table, path));
    hkt_status status;
    const struct {
        const char *name;
        size_t *column;
    } wanted[] = {{"claim", &out->claim},
                  {"check", &out->check},
                  {"random", &out->random},
                  {"checkpoint", &out->checkpoint},
                  {"one_level", &out->one_level}};
    for (size_t i = 0; i < COUNT(wanted); i++)
        if ((status = hkt_table_column(&out->table, wanted[i].name, wanted[i].column)) != HKT_OK) {
            hkt_fail_context(status, "%s", path);
            goto failed;
        }
    for (size_t i = 0; i < out->table.rows; i++) {
        const hkt_claim *claim = hkt_claim_find(all, cell(out, i, out->claim));
        if (!claim || !hkt_claim_check(claim, cell(out, i, out->check))) {
            status = hkt_fail(HKT_EINPUT, "%s: row %zu: no check '%s' of a claim '%s'", path, i + 1,
                              cell(out, i, out->check), cell(out, i, out->claim));
            goto failed;
        }
    }
    return HKT_OK;
failed:
    hkt_table_free(&out->table);
    return status;
}

hkt_status hkt_report_check_expected(hkt_claim_list all, const char *path)
{
    expectations e;
    HKT_TRY(read_expectations(all, path, &e));
    hkt_table_free(&e.table);
    return HKT_OK;
}

/* The expected verdict, or NULL when the table has none. */
static const char *expected(const expectations *e, const hkt_report_entry *entry, const hkt_checkpoint *model)
{
    size_t column = !model ? e->random : model->layout->config.levels == 1 ? e->one_level : e->checkpoint;
    for (size_t i = 0; i < e->table.rows; i++)
        if (!strcmp(cell(e, i, e->claim), entry->claim->id) && !strcmp(cell(e, i, e->check), entry->check->name))
            return cell(e, i, column);
    return NULL;
}

hkt_status hkt_report_compare(const hkt_report *r, hkt_claim_list all, const char *path, FILE *f, size_t *differences)
{
    expectations e;
    *differences = 0;
    HKT_TRY(read_expectations(all, path, &e));
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->entry[i].n_results; k++) {
            const hkt_report_entry *entry = r->entry + i;
            const char *found = hkt_verdict_name(entry->result[k].verdict);
            const char *want = expected(&e, entry, r->context[k].model);
            if (want && !strcmp(want, found))
                continue;
            ++*differences;
            fprintf(f, "%s %s (%s): expected %s, found %s\n", entry->claim->id, entry->check->name, r->subject[k],
                    want ? want : "no such check", found);
        }
    hkt_table_free(&e.table);
    return HKT_OK;
}

/* --- files --- */

hkt_status hkt_report_write_tsv(const hkt_report *r, const char *path, const hkt_provenance *how)
{
    hkt_tsv *t;
    HKT_TRY(hkt_tsv_open(&t, path, how,
                         "claim\tcheck\tkind\tsubject\tmeasured\trelation\tbound\tmargin\tverdict\tcondition\tdetail\t"
                         "found"));
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->entry[i].n_results; k++) {
            const hkt_report_entry *e = r->entry + i;
            const hkt_check_result *c = e->result + k;
            char found[HKT_SENTENCE];
            hkt_tsv_str(t, e->claim->id);
            hkt_tsv_str(t, e->check->name);
            hkt_tsv_str(t, hkt_kind_name(e->check->kind));
            hkt_tsv_str(t, hkt_report_subject(r, e, k));
            hkt_tsv_real(t, c->measured);
            hkt_tsv_str(t, c->relation);
            hkt_tsv_real(t, c->bound);
            hkt_tsv_real(t, c->margin);
            hkt_tsv_str(t, hkt_verdict_name(c->verdict));
            hkt_tsv_str(t, c->condition);
            hkt_tsv_str(t, c->detail);
            hkt_tsv_str(t, hkt_check_sentence(e->check, c, found));
            hkt_tsv_end(t);
        }
    return hkt_tsv_commit(t);
}

/* What could not be stored for lack of memory is remembered in *lost: jansson passes NULL on from call to call. */
static void put(json_t *object, const char *key, json_t *value, bool *lost)
{
    *lost = json_object_set_new(object, key, value) != 0 || *lost;
}

static void append(json_t *array, json_t *value, bool *lost)
{
    *lost = json_array_append_new(array, value) != 0 || *lost;
}

static json_t *rows_json(const hkt_rows *rows, bool *lost)
{
    json_t *columns = json_array(), *cells = json_array();
    const char *start = rows->columns;
    for (size_t k = 0; k < rows->n_names + rows->n_cols; k++) {
        size_t length = 0;
        while (start[length] && start[length] != '\t')
            length++;
        append(columns, json_stringn(start, length), lost);
        start += length + 1;
    }
    for (size_t i = 0; i < rows->n_rows; i++) {
        json_t *row = json_array();
        for (size_t k = 0; k < rows->n_names; k++)
            append(row, json_string(rows->name[i * rows->n_names + k]), lost);
        for (size_t k = 0; k < rows->n_cols; k++)
            append(row, hkt_json_real(rows->cell[i * rows->n_cols + k]), lost);
        append(cells, row, lost);
    }
    json_t *out = json_object();
    put(out, "columns", columns, lost);
    put(out, "rows", cells, lost);
    return out;
}

static json_t *result_json(const hkt_check *check, const hkt_check_result *c, const char *subject, bool *lost)
{
    char found[HKT_SENTENCE];
    json_t *out = json_object();
    put(out, "subject", subject ? json_string(subject) : json_null(), lost);
    put(out, "verdict", json_string(hkt_verdict_name(c->verdict)), lost);
    put(out, "measured", hkt_json_real(c->measured), lost);
    put(out, "relation", c->relation ? json_string(c->relation) : json_null(), lost);
    put(out, "bound", hkt_json_real(c->bound), lost);
    put(out, "margin", hkt_json_real(c->margin), lost);
    put(out, "condition", json_string(c->condition), lost);
    put(out, "detail", json_string(c->detail), lost);
    put(out, "found", json_string(hkt_check_sentence(check, c, found)), lost);
    if (c->rows.n_rows > 0)
        put(out, "table", rows_json(&c->rows, lost), lost);
    return out;
}

static json_t *test_json(const hkt_check_test *test, const hkt_verify_context *ctx, bool *lost)
{
    json_t *out = json_object();
    put(out, "level", json_string(test->level), lost);
    put(out, "multiplicity", json_string(test->multiplicity), lost);
    put(out, "power", hkt_json_real(test->power(ctx)), lost);
    put(out, "alternative", json_string(test->alternative), lost);
    return out;
}

static json_t *check_json(const hkt_report *r, const hkt_report_entry *e, bool *lost)
{
    json_t *out = json_object(), *results = json_array();
    put(out, "name", json_string(e->check->name), lost);
    put(out, "kind", json_string(hkt_kind_name(e->check->kind)), lost);
    put(out, "unit", e->check->unit ? json_string(e->check->unit) : json_null(), lost);
    put(out, "statement", json_string(e->check->statement), lost);
    put(out, "finding", e->check->finding ? json_string(e->check->finding) : json_null(), lost);
    put(out, "reference", json_string(e->check->reference), lost);
    put(out, "failure", json_string(e->check->failure), lost);
    put(out, "test", e->check->test ? test_json(e->check->test, r->context, lost) : json_null(), lost);
    for (size_t k = 0; k < e->n_results; k++)
        append(results, result_json(e->check, e->result + k, hkt_report_subject(r, e, k), lost), lost);
    put(out, "results", results, lost);
    return out;
}

static json_t *verdicts_json(const hkt_report *r, const hkt_claim *claim, bool *lost)
{
    json_t *out = json_array();
    for (size_t k = 0; k < r->n_subjects; k++) {
        hkt_summary s = hkt_report_summary(r, claim, k);
        for (size_t i = 0; i < s.n; i++) {
            json_t *one = json_object();
            put(one, "subject", json_string(r->subject[k]), lost);
            put(one, "verdict", json_string(hkt_verdict_name(s.finding[i].verdict)), lost);
            put(one, "finding", json_string(s.finding[i].finding), lost);
            put(one, "condition", json_string(s.finding[i].condition), lost);
            append(out, one, lost);
        }
    }
    return out;
}

static json_t *headlines_json(const hkt_report *r, const hkt_claim *claim, bool *lost)
{
    json_t *out = json_array();
    char text[HKT_HEADLINE];
    for (size_t k = 0; k < r->n_subjects; k++) {
        json_t *one = json_object();
        put(one, "subject", claim->of_table ? json_null() : json_string(r->subject[k]), lost);
        put(one, "headline", json_string(hkt_report_headline(r, claim, k, text)), lost);
        append(out, one, lost);
        if (claim->of_table)
            break;
    }
    return out;
}

static json_t *claim_json(const hkt_report *r, size_t first, bool *lost)
{
    const hkt_claim *claim = r->entry[first].claim;
    json_t *out = json_object(), *checks = json_array();
    put(out, "id", json_string(claim->id), lost);
    put(out, "place", json_string(claim->place), lost);
    put(out, "statement", json_string(claim->statement), lost);
    put(out, "headlines", headlines_json(r, claim, lost), lost);
    put(out, "verdicts", verdicts_json(r, claim, lost), lost);
    for (size_t i = first; i < r->n && r->entry[i].claim == claim; i++)
        append(checks, check_json(r, r->entry + i, lost), lost);
    put(out, "checks", checks, lost);
    return out;
}

hkt_status hkt_report_write_json(const hkt_report *r, const char *path, const hkt_provenance *how)
{
    bool lost = false;
    json_t *out = json_object(), *subjects = json_array(), *claims = json_array();
    for (size_t k = 0; k < r->n_subjects; k++)
        append(subjects, json_string(r->subject[k]), &lost);
    for (size_t i = 0; i < r->n; i++)
        if (i == 0 || r->entry[i - 1].claim != r->entry[i].claim)
            append(claims, claim_json(r, i, &lost), &lost);
    put(out, "format", json_string("hkt-verify/1"), &lost);
    put(out, "provenance", hkt_provenance_json(how), &lost);
    put(out, "subjects", subjects, &lost);
    put(out, "claims", claims, &lost);
    hkt_status status = lost ? hkt_fail(HKT_ESYSTEM, "%s: out of memory", path) : hkt_json_write(out, path);
    json_decref(out);
    return status;
}

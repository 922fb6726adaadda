/* report_file.c - the report as TSV and as JSON. */
#include "analysis/claims/report.h"
#include "base/json.h"
#include "base/tsv.h"

hkt_status hkt_report_write_tsv(const hkt_report *r, const char *path, const hkt_provenance *how)
{
    hkt_tsv *t;
    HKT_TRY(hkt_tsv_open(&t, path, how,
                         "claim\tcheck\tkind\tsubject\tmeasured\tbound\tmargin\tverdict\tcondition\tdetail"));
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->entry[i].n_results; k++) {
            const hkt_report_entry *e = r->entry + i;
            const hkt_check_result *c = e->result + k;
            hkt_tsv_str(t, e->claim->id);
            hkt_tsv_str(t, e->check->name);
            hkt_tsv_str(t, hkt_kind_name(e->check->kind));
            hkt_tsv_str(t, e->check->of_model ? r->subject[k] : "-");
            hkt_tsv_real(t, c->measured);
            hkt_tsv_real(t, c->bound);
            hkt_tsv_real(t, c->margin);
            hkt_tsv_str(t, hkt_verdict_name(c->verdict));
            hkt_tsv_str(t, *c->condition ? c->condition : "-");
            hkt_tsv_str(t, *c->detail ? c->detail : "-");
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

static json_t *result_json(const hkt_check_result *c, const char *subject, bool *lost)
{
    json_t *out = json_object();
    put(out, "subject", subject ? json_string(subject) : json_null(), lost);
    put(out, "verdict", json_string(hkt_verdict_name(c->verdict)), lost);
    put(out, "measured", hkt_json_real(c->measured), lost);
    put(out, "bound", hkt_json_real(c->bound), lost);
    put(out, "margin", hkt_json_real(c->margin), lost);
    put(out, "condition", json_string(c->condition), lost);
    put(out, "detail", json_string(c->detail), lost);
    if (c->rows.n_rows > 0)
        put(out, "table", rows_json(&c->rows, lost), lost);
    return out;
}

static json_t *check_json(const hkt_report *r, const hkt_report_entry *e, bool *lost)
{
    json_t *out = json_object(), *results = json_array();
    put(out, "name", json_string(e->check->name), lost);
    put(out, "kind", json_string(hkt_kind_name(e->check->kind)), lost);
    put(out, "statement", json_string(e->check->statement), lost);
    put(out, "finding", e->check->finding ? json_string(e->check->finding) : json_null(), lost);
    put(out, "reference", json_string(e->check->reference), lost);
    for (size_t k = 0; k < e->n_results; k++)
        append(results, result_json(e->result + k, e->check->of_model ? r->subject[k] : NULL, lost), lost);
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

static json_t *claim_json(const hkt_report *r, size_t first, bool *lost)
{
    const hkt_claim *claim = r->entry[first].claim;
    json_t *out = json_object(), *checks = json_array();
    put(out, "id", json_string(claim->id), lost);
    put(out, "place", json_string(claim->place), lost);
    put(out, "statement", json_string(claim->statement), lost);
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
    put(out, "provenance", hkt_provenance_json(how), &lost);
    put(out, "subjects", subjects, &lost);
    put(out, "claims", claims, &lost);
    hkt_status status = lost ? hkt_fail(HKT_ESYSTEM, "%s: out of memory", path) : hkt_json_write(out, path);
    json_decref(out);
    return status;
}

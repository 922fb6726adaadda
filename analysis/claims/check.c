#include "analysis/claims/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

const hkt_claim *hkt_claim_find(hkt_claim_list list, const char *id)
{
    for (size_t i = 0; i < list.n; i++)
        if (!strcmp(list.claim[i]->id, id))
            return list.claim[i];
    return NULL;
}

const hkt_check *hkt_claim_check(const hkt_claim *claim, const char *name)
{
    for (size_t i = 0; i < claim->n_checks; i++)
        if (!strcmp(claim->checks[i]->name, name))
            return claim->checks[i];
    return NULL;
}

static void decide(hkt_check_result *out, bool holds, const char *relation, double measured, double bound,
                   double margin)
{
    out->relation = relation;
    out->verdict = holds ? HKT_HOLDS : HKT_VIOLATED;
    out->measured = measured;
    out->bound = bound;
    out->margin = margin;
}

void hkt_check_at_most(hkt_check_result *out, double measured, double bound)
{
    decide(out, measured <= bound, "<=", measured, bound, bound - measured);
}

void hkt_check_below(hkt_check_result *out, double measured, double bound)
{
    decide(out, measured < bound, "<", measured, bound, bound - measured);
}

void hkt_check_at_least(hkt_check_result *out, double measured, double bound)
{
    decide(out, measured >= bound, ">=", measured, bound, measured - bound);
}

void hkt_check_equal(hkt_check_result *out, double measured, double bound)
{
    bool equal = measured == bound;
    decide(out, equal, "=", measured, bound, equal ? 0 : -fabs(measured - bound));
}

void hkt_check_interval(hkt_check_result *out, double low, double high)
{
    bool violated = low <= high && high < 0;
    decide(out, low > 0, ">", violated ? high : low, 0, violated ? high : low);
    if (!violated && !(low > 0 && low <= high))
        out->verdict = HKT_INCONCLUSIVE;
}

void hkt_check_enclosed_at_least(hkt_check_result *out, double low, double high, double bound)
{
    bool known = low <= high && (low >= bound || high < bound), violated = known && high < bound;
    hkt_check_at_least(out, violated ? high : low, bound);
    if (!known)
        out->verdict = HKT_INCONCLUSIVE;
}

void hkt_check_enclosed_at_most(hkt_check_result *out, double low, double high, double bound)
{
    hkt_check_enclosed_at_least(out, -high, -low, -bound);
    out->relation = "<=";
    out->measured = -out->measured;
    out->bound = bound;
}

double hkt_check_worse(double worst, double next)
{
    if (worst >= next)
        return worst;
    return next > worst ? next : (double)NAN;
}

double hkt_check_relative(double error, double scale)
{
    return error == 0 ? 0 : error / scale;
}

void hkt_check_skip(hkt_check_result *out, const char *reason, ...)
{
    va_list ap;
    va_start(ap, reason);
    vsnprintf(out->detail, sizeof out->detail, reason, ap);
    va_end(ap);
    out->verdict = HKT_SKIPPED;
    out->relation = NULL;
    *out->found = 0;
    out->measured = out->bound = out->margin = (double)NAN;
}

void hkt_check_error(hkt_check_result *out, const char *reason)
{
    hkt_check_result_free(out);
    *out =
        (hkt_check_result){.verdict = HKT_ERROR, .measured = (double)NAN, .bound = (double)NAN, .margin = (double)NAN};
    hkt_check_detail(out, "%s", reason);
}

void hkt_check_detail(hkt_check_result *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(out->detail, sizeof out->detail, format, ap);
    va_end(ap);
}

void hkt_check_found(hkt_check_result *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(out->found, sizeof out->found, format, ap);
    va_end(ap);
}

const char *hkt_check_number(double v, int digits, char *text)
{
    if (isnan(v))
        snprintf(text, HKT_NUMBER, "-");
    else if (fabs(v) < 9007199254740992.0 && v == floor(v))
        snprintf(text, HKT_NUMBER, "%.0f", v + 0.0); /* + 0.0: no sign of zero */
    else
        snprintf(text, HKT_NUMBER, "%.*g", digits, v);
    return text;
}

/* The number that a hole of a clause stands for, "{m}" or "{b%}"; the hole's length, 0 when there is none at `hole`. */
static size_t fill_hole(const char *hole, const hkt_check_result *result, char *number)
{
    static const char *const holes[] = {"{m}", "{m%}", "{b}", "{b%}"};
    for (size_t i = 0; i < sizeof holes / sizeof *holes; i++) {
        const double v = i < 2 ? result->measured : result->bound;
        if (strncmp(hole, holes[i], strlen(holes[i])))
            continue;
        hkt_check_number(i % 2 ? 100 * v : v, 4, number);
        return strlen(holes[i]);
    }
    return 0;
}

static const char *clause_of(const hkt_check *check, const hkt_check_result *result)
{
    switch (result->verdict) {
    case HKT_HOLDS:
        return check->holds;
    case HKT_VIOLATED:
        return check->violated;
    default:
        return check->open ? check->open : "not decided: {m} against {b}";
    }
}

const char *hkt_check_clause(const hkt_check *check, const hkt_check_result *result, char *text)
{
    const char *clause = clause_of(check, result);
    size_t at = 0;
    if (*result->found || !result->relation || !clause) {
        snprintf(text, HKT_SENTENCE, "%s", *result->found ? result->found : result->detail);
        return text;
    }
    while (*clause && at + HKT_NUMBER < HKT_SENTENCE) {
        const size_t hole = fill_hole(clause, result, text + at);
        at = hole ? strlen(text) : at + 1;
        if (!hole)
            text[at - 1] = *clause;
        clause += hole ? hole : 1;
    }
    text[at] = 0;
    return text;
}

const char *hkt_check_sentence(const hkt_check *check, const hkt_check_result *result, char *text)
{
    hkt_check_clause(check, result, text);
    const size_t at = strlen(text);
    if (!*result->found && result->relation && clause_of(check, result) && *result->detail)
        snprintf(text + at, HKT_SENTENCE - at, "; %s", result->detail);
    return text;
}

void hkt_check_left_out(hkt_check_result *out, size_t n, const char *what, const char *why)
{
    size_t used = strlen(out->detail);
    if (n > 0)
        snprintf(out->detail + used, sizeof out->detail - used, "; %zu %s left out: %s", n, what, why);
}

void hkt_check_power(hkt_check_result *out, const hkt_check_test *test, const hkt_verify_context *ctx)
{
    char power[HKT_NUMBER];
    size_t used = strlen(out->detail);
    if (!test || out->verdict == HKT_SKIPPED || out->verdict == HKT_ERROR)
        return;
    hkt_check_number(test->power(ctx), 3, power);
    snprintf(out->detail + used, sizeof out->detail - used, "; power %s against %s", power, test->alternative);
}

void hkt_check_condition(hkt_check_result *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(out->condition, sizeof out->condition, format, ap);
    va_end(ap);
}

static hkt_status grow(hkt_rows *r)
{
    double *cell = NULL;
    hkt_row_name *name = NULL;
    size_t capacity = r->capacity ? 2 * r->capacity : 16;
    HKT_TRY(HKT_NEW(&cell, capacity * r->n_cols));
    hkt_status status = r->n_names > 0 ? HKT_NEW(&name, capacity * r->n_names) : HKT_OK;
    if (status != HKT_OK) {
        hkt_free(cell);
        return status;
    }
    if (r->n_rows > 0)
        memcpy(cell, r->cell, r->n_rows * r->n_cols * sizeof *cell);
    if (r->n_rows > 0 && name)
        memcpy(name, r->name, r->n_rows * r->n_names * sizeof *name);
    hkt_free(r->cell);
    hkt_free(r->name);
    r->cell = cell;
    r->name = name;
    r->capacity = capacity;
    return HKT_OK;
}

static size_t count_columns(const char *columns)
{
    size_t n = 1;
    for (const char *c = columns; *c; c++)
        n += *c == '\t';
    return n;
}

hkt_status hkt_check_add_row(hkt_check_result *out, const char *columns, size_t n_names, const char *const *name,
                             size_t n_cells, const double *cell)
{
    hkt_rows *r = &out->rows;
    if (!r->columns) {
        HKT_ASSERT(n_names <= HKT_ROW_NAMES && n_names + n_cells == count_columns(columns));
        r->columns = columns;
        r->n_names = n_names;
        r->n_cols = n_cells;
    }
    HKT_ASSERT(!strcmp(r->columns, columns) && r->n_names == n_names && r->n_cols == n_cells);
    if (r->n_rows == r->capacity)
        HKT_TRY(grow(r));
    for (size_t i = 0; i < n_names; i++)
        snprintf(r->name[r->n_rows * n_names + i], HKT_ROW_NAME, "%s", name[i]);
    memcpy(r->cell + r->n_rows++ * r->n_cols, cell, r->n_cols * sizeof *cell);
    return HKT_OK;
}

void hkt_check_result_free(hkt_check_result *out)
{
    hkt_free(out->rows.cell);
    hkt_free(out->rows.name);
    out->rows = (hkt_rows){0};
}

const char *hkt_kind_name(hkt_kind k)
{
    static const char *const name[] = {"exact", "certified", "implementation", "statistical", "empirical"};
    return name[k];
}

const char *hkt_verdict_name(hkt_verdict v)
{
    static const char *const name[] = {"HOLDS", "VIOLATED", "INCONCLUSIVE", "SKIPPED", "ERROR"};
    return name[v];
}

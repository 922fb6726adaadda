/* registry.c - the list of claims, and how a check states its verdict. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/claims/claims.h"
#include "base/mem.h"

const hkt_claim *const hkt_claims[] = {&hkt_claim_psd,           &hkt_claim_asymmetry,   &hkt_claim_subsumption,
                                       &hkt_claim_cost,          &hkt_claim_kurtosis,    &hkt_claim_bands,
                                       &hkt_claim_approximation, &hkt_claim_information, &hkt_claim_decay};
const size_t hkt_n_claims = sizeof hkt_claims / sizeof *hkt_claims;

const hkt_claim *hkt_claim_find(const char *id)
{
    for (size_t i = 0; i < hkt_n_claims; i++)
        if (!strcmp(hkt_claims[i]->id, id))
            return hkt_claims[i];
    return NULL;
}

const hkt_check *hkt_claim_check(const hkt_claim *claim, const char *name)
{
    for (size_t i = 0; i < claim->n_checks; i++)
        if (!strcmp(claim->checks[i].name, name))
            return claim->checks + i;
    return NULL;
}

static void decide(hkt_check_result *out, bool holds, double measured, double bound, double margin)
{
    out->verdict = holds ? HKT_HOLDS : HKT_VIOLATED;
    out->measured = measured;
    out->bound = bound;
    out->margin = margin;
}

void hkt_check_at_most(hkt_check_result *out, double measured, double bound)
{
    decide(out, measured <= bound, measured, bound, bound - measured);
}

void hkt_check_below(hkt_check_result *out, double measured, double bound)
{
    decide(out, measured < bound, measured, bound, bound - measured);
}

void hkt_check_at_least(hkt_check_result *out, double measured, double bound)
{
    decide(out, measured >= bound, measured, bound, measured - bound);
}

void hkt_check_equal(hkt_check_result *out, double measured, double bound)
{
    bool equal = measured == bound;
    decide(out, equal, measured, bound, equal ? 0 : -fabs(measured - bound));
}

double hkt_check_worse(double worst, double next)
{
    if (worst >= next)
        return worst;
    return next > worst ? next : (double)NAN;
}

void hkt_check_skip(hkt_check_result *out, const char *reason, ...)
{
    va_list ap;
    va_start(ap, reason);
    vsnprintf(out->detail, sizeof out->detail, reason, ap);
    va_end(ap);
    out->verdict = HKT_SKIPPED;
    out->measured = out->bound = out->margin = (double)NAN;
}

void hkt_check_detail(hkt_check_result *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(out->detail, sizeof out->detail, format, ap);
    va_end(ap);
}

void hkt_check_condition(hkt_check_result *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(out->condition, sizeof out->condition, format, ap);
    va_end(ap);
}

hkt_status hkt_check_row(hkt_check_result *out, const char *columns, const double *cell)
{
    hkt_rows *r = &out->rows;
    if (!r->columns) {
        r->columns = columns;
        r->n_cols = 1;
        for (const char *c = columns; *c; c++)
            r->n_cols += *c == '\t';
    }
    HKT_ASSERT(!strcmp(r->columns, columns));
    if (r->n_rows == r->capacity) {
        double *grown = NULL;
        size_t capacity = r->capacity ? 2 * r->capacity : 16;
        HKT_TRY(HKT_NEW(&grown, capacity * r->n_cols));
        if (r->n_rows > 0)
            memcpy(grown, r->cell, r->n_rows * r->n_cols * sizeof *grown);
        hkt_free(r->cell);
        r->cell = grown;
        r->capacity = capacity;
    }
    memcpy(r->cell + r->n_rows++ * r->n_cols, cell, r->n_cols * sizeof *cell);
    return HKT_OK;
}

void hkt_check_result_free(hkt_check_result *out)
{
    hkt_free(out->rows.cell);
    out->rows = (hkt_rows){0};
}

const char *hkt_kind_name(hkt_kind k)
{
    static const char *const name[] = {"exact", "certified", "numeric", "statistical", "empirical"};
    return name[k];
}

const char *hkt_verdict_name(hkt_verdict v)
{
    static const char *const name[] = {"HOLDS", "VIOLATED", "INCONCLUSIVE", "SKIPPED"};
    return name[v];
}

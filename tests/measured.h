/* measured.h - a measurement of hkt-analyze run on a model in memory, and its table read back. */
#ifndef HKT_TESTS_MEASURED_H
#define HKT_TESTS_MEASURED_H

#include "analysis/measure/list.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tests/naive_scores.h"

extern const hkt_measurement hkt_measure_describe, hkt_measure_kurtosis, hkt_measure_spectrum, hkt_measure_inertia,
    hkt_measure_asymmetry, hkt_measure_gates, hkt_measure_bands, hkt_measure_information, hkt_measure_errors,
    hkt_measure_decay, hkt_measure_scores, hkt_measure_ablate, hkt_measure_cost, hkt_measure_compare;

static char measured_program[] = "test";
static char *measured_arguments[] = {measured_program, NULL};

static inline hkt_table measured(const hkt_measurement *m, hkt_measure_context ctx)
{
    hkt_provenance how = hkt_provenance_make(1, measured_arguments);
    hkt_tsv *out;
    hkt_table t;
    ctx.how = &how;
    ctx.all = hkt_measurements;
    CHECK_OK(hkt_tsv_open(&out, "table.tsv", &how, m->columns));
    CHECK_OK(m->run(&ctx, out));
    CHECK_OK(hkt_tsv_commit(out));
    CHECK_OK(hkt_table_read(&t, "table.tsv"));
    return t;
}

static inline const char *cell(const hkt_table *t, size_t row, const char *column)
{
    size_t c;
    CHECK_OK(hkt_table_column(t, column, &c));
    return t->cell[row * t->cols + c];
}

static inline double number(const hkt_table *t, size_t row, const char *column)
{
    const char *text = cell(t, row, column);
    return strcmp(text, HKT_TSV_MISSING) == 0 ? (double)NAN : strtod(text, NULL);
}

static inline size_t index_of(const hkt_table *t, size_t row, const char *column)
{
    return strtoul(cell(t, row, column), NULL, 10);
}

static inline bool is(const hkt_table *t, size_t row, const char *column, const char *text)
{
    return strcmp(cell(t, row, column), text) == 0;
}

#endif

/* hkt-analyze on models of another kind. */
#include <string.h>

#include "analysis/foreign/list.h"
#include "foreign/foreign.h"
#include "programs/analyze.h"

static bool needs_model(const hkt_measurement *m)
{
    return m->needs & HKT_NEEDS_FOREIGN;
}

const hkt_measurement *foreign_find(const char *name)
{
    for (size_t i = 0; i < hkt_foreign_measurements.n; i++)
        if (strcmp(hkt_foreign_measurements.item[i]->name, name) == 0)
            return hkt_foreign_measurements.item[i];
    return NULL;
}

void foreign_add_names(const char **names, const char **help, size_t *n)
{
    for (size_t i = 0; i < hkt_foreign_measurements.n; i++) {
        const hkt_measurement *m = hkt_foreign_measurements.item[i];
        bool there = false;
        for (size_t k = 0; k < *n; k++)
            there |= strcmp(names[k], m->name) == 0;
        if (there)
            continue;
        names[*n] = m->name;
        help[(*n)++] = m->help;
    }
}

/* A filter on a column that the table does not have would keep everything in silence. */
static hkt_status check_filter(const hkt_measurement *m, const char *name, const char *value)
{
    char cell[16], columns[512];
    snprintf(cell, sizeof cell, "\t%s\t", name);
    snprintf(columns, sizeof columns, "\t%s\t", m->columns);
    return value && !strstr(columns, cell)
               ? hkt_fail(HKT_EUSAGE, "option '--%s': the table of '%s' has no column '%s'", name, m->name, name)
               : HKT_OK;
}

hkt_status foreign_check(const hkt_cli *cli, const foreign_options *o, const hkt_measurement *m)
{
    char reason[64];
    HKT_TRY(hkt_opt_refuse(cli,
                           "checkpoint|run|data|split|task|sequences|level|histogram|npy|target|d-model|heads|levels|"
                           "stride|seed",
                           needs_model(m) ? "has no effect with '--model'" : "has no effect on 'families'"));
    snprintf(reason, sizeof reason, "has no effect on '%s'", m->name);
    if (!needs_model(m))
        HKT_TRY(hkt_opt_refuse(cli, "model|map", reason));
    if (!(m->needs & HKT_USES_TOKENS))
        HKT_TRY(hkt_opt_refuse(cli, "tokens", reason));
    HKT_TRY(check_filter(m, "layer", o->layer));
    HKT_TRY(check_filter(m, "head", o->head));
    const hkt_file_option in[] = {{"model", o->model}, {"map", o->map}}, out[] = {{"out", o->out}};
    return hkt_opt_check_outputs(out, 1, in, 2);
}

static hkt_status write_table(const foreign_options *o, const hkt_measurement *m, const hkt_provenance *how,
                              const hkt_foreign *model)
{
    const size_t n = strlen(o->out);
    const hkt_tsv_form form = {.json = o->json || (n >= 5 && strcmp(o->out + n - 5, ".json") == 0),
                               .keep_column = {"layer", "head"},
                               .keep_text = {hkt_measure_filter(o->layer), hkt_measure_filter(o->head)}};
    const hkt_measure_context ctx = {.how = how,
                                     .all = hkt_foreign_measurements,
                                     .foreign = model,
                                     .tokens = o->tokens,
                                     .layer = hkt_measure_filter(o->layer),
                                     .head = hkt_measure_filter(o->head),
                                     .seed = o->seed};
    hkt_tsv *out;
    HKT_TRY(hkt_tsv_open_as(&out, o->out, how, m->columns, &form));
    hkt_status status = m->run(&ctx, out);
    if (status == HKT_OK && hkt_tsv_rows(out) == 0 && (o->layer || o->head))
        status = hkt_fail(HKT_EINPUT, "'%s': expected a row with layer %s, head %s, found none", m->name,
                          o->layer ? o->layer : "any", o->head ? o->head : "any");
    if (status == HKT_OK)
        return hkt_tsv_commit(out);
    hkt_tsv_abort(out);
    return status;
}

hkt_status foreign_run(const foreign_options *o, const hkt_measurement *m, const hkt_provenance *how)
{
    hkt_foreign model = {.family = ""};
    hkt_status status = needs_model(m) ? hkt_foreign_open(&model, o->model, o->map) : HKT_OK;
    if (status == HKT_OK)
        status = write_table(o, m, how, &model);
    hkt_foreign_close(&model);
    return status;
}

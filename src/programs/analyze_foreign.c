/* hkt-analyze on models of another kind. */
#include <string.h>

#include "analysis/foreign/forward.h"
#include "analysis/foreign/list.h"
#include "analysis/foreign/stored.h"
#include "foreign/foreign.h"
#include "programs/analyze.h"

static bool needs_model(const hkt_measurement *m)
{
    return m->needs & HKT_NEEDS_FOREIGN;
}

const char *foreign_input(const foreign_options *o)
{
    return o->n_scores ? "scores" : o->hidden ? "hidden" : o->model ? "model" : NULL;
}

const hkt_measurement *foreign_find(const foreign_options *o, const char *name)
{
    const hkt_measurement_list list = o->n_scores                ? hkt_stored_measurements
                                      : o->hidden                ? hkt_hidden_measurements
                                      : o->model && o->token_ids ? hkt_forward_measurements
                                                                 : hkt_foreign_measurements;
    for (size_t i = 0; i < list.n; i++)
        if (strcmp(list.item[i]->name, name) == 0)
            return list.item[i];
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

/* What an input has no use for, besides what is for our own models. */
static const char *refused(const foreign_options *o)
{
    return o->n_scores    ? "model|hidden|token-ids|levels|stride"
           : o->hidden    ? "model|map|mask|token-ids"
           : o->token_ids ? "mask|levels|stride"
                          : "mask|sequences|levels|stride|seed";
}

hkt_status foreign_check(const hkt_cli *cli, const foreign_options *o, const hkt_measurement *m)
{
    char reason[64];
    const char *input = foreign_input(o);
    snprintf(reason, sizeof reason, input ? "has no effect with '--%s'" : "has no effect on '%s'",
             input ? input : m->name);
    if (!o->model)
        HKT_TRY(hkt_opt_refuse(cli, "token-ids", "needs '--model'"));
    HKT_TRY(hkt_opt_refuse(cli, "checkpoint|run|data|split|task|level|npy|target|d-model|heads", reason));
    HKT_TRY(hkt_opt_refuse(cli, refused(o), reason));
    snprintf(reason, sizeof reason, "has no effect on '%s'", m->name);
    if (!needs_model(m) && !o->n_scores && !o->hidden && !o->token_ids)
        HKT_TRY(hkt_opt_refuse(cli, "model|map", reason));
    if (!(m->needs & HKT_USES_TOKENS))
        HKT_TRY(hkt_opt_refuse(cli, "tokens", reason));
    if (!m->options || strcmp(m->options, "histogram") != 0)
        HKT_TRY(hkt_opt_refuse(cli, "histogram", reason));
    HKT_TRY(check_filter(m, "layer", o->layer));
    HKT_TRY(check_filter(m, "head", o->head));
    const hkt_file_option in[] = {{"model", o->model},         {"map", o->map},          {"hidden", o->hidden},
                                  {"token-ids", o->token_ids}, {"scores", o->scores[0]}, {"scores", o->scores[1]},
                                  {"scores", o->scores[2]}},
                          out[] = {{"out", o->out}, {"json", o->json}, {"histogram", o->histogram}};
    return hkt_opt_check_outputs(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in);
}

static hkt_status write_table(const foreign_options *o, const hkt_measurement *m, const hkt_provenance *how,
                              const hkt_foreign *model, const hkt_stored *stored, const hkt_score_source *source)
{
    const hkt_tsv_form form = {.json = o->json,
                               .keep_column = {"layer", "head"},
                               .keep_text = {hkt_measure_filter(o->layer), hkt_measure_filter(o->head)}};
    const bool all = source && (o->sequences == 0 || o->sequences > source->n);
    const hkt_measure_context ctx = {.how = how,
                                     .all = hkt_foreign_measurements,
                                     .foreign = model,
                                     .stored = stored,
                                     .scores = source,
                                     .hidden = o->hidden,
                                     .sequences = all ? source->n : o->sequences,
                                     .tokens = o->tokens,
                                     .config = o->config,
                                     .histogram = o->histogram,
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
    hkt_stored stored = {.n = 0};
    hkt_forward forward = {.n = 0};
    hkt_score_source source;
    hkt_status status = o->model ? hkt_foreign_open(&model, o->model, o->map) : HKT_OK;
    if (o->n_scores) {
        status = hkt_stored_open(&stored, o->scores, o->n_scores, o->mask, o->map);
        source = hkt_score_of_stored(&stored);
    } else if (o->token_ids && status == HKT_OK) {
        status = hkt_forward_open(&forward, &model, o->token_ids);
        source = hkt_score_of_forward(&forward);
    }
    if (status == HKT_OK)
        status = write_table(o, m, how, &model, &stored, o->n_scores || o->token_ids ? &source : NULL);
    hkt_forward_close(&forward);
    hkt_foreign_close(&model);
    hkt_stored_close(&stored);
    return status;
}

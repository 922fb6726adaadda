/* What a model is: its configuration, parameters, the lengths of its levels, cost and memory for one sequence, and what
 * can be measured on it. */
#include <stdio.h>
#include <string.h>

#include "analysis/measure/measure.h"
#include "model/cost.h"
#include "model/net.h"

typedef struct {
    hkt_tsv *out;
    const hkt_layout *layout;
    size_t T;
} description;

static void write_text(const description *d, const char *quantity, const char *text, const char *status)
{
    hkt_tsv_str(d->out, quantity);
    hkt_tsv_index(d->out, HKT_TSV_NO_INDEX);
    hkt_tsv_index(d->out, HKT_TSV_NO_INDEX);
    hkt_tsv_str(d->out, text);
    hkt_tsv_str(d->out, NULL);
    hkt_tsv_str(d->out, status);
    hkt_tsv_end(d->out);
}

static void write_count(const description *d, const char *quantity, size_t level, uint64_t value, const char *unit)
{
    hkt_tsv_str(d->out, quantity);
    hkt_tsv_index(d->out, level);
    hkt_tsv_size(d->out, value);
    hkt_tsv_str(d->out, NULL);
    hkt_tsv_str(d->out, unit);
    hkt_tsv_str(d->out, "ok");
    hkt_tsv_end(d->out);
}

static void write_config(const description *d)
{
    const hkt_config *c = &d->layout->config;
    const struct {
        const char *name;
        size_t value;
    } sizes[] = {{"vocab", c->vocab},      {"classes", c->classes}, {"max_len", c->max_len},
                 {"d_model", c->d_model},  {"heads", c->heads},     {"layers", c->layers},
                 {"levels", c->levels},    {"stride", c->stride},   {"conv_width", c->conv_width},
                 {"ffn_mult", c->ffn_mult}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        write_count(d, sizes[i].name, HKT_TSV_NO_INDEX, sizes[i].value, "1");
    write_text(d, "fusion", hkt_fusion_name(c->fusion), "ok");
    write_text(d, "hybrid", c->hybrid ? "yes" : "no", "ok");
    write_text(d, "causal", c->causal ? "yes" : "no", "ok");
}

/* Parameters whose name has "level.L." in it belong to that level. */
static void write_parameters(const description *d)
{
    write_count(d, "parameters", HKT_TSV_NO_INDEX, d->layout->n_weights, "1");
    for (size_t level = 0; level < d->layout->config.levels; level++) {
        char mark[32];
        uint64_t sum = 0;
        snprintf(mark, sizeof mark, ".level.%zu.", level);
        for (size_t i = 0; i < d->layout->n_params; i++)
            if (strstr(d->layout->params[i].name, mark))
                sum += d->layout->params[i].count;
        write_count(d, "parameters", level, sum, "1");
    }
}

static void write_cost(const description *d)
{
    const hkt_config *c = &d->layout->config;
    hkt_cost n = hkt_cost_forward(c, d->T);
    const struct {
        const char *name;
        uint64_t value;
    } parts[] = {{"cost projections", n.projections},
                 {"cost scores", n.scores},
                 {"cost values", n.values},
                 {"cost downsampling", n.downsample},
                 {"cost convolution", n.conv},
                 {"cost feed-forward", n.ffn},
                 {"cost head", n.head},
                 {"cost", n.total},
                 {"cost of a training step", hkt_cost_step(c, d->T).total}};
    write_count(d, "tokens", HKT_TSV_NO_INDEX, d->T, "token");
    for (size_t level = 0; level < c->levels; level++)
        write_count(d, "tokens", level, hkt_level_length(d->T, c->stride, level), "token");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        write_count(d, parts[i].name, HKT_TSV_NO_INDEX, parts[i].value, "multiply-add");
}

static hkt_status write_memory(const description *d)
{
    for (int train = 0; train < 2; train++) {
        hkt_net_f32 *net;
        HKT_TRY(hkt_net_create_f32(&net, d->layout, d->T, 1, train, false));
        write_count(d, train ? "workspace of a training step" : "workspace of the forward pass", HKT_TSV_NO_INDEX,
                    hkt_net_bytes_f32(net), "byte");
        hkt_net_destroy_f32(net);
    }
    return HKT_OK;
}

static const char *what_prevents(const hkt_measure_context *ctx, const hkt_measurement *m)
{
    return m->needs & HKT_NEEDS_OTHER                ? "skipped: needs a second model"
           : m->needs & HKT_NEEDS_DATA && !ctx->data ? "skipped: needs --data"
                                                     : "ok";
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    description d = {.out = out, .layout = ctx->model->layout};
    HKT_TRY(hkt_measure_tokens(ctx, d.layout->config.max_len, &d.T));
    write_config(&d);
    write_parameters(&d);
    write_cost(&d);
    HKT_TRY(write_memory(&d));
    for (size_t i = 0; i < ctx->all.n; i++)
        write_text(&d, "measurement", ctx->all.item[i]->name, what_prevents(ctx, ctx->all.item[i]));
    return HKT_OK;
}

const hkt_measurement hkt_measure_describe = {
    .name = "describe",
    .help = "shape, parameters, level lengths, cost and memory of a model, and what can be measured",
    .needs = HKT_NEEDS_MODEL | HKT_USES_TOKENS,
    .columns = "quantity\tlevel\tvalue\ttext\tunit\tstatus",
    .run = run,
};

/* Multiply-adds of the hierarchy over those of standard attention of the same width (levels = 1, no convolution), from
 * the exact counts of model/cost.h, for every number of levels up to that of the config:
 *   pairs      R = sum_l (T_l / T)^2, the score matrices alone; below s^2/(s^2 - 1) when s^(L-1) divides T
 *   attention  scores, values, projections of q, k, v and out, downsampling, convolution
 *   layer      attention and feed-forward */
#include <math.h>

#include "analysis/measure/measure.h"
#include "model/cost.h"

enum { DEFAULT_TOKENS = 65536 };

static double pairs(const hkt_config *c, size_t T)
{
    double sum = 0;
    for (size_t level = 0; level < c->levels; level++) {
        double share = (double)hkt_level_length(T, c->stride, level) / (double)T;
        sum += share * share;
    }
    return sum;
}

static double attention_cost(const hkt_config *c, size_t T)
{
    hkt_cost n = hkt_cost_forward(c, T);
    return (double)(n.projections + n.scores + n.values + n.downsample + n.conv);
}

static double layer_cost(const hkt_config *c, size_t T)
{
    return attention_cost(c, T) + (double)hkt_cost_forward(c, T).ffn;
}

static const struct {
    const char *name;
    double (*cost)(const hkt_config *c, size_t T);
} quantities[] = {{"pairs", pairs}, {"attention", attention_cost}, {"layer", layer_cost}};

static void write_row(hkt_tsv *out, const char *quantity, const hkt_config *c, size_t T, double ratio)
{
    double s2 = (double)c->stride * (double)c->stride, bound = s2 / (s2 - 1);
    hkt_tsv_str(out, quantity);
    hkt_tsv_size(out, c->d_model);
    hkt_tsv_size(out, c->levels);
    hkt_tsv_size(out, c->stride);
    hkt_tsv_size(out, T);
    hkt_tsv_real(out, (double)T / (double)c->d_model);
    hkt_tsv_real(out, ratio);
    hkt_tsv_real(out, bound);
    hkt_tsv_str(out, ratio < bound ? "yes" : "no");
    hkt_tsv_str(out, "ok");
    hkt_tsv_end(out);
}

/* Every T up to 64, where ceil makes the ratio ragged, then 16 to the octave. */
static size_t next_length(size_t T)
{
    return T < 64 ? T + 1 : (size_t)ceil((double)T * exp2(1.0 / 16));
}

/* One quantity and number of levels. */
static void write_curve(hkt_tsv *out, size_t quantity, hkt_config hkt, size_t longest)
{
    hkt_config mha = hkt;
    mha.levels = 1;
    mha.hybrid = false;
    mha.fusion = HKT_FUSION_STATIC;
    for (size_t T = 1; T <= longest; T = next_length(T)) {
        mha.max_len = hkt.max_len = T;
        write_row(out, quantities[quantity].name, &hkt, T,
                  quantities[quantity].cost(&hkt, T) / quantities[quantity].cost(&mha, T));
    }
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    size_t longest = ctx->tokens > 0 ? ctx->tokens : DEFAULT_TOKENS;
    for (size_t quantity = 0; quantity < sizeof quantities / sizeof *quantities; quantity++)
        for (size_t levels = 1; levels <= ctx->config->levels; levels++) {
            hkt_config hkt = *ctx->config;
            hkt.levels = levels;
            write_curve(out, quantity, hkt, longest);
        }
    return HKT_OK;
}

const hkt_measurement hkt_measure_cost = {
    .name = "cost",
    .help = "cost of the hierarchy over that of standard attention, against its length",
    .needs = HKT_USES_TOKENS,
    .columns = "quantity\td_model\tlevels\tstride\ttokens\ttokens_per_d\tratio\tbound\tbelow_bound\tstatus",
    .options = "d-model|heads|levels|stride",
    .run = run,
};

/* What the weights of a model of another kind say by themselves: one table each of inertia, spectrum, asymmetry,
 * kurtosis of Gaussian inputs, and what depends on the lag under rotary positions. */
#include <math.h>

#include "analysis/foreign/heads.h"
#include "analysis/view/asymmetry.h"

enum { MAX_LAGS = 32, DEFAULT_LAG = 1024 };
static const size_t no_lag[] = {0};

/* form, layer, head, key_head */
static void write_place(hkt_tsv *out, const hkt_form_row *r)
{
    hkt_tsv_str(out, hkt_form_kind_name(r->kind));
    hkt_tsv_size(out, r->layer);
    hkt_tsv_index(out, r->head);
    hkt_tsv_size(out, r->key_head);
}

static void write_signs(hkt_tsv *out, const hkt_form_row *r)
{
    hkt_tsv_size(out, r->s.dimension);
    hkt_tsv_size(out, r->s.inertia.positive);
    hkt_tsv_size(out, r->s.inertia.negative);
    hkt_tsv_size(out, r->s.inertia.zero);
    hkt_tsv_real(out, r->s.negative_mass);
}

/* --- inertia --- */

static void write_inertia(hkt_tsv *out, const hkt_form_row *r)
{
    write_place(out, r);
    write_signs(out, r);
    hkt_tsv_real(out, r->s.stable_rank);
    hkt_tsv_str(out, r->status);
    hkt_tsv_end(out);
}

static hkt_status run_inertia(const hkt_measure_context *ctx, hkt_tsv *out)
{
    const hkt_form_walk walk = {.kinds = {true, true, true, true}, .lags = no_lag, .n_lags = 1, .write = write_inertia};
    return hkt_form_walk_rows(ctx, out, &walk);
}

const hkt_measurement hkt_foreign_inertia = {
    .name = "inertia",
    .help = "signs, negative mass and stable rank of the forms of a model",
    .needs = HKT_NEEDS_FOREIGN,
    .columns = "form\tlayer\thead\tkey_head\tn\tpositive\tnegative\tzero\tnegative_mass\tstable_rank\tstatus",
    .run = run_inertia,
};

/* --- spectrum --- */

static void write_spectrum(hkt_tsv *out, const hkt_form_row *r)
{
    const size_t n = r->s.dimension, negative = r->s.inertia.negative, positive = r->s.inertia.positive;
    for (size_t i = 0; i < n; i++) {
        if (i >= negative && i < n - positive)
            continue;
        write_place(out, r);
        hkt_tsv_size(out, i);
        hkt_tsv_size(out, i < negative ? i + 1 : n - i);
        hkt_tsv_real(out, r->w[i]);
        hkt_tsv_str(out, i < negative ? "negative" : "positive");
        hkt_tsv_str(out, r->status);
        hkt_tsv_end(out);
    }
}

static hkt_status run_spectrum(const hkt_measure_context *ctx, hkt_tsv *out)
{
    const hkt_form_walk walk = {
        .kinds = {true, true, true, true}, .lags = no_lag, .n_lags = 1, .spectrum = true, .write = write_spectrum};
    return hkt_form_walk_rows(ctx, out, &walk);
}

const hkt_measurement hkt_foreign_spectrum = {
    .name = "spectrum",
    .help = "eigenvalues of M_s that are not zero",
    .needs = HKT_NEEDS_FOREIGN,
    .columns = "form\tlayer\thead\tkey_head\tindex\trank\teigenvalue\tsign\tstatus",
    .run = run_spectrum,
};

/* --- asymmetry --- */

static void write_quantity(hkt_tsv *out, const char *quantity, const hkt_form_row *r, size_t other, double value,
                           double expected, double sd)
{
    hkt_tsv_str(out, quantity);
    write_place(out, r);
    hkt_tsv_index(out, other);
    hkt_tsv_real(out, value);
    hkt_tsv_real(out, expected);
    hkt_tsv_real(out, sd);
    hkt_tsv_real(out, sd > 0 ? (value - expected) / sd : (double)NAN);
    hkt_tsv_str(out, isnan(value) ? "skipped: the form is zero" : r->status);
    hkt_tsv_end(out);
}

/* Random weights on the space where the form is looked at; with biases one direction is not like the others, and no
 * expectation is given. */
static void write_asymmetry(hkt_tsv *out, const hkt_form_row *r)
{
    const double n = (double)r->s.dimension, nothing = (double)NAN, d = (double)r->n;
    const bool known = r->kind != HKT_FORM_AFFINE;
    const double expected = known ? (1 - 1 / n) / 2 : nothing;
    const double sd = known ? hkt_energy_sd(r->s.dimension, r->s.concentration) : nothing;
    write_quantity(out, "norm", r, HKT_TSV_NO_INDEX, r->s.norm, nothing, nothing);
    write_quantity(out, "antisymmetric", r, HKT_TSV_NO_INDEX, r->s.antisymmetric, expected, sd);
    write_quantity(out, "symmetry", r, HKT_TSV_NO_INDEX, r->s.trace, 1 - 2 * expected, 2 * sd);
    if (r->kind == HKT_FORM_WEIGHTS && r->layer > 0)
        write_quantity(out, "cosine", r, r->layer - 1, r->cosine, 0, sqrt(2 / (d * (d - 1))));
}

static hkt_status run_asymmetry(const hkt_measure_context *ctx, hkt_tsv *out)
{
    const hkt_form_walk walk = {
        .kinds = {true, true, true, true}, .lags = no_lag, .n_lags = 1, .cosine = true, .write = write_asymmetry};
    return hkt_form_walk_rows(ctx, out, &walk);
}

const hkt_measurement hkt_foreign_asymmetry = {
    .name = "asymmetry",
    .help = "antisymmetric share of the forms against random weights, cosine with the layer before",
    .needs = HKT_NEEDS_FOREIGN,
    .columns = "quantity\tform\tlayer\thead\tkey_head\tother\tvalue\texpected\tsd\tz\tstatus",
    .run = run_asymmetry,
};

/* --- kurtosis --- */

static void write_kurtosis(hkt_tsv *out, const hkt_form_row *r)
{
    write_place(out, r);
    hkt_tsv_real(out, r->s.kappa);
    hkt_tsv_real(out, r->s.skewness);
    hkt_tsv_real(out, 1 / r->s.concentration);
    hkt_tsv_str(out, r->status);
    hkt_tsv_end(out);
}

static hkt_status run_kurtosis(const hkt_measure_context *ctx, hkt_tsv *out)
{
    const hkt_form_walk walk = {
        .kinds = {true, true, true, false}, .lags = no_lag, .n_lags = 1, .write = write_kurtosis};
    return hkt_form_walk_rows(ctx, out, &walk);
}

const hkt_measurement hkt_foreign_kurtosis = {
    .name = "kurtosis",
    .help = "kappa and skewness of the scores of independent standard normal inputs, in closed form",
    .needs = HKT_NEEDS_FOREIGN,
    .columns = "form\tlayer\thead\tkey_head\tkappa\tskewness\teffective_rank\tstatus",
    .run = run_kurtosis,
};

/* --- lags --- */

static void write_lag(hkt_tsv *out, const hkt_form_row *r)
{
    write_place(out, r);
    hkt_tsv_size(out, r->lag);
    write_signs(out, r);
    hkt_tsv_real(out, r->s.antisymmetric);
    hkt_tsv_real(out, r->s.norm);
    hkt_tsv_real(out, r->s.kappa);
    hkt_tsv_str(out, r->status);
    hkt_tsv_end(out);
}

/* Lags 0, 1, 2, 4, ... up to --tokens. */
static hkt_status run_lags(const hkt_measure_context *ctx, hkt_tsv *out)
{
    const size_t most = ctx->tokens ? ctx->tokens : DEFAULT_LAG;
    size_t lags[MAX_LAGS] = {0}, n = 1;
    if (ctx->foreign->shape.rotary == 0)
        return hkt_fail(HKT_EINPUT, "lags: expected a model with rotary positions, found family '%s' without",
                        ctx->foreign->family);
    for (size_t lag = 1; lag <= most && n < MAX_LAGS; lag *= 2)
        lags[n++] = lag;
    const hkt_form_walk walk = {.kinds = {true, true, true, false}, .lags = lags, .n_lags = n, .write = write_lag};
    return hkt_form_walk_rows(ctx, out, &walk);
}

const hkt_measurement hkt_foreign_lags = {
    .name = "lags",
    .help = "under rotary positions: signs, antisymmetric share and kappa by distance of the tokens (--model)",
    .needs = HKT_NEEDS_FOREIGN | HKT_USES_TOKENS,
    .columns = "form\tlayer\thead\tkey_head\tlag\tn\tpositive\tnegative\tzero\tnegative_"
               "mass\tantisymmetric\tnorm\tkappa\tstatus",
    .run = run_lags,
};

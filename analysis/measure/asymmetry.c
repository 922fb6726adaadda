/* How symmetric and how directional the score forms M = Wq' Wk / sqrt(p) are, per layer, level and head, against random
 * weights (asymmetry.h), and how alike the antisymmetric parts of two levels. */
#include <float.h>
#include <math.h>

#include "analysis/measure/measure.h"
#include "analysis/view/asymmetry.h"
#include "analysis/view/scene.h"
#include "base/mem.h"

typedef struct {
    const hkt_layout *layout;
    const double *params;
    double *form[HKT_MAX_LEVELS]; /* [d, d] M of every level, of the head being looked at, times a power of 2 */
    double *q, *k;                /* [p, d] Wq and Wk of a level, times powers of 2 */
    hkt_tsv *out;
} asymmetry;

typedef struct {
    size_t layer, level, other, head;
} place;

/* undefined: why the value is NaN. */
static void write_row(hkt_tsv *out, const char *quantity, place at, double value, double expected, double sd,
                      const char *undefined)
{
    hkt_tsv_str(out, quantity);
    hkt_tsv_size(out, at.layer);
    hkt_tsv_size(out, at.level);
    hkt_tsv_index(out, at.other);
    hkt_tsv_size(out, at.head);
    hkt_tsv_real(out, value);
    hkt_tsv_real(out, expected);
    hkt_tsv_real(out, sd);
    hkt_tsv_real(out, sd > 0 ? (value - expected) / sd : (double)NAN);
    hkt_tsv_str(out, isnan(value) ? undefined : "ok");
    hkt_tsv_end(out);
}

static void write_share(hkt_tsv *out, const char *quantity, place at, double value, double expected, double sd)
{
    write_row(out, quantity, at, value, expected, sd, "skipped: the form is zero");
}

/* The norm 2^exponent scaled; NaN when that is out of range. */
static void write_norm(hkt_tsv *out, place at, double scaled, int exponent)
{
    double norm = ldexp(scaled, exponent);
    bool lost = !isfinite(norm) || (norm < DBL_MIN && scaled > 0);
    write_row(out, "norm", at, lost ? (double)NAN : norm, (double)NAN, (double)NAN,
              "skipped: the norm is out of range");
}

/* to = w 2^-e with entries below 1 in magnitude, so that no product of them overflows; returns e. Exact. */
static int scale_down(size_t n, const double *w, double *to)
{
    double most = 0;
    int exponent = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(w[i]));
    frexp(most, &exponent);
    for (size_t i = 0; i < n; i++)
        to[i] = ldexp(w[i], -exponent);
    return exponent;
}

/* tr(M M) / ||M||^2 */
static double symmetry_score(size_t d, const double *m)
{
    double trace = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            trace += m[i * d + j] * m[j * d + i];
    return trace / hkt_inner(d, m, m);
}

/* Sum of those of d norms that are more than two standard deviations above their mean; norm of row or column i: root of
 * the sum of m[i * step + j * other]^2. */
static double outlying_norms(size_t d, const double *m, size_t step, size_t other)
{
    double sum = 0, squares = 0, above = 0;
    for (int pass = 0; pass < 2; pass++) {
        double mean = sum / (double)d, variance = squares / (double)d - mean * mean;
        for (size_t i = 0; i < d; i++) {
            double square = 0;
            for (size_t j = 0; j < d; j++)
                square += m[i * step + j * other] * m[i * step + j * other];
            if (pass == 0) {
                sum += sqrt(square);
                squares += square;
            } else if (sqrt(square) > mean + 2 * sqrt(variance > 0 ? variance : 0)) {
                above += sqrt(square);
            }
        }
    }
    return above;
}

/* (columns - rows) / (columns + rows) of the outlying norms; 0 when there are none. Columns of M belong to the key's
 * coordinates, rows to the query's. */
static double directionality_score(size_t d, const double *m)
{
    double columns = outlying_norms(d, m, 1, d), rows = outlying_norms(d, m, d, 1);
    if (hkt_inner(d, m, m) == 0)
        return (double)NAN;
    return columns + rows > 0 ? (columns - rows) / (columns + rows) : 0;
}

static hkt_status write_form(asymmetry *a, place at)
{
    const hkt_config *c = &a->layout->config;
    size_t d = c->d_model, p = d / c->heads;
    int exponent = scale_down(p * d, hkt_query_rows(a->layout, a->params, at.layer, at.level, at.head), a->q);
    exponent += scale_down(p * d, hkt_key_rows(a->layout, a->params, at.layer, at.level, at.head), a->k);
    double *m = a->form[at.level];
    hkt_energy e;
    HKT_TRY(hkt_energy_share(d, p, a->q, a->k, &e));
    hkt_score_form(d, p, a->q, a->k, m);
    write_norm(a->out, at, sqrt(hkt_inner(d, m, m)), exponent);
    write_share(a->out, "antisymmetric", at, e.share, e.expected, e.sd);
    write_share(a->out, "symmetric", at, 1 - e.share, 1 - e.expected, e.sd);
    write_share(a->out, "symmetry", at, symmetry_score(d, m), 1 - 2 * e.expected, 2 * e.sd);
    write_share(a->out, "directionality", at, directionality_score(d, m), 0, (double)NAN);
    return HKT_OK;
}

static hkt_status write_head(asymmetry *a, size_t layer, size_t head)
{
    const hkt_config *c = &a->layout->config;
    double d = (double)c->d_model;
    for (size_t level = 0; level < c->levels; level++)
        HKT_TRY(write_form(a, (place){layer, level, HKT_TSV_NO_INDEX, head}));
    for (size_t level = 0; level < c->levels; level++)
        for (size_t other = level + 1; other < c->levels; other++)
            write_share(a->out, "cosine", (place){layer, level, other, head},
                        hkt_directional_cosine(c->d_model, a->form[level], a->form[other]), 0, sqrt(2 / (d * (d - 1))));
    return HKT_OK;
}

static hkt_status run(const hkt_measure_context *ctx, hkt_tsv *out)
{
    asymmetry a = {.layout = ctx->model->layout, .params = ctx->model->params, .out = out};
    const hkt_config *c = &a.layout->config;
    hkt_status status = HKT_OK;
    for (size_t level = 0; level < c->levels && status == HKT_OK; level++)
        status = HKT_NEW(&a.form[level], c->d_model * c->d_model);
    const size_t p = c->d_model / c->heads;
    if (status == HKT_OK)
        status = HKT_NEW(&a.q, p * c->d_model);
    if (status == HKT_OK)
        status = HKT_NEW(&a.k, p * c->d_model);
    for (size_t i = 0; i < c->layers * c->heads && status == HKT_OK; i++)
        if (hkt_measure_wanted(ctx->layer, i / c->heads) && hkt_measure_wanted(ctx->head, i % c->heads))
            status = write_head(&a, i / c->heads, i % c->heads);
    for (size_t level = 0; level < HKT_MAX_LEVELS; level++)
        hkt_free(a.form[level]);
    hkt_free(a.q);
    hkt_free(a.k);
    return status;
}

const hkt_measurement hkt_measure_asymmetry = {
    .name = "asymmetry",
    .help = "symmetric and antisymmetric energy of the score forms, and their scores",
    .needs = HKT_NEEDS_MODEL,
    .columns = "quantity\tlayer\tlevel\tother\thead\tvalue\texpected\tsd\tz\tstatus",
    .run = run,
};

#include <hkt/heads.h>

#include <hkt/asymmetry.h>
#include <hkt/bands.h>
#include <hkt/kurtosis.h>
#include <math.h>
#include <string.h>

#include "analysis/math/linalg.h"
#include "analysis/math/moments.h"
#include "analysis/view/asymmetry.h"
#include "analysis/view/bands.h"
#include "api/api.h"
#include "base/mem.h"
#include "num/kernels.h"

/* --- the heads of a model ----------------------------------------------------------------------------------------- */

static hkt_status visit_level(const hkt_scene *s, size_t layer, size_t level, hkt_heads_visit visit, void *self)
{
    const hkt_config *c = &s->layout->config;
    const hkt_tap_f64 *tap = s->tap + layer;
    for (size_t head = 0; head < c->heads; head++) {
        const hkt_heads_view view = {
            .layer = layer,
            .level = level,
            .head = head,
            .n = tap->offset[level][1],
            .p = s->p,
            .ld = tap->ld[level],
            .q = tap->q[level] + head * s->p,
            .k = tap->k[level] + head * s->p,
            .level_weight = c->levels == 1 ? 1 : tap->lambda[level],
            .causal = c->causal,
        };
        HKT_TRY(visit(self, &view));
    }
    return HKT_OK;
}

static hkt_status visit_all(const hkt_scene *s, hkt_heads_visit visit, void *self)
{
    for (size_t layer = 0; layer < s->layout->config.layers; layer++)
        for (size_t level = 0; level < s->layout->config.levels; level++)
            HKT_TRY(visit_level(s, layer, level, visit, self));
    return HKT_OK;
}

hkt_status hkt_heads_walk(const hkt_model *model, size_t T, const int32_t *tokens, hkt_heads_visit visit, void *self)
{
    hkt_scene s;
    if (!visit)
        return hkt_fail(HKT_EUSAGE, "%s: visit is NULL", __func__);
    hkt_status status = hkt_api_see(__func__, model, T, tokens, &s);
    if (status == HKT_OK)
        status = visit_all(&s, visit, self);
    hkt_scene_close(&s);
    return status;
}

hkt_status hkt_heads_scores(size_t n, size_t p, const double *q, size_t ld_q, const double *k, size_t ld_k,
                            double *score)
{
    HKT_TRY(hkt_api_given(__func__, "score", score));
    HKT_TRY(hkt_api_head(__func__, n, p, q, ld_q, k, ld_k));
    hkt_products_f64(n, n, p, 1 / sqrt((double)p), q, ld_q, k, ld_k, score, n);
    return HKT_OK;
}

/* --- kurtosis ----------------------------------------------------------------------------------------------------- */

static void describe(const hkt_moments *m, hkt_kurtosis_result *out)
{
    *out = (hkt_kurtosis_result){
        m->n, m->mean, hkt_moments_variance(m), hkt_moments_skewness(m), hkt_moments_kappa(m), hkt_moments_excess(m)};
}

hkt_status hkt_kurtosis_values(size_t n, const double *x, hkt_kurtosis_result *out)
{
    hkt_moments m;
    HKT_TRY(hkt_api_given(__func__, "out", out));
    HKT_TRY(hkt_api_given(__func__, "x", x));
    HKT_TRY(hkt_api_count(__func__, "n", n, SIZE_MAX / sizeof *x));
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return hkt_fail(HKT_EINPUT, "%s: x[%zu]: expected a finite number, found %g", __func__, i, x[i]);
    hkt_moments_clear(&m);
    hkt_moments_add_block(&m, x, n);
    describe(&m, out);
    return HKT_OK;
}

hkt_status hkt_kurtosis_head(size_t n, size_t p, const double *q, size_t ld_q, const double *k, size_t ld_k,
                             bool causal, hkt_kurtosis_result *out)
{
    double *row;
    hkt_moments m;
    HKT_TRY(hkt_api_given(__func__, "out", out));
    HKT_TRY(hkt_api_head(__func__, n, p, q, ld_q, k, ld_k));
    HKT_TRY(HKT_NEW(&row, n));
    hkt_moments_clear(&m);
    for (size_t i = 0; i < n; i++) {
        const size_t used = causal ? i + 1 : n;
        hkt_products_f64(1, used, p, 1 / sqrt((double)p), q + i * ld_q, ld_q, k, ld_k, row, used);
        hkt_moments_add_block(&m, row, used);
    }
    hkt_free(row);
    describe(&m, out);
    return HKT_OK;
}

hkt_status hkt_kurtosis_initial(size_t d, size_t p, const double *wq, const double *wk, double *kappa)
{
    double *sq, trace = 0, trace2 = 0;
    HKT_TRY(hkt_api_given(__func__, "kappa", kappa));
    HKT_TRY(hkt_api_matrix(__func__, "wq", p, d, wq, d));
    HKT_TRY(hkt_api_matrix(__func__, "wk", p, d, wk, d));
    HKT_TRY(HKT_NEW(&sq, 3 * p * p));
    double *sk = sq + p * p, *product = sk + p * p;
    hkt_api_start();
    hkt_product(false, true, p, p, d, 1, wq, wq, 0, sq);
    hkt_product(false, true, p, p, d, 1, wk, wk, 0, sk);
    hkt_product(false, false, p, p, p, 1, sq, sk, 0, product);
    for (size_t i = 0; i < p; i++) {
        trace += product[i * p + i];
        for (size_t j = 0; j < p; j++)
            trace2 += product[i * p + j] * product[j * p + i];
    }
    *kappa = trace > 0 ? 1 + 2 * trace2 / (trace * trace) : (double)NAN;
    hkt_free(sq);
    return HKT_OK;
}

/* --- asymmetry ---------------------------------------------------------------------------------------------------- */

hkt_status hkt_asymmetry_head(size_t d, size_t p, const double *wq, const double *wk, hkt_asymmetry_result *out)
{
    hkt_energy energy;
    HKT_TRY(hkt_api_given(__func__, "out", out));
    HKT_TRY(hkt_api_matrix(__func__, "wq", p, d, wq, d));
    HKT_TRY(hkt_api_matrix(__func__, "wk", p, d, wk, d));
    hkt_api_start();
    HKT_TRY(hkt_energy_share(d, p, wq, wk, &energy));
    *out = (hkt_asymmetry_result){energy.share, energy.expected, energy.sd, energy.z};
    return HKT_OK;
}

/* --- bands -------------------------------------------------------------------------------------------------------- */

static hkt_status band_energy(const hkt_scene *s, size_t layer, hkt_bands_signal signal, double *energy)
{
    static const hkt_band_signal kind[] = {HKT_BANDS_RAW, HKT_BANDS_DETAIL, HKT_BANDS_OUTPUT};
    const hkt_config *c = &s->layout->config;
    const hkt_band_window window = hkt_band_window_of(s->T, c->stride, c->levels);
    if (window.n == 0)
        return hkt_fail(HKT_EINPUT, "hkt_bands_energy: %zu tokens are fewer than two rows of the coarsest level", s->T);
    memset(energy, 0, c->levels * c->levels * sizeof *energy);
    return hkt_band_scene(s, layer, kind[signal], window, energy);
}

hkt_status hkt_bands_energy(const hkt_model *model, size_t T, const int32_t *tokens, size_t layer,
                            hkt_bands_signal signal, double *energy)
{
    hkt_scene s;
    HKT_TRY(hkt_api_given(__func__, "model", model));
    HKT_TRY(hkt_api_given(__func__, "energy", energy));
    HKT_TRY(hkt_api_index(__func__, "layer", layer, model->checkpoint.layout->config.layers));
    HKT_TRY(hkt_api_index(__func__, "signal", (size_t)signal, HKT_BANDS_OF_OUTPUTS + 1));
    if (signal == HKT_BANDS_OF_OUTPUTS && model->checkpoint.layout->config.fusion == HKT_FUSION_SCORE)
        return hkt_fail(HKT_EUSAGE, "%s: levels of a model with score fusion have no outputs", __func__);
    hkt_status status = hkt_api_see(__func__, model, T, tokens, &s);
    if (status == HKT_OK)
        status = band_energy(&s, layer, signal, energy);
    hkt_scene_close(&s);
    return status;
}

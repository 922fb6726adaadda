#include <hkt/inertia.h>
#include <hkt/psd.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/math/certify.h"
#include "analysis/math/linalg.h"
#include "analysis/view/gram.h"
#include "api/api.h"
#include "base/mem.h"

/* --- inertia ------------------------------------------------------------------------------------------------------ */

/* w [m] ascending: the eigenvalues of a matrix [n, n] that need not be zero; the other n - m are. */
static void count_signs(size_t n, size_t m, const double *w, double tolerance, hkt_inertia_result *out)
{
    const hkt_inertia signs = hkt_inertia_of(m, w, tolerance);
    *out = (hkt_inertia_result){.positive = signs.positive,
                                .negative = signs.negative,
                                .zero = n - signs.positive - signs.negative,
                                .lowest = w[0],
                                .highest = w[m - 1],
                                .negative_mass = hkt_negative_mass(m, w)};
    if (n > m) {
        out->lowest = fmin(out->lowest, 0);
        out->highest = fmax(out->highest, 0);
    }
}

hkt_status hkt_inertia_matrix(size_t n, const double *a, hkt_inertia_result *out)
{
    double *w;
    hkt_api_start();
    HKT_TRY(hkt_api_given(__func__, "out", out));
    HKT_TRY(hkt_api_matrix(__func__, "a", n, n, a, n));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (a[i * n + j] != a[j * n + i])
                return hkt_fail(HKT_EINPUT,
                                "%s: a: expected a symmetric matrix, found %.17g at [%zu, %zu] and %.17g "
                                "at [%zu, %zu]",
                                __func__, a[i * n + j], i, j, a[j * n + i], j, i);
    HKT_TRY(HKT_NEW(&w, n));
    hkt_status status = hkt_eigenvalues(n, a, w);
    if (status == HKT_OK)
        count_signs(n, n, w, (double)n * DBL_EPSILON * fmax(-w[0], w[n - 1]), out);
    hkt_free(w);
    return status;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* size: of hkt_gram_tolerance. */
static hkt_status gram_signs(const hkt_gram *g, const double *size, hkt_inertia_result *out)
{
    double *w;
    const size_t m = smaller(g->T, g->L * g->d);
    HKT_TRY(HKT_NEW(&w, m));
    hkt_status status = hkt_gram_eigenvalues(g, w);
    if (status == HKT_OK)
        count_signs(g->T, m, w, hkt_gram_tolerance(g, size, (double)NAN), out);
    hkt_free(w);
    return status;
}

/* (q k^T + k q^T) / (2 sqrt(p)) = Z D Z^T with Z = [q | k] [n, 2p] and D = [0, I; I, 0] / (2 sqrt(p)). */
hkt_status hkt_inertia_head(size_t n, size_t p, const double *q, size_t ld_q, const double *k, size_t ld_k,
                            hkt_inertia_result *out)
{
    double *z, *d = NULL;
    hkt_api_start();
    HKT_TRY(hkt_api_given(__func__, "out", out));
    HKT_TRY(hkt_api_count(__func__, "p", p, 1 << 14)); /* D is dense */
    HKT_TRY(hkt_api_head(__func__, n, p, q, ld_q, k, ld_k));
    HKT_TRY(HKT_NEW(&z, n * 2 * p));
    hkt_status status = HKT_NEW(&d, 4 * p * p);
    if (status == HKT_OK) {
        for (size_t i = 0; i < n; i++) {
            memcpy(z + i * 2 * p, q + i * ld_q, p * sizeof *z);
            memcpy(z + i * 2 * p + p, k + i * ld_k, p * sizeof *z);
        }
        for (size_t i = 0; i < p; i++)
            d[i * 2 * p + p + i] = d[(p + i) * 2 * p + i] = 1 / (2 * sqrt((double)p));
        const hkt_gram g = {.T = n, .d = 2 * p, .L = 1, .stride = 2, .x = {z}, .ms = {d}, .lambda = {1}};
        status = gram_signs(&g, NULL, out);
    }
    hkt_free(d);
    hkt_free(z);
    return status;
}

static double squares(size_t n, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

static hkt_status hierarchy_signs(const hkt_scene *s, size_t layer, size_t head, hkt_inertia_result *out)
{
    const hkt_config *c = &s->layout->config;
    const hkt_tap_f64 *tap = s->tap + layer;
    double *ms, size[HKT_MAX_LEVELS];
    hkt_gram g = {.T = s->T, .d = s->d, .L = c->levels, .stride = c->stride};
    HKT_TRY(HKT_NEW(&ms, c->levels * s->d * s->d));
    for (size_t l = 0; l < c->levels; l++) {
        double *form = ms + l * s->d * s->d;
        const double *wq = hkt_query_rows(s->layout, s->params, layer, l, head);
        const double *wk = hkt_key_rows(s->layout, s->params, layer, l, head);
        hkt_score_form_sym(s->d, s->p, wq, wk, form);
        size[l] = sqrt(squares(s->d * s->p, wq) * squares(s->d * s->p, wk) / (double)s->p);
        g.x[l] = tap->x[l];
        g.ms[l] = form;
        g.lambda[l] = c->levels == 1 ? 1 : tap->lambda[l];
    }
    hkt_status status = gram_signs(&g, size, out);
    hkt_free(ms);
    return status;
}

hkt_status hkt_inertia_hierarchy(const hkt_model *model, size_t T, const int32_t *tokens, size_t layer, size_t head,
                                 hkt_inertia_result *out)
{
    hkt_scene s;
    HKT_TRY(hkt_api_given(__func__, "model", model));
    HKT_TRY(hkt_api_given(__func__, "out", out));
    HKT_TRY(hkt_api_index(__func__, "layer", layer, model->checkpoint.layout->config.layers));
    HKT_TRY(hkt_api_index(__func__, "head", head, model->checkpoint.layout->config.heads));
    hkt_status status = hkt_api_see(__func__, model, T, tokens, &s);
    if (status == HKT_OK)
        status = hierarchy_signs(&s, layer, head, out);
    hkt_scene_close(&s);
    return status;
}

/* --- certificates ------------------------------------------------------------------------------------------------- */

hkt_status hkt_psd_certify(size_t n, const double *a, hkt_psd_certificate *out)
{
    static const hkt_psd_verdict verdict[] = {
        [HKT_CERT_PD] = HKT_PSD_DEFINITE,      [HKT_CERT_PSD_SHIFT] = HKT_PSD_SHIFTED,
        [HKT_CERT_NOT_PSD] = HKT_PSD_NEGATIVE, [HKT_CERT_INCONCLUSIVE] = HKT_PSD_INCONCLUSIVE,
        [HKT_CERT_REFUSED] = HKT_PSD_REFUSED,
    };
    hkt_certificate c;
    hkt_api_start();
    HKT_TRY(hkt_api_given(__func__, "out", out));
    HKT_TRY(hkt_api_given(__func__, "a", a));
    HKT_TRY(hkt_api_count(__func__, "n", n, HKT_API_MOST));
    HKT_TRY(hkt_certify(n, a, &c));
    *out = (hkt_psd_certificate){verdict[c.verdict], c.delta, c.quotient, c.quotient_error};
    return HKT_OK;
}

const char *hkt_psd_verdict_name(hkt_psd_verdict verdict)
{
    static const char *const name[] = {"definite", "shifted", "negative", "inconclusive", "refused"};
    return (size_t)verdict < sizeof name / sizeof *name ? name[verdict] : "unknown";
}

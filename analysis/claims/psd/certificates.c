/* certificates.c - the certificates of `psd`: lowest eigenvalues, negative quotients and inertias that hkt-check
 * decides (docs/certificates.md). */
#include <math.h>
#include <stdio.h>

#include "analysis/claims/certificate.h"
#include "analysis/claims/psd/psd.h"
#include "analysis/math/certify.h"
#include "analysis/view/scene.h"
#include "base/mem.h"

/* Adds x, lambda and, when there is a subject, its weights. */
static void add_model(hkt_certificate_file *f, const hkt_gram *g, const hkt_subject *s, size_t layer, size_t head)
{
    hkt_certificate_add(f, "lambda", SIZE_MAX, 1, g->L, g->lambda);
    for (size_t l = 0; l < g->L; l++) {
        hkt_certificate_add(f, "x", l, hkt_level_length(g->T, g->stride, l), g->d, g->x[l]);
        if (!s)
            continue;
        size_t p = g->d / s->layout->config.heads;
        hkt_certificate_add(f, "wq", l, p, g->d, hkt_subject_wq(s, layer, l, head));
        hkt_certificate_add(f, "wk", l, p, g->d, hkt_subject_wk(s, layer, l, head));
    }
}

static hkt_status write(const hkt_certificate_file *f, const hkt_verify_context *ctx, const char *check, size_t layer,
                        size_t head, size_t stride, const char *claim)
{
    char name[80], about[120];
    snprintf(name, sizeof name, "psd-%s-%zu-%zu", check, layer, head);
    snprintf(about, sizeof about, "check %s of psd, layer %zu, head %zu", check, layer, head);
    return hkt_certificate_write(f, ctx, name, about, stride, claim);
}

/* f [d, d] with f f' close to m: eigenvectors times roots; *excess: what is left of m - f f' below zero, at most (its
 * largest row beyond the diagonal, rounding included). work [2 d d + d],
 * support [2 d]. */
static hkt_status factor(size_t d, const double *m, double *f, double *work, int *support, double *excess)
{
    double *v = work, *copy = v + d * d, *w = copy + d * d;
    for (size_t i = 0; i < d * d; i++)
        copy[i] = m[i];
    HKT_TRY(hkt_eigen_highest(d, d, copy, w, v, support));
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < d; k++)
            f[i * d + k] = v[k * d + i] * sqrt(fmax(w[k], 0));
    *excess = 0;
    for (size_t i = 0; i < d; i++) {
        double row = 0;
        for (size_t j = 0; j < d; j++) {
            double left = m[i * d + j], size = fabs(left);
            for (size_t k = 0; k < d; k++) {
                left -= f[i * d + k] * f[j * d + k];
                size += fabs(f[i * d + k] * f[j * d + k]);
            }
            row += (i == j ? -left : fabs(left)) + hkt_gamma(2 * d + 8) * size;
        }
        *excess = fmax(*excess, row);
    }
    return HKT_OK;
}

/* sum over the tokens of |x_{i_l}|^2 */
static double input_norm(const hkt_gram *g, size_t l)
{
    double sum = 0;
    size_t factor_l = hkt_level_factor(g->stride, l);
    for (size_t i = 0; i < g->T; i++)
        for (size_t j = 0; j < g->d; j++)
            sum += g->x[l][i / factor_l * g->d + j] * g->x[l][i / factor_l * g->d + j];
    return sum;
}

hkt_status hkt_psd_write_lowest(const hkt_verify_context *ctx, const char *check, size_t layer, size_t head,
                                const hkt_gram *g)
{
    hkt_certificate_file file = {0};
    char claim[HKT_FRACTION + 16] = "lowest ";
    double *f = NULL, below = 0, excess;
    size_t d = g->d;
    if (!ctx->certificates)
        return HKT_OK;
    int *support = NULL;
    HKT_TRY(HKT_NEW(&f, (g->L + 2) * d * d + d));
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&support, 2 * d));
    add_model(&file, g, NULL, 0, 0);
    for (size_t l = 0; l < g->L; l++) {
        HKT_TRY_GOTO(status, done, factor(d, g->ms[l], f + l * d * d, f + g->L * d * d, support, &excess));
        hkt_certificate_add(&file, "m", l, d, d, g->ms[l]);
        hkt_certificate_add(&file, "f", l, d, d, f + l * d * d);
        below += g->lambda[l] * excess * input_norm(g, l);
    }
    hkt_certificate_fraction(below, true, claim + 7);
    status = write(&file, ctx, check, layer, head, g->stride, claim);
done:
    hkt_free(support);
    hkt_free(f);
    return status;
}

hkt_status hkt_psd_write_negative(const hkt_verify_context *ctx, const char *check, size_t layer, size_t head,
                                  const hkt_subject *s, const hkt_gram *g, const double *v, double quotient)
{
    hkt_certificate_file file = {0};
    char claim[HKT_FRACTION + 16] = "negative ";
    double norm = 0;
    if (!ctx->certificates)
        return HKT_OK;
    add_model(&file, g, s, layer, head);
    hkt_certificate_add(&file, "v", SIZE_MAX, 1, g->T, v);
    for (size_t i = 0; i < g->T; i++)
        norm += v[i] * v[i];
    /* The claim is of the forms without the division by sqrt(p). */
    size_t p = g->d / s->layout->config.heads;
    hkt_certificate_fraction(-quotient * sqrt((double)p) / norm, false, claim + 9);
    return write(&file, ctx, check, layer, head, g->stride, claim);
}

hkt_status hkt_psd_write_inertia(const hkt_verify_context *ctx, const char *check, size_t layer, size_t head,
                                 const hkt_subject *s, const hkt_gram *g, size_t n)
{
    hkt_certificate_file file = {0};
    char claim[40];
    if (!ctx->certificates)
        return HKT_OK;
    add_model(&file, g, s, layer, head);
    snprintf(claim, sizeof claim, "inertia %zu", n);
    return write(&file, ctx, check, layer, head, g->stride, claim);
}

hkt_status hkt_psd_write_form(const hkt_verify_context *ctx, const hkt_subject *s, size_t layer, size_t level,
                              size_t head)
{
    static const double one = 1;
    hkt_certificate_file file = {0};
    size_t d = s->layout->config.d_model, p = d / s->layout->config.heads;
    char check[48], claim[40];
    double *unit = NULL;
    if (!ctx->certificates)
        return HKT_OK;
    HKT_TRY(HKT_NEW(&unit, d * d));
    for (size_t i = 0; i < d; i++)
        unit[i * d + i] = 1;
    hkt_certificate_add(&file, "lambda", SIZE_MAX, 1, 1, &one);
    hkt_certificate_add(&file, "x", 0, d, d, unit);
    hkt_certificate_add(&file, "wq", 0, p, d, hkt_subject_wq(s, layer, level, head));
    hkt_certificate_add(&file, "wk", 0, p, d, hkt_subject_wk(s, layer, level, head));
    snprintf(check, sizeof check, "generic-inertia-width-%zu-level-%zu", p, level);
    snprintf(claim, sizeof claim, "inertia %zu", p);
    hkt_status status = write(&file, ctx, check, layer, head, 2, claim);
    hkt_free(unit);
    return status;
}

hkt_status hkt_psd_write_dense(const hkt_verify_context *ctx, const char *check, size_t which, size_t n,
                               const double *a, const double *v)
{
    static const double one = 1;
    hkt_certificate_file file = {0};
    char claim[HKT_FRACTION + 16] = "negative 0";
    double *unit = NULL;
    if (!ctx->certificates)
        return HKT_OK;
    HKT_TRY(HKT_NEW(&unit, 2 * n * n));
    for (size_t i = 0; i < n; i++)
        unit[i * n + i] = 1;
    hkt_certificate_add(&file, "lambda", SIZE_MAX, 1, 1, &one);
    hkt_certificate_add(&file, "x", 0, n, n, unit);
    hkt_certificate_add(&file, v ? "wq" : "m", 0, n, n, v ? unit : a);
    if (v) {
        hkt_certificate_add(&file, "wk", 0, n, n, a);
        hkt_certificate_add(&file, "v", SIZE_MAX, 1, n, v);
    } else {
        /* f f' = a - c I up to rounding, c half the least pivot: what is left is dominated by its diagonal. */
        double *f = unit + n * n, least = a[0];
        snprintf(claim, sizeof claim, "lowest 0");
        for (int half = 0; half < 60; half++, least /= 2) {
            for (size_t i = 0; i < n * n; i++)
                f[i] = a[i];
            for (size_t i = 0; i < n; i++)
                f[i * n + i] -= least;
            if (hkt_cholesky(n, f) == n)
                break;
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n; j++)
                f[i * n + j] = 0;
        hkt_certificate_add(&file, "f", 0, n, n, f);
    }
    hkt_status status = write(&file, ctx, check, 0, which, 2, claim);
    hkt_free(unit);
    return status;
}

#include "analysis/view/gram.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/math/certify.h"
#include "analysis/view/asymmetry.h"
#include "base/mem.h"

void hkt_score_form_sym(size_t d, size_t p, const double *wq, const double *wk, double *ms)
{
    hkt_score_form(d, p, wq, wk, ms);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            ms[i * d + j] = ms[j * d + i] = (ms[i * d + j] + ms[j * d + i]) / 2;
}

/* Row i of Z; floor(i / s^l) = floor(floor(i / s^(l-1)) / s). */
static void z_row(const hkt_gram *g, size_t i, double *row)
{
    for (size_t l = 0; l < g->L; l++, i /= g->stride)
        memcpy(row + l * g->d, g->x[l] + i * g->d, g->d * sizeof *row);
}

/* r [Ld, Ld]: R of Z, its first *k rows. */
static hkt_status z_factor(const hkt_gram *g, double *r, size_t *k)
{
    hkt_tsqr *qr;
    HKT_TRY(hkt_tsqr_create(&qr, g->L * g->d));
    hkt_status status;
    for (size_t i = 0; i < g->T; i++) {
        double *row;
        HKT_TRY_GOTO(status, done, hkt_tsqr_next(qr, &row));
        z_row(g, i, row);
    }
    status = hkt_tsqr_finish(qr, r, k);
done:
    hkt_tsqr_destroy(qr);
    return status;
}

void hkt_gram_form(const hkt_gram *g, double *out)
{
    size_t n = g->L * g->d;
    memset(out, 0, n * n * sizeof *out);
    for (size_t l = 0; l < g->L; l++)
        for (size_t i = 0; i < g->d; i++)
            for (size_t j = 0; j < g->d; j++)
                out[(l * g->d + i) * n + l * g->d + j] = g->lambda[l] * g->ms[l][i * g->d + j];
}

/* s [k, k] = R D R^T, exactly symmetric; r [k, n]; rd [k, n] scratch. */
static void small_form(const hkt_gram *g, size_t k, const double *r, double *rd, double *s)
{
    size_t n = g->L * g->d;
    for (size_t l = 0; l < g->L; l++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)k, (int)g->d, (int)g->d, g->lambda[l], r + l * g->d,
                    (int)n, g->ms[l], (int)g->d, 0, rd + l * g->d, (int)n);
    hkt_product(false, true, k, k, n, 1, rd, r, 0, s);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < i; j++)
            s[i * k + j] = s[j * k + i] = (s[i * k + j] + s[j * k + i]) / 2;
}

/* *r [n, n], *s [n, n] (its leading k x k part packed with row stride k) in one block *r owns. */
static hkt_status factor_and_form(const hkt_gram *g, double **r, double **s, size_t *k)
{
    size_t n = g->L * g->d;
    HKT_TRY(hkt_alloc((void **)r, 3 * n * n, sizeof **r, "gram matrix by structure"));
    *s = *r + n * n;
    hkt_status status = z_factor(g, *r, k);
    if (status == HKT_OK)
        small_form(g, *k, *r, *s + n * n, *s);
    else
        hkt_free(*r);
    return status;
}

hkt_status hkt_gram_eigenvalues(const hkt_gram *g, double *w)
{
    size_t n = g->L * g->d, k;
    double *r = NULL;
    HKT_TRY(HKT_NEW(&r, n * n));
    hkt_status status;
    HKT_TRY_GOTO(status, done, z_factor(g, r, &k));
    status = hkt_gram_eigenvalues_of(g, k, r, w);
done:
    hkt_free(r);
    return status;
}

hkt_status hkt_gram_eigenvalues_of(const hkt_gram *g, size_t k, const double *r, double *w)
{
    size_t n = g->L * g->d;
    double *s = NULL;
    HKT_TRY(HKT_NEW(&s, 2 * n * n));
    small_form(g, k, r, s + n * n, s);
    hkt_status status = hkt_eigenvalues(k, s, w);
    hkt_free(s);
    return status;
}

/* rank of R [n, n]: the rank of Z, which has T rows. */
static hkt_status factor_rank(const hkt_gram *g, const double *r, size_t *rank, double *norm)
{
    size_t n = g->L * g->d;
    double *w = NULL, sum = 0;
    HKT_TRY(HKT_NEW(&w, n));
    hkt_status status = hkt_singular_values(n, n, r, w);
    if (status == HKT_OK)
        *rank = hkt_rank_of(g->T > n ? g->T : n, n, w);
    for (size_t i = 0; i < n; i++)
        sum += w[i] * w[i];
    if (norm)
        *norm = sqrt(sum);
    hkt_free(w);
    return status;
}

hkt_status hkt_gram_rank(const hkt_gram *g, size_t *rank, double *norm)
{
    size_t n = g->L * g->d, k;
    double *r = NULL;
    HKT_TRY(HKT_NEW(&r, n * n));
    hkt_status status;
    HKT_TRY_GOTO(status, done, z_factor(g, r, &k));
    status = factor_rank(g, r, rank, norm);
done:
    hkt_free(r);
    return status;
}

/* out += lambda U_l X M_s X^T U_l^T; xm [T_l, d] and s [T_l, T_l] are scratch. */
static void add_level(const hkt_gram *g, size_t l, double *xm, double *s, double *out)
{
    size_t n = hkt_level_length(g->T, g->stride, l), d = g->d, step = 1;
    for (size_t i = 0; i < l; i++)
        step *= g->stride;
    hkt_product(false, false, n, d, d, 1, g->x[l], g->ms[l], 0, xm);
    hkt_product(false, true, n, n, d, 1, xm, g->x[l], 0, s);
    for (size_t i = 0; i < g->T; i++)
        for (size_t j = 0; j < g->T; j++)
            out[i * g->T + j] += g->lambda[l] * s[i / step * n + j / step];
}

hkt_status hkt_gram_dense(const hkt_gram *g, double *out)
{
    double *xm = NULL;
    HKT_TRY(HKT_NEW(&xm, g->T * g->d + g->T * g->T));
    memset(out, 0, g->T * g->T * sizeof *out);
    for (size_t l = 0; l < g->L; l++)
        add_level(g, l, xm, xm + g->T * g->d, out);
    for (size_t i = 0; i < g->T; i++)
        for (size_t j = 0; j < i; j++)
            out[i * g->T + j] = out[j * g->T + i] = (out[i * g->T + j] + out[j * g->T + i]) / 2;
    hkt_free(xm);
    return HKT_OK;
}

/* v = Z y / |Z y|; row [Ld] is scratch. */
static void unit_image(const hkt_gram *g, const double *y, double *row, double *v)
{
    for (size_t i = 0; i < g->T; i++) {
        z_row(g, i, row);
        v[i] = cblas_ddot((int)(g->L * g->d), row, 1, y, 1);
    }
    double norm = cblas_dnrm2((int)g->T, v, 1);
    for (size_t i = 0; i < g->T; i++)
        v[i] /= norm;
}

/* With y the lowest eigenvector of R D R^T, v = Q y = Z R^-1 y has v^T G v = y^T R D R^T y: the lowest eigenvalue of G
 * when it is negative. */
hkt_status hkt_gram_witness(const hkt_gram *g, double *v, double *value)
{
    size_t n = g->L * g->d, k, rank = 0;
    double *r, *s, *y = NULL, lowest, error;
    HKT_TRY(factor_and_form(g, &r, &s, &k));
    hkt_status status;
    HKT_TRY_GOTO(status, done, factor_rank(g, r, &rank, NULL));
    if (rank < n) {
        status = hkt_fail(HKT_EINPUT,
                          "witness: expected level inputs of full column rank %zu, "
                          "found rank %zu",
                          n, rank);
        goto done;
    }
    HKT_TRY_GOTO(status, done, HKT_NEW(&y, 2 * n));
    HKT_TRY_GOTO(status, done, hkt_eigen_lowest(n, s, &lowest, y));
    cblas_dtrsv(CblasRowMajor, CblasUpper, CblasNoTrans, CblasNonUnit, (int)n, r, (int)n, y, 1);
    unit_image(g, y, y + n, v);
    status = hkt_gram_quadratic(g, v, value, &error);
done:
    hkt_free(y);
    hkt_free(r);
    return status;
}

/* One level's term w^T M_s w with w = X^T U^T v, and its error bound; w, e [d] scratch. */
static void level_quadratic(const hkt_gram *g, size_t l, const double *v, double *w, double *e, double *value,
                            double *error)
{
    size_t d = g->d, step = 1;
    for (size_t i = 0; i < l; i++)
        step *= g->stride;
    memset(w, 0, d * sizeof *w);
    memset(e, 0, d * sizeof *e);
    for (size_t i = 0; i < g->T; i++)
        for (size_t c = 0; c < d; c++) {
            double term = v[i] * g->x[l][i / step * d + c];
            w[c] += term;
            e[c] += fabs(term);
        }
    /* |w - exact| <= gamma_{T+1} |X|^T U^T |v| <= gamma_{2T+2} of the computed sum, and DBL_MIN for underflow in T
     * products. */
    for (size_t c = 0; c < d; c++)
        e[c] = hkt_gamma(2 * g->T + 2) * e[c] + DBL_MIN;
    double sum = 0, size = 0, from_w = 0, largest = 1;
    for (size_t a = 0; a < d; a++) {
        double row = 0, row_abs = 0, row_e = 0;
        for (size_t b = 0; b < d; b++) {
            double m = g->ms[l][a * d + b];
            row += m * w[b];
            row_abs += fabs(m) * fabs(w[b]);
            row_e += fabs(m) * e[b];
        }
        sum += w[a] * row;
        size += fabs(w[a]) * row_abs;
        from_w += 2 * fabs(w[a]) * row_e + e[a] * row_e;
        largest = fmax(largest, 1 + fabs(w[a]) + e[a]);
    }
    *value = sum;
    /* A product of a row that underflows is off by up to 2^-1075 and multiplied by |w_a|, or, in the bound, by
     * 2 |w_a| + e_a. */
    double lost = 4 * (double)d * (double)(d + 1) * 0x1p-1074 * largest;
    *error = hkt_gamma(2 * (2 * d + g->L + 4)) * size + from_w + lost + DBL_MIN;
}

hkt_status hkt_gram_quadratic(const hkt_gram *g, const double *v, double *value, double *error)
{
    double *w = NULL, sum = 0, bound = 0;
    HKT_TRY(HKT_NEW(&w, 2 * g->d));
    for (size_t l = 0; l < g->L; l++) {
        double q, e;
        level_quadratic(g, l, v, w, w + g->d, &q, &e);
        sum += g->lambda[l] * q;
        bound += g->lambda[l] * e;
    }
    hkt_free(w);
    *value = sum;
    bound += DBL_MIN; /* lambda_l times a value or an error may underflow */
    /* The bound is itself a sum of non-negative terms through at most 2 T + 4 d + 2 L + 64 roundings. */
    bound *= 1 + 2 * hkt_gamma(2 * g->T + 4 * g->d + 2 * g->L + 64);
    *error = isfinite(sum) && isfinite(bound) && hkt_arithmetic_is_ieee() ? bound : (double)INFINITY;
    return HKT_OK;
}

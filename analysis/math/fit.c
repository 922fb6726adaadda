#include "analysis/math/fit.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>

hkt_status hkt_fit_line(size_t n, const double *x, const double *y, double level, hkt_line *out)
{
    double low = (double)INFINITY, high = (double)-INFINITY, c00, c01, c11;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    if (n < 3 || !(low < high))
        return hkt_fail(HKT_EINPUT, "line: expected 3 points or more at different x, found %zu from %g to %g", n, low,
                        high);
    gsl_fit_linear(x, 1, y, 1, n, &out->a, &out->b, &c00, &c01, &c11, &out->rss);
    double t = gsl_cdf_tdist_Pinv((1 + level) / 2, (double)n - 2);
    out->b_error = sqrt(c11);
    out->b_low = out->b - t * out->b_error;
    out->b_high = out->b + t * out->b_error;
    return HKT_OK;
}

/* log E_L for L = 1 .. n. */
typedef struct {
    size_t n;
    double y[HKT_FIT_MOST];
} series;

/* Residuals and derivatives of y = log(f + C q^L) in (log f, log C, log(-log q)), which keep f, C > 0 and 0 < q < 1. */
static int floor_residual(const gsl_vector *at, void *data, gsl_vector *out)
{
    const series *s = data;
    double f = exp(gsl_vector_get(at, 0)), C = exp(gsl_vector_get(at, 1)), k = exp(gsl_vector_get(at, 2));
    for (size_t i = 0; i < s->n; i++)
        gsl_vector_set(out, i, log(f + C * exp(-k * (double)(i + 1))) - s->y[i]);
    return GSL_SUCCESS;
}

static int floor_derivative(const gsl_vector *at, void *data, gsl_matrix *out)
{
    const series *s = data;
    double f = exp(gsl_vector_get(at, 0)), C = exp(gsl_vector_get(at, 1)), k = exp(gsl_vector_get(at, 2));
    for (size_t i = 0; i < s->n; i++) {
        double L = (double)(i + 1), term = C * exp(-k * L), value = f + term;
        gsl_matrix_set(out, i, 0, f / value);
        gsl_matrix_set(out, i, 1, term / value);
        gsl_matrix_set(out, i, 2, -k * L * term / value);
    }
    return GSL_SUCCESS;
}

/* Levenberg-Marquardt from the ratio q and a floor just below the last element. Where it stops without convergence the
 * parameters it has reached stand: a floor law that is fitted too badly is only taken for worse than it is. */
static void floor_from(gsl_multifit_nlinear_workspace *w, gsl_multifit_nlinear_fdf *fdf, series *s, double q,
                       hkt_decay_fit *out, double *best)
{
    double last = exp(s->y[s->n - 1]), f = 0.9 * last, C = fmax(exp(s->y[0]) - f, 0.1 * last) / q, rss = 0;
    double at[3] = {log(f), log(C), log(-log(q))};
    gsl_vector_view start = gsl_vector_view_array(at, 3);
    int why;
    if (gsl_multifit_nlinear_init(&start.vector, fdf, w) != GSL_SUCCESS)
        return;
    gsl_multifit_nlinear_driver(200, 1e-10, 1e-10, 0, NULL, NULL, &why, w);
    for (size_t i = 0; i < s->n; i++)
        rss += pow(gsl_vector_get(gsl_multifit_nlinear_residual(w), i), 2);
    if (rss < *best) {
        const gsl_vector *p = gsl_multifit_nlinear_position(w);
        *best = rss;
        out->floor = exp(gsl_vector_get(p, 0));
        out->floor_C = exp(gsl_vector_get(p, 1));
        out->floor_q = exp(-exp(gsl_vector_get(p, 2)));
    }
}

/* *rss in: infinite. */
static hkt_status fit_floor(series *s, hkt_decay_fit *out, double *rss)
{
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf fdf = {.f = floor_residual, .df = floor_derivative, .n = s->n, .p = 3, .params = s};
    gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, s->n, 3);
    if (!w)
        return hkt_fail(HKT_ESYSTEM, "decay fit: out of memory");
    for (double q = 0.2; q < 0.95; q += 0.2)
        floor_from(w, &fdf, s, q, out, rss);
    gsl_multifit_nlinear_free(w);
    return HKT_OK;
}

/* k parameters, the variance among them; n log(rss/n) is -2 log likelihood up to a constant. */
static double aicc(double n, double rss, double k, double noise)
{
    return n * log(rss / n + noise * noise) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

static void decide(hkt_decay_fit *f)
{
    hkt_law other = f->aicc[HKT_LAW_POWER] <= f->aicc[HKT_LAW_FLOOR] ? HKT_LAW_POWER : HKT_LAW_FLOOR;
    f->margin = f->aicc[other] - f->aicc[HKT_LAW_GEOMETRIC];
    if (f->margin >= HKT_FIT_MARGIN && f->rho_high < 1)
        f->law = HKT_LAW_GEOMETRIC;
    else if (f->margin <= -HKT_FIT_MARGIN)
        f->law = other;
}

static hkt_status fit_laws(series *s, const hkt_decay_spec *spec, hkt_decay_fit *out)
{
    double x[HKT_FIT_MOST], log_x[HKT_FIT_MOST], n = (double)s->n, floor_rss = (double)INFINITY;
    hkt_line geometric, power;
    for (size_t i = 0; i < s->n; i++) {
        x[i] = (double)(i + 1);
        log_x[i] = log(x[i]);
    }
    HKT_TRY(hkt_fit_line(s->n, x, s->y, spec->level, &geometric));
    HKT_TRY(hkt_fit_line(s->n, log_x, s->y, spec->level, &power));
    HKT_TRY(fit_floor(s, out, &floor_rss));
    out->C = exp(geometric.a);
    out->rho = exp(geometric.b);
    out->rho_low = exp(geometric.b_low);
    out->rho_high = exp(geometric.b_high);
    out->exponent = -power.b;
    out->aicc[HKT_LAW_GEOMETRIC] = aicc(n, geometric.rss, 3, spec->noise);
    out->aicc[HKT_LAW_POWER] = aicc(n, power.rss, 3, spec->noise);
    out->aicc[HKT_LAW_FLOOR] = aicc(n, floor_rss, 4, spec->noise);
    decide(out);
    return HKT_OK;
}

hkt_status hkt_fit_decay(size_t n, const double *e, const hkt_decay_spec *spec, hkt_decay_fit *out)
{
    const double none = (double)NAN;
    series s = {0};
    *out = (hkt_decay_fit){.C = none,
                           .rho = none,
                           .rho_low = none,
                           .rho_high = none,
                           .exponent = none,
                           .floor = none,
                           .floor_C = none,
                           .floor_q = none,
                           .aicc = {none, none, none},
                           .margin = none,
                           .law = HKT_LAW_UNDECIDED};
    HKT_ASSERT(n <= HKT_FIT_MOST);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(e[i]) || e[i] < 0)
            return hkt_fail(HKT_EINPUT, "decay fit: expected finite values of 0 or more, found %g at %zu", e[i], i + 1);
    while (s.n < n && e[s.n] > 0 && e[s.n] >= spec->least) {
        s.y[s.n] = log(e[s.n]);
        s.n++;
    }
    out->n = s.n;
    return s.n < HKT_FIT_LEAST ? HKT_OK : fit_laws(&s, spec, out);
}

const char *hkt_law_name(hkt_law law)
{
    static const char *const name[] = {"geometric", "power law", "floor", "undecided"};
    return name[law];
}

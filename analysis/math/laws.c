#include "analysis/math/laws.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sf_bessel.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stddef.h>

#define LOG_2    0.69314718055994530942
#define LOG_PI   1.14472988584940017414
#define LOG_2_PI 1.83787706640934548356

/* --- Student, nu degrees of freedom --- */

static double student_parameter(double kappa)
{
    return 4 + 2 / (kappa - 1);
}

/* log((1 + x^2/nu)^(-(nu+1)/2) / (sqrt(nu) B(nu/2, 1/2))) */
static double student_log_density(double nu, double t)
{
    double z = 2 * t - log(nu), log1p_z = z > 40 ? z : log1p(exp(z));
    return -0.5 * (nu + 1) * log1p_z - 0.5 * log(nu) - gsl_sf_lnbeta(nu / 2, 0.5);
}

static double student_log_sd(double nu)
{
    return 0.5 * log(nu / (nu - 2));
}

static double student_entropy(double nu)
{
    return 0.5 * (nu + 1) * (gsl_sf_psi(0.5 * (nu + 1)) - gsl_sf_psi(0.5 * nu)) + 0.5 * log(nu) +
           gsl_sf_lnbeta(nu / 2, 0.5);
}

const hkt_family hkt_family_student = {.name = "student",
                                       .kappa_low = 1,
                                       .kappa_high = (double)INFINITY,
                                       .parameter = student_parameter,
                                       .log_density = student_log_density,
                                       .log_sd = student_log_sd,
                                       .entropy = student_entropy};

/* --- symmetric beta on [-1, 1], a = m + 1 --- */

static double beta_parameter(double kappa)
{
    return 1 / (1 - kappa) - 1.5;
}

/* log((1 - x^2)^(a-1) / (4^(a-1/2) B(a, a))), from (x + 1)/2 ~ Beta(a, a). */
static double beta_log_density(double a, double t)
{
    if (t >= 0)
        return (double)-INFINITY;
    return (a - 1) * log(-expm1(2 * t)) - (2 * a - 1) * LOG_2 - gsl_sf_lnbeta(a, a);
}

static double beta_log_sd(double a)
{
    return -0.5 * log(2 * a + 1);
}

static double beta_entropy(double a)
{
    return gsl_sf_lnbeta(a, a) + LOG_2 - 2 * (a - 1) * (gsl_sf_psi(a) - gsl_sf_psi(2 * a));
}

static double at_one(double parameter)
{
    (void)parameter;
    return 0;
}

const hkt_family hkt_family_beta = {.name = "beta",
                                    .kappa_low = 1.0 / 3,
                                    .kappa_high = 1,
                                    .parameter = beta_parameter,
                                    .log_density = beta_log_density,
                                    .log_sd = beta_log_sd,
                                    .entropy = beta_entropy,
                                    .log_edge = at_one};

/* --- x . y of independent normal vectors in R^p: sqrt(G) z with G gamma(p/2, 2)-like, so p may be any real --- */

static double dot_parameter(double kappa)
{
    return 2 / (kappa - 1);
}

/* log(|x|^v K_v(|x|) / (sqrt(pi) Gamma(p/2) 2^v)), v = (p-1)/2, K_-v = K_v. */
static double dot_log_density(double p, double t)
{
    double v = 0.5 * (p - 1), x = exp(t);
    if (x > 1e5) /* below every other term, and GSL's range ends */
        return (double)-INFINITY;
    return v * t + gsl_sf_bessel_lnKnu(fabs(v), x) - 0.5 * LOG_PI - gsl_sf_lngamma(p / 2) - v * LOG_2;
}

static double dot_log_sd(double p)
{
    return 0.5 * log(p);
}

static double dot_origin(double p)
{
    return p < 1 ? p : 1;
}

const hkt_family hkt_family_dot = {.name = "dot product",
                                   .kappa_low = 1,
                                   .kappa_high = 33.5, /* below: the density spreads over more than 700 powers of e */
                                   .parameter = dot_parameter,
                                   .log_density = dot_log_density,
                                   .log_sd = dot_log_sd,
                                   .origin = dot_origin};

/* --- exponential power --- */

/* log kappa(b) = log(Gamma(5/b) Gamma(1/b) / (3 Gamma(3/b)^2)), u = log b */
static double power_log_kappa(double u, void *target)
{
    double c = exp(-u), *log_kappa = target;
    return gsl_sf_lngamma(5 * c) + gsl_sf_lngamma(c) - 2 * gsl_sf_lngamma(3 * c) - log(3) - *log_kappa;
}

static double power_parameter(double kappa)
{
    double log_kappa = log(kappa), u = (double)NAN;
    gsl_function f = {power_log_kappa, &log_kappa};
    gsl_root_fsolver *s = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
    if (s && gsl_root_fsolver_set(s, &f, log(0.2), log(1e4)) == GSL_SUCCESS) {
        int status = GSL_CONTINUE;
        for (int i = 0; i < 200 && status == GSL_CONTINUE; i++) {
            gsl_root_fsolver_iterate(s);
            u = gsl_root_fsolver_root(s);
            status = gsl_root_test_interval(gsl_root_fsolver_x_lower(s), gsl_root_fsolver_x_upper(s), 0, 1e-15);
        }
    }
    if (s)
        gsl_root_fsolver_free(s);
    return exp(u);
}

static double power_log_density(double b, double t)
{
    return -exp(b * t) - LOG_2 - gsl_sf_lngamma(1 + 1 / b);
}

static double power_log_sd(double b)
{
    return 0.5 * (gsl_sf_lngamma(3 / b) - gsl_sf_lngamma(1 / b));
}

static double power_entropy(double b)
{
    return 1 / b + LOG_2 + gsl_sf_lngamma(1 + 1 / b);
}

const hkt_family hkt_family_power = {.name = "exponential power",
                                     .kappa_low = 0.6,
                                     .kappa_high = 600, /* b = 0.2, where the search for b begins */
                                     .parameter = power_parameter,
                                     .log_density = power_log_density,
                                     .log_sd = power_log_sd,
                                     .entropy = power_entropy,
                                     .log_edge = at_one}; /* where large b end */

/* --- Gram-Charlier --- */

static double gram_charlier_parameter(double kappa)
{
    return 3 * (kappa - 1);
}

static double gram_charlier_log_density(double excess, double t)
{
    double x2 = exp(2 * t);
    return -0.5 * x2 - 0.5 * LOG_2_PI + log1p(excess / 24 * (x2 * x2 - 6 * x2 + 3));
}

const hkt_family hkt_family_gram_charlier = {.name = "gram-charlier",
                                             .kappa_low = 1,
                                             .kappa_high = 7.0 / 3, /* beyond, the density is negative somewhere */
                                             .parameter = gram_charlier_parameter,
                                             .log_density = gram_charlier_log_density,
                                             .log_sd = at_one};

/* --- two normals --- */

enum { MIXTURE_KAPPA = 33 };

/* With q = (1 - a^2)^2/(kappa - 1): e = q/(1 + q), b^2 = 1 + (kappa - 1)/(1 - a^2). */
static double mixture_log_density(double log_a, double t)
{
    double gap = -expm1(2 * log_a), q = gap * gap / (MIXTURE_KAPPA - 1);
    double log_b = 0.5 * log1p((MIXTURE_KAPPA - 1) / gap);
    double narrow = -log1p(q) - log_a - 0.5 * exp(2 * (t - log_a));
    double wide = log(q) - log1p(q) - log_b - 0.5 * exp(2 * (t - log_b));
    double top = fmax(narrow, wide);
    return isinf(top) ? top : top + log(exp(narrow - top) + exp(wide - top)) - 0.5 * LOG_2_PI;
}

static double mixture_log_core(double log_a)
{
    return log_a;
}

const hkt_family hkt_family_mixture = {
    .name = "two normals", .log_density = mixture_log_density, .log_sd = at_one, .log_core = mixture_log_core};

/* --- quadrature in t = log x --- */

enum { INTERVALS = 4000, MAX_POINTS = 12 };

typedef struct {
    const hkt_family *f;
    double parameter, log_sd;
    int order;
} integrand;

/* 2 x (f log(f/phi) - f + phi): its integral over t is J, since f and phi have mass 1, and it is nowhere negative. */
static double divergence(double t, void *self)
{
    const integrand *w = self;
    double z = t - w->log_sd, log_phi = -0.5 * exp(2 * z) - 0.5 * LOG_2_PI - w->log_sd;
    double log_f = w->f->log_density(w->parameter, t), d = log_f - log_phi;
    double phi = exp(log_phi + t), density = exp(log_f + t);
    if (density == 0)
        return 2 * phi;
    if (fabs(d) < 1e-2) /* the difference below would cancel: sum_{k>=2} d^k (k-1)/k! */
        return 2 * phi * d * d * (0.5 + d * (1.0 / 3 + d * (0.125 + d * (1.0 / 30 + d / 144))));
    return 2 * (density * d - density + phi);
}

static double power_of_x(double t, void *self)
{
    const integrand *w = self;
    return 2 * exp((w->order + 1) * t + w->f->log_density(w->parameter, t));
}

static int insert_point(double *point, int n, double at)
{
    int i = n;
    for (; i > 0 && point[i - 1] > at; i--)
        point[i] = point[i - 1];
    if (i > 0 && point[i - 1] == at) {
        for (; i < n; i++)
            point[i] = point[i + 1];
        return n;
    }
    point[i] = at;
    return n + 1;
}

/* Where the adaptive rule starts: ends beyond which nothing of relative size 1e-16 is left, the scales, the edge. */
static int split(const integrand *w, double *point)
{
    double core = w->f->log_core ? w->f->log_core(w->parameter) : w->log_sd;
    double origin = w->f->origin ? w->f->origin(w->parameter) : 1, lowest = core - 45 / origin;
    int n = insert_point(point, 0, fmax(lowest, -690));
    static const double offset[] = {-6, -1, 1, 3};
    for (size_t i = 0; i < sizeof offset / sizeof *offset; i++) {
        n = insert_point(point, n, w->log_sd + offset[i]);
        if (w->f->log_core)
            n = insert_point(point, n, core + offset[i]);
    }
    if (w->f->log_edge)
        n = insert_point(point, n, w->f->log_edge(w->parameter));
    return insert_point(point, n, fmax(point[n - 1], w->log_sd + 45));
}

static hkt_status integrate(integrand *w, double (*function)(double, void *), double *result)
{
    double point[MAX_POINTS], error = (double)INFINITY;
    int n = split(w, point);
    gsl_function g = {function, w};
    gsl_integration_workspace *space = gsl_integration_workspace_alloc(INTERVALS);
    *result = (double)NAN;
    if (!space)
        return hkt_fail(HKT_ESYSTEM, "quadrature of %s: out of memory", w->f->name);
    /* The status says whether 1e-11 was reached; rounding may stop it a little above. */
    gsl_integration_qagp(&g, point, (size_t)n, 0, 1e-11, INTERVALS, space, result, &error);
    gsl_integration_workspace_free(space);
    if (error <= 1e-9 * fabs(*result))
        return HKT_OK;
    return hkt_fail(HKT_ENUMERIC, "quadrature of %s(%g): error %.3g of %.6g", w->f->name, w->parameter, error, *result);
}

hkt_status hkt_family_negentropy(const hkt_family *f, double parameter, double *negentropy)
{
    integrand w = {.f = f, .parameter = parameter, .log_sd = f->log_sd(parameter)};
    return integrate(&w, divergence, negentropy);
}

hkt_status hkt_family_moment(const hkt_family *f, double parameter, int order, double *moment)
{
    integrand w = {.f = f, .parameter = parameter, .log_sd = f->log_sd(parameter), .order = order};
    return integrate(&w, power_of_x, moment);
}

/* laws.h - symmetric laws with a known density, one per kappa in each family, and their negentropy by quadrature. */
#ifndef HKT_ANALYSIS_MATH_LAWS_H
#define HKT_ANALYSIS_MATH_LAWS_H

#include "base/status.h"

/* A family has one parameter; densities are those of the family's usual scale. */
typedef struct {
    const char *name;
    double kappa_low, kappa_high;                      /* where the family has a law (both ends excluded) */
    double (*parameter)(double kappa);                 /* of the law with this kappa */
    double (*log_density)(double parameter, double t); /* at x = e^t */
    double (*log_sd)(double parameter);                /* log of the standard deviation */
    double (*entropy)(double parameter);               /* closed form; NULL: none */
    double (*log_edge)(double parameter);              /* log of the support's end; NULL: all numbers */
    double (*log_core)(double parameter);              /* log of a small scale of the density; NULL: the sd's */
    double (*origin)(double parameter);                /* density ~ x^(origin - 1) near 0; NULL: 1 */
} hkt_family;

extern const hkt_family hkt_family_student;       /* kappa = 1 + 2/(nu - 4) */
extern const hkt_family hkt_family_beta;          /* (1 - x^2)^m, kappa = 1 - 2/(2m + 5): m = 0 is uniform */
extern const hkt_family hkt_family_dot;           /* dot product of normals in R^p, p real, kappa = 1 + 2/p */
extern const hkt_family hkt_family_power;         /* exp(-|x|^b): b = 1 Laplace, b -> infinity uniform */
extern const hkt_family hkt_family_gram_charlier; /* phi(x) (1 + excess/24 He_4(x)) */
/* (1-e) N(0, a^2) + e N(0, b^2) with variance 1 and kappa 33; the parameter is log a, any negative number. */
extern const hkt_family hkt_family_mixture;

/* J by adaptive quadrature, about 1e-10 relative. Errors: HKT_ENUMERIC with the family's name. */
hkt_status hkt_family_negentropy(const hkt_family *f, double parameter, double *negentropy);
/* E x^order by quadrature, order >= 0. */
hkt_status hkt_family_moment(const hkt_family *f, double parameter, int order, double *moment);

#endif

#include "analysis/math/draw.h"

#include <math.h>

double hkt_draw_exponential(hkt_rng *r)
{
    return -log(1 - hkt_rng_uniform(r)); /* of (0, 1] */
}

double hkt_draw_laplace(hkt_rng *r)
{
    double x = hkt_draw_exponential(r);
    return hkt_rng_u32(r) & 1 ? x : -x;
}

double hkt_draw_student(hkt_rng *r, int nu)
{
    double z = hkt_rng_normal(r), chi2 = 0;
    for (int i = 0; i < nu; i++) {
        double g = hkt_rng_normal(r);
        chi2 += g * g;
    }
    return z / sqrt(chi2 / nu);
}

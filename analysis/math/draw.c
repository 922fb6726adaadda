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

double hkt_draw_chi(hkt_rng *r, size_t n)
{
    if (n == 1)
        return fabs(hkt_rng_normal(r));
    double d = (double)n / 2 - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = hkt_rng_normal(r), v = 1 + c * x, u = 1 - hkt_rng_uniform(r); /* u in (0, 1] */
        v = v * v * v;
        if (v > 0 && log(u) < x * x / 2 + d - d * v + d * log(v))
            return sqrt(2 * d * v);
    }
}

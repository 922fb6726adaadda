#include "analysis/math/ball.h"

#include <math.h>

#include "analysis/math/ball_arb.h"
#include "base/mem.h"

enum { PRECISION = 192 };

hkt_interval hkt_interval_of(const arb_t x)
{
    if (!arb_is_finite(x))
        return (hkt_interval){-HUGE_VAL, HUGE_VAL};
    arf_t low, high;
    arf_init(low);
    arf_init(high);
    arb_get_interval_arf(low, high, x, 64);
    hkt_interval out = {arf_get_d(low, ARF_RND_FLOOR), arf_get_d(high, ARF_RND_CEIL)};
    arf_clear(low);
    arf_clear(high);
    return out;
}

bool hkt_interval_below(hkt_interval x, double y)
{
    return x.high < y;
}

bool hkt_interval_above(hkt_interval x, double y)
{
    return x.low > y;
}

hkt_interval hkt_interval_ratio(hkt_interval x, hkt_interval y)
{
    if (!(x.low >= 0 && y.low > 0))
        return (hkt_interval){-HUGE_VAL, HUGE_VAL};
    return (hkt_interval){nextafter(x.low / y.high, -HUGE_VAL), nextafter(x.high / y.low, HUGE_VAL)};
}

double hkt_interval_radius(hkt_interval x)
{
    return (x.high - x.low) / 2;
}

double hkt_interval_middle(hkt_interval x)
{
    return x.low + (x.high - x.low) / 2;
}

/* h [span]: the filters multiplied out, h_m = sum over m = t_0 + s t_1 + s^2 t_2 + .. of prod a[l][t_l]; one term each.
 */
static void multiply_out(size_t stride, size_t level, const double *const *a, size_t span, arb_ptr h)
{
    arb_t tap;
    arb_init(tap);
    for (size_t m = 0; m < span; m++) {
        size_t digits = m;
        arb_one(h + m);
        for (size_t l = 0; l < level; l++, digits /= stride) {
            arb_set_d(tap, a[l][digits % stride]);
            arb_mul(h + m, h + m, tap, PRECISION);
        }
    }
    arb_clear(tap);
}

/* sum_{m,k} h_m h_k rho^|(last - m) - (other - k)| over tokens >= 0. */
static void correlate(size_t span, arb_srcptr h, size_t last, size_t other, arb_srcptr power, arb_t sum)
{
    arb_t inner;
    arb_init(inner);
    arb_zero(sum);
    for (size_t m = 0; m < span && m <= last; m++) {
        arb_zero(inner);
        for (size_t k = 0; k < span && k <= other; k++) {
            size_t t = last - m, u = other - k;
            arb_addmul(inner, h + k, power + (t > u ? t - u : u - t), PRECISION);
        }
        arb_addmul(sum, inner, h + m, PRECISION);
    }
    arb_clear(inner);
}

/* out += sign log det of m. */
static void add_log_det(arb_t out, const arb_mat_t m, int sign)
{
    arb_t det;
    arb_init(det);
    arb_mat_det_lu(det, m, PRECISION);
    arb_log(det, det, PRECISION);
    if (sign > 0)
        arb_add(out, out, det, PRECISION);
    else
        arb_sub(out, out, det, PRECISION);
    arb_clear(det);
}

static size_t ends(size_t span, size_t T)
{
    return (T + span - 1) / span;
}

hkt_status hkt_ball_information(size_t stride, size_t level, const double *const *a, size_t T, double rho, double noise,
                                hkt_interval *out)
{
    size_t span = 1, kept = 0, *last = NULL;
    for (size_t l = 0; l < level; l++)
        span *= stride;
    size_t rows = ends(span, T);
    HKT_TRY(HKT_NEW(&last, rows));
    arb_ptr h = _arb_vec_init((slong)span), power = _arb_vec_init((slong)T);
    arb_t x, log_ratio;
    arb_init(x);
    arb_init(log_ratio);
    multiply_out(stride, level, a, span, h);
    arb_set_d(x, rho);
    for (size_t t = 0; t < T; t++)
        arb_pow_ui(power + t, x, t, PRECISION);
    /* Row j ends at token span j; a row without weights says nothing and is left out, as its D would be 0. */
    for (size_t j = 0; j < rows; j++) {
        bool any = false;
        for (size_t m = 0; m < span && m <= span * j; m++)
            any = any || !arb_is_zero(h + m);
        if (any)
            last[kept++] = span * j;
    }
    arb_mat_t cov;
    arb_mat_init(cov, (slong)kept, (slong)kept);
    for (size_t i = 0; i < kept; i++) {
        arb_ptr norm = arb_mat_entry(cov, i, i);
        for (size_t m = 0; m < span && m <= last[i]; m++)
            arb_addmul(norm, h + m, h + m, PRECISION);
        arb_log(x, norm, PRECISION);
        arb_sub(log_ratio, log_ratio, x, PRECISION);
    }
    arb_t scale;
    arb_init(scale);
    arb_set_d(scale, noise);
    for (size_t i = 0; i < kept; i++)
        for (size_t j = 0; j <= i; j++) {
            correlate(span, h, last[i], last[j], power, x);
            arb_div(x, x, scale, PRECISION);
            arb_add(arb_mat_entry(cov, i, j), arb_mat_entry(cov, i, j), x, PRECISION);
            if (j < i)
                arb_set(arb_mat_entry(cov, j, i), arb_mat_entry(cov, i, j));
        }
    add_log_det(log_ratio, cov, 1);
    arb_mul_2exp_si(log_ratio, log_ratio, -1);
    *out = hkt_interval_of(log_ratio);
    arb_clear(scale);
    arb_mat_clear(cov);
    arb_clear(log_ratio);
    arb_clear(x);
    _arb_vec_clear(h, (slong)span);
    _arb_vec_clear(power, (slong)T);
    hkt_free(last);
    return HKT_OK;
}

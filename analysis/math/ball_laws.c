/* Negentropies, J = log(2 pi e sigma^2)/2 - h: closed forms where there are some, else rigorous quadrature. */
#include <math.h>

#include "analysis/math/ball_arb.h"

enum { PRECISION = 192, GOAL = 80 /* bits of a quadrature */ };

/* out = log(2 pi)/2 + 1/2 + log_variance/2. */
static void gaussian_entropy(arb_t out, const arb_t log_variance)
{
    arb_const_pi(out, PRECISION);
    arb_mul_2exp_si(out, out, 1);
    arb_log(out, out, PRECISION);
    arb_add_ui(out, out, 1, PRECISION);
    arb_add(out, out, log_variance, PRECISION);
    arb_mul_2exp_si(out, out, -1);
}

/* out = log B(1/2, a). */
static void log_beta_half(arb_t out, const arb_t a)
{
    arb_t x;
    arb_init(x);
    arb_set_d(x, 0.5);
    arb_lgamma(out, x, PRECISION);
    arb_add(x, x, a, PRECISION);
    arb_lgamma(x, x, PRECISION);
    arb_sub(out, out, x, PRECISION);
    arb_lgamma(x, a, PRECISION);
    arb_add(out, out, x, PRECISION);
    arb_clear(x);
}

/* out = psi(a) - psi(b). */
static void digamma_difference(arb_t out, const arb_t a, const arb_t b)
{
    arb_t x;
    arb_init(x);
    arb_digamma(x, b, PRECISION); /* first: out may be b */
    arb_digamma(out, a, PRECISION);
    arb_sub(out, out, x, PRECISION);
    arb_clear(x);
}

/* nu = (4 kappa - 2)/(kappa - 1); h = (nu+1)/2 (psi((nu+1)/2) - psi(nu/2)) + log(sqrt(nu) B(1/2, nu/2)); sigma^2 =
 * nu/(nu-2).
 */
static void student(arb_t out, const arb_t kappa)
{
    arb_t nu, half, more, x, h;
    arb_init(nu);
    arb_init(half);
    arb_init(more);
    arb_init(x);
    arb_init(h);
    arb_mul_ui(nu, kappa, 4, PRECISION);
    arb_sub_ui(nu, nu, 2, PRECISION);
    arb_sub_ui(x, kappa, 1, PRECISION);
    arb_div(nu, nu, x, PRECISION);
    arb_mul_2exp_si(half, nu, -1);
    arb_add_ui(more, nu, 1, PRECISION);
    arb_mul_2exp_si(more, more, -1);
    digamma_difference(h, more, half);
    arb_mul(h, h, more, PRECISION);
    log_beta_half(x, half);
    arb_add(h, h, x, PRECISION);
    arb_log(x, nu, PRECISION);
    arb_mul_2exp_si(x, x, -1);
    arb_add(h, h, x, PRECISION);
    arb_sub_ui(x, nu, 2, PRECISION);
    arb_div(x, nu, x, PRECISION);
    arb_log(x, x, PRECISION);
    gaussian_entropy(out, x);
    arb_sub(out, out, h, PRECISION);
    arb_clear(nu);
    arb_clear(half);
    arb_clear(more);
    arb_clear(x);
    arb_clear(h);
}

/* (1 - x^2)^m, m = 1/(1 - kappa) - 5/2; h = log B(1/2, m+1) - m (psi(m+1) - psi(m+3/2)), sigma^2 = 1/(2m+3). */
static void beta(arb_t out, const arb_t kappa)
{
    arb_t m, one, x, h;
    arb_init(m);
    arb_init(one);
    arb_init(x);
    arb_init(h);
    arb_sub_ui(x, kappa, 1, PRECISION);
    arb_neg(x, x);
    arb_inv(m, x, PRECISION);
    arb_set_d(x, 2.5);
    arb_sub(m, m, x, PRECISION);
    arb_add_ui(one, m, 1, PRECISION);
    log_beta_half(h, one);
    arb_set_d(x, 0.5);
    arb_add(x, x, one, PRECISION);
    digamma_difference(x, one, x);
    arb_submul(h, m, x, PRECISION);
    arb_mul_2exp_si(x, m, 1);
    arb_add_ui(x, x, 3, PRECISION);
    arb_log(x, x, PRECISION);
    arb_neg(x, x);
    gaussian_entropy(out, x);
    arb_sub(out, out, h, PRECISION);
    arb_clear(m);
    arb_clear(one);
    arb_clear(x);
    arb_clear(h);
}

/* --- exponential power laws exp(-|x|^b), as power series in b --- */

/* out = log Gamma(c / (b + t)) to order n. */
static void lgamma_over(arb_poly_t out, const arb_t b, ulong c, slong n)
{
    arb_t one;
    arb_init(one);
    arb_one(one);
    arb_poly_zero(out);
    arb_poly_set_coeff_arb(out, 0, b);
    arb_poly_set_coeff_arb(out, 1, one);
    arb_poly_inv_series(out, out, n, PRECISION);
    arb_set_ui(one, c);
    arb_poly_scalar_mul(out, out, one, PRECISION);
    arb_poly_lgamma_series(out, out, n, PRECISION);
    arb_clear(one);
}

/* kappa and J of b + t to order n: log(3 kappa) = lgamma(5/b) + lgamma(1/b) - 2 lgamma(3/b); sigma^2 =
 * Gamma(3/b)/Gamma(1/b), h = 1/b + log(2 Gamma(1/b)/b). */
static void power_series(arb_poly_t kappa, arb_poly_t negentropy, const arb_t b, slong n)
{
    arb_poly_t g1, g3, g5, x;
    arb_t c;
    arb_init(c);
    arb_poly_init(g1);
    arb_poly_init(g3);
    arb_poly_init(g5);
    arb_poly_init(x);
    lgamma_over(g1, b, 1, n);
    lgamma_over(g3, b, 3, n);
    lgamma_over(g5, b, 5, n);
    arb_poly_add(kappa, g5, g1, PRECISION);
    arb_poly_sub(kappa, kappa, g3, PRECISION);
    arb_poly_sub(kappa, kappa, g3, PRECISION);
    arb_poly_exp_series(kappa, kappa, n, PRECISION);
    arb_set_ui(c, 3);
    arb_inv(c, c, PRECISION);
    arb_poly_scalar_mul(kappa, kappa, c, PRECISION);
    /* J = (log 2 pi + 1 + g3 - g1)/2 - 1/b - log 2 - g1 + log b. */
    arb_poly_sub(negentropy, g3, g1, PRECISION);
    arb_set_d(c, 0.5);
    arb_poly_scalar_mul(negentropy, negentropy, c, PRECISION);
    arb_zero(c);
    arb_t gauss;
    arb_init(gauss);
    gaussian_entropy(gauss, c);
    arb_const_log2(c, PRECISION);
    arb_sub(gauss, gauss, c, PRECISION);
    arb_poly_set_arb(x, gauss);
    arb_poly_add(negentropy, negentropy, x, PRECISION);
    arb_poly_sub(negentropy, negentropy, g1, PRECISION);
    arb_poly_zero(x);
    arb_poly_set_coeff_arb(x, 0, b);
    arb_one(c);
    arb_poly_set_coeff_arb(x, 1, c);
    arb_poly_log_series(g1, x, n, PRECISION);
    arb_poly_add(negentropy, negentropy, g1, PRECISION);
    arb_poly_inv_series(x, x, n, PRECISION);
    arb_poly_sub(negentropy, negentropy, x, PRECISION);
    arb_clear(gauss);
    arb_clear(c);
    arb_poly_clear(g1);
    arb_poly_clear(g3);
    arb_poly_clear(g5);
    arb_poly_clear(x);
}

/* Sign of kappa(b) - target: -1, 1, or 0 when it is not known. */
static int side_of(const arb_t b, const arb_t target, arb_t negentropy)
{
    arb_poly_t kappa, j;
    arb_t x;
    arb_init(x);
    arb_poly_init(kappa);
    arb_poly_init(j);
    power_series(kappa, j, b, 1);
    arb_poly_get_coeff_arb(x, kappa, 0);
    arb_poly_get_coeff_arb(negentropy, j, 0);
    arb_sub(x, x, target, PRECISION);
    int side = arb_is_positive(x) ? 1 : arb_is_negative(x) ? -1 : 0;
    arb_clear(x);
    arb_poly_clear(kappa);
    arb_poly_clear(j);
    return side;
}

/* kappa is continuous in b: a bracket on whose ends it lies on different sides of the target holds a b of which it is
 * the value. Halved until it is 2^-60 wide; J is then enclosed over the whole bracket. */
static void power_law(arb_t out, const arb_t target)
{
    arb_t low, high, middle;
    arb_init(low);
    arb_init(high);
    arb_init(middle);
    arb_set_d(low, 0.125);
    arb_set_d(high, 64);
    int at_low = side_of(low, target, out), at_high = side_of(high, target, out);
    for (int i = 0; i < 120 && at_low * at_high < 0; i++) {
        arb_add(middle, low, high, PRECISION);
        arb_mul_2exp_si(middle, middle, -1);
        arb_get_mid_arb(middle, middle);
        int at = side_of(middle, target, out);
        if (at == 0)
            break;
        if (at == at_low)
            arb_set(low, middle);
        else
            arb_set(high, middle);
    }
    arb_union(middle, low, high, PRECISION);
    side_of(middle, target, out);
    if (at_low * at_high >= 0)
        arb_indeterminate(out);
    arb_clear(low);
    arb_clear(high);
    arb_clear(middle);
}

hkt_interval hkt_ball_power_limit(void)
{
    arb_poly_t kappa, j;
    arb_t b, x, y;
    arb_init(b);
    arb_init(x);
    arb_init(y);
    arb_poly_init(kappa);
    arb_poly_init(j);
    arb_set_ui(b, 2);
    power_series(kappa, j, b, 3);
    /* kappa - 1 = k t, J = q t^2 to leading order: the ratio is (3/16) k^2 / q. */
    arb_poly_get_coeff_arb(x, kappa, 1);
    arb_mul(x, x, x, PRECISION);
    arb_mul_ui(x, x, 3, PRECISION);
    arb_mul_2exp_si(x, x, -4);
    arb_poly_get_coeff_arb(y, j, 2);
    arb_div(x, x, y, PRECISION);
    hkt_interval out = hkt_interval_of(x);
    /* Constant and linear terms must vanish, or the limit is another: kappa = 1, J = 0 = J' at b = 2. */
    arb_poly_get_coeff_arb(x, j, 0);
    arb_poly_get_coeff_arb(y, j, 1);
    bool vanish = arb_contains_zero(x) && arb_contains_zero(y);
    arb_poly_get_coeff_arb(x, kappa, 0);
    if (!vanish || !arb_contains_si(x, 1))
        out = (hkt_interval){-HUGE_VAL, HUGE_VAL};
    arb_clear(b);
    arb_clear(x);
    arb_clear(y);
    arb_poly_clear(kappa);
    arb_poly_clear(j);
    return out;
}

hkt_interval hkt_ball_power_closed_form(void)
{
    arb_t x;
    arb_init(x);
    arb_const_pi(x, PRECISION);
    arb_mul(x, x, x, PRECISION);
    arb_mul_ui(x, x, 9, PRECISION);
    arb_sub_ui(x, x, 84, PRECISION);
    arb_ui_div(x, 4, x, PRECISION);
    hkt_interval out = hkt_interval_of(x);
    arb_clear(x);
    return out;
}

hkt_interval hkt_ball_mixture(double kappa, double log_a)
{
    /* e/(1-e) = (1 - a^2)^2/(kappa - 1), b^2 = 1 + (kappa - 1)/(1 - a^2). */
    arb_t a2, e, rest, log_b, high, low, x, k;
    arb_ptr all[] = {a2, e, rest, log_b, high, low, x, k};
    for (size_t i = 0; i < 8; i++)
        arb_init(all[i]);
    arb_set_d(k, kappa);
    arb_sub_ui(k, k, 1, PRECISION);
    arb_set_d(x, 2 * log_a);
    arb_exp(a2, x, PRECISION);
    arb_sub_ui(rest, a2, 1, PRECISION);
    arb_neg(rest, rest); /* 1 - a^2 */
    arb_div(log_b, k, rest, PRECISION);
    arb_add_ui(log_b, log_b, 1, PRECISION);
    arb_log(log_b, log_b, PRECISION);
    arb_mul_2exp_si(log_b, log_b, -1);
    arb_mul(e, rest, rest, PRECISION);
    arb_add(x, e, k, PRECISION);
    arb_div(e, e, x, PRECISION); /* odds to share */
    arb_sub_ui(rest, e, 1, PRECISION);
    arb_neg(rest, rest); /* 1 - e */
    arb_set_d(x, log_a);
    arb_mul(high, rest, x, PRECISION);
    arb_addmul(high, e, log_b, PRECISION);
    arb_neg(high, high);
    arb_log(x, e, PRECISION);
    arb_set(low, high);
    arb_addmul(low, e, x, PRECISION); /* - H(e) */
    arb_log(x, rest, PRECISION);
    arb_addmul(low, rest, x, PRECISION);
    hkt_interval out = {hkt_interval_of(low).low, hkt_interval_of(high).high};
    for (size_t i = 0; i < 8; i++)
        arb_clear(all[i]);
    return out;
}

/* --- quadrature --- */

/* (1 + g) log(1 + g) phi(x), g = (excess/24) He_4(x), He_4 = x^4 - 6 x^2 + 3. */
static int charlier_integrand(acb_ptr out, const acb_t x, void *excess, slong order, slong prec)
{
    acb_t g, square;
    acb_init(g);
    acb_init(square);
    acb_mul(square, x, x, prec);
    acb_sub_ui(g, square, 6, prec);
    acb_mul(g, g, square, prec);
    acb_add_ui(g, g, 3, prec);
    acb_mul_arb(g, g, excess, prec);
    acb_div_ui(g, g, 24, prec);
    acb_add_ui(g, g, 1, prec);
    acb_log_analytic(out, g, order != 0, prec);
    acb_mul(out, out, g, prec);
    acb_mul_2exp_si(square, square, -1);
    acb_neg(square, square);
    acb_exp(square, square, prec);
    acb_mul(out, out, square, prec);
    acb_clear(g);
    acb_clear(square);
    return 0;
}

static void integrate(arb_t out, acb_calc_func_t f, void *parameter, double from, double to)
{
    acb_t a, b, sum;
    mag_t tolerance;
    acb_init(a);
    acb_init(b);
    acb_init(sum);
    mag_init(tolerance);
    acb_set_d(a, from);
    acb_set_d(b, to);
    mag_set_ui_2exp_si(tolerance, 1, -GOAL);
    acb_calc_integrate(sum, f, parameter, a, b, GOAL, tolerance, NULL, PRECISION);
    acb_get_real(out, sum);
    acb_clear(a);
    acb_clear(b);
    acb_clear(sum);
    mag_clear(tolerance);
}

/* J = 2 integral over [0, 16] / sqrt(2 pi), and a tail: |(1+g) log(1+g)| <= 1 + (1+g)^2 <= x^8 beyond 16 (excess <= 4),
 * and the integral of x^8 phi from R on is at most 2 R^7 phi(R) when R^2 >= 14. */
static void charlier(arb_t out, const arb_t kappa)
{
    arb_t excess, x, tail;
    arb_init(excess);
    arb_init(x);
    arb_init(tail);
    arb_sub_ui(excess, kappa, 1, PRECISION);
    arb_mul_ui(excess, excess, 3, PRECISION);
    integrate(out, charlier_integrand, excess, 0, 16);
    arb_set_si(tail, -128);
    arb_exp(tail, tail, PRECISION);
    arb_mul_2exp_si(tail, tail, 29); /* 2 * 16^7 */
    arb_add_error(out, tail);
    arb_const_pi(x, PRECISION);
    arb_mul_2exp_si(x, x, 1);
    arb_rsqrt(x, x, PRECISION);
    arb_mul_2exp_si(x, x, 1);
    arb_mul(out, out, x, PRECISION);
    arb_clear(excess);
    arb_clear(x);
    arb_clear(tail);
}

static void negentropy(arb_t out, hkt_ball_law law, const arb_t kappa)
{
    static void (*const by_law[])(arb_t, const arb_t) = {student, beta, power_law, charlier};
    by_law[law](out, kappa);
}

hkt_interval hkt_ball_negentropy(hkt_ball_law law, double kappa)
{
    arb_t k, j;
    arb_init(k);
    arb_init(j);
    arb_set_d(k, kappa);
    negentropy(j, law, k);
    hkt_interval out = hkt_interval_of(j);
    arb_clear(k);
    arb_clear(j);
    return out;
}

hkt_interval hkt_ball_expansion_ratio(hkt_ball_law law, double kappa)
{
    arb_t k, j;
    arb_init(k);
    arb_init(j);
    arb_set_d(k, kappa);
    negentropy(j, law, k);
    arb_sub_ui(k, k, 1, PRECISION);
    arb_mul(k, k, k, PRECISION);
    arb_mul_ui(k, k, 3, PRECISION);
    arb_mul_2exp_si(k, k, -4);
    arb_div(k, k, j, PRECISION);
    hkt_interval out = hkt_interval_of(k);
    arb_clear(k);
    arb_clear(j);
    return out;
}

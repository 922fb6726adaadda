/* Energies of frequency bands as finite sums: the densities are cosine polynomials with rational coefficients, whose
 * integrals between pi/s^(b+1) and pi/s^b need sines of rational multiples of pi only. */
#include <string.h>

#include "analysis/math/ball_arb.h"
#include "base/mem.h"

enum { PRECISION = 128 };

/* |D_N(w)|^2 = sum_k t_k e^{ikw}, N^2 t_k = N - |k|. */
static double triangle(size_t n, long k)
{
    long m = (long)n - labs(k);
    return m > 0 ? (double)m : 0;
}

/* 1 + delta^2 (1 - 2 cos((s-1) v)) = sum_j q_j e^{ijv}, delta^2 = |D_s(v)|^2; s^2 q_j, an integer. */
static double detail_factor(size_t s, long j)
{
    double own = j == 0 ? (double)(s * s) : 0;
    return own + triangle(s, j) - triangle(s, j - (long)(s - 1)) - triangle(s, j + (long)(s - 1));
}

/* Coefficients c_k, k = 0 .. n-1, of the density times an integer, which cancels in shares: exact, below 2^53. N = s^l
 * tokens of a row. Returns the number. */
static size_t density(size_t s, size_t N, bool detail, double *c)
{
    if (!detail) {
        for (size_t k = 0; k < N; k++)
            c[k] = triangle(N, (long)k);
        return N;
    }
    const long reach = 2 * (long)(s - 1); /* of q */
    size_t n = N * (size_t)(reach + 1);
    memset(c, 0, n * sizeof *c);
    for (size_t k = 0; k < n; k++)
        for (long j = -reach; j <= reach; j++)
            c[k] += detail_factor(s, j) * triangle(N, (long)k - j * (long)N);
    return n;
}

/* The integral of c_0 + 2 sum c_k cos(k w) from 0 to pi * edge / period, over pi: c_0 edge/period + (2/pi) sum c_k
 * sin(pi k edge/period)/k. sine [2 period]: sin(pi j / period). */
static void below_edge(size_t n, const double *c, size_t edge, size_t period, arb_srcptr sine, arb_t out)
{
    arb_t term, coefficient;
    arb_init(term);
    arb_init(coefficient);
    arb_zero(out);
    for (size_t k = 1; k < n; k++) {
        arb_set_d(coefficient, c[k]);
        arb_mul(term, coefficient, sine + k * edge % (2 * period), PRECISION);
        arb_div_ui(term, term, k, PRECISION);
        arb_add(out, out, term, PRECISION);
    }
    arb_mul_2exp_si(out, out, 1);
    arb_const_pi(term, PRECISION);
    arb_div(out, out, term, PRECISION);
    arb_set_d(coefficient, c[0]);
    arb_mul_ui(term, coefficient, edge, PRECISION);
    arb_div_ui(term, term, period, PRECISION);
    arb_add(out, out, term, PRECISION);
    arb_clear(term);
    arb_clear(coefficient);
}

static size_t power(size_t s, size_t l)
{
    size_t n = 1;
    while (l-- > 0)
        n *= s;
    return n;
}

hkt_status hkt_ball_bands(size_t stride, size_t L, size_t level, bool detail, hkt_interval *share)
{
    size_t N = power(stride, level), period = power(stride, L);
    bool own = detail && level + 1 < L; /* the coarsest detail is the level itself */
    double *c = NULL;
    HKT_ASSERT(stride >= 2 && level < L && period <= 4096);
    HKT_TRY(HKT_NEW(&c, N * (2 * stride - 1)));
    size_t n = density(stride, N, own, c);
    arb_ptr sine = _arb_vec_init(2 * (slong)period), edge = _arb_vec_init((slong)L + 1);
    fmpq_t angle;
    fmpq_init(angle);
    for (size_t j = 0; j < 2 * period; j++) {
        fmpq_set_ui(angle, j, period);
        arb_sin_pi_fmpq(sine + j, angle, PRECISION);
    }
    /* Up to pi/s^b for b = 0 .. L-1, the whole first; below the last band is nothing. */
    for (size_t b = 0; b < L; b++)
        below_edge(n, c, power(stride, L - b), period, sine, edge + b);
    arb_t part;
    arb_init(part);
    for (size_t b = 0; b < L; b++) {
        arb_sub(part, edge + b, edge + b + 1, PRECISION);
        arb_div(part, part, edge, PRECISION);
        share[b] = hkt_interval_of(part);
    }
    arb_clear(part);
    fmpq_clear(angle);
    _arb_vec_clear(sine, 2 * (slong)period);
    _arb_vec_clear(edge, (slong)L + 1);
    hkt_free(c);
    return HKT_OK;
}

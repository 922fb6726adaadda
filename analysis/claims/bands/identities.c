/* identities.c - what the claim `bands` says for every frequency, as identities between the coefficients of polynomials
 * in e^{-iw}: with filters of small integers both sides are integers, and every operation below is exact. */
#include <string.h>

#include "analysis/claims/check.h"
#include "analysis/view/bands.h"
#include "base/mem.h"
#include "base/rng.h"

enum { WIDEST = 5, LONGEST = 128 }; /* stride; s^l */

/* A cascade of one channel with filters of integers from -4 to 4, not 0, and its levels over T tokens. */
typedef struct {
    hkt_cascade c;
    size_t T;
    double *taps, *mem, *x[HKT_MAX_LEVELS];
} integer_cascade;

static void cascade_free(integer_cascade *g)
{
    hkt_free(g->taps);
    hkt_free(g->mem);
}

static hkt_status cascade_create(integer_cascade *g, size_t stride, size_t L, size_t T, uint64_t seed)
{
    size_t rows = 0;
    *g = (integer_cascade){.T = T};
    HKT_TRY(hkt_cascade_make(stride, L, 1, false, 0, &g->c, &g->taps));
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 113 + (uint32_t)stride);
    for (size_t i = 0; i < L * stride; i++)
        g->taps[i] = (double)(1 + hkt_rng_below(&rng, 4)) * (hkt_rng_below(&rng, 2) ? 1 : -1);
    for (size_t l = 0; l < L; l++)
        rows += hkt_level_length(T, stride, l);
    hkt_status status = HKT_NEW(&g->mem, rows);
    g->x[0] = g->mem;
    for (size_t l = 1; l < L && status == HKT_OK; l++)
        g->x[l] = g->x[l - 1] + hkt_level_length(T, stride, l - 1);
    if (status != HKT_OK)
        cascade_free(g);
    return status;
}

static void run_impulse(integer_cascade *g, size_t token)
{
    for (size_t i = 0; i < g->T; i++)
        g->x[0][i] = i == token;
    hkt_cascade_run(&g->c, g->T, g->x);
}

/* Tap m of level l's filter: the product of the taps at m's digits in base s, the lowest digit for the first filter. */
static double product_of_digits(const hkt_cascade *c, size_t level, size_t m, size_t skipped)
{
    double product = 1;
    for (size_t l = 1; l <= level - skipped; l++, m /= c->stride)
        product *= c->down[l][m % c->stride];
    return m > 0 ? 0 : product;
}

/* --- the response is a product --- */

/* Measured: rows of level l that are not the filter's taps over all impulses. skipped: that many of the last filters
 * are left out of the product. */
static hkt_status compare_product(size_t stride, size_t level, size_t skipped, uint64_t seed, hkt_check_result *out,
                                  double *wrong)
{
    integer_cascade g;
    size_t n = hkt_cascade_span(stride, level), differ = 0;
    HKT_TRY(cascade_create(&g, stride, level + 1, 3 * n, seed));
    for (size_t token = 0; token < g.T; token++) {
        run_impulse(&g, token);
        for (size_t j = 0; j < 3; j++) { /* row j sees token n j - m through tap m */
            bool seen = token <= n * j && token + n > n * j;
            differ += g.x[level][j] != (seen ? product_of_digits(&g.c, level, n * j - token, skipped) : 0);
        }
    }
    cascade_free(&g);
    *wrong += (double)differ;
    return hkt_check_row(out, "stride\tlevel\ttaps\twrong_taps", stride, level, n, differ);
}

/* control: the last filter left out of the product. */
static hkt_status product(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    double wrong = 0;
    for (size_t s = 2; s <= WIDEST; s++)
        for (size_t level = 1; hkt_cascade_span(s, level) <= LONGEST; level++)
            HKT_TRY(compare_product(s, level, control, ctx->seed, out, &wrong));
    hkt_check_at_most(out, wrong, 0);
    hkt_check_condition(out, "any filters; tried with drawn integers");
    hkt_check_detail(out, "impulses at every token of three rows, s = 2..%d, s^l <= %d", WIDEST, LONGEST);
    return HKT_OK;
}

const hkt_check hkt_bands_product_identity = {
    .name = "product-identity",
    .kind = HKT_EXACT,
    .statement = "the impulse response of level l has the coefficients of the product of the filters' polynomials in "
                 "z, z^s, z^(s^2), ..: the response is the product of theirs for every w",
    .reference = "noble identity; docs/theory.md, bands",
    .failure = "levels are not a cascade of their filters",
    .run = product,
    .holds = "the response of a cascade is the product of its filters' responses at every frequency",
    .violated = "{m} taps of the cascade are not those of the product of its filters",
};

/* --- white noise --- */

/* sum [T] += sum_t u_t u_{t+k}: |DFT u|^2 = sum_0 + 2 sum_k sum_k cos(k w). */
static void add_correlation(size_t T, const double *u, double *sum)
{
    for (size_t k = 0; k < T; k++)
        for (size_t t = 0; t + k < T; t++)
            sum[k] += u[t] * u[t + k];
}

/* u [T] = U_l X^(l), less U_{l+1} X^(l+1) for a detail. */
static void signal_of(const integer_cascade *g, size_t level, bool detail, double *u)
{
    size_t n = hkt_cascade_span(g->c.stride, level);
    for (size_t t = 0; t < g->T; t++)
        u[t] = g->x[level][t / n] - (detail ? g->x[level + 1][t / n / g->c.stride] : 0);
}

/* q [2 s - 1] += weight times the correlation of 1 - a_r z^r (1 + z + .. + z^(s-1)). */
static void add_factor(size_t s, double a, size_t r, double weight, double *q)
{
    double c[2 * WIDEST] = {1};
    for (size_t t = 0; t < s; t++)
        c[r + t] -= a;
    for (size_t k = 0; k < 2 * s - 1; k++)
        for (size_t t = 0; t + k < 2 * s - 1; t++)
            q[k] += weight * c[t] * c[t + k];
}

/* Coefficients of the closed form (docs/theory.md, "bands"): |B_N|^2 = sum_k (N - |k|) e^{ikw} times that of the rows,
 * q_0 + 2 sum_j q_j cos(j N w). */
static void closed_form(const integer_cascade *g, size_t level, bool detail, double *sum)
{
    const size_t s = g->c.stride, N = hkt_cascade_span(s, level), M = g->T / N;
    double rho = 0, q[2 * WIDEST] = {0};
    for (size_t m = 0; m < N; m++)
        rho += product_of_digits(&g->c, level, m, 0) * product_of_digits(&g->c, level, m, 0);
    const double first = product_of_digits(&g->c, level, 0, 0) * product_of_digits(&g->c, level, 0, 0);
    if (detail) {
        const double *a = g->c.down[level + 1];
        add_factor(s, a[0], 0, first, q);
        for (size_t r = 0; r < s; r++)
            add_factor(s, a[r], r, rho * (double)(M / s - 1), q);
        q[0] += rho * (double)(s - 1);
    } else {
        q[0] = first + rho * (double)(M - 1);
    }
    for (size_t k = 0; k < g->T; k++) {
        sum[k] = 0;
        for (size_t j = k / N; j <= k / N + 1 && j < 2 * s - 1; j++) {
            size_t away = j * N > k ? j * N - k : k - j * N;
            sum[k] += away < N ? q[j] * (double)(N - away) : 0;
        }
    }
}

/* Measured: coefficients that differ. */
static hkt_status compare_white(size_t stride, size_t L, bool detail, bool closed_detail, uint64_t seed,
                                hkt_check_result *out, double *wrong)
{
    integer_cascade g;
    size_t T = 3 * hkt_cascade_span(stride, L - 1);
    double *work = NULL;
    HKT_TRY(cascade_create(&g, stride, L, T, seed));
    hkt_status status = HKT_NEW(&work, 3 * T);
    for (size_t l = 0; l + 1 < L && status == HKT_OK; l++) {
        double *sum = work, *closed = work + T, *u = work + 2 * T;
        size_t differ = 0;
        memset(sum, 0, T * sizeof *sum);
        for (size_t token = 0; token < T; token++) {
            run_impulse(&g, token);
            signal_of(&g, l, detail, u);
            add_correlation(T, u, sum);
        }
        closed_form(&g, l, closed_detail, closed);
        for (size_t k = 0; k < T; k++)
            differ += sum[k] != closed[k];
        *wrong += (double)differ;
        status =
            hkt_check_row(out, "detail\tstride\tlevels\tlevel\tcoefficients\twrong", detail, stride, L, l, T, differ);
    }
    hkt_free(work);
    cascade_free(&g);
    return status;
}

/* control: the closed form of the details for raw levels, and the other way round. */
static hkt_status white_noise(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    static const size_t stride[] = {2, 3, 4}, levels[] = {5, 4, 3};
    double wrong = 0;
    for (size_t i = 0; i < 3; i++)
        for (int detail = 0; detail < 2; detail++)
            HKT_TRY(compare_white(stride[i], levels[i], detail, control != (bool)detail, ctx->seed, out, &wrong));
    hkt_check_at_most(out, wrong, 0);
    hkt_check_condition(out, "white noise, T a multiple of s^(L-1); any filters, tried with drawn integers");
    hkt_check_detail(out, "expected |DFT|^2; s = 2, 3, 4, all levels but the coarsest");
    return HKT_OK;
}

const hkt_check hkt_bands_white_noise_identity = {
    .name = "white-noise-identity",
    .kind = HKT_EXACT,
    .statement = "the expected spectra of raw levels and details of white noise, summed over impulses at every token, "
                 "are their closed forms, coefficient by coefficient: for every w",
    .reference = "docs/theory.md, bands",
    .failure = "the closed form is not the spectrum of white noise",
    .run = white_noise,
    .holds = "the spectra of white noise, raw levels and details, are their closed forms at every frequency",
    .violated = "{m} coefficients of the spectra of white noise are not those of the closed form",
};

/* The fits: against closed forms, laws that are known, and the rates at which they are told apart; E_L over L: bounds
 * that no hierarchical sum breaks, planted fields; the numbers of the claim. */
#include "tests/check.h"

#include <cblas.h>
#include <float.h>

#include "analysis/claims/decay/decay.h"
#include "analysis/math/linalg.h"
#include "base/mem.h"
#include "num/blas.h"
#include "tests/claim_check.h"
#include "tests/vectors.h"

static hkt_rng stream(uint32_t sub)
{
    return hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 800 + sub);
}

/* --- the straight line --- */

/* Anscombe's first quartet (1973, Am. Statist. 27:17): y = 3.0001 + 0.5001 x, standard error of the slope 0.1179; t at
 * 0.975 with 9 degrees of freedom is 2.262157. */
static void test_line(void **state)
{
    (void)state;
    const double x[] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
    const double y[] = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
    hkt_line f;
    CHECK_OK(hkt_fit_line(11, x, y, 0.95, &f));
    CHECK_NEAR(f.a, 3.000090909, 1e-8);
    CHECK_NEAR(f.b, 0.500090909, 1e-8);
    CHECK_NEAR(f.b_error, 0.117905501, 1e-8);
    CHECK_NEAR(f.rss, 13.76269, 1e-5);
    CHECK_NEAR(f.b_high - f.b, 2.262157163 * 0.117905501, 1e-8);
    CHECK_NEAR(f.b - f.b_low, f.b_high - f.b, 1e-14);
    CHECK_FAILS(hkt_fit_line(2, x, y, 0.95, &f), HKT_EINPUT, "expected 3 points or more at different x, found 2");
    const double same[] = {1, 1, 1};
    CHECK_FAILS(hkt_fit_line(3, same, y, 0.95, &f), HKT_EINPUT, "found 3 from 1 to 1");
}

/* --- laws --- */

typedef struct {
    hkt_law law;
    double C, ratio, floor; /* ratio: rho or q, or the exponent of the power law */
} known;

static double value(const known *k, double L)
{
    return k->law == HKT_LAW_POWER ? k->C * pow(L, -k->ratio) : k->floor + k->C * pow(k->ratio, L);
}

static const known laws[] = {{HKT_LAW_GEOMETRIC, 1, 0.3, 0},    {HKT_LAW_GEOMETRIC, 2, 0.5, 0},
                             {HKT_LAW_GEOMETRIC, 0.9, 0.8, 0},  {HKT_LAW_GEOMETRIC, 1, 0.95, 0},
                             {HKT_LAW_POWER, 0.8, 0.5, 0},      {HKT_LAW_POWER, 1, 2, 0},
                             {HKT_LAW_FLOOR, 0.07, 0.43, 0.94}, {HKT_LAW_FLOOR, 0.5, 0.5, 0.3}};
enum { N_LAWS = sizeof laws / sizeof *laws };

/* Without errors every law is recognised and its parameters come out, for 6 elements and for 8. */
static void test_exact_laws(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_LAWS; i++)
        for (size_t n = 6; n <= 8; n += 2) {
            const known *k = laws + i;
            const hkt_decay_spec spec = {.level = 0.95, .least = 1e-9, .noise = 1e-5};
            hkt_decay_fit f;
            double e[8];
            for (size_t L = 1; L <= n; L++)
                e[L - 1] = value(k, (double)L);
            CHECK_OK(hkt_fit_decay(n, e, &spec, &f));
            assert_int_equal(f.n, n);
            if (n > 6 || k->law != HKT_LAW_FLOOR) /* 6 elements speak for 4 parameters only if nothing else is near */
                assert_int_equal(f.law, k->law);
            assert_true(f.law == k->law || f.law == HKT_LAW_UNDECIDED);
            if (k->law == HKT_LAW_GEOMETRIC) {
                CHECK_NEAR(f.rho, k->ratio, 1e-12);
                CHECK_NEAR(f.C, k->C, 1e-12);
                assert_true(f.rho_low <= f.rho && f.rho <= f.rho_high && f.rho_high < 1);
            } else if (k->law == HKT_LAW_POWER)
                CHECK_NEAR(f.exponent, k->ratio, 1e-12);
            else {
                CHECK_NEAR(f.floor, k->floor, 1e-5);
                CHECK_NEAR(f.floor_q, k->ratio, 1e-3);
                CHECK_NEAR(f.floor_C, k->C, 1e-3);
            }
        }
}

/* AICc by hand: n log(rss/n + noise^2) + 2 k + 2 k (k + 1)/(n - k - 1); the floor law's residuals from its own
 * parameters. */
static void test_aicc(void **state)
{
    (void)state;
    const double e[] = {0.9, 0.6, 0.47, 0.31, 0.24, 0.2, 0.17}, noise = 0.01, n = 7;
    hkt_decay_fit f;
    CHECK_OK(hkt_fit_decay(7, e, &(hkt_decay_spec){0.95, 1e-9, noise}, &f));
    double rss[3] = {0, 0, 0}, mean = 0, mean_x = 0, xx = 0, xy = 0;
    for (int i = 0; i < 7; i++) {
        mean += log(e[i]) / n;
        mean_x += log(i + 1) / n;
    }
    for (int i = 0; i < 7; i++) {
        xx += (log(i + 1) - mean_x) * (log(i + 1) - mean_x);
        xy += (log(i + 1) - mean_x) * (log(e[i]) - mean);
    }
    CHECK_NEAR(f.exponent, -xy / xx, 1e-13);
    for (int i = 0; i < 7; i++) {
        double L = i + 1, fit[] = {log(f.C) + L * log(f.rho), mean + xy / xx * (log(L) - mean_x),
                                   log(f.floor + f.floor_C * pow(f.floor_q, L))};
        for (int k = 0; k < 3; k++)
            rss[k] += (log(e[i]) - fit[k]) * (log(e[i]) - fit[k]);
    }
    for (int k = 0; k < 3; k++) {
        double p = k == HKT_LAW_FLOOR ? 4 : 3;
        CHECK_NEAR(f.aicc[k], n * log(rss[k] / n + noise * noise) + 2 * p + 2 * p * (p + 1) / (n - p - 1), 1e-10);
    }
    CHECK_NEAR(f.margin, fmin(f.aicc[1], f.aicc[2]) - f.aicc[0], 0);
    assert_string_equal(hkt_law_name(HKT_LAW_FLOOR), "floor");
}

/* With errors of 2 %: how often each law is taken for what. A geometric one is recognised nearly always; what is not
 * geometric is called so at most once in a hundred; the interval holds rho 95 times in a hundred. */
static void test_decisions(void **state)
{
    (void)state;
    enum { SERIES = 400 };
    for (size_t i = 0; i < N_LAWS; i++) {
        size_t geometric = 0, other = 0, covered = 0;
        hkt_rng rng = stream((uint32_t)i);
        for (size_t s = 0; s < SERIES; s++) {
            hkt_decay_fit f;
            double e[8];
            for (size_t L = 1; L <= 8; L++)
                e[L - 1] =
                    value(laws + i, (double)L) * exp((laws[i].floor > 0.9 ? 0.001 : 0.02) * hkt_rng_normal(&rng));
            CHECK_OK(hkt_fit_decay(8, e, &(hkt_decay_spec){0.95, 1e-9, 1e-4}, &f));
            geometric += f.law == HKT_LAW_GEOMETRIC;
            other += f.law == HKT_LAW_POWER || f.law == HKT_LAW_FLOOR;
            covered += f.rho_low <= laws[i].ratio && laws[i].ratio <= f.rho_high;
        }
        print_message("law %d ratio %g: geometric %zu, other %zu, covered %zu of %d\n", (int)laws[i].law, laws[i].ratio,
                      geometric, other, covered, SERIES);
        if (laws[i].law == HKT_LAW_GEOMETRIC) {
            /* 4 standard deviations of a proportion of 0.95 over 400 are 0.044. */
            CHECK_NEAR((double)covered / SERIES, 0.95, 0.044);
            assert_true(other <= SERIES / 100);
            assert_true(geometric >= (laws[i].ratio < 0.9 ? 0.95 : 0.5) * SERIES);
        } else {
            assert_true(geometric <= SERIES / 100);
            assert_true(other >= 0.95 * SERIES);
        }
    }
}

static void test_odd_series(void **state)
{
    (void)state;
    const hkt_decay_spec spec = {0.95, 1e-6, 1e-4};
    double e[] = {0.5, 0.25, 0.125, 0.0625, 0.03125, 1e-9, 0.5};
    hkt_decay_fit f;
    CHECK_OK(hkt_fit_decay(7, e, &spec, &f)); /* what follows rounding is not used */
    assert_int_equal(f.n, 5);
    assert_int_equal(f.law, HKT_LAW_UNDECIDED);
    assert_true(isnan(f.rho) && isnan(f.margin));
    CHECK_OK(hkt_fit_decay(0, e, &spec, &f));
    assert_int_equal(f.n, 0);
    for (size_t i = 0; i < 7; i++)
        e[i] = 0.7;
    CHECK_OK(hkt_fit_decay(7, e, &spec, &f)); /* no decay: not geometric */
    assert_int_not_equal(f.law, HKT_LAW_GEOMETRIC);
    for (size_t i = 0; i < 7; i++)
        e[i] = pow(1.2, (double)i);
    CHECK_OK(hkt_fit_decay(7, e, &spec, &f)); /* it grows */
    assert_int_not_equal(f.law, HKT_LAW_GEOMETRIC);
    e[3] = (double)NAN;
    CHECK_FAILS(hkt_fit_decay(7, e, &spec, &f), HKT_EINPUT, "expected finite values of 0 or more, found nan at 4");
    e[3] = -1;
    CHECK_FAILS(hkt_fit_decay(7, e, &spec, &f), HKT_EINPUT, "found -1 at 4");
}

/* --- E_L --- */

enum { T = 32 };

/* No sum of L levels, however its terms are chosen, comes below the bounds: random terms and, to come near, those found
 * by the search, disturbed. */
static void test_bounds(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 6; trial++) {
        double s[T * T], sum[T * T];
        const size_t L = 2 + trial % 4, rank = 1 + trial % 3;
        hkt_rng rng = stream(100 + trial);
        hkt_search search = {.sweeps = 60, .tolerance = 1e-7, .random = 1, .seed = trial};
        hkt_curve c;
        hkt_hierarchy h;
        hkt_descent d;
        if (trial % 2)
            hkt_hierarchy_kernel(HKT_KERNEL_EXPONENTIAL, 5, T, s);
        else
            hkt_decay_noise_fill(T, &rng, s);
        double size = norm(s, T * T);
        CHECK_OK(hkt_hierarchy_bounds(&c, s, T, 2, L, rank));
        CHECK_OK(hkt_hierarchy_levels(&h, T, 2, L, rank));
        CHECK_OK(hkt_hierarchy_search(&h, s, &search, &d));
        CHECK_AT_MOST(c.bound[L - 1], d.error / size + 1e-13);
        for (size_t disturbed = 0; disturbed < 20; disturbed++) {
            for (size_t l = 0; l < L; l++)
                for (size_t k = 0; k < h.n[l]; k++) /* rows scaled: the rank stays */
                    cblas_dscal((int)h.n[l], 1 + 0.1 * hkt_rng_normal(&rng), h.coef[l] + k * h.n[l], 1);
            CHECK_OK(hkt_hierarchy_sum(&h, sum));
            cblas_daxpy(T * T, -1, s, 1, sum, 1);
            CHECK_AT_MOST(c.bound[L - 1], norm(sum, T * T) / size);
            CHECK_AT_MOST(c.floor, norm(sum, T * T) / size);
        }
        hkt_hierarchy_free(&h);
        for (size_t k = 0; k < L; k++)
            CHECK_AT_MOST(c.rank_bound[k], c.bound[k]);
        CHECK_AT_MOST(c.floor, c.bound[L - 1] + 1e-15);
    }
}

/* S without any mean over blocks of two: levels 1, 2, .. are of no use, E_L = E_1 = floor for every L. The mean alone,
 * of rank 1: nothing is left at once. */
static void test_details(void **state)
{
    (void)state;
    double s[T * T];
    hkt_rng rng = stream(200);
    hkt_curve c;
    const hkt_search search = {.sweeps = 30, .tolerance = 1e-9};
    for (size_t i = 0; i < T; i += 2)
        for (size_t j = 0; j < T; j += 2) {
            double v = hkt_rng_normal(&rng);
            s[i * T + j] = s[(i + 1) * T + j + 1] = v;
            s[i * T + j + 1] = s[(i + 1) * T + j] = -v;
        }
    CHECK_OK(hkt_hierarchy_curve(&c, s, T, 2, 6, 2, &search));
    for (size_t L = 0; L < 6; L++) {
        CHECK_NEAR(c.error[L], c.rank_bound[0], 1e-13);
        CHECK_NEAR(c.bound[L], c.rank_bound[0], 1e-13);
    }
    CHECK_NEAR(c.floor, c.rank_bound[0], 1e-13);
    for (size_t i = 0; i < T * T; i++)
        s[i] = -3;
    CHECK_OK(hkt_hierarchy_curve(&c, s, T, 2, 6, 1, &search));
    for (size_t L = 0; L < 6; L++)
        CHECK_AT_MOST(c.error[L], 1e-13);
    CHECK_AT_MOST(c.floor, 1e-13);
}

/* What the check proves of each target lies below the floor as computed, and not far; the matrices are of full size. */
static void test_floor(void **state)
{
    (void)state;
    hkt_check_result r = run_check(&hkt_claim_decay, &quick, "floor");
    assert_int_equal(r.rows.n_rows, 6);
    double least = 1;
    for (size_t i = 0; i < 6; i++) {
        const double *c = r.rows.cell + i * r.rows.n_cols;
        assert_true(c[0] == (double)i && c[1] == 2);
        CHECK_AT_MOST(c[4], c[5]);
        CHECK_AT_MOST(0.5 * c[5], c[4]);
        CHECK_AT_MOST(c[5], c[6] + 1e-9);
        least = fmin(least, c[4]);
    }
    CHECK_NEAR(r.measured, least, 0);
    hkt_check_result_free(&r);
    /* By hand, without a search: white noise, the singular values of rows less the means of pairs. */
    enum { M = 32 };
    double s[M * M], pair[M * M], sigma[M], square = 0, best = 0;
    hkt_rng rng = hkt_rng_make(quick.seed, HKT_STREAM_VERIFY, 445);
    hkt_decay_noise_fill(M, &rng, s);
    for (size_t i = 0; i < M * M; i++)
        square += s[i] * s[i];
    for (size_t block = 2, m = 1; block <= M; block *= 2, m++) {
        for (size_t i = 0; i < M * M; i++) {
            double mean = 0;
            for (size_t k = 0; k < block; k++)
                mean += s[(i / M / block * block + k) * M + i % M] / (double)block;
            pair[i] = s[i] - mean;
        }
        CHECK_OK(hkt_singular_values(M, M, pair, sigma));
        for (size_t k = 2 * m; k < M; k++)
            best = fmax(best, sqrt((double)(k + 1 - 2 * m) / square) * sigma[k]);
    }
    r = run_check(&hkt_claim_decay, &quick, "floor");
    CHECK_NEAR(r.rows.cell[5 * r.rows.n_cols + 4], best, 1e-5 * best);
    hkt_check_result_free(&r);
}

/* What is proved of every sum holds for sums near and far, also when blocks are cut; a sum of L levels has distance 0
 * from L and more levels, not from fewer. */
static void test_certify(void **state)
{
    (void)state;
    enum { N = 13, L = 3, RANK = 2 };
    hkt_search search = {.sweeps = 60, .tolerance = 1e-9};
    for (size_t stride = 2; stride <= 3; stride++) {
        double s[N * N], noise[N * N];
        hkt_rng rng = stream(500 + (uint32_t)stride);
        hkt_hierarchy h;
        hkt_hierarchy_floor f;
        for (size_t i = 0; i < N * N; i++)
            noise[i] = hkt_rng_normal(&rng);
        CHECK_OK(hkt_hierarchy_levels(&h, N, stride, L, RANK));
        hkt_descent d;
        CHECK_OK(hkt_hierarchy_search(&h, noise, &search, &d));
        CHECK_OK(hkt_hierarchy_certify(noise, N, stride, L, RANK, &f));
        CHECK_AT_MOST(f.proved, d.error);
        CHECK_AT_MOST(0.3 * d.error, f.proved);
        CHECK_AT_MOST(norm(noise, N * N), f.norm);
        CHECK_AT_MOST(f.norm, norm(noise, N * N) * (1 + 1e-12));
        hkt_hierarchy_floor any;
        CHECK_OK(hkt_hierarchy_certify(noise, N, stride, SIZE_MAX, RANK, &any));
        assert_true(any.proved > 0 && any.proved <= f.proved);
        CHECK_OK(hkt_hierarchy_sum(&h, s));
        for (size_t levels = L; levels <= L + 2; levels++) {
            CHECK_OK(hkt_hierarchy_certify(s, N, stride, levels == L + 2 ? SIZE_MAX : levels, RANK, &f));
            CHECK_AT_MOST(f.proved, 1e-12);
        }
        CHECK_OK(hkt_hierarchy_certify(s, N, stride, 1, RANK, &f));
        CHECK_AT_MOST(0.01, f.proved);
        hkt_hierarchy_free(&h);
    }
    /* Constant on blocks of seven rows: nothing is left, but for the rounding of the means. */
    double block[14 * 14];
    hkt_rng rng = stream(510);
    for (size_t i = 0; i < 14 * 14; i++)
        block[i] = i / 14 % 7 == 0 ? hkt_rng_normal(&rng) : block[i - 14];
    hkt_hierarchy_floor rounding;
    CHECK_OK(hkt_hierarchy_certify(block, 14, 7, SIZE_MAX, 1, &rounding));
    assert_int_equal(rounding.levels, 1);
    CHECK_NEAR(rounding.proved, 0, 0);
    double bad[N * N] = {(double)NAN};
    hkt_hierarchy_floor f;
    CHECK_FAILS(hkt_hierarchy_certify(bad, N, 2, L, RANK, &f), HKT_ENUMERIC, "hierarchy");
    memset(bad, 0, sizeof bad);
    CHECK_OK(hkt_hierarchy_certify(bad, N, 2, L, N, &f)); /* every matrix has rank N */
    assert_true(f.proved == 0 && f.count == 0);
}

/* E_L never grows, to the last bit, and starts from the best matrix of rank r. */
static void test_curve(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 4; trial++) {
        double s[T * T];
        hkt_rng rng = stream(300 + trial);
        hkt_curve c;
        hkt_decay_noise_fill(T, &rng, s);
        CHECK_OK(hkt_hierarchy_curve(&c, s, T - trial, 2 + trial % 2, 4, 1 + trial,
                                     &(hkt_search){.sweeps = 5, .tolerance = 1e-7}));
        assert_int_equal(c.n, 4);
        CHECK_NEAR(c.error[0], c.rank_bound[0], 1e-13);
        for (size_t L = 1; L < 4; L++) {
            assert_true(c.error[L] <= c.error[L - 1]);
            CHECK_AT_MOST(c.bound[L], c.error[L] + 1e-13);
        }
    }
}

/* Planted fields: norm 1, the singular values of the construction, E_L = error by the bound by rank and by the search.
 */
static void test_planted(void **state)
{
    (void)state;
    const double error[] = {0.7, 0.5, 0.37, 0.25};
    for (size_t rank = 1; rank <= 2; rank++) {
        double s[T * T], w[T];
        hkt_rng rng = stream(400 + (uint32_t)rank);
        hkt_curve c;
        CHECK_OK(hkt_decay_planted_fill(T, 4, rank, error, &rng, s));
        CHECK_NEAR(norm(s, T * T), 1, 1e-14);
        CHECK_OK(hkt_singular_values(T, T, s, w));
        for (size_t l = 0; l < 4; l++)
            for (size_t k = 0; k < rank; k++) {
                double before = l == 0 ? 1 : error[l - 1];
                CHECK_NEAR(w[l * rank + k], sqrt((before * before - error[l] * error[l]) / (double)rank), 1e-14);
            }
        CHECK_OK(hkt_hierarchy_curve(&c, s, T, 2, 4, rank, &(hkt_search){.sweeps = 10, .tolerance = 1e-9}));
        for (size_t l = 0; l < 4; l++) {
            CHECK_NEAR(c.rank_bound[l], error[l], 1e-13);
            CHECK_NEAR(c.error[l], error[l], 1e-12);
        }
    }
}

static void test_kernels(void **state)
{
    (void)state;
    double s[9];
    hkt_hierarchy_kernel(HKT_KERNEL_POWER, 2, 3, s);
    const double power[] = {1, 0.25, 1.0 / 9, 0.25, 1, 0.25, 1.0 / 9, 0.25, 1};
    for (size_t i = 0; i < 9; i++)
        CHECK_NEAR(s[i], power[i], DBL_EPSILON);
    hkt_hierarchy_kernel(HKT_KERNEL_EXPONENTIAL, 0.5, 3, s);
    for (size_t i = 0; i < 9; i++)
        CHECK_NEAR(s[i], exp(-2 * fabs((double)(i / 3) - (double)(i % 3))), DBL_EPSILON);
}

/* --- the claim --- */

/* The planted ratios are recovered: exactly where nothing is added, within the first field's interval where errors are;
 * white noise and kernels level off. */
static void test_claim(void **state)
{
    (void)state;
    const double rho[] = {0.3, 0.5, 0.8};
    hkt_check_result r = run_check(&hkt_claim_decay, &quick, "planted-exact");
    assert_int_equal(r.rows.n_rows, 6);
    for (size_t i = 0; i < 6; i++) {
        const double *c = r.rows.cell + i * r.rows.n_cols;
        CHECK_NEAR(c[0], rho[i % 3], 0);
        CHECK_NEAR(c[4], rho[i % 3], 1e-6);
        assert_true(c[5] >= HKT_FIT_MARGIN);
    }
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_decay, &quick, "planted-interval");
    assert_int_equal(r.rows.n_rows, 3);
    CHECK_NEAR(r.bound, 12.5 / 240, 1e-12); /* K of 240 at 0.95: P(|K - 228| > 12) = 0.0005, > 11: 0.0011 */
    for (size_t i = 0; i < 3; i++) {
        const double *c = r.rows.cell + i * r.rows.n_cols;
        assert_true(c[2] <= rho[i] && rho[i] <= c[3]);
        assert_true(c[3] - c[2] < 0.02 * rho[i]);
        assert_true(c[5] >= 0.95 * c[6]);
    }
    hkt_check_result_free(&r);
    r = run_check(&hkt_claim_decay, &quick, "white-noise");
    for (size_t i = 0; i < r.rows.n_rows; i++) {
        const double *c = r.rows.cell + i * r.rows.n_cols;
        assert_true(c[9] == HKT_LAW_FLOOR || c[9] == HKT_LAW_POWER);
        assert_true(c[4] > 0.6 && c[4] < c[3]);
    }
    hkt_check_result_free(&r);
}

/* A verdict that only the undecided keep from HOLDS is not VIOLATED; too short a sequence is skipped. */
static void test_short(void **state)
{
    (void)state;
    const hkt_check *scores = hkt_claim_check(&hkt_claim_decay, "model-scores");
    hkt_verify_context ctx = quick;
    hkt_check_result r = {0};
    ctx.tokens = 16;
    CHECK_OK(scores->run(&ctx, &r, false));
    assert_int_equal(r.verdict, HKT_SKIPPED);
    assert_non_null(strstr(r.detail, "17 tokens or more for 6 levels, found 16"));
    hkt_check_result_free(&r);
    ctx.tokens = 17;
    CHECK_OK(scores->run(&ctx, &r, false));
    assert_int_not_equal(r.verdict, HKT_SKIPPED);
    hkt_check_result_free(&r);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),      cmocka_unit_test(test_exact_laws), cmocka_unit_test(test_aicc),
        cmocka_unit_test(test_decisions), cmocka_unit_test(test_odd_series), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_details),   cmocka_unit_test(test_curve),      cmocka_unit_test(test_planted),
        cmocka_unit_test(test_kernels),   cmocka_unit_test(test_floor),      cmocka_unit_test(test_certify),
        cmocka_unit_test(test_claim),     cmocka_unit_test(test_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

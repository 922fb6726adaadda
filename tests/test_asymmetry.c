/* Parts of score forms, their energies and angles, against closed forms, Monte Carlo and naive loops; dense score
 * matrices; the checks of the claim on other models than the default one. */
#include "tests/check.h"

#include <gsl/gsl_sort.h>

#include <float.h>

#include "analysis/claims/asymmetry/null.h"
#include "analysis/claims/list.h"
#include "analysis/math/linalg.h"
#include "analysis/math/draw.h"
#include "analysis/view/asymmetry.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "tests/claim_check.h"
#include "tests/model.h"
#include "tests/vectors.h"

static const hkt_config base = {.vocab = 12,
                                .classes = 3,
                                .max_len = 40,
                                .d_model = 24,
                                .heads = 3,
                                .layers = 2,
                                .levels = 3,
                                .stride = 2,
                                .conv_width = 4,
                                .ffn_mult = 2,
                                .hybrid = true,
                                .causal = true};

/* --- forms --- */

static void form_and_parts(void **state)
{
    (void)state;
    enum { D = 7, P = 3 };
    hkt_rng rng = hkt_rng_make(1, HKT_STREAM_TEST, 0);
    double wq[P * D], wk[P * D], m[D * D], sym[D * D], anti[D * D], inner = 0;
    normals(&rng, wq, P * D);
    normals(&rng, wk, P * D);
    hkt_score_form(D, P, wq, wk, m);
    hkt_split(D, m, sym, anti);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            double s = 0;
            for (size_t r = 0; r < P; r++)
                s += wq[r * D + i] * wk[r * D + j];
            CHECK_NEAR(m[i * D + j], s / sqrt(P), 1e-14);
            assert_true(sym[i * D + j] == sym[j * D + i] && anti[i * D + j] == -anti[j * D + i]);
            CHECK_NEAR(sym[i * D + j] + anti[i * D + j], m[i * D + j], 1e-15);
            inner += sym[i * D + j] * m[i * D + j];
        }
    CHECK_NEAR(hkt_inner(D, sym, m), inner, 1e-13);
    CHECK_NEAR(hkt_inner(D, sym, anti), 0, 1e-14);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void general_eigenvalues(void **state)
{
    (void)state;
    double turn[4] = {0, -3, 3, 0}, re[4], im[4];
    CHECK_OK(hkt_eigenvalues_general(2, turn, re, im));
    CHECK_NEAR(re[0], 0, 1e-15);
    CHECK_NEAR(fabs(im[0]), 3, 1e-15);
    CHECK_NEAR(im[0] + im[1], 0, 0);
    double companion[9] = {6, -11, 6, 1, 0, 0, 0, 1, 0}; /* (x - 1)(x - 2)(x - 3) */
    CHECK_OK(hkt_eigenvalues_general(3, companion, re, im));
    qsort(re, 3, sizeof *re, ascending);
    for (size_t i = 0; i < 3; i++) {
        CHECK_NEAR(re[i], i + 1, 1e-12);
        CHECK_NEAR(im[i], 0, 0);
    }
    companion[4] = (double)NAN;
    CHECK_FAILS(hkt_eigenvalues_general(3, companion, re, im), HKT_ENUMERIC, "dgeev");
}

/* --- energy --- */

static hkt_energy energy_of(size_t d, size_t p, const double *wq, const double *wk)
{
    hkt_energy e;
    CHECK_OK(hkt_energy_share(d, p, wq, wk, &e));
    return e;
}

/* Share from the matrices themselves. */
static double dense_share(size_t d, size_t p, const double *wq, const double *wk)
{
    double *m = model_doubles(3 * d * d);
    hkt_score_form(d, p, wq, wk, m);
    hkt_split(d, m, m + d * d, m + 2 * d * d);
    double share = hkt_inner(d, m + 2 * d * d, m + 2 * d * d) / hkt_inner(d, m, m);
    hkt_free(m);
    return share;
}

static void energy_shares(void **state)
{
    (void)state;
    enum { D = 12, P = 4 };
    hkt_rng rng = hkt_rng_make(2, HKT_STREAM_TEST, 0);
    double wq[P * D], wk[P * D];
    for (int i = 0; i < 20; i++) {
        normals(&rng, wq, P * D);
        normals(&rng, wk, P * D);
        hkt_energy e = energy_of(D, P, wq, wk);
        CHECK_NEAR(e.share, dense_share(D, P, wq, wk), 1e-14);
        CHECK_NEAR(e.expected, (1 - 1 / 12.0) / 2, 1e-16);
        CHECK_NEAR(e.z, (e.share - e.expected) / e.sd, 1e-13);
    }
    /* Wk = Wq: symmetric. Rows of Wk = J Wq, J = [0 1; -1 0] twice: antisymmetric. */
    hkt_energy tied = energy_of(D, P, wq, wq);
    CHECK_AT_MOST(fabs(tied.share), tied.error);
    CHECK_AT_MOST(tied.error, 1e-12);
    for (size_t r = 0; r < P; r++)
        for (size_t c = 0; c < D; c++)
            wk[r * D + c] = r % 2 ? -wq[(r - 1) * D + c] : wq[(r + 1) * D + c];
    hkt_energy turned = energy_of(D, P, wq, wk);
    CHECK_AT_MOST(fabs(1 - turned.share), turned.error);
    memset(wk, 0, sizeof wk);
    assert_true(isnan(energy_of(D, P, wq, wk).share));
    assert_true(energy_of(1, 1, wq, wq).z == 0);
}

/* d = 2: average over O(2) by quadrature. The angle enters as cos^2 and sin^2, so equidistant points are exact. */
static void variance_in_the_plane(void **state)
{
    (void)state;
    enum { STEPS = 64 };
    const double sigma[][2] = {{1, 0}, {1, 1}, {3, 2}, {5, -1}};
    for (size_t i = 0; i < 4; i++) {
        double a = sigma[i][0], b = sigma[i][1], n = a * a + b * b, mean = 0, square = 0;
        for (int k = 0; k < STEPS; k++)
            for (int flip = -1; flip <= 1; flip += 2) {
                double c = cos(2 * acos(-1) * k / STEPS), s2 = 1 - c * c;
                double value = (n * c * c + 2 * a * b * flip * s2) / n; /* Q_12 Q_21 = -+ sin^2 */
                mean += value / (2 * STEPS);
                square += value * value / (2 * STEPS);
            }
        double wq[4] = {a, 0, 0, b}, wk[4] = {1, 0, 0, 1};
        hkt_energy e = energy_of(2, 2, wq, wk);
        CHECK_NEAR(mean, 1 - 2 * e.expected, 1e-14);
        CHECK_NEAR(sqrt(square - mean * mean) / 2, e.sd, 1e-14);
    }
    /* p = 1, d = 3: c = Q_11^2 with Q_11 uniform in [-1, 1]: variance 1/5 - 1/9. */
    double w[3] = {2, 0, 0}, v[3] = {0, 1, 0};
    CHECK_NEAR(energy_of(3, 1, w, v).sd, sqrt(4 / 45.0) / 2, 1e-15);
}

/* Columns of q [d, d] made orthonormal (Gram-Schmidt on normals gives the uniform law on O(d)). */
static void random_rotation(hkt_rng *rng, size_t d, double *q)
{
    normals(rng, q, d * d);
    for (size_t j = 0; j < d; j++)
        for (size_t pass = 0; pass < 2; pass++) {
            double norm = 0;
            for (size_t k = 0; k < j; k++) {
                double dot = 0;
                for (size_t i = 0; i < d; i++)
                    dot += q[i * d + j] * q[i * d + k];
                for (size_t i = 0; i < d; i++)
                    q[i * d + j] -= dot * q[i * d + k];
            }
            for (size_t i = 0; i < d; i++)
                norm += q[i * d + j] * q[i * d + j];
            for (size_t i = 0; i < d; i++)
                q[i * d + j] /= sqrt(norm);
        }
}

/* Fixed singular values 3, 2, 1 in d = 5, rotated at random: mean and variance by sampling, within 5 standard errors.
 */
static void variance_by_rotation(void **state)
{
    (void)state;
    enum { D = 5, P = 3, N = 20000 };
    hkt_rng rng = hkt_rng_make(3, HKT_STREAM_TEST, 0);
    double wq[P * D] = {0}, wk[P * D], q[D * D], sum = 0, m2 = 0, m4 = 0, sd = 0, expected = 0;
    for (size_t r = 0; r < P; r++)
        wq[r * D + r] = (double)(P - r);
    for (size_t k = 0; k < N; k++) {
        random_rotation(&rng, D, q);
        for (size_t r = 0; r < P; r++)
            for (size_t c = 0; c < D; c++)
                wk[r * D + c] = q[c * D + r];
        hkt_energy e = energy_of(D, P, wq, wk);
        double x = e.share - e.expected;
        if (k > 0)
            CHECK_NEAR(e.sd, sd, 1e-12);
        sd = e.sd;
        expected = e.expected;
        sum += x;
        m2 += x * x;
        m4 += x * x * x * x;
    }
    CHECK_NEAR(expected, 0.4, 1e-16);
    CHECK_NEAR(sum / N, 0, 5 * sd / sqrt(N));
    CHECK_NEAR(m2 / N, sd * sd, 5 * sqrt((m4 / N - sd * sd * sd * sd) / N));
}

static void cosines(void **state)
{
    (void)state;
    enum { D = 6, P = 3, N = 20000 };
    hkt_rng rng = hkt_rng_make(4, HKT_STREAM_TEST, 0);
    double w[4 * P * D], a[D * D], b[D * D], sym[D * D], anti[D * D], other[D * D], m2 = 0, m4 = 0;
    for (size_t k = 0; k < N; k++) {
        normals(&rng, w, 4 * P * D);
        hkt_score_form(D, P, w, w + P * D, a);
        hkt_score_form(D, P, w + 2 * P * D, w + 3 * P * D, b);
        double c = hkt_directional_cosine(D, a, b);
        m2 += c * c / N;
        m4 += c * c * c * c / N;
    }
    CHECK_NEAR(m2, 2.0 / (D * (D - 1)), 5 * sqrt((m4 - m2 * m2) / N));
    hkt_split(D, a, sym, anti);
    hkt_split(D, b, sym, other);
    double dense = hkt_inner(D, anti, other) / sqrt(hkt_inner(D, anti, anti) * hkt_inner(D, other, other));
    CHECK_NEAR(hkt_directional_cosine(D, a, b), dense, 1e-14);
    CHECK_NEAR(hkt_directional_cosine(D, a, a), 1, 1e-15);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            b[i * D + j] = a[j * D + i];
    CHECK_NEAR(hkt_directional_cosine(D, a, b), -1, 1e-15);
}

static void grams(void **state)
{
    (void)state;
    double a[4] = {3, 0, 0, 0}, b[4] = {0, 2, 0, 0}, c[4] = {1, 1, 0, 0}, zero[4] = {0}, g[9], least;
    const double *orthogonal[] = {a, b}, *dependent[] = {a, b, c}, *twice[] = {c, c}, *nothing[] = {a, zero};
    CHECK_OK(hkt_normalised_gram(2, 2, orthogonal, g, &least));
    CHECK_NEAR(least, 1, 1e-15);
    CHECK_OK(hkt_normalised_gram(3, 2, dependent, g, &least));
    CHECK_NEAR(least, 0, 1e-15);
    CHECK_NEAR(g[2], sqrt(0.5), 1e-15);
    CHECK_OK(hkt_normalised_gram(2, 2, twice, g, &least));
    CHECK_NEAR(least, 0, 1e-15);
    CHECK_OK(hkt_normalised_gram(2, 2, nothing, g, &least));
    assert_true(isnan(least));
}

/* --- dense scores --- */

static void dense_scores(void **state)
{
    (void)state;
    size_t length = 21;
    model m = model_random(&base, 1, &length, 3);
    hkt_net_f64 *net = model_net_f64(&m, false, true);
    hkt_tap_f64 tap;
    CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, NULL, NULL, NULL));
    CHECK_OK(hkt_net_tap_f64(net, 1, &tap));
    enum { P = 8, D = 24, H = 2, LEVEL = 1, N = 11, T = 21 };
    const hkt_level_offsets *at = &m.layout->layer[1].level[LEVEL];
    const double *wq = m.params + at->q + H * P * D, *wk = m.params + at->k + H * P * D, *x = tap.x[LEVEL];
    double score[N * N], size[N * N], work[2 * N * P], up[T * T] = {0};
    assert_int_equal(tap.offset[LEVEL][1], N);
    hkt_score_dense(&tap, LEVEL, H, P, score);
    hkt_score_size(N, D, P, x, wq, wk, work, size);
    hkt_score_upsample(T, 2, 0.5, score, up);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double s = 0, t = 0;
            for (size_t r = 0; r < P; r++) {
                double q = 0, k = 0, q_size = 0, k_size = 0;
                for (size_t c = 0; c < D; c++) {
                    q += wq[r * D + c] * x[i * D + c];
                    k += wk[r * D + c] * x[j * D + c];
                    q_size += fabs(wq[r * D + c] * x[i * D + c]);
                    k_size += fabs(wk[r * D + c] * x[j * D + c]);
                }
                s += q * k / sqrt(P);
                t += q_size * k_size / sqrt(P);
            }
            CHECK_NEAR(score[i * N + j], s, 1e-13 * t);
            CHECK_NEAR(size[i * N + j], t, 1e-13 * t);
        }
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            assert_true(up[i * T + j] == 0.5 * score[i / 2 * N + j / 2]);
    assert_true(hkt_level_factor(3, 4) == 81 && hkt_level_factor(2, 0) == 1 && hkt_level_factor(2, 70) == SIZE_MAX);
    hkt_net_destroy_f64(net);
    model_free(&m);
}

/* --- the claim --- */

/* Every check on a model with random tokens as data, whose labels are the model's own predictions: accuracy 1 as it
 * is. */
static void run_claim(const hkt_config *c, hkt_verdict *verdict)
{
    size_t length[30];
    for (size_t b = 0; b < 30; b++)
        length[b] = 10 + b;
    model m = model_random(c, 30, length, 5);
    float logits[30 * 3];
    model_run_f32(&m, NULL, logits, NULL, NULL);
    for (size_t b = 0; b < 30; b++)
        for (int32_t k = 0; k < 3; k++)
            m.labels[b] = logits[b * 3 + (size_t)k] > logits[b * 3 + (size_t)m.labels[b]] ? k : m.labels[b];
    size_t offset[31] = {0};
    for (size_t b = 0; b < 30; b++)
        offset[b + 1] = offset[b] + length[b];
    hkt_dataset data = {.task = "test",
                        .vocab = c->vocab,
                        .classes = c->classes,
                        .max_len = c->max_len,
                        .n = 30,
                        .offset = offset,
                        .tokens = m.tokens,
                        .labels = m.labels};
    hkt_checkpoint checkpoint = {.layout = m.layout, .params = m.params};
    hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED, .model = &checkpoint, .data = &data};
    for (size_t i = 0; i < hkt_claim_asymmetry.n_checks; i++) {
        const hkt_check *check = hkt_claim_asymmetry.checks[i];
        if (!check->of_model)
            continue;
        hkt_check_result r = {0};
        CHECK_OK(check->run(&ctx, &r, false));
        verdict[i] = r.verdict;
        if (!strcmp(check->name, "interventions")) {
            /* The model, then per place (all, each level) two parts and three random ones; nothing gains on 1. */
            size_t places = c->levels > 1 ? 1 + c->levels : 1;
            assert_int_equal(r.rows.n_rows, 1 + 5 * places);
            CHECK_NEAR(r.rows.cell[2], 1, 0);
            for (size_t k = 0; k < r.rows.n_rows; k++) {
                const double *cell = r.rows.cell + k * r.rows.n_cols;
                CHECK_NEAR(cell[4], 0, 0);
                CHECK_NEAR(cell[2], 1 - cell[5] / 30, 1e-15);
                if (k > 0)
                    CHECK_NEAR(cell[6], fmin(1, ldexp(1, 1 - (int)cell[5])), 1e-15); /* McNemar */
            }
            assert_non_null(strstr(r.condition, c->causal ? "j <= i" : "attention itself"));
        }
        hkt_check_result_free(&r);
    }
    model_free(&m);
}

static void claim_on_models(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        hkt_config c = base;
        hkt_verdict verdict[32];
        c.causal = kind % 2 == 0;
        c.fusion = kind == 2 ? HKT_FUSION_SCORE : HKT_FUSION_DYNAMIC;
        if (kind == 3) {
            c.levels = 1;
            c.heads = 1;
        }
        run_claim(&c, verdict);
        for (size_t i = 0; i < hkt_claim_asymmetry.n_checks; i++) {
            const char *name = hkt_claim_asymmetry.checks[i]->name;
            bool compares = !strcmp(name, "independence") || !strcmp(name, "level-cosine");
            if (hkt_claim_asymmetry.checks[i]->of_model && strcmp(name, "interventions"))
                assert_int_equal(verdict[i], kind == 3 && compares ? HKT_SKIPPED : HKT_HOLDS);
        }
    }
}

/* What is reported is the worst of the rows; a wrong expectation shows in the mean of every shape. */
static void moments_by_row(void **state)
{
    (void)state;
    const hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED, .quick = true};
    const hkt_check *check = hkt_claim_check(&hkt_claim_asymmetry, "energy-moments");
    hkt_check_result r = {0}, wrong = {0};
    double worst = 0;
    CHECK_OK(check->run(&ctx, &r, false));
    CHECK_OK(check->run(&ctx, &wrong, true));
    for (size_t i = 0; i < r.rows.n_rows; i++) {
        const double *cell = r.rows.cell + i * r.rows.n_cols, *other = wrong.rows.cell + i * r.rows.n_cols;
        worst = fmax(worst, fmax(fabs(cell[5]), fabs(cell[6])));
        CHECK_NEAR(cell[5], (cell[3] - cell[4]) * cell[0] * sqrt(2 * cell[2]), 0.2 * fabs(cell[5]) + 0.05);
        CHECK_AT_MOST(10, fabs(other[5])); /* 1/(2d) is about 0.7 standard deviations of a share */
    }
    CHECK_NEAR(r.measured, worst, 0);
    hkt_check_result_free(&r);
    hkt_check_result_free(&wrong);
}

/* Simulated laws: the variance of a share's z is 1 and that of a cosine 2/(d(d-1)), exactly; the tail of z is that of
 * weights drawn element by element; the largest of a model's heads is larger. */
static void null_laws(void **state)
{
    (void)state;
    enum { N = 20000 };
    static const size_t shape[][2] = {{12, 3}, {10, 8}, {8, 8}, {40, 5}, {6, 1}};
    static double x[N], direct[N], w[2 * 200];
    for (size_t i = 0; i < 5; i++) {
        size_t d = shape[i][0], p = shape[i][1];
        double square = 0, cosine = 0, fourth = 0;
        hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 40 + (uint32_t)i);
        hkt_asymmetry_null_shares(d, p, 1, N, 5, x);
        for (size_t k = 0; k < N; k++) {
            hkt_energy e;
            for (size_t j = 0; j < 2 * p * d; j++)
                w[j] = hkt_rng_normal(&rng);
            CHECK_OK(hkt_energy_share(d, p, w, w + p * d, &e));
            direct[k] = fabs(e.z);
            square += x[k] * x[k] / N;
            fourth += x[k] * x[k] * x[k] * x[k] / N;
            assert_true(k == 0 || x[k] >= x[k - 1]);
        }
        CHECK_NEAR(square, 1, 5 * sqrt((fourth - 1) / N));
        gsl_sort(direct, 1, N);
        for (double level = 0.5; level > 0.01; level /= 4) { /* two samples of the same law: their ranks agree */
            double q = direct[(size_t)((1 - level) * N)];
            CHECK_NEAR(hkt_asymmetry_null_p(x, N, q), level, 5 * sqrt(2 * level / N) + 2.0 / N);
        }
        CHECK_OK(hkt_asymmetry_null_cosines(d, p, N, 5, x));
        fourth = 0;
        for (size_t k = 0; k < N; k++) {
            cosine += x[k] * x[k] / N;
            fourth += x[k] * x[k] * x[k] * x[k] / N;
        }
        CHECK_NEAR(cosine, 2 / ((double)d * ((double)d - 1)), 5 * sqrt(fourth / N));
    }
    double largest[2], few[4] = {1, 2, 2, 3};
    hkt_asymmetry_null_shares(12, 3, 100, 2, 5, largest);
    CHECK_AT_MOST(2, largest[0]);
    CHECK_NEAR(hkt_asymmetry_null_p(few, 4, 2), 4 / 5.0, 0);
    CHECK_NEAR(hkt_asymmetry_null_p(few, 4, 0), 1, 0);
    CHECK_NEAR(hkt_asymmetry_null_p(few, 4, 3.5), 1 / 5.0, 0);
    assert_true(isnan(hkt_asymmetry_null_p(few, 4, (double)NAN)));
    for (size_t n = 1; n < 40; n += 6) { /* E chi^2 = n, variance 2n */
        hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 60 + (uint32_t)n);
        double sum = 0, squares = 0, dn = (double)n;
        for (size_t k = 0; k < N; k++) {
            double c = hkt_draw_chi(&rng, n);
            sum += c * c / N;
            squares += (c * c - dn) * (c * c - dn) / N;
        }
        CHECK_NEAR(sum, dn, 5 * sqrt(2 * dn / N));
        CHECK_NEAR(squares, 2 * dn, 5 * sqrt((8 * dn * dn + 48 * dn) / N)); /* fourth central moment 12n^2 + 48n */
    }
}

/* Running out of memory anywhere in a check is reported and leaves nothing behind. */
static void out_of_memory(void **state)
{
    (void)state;
    const hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED, .quick = true, .tokens = 8};
    static const char *const names[] = {"forms", "imaginary-pairs", "independence", "energy-fresh"};
    static const char *const controls[] = {"interventions", "level-cosine"};
    check_out_of_memory(&hkt_claim_asymmetry, &ctx, names, 4);
    for (size_t i = 0; i < 2; i++)
        run_out_of_memory(hkt_claim_check(&hkt_claim_asymmetry, controls[i]), true, &ctx);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    hkt_set_threads(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_and_parts),
        cmocka_unit_test(general_eigenvalues),
        cmocka_unit_test(energy_shares),
        cmocka_unit_test(variance_in_the_plane),
        cmocka_unit_test(variance_by_rotation),
        cmocka_unit_test(cosines),
        cmocka_unit_test(grams),
        cmocka_unit_test(dense_scores),
        cmocka_unit_test(claim_on_models),
        cmocka_unit_test(moments_by_row),
        cmocka_unit_test(null_laws),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

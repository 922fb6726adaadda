/* The three errors on cases that can be worked out; the student's gradient against finite differences; the claim. */
#include "tests/check.h"
#include "tests/claim_check.h"

#include <float.h>

#include "analysis/claims/approximation/approximation.h"
#include "analysis/claims/list.h"
#include "analysis/math/linalg.h"
#include "analysis/view/errors.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "tests/vectors.h"

enum { ST = 12, SD = 4, SP = 2, SL = 2 };

static hkt_rng stream(uint32_t sub)
{
    return hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 700 + sub);
}

/* Singular values below the first r, as one norm. */
static double tail(size_t n, const double *s, size_t r)
{
    double w[ST], sum = 0;
    CHECK_OK(hkt_singular_values(n, n, s, w));
    for (size_t i = r; i < n; i++)
        sum += w[i] * w[i];
    return sqrt(sum);
}

static hkt_student make_student(uint32_t sub)
{
    hkt_student s;
    hkt_rng rng = stream(300 + sub);
    CHECK_OK(hkt_student_create(&s, ST, SD, SP, SL, 2));
    normals(&rng, s.target, ST * ST);
    normals(&rng, s.wq[0], s.n_weights);
    for (size_t l = 0; l < SL; l++)
        normals(&rng, s.x[l], hkt_level_length(ST, 2, l) * SD);
    s.a.weight[0] = 0.7;
    s.a.weight[1] = 0.3;
    return s;
}

/* ||S* - S_T||^2 by the definition; out: S_T, or NULL. */
static double naive_loss(const hkt_student *s, double *out)
{
    double sum = 0;
    for (size_t i = 0; i < ST; i++)
        for (size_t j = 0; j < ST; j++) {
            double score = 0;
            for (size_t l = 0; l < SL; l++)
                for (size_t r = 0; r < SP; r++) {
                    double q = 0, k = 0;
                    for (size_t c = 0; c < SD; c++) {
                        q += s->wq[l][r * SD + c] * s->x[l][(i >> l) * SD + c];
                        k += s->wk[l][r * SD + c] * s->x[l][(j >> l) * SD + c];
                    }
                    score += s->a.weight[l] * q * k / sqrt(SP);
                }
            if (out)
                out[i * ST + j] = score;
            sum += (s->target[i * ST + j] - score) * (s->target[i * ST + j] - score);
        }
    return sum;
}

/* A step goes along minus the gradient by central differences, and lowers the loss. */
static void test_student(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 3; trial++) {
        hkt_student s = make_student(trial);
        double gradient[2 * SL * SP * SD], start[2 * SL * SP * SD], before = naive_loss(&s, NULL);
        assert_int_equal(s.n_weights, 2 * SL * SP * SD);
        memcpy(start, s.wq[0], sizeof start);
        for (size_t i = 0; i < s.n_weights; i++) {
            const double h = 1e-5;
            s.wq[0][i] = start[i] + h;
            gradient[i] = naive_loss(&s, NULL);
            s.wq[0][i] = start[i] - h;
            gradient[i] = (gradient[i] - naive_loss(&s, NULL)) / (2 * h);
            s.wq[0][i] = start[i];
        }
        CHECK_OK(hkt_student_train(&s, 1));
        double moved[2 * SL * SP * SD];
        for (size_t i = 0; i < s.n_weights; i++)
            moved[i] = s.wq[0][i] - start[i];
        for (size_t i = 0; i < s.n_weights; i++)
            CHECK_NEAR(moved[i] / norm(moved, s.n_weights), -gradient[i] / norm(gradient, s.n_weights), 1e-7);
        for (size_t step = 0; step < 50; step++) {
            double now = naive_loss(&s, NULL);
            assert_true(now < before);
            before = now;
            CHECK_OK(hkt_student_train(&s, 1));
        }
        hkt_student_free(&s);
    }
}

/* S_T as the measurement sees it is that of the weights; order and triangle; the norms are consistent. */
static void test_three_errors(void **state)
{
    (void)state;
    const hkt_search search = {.sweeps = 200, .tolerance = 1e-10};
    for (uint32_t trial = 0; trial < 5; trial++) {
        hkt_student s = make_student(10 + trial);
        hkt_three_errors e;
        CHECK_OK(hkt_student_train(&s, 20));
        CHECK_OK(hkt_three_errors_measure(&s.a, &search, &e));
        CHECK_NEAR(e.total, sqrt(naive_loss(&s, NULL)), 1e-13 * e.size);
        CHECK_NEAR(e.size, norm(s.target, ST * ST), 1e-14 * e.size);
        CHECK_AT_MOST(e.total, (e.hierarchical + e.downsampling + e.optimisation) * (1 + ST * ST * DBL_EPSILON));
        CHECK_AT_MOST(e.lower, e.hierarchical + 1e-13 * e.size);
        CHECK_AT_MOST(e.hierarchical, e.given_inputs + 1e-13 * e.size);
        CHECK_AT_MOST(e.given_inputs, e.total + 1e-13 * e.size);
        CHECK_AT_MOST(fabs(e.hierarchical - e.downsampling), e.given_inputs + 1e-13 * e.size);
        CHECK_AT_MOST(fabs(e.given_inputs - e.optimisation), e.total + 1e-13 * e.size);
        CHECK_AT_MOST(tail(ST, s.target, SP * SL), e.lower + 1e-13 * e.size);
        assert_true(e.downsampling > 1e-3 * e.size && e.optimisation > 1e-3 * e.size);
        hkt_student_free(&s);
    }
}

/* S* = S_T: nothing is left. S* of one level's form: no hierarchical error, whatever the model. Inputs that span
 * everything: no downsampling error. */
static void test_vanishing(void **state)
{
    (void)state;
    const hkt_search search = {.sweeps = 400, .tolerance = 1e-12};
    hkt_three_errors e;
    hkt_student s = make_student(20);
    CHECK_OK(hkt_student_train(&s, 0));
    naive_loss(&s, s.target);
    CHECK_OK(hkt_three_errors_measure(&s.a, &search, &e));
    CHECK_AT_MOST(e.total, 1e-14 * e.size);
    CHECK_AT_MOST(e.hierarchical + e.downsampling + e.optimisation, 1e-13 * e.size);
    hkt_student_free(&s);

    s = make_student(21);
    CHECK_OK(hkt_student_train(&s, 0));
    memcpy(s.target, s.score[0], ST * ST * sizeof *s.target);
    s.a.weight[0] = 0.1;
    CHECK_OK(hkt_three_errors_measure(&s.a, &search, &e));
    CHECK_AT_MOST(e.hierarchical, 1e-13 * e.size);
    CHECK_AT_MOST(e.downsampling, 1e-13 * e.size);
    CHECK_AT_MOST(e.total, e.optimisation + 1e-13 * e.size);
    assert_true(e.total > 0.5 * e.size);
    hkt_student_free(&s);

    CHECK_OK(hkt_student_create(&s, 4, 4, 1, 1, 2)); /* X^(0) = I: S_D is S_H */
    hkt_rng rng = stream(22);
    normals(&rng, s.target, 16);
    for (size_t i = 0; i < 4; i++)
        s.x[0][i * 5] = 1;
    CHECK_OK(hkt_student_train(&s, 0));
    CHECK_OK(hkt_three_errors_measure(&s.a, &search, &e));
    CHECK_NEAR(e.hierarchical, tail(4, s.target, 1), 1e-13 * e.size);
    CHECK_AT_MOST(e.downsampling, 1e-13 * e.size);
    CHECK_NEAR(e.total, e.size, 1e-14 * e.size); /* weights 0: S_T = 0 */
    hkt_student_free(&s);
}

/* S* = S_T + N with N outside what the inputs reach, and larger: S_D = S_T, while S_H takes the largest two singular
 * triplets of N. */
static void test_out_of_reach(void **state)
{
    (void)state;
    hkt_student s;
    hkt_three_errors e;
    hkt_rng rng = stream(50);
    double model = 0, outside[ST * ST], w[ST];
    CHECK_OK(hkt_student_create(&s, ST, SD, SP, 1, 2));
    normals(&rng, s.wq[0], s.n_weights);
    normals(&rng, s.x[0], SD * SD); /* rows 4 .. of X are zero: it reaches the first 4 rows and columns */
    CHECK_OK(hkt_student_train(&s, 0));
    for (size_t i = 0; i < ST; i++)
        for (size_t j = 0; j < ST; j++) {
            outside[i * ST + j] = i >= SD && j >= SD ? 100 * hkt_rng_normal(&rng) : 0;
            s.target[i * ST + j] = s.score[0][i * ST + j] + outside[i * ST + j];
            model += s.score[0][i * ST + j] * s.score[0][i * ST + j];
        }
    CHECK_OK(hkt_three_errors_measure(&s.a, &(hkt_search){.sweeps = 50, .tolerance = 1e-12}, &e));
    CHECK_OK(hkt_singular_values(ST, ST, outside, w));
    CHECK_NEAR(e.total, norm(outside, ST * ST), 1e-13 * e.size);
    CHECK_NEAR(e.given_inputs, e.total, 1e-13 * e.size);
    CHECK_AT_MOST(e.optimisation, 1e-12 * e.size);
    CHECK_NEAR(e.downsampling, sqrt(w[0] * w[0] + w[1] * w[1] + model), 1e-12 * e.size);
    CHECK_NEAR(e.hierarchical, tail(ST, s.target, 2), 1e-13 * e.size);
    hkt_student_free(&s);
}

/* The order does not depend on how long a search is, nor on the target: noise, or the scores of a model with other
 * weights, which the small class of S_D finds more easily than the large one of S_H that starts from it. */
static void test_order(void **state)
{
    (void)state;
    static const size_t sweeps[] = {0, 1, 3, 100};
    for (uint32_t trial = 0; trial < 40; trial++)
        for (size_t i = 0; i < 4; i++) {
            hkt_student s = make_student(100 + trial);
            hkt_three_errors e;
            hkt_rng rng = stream(500 + trial);
            if (trial % 2) {
                naive_loss(&s, s.target);
                normals(&rng, s.wq[0], s.n_weights);
            }
            CHECK_OK(hkt_student_train(&s, 3));
            CHECK_OK(hkt_three_errors_measure(&s.a, &(hkt_search){.sweeps = sweeps[i]}, &e));
            CHECK_AT_MOST(e.hierarchical, e.given_inputs + 1e-13 * e.size);
            CHECK_AT_MOST(e.given_inputs, e.total + 1e-13 * e.size);
            hkt_student_free(&s);
        }
}

/* Out of memory at any allocation: an error, and nothing is lost. */
static void test_memory(void **state)
{
    (void)state;
    const hkt_search search = {.sweeps = 3, .random = 1};
    hkt_student s = make_student(30);
    hkt_three_errors e;
    hkt_curve c;
    size_t live = hkt_mem_live();
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        hkt_mem_fail_at(n);
        hkt_status first = hkt_student_train(&s, 1), second = hkt_three_errors_measure(&s.a, &search, &e),
                   third = hkt_hierarchy_curve(&c, s.target, ST, 2, 3, 2, &search);
        failed = hkt_mem_failed();
        assert_int_equal(failed, first == HKT_ESYSTEM || second == HKT_ESYSTEM || third == HKT_ESYSTEM);
        assert_int_equal(hkt_mem_live(), live);
    }
    hkt_mem_fail_at(0);
    hkt_student_free(&s);
}

/* --- the claim --- */

static const double *find_row(const hkt_check_result *r, double layer, double pair)
{
    for (size_t i = 0; i < r->rows.n_rows; i++) {
        const double *cell = r->rows.cell + i * r->rows.n_cols;
        if (cell[0] == layer && cell[1] == pair)
            return cell;
    }
    fail_msg("no row %g %g", layer, pair);
    return NULL;
}

/* Numbers of the rows obey what the checks state, and the best sums are near the best possible on random models. */
static void test_claim(void **state)
{
    (void)state;
    hkt_check_result r = {0};
    CHECK_OK(hkt_claim_check(hkt_claim_find(hkt_claims, "approximation"), "triangle")->run(&quick, &r, false));
    assert_int_equal(r.rows.n_rows, 3);
    for (size_t i = 0; i < 3; i++) {
        const double *c = find_row(&r, i == 2, i == 1);
        CHECK_AT_MOST(c[5], (c[2] + c[3] + c[4]) * (1 + 1e-12));
        CHECK_AT_MOST(c[2], 1.3 * c[7]); /* S_H above its lower bound */
        CHECK_AT_MOST(c[2], c[6]);
        assert_true(c[2] > 0.01 && c[3] > 0.01 && c[4] > 0.01 && c[5] < 1);
    }
    hkt_check_result_free(&r);
}

/* The smallest of the three, whichever it is, and no more than it; nothing of the hierarchical one is proved of a sum
 * of as many levels, something of one level more. */
static void test_least(void **state)
{
    (void)state;
    hkt_student s = make_student(7);
    double least, far = 0;
    for (size_t i = 0; i < ST * ST; i++)
        far += s.target[i] * s.target[i];
    far = sqrt(far);
    for (int which = 0; which < 2; which++) {
        hkt_three_errors e = {.size = far, .downsampling = which ? 0.02 : 0.01, .optimisation = which ? 0.01 : 0.02};
        CHECK_OK(hkt_three_errors_least(&s.a, &e, &least));
        CHECK_AT_MOST(least, 0.01 / far);
        CHECK_AT_MOST(0.01 / far * (1 - 1e-12), least);
        assert_true(least < 0.01 / far);
    }
    hkt_three_errors large = {.size = far, .downsampling = far, .optimisation = far};
    CHECK_OK(hkt_three_errors_least(&s.a, &large, &least));
    CHECK_AT_MOST(0.1, least);
    naive_loss(&s, s.target); /* two levels of rank SP */
    CHECK_OK(hkt_three_errors_least(&s.a, &large, &least));
    CHECK_AT_MOST(least, 1e-12);
    s.a.L = 1;
    CHECK_OK(hkt_three_errors_least(&s.a, &large, &least));
    CHECK_AT_MOST(1e-3, least);
    hkt_student_free(&s);
}

/* The smallest error of `components` is the proved bound of the hierarchical one: below what the rows say, not far. */
static void test_components(void **state)
{
    (void)state;
    hkt_check_result r = run_check(&hkt_claim_approximation, &quick, "components");
    assert_int_equal(r.verdict, HKT_HOLDS);
    assert_int_equal(r.rows.n_rows, 3);
    double least = 1;
    for (size_t i = 0; i < 3; i++) {
        const double *c = r.rows.cell + i * r.rows.n_cols; /* [3], [4]: downsampling, optimisation */
        least = fmin(least, fmin(c[r.rows.n_cols - 1], fmin(c[3], c[4])));
    }
    CHECK_AT_MOST(r.measured, least);
    CHECK_AT_MOST(0.5 * least, r.measured);
    hkt_check_result_free(&r);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_components),   cmocka_unit_test(test_least),     cmocka_unit_test(test_student),
        cmocka_unit_test(test_three_errors), cmocka_unit_test(test_vanishing), cmocka_unit_test(test_out_of_reach),
        cmocka_unit_test(test_order),        cmocka_unit_test(test_memory),    cmocka_unit_test(test_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

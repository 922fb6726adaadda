/* test_attention.c - the tiled kernel against its naive reference, and the reference against finite differences. */
#include "tests/check.h"

#include <float.h>

#include "base/mem.h"
#include "base/rng.h"
#include "num/attention.h"
#include "num/isa.h"

typedef struct {
    size_t T, p, s, L, ld; /* one row stride for all arrays */
    bool causal;
    size_t rows[HKT_MAX_LEVELS];
    double *q[HKT_MAX_LEVELS], *k[HKT_MAX_LEVELS], weight[HKT_MAX_LEVELS]; /* [rows, ld] */
    double *v, *d_o;                                                       /* [T, ld] */
} problem;

typedef struct {
    double *o, *lse, *dv, *dq[HKT_MAX_LEVELS], *dk[HKT_MAX_LEVELS], d_weight[HKT_MAX_LEVELS];
} results;

#define HKT_BODY "tests/test_attention.inc.h"
#include "num/both.h"

static hkt_rng rng;

static double *random_array(size_t n, double scale)
{
    double *x = NULL;
    CHECK_OK(HKT_NEW(&x, n));
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(float)(scale * hkt_rng_normal(&rng));
    return x;
}

static size_t random_size(size_t low, size_t high)
{
    return low + (size_t)hkt_rng_below(&rng, high - low + 1);
}

static problem problem_make(size_t T, size_t p, size_t s, size_t L, bool causal)
{
    problem c = {.T = T, .p = p, .s = s, .L = L, .ld = p + random_size(0, 5), .causal = causal};
    size_t factor = 1;
    for (size_t l = 0; l < L; l++, factor *= s) {
        c.rows[l] = (T + factor - 1) / factor;
        c.q[l] = random_array(c.rows[l] * c.ld, 1);
        c.k[l] = random_array(c.rows[l] * c.ld, 1);
        c.weight[l] = L == 1 ? 1 : (double)(float)hkt_rng_uniform(&rng);
    }
    c.v = random_array(T * c.ld, 1);
    c.d_o = random_array(T * c.ld, 1);
    return c;
}

static void problem_free(problem *c)
{
    for (size_t l = 0; l < c->L; l++) {
        hkt_free(c->q[l]);
        hkt_free(c->k[l]);
    }
    hkt_free(c->v);
    hkt_free(c->d_o);
}

/* Outputs start from values that must be overwritten, except in the gaps between rows, which must stay. */
static const double UNTOUCHED = 77;

static double *filled(size_t n)
{
    double *x = NULL;
    CHECK_OK(HKT_NEW(&x, n));
    for (size_t i = 0; i < n; i++)
        x[i] = UNTOUCHED;
    return x;
}

static results results_make(const problem *c)
{
    results r = {.o = filled(c->T * c->ld), .lse = filled(c->T), .dv = filled(c->T * c->ld)};
    for (size_t l = 0; l < c->L; l++) {
        r.dq[l] = filled(c->rows[l] * c->ld);
        r.dk[l] = filled(c->rows[l] * c->ld);
    }
    return r;
}

static void results_free(const problem *c, results *r)
{
    hkt_free(r->o);
    hkt_free(r->lse);
    hkt_free(r->dv);
    for (size_t l = 0; l < c->L; l++) {
        hkt_free(r->dq[l]);
        hkt_free(r->dk[l]);
    }
}

static double largest(const double *x, size_t rows, size_t p, size_t ld)
{
    double m = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < p; c++)
            m = fmax(m, fabs(x[i * ld + c]));
    return m;
}

/* Error bounds of the results in a precision with unit roundoff u. */
typedef struct {
    double o, lse, dv, dq[HKT_MAX_LEVELS], dk[HKT_MAX_LEVELS], d_weight[HKT_MAX_LEVELS];
} bounds;

/* max_j sum_i A_ij from the reference's scores and lse. */
static double largest_column_sum(const problem *c)
{
    inputs_f64 in;
    inputs_make_f64(&in, c);
    double *S = filled(c->T * c->T), *o = filled(c->T * c->ld), *lse = filled(c->T), most = 0;
    CHECK_OK(hkt_attention_forward_ref_f64(&in.a, o, c->ld, lse, S));
    for (size_t j = 0; j < c->T; j++) {
        double sum = 0;
        for (size_t i = c->causal ? j : 0; i < c->T; i++)
            sum += exp(S[i * c->T + j] - lse[i]);
        most = fmax(most, sum);
    }
    hkt_free(S);
    hkt_free(o);
    hkt_free(lse);
    inputs_free_f64(&in);
    return most;
}

/* First-order bounds: a score is off by at most dS = (p + L + 2) u sum_l w_l sum_c |q k| / sqrt(p), so a probability by
 * a relative 2 dS + 4u (exp, lse); a sum of n products adds a relative n u. Then with rel their sum: O     <= rel
 * max|V|                         dV    <= rel colsum(A) max|dO| dS_ij <= rel A_ij 2 p max|dO| max|V|        dQ_l  <=
 * the same times s^l w_l max|K| / sqrt(p) (row sums of A are 1; s^l rows are added), dK_l with colsum(A), dw_l with T
 * and sqrt(p) max|Q| max|K|. */
static bounds bounds_of(const problem *c, double u)
{
    bounds b = {0};
    double mv = largest(c->v, c->T, c->p, c->ld), mo = largest(c->d_o, c->T, c->p, c->ld), p = (double)c->p;
    double dS = 0, colsum = largest_column_sum(c), factor = 1;
    for (size_t l = 0; l < c->L; l++)
        dS += (p + (double)c->L + 2) * u * c->weight[l] * sqrt(p) * largest(c->q[l], c->rows[l], c->p, c->ld) *
              largest(c->k[l], c->rows[l], c->p, c->ld);
    double rel = 2 * dS + ((double)c->T + p + 8) * u, grad = rel * 2 * p * mo * mv;
    b.o = rel * mv;
    b.lse = 2 * dS + 8 * u * (1 + log((double)c->T));
    b.dv = rel * colsum * mo;
    for (size_t l = 0; l < c->L; l++, factor *= (double)c->s) {
        double mq = largest(c->q[l], c->rows[l], c->p, c->ld), mk = largest(c->k[l], c->rows[l], c->p, c->ld);
        b.dq[l] = grad * factor * c->weight[l] * mk / sqrt(p);
        b.dk[l] = grad * factor * colsum * c->weight[l] * mq / sqrt(p);
        b.d_weight[l] = grad * (double)c->T * sqrt(p) * mq * mk;
    }
    return b;
}

/* True when all rows agree within tol and the gaps are untouched; NaN never agrees. *worst: largest error / tol. */
static bool agree(const double *a, const double *b, size_t rows, size_t p, size_t ld, double tol, double *worst)
{
    bool good = true;
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < ld; c++) {
            double e = fabs(a[i * ld + c] - b[i * ld + c]);
            good = good && (c < p ? e <= tol : e == 0);
            *worst = fmax(*worst, e / tol);
        }
    return good;
}

static bool results_agree(const problem *c, const results *a, const results *b, double u, double *worst)
{
    bounds t = bounds_of(c, u);
    bool good = agree(a->o, b->o, c->T, c->p, c->ld, t.o, worst) && agree(a->lse, b->lse, c->T, 1, 1, t.lse, worst) &&
                agree(a->dv, b->dv, c->T, c->p, c->ld, t.dv, worst);
    for (size_t l = 0; l < c->L; l++)
        good = good && agree(a->dq[l], b->dq[l], c->rows[l], c->p, c->ld, t.dq[l], worst) &&
               agree(a->dk[l], b->dk[l], c->rows[l], c->p, c->ld, t.dk[l], worst) &&
               agree(&a->d_weight[l], &b->d_weight[l], 1, 1, 1, t.d_weight[l], worst);
    return good;
}

/* Largest error / bound seen in f32 and f64. */
static double worst_ratio[2];

static void check_problem(const problem *c)
{
    results ref = results_make(c);
    run_f64(c, false, &ref);
    for (int isa = HKT_ISA_GENERIC; hkt_isa_select((hkt_isa_level)isa) && isa <= HKT_ISA_AVX512; isa++)
        for (int f64 = 0; f64 < 2; f64++) {
            results r = results_make(c);
            double worst = 0;
            (f64 ? run_f64 : run_f32)(c, true, &r);
            if (!results_agree(c, &r, &ref, (f64 ? DBL_EPSILON : (double)FLT_EPSILON) / 2, &worst))
                fail_msg("T %zu p %zu s %zu L %zu causal %d isa %d f%d: error/bound %g", c->T, c->p, c->s, c->L,
                         c->causal, isa, f64 ? 64 : 32, worst);
            worst_ratio[f64] = fmax(worst_ratio[f64], worst);
            results_free(c, &r);
        }
    results_free(c, &ref);
}

static void check_shape(size_t T, size_t p, size_t s, size_t L, bool causal)
{
    problem c = problem_make(T, p, s, L, causal);
    check_problem(&c);
    problem_free(&c);
}

static void test_small_shapes(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++)
        check_shape(random_size(1, 70), random_size(1, 64), random_size(2, 4), random_size(1, 4), i % 2);
}

/* More than one block of rows and one tile of keys. */
static void test_large_shapes(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        check_shape(random_size(i < 3 ? 500 : 70, 600), random_size(1, 64), random_size(2, 4), (size_t)i % 3 + 1,
                    i % 2);
}

static void test_usual_shapes(void **state)
{
    (void)state;
    check_shape(256, 16, 2, 1, true);
    check_shape(192, 32, 2, 3, true);
    check_shape(1, 16, 2, 4, true);
    check_shape(3, 1, 3, 4, false);
}

/* A perturbation of three bounds, a NaN, a touched gap and a wrong mask must all be seen. */
static void test_comparison_fails(void **state)
{
    (void)state;
    double worst = 0, u = (double)FLT_EPSILON / 2;
    problem c = problem_make(40, 8, 2, 2, true);
    c.ld = c.ld > c.p ? c.ld : c.p; /* gaps only when the problem has them */
    results a = results_make(&c), b = results_make(&c);
    bounds t = bounds_of(&c, u);
    run_f64(&c, false, &a);
    run_f64(&c, false, &b);
    assert_true(results_agree(&c, &a, &b, u, &worst));
    double *value[] = {a.o, a.lse, a.dv, a.dq[0], a.dk[1], &a.d_weight[1]};
    double bound[] = {t.o, t.lse, t.dv, t.dq[0], t.dk[1], t.d_weight[1]};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
        double kept = *value[i];
        *value[i] = kept + 3 * bound[i];
        assert_false(results_agree(&c, &a, &b, u, &worst));
        *value[i] = (double)NAN;
        assert_false(results_agree(&c, &a, &b, u, &worst));
        *value[i] = kept;
    }
    c.causal = false;
    run_f32(&c, true, &b);
    c.causal = true;
    assert_false(results_agree(&c, &a, &b, u, &worst));
    results_free(&c, &a);
    results_free(&c, &b);
    problem_free(&c);
}

/* sum dO * O. */
static double loss(const problem *c)
{
    inputs_f64 in;
    inputs_make_f64(&in, c);
    double *o = filled(c->T * c->ld), *lse = filled(c->T), sum = 0;
    CHECK_OK(hkt_attention_forward_ref_f64(&in.a, o, c->ld, lse, NULL));
    for (size_t i = 0; i < c->T; i++)
        for (size_t h = 0; h < c->p; h++)
            sum += c->d_o[i * c->ld + h] * o[i * c->ld + h];
    hkt_free(o);
    hkt_free(lse);
    inputs_free_f64(&in);
    return sum;
}

/* Central differences with h = 1e-5: truncation h^2/6 f''' and rounding eps |f| / h, both below 1e-9 times the scale of
 * a third derivative (some tens here). */
static void check_derivatives(const problem *c, double *x, size_t rows, size_t p, size_t ld, const double *gradient)
{
    const double h = 1e-5;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < p; k++) {
            double kept = x[i * ld + k], up, down;
            x[i * ld + k] = kept + h;
            up = loss(c);
            x[i * ld + k] = kept - h;
            down = loss(c);
            x[i * ld + k] = kept;
            CHECK_NEAR(gradient[i * ld + k], (up - down) / (2 * h), 5e-8);
        }
}

static void test_reference_derivatives(void **state)
{
    (void)state;
    static const size_t shapes[][4] = {{1, 3, 2, 2}, {7, 2, 2, 3}, {8, 3, 3, 2}, {11, 2, 4, 2}, {6, 3, 2, 1}};
    for (size_t n = 0; n < 2 * sizeof shapes / sizeof *shapes; n++) {
        const size_t *z = shapes[n / 2];
        problem c = problem_make(z[0], z[1], z[2], z[3], n % 2);
        results r = results_make(&c);
        run_f64(&c, false, &r);
        check_derivatives(&c, c.v, c.T, c.p, c.ld, r.dv);
        check_derivatives(&c, c.weight, 1, c.L, c.L, r.d_weight);
        for (size_t l = 0; l < c.L; l++) {
            check_derivatives(&c, c.q[l], c.rows[l], c.p, c.ld, r.dq[l]);
            check_derivatives(&c, c.k[l], c.rows[l], c.p, c.ld, r.dk[l]);
        }
        results_free(&c, &r);
        problem_free(&c);
    }
}

/* Two queries, p = 1, by hand: S_10 = q1 k0, S_11 = q1 k1, with q1 = 1, k = (0, ln 3): A_1 = (1/4, 3/4). */
static void test_closed_form(void **state)
{
    (void)state;
    double q[2] = {5, 1}, k[2] = {0, log(3.0)}, v[2] = {8, 4}, o[2], lse[2];
    hkt_attention_f64 a = {.T = 2,
                           .p = 1,
                           .n_levels = 1,
                           .causal = true,
                           .q = {q},
                           .k = {k},
                           .ld_qk = {1},
                           .weight = {1},
                           .v = v,
                           .ld_v = 1};
    hkt_attention_work_f64 *w = NULL;
    CHECK_OK(hkt_attention_work_create_f64(&w, 2, 1, 1, 2));
    hkt_attention_forward_f64(&a, 0, 2, o, 1, lse, w);
    hkt_attention_work_destroy_f64(w);
    CHECK_NEAR(o[0], 8, 0);
    CHECK_NEAR(o[1], 0.25 * 8 + 0.75 * 4, 8 * 8 * DBL_EPSILON);
    CHECK_NEAR(lse[1], log(4.0), 8 * DBL_EPSILON);
}

/* The split of the rows and later keys must not change a single bit of causal rows. */
static void test_rows_do_not_depend_on_split(void **state)
{
    (void)state;
    problem c = problem_make(173, 16, 3, 3, true);
    inputs_f32 in;
    inputs_make_f32(&in, &c);
    float *o = narrow_f32(c.d_o, c.T * c.ld), *lse = narrow_f32(c.v, c.T), *whole = narrow_f32(c.d_o, c.T * c.ld);
    hkt_attention_work_f32 *w = NULL;
    CHECK_OK(hkt_attention_work_create_f32(&w, c.T, c.p, c.L, c.s));
    hkt_attention_forward_f32(&in.a, 0, c.T, whole, c.ld, lse, w);
    in.owned[2 * HKT_MAX_LEVELS][c.T * c.ld - c.ld] += 1; /* the last value, seen by the last row only */
    for (size_t i = 0; i < c.T; i += 29)
        hkt_attention_forward_f32(&in.a, i, i + 29 < c.T ? i + 29 : c.T, o, c.ld, NULL, w);
    assert_memory_equal(o, whole, (c.T - 1) * c.ld * sizeof *o);
    assert_memory_not_equal(o, whole, c.T * c.ld * sizeof *o);
    hkt_attention_work_destroy_f32(w);
    hkt_free(o);
    hkt_free(lse);
    hkt_free(whole);
    inputs_free_f32(&in);
    problem_free(&c);
}

static void test_huge_scores(void **state)
{
    (void)state;
    problem c = problem_make(60, 4, 2, 1, true);
    for (size_t i = 0; i < c.T * c.ld; i++)
        c.q[0][i] *= 64; /* scores of some hundreds: exp without the maximum would overflow in float */
    check_problem(&c);
    problem_free(&c);
}

static void test_work_refuses_overflow(void **state)
{
    (void)state;
    hkt_attention_work_f32 *w = NULL;
    CHECK_FAILS(hkt_attention_work_create_f32(&w, SIZE_MAX / 4, 64, 1, 2), HKT_ESYSTEM, "too many");
    for (size_t n = 1;; n++) {
        hkt_mem_fail_at(n);
        hkt_status status = hkt_attention_work_create_f32(&w, 64, 16, 3, 2);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        assert_true(failed == (status != HKT_OK));
        hkt_attention_work_destroy_f32(w);
        if (!failed)
            break;
    }
}

int main(void)
{
    rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_form),           cmocka_unit_test(test_reference_derivatives),
        cmocka_unit_test(test_small_shapes),          cmocka_unit_test(test_large_shapes),
        cmocka_unit_test(test_usual_shapes),          cmocka_unit_test(test_huge_scores),
        cmocka_unit_test(test_comparison_fails),      cmocka_unit_test(test_rows_do_not_depend_on_split),
        cmocka_unit_test(test_work_refuses_overflow),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("largest error / bound: f32 %.3f, f64 %.3f\n", worst_ratio[0], worst_ratio[1]);
    return failed;
}

/* approximation.c - the claim `approximation` (Thm 4.3): the error of a hierarchical score matrix is at most the sum of
 * three, measured on students trained on a given S* and on a model's own heads. */
#include <cblas.h>
#include <float.h>
#include <math.h>

#include "analysis/claims/approximation/approximation.h"
#include "analysis/claims/certificate.h"
#include "base/mem.h"

enum { MOST_TOKENS = 256 };

/* What a check looks at, and what it has seen. */
typedef enum { STUDENTS, SINGLE_HEADS, OWN_HEADS } which_pairs;
typedef struct visit {
    hkt_three_errors e;
    size_t layer, pair; /* pair: 0 the layer's mean score, 1 the kernel; OWN_HEADS: the head */
    size_t T, L, p, n;
    size_t zero;       /* pairs left out: S* = 0 */
    double worst, sum; /* measure; largest sum of the three */
    bool control;
    hkt_check_result *out;
    hkt_status (*write)(const hkt_verify_context *, const struct visit *, const hkt_student *); /* NULL: nothing */
} visit;
typedef hkt_status (*measure)(visit *v, const hkt_student *s);

static hkt_status look(const hkt_verify_context *ctx, visit *v, const hkt_student *s, measure m)
{
    hkt_search search = {.sweeps = ctx->quick ? 30 : 100, .tolerance = 1e-6, .seed = ctx->seed};
    const hkt_three_errors *e = &v->e;
    HKT_TRY(hkt_three_errors_measure(&s->a, &search, &v->e));
    v->L = s->a.L;
    v->p = s->a.p;
    v->n++;
    HKT_TRY(m(v, s));
    if (v->write && ctx->certificates)
        HKT_TRY(v->write(ctx, v, s));
    double size = e->size;
    return hkt_check_row(v->out, "layer\tpair\thierarchical\tdownsampling\toptimisation\ttotal\tS_D_error\tlower_bound",
                         v->layer, v->pair, e->hierarchical / size, e->downsampling / size, e->optimisation / size,
                         e->total / size, e->given_inputs / size, e->lower / size);
}

/* S* = 0, as of heads without weights: there is nothing to approximate. */
static bool left_out(visit *v, const hkt_student *s)
{
    bool zero = cblas_dnrm2((int)(v->T * v->T), s->target, 1) == 0;
    v->zero += zero;
    return zero;
}

/* One student: of the layer's mean score, of the kernel, or of the layer's first head (not trained). */
static hkt_status look_student(const hkt_verify_context *ctx, const hkt_subject *s, const hkt_tap_f64 *tap,
                               hkt_pair pair, visit *v, measure m)
{
    size_t steps = pair == HKT_PAIR_ONE_HEAD ? 0 : ctx->quick ? 60 : 300;
    hkt_student student;
    HKT_TRY(hkt_pair_student(&student, s, tap, v->layer, v->T, pair));
    hkt_status status = HKT_OK;
    if (!left_out(v, &student)) {
        status = hkt_student_train(&student, steps);
        if (status == HKT_OK)
            status = look(ctx, v, &student, m);
    }
    hkt_student_free(&student);
    return status;
}

static hkt_status look_head(const hkt_verify_context *ctx, const hkt_subject *s, const hkt_tap_f64 *tap, visit *v,
                            measure m)
{
    hkt_student head;
    HKT_TRY(hkt_pair_head(&head, s, tap, v->pair, v->T));
    hkt_status status = left_out(v, &head) ? HKT_OK : look(ctx, v, &head, m);
    hkt_student_free(&head);
    return status;
}

static hkt_status layer_pairs(const hkt_verify_context *ctx, const hkt_subject *s, const hkt_tap_f64 *tap,
                              which_pairs which, visit *v, measure m)
{
    size_t heads = ctx->quick && s->layout->config.heads > 2 ? 2 : s->layout->config.heads;
    v->pair = 0;
    if (which == SINGLE_HEADS)
        return look_student(ctx, s, tap, HKT_PAIR_ONE_HEAD, v, m);
    if (which == STUDENTS) {
        HKT_TRY(look_student(ctx, s, tap, HKT_PAIR_LAYER, v, m));
        v->pair = 1;
        return v->layer == 0 ? look_student(ctx, s, tap, HKT_PAIR_KERNEL, v, m) : HKT_OK;
    }
    for (; v->pair < heads; v->pair++)
        HKT_TRY(look_head(ctx, s, tap, v, m));
    return HKT_OK;
}

/* Runs the model over one sequence and shows every pair to `m`. */
static hkt_status each_pair(const hkt_verify_context *ctx, hkt_check_result *out, which_pairs which, bool control,
                            visit *v, measure m)
{
    hkt_verify_context own = *ctx;
    hkt_subject s;
    hkt_scene f = {0};
    *v = (visit){.worst = (double)-INFINITY, .control = control, .out = out, .write = v->write};
    own.tokens = ctx->tokens < MOST_TOKENS ? ctx->tokens : MOST_TOKENS;
    HKT_TRY(hkt_subject_open(ctx, &s));
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_subject_see(&own, &s, ctx->quick ? 64 : 128, &f));
    v->T = f.T;
    for (v->layer = 0; v->layer < s.layout->config.layers && status == HKT_OK; v->layer++)
        status = layer_pairs(ctx, &s, f.tap + v->layer, which, v, m);
    if (status == HKT_OK && v->n == 0)
        hkt_check_skip(out, "S* is 0 in all of %zu pairs", v->zero);
done:
    hkt_scene_close(&f);
    hkt_subject_close(&s);
    return status;
}

/* --- the triangle inequality --- */

/* How far the total passes the sum. control: the optimisation error left out. */
static hkt_status measure_triangle(visit *v, const hkt_student *s)
{
    (void)s;
    double sum = v->e.hierarchical + v->e.downsampling + (v->control ? 0 : v->e.optimisation);
    v->worst = hkt_check_worse(v->worst, (v->e.total - sum) / v->e.size);
    v->sum = fmax(v->sum, sum / v->e.size);
    return HKT_OK;
}

/* Norms of T^2 differences: each within T^2 eps, relative. */
static hkt_status triangle_of(const hkt_verify_context *ctx, hkt_check_result *out, which_pairs which, bool control)
{
    visit v = {.write = NULL};
    HKT_TRY(each_pair(ctx, out, which, control, &v, measure_triangle));
    if (v.n == 0)
        return HKT_OK;
    hkt_check_at_most(out, v.worst, (double)(v.T * v.T) * DBL_EPSILON * v.sum);
    hkt_check_detail(out, "%zu pairs of target and head; T = %zu, L = %zu, p = %zu", v.n, v.T, v.L, v.p);
    hkt_check_left_out(out, v.zero, "pairs", "S* = 0");
    return HKT_OK;
}

static hkt_status triangle(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return triangle_of(ctx, out, STUDENTS, control);
}

const hkt_check hkt_approximation_triangle = {
    .name = "triangle",
    .kind = HKT_IMPLEMENTATION,
    .statement = "||S* - S_T|| <= hierarchical + downsampling + optimisation error, S_T trained on S*; the three as "
                 "shares of ||S*||",
    .reference = "paper, Thm 4.3; triangle inequality",
    .failure = "the three errors do not add up to the total",
    .finding = "total error <= hierarchical + downsampling + optimisation error",
    .of_model = true,
    .run = triangle,
    .holds = "the total error is no more than the sum of the three: total - sum is {m} of ||S*|| at most",
    .violated = "the total error exceeds the sum of the three by {m} of ||S*||; rounding allows {b}",
};

static hkt_status own_heads(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_check_condition(out, "S_T = heads of the model, S* = their mean at full resolution");
    return triangle_of(ctx, out, OWN_HEADS, control);
}

const hkt_check hkt_approximation_own_heads = {
    .name = "own-heads",
    .kind = HKT_EMPIRICAL,
    .statement = "the same inequality for each head of the model as it is, and its three shares",
    .reference = "paper, Thm 4.3; triangle inequality",
    .failure = "the three errors do not add up to the total",
    .finding = "total error <= hierarchical + downsampling + optimisation error",
    .of_model = true,
    .run = own_heads,
    .holds = "the total error is no more than the sum of the three: total - sum is {m} of ||S*|| at most",
    .violated = "the total error exceeds the sum of the three by {m} of ||S*||; rounding allows {b}",
};

/* --- the order of the errors --- */

/* Largest excess, in squares relative to ||S*||^2, of: the lower bound over the error of S_H, that of S_H over that
 * of S_D, and that of S_D over that of S_T. control: S_T in the place of S_H. */
static hkt_status measure_order(visit *v, const hkt_student *s)
{
    (void)s;
    const hkt_three_errors *e = &v->e;
    double chain[] = {e->lower, v->control ? e->total : e->hierarchical, e->given_inputs, e->total};
    for (size_t i = 0; i < 3; i++)
        v->worst = hkt_check_worse(v->worst, (chain[i] * chain[i] - chain[i + 1] * chain[i + 1]) / (e->size * e->size));
    return HKT_OK;
}

static hkt_status order_of(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    visit v = {.write = NULL};
    HKT_TRY(each_pair(ctx, out, STUDENTS, control, &v, measure_order));
    if (v.n == 0)
        return HKT_OK;
    /* L terms of rank p, each truncation within T p eps (docs/theory.md, "decay"); 8 for the constants. */
    hkt_check_at_most(out, v.worst, 8 * (double)(v.L * v.T * v.p) * DBL_EPSILON);
    hkt_check_detail(
        out, "squares of lower bound <= hierarchical <= S_D_error <= total; %zu pairs, T = %zu, L = %zu, p = %zu", v.n,
        v.T, v.L, v.p);
    hkt_check_left_out(out, v.zero, "pairs", "S* = 0");
    return HKT_OK;
}

const hkt_check hkt_approximation_order = {
    .name = "order",
    .kind = HKT_IMPLEMENTATION,
    .statement = "lower bound <= ||S* - S_H|| <= ||S* - S_D|| <= ||S* - S_T|| for the S_H and S_D that the search "
                 "finds: each class contains the next",
    .reference = "Eckart & Young 1936; docs/theory.md, approximation",
    .failure = "a search ended above a point of its own class",
    .of_model = true,
    .run = order_of,
    .holds = "the errors are in their order: the largest excess is {m} of ||S*||^2, rounding allows {b}",
    .violated = "the errors are not in their order: an excess of {m} of ||S*||^2, rounding allows {b}",
};

/* --- none of the three is idle --- */

/* worst: minus the smallest of the three, relative to ||S*||, proved. */
static hkt_status measure_components(visit *v, const hkt_student *s)
{
    double least;
    HKT_TRY(hkt_three_errors_least(&s->a, &v->e, &least));
    v->worst = hkt_check_worse(v->worst, -least);
    return HKT_OK;
}

/* hkt-check decides the hierarchical error's lower bound: sums of L terms of rank p have rank at most p L. */
static hkt_status write_certificate(const hkt_verify_context *ctx, const visit *v, const hkt_student *s)
{
    static const double one = 1;
    size_t T = v->T, columns;
    hkt_certificate_file file = {0};
    double *w = NULL, distance;
    char name[80], about[160], claim[HKT_FRACTION + 80], bound[HKT_FRACTION];
    HKT_TRY(HKT_NEW(&w, 2 * T * T));
    hkt_status status = hkt_certificate_distance(T, T, s->target, v->L * v->p + 1, w, &columns, &distance);
    if (status == HKT_OK && distance > 0) {
        double *unit = w + T * T;
        for (size_t i = 0; i < T; i++)
            unit[i * T + i] = 1;
        hkt_certificate_add(&file, "lambda", SIZE_MAX, 1, 1, &one);
        hkt_certificate_add(&file, "x", 0, T, T, unit);
        hkt_certificate_add(&file, "wq", 0, T, T, unit);
        hkt_certificate_add(&file, "wk", 0, T, T, s->target);
        hkt_certificate_add(&file, "w", SIZE_MAX, T, columns, w);
        snprintf(name, sizeof name, "approximation-components-%zu-%zu", v->layer, v->pair);
        snprintf(about, sizeof about, "check components of approximation, layer %zu, pair %zu", v->layer, v->pair);
        hkt_certificate_fraction(distance, false, bound);
        snprintf(claim, sizeof claim, "distance %zu %s 0 %zu %zu", v->L * v->p + 1, bound, T, T);
        status = hkt_certificate_write(&file, ctx, name, about, 2, claim);
    }
    hkt_free(w);
    return status;
}

/* On random weights: training can leave a score matrix that is of rank 1 but for a thousandth. control: S* that a
 * single head makes: the hierarchical error vanishes. */
static hkt_status components_of(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const which_pairs which = control ? SINGLE_HEADS : STUDENTS;
    const hkt_verify_context fresh = {
        .seed = ctx->seed, .quick = ctx->quick, .certificates = control ? NULL : ctx->certificates};
    visit v = {.write = control ? NULL : write_certificate};
    HKT_TRY(each_pair(&fresh, out, which, false, &v, measure_components));
    if (v.n == 0)
        return HKT_OK;
    hkt_check_at_least(out, -v.worst, 0.01);
    hkt_check_condition(out, "random weights, S* of rank above p");
    hkt_check_detail(out, "of the hierarchical one a proved lower bound; %zu pairs, T = %zu, L = %zu, p = %zu", v.n,
                     v.T, v.L, v.p);
    hkt_check_left_out(out, v.zero, "pairs", "S* = 0");
    return HKT_OK;
}

const hkt_check hkt_approximation_components = {
    .name = "components",
    .kind = HKT_CERTIFIED,
    .statement = "each of the three errors is at least 1 % of ||S*||: the hierarchical one for every sum of the class, "
                 "the others between the matrices as stored",
    .reference = "Eckart & Young 1936; Rump 2006; docs/theory.md, approximation",
    .failure = "one of the three errors is idle: the decomposition has fewer terms",
    .finding = "none of the three errors is idle",
    .run = components_of,
    .holds = "each of the three errors is {m%} % of ||S*|| or more (limit {b%} %)",
    .violated = "one of the three errors is only {m%} % of ||S*|| (limit {b%} %)",
};

/* --- a single head of standard attention --- */

/* (||S* - S_H|| / ||S*||)^2 */
static hkt_status measure_single(visit *v, const hkt_student *s)
{
    (void)s;
    double e = v->e.hierarchical / v->e.size;
    v->worst = hkt_check_worse(v->worst, e * e);
    return HKT_OK;
}

/* control: the mean of several heads. */
static hkt_status single_of(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const which_pairs which = control ? STUDENTS : SINGLE_HEADS;
    visit v = {.write = NULL};
    HKT_TRY(each_pair(ctx, out, which, false, &v, measure_single));
    if (v.n == 0)
        return HKT_OK;
    hkt_check_at_most(out, v.worst, 8 * (double)(v.L * v.T * v.p) * DBL_EPSILON);
    hkt_check_condition(out, "S* = one head of standard attention");
    hkt_check_detail(out, "%zu layers, T = %zu, L = %zu, p = %zu", v.n, v.T, v.L, v.p);
    hkt_check_left_out(out, v.zero, "pairs", "S* = 0");
    return HKT_OK;
}

const hkt_check hkt_approximation_single_head = {
    .name = "single-head",
    .kind = HKT_IMPLEMENTATION,
    .statement = "the search finds a sum without hierarchical error for a target that is one head of standard "
                 "attention (rank p)",
    .reference = "docs/theory.md, approximation",
    .failure = "sums of rank p do not contain every matrix of rank p",
    .finding = "the hierarchical error is zero",
    .of_model = true,
    .run = single_of,
    .holds = "the squared hierarchical error is at most {m} of ||S*||^2, no more than rounding ({b})",
    .violated = "the squared hierarchical error is {m} of ||S*||^2; rounding allows {b}",
};

static const hkt_check *const checks[] = {&hkt_approximation_triangle, &hkt_approximation_order,
                                          &hkt_approximation_components, &hkt_approximation_single_head,
                                          &hkt_approximation_own_heads};

static const hkt_headline headline[] = {
    {&hkt_approximation_triangle,
     "the error of a score matrix is at most the sum of the hierarchical, the downsampling and the optimisation error",
     "the three errors do not add up to the total", NULL},
    {&hkt_approximation_components, "none of the three vanishes in general", "one of the three is idle", NULL},
    {&hkt_approximation_single_head, "the hierarchical error of one head of standard attention is 0",
     "the hierarchical error of one head of standard attention is not 0", NULL},
};

const hkt_claim hkt_claim_approximation = {
    .id = "approximation",
    .place = "Thm 4.3",
    .statement = "a score matrix errs by at most hierarchical + downsampling + optimisation error",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

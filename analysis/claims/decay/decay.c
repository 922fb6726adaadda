/* decay.c - the claim `decay` (Prop. 4.4): the list of checks, and what holds for every matrix: E_L never grows with
 * L, lies between its bounds, and does not fall below its floor. */
#include <float.h>
#include <math.h>
#include <stdint.h>

#include "analysis/claims/decay/decay.h"
#include "base/mem.h"

/* 0-2 power-law kernels, 3-4 exponential kernels, 5 white noise, 6 a field with E_L = 2^-L up to L = 4, 7 the same
 * without the rest: a hierarchical sum of 4 levels and rank 2. */
enum { NOISE = 5, FIELD = 6, SUM = 7, N_TARGETS = 7 };

static hkt_status fill_target(size_t target, size_t T, uint64_t seed, double *s)
{
    static const double parameter[] = {0.5, 1, 2, 16, 4};
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 440 + (uint32_t)target);
    double error[] = {0.5, 0.25, 0.125, target == SUM ? 0 : 0.0625};
    if (target >= FIELD)
        return hkt_decay_planted_fill(T, 4, 2, error, &rng, s);
    if (target == NOISE)
        hkt_decay_noise_fill(T, &rng, s);
    else if (target < 3)
        hkt_hierarchy_kernel(HKT_KERNEL_POWER, parameter[target], T, s);
    else
        hkt_hierarchy_kernel(HKT_KERNEL_EXPONENTIAL, (double)T / parameter[target], T, s);
    return HKT_OK;
}

typedef struct {
    size_t T, rank, target;
    const double *s; /* [T, T] the target */
    hkt_search search;
    hkt_curve curve, before; /* of this target; of an earlier visit, for a control */
    double worst;
    hkt_check_result *out;
} visit;

/* Curves of the targets first .. end - 1 in turn; `judge` sees each. */
static hkt_status each_target(visit *v, uint64_t seed, size_t first, size_t end, hkt_status (*judge)(visit *))
{
    double *s = NULL;
    size_t levels = hkt_hierarchy_depth(v->T, HKT_DECAY_STRIDE);
    HKT_TRY(HKT_NEW(&s, v->T * v->T));
    v->s = s;
    hkt_status status = HKT_OK;
    for (v->target = first; v->target < end && status == HKT_OK; v->target++) {
        HKT_TRY_GOTO(status, done, fill_target(v->target, v->T, seed, s));
        HKT_TRY_GOTO(status, done,
                     hkt_hierarchy_curve(&v->curve, s, v->T, HKT_DECAY_STRIDE, levels, v->rank, &v->search));
        status = judge(v);
    }
done:
    hkt_free(s);
    return status;
}

static visit visit_of(const hkt_verify_context *ctx, hkt_check_result *out)
{
    return (visit){
        .T = ctx->quick ? 32 : 128, .rank = 2, .search = hkt_decay_search(ctx), .worst = (double)-INFINITY, .out = out};
}

/* --- monotone --- */

static hkt_status judge_monotone(visit *v)
{
    const hkt_curve *c = &v->curve;
    for (size_t L = 0; L < c->n; L++) {
        if (L > 0)
            v->worst = hkt_check_worse(v->worst, c->error[L] - c->error[L - 1]);
        HKT_TRY(hkt_check_row(v->out, "target\tL\tE_L\trank_bound", v->target, (double)(L + 1), c->error[L],
                              c->rank_bound[L]));
    }
    return HKT_OK;
}

/* control: levels taken away in the place of added. */
static hkt_status judge_backwards(visit *v)
{
    hkt_curve back = v->curve;
    for (size_t L = 0; L < back.n; L++)
        back.error[L] = v->curve.error[back.n - 1 - L];
    v->curve = back;
    return judge_monotone(v);
}

static hkt_status monotone(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    visit v = visit_of(ctx, out);
    v.T = control ? 32 : v.T;
    HKT_TRY(each_target(&v, ctx->seed, 0, control ? 1 : N_TARGETS, control ? judge_backwards : judge_monotone));
    hkt_check_at_most(out, v.worst, 0);
    hkt_check_detail(out,
                     "largest E_{L+1} - E_L of targets 0-2 power-law, 3-4 exponential kernels, 5 white noise, 6 "
                     "planted; T = %zu, rank %zu",
                     v.T, v.rank);
    return HKT_OK;
}

const hkt_check hkt_decay_monotone = {
    .name = "monotone",
    .kind = HKT_IMPLEMENTATION,
    .statement = "the error E_L of the best rank-r hierarchical sum that the search finds never grows with L",
    .reference = "docs/theory.md, decay",
    .failure = "a coarser level makes the approximation worse: the search loses what it had",
    .run = monotone,
    .holds = "no further level makes the error larger: it changes by {m} at most",
    .violated = "a further level makes the error larger, by {m}",
};

/* --- between the bounds --- */

/* In squares, relative to ||S||^2, as rounding enters there. */
static hkt_status judge_bracket(visit *v)
{
    const hkt_curve *c = &v->curve;
    double first = c->error[0] * c->error[0] - c->rank_bound[0] * c->rank_bound[0];
    v->worst = hkt_check_worse(v->worst, fabs(first));
    for (size_t L = 0; L < c->n; L++) {
        double below = c->bound[L] * c->bound[L] - c->error[L] * c->error[L];
        v->worst = hkt_check_worse(v->worst, below);
        HKT_TRY(hkt_check_row(v->out, "target\tL\tE_L\tlower_bound\tratio\tfloor", v->target, (double)(L + 1),
                              c->error[L], c->bound[L], c->error[L] / c->bound[L], c->floor));
    }
    return HKT_OK;
}

/* T r eps for the step that finds E_1, T eps for singular values; 8 for the constants (docs/theory.md, "decay"). */
static double square_rounding(const visit *v)
{
    return 8 * (double)(v->T * v->rank) * DBL_EPSILON;
}

/* The bounds of an earlier visit with another rank. */
static hkt_status judge_other_rank(visit *v)
{
    for (size_t L = 0; L < v->curve.n; L++) {
        v->curve.bound[L] = v->before.bound[L];
        v->curve.rank_bound[L] = v->before.rank_bound[L];
    }
    return judge_bracket(v);
}

static hkt_status remember(visit *v)
{
    v->before = v->curve;
    return HKT_OK;
}

static hkt_status bracket(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    visit v = visit_of(ctx, out);
    if (control) { /* bounds for rank 2, sums of rank 4 */
        v.T = 32;
        HKT_TRY(each_target(&v, ctx->seed, 0, 1, remember));
        v.rank = 4;
    }
    HKT_TRY(each_target(&v, ctx->seed, 0, control ? 1 : N_TARGETS, control ? judge_other_rank : judge_bracket));
    hkt_check_at_most(out, v.worst, square_rounding(&v));
    hkt_check_detail(out,
                     "(lower bound)^2 - E_L^2 and |E_1^2 - (best rank r)^2|; T = %zu, rank %zu; ratio in the rows: how "
                     "far above the least error the sum found may be",
                     v.T, v.rank);
    return HKT_OK;
}

const hkt_check hkt_decay_bracket = {
    .name = "bracket",
    .kind = HKT_IMPLEMENTATION,
    .statement =
        "E_L, as the search finds it, lies above the bounds by rank (Eckart-Young for rank rL) and by details, "
        "and E_1 is the error of the best matrix of rank r",
    .reference = "Eckart & Young 1936; docs/theory.md, decay",
    .failure = "the sums found are not hierarchical sums of rank r, or not the best",
    .run = bracket,
    .holds = "the errors found are where the proved bounds allow, to {m}; rounding allows {b}",
    .violated = "an error found is {m} outside the proved bounds; rounding allows {b}",
};

/* --- the floor --- */

/* worst: minus the smallest floor. */
static hkt_status judge_floor(visit *v)
{
    hkt_hierarchy_floor f;
    HKT_TRY(hkt_hierarchy_certify(v->s, v->T, HKT_DECAY_STRIDE, SIZE_MAX, v->rank, &f));
    double proved = f.proved / f.norm * (1 - 2 * DBL_EPSILON);
    v->worst = hkt_check_worse(v->worst, -proved);
    return hkt_check_row(v->out, "target\trank\tlevel\tcount\tfloor_proved\tfloor\tE_n", v->target, v->rank, f.levels,
                         f.count, proved, v->curve.floor, v->curve.error[v->curve.n - 1]);
}

/* control: a matrix that is a hierarchical sum. */
static hkt_status floors(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    visit v = visit_of(ctx, out);
    v.search.sweeps = 1; /* floors do not depend on the sums found */
    HKT_TRY(each_target(&v, ctx->seed, control ? SUM : 0, control ? SUM + 1 : FIELD, judge_floor));
    hkt_check_at_least(out, -v.worst, (double)v.T * DBL_EPSILON);
    hkt_check_condition(out, "kernels and white noise");
    hkt_check_detail(out, "T = %zu, rank %zu; targets 0-2 power-law, 3-4 exponential kernels, 5 white noise", v.T,
                     v.rank);
    return HKT_OK;
}

const hkt_check hkt_decay_floor = {
    .name = "floor",
    .kind = HKT_CERTIFIED,
    .statement = "E_L of kernels and of white noise, matrices as stored, stays above a positive bound, whatever L, "
                 "proved: no C rho^L "
                 "with rho < 1 bounds it for all L",
    .reference = "docs/theory.md, decay; Rump 2006",
    .failure = "no obstacle to a geometric law is proved",
    .finding = "the error E_L stays above a positive floor, whatever L: certified",
    .run = floors,
    .holds = "no error falls below {m}, however many levels there are, proved",
    .violated = "no positive floor of some error is proved: {m}, {b} is needed",
};

extern const hkt_check hkt_decay_planted_exact, hkt_decay_planted_interval, hkt_decay_white_noise, hkt_decay_power_law,
    hkt_decay_exponential, hkt_decay_model_scores;
static const hkt_check *const checks[] = {&hkt_decay_monotone,         &hkt_decay_bracket,     &hkt_decay_planted_exact,
                                          &hkt_decay_planted_interval, &hkt_decay_white_noise, &hkt_decay_power_law,
                                          &hkt_decay_exponential,      &hkt_decay_floor,       &hkt_decay_model_scores};

static const hkt_headline headline[] = {
    {&hkt_decay_planted_exact, "matrices that were made to decay geometrically do so",
     "even matrices that were made to decay geometrically do not", NULL},
    {&hkt_decay_power_law, "the error of power-law kernels decays geometrically",
     "the error of power-law kernels does not decay geometrically: it levels off", NULL},
    {&hkt_decay_exponential, "the error of exponential kernels decays geometrically",
     "the error of exponential kernels does not decay geometrically: it levels off", NULL},
    {&hkt_decay_model_scores, "the error of most heads' scores decays geometrically",
     "the error of most heads' scores does not decay geometrically", NULL},
    {&hkt_decay_floor, "for kernels and noise a floor of the error is proved, which no geometric law has",
     "no floor of the error is proved", NULL},
};

const hkt_claim hkt_claim_decay = {
    .id = "decay",
    .place = "Prop. 4.4",
    .statement = "the error of the best hierarchical approximation decays geometrically in L",
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .headline = headline,
    .n_headline = sizeof headline / sizeof *headline,
};

/* measure.c - what the hierarchy costs on the clock: HKT (3 levels) against MHA of the same width, measured in
 * turns, beside the ratio of their multiply-adds. */
#include <math.h>
#include <stdlib.h>

#include "analysis/claims/check.h"
#include "analysis/view/workload.h"
#include "base/progress.h"
#include "model/cost.h"

enum { SHORTEST = 256, LONGEST = 8192, MAX_REPEATS = 21 };

/* What is timed, for either model. */
typedef struct {
    hkt_config config[2]; /* HKT, MHA */
    size_t T, batch, repeats;
    size_t passes; /* of HKT for one of MHA: 1 */
    uint64_t seed;
    hkt_workload_attention attention[2];
    hkt_workload_model model[2];
} contest;

typedef struct {
    double low, median, high; /* of the ratios of the pairs */
} ratio;

static contest contest_make(const hkt_verify_context *ctx, size_t T, size_t tokens, size_t repeats)
{
    contest c = {.T = T, .batch = tokens > T ? tokens / T : 1, .repeats = repeats, .passes = 1, .seed = ctx->seed};
    for (int m = 0; m < 2; m++) {
        c.config[m] = hkt_config_default();
        c.config[m].vocab = 16;
        c.config[m].classes = 10;
        c.config[m].max_len = T;
    }
    c.config[1].levels = 1;
    c.config[1].hybrid = false;
    c.config[1].fusion = HKT_FUSION_STATIC;
    return c;
}

static void contest_free(contest *c)
{
    for (int m = 0; m < 2; m++) {
        hkt_workload_attention_free(&c->attention[m]);
        hkt_workload_model_free(&c->model[m]);
    }
}

static hkt_status kernel_open(contest *c)
{
    for (int m = 0; m < 2; m++)
        HKT_TRY(hkt_workload_attention_create(&c->attention[m], &c->config[m], c->T, c->batch, c->seed));
    return HKT_OK;
}

static hkt_status kernel_run(contest *c, int m)
{
    hkt_workload_attend(&c->attention[m], false);
    hkt_workload_attend(&c->attention[m], true);
    return HKT_OK;
}

static double kernel_madds(const hkt_config *c, size_t T)
{
    hkt_cost k = hkt_cost_step(c, T);
    return (double)(k.scores + k.values);
}

static hkt_status step_open(contest *c)
{
    for (int m = 0; m < 2; m++) {
        HKT_TRY(hkt_workload_model_create(&c->model[m], &c->config[m], c->T, c->batch, false, c->seed));
        HKT_TRY(hkt_workload_net(&c->model[m], true));
    }
    return HKT_OK;
}

static hkt_status step_run(contest *c, int m)
{
    return hkt_workload_gradient(&c->model[m]);
}

static double step_madds(const hkt_config *c, size_t T)
{
    return (double)hkt_cost_step(c, T).total;
}

typedef struct {
    hkt_status (*open)(contest *c);
    hkt_status (*run)(contest *c, int model);
    double (*madds)(const hkt_config *c, size_t T);
    size_t from; /* the shortest sequence that is judged */
    double bound;
    const char *detail;
} subject;

static const subject
    kernel = {kernel_open,  kernel_run,
              kernel_madds, 1024,
              1.40,         "largest ratio of times HKT/MHA at T >= 1024, medians of pairs, forward and backward"},
    step = {step_open,  step_run,
            step_madds, SHORTEST,
            1.50,       "largest ratio of times HKT/MHA of forward and backward pass of 2 layers, medians of pairs"};

static int compare_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static hkt_status timed(const subject *s, contest *c, int model, double *seconds)
{
    const double start = hkt_now();
    for (size_t i = 0; i < (model == 0 ? c->passes : 1); i++)
        HKT_TRY(s->run(c, model));
    *seconds = hkt_now() - start;
    return HKT_OK;
}

/* Each pair in turns, after one run of each to warm up: what else the machine does meets both alike. */
static hkt_status measure_pairs(const subject *s, contest *c, ratio *out)
{
    double seconds[2], ratios[MAX_REPEATS];
    HKT_TRY(s->open(c));
    HKT_TRY(s->run(c, 0));
    HKT_TRY(s->run(c, 1));
    for (size_t i = 0; i < c->repeats; i++) {
        for (int turn = 0; turn < 2; turn++) {
            int model = (turn + (int)i) % 2;
            HKT_TRY(timed(s, c, model, &seconds[model]));
        }
        ratios[i] = seconds[0] / seconds[1];
    }
    qsort(ratios, c->repeats, sizeof *ratios, compare_real);
    *out = (ratio){ratios[0], ratios[c->repeats / 2], ratios[c->repeats - 1]};
    return HKT_OK;
}

/* control: ten times the work of HKT, so that no other load of the machine hides it. */
static hkt_status ten_times(const hkt_verify_context *ctx, const subject *s, hkt_check_result *out)
{
    contest c = contest_make(ctx, SHORTEST, 2048, 5);
    c.passes = 10;
    ratio r;
    hkt_status status = measure_pairs(s, &c, &r);
    contest_free(&c);
    HKT_TRY(status);
    hkt_check_at_most(out, r.median, s->bound);
    return HKT_OK;
}

/* Every T from SHORTEST to LONGEST in powers of 2; those from s->from on must stay at or below the bound. */
static hkt_status compare_times(const hkt_verify_context *ctx, const subject *s, hkt_check_result *out)
{
    const size_t tokens = ctx->quick ? 8192 : 16384, repeats = ctx->quick ? 5 : MAX_REPEATS;
    double worst = 0;
    for (size_t T = SHORTEST; T <= LONGEST; T *= 2) {
        contest c = contest_make(ctx, T, tokens, repeats);
        ratio r;
        hkt_status status = measure_pairs(s, &c, &r);
        double counted = s->madds(&c.config[0], T) / s->madds(&c.config[1], T);
        contest_free(&c);
        HKT_TRY(status);
        worst = T >= s->from ? hkt_check_worse(worst, r.median) : worst;
        HKT_TRY(hkt_check_row(out, "T\tseconds_ratio\tlowest\thighest\tmadds_ratio\tseconds_over_madds", T, r.median,
                              r.low, r.high, counted, r.median / counted));
    }
    hkt_check_at_most(out, worst, s->bound);
    hkt_check_condition(out, "d = 64, 4 heads, s = 2, L = 3, on this machine");
    hkt_check_detail(out, "%s", s->detail);
    return HKT_OK;
}

static hkt_status times(const hkt_verify_context *ctx, hkt_check_result *out, bool control, const subject *s)
{
    if (control)
        return ten_times(ctx, s, out);
    if (ctx->measure)
        return compare_times(ctx, s, out);
    hkt_check_skip(out, "reads the clock: hkt-verify cost --measure, on a quiet machine");
    return HKT_OK;
}

static hkt_status kernel_time(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return times(ctx, out, control, &kernel);
}

const hkt_check hkt_cost_kernel_time = {
    .name = "kernel-time",
    .kind = HKT_EMPIRICAL,
    .statement =
        "with --measure: the attention kernel of three levels takes at most 1.40 times that of one, T = 1024..8192",
    .reference = "docs/performance.md",
    .failure = "the kernel wastes on short levels what their pairs save",
    .finding = "the attention kernel takes at most 1.40 times as long as with one level",
    .run = kernel_time,
    .holds = "the attention kernel of three levels takes at most {m} times as long as of one (limit {b})",
    .violated = "the attention kernel of three levels takes up to {m} times as long as of one (limit {b})",
};

static hkt_status step_time(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return times(ctx, out, control, &step);
}

const hkt_check hkt_cost_step_time = {
    .name = "step-time",
    .kind = HKT_EMPIRICAL,
    .statement =
        "with --measure: a training step of HKT takes at most 1.5 times that of MHA of the same width, T = 256..8192",
    .reference = "docs/performance.md",
    .failure = "projections of the levels, convolution and fusion cost more than their multiply-adds",
    .finding = "a training step takes at most 1.5 times as long as of MHA",
    .run = step_time,
    .holds = "a training step of HKT takes at most {m} times as long as of MHA (limit {b})",
    .violated = "a training step of HKT takes up to {m} times as long as of MHA (limit {b})",
};

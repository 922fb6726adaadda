/* effect.c - check `interventions` of `asymmetry`: accuracy with S replaced by one of its parts. */
#include <math.h>
#include <string.h>

#include "analysis/claims/asymmetry/asymmetry.h"
#include "analysis/math/multiple.h"
#include "base/mem.h"
#include "train/evaluate.h"

enum { BATCH_TOKENS = 8192, ALL_LEVELS = -1, MAX_DRAWS = 3, CASES = (HKT_MAX_LEVELS + 1) * (2 + MAX_DRAWS) };

/* One replacement and what became of the sequences. */
typedef struct {
    int level; /* or ALL_LEVELS */
    hkt_score_part part;
    uint64_t seed;
    double accuracy, loss;
    size_t gained, lost; /* right only with it, right only without it */
    double p, adjusted;  /* McNemar: against the model as it is */
    double p_random;     /* against the random parts at the same place: the largest p; NaN for those themselves */
    double adjusted_random;
    size_t changed; /* sequences on which it and a random part are not both right or both wrong, over all draws */
    unsigned char *correct;
} replacement;

typedef struct {
    const hkt_layout *layout;
    const float *params;
    const hkt_dataset *data;
    unsigned char *correct; /* [n] of the model as it is */
    double accuracy, loss;
    replacement item[CASES];
    size_t n_items;
} trial;

static void count_changes(size_t n, const unsigned char *with, const unsigned char *without, size_t *gained,
                          size_t *lost)
{
    *gained = *lost = 0;
    for (size_t i = 0; i < n; i++) {
        *gained += with[i] > without[i];
        *lost += with[i] < without[i];
    }
}

static hkt_status evaluate(const trial *t, replacement *r)
{
    hkt_intervention iv = {.seed = r->seed};
    hkt_evaluation e;
    for (size_t l = 0; l < t->layout->config.levels; l++)
        if (r->level == ALL_LEVELS || (size_t)r->level == l)
            iv.part[l] = r->part;
    HKT_TRY(hkt_evaluate(t->layout, t->params, t->data, BATCH_TOKENS, &iv, &e, NULL, r->correct));
    r->accuracy = e.accuracy;
    r->loss = e.loss;
    count_changes(t->data->n, r->correct, t->correct, &r->gained, &r->lost);
    r->p = hkt_mcnemar(r->gained, r->lost);
    return HKT_OK;
}

/* Symmetric, antisymmetric and `draws` random parts at one place. */
static hkt_status replace_at(trial *t, int level, size_t draws, uint64_t seed)
{
    replacement *first = t->item + t->n_items;
    for (size_t i = 0; i < 2 + draws; i++) {
        replacement *r = &t->item[t->n_items++];
        r->level = level;
        r->part = i == 0 ? HKT_PART_SYMMETRIC : i == 1 ? HKT_PART_ANTISYMMETRIC : HKT_PART_RANDOM;
        r->seed = seed + i;
        r->p_random = i < 2 ? 0 : (double)NAN;
        HKT_TRY(HKT_NEW(&r->correct, t->data->n));
        HKT_TRY(evaluate(t, r));
    }
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 2; k < 2 + draws; k++) {
            size_t gained, lost;
            count_changes(t->data->n, first[i].correct, first[k].correct, &gained, &lost);
            first[i].p_random = fmax(first[i].p_random, hkt_mcnemar(gained, lost));
            first[i].changed += gained + lost;
        }
    return HKT_OK;
}

/* Two families of tests: every replacement against the model as it is, every part against the random parts. */
static hkt_status adjust(trial *t)
{
    double p[CASES], adjusted[CASES];
    for (size_t i = 0; i < t->n_items; i++)
        p[i] = t->item[i].p;
    HKT_TRY(hkt_false_discovery(t->n_items, p, adjusted));
    for (size_t i = 0; i < t->n_items; i++)
        t->item[i].adjusted = adjusted[i];
    size_t n = 0, at = 0;
    for (size_t i = 0; i < t->n_items; i++)
        if (t->item[i].part != HKT_PART_RANDOM)
            p[n++] = t->item[i].p_random;
    HKT_TRY(hkt_false_discovery(n, p, adjusted));
    for (size_t i = 0; i < t->n_items; i++)
        t->item[i].adjusted_random = t->item[i].part != HKT_PART_RANDOM ? adjusted[at++] : (double)NAN;
    return HKT_OK;
}

/* Rows (level -1: all; part 0: as it is, 1 symmetric, 2 antisymmetric, 3 random), and the verdict from the first two
 * parts. */
static hkt_status judge(const trial *t, hkt_check_result *out)
{
    const char *columns = "level\tpart\taccuracy\tloss\tgained\tlost\tp\tadjusted_p\tp_random\tadj_random";
    const double nan = (double)NAN;
    HKT_TRY(hkt_check_row(out, columns, ALL_LEVELS, HKT_PART_WHOLE, t->accuracy, t->loss, 0, 0, nan, nan, nan, nan));
    for (size_t i = 0; i < t->n_items; i++) {
        const replacement *r = &t->item[i];
        HKT_TRY(hkt_check_row(out, columns, r->level, r->part, r->accuracy, r->loss, r->gained, r->lost, r->p,
                              r->adjusted, r->p_random, r->adjusted_random));
    }
    const replacement *r = t->item;
    hkt_check_at_most(out, fmin(r[0].adjusted_random, r[1].adjusted_random), 0.05);
    if (out->verdict == HKT_VIOLATED && r[0].changed + r[1].changed > 0)
        out->verdict = HKT_INCONCLUSIVE; /* a difference that is not found may be there */
    hkt_check_detail(out,
                     "accuracy %.3f as it is, with S_s alone %.3f, S_a alone %.3f, a random half %.3f; %zu sequences, "
                     "the smaller p of two (FDR 5 %%)",
                     t->accuracy, r[0].accuracy, r[1].accuracy, r[2].accuracy, t->data->n);
    return HKT_OK;
}

static void trial_free(trial *t)
{
    for (size_t i = 0; i < t->n_items; i++)
        hkt_free(t->item[i].correct);
    hkt_free(t->correct);
    hkt_free(t);
}

/* Quick: on all levels at once, one random part; else on each level as well, MAX_DRAWS random parts. */
static hkt_status compare(const hkt_subject *s, const hkt_dataset *data, bool quick, uint64_t seed,
                          hkt_check_result *out)
{
    trial *t = NULL;
    float *params = NULL;
    hkt_evaluation whole;
    HKT_TRY(HKT_NEW(&t, 1));
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&t->correct, data->n));
    HKT_TRY_GOTO(status, done, HKT_NEW(&params, s->layout->total));
    hkt_params_to_f32(s->layout, s->params, params);
    t->layout = s->layout;
    t->params = params;
    t->data = data;
    HKT_TRY_GOTO(status, done, hkt_evaluate(s->layout, params, data, BATCH_TOKENS, NULL, &whole, NULL, t->correct));
    t->accuracy = whole.accuracy;
    t->loss = whole.loss;
    int levels = quick || s->layout->config.levels == 1 ? 0 : (int)s->layout->config.levels;
    for (int level = ALL_LEVELS; level < levels; level++)
        HKT_TRY_GOTO(status, done, replace_at(t, level, quick ? 1 : MAX_DRAWS, seed));
    HKT_TRY_GOTO(status, done, adjust(t));
    status = judge(t, out);
    hkt_asymmetry_reading(out, "trained weights; ", s->layout->config.causal);
done:
    hkt_free(params);
    trial_free(t);
    return status;
}

static hkt_status on_sequences(const hkt_verify_context *ctx, const hkt_subject *s, size_t n, size_t T,
                               hkt_check_result *out)
{
    hkt_dataset data;
    HKT_TRY(hkt_subject_sequences(ctx, &s->layout->config, n, T, &data));
    hkt_status status = compare(s, &data, ctx->quick, ctx->seed, out);
    hkt_dataset_free(&data);
    return status;
}

static void zero_queries(hkt_subject *s)
{
    const hkt_config *c = &s->layout->config;
    for (size_t n = 0; n < c->layers; n++)
        for (size_t l = 0; l < c->levels; l++)
            memset(s->params + s->layout->layer[n].level[l].q, 0, c->d_model * c->d_model * sizeof *s->params);
}

/* control: Wq = 0, so that every score is 0, and so are all parts. */
static hkt_status interventions(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    hkt_subject s;
    size_t n = 16, T = 24;
    if (!control && (!ctx->model || !ctx->data)) {
        hkt_check_skip(out, "needs --checkpoint and --data: it is about the accuracy of a trained model");
        return HKT_OK;
    }
    HKT_TRY(hkt_subject_open(ctx, &s));
    if (control)
        zero_queries(&s);
    else {
        n = ctx->quick && ctx->data->n > 250 ? 250 : ctx->data->n;
        T = s.layout->config.max_len;
    }
    hkt_status status = on_sequences(ctx, &s, n, T, out);
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_asymmetry_interventions = {
    .name = "interventions",
    .kind = HKT_EMPIRICAL,
    .statement = "S replaced by S_s or by S_a, per level and on all: accuracy with one of them differs from that with "
                 "a random part (M + R M' R')/2 of about the same energy",
    .reference = "McNemar 1947; Benjamini & Hochberg 1995",
    .failure = "for this model the two parts are no more than any half of the scores",
    .finding =
        "replacing the trained model's scores by one of their parts changes accuracy otherwise than a random half does",
    .of_model = true,
    .run = interventions,
    .holds =
        "with one part of the scores alone accuracy is another than with a random half of them: p = {m}, limit {b}",
    .violated = "with either part of the scores alone accuracy is not told from that with a random half of them: p = "
                "{m}, limit {b}",
    .open = "whether accuracy with one part of the scores differs from that with a random half of them is open: p = "
            "{m}, limit {b}",
};

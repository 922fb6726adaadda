/* ranks.c - checks of `psd` that need no full column rank: a score matrix sum_l lambda_l U_l Q_l K_l' U_l' has at least
 * rank [U_l Q_l, U_l K_l] - pL eigenvalues of either sign (docs/theory.md, "psd"). Ranks are certified (rank.h). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/claims/psd/psd.h"
#include "analysis/math/certify.h"
#include "analysis/math/rank.h"
#include "base/elementary.h"
#include "base/mem.h"
#include "base/rng.h"

/* The largest k for which the rank of y [rows, cols], known up to `error`, is proved to be at least k. */
static hkt_status proved_rank(size_t rows, size_t cols, const double *y, double error, size_t *rank)
{
    hkt_rank_bound b;
    *rank = rows < cols ? rows : cols;
    for (; *rank > 0; --*rank) {
        HKT_TRY(hkt_rank_certify(rows, cols, y, error, *rank, &b));
        if (b.lower > 0)
            break;
    }
    return HKT_OK;
}

void hkt_psd_project(const hkt_gram *g, size_t l, size_t p, const double *w, size_t ld, size_t at, double *y,
                     double *size)
{
    for (size_t i = 0, factor = hkt_level_factor(g->stride, l); i < g->T; i++)
        for (size_t r = 0; r < p; r++) {
            const double *x = g->x[l] + i / factor * g->d;
            double sum = 0, terms = 0;
            for (size_t j = 0; j < g->d; j++) {
                sum += w[r * g->d + j] * x[j];
                terms += fabs(w[r * g->d + j] * x[j]);
            }
            y[i * ld + at + r] = sum;
            *size += terms * terms;
        }
}

/* Inputs of the model itself, behind its layer norm. control: tied weights. */
static hkt_status any_rank(const hkt_verify_context *ctx, hkt_check_result *out, bool tied)
{
    hkt_subject s;
    hkt_scene f = {0};
    double *y = NULL, least = (double)INFINITY;
    HKT_TRY(hkt_subject_open(ctx, &s));
    if (tied)
        hkt_subject_tie(&s);
    const hkt_config *c = &s.layout->config;
    size_t L = c->levels, p = c->d_model / c->heads, cols = 2 * p * L, heads = 0, zero = 0;
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_subject_see(ctx, &s, ctx->quick ? 64 : 128, &f));
    HKT_TRY_GOTO(status, done, HKT_NEW(&y, f.T * cols));
    for (size_t n = 0; n < c->layers * c->heads; n++) {
        size_t layer = n / c->heads, head = n % c->heads, rank;
        hkt_gram g = {.T = f.T, .d = c->d_model, .L = L, .stride = c->stride};
        double size = 0;
        for (size_t l = 0; l < L; l++) {
            g.x[l] = f.tap[layer].x[l];
            g.lambda[l] = f.tap[layer].lambda[l];
            hkt_psd_project(&g, l, p, hkt_subject_wq(&s, layer, l, head), cols, 2 * p * l, y, &size);
            hkt_psd_project(&g, l, p, hkt_subject_wk(&s, layer, l, head), cols, 2 * p * l + p, y, &size);
        }
        if (size == 0) {
            zero++;
            continue;
        }
        double error = hkt_gamma(2 * c->d_model + 2 * f.T + 2 * cols + 16) * sqrt(size) + 0x1p-1000;
        HKT_TRY_GOTO(status, done, proved_rank(f.T, cols, y, error, &rank));
        double negative = (double)rank - (double)(p * L);
        least = fmin(least, negative);
        heads += negative > 0;
        if (!tied && negative > 0)
            HKT_TRY_GOTO(status, done, hkt_psd_write_inertia(ctx, "any-rank", layer, head, &s, &g, (size_t)negative));
        HKT_TRY_GOTO(status, done,
                     hkt_check_row(out, "layer\thead\tT\tcolumns\trank\tnegative_at_least", layer, head, f.T, cols,
                                   rank, negative));
    }
    hkt_check_condition(out, "rank [U_l Q_l, U_l K_l] > pL");
    if (zero == c->layers * c->heads) {
        hkt_check_skip(out, "all %zu heads are without weights", zero);
        goto done;
    }
    hkt_check_at_least(out, least, 1);
    hkt_check_detail(out, "there are at most %zu of either sign; %zu of %zu heads, T = %zu", p * L, heads,
                     c->layers * c->heads, f.T);
    hkt_check_left_out(out, zero, "heads", "no weights");
done:
    hkt_free(y);
    hkt_scene_close(&f);
    hkt_subject_close(&s);
    return status;
}

const hkt_check hkt_psd_any_rank = {
    .name = "any-rank",
    .kind = HKT_CERTIFIED,
    .statement = "sym(S^H) of the model's own inputs has rank [U_l Q_l, U_l K_l] - pL > 0 eigenvalues of either sign",
    .reference = "docs/theory.md, psd; Rump 2006",
    .failure = "no proof that the Gram matrix of the model's own inputs is indefinite",
    .finding = "the Gram matrix of the model's own inputs is not PSD, whatever their rank",
    .of_model = true,
    .run = any_rank,
    .holds = "the Gram matrix of every head has at least {m} negative eigenvalues, proved",
    .violated = "the Gram matrix of some head is not proved to have a negative eigenvalue",
};

enum { D = 16, T = 64, BASE = 10000 };

/* Rotates rows of y [T, ld], columns at .. at + D - 1, by position: pairs (2r, 2r + 1) by i BASE^(-2r/D) radians. */
static void rotate(size_t ld, size_t at, double *y)
{
    for (size_t i = 0; i < T; i++)
        for (size_t r = 0; r < D / 2; r++) {
            double angle = (double)i * hkt_exp(-hkt_log(BASE) * 2 * (double)r / D), sine, cosine;
            hkt_sincos(angle / 6.283185307179586, &sine, &cosine);
            double *a = y + i * ld + at + 2 * r, first = a[0], second = a[1];
            a[0] = cosine * first - sine * second;
            a[1] = sine * first + cosine * second;
        }
}

/* One head as wide as the model, p = d: with rotary positions [Q_r K_r] has rank 2p. control: without them rank p. */
static hkt_status rotary(const hkt_verify_context *ctx, hkt_check_result *out, bool plain)
{
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 2500);
    double *mem = NULL;
    size_t rank;
    HKT_TRY(HKT_NEW(&mem, T * D + 2 * D * D + T * 2 * D));
    double *x = mem, *w = x + T * D, *y = w + 2 * D * D, size = 0;
    hkt_gram g = {.T = T, .d = D, .L = 1, .stride = 2, .x = {x}, .lambda = {1}};
    for (size_t i = 0; i < T * D; i++)
        x[i] = hkt_rng_normal(&rng);
    for (size_t i = 0; i < 2 * D * D; i++)
        w[i] = hkt_rng_normal(&rng) / sqrt(D);
    for (size_t k = 0; k < 2; k++) {
        hkt_psd_project(&g, 0, D, w + k * D * D, (size_t)2 * D, k * D, y, &size);
        if (!plain)
            rotate((size_t)2 * D, k * D, y);
    }
    hkt_status status = proved_rank(T, (size_t)2 * D, y, plain ? hkt_gamma(2 * T * D) * sqrt(size) : 0, &rank);
    hkt_free(mem);
    HKT_TRY(status);
    HKT_TRY(hkt_check_row(out, "d\tp\tT\trank\tnegative_at_least", D, D, T, rank, (double)rank - D));
    hkt_check_at_least(out, (double)rank - D, D);
    hkt_check_detail(out, "p = d = %d, T = %d: the inertia is (p, p, T - 2p)", D, T);
    hkt_check_condition(out, "rotary positions, one head, p = d");
    return HKT_OK;
}

const hkt_check hkt_psd_rotary = {
    .name = "rotary",
    .kind = HKT_CERTIFIED,
    .statement = "with rotary positions even one head of width p = d has a score matrix of inertia (p, p, T - 2p)",
    .reference = "docs/theory.md, psd; Rump 2006",
    .failure = "rotary positions leave room for a PSD score matrix",
    .finding = "with rotary positions no head has PSD scores, of any width",
    .run = rotary,
    .holds = "the score matrix has {m} positive and {m} negative eigenvalues, proved",
    .violated = "only {m} eigenvalues of either sign are proved, of {b}",
};

/* Rank of [a; b] for stacks of forms [p, D + 1]: with a bias, and mixtures of two heads that share their keys. control:
 * keys that are the mixture itself. */
static hkt_status shared(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    enum { P = 8, WIDTH = D + 1, MIXTURES = 16 };
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 2600);
    double least = (double)INFINITY;
    for (size_t trial = 0; trial < MIXTURES; trial++) {
        double q[2][P * WIDTH], stack[2 * P * WIDTH], *keys = stack + P * WIDTH, mix[2];
        size_t rank;
        for (size_t i = 0; i < 2 * P * WIDTH; i++)
            q[i / (P * WIDTH)][i % (P * WIDTH)] = hkt_rng_normal(&rng);
        for (size_t k = 0; k < 2; k++)
            mix[k] = trial < 2 ? trial == k : hkt_rng_normal(&rng); /* the heads themselves first */
        for (size_t i = 0; i < P * WIDTH; i++) {
            stack[i] = mix[0] * q[0][i] + mix[1] * q[1][i];
            keys[i] = control ? 2 * stack[i] : hkt_rng_normal(&rng);
        }
        HKT_TRY(proved_rank((size_t)2 * P, WIDTH, stack, 0, &rank));
        least = fmin(least, (double)rank - P);
        HKT_TRY(hkt_check_row(out, "mixture\tfirst\tsecond\trank\tnegative_at_least", trial, mix[0], mix[1], rank,
                              (double)rank - P));
    }
    hkt_check_at_least(out, least, P);
    hkt_check_detail(out, "p = %d, %d forms with biases (d + 1 = %d) and mixtures of two heads that share keys", P,
                     MIXTURES, WIDTH);
    hkt_check_condition(out, "2p <= d + 1 and [sum a_h Wq_h; Wk] has rank 2p");
    return HKT_OK;
}

const hkt_check hkt_psd_shared_keys = {
    .name = "shared-keys",
    .kind = HKT_CERTIFIED,
    .statement = "with biases, and mixed over heads that share their keys, a form still has inertia (p, p, d + 1 - 2p)",
    .reference = "docs/theory.md, psd; Rump 2006",
    .failure = "biases or shared keys leave room for PSD forms",
    .finding = "a form with biases, and any mixture over shared keys, has p negative eigenvalues",
    .run = shared,
    .holds = "every form has {m} negative eigenvalues or more, proved",
    .violated = "some form has only {m} eigenvalues of either sign that are proved, of {b}",
};

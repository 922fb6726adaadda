/* split.c - checks of `asymmetry` on score matrices themselves: the split, where its parts come from, and the
 * independence of levels. */
#include <math.h>
#include <string.h>

#include "analysis/claims/asymmetry/asymmetry.h"
#include "analysis/math/certify.h"
#include "analysis/math/modular.h"
#include "analysis/view/asymmetry.h"
#include "analysis/view/scene.h"
#include "base/mem.h"
#include "base/rng.h"

enum { MAX_TOKENS = 96 };

/* --- unique --- */

/* A symmetric and a antisymmetric integer matrix; with `fault` the second has one entry on its diagonal. */
static void integer_parts(hkt_rng *rng, size_t n, bool fault, double *a, double *b)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double s = (double)hkt_rng_below(rng, 1 << 21) - (1 << 20);
            double t = (double)hkt_rng_below(rng, 1 << 21) - (1 << 20);
            a[i * n + j] = a[j * n + i] = s;
            b[i * n + j] = i == j ? 0 : t;
            b[j * n + i] = i == j ? 0 : -t;
        }
    if (fault)
        b[0] = 1;
}

/* Integers below 2^21: sums, differences and halves of even numbers are exact. control: the second part is not
 * antisymmetric. */
static hkt_status unique(const hkt_verify_context *ctx, hkt_check_result *out, bool fault)
{
    enum { N = 24, TRIALS = 16 };
    double a[N * N], b[N * N], sum[N * N], sym[N * N], anti[N * N];
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, HKT_ASYMMETRY_UNIQUE);
    size_t wrong = 0;
    for (size_t trial = 0; trial < TRIALS; trial++) {
        integer_parts(&rng, N, fault, a, b);
        for (size_t i = 0; i < N * N; i++)
            sum[i] = a[i] + b[i];
        hkt_split(N, sum, sym, anti);
        for (size_t i = 0; i < N * N; i++)
            wrong += sym[i] != a[i] || anti[i] != b[i];
    }
    hkt_check_equal(out, (double)wrong, 0);
    hkt_check_detail(out, "%d sums of integer parts, %d x %d", TRIALS, N, N);
    return HKT_OK;
}

const hkt_check hkt_asymmetry_unique = {
    .name = "unique",
    .kind = HKT_EXACT,
    .statement = "a sum of a symmetric and an antisymmetric integer matrix splits into just these two",
    .reference = "Sym and Skew meet in 0 alone",
    .failure = "the split is not unique, or not what the code computes",
    .finding = "the split into a symmetric and an antisymmetric part is unique",
    .run = unique,
    .holds = "every sum splits into just the two parts that it was made of",
    .violated = "{m} entries differ from those of the parts that the sums were made of",
};

/* --- one forward pass, and a visit to each head --- */

typedef struct {
    hkt_subject s;
    hkt_scene f;
    const hkt_config *config;
    size_t d, p, T;
    double *mem; /* scratch of the check */
} scene;

static void scene_close(scene *v)
{
    hkt_free(v->mem);
    hkt_scene_close(&v->f);
    hkt_subject_close(&v->s);
}

/* matrices: how many [T, T] the check needs. */
static hkt_status scene_open(const hkt_verify_context *ctx, size_t matrices, scene *v)
{
    *v = (scene){0};
    HKT_TRY(hkt_subject_open(ctx, &v->s));
    v->config = &v->s.layout->config;
    v->d = v->config->d_model;
    v->p = v->d / v->config->heads;
    hkt_status status = hkt_subject_see(ctx, &v->s, ctx->quick ? MAX_TOKENS / 3 : MAX_TOKENS, &v->f);
    v->T = v->f.T;
    if (status == HKT_OK)
        status = HKT_NEW(&v->mem, matrices * v->T * v->T + 2 * v->T * v->d + 3 * v->d * v->d);
    if (status != HKT_OK)
        scene_close(v);
    return status;
}

/* --- forms --- */

/* out [n, n] = x m x^T; work [n, d]. */
static void congruence(size_t n, size_t d, const double *x, const double *m, double *work, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < d; c++) {
            double sum = 0;
            for (size_t k = 0; k < d; k++)
                sum += x[i * d + k] * m[k * d + c];
            work[i * d + c] = sum;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t c = 0; c < d; c++)
                sum += work[i * d + c] * x[j * d + c];
            out[i * n + j] = sum;
        }
}

/* Largest |part - form| over the absolute terms of S and S^T. */
static double part_error(size_t n, const double *part, const double *form, const double *size)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double e = fabs(part[i * n + j] - form[i * n + j]);
            worst = hkt_check_worse(worst, hkt_check_relative(e, (size[i * n + j] + size[j * n + i]) / 2));
        }
    return worst;
}

/* Parts of S^(l,h) of the forward pass against X M_s X^T and X M_a X^T from the weights; *error the larger of both.
 * flipped: M_a with the wrong sign. */
static hkt_status forms_of(const scene *v, size_t layer, size_t level, size_t head, bool flipped, hkt_check_result *out,
                           double *error)
{
    const hkt_tap_f64 *tap = v->f.tap + layer;
    size_t n = tap->offset[level][1], d = v->d, size = n * n;
    const double *wq = hkt_subject_wq(&v->s, layer, level, head), *wk = hkt_subject_wk(&v->s, layer, level, head);
    double *score = v->mem, *sym = score + size, *anti = sym + size, *form = anti + size, *terms = form + size;
    double *work = terms + size, *m = work + 2 * n * d, *ms = m + d * d, *ma = ms + d * d;
    hkt_score_dense(tap, level, head, v->p, score);
    hkt_split(n, score, sym, anti);
    hkt_score_size(n, d, v->p, tap->x[level], wq, wk, work, terms);
    hkt_score_form(d, v->p, wq, wk, m);
    hkt_split(d, m, ms, ma);
    for (size_t i = 0; i < d * d && flipped; i++)
        ma[i] = -ma[i];
    congruence(n, d, tap->x[level], ms, work, form);
    double sym_error = part_error(n, sym, form, terms);
    congruence(n, d, tap->x[level], ma, work, form);
    double anti_error = part_error(n, anti, form, terms);
    *error = hkt_check_worse(sym_error, anti_error);
    return hkt_check_row(out, "layer\tlevel\thead\ttokens\tsymmetric_error\tantisymmetric_error", layer, level, head, n,
                         sym_error, anti_error);
}

/* control: M_a transposed. */
static hkt_status forms(const hkt_verify_context *ctx, hkt_check_result *out, bool flipped)
{
    scene v;
    double worst = 0;
    HKT_TRY(scene_open(ctx, 5, &v));
    hkt_status status = HKT_OK;
    for (size_t n = 0; n < v.config->layers; n++)
        for (size_t l = 0; l < v.config->levels; l++)
            for (size_t h = 0; h < v.config->heads; h++) {
                double e = (double)NAN;
                HKT_TRY_GOTO(status, done, forms_of(&v, n, l, h, flipped, out, &e));
                worst = hkt_check_worse(worst, e);
            }
    /* At most 2d + p + 24 roundings on either way (docs/theory.md, "psd", decomposition). */
    hkt_check_at_most(out, worst, 2 * hkt_gamma(2 * v.d + v.p + 24));
    hkt_check_detail(out, "%zu score matrices", v.config->layers * v.config->levels * v.config->heads);
    hkt_asymmetry_reading(out, "", v.config->causal);
done:
    scene_close(&v);
    return status;
}

const hkt_check hkt_asymmetry_forms = {
    .name = "forms",
    .kind = HKT_IMPLEMENTATION,
    .statement =
        "the parts of S^(l,h) from the forward pass are X M_s X' and X M_a X' from the weights: S_ij + S_ji "
        "(reciprocal) and S_ij - S_ji (directional) are twice these; under a causal mask this is said of scores alone",
    .reference = "paper, Prop. 3.5",
    .failure = "the parts of the scores do not come from those of M",
    .finding = "the two parts of the scores are X M_s X' and X M_a X'",
    .of_model = true,
    .run = forms,
    .holds = "the parts of the scores agree with X M_s X' and X M_a X' to {m} of the sum of absolute terms; rounding "
             "allows {b}",
    .violated = "the parts of the scores differ from X M_s X' and X M_a X' by {m} of the sum of absolute terms; "
                "rounding allows {b}",
};

/* --- pythagoras --- */

/* Largest |S_s + S_a - S| / max(|S_ij|, |S_ji|) in units of 4 u; 0 where both are 0. */
static double sum_error(size_t n, const double *s, const double *sym, const double *anti)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double e = fabs(sym[i * n + j] + anti[i * n + j] - s[i * n + j]);
            double scale = fmax(fabs(s[i * n + j]), fabs(s[j * n + i]));
            worst = hkt_check_worse(worst, hkt_check_relative(e, 4 * 0x1p-53 * scale));
        }
    return worst;
}

/* Measures in units of their bounds (docs/theory.md, "asymmetry", pythagoras). `skewed`: a split with weights 3/4 and
 * 1/4, whose first part is not symmetric. */
static hkt_status pythagoras_of(const scene *v, size_t layer, size_t head, bool skewed, hkt_check_result *out,
                                double *worst)
{
    size_t T = v->T, size = T * T;
    double *s = v->mem, *sym = s + size, *anti = sym + size;
    hkt_scene_scores(&v->f, layer, head, v->config->levels, sym, s);
    hkt_split(T, s, sym, anti);
    for (size_t i = 0; i < size && skewed; i++) {
        sym[i] += anti[i] / 2;
        anti[i] /= 2;
    }
    double norm2 = hkt_inner(T, s, s), sym2 = hkt_inner(T, sym, sym), anti2 = hkt_inner(T, anti, anti);
    double bound = 2 * hkt_gamma(4 * T + 16);
    double angle = hkt_check_relative(fabs(hkt_inner(T, sym, anti)), norm2);
    double rest = hkt_check_relative(fabs(norm2 - sym2 - anti2), norm2);
    double sum = sum_error(T, s, sym, anti);
    *worst = hkt_check_worse(hkt_check_worse(sum, angle / bound), rest / bound);
    return hkt_check_row(out, "layer\thead\tT\tshare\tinner_product\tpythagoras\tbound\tsum_in_4u", layer, head, T,
                         anti2 / norm2, angle, rest, bound, sum);
}

static hkt_status pythagoras(const hkt_verify_context *ctx, hkt_check_result *out, bool skewed)
{
    scene v;
    double worst = 0;
    HKT_TRY(scene_open(ctx, 3, &v));
    hkt_status status = HKT_OK;
    for (size_t n = 0; n < v.config->layers; n++)
        for (size_t h = 0; h < v.config->heads; h++) {
            double e = (double)NAN;
            HKT_TRY_GOTO(status, done, pythagoras_of(&v, n, h, skewed, out, &e));
            worst = hkt_check_worse(worst, e);
        }
    hkt_check_at_most(out, worst, 1);
    hkt_check_detail(out, "the largest of <S_s, S_a>, |S|^2 - |S_s|^2 - |S_a|^2 and S_s + S_a - S; S^H of %zu heads",
                     v.config->layers * v.config->heads);
done:
    scene_close(&v);
    return status;
}

const hkt_check hkt_asymmetry_pythagoras = {
    .name = "pythagoras",
    .kind = HKT_IMPLEMENTATION,
    .statement =
        "S^H = S_s + S_a, <S_s, S_a> = 0, |S|^2 = |S_s|^2 + |S_a|^2 for the hierarchical score matrix of every head",
    .reference = "paper, Prop. 3.5",
    .failure = "the parts are not orthogonal",
    .finding = "the two parts of S^H are orthogonal, their energies add up",
    .of_model = true,
    .run = pythagoras,
    .holds = "the two parts are orthogonal and their energies add up; the error is {m} of what rounding allows",
    .violated = "the two parts are not orthogonal, or their energies do not add up: {m} times what rounding allows",
};

/* --- independence --- */

/* out [T, T] residues: U_l (S +- S^T) U_l^T sqrt(p) of the queries and keys as stored, exactly. */
static void part_residues(const scene *v, const hkt_tap_f64 *tap, size_t l, size_t head, bool anti, uint64_t *scratch,
                          uint64_t *out)
{
    size_t p = v->p, rows = hkt_level_length(v->T, v->config->stride, l);
    size_t factor = hkt_level_factor(v->config->stride, l);
    uint64_t *q = scratch, *k = q + rows * p, *s = k + rows * p;
    for (size_t i = 0; i < rows; i++) {
        hkt_modular_from(p, tap->q[l] + i * tap->ld[l] + head * p, q + i * p);
        hkt_modular_from(p, tap->k[l] + i * tap->ld[l] + head * p, k + i * p);
    }
    hkt_modular_product(rows, rows, p, q, k, s);
    for (size_t i = 0; i < v->T; i++)
        for (size_t j = 0; j < v->T; j++) {
            size_t a = i / factor, b = j / factor;
            out[i * v->T + j] = hkt_modular_sum(s[a * rows + b], s[b * rows + a], anti);
        }
}

/* Proved rank of the levels' upsampled parts as vectors of T^2 elements: `levels` when they are independent. */
static hkt_status rank_of_parts(const scene *v, const hkt_tap_f64 *tap, size_t head, size_t levels, bool twice,
                                bool anti, size_t *rank)
{
    size_t size = v->T * v->T;
    uint64_t *part = NULL;
    HKT_TRY(HKT_NEW(&part, (levels + 1) * size + 2 * v->T * v->p));
    for (size_t i = 0; i < levels; i++)
        part_residues(v, tap, twice && i == 1 ? 0 : i, head, anti, part + levels * size, part + i * size);
    hkt_status status = hkt_modular_rank(levels, size, part, rank);
    hkt_free(part);
    return status;
}

/* *least: the smaller of the two parts' ranks. *none: a part of some level is exactly 0, as of a head without weights;
 * there is then nothing to compare. */
static hkt_status independence_of(const scene *v, size_t layer, size_t head, size_t levels, bool twice,
                                  hkt_check_result *out, size_t *least, bool *none)
{
    const hkt_tap_f64 *tap = v->f.tap + layer;
    size_t symmetric, anti;
    *none = false;
    for (size_t l = 0; l < levels; l++) {
        hkt_score_dense(tap, l, head, v->p, v->mem);
        size_t rows = hkt_level_length(v->T, v->config->stride, l);
        double *s = v->mem + v->T * v->T, *a = s + v->T * v->T;
        hkt_split(rows, v->mem, s, a);
        *none = *none || hkt_inner(rows, s, s) == 0 || hkt_inner(rows, a, a) == 0;
    }
    if (*none)
        return HKT_OK;
    HKT_TRY(rank_of_parts(v, tap, head, levels, twice, false, &symmetric));
    HKT_TRY(rank_of_parts(v, tap, head, levels, twice, true, &anti));
    *least = symmetric < anti ? symmetric : anti;
    return hkt_check_row(out, "layer\thead\tT\tlevels\trank_symmetric\trank_antisymmetric", layer, head, v->T, levels,
                         symmetric, anti);
}

/* control: one level twice. */
static hkt_status independence(const hkt_verify_context *ctx, hkt_check_result *out, bool twice)
{
    scene v;
    HKT_TRY(scene_open(ctx, 3, &v));
    hkt_status status = HKT_OK;
    size_t levels = 1, heads = 0, left_out = 0, least = SIZE_MAX;
    while (levels < v.config->levels && hkt_level_length(v.T, v.config->stride, levels) > 1)
        levels++; /* a level of one token has no antisymmetric part */
    if (levels == 1) {
        hkt_check_skip(out, "one level of more than one token: there is nothing to compare");
        goto done;
    }
    for (size_t n = 0; n < v.config->layers; n++)
        for (size_t h = 0; h < v.config->heads; h++) {
            size_t rank;
            bool none;
            HKT_TRY_GOTO(status, done, independence_of(&v, n, h, levels, twice, out, &rank, &none));
            left_out += none;
            heads += !none;
            least = !none && rank < least ? rank : least;
        }
    if (heads == 0) {
        hkt_check_skip(out, "every head has a level whose symmetric or antisymmetric part is 0");
        goto done;
    }
    hkt_check_at_least(out, (double)least, (double)levels);
    hkt_check_condition(out, "every level has at least two tokens: T > s^(L-1)");
    hkt_check_detail(out, "ranks proved modulo 2^61 - 1; %zu heads, %zu levels, T = %zu", heads, levels, v.T);
    hkt_check_left_out(out, left_out, "heads", "a part of a level is 0");
done:
    scene_close(&v);
    return status;
}

const hkt_check hkt_asymmetry_independence = {
    .name = "independence",
    .kind = HKT_EXACT,
    .statement = "the L upsampled symmetric and the L upsampled antisymmetric level matrices are linearly independent",
    .reference = "paper, Prop. 3.6; docs/theory.md, asymmetry",
    .failure = "some level adds no pair of its own",
    .finding = "L levels give L independent pairs of parts",
    .of_model = true,
    .run = independence,
    .holds = "{m} levels have {m} independent symmetric and {m} independent antisymmetric parts",
    .violated = "{b} levels have parts of rank {m} only",
};

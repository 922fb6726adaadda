/* strict.c - checks of `subsumption` that the model is more than attention: rank of the hierarchical score
 * matrix. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/claims/certificate.h"
#include "analysis/claims/subsumption/subsumption.h"
#include "analysis/math/certify.h"
#include "analysis/math/rank.h"
#include "analysis/view/scene.h"
#include "base/mem.h"

void hkt_subsumption_scores(const hkt_subject *s, const hkt_scene *f, size_t layer, size_t head, size_t levels,
                            double *score, double *size, double *level, double *work)
{
    const hkt_tap_f64 *tap = f->tap + layer;
    hkt_scene_scores(f, layer, head, levels, level, score);
    memset(size, 0, f->T * f->T * sizeof *size);
    for (size_t l = 0; l < levels; l++) {
        size_t n = tap->offset[l][1], factor = hkt_level_factor(s->layout->config.stride, l);
        hkt_score_size(n, f->d, f->p, tap->x[l], hkt_subject_wq(s, layer, l, head), hkt_subject_wk(s, layer, l, head),
                       work, level);
        hkt_score_upsample(f->T, factor, tap->lambda[l], level, size);
    }
}

/* Rows and columns of S^H that are looked at, and the singular value that must not vanish. */
typedef struct {
    size_t row, rows, columns, index; /* rows row .. row + rows - 1, the first `columns` columns, sigma_index */
} window;

double hkt_subsumption_window(const hkt_config *c, size_t T, const double *score, const double *size, size_t row,
                              size_t rows, size_t columns, double *block)
{
    double sum = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            double terms = size[(row + i) * T + j];
            block[i * columns + j] = score[(row + i) * T + j];
            sum += terms * terms;
        }
    /* Computed scores differ from those of the numbers X, Wq, Wk, theta by at most gamma_k times the absolute terms
     * (docs/theory.md, "psd", decomposition); gamma_2k times the computed ones, the sum of squares included. */
    size_t k = 2 * c->d_model + c->d_model / c->heads + 3 * c->levels + 24;
    return hkt_gamma(2 * k + 2 * (rows + columns)) * sqrt(sum) * (1 + 0x1p-20);
}

typedef struct {
    double best;     /* largest certified sigma / sigma_1 */
    double distance; /* largest Eckart-Young distance / |S|_F */
    size_t heads, certified;
    size_t zero; /* heads whose scores are all 0 */
} tally;

/* block [rows, columns] is the window of S^H as computed: hkt-check makes its own from weights and inputs. */
static hkt_status write_certificate(const hkt_verify_context *ctx, const hkt_subject *s, const hkt_scene *f,
                                    size_t layer, size_t head, const window *v, const double *block)
{
    const hkt_config *c = &s->layout->config;
    const hkt_tap_f64 *tap = f->tap + layer;
    size_t least = v->rows < v->columns ? v->rows : v->columns, columns, p = f->p;
    hkt_certificate_file file = {0};
    double *w = NULL, distance, lambda[HKT_MAX_LEVELS];
    char name[80], about[160], claim[HKT_FRACTION + 80], bound[HKT_FRACTION];
    HKT_TRY(HKT_NEW(&w, v->columns * least));
    hkt_status status = hkt_certificate_distance(v->rows, v->columns, block, v->index, w, &columns, &distance);
    if (status != HKT_OK || !(distance > 0))
        goto done;
    for (size_t l = 0; l < c->levels; l++) {
        lambda[l] = tap->lambda[l];
        hkt_certificate_add(&file, "x", l, tap->offset[l][1], f->d, tap->x[l]);
        hkt_certificate_add(&file, "wq", l, p, f->d, hkt_subject_wq(s, layer, l, head));
        hkt_certificate_add(&file, "wk", l, p, f->d, hkt_subject_wk(s, layer, l, head));
    }
    hkt_certificate_add(&file, "lambda", SIZE_MAX, 1, c->levels, lambda);
    hkt_certificate_add(&file, "w", SIZE_MAX, v->columns, columns, w);
    const char *check = v->row > 0 ? "strict-attention" : "strict-score";
    snprintf(name, sizeof name, "subsumption-%s-%zu-%zu", check, layer, head);
    snprintf(about, sizeof about, "check %s of subsumption, layer %zu, head %zu", check, layer, head);
    hkt_certificate_fraction(distance * sqrt((double)p), false, bound); /* the claim's S is sqrt(p) times the model's */
    snprintf(claim, sizeof claim, "distance %zu %s %zu %zu %zu", v->index, bound, v->row, v->rows, v->columns);
    status = hkt_certificate_write(&file, ctx, name, about, c->stride, claim);
done:
    hkt_free(w);
    return status;
}

static hkt_status certify_head(const hkt_verify_context *ctx, const hkt_subject *s, const hkt_scene *f, size_t layer,
                               size_t head, size_t levels, const window *v, hkt_check_result *out, tally *t)
{
    size_t T = f->T, size = T * T, d = s->layout->config.d_model;
    hkt_rank_bound b = {0};
    double *mem = NULL, norm = 0, rounding = 0;
    HKT_TRY(HKT_NEW(&mem, 4 * size + 2 * T * d));
    double *score = mem, *terms = score + size, *level = terms + size, *block = level + size, *work = block + size;
    hkt_subsumption_scores(s, f, layer, head, levels, score, terms, level, work);
    rounding = hkt_subsumption_window(&s->layout->config, T, score, terms, v->row, v->rows, v->columns, block);
    hkt_status status = hkt_rank_certify(v->rows, v->columns, block, rounding, v->index, &b);
    for (size_t i = 0; i < v->rows * v->columns; i++)
        norm += block[i] * block[i];
    if (status == HKT_OK && b.lower > 0 && ctx->certificates && levels == s->layout->config.levels)
        status = write_certificate(ctx, s, f, layer, head, v, block);
    hkt_free(mem);
    HKT_TRY(status);
    double relative = b.lower / b.largest, distance = b.distance / sqrt(norm);
    t->best = fmax(t->best, relative);
    t->distance = fmax(t->distance, distance);
    t->heads++;
    t->zero += b.largest == 0;
    t->certified += b.lower > 0;
    return hkt_check_row(out, "layer\thead\trows\tk\tsigma_1\tsigma_k\tsigma_k_at_least\tdistance\trounding", layer,
                         head, v->rows, v->index, b.largest, b.computed, b.lower, distance, rounding);
}

/* All heads of the subject: sigma_k of the whole S^H (k = p + 1), or of its lower left quarter (k = p + 2). levels: how
 * many of the model's are summed. */
static hkt_status ranks(const hkt_verify_context *ctx, hkt_check_result *out, bool quarter, size_t levels)
{
    hkt_subject s;
    hkt_scene f = {0};
    tally t = {0};
    HKT_TRY(hkt_subject_open(ctx, &s));
    const hkt_config *c = &s.layout->config;
    size_t p = c->d_model / c->heads, least = 4 * (p + 2), want = ctx->quick ? 64 : 128;
    levels = levels < c->levels ? levels : c->levels;
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_subject_see(ctx, &s, want > least ? want : least, &f));
    size_t half = f.T / 2;
    window whole = {0, f.T, f.T, p + 1}, corner = {f.T - half, half, half, p + 2};
    const window *v = quarter ? &corner : &whole;
    if (c->levels == 1)
        hkt_check_skip(out, "one level: S^H is a score matrix of standard attention");
    else if (v->rows < v->index)
        hkt_check_skip(out, "%zu tokens give %zu rows: too few for sigma_%zu", f.T, v->rows, v->index);
    else {
        for (size_t i = 0; i < c->layers * c->heads; i++)
            HKT_TRY_GOTO(status, done, certify_head(ctx, &s, &f, i / c->heads, i % c->heads, levels, v, out, &t));
        if (t.zero == t.heads) {
            hkt_check_skip(out, "the scores of all %zu heads are 0", t.heads);
            goto done;
        }
        hkt_check_at_least(out, t.best, (double)v->rows * DBL_EPSILON);
        hkt_check_detail(out,
                         "sigma_%zu / sigma_1, p = %zu; proved for %zu of %zu heads; distance to rank %zu up to %.2g "
                         "of |S|_F; T = %zu",
                         v->index, p, t.certified, t.heads, v->index - 1, t.distance, f.T);
    }
    hkt_check_condition(out,
                        quarter ? "L >= 2; masked or not, up to a constant per row" : "L >= 2, lambda not one-hot");
done:
    hkt_scene_close(&f);
    hkt_subject_close(&s);
    return status;
}

/* control: level 0 alone: rank p. */
static hkt_status rank(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return ranks(ctx, out, false, control ? 1 : HKT_MAX_LEVELS);
}

const hkt_check hkt_subsumption_strict_score = {
    .name = "strict-score",
    .kind = HKT_CERTIFIED,
    .statement = "some S^H has sigma_{p+1} > 0, proved: it is no single-head score matrix, whose rank is at most p",
    .reference = "Eckart & Young 1936; Rump 2006",
    .failure = "no proof that the model has score matrices that attention has not",
    .finding = "some S^H is no score matrix of one standard head: certified",
    .of_model = true,
    .run = rank,
    .holds =
        "the scores of some head have a rank above p: a singular value beyond is {m} of the largest or more, certified",
    .violated = "no head is proved to have scores of a rank above p: {m} of the largest singular value, {b} is needed",
};

static hkt_status block(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return ranks(ctx, out, true, control ? 1 : HKT_MAX_LEVELS);
}

const hkt_check hkt_subsumption_strict_attention = {
    .name = "strict-attention",
    .kind = HKT_CERTIFIED,
    .statement = "the lower left quarter of some S^H has sigma_{p+2} > 0, proved: no single head gives the same "
                 "attention weights, masked or not",
    .reference = "docs/theory.md, subsumption; Rump 2006",
    .failure = "no proof that the model has attention weights that attention has not",
    .finding = "some S^H gives weights that no standard head gives: certified",
    .of_model = true,
    .run = block,
    .holds = "some head has attention weights that no standard head of its width has: a singular value beyond is {m} "
             "of the largest or more, certified",
    .violated = "no head is proved to have attention weights that no standard head has: {m} of the largest singular "
                "value, {b} is needed",
};

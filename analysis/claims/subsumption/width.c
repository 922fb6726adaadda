/* width.c - checks of `subsumption` that the hierarchical score matrix is not that of a head of any width, with or
 * without biases: docs/theory.md, "Strictness against heads of any width". */
#include <float.h>
#include <math.h>

#include "analysis/claims/subsumption/subsumption.h"
#include "base/mem.h"

/* The window of S^H that is looked at, and how many singular values of (I - P) S^H must not vanish. */
typedef struct {
    size_t row, rows, columns, more;
} window;

typedef struct {
    double best;     /* largest certified sigma / |window|_F */
    double distance; /* largest computed distance / |window|_F */
    size_t heads, certified, zero;
} tally;

static double norm_of(size_t n, const double *a)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

/* a [rows, d + 1 + columns] = [c x, c 1, block] with a power of two c, exact but for underflow, that makes the left
 * part 2^10 times as large as the right one: sigma_{d+1+k} of a is then little below sigma_k((I - P) block). */
static void join(size_t rows, size_t d, size_t columns, const double *x, const double *block, double *a)
{
    double left = hypot(norm_of(rows * d, x), sqrt((double)rows)),
           c = ldexp(1, 10 + ilogb(norm_of(rows * columns, block) / left));
    size_t n = d + 1 + columns;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < d; j++)
            a[i * n + j] = c * x[i * d + j];
        a[i * n + d] = c;
        for (size_t j = 0; j < columns; j++)
            a[i * n + d + 1 + j] = block[i * columns + j];
    }
}

hkt_status hkt_subsumption_beyond(size_t rows, size_t d, size_t columns, const double *x, const double *block,
                                  double error, size_t k, hkt_rank_bound *bound)
{
    double *a = NULL;
    HKT_TRY(HKT_NEW(&a, rows * (d + 1 + columns)));
    join(rows, d, columns, x, block, a);
    hkt_status status = hkt_rank_certify(rows, d + 1 + columns, a, error + 0x1p-1000, d + 1 + k, bound);
    hkt_free(a);
    return status;
}

static hkt_status certify_head(const hkt_subject *s, const hkt_scene *f, size_t layer, size_t head, size_t levels,
                               const window *v, hkt_check_result *out, tally *t)
{
    size_t T = f->T, size = T * T;
    double *mem = NULL;
    HKT_TRY(HKT_NEW(&mem, 4 * size + 2 * T * f->d));
    double *score = mem, *terms = score + size, *level = terms + size, *block = level + size, *work = block + size;
    hkt_rank_bound b = {0};
    hkt_subsumption_scores(s, f, layer, head, levels, score, terms, level, work);
    double rounding = hkt_subsumption_window(&s->layout->config, T, score, terms, v->row, v->rows, v->columns, block);
    double norm = norm_of(v->rows * v->columns, block);
    hkt_status status = HKT_OK;
    t->heads++;
    t->zero += norm == 0;
    if (norm > 0)
        status = hkt_subsumption_beyond(v->rows, f->d, v->columns, f->tap[layer].x[0] + v->row * f->d, block, rounding,
                                        v->more, &b);
    hkt_free(mem);
    HKT_TRY(status);
    double relative = norm > 0 ? b.lower / norm : 0, distance = norm > 0 ? b.distance / norm : 0;
    t->best = hkt_check_worse(t->best, relative);
    t->distance = fmax(t->distance, distance);
    t->certified += b.lower > 0;
    return hkt_check_row(out, "layer\thead\trows\tk\tsigma\tsigma_at_least\tdistance\trounding", layer, head, v->rows,
                         v->more, b.computed, b.lower, distance, rounding);
}

/* All heads: the whole of S^H, or its lower left quarter. levels: how many of the model's are summed. */
static hkt_status any_width(const hkt_verify_context *ctx, hkt_check_result *out, bool quarter, size_t levels)
{
    hkt_subject s;
    hkt_scene f = {0};
    tally t = {0};
    HKT_TRY(hkt_subject_open(ctx, &s));
    const hkt_config *c = &s.layout->config;
    const size_t d = c->d_model;
    levels = levels < c->levels ? levels : c->levels;
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_subject_see(ctx, &s, 4 * (d + 1), &f));
    size_t half = f.T / 2;
    const window whole = {0, f.T, f.T, 1}, corner = {f.T - half, half, half, 2}, *v = quarter ? &corner : &whole;
    if (c->levels == 1)
        hkt_check_skip(out, "one level: S^H is a score matrix of standard attention");
    else if (v->rows < d + 1 + v->more)
        hkt_check_skip(out, "%zu tokens give %zu rows, d = %zu: a head of width d can have any such scores", f.T,
                       v->rows, d);
    else {
        for (size_t i = 0; i < c->layers * c->heads; i++)
            HKT_TRY_GOTO(status, done, certify_head(&s, &f, i / c->heads, i % c->heads, levels, v, out, &t));
        if (t.zero == t.heads) {
            hkt_check_skip(out, "the scores of all %zu heads are 0", t.heads);
            goto done;
        }
        hkt_check_at_least(out, t.best, (double)v->rows * DBL_EPSILON);
        hkt_check_detail(out,
                         "sigma_%zu((I - P) S) / |S|_F, P the projection on inputs and ones, d = %zu; proved for %zu "
                         "of %zu heads; distance up to %.2g of |S|_F; T = %zu",
                         v->more, d, t.certified, t.heads, t.distance, f.T);
    }
    hkt_check_condition(out,
                        quarter ? "L >= 2, T/2 > d + 2; masked or not, up to a constant per row" : "L >= 2, T > d + 1");
done:
    hkt_scene_close(&f);
    hkt_subject_close(&s);
    return status;
}

/* control: level 0 alone, the scores of one head. */
static hkt_status score(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return any_width(ctx, out, false, control ? 1 : HKT_MAX_LEVELS);
}

const hkt_check hkt_subsumption_width_score = {
    .name = "width-score",
    .kind = HKT_CERTIFIED,
    .statement =
        "some S^H is not [X 1] M [X 1]' for any M, proved: no head of any width, with or without biases, and no "
        "sum of heads has these scores",
    .reference = "docs/theory.md, subsumption; Rump 2006",
    .failure = "no proof that a wider head of standard attention does not give the same score matrices",
    .finding = "some S^H is no score matrix of standard heads of any width: certified",
    .of_model = true,
    .run = score,
    .holds = "the scores of some head are out of reach of standard heads of any width by {m} of their norm or more, "
             "certified",
    .violated = "no head's scores are proved to be out of reach of standard heads: {m} of their norm, {b} is needed",
};

static hkt_status attention(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return any_width(ctx, out, true, control ? 1 : HKT_MAX_LEVELS);
}

const hkt_check hkt_subsumption_width_attention = {
    .name = "width-attention",
    .kind = HKT_CERTIFIED,
    .statement =
        "the lower left quarter B of some S^H has sigma_2((I - P) B) > 0, P on the inputs of its rows and ones, "
        "proved: no head of any width gives the same attention weights, masked or not",
    .reference = "docs/theory.md, subsumption; Rump 2006",
    .failure = "no proof that a wider head of standard attention does not give the same weights",
    .finding = "some S^H gives weights that no standard head of any width gives: certified",
    .of_model = true,
    .run = attention,
    .holds = "the attention weights of some head are out of reach of standard heads of any width: {m} of the scores' "
             "norm or more, certified",
    .violated = "no head's attention weights are proved to be out of reach of standard heads: {m} of the scores' norm, "
                "{b} is needed",
};

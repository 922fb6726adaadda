#include "analysis/foreign/forward.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "analysis/math/core.h"
#include "base/elementary.h"
#include "base/mem.h"
#include "base/progress.h"
#include "foreign/stored.h"
#include "num/kernels.h"

/* --- what is read ------------------------------------------------------------------------------------------------- */

/* The tensor of a layer, of that shape; cols 0: a vector. HKT_EINPUT when it is not there. */
static hkt_status find(const hkt_foreign *f, const char *pattern, size_t layer, size_t rows, size_t cols,
                       const hkt_tensor **out)
{
    const hkt_tensor *t = *out = hkt_foreign_tensor(f, pattern, layer);
    if (!t)
        return hkt_fail(HKT_EINPUT, "forward pass of family '%s': expected a tensor '%s' for layer %zu, found none",
                        f->family, pattern, layer);
    const bool fits =
        cols ? t->ndim == 2 && t->shape[0] == rows && t->shape[1] == cols : t->ndim == 1 && t->shape[0] == rows;
    return fits ? HKT_OK
                : hkt_fail(HKT_EINPUT,
                           "%s: tensor '%s': expected %zu x %zu numbers, found %zu dimensions, the first %zu",
                           hkt_safetensors_path(t->file), t->name, rows, cols ? cols : 1, t->ndim,
                           t->ndim ? t->shape[0] : 0);
}

static hkt_status read_tensor(const hkt_tensor *t, double *out)
{
    HKT_TRY(hkt_tensor_range_to_f64(t, 0, t->count, out));
    for (size_t i = 0; i < t->count; i++)
        if (!isfinite(out[i]))
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected finite weights, found %g",
                            hkt_safetensors_path(t->file), t->name, out[i]);
    return HKT_OK;
}

/* The matrix of a map from `in` to `out_n` numbers, as it is stored. */
static hkt_status read_matrix(const hkt_foreign *f, const char *pattern, size_t layer, size_t out_n, size_t in,
                              double *out)
{
    const hkt_tensor *t;
    HKT_TRY(find(f, pattern, layer, f->transposed ? in : out_n, f->transposed ? out_n : in, &t));
    return read_tensor(t, out);
}

/* `fallback` where there is no such tensor. */
static hkt_status read_vector(const hkt_foreign *f, const char *pattern, size_t layer, size_t n, double fallback,
                              double *out)
{
    const hkt_tensor *t;
    for (size_t i = 0; i < n; i++)
        out[i] = fallback;
    if (!pattern || !hkt_foreign_tensor(f, pattern, layer))
        return HKT_OK;
    HKT_TRY(find(f, pattern, layer, n, 0, &t));
    return read_tensor(t, out);
}

/* Weights of one layer, matrices as they are stored, but for queries and keys. */
typedef struct {
    hkt_foreign_layer attention;
    double *value, *value_bias, *output, *output_bias, *gain, *shift, *gate, *up, *up_bias, *down, *down_bias;
    double *fused, *block;
} layer;

static hkt_status layer_create(layer *l, const hkt_forward *f)
{
    const hkt_foreign_shape *s = &f->model->shape;
    const size_t d = s->d, q = s->heads * s->p, kv = s->key_heads * s->p, h = f->hidden;
    HKT_TRY(hkt_foreign_layer_create(&l->attention, s));
    const struct {
        double **to;
        size_t n;
    } parts[] = {{&l->value, kv * d}, {&l->value_bias, kv}, {&l->output, q * d}, {&l->output_bias, d},
                 {&l->gain, d},       {&l->shift, d},       {&l->gate, h * d},   {&l->up, h * d},
                 {&l->up_bias, h},    {&l->down, h * d},    {&l->down_bias, d},  {&l->fused, d * (q + 2 * kv)}};
    size_t total = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        total += parts[i].n;
    HKT_TRY(HKT_NEW(&l->block, total));
    double *at = l->block;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; at += parts[i++].n)
        *parts[i].to = at;
    return HKT_OK;
}

static void layer_free(layer *l)
{
    hkt_foreign_layer_free(&l->attention);
    hkt_free(l->block);
}

/* Values from the third part of [in, queries, keys and values], to [in, values]. */
static hkt_status read_fused_value(const hkt_forward *f, size_t n, layer *l)
{
    const hkt_foreign *m = f->model;
    const size_t q = m->shape.heads * m->shape.p, kv = m->shape.key_heads * m->shape.p, width = q + 2 * kv;
    const hkt_tensor *t;
    HKT_ASSERT(m->transposed && m->fusing == HKT_FUSED_BLOCKS);
    HKT_TRY(find(m, m->names.query, n, m->shape.d, width, &t));
    HKT_TRY(read_tensor(t, l->fused));
    for (size_t i = 0; i < m->shape.d; i++)
        memcpy(l->value + i * kv, l->fused + i * width + q + kv, kv * sizeof *l->value);
    HKT_TRY(read_vector(m, m->names.query_bias, n, width, 0, l->fused));
    memcpy(l->value_bias, l->fused + q + kv, kv * sizeof *l->value_bias);
    return HKT_OK;
}

static hkt_status layer_read(const hkt_forward *f, size_t n, layer *l)
{
    const hkt_foreign *m = f->model;
    const hkt_forward_names *names = f->names;
    const size_t d = m->shape.d, q = m->shape.heads * m->shape.p, kv = m->shape.key_heads * m->shape.p;
    HKT_TRY(hkt_foreign_layer_read(m, n, &l->attention));
    if (names->value) {
        HKT_TRY(read_matrix(m, names->value, n, kv, d, l->value));
        HKT_TRY(read_vector(m, names->value_bias, n, kv, 0, l->value_bias));
    } else
        HKT_TRY(read_fused_value(f, n, l));
    HKT_TRY(read_matrix(m, names->output, n, d, q, l->output));
    HKT_TRY(read_vector(m, names->output_bias, n, d, 0, l->output_bias));
    HKT_TRY(read_vector(m, names->gain, n, d, 1, l->gain));
    HKT_TRY(read_vector(m, names->shift, n, d, 0, l->shift));
    if (names->gate)
        HKT_TRY(read_matrix(m, names->gate, n, f->hidden, d, l->gate));
    HKT_TRY(read_matrix(m, names->up, n, f->hidden, d, l->up));
    HKT_TRY(read_vector(m, names->up_bias, n, f->hidden, 0, l->up_bias));
    HKT_TRY(read_matrix(m, names->down, n, d, f->hidden, l->down));
    return read_vector(m, names->down_bias, n, d, 0, l->down_bias);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static hkt_status read_tokens(hkt_forward *f, const char *path)
{
    hkt_safetensors *file = NULL;
    const hkt_tensor *t;
    hkt_status status = hkt_stored_array(&file, &t, path, "tokens");
    if (status == HKT_OK && (t->ndim < 1 || t->ndim > 2 || t->count == 0))
        status = hkt_fail(HKT_EINPUT, "%s: expected tokens [sequences, tokens], found %zu dimensions and %zu elements",
                          path, t->ndim, t->count);
    if (status == HKT_OK) {
        f->T = t->shape[t->ndim - 1];
        f->n = t->count / f->T;
        status = HKT_NEW(&f->tokens, t->count);
    }
    if (status == HKT_OK)
        status = hkt_stored_integers(t, f->tokens);
    hkt_safetensors_free(file);
    for (size_t i = 0; i < f->n * f->T && status == HKT_OK; i++)
        if (f->tokens[i] < 0 || (size_t)f->tokens[i] >= f->vocab)
            status = hkt_fail(HKT_EINPUT, "%s: expected tokens below %zu, found %d of sequence %zu, place %zu", path,
                              f->vocab, (int)f->tokens[i], i / f->T, i % f->T);
    return status;
}

static hkt_status read_embedding(hkt_forward *f, const char *path)
{
    const hkt_foreign *m = f->model;
    const size_t d = m->shape.d;
    const hkt_tensor *t = hkt_foreign_tensor(m, f->names->embedding, 0), *up;
    const size_t rows = t && t->ndim == 2 ? t->shape[0] : 0;
    HKT_TRY(find(m, f->names->embedding, 0, rows, d, &t));
    f->vocab = rows;
    HKT_TRY(HKT_NEW(&f->embedding, rows * d));
    HKT_TRY(read_tensor(t, f->embedding));
    HKT_TRY(read_tokens(f, path));
    up = hkt_foreign_tensor(m, f->names->up, 0);
    f->hidden = up && up->ndim == 2 ? up->shape[m->transposed ? 1 : 0] : 0;
    if (!f->names->positions)
        return HKT_OK;
    t = hkt_foreign_tensor(m, f->names->positions, 0);
    const size_t most = t && t->ndim == 2 ? t->shape[0] : 0;
    HKT_TRY(find(m, f->names->positions, 0, most, d, &t));
    if (f->T > most)
        return hkt_fail(HKT_EINPUT, "%s: expected sequences of at most %zu tokens, found %zu", path, most, f->T);
    HKT_TRY(HKT_NEW(&f->positions, most * d));
    return read_tensor(t, f->positions);
}

hkt_status hkt_forward_open(hkt_forward *out, const hkt_foreign *model, const char *path)
{
    const hkt_family *family = hkt_family_find(model->family);
    const char *act = json_string_value(json_object_get(model->config, "hidden_act"));
    *out = (hkt_forward){.model = model, .names = family ? family->forward : NULL};
    if (!out->names)
        return hkt_fail(HKT_EINPUT,
                        "forward pass: expected family gpt2, llama or llama2.c, found '%s': store queries and keys "
                        "(docs/foreign.md, scores)",
                        model->family);
    if (*model->unused || hkt_foreign_tensor(model, model->names.query_gain, 0) || (act && strcmp(act, "silu") != 0))
        return hkt_fail(HKT_EINPUT, "forward pass: expected a model without '%s': store queries and keys",
                        *model->unused                    ? model->unused
                        : act && strcmp(act, "silu") != 0 ? act
                                                          : "norms of queries");
    return read_embedding(out, path);
}

void hkt_forward_close(hkt_forward *f)
{
    hkt_free(f->tokens);
    hkt_free(f->embedding);
    hkt_free(f->positions);
    *f = (hkt_forward){.model = NULL};
}

/* --- one layer on one sequence ------------------------------------------------------------------------------------ */

/* Of one thread. */
typedef struct {
    double *x, *normed;        /* [T, d] */
    double *q, *mixed, *k, *v; /* [T, heads p] twice, [T, key_heads p] twice */
    double *hidden, *gate;     /* [T, hidden] */
    double *score;             /* [T, T] */
    double *tile;              /* [hkt_score_work] */
    double *block;
    bool finite;
} space;

static hkt_status space_create(space *w, const hkt_forward *f)
{
    const hkt_foreign_shape *s = &f->model->shape;
    const size_t T = f->T, q = s->heads * s->p, kv = s->key_heads * s->p;
    HKT_TRY(HKT_NEW(&w->block, T * (2 * s->d + 2 * q + 2 * kv + 2 * f->hidden + T) + hkt_score_work(s->heads, s->p)));
    w->x = w->block;
    w->normed = w->x + T * s->d;
    w->q = w->normed + T * s->d;
    w->mixed = w->q + T * q;
    w->k = w->mixed + T * q;
    w->v = w->k + T * kv;
    w->hidden = w->v + T * kv;
    w->gate = w->hidden + T * f->hidden;
    w->score = w->gate + T * f->hidden;
    w->tile = w->score + T * T;
    w->finite = true;
    return HKT_OK;
}

/* The norm of each row of x [T, d] with gain and shift. RMS: x / sqrt(mean x^2 + eps) (Zhang & Sennrich 2019, arXiv
 * 1910.07467); centred: the mean is taken away before (Ba et al. 2016, arXiv 1607.06450). */
static void normalise(const hkt_forward *f, const double *x, const double *gain, const double *shift, double *out)
{
    const hkt_foreign_shape *s = &f->model->shape;
    for (size_t t = 0; t < f->T; t++) {
        const double *row = x + t * s->d;
        double mean = 0, square = 0;
        for (size_t i = 0; i < s->d && s->norm == HKT_NORM_CENTRED; i++)
            mean += row[i] / (double)s->d;
        for (size_t i = 0; i < s->d; i++)
            square += (row[i] - mean) * (row[i] - mean);
        const double factor = 1 / sqrt(square / (double)s->d + s->epsilon);
        for (size_t i = 0; i < s->d; i++)
            out[t * s->d + i] = (row[i] - mean) * factor * gain[i] + shift[i];
    }
}

/* y [T, n] = add y + x w^T + b, w [n, in], or [in, n] when `transposed`; add is 0 or 1. */
static void apply(size_t T, size_t n, size_t in, bool transposed, const double *x, const double *w, const double *b,
                  double add, double *y)
{
    hkt_product(false, !transposed, T, n, in, 1, x, w, add, y);
    for (size_t t = 0; t < T; t++)
        for (size_t i = 0; i < n; i++)
            y[t * n + i] += b[i];
}

static void turn(const hkt_forward *f, size_t heads, double *x)
{
    const hkt_foreign_shape *s = &f->model->shape;
    const hkt_rotation r = {s->rotary, s->rotary_base, s->rotary_pairs};
    for (size_t i = 0; i < f->T * heads && s->rotary > 0; i++)
        hkt_rotate(&r, (double)(i / heads), x + i * s->p);
}

/* Rows of `score` [T, T] become weights: exp over their sum, 0 right of the diagonal; false when a score is not finite.
 */
static bool soften(size_t T, double *score)
{
    bool finite = true;
    for (size_t i = 0; i < T; i++) {
        double *row = score + i * T, most = row[0], sum = 0;
        for (size_t j = 0; j <= i; j++) {
            finite = finite && isfinite(row[j]);
            most = row[j] > most ? row[j] : most;
        }
        for (size_t j = 0; j <= i; j++)
            sum += row[j] = hkt_exp(row[j] - most);
        for (size_t j = 0; j < T; j++)
            row[j] = j <= i ? row[j] / sum : 0;
    }
    return finite;
}

static void attend(const hkt_forward *f, space *w)
{
    const hkt_foreign_shape *s = &f->model->shape;
    const size_t T = f->T, p = s->p, q = s->heads * p, kv = s->key_heads * p, share = s->heads / s->key_heads;
    for (size_t h = 0; h < s->heads; h++) {
        hkt_products_f64(T, T, p, s->scale, w->q + h * p, q, w->k + h / share * p, kv, w->score, T);
        w->finite = soften(T, w->score) && w->finite;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)T, (int)p, (int)T, 1, w->score, (int)T,
                    w->v + h / share * p, (int)kv, 0, w->mixed + h * p, (int)q);
    }
}

/* gelu(x) = x (1 + tanh u)/2 = x / (1 + e^(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3) (Hendrycks & Gimpel 2016, arXiv
 * 1606.08415); silu(x) = x / (1 + e^-x). */
static double bend(double x, bool silu)
{
    const double u = silu ? x / 2 : sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
    return x / (1 + hkt_exp(-2 * u));
}

static void feed_forward(const hkt_forward *f, const layer *l, space *w)
{
    const size_t T = f->T, d = f->model->shape.d, n = f->hidden;
    const bool across = f->model->transposed;
    normalise(f, w->x, l->gain, l->shift, w->normed);
    apply(T, n, d, across, w->normed, l->up, l->up_bias, 0, w->hidden);
    if (f->names->gate)
        hkt_product(false, !across, T, n, d, 1, w->normed, l->gate, 0, w->gate);
    for (size_t i = 0; i < T * n; i++)
        w->hidden[i] = f->names->gate ? bend(w->gate[i], true) * w->hidden[i] : bend(w->hidden[i], false);
    apply(T, d, n, across, w->hidden, l->down, l->down_bias, 1, w->x);
}

/* Queries, keys and values of the rows in w->x; then their scores are in `pairs`. */
static void project(const hkt_forward *f, const layer *l, space *w, hkt_score_pairs *pairs)
{
    const hkt_foreign_shape *s = &f->model->shape;
    const size_t T = f->T, q = s->heads * s->p, kv = s->key_heads * s->p;
    const hkt_foreign_layer *a = &l->attention;
    normalise(f, w->x, a->gain, a->shift, w->normed);
    apply(T, q, s->d, false, w->normed, a->wq, a->bq, 0, w->q);
    apply(T, kv, s->d, false, w->normed, a->wk, a->bk, 0, w->k);
    apply(T, kv, s->d, f->model->transposed, w->normed, l->value, l->value_bias, 0, w->v);
    turn(f, s->heads, w->q);
    turn(f, s->key_heads, w->k);
    *pairs = (hkt_score_pairs){.T = T,
                               .heads = s->heads,
                               .share = s->heads / s->key_heads,
                               .p = s->p,
                               .q_ld = q,
                               .k_ld = kv,
                               .q_step = s->p,
                               .k_step = s->p,
                               .scale = s->scale,
                               .causal = true,
                               .q = w->q,
                               .k = w->k};
}

/* x [T, d] in and out: the input of the layer, and of the next. */
static void see_sequence(const hkt_forward *f, const layer *l, space *w, hkt_score_tile tile, double *x,
                         hkt_score_visit visit, void *self)
{
    const hkt_foreign_shape *s = &f->model->shape;
    hkt_score_pairs pairs;
    memcpy(w->x, x, f->T * s->d * sizeof *x);
    project(f, l, w, &pairs);
    hkt_score_tiles(&pairs, tile, w->tile, visit, self);
    attend(f, w);
    apply(f->T, s->d, s->heads * s->p, f->model->transposed, w->mixed, l->output, l->output_bias, 1, w->x);
    feed_forward(f, l, w);
    memcpy(x, w->x, f->T * s->d * sizeof *x);
}

/* --- the source --------------------------------------------------------------------------------------------------- */

static void embed(const hkt_forward *f, size_t first, size_t n, double *x)
{
    const size_t d = f->model->shape.d;
    for (size_t i = 0; i < n * f->T; i++)
        for (size_t c = 0; c < d; c++)
            x[i * d + c] = f->embedding[(size_t)f->tokens[first * f->T + i] * d + c] +
                           (f->positions ? f->positions[i % f->T * d + c] : 0);
}

/* x [n, T, d]. */
static hkt_status walk_batch(const hkt_forward *f, layer *l, space *spaces, size_t first, size_t n, double *x,
                             hkt_score_visit visit, void *self)
{
    embed(f, first, n, x);
    for (size_t i = 0; i < f->model->shape.layers; i++) {
        HKT_TRY(layer_read(f, i, l));
#pragma omp parallel for schedule(dynamic)
        for (size_t b = 0; b < n; b++) {
            const size_t thread = (size_t)omp_get_thread_num();
            see_sequence(f, l, &spaces[thread], (hkt_score_tile){.seq = first + b, .layer = i, .thread = thread},
                         x + b * f->T * f->model->shape.d, visit, self);
        }
        for (size_t t = 0; t < hkt_score_walk_threads(); t++)
            if (!spaces[t].finite)
                return hkt_fail(HKT_ENUMERIC, "forward pass: expected finite scores in layer %zu, found others", i);
    }
    return HKT_OK;
}

static hkt_status walk_all(const hkt_forward *f, size_t n_seq, layer *l, space *spaces, double *x,
                           hkt_score_visit visit, hkt_score_batch_end end, void *self)
{
    const double start = hkt_now();
    for (size_t first = 0, n; first < n_seq; first += n) {
        n = n_seq - first < HKT_SCORE_BATCH ? n_seq - first : HKT_SCORE_BATCH;
        HKT_TRY(walk_batch(f, l, spaces, first, n, x, visit, self));
        if (end)
            end(self, first, n);
        hkt_progress_part(start, first + n, n_seq, "scores: sequence %zu of %zu", first + n, n_seq);
    }
    return HKT_OK;
}

static hkt_status walk(const hkt_score_source *source, size_t n_seq, hkt_score_visit visit, hkt_score_batch_end end,
                       void *self)
{
    const hkt_forward *f = source->model;
    const size_t threads = hkt_score_walk_threads(), batch = n_seq < HKT_SCORE_BATCH ? n_seq : HKT_SCORE_BATCH;
    layer l = {.block = NULL};
    space *spaces = NULL;
    double *x = NULL;
    hkt_status status;
    HKT_TRY_GOTO(status, done, layer_create(&l, f));
    HKT_TRY_GOTO(status, done, HKT_NEW(&x, batch * f->T * f->model->shape.d));
    HKT_TRY_GOTO(status, done, HKT_NEW(&spaces, threads));
    for (size_t t = 0; t < threads; t++)
        HKT_TRY_GOTO(status, done, space_create(&spaces[t], f));
    status = walk_all(f, n_seq, &l, spaces, x, visit, end, self);
    hkt_progress_clear();
done:
    for (size_t t = 0; t < threads && spaces; t++)
        hkt_free(spaces[t].block);
    hkt_free(spaces);
    hkt_free(x);
    layer_free(&l);
    return status;
}

static size_t entries(const hkt_score_source *source, size_t level, size_t seq)
{
    (void)level;
    (void)seq;
    return hkt_score_entries(((const hkt_forward *)source->model)->T, true);
}

hkt_score_source hkt_score_of_forward(const hkt_forward *f)
{
    return (hkt_score_source){.model = f,
                              .n = f->n,
                              .layers = f->model->shape.layers,
                              .levels = 1,
                              .heads = f->model->shape.heads,
                              .entries = entries,
                              .walk = walk};
}

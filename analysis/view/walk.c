#include "analysis/view/walk.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "model/net.h"
#include "num/kernels.h"

/* A tile of every head stays in the second-level cache; a batch keeps all threads busy without holding much. */
enum { TILE_ROWS = 64, TILE_COLS = 128, BATCH_TOKENS = 8192 };
/* Then no tile begins to the right of its first row's diagonal. */
_Static_assert(TILE_COLS % TILE_ROWS == 0 && TILE_COLS * TILE_ROWS == HKT_SCORE_TILE, "tiles");

typedef struct {
    const hkt_checkpoint *model;
    const hkt_dataset *data;
    size_t first, n;   /* sequences of the batch */
    size_t max_tokens; /* of a batch */
    size_t length[HKT_SCORE_BATCH];
    hkt_tap_f64 *tap; /* [layers] */
    double *work;     /* [threads][hkt_score_work] */
    hkt_net_f64 *net;
    hkt_score_visit visit;
    hkt_score_batch_end end; /* NULL: none */
    void *self;
} walk;

size_t hkt_score_walk_threads(void)
{
    return (size_t)omp_get_max_threads();
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Where the rows of a tile end once the entries right of the diagonal are gone; its first row keeps `reach`. */
static void set_row_ends(size_t *row_end, size_t rows, size_t cols, size_t reach)
{
    size_t n = 0;
    for (size_t r = 0; r < rows; r++)
        row_end[r] = n += min_size(reach + r, cols);
}

/* Moves the entries on and left of the diagonal to the front of a tile. */
static void keep_causal(double *tile, size_t rows, size_t cols, const size_t *row_end)
{
    size_t n = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; n < row_end[r]; c++)
            tile[n++] = tile[r * cols + c];
}

/* The key of row j is added to sum [key heads, p]. */
static void add_key(const hkt_score_pairs *s, size_t j, double *sum)
{
    for (size_t g = 0; g < s->heads / s->share; g++)
        for (size_t c = 0; c < s->p; c++)
            sum[g * s->p + c] += s->k[g * s->k_step + j * s->k_ld + c];
}

/* Mean of row i of head h: q_i . (sum of the keys it sees) / their number, or of its scores. */
static double row_mean(const hkt_score_pairs *s, size_t h, size_t i, const double *sum)
{
    const size_t n = s->causal ? i + 1 : s->T;
    double total = 0;
    for (size_t j = 0; j < n && s->matrix; j++)
        total += s->matrix[(h * s->T + i) * s->T + j];
    for (size_t c = 0; c < s->p && !s->matrix; c++)
        total += s->q[h * s->q_step + i * s->q_ld + c] * sum[h / s->share * s->p + c];
    return total * ((s->matrix ? 1 : s->scale) / (double)n);
}

/* mean [heads, rows] of rows i .. i + rows - 1. sum: of the keys before row i, to which those of these rows are added
 * (causal), or of all keys. */
static void row_means(const hkt_score_pairs *s, size_t i, size_t rows, double *sum, double *mean)
{
    for (size_t r = 0; r < rows; r++) {
        if (s->causal && !s->matrix)
            add_key(s, i + r, sum);
        for (size_t h = 0; h < s->heads; h++)
            mean[h * rows + r] = row_mean(s, h, i + r, sum);
    }
}

size_t hkt_score_work(size_t heads, size_t p)
{
    return heads * (HKT_SCORE_TILE + TILE_ROWS + p);
}

size_t hkt_score_entries(size_t T, bool causal)
{
    return causal ? T * (T + 1) / 2 : T * T;
}

/* Scores of head h, rows i .., columns j ... out [rows, cols]. */
static void tile_of_head(const hkt_score_pairs *s, size_t h, size_t i, size_t j, size_t rows, size_t cols, double *out)
{
    if (!s->matrix) {
        hkt_products_f64(rows, cols, s->p, s->scale, s->q + h * s->q_step + i * s->q_ld, s->q_ld,
                         s->k + h / s->share * s->k_step + j * s->k_ld, s->k_ld, out, cols);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * cols, s->matrix + (h * s->T + i + r) * s->T + j, cols * sizeof *out);
}

void hkt_score_tiles(const hkt_score_pairs *s, hkt_score_tile tile, double *work, hkt_score_visit visit, void *self)
{
    double *mean = work + s->heads * HKT_SCORE_TILE, *sum = mean + s->heads * TILE_ROWS;
    size_t row_end[TILE_ROWS];
    tile.heads = s->heads;
    tile.ld = HKT_SCORE_TILE;
    tile.before = 0;
    tile.score = work;
    tile.row_end = row_end;
    tile.row_mean = mean;
    memset(sum, 0, s->heads * s->p * sizeof *sum);
    for (size_t j = 0; j < s->T && !s->causal && !s->matrix; j++)
        add_key(s, j, sum);
    for (size_t i = 0; i < s->T; i += TILE_ROWS) {
        size_t rows = min_size(TILE_ROWS, s->T - i), end = s->causal ? i + rows : s->T;
        row_means(s, i, rows, sum, mean);
        tile.rows = rows;
        for (size_t j = 0; j < end; j += TILE_COLS) {
            size_t cols = min_size(TILE_COLS, end - j);
            bool diagonal = s->causal && j + cols > i + 1;
            set_row_ends(row_end, rows, cols, diagonal ? i - j + 1 : cols);
            tile.n = row_end[rows - 1];
            for (size_t h = 0; h < s->heads; h++) {
                tile_of_head(s, h, i, j, rows, cols, work + h * HKT_SCORE_TILE);
                if (diagonal)
                    keep_causal(work + h * HKT_SCORE_TILE, rows, cols, row_end);
            }
            visit(self, &tile);
            tile.before += tile.n;
        }
    }
}

/* All tiles of one layer, level and sequence of the batch. */
static void walk_item(const walk *w, size_t layer, size_t level, size_t b)
{
    const hkt_config *config = &w->model->layout->config;
    const hkt_tap_f64 *tap = &w->tap[layer];
    const size_t row0 = tap->offset[level][b], ld = tap->ld[level], p = config->d_model / config->heads;
    const size_t thread = (size_t)omp_get_thread_num();
    const hkt_score_pairs pairs = {.T = tap->offset[level][b + 1] - row0,
                                   .heads = config->heads,
                                   .share = 1,
                                   .p = p,
                                   .q_ld = ld,
                                   .k_ld = ld,
                                   .q_step = p,
                                   .k_step = p,
                                   .scale = 1 / sqrt((double)p),
                                   .causal = config->causal,
                                   .q = tap->q[level] + row0 * ld,
                                   .k = tap->k[level] + row0 * ld};
    hkt_score_tiles(&pairs, (hkt_score_tile){.seq = w->first + b, .layer = layer, .level = level, .thread = thread},
                    w->work + thread * hkt_score_work(config->heads, p), w->visit, w->self);
}

static hkt_status walk_batch(walk *w)
{
    size_t begin = w->data->offset[w->first], layers = w->model->layout->config.layers;
    size_t levels = w->model->layout->config.levels, n_items = levels * layers * w->n;
    hkt_batch batch = {.n_seq = w->n, .length = w->length, .tokens = w->data->tokens + begin};
    HKT_TRY(hkt_net_forward_f64(w->net, w->model->params, &batch, NULL, NULL, NULL, NULL));
    for (size_t layer = 0; layer < layers; layer++) {
        HKT_TRY(hkt_net_tap_f64(w->net, layer, &w->tap[layer]));
    }
    /* Level 0, the largest, comes first: the small items fill the gaps at the end. */
#pragma omp parallel for schedule(dynamic)
    for (size_t item = 0; item < n_items; item++)
        walk_item(w, item / w->n % layers, item / w->n / layers, item % w->n);
    if (w->end)
        w->end(w->self, w->first, w->n);
    return HKT_OK;
}

static size_t length_of(const walk *w, size_t seq)
{
    return w->data->offset[seq + 1] - w->data->offset[seq];
}

/* The sequences that follow the batch, as many as fit (at least one). */
static void next_batch(walk *w, size_t n_seq)
{
    w->first += w->n;
    w->n = 0;
    for (size_t tokens = 0; w->first + w->n < n_seq && w->n < HKT_SCORE_BATCH; w->n++) {
        size_t T = length_of(w, w->first + w->n);
        tokens += T;
        if (tokens > w->max_tokens)
            break;
        w->length[w->n] = T;
    }
}

static hkt_status walk_run(walk *w, size_t n_seq)
{
    const hkt_config *config = &w->model->layout->config;
    w->max_tokens = min_size(BATCH_TOKENS, w->data->offset[n_seq]);
    for (size_t s = 0; s < n_seq; s++)
        w->max_tokens = length_of(w, s) > w->max_tokens ? length_of(w, s) : w->max_tokens;
    HKT_TRY(HKT_NEW(&w->tap, config->layers));
    HKT_TRY(
        HKT_NEW(&w->work, hkt_score_walk_threads() * hkt_score_work(config->heads, config->d_model / config->heads)));
    HKT_TRY(
        hkt_net_create_f64(&w->net, w->model->layout, w->max_tokens, min_size(HKT_SCORE_BATCH, n_seq), false, true));
    double start = hkt_now();
    for (next_batch(w, n_seq); w->n > 0; next_batch(w, n_seq)) {
        HKT_TRY(walk_batch(w));
        size_t done = w->first + w->n;
        hkt_progress_part(start, done, n_seq, "scores: sequence %zu of %zu", done, n_seq);
    }
    return HKT_OK;
}

static hkt_status walk_model(const hkt_score_source *s, size_t n_seq, hkt_score_visit visit, hkt_score_batch_end end,
                             void *self)
{
    walk w = {.model = s->model, .data = s->data, .visit = visit, .end = end, .self = self};
    hkt_status status = walk_run(&w, n_seq);
    hkt_progress_clear();
    hkt_net_destroy_f64(w.net);
    hkt_free(w.work);
    hkt_free(w.tap);
    return status;
}

static size_t entries_of_model(const hkt_score_source *s, size_t level, size_t seq)
{
    const hkt_config *c = &((const hkt_checkpoint *)s->model)->layout->config;
    const size_t *offset = ((const hkt_dataset *)s->data)->offset;
    return hkt_score_entries(hkt_level_length(offset[seq + 1] - offset[seq], c->stride, level), c->causal);
}

hkt_score_source hkt_score_of_model(const hkt_checkpoint *model, const hkt_dataset *data)
{
    const hkt_config *c = &model->layout->config;
    return (hkt_score_source){.model = model,
                              .data = data,
                              .n = data->n,
                              .layers = c->layers,
                              .levels = c->levels,
                              .heads = c->heads,
                              .entries = entries_of_model,
                              .walk = walk_model};
}

hkt_status hkt_score_walk(hkt_score_source source, size_t n_seq, hkt_score_visit visit, hkt_score_batch_end end,
                          void *self)
{
    if (n_seq == 0 || n_seq > source.n)
        return hkt_fail(HKT_EINPUT, "scores: expected 1 to %zu sequences of the data set, found %zu", source.n, n_seq);
    return source.walk(&source, n_seq, visit, end, self);
}

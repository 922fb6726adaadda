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
_Static_assert(TILE_COLS % TILE_ROWS == 0, "tiles");

typedef struct {
    const hkt_checkpoint *model;
    const hkt_dataset *data;
    size_t first, n;   /* sequences of the batch */
    size_t max_tokens; /* of a batch */
    size_t length[HKT_SCORE_BATCH];
    hkt_tap_f64 *tap; /* [layers] */
    double *tile;     /* [threads][heads][TILE_ROWS * TILE_COLS] */
    double *mean;     /* [threads][heads][TILE_ROWS] of rows, then [threads][d] sums of keys */
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

static void add_keys(size_t d, const double *k, double *sum)
{
    for (size_t c = 0; c < d; c++)
        sum[c] += k[c];
}

/* Means of rows i .. i + rows - 1 of every head, q_i . (sum of the keys it sees) / (their number sqrt(p)). sum [d]:
 * the keys before row i, to which those of these rows are added (causal), or all keys. */
static void row_means(const hkt_config *config, const double *q, const double *k, size_t ld, size_t T, size_t i,
                      size_t rows, double *sum, double *mean)
{
    size_t heads = config->heads, p = config->d_model / heads;
    for (size_t r = 0; r < rows; r++) {
        if (config->causal)
            add_keys(config->d_model, k + (i + r) * ld, sum);
        double scale = 1 / (sqrt((double)p) * (double)(config->causal ? i + r + 1 : T));
        for (size_t h = 0; h < heads; h++) {
            double product = 0;
            for (size_t c = h * p; c < (h + 1) * p; c++)
                product += q[(i + r) * ld + c] * sum[c];
            mean[h * rows + r] = product * scale;
        }
    }
}

/* All tiles of one layer, level and sequence of the batch. */
static void walk_item(const walk *w, size_t layer, size_t level, size_t b)
{
    const hkt_config *config = &w->model->layout->config;
    const hkt_tap_f64 *tap = &w->tap[layer];
    size_t row0 = tap->offset[level][b], T = tap->offset[level][b + 1] - row0, ld = tap->ld[level];
    const double *q = tap->q[level] + row0 * ld, *k = tap->k[level] + row0 * ld;
    size_t heads = config->heads, p = config->d_model / heads, area = TILE_ROWS * TILE_COLS;
    size_t thread = (size_t)omp_get_thread_num();
    double *score = w->tile + thread * heads * area, *mean = w->mean + thread * heads * TILE_ROWS;
    double *key_sum = w->mean + hkt_score_walk_threads() * heads * TILE_ROWS + thread * config->d_model;
    size_t row_end[TILE_ROWS];
    hkt_score_tile tile = {.seq = w->first + b,
                           .layer = layer,
                           .level = level,
                           .thread = thread,
                           .heads = heads,
                           .ld = area,
                           .score = score,
                           .row_end = row_end,
                           .row_mean = mean};
    memset(key_sum, 0, config->d_model * sizeof *key_sum);
    for (size_t j = 0; j < T && !config->causal; j++)
        add_keys(config->d_model, k + j * ld, key_sum);
    for (size_t i = 0; i < T; i += TILE_ROWS) {
        size_t rows = min_size(TILE_ROWS, T - i), end = config->causal ? i + rows : T;
        row_means(config, q, k, ld, T, i, rows, key_sum, mean);
        tile.rows = rows;
        for (size_t j = 0; j < end; j += TILE_COLS) {
            size_t cols = min_size(TILE_COLS, end - j);
            bool diagonal = config->causal && j + cols > i + 1;
            set_row_ends(row_end, rows, cols, diagonal ? i - j + 1 : cols);
            tile.n = row_end[rows - 1];
            for (size_t h = 0; h < heads; h++) {
                double *s = score + h * area;
                hkt_products_f64(rows, cols, p, 1 / sqrt((double)p), q + i * ld + h * p, ld, k + j * ld + h * p, ld, s,
                                 cols);
                if (diagonal)
                    keep_causal(s, rows, cols, row_end);
            }
            w->visit(w->self, &tile);
            tile.before += tile.n;
        }
    }
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
    HKT_TRY(HKT_NEW(&w->tile, hkt_score_walk_threads() * config->heads * TILE_ROWS * TILE_COLS));
    HKT_TRY(HKT_NEW(&w->mean, hkt_score_walk_threads() * (config->heads * TILE_ROWS + config->d_model)));
    HKT_TRY(
        hkt_net_create_f64(&w->net, w->model->layout, w->max_tokens, min_size(HKT_SCORE_BATCH, n_seq), false, true));
    double start = hkt_now();
    for (next_batch(w, n_seq); w->n > 0; next_batch(w, n_seq)) {
        HKT_TRY(walk_batch(w));
        size_t done = w->first + w->n;
        double left = (hkt_now() - start) * (double)(n_seq - done) / (double)done;
        hkt_progress(false, "scores: sequence %zu of %zu, %.0f s left", done, n_seq, left);
    }
    return HKT_OK;
}

hkt_status hkt_score_walk(const hkt_checkpoint *model, const hkt_dataset *data, size_t n_seq, hkt_score_visit visit,
                          void *self)
{
    return hkt_score_walk_batches(model, data, n_seq, visit, NULL, self);
}

hkt_status hkt_score_walk_batches(const hkt_checkpoint *model, const hkt_dataset *data, size_t n_seq,
                                  hkt_score_visit visit, hkt_score_batch_end end, void *self)
{
    if (n_seq == 0 || n_seq > data->n)
        return hkt_fail(HKT_EINPUT, "scores: expected 1 to %zu sequences of the data set, found %zu", data->n, n_seq);
    walk w = {.model = model, .data = data, .visit = visit, .end = end, .self = self};
    hkt_status status = walk_run(&w, n_seq);
    hkt_progress_clear();
    hkt_net_destroy_f64(w.net);
    hkt_free(w.tile);
    hkt_free(w.mean);
    hkt_free(w.tap);
    return status;
}

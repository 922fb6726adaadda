#include "analysis/view/stream.h"

#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/rng.h"
#include "model/config.h"
#include "num/kernels.h"

enum {
    SEGMENTS = 16,     /* pieces folded side by side; fixed, so that results do not depend on the threads */
    CHUNK = 1024,      /* rows made at a time, at least */
    STREAM_ROWS = 0x51 /* sub-stream of the rows of X^(0) */
};

/* Rows of consecutive tokens: level l holds its rows from origin / s^l on. */
typedef struct {
    size_t origin; /* a multiple of s^(L-1) */
    double *x[HKT_MAX_LEVELS];
    double *mem;
} window;

/* Of all segments together. */
typedef struct {
    size_t done;
    double start;
} tokens_done;

static void show(tokens_done *p, const hkt_gram_stream *g, size_t more)
{
#pragma omp critical(hkt_stream_progress)
    {
        p->done += more;
        hkt_progress_part(p->start, p->done, g->T, "token %zu of %zu", p->done, g->T);
    }
}

/* s^(L-1), the tokens under one row of the coarsest level. */
static hkt_status group_size(const hkt_gram_stream *g, size_t *span)
{
    *span = 1;
    for (size_t l = 1; l < g->L; l++)
        if (!hkt_mul_size(*span, g->stride, span) || *span > (size_t)1 << 24)
            return hkt_fail(HKT_EINPUT, "stride %zu with %zu levels: groups of more than 2^24 tokens", g->stride, g->L);
    return HKT_OK;
}

static hkt_status window_create(const hkt_gram_stream *g, size_t rows, window *w)
{
    size_t size = 0;
    for (size_t l = 0; l < g->L; l++)
        size += hkt_level_length(rows, g->stride, l) * g->d;
    HKT_TRY(HKT_NEW(&w->mem, size));
    double *at = w->mem;
    for (size_t l = 0; l < g->L; l++) {
        w->x[l] = at;
        at += hkt_level_length(rows, g->stride, l) * g->d;
    }
    return HKT_OK;
}

/* Fills the levels for tokens origin..end-1. Row 0 of a coarse level misses the tokens before origin: right only at
 * origin 0, which is why a window starts one group early. */
static void window_fill(const hkt_gram_stream *g, size_t origin, size_t end, window *w)
{
    size_t blocks = (g->d + 1) / 2; /* a block of four words gives two normals */
    w->origin = origin;
    for (size_t i = origin; i < end; i++) {
        hkt_rng rng = hkt_rng_make(g->seed, HKT_STREAM_VERIFY, STREAM_ROWS);
        rng.counter = (uint64_t)i * blocks;
        for (size_t c = 0; c < g->d; c++)
            w->x[0][(i - origin) * g->d + c] = hkt_rng_normal(&rng);
    }
    for (size_t l = 1; l < g->L; l++)
        hkt_downsample_forward_f64(hkt_level_length(end - origin, g->stride, l - 1), g->d, g->stride, w->x[l - 1],
                                   g->down[l], w->x[l]);
}

/* Folds rows begin..end-1 of Z; begin is a multiple of the group. */
static hkt_status fold_rows(const hkt_gram_stream *g, size_t span, size_t begin, size_t end, window *w, hkt_tsqr *qr)
{
    window_fill(g, begin > 0 ? begin - span : 0, end, w);
    for (size_t i = begin; i < end; i++) {
        double *row;
        HKT_TRY(hkt_tsqr_next(qr, &row));
        size_t j = i - w->origin;
        for (size_t l = 0; l < g->L; l++, j /= g->stride)
            memcpy(row + l * g->d, w->x[l] + j * g->d, g->d * sizeof *row);
    }
    return HKT_OK;
}

/* R of rows begin..end-1. */
static hkt_status fold_segment(const hkt_gram_stream *g, size_t span, size_t begin, size_t end, double *r, size_t *k,
                               tokens_done *progress)
{
    size_t chunk = (CHUNK + span - 1) / span * span;
    window w = {0};
    hkt_tsqr *qr = NULL;
    hkt_status status = window_create(g, chunk + span, &w);
    if (status == HKT_OK)
        status = hkt_tsqr_create(&qr, g->L * g->d);
    for (size_t i = begin; i < end && status == HKT_OK; i += chunk) {
        const size_t last = i + chunk < end ? i + chunk : end;
        status = fold_rows(g, span, i, last, &w, qr);
        show(progress, g, last - i);
    }
    if (status == HKT_OK)
        status = hkt_tsqr_finish(qr, r, k);
    hkt_tsqr_destroy(qr);
    hkt_free(w.mem);
    return status;
}

/* R of the stacked R of all segments. */
static hkt_status join(size_t n, const double *parts, const size_t *rows, double *r, size_t *k)
{
    hkt_tsqr *qr;
    HKT_TRY(hkt_tsqr_create(&qr, n));
    hkt_status status = HKT_OK;
    for (size_t s = 0; s < SEGMENTS; s++)
        for (size_t i = 0; i < rows[s] && status == HKT_OK; i++) {
            double *row;
            status = hkt_tsqr_next(qr, &row);
            if (status == HKT_OK)
                memcpy(row, parts + (s * n + i) * n, n * sizeof *row);
        }
    if (status == HKT_OK)
        status = hkt_tsqr_finish(qr, r, k);
    hkt_tsqr_destroy(qr);
    return status;
}

hkt_status hkt_gram_stream_factor(const hkt_gram_stream *g, double *r, size_t *k)
{
    size_t n = g->L * g->d, span, rows[SEGMENTS] = {0};
    double *parts = NULL;
    hkt_status result[SEGMENTS] = {HKT_OK};
    tokens_done progress = {.done = 0, .start = hkt_now()};
    HKT_TRY(group_size(g, &span));
    HKT_TRY(hkt_alloc((void **)&parts, SEGMENTS * n * n, sizeof *parts, "factors of the segments"));
    size_t length = (g->T / SEGMENTS + span) / span * span; /* SEGMENTS * length >= T */
#pragma omp parallel for schedule(dynamic)
    for (size_t s = 0; s < SEGMENTS; s++) {
        size_t begin = s * length, end = begin + length < g->T ? begin + length : g->T;
        if (begin < end)
            result[s] = fold_segment(g, span, begin, end, parts + s * n * n, rows + s, &progress);
    }
    hkt_status status = HKT_OK;
    for (size_t s = 0; s < SEGMENTS && status == HKT_OK; s++)
        if (result[s] != HKT_OK) /* the message stayed with the thread that failed */
            status = hkt_fail(result[s], "factor of the tokens %zu..: out of memory or not finite", s * length);
    if (status == HKT_OK)
        status = join(n, parts, rows, r, k);
    hkt_free(parts);
    return status;
}

void hkt_gram_stream_levels(const hkt_gram_stream *g, double *const x[])
{
    window w = {0};
    for (size_t l = 0; l < g->L; l++)
        w.x[l] = x[l];
    window_fill(g, 0, g->T, &w);
}

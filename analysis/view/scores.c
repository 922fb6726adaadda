#include "analysis/view/scores.h"

#include <math.h>
#include <stdbool.h>

#include "analysis/math/quartic.h"
#include "analysis/view/walk.h"
#include "base/mem.h"

static size_t first_unit(const hkt_score_moments *s, size_t layer, size_t level, size_t head)
{
    return ((layer * s->levels + level) * s->heads + head) * s->n_units;
}

static hkt_moments *units_of(const hkt_score_moments *s, size_t layer, size_t level, size_t head)
{
    return s->moments + first_unit(s, layer, level, head);
}

const hkt_moments *hkt_score_moments_units(const hkt_score_moments *m, size_t layer, size_t level, size_t head)
{
    return units_of(m, layer, level, head);
}

static hkt_moments pool(const hkt_moments *unit, size_t n)
{
    hkt_moments all;
    hkt_moments_clear(&all);
    for (size_t i = 0; i < n; i++)
        hkt_moments_merge(&all, &unit[i]);
    return all;
}

hkt_moments hkt_score_moments_pool(const hkt_score_moments *s, size_t layer, size_t level, size_t head)
{
    return pool(units_of(s, layer, level, head), s->n_units);
}

hkt_moments hkt_score_moments_pool_centred(const hkt_score_moments *s, size_t layer, size_t level, size_t head)
{
    return pool(s->centred + first_unit(s, layer, level, head), s->n_units);
}

static size_t units_for(size_t n_seq)
{
    return n_seq < HKT_SCORE_UNITS ? n_seq : HKT_SCORE_UNITS;
}

/* --- standardisation --- */

typedef struct {
    size_t levels, heads;
    double *centre, *scale; /* [layers][levels][heads]; scale is 1 where there is no spread */
    bool *defined;          /* whether there is one */
} standard;

static void standard_free(standard *s)
{
    hkt_free(s->centre);
    hkt_free(s->scale);
    hkt_free(s->defined);
}

/* On failure the caller still frees *out. */
static hkt_status standard_from(standard *out, const hkt_score_moments *m)
{
    size_t n = m->layers * m->levels * m->heads;
    *out = (standard){.levels = m->levels, .heads = m->heads};
    HKT_TRY(HKT_NEW(&out->centre, n));
    HKT_TRY(HKT_NEW(&out->scale, n));
    HKT_TRY(HKT_NEW(&out->defined, n));
    for (size_t i = 0; i < n; i++) {
        size_t block = i / m->heads;
        hkt_moments all = hkt_score_moments_pool(m, block / m->levels, block % m->levels, i % m->heads);
        out->defined[i] = !hkt_moments_problem(&all);
        out->centre[i] = all.mean;
        out->scale[i] = out->defined[i] ? sqrt(hkt_moments_variance(&all)) : 1;
    }
    return HKT_OK;
}

/* Index of head 0 of a tile. */
static size_t standard_at(const standard *s, const hkt_score_tile *tile)
{
    return (tile->layer * s->levels + tile->level) * s->heads;
}

/* --- moments --- */

/* Sums of the batch, each sequence for itself in slot i % HKT_SCORE_BATCH since threads share no unit, and of the
 * units, to which they are added in the order of the sequences when the batch is through. */
typedef struct {
    hkt_score_moments batch, *moments;
    hkt_score_joint joint_batch, *joint; /* joint: NULL when not wanted */
    standard standard;                   /* of the joint sums */
    double *scratch;                     /* [threads][hkt_quartic_scratch] */
} collector;

static hkt_status moments_create(hkt_score_moments *out, const hkt_score_source *source, size_t n_seq, size_t n_units)
{
    size_t n = source->layers * source->levels * source->heads * n_units;
    *out = (hkt_score_moments){.sequences = n_seq,
                               .n_units = n_units,
                               .layers = source->layers,
                               .levels = source->levels,
                               .heads = source->heads};
    HKT_TRY(HKT_NEW(&out->moments, n));
    for (size_t i = 0; i < n; i++)
        hkt_moments_clear(&out->moments[i]);
    return HKT_OK;
}

static hkt_status centred_create(hkt_score_moments *out)
{
    size_t n = out->layers * out->levels * out->heads * out->n_units;
    HKT_TRY(HKT_NEW(&out->centred, n));
    for (size_t i = 0; i < n; i++)
        hkt_moments_clear(&out->centred[i]);
    return HKT_OK;
}

/* The scores of head h less the means of their rows. */
static void add_centred(hkt_moments *into, const hkt_score_tile *tile, size_t h)
{
    enum { BLOCK = 1024 };
    double block[BLOCK];
    size_t n = 0, e = 0;
    for (size_t r = 0; r < tile->rows; r++)
        for (; e < tile->row_end[r]; e++) {
            block[n++] = tile->score[h * tile->ld + e] - tile->row_mean[h * tile->rows + r];
            if (n == BLOCK) {
                hkt_moments_add_block(into, block, n);
                n = 0;
            }
        }
    hkt_moments_add_block(into, block, n);
}

static void visit_moments(void *self, const hkt_score_tile *tile)
{
    const collector *c = self;
    for (size_t h = 0; h < tile->heads; h++)
        hkt_moments_add_block(units_of(&c->batch, tile->layer, tile->level, h) + tile->seq % HKT_SCORE_BATCH,
                              tile->score + h * tile->ld, tile->n);
}

/* Moves what is in the slots of the batch to the units. */
static void end_slots(const hkt_score_moments *m, hkt_moments *units, hkt_moments *slots, size_t first, size_t n)
{
    for (size_t block = 0; block < m->layers * m->levels * m->heads; block++)
        for (size_t i = first; i < first + n; i++) {
            hkt_moments *slot = slots + block * HKT_SCORE_BATCH + i % HKT_SCORE_BATCH;
            hkt_moments_merge(units + block * m->n_units + i * m->n_units / m->sequences, slot);
            hkt_moments_clear(slot);
        }
}

static void end_moments(void *self, size_t first, size_t n)
{
    const collector *c = self;
    end_slots(c->moments, c->moments->moments, c->batch.moments, first, n);
}

hkt_status hkt_score_moments_collect(hkt_score_moments *out, hkt_score_source source, size_t n_seq)
{
    collector c = {.moments = out};
    hkt_status status = moments_create(out, &source, n_seq, units_for(n_seq));
    if (status == HKT_OK)
        status = moments_create(&c.batch, &source, n_seq, HKT_SCORE_BATCH);
    if (status == HKT_OK)
        status = hkt_score_walk(source, n_seq, visit_moments, end_moments, &c);
    hkt_score_moments_free(&c.batch);
    if (status != HKT_OK)
        hkt_score_moments_free(out);
    return status;
}

void hkt_score_moments_free(hkt_score_moments *s)
{
    hkt_free(s->moments);
    hkt_free(s->centred);
    *s = (hkt_score_moments){0};
}

/* --- moments and joint sums --- */

static void visit_joint(void *self, const hkt_score_tile *tile)
{
    const collector *c = self;
    const hkt_score_joint *j = &c->joint_batch;
    visit_moments(self, tile);
    for (size_t h = 0; h < tile->heads; h++)
        add_centred(c->batch.centred + first_unit(&c->batch, tile->layer, tile->level, h) + tile->seq % HKT_SCORE_BATCH,
                    tile, h);
    if (!j->sums)
        return;
    /* The first entry of this tile whose index in the walk is the sequence's, modulo step. */
    size_t skip = (tile->seq % j->step + j->step - tile->before % j->step) % j->step;
    if (skip >= tile->n)
        return;
    size_t block = tile->layer * j->levels + tile->level, at = standard_at(&c->standard, tile);
    hkt_quartic_add(j->heads, j->sums + (block * HKT_SCORE_BATCH + tile->seq % HKT_SCORE_BATCH) * j->size,
                    tile->score + skip, tile->ld, tile->n - skip, j->step, c->standard.centre + at,
                    c->standard.scale + at, c->scratch + tile->thread * hkt_quartic_scratch(j->heads));
}

static void end_joint(void *self, size_t first, size_t n)
{
    const collector *c = self;
    const hkt_score_joint *j = c->joint;
    end_moments(self, first, n);
    end_slots(c->moments, c->moments->centred, c->batch.centred, first, n);
    for (size_t block = 0; block < j->layers * j->levels && j->sums; block++)
        for (size_t i = first; i < first + n; i++) {
            double *slot = c->joint_batch.sums + (block * HKT_SCORE_BATCH + i % HKT_SCORE_BATCH) * j->size;
            double *unit = j->sums + (block * j->n_units + i * j->n_units / j->sequences) * j->size;
            for (size_t k = 0; k < j->size; k++) {
                unit[k] += slot[k];
                slot[k] = 0;
            }
        }
}

/* A vector costs width^2 / 2 products and about as much as 50 besides: with this step about 12 per pair. */
static size_t joint_step(size_t heads)
{
    size_t width = hkt_quartic_width(heads);
    return (width * width / 24 + 4) | 1;
}

/* Whether the sums of the units and of the slots of a batch fit into 1 GiB. */
static bool joint_fits(const hkt_score_source *source, size_t n_units)
{
    size_t n = source->layers * source->levels * (n_units + HKT_SCORE_BATCH) * sizeof(double);
    return hkt_mul_size(n, hkt_quartic_size(source->heads), &n) && n <= (size_t)1 << 30;
}

static hkt_status joint_create(hkt_score_joint *out, const hkt_score_source *source, size_t n_seq, size_t n_units)
{
    *out = (hkt_score_joint){.sequences = n_seq,
                             .n_units = n_units,
                             .layers = source->layers,
                             .levels = source->levels,
                             .heads = source->heads,
                             .step = joint_step(source->heads),
                             .size = hkt_quartic_size(source->heads)};
    return HKT_NEW(&out->sums, source->layers * source->levels * n_units * out->size);
}

hkt_status hkt_score_joint_collect(hkt_score_moments *moments, hkt_score_joint *joint, hkt_score_source source,
                                   size_t n_seq)
{
    collector c = {.moments = moments, .joint = joint};
    hkt_score_moments first = {0};
    hkt_status status;
    *moments = (hkt_score_moments){0};
    *joint = (hkt_score_joint){0};
    HKT_TRY_GOTO(status, done, hkt_score_moments_collect(&first, source, 1));
    HKT_TRY_GOTO(status, done, standard_from(&c.standard, &first));
    HKT_TRY_GOTO(status, done, HKT_NEW(&c.scratch, hkt_score_walk_threads() * hkt_quartic_scratch(source.heads)));
    HKT_TRY_GOTO(status, done, moments_create(moments, &source, n_seq, units_for(n_seq)));
    HKT_TRY_GOTO(status, done, moments_create(&c.batch, &source, n_seq, HKT_SCORE_BATCH));
    HKT_TRY_GOTO(status, done, centred_create(moments));
    HKT_TRY_GOTO(status, done, centred_create(&c.batch));
    if (joint_fits(&source, units_for(n_seq))) {
        HKT_TRY_GOTO(status, done, joint_create(joint, &source, n_seq, units_for(n_seq)));
        HKT_TRY_GOTO(status, done, joint_create(&c.joint_batch, &source, n_seq, HKT_SCORE_BATCH));
    }
    HKT_TRY_GOTO(status, done, hkt_score_walk(source, n_seq, visit_joint, end_joint, &c));
done:
    if (status != HKT_OK) {
        hkt_score_moments_free(moments);
        hkt_score_joint_free(joint);
    }
    hkt_score_moments_free(&first);
    hkt_score_moments_free(&c.batch);
    hkt_score_joint_free(&c.joint_batch);
    standard_free(&c.standard);
    hkt_free(c.scratch);
    return status;
}

void hkt_score_joint_free(hkt_score_joint *j)
{
    hkt_free(j->sums);
    *j = (hkt_score_joint){0};
}

/* --- histogram --- */

typedef struct {
    const hkt_score_histogram *out;
    standard standard;
    size_t cells;    /* counts of all layers, levels and heads */
    uint64_t *count; /* [threads][cells]: whole numbers, so that the order of the sum does not matter */
} histogrammer;

static void visit_histogram(void *self, const hkt_score_tile *tile)
{
    const histogrammer *g = self;
    double per_unit = (double)g->out->bins / (2 * g->out->lim), last = (double)(g->out->bins - 1);
    for (size_t h = 0; h < tile->heads; h++) {
        size_t at = standard_at(&g->standard, tile) + h;
        uint64_t *count = g->count + tile->thread * g->cells + at * g->out->bins;
        double to_bin = per_unit / g->standard.scale[at];
        double origin = g->standard.centre[at] - g->out->lim * g->standard.scale[at];
        const double *score = tile->score + h * tile->ld;
        for (size_t e = 0; e < tile->n && g->standard.defined[at]; e++) {
            double bin = (score[e] - origin) * to_bin;
            bin = bin > 0 ? bin : 0;
            count[(size_t)(bin < last ? bin : last)]++;
        }
    }
}

hkt_status hkt_score_histogram_collect(hkt_score_histogram *out, hkt_score_source source, size_t n_seq,
                                       const hkt_score_moments *moments, size_t bins, double lim)
{
    HKT_ASSERT(bins > 1 && lim > 0);
    *out = (hkt_score_histogram){.bins = bins, .lim = lim};
    size_t threads = hkt_score_walk_threads(), blocks = moments->layers * moments->levels * moments->heads;
    histogrammer g = {.out = out, .cells = blocks * bins};
    hkt_status status;
    HKT_TRY_GOTO(status, done, standard_from(&g.standard, moments));
    HKT_TRY_GOTO(status, done, HKT_NEW(&g.count, threads * g.cells));
    HKT_TRY_GOTO(status, done, HKT_NEW(&out->count, g.cells));
    HKT_TRY_GOTO(status, done, hkt_score_walk(source, n_seq, visit_histogram, NULL, &g));
    for (size_t i = 0; i < threads * g.cells; i++)
        out->count[i % g.cells] += g.count[i];
done:
    if (status != HKT_OK)
        hkt_score_histogram_free(out);
    standard_free(&g.standard);
    hkt_free(g.count);
    return status;
}

void hkt_score_histogram_free(hkt_score_histogram *h)
{
    hkt_free(h->count);
    *h = (hkt_score_histogram){0};
}

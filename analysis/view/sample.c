#include "analysis/view/sample.h"

#include "base/mem.h"

/* The first entry that is kept of a sequence: not the same place in every one. */
static size_t first_entry(const hkt_score_sample *s, size_t level, size_t seq)
{
    return seq % s->step[level];
}

static size_t *level_begin(const hkt_score_sample *s, size_t level)
{
    return s->begin + level * (s->n_seq + 1);
}

/* Steps and places from the lengths alone. */
static void plan(hkt_score_sample *s, const hkt_score_source *source, size_t most)
{
    for (size_t l = 0; l < s->levels; l++) {
        size_t total = 0, *begin = level_begin(s, l);
        for (size_t i = 0; i < s->n_seq; i++)
            total += source->entries(source, l, i);
        s->step[l] = (total + most - 1) / most | 1;
        for (size_t i = 0; i < s->n_seq; i++) {
            size_t n = source->entries(source, l, i), first = first_entry(s, l, i);
            begin[i + 1] = begin[i] + (n > first ? (n - first - 1) / s->step[l] + 1 : 0);
        }
    }
}

/* Where the values of a level begin; level = levels: their number. */
static size_t level_offset(const hkt_score_sample *s, size_t level)
{
    size_t at = 0;
    for (size_t l = 0; l < level; l++)
        at += level_begin(s, l)[s->n_seq] * s->layers * s->heads;
    return at;
}

static size_t head_offset(const hkt_score_sample *s, size_t layer, size_t level, size_t head)
{
    return level_offset(s, level) + (layer * s->heads + head) * level_begin(s, level)[s->n_seq];
}

static void keep(void *self, const hkt_score_tile *tile)
{
    hkt_score_sample *s = self;
    size_t step = s->step[tile->level], first = first_entry(s, tile->level, tile->seq);
    /* The first kept entry that is not before this tile. */
    size_t next = tile->before <= first ? first : first + (tile->before - first + step - 1) / step * step;
    for (size_t h = 0; h < tile->heads; h++) {
        double *to = s->score + head_offset(s, tile->layer, tile->level, h) + level_begin(s, tile->level)[tile->seq];
        for (size_t e = next; e < tile->before + tile->n; e += step)
            to[(e - first) / step] = tile->score[h * tile->ld + e - tile->before];
    }
}

hkt_status hkt_score_sample_collect(hkt_score_sample *out, hkt_score_source source, size_t n_seq, size_t most)
{
    HKT_ASSERT(most >= 1 && n_seq <= source.n);
    *out = (hkt_score_sample){.n_seq = n_seq, .layers = source.layers, .levels = source.levels, .heads = source.heads};
    hkt_status status;
    HKT_TRY_GOTO(status, failed, HKT_NEW(&out->step, out->levels));
    HKT_TRY_GOTO(status, failed, HKT_NEW(&out->begin, out->levels * (n_seq + 1)));
    plan(out, &source, most);
    HKT_TRY_GOTO(status, failed, HKT_NEW(&out->score, level_offset(out, out->levels)));
    HKT_TRY_GOTO(status, failed, hkt_score_walk(source, n_seq, keep, NULL, out));
    return HKT_OK;
failed:
    hkt_score_sample_free(out);
    return status;
}

void hkt_score_sample_free(hkt_score_sample *s)
{
    hkt_free(s->step);
    hkt_free(s->begin);
    hkt_free(s->score);
    *s = (hkt_score_sample){0};
}

const double *hkt_score_sample_of(const hkt_score_sample *s, size_t layer, size_t level, size_t head,
                                  const size_t **begin)
{
    *begin = level_begin(s, level);
    return s->score + head_offset(s, layer, level, head);
}

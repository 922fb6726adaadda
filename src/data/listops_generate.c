/* listops_generate.c - random ListOps expressions, and the three splits of a data set. */
#include "data/listops.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "data/splits.h"

/* Draws in a row without a new expression after which the window counts as exhausted. A window that accepts one draw in
 * 50,000 still passes with probability 1 - e^-20 per row. */
enum { MAX_IDLE_DRAWS = 1000000 };

#define ALL_OPERATORS ((1u << HKT_LISTOPS_OPERATORS) - 1)

hkt_listops_spec hkt_listops_spec_lra(uint64_t seed)
{
    return (hkt_listops_spec){.train = 96000,
                              .val = 2000,
                              .test = 2000,
                              .min_length = 501,
                              .max_length = 1999,
                              .max_depth = 10,
                              .max_args = 10,
                              .short_min = 4,
                              .short_max = 100,
                              .seed = seed};
}

/* name: "" or "short ". */
static hkt_status check_window(const hkt_listops_spec *s, const char *name, size_t min, size_t max)
{
    if (min < 1 || min > max)
        return hkt_fail(HKT_EUSAGE, "%slength: expected 1 <= min <= max, found min %zu, max %zu", name, min, max);
    /* The longest expression of depth D: a full tree, length(D) = 2 + max_args length(D - 1). */
    size_t longest = 1;
    for (size_t depth = 1; depth < s->max_depth && longest < min; depth++)
        if (!hkt_mul_size(longest, s->max_args, &longest) || !hkt_add_size(longest, 2, &longest))
            longest = SIZE_MAX;
    if (longest < min)
        return hkt_fail(HKT_EUSAGE,
                        "%smin length: expected at most %zu, the longest with depth %zu and %zu args, found %zu", name,
                        longest, s->max_depth, s->max_args, min);
    return HKT_OK;
}

hkt_status hkt_listops_spec_check(const hkt_listops_spec *s)
{
    if (s->train == 0 || s->val == 0 || s->test == 0)
        return hkt_fail(HKT_EUSAGE, "rows: expected at least 1 in each split, found train %zu, val %zu, test %zu",
                        s->train, s->val, s->test);
    if (s->max_depth < 1 || s->max_depth > HKT_LISTOPS_MAX_DEPTH)
        return hkt_fail(HKT_EUSAGE, "max depth: expected 1..%d, found %zu", HKT_LISTOPS_MAX_DEPTH, s->max_depth);
    if (s->max_args < 2)
        return hkt_fail(HKT_EUSAGE, "max args: expected at least 2, found %zu", s->max_args);
    if (s->operators >> HKT_LISTOPS_OPERATORS != 0)
        return hkt_fail(HKT_EUSAGE, "operators: expected a set of the four, found %u", s->operators);
    if (!(s->short_share >= 0 && s->short_share <= 1))
        return hkt_fail(HKT_EUSAGE, "share of short rows: expected 0 to 1, found %g", s->short_share);
    HKT_TRY(check_window(s, "", s->min_length, s->max_length));
    return s->short_share > 0 ? check_window(s, "short ", s->short_min, s->short_max) : HKT_OK;
}

/* The operator of that rank in the set. */
static int32_t operator_of(unsigned operators, uint64_t rank)
{
    int32_t i = 0;
    for (;; i++)
        if (operators >> i & 1 && rank-- == 0)
            return HKT_LISTOPS_MIN + i;
}

static uint64_t count_operators(unsigned operators)
{
    uint64_t n = 0;
    for (; operators; operators &= operators - 1)
        n++;
    return n;
}

bool hkt_listops_draw(hkt_rng *rng, const hkt_listops_spec *spec, int32_t *tokens, size_t *n)
{
    size_t missing[HKT_LISTOPS_MAX_DEPTH]; /* arguments still to come of each open operator */
    size_t open = 0, count = 0;
    const unsigned operators = spec->operators ? spec->operators : ALL_OPERATORS;
    const uint64_t kinds = count_operators(operators);
    size_t length = 1; /* of the shortest expression that begins like this one: every node to come a value */
    do {
        if (open + 1 < spec->max_depth && hkt_rng_below(rng, 4) == 0) {
            size_t args = 2 + hkt_rng_below(rng, spec->max_args - 1);
            if (args + 1 > spec->max_length - length)
                return false;
            length += args + 1; /* a value, 1, becomes an operator node, 2 + args */
            missing[open++] = args;
            tokens[count++] = operator_of(operators, hkt_rng_below(rng, kinds));
            continue;
        }
        tokens[count++] = (int32_t)hkt_rng_below(rng, 10);
        for (; open > 0 && --missing[open - 1] == 0; open--)
            tokens[count++] = HKT_LISTOPS_CLOSE;
    } while (open > 0);
    *n = count;
    return count >= spec->min_length;
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

hkt_split hkt_listops_split_of(const int32_t *tokens, size_t n)
{
    uint32_t word[4];
    hkt_rng_block(HKT_DEFAULT_SEED, HKT_STREAM_DATA, HKT_SUB_STREAM_SPLIT, hkt_dataset_hash(tokens, n), word);
    return word[0] % 8 == 0 ? HKT_TEST : word[0] % 8 == 1 ? HKT_VAL : HKT_TRAIN;
}

/* The window of the next training row. A spec without short rows takes no random number for it. */
static hkt_listops_spec choose_window(const hkt_listops_spec *spec, hkt_rng *rng)
{
    hkt_listops_spec row = *spec;
    if (spec->short_share > 0 && hkt_rng_uniform(rng) < spec->short_share) {
        row.min_length = spec->short_min;
        row.max_length = spec->short_max;
    }
    return row;
}

static hkt_status exhausted(const hkt_listops_spec *s, const char *what)
{
    return hkt_fail(HKT_EUSAGE, "length %zu..%zu, depth %zu, args %zu: expected %s, found no new one in %d draws",
                    s->min_length, s->max_length, s->max_depth, s->max_args, what, MAX_IDLE_DRAWS);
}

/* Every row has 2^32 blocks of random numbers of its own: a million draws of a million tokens do not use them up. */
hkt_status hkt_listops_stream_row(const hkt_listops_spec *spec, uint64_t i, int32_t *tokens, size_t *n)
{
    hkt_rng rng = hkt_rng_make(spec->seed, HKT_STREAM_DATA, HKT_SUB_STREAM);
    rng.counter = i << 32;
    const hkt_listops_spec row = choose_window(spec, &rng);
    for (size_t draw = 0; draw < MAX_IDLE_DRAWS; draw++)
        if (hkt_listops_draw(&rng, &row, tokens, n) && hkt_listops_split_of(tokens, *n) == HKT_TRAIN)
            return HKT_OK;
    return exhausted(&row, "training rows of a stream");
}

/* --- splits ------------------------------------------------------------------------------------------------------- */

/* Set of hashes of the rows so far. Two rows that differ may share a hash (chance 1e-10 at 100,000 rows): then the
 * second is taken for a duplicate and drawn again, which does no harm; a real duplicate is never missed. */
typedef struct {
    uint64_t *slot; /* [mask + 1], 0 = empty */
    size_t mask;
} hash_set;

static hkt_status hash_set_create(hash_set *set, size_t n)
{
    size_t slots = 16;
    while (slots / 2 < n)
        if (!hkt_mul_size(slots, 2, &slots))
            return hkt_fail(HKT_ESYSTEM, "too many rows: %zu", n);
    set->mask = slots - 1;
    return HKT_NEW(&set->slot, slots);
}

/* False when the hash is there already. */
static bool hash_set_add(hash_set *set, uint64_t hash)
{
    hash += hash == 0;
    size_t i = hash & set->mask;
    for (; set->slot[i] != 0; i = (i + 1) & set->mask)
        if (set->slot[i] == hash)
            return false;
    set->slot[i] = hash;
    return true;
}

typedef struct {
    const hkt_listops_spec *spec;
    hash_set seen;
    int32_t *tokens; /* [the longest row] */
    char *text;      /* [row_size] */
} generator;

/* Every token has at most four characters and one separator; then the label and the newline. */
static bool row_size(size_t max_length, size_t *size)
{
    return hkt_mul_size(max_length, 5, size) && hkt_add_size(*size, 2, size);
}

/* split: of a data set with a stream, where it says which expressions may be drawn. */
static hkt_status draw_new(generator *g, const hkt_listops_spec *window, hkt_split split, hkt_rng *rng, size_t *n)
{
    char what[64];
    for (size_t i = 0; i < MAX_IDLE_DRAWS; i++)
        if (hkt_listops_draw(rng, window, g->tokens, n) &&
            (!window->stream || hkt_listops_split_of(g->tokens, *n) == split) &&
            hash_set_add(&g->seen, hkt_dataset_hash(g->tokens, *n)))
            return HKT_OK;
    snprintf(what, sizeof what, "%zu different rows", window->train + window->val + window->test);
    return exhausted(window, what);
}

static hkt_status write_row(generator *g, size_t n, FILE *f)
{
    int label;
    HKT_TRY(hkt_listops_evaluate(g->tokens, n, &label));
    char *end = g->text;
    for (size_t i = 0; i < n; i++) {
        end = stpcpy(end, hkt_listops_token(g->tokens[i]));
        *end++ = i + 1 < n ? ' ' : '\t';
    }
    *end++ = (char)('0' + label);
    *end++ = '\n';
    fwrite(g->text, 1, (size_t)(end - g->text), f); /* checked at the end of the split */
    return HKT_OK;
}

/* A stream must be able to draw: its first row is tried. */
static hkt_status write_stream(const generator *g, const hkt_splits *out)
{
    size_t n;
    HKT_TRY(hkt_listops_stream_row(g->spec, 0, g->tokens, &n));
    hkt_listops_stream_write(g->spec, hkt_splits_stream(out, HKT_TRAIN));
    return hkt_splits_flush(out, HKT_TRAIN);
}

static hkt_status write_split(generator *g, uint32_t stream, size_t rows, const hkt_splits *out, hkt_split split)
{
    FILE *f = hkt_splits_stream(out, split);
    hkt_rng rng = hkt_rng_make(g->spec->seed, HKT_STREAM_DATA, stream);
    if (split == HKT_TRAIN && g->spec->stream)
        return write_stream(g, out);
    fputs("Source\tTarget\n", f);
    const double start = hkt_now();
    for (size_t i = 0; i < rows && !ferror(f); i++) {
        size_t n;
        const hkt_listops_spec window = split == HKT_TRAIN ? choose_window(g->spec, &rng) : *g->spec;
        HKT_TRY(draw_new(g, &window, split, &rng, &n));
        HKT_TRY(write_row(g, n, f));
        if (i % 256 == 0)
            hkt_progress_part(start, i, rows, "split %d of %d, row %zu of %zu", (int)stream + 1, HKT_SPLITS, i, rows);
    }
    hkt_progress_clear();
    return hkt_splits_flush(out, split);
}

static hkt_status generator_create(generator *g, const hkt_listops_spec *spec)
{
    const bool some_short = spec->short_share > 0 && spec->short_max > spec->max_length;
    const size_t longest = some_short ? spec->short_max : spec->max_length;
    size_t rows, size;
    g->spec = spec;
    if (!hkt_add_size(spec->train, spec->val, &rows) || !hkt_add_size(rows, spec->test, &rows) ||
        !row_size(longest, &size))
        return hkt_fail(HKT_EUSAGE, "too many rows or too long: train %zu, val %zu, test %zu, max length %zu",
                        spec->train, spec->val, spec->test, spec->max_length);
    HKT_TRY(hash_set_create(&g->seen, rows));
    HKT_TRY(HKT_NEW(&g->tokens, longest));
    return HKT_NEW(&g->text, size);
}

static void generator_destroy(generator *g)
{
    hkt_free(g->seen.slot);
    hkt_free(g->tokens);
    hkt_free(g->text);
}

hkt_status hkt_listops_generate(const hkt_listops_spec *spec, const char *dir)
{
    /* Test first and train last: what is drawn first does not depend on the size of what follows. */
    const struct {
        hkt_split split;
        size_t rows;
    } turn[HKT_SPLITS] = {{HKT_TEST, spec->test}, {HKT_VAL, spec->val}, {HKT_TRAIN, spec->train}};
    generator g = {0};
    hkt_splits out = {.path = {NULL}};
    hkt_status status;

    HKT_TRY_GOTO(status, done, hkt_listops_spec_check(spec));
    HKT_TRY_GOTO(status, done, generator_create(&g, spec));
    HKT_TRY_GOTO(status, done, hkt_splits_open(&out, dir, "tsv"));
    for (uint32_t i = 0; i < HKT_SPLITS; i++)
        HKT_TRY_GOTO(status, done, write_split(&g, i, turn[i].rows, &out, turn[i].split));
    status = hkt_splits_commit(&out);
done:
    hkt_splits_abort(&out);
    generator_destroy(&g);
    return status;
}

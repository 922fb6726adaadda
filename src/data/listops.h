/* listops.h - the ListOps task (Nangia & Bowman 2018; Long Range Arena, Tay et al. 2021): generator, reader, evaluator.
 * Rules: docs/formats.md, "ListOps".
 *
 * Length of an expression = number of its tokens: operators, values and closing brackets, not parentheses. It is LRA's
 * length too (a value 1, an operator node 2 plus its children). */
#ifndef HKT_DATA_LISTOPS_H
#define HKT_DATA_LISTOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/status.h"
#include "data/dataset.h"
#include "data/lines.h"
#include "data/splits.h"

/* Token ids: 0..9 the digits; then operators and the closing bracket. */
enum {
    HKT_LISTOPS_MIN = 10,
    HKT_LISTOPS_MAX = 11,
    HKT_LISTOPS_MED = 12,
    HKT_LISTOPS_SM = 13,
    HKT_LISTOPS_CLOSE = 14,
    HKT_LISTOPS_VOCAB = 15,
    HKT_LISTOPS_CLASSES = 10
};

enum { HKT_LISTOPS_MAX_DEPTH = 100 }; /* limit of hkt_listops_spec.max_depth; read expressions nest without limit */

enum { HKT_LISTOPS_OPERATORS = 4 };

typedef struct {
    size_t train, val, test;       /* rows per split, each >= 1 */
    size_t min_length, max_length; /* min <= length <= max, both ends included */
    size_t max_depth, max_args;    /* the root has depth 1; a node of depth max_depth is a value */
    unsigned operators;            /* bit i: the operator HKT_LISTOPS_MIN + i occurs; 0: all */
    double short_share;            /* probability that a training row is of short_min..short_max tokens instead */
    size_t short_min, short_max;   /* both ends included; of no effect when short_share is 0 */
    bool stream;                   /* train.tsv holds the spec in the place of rows: hkt_listops_stream_row */
    uint64_t seed;
} hkt_listops_spec;

/* Operators from their names with commas between, such as "MIN,MAX,MED". HKT_EUSAGE for another name, or one that is
 * there twice. */
hkt_status hkt_listops_operators_parse(unsigned *out, const char *names);
/* The names of a set of operators (0: all), in the order of their ids; text: [HKT_LISTOPS_NAMES]. */
enum { HKT_LISTOPS_NAMES = 16 };
void hkt_listops_operators_name(unsigned operators, char *text);

/* Long Range Arena: 96,000/2,000/2,000 rows, 500 < length < 2000, depth and arguments at most 10. LRA has no seed. */
hkt_listops_spec hkt_listops_spec_lra(uint64_t seed);

/* HKT_EUSAGE naming the first field that makes no sense, or a length that no expression of the spec reaches. */
hkt_status hkt_listops_spec_check(const hkt_listops_spec *spec);

/* Draws one expression. True when its length lies in the window; then tokens[0..*n-1] hold it. A draw that must become
 * longer than max_length is given up at once. tokens: [max_length], spoilt when false. The spec must be checked. */
bool hkt_listops_draw(hkt_rng *rng, const hkt_listops_spec *spec, int32_t *tokens, size_t *n);

/* Writes DIR/train.tsv, val.tsv, test.tsv: disjoint, without duplicates. A pure function of the spec: the same bytes
 * everywhere. More train rows leave test and val as they are and prolong train. Short rows are in the training split
 * alone. Errors: HKT_EUSAGE for a spec that makes no sense or whose window holds too few expressions; HKT_ESYSTEM. On
 * error no split is written. */
hkt_status hkt_listops_generate(const hkt_listops_spec *spec, const char *dir);

/* The split of a data set with a stream that an expression belongs to, a function of its tokens alone: a quarter of all
 * expressions can be drawn for test or validation, the others for training, so that none is ever in two of them. */
hkt_split hkt_listops_split_of(const int32_t *tokens, size_t n);

/* Row i of the stream: a pure function of (spec, i), i < 2^32. Rows are drawn independently, so that short ones may
 * repeat. tokens [out]: [max(max_length, short_max)]. The spec must be checked. Errors: HKT_EUSAGE when a window holds
 * no training expression that can be found. */
hkt_status hkt_listops_stream_row(const hkt_listops_spec *spec, uint64_t i, int32_t *tokens, size_t *n);

/* train.tsv of a stream: the header "Stream<TAB>Value" and a line per field of the spec (docs/formats.md). */
#define HKT_LISTOPS_STREAM_HEADER "Stream\tValue"
void hkt_listops_stream_write(const hkt_listops_spec *spec, FILE *f);

/* Reads such a text after its header; `out` becomes the data set whose epoch e has the rows train e, .., train (e + 1)
 * - 1 of the stream. max_len as in hkt_dataset_read. Errors: HKT_EINPUT with path and line. */
hkt_status hkt_listops_stream_read(hkt_dataset *out, hkt_span text, const char *path, size_t max_len);

/* Value of a prefix expression given as token ids; HKT_EINPUT ("token N: expected ..., found ...", N from 1) when it is
 * not one complete expression. No recursion: any nesting is fine. Time and memory O(n). */
hkt_status hkt_listops_evaluate(const int32_t *tokens, size_t n, int *value);

/* Accuracy on `on` of answering, for each first token (the outermost operator), its most frequent label in `train`, the
 * smallest of equals; of all tokens when `train` lacks it. What one token tells. */
double hkt_listops_outermost(const hkt_dataset *train, const hkt_dataset *on);

/* Text of a token id, such as "[MAX"; NULL when there is no such id. */
const char *hkt_listops_token(int32_t id);

/* Reads a TSV as written here (rows, or a stream) or by LRA (CRLF or LF, BOM, missing last newline, parentheses). Every
 * row is re-evaluated: a label that differs from its value is HKT_EINPUT with the line. max_len as in hkt_dataset_read.
 */
hkt_status hkt_listops_read(hkt_dataset *out, const char *path, size_t max_len);

#endif

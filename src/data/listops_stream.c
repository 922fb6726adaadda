/* listops_stream.c - streams of ListOps: their text in the place of training rows, and the rows of an epoch. */
#include "data/listops.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char *const operator_names[HKT_LISTOPS_OPERATORS] = {"MIN", "MAX", "MED", "SM"};

hkt_status hkt_listops_operators_parse(unsigned *out, const char *names)
{
    unsigned set = 0;
    for (const char *at = names;; at++) {
        const char *end = at + strcspn(at, ",");
        unsigned i = 0;
        while (i < HKT_LISTOPS_OPERATORS && !hkt_span_equals((hkt_span){at, end}, operator_names[i]))
            i++;
        if (i == HKT_LISTOPS_OPERATORS)
            return hkt_fail(HKT_EUSAGE, "operators: expected MIN, MAX, MED, SM with commas between, found '%s'",
                            hkt_span_quote((hkt_span){at, end}).text);
        if (set >> i & 1)
            return hkt_fail(HKT_EUSAGE, "operators: expected each once, found '%s' twice", operator_names[i]);
        set |= 1u << i;
        at = end;
        if (*at == '\0')
            break;
    }
    *out = set;
    return HKT_OK;
}

void hkt_listops_operators_name(unsigned operators, char *text)
{
    char *end = text;
    *text = '\0';
    for (unsigned i = 0; i < HKT_LISTOPS_OPERATORS; i++)
        if (operators == 0 || operators >> i & 1)
            end = stpcpy(stpcpy(end, end == text ? "" : ","), operator_names[i]);
}

/* --- the text ----------------------------------------------------------------------------------------------------- */

/* The numbers of the text, in its order; `operators` comes after them. */
typedef struct {
    const char *name;
    size_t offset; /* of the member, a size_t, in the spec */
    size_t high;
} number;

#define NUMBER(name, member, high)                                                                                     \
    {                                                                                                                  \
        name, offsetof(hkt_listops_spec, member), high                                                                 \
    }
static const number numbers[] = {
    NUMBER("rows", train, 100000000),          NUMBER("min-length", min_length, 1000000),
    NUMBER("max-length", max_length, 1000000), NUMBER("max-depth", max_depth, HKT_LISTOPS_MAX_DEPTH),
    NUMBER("max-args", max_args, 1000000),     NUMBER("short-min", short_min, 1000000),
    NUMBER("short-max", short_max, 1000000)};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static size_t *member(hkt_listops_spec *spec, const number *of)
{
    return (size_t *)(void *)((char *)spec + of->offset);
}

void hkt_listops_stream_write(const hkt_listops_spec *spec, FILE *f)
{
    char names[HKT_LISTOPS_NAMES];
    hkt_listops_spec copy = *spec;
    hkt_listops_operators_name(spec->operators, names);
    fputs(HKT_LISTOPS_STREAM_HEADER "\n", f);
    for (size_t i = 0; i < N_NUMBERS; i++)
        fprintf(f, "%s\t%zu\n", numbers[i].name, *member(&copy, numbers + i));
    fprintf(f, "short-share\t%.17g\nseed\t%" PRIu64 "\noperators\t%s\n", spec->short_share, spec->seed, names);
}

typedef struct {
    char text[64];
} value;

/* The value of the next line, which must be that of `name`. */
static hkt_status next_value(hkt_span *rest, const char *name, value *out)
{
    hkt_span line = {NULL, NULL};
    const size_t n = strlen(name);
    const bool found = hkt_span_line(rest, &line);
    const bool fits = found && hkt_span_size(line) > n + 1 && hkt_span_size(line) - n - 1 < sizeof out->text &&
                      memcmp(line.at, name, n) == 0 && line.at[n] == '\t';
    if (!fits)
        return hkt_fail(HKT_EINPUT, "expected '%s<TAB>value', found '%s'", name,
                        found ? hkt_span_quote(line).text : "the end of the file");
    memcpy(out->text, line.at + n + 1, hkt_span_size(line) - n - 1);
    out->text[hkt_span_size(line) - n - 1] = '\0';
    return HKT_OK;
}

static hkt_status read_whole(hkt_span *rest, const char *name, uint64_t high, uint64_t *out)
{
    value v;
    char *end;
    HKT_TRY(next_value(rest, name, &v));
    errno = 0;
    *out = strtoull(v.text, &end, 10);
    if (v.text[0] < '0' || v.text[0] > '9' || *end != '\0' || errno != 0 || *out > high)
        return hkt_fail(HKT_EINPUT, "%s: expected a whole number up to %" PRIu64 ", found '%s'", name, high,
                        hkt_span_quote((hkt_span){v.text, v.text + strlen(v.text)}).text);
    return HKT_OK;
}

static hkt_status read_share(hkt_span *rest, double *out)
{
    value v;
    char *end;
    HKT_TRY(next_value(rest, "short-share", &v));
    *out = strtod(v.text, &end);
    if (*end != '\0' || !(*out >= 0 && *out <= 1))
        return hkt_fail(HKT_EINPUT, "short-share: expected a number 0 to 1, found '%s'",
                        hkt_span_quote((hkt_span){v.text, v.text + strlen(v.text)}).text);
    return HKT_OK;
}

/* line [out]: of the text, the header being 1, for the message. */
static hkt_status read_spec(hkt_listops_spec *spec, hkt_span rest, size_t *line)
{
    uint64_t whole = 0;
    value v;
    *spec = (hkt_listops_spec){.val = 1, .test = 1, .stream = true};
    for (size_t i = 0; i < N_NUMBERS; i++, ++*line) {
        HKT_TRY(read_whole(&rest, numbers[i].name, numbers[i].high, &whole));
        *member(spec, numbers + i) = (size_t)whole;
    }
    HKT_TRY(read_share(&rest, &spec->short_share));
    ++*line;
    HKT_TRY(read_whole(&rest, "seed", UINT64_MAX, &spec->seed));
    ++*line;
    HKT_TRY(next_value(&rest, "operators", &v));
    HKT_TRY(hkt_listops_operators_parse(&spec->operators, v.text));
    ++*line;
    if (hkt_span_line(&rest, &(hkt_span){NULL, NULL}))
        return hkt_fail(HKT_EINPUT, "expected the end of the file, found another line");
    return hkt_listops_spec_check(spec);
}

/* --- its rows ----------------------------------------------------------------------------------------------------- */

static size_t longest_row(const hkt_listops_spec *s)
{
    return s->short_share > 0 && s->short_max > s->max_length ? s->short_max : s->max_length;
}

static size_t shortest_row(const hkt_listops_spec *s)
{
    return s->short_share > 0 && s->short_min < s->min_length ? s->short_min : s->min_length;
}

/* Room for one more row after the tokens that are there. */
static hkt_status make_room(hkt_dataset *d, size_t used, size_t *room)
{
    const size_t longest = longest_row(d->stream.source);
    size_t more;
    int32_t *tokens;
    if (*room - used >= longest)
        return HKT_OK;
    if (!hkt_mul_size(*room, 2, &more) || !hkt_add_size(more, longest, &more))
        return hkt_fail(HKT_ESYSTEM, "more tokens in an epoch than there are addresses");
    HKT_TRY(HKT_NEW(&tokens, more));
    if (used > 0)
        memcpy(tokens, d->tokens, used * sizeof *tokens);
    hkt_free(d->tokens);
    d->tokens = tokens;
    *room = more;
    return HKT_OK;
}

/* Appends row i; the tokens have room for `room`. */
static hkt_status append(hkt_dataset *d, uint64_t i, size_t *room)
{
    const size_t at = d->offset[d->n];
    size_t n;
    int label = 0;
    HKT_TRY(make_room(d, at, room));
    HKT_TRY(hkt_listops_stream_row(d->stream.source, i, d->tokens + at, &n));
    HKT_TRY(hkt_listops_evaluate(d->tokens + at, n, &label));
    d->labels[d->n] = label;
    d->offset[++d->n] = at + n;
    return HKT_OK;
}

/* Whole rows of 2^32 are in the stream; after them it would begin anew, which no training reaches. */
static hkt_status draw(hkt_dataset *d, size_t epoch)
{
    const hkt_listops_spec *spec = d->stream.source;
    uint64_t first = (uint64_t)epoch * spec->train;
    size_t room = d->offset[d->n];
    d->n = 0;
    for (size_t i = 0; i < spec->train; i++)
        HKT_TRY(append(d, (first + i) & UINT32_MAX, &room));
    return HKT_OK;
}

hkt_status hkt_listops_stream_read(hkt_dataset *out, hkt_span text, const char *path, size_t max_len)
{
    hkt_listops_spec *spec = NULL;
    size_t line = 2;
    HKT_TRY(HKT_NEW(&spec, 1));
    out->stream.source = spec;
    hkt_status status = read_spec(spec, text, &line);
    if (status != HKT_OK) /* of a file, whatever an option of the same name would be */
        return hkt_fail_context(status == HKT_EUSAGE ? HKT_EINPUT : status, "%s:%zu", path, line);
    out->stream.longest = longest_row(spec);
    out->stream.shortest = shortest_row(spec);
    out->stream.draw = draw;
    out->max_len = out->stream.longest;
    if (max_len > 0 && out->max_len > max_len)
        return hkt_fail(HKT_EINPUT,
                        "%s: expected at most %zu tokens (" HKT_MAX_LEN_HINT "), found a stream of up to %zu", path,
                        max_len, out->max_len);
    HKT_TRY(HKT_NEW(&out->offset, spec->train + 1));
    HKT_TRY(HKT_NEW(&out->labels, spec->train));
    status = draw(out, 0);
    return status == HKT_OK ? HKT_OK : hkt_fail_context(status == HKT_EUSAGE ? HKT_EINPUT : status, "%s", path);
}

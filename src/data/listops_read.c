/* listops_read.c - ListOps tables, ours and LRA's, into memory. */
#include "data/listops.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

/* A piece of the file: at[0..end-at-1]. */
typedef struct {
    const char *at, *end;
} span;

static bool span_equals(span s, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(s.end - s.at) == n && memcmp(s.at, text, n) == 0;
}

enum { QUOTE_MAX = 24 };
typedef struct {
    char text[4 * QUOTE_MAX + 4];
} quoted;

/* For messages: the beginning, other than printable ASCII as \xHH. */
static quoted quote(span s)
{
    quoted q = {{0}};
    char *out = q.text;
    for (size_t i = 0; s.at < s.end && i < QUOTE_MAX; i++, s.at++)
        if (isprint((unsigned char)*s.at))
            *out++ = *s.at;
        else
            out += sprintf(out, "\\x%02x", (unsigned)(unsigned char)*s.at);
    if (s.at < s.end)
        memcpy(out, "...", 4);
    return q;
}

/* Takes the next line off `rest`, without its LF or CRLF. False at the end of the file. */
static bool next_line(span *rest, span *line)
{
    if (rest->at == rest->end)
        return false;
    const char *newline = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
    *line = (span){rest->at, newline ? newline : rest->end};
    rest->at = newline ? newline + 1 : rest->end;
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    return true;
}

/* Takes the next word off `rest`; words are separated by spaces. */
static bool next_word(span *rest, span *word)
{
    while (rest->at < rest->end && *rest->at == ' ')
        rest->at++;
    word->at = rest->at;
    while (rest->at < rest->end && *rest->at != ' ')
        rest->at++;
    word->end = rest->at;
    return word->at < word->end;
}

static bool is_parenthesis(span word)
{
    return word.end - word.at == 1 && (*word.at == '(' || *word.at == ')');
}

/* -1 when there is no such token. */
static int32_t token_id(span word)
{
    if (word.end - word.at == 1 && isdigit((unsigned char)*word.at))
        return *word.at - '0';
    for (int32_t id = HKT_LISTOPS_MIN; id < HKT_LISTOPS_VOCAB; id++)
        if (span_equals(word, hkt_listops_token(id)))
            return id;
    return -1;
}

/* Appends the tokens of `source` at tokens[0..*n-1]. LRA's parentheses repeat the structure (one pair per binary node);
 * they are dropped, but must balance: a cut row must not pass. */
static hkt_status parse_source(span source, int32_t *tokens, size_t *n)
{
    span word;
    size_t open = 0;
    *n = 0;
    while (next_word(&source, &word)) {
        if (is_parenthesis(word)) {
            if (*word.at == '(')
                open++;
            else if (open-- == 0)
                return hkt_fail(HKT_EINPUT, "after token %zu: expected '(' before ')', found ')' alone", *n);
            continue;
        }
        tokens[*n] = token_id(word);
        if (tokens[*n] < 0)
            return hkt_fail(HKT_EINPUT, "token %zu: expected a digit, '[MIN', '[MAX', '[MED', '[SM' or ']', found '%s'",
                            *n + 1, quote(word).text);
        ++*n;
    }
    if (open > 0)
        return hkt_fail(HKT_EINPUT, "after token %zu: expected %zu more ')', found the end of the expression", *n,
                        open);
    return HKT_OK;
}

static hkt_status parse_label(span target, int32_t *label)
{
    if (target.end - target.at != 1 || !isdigit((unsigned char)*target.at))
        return hkt_fail(HKT_EINPUT, "expected a label 0..9, found '%s'", quote(target).text);
    *label = *target.at - '0';
    return HKT_OK;
}

/* Appends one row to the data set. */
static hkt_status parse_row(hkt_dataset *d, span line, size_t max_len)
{
    int32_t *tokens = d->tokens + d->offset[d->n];
    size_t n;
    int value;
    const char *tab = memchr(line.at, '\t', (size_t)(line.end - line.at));
    if (!tab)
        return hkt_fail(HKT_EINPUT, "expected a tab between source and target, found '%s'", quote(line).text);
    HKT_TRY(parse_label((span){tab + 1, line.end}, &d->labels[d->n]));
    HKT_TRY(parse_source((span){line.at, tab}, tokens, &n));
    if (max_len > 0 && n > max_len)
        return hkt_fail(HKT_EINPUT, "expected at most %zu tokens, found %zu", max_len, n);
    HKT_TRY(hkt_listops_evaluate(tokens, n, &value));
    if (value != d->labels[d->n])
        return hkt_fail(HKT_EINPUT, "expected the label %d, the value of the expression, found %d", value,
                        (int)d->labels[d->n]);
    d->n++;
    d->offset[d->n] = d->offset[d->n - 1] + n;
    d->max_len = n > d->max_len ? n : d->max_len;
    return HKT_OK;
}

/* Upper bounds, for one allocation each. */
static void count_rows_and_words(span text, size_t *rows, size_t *words)
{
    span line, word;
    *rows = *words = 0;
    while (next_line(&text, &line)) {
        ++*rows;
        while (next_word(&line, &word))
            *words += !is_parenthesis(word);
    }
}

static hkt_status parse(hkt_dataset *d, span text, const char *path, size_t max_len)
{
    static const char bom[] = "\xef\xbb\xbf";
    span line;
    size_t rows, words;
    if (text.end - text.at >= 3 && memcmp(text.at, bom, 3) == 0)
        text.at += 3;
    if (!next_line(&text, &line))
        return hkt_fail(HKT_EINPUT, "%s:1: expected the header 'Source<TAB>Target', found an empty file", path);
    if (!span_equals(line, "Source\tTarget"))
        return hkt_fail(HKT_EINPUT, "%s:1: expected the header 'Source<TAB>Target', found '%s'", path,
                        quote(line).text);
    count_rows_and_words(text, &rows, &words);
    if (rows == 0)
        return hkt_fail(HKT_EINPUT, "%s:2: expected a row after the header, found the end of the file", path);
    HKT_TRY(HKT_NEW(&d->offset, rows + 1));
    HKT_TRY(HKT_NEW(&d->labels, rows));
    HKT_TRY(HKT_NEW(&d->tokens, words));
    while (next_line(&text, &line)) {
        hkt_status status = parse_row(d, line, max_len);
        if (status != HKT_OK)
            return hkt_fail_context(status, "%s:%zu", path, d->n + 2);
    }
    return HKT_OK;
}

hkt_status hkt_listops_read(hkt_dataset *out, const char *path, size_t max_len)
{
    char *data;
    size_t size;
    *out = (hkt_dataset){.task = "listops", .vocab = HKT_LISTOPS_VOCAB, .classes = HKT_LISTOPS_CLASSES};
    hkt_status status = hkt_file_read(path, &data, &size);
    if (status == HKT_OK) {
        status = parse(out, (span){data, data + size}, path, max_len);
        hkt_free(data);
    }
    if (status != HKT_OK)
        hkt_dataset_free(out);
    else if (max_len > 0)
        out->max_len = max_len;
    return status;
}

/* listops_read.c - ListOps tables, ours and LRA's, into memory. */
#include "data/listops.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/lines.h"

static bool is_parenthesis(hkt_span word)
{
    return word.end - word.at == 1 && (*word.at == '(' || *word.at == ')');
}

/* -1 when there is no such token. */
static int32_t token_id(hkt_span word)
{
    if (word.end - word.at == 1 && isdigit((unsigned char)*word.at))
        return *word.at - '0';
    for (int32_t id = HKT_LISTOPS_MIN; id < HKT_LISTOPS_VOCAB; id++)
        if (hkt_span_equals(word, hkt_listops_token(id)))
            return id;
    return -1;
}

/* Appends the tokens of `source` at tokens[0..*n-1]. LRA's parentheses repeat the structure (one pair per binary node);
 * they are dropped, but must balance: a cut row must not pass. */
static hkt_status parse_source(hkt_span source, int32_t *tokens, size_t *n)
{
    hkt_span word;
    size_t open = 0;
    *n = 0;
    while (hkt_span_word(&source, &word)) {
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
                            *n + 1, hkt_span_quote(word).text);
        ++*n;
    }
    if (open > 0)
        return hkt_fail(HKT_EINPUT, "after token %zu: expected %zu more ')', found the end of the expression", *n,
                        open);
    return HKT_OK;
}

static hkt_status parse_label(hkt_span target, int32_t *label)
{
    if (target.end - target.at != 1 || !isdigit((unsigned char)*target.at))
        return hkt_fail(HKT_EINPUT, "expected a label 0..9, found '%s'", hkt_span_quote(target).text);
    *label = *target.at - '0';
    return HKT_OK;
}

/* Appends one row to the data set. */
static hkt_status parse_row(hkt_dataset *d, hkt_span line, size_t max_len)
{
    int32_t *tokens = d->tokens + d->offset[d->n];
    size_t n;
    int value;
    const char *tab = memchr(line.at, '\t', (size_t)(line.end - line.at));
    if (!tab)
        return hkt_fail(HKT_EINPUT, "expected a tab between source and target, found '%s'", hkt_span_quote(line).text);
    HKT_TRY(parse_label((hkt_span){tab + 1, line.end}, &d->labels[d->n]));
    HKT_TRY(parse_source((hkt_span){line.at, tab}, tokens, &n));
    if (max_len > 0 && n > max_len)
        return hkt_fail(HKT_EINPUT, "expected at most %zu tokens (" HKT_MAX_LEN_HINT "), found %zu", max_len, n);
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
static void count_rows_and_words(hkt_span text, size_t *rows, size_t *words)
{
    hkt_span line, word;
    *rows = *words = 0;
    while (hkt_span_line(&text, &line)) {
        ++*rows;
        while (hkt_span_word(&line, &word))
            *words += !is_parenthesis(word);
    }
}

static hkt_status parse(hkt_dataset *d, hkt_span text, const char *path, size_t max_len)
{
    hkt_span line;
    size_t rows, words;
    hkt_span_skip_bom(&text);
    if (!hkt_span_line(&text, &line))
        return hkt_fail(HKT_EINPUT, "%s:1: expected the header 'Source<TAB>Target', found an empty file", path);
    if (hkt_span_equals(line, HKT_LISTOPS_STREAM_HEADER))
        return hkt_listops_stream_read(d, text, path, max_len);
    if (!hkt_span_equals(line, "Source\tTarget"))
        return hkt_fail(HKT_EINPUT, "%s:1: expected the header 'Source<TAB>Target', found '%s'", path,
                        hkt_span_quote(line).text);
    count_rows_and_words(text, &rows, &words);
    if (rows == 0)
        return hkt_fail(HKT_EINPUT, "%s:2: expected a row after the header, found the end of the file", path);
    HKT_TRY(HKT_NEW(&d->offset, rows + 1));
    HKT_TRY(HKT_NEW(&d->labels, rows));
    HKT_TRY(HKT_NEW(&d->tokens, words));
    while (hkt_span_line(&text, &line)) {
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
        status = parse(out, (hkt_span){data, data + size}, path, max_len);
        hkt_free(data);
    }
    if (status != HKT_OK)
        hkt_dataset_free(out);
    else if (max_len > 0)
        out->max_len = max_len;
    return status;
}

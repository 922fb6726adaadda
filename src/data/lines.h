/* lines.h - text files taken apart in place: lines, words, and pieces of them quoted in messages. */
#ifndef HKT_DATA_LINES_H
#define HKT_DATA_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of text: at[0 .. end - at - 1], not terminated. */
typedef struct {
    const char *at, *end;
} hkt_span;

size_t hkt_span_size(hkt_span s);
bool hkt_span_equals(hkt_span s, const char *text);
/* Order of bytes; a beginning comes before what it begins. */
int hkt_span_compare(hkt_span a, hkt_span b);

/* Skips a UTF-8 byte order mark. */
void hkt_span_skip_bom(hkt_span *s);
/* Takes the next line off `rest`, without its LF or CRLF. False at the end of the text. */
bool hkt_span_line(hkt_span *rest, hkt_span *line);
/* Takes the next word off `rest`; words are separated by spaces. False when there is none. */
bool hkt_span_word(hkt_span *rest, hkt_span *word);

enum { HKT_QUOTE_MAX = 24 };
typedef struct {
    char text[4 * HKT_QUOTE_MAX + 4];
} hkt_quote;

/* For messages: the beginning, bytes other than printable ASCII as \xHH, "..." when there is more. */
hkt_quote hkt_span_quote(hkt_span s);

#endif

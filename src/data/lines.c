#include "data/lines.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

size_t hkt_span_size(hkt_span s)
{
    return (size_t)(s.end - s.at);
}

bool hkt_span_equals(hkt_span s, const char *text)
{
    size_t n = strlen(text);
    return hkt_span_size(s) == n && memcmp(s.at, text, n) == 0;
}

int hkt_span_compare(hkt_span a, hkt_span b)
{
    size_t na = hkt_span_size(a), nb = hkt_span_size(b);
    int order = memcmp(a.at, b.at, na < nb ? na : nb);
    return order != 0 ? order : (na > nb) - (na < nb);
}

void hkt_span_skip_bom(hkt_span *s)
{
    if (hkt_span_size(*s) >= 3 && memcmp(s->at, "\xef\xbb\xbf", 3) == 0)
        s->at += 3;
}

bool hkt_span_line(hkt_span *rest, hkt_span *line)
{
    if (rest->at == rest->end)
        return false;
    const char *newline = memchr(rest->at, '\n', hkt_span_size(*rest));
    *line = (hkt_span){rest->at, newline ? newline : rest->end};
    rest->at = newline ? newline + 1 : rest->end;
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    return true;
}

bool hkt_span_word(hkt_span *rest, hkt_span *word)
{
    while (rest->at < rest->end && *rest->at == ' ')
        rest->at++;
    word->at = rest->at;
    while (rest->at < rest->end && *rest->at != ' ')
        rest->at++;
    word->end = rest->at;
    return word->at < word->end;
}

hkt_quote hkt_span_quote(hkt_span s)
{
    hkt_quote q = {{0}};
    char *out = q.text;
    for (size_t i = 0; s.at < s.end && i < HKT_QUOTE_MAX; i++, s.at++)
        if (isprint((unsigned char)*s.at))
            *out++ = *s.at;
        else
            out += sprintf(out, "\\x%02x", (unsigned)(unsigned char)*s.at);
    if (s.at < s.end)
        memcpy(out, "...", 4);
    return q;
}

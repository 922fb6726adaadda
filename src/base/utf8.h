/* utf8.h - names of files may be any bytes; JSON is UTF-8. */
#ifndef HKT_BASE_UTF8_H
#define HKT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Bytes of the character that the n > 0 bytes of `text` start with; 0 when it is not well-formed UTF-8 (RFC 3629). */
size_t hkt_utf8_length(const char *text, size_t n);
bool hkt_utf8_valid(const char *text, size_t n);
/* A copy in which bytes that are not UTF-8 are written "\xHH"; free with hkt_free. Errors: HKT_ESYSTEM. */
hkt_status hkt_utf8_escape(char **out, const char *text);

#endif

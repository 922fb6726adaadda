/* utf8.h - names of files may be any bytes; JSON is UTF-8. */
#ifndef HKT_BASE_UTF8_H
#define HKT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Bytes of the character that `text` starts with; 0 when it is not well-formed UTF-8 (RFC 3629), or the end. */
size_t hkt_utf8_length(const char *text);
bool hkt_utf8_valid(const char *text);
/* A copy in which bytes that are not UTF-8 are written "\xHH"; free with hkt_free. Errors: HKT_ESYSTEM. */
hkt_status hkt_utf8_escape(char **out, const char *text);

#endif

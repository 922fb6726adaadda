/* json.h - the only way to JSON files: jansson with duplicate keys rejected and outputs renamed into place. */
#ifndef HKT_BASE_JSON_H
#define HKT_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* For programs, before any JSON: a parse that runs out of memory fails as such, and hkt_json_starved knows. */
void hkt_json_start(void);
/* jansson has lacked memory in this thread since the last call. Its text may lack pieces then, without a word: writers
 * ask before they commit. */
bool hkt_json_starved(void);
/* Parses text; `what` names the source in messages ("PATH" or "PATH: hkt.config"). *out is a new reference. */
hkt_status hkt_json_parse(json_t **out, const char *text, size_t size, const char *what);
hkt_status hkt_json_read(json_t **out, const char *path);
/* Indented, 17 significant digits, key order kept; "-" is standard output. Does not steal the reference. NaN and
 * infinities must be stored as json_null by the caller (hkt_json_real does). */
hkt_status hkt_json_write(const json_t *value, const char *path);
/* json_real, or json_null for NaN and infinities. */
json_t *hkt_json_real(double v);
/* json_integer, or a string of the digits above 2^53: many readers take numbers for doubles. */
json_t *hkt_json_whole(uint64_t v);
/* json_string of a name or other text from outside, in which bytes that are not UTF-8 are written "\\xHH". NULL: no
 * memory. */
json_t *hkt_json_name(const char *text);

/* What a value is, for "found ..." of a message: "an array", "string 'x'", "3", "nothing" (NULL). Kept in `buffer`. */
typedef struct {
    char text[128];
} hkt_json_text;
const char *hkt_json_describe(const json_t *v, hkt_json_text *buffer);

/* Typed members with messages "WHAT: key 'NAME': expected ..., found ...". */
hkt_status hkt_json_get_size(const json_t *obj, const char *key, const char *what, size_t *out);
hkt_status hkt_json_get_bool(const json_t *obj, const char *key, const char *what, bool *out);
hkt_status hkt_json_get_string(const json_t *obj, const char *key, const char *what, const char **out);
hkt_status hkt_json_get_real(const json_t *obj, const char *key, const char *what, double *out);

#endif

#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"

/* Where to go on when a parse has no memory; NULL: no parse. jansson 2.14 calls that bad input or aborts. */
static _Thread_local jmp_buf *parsing;
static _Thread_local bool starved;

static void *allocate(size_t n)
{
    void *p = malloc(n);
    if (p)
        return p;
    if (parsing)
        longjmp(*parsing, 1);
    starved = true;
    return NULL;
}

bool hkt_json_starved(void)
{
    bool was = starved;
    starved = false;
    return was;
}

void hkt_json_start(void)
{
    json_set_alloc_funcs(allocate, free);
}

/* NULL with *memory false when there is not enough; what was read until then is lost. */
static json_t *load(const char *text, size_t size, json_error_t *error, bool *memory)
{
    jmp_buf here;
    json_t *volatile value = NULL;
    *memory = false;
    if (setjmp(here) == 0) {
        parsing = &here;
        /* jansson limits the nesting (JSON_PARSER_MAX_DEPTH), so hostile text cannot exhaust the stack. */
        value = json_loadb(text, size, JSON_REJECT_DUPLICATES, error);
        *memory = value || json_error_code(error) != json_error_out_of_memory;
    }
    parsing = NULL;
    return value;
}

hkt_status hkt_json_parse(json_t **out, const char *text, size_t size, const char *what)
{
    json_error_t error;
    bool memory;
    *out = load(text, size, &error, &memory);
    if (*out)
        return HKT_OK;
    if (!memory)
        return hkt_fail(HKT_ESYSTEM, "%s: out of memory while reading json", what);
    return hkt_fail(HKT_EINPUT, "%s: line %d column %d: expected JSON, found: %s", what, error.line, error.column,
                    error.text);
}

hkt_status hkt_json_read(json_t **out, const char *path)
{
    char *text;
    size_t size;
    *out = NULL;
    HKT_TRY(hkt_file_read(path, &text, &size));
    hkt_status status = hkt_json_parse(out, text, size, path);
    hkt_free(text);
    return status;
}

hkt_status hkt_json_write(const json_t *value, const char *path)
{
    hkt_out *out;
    HKT_TRY(hkt_out_open(&out, path));
    FILE *f = hkt_out_stream(out);
    int bad = json_dumpf(value, f, JSON_INDENT(2) | JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY);
    if ((bad && !ferror(f)) || hkt_json_starved()) { /* not the disk: jansson itself */
        hkt_out_abort(out);
        return hkt_fail(HKT_ESYSTEM, "cannot write '%s': out of memory for its json", path);
    }
    putc('\n', f);
    return hkt_out_commit(out);
}

json_t *hkt_json_real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *hkt_json_whole(uint64_t v)
{
    char text[24];
    if (v <= (uint64_t)1 << 53)
        return json_integer((json_int_t)v);
    snprintf(text, sizeof text, "%" PRIu64, v);
    return json_string(text);
}

json_t *hkt_json_name(const char *text)
{
    char *escaped;
    if (hkt_utf8_valid(text, strlen(text)))
        return json_string(text);
    if (hkt_utf8_escape(&escaped, text) != HKT_OK)
        return NULL;
    json_t *name = json_string(escaped);
    hkt_free(escaped);
    return name;
}

/* --- typed members ------------------------------------------------------------------------------------------------ */

const char *hkt_json_describe(const json_t *v, hkt_json_text *buffer)
{
    char *text = buffer->text;
    const size_t size = sizeof buffer->text;
    switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        snprintf(text, size, "string '%.60s'", json_string_value(v));
        return text;
    case JSON_INTEGER:
        snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        return text;
    case JSON_REAL:
        snprintf(text, size, "%.17g", json_real_value(v));
        return text;
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        break;
    }
    return v ? "null" : "nothing";
}

static hkt_status wrong(const json_t *v, const char *key, const char *what, const char *expected)
{
    hkt_json_text found;
    return hkt_fail(HKT_EINPUT, "%s: key '%s': expected %s, found %s", what, key, expected,
                    hkt_json_describe(v, &found));
}

hkt_status hkt_json_get_size(const json_t *obj, const char *key, const char *what, size_t *out)
{
    const json_t *v = json_object_get(obj, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > SIZE_MAX)
        return wrong(v, key, what, "a non-negative integer");
    *out = (size_t)json_integer_value(v);
    return HKT_OK;
}

hkt_status hkt_json_get_bool(const json_t *obj, const char *key, const char *what, bool *out)
{
    const json_t *v = json_object_get(obj, key);
    if (!json_is_boolean(v))
        return wrong(v, key, what, "true or false");
    *out = json_is_true(v);
    return HKT_OK;
}

hkt_status hkt_json_get_string(const json_t *obj, const char *key, const char *what, const char **out)
{
    const json_t *v = json_object_get(obj, key);
    if (!json_is_string(v))
        return wrong(v, key, what, "a string");
    *out = json_string_value(v);
    return HKT_OK;
}

hkt_status hkt_json_get_real(const json_t *obj, const char *key, const char *what, double *out)
{
    const json_t *v = json_object_get(obj, key);
    if (!json_is_number(v))
        return wrong(v, key, what, "a number");
    *out = json_number_value(v);
    return HKT_OK;
}

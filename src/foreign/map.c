/* map.c - maps: JSON objects that say where queries and keys are in a model of no known family, or what is different
 * from one. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"
#include "foreign/foreign.h"

enum { MAX_CHAIN = 16 };

/* What a map may say: n a whole number, r a number, b true or false, t a text, l a name or a list of names. */
static const struct {
    const char *key;
    char kind;
} words[] = {{"like", 't'},
             {"query", 'l'},
             {"query_bias", 'l'},
             {"key", 'l'},
             {"key_bias", 'l'},
             {"gain", 'l'},
             {"shift", 'l'},
             {"first_gain", 'l'},
             {"first_shift", 'l'},
             {"query_gain", 'l'},
             {"key_gain", 'l'},
             {"layout", 't'},
             {"transposed", 'b'},
             {"layers", 'n'},
             {"heads", 'n'},
             {"key_heads", 'n'},
             {"head_width", 'n'},
             {"scale", 'r'},
             {"mask", 't'},
             {"norm", 't'},
             {"gain_offset", 'r'},
             {"epsilon", 'r'},
             {"rotary_dimensions", 'n'},
             {"rotary_base", 'r'},
             {"rotary_pairs", 'b'},
             {"description", 't'}};
enum { N_WORDS = sizeof words / sizeof *words };

static hkt_status wrong(const char *path, const char *key, const char *expected, const json_t *v)
{
    hkt_json_text found;
    return hkt_fail(HKT_EINPUT, "%s: key '%s': expected %s, found %s", path, key, expected,
                    hkt_json_describe(v, &found));
}

/* A list of names becomes one text with a line for each. */
static hkt_status join(json_t *map, const char *path, const char *key, const json_t *list)
{
    char *text;
    size_t size = 1, at = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || !*name || strchr(name, '\n'))
            return wrong(path, key, "a list of names", json_array_get(list, i));
        size += strlen(name) + 1;
    }
    HKT_TRY(hkt_alloc((void **)&text, size, 1, NULL));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        size_t n = strlen(name);
        memcpy(text + at, name, n);
        text[at + n] = '\n';
        at += n + 1;
    }
    int bad = json_object_set_new(map, key, json_string(text));
    hkt_free(text);
    return bad ? hkt_fail(HKT_ESYSTEM, "%s: out of memory", path) : HKT_OK;
}

static hkt_status check_word(json_t *map, const char *path, const char *key, const json_t *v)
{
    const char *names[N_WORDS + 1] = {NULL};
    for (size_t i = 0; i < N_WORDS; i++) {
        names[i] = words[i].key;
        if (strcmp(words[i].key, key) != 0)
            continue;
        switch (words[i].kind) {
        case 'n':
            return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= 1 << 20
                       ? HKT_OK
                       : wrong(path, key, "a whole number up to 1048576", v);
        case 'r':
            return json_is_number(v) ? HKT_OK : wrong(path, key, "a number", v);
        case 'b':
            return json_is_boolean(v) ? HKT_OK : wrong(path, key, "true or false", v);
        case 'l':
            if (json_is_array(v) && json_array_size(v) > 0)
                return join(map, path, key, v);
            return json_string_length(v) > 0 && !strchr(json_string_value(v), '\n')
                       ? HKT_OK
                       : wrong(path, key, "a name of a tensor, with {layer} in it, or a list of one for each layer", v);
        default:
            return json_string_length(v) > 0 ? HKT_OK : wrong(path, key, "a text", v);
        }
    }
    const char *nearest = hkt_nearest(key, names);
    return hkt_fail(HKT_EINPUT, "%s: key '%s': expected a word of a map (docs/foreign.md)%s%s%s", path, key,
                    nearest ? ", perhaps '" : "", nearest ? nearest : "", nearest ? "'" : "");
}

static hkt_status read_one(json_t **out, const char *path)
{
    json_t *map = NULL, *value;
    const char *key;
    void *next;
    *out = NULL;
    HKT_TRY(hkt_json_read(&map, path));
    hkt_status status = HKT_OK;
    hkt_json_text found;
    if (!json_is_object(map))
        status = hkt_fail(HKT_EINPUT, "%s: expected a map, an object, found %s", path, hkt_json_describe(map, &found));
    json_object_foreach_safe(map, next, key, value) if (status == HKT_OK) status = check_word(map, path, key, value);
    if (status == HKT_OK)
        *out = map;
    else
        json_decref(map);
    return status;
}

/* The path of a map that the map `path` names. */
static hkt_status beside(char **out, const char *path, const char *name)
{
    char *dir;
    HKT_TRY(hkt_strdup(&dir, path));
    char *slash = strrchr(dir, '/');
    hkt_status status;
    if (!slash || name[0] == '/') {
        status = hkt_strdup(out, name);
    } else {
        *slash = 0;
        status = hkt_path_join(out, *dir ? dir : "/", name);
    }
    hkt_free(dir);
    return status;
}

static hkt_status follow(json_t *merged, const hkt_family **family, char **chain, size_t *n)
{
    for (;;) {
        json_t *map = NULL;
        const char *path = chain[*n - 1];
        HKT_TRY(read_one(&map, path));
        int bad = json_object_update_missing(merged, map);
        char like[256];
        const char *text = json_string_value(json_object_get(map, "like"));
        snprintf(like, sizeof like, "%s", text ? text : "");
        json_decref(map);
        if (bad)
            return hkt_fail(HKT_ESYSTEM, "%s: out of memory", path);
        if (!*like)
            return HKT_OK;
        *family = hkt_family_find(like);
        if (*family)
            return HKT_OK;
        if (*n == MAX_CHAIN)
            return hkt_fail(HKT_EINPUT, "%s: expected at most %d maps that are like another, found more", path,
                            MAX_CHAIN);
        HKT_TRY(beside(&chain[*n], path, like));
        (*n)++;
        if (!hkt_file_exists(chain[*n - 1]))
            return hkt_fail(HKT_EINPUT,
                            "%s: key 'like': expected a family (hkt-analyze families) or another map, found '%s'", path,
                            like);
        for (size_t i = 0; i + 1 < *n; i++)
            if (hkt_file_same(chain[i], chain[*n - 1]))
                return hkt_fail(HKT_EINPUT,
                                "%s: key 'like': expected maps that end at a family, found a circle: '%s'"
                                " again",
                                path, chain[i]);
    }
}

hkt_status hkt_foreign_map_read(json_t **out, const hkt_family **family, const char *path)
{
    char *chain[MAX_CHAIN] = {NULL};
    size_t n = 1;
    *family = NULL;
    *out = json_object();
    hkt_status status = *out ? hkt_strdup(&chain[0], path) : hkt_fail(HKT_ESYSTEM, "%s: out of memory", path);
    if (status == HKT_OK)
        status = follow(*out, family, chain, &n);
    for (size_t i = 0; i < n; i++)
        hkt_free(chain[i]);
    if (status != HKT_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

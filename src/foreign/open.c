/* open.c - which family a model is of, its sizes, and whether its tensors have the shapes that follow. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "foreign/foreign.h"

#define HINT                                                                                                           \
    "; for another kind of model: --map FILE, for instance {\"query\": \"layers.{layer}.q.weight\", \"key\": "         \
    "\"layers.{layer}.k.weight\", \"heads\": 8}"

enum { MAX_SIZE = 1 << 20, MAX_NAME = 512 };

/* --- names of tensors --------------------------------------------------------------------------------------------- */

/* Writes the pattern for a layer; false when there is none (no line of a list, no previous layer) or it is too long. */
static bool expand(char *out, size_t size, const char *prefix, const char *pattern, size_t layer)
{
    size_t at = (size_t)snprintf(out, size, "%s", prefix);
    const char *end = strchr(pattern, '\n');
    if (end)
        for (size_t i = 0; i < layer && end; i++) {
            pattern = end + 1;
            end = strchr(pattern, '\n');
        }
    if (end && end == pattern)
        return false;
    if (!end && strchr(pattern, '\n') == NULL && *pattern == 0)
        return false;
    if (!end)
        end = pattern + strlen(pattern);
    while (pattern < end && at < size) {
        static const char current[] = "{layer}", previous[] = "{previous}";
        if (strncmp(pattern, current, sizeof current - 1) == 0) {
            at += (size_t)snprintf(out + at, size - at, "%zu", layer);
            pattern += sizeof current - 1;
        } else if (strncmp(pattern, previous, sizeof previous - 1) == 0) {
            if (layer == 0)
                return false;
            at += (size_t)snprintf(out + at, size - at, "%zu", layer - 1);
            pattern += sizeof previous - 1;
        } else {
            out[at++] = *pattern++;
        }
    }
    if (at >= size)
        return false;
    out[at] = 0;
    return true;
}

/* Models that were saved years ago call gain and shift of a norm gamma and beta. */
static const hkt_tensor *find_old_name(const hkt_shards *s, const char *name)
{
    char old[MAX_NAME];
    size_t n = strlen(name);
    const bool weight = n > 7 && strcmp(name + n - 7, ".weight") == 0;
    const size_t tail = weight ? 6 : n > 5 && strcmp(name + n - 5, ".bias") == 0 ? 4 : 0;
    if (tail == 0 || !strstr(name, "LayerNorm"))
        return NULL;
    snprintf(old, sizeof old, "%.*s%s", (int)(n - tail), name, weight ? "gamma" : "beta");
    return hkt_shards_find(s, old);
}

const hkt_tensor *hkt_foreign_tensor(const hkt_foreign *f, const char *pattern, size_t layer)
{
    char name[MAX_NAME];
    if (!pattern || !expand(name, sizeof name, f->prefix, pattern, layer))
        return NULL;
    const hkt_tensor *t = hkt_shards_find(&f->shards, name);
    return t ? t : find_old_name(&f->shards, name);
}

/* What stands before the family's name of the first queries: nothing, or "model.", as the whole model was saved or a
 * part. HKT_EINPUT when there is no such tensor or there are several. */
static hkt_status find_prefix(hkt_foreign *f, const char *path)
{
    char name[MAX_NAME];
    const hkt_tensor *found = NULL;
    f->prefix[0] = 0;
    if (!f->names.query || !expand(name, sizeof name, "", f->names.query, 0))
        return hkt_fail(HKT_EINPUT, "%s: expected the name of the query weights, found none" HINT, path);
    const size_t n = strlen(name);
    for (size_t i = 0; i < f->shards.n; i++) {
        const hkt_tensor *t = f->shards.tensor[i];
        size_t length = strlen(t->name);
        if (length < n || strcmp(t->name + length - n, name) != 0 || (length > n && t->name[length - n - 1] != '.'))
            continue;
        if (found)
            return hkt_fail(HKT_EINPUT,
                            "%s: family '%s': expected one tensor whose name ends in '%s', found '%s' and '%s'" HINT,
                            path, f->family, name, found->name, t->name);
        found = t;
    }
    if (!found)
        return hkt_fail(HKT_EINPUT, "%s: family '%s': expected a tensor '%s', found none among %zu" HINT, path,
                        f->family, name, f->shards.n);
    if (strlen(found->name) - n >= sizeof f->prefix)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected a shorter name", path, found->name);
    snprintf(f->prefix, sizeof f->prefix, "%.*s", (int)(strlen(found->name) - n), found->name);
    return HKT_OK;
}

/* --- words of config.json and of a map ---------------------------------------------------------------------------- */

/* The first of the alternatives "a|b" that the object has and that is not null; *key [64]: which. */
static const json_t *lookup(const json_t *object, const char *alternatives, char *key)
{
    while (alternatives && *alternatives) {
        size_t n = strcspn(alternatives, "|");
        snprintf(key, 64, "%.*s", (int)n, alternatives);
        const json_t *v = json_object_get(object, key);
        if (v && !json_is_null(v))
            return v;
        alternatives += n + (alternatives[n] == '|');
    }
    return NULL;
}

/* A size of the map, else of the configuration; `fallback` when neither has it. */
static hkt_status read_size(const hkt_foreign *f, const char *path, const char *of_map, const char *alternatives,
                            size_t fallback, size_t *out)
{
    char key[64] = "";
    hkt_json_text found;
    const json_t *v = json_object_get(f->map, of_map);
    if (!v)
        v = lookup(f->config, alternatives, key);
    *out = fallback;
    if (!v)
        return HKT_OK;
    if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > MAX_SIZE)
        return hkt_fail(HKT_EINPUT, "%s: %s: expected a whole number from 1 to %d, found %s", path, *key ? key : of_map,
                        MAX_SIZE, hkt_json_describe(v, &found));
    *out = (size_t)json_integer_value(v);
    return HKT_OK;
}

/* The same for a number; not finite or not positive is HKT_EINPUT. */
static hkt_status read_real(const hkt_foreign *f, const char *path, const char *of_map, const char *alternatives,
                            double fallback, double *out)
{
    char key[64] = "";
    hkt_json_text found;
    const json_t *v = json_object_get(f->map, of_map);
    if (!v)
        v = lookup(f->config, alternatives, key);
    if (!v) /* where newer configurations have what is about rotary positions */
        v = lookup(json_object_get(f->config, "rope_parameters"), alternatives, key);
    *out = v ? json_number_value(v) : fallback;
    if (v && (!json_is_number(v) || !(*out > 0) || !isfinite(*out)))
        return hkt_fail(HKT_EINPUT, "%s: %s: expected a positive number, found %s", path, *key ? key : of_map,
                        hkt_json_describe(v, &found));
    return HKT_OK;
}

static bool is_set(const json_t *config, const char *key)
{
    const json_t *v = json_object_get(config, key);
    return v && !json_is_null(v) && !json_is_false(v);
}

static void say_unused(hkt_foreign *f, const char *text)
{
    size_t n = strlen(f->unused);
    snprintf(f->unused + n, sizeof f->unused - n, "%s%s", n ? "; " : "", text);
}

/* Words of config.json that change the attention in a way that is not looked at. */
static void read_unused(hkt_foreign *f)
{
    static const struct {
        const char *key, *text;
    } quirks[] = {
        {"attn_logit_softcapping", "attn_logit_softcapping bounds the scores"},
        {"rope_scaling", "rope_scaling changes the turns at lags other than 0"},
        {"sliding_window", "sliding_window narrows the mask"},
        {"scale_attn_by_inverse_layer_idx", "scale_attn_by_inverse_layer_idx divides the scores by the layer"}};
    const char *positions = json_string_value(json_object_get(f->config, "position_embedding_type"));
    for (size_t i = 0; i < sizeof quirks / sizeof *quirks; i++)
        if (is_set(f->config, quirks[i].key))
            say_unused(f, quirks[i].text);
    if (positions && strncmp(positions, "relative", 8) == 0)
        say_unused(f, "position_embedding_type: relative positions are added to the scores");
}

/* A word of the map out of "a|b|c": *out its place among them, unchanged when the map has it not. */
static hkt_status read_choice(const hkt_foreign *f, const char *path, const char *key, const char *const *names,
                              size_t n, int *out)
{
    const char *text = json_string_value(json_object_get(f->map, key));
    if (!text)
        return HKT_OK;
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (int)i;
            return HKT_OK;
        }
    return hkt_fail(HKT_EINPUT, "%s: key '%s': expected %s, %s%s%s, found '%.60s'", path, key, names[0], names[1],
                    n > 2 ? " or " : "", n > 2 ? names[2] : "", text);
}

static void take_name(const json_t *map, const char *key, const char **name)
{
    const char *text = json_string_value(json_object_get(map, key));
    if (text)
        *name = text;
}

/* What the map says of names and layout, over what the family says. */
static hkt_status apply_map(hkt_foreign *f, const char *path)
{
    static const char *const layouts[] = {"apart", "blocks", "heads"}, *const norms[] = {"none", "rms", "centred"},
                             *const masks[] = {"none", "causal"};
    hkt_foreign_names *n = &f->names;
    const struct {
        const char *key, **name;
    } names[] = {{"query", &n->query},
                 {"query_bias", &n->query_bias},
                 {"key", &n->key},
                 {"key_bias", &n->key_bias},
                 {"gain", &n->gain},
                 {"shift", &n->shift},
                 {"first_gain", &n->first_gain},
                 {"first_shift", &n->first_shift},
                 {"query_gain", &n->query_gain},
                 {"key_gain", &n->key_gain}};
    int fusing = f->fusing, norm = f->shape.norm, mask = f->shape.causal;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        take_name(f->map, names[i].key, names[i].name);
    HKT_TRY(read_choice(f, path, "layout", layouts, 3, &fusing));
    HKT_TRY(read_choice(f, path, "norm", norms, 3, &norm));
    HKT_TRY(read_choice(f, path, "mask", masks, 2, &mask));
    f->fusing = (hkt_fusing)fusing;
    f->shape.norm = (hkt_norm)norm;
    f->shape.causal = mask;
    if (json_object_get(f->map, "transposed"))
        f->transposed = json_is_true(json_object_get(f->map, "transposed"));
    if (json_object_get(f->map, "rotary_pairs"))
        f->shape.rotary_pairs = json_is_true(json_object_get(f->map, "rotary_pairs"));
    if (f->shape.norm == HKT_NORM_NONE && n->gain && !json_object_get(f->map, "norm"))
        return hkt_fail(HKT_EINPUT, "%s: key 'gain': expected a word 'norm', rms or centred, found none", path);
    if (f->fusing == HKT_APART && !n->key)
        return hkt_fail(HKT_EINPUT, "%s: expected a word 'key', or 'layout' blocks or heads, found neither", path);
    if (f->fusing != HKT_APART)
        n->key = n->key_bias = NULL;
    return HKT_OK;
}

/* --- sizes -------------------------------------------------------------------------------------------------------- */

/* Rows of the query's tensor (key: of the key's). */
static size_t rows_of(const hkt_foreign *f, bool key)
{
    const hkt_foreign_shape *s = &f->shape;
    switch (f->fusing) {
    case HKT_FUSED_BLOCKS:
        return (s->heads + 2 * s->key_heads) * s->p;
    case HKT_FUSED_HEADS:
        return 3 * s->heads * s->p;
    case HKT_APART:
        break;
    }
    return (key ? s->key_heads : s->heads) * s->p;
}

/* How many layers have queries. */
static size_t count_layers(const hkt_foreign *f)
{
    size_t n = 0;
    while (n < MAX_SIZE && hkt_foreign_tensor(f, f->names.query, n) &&
           (n == 0 || hkt_foreign_tensor(f, f->names.query, n) != hkt_foreign_tensor(f, f->names.query, n - 1)))
        n++;
    return n;
}

static hkt_status read_rotary(hkt_foreign *f, const hkt_family *family, const char *path)
{
    hkt_foreign_shape *s = &f->shape;
    double share = 1, base;
    HKT_TRY(read_real(f, path, "", family->rotary_share ? family->rotary_share : "partial_rotary_factor",
                      family->rotary_share ? 0.25 : 1, &share));
    HKT_TRY(read_real(f, path, "rotary_base", "rope_theta|rotary_emb_base", 10000, &base));
    s->rotary_base = base;
    s->rotary = family->rotary ? (size_t)((double)s->p * share) : 0;
    if (json_object_get(f->map, "rotary_dimensions"))
        s->rotary = (size_t)json_integer_value(json_object_get(f->map, "rotary_dimensions"));
    if (s->rotary > s->p || s->rotary % 2)
        return hkt_fail(HKT_EINPUT,
                        "%s: rotary positions: expected an even number of turned elements up to %zu, found %zu", path,
                        s->p, s->rotary);
    return HKT_OK;
}

static hkt_status read_sizes(hkt_foreign *f, const hkt_family *family, const char *path)
{
    hkt_foreign_shape *s = &f->shape;
    size_t width, there = count_layers(f), rows;
    const hkt_tensor *query = hkt_foreign_tensor(f, f->names.query, 0);
    double scalar;
    if (query->ndim != 2)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected two dimensions, found %zu" HINT, path, query->name,
                        query->ndim);
    s->d = query->shape[f->transposed ? 0 : 1];
    rows = query->shape[f->transposed ? 1 : 0];
    HKT_TRY(read_size(f, path, "layers", family->layers, there, &s->layers));
    HKT_TRY(read_size(f, path, "heads", family->heads, 0, &s->heads));
    HKT_TRY(read_size(f, path, "", family->width, s->d, &width));
    if (s->heads == 0)
        return hkt_fail(HKT_EINPUT, "%s: expected the number of heads in config.json or a map, found none" HINT, path);
    HKT_TRY(read_size(f, path, "key_heads", family->key_heads, s->heads, &s->key_heads));
    if (s->heads % s->key_heads || (f->fusing == HKT_FUSED_HEADS && s->heads != s->key_heads))
        return hkt_fail(HKT_EINPUT, "%s: expected a number of key heads that divides %zu heads, found %zu", path,
                        s->heads, s->key_heads);
    if (width != s->d)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected the width %zu of config.json, found %zu" HINT, path,
                        query->name, width, s->d);
    /* Without a word of its own, a head's width is what follows from the width of the model, or of a map from the rows.
     */
    size_t parts = f->fusing == HKT_FUSED_BLOCKS  ? s->heads + 2 * s->key_heads
                   : f->fusing == HKT_FUSED_HEADS ? 3 * s->heads
                                                  : s->heads;
    size_t natural = f->map ? rows / parts : s->d / s->heads;
    HKT_TRY(read_size(f, path, "head_width", family->head_width, natural, &s->p));
    if (s->p == 0 || rows != rows_of(f, false))
        return hkt_fail(HKT_EINPUT,
                        "%s: tensor '%s': expected %zu rows for %zu heads (%zu key heads) of width %zu, found %zu" HINT,
                        path, query->name, rows_of(f, false), s->heads, s->key_heads, s->p, rows);
    if (s->layers != there)
        return hkt_fail(HKT_EINPUT, "%s: expected the query weights of %zu layers, found those of %zu", path, s->layers,
                        there);
    HKT_TRY(read_real(f, path, "", "query_pre_attn_scalar", (double)s->p, &scalar));
    HKT_TRY(read_real(f, path, "scale", NULL, family->unscaled ? 1 : 1 / sqrt(scalar), &s->scale));
    HKT_TRY(read_real(f, path, "epsilon", "rms_norm_eps|layer_norm_epsilon|layer_norm_eps", 1e-5, &s->epsilon));
    HKT_TRY(read_real(f, path, "gain_offset", NULL, 1, &scalar));
    s->gain_offset = json_object_get(f->map, "gain_offset") ? scalar : family->gain_offset;
    return read_rotary(f, family, path);
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

static void mark(hkt_foreign *f, const hkt_tensor *t)
{
    for (size_t i = 0; i < f->shards.n; i++)
        f->used[i] |= f->shards.tensor[i] == t;
}

/* A matrix [rows, cols] or its transpose, or a vector [cols] for rows = 0; floats. */
static hkt_status check_tensor(hkt_foreign *f, const hkt_tensor *t, size_t rows, size_t cols)
{
    const bool matrix = rows > 0, flip = matrix && f->transposed;
    const size_t first = flip ? cols : rows, second = flip ? rows : cols;
    const char *path = hkt_safetensors_path(t->file);
    if (t->dtype > HKT_BF16)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected floats (F64, F32, F16, BF16), found %s", path, t->name,
                        hkt_dtype_name(t->dtype));
    if (matrix ? t->ndim != 2 || t->shape[0] != first || t->shape[1] != second : t->ndim != 1 || t->count != cols) {
        char shape[128] = "";
        for (size_t i = 0, at = 0; i < t->ndim; i++)
            at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%zu", i ? ", " : "", t->shape[i]);
        return matrix ? hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected shape [%zu, %zu], found [%s]" HINT, path,
                                 t->name, first, second, shape)
                      : hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected shape [%zu], found [%s]", path, t->name, cols,
                                 shape);
    }
    mark(f, t);
    return HKT_OK;
}

static hkt_status check_matrix(hkt_foreign *f, const char *path, const char *pattern, size_t layer, bool key)
{
    char name[MAX_NAME] = "";
    const hkt_tensor *t = hkt_foreign_tensor(f, pattern, layer);
    if (t)
        return check_tensor(f, t, rows_of(f, key), f->shape.d);
    expand(name, sizeof name, f->prefix, pattern, layer);
    return hkt_fail(HKT_EINPUT, "%s: family '%s': expected a tensor '%s' for layer %zu, found none" HINT, path,
                    f->family, name, layer);
}

static hkt_status check_vector(hkt_foreign *f, const char *path, const char *pattern, size_t layer, size_t n)
{
    const hkt_tensor *t = hkt_foreign_tensor(f, pattern, layer);
    if (t)
        return check_tensor(f, t, 0, n);
    return pattern && json_object_get(f->map, "query") && !strstr(pattern, "{previous}")
               ? hkt_fail(HKT_EINPUT, "%s: expected the tensor '%.200s' of the map for layer %zu, found none", path,
                          pattern, layer)
               : HKT_OK;
}

static hkt_status check_layer(hkt_foreign *f, const char *path, size_t layer)
{
    const hkt_foreign_names *n = &f->names;
    const size_t d = f->shape.d, p = f->shape.p;
    const bool first = layer == 0 && n->first_gain;
    HKT_TRY(check_matrix(f, path, n->query, layer, false));
    HKT_TRY(check_vector(f, path, n->query_bias, layer, rows_of(f, false)));
    if (n->key)
        HKT_TRY(check_matrix(f, path, n->key, layer, true));
    HKT_TRY(check_vector(f, path, n->key_bias, layer, rows_of(f, true)));
    HKT_TRY(check_vector(f, path, n->query_gain, layer, p));
    HKT_TRY(check_vector(f, path, n->key_gain, layer, p));
    if (f->shape.norm == HKT_NORM_NONE)
        return HKT_OK;
    /* ELECTRA may widen its embeddings after their norm: attention of layer 0 has no norm before it then. */
    const hkt_tensor *gain = hkt_foreign_tensor(f, first ? n->first_gain : n->gain, layer);
    if (first && gain && gain->ndim == 1 && gain->count != d) {
        say_unused(f, "the norm of the embeddings, which are widened after it: layer 0 is taken without");
        return HKT_OK;
    }
    HKT_TRY(check_vector(f, path, first ? n->first_gain : n->gain, layer, d));
    return check_vector(f, path, first ? n->first_shift : n->shift, layer, d);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* config.json in the directory `dir`; an empty object when there is none. */
static hkt_status read_config(hkt_foreign *f, const char *dir, char **path)
{
    hkt_json_text found;
    json_t *config = NULL;
    HKT_TRY(hkt_path_join(path, dir, "config.json"));
    if (hkt_file_exists(*path))
        HKT_TRY(hkt_json_read(&config, *path));
    else
        config = json_object();
    f->config = config;
    if (!json_is_object(config))
        return hkt_fail(HKT_EINPUT, "%s: expected an object, found %s", *path, hkt_json_describe(config, &found));
    /* Models of pictures and text keep the words of the text's part apart. */
    json_t *text = json_object_get(config, "text_config");
    if (json_is_object(text)) {
        f->config = json_incref(text);
        json_decref(config);
    }
    return HKT_OK;
}

static hkt_status read_directory(hkt_foreign *f, const char *dir, char **config)
{
    static const char *const names[] = {"model.safetensors.index.json", "model.safetensors"};
    HKT_TRY(read_config(f, dir, config));
    for (size_t i = 0; i < 2; i++) {
        char *path;
        HKT_TRY(hkt_path_join(&path, dir, names[i]));
        bool there = hkt_file_exists(path);
        hkt_status status = !there   ? HKT_OK
                            : i == 0 ? hkt_shards_read_index(&f->shards, path)
                                     : hkt_shards_read_file(&f->shards, path);
        hkt_free(path);
        if (there)
            return status;
    }
    return hkt_fail(HKT_EINPUT, "%s: expected model.safetensors or model.safetensors.index.json, found neither", dir);
}

static hkt_status read_files(hkt_foreign *f, const char *path, char **config)
{
    char *dir;
    if (hkt_file_is_directory(path))
        return read_directory(f, path, config);
    if (ends_with(path, ".bin")) {
        HKT_TRY(hkt_strdup(config, path));
        return hkt_shards_read_llama2c(&f->shards, path, &f->config);
    }
    HKT_TRY(hkt_strdup(&dir, path));
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[1] = 0;
    hkt_status status =
        ends_with(path, ".json") ? hkt_shards_read_index(&f->shards, path) : hkt_shards_read_file(&f->shards, path);
    if (status == HKT_OK)
        status = read_config(f, slash ? dir : ".", config);
    hkt_free(dir);
    return status;
}

/* The family by the map's word, else by model_type. */
static hkt_status find_family(hkt_foreign *f, const char *path, const char *config, const hkt_family **family)
{
    const char *type = json_string_value(json_object_get(f->config, "model_type"));
    if (f->map && (*family || json_object_get(f->map, "query"))) {
        snprintf(f->rule, sizeof f->rule, "%s", *family ? "word 'like' of the map" : "words of the map");
        return HKT_OK;
    }
    if (!type)
        return hkt_fail(HKT_EINPUT, "%s: expected a word 'model_type' in %s, found none" HINT, path, config);
    *family = hkt_family_of_type(type);
    if (!*family)
        return hkt_fail(HKT_EINPUT, "%s: model_type: expected one of 'hkt-analyze families', found '%.60s'" HINT,
                        config, type);
    snprintf(f->rule, sizeof f->rule, "model_type '%.60s' of %.120s", type, config);
    return HKT_OK;
}

static hkt_status recognise(hkt_foreign *f, const char *path, const char *config, const hkt_family *family)
{
    static const hkt_family nothing = {.name = "map"};
    HKT_TRY(find_family(f, path, config, &family));
    if (!family)
        family = &nothing;
    f->family = family->name;
    f->names = family->names;
    f->fusing = family->fusing;
    f->transposed = family->transposed;
    f->shape = (hkt_foreign_shape){.causal = family->causal || is_set(f->config, "is_decoder"),
                                   .rotary_pairs = family->rotary_pairs,
                                   .norm = family->norm};
    if (family->unused)
        say_unused(f, family->unused);
    read_unused(f);
    if (json_is_false(json_object_get(f->config, "do_layer_norm_before"))) {
        f->shape.norm = HKT_NORM_NONE;
        say_unused(f, "do_layer_norm_before: the norm after the layer before");
    }
    if (f->map)
        HKT_TRY(apply_map(f, path));
    HKT_TRY(find_prefix(f, path));
    HKT_TRY(read_sizes(f, family, path));
    HKT_TRY(HKT_NEW(&f->used, f->shards.n));
    for (size_t layer = 0; layer < f->shape.layers; layer++)
        HKT_TRY(check_layer(f, path, layer));
    return HKT_OK;
}

hkt_status hkt_foreign_open(hkt_foreign *out, const char *path, const char *map)
{
    const hkt_family *family = NULL;
    char *config = NULL;
    *out = (hkt_foreign){.family = ""};
    if (map)
        HKT_TRY(hkt_foreign_map_read(&out->map, &family, map));
    hkt_status status = read_files(out, path, &config);
    if (status == HKT_OK)
        status = recognise(out, path, config, family);
    hkt_free(config);
    return status;
}

void hkt_foreign_close(hkt_foreign *f)
{
    hkt_shards_free(&f->shards);
    hkt_free(f->used);
    json_decref(f->config);
    json_decref(f->map);
    *f = (hkt_foreign){.family = ""};
}

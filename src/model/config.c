#include "model/config.h"

#include <string.h>

#include "base/json.h"

/* The integer fields in the key order of docs/model.md 2.2. The limits keep every product of the layout
 * below 2^63. */
typedef struct {
    const char *key;
    size_t offset; /* in hkt_config */
    size_t min, max;
} size_field;

static const size_field size_fields[] = {
    {"vocab", offsetof(hkt_config, vocab), 1, HKT_MAX_COUNT},
    {"classes", offsetof(hkt_config, classes), 1, HKT_MAX_COUNT},
    {"max_len", offsetof(hkt_config, max_len), 1, HKT_MAX_COUNT},
    {"d_model", offsetof(hkt_config, d_model), 1, HKT_MAX_WIDTH},
    {"heads", offsetof(hkt_config, heads), 1, HKT_MAX_WIDTH},
    {"layers", offsetof(hkt_config, layers), 1, HKT_MAX_LAYERS},
    {"levels", offsetof(hkt_config, levels), 1, HKT_MAX_LEVELS},
    {"stride", offsetof(hkt_config, stride), 2, HKT_MAX_WIDTH},
    {"conv_width", offsetof(hkt_config, conv_width), 1, HKT_MAX_WIDTH},
    {"ffn_mult", offsetof(hkt_config, ffn_mult), 1, HKT_MAX_FFN_MULT},
};
enum { N_SIZE_FIELDS = sizeof size_fields / sizeof size_fields[0] };

static const hkt_fusion_mode fusion_modes[] = {
    [HKT_FUSION_DYNAMIC] = {.name = "dynamic", .gated = true},
    [HKT_FUSION_STATIC] = {.name = "static"},
    [HKT_FUSION_SCORE] = {.name = "score", .sums_scores = true},
};
enum { N_FUSIONS = sizeof fusion_modes / sizeof fusion_modes[0] };

static size_t field_value(const hkt_config *c, const size_field *f)
{
    size_t v;
    memcpy(&v, (const char *)c + f->offset, sizeof v);
    return v;
}

/* Stride means nothing with one level, conv_width nothing without a convolution. */
static bool field_ignored(const hkt_config *c, const size_field *f)
{
    return (f->offset == offsetof(hkt_config, stride) && c->levels == 1) ||
           (f->offset == offsetof(hkt_config, conv_width) && !c->hybrid);
}

hkt_status hkt_config_check(const hkt_config *c, const char *what)
{
    for (size_t i = 0; i < N_SIZE_FIELDS; i++) {
        const size_field *f = &size_fields[i];
        size_t v = field_value(c, f);
        if (!field_ignored(c, f) && (v < f->min || v > f->max))
            return hkt_fail(HKT_EINPUT, "%s: '%s': expected %zu to %zu, found %zu", what, f->key, f->min, f->max, v);
    }
    if (c->d_model % c->heads != 0)
        return hkt_fail(HKT_EINPUT, "%s: 'heads': expected a divisor of d_model = %zu, found %zu", what, c->d_model,
                        c->heads);
    if ((unsigned)c->fusion >= N_FUSIONS)
        return hkt_fail(HKT_EINPUT, "%s: 'fusion': expected dynamic, static or score, found code %d", what,
                        (int)c->fusion);
    return HKT_OK;
}

static hkt_status parse_object(hkt_config *c, const json_t *obj, const char *what)
{
    hkt_json_text found;
    if (!json_is_object(obj))
        return hkt_fail(HKT_EINPUT, "%s: expected a JSON object, found %s", what, hkt_json_describe(obj, &found));
    for (size_t i = 0; i < N_SIZE_FIELDS; i++) {
        size_t v;
        HKT_TRY(hkt_json_get_size(obj, size_fields[i].key, what, &v));
        memcpy((char *)c + size_fields[i].offset, &v, sizeof v);
    }
    const char *name;
    HKT_TRY(hkt_json_get_string(obj, "fusion", what, &name));
    hkt_status status = hkt_fusion_parse(&c->fusion, name);
    if (status != HKT_OK)
        return hkt_fail_context(status, "%s", what);
    HKT_TRY(hkt_json_get_bool(obj, "hybrid", what, &c->hybrid));
    HKT_TRY(hkt_json_get_bool(obj, "causal", what, &c->causal));
    return hkt_config_check(c, what);
}

hkt_status hkt_config_parse(hkt_config *out, const char *json, const char *what)
{
    json_t *obj;
    HKT_TRY(hkt_json_parse(&obj, json, strlen(json), what));
    hkt_config c;
    hkt_status status = parse_object(&c, obj, what);
    json_decref(obj);
    if (status == HKT_OK)
        *out = c;
    return status;
}

hkt_config hkt_config_default(void)
{
    return (hkt_config){.d_model = 64,
                        .heads = 4,
                        .layers = 2,
                        .levels = 3,
                        .stride = 2,
                        .conv_width = 4,
                        .ffn_mult = 4,
                        .fusion = HKT_FUSION_DYNAMIC,
                        .hybrid = true,
                        .causal = true};
}

json_t *hkt_config_json(const hkt_config *c)
{
    json_t *obj = json_object();
    int bad = obj == NULL;
    for (size_t i = 0; i < N_SIZE_FIELDS && !bad; i++)
        bad = json_object_set_new(obj, size_fields[i].key, json_integer((json_int_t)field_value(c, &size_fields[i])));
    bad = bad || json_object_set_new(obj, "fusion", json_string(hkt_fusion_name(c->fusion)));
    bad = bad || json_object_set_new(obj, "hybrid", json_boolean(c->hybrid));
    bad = bad || json_object_set_new(obj, "causal", json_boolean(c->causal));
    if (bad) {
        json_decref(obj);
        return NULL;
    }
    return obj;
}

const hkt_fusion_mode *hkt_fusion_of(const hkt_config *c)
{
    HKT_ASSERT((unsigned)c->fusion < N_FUSIONS);
    return &fusion_modes[c->fusion];
}

bool hkt_config_gated(const hkt_config *c)
{
    return c->levels > 1 && hkt_fusion_of(c)->gated;
}

size_t hkt_score_levels(const hkt_config *c)
{
    return hkt_fusion_of(c)->sums_scores ? c->levels : 1;
}

const char *hkt_fusion_name(hkt_fusion f)
{
    HKT_ASSERT((unsigned)f < N_FUSIONS);
    return fusion_modes[f].name;
}

hkt_status hkt_fusion_parse(hkt_fusion *out, const char *name)
{
    for (size_t i = 0; i < N_FUSIONS; i++)
        if (strcmp(name, fusion_modes[i].name) == 0) {
            *out = (hkt_fusion)i;
            return HKT_OK;
        }
    return hkt_fail(HKT_EINPUT, "'fusion': expected dynamic, static or score, found '%s'", name);
}

size_t hkt_level_length(size_t T, size_t stride, size_t level)
{
    /* ceil(ceil(T/s)/s) = ceil(T/s^2): no power that could overflow. */
    for (size_t l = 0; l < level; l++)
        T = T / stride + (T % stride != 0);
    return T;
}

#include "model/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CONFIG_KEY "hkt.config"

/* "[20, 16]"; at most HKT_MAX_DIMS numbers of 20 digits. */
typedef struct {
    char text[HKT_MAX_DIMS * 22 + 3];
} shape_text;

static shape_text show_shape(size_t ndim, const size_t *shape)
{
    shape_text s;
    size_t at = 0;
    s.text[at++] = '[';
    for (size_t i = 0; i < ndim; i++)
        at += (size_t)snprintf(s.text + at, sizeof s.text - at, i ? ", %zu" : "%zu", shape[i]);
    snprintf(s.text + at, sizeof s.text - at, "]");
    return s;
}

static bool is_float(hkt_dtype t)
{
    return t == HKT_F64 || t == HKT_F32 || t == HKT_F16 || t == HKT_BF16;
}

static hkt_status check_tensor(const hkt_param *p, const hkt_tensor *t, const char *path)
{
    shape_text expected = show_shape(p->ndim, p->shape);
    if (!t)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected shape %s, found no such tensor", path, p->name,
                        expected.text);
    if (t->ndim != p->ndim || memcmp(t->shape, p->shape, p->ndim * sizeof *p->shape) != 0)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected shape %s, found %s", path, p->name, expected.text,
                        show_shape(t->ndim, t->shape).text);
    if (!is_float(t->dtype))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected a float dtype, found %s", path, p->name,
                        hkt_dtype_name(t->dtype));
    return HKT_OK;
}

static hkt_status load_tensor(const hkt_param *p, const hkt_tensor *t, const char *path, double *out)
{
    hkt_status status = hkt_tensor_to_f64(t, out);
    if (status != HKT_OK)
        return hkt_fail_context(status, "%s", path);
    for (size_t i = 0; i < p->count; i++)
        if (!isfinite(out[i]))
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected finite values, found %g at element %zu", path,
                            p->name, out[i], i);
    return HKT_OK;
}

static hkt_status read_layout(hkt_layout **out, const hkt_safetensors *file)
{
    const char *path = hkt_safetensors_path(file), *json = hkt_safetensors_meta(file, CONFIG_KEY);
    if (!json)
        return hkt_fail(HKT_EINPUT, "%s: metadata '" CONFIG_KEY "': expected the model's configuration, found none",
                        path);
    char *what;
    size_t size = strlen(path) + sizeof ": " CONFIG_KEY;
    HKT_TRY(HKT_NEW(&what, size));
    snprintf(what, size, "%s: " CONFIG_KEY, path);
    hkt_config config;
    hkt_status status = hkt_config_parse(&config, json, what);
    hkt_free(what);
    if (status == HKT_OK)
        status = hkt_layout_create(out, &config);
    return status;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The same name but for the numbers between dots: of another layer or level. */
static bool same_family(const char *a, const char *b)
{
    const char *start = a;
    for (; *a || *b; a++, b++) {
        if (a > start && a[-1] == '.' && is_digit(*a) && is_digit(*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        }
        if (*a != *b)
            return false;
        if (*a == 0)
            return true;
    }
    return true;
}

/* A model that has a tensor of every family. */
static hkt_status create_families(hkt_layout **out)
{
    const hkt_config all = {.vocab = 1,
                            .classes = 1,
                            .max_len = 1,
                            .d_model = 1,
                            .heads = 1,
                            .layers = 1,
                            .levels = 2,
                            .stride = 2,
                            .conv_width = 1,
                            .ffn_mult = 1,
                            .fusion = HKT_FUSION_DYNAMIC,
                            .hybrid = true};
    return hkt_layout_create(out, &all);
}

static bool in_family(const hkt_layout *families, const char *name)
{
    for (size_t i = 0; i < families->n_params; i++)
        if (same_family(families->params[i].name, name))
            return true;
    return false;
}

static hkt_status left_over(const hkt_config *c, const hkt_tensor *t, const char *path)
{
    return hkt_fail(
        HKT_EINPUT,
        "%s: tensor '%s': expected none in a model with layers %zu, levels %zu, fusion %s, hybrid %s, found "
        "shape %s",
        path, t->name, c->layers, c->levels, hkt_fusion_name(c->fusion), c->hybrid ? "true" : "false",
        show_shape(t->ndim, t->shape).text);
}

/* What the model would not use, though the name says that it is of its layers. */
static hkt_status unused(const hkt_tensor *t, const char *path)
{
    return hkt_fail(HKT_EINPUT,
                    "%s: tensor '%s': expected below 'layers.' what the model uses and nothing else, found shape %s: "
                    "what is said of the model would leave it out",
                    path, t->name, show_shape(t->ndim, t->shape).text);
}

/* A tensor of the model's own that the configuration has no use for, so that weights and configuration are of two
 * models; and one of a layer that no model of this kind has, such as a bias of the queries. All of the table are in the
 * file already, so that only the number of the first has to be compared. */
static hkt_status check_left_over(const hkt_layout *l, const hkt_safetensors *file)
{
    hkt_layout *families;
    hkt_status status = HKT_OK;
    size_t n = 0;
    HKT_TRY(create_families(&families));
    for (size_t i = 0; i < hkt_safetensors_count(file) && status == HKT_OK; i++) {
        const hkt_tensor *t = hkt_safetensors_at(file, i);
        if (in_family(families, t->name))
            n++;
        else if (!strncmp(t->name, "layers.", 7))
            status = unused(t, hkt_safetensors_path(file));
    }
    for (size_t i = 0; n > l->n_params && status == HKT_OK; i++) {
        const hkt_tensor *t = hkt_safetensors_at(file, i);
        if (in_family(families, t->name) && !hkt_layout_find(l, t->name))
            status = left_over(&l->config, t, hkt_safetensors_path(file));
    }
    hkt_layout_destroy(families);
    return status;
}

static hkt_status load(hkt_checkpoint *c, const hkt_safetensors *file)
{
    const char *path = hkt_safetensors_path(file);
    HKT_TRY(read_layout(&c->layout, file));
    const hkt_layout *l = c->layout;
    /* All shapes first: a config that does not fit must not decide how much memory is asked for. */
    for (size_t i = 0; i < l->n_params; i++)
        HKT_TRY(check_tensor(&l->params[i], hkt_safetensors_find(file, l->params[i].name), path));
    HKT_TRY(check_left_over(l, file));
    HKT_TRY(hkt_alloc((void **)&c->params, l->total, sizeof *c->params, "the parameters"));
    for (size_t i = 0; i < l->n_params; i++) {
        const hkt_param *p = &l->params[i];
        const hkt_tensor *t = hkt_safetensors_find(file, p->name);
        HKT_TRY(load_tensor(p, t, path, c->params + p->offset));
        c->stored_f64 = c->stored_f64 || t->dtype == HKT_F64;
    }
    return HKT_OK;
}

hkt_status hkt_checkpoint_from(hkt_checkpoint *out, const hkt_safetensors *file)
{
    *out = (hkt_checkpoint){0};
    hkt_status status = load(out, file);
    if (status != HKT_OK)
        hkt_checkpoint_free(out);
    return status;
}

hkt_status hkt_checkpoint_read(hkt_checkpoint *out, const char *path)
{
    *out = (hkt_checkpoint){0};
    hkt_safetensors *file;
    HKT_TRY(hkt_safetensors_read(&file, path));
    hkt_status status = hkt_checkpoint_from(out, file);
    hkt_safetensors_free(file);
    return status;
}

void hkt_checkpoint_free(hkt_checkpoint *c)
{
    hkt_layout_destroy(c->layout);
    hkt_free(c->params);
    *c = (hkt_checkpoint){0};
}

static hkt_status write_tensors(const char *path, const hkt_layout *l, const float *params, hkt_tensor_out *tensors,
                                const char *const *meta)
{
    for (size_t i = 0; i < l->n_params; i++) {
        const hkt_param *p = &l->params[i];
        tensors[i] = (hkt_tensor_out){.name = p->name, .dtype = HKT_F32, .ndim = p->ndim, .data = params + p->offset};
        memcpy(tensors[i].shape, p->shape, sizeof p->shape);
    }
    return hkt_safetensors_write(path, tensors, l->n_params, meta);
}

/* {"hkt.config", json, extra..., NULL} */
static hkt_status join_meta(const char ***out, const char *json, const char *const *extra)
{
    size_t n = 0;
    while (extra && extra[n])
        n++;
    HKT_TRY(HKT_NEW(out, n + 3));
    (*out)[0] = CONFIG_KEY;
    (*out)[1] = json;
    for (size_t i = 0; i < n; i++)
        (*out)[2 + i] = extra[i];
    return HKT_OK;
}

static hkt_status config_text(char **out, const hkt_config *config)
{
    json_t *obj = hkt_config_json(config);
    *out = obj ? json_dumps(obj, JSON_COMPACT) : NULL;
    json_decref(obj);
    return *out ? HKT_OK : hkt_fail(HKT_ESYSTEM, CONFIG_KEY ": out of memory");
}

hkt_status hkt_checkpoint_write(const char *path, const hkt_layout *layout, const float *params,
                                const char *const *meta)
{
    char *json;
    const char **pairs = NULL;
    hkt_tensor_out *tensors = NULL;
    hkt_status status;
    HKT_TRY(config_text(&json, &layout->config));
    HKT_TRY_GOTO(status, done, join_meta(&pairs, json, meta));
    HKT_TRY_GOTO(status, done, HKT_NEW(&tensors, layout->n_params));
    status = write_tensors(path, layout, params, tensors, pairs);
done:
    hkt_free(tensors);
    hkt_free(pairs);
    free(json);
    return status;
}

void hkt_params_to_f32(const hkt_layout *layout, const double *in, float *out)
{
    for (size_t i = 0; i < layout->total; i++)
        out[i] = (float)in[i];
}

#include "foreign/stored.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/npy.h"
#include "foreign/foreign.h"

static bool is_npy(const char *path)
{
    const size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".npy") == 0;
}

hkt_status hkt_stored_array(hkt_safetensors **file, const hkt_tensor **array, const char *path, const char *name)
{
    if (is_npy(path))
        HKT_TRY(hkt_npy_open(file, path, name));
    else
        HKT_TRY(hkt_safetensors_read_foreign(file, path, NULL, 0));
    *array = hkt_safetensors_find(*file, name);
    return *array ? HKT_OK
                  : hkt_fail(HKT_EINPUT, "%s: expected a tensor '%s', found none among %zu", path, name,
                             hkt_safetensors_count(*file));
}

hkt_status hkt_stored_integers(const hkt_tensor *t, int32_t *out)
{
    if (t->dtype < HKT_I64 || t->dtype > HKT_U8)
        return hkt_fail(HKT_EINPUT, "%s: '%s': expected integers (I64, I32, U8), found %s",
                        hkt_safetensors_path(t->file), t->name, hkt_dtype_name(t->dtype));
    return hkt_tensor_to_i32(t, out);
}

/* "[2, 3]" */
static const char *shape_text(const hkt_tensor *t, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "[");
    for (size_t i = 0; i < t->ndim && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%zu", i ? ", " : "", t->shape[i]);
    if (at < size)
        snprintf(text + at, size - at, "]");
    return text;
}

static hkt_status wrong_shape(const hkt_tensor *t, const char *expected)
{
    char found[256];
    return hkt_fail(HKT_EINPUT, "%s: '%s': expected %s, found shape %s", hkt_safetensors_path(t->file), t->name,
                    expected, shape_text(t, found, sizeof found));
}

/* A size of the five dimensions layers, sequences, heads, tokens, `last`, the first of which may be left out. */
static size_t dimension(const hkt_tensor *t, size_t i)
{
    const size_t missing = 5 - t->ndim;
    return i < missing ? 1 : t->shape[i - missing];
}

static hkt_status check_array(const hkt_tensor *t, size_t least, const char *expected)
{
    if (t->ndim < least || t->ndim > 5 || t->count == 0)
        return wrong_shape(t, expected);
    if (t->dtype > HKT_BF16)
        return hkt_fail(HKT_EINPUT, "%s: '%s': expected floats (F64, F32, F16, BF16), found %s",
                        hkt_safetensors_path(t->file), t->name, hkt_dtype_name(t->dtype));
    return HKT_OK;
}

static hkt_status take_scores(hkt_stored *s)
{
    const char *expected = "scores [layers, sequences, heads, tokens, tokens], the first of them left out or not";
    HKT_TRY(check_array(s->scores, 2, expected));
    s->layers = dimension(s->scores, 0);
    s->n = dimension(s->scores, 1);
    s->heads = s->key_heads = dimension(s->scores, 2);
    s->T = dimension(s->scores, 3);
    return dimension(s->scores, 4) == s->T ? HKT_OK : wrong_shape(s->scores, expected);
}

static hkt_status take_pairs(hkt_stored *s)
{
    char expected[160];
    HKT_TRY(check_array(s->q, 4, "queries [sequences, heads, tokens, p], or with layers before"));
    HKT_TRY(check_array(s->k, 4, "keys [sequences, key heads, tokens, p], or with layers before"));
    s->layers = dimension(s->q, 0);
    s->n = dimension(s->q, 1);
    s->heads = dimension(s->q, 2);
    s->T = dimension(s->q, 3);
    s->p = dimension(s->q, 4);
    s->key_heads = dimension(s->k, 2);
    bool same = s->key_heads <= s->heads && s->heads % s->key_heads == 0;
    for (size_t i = 0; i < 5; i++)
        same = same && (i == 2 || dimension(s->q, i) == dimension(s->k, i));
    snprintf(expected, sizeof expected,
             "keys of %zu layers, %zu sequences, %zu heads or a divisor of them, %zu tokens, p %zu", s->layers, s->n,
             s->heads, s->T, s->p);
    return same ? HKT_OK : wrong_shape(s->k, expected);
}

/* *lengths NULL: every sequence is whole. */
static hkt_status take_lengths(hkt_stored *s, const hkt_tensor *lengths)
{
    int32_t *value = NULL;
    HKT_TRY(HKT_NEW(&s->length, s->n));
    for (size_t i = 0; i < s->n; i++)
        s->length[i] = s->T;
    if (!lengths)
        return HKT_OK;
    if (lengths->ndim != 1 || lengths->count != s->n)
        return wrong_shape(lengths, "a length for every sequence");
    HKT_TRY(HKT_NEW(&value, s->n));
    hkt_status status = hkt_stored_integers(lengths, value);
    for (size_t i = 0; i < s->n && status == HKT_OK; i++) {
        if (value[i] < 1 || (size_t)value[i] > s->T)
            status = hkt_fail(HKT_EINPUT, "%s: '%s': expected lengths from 1 to %zu tokens, found %d of sequence %zu",
                              hkt_safetensors_path(lengths->file), lengths->name, s->T, (int)value[i], i);
        s->length[i] = (size_t)value[i];
    }
    hkt_free(value);
    return status;
}

/* Fills q, k or scores, and *lengths. */
static hkt_status open_files(hkt_stored *s, const char *const *path, size_t n, const hkt_tensor **lengths)
{
    *lengths = NULL;
    if (n == 1 && is_npy(path[0]))
        return hkt_stored_array(&s->file[0], &s->scores, path[0], "s");
    if (n == 1) {
        HKT_TRY(hkt_safetensors_read_foreign(&s->file[0], path[0], NULL, 0));
        s->scores = hkt_safetensors_find(s->file[0], "s");
        s->q = hkt_safetensors_find(s->file[0], "q");
        s->k = hkt_safetensors_find(s->file[0], "k");
        *lengths = hkt_safetensors_find(s->file[0], "lengths");
        return !s->scores == (s->q && s->k) && !s->q == !s->k
                   ? HKT_OK
                   : hkt_fail(HKT_EINPUT, "%s: expected tensors 'q' and 'k', or 's', found%s%s%s%s", path[0],
                              s->q ? " 'q'" : "", s->k ? " 'k'" : "", s->scores ? " 's'" : "",
                              s->q || s->k || s->scores ? "" : " none of them");
    }
    HKT_TRY(hkt_stored_array(&s->file[0], &s->q, path[0], "q"));
    HKT_TRY(hkt_stored_array(&s->file[1], &s->k, path[1], "k"));
    return n == 3 ? hkt_stored_array(&s->file[2], lengths, path[2], "lengths") : HKT_OK;
}

/* A word of the map that has no say here would be ignored in silence. */
static hkt_status check_words(json_t *map, const char *path)
{
    static const char *const words[] = {"mask",        "scale",        "rotary_dimensions",
                                        "rotary_base", "rotary_pairs", "description"};
    const char *key;
    json_t *value;
    json_object_foreach(map, key, value)
    {
        bool known = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            known = known || strcmp(key, words[i]) == 0;
        if (!known)
            return hkt_fail(HKT_EINPUT,
                            "%s: key '%s': has no effect on stored scores: expected mask, scale, rotary_...", path,
                            key);
    }
    return HKT_OK;
}

static hkt_status apply_map(hkt_stored *s, json_t *map, const char *path, const char **mask)
{
    const json_t *v;
    HKT_TRY(check_words(map, path));
    if ((v = json_object_get(map, "mask")) && *mask)
        return hkt_fail(HKT_EUSAGE, "option '--mask': expected the mask once, found it in '%s' as well", path);
    if (v)
        *mask = json_string_value(v);
    if ((v = json_object_get(map, "scale")))
        s->scale = json_number_value(v);
    if ((v = json_object_get(map, "rotary_dimensions")))
        s->rotary = (size_t)json_integer_value(v);
    if ((v = json_object_get(map, "rotary_base")))
        s->rotary_base = json_number_value(v);
    s->rotary_pairs = json_is_true(json_object_get(map, "rotary_pairs"));
    if (!(s->rotary_base > 0))
        return hkt_fail(HKT_EINPUT, "%s: key 'rotary_base': expected a positive number, found %g", path,
                        s->rotary_base);
    if (s->rotary > s->p || s->rotary % 2)
        return hkt_fail(HKT_EINPUT, "%s: key 'rotary_dimensions': expected an even number up to %zu, found %zu", path,
                        s->p, s->rotary);
    return HKT_OK;
}

static hkt_status read_map(hkt_stored *s, const char *path, const char *given)
{
    const hkt_family *family;
    json_t *map = NULL;
    const char *mask = given;
    hkt_status status = HKT_OK;
    if (path)
        HKT_TRY(hkt_foreign_map_read(&map, &family, path));
    if (path)
        status = apply_map(s, map, path, &mask);
    if (status == HKT_OK && !mask)
        status = hkt_fail(HKT_EUSAGE, "'--scores': expected '--mask causal' or '--mask none', found neither");
    s->causal = mask && strcmp(mask, "causal") == 0;
    if (status == HKT_OK && !s->causal && strcmp(mask, "none") != 0)
        status = hkt_fail(HKT_EINPUT, "%s: key 'mask': expected none or causal, found '%.60s'", path, mask);
    json_decref(map);
    return status;
}

hkt_status hkt_stored_open(hkt_stored *out, const char *const *path, size_t n_paths, const char *mask, const char *map)
{
    const hkt_tensor *lengths;
    HKT_ASSERT(n_paths >= 1 && n_paths <= HKT_STORED_FILES);
    *out = (hkt_stored){.rotary_base = 10000};
    HKT_TRY(open_files(out, path, n_paths, &lengths));
    HKT_TRY(out->scores ? take_scores(out) : take_pairs(out));
    out->scale = out->scores ? 1 : 1 / sqrt((double)out->p);
    HKT_TRY(take_lengths(out, lengths));
    return read_map(out, map, mask);
}

void hkt_stored_close(hkt_stored *s)
{
    for (size_t i = 0; i < HKT_STORED_FILES; i++)
        hkt_safetensors_free(s->file[i]);
    hkt_free(s->length);
    *s = (hkt_stored){0};
}

static size_t longest(const hkt_stored *s)
{
    size_t most = 0;
    for (size_t i = 0; i < s->n; i++)
        most = s->length[i] > most ? s->length[i] : most;
    return most;
}

size_t hkt_stored_query_size(const hkt_stored *s)
{
    return s->heads * longest(s) * (s->scores ? longest(s) : s->p);
}

size_t hkt_stored_key_size(const hkt_stored *s)
{
    return s->scores ? 0 : s->key_heads * longest(s) * s->p;
}

/* out [heads, rows, width] = the first `rows` of T rows, `width` of `stored` elements each, of one layer and sequence.
 * Row i must be finite up to element i when `lower`, else everywhere. */
static hkt_status read_rows(const hkt_stored *s, const hkt_tensor *t, size_t heads, size_t block, size_t rows,
                            size_t width, size_t stored, bool lower, double *out)
{
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < rows; i++) {
            const size_t first = ((block * heads + h) * s->T + i) * stored;
            double *row = out + (h * rows + i) * width;
            if (width < stored || i == 0) /* whole rows are read at once */
                HKT_TRY(hkt_tensor_range_to_f64(t, first, width == stored ? rows * width : width, row));
            for (size_t c = 0; c < (lower ? i + 1 : width); c++)
                if (!isfinite(row[c]))
                    return hkt_fail(HKT_EINPUT,
                                    "%s: '%s': expected finite numbers, found %g at layer %zu, sequence %zu, head %zu, "
                                    "token %zu, place %zu",
                                    hkt_safetensors_path(t->file), t->name, row[c], block / s->n, block % s->n, h, i,
                                    c);
        }
    return HKT_OK;
}

hkt_status hkt_stored_read(const hkt_stored *s, size_t layer, size_t seq, double *q, double *k)
{
    const size_t block = layer * s->n + seq, T = s->length[seq];
    if (s->scores)
        return read_rows(s, s->scores, s->heads, block, T, T, s->T, s->causal, q);
    HKT_TRY(read_rows(s, s->q, s->heads, block, T, s->p, s->p, false, q));
    return read_rows(s, s->k, s->key_heads, block, T, s->p, s->p, false, k);
}

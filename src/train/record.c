#include "train/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/progress.h"
#include "num/blas.h"
#include "num/kernels.h"

/* Steals `value`; NULL (no memory) makes *failed true. */
static void put(json_t *object, const char *key, json_t *value, bool *failed)
{
    if (json_object_set_new(object, key, value) != 0)
        *failed = true;
}

static hkt_status check_memory(bool failed)
{
    return failed ? hkt_fail(HKT_ESYSTEM, "out of memory for run.json") : HKT_OK;
}

/* Names are those of the options. Threads are no setting: they do not change the result. */
static void put_settings(json_t *s, const hkt_train_spec *spec, uint64_t data_hash, bool *failed)
{
    char text[32];
    put(s, "task", json_string(spec->task), failed);
    snprintf(text, sizeof text, "%016" PRIx64, data_hash);
    put(s, "data", json_string(text), failed);
    put(s, "seed", hkt_json_whole(spec->seed), failed);
    put(s, "steps", hkt_json_whole(spec->steps), failed);
    put(s, "epochs", hkt_json_whole(spec->epochs), failed);
    put(s, "batch_tokens", hkt_json_whole(spec->batch_tokens), failed);
    put(s, "lr", json_real(spec->lr), failed);
    put(s, "final_lr", json_real(spec->final_lr_fraction), failed);
    put(s, "warmup", hkt_json_whole(spec->warmup), failed);
    put(s, "clip", json_real(spec->clip), failed);
    put(s, "dropout", json_real(spec->dropout), failed);
    put(s, "weight_decay", json_real(spec->adamw.weight_decay), failed);
    put(s, "beta1", json_real(spec->adamw.beta1), failed);
    put(s, "beta2", json_real(spec->adamw.beta2), failed);
    put(s, "epsilon", json_real(spec->adamw.epsilon), failed);
    put(s, "fixed_downsampling", json_boolean(spec->ablation.fixed_downsampling), failed);
    put(s, "attention", json_boolean(!spec->ablation.no_attention), failed);
    put(s, "first_attention", json_real(spec->first.attention), failed);
    put(s, "first_level0", json_real(spec->first.level0), failed);
    put(s, "eval_every", hkt_json_whole(spec->eval_every), failed);
    put(s, "save_every", hkt_json_whole(spec->save_every), failed);
}

hkt_status hkt_record_create(json_t **out, const hkt_train_spec *spec, const hkt_layout *layout, size_t total_steps,
                             uint64_t data_hash)
{
    bool failed = false;
    json_t *settings = hkt_config_json(&layout->config);
    if (settings)
        put_settings(settings, spec, data_hash, &failed);
    *out = json_object();
    put(*out, "format", json_string("hkt-run/1"), &failed);
    put(*out, "settings", settings, &failed);
    put(*out, "data_dir", hkt_json_name(spec->data_dir), &failed);
    put(*out, "total_steps", hkt_json_whole(total_steps), &failed);
    put(*out, "parameters", hkt_json_whole(layout->n_weights), &failed);
    put(*out, "starts", json_array(), &failed);
    if (!failed)
        return HKT_OK;
    json_decref(*out);
    *out = NULL;
    return check_memory(true);
}

/* A JSON value as text for messages; free with free. */
static char *text_of(const json_t *value)
{
    return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;
}

/* first, second: what stands before the two values. */
static hkt_status different(const char *key, const char *first, const json_t *a, const char *second, const json_t *b)
{
    char *x = text_of(a), *y = text_of(b);
    hkt_status status =
        hkt_fail(HKT_EINPUT, "setting '%s': %s %s, %s %s", key, first, x ? x : "none", second, y ? y : "none");
    free(x);
    free(y);
    return status;
}

/* Runs of older versions have whole numbers above 2^53 as numbers, others as text. */
static bool same_value(const json_t *a, const json_t *b)
{
    char digits[24];
    const json_t *number = json_is_integer(a) ? a : b, *text = number == a ? b : a;
    if (!json_is_integer(number) || !json_is_string(text))
        return json_equal(a, b);
    snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(number));
    return strcmp(json_string_value(text), digits) == 0;
}

/* Name of the first setting of `settings` that `others` do not have so; NULL: there is none. */
static const char *first_difference(json_t *settings, const json_t *others)
{
    const char *key;
    json_t *value;
    json_object_foreach(settings, key, value)
    {
        if (!same_value(value, json_object_get(others, key)))
            return key;
    }
    return NULL;
}

hkt_status hkt_record_compare(const json_t *old, const json_t *now, const char *path)
{
    const json_t *was = hkt_record_settings(old);
    json_t *is = hkt_record_settings(now);
    if (!json_is_object(was) || !json_is_array(json_object_get(old, "starts")))
        return hkt_fail(HKT_EINPUT, "%s: expected the settings and starts of a run, found none", path);
    const char *key = first_difference(is, was);
    if (!key)
        return HKT_OK;
    return hkt_fail_context(
        different(key, "the run has", json_object_get(was, key), "this command", json_object_get(is, key)), "%s", path);
}

json_t *hkt_record_settings(const json_t *record)
{
    return json_object_get(record, "settings");
}

hkt_status hkt_record_same_settings(json_t *expected, const json_t *found)
{
    const char *key = first_difference(expected, found);
    return key ? different(key, "expected", json_object_get(expected, key), "found", json_object_get(found, key))
               : HKT_OK;
}

static void note_changes(const json_t *last, const json_t *start)
{
    static const char *const keys[] = {"commit", "arithmetic"};
    for (size_t i = 0; last && i < sizeof keys / sizeof *keys; i++) {
        const char *was = json_string_value(json_object_get(last, keys[i]));
        const char *now = json_string_value(json_object_get(start, keys[i]));
        if (!was && !strcmp(keys[i], "arithmetic"))
            was = "old"; /* not recorded then */
        if (was && now && strcmp(was, now) != 0)
            hkt_note("%s was %s and is now %s: the result may differ in the last bits", keys[i], was, now);
    }
}

hkt_status hkt_record_start(json_t *record, const hkt_provenance *how, size_t step)
{
    bool failed = false;
    json_t *starts = json_object_get(record, "starts");
    json_t *start = hkt_provenance_json(how);
    put(start, "blas", json_string(hkt_blas_version()), &failed);
    put(start, "isa", json_string(hkt_isa()), &failed);
    put(start, "first_step", hkt_json_whole(step), &failed);
    size_t n = json_array_size(starts);
    if (!failed)
        note_changes(n > 0 ? json_array_get(starts, n - 1) : NULL, start);
    if (json_array_append_new(starts, start) != 0)
        failed = true;
    return check_memory(failed);
}

hkt_status hkt_record_result(json_t *record, const hkt_train_result *result)
{
    bool failed = false;
    json_t *r = json_object();
    put(r, "steps", hkt_json_whole(result->steps), &failed);
    put(r, "best_step", hkt_json_whole(result->best_step), &failed);
    put(r, "best_val_accuracy", hkt_json_real(result->best_val_accuracy), &failed);
    put(r, "last_val_accuracy", hkt_json_real(result->last_val_accuracy), &failed);
    put(r, "last_val_loss", hkt_json_real(result->last_val_loss), &failed);
    put(r, "seconds", hkt_json_real(result->seconds), &failed);
    put(r, "tokens_per_s", hkt_json_real(result->tokens_per_s), &failed);
    put(r, "cpu_seconds", hkt_json_real(result->cpu_seconds), &failed);
    put(r, "peak_bytes", hkt_json_real(result->peak_bytes), &failed);
    put(record, "result", r, &failed);
    return check_memory(failed);
}

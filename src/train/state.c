#include "train/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/safetensors.h"
#include "train/record.h"
#include "train/trainer.h"

#define SETTINGS_KEY "hkt.settings"
#define FILE_KEY     "hkt.file"
#define STATE_KIND   "training state"

/* A value of the structs that the state stores as rows of doubles: its name and what it can be. */
typedef struct {
    const char *name;
    double low, high;
    bool integer;
} field;

#define MAX_INTEGER 1e15 /* exact in a double */

static const field progress_fields[] = {{"step", 0, MAX_INTEGER, true},
                                        {"best_step", 0, MAX_INTEGER, true},
                                        {"best_accuracy", 0, 1, false},
                                        {"loss_sum", 0, HUGE_VAL, false},
                                        {"sequences", 0, MAX_INTEGER, true},
                                        {"tokens", 0, MAX_INTEGER, true},
                                        {"busy_seconds", 0, HUGE_VAL, false},
                                        {"seconds", 0, HUGE_VAL, false},
                                        {"exploded", 0, HKT_EXPLODED_STEPS - 1, true},
                                        {"cpu_seconds", 0, HUGE_VAL, false},
                                        {"peak_bytes", 0, MAX_INTEGER, true}};
static const field row_fields[] = {{"step", 1, MAX_INTEGER, true},       {"epoch", 0, HUGE_VAL, false},
                                   {"train_loss", 0, HUGE_VAL, false},   {"val_loss", 0, HUGE_VAL, false},
                                   {"val_accuracy", 0, 1, false},        {"lr", 0, HUGE_VAL, false},
                                   {"tokens_per_s", 0, HUGE_VAL, false}, {"seconds", 0, HUGE_VAL, false}};
enum {
    PROGRESS_COUNT = sizeof progress_fields / sizeof *progress_fields,
    ROW_COUNT = sizeof row_fields / sizeof *row_fields
};
_Static_assert(sizeof(hkt_run_progress) == PROGRESS_COUNT * sizeof(double), "a field per member");
_Static_assert(sizeof(hkt_run_row) == ROW_COUNT * sizeof(double), "a field per member");

/* --- tensors ------------------------------------------------------------------------------------------------------ */

/* A tensor of the state with its dtype and number of elements (HKT_ABSENT: any). */
static hkt_status find_tensor(const hkt_safetensors *f, const char *name, hkt_dtype dtype, size_t count,
                              const hkt_tensor **out)
{
    const hkt_tensor *t = hkt_safetensors_find(f, name);
    if (!t)
        return hkt_fail(HKT_EINPUT, "%s: expected tensor '%s', found none", hkt_safetensors_path(f), name);
    if (t->dtype != dtype || (count != HKT_ABSENT && t->count != count))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected %zu values of type %s, found %zu of %s",
                        hkt_safetensors_path(f), name, count == HKT_ABSENT ? t->count : count, hkt_dtype_name(dtype),
                        t->count, hkt_dtype_name(t->dtype));
    *out = t;
    return HKT_OK;
}

/* Values are finite and at least `low`. */
static hkt_status read_block(const hkt_safetensors *f, const char *name, size_t count, double low, float *out)
{
    const hkt_tensor *t = NULL;
    HKT_TRY(find_tensor(f, name, HKT_F32, count, &t));
    HKT_TRY(hkt_tensor_to_f32(t, out));
    for (size_t i = 0; i < count; i++)
        if (!isfinite(out[i]) || (double)out[i] < low)
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected finite values%s, found %g at element %zu",
                            hkt_safetensors_path(f), name, low == 0 ? " from 0" : "", (double)out[i], i);
    return HKT_OK;
}

/* place: "" or "row 3, ". high: of the step numbers, which cannot be above the progress. */
static hkt_status check_value(const hkt_run *run, const char *tensor, const char *place, const field *f, double low,
                              double high, double value)
{
    if (isfinite(value) && value >= low && value <= high && (!f->integer || value == floor(value)))
        return HKT_OK;
    return hkt_fail(HKT_EINPUT, "%s: tensor '%s': %s%s: expected %s from %.16g to %.16g, found %.17g", run->state_path,
                    tensor, place, f->name, f->integer ? "an integer" : "a number", low, high, value);
}

static hkt_status read_progress(hkt_run *run, const hkt_safetensors *file)
{
    const hkt_tensor *t = NULL;
    double v[PROGRESS_COUNT];
    HKT_TRY(find_tensor(file, "progress", HKT_F64, PROGRESS_COUNT, &t));
    HKT_TRY(hkt_tensor_to_f64(t, v));
    for (size_t i = 0; i < PROGRESS_COUNT; i++) {
        const field *f = &progress_fields[i];
        HKT_TRY(check_value(run, "progress", "", f, f->low, i == 1 ? v[0] : f->high, v[i])); /* best_step <= step */
    }
    memcpy(&run->at, v, sizeof v);
    run->adamw.step = (uint64_t)run->at.step;
    run->saved_step = (size_t)run->at.step;
    return HKT_OK;
}

/* The steps of the log ascend and end at the step of the progress. */
static hkt_status check_row(const hkt_run *run, size_t i)
{
    char place[32];
    double v[ROW_COUNT];
    memcpy(v, &run->rows[i], sizeof v);
    snprintf(place, sizeof place, "row %zu, ", i);
    for (size_t k = 0; k < ROW_COUNT; k++) {
        const field *f = &row_fields[k];
        double low = k == 0 && i > 0 ? run->rows[i - 1].step + 1 : f->low, high = k == 0 ? run->at.step : f->high;
        HKT_TRY(check_value(run, "log", place, f, low, high, v[k]));
    }
    return HKT_OK;
}

static hkt_status read_rows(hkt_run *run, const hkt_safetensors *file)
{
    const hkt_tensor *t = NULL;
    HKT_TRY(find_tensor(file, "log", HKT_F64, HKT_ABSENT, &t));
    if (t->count % ROW_COUNT != 0)
        return hkt_fail(HKT_EINPUT, "%s: tensor 'log': expected rows of %d values, found %zu values", run->state_path,
                        (int)ROW_COUNT, t->count);
    const size_t n = t->count / ROW_COUNT;
    HKT_TRY(hkt_run_reserve_rows(run, n));
    if (n > 0)
        HKT_TRY(hkt_tensor_to_f64(t, &run->rows->step));
    run->n_rows = n;
    for (size_t i = 0; i < n; i++)
        HKT_TRY(check_row(run, i));
    return HKT_OK;
}

/* --- whose state it is -------------------------------------------------------------------------------------------- */

static hkt_status check_settings(const hkt_run *run, const hkt_safetensors *file)
{
    const char *text = hkt_safetensors_meta(file, SETTINGS_KEY);
    json_t *found;
    if (!text) {
        hkt_note("%s: of an older version: it does not say which settings it belongs to", run->state_path);
        return HKT_OK;
    }
    HKT_TRY(hkt_json_parse(&found, text, strlen(text), SETTINGS_KEY));
    hkt_status status = hkt_record_same_settings(hkt_record_settings(run->record), found);
    json_decref(found);
    return status == HKT_OK ? HKT_OK : hkt_fail_context(status, "%s: metadata '" SETTINGS_KEY "'", run->state_path);
}

static hkt_status check_kind(const hkt_run *run, const hkt_safetensors *file)
{
    const char *found = hkt_safetensors_meta(file, FILE_KEY);
    if (found && strcmp(found, STATE_KIND) == 0)
        return HKT_OK;
    return hkt_fail(HKT_EINPUT, "%s: metadata '" FILE_KEY "': expected '" STATE_KIND "', found %s%.40s%s",
                    run->state_path, found ? "'" : "", found ? found : "none", found ? "'" : "");
}

static hkt_status read_all(hkt_run *run, const hkt_safetensors *file)
{
    const size_t total = run->layout->total;
    HKT_TRY(check_kind(run, file));
    HKT_TRY(read_block(file, "params", total, -HUGE_VAL, run->params));
    HKT_TRY(read_block(file, "best", total, -HUGE_VAL, run->best));
    HKT_TRY(read_block(file, "m", total, -HUGE_VAL, run->adamw.m));
    HKT_TRY(read_block(file, "v", total, 0, run->adamw.v));
    HKT_TRY(check_settings(run, file));
    HKT_TRY(read_progress(run, file));
    return read_rows(run, file);
}

hkt_status hkt_state_read(hkt_run *run)
{
    hkt_safetensors *file;
    HKT_TRY(hkt_safetensors_read(&file, run->state_path));
    hkt_status status = read_all(run, file);
    hkt_safetensors_free(file);
    return status;
}

hkt_status hkt_state_write(const hkt_run *run, const hkt_run_spent *spent)
{
    const size_t total = run->layout->total;
    hkt_run_progress at = run->at;
    at.seconds = spent->seconds;
    at.cpu_seconds = spent->cpu_seconds;
    at.peak_bytes = spent->peak_bytes;
    const hkt_tensor_out tensors[] = {
        {"params", HKT_F32, 1, {total}, run->params},    {"best", HKT_F32, 1, {total}, run->best},
        {"m", HKT_F32, 1, {total}, run->adamw.m},        {"v", HKT_F32, 1, {total}, run->adamw.v},
        {"progress", HKT_F64, 1, {PROGRESS_COUNT}, &at}, {"log", HKT_F64, 2, {run->n_rows, ROW_COUNT}, run->rows},
    };
    char *settings = json_dumps(hkt_record_settings(run->record), JSON_COMPACT);
    const char *const meta[] = {FILE_KEY, STATE_KIND, SETTINGS_KEY, settings, NULL};
    hkt_status status = settings
                            ? hkt_safetensors_write(run->state_path, tensors, sizeof tensors / sizeof *tensors, meta)
                            : hkt_fail(HKT_ESYSTEM, "out of memory for the settings in '%s'", run->state_path);
    free(settings); /* jansson's */
    return status;
}

/* The training runs in a directory: log.tsv, with run.json, eval.json and eval-val.json where they are there. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"
#include "programs/plot.h"

static void free_run(hkt_plot_run *r)
{
    hkt_free(r->log);
    hkt_free(r->record_path);
    hkt_free(r->test_path);
    hkt_free(r->val_path);
    json_decref(r->record);
    json_decref(r->test);
    json_decref(r->val);
}

void hkt_plot_free_runs(hkt_plot_runs *r)
{
    while (r->n > 0)
        free_run(&r->run[--r->n]);
}

/* "MHA", or "HKT, 3 levels, dynamic fusion". */
static hkt_status describe_model(const json_t *settings, const char *path, char *label, size_t size)
{
    size_t levels;
    bool hybrid;
    const char *fusion;
    HKT_TRY(hkt_json_get_size(settings, "levels", path, &levels));
    HKT_TRY(hkt_json_get_bool(settings, "hybrid", path, &hybrid));
    HKT_TRY(hkt_json_get_string(settings, "fusion", path, &fusion));
    if (levels == 1 && !hybrid)
        snprintf(label, size, "MHA");
    else
        snprintf(label, size, "HKT, %zu level%s, %s fusion", levels, levels == 1 ? "" : "s", fusion);
    return HKT_OK;
}

/* Reads DIR/NAME; *out is NULL when it is not there. */
static hkt_status read_optional(const char *dir, const char *name, char **path, json_t **out)
{
    *out = NULL;
    HKT_TRY(hkt_path_join(path, dir, name));
    return hkt_file_exists(*path) ? hkt_json_read(out, *path) : HKT_OK;
}

/* Label from run.json; without it the directory's name. */
static hkt_status read_run(const char *dir, const char *name, hkt_plot_run *r)
{
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->label, sizeof r->label, "%s", name);
    HKT_TRY(read_optional(dir, "eval.json", &r->test_path, &r->test));
    HKT_TRY(read_optional(dir, "eval-val.json", &r->val_path, &r->val));
    HKT_TRY(read_optional(dir, "run.json", &r->record_path, &r->record));
    if (!r->record)
        return HKT_OK;
    const json_t *settings = json_object_get(r->record, "settings"), *task = json_object_get(settings, "task");
    snprintf(r->task, sizeof r->task, "%s", json_is_string(task) ? json_string_value(task) : "");
    return describe_model(settings, r->record_path, r->label, sizeof r->label);
}

/* Adds DIR when it has a log with rows. */
static hkt_status add_run(hkt_plot_runs *all, const hkt_figure *f, const char *dir, const char *name)
{
    size_t rows = 0;
    char *log;
    HKT_TRY(hkt_path_join(&log, dir, "log.tsv"));
    hkt_status status = hkt_file_exists(log) ? hkt_plot_check_table(log, f, &rows) : HKT_OK;
    if (status == HKT_OK && rows > 0 && all->n == HKT_MAX_RUNS)
        status = hkt_fail(HKT_EINPUT, "figure '%s': expected at most %d runs, found more", f->name, HKT_MAX_RUNS);
    if (status == HKT_OK && rows == 0 && hkt_file_exists(log))
        hkt_note("hkt-plot: '%s' has no rows yet: the run is left out", log);
    if (status != HKT_OK || rows == 0) {
        hkt_free(log);
        return status;
    }
    hkt_plot_run *r = &all->run[all->n++];
    *r = (hkt_plot_run){.log = log};
    HKT_TRY(read_run(dir, name, r));
    if (f->evaluated && !r->test)
        free_run(&all->run[--all->n]);
    return HKT_OK;
}

static hkt_status add_entry(hkt_plot_runs *all, const hkt_figure *f, const char *parent, const char *name)
{
    char *dir;
    HKT_TRY(hkt_path_join(&dir, parent, name));
    hkt_status status = add_run(all, f, dir, name);
    hkt_free(dir);
    return status;
}

hkt_status hkt_plot_find_runs(const hkt_plot_options *o, const hkt_figure *f, hkt_plot_runs *out)
{
    struct dirent **entry;
    out->n = 0;
    int n = scandir(o->from_real, &entry, NULL, alphasort);
    if (n < 0)
        return hkt_fail(HKT_EINPUT, "cannot read '%s': %s", o->from, strerror(errno));
    hkt_status status = add_run(out, f, o->from_real, o->from);
    for (int i = 0; i < n; i++) {
        if (status == HKT_OK && entry[i]->d_name[0] != '.')
            status = add_entry(out, f, o->from_real, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    /* A label that two runs share says nothing: their directories then follow it. */
    char label[sizeof out->run->label + sizeof out->run->name + 4];
    bool shared[HKT_MAX_RUNS] = {false};
    for (size_t i = 0; i < out->n; i++)
        for (size_t k = 0; k < out->n; k++)
            shared[i] = shared[i] || (k != i && strcmp(out->run[i].label, out->run[k].label) == 0);
    for (size_t i = 0; i < out->n; i++)
        if (shared[i] && strcmp(out->run[i].label, out->run[i].name) != 0) {
            snprintf(label, sizeof label, "%s (%s)", out->run[i].label, out->run[i].name);
            snprintf(out->run[i].label, sizeof out->run[i].label, "%.*s", (int)sizeof out->run[i].label - 1, label);
        }
    return status;
}

/* Evaluation on the split that it should be of. */
static hkt_status check_split(const json_t *evaluation, const char *path, const char *split)
{
    const char *found;
    HKT_TRY(hkt_json_get_string(evaluation, "split", path, &found));
    return strcmp(found, split) == 0
               ? HKT_OK
               : hkt_fail(HKT_EINPUT, "%s: expected an evaluation on the split '%s', found '%s'", path, split, found);
}

/* Accuracy of always answering the most frequent class of the validation split, by the first run that was evaluated on
 * it; not known when the runs are of several tasks. */
static hkt_status put_majority(const hkt_plot_runs *all, FILE *script)
{
    double majority = (double)NAN;
    for (size_t i = 0; i < all->n && isnan(majority); i++)
        if (all->run[i].val) {
            HKT_TRY(check_split(all->run[i].val, all->run[i].val_path, "val"));
            HKT_TRY(hkt_json_get_real(all->run[i].val, "majority", all->run[i].val_path, &majority));
        }
    for (size_t i = 1; i < all->n; i++)
        if (strcmp(all->run[i].task, all->run[0].task) != 0)
            majority = (double)NAN;
    if (isnan(majority))
        fputs("majority=NaN; ", script);
    else
        fprintf(script, "majority=%.17g; ", majority);
    return HKT_OK;
}

/* Accuracies of the test split with their intervals, in per cent; NaN where a run was not evaluated. */
static hkt_status put_accuracies(const hkt_plot_runs *all, FILE *script)
{
    static const char *const keys[] = {"accuracy", "accuracy_low", "accuracy_high", "majority"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        fprintf(script, "array run_%s[%zu]; ", keys[k], all->n);
    for (size_t i = 0; i < all->n; i++) {
        if (all->run[i].test)
            HKT_TRY(check_split(all->run[i].test, all->run[i].test_path, "test"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            double v = (double)NAN;
            if (all->run[i].test)
                HKT_TRY(hkt_json_get_real(all->run[i].test, keys[k], all->run[i].test_path, &v));
            if (isnan(v))
                fprintf(script, "run_%s[%zu]=NaN; ", keys[k], i + 1);
            else
                fprintf(script, "run_%s[%zu]=%.17g; ", keys[k], i + 1, 100 * v);
        }
    }
    return HKT_OK;
}

hkt_status hkt_plot_put_runs(const hkt_plot_runs *all, FILE *script)
{
    fprintf(script, "n_runs=%zu; array run_log[%zu]; array run_label[%zu]; array run_task[%zu]; ", all->n, all->n,
            all->n, all->n);
    for (size_t i = 0; i < all->n; i++) {
        hkt_plot_put_element(script, "run_log", i + 1, all->run[i].log);
        hkt_plot_put_element(script, "run_label", i + 1, all->run[i].label);
        hkt_plot_put_element(script, "run_task", i + 1, all->run[i].task);
    }
    HKT_TRY(put_accuracies(all, script));
    return put_majority(all, script);
}

#include "train/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/tsv.h"
#include "model/checkpoint.h"
#include "train/record.h"
#include "train/state.h"

hkt_run_spent hkt_run_spent_here(void)
{
    struct timespec t = {0};
    struct rusage u = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    getrusage(RUSAGE_SELF, &u);
    return (hkt_run_spent){.seconds = hkt_now(),
                           .cpu_seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec,
                           .peak_bytes = 1024.0 * (double)u.ru_maxrss}; /* Linux: in KiB */
}

static hkt_status name_files(hkt_run *run, const char *dir)
{
    HKT_TRY(hkt_path_join(&run->record_path, dir, "run.json"));
    HKT_TRY(hkt_path_join(&run->state_path, dir, "state.safetensors"));
    HKT_TRY(hkt_path_join(&run->last_path, dir, "last.safetensors"));
    HKT_TRY(hkt_path_join(&run->kept_path, dir, "kept"));
    HKT_TRY(hkt_path_join(&run->best_path, dir, "best.safetensors"));
    return hkt_path_join(&run->log_path, dir, "log.tsv");
}

/* Takes the record of an existing run instead of ours. */
static hkt_status open_record(hkt_run *run, const char *dir, bool resume)
{
    const char *const files[] = {run->record_path, run->state_path, run->last_path, run->best_path, run->log_path};
    for (size_t i = 0; !resume && i < sizeof files / sizeof *files; i++)
        if (hkt_file_exists(files[i]))
            return hkt_fail(HKT_EINPUT, "%s: holds a run already: continue it with --resume or choose another --out",
                            dir);
    /* The state is there before them: they never lack it unless someone took it away, and must not be lost. */
    for (size_t i = 2; !hkt_file_exists(run->state_path) && i < sizeof files / sizeof *files; i++)
        if (hkt_file_exists(files[i]))
            return hkt_fail(HKT_EINPUT, "%s: expected the state next to '%s', found none: choose another --out",
                            run->state_path, files[i]);
    if (!hkt_file_exists(run->record_path))
        return hkt_file_exists(run->state_path)
                   ? hkt_fail(HKT_EINPUT, "%s: expected the settings of the run, found no file", run->record_path)
                   : HKT_OK;
    json_t *old;
    HKT_TRY(hkt_json_read(&old, run->record_path));
    hkt_status status = hkt_record_compare(old, run->record, run->record_path);
    if (status != HKT_OK) {
        json_decref(old);
        return status;
    }
    json_decref(run->record);
    run->record = old;
    return HKT_OK;
}

hkt_status hkt_run_reserve_rows(hkt_run *run, size_t needed)
{
    if (needed <= run->max_rows)
        return HKT_OK;
    size_t max = needed < 64 ? 64 : 2 * needed;
    hkt_run_row *rows;
    HKT_TRY(HKT_NEW(&rows, max));
    if (run->n_rows > 0)
        memcpy(rows, run->rows, run->n_rows * sizeof *rows);
    hkt_free(run->rows);
    run->rows = rows;
    run->max_rows = max;
    return HKT_OK;
}

hkt_status hkt_run_open(hkt_run *out, const char *dir, const hkt_layout *layout, const hkt_adamw_spec *adamw,
                        const hkt_provenance *how, json_t *record, bool resume, bool *found)
{
    *out = (hkt_run){.layout = layout, .how = how, .record = record};
    HKT_TRY(hkt_dir_open(&out->dir, dir));
    HKT_TRY(name_files(out, dir));
    HKT_TRY(open_record(out, dir, resume));
    HKT_TRY(hkt_alloc((void **)&out->params, layout->total, sizeof *out->params, "the parameters"));
    HKT_TRY(hkt_alloc((void **)&out->best, layout->total, sizeof *out->best, "the best parameters"));
    HKT_TRY(hkt_adamw_create(&out->adamw, layout, adamw));
    *found = hkt_file_exists(out->state_path);
    if (*found)
        HKT_TRY(hkt_state_read(out));
    return hkt_record_start(out->record, how, out->saved_step);
}

static hkt_status kept_file(const hkt_run *run, char **path)
{
    char name[48];
    snprintf(name, sizeof name, "step-%08.0f.safetensors", run->at.step);
    return hkt_path_join(path, run->kept_path, name);
}

void hkt_run_discard(hkt_run *run)
{
    char *kept;
    if (kept_file(run, &kept) == HKT_OK)
        unlink(kept);
    hkt_free(kept);
    rmdir(run->kept_path); /* fails when there is anything else */
    unlink(run->last_path);
    unlink(run->state_path);
    unlink(run->record_path);
}

void hkt_run_close(hkt_run *run)
{
    hkt_free(run->record_path);
    hkt_free(run->state_path);
    hkt_free(run->last_path);
    hkt_free(run->kept_path);
    hkt_free(run->best_path);
    hkt_free(run->log_path);
    json_decref(run->record);
    hkt_free(run->params);
    hkt_free(run->best);
    hkt_adamw_destroy(&run->adamw);
    hkt_free(run->rows);
    hkt_dir_close(&run->dir);
}

hkt_status hkt_run_add_row(hkt_run *run, const hkt_run_row *row)
{
    HKT_TRY(hkt_run_reserve_rows(run, run->n_rows + 1));
    run->rows[run->n_rows++] = *row;
    return HKT_OK;
}

void hkt_run_consider_best(hkt_run *run, double accuracy)
{
    if (run->at.best_step > 0 && !(accuracy > run->at.best_accuracy))
        return;
    run->at.best_step = run->at.step;
    run->at.best_accuracy = accuracy;
    memcpy(run->best, run->params, run->layout->total * sizeof *run->best);
}

hkt_status hkt_run_save(hkt_run *run, const hkt_run_spent *spent)
{
    HKT_TRY(hkt_state_write(run, spent));
    run->saved_step = (size_t)run->at.step;
    return hkt_run_write_last(run);
}

static hkt_status write_weights(const hkt_run *run, const char *path, const float *params, double step)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f", step);
    const char *const meta[] = {"hkt.step", text, NULL};
    return hkt_checkpoint_write(path, run->layout, params, meta);
}

hkt_status hkt_run_write_last(const hkt_run *run)
{
    return write_weights(run, run->last_path, run->params, run->at.step);
}

hkt_status hkt_run_keep(const hkt_run *run)
{
    char *path;
    HKT_TRY(hkt_mkdir(run->kept_path));
    HKT_TRY(kept_file(run, &path));
    hkt_status status = write_weights(run, path, run->params, run->at.step);
    hkt_free(path);
    return status;
}

static hkt_status write_log(const hkt_run *run)
{
    hkt_tsv *t;
    HKT_TRY(hkt_tsv_open(&t, run->log_path, run->how,
                         "step\tepoch\ttrain_loss\tval_loss\tval_accuracy\tlr\ttokens_per_s\tseconds"));
    for (size_t i = 0; i < run->n_rows; i++) {
        const hkt_run_row *r = &run->rows[i];
        hkt_tsv_size(t, (size_t)r->step);
        hkt_tsv_real(t, r->epoch);
        hkt_tsv_real(t, r->train_loss);
        hkt_tsv_real(t, r->val_loss);
        hkt_tsv_real(t, r->val_accuracy);
        hkt_tsv_real(t, r->lr);
        hkt_tsv_real(t, r->tokens_per_s);
        hkt_tsv_real(t, r->seconds);
        hkt_tsv_end(t);
    }
    return hkt_tsv_commit(t);
}

hkt_status hkt_run_publish(const hkt_run *run)
{
    HKT_TRY(write_log(run));
    if (run->at.best_step > 0)
        return write_weights(run, run->best_path, run->best, run->at.best_step);
    if (unlink(run->best_path) != 0 && errno != ENOENT)
        return hkt_fail(HKT_ESYSTEM, "%s: cannot remove: %s", run->best_path, strerror(errno));
    return HKT_OK;
}

hkt_status hkt_run_write_record(const hkt_run *run)
{
    return hkt_json_write(run->record, run->record_path);
}

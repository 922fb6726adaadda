#include "train/trainer.h"

#include <math.h>
#include <stdio.h>

#include "base/elementary.h"
#include "base/mem.h"
#include "base/progress.h"
#include "model/checkpoint.h"
#include "model/net.h"
#include "train/batch.h"
#include "train/evaluate.h"
#include "train/record.h"
#include "train/run.h"

typedef struct {
    const hkt_train_spec *spec;
    hkt_dataset train, val;
    hkt_layout *layout;
    hkt_batch_buffer buffer;
    hkt_batch_order order;
    hkt_net_f32 *net;
    float *grads; /* [layout->total] */
    bool run_opened;
    hkt_run run;
    size_t total;      /* updates of the whole run */
    size_t first_step; /* updates done when this process began */
    double start;      /* clock when this process began to update */
    bool forecast;     /* how long it will take was said, or need not be */
} trainer;

/* --- set-up ----------------------------------------------------------------------------------------------------- */

static hkt_status open_data(trainer *t, hkt_config *config)
{
    const hkt_train_spec *s = t->spec;
    *config = s->config;
    HKT_TRY(hkt_dataset_read(&t->train, s->task, s->data_dir, "train", config->max_len));
    config->vocab = t->train.vocab;
    config->classes = t->train.classes;
    HKT_TRY(hkt_dataset_read(&t->val, t->train.task, s->data_dir, "val", config->max_len));
    if (config->max_len == 0) /* not said: the longest sequence that is read */
        config->max_len = t->train.max_len > t->val.max_len ? t->train.max_len : t->val.max_len;
    if (t->train.cut + t->val.cut > 0)
        hkt_note("cut to %zu tokens: %zu of %zu training and %zu of %zu validation sequences", config->max_len,
                 t->train.cut, t->train.n, t->val.cut, t->val.n);
    return HKT_OK;
}

static hkt_status count_steps(const trainer *t, size_t *total)
{
    const hkt_train_spec *s = t->spec;
    *total = s->steps;
    if (*total > 0)
        return HKT_OK;
    if (t->train.stream.draw)
        return hkt_fail(HKT_EUSAGE, "%s: the training split is a stream, without an end: expected '--steps'",
                        s->data_dir);
    HKT_TRY(hkt_batch_order_total(&t->order, s->epochs, s->stop, total));
    return *total > 0 ? HKT_OK : hkt_fail(HKT_ESYSTEM, "interrupted before the first update: nothing was written");
}

static hkt_status write_start(trainer *t)
{
    HKT_TRY(hkt_run_write_record(&t->run));
    if (t->spec->keep > 0)
        HKT_TRY(hkt_run_keep(&t->run));
    const hkt_run_spent nothing = {0};
    return hkt_run_save(&t->run, &nothing);
}

/* First weights of a new run, saved at once so that there always is a good checkpoint. */
static hkt_status start_run(trainer *t)
{
    double *initial;
    HKT_TRY(hkt_alloc((void **)&initial, t->layout->total, sizeof *initial, "the first weights"));
    hkt_init_params(t->layout, t->spec->seed, initial);
    hkt_first_shares_set(&t->spec->first, t->layout, initial);
    hkt_ablation_start(&t->spec->ablation, t->layout, initial);
    hkt_params_to_f32(t->layout, initial, t->run.params);
    hkt_free(initial);
    hkt_status status = write_start(t);
    if (status != HKT_OK)
        hkt_run_discard(&t->run);
    return status;
}

/* The state may have been saved by a process that died before it wrote the other files. */
static hkt_status continue_run(trainer *t)
{
    const size_t step = t->run.saved_step;
    if (step > t->total || (step == t->total && t->run.n_rows == 0))
        return hkt_fail(HKT_EINPUT, "%s: expected at most %zu steps and a log, found %zu steps and %zu rows",
                        t->run.state_path, t->total, step, t->run.n_rows);
    for (size_t i = 0; i < step; i++)
        HKT_TRY(hkt_batch_order_next(&t->order));
    HKT_TRY(hkt_run_write_record(&t->run));
    return hkt_run_write_last(&t->run);
}

static hkt_status open_run(trainer *t, const hkt_provenance *how)
{
    const hkt_train_spec *s = t->spec;
    uint64_t hash = hkt_dataset_checksum(&t->val, hkt_dataset_checksum(&t->train, 0));
    json_t *record;
    bool found = false;
    hkt_train_spec named = *s;
    named.task = t->train.task; /* as said, or as recognised */
    HKT_TRY(hkt_record_create(&record, &named, t->layout, t->total, hash));
    t->run_opened = true;
    HKT_TRY(hkt_run_open(&t->run, s->out_dir, t->layout, &s->adamw, how, record, s->resume, &found));
    hkt_note("seed %llu", (unsigned long long)s->seed);
    if (s->resume)
        hkt_note(found ? "resuming after step %zu of %zu" : "no saved state: starting at step %zu of %zu",
                 t->run.saved_step, t->total);
    HKT_TRY(found ? continue_run(t) : start_run(t));
    t->first_step = t->run.saved_step;
    return hkt_run_publish(&t->run);
}

static hkt_status create_net(trainer *t)
{
    const hkt_batch_buffer *b = &t->buffer;
    hkt_status status = hkt_net_create_f32(&t->net, t->layout, b->max_tokens, b->max_seqs, true, false);
    if (status == HKT_OK)
        status = HKT_NEW(&t->grads, t->layout->total);
    return status == HKT_OK
               ? HKT_OK
               : hkt_fail_context(status, "%zu parameters, batches of %zu tokens", t->layout->n_weights, b->max_tokens);
}

static hkt_status trainer_open(trainer *t, const hkt_provenance *how)
{
    const hkt_train_spec *s = t->spec;
    hkt_config config;
    HKT_TRY(open_data(t, &config));
    HKT_TRY(hkt_ablation_check(&s->ablation, &config));
    HKT_TRY(hkt_first_shares_check(&s->first, &config));
    HKT_TRY(hkt_layout_create(&t->layout, &config));
    hkt_ablation_fix(&s->ablation, t->layout);
    HKT_TRY(hkt_batch_buffer_create(&t->buffer, &t->train, s->batch_tokens));
    HKT_TRY(hkt_batch_order_create(&t->order, &t->train, s->batch_tokens, t->buffer.max_seqs, s->seed));
    HKT_TRY(count_steps(t, &t->total));
    if (s->warmup >= t->total)
        hkt_note("warm-up of %zu updates: the peak learning rate is not reached in %zu", s->warmup, t->total);
    HKT_TRY(create_net(t));
    return open_run(t, how);
}

static void trainer_close(trainer *t)
{
    if (t->run_opened)
        hkt_run_close(&t->run);
    hkt_free(t->grads);
    hkt_net_destroy_f32(t->net);
    hkt_batch_order_destroy(&t->order);
    hkt_batch_buffer_destroy(&t->buffer);
    hkt_layout_destroy(t->layout);
    hkt_dataset_free(&t->train);
    hkt_dataset_free(&t->val);
}

/* --- one update ------------------------------------------------------------------------------------------------- */

static hkt_status diverged(const trainer *t, const char *reason)
{
    return hkt_fail(HKT_ENUMERIC, "training diverged at step %.0f: %s; last good checkpoint: %s (step %zu)",
                    t->run.at.step, reason, t->run.last_path, t->run.saved_step);
}

/* Turns a numerical failure below into a divergence with the step; other failures pass. */
static hkt_status check_numeric(const trainer *t, hkt_status status)
{
    return status == HKT_ENUMERIC ? diverged(t, hkt_error()) : status;
}

static hkt_status check_loss(trainer *t, double loss)
{
    char reason[96];
    double limit = HKT_EXPLODED_LOSS * hkt_log((double)t->layout->config.classes);
    t->run.at.exploded = loss > limit ? t->run.at.exploded + 1 : 0;
    if (t->run.at.exploded < HKT_EXPLODED_STEPS)
        return HKT_OK;
    snprintf(reason, sizeof reason, "loss %.4g, and above %.4g for %d steps in a row", loss, limit, HKT_EXPLODED_STEPS);
    return diverged(t, reason);
}

static double learning_rate(const trainer *t)
{
    const hkt_train_spec *s = t->spec;
    return hkt_lr_schedule((uint64_t)t->run.at.step, s->warmup, t->total, s->lr, s->final_lr_fraction);
}

/* A pure function of (seed, step number, weights and moments before it). */
static hkt_status train_step(trainer *t)
{
    const hkt_train_spec *s = t->spec;
    hkt_run *run = &t->run;
    const hkt_batch_buffer *b = &t->buffer;
    const double begin = hkt_now();
    hkt_batch batch;
    double loss;
    run->at.step++;
    HKT_TRY(hkt_batch_order_next(&t->order));
    hkt_batch_pack(&t->train, t->order.index, t->order.first, t->train.n, s->batch_tokens, b->max_seqs, b->tokens,
                   b->lengths, b->labels, &batch);
    hkt_dropout_spec dropout = {.rate = s->dropout, .seed = s->seed, .step = (uint64_t)run->at.step};
    HKT_TRY(check_numeric(
        t, hkt_net_gradient_f32(t->net, run->params, &batch, s->dropout > 0 ? &dropout : NULL, t->grads, &loss)));
    HKT_TRY(check_loss(t, loss));
    hkt_ablation_mask(&s->ablation, t->layout, t->grads);
    double norm = hkt_grad_norm(t->layout, t->grads);
    if (!isfinite(norm))
        return diverged(t, "gradient is not finite");
    hkt_adamw_step(&run->adamw, run->params, t->grads, s->clip > 0 && norm > s->clip ? s->clip / norm : 1,
                   learning_rate(t));
    run->at.loss_sum += loss * (double)batch.n_seq;
    run->at.sequences += (double)batch.n_seq;
    for (size_t i = 0; i < batch.n_seq; i++)
        run->at.tokens += (double)batch.length[i];
    run->at.busy_seconds += hkt_now() - begin;
    return HKT_OK;
}

/* --- the run ---------------------------------------------------------------------------------------------------- */

/* The run until now. */
static hkt_run_spent spent(const trainer *t)
{
    const hkt_run_progress *at = &t->run.at;
    hkt_run_spent s = hkt_run_spent_here();
    s.seconds += at->seconds - t->start;
    s.cpu_seconds += at->cpu_seconds;
    s.peak_bytes = s.peak_bytes > at->peak_bytes ? s.peak_bytes : at->peak_bytes;
    return s;
}

/* How long a long run will take, after its first updates. An update is a forward pass and a gradient of twice its cost,
 * a validation a forward pass. */
static void forecast(trainer *t)
{
    enum { FIRST_STEPS = 5, FIRST_SECONDS = 2, LONG_SECONDS = 60 };
    const hkt_run *run = &t->run;
    const double done = run->at.step - (double)t->first_step, left = (double)t->total - run->at.step;
    const double spent_here = hkt_now() - t->start, per_step = run->at.tokens / done;
    if (t->forecast || done < FIRST_STEPS || spent_here < FIRST_SECONDS)
        return;
    t->forecast = true;
    double seconds = left * spent_here / done, every = (double)t->spec->eval_every;
    if (run->at.sequences == 0) /* a validation just now: it is in the time */
        every = (double)INFINITY;
    else if (every == 0) /* an epoch */
        every = (double)t->train.offset[t->train.n] / per_step;
    seconds += left / every * (double)t->val.offset[t->val.n] / per_step * spent_here / done / 3;
    if (seconds < LONG_SECONDS)
        return;
    char time[32];
    hkt_time_text(time, sizeof time, seconds);
    if (t->first_step > 0)
        hkt_note("%.0f of %zu steps, about %s", left, t->total, time);
    else
        hkt_note("%zu steps, about %s", t->total, time);
}

static void show(const trainer *t, bool plain)
{
    const hkt_run *run = &t->run;
    const hkt_run_row *row = run->n_rows > 0 ? &run->rows[run->n_rows - 1] : NULL;
    const bool fresh = !row || run->at.sequences > 0; /* updates since the last row */
    double loss = fresh ? run->at.loss_sum / run->at.sequences : row->train_loss;
    double rate = fresh ? run->at.tokens / run->at.busy_seconds : row->tokens_per_s;
    double done = run->at.step - (double)t->first_step, left = (double)t->total - run->at.step;
    char accuracy[32] = "-", time_left[32];
    if (row)
        snprintf(accuracy, sizeof accuracy, "%.4f", row->val_accuracy);
    hkt_time_text(time_left, sizeof time_left, done > 0 ? left * (hkt_now() - t->start) / done : 0);
    if (plain)
        hkt_note("step %.0f/%zu  loss %.4f  accuracy %s  %.0f tokens/s  %s left", run->at.step, t->total, loss,
                 accuracy, rate, time_left);
    else
        hkt_progress(false, "step %.0f/%zu  loss %.4f  accuracy %s  %.0f tokens/s  %s left", run->at.step, t->total,
                     loss, accuracy, rate, time_left);
}

static hkt_status validate(trainer *t)
{
    hkt_run *run = &t->run;
    const hkt_batch_order *o = &t->order;
    hkt_evaluation e;
    HKT_TRY(
        check_numeric(t, hkt_evaluate(t->layout, run->params, &t->val, t->spec->batch_tokens, NULL, &e, NULL, NULL)));
    hkt_run_row row = {.step = run->at.step,
                       .epoch = (double)o->epoch + (double)(o->first + o->count) / (double)t->train.n,
                       .train_loss = run->at.loss_sum / run->at.sequences,
                       .val_loss = e.loss,
                       .val_accuracy = e.accuracy,
                       .lr = learning_rate(t),
                       .tokens_per_s = run->at.tokens / run->at.busy_seconds,
                       .seconds = spent(t).seconds};
    HKT_TRY(hkt_run_add_row(run, &row));
    hkt_run_consider_best(run, e.accuracy);
    run->at.loss_sum = run->at.sequences = run->at.tokens = run->at.busy_seconds = 0;
    show(t, true);
    return HKT_OK;
}

/* Validates and saves when it is time. A state is not saved while the loss is exploded: the last one stays good. */
static hkt_status after_step(trainer *t)
{
    const hkt_train_spec *s = t->spec;
    const size_t step = (size_t)t->run.at.step;
    const bool end = step == t->total, stop = !end && s->stop && *s->stop;
    const bool eval = end || (s->eval_every > 0 ? step % s->eval_every == 0 : t->order.epoch_end);
    const bool keep = step * s->keep / t->total > (step - 1) * s->keep / t->total;
    const hkt_run_spent until_now = spent(t);
    const bool due = s->save_every > 0 ? step % s->save_every == 0 : eval;
    if (eval)
        HKT_TRY(validate(t));
    if (keep)
        HKT_TRY(hkt_run_keep(&t->run));
    if (end || ((due || stop) && t->run.at.exploded == 0))
        HKT_TRY(hkt_run_save(&t->run, &until_now));
    if (eval)
        HKT_TRY(hkt_run_publish(&t->run));
    if (stop)
        return hkt_fail(HKT_ESYSTEM,
                        "interrupted after step %zu of %zu, saved at step %zu: the same command with "
                        "--resume continues",
                        step, t->total, t->run.saved_step);
    return HKT_OK;
}

static hkt_status train(trainer *t)
{
    t->start = hkt_now();
    while (t->run.at.step < (double)t->total) {
        HKT_TRY(train_step(t));
        HKT_TRY(after_step(t));
        forecast(t);
        show(t, false);
    }
    return HKT_OK;
}

static hkt_status finish(trainer *t, hkt_train_result *out)
{
    const hkt_run *run = &t->run;
    const hkt_run_row *last = &run->rows[run->n_rows - 1]; /* there is one: the last step validates */
    *out = (hkt_train_result){.steps = t->total,
                              .best_val_accuracy = run->at.best_accuracy,
                              .best_step = (size_t)run->at.best_step,
                              .last_val_accuracy = last->val_accuracy,
                              .last_val_loss = last->val_loss,
                              .seconds = last->seconds,
                              .cpu_seconds = t->first_step == t->total ? run->at.cpu_seconds : spent(t).cpu_seconds,
                              .peak_bytes = t->first_step == t->total ? run->at.peak_bytes : spent(t).peak_bytes,
                              .parameters = t->layout->n_weights,
                              .was_complete = t->first_step == t->total};
    for (size_t i = 0; i < run->n_rows; i++)
        out->tokens_per_s += run->rows[i].tokens_per_s / (double)run->n_rows;
    HKT_TRY(hkt_record_result(run->record, out));
    return hkt_run_write_record(run);
}

hkt_status hkt_train_run(const hkt_train_spec *spec, const hkt_provenance *how, hkt_train_result *out)
{
    trainer t = {.spec = spec};
    if (spec->steps == 0 && spec->epochs == 0)
        return hkt_fail(HKT_EUSAGE, "expected steps or epochs of at least 1, found neither");
    hkt_status status = trainer_open(&t, how);
    if (status == HKT_OK)
        status = train(&t);
    hkt_progress_clear();
    if (status == HKT_OK)
        status = finish(&t, out);
    trainer_close(&t);
    return status;
}

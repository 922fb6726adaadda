#include "train/evaluate.h"

#include <math.h>

#include "base/mem.h"
#include "base/progress.h"

static size_t first_largest(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

typedef struct {
    hkt_batch_buffer buffer;
    hkt_net_f32 *net;
    size_t *index; /* [n]: the data set in its own order */
    float *logits; /* [max_seqs, C] */
} workspace;

static void workspace_destroy(workspace *w)
{
    hkt_batch_buffer_destroy(&w->buffer);
    hkt_net_destroy_f32(w->net);
    hkt_free(w->index);
    hkt_free(w->logits);
}

static hkt_status workspace_create(workspace *w, const hkt_layout *layout, const hkt_dataset *data, size_t batch_tokens)
{
    HKT_TRY(hkt_batch_buffer_create(&w->buffer, data, batch_tokens));
    HKT_TRY(hkt_net_create_f32(&w->net, layout, w->buffer.max_tokens, w->buffer.max_seqs, false, false));
    HKT_TRY(HKT_NEW(&w->index, data->n));
    for (size_t i = 0; i < data->n; i++)
        w->index[i] = i;
    return HKT_NEW(&w->logits, w->buffer.max_seqs * layout->config.classes);
}

/* Adds the losses and counts the predictions of one batch, whose first sequence is number `first`: sequence by
 * sequence, so that it does not matter how they are divided into batches. */
static void count_batch(const workspace *w, const hkt_batch *batch, size_t classes, size_t first, hkt_evaluation *out,
                        size_t *confusion, unsigned char *correct)
{
    for (size_t b = 0; b < batch->n_seq; b++) {
        size_t guess = first_largest(w->logits + b * classes, classes), label = (size_t)batch->labels[b];
        out->loss += hkt_net_loss_f32(classes, w->logits + b * classes, label);
        out->correct += guess == label;
        out->tokens += batch->length[b];
        if (confusion)
            confusion[label * classes + guess]++;
        if (correct)
            correct[first + b] = guess == label;
    }
}

hkt_status hkt_evaluate(const hkt_layout *layout, const float *params, const hkt_dataset *data, size_t batch_tokens,
                        const hkt_intervention *iv, hkt_evaluation *out, size_t *confusion, unsigned char *correct)
{
    const size_t C = layout->config.classes;
    const double start = hkt_now();
    workspace w = {0};
    hkt_status status;
    *out = (hkt_evaluation){.n = data->n};
    for (size_t i = 0; confusion && i < C * C; i++)
        confusion[i] = 0;
    HKT_TRY_GOTO(status, done, workspace_create(&w, layout, data, batch_tokens));
    for (size_t first = 0; first < data->n;) {
        hkt_batch batch;
        size_t taken = hkt_batch_pack(data, w.index, first, data->n, batch_tokens, w.buffer.max_seqs, w.buffer.tokens,
                                      w.buffer.lengths, w.buffer.labels, &batch);
        HKT_TRY_GOTO(status, done, hkt_net_forward_f32(w.net, params, &batch, NULL, iv, w.logits, NULL));
        count_batch(&w, &batch, C, first, out, confusion, correct);
        first += taken;
        hkt_progress_part(start, first, data->n, "evaluation: sequence %zu of %zu", first, data->n);
    }
    out->accuracy = (double)out->correct / (double)out->n;
    out->loss /= (double)out->n;
    out->seconds = hkt_now() - start;
done:
    hkt_progress_clear();
    workspace_destroy(&w);
    return status;
}

hkt_status hkt_evaluate_check(const hkt_config *config, const hkt_dataset *data, const char *what)
{
    if (data->vocab != config->vocab || data->classes != config->classes)
        return hkt_fail(HKT_EINPUT, "%s: expected a vocabulary of %zu and %zu classes (task '%s'), found %zu and %zu",
                        what, data->vocab, data->classes, data->task, config->vocab, config->classes);
    return HKT_OK;
}

void hkt_wilson(size_t k, size_t n, double *low, double *high)
{
    const double z = 1.959963984540054; /* 97.5 % point of the standard normal law */
    const double N = (double)n, p = (double)k / N, z2 = z * z;
    const double centre = (p + z2 / (2 * N)) / (1 + z2 / N);
    const double half = z / (1 + z2 / N) * sqrt(p * (1 - p) / N + z2 / (4 * N * N));
    *low = k == 0 ? 0 : centre - half;
    *high = k == n ? 1 : centre + half;
}

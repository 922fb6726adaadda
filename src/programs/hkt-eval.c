/* hkt-eval - what a trained model answers: on a split of a data set, or on a batch from a safetensors file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/progress.h"
#include "base/provenance.h"
#include "base/start.h"
#include "base/tsv.h"
#include "data/dataset.h"
#include "model/checkpoint.h"
#include "num/blas.h"
#include "num/resources.h"
#include "train/apply.h"
#include "train/evaluate.h"
#include "train/input.h"

typedef struct {
    const char *checkpoint, *task, *data, *split, *json, *sequences;
    const char *input, *logits, *grads, *precision;
    size_t batch_tokens, threads;
} options;

#define EPILOG                                                                                                         \
    "Examples:\n"                                                                                                      \
    "  hkt-eval --checkpoint run/best.safetensors --data data --split test\n"                                          \
    "  hkt-eval --checkpoint F --input G --logits logits.npy --grads grads.safetensors --precision f64\n"              \
    "Exit status: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 system failure."

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Options of the other mode, outputs that would overwrite an input or each other. */
static hkt_status check(const hkt_cli *cli, const options *o)
{
    const hkt_file_option in[] = {{"checkpoint", o->checkpoint}, {"input", o->input}, {"data", o->data}},
                          out[] = {{"logits", o->logits},
                                   {"grads", o->grads},
                                   {"json", o->json},
                                   {"sequences", o->sequences}};
    HKT_TRY(hkt_opt_require("checkpoint", o->checkpoint));
    if (!o->data == !o->input)
        return hkt_fail(HKT_EUSAGE, "expected one of '--data' and '--input', found %s", o->data ? "both" : "none");
    HKT_TRY(o->data ? hkt_opt_refuse(cli, "logits|grads|precision", "needs '--input'")
                    : hkt_opt_refuse(cli, "split|task|batch-tokens|json|sequences", "needs '--data'"));
    return hkt_opt_check_outputs(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in);
}

static hkt_status parse(options *o, int argc, char **argv, hkt_parse_action *action)
{
    const hkt_opt opts[] = {
        {"checkpoint", HKT_OPT_STRING, &o->checkpoint, "FILE", "model to evaluate", 0, 0},
        {"data", HKT_OPT_STRING, &o->data, "DIR", "directory of the splits", 0, 0},
        {"split", HKT_OPT_CHOICE, &o->split, "train|val|test", "split to evaluate on", 0, 0},
        {"task", HKT_OPT_CHOICE, &o->task, HKT_TASKS, "what the data are; without it what their files say", 0, 0},
        {"batch-tokens", HKT_OPT_SIZE, &o->batch_tokens, "N", "most tokens computed at once", 1, HUGE_VAL},
        {"json", HKT_OPT_STRING, &o->json, "FILE", "results as JSON; '-': instead of the text", 0, 0},
        {"sequences", HKT_OPT_STRING, &o->sequences, "FILE",
         "a row for each sequence: length, label, right or not; TSV", 0, 0},
        {"input", HKT_OPT_STRING, &o->input, "FILE", "batch of input.tokens, .lengths and .labels", 0, 0},
        {"logits", HKT_OPT_STRING, &o->logits, "FILE", "writes the logits of --input as .npy; '-': instead of the text",
         0, 0},
        {"grads", HKT_OPT_STRING, &o->grads, "FILE", "writes loss and gradients of --input, safetensors or '-'", 0, 0},
        {"precision", HKT_OPT_CHOICE, &o->precision, "f32|f64", "precision of --input's computation", 0, 0},
        {"threads", HKT_OPT_SIZE, &o->threads, "N", "0: all processors", 0, 1024},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
    };
    bool given[sizeof opts / sizeof *opts] = {false};
    const hkt_cli cli = {.program = "hkt-eval",
                         .synopsis = "--checkpoint FILE (--data DIR --split SPLIT | --input FILE) [options]",
                         .summary = "Evaluates a model on a split of a data set, or on a batch from a file.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .given = given};
    HKT_TRY(hkt_opt_parse(&cli, argc, argv, action, NULL, NULL, NULL));
    return *action == HKT_PARSE_EXIT ? HKT_OK : check(&cli, o);
}

/* --- a batch from a file ------------------------------------------------------------------------------------------ */

static hkt_status apply(const options *o, const hkt_checkpoint *model)
{
    hkt_safetensors *file;
    hkt_input input;
    double loss = 0;
    HKT_TRY(hkt_safetensors_read(&file, o->input));
    hkt_status status = hkt_input_read(&input, file, &model->layout->config);
    hkt_safetensors_free(file);
    HKT_TRY(status);
    status = strcmp(o->precision, "f64") == 0 ? hkt_apply_f64(model, &input.batch, o->logits, o->grads, &loss)
                                              : hkt_apply_f32(model, &input.batch, o->logits, o->grads, &loss);
    if (status == HKT_OK && !is_stdout(o->logits) && !is_stdout(o->grads))
        printf("sequences\t%zu\nloss\t%.17g\n", input.n_seq, loss);
    hkt_input_free(&input);
    return status;
}

/* --- a split of a data set ---------------------------------------------------------------------------------------- */

typedef struct {
    hkt_evaluation e;
    double low, high, majority;
    char checksum[20]; /* of the split, hkt_dataset_checksum */
    const char *task;
    size_t classes;
    size_t *confusion;    /* [C, C], row = label, column = prediction */
    unsigned char *right; /* [n], or NULL when nobody asks */
} report;

static void print_report(const options *o, const report *r)
{
    const size_t C = r->classes;
    printf("%s: %s split '%s', %zu sequences, %zu tokens\n", o->checkpoint, r->task, o->split, r->e.n, r->e.tokens);
    printf("accuracy           %.4f  (%zu right; 95 %% interval %.4f to %.4f)\n", r->e.accuracy, r->e.correct, r->low,
           r->high);
    printf("loss               %.4f\n", r->e.loss);
    printf("majority baseline  %.4f\n\n", r->majority);
    printf("confusion matrix (row: label, column: prediction)\n      ");
    for (size_t j = 0; j < C; j++)
        printf(" %6zu", j);
    for (size_t i = 0; i < C; i++) {
        printf("\n%6zu", i);
        for (size_t j = 0; j < C; j++)
            printf(" %6zu", r->confusion[i * C + j]);
    }
    printf("\n");
}

static json_t *confusion_json(const report *r)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < r->classes; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < r->classes; j++)
            json_array_append_new(row, json_integer((json_int_t)r->confusion[i * r->classes + j]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static hkt_status write_json(const options *o, const report *r, const hkt_provenance *how)
{
    json_t *j = json_pack(
        "{s:s, s:o, s:o, s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o}", "format", "hkt-eval/1",
        "provenance", hkt_provenance_json(how), "checkpoint", hkt_json_name(o->checkpoint), "task", r->task, "data_dir",
        hkt_json_name(o->data), "split", o->split, "checksum", r->checksum, "sequences", (json_int_t)r->e.n, "tokens",
        (json_int_t)r->e.tokens, "correct", (json_int_t)r->e.correct, "accuracy", r->e.accuracy, "accuracy_low", r->low,
        "accuracy_high", r->high, "loss", r->e.loss, "majority", r->majority, "confusion", confusion_json(r));
    if (!j)
        return hkt_fail(HKT_ESYSTEM, "cannot make the JSON report: out of memory");
    hkt_status status = hkt_json_write(j, o->json);
    json_decref(j);
    return status;
}

/* In the order of the split, so that the rows of two models are of the same sequences. */
static hkt_status write_sequences(const options *o, const hkt_dataset *data, const report *r, const hkt_provenance *how)
{
    hkt_tsv *t;
    HKT_TRY(hkt_tsv_open(&t, o->sequences, how, "sequence\tlength\tlabel\tright"));
    for (size_t i = 0; i < data->n; i++) {
        hkt_tsv_size(t, i);
        hkt_tsv_size(t, data->offset[i + 1] - data->offset[i]);
        hkt_tsv_size(t, (size_t)data->labels[i]);
        hkt_tsv_size(t, r->right[i]);
        hkt_tsv_end(t);
    }
    return hkt_tsv_commit(t);
}

static hkt_status evaluate(const options *o, const hkt_checkpoint *model, const hkt_dataset *data, report *r)
{
    float *params;
    HKT_TRY(hkt_evaluate_check(&model->layout->config, data, o->checkpoint));
    r->task = data->task;
    r->classes = data->classes;
    r->majority = hkt_dataset_majority(data);
    snprintf(r->checksum, sizeof r->checksum, "%016" PRIx64, hkt_dataset_checksum(data, 0));
    HKT_TRY(HKT_NEW(&r->confusion, r->classes * r->classes));
    HKT_TRY(HKT_NEW(&params, model->layout->total));
    hkt_params_to_f32(model->layout, model->params, params);
    hkt_status status = o->sequences ? HKT_NEW(&r->right, data->n) : HKT_OK;
    if (status == HKT_OK)
        status = hkt_evaluate(model->layout, params, data, o->batch_tokens, NULL, &r->e, r->confusion, r->right);
    hkt_free(params);
    if (status == HKT_OK)
        hkt_wilson(r->e.correct, r->e.n, &r->low, &r->high);
    return status;
}

static hkt_status evaluate_split(const options *o, const hkt_checkpoint *model, const hkt_provenance *how)
{
    hkt_dataset data = {0};
    report r = {.confusion = NULL};
    hkt_status status = hkt_dataset_read(&data, o->task, o->data, o->split, model->layout->config.max_len);
    if (status == HKT_OK && data.cut > 0)
        hkt_note("cut to %zu tokens: %zu of %zu sequences", data.max_len, data.cut, data.n);
    if (status == HKT_OK)
        status = evaluate(o, model, &data, &r);
    if (status == HKT_OK && o->sequences)
        status = write_sequences(o, &data, &r, how);
    if (status == HKT_OK && o->json)
        status = write_json(o, &r, how);
    if (status == HKT_OK && !is_stdout(o->json))
        print_report(o, &r);
    hkt_free(r.confusion);
    hkt_free(r.right);
    hkt_dataset_free(&data);
    return status;
}

static hkt_status run(int argc, char **argv)
{
    hkt_provenance how = hkt_provenance_make(argc, argv);
    hkt_parse_action action = HKT_PARSE_RUN;
    options o = {.split = "test", .precision = "f32", .batch_tokens = 16384};
    hkt_checkpoint model;
    HKT_TRY(parse(&o, argc, argv, &action));
    if (action == HKT_PARSE_EXIT)
        return HKT_OK;
    how.threads = hkt_set_threads(o.threads);
    HKT_TRY(hkt_resources_check());
    how.blas_core = hkt_blas_core();
    HKT_TRY(hkt_checkpoint_read(&model, o.checkpoint));
    hkt_status status = o.input ? apply(&o, &model) : evaluate_split(&o, &model, &how);
    hkt_checkpoint_free(&model);
    return status;
}

int main(int argc, char **argv)
{
    hkt_start();
    hkt_num_init(argv);
    hkt_status status = run(argc, argv);
    if (status == HKT_OK)
        status = hkt_stdout_flush();
    return hkt_report_failure("hkt-eval", status);
}

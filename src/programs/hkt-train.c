/* hkt-train - trains a Hierarchical Kernel Transformer, or multi-head attention, on a task. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/progress.h"
#include "base/provenance.h"
#include "base/rng.h"
#include "base/start.h"
#include "base/status.h"
#include "base/terminal.h"
#include "num/blas.h"
#include "num/resources.h"
#include "train/trainer.h"

/* Far more than anyone can train, and exact in a double (the state's numbers). */
#define MAX_EPOCHS 1e6
#define MAX_STEPS  1e12

static volatile sig_atomic_t stop_requested, stop_signal;

static void request_stop(int sig)
{
    /* Asked twice at the terminal: at once. SIGTERM may come twice by itself, from a script and to its group. */
    if (stop_requested && sig == SIGINT) {
        hkt_out_remove_all();
        signal(sig, SIG_DFL);
        raise(sig);
    }
    stop_requested = 1;
    stop_signal = sig;
}

/* The run is saved at the next update. A lost terminal (SIGHUP) too, unless nohup has it ignored. */
static void stop_on_signals(void)
{
    struct sigaction act = {.sa_handler = request_stop}, hup;
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &act, NULL);
}

typedef struct {
    const char *model, *fusion, *train;
    size_t threads;
    bool attention;
    hkt_train_spec spec;
} options;

static options default_options(void)
{
    return (options){.model = "hkt",
                     .fusion = "dynamic",
                     .attention = true,
                     .spec = {.config = hkt_config_default(),
                              .seed = HKT_DEFAULT_SEED,
                              .epochs = 10,
                              .batch_tokens = 16384,
                              .lr = 1e-3,
                              .final_lr_fraction = 0.05,
                              .warmup = 100,
                              .clip = 1,
                              .dropout = 0.1,
                              .adamw = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01},
                              .stop = &stop_requested}};
}

#define EPILOG                                                                                                         \
    "Example:\n"                                                                                                       \
    "  hkt-data listops --out data\n"                                                                                  \
    "  hkt-train --data data --model hkt --epochs 10 --out run\n"                                                      \
    "Exit status: 0 done, 2 usage, 3 bad input, 4 diverged, 5 system failure,\n"                                       \
    "128 + N interrupted by signal N (130: SIGINT)."

/* --train FILE is --data FILE for the one task whose splits may come from one file. */
static hkt_status choose_data(options *o)
{
    hkt_train_spec *s = &o->spec;
    if (!o->train)
        return hkt_opt_require("data", s->data_dir);
    if (s->data_dir)
        return hkt_fail(HKT_EUSAGE, "expected one of '--data' and '--train', found both");
    if (s->task && strcmp(s->task, "text") != 0)
        return hkt_fail(HKT_EUSAGE, "option '--train' needs '--task text', found task '%s'", s->task);
    s->task = "text";
    s->data_dir = o->train;
    return HKT_OK;
}

/* Options of the command line that this model does not have. A config file may serve several models. */
static hkt_status check_unused(const hkt_cli *cli, const options *o)
{
    const hkt_train_spec *s = &o->spec;
    if (strcmp(o->model, "mha") == 0)
        HKT_TRY(hkt_opt_refuse(
            cli, "levels|stride|conv-width|fusion|hybrid|attention|fixed-downsampling|first-attention|first-level0",
            "has no effect with '--model mha'"));
    if (s->config.levels == 1)
        HKT_TRY(hkt_opt_refuse(cli, "stride|fusion", "has no effect with one level"));
    if (!s->config.hybrid)
        HKT_TRY(hkt_opt_refuse(cli, "conv-width", "has no effect with '--no-hybrid'"));
    if (s->steps > 0 && hkt_opt_given(cli, "steps"))
        HKT_TRY(hkt_opt_refuse(cli, "epochs", "has no effect with '--steps'"));
    return HKT_OK;
}

/* Options that do not go together, wherever they come from. */
static hkt_status check_together(const options *o)
{
    const hkt_train_spec *s = &o->spec;
    const hkt_config *c = &s->config;
    if (c->d_model % c->heads != 0)
        return hkt_fail(HKT_EUSAGE, "option '--heads': expected a divisor of '--d-model' %zu, found %zu", c->d_model,
                        c->heads);
    if (s->ablation.fixed_downsampling && c->levels < 2)
        return hkt_fail(HKT_EUSAGE, "option '--fixed-downsampling': expected at least 2 levels, found %zu", c->levels);
    if (s->ablation.no_attention && !c->hybrid)
        return hkt_fail(HKT_EUSAGE, "option '--no-attention': expected a hybrid model, whose convolution is left");
    if (s->ablation.no_attention && s->first.attention > 0)
        return hkt_fail(HKT_EUSAGE, "options '--first-attention' and '--no-attention': expected one, found both");
    return hkt_first_shares_check(&s->first, c);
}

static hkt_status parse(options *o, int argc, char **argv, hkt_parse_action *action)
{
    hkt_train_spec *s = &o->spec;
    hkt_config *c = &s->config;
    const hkt_opt opts[] = {
        {"task", HKT_OPT_CHOICE, &s->task, HKT_TASKS, "what the data are; without it what their files say", 0, 0},
        {"data", HKT_OPT_STRING, &s->data_dir, "DIR", "directory of the splits", 0, 0},
        {"train", HKT_OPT_STRING, &o->train, "FILE", "text: one file of label<TAB>text, instead of --data", 0, 0},
        {"out", HKT_OPT_STRING, &s->out_dir, "RUN", "directory of the run", 0, 0},
        {"model", HKT_OPT_CHOICE, &o->model, "hkt|mha", "mha: one level, no convolution", 0, 0},
        {"levels", HKT_OPT_SIZE, &c->levels, "L", "levels of the hierarchy", 1, HKT_MAX_LEVELS},
        {"stride", HKT_OPT_SIZE, &c->stride, "S", "tokens of a level per token of the next", 2, HKT_MAX_WIDTH},
        {"d-model", HKT_OPT_SIZE, &c->d_model, "D", "model width", 1, HKT_MAX_WIDTH},
        {"heads", HKT_OPT_SIZE, &c->heads, "H", "heads of a layer", 1, HKT_MAX_WIDTH},
        {"layers", HKT_OPT_SIZE, &c->layers, "N", "layers", 1, HKT_MAX_LAYERS},
        {"ffn-mult", HKT_OPT_SIZE, &c->ffn_mult, "N", "feed-forward width over model width", 1, HKT_MAX_FFN_MULT},
        {"conv-width", HKT_OPT_SIZE, &c->conv_width, "W", "width of the causal convolution", 1, HKT_MAX_WIDTH},
        {"fusion", HKT_OPT_CHOICE, &o->fusion, "dynamic|static|score", "how levels are joined", 0, 0},
        {"hybrid", HKT_OPT_FLAG, &c->hybrid, NULL, "mix attention and convolution", 0, 0},
        {"causal", HKT_OPT_FLAG, &c->causal, NULL, "attend to the past only", 0, 0},
        {"attention", HKT_OPT_FLAG, &o->attention, NULL, "--no-attention: the convolution alone mixes tokens", 0, 0},
        {"fixed-downsampling", HKT_OPT_FLAG, &s->ablation.fixed_downsampling, NULL,
         "levels stay means over the stride, untrained", 0, 0},
        {"first-attention", HKT_OPT_REAL, &s->first.attention, "R", "beta of the first weights; 0: a half", 0, 0.999},
        {"first-level0", HKT_OPT_REAL, &s->first.level0, "R", "lambda_0 of the first weights; 0: 1/L", 0, 0.999},
        {"max-len", HKT_OPT_SIZE, &c->max_len, "T", "longest sequence; 0: the longest of training and validation", 0,
         HKT_MAX_COUNT},
        {"epochs", HKT_OPT_SIZE, &s->epochs, "N", "passes over the training split", 1, MAX_EPOCHS},
        {"steps", HKT_OPT_SIZE, &s->steps, "N", "updates; 0: as many as --epochs needs", 0, MAX_STEPS},
        {"batch-tokens", HKT_OPT_SIZE, &s->batch_tokens, "N", "most tokens of an update", 1, MAX_STEPS},
        {"lr", HKT_OPT_REAL, &s->lr, "R", "peak learning rate", 0, HUGE_VAL},
        {"final-lr", HKT_OPT_REAL, &s->final_lr_fraction, "R", "last learning rate over the peak", 0, 1},
        {"warmup", HKT_OPT_SIZE, &s->warmup, "N", "updates until the peak learning rate", 0, MAX_STEPS},
        {"clip", HKT_OPT_REAL, &s->clip, "R", "largest gradient norm; 0: no limit", 0, HUGE_VAL},
        {"dropout", HKT_OPT_REAL, &s->dropout, "R", "dropout rate", 0, 0.99},
        {"weight-decay", HKT_OPT_REAL, &s->adamw.weight_decay, "R", "decoupled weight decay", 0, HUGE_VAL},
        {"eval-every", HKT_OPT_SIZE, &s->eval_every, "N", "updates between validations; 0: an epoch", 0, MAX_STEPS},
        {"save-every", HKT_OPT_SIZE, &s->save_every, "N", "updates between saved states; 0: at validations", 0,
         MAX_STEPS},
        {"keep-checkpoints", HKT_OPT_SIZE, &s->keep, "N", "keep the first weights and N later ones", 0, 1 << 20},
        {"seed", HKT_OPT_U64, &s->seed, "S", "of the first weights, the order and dropout", 0, 0},
        {"threads", HKT_OPT_SIZE, &o->threads, "N", "0: all processors", 0, 1024},
        {"resume", HKT_OPT_FLAG, &s->resume, NULL, "continue the run in --out", 0, 0},
        {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0},
    };
    bool given[sizeof opts / sizeof *opts] = {false};
    const hkt_cli cli = {.program = "hkt-train",
                         .synopsis = "--data DIR --out RUN [options]",
                         .summary = "Trains a Hierarchical Kernel Transformer, or multi-head attention, on a task.",
                         .epilog = EPILOG,
                         .opts = opts,
                         .config = true,
                         .given = given};
    HKT_TRY(hkt_opt_parse(&cli, argc, argv, action, NULL, NULL, NULL));
    if (*action == HKT_PARSE_EXIT)
        return HKT_OK;
    HKT_TRY(choose_data(o));
    s->ablation.no_attention = !o->attention;
    HKT_TRY(hkt_opt_require("out", s->out_dir));
    HKT_TRY(check_unused(&cli, o));
    if (strcmp(o->model, "mha") == 0) {
        c->levels = 1;
        c->hybrid = false;
        o->fusion = "static";
        s->first = (hkt_first_shares){0};
    }
    HKT_TRY(check_together(o));
    return hkt_fusion_parse(&c->fusion, o->fusion);
}

static void print_result(const hkt_train_result *r)
{
    printf("steps\t%zu\nparameters\t%zu\nbest_val_accuracy\t%.6g\nbest_step\t%zu\nlast_val_accuracy\t%.6g\n"
           "last_val_loss\t%.6g\nseconds\t%.2f\ntokens_per_s\t%.0f\ncpu_seconds\t%.3f\npeak_bytes\t%.0f\n",
           r->steps, r->parameters, r->best_val_accuracy, r->best_step, r->last_val_accuracy, r->last_val_loss,
           r->seconds, r->tokens_per_s, r->cpu_seconds, r->peak_bytes);
}

static hkt_status say_next(const hkt_train_spec *spec)
{
    char *best;
    HKT_TRY(hkt_path_join(&best, spec->out_dir, "best.safetensors"));
    hkt_next((const char *const[]){"hkt-eval", "--checkpoint", best, "--data", spec->data_dir, "--task", spec->task,
                                   "--split", "test", NULL});
    hkt_next((const char *const[]){"hkt-verify", "all", "--quick", "--checkpoint", best, "--data", spec->data_dir,
                                   "--task", spec->task, NULL});
    hkt_free(best);
    return HKT_OK;
}

static hkt_status run(int argc, char **argv)
{
    hkt_provenance how = hkt_provenance_make(argc, argv);
    hkt_parse_action action = HKT_PARSE_RUN;
    options o = default_options();
    hkt_train_result result;
    HKT_TRY(parse(&o, argc, argv, &action));
    if (action == HKT_PARSE_EXIT)
        return HKT_OK;
    how.seed = o.spec.seed;
    how.threads = hkt_set_threads(o.threads);
    HKT_TRY(hkt_resources_check());
    how.blas_core = hkt_blas_core();
    HKT_TRY(hkt_train_run(&o.spec, &how, &result));
    if (result.was_complete)
        hkt_note("%s: the run is complete, nothing left to do", o.spec.out_dir);
    print_result(&result);
    return say_next(&o.spec);
}

int main(int argc, char **argv)
{
    stop_on_signals(); /* hkt_start leaves what is there */
    hkt_start();
    hkt_num_init(argv);
    hkt_status status = run(argc, argv);
    if (status == HKT_OK)
        status = hkt_stdout_flush();
    int code = hkt_report_failure("hkt-train", status);
    return status == HKT_ESYSTEM && stop_signal ? 128 + stop_signal : code; /* as of one that the signal ends */
}

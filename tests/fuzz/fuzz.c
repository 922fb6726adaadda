/* fuzz.c - every reader of bytes from outside, for libFuzzer (make fuzz). The program's name, fuzz_READER, says which.
 * Input is a file in memory: nothing is written to a disk. A reader may refuse anything; it must not crash, leak, hang
 * or leave memory allocated, and what it accepts can be used. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/claims/accuracy/runs.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/opt.h"
#include "base/safetensors.h"
#include "base/tsv.h"
#include "data/archive.h"
#include "data/imdb.h"
#include "data/listops.h"
#include "data/text.h"
#include "foreign/foreign.h"
#include "foreign/stored.h"
#include "model/checkpoint.h"
#include "train/input.h"
#include "train/run.h"
#include "train/state.h"

static int input = -1;          /* the file in memory */
static char input_path[64];     /* its name */
static char dir[64];            /* a directory whose train.safetensors and runs.tsv are that file */
static char certificate[2][80]; /* in it: name that file as tensors `a`, as f and as f.npy */
static char bin[80];            /* the same file, as dir/model.bin */
static char stored[80];         /* dir/stored: a file of queries and keys in order */
static char foreign_dir[80];    /* dir/model, whose config.json is that file, beside a model.safetensors in order */

/* --- readers ------------------------------------------------------------------------------------------------------ */

static void read_safetensors(void)
{
    hkt_safetensors *f;
    if (hkt_safetensors_read(&f, input_path) != HKT_OK)
        return;
    for (size_t i = 0; i < hkt_safetensors_count(f); i++) {
        const hkt_tensor *t = hkt_safetensors_at(f, i);
        double *d = NULL;
        int32_t *w = NULL;
        if (hkt_safetensors_find(f, t->name) != t)
            __builtin_trap();
        if (HKT_NEW(&d, t->count) == HKT_OK && HKT_NEW(&w, t->count) == HKT_OK && hkt_tensor_to_f64(t, d) != HKT_OK)
            (void)hkt_tensor_to_i32(t, w);
        hkt_free(d);
        hkt_free(w);
    }
    hkt_safetensors_free(f);
}

static void read_checkpoint(void)
{
    hkt_checkpoint c;
    hkt_safetensors *f;
    hkt_input in;
    if (hkt_checkpoint_read(&c, input_path) != HKT_OK)
        return;
    if (hkt_safetensors_read(&f, input_path) == HKT_OK) { /* it may hold a batch, too */
        if (hkt_input_read(&in, f, &c.layout->config) == HKT_OK)
            hkt_input_free(&in);
        hkt_safetensors_free(f);
    }
    hkt_checkpoint_free(&c);
}

static void read_state(void)
{
    const hkt_config config = {.vocab = 15,
                               .classes = 10,
                               .max_len = 20,
                               .d_model = 4,
                               .heads = 1,
                               .layers = 1,
                               .levels = 1,
                               .stride = 2,
                               .conv_width = 1,
                               .ffn_mult = 1,
                               .fusion = HKT_FUSION_STATIC,
                               .causal = true};
    hkt_layout *layout;
    hkt_run run = {.state_path = input_path, .dir = {.path = NULL}};
    if (hkt_layout_create(&layout, &config) != HKT_OK)
        return;
    run.layout = layout;
    run.record = json_pack("{s:{}}", "settings");
    if (HKT_NEW(&run.params, layout->total) == HKT_OK && HKT_NEW(&run.best, layout->total) == HKT_OK &&
        hkt_adamw_create(&run.adamw, layout, &(hkt_adamw_spec){.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}) ==
            HKT_OK)
        (void)hkt_state_read(&run);
    run.state_path = NULL; /* not its own */
    hkt_run_close(&run);
    hkt_layout_destroy(layout);
}

static void read_npy(void)
{
    size_t ndim, shape[HKT_MAX_DIMS];
    double *data;
    if (hkt_npy_read(input_path, &ndim, shape, &data) == HKT_OK)
        hkt_free(data);
}

static void read_tsv(void)
{
    hkt_table t;
    if (hkt_table_read(&t, input_path) == HKT_OK)
        hkt_table_free(&t);
}

static void read_json(void)
{
    json_t *value;
    size_t size;
    if (hkt_json_read(&value, input_path) != HKT_OK)
        return;
    (void)hkt_json_get_size(value, "steps", "fuzz", &size);
    json_decref(value);
}

static void read_ini(void)
{
    size_t n = 1;
    double x = 0;
    bool flag = false;
    const char *text = NULL, *choice = "hkt";
    hkt_opt_list list = {.count = 0};
    hkt_parse_action action;
    char program[] = "fuzz", config[] = "--config", *argv[] = {program, config, input_path, NULL};
    const hkt_opt opts[] = {{"steps", HKT_OPT_SIZE, &n, "N", "", 0, 1e6},
                            {"lr", HKT_OPT_REAL, &x, "R", "", 0, 1},
                            {"hybrid", HKT_OPT_FLAG, &flag, NULL, "", 0, 0},
                            {"data", HKT_OPT_STRING, &text, "DIR", "", 0, 0},
                            {"model", HKT_OPT_CHOICE, &choice, "hkt|mha", "", 0, 0},
                            {"checkpoint", HKT_OPT_LIST, &list, "FILE", "", 0, 0},
                            {NULL, HKT_OPT_FLAG, NULL, NULL, NULL, 0, 0}};
    const hkt_cli cli = {.program = program, .synopsis = "", .summary = "", .opts = opts, .config = true};
    (void)hkt_opt_parse(&cli, 3, argv, &action, NULL, NULL, NULL);
}

static void read_listops(void)
{
    hkt_dataset d;
    if (hkt_listops_read(&d, input_path, 0) == HKT_OK)
        hkt_dataset_free(&d);
}

static void read_text(void)
{
    hkt_dataset d;
    if (hkt_text_read(&d, input_path, HKT_TRAIN, 64) == HKT_OK)
        hkt_dataset_free(&d);
}

static void read_packed(void)
{
    hkt_dataset d;
    if (hkt_packed_read(&d, &hkt_imdb_format, dir, HKT_TRAIN, 64) == HKT_OK)
        hkt_dataset_free(&d);
}

static void read_archive(void)
{
    hkt_archive *a;
    const char *name;
    char bytes[4096];
    size_t got;
    if (hkt_archive_open(&a, input_path) != HKT_OK)
        return;
    while (hkt_archive_next(a, &name) == HKT_OK && name)
        if (hkt_archive_tail(name, 3) < name || hkt_archive_read(a, bytes, sizeof bytes, &got) != HKT_OK)
            break;
    hkt_archive_close(a);
}

/* The checker of certificates, with the input as a certificate, and as the data of one that names it twice. */
int hkt_check_main(int argc, char **argv);
#define main hkt_check_main
#include "programs/hkt-check.c"
#undef main
static void read_certificate(void)
{
    char *arguments[] = {input_path, certificate[0], certificate[0], certificate[1], NULL};
    (void)hkt_check_main(4, arguments);
}

static void read_runs(void)
{
    hkt_runs runs;
    if (hkt_runs_read(&runs, dir) != HKT_OK)
        return;
    for (size_t i = 0; i < runs.n; i++)
        if (!(runs.run[i].accuracy >= 0 && runs.run[i].accuracy <= 1) || runs.run[i].n == 0)
            __builtin_trap();
    hkt_runs_free(&runs);
}

/* The file as a map, as the configuration beside a good file, and as an index. */
static void read_foreign(void)
{
    const hkt_family *family;
    json_t *map;
    hkt_shards s = {.n = 0};
    if (hkt_foreign_map_read(&map, &family, input_path) == HKT_OK)
        json_decref(map);
    (void)hkt_shards_read_index(&s, input_path);
    hkt_shards_free(&s);
    hkt_foreign f;
    (void)hkt_foreign_open(&f, foreign_dir, NULL);
    hkt_foreign_close(&f);
}

static void read_llama2c(void)
{
    hkt_foreign f;
    hkt_foreign_layer layer = {.block = NULL};
    if (hkt_foreign_open(&f, bin, NULL) == HKT_OK && hkt_foreign_layer_create(&layer, &f.shape) == HKT_OK)
        for (size_t i = 0; i < f.shape.layers && hkt_foreign_layer_read(&f, i, &layer) == HKT_OK; i++)
            ;
    hkt_foreign_layer_free(&layer);
    hkt_foreign_close(&f);
}

/* What another program stored, as it is and beside a map: the file as one of queries and keys, and as a map of a good
 * one. */
static void read_stored_as(const char *path, const char *mask, const char *map)
{
    hkt_stored s;
    double *q = NULL, *k = NULL;
    if (hkt_stored_open(&s, &path, 1, mask, map) == HKT_OK && HKT_NEW(&q, hkt_stored_query_size(&s)) == HKT_OK &&
        HKT_NEW(&k, hkt_stored_key_size(&s)) == HKT_OK)
        for (size_t i = 0; i < s.layers * s.n && hkt_stored_read(&s, i / s.n, i % s.n, q, k) == HKT_OK; i++)
            ;
    hkt_free(q);
    hkt_free(k);
    hkt_stored_close(&s);
}

static void read_stored(void)
{
    read_stored_as(input_path, "causal", NULL);
    read_stored_as(stored, NULL, input_path);
}

/* Control: what the harness must notice. */
static void read_control(void)
{
    char *left;
    size_t size;
    (void)hkt_file_read(input_path, &left, &size); /* and not freed */
}

static const struct {
    const char *name;
    void (*read)(void);
} readers[] = {{"safetensors", read_safetensors},
               {"checkpoint", read_checkpoint},
               {"state", read_state},
               {"npy", read_npy},
               {"tsv", read_tsv},
               {"json", read_json},
               {"ini", read_ini},
               {"listops", read_listops},
               {"text", read_text},
               {"packed", read_packed},
               {"archive", read_archive},
               {"certificate", read_certificate},
               {"runs", read_runs},
               {"foreign", read_foreign},
               {"llama2c", read_llama2c},
               {"stored", read_stored},
               {"control", read_control}};
static void (*reader)(void);

/* --- libFuzzer ---------------------------------------------------------------------------------------------------- */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A llama of one layer, two heads and a width of 4 without its configuration. */
static int make_foreign(void)
{
    static const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const hkt_tensor_out tensors[] = {{"layers.0.self_attn.q_proj.weight", HKT_F32, 2, {4, 4}, ones},
                                      {"layers.0.self_attn.k_proj.weight", HKT_F32, 2, {4, 4}, ones}};
    char name[112];
    snprintf(bin, sizeof bin, "%s/model.bin", dir);
    snprintf(foreign_dir, sizeof foreign_dir, "%s/model", dir);
    if (symlink(input_path, bin) || mkdir(foreign_dir, 0700))
        return 1;
    snprintf(name, sizeof name, "%s/config.json", foreign_dir);
    if (symlink(input_path, name))
        return 1;
    snprintf(name, sizeof name, "%s/model.safetensors", foreign_dir);
    return hkt_safetensors_write(name, tensors, 2, NULL) != HKT_OK;
}

/* Two sequences of three tokens, one head of width 4. */
static int make_stored(void)
{
    static const float numbers[24] = {1, 2, 3, 4, 5};
    const hkt_tensor_out tensors[] = {{"q", HKT_F32, 4, {2, 1, 3, 4}, numbers},
                                      {"k", HKT_F32, 4, {2, 1, 3, 4}, numbers}};
    snprintf(stored, sizeof stored, "%s/stored", dir);
    return hkt_safetensors_write(stored, tensors, 2, NULL) != HKT_OK;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = strrchr((*argv)[0], '_');
    static const char *const names[] = {"train.safetensors", "runs.tsv"};
    char link[80];
    (void)argc;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (name && strcmp(name + 1, readers[i].name) == 0)
            reader = readers[i].read;
    input = memfd_create("fuzz", 0);
    snprintf(input_path, sizeof input_path, "/proc/self/fd/%d", input);
    snprintf(dir, sizeof dir, "/tmp/hkt-fuzz-XXXXXX");
    if (!reader || input < 0 || !mkdtemp(dir))
        hkt_abort(__FILE__, __LINE__, "no such reader, or no place for its input");
    for (size_t i = 0; i < 2; i++) {
        char data_file[80];
        snprintf(data_file, sizeof data_file, "%s/f%s", dir, i ? ".npy" : "");
        snprintf(certificate[i], sizeof certificate[i], "%s/%zu.cert", dir, i);
        FILE *f = fopen(certificate[i], "w");
        if (!f || symlink(input_path, data_file) != 0)
            return -1;
        fprintf(f, "hkt-certificate 1\nmatrix a f%s a 0\nclaim lowest 0\nend\n", i ? ".npy" : "");
        fclose(f);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(link, sizeof link, "%s/%s", dir, names[i]);
        if (symlink(input_path, link) != 0)
            return 1;
    }
    return make_foreign() || make_stored();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = hkt_mem_live();
    if (ftruncate(input, 0) != 0 || pwrite(input, data, size, 0) != (ssize_t)size)
        return -1;
    reader();
    if (hkt_mem_live() != live)
        hkt_abort(__FILE__, __LINE__, "a reader left memory allocated");
    return 0;
}

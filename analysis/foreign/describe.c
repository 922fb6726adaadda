/* What was recognised of a model of another kind, and what of it is not looked at; and the families there are. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/measure.h"
#include "base/mem.h"
#include "foreign/foreign.h"

static void end_row(hkt_tsv *out, const char *text, const char *unit)
{
    hkt_tsv_str(out, text);
    hkt_tsv_str(out, unit);
    hkt_tsv_str(out, "ok");
    hkt_tsv_end(out);
}

static void write_text(hkt_tsv *out, const char *quantity, const char *text)
{
    hkt_tsv_str(out, quantity);
    hkt_tsv_real(out, (double)NAN);
    end_row(out, text, NULL);
}

static void write_count(hkt_tsv *out, const char *quantity, size_t value)
{
    hkt_tsv_str(out, quantity);
    hkt_tsv_size(out, value);
    end_row(out, NULL, "1");
}

static void write_real(hkt_tsv *out, const char *quantity, double value)
{
    hkt_tsv_str(out, quantity);
    hkt_tsv_real(out, value);
    end_row(out, NULL, "1");
}

/* out [n]: the name with {n} for every number in it. */
static void generalise(const char *name, char *out, size_t n)
{
    size_t at = 0;
    while (*name && at + 4 < n) {
        if (!isdigit((unsigned char)*name)) {
            out[at++] = *name++;
            continue;
        }
        memcpy(out + at, "{n}", 3);
        at += 3;
        while (isdigit((unsigned char)*name))
            name++;
    }
    out[at] = 0;
}

enum { NAME = 192 };
typedef char tensor_name[NAME];

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Tensors that are used, or are not, by name, those that differ in numbers only together. */
static hkt_status write_tensors(hkt_tsv *out, const hkt_foreign *f, bool used)
{
    tensor_name *names = NULL;
    size_t n = 0;
    HKT_TRY(hkt_alloc((void **)&names, f->shards.n, sizeof *names, NULL));
    for (size_t i = 0; i < f->shards.n; i++)
        if (f->used[i] == used)
            generalise(f->shards.tensor[i]->name, names[n++], NAME);
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && strcmp(names[i], names[i + same]) == 0;)
            same++;
        hkt_tsv_str(out, used ? "tensors used" : "tensors not used");
        hkt_tsv_size(out, same);
        end_row(out, names[i], "tensor");
    }
    hkt_free(names);
    return HKT_OK;
}

static hkt_status run_describe(const hkt_measure_context *ctx, hkt_tsv *out)
{
    static const char *const layouts[] = {"apart", "blocks", "heads"}, *const norms[] = {"none", "rms", "centred"};
    const hkt_foreign *f = ctx->foreign;
    const hkt_foreign_shape *s = &f->shape;
    write_text(out, "family", f->family);
    write_text(out, "recognised by", f->rule);
    write_text(out, "prefix of the names", f->prefix);
    write_count(out, "files", f->shards.n_files);
    write_count(out, "layers", s->layers);
    write_count(out, "heads", s->heads);
    write_count(out, "key heads", s->key_heads);
    write_count(out, "width", s->d);
    write_count(out, "width of a head", s->p);
    write_text(out, "layout", layouts[f->fusing]);
    write_text(out, "orientation", f->transposed ? "in, out" : "out, in");
    write_text(out, "mask", s->causal ? "causal" : "none");
    write_real(out, "scale", s->scale);
    write_text(out, "norm before attention", norms[s->norm]);
    write_count(out, "rotary dimensions", s->rotary);
    if (s->rotary) {
        write_real(out, "rotary base", s->rotary_base);
        write_text(out, "rotary pairs", s->rotary_pairs ? "neighbours" : "halves");
    }
    write_text(out, "not looked at", f->unused);
    HKT_TRY(write_tensors(out, f, true));
    return write_tensors(out, f, false);
}

const hkt_measurement hkt_foreign_describe = {
    .name = "describe",
    .help = "what was recognised, by which rule, and which tensors are not used",
    .needs = HKT_NEEDS_FOREIGN,
    .columns = "quantity\tvalue\ttext\tunit\tstatus",
    .run = run_describe,
};

static hkt_status run_families(const hkt_measure_context *ctx, hkt_tsv *out)
{
    static const char *const norms[] = {"none", "rms", "centred"};
    size_t n;
    const hkt_family *f = hkt_families(&n);
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        hkt_tsv_str(out, f[i].name);
        hkt_tsv_str(out, f[i].types);
        hkt_tsv_str(out, f[i].names.query);
        hkt_tsv_str(out, f[i].names.key);
        hkt_tsv_str(out, f[i].rotary ? "rotary" : NULL);
        hkt_tsv_str(out, f[i].causal ? "causal" : "none");
        hkt_tsv_str(out, norms[f[i].norm]);
        hkt_tsv_str(out, f[i].unused);
        hkt_tsv_str(out, "ok");
        hkt_tsv_end(out);
    }
    return HKT_OK;
}

const hkt_measurement hkt_foreign_families = {
    .name = "families",
    .help = "the kinds of models that --model takes as they are",
    .columns = "family\tmodel_type\tquery\tkey\tpositions\tmask\tnorm\tnot_looked_at\tstatus",
    .run = run_families,
};

#include "foreign/shards.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

enum { MAX_FILES = 4096 };

static int by_name(const void *a, const void *b)
{
    const hkt_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* The table of all tensors of the files; a name may be there once. */
static hkt_status gather(hkt_shards *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_files; i++)
        n += hkt_safetensors_count(s->file[i]);
    HKT_TRY(hkt_alloc((void **)&s->tensor, n, sizeof *s->tensor, NULL));
    for (size_t i = 0; i < s->n_files; i++)
        for (size_t k = 0; k < hkt_safetensors_count(s->file[i]); k++)
            s->tensor[s->n++] = hkt_safetensors_at(s->file[i], k);
    qsort(s->tensor, s->n, sizeof *s->tensor, by_name);
    for (size_t i = 1; i < s->n; i++)
        if (strcmp(s->tensor[i - 1]->name, s->tensor[i]->name) == 0)
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected it in one file, found it in '%s' as well",
                            hkt_safetensors_path(s->tensor[i]->file), s->tensor[i]->name,
                            hkt_safetensors_path(s->tensor[i - 1]->file));
    return HKT_OK;
}

hkt_status hkt_shards_read_file(hkt_shards *out, const char *path)
{
    HKT_TRY(HKT_NEW(&out->file, 1));
    HKT_TRY(hkt_safetensors_read_foreign(&out->file[0], path, NULL, 0));
    out->n_files = 1;
    return gather(out);
}

/* --- an index ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *path; /* of the index */
    char *dir;
    json_t *map, *opened; /* name of a tensor -> name of its file; name of a file -> its number */
} reading;

static hkt_status open_file(hkt_shards *s, const reading *r, const char *tensor, const char *name)
{
    char *path;
    if (strchr(name, '/') || name[0] == '.' || !*name)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected the name of a file beside it, found '%.100s'", r->path,
                        tensor, name);
    if (s->n_files == MAX_FILES)
        return hkt_fail(HKT_EINPUT, "%s: expected at most %d files, found more", r->path, MAX_FILES);
    if (json_object_set_new(r->opened, name, json_integer((json_int_t)s->n_files)) != 0)
        return hkt_fail(HKT_ESYSTEM, "%s: out of memory", r->path);
    HKT_TRY(hkt_path_join(&path, r->dir, name));
    hkt_status status =
        hkt_file_exists(path)
            ? hkt_safetensors_read_foreign(&s->file[s->n_files], path, NULL, 0)
            : hkt_fail(HKT_EINPUT, "%s: expected the file '%s', which it names, found none", r->path, path);
    hkt_free(path);
    s->n_files += status == HKT_OK;
    return status;
}

/* The tensor is in the file that the index says. */
static hkt_status check_tensor(hkt_shards *s, const reading *r, const char *tensor, const json_t *file)
{
    const char *name = json_string_value(file);
    hkt_json_text found;
    if (!name)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected the name of a file, found %s", r->path, tensor,
                        hkt_json_describe(file, &found));
    if (!json_object_get(r->opened, name))
        HKT_TRY(open_file(s, r, tensor, name));
    const hkt_safetensors *f = s->file[json_integer_value(json_object_get(r->opened, name))];
    if (!hkt_safetensors_find(f, tensor))
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected in the file '%s', found none of that name", r->path,
                        tensor, hkt_safetensors_path(f));
    return HKT_OK;
}

static hkt_status read_index(hkt_shards *out, const reading *r)
{
    hkt_json_text found;
    if (!json_is_object(r->map) || json_object_size(r->map) == 0)
        return hkt_fail(HKT_EINPUT, "%s: expected an object 'weight_map' with the tensors' files, found %s", r->path,
                        hkt_json_describe(r->map, &found));
    HKT_TRY(HKT_NEW(&out->file, MAX_FILES));
    for (void *at = json_object_iter(r->map); at; at = json_object_iter_next(r->map, at))
        HKT_TRY(check_tensor(out, r, json_object_iter_key(at), json_object_iter_value(at)));
    return gather(out);
}

hkt_status hkt_shards_read_index(hkt_shards *out, const char *path)
{
    json_t *index = NULL;
    reading r = {.path = path};
    HKT_TRY(hkt_json_read(&index, path));
    r.map = json_object_get(index, "weight_map");
    hkt_status status = hkt_strdup(&r.dir, path);
    if (status == HKT_OK && !(r.opened = json_object()))
        status = hkt_fail(HKT_ESYSTEM, "%s: out of memory", path);
    if (status == HKT_OK) {
        char *slash = strrchr(r.dir, '/');
        if (slash)
            slash[slash == r.dir] = 0;
        else
            strcpy(r.dir, "."); /* the path has at least a character */
        status = read_index(out, &r);
    }
    hkt_free(r.dir);
    json_decref(r.opened);
    json_decref(index);
    return status;
}

void hkt_shards_free(hkt_shards *s)
{
    for (size_t i = 0; i < s->n_files; i++)
        hkt_safetensors_free(s->file[i]);
    hkt_free(s->file);
    hkt_free(s->tensor);
    *s = (hkt_shards){0};
}

const hkt_tensor *hkt_shards_find(const hkt_shards *s, const char *name)
{
    const hkt_tensor key = {.name = name}, *p = &key;
    const hkt_tensor **found = s->n ? bsearch(&p, s->tensor, s->n, sizeof *s->tensor, by_name) : NULL;
    return found ? *found : NULL;
}

/* --- llama2.c ----------------------------------------------------------------------------------------------------- */

enum { HEADER = 7 };
typedef struct {
    json_t *header; /* as safetensors would say it */
    size_t at;      /* floats so far */
    bool good;      /* memory and sizes sufficed */
} layout;

/* The next tensor [rows, cols], or [cols] for rows = 0. */
static void next(layout *l, const char *name, size_t rows, size_t cols)
{
    size_t n = 0, begin, end;
    json_t *shape = rows ? json_pack("[I, I]", (json_int_t)rows, (json_int_t)cols) : json_pack("[I]", (json_int_t)cols);
    l->good = l->good && hkt_mul_size(rows ? rows : 1, cols, &n) && hkt_add_size(l->at, n, &n) &&
              hkt_mul_size(n, sizeof(float), &end) && end < INT64_MAX;
    if (!l->good) {
        json_decref(shape);
        return;
    }
    begin = l->at * sizeof(float);
    l->at = n;
    l->good = json_object_set_new(l->header, name,
                                  json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets",
                                            (json_int_t)begin, (json_int_t)end)) == 0;
}

static void next_of_layers(layout *l, const char *name, size_t layers, size_t rows, size_t cols)
{
    char text[96];
    for (size_t i = 0; i < layers && l->good; i++) {
        snprintf(text, sizeof text, "layers.%zu.%s.weight", i, name);
        next(l, text, rows, cols);
    }
}

typedef struct {
    size_t dim, hidden, layers, heads, key_heads, vocab, seq;
    bool shared; /* the output matrix is that of the tokens */
} llama2c;

/* All tensors in the order of export.py, version 0. */
static void lay_out(layout *l, const llama2c *h, bool tables)
{
    const size_t p = h->dim / h->heads, kv = p * h->key_heads;
    next(l, "tok_embeddings.weight", h->vocab, h->dim);
    next_of_layers(l, "attention_norm", h->layers, 0, h->dim);
    next_of_layers(l, "attention.wq", h->layers, h->dim, h->dim);
    next_of_layers(l, "attention.wk", h->layers, kv, h->dim);
    next_of_layers(l, "attention.wv", h->layers, kv, h->dim);
    next_of_layers(l, "attention.wo", h->layers, h->dim, h->dim);
    next_of_layers(l, "ffn_norm", h->layers, 0, h->dim);
    next_of_layers(l, "feed_forward.w1", h->layers, h->hidden, h->dim);
    next_of_layers(l, "feed_forward.w2", h->layers, h->dim, h->hidden);
    next_of_layers(l, "feed_forward.w3", h->layers, h->hidden, h->dim);
    next(l, "norm.weight", 0, h->dim);
    if (tables) {
        next(l, "freqs_cos", h->seq, p / 2);
        next(l, "freqs_sin", h->seq, p / 2);
    }
    if (!h->shared)
        next(l, "output.weight", h->vocab, h->dim);
}

static hkt_status check_header(const char *path, const int32_t n[HEADER], llama2c *h)
{
    static const char *const name[HEADER] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                             "n_kv_heads", "vocab_size", "seq_len"};
    if (n[0] == 0x616b3432)
        return hkt_fail(HKT_EINPUT, "%s: expected a llama2.c file of version 0, found version %d", path, n[1]);
    for (size_t i = 0; i < HEADER; i++)
        if (i == 5 ? n[i] == 0 || n[i] == INT32_MIN : n[i] <= 0)
            return hkt_fail(HKT_EINPUT, "%s: header of llama2.c: expected %s to be positive, found %d", path, name[i],
                            n[i]);
    *h = (llama2c){(size_t)n[0], (size_t)n[1],      (size_t)n[2], (size_t)n[3],
                   (size_t)n[4], (size_t)abs(n[5]), (size_t)n[6], n[5] > 0};
    if (h->dim % h->heads || h->heads % h->key_heads || h->layers > 4096 || h->dim > 1 << 16)
        return hkt_fail(
            HKT_EINPUT,
            "%s: header of llama2.c: expected n_heads to divide dim and n_kv_heads n_heads, at most 4096 layers"
            " and 65536 dimensions, found dim %zu, n_heads %zu, n_kv_heads %zu, n_layers %zu",
            path, h->dim, h->heads, h->key_heads, h->layers);
    return HKT_OK;
}

/* The layout, with tables or without, whose size is that of the file. */
static hkt_status find_layout(const char *path, const llama2c *h, size_t size, json_t **header)
{
    size_t expected[2] = {0, 0};
    for (int tables = 0; tables < 2; tables++) {
        layout l = {.header = json_object(), .good = true};
        l.good = l.header != NULL;
        if (l.good)
            lay_out(&l, h, tables);
        if (!l.good) {
            json_decref(l.header);
            return hkt_fail(HKT_EINPUT, "%s: header of llama2.c: its sizes overflow", path);
        }
        expected[tables] = HEADER * sizeof(int32_t) + l.at * sizeof(float);
        if (expected[tables] == size) {
            *header = l.header;
            return HKT_OK;
        }
        json_decref(l.header);
    }
    return hkt_fail(HKT_EINPUT,
                    "%s: expected %zu bytes for the header of llama2.c, or %zu with tables of rotary positions, found"
                    " %zu",
                    path, expected[0], expected[1], size);
}

hkt_status hkt_shards_read_llama2c(hkt_shards *out, const char *path, json_t **config)
{
    int32_t n[HEADER];
    int fd;
    size_t size;
    llama2c h = {0};
    json_t *header = NULL;
    *config = NULL;
    HKT_TRY(hkt_file_open(path, &fd, &size));
    hkt_status status = size < sizeof n
                            ? hkt_fail(HKT_EINPUT, "%s: expected at least %zu bytes, found %zu", path, sizeof n, size)
                            : hkt_file_read_at(fd, path, 0, n, sizeof n);
    close(fd);
    HKT_TRY(status);
    HKT_TRY(check_header(path, n, &h));
    HKT_TRY(find_layout(path, &h, size, &header));
    status = HKT_NEW(&out->file, 1);
    if (status != HKT_OK) {
        json_decref(header);
        return status;
    }
    HKT_TRY(hkt_safetensors_read_foreign(&out->file[0], path, header, sizeof n));
    out->n_files = 1;
    HKT_TRY(gather(out));
    *config = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "model_type", "llama2.c", "dim", (json_int_t)h.dim,
                        "hidden_dim", (json_int_t)h.hidden, "n_layers", (json_int_t)h.layers, "n_heads",
                        (json_int_t)h.heads, "n_kv_heads", (json_int_t)h.key_heads, "vocab_size", (json_int_t)h.vocab,
                        "seq_len", (json_int_t)h.seq);
    return *config ? HKT_OK : hkt_fail(HKT_ESYSTEM, "%s: out of memory", path);
}

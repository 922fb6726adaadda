#include "train/input.h"

#include <string.h>

#include "base/mem.h"

static hkt_status find_tensor(const hkt_safetensors *f, const char *name, size_t ndim, const hkt_tensor **out)
{
    const hkt_tensor *t = hkt_safetensors_find(f, name);
    if (!t)
        return hkt_fail(HKT_EINPUT, "%s: expected tensor '%s', found none", hkt_safetensors_path(f), name);
    if (t->ndim != ndim)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected %zu dimensions, found %zu", hkt_safetensors_path(f),
                        name, ndim, t->ndim);
    *out = t;
    return HKT_OK;
}

/* The values of an integer tensor; hkt_free. */
static hkt_status read_values(const hkt_safetensors *f, const hkt_tensor *t, int32_t **out)
{
    HKT_TRY(HKT_NEW(out, t->count));
    hkt_status status = hkt_tensor_to_i32(t, *out);
    if (status == HKT_OK)
        return HKT_OK;
    hkt_free(*out);
    *out = NULL;
    return hkt_fail_context(status, "%s", hkt_safetensors_path(f));
}

/* One value per sequence, in low..high. */
static hkt_status read_column(const hkt_safetensors *f, const char *name, size_t n, size_t low, size_t high,
                              int32_t **out)
{
    const hkt_tensor *t = NULL;
    HKT_TRY(find_tensor(f, name, 1, &t));
    if (t->count != n)
        return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected %zu values, one per sequence, found %zu",
                        hkt_safetensors_path(f), name, n, t->count);
    HKT_TRY(read_values(f, t, out));
    for (size_t b = 0; b < n; b++)
        if ((*out)[b] < (int32_t)low || (size_t)(*out)[b] > high)
            return hkt_fail(HKT_EINPUT, "%s: tensor '%s': expected %zu..%zu at [%zu], found %d",
                            hkt_safetensors_path(f), name, low, high, b, (int)(*out)[b]);
    return HKT_OK;
}

/* Copies the tokens of every sequence one after the other. */
static hkt_status pack_tokens(hkt_input *in, const hkt_safetensors *f, const int32_t *grid, size_t n, size_t vocab)
{
    HKT_TRY(HKT_NEW(&in->tokens, in->n_tokens));
    size_t k = 0;
    for (size_t b = 0; b < in->n_seq; b++)
        for (size_t i = 0; i < in->lengths[b]; i++) {
            int32_t token = grid[b * n + i];
            if (token < 0 || (size_t)token >= vocab)
                return hkt_fail(HKT_EINPUT, "%s: tensor 'input.tokens': expected 0..%zu at [%zu, %zu], found %d",
                                hkt_safetensors_path(f), vocab - 1, b, i, (int)token);
            in->tokens[k++] = token;
        }
    return HKT_OK;
}

static hkt_status read_all(hkt_input *in, const hkt_safetensors *f, const hkt_config *config, int32_t **lengths,
                           int32_t **grid)
{
    const hkt_tensor *t = NULL;
    HKT_TRY(find_tensor(f, "input.tokens", 2, &t));
    const size_t B = t->shape[0], n = t->shape[1];
    if (B == 0 || n == 0)
        return hkt_fail(HKT_EINPUT,
                        "%s: tensor 'input.tokens': expected at least one sequence and token, found shape "
                        "[%zu, %zu]",
                        hkt_safetensors_path(f), B, n);
    HKT_TRY(read_column(f, "input.lengths", B, 1, n < config->max_len ? n : config->max_len, lengths));
    HKT_TRY(read_column(f, "input.labels", B, 0, config->classes - 1, &in->labels));
    HKT_TRY(HKT_NEW(&in->lengths, B));
    in->n_seq = B;
    for (size_t b = 0; b < B; b++)
        in->n_tokens += in->lengths[b] = (size_t)(*lengths)[b];
    HKT_TRY(read_values(f, t, grid));
    return pack_tokens(in, f, *grid, n, config->vocab);
}

hkt_status hkt_input_read(hkt_input *out, const hkt_safetensors *file, const hkt_config *config)
{
    int32_t *lengths = NULL, *grid = NULL;
    *out = (hkt_input){0};
    hkt_status status = read_all(out, file, config, &lengths, &grid);
    hkt_free(lengths);
    hkt_free(grid);
    if (status != HKT_OK)
        hkt_input_free(out);
    else
        out->batch =
            (hkt_batch){.n_seq = out->n_seq, .length = out->lengths, .tokens = out->tokens, .labels = out->labels};
    return status;
}

void hkt_input_free(hkt_input *in)
{
    hkt_free(in->lengths);
    hkt_free(in->tokens);
    hkt_free(in->labels);
    *in = (hkt_input){0};
}

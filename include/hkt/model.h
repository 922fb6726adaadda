/* hkt/model.h - a trained model: its checkpoint, its parameters, its forward pass in double. */
#ifndef HKT_MODEL_H
#define HKT_MODEL_H

#include <hkt/hkt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hkt_model hkt_model;

/* Reads a checkpoint: a safetensors file with the names of docs/model.md and its configuration in the metadata.
 * Standard attention is levels = 1, hybrid = false. The model does not change after that and may be used by several
 * threads. Errors: HKT_EUSAGE for NULL; HKT_EINPUT naming file, tensor, expected and found; HKT_ESYSTEM. */
HKT_API hkt_status hkt_model_open(hkt_model **out, const char *path);
/* Accepts NULL. */
HKT_API void hkt_model_close(hkt_model *model);

/* Names as in docs/model.md. */
typedef struct {
    size_t vocab, classes;
    size_t max_len; /* longest sequence */
    size_t d_model, heads, layers;
    size_t head_width; /* p = d_model / heads */
    size_t levels;     /* 1: standard attention */
    size_t stride;     /* tokens of one level under a token of the next */
    size_t conv_width, ffn_mult;
    size_t tensors;    /* for hkt_model_tensor */
    size_t parameters; /* numbers in all tensors together */
    bool hybrid;       /* attention and convolution are mixed */
    bool causal;
    const char *fusion; /* "dynamic", "static" or "score" */
} hkt_model_shape;

/* Errors: HKT_EUSAGE for NULL. */
HKT_API hkt_status hkt_model_get_shape(const hkt_model *model, hkt_model_shape *out);

typedef struct {
    const char *name;
    size_t ndim, shape[2];
    const double *values; /* row by row; the model's, valid until it is closed */
} hkt_model_tensor;

/* Tensor `index` of hkt_model_shape.tensors, in the order of docs/model.md. Errors: HKT_EUSAGE for NULL, or an index
 * that is too large. */
HKT_API hkt_status hkt_model_get_tensor(const hkt_model *model, size_t index, hkt_model_tensor *out);

/* The rows of one head in the query and key weights: *wq, *wk [p, d], the model's, valid until it is closed; either may
 * be NULL when it is not wanted. Errors: HKT_EUSAGE for NULL, or a layer, level or head that there is not. */
HKT_API hkt_status hkt_model_get_head(const hkt_model *model, size_t layer, size_t level, size_t head,
                                      const double **wq, const double **wk);

/* Forward pass over n sequences: length [n], each 1 .. max_len; tokens: the sequences one after the other, each 0 ..
 * vocab - 1; logits [n, classes] out. The logits of a sequence have the same bits whatever the others are, for any
 * number of threads and on every processor. Memory linear in the number of tokens. Errors: HKT_EUSAGE for NULL or n =
 * 0; HKT_EINPUT for a length or token out of range; HKT_ENUMERIC for a logit that is not finite; HKT_ESYSTEM. */
HKT_API hkt_status hkt_model_forward(const hkt_model *model, size_t n, const size_t *length, const int32_t *tokens,
                                     double *logits);

#ifdef __cplusplus
}
#endif

#endif

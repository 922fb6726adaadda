#include <hkt/model.h>

#include <hkt/cost.h>

#include "api/api.h"
#include "base/mem.h"
#include "model/cost.h"
#include "model/net.h"

hkt_status hkt_model_open(hkt_model **out, const char *path)
{
    hkt_model *model = NULL;
    HKT_TRY(hkt_api_given(__func__, "out", out));
    *out = NULL;
    HKT_TRY(hkt_api_given(__func__, "path", path));
    hkt_api_start();
    HKT_TRY(HKT_NEW(&model, 1));
    hkt_status status = hkt_checkpoint_read(&model->checkpoint, path);
    if (status == HKT_OK)
        *out = model;
    else
        hkt_free(model);
    return status;
}

void hkt_model_close(hkt_model *model)
{
    if (!model)
        return;
    hkt_checkpoint_free(&model->checkpoint);
    hkt_free(model);
}

hkt_status hkt_model_get_shape(const hkt_model *model, hkt_model_shape *out)
{
    HKT_TRY(hkt_api_given(__func__, "model", model));
    HKT_TRY(hkt_api_given(__func__, "out", out));
    const hkt_layout *layout = model->checkpoint.layout;
    const hkt_config *c = &layout->config;
    *out = (hkt_model_shape){
        .vocab = c->vocab,
        .classes = c->classes,
        .max_len = c->max_len,
        .d_model = c->d_model,
        .heads = c->heads,
        .layers = c->layers,
        .head_width = c->d_model / c->heads,
        .levels = c->levels,
        .stride = c->stride,
        .conv_width = c->conv_width,
        .ffn_mult = c->ffn_mult,
        .tensors = layout->n_params,
        .parameters = layout->n_weights,
        .hybrid = c->hybrid,
        .causal = c->causal,
        .fusion = hkt_fusion_name(c->fusion),
    };
    return HKT_OK;
}

hkt_status hkt_model_get_tensor(const hkt_model *model, size_t index, hkt_model_tensor *out)
{
    HKT_TRY(hkt_api_given(__func__, "model", model));
    HKT_TRY(hkt_api_given(__func__, "out", out));
    const hkt_layout *layout = model->checkpoint.layout;
    HKT_TRY(hkt_api_index(__func__, "index", index, layout->n_params));
    const hkt_param *p = layout->params + index;
    *out = (hkt_model_tensor){.name = p->name, .ndim = p->ndim, .values = model->checkpoint.params + p->offset};
    for (size_t i = 0; i < p->ndim; i++)
        out->shape[i] = p->shape[i];
    return HKT_OK;
}

hkt_status hkt_model_get_head(const hkt_model *model, size_t layer, size_t level, size_t head, const double **wq,
                              const double **wk)
{
    HKT_TRY(hkt_api_given(__func__, "model", model));
    const hkt_layout *layout = model->checkpoint.layout;
    const hkt_config *c = &layout->config;
    HKT_TRY(hkt_api_index(__func__, "layer", layer, c->layers));
    HKT_TRY(hkt_api_index(__func__, "level", level, c->levels));
    HKT_TRY(hkt_api_index(__func__, "head", head, c->heads));
    if (wq)
        *wq = hkt_query_rows(layout, model->checkpoint.params, layer, level, head);
    if (wk)
        *wk = hkt_key_rows(layout, model->checkpoint.params, layer, level, head);
    return HKT_OK;
}

hkt_status hkt_model_forward(const hkt_model *model, size_t n, const size_t *length, const int32_t *tokens,
                             double *logits)
{
    hkt_api_start();
    HKT_TRY(hkt_api_given(__func__, "model", model));
    HKT_TRY(hkt_api_given(__func__, "length", length));
    HKT_TRY(hkt_api_given(__func__, "tokens", tokens));
    HKT_TRY(hkt_api_given(__func__, "logits", logits));
    HKT_TRY(hkt_api_count(__func__, "n", n, HKT_API_MOST));
    const hkt_checkpoint *c = &model->checkpoint;
    const hkt_batch batch = {.n_seq = n, .length = length, .tokens = tokens};
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        if (length[i] < 1 || length[i] > c->layout->config.max_len)
            return hkt_fail(HKT_EINPUT, "%s: length of sequence %zu: expected 1 to %zu, found %zu", __func__, i,
                            c->layout->config.max_len, length[i]);
        total += length[i]; /* at most 2^20 times 2^31 */
    }
    hkt_net_f64 *net = NULL;
    hkt_status status = hkt_net_create_f64(&net, c->layout, total, n, false, false);
    if (status == HKT_OK)
        status = hkt_net_forward_f64(net, c->params, &batch, NULL, NULL, logits, NULL);
    hkt_net_destroy_f64(net);
    return status;
}

hkt_status hkt_cost_sequence(const hkt_model *model, size_t T, hkt_cost_result *out)
{
    HKT_TRY(hkt_api_given(__func__, "model", model));
    HKT_TRY(hkt_api_given(__func__, "out", out));
    HKT_TRY(hkt_api_count(__func__, "T", T, (size_t)1 << 24));
    const hkt_cost c = hkt_cost_forward(&model->checkpoint.layout->config, T);
    *out = (hkt_cost_result){c.projections, c.scores, c.values, c.downsample, c.conv, c.ffn, c.head, c.total};
    return HKT_OK;
}

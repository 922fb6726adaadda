#include "train/apply.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/npy.h"
#include "base/safetensors.h"
#include "num/real.h"

#ifdef HKT_REAL_F64
#define DTYPE HKT_F64
#else
#define DTYPE HKT_F32
#endif

typedef struct {
    hkt_net *net;
    real *params, *grads; /* [layout->total] */
    real *logits;         /* [B, C] */
    hkt_tensor_out *out;  /* [n_params + 1] */
    char (*names)[80];    /* [n_params] */
} work;

static hkt_status work_create(work *w, const hkt_layout *layout, const hkt_batch *batch, bool backward)
{
    size_t tokens = 0;
    for (size_t b = 0; b < batch->n_seq; b++)
        tokens += batch->length[b];
    HKT_TRY(hkt_net_create(&w->net, layout, tokens, batch->n_seq, backward, false));
    HKT_TRY(HKT_NEW(&w->params, layout->total));
    HKT_TRY(HKT_NEW(&w->logits, batch->n_seq * layout->config.classes));
    if (!backward)
        return HKT_OK;
    HKT_TRY(HKT_NEW(&w->grads, layout->total));
    HKT_TRY(HKT_NEW(&w->out, layout->n_params + 1));
    return HKT_NEW(&w->names, layout->n_params);
}

static void work_destroy(work *w)
{
    hkt_net_destroy(w->net);
    hkt_free(w->params);
    hkt_free(w->grads);
    hkt_free(w->logits);
    hkt_free(w->out);
    hkt_free(w->names);
}

static hkt_status write_grads(const work *w, const hkt_layout *layout, double loss, const char *path)
{
    const real rounded = (real)loss;
    w->out[0] = (hkt_tensor_out){.name = "loss", .dtype = DTYPE, .data = &rounded};
    for (size_t i = 0; i < layout->n_params; i++) {
        const hkt_param *p = &layout->params[i];
        snprintf(w->names[i], sizeof w->names[i], "grad.%s", p->name);
        w->out[i + 1] =
            (hkt_tensor_out){.name = w->names[i], .dtype = DTYPE, .ndim = p->ndim, .data = w->grads + p->offset};
        for (size_t k = 0; k < p->ndim; k++)
            w->out[i + 1].shape[k] = p->shape[k];
    }
    const char *const meta[] = {NULL};
    return hkt_safetensors_write(path, w->out, layout->n_params + 1, meta);
}

static hkt_status run(work *w, const hkt_checkpoint *model, const hkt_batch *batch, const char *logits_path,
                      const char *grads_path, double *loss)
{
    const hkt_layout *layout = model->layout;
    HKT_TRY(work_create(w, layout, batch, grads_path != NULL));
    for (size_t i = 0; i < layout->total; i++)
        w->params[i] = (real)model->params[i];
    HKT_TRY(hkt_net_forward(w->net, w->params, batch, NULL, NULL, w->logits, loss));
    if (grads_path) {
        HKT_TRY(hkt_net_gradient(w->net, w->params, batch, NULL, w->grads, loss));
        HKT_TRY(write_grads(w, layout, *loss, grads_path));
    }
    const size_t shape[] = {batch->n_seq, layout->config.classes};
    return logits_path ? hkt_npy_write(logits_path, DTYPE, 2, shape, w->logits) : HKT_OK;
}

hkt_status hkt_apply(const hkt_checkpoint *model, const hkt_batch *batch, const char *logits_path,
                     const char *grads_path, double *loss)
{
    work w = {0};
    hkt_status status = run(&w, model, batch, logits_path, grads_path, loss);
    work_destroy(&w);
    return status;
}

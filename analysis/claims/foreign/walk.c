#include "analysis/claims/foreign/walk.h"

#include "base/mem.h"
#include "base/rng.h"

enum { HEADS = 4, P = 4, D = 24 };

static hkt_status visit_layer(bool all, hkt_foreign_visit visit, hkt_foreign_walk *walk)
{
    const hkt_foreign_shape *s = &walk->model->shape;
    for (hkt_form_kind kind = HKT_FORM_WEIGHTS; kind < (all ? HKT_FORMS : HKT_FORM_WEIGHTS + 1); kind++) {
        const size_t n = kind == HKT_FORM_GROUP ? s->key_heads : s->heads;
        for (size_t i = 0; i < n && hkt_head_form_there(walk->model, &walk->weights, kind); i++)
            HKT_TRY(visit(walk, kind, i));
    }
    return HKT_OK;
}

static void plant(const hkt_verify_context *ctx, bool tied, hkt_foreign_layer *l)
{
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 71);
    for (size_t i = 0; i < HEADS * P * D; i++) {
        l->wq[i] = hkt_rng_normal(&rng);
        l->wk[i] = tied ? l->wq[i] : hkt_rng_normal(&rng);
    }
    for (size_t i = 0; i < D; i++)
        l->gain[i] = 1;
    for (size_t i = 0; i < P; i++)
        l->query_gain[i] = l->key_gain[i] = 1;
}

static hkt_status walk_layers(const hkt_verify_context *ctx, hkt_foreign_subject subject, bool all,
                              hkt_foreign_visit visit, hkt_foreign_walk *walk)
{
    HKT_TRY(hkt_foreign_layer_create(&walk->weights, &walk->model->shape));
    for (walk->layer = 0; walk->layer < walk->model->shape.layers; walk->layer++) {
        if (subject == HKT_FOREIGN_MODEL)
            HKT_TRY(hkt_foreign_layer_read(walk->model, walk->layer, &walk->weights));
        else
            plant(ctx, subject == HKT_FOREIGN_TIED, &walk->weights);
        HKT_TRY(visit_layer(all, visit, walk));
    }
    return HKT_OK;
}

hkt_status hkt_foreign_walk_heads(const hkt_verify_context *ctx, hkt_foreign_subject subject, bool all,
                                  hkt_foreign_visit visit, hkt_foreign_walk *walk)
{
    static const hkt_foreign planted = {
        .shape = {.layers = 1, .heads = HEADS, .key_heads = HEADS, .d = D, .p = P, .scale = 0.5}, .family = "planted"};
    walk->model = subject == HKT_FOREIGN_MODEL ? ctx->foreign : &planted;
    if (!walk->model)
        return HKT_OK;
    hkt_status status = walk_layers(ctx, subject, all, visit, walk);
    hkt_foreign_layer_free(&walk->weights);
    return status;
}

hkt_status hkt_foreign_form_open(hkt_foreign_form *f, const hkt_foreign_walk *walk, hkt_form_kind kind, size_t index)
{
    *f = (hkt_foreign_form){.eigenvalues = NULL};
    HKT_TRY(hkt_head_form_make(&f->form, walk->model, &walk->weights, kind, walk->layer, index));
    return HKT_NEW(&f->eigenvalues, f->form.dimension + 1);
}

void hkt_foreign_form_close(hkt_foreign_form *f)
{
    hkt_free(f->eigenvalues);
    hkt_head_form_free(&f->form);
}

bool hkt_foreign_walk_skips(const hkt_foreign_walk *walk, const char *why)
{
    if (walk->seen == 0)
        hkt_check_skip(walk->out, "%s", walk->left_out ? why : "no model of another kind (--model)");
    return walk->seen == 0;
}

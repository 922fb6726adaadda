/* Body of model.h for one precision; see num/both.h. */

static inline real *RN(model_params)(const model *m)
{
    real *p;
    CHECK_OK(HKT_NEW(&p, m->layout->total));
    for (size_t i = 0; i < m->layout->total; i++)
        p[i] = (real)m->params[i];
    return p;
}

static inline double *RN(model_widen)(const real *x, size_t n)
{
    double *y = model_doubles(n);
    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

static inline hkt_net *RN(model_net)(const model *m, bool train, bool taps)
{
    hkt_net *net;
    CHECK_OK(hkt_net_create(&net, m->layout, model_tokens(m), m->batch.n_seq, train, taps));
    return net;
}

/* One forward pass and, with grads, the gradient, whose loss must be the same bits. logits [B, C], loss, grads [total]:
 * any may be NULL. */
static inline void RN(model_run)(const model *m, const hkt_dropout_spec *dropout, real *logits, double *loss,
                                 real *grads)
{
    hkt_net *net = RN(model_net)(m, grads != NULL, false);
    real *params = RN(model_params)(m);
    CHECK_OK(hkt_net_forward(net, params, &m->batch, dropout, NULL, logits, loss));
    if (grads) {
        double again;
        CHECK_OK(hkt_net_gradient(net, params, &m->batch, dropout, grads, &again));
        if (loss)
            assert_memory_equal(&again, loss, sizeof again);
    }
    hkt_free(params);
    hkt_net_destroy(net);
}

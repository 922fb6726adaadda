/* Body of test_golden.c for one precision; see num/both.h. */

/* Scores of head h, level l of the first sequence: s [T_l, T_l] = q k^T / sqrt(p). */
static void RN(tap_scores)(const hkt_tap *t, size_t l, size_t p, size_t h, double *s)
{
    size_t T = t->offset[l][1], ld = t->ld[l];
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++) {
            double sum = 0;
            for (size_t c = h * p; c < (h + 1) * p; c++)
                sum += (double)t->q[l][i * ld + c] * (double)t->k[l][j * ld + c];
            s[i * T + j] = sum / sqrt((double)p);
        }
}

__attribute__((format(printf, 5, 6))) static void RN(show)(const real *x, size_t n, visit_fn visit, void *context,
                                                           const char *format, ...)
{
    char name[64];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    double *wide = RN(model_widen)(x, n);
    visit(context, name, wide, n);
    hkt_free(wide);
}

/* Taps of one layer, first sequence: x and score per level, lambda, alpha, hierarchical_score. */
static void RN(visit_taps)(const hkt_net *net, const hkt_config *c, size_t layer, visit_fn visit, void *context)
{
    hkt_tap t;
    CHECK_OK(hkt_net_tap(net, layer, &t));
    size_t T = t.offset[0][1], H = c->heads, p = c->d_model / H;
    double *s = model_doubles(H * T * T), *s_h = model_doubles(H * T * T);
    char name[64];
    for (size_t l = 0; l < c->levels; l++) {
        size_t n = t.offset[l][1];
        RN(show)(t.x[l], n * c->d_model, visit, context, "tap.layer%zu.level%zu.x", layer, l);
        for (size_t h = 0; h < H; h++) {
            RN(tap_scores)(&t, l, p, h, s + h * n * n);
            for (size_t i = 0; i < T; i++)
                for (size_t j = 0; j < T; j++)
                    s_h[(h * T + i) * T + j] +=
                        (double)t.lambda[l] * s[(h * n + parent(c, i, l)) * n + parent(c, j, l)];
        }
        snprintf(name, sizeof name, "tap.layer%zu.level%zu.score", layer, l);
        visit(context, name, s, H * n * n);
    }
    snprintf(name, sizeof name, "tap.layer%zu.hierarchical_score", layer);
    visit(context, name, s_h, H * T * T);
    RN(show)(t.lambda, c->levels, visit, context, "tap.layer%zu.lambda", layer);
    RN(show)(t.alpha, c->levels, visit, context, "tap.layer%zu.alpha", layer);
    hkt_free(s);
    hkt_free(s_h);
}

/* Shows every output of a training step: logits, loss, gradients, taps. */
static void RN(visit_outputs)(const model *m, visit_fn visit, void *context)
{
    const hkt_layout *lay = m->layout;
    size_t n_logits = m->batch.n_seq * lay->config.classes;
    hkt_net *net = RN(model_net)(m, true, false);
    real *params = RN(model_params)(m), *logits, *grads;
    double loss;
    CHECK_OK(HKT_NEW(&logits, n_logits));
    CHECK_OK(HKT_NEW(&grads, lay->total));
    CHECK_OK(hkt_net_forward(net, params, &m->batch, NULL, NULL, logits, &loss));
    CHECK_OK(hkt_net_gradient(net, params, &m->batch, NULL, grads, &loss));
    RN(show)(logits, n_logits, visit, context, "output.logits");
    visit(context, "output.loss", &loss, 1);
    for (size_t i = 0; i < lay->n_params; i++)
        RN(show)(grads + lay->params[i].offset, lay->params[i].count, visit, context, "grad.%s", lay->params[i].name);
    for (size_t n = 0; n < lay->config.layers; n++)
        RN(visit_taps)(net, &lay->config, n, visit, context);
    hkt_free(grads);
    hkt_free(logits);
    hkt_free(params);
    hkt_net_destroy(net);
}

/* Body of test_causality.c for one precision; see num/both.h. */

/* Residual stream after every layer, out [N, tokens, d]. */
static void RN(hidden_states)(const model *m, hkt_net *net, const real *params, real *out)
{
    const hkt_config *c = &m->layout->config;
    size_t size = model_tokens(m) * c->d_model;
    CHECK_OK(hkt_net_forward(net, params, &m->batch, NULL, NULL, NULL, NULL));
    for (size_t n = 0; n < c->layers; n++) {
        hkt_tap t;
        CHECK_OK(hkt_net_tap(net, n, &t));
        memcpy(out + n * size, t.hidden, size * sizeof *out);
    }
}

static effect RN(count_moved)(const model *m, const real *before, const real *after, size_t changed)
{
    const hkt_config *c = &m->layout->config;
    size_t tokens = model_tokens(m), d = c->d_model;
    effect e = {0};
    for (size_t n = 0; n < c->layers; n++)
        for (size_t r = 0; r < tokens; r++) {
            size_t k = (n * tokens + r) * d;
            bool moved = memcmp(before + k, after + k, d * sizeof *before) != 0;
            bool own = r >= m->length[0] && r < m->length[0] + m->length[1];
            e.others += moved && !own;
            e.earlier += moved && own && r < changed;
            e.later += moved && own && r >= changed;
        }
    return e;
}

/* Changes token position[i] of sequence 1 and counts what moves; effects [n] out. */
static void RN(change_tokens)(model *m, size_t n, const size_t *position, effect *effects)
{
    const hkt_config *c = &m->layout->config;
    size_t size = c->layers * model_tokens(m) * c->d_model;
    hkt_net *net = RN(model_net)(m, false, true);
    real *params = RN(model_params)(m), *before, *after;
    CHECK_OK(HKT_NEW(&before, size));
    CHECK_OK(HKT_NEW(&after, size));
    RN(hidden_states)(m, net, params, before);
    for (size_t i = 0; i < n; i++) {
        size_t at = m->length[0] + position[i];
        int32_t kept = m->tokens[at];
        m->tokens[at] = (kept + 1) % (int32_t)c->vocab;
        RN(hidden_states)(m, net, params, after);
        effects[i] = RN(count_moved)(m, before, after, at);
        m->tokens[at] = kept;
    }
    hkt_free(before);
    hkt_free(after);
    hkt_free(params);
    hkt_net_destroy(net);
}

/* Logits, loss and gradients of one step with a number of threads: [B C + 1 + total] as bytes to compare. */
static real *RN(step_with_threads)(const model *m, size_t threads, const hkt_dropout_spec *dropout, size_t *size)
{
    size_t logits = m->batch.n_seq * m->layout->config.classes, kept = hkt_threads();
    real *out;
    double loss;
    *size = logits + 1 + m->layout->total;
    CHECK_OK(HKT_NEW(&out, *size));
    hkt_set_threads(threads);
    RN(model_run)(m, dropout, out, &loss, out + logits + 1);
    out[logits] = (real)loss;
    hkt_set_threads(kept);
    return out;
}

static void RN(check_threads)(const model *m, const hkt_dropout_spec *dropout)
{
    size_t size;
    real *one = RN(step_with_threads)(m, 1, dropout, &size);
    for (size_t t = 2; t <= 3; t++) {
        real *many = RN(step_with_threads)(m, t, dropout, &size);
        assert_memory_equal(one, many, size * sizeof *one);
        hkt_free(many);
    }
    hkt_free(one);
}

/* Logits with the workspace of training, of taps and of evaluation. */
static void RN(check_workspaces)(const model *m)
{
    size_t n = m->batch.n_seq * m->layout->config.classes;
    real *params = RN(model_params)(m), *logits[3];
    for (int k = 0; k < 3; k++) {
        hkt_net *net = RN(model_net)(m, k == 0, k == 1);
        CHECK_OK(HKT_NEW(&logits[k], n));
        CHECK_OK(hkt_net_forward(net, params, &m->batch, NULL, NULL, logits[k], NULL));
        assert_memory_equal(logits[0], logits[k], n * sizeof(real));
        hkt_net_destroy(net);
    }
    for (int k = 0; k < 3; k++)
        hkt_free(logits[k]);
    hkt_free(params);
}

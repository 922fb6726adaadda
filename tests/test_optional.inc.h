/* Body of test_optional.c for one precision; see num/both.h. */

static real *RN(array)(const double *x, size_t n)
{
    real *y;
    CHECK_OK(HKT_NEW(&y, n));
    for (size_t i = 0; i < n; i++)
        y[i] = (real)x[i];
    return y;
}

static void RN(attention)(void **state)
{
    (void)state;
    enum { T = 21, P = 4, L = 2 };
    double x[5 * T * P];
    hkt_rng rng = hkt_rng_make(1, HKT_STREAM_TEST, 1);
    for (size_t i = 0; i < 5 * T * P; i++)
        x[i] = hkt_rng_normal(&rng);
    real *in = RN(array)(x, 5 * T * P), o[2][T * P], lse[T], scores[T * T], weight[2][L], gradient[2][5][T * P];
    hkt_attention a = {.T = T,
                       .p = P,
                       .stride = 2,
                       .n_levels = L,
                       .causal = true,
                       .q = {in, in + T * P},
                       .k = {in + 2 * T * P, in + 3 * T * P},
                       .ld_qk = {P, P},
                       .weight = {(real)0.6, (real)0.4},
                       .v = in + 4 * T * P,
                       .ld_v = P};
    hkt_attention_work *work;
    CHECK_OK(hkt_attention_work_create(&work, T, P, L, 2));
    hkt_attention_forward(&a, 0, T, o[0], P, lse, work);
    hkt_attention_forward(&a, 0, T, o[1], P, NULL, work);
    assert_memory_equal(o[0], o[1], sizeof o[0]);
    for (int given = 0; given < 2; given++) {
        real *const dq[] = {gradient[given][0], gradient[given][1]}, *const dk[] = {gradient[given][2],
                                                                                    gradient[given][3]};
        const size_t ld[] = {P, P};
        memset(gradient[given], 0, sizeof gradient[given]);
        hkt_attention_backward(&a, o[0], in, P, lse, dq, dk, ld, gradient[given][4], P, given ? weight[0] : NULL, work);
    }
    assert_memory_equal(gradient[0], gradient[1], sizeof gradient[0]);
    hkt_attention_work_destroy(work);
    hkt_attention_work_destroy(NULL);

    CHECK_OK(hkt_attention_forward_ref(&a, o[0], P, lse, scores));
    for (int given = 0; given < 4; given++) {
        memset(o[1], 0, sizeof o[1]);
        CHECK_OK(hkt_attention_forward_ref(&a, o[1], P, given & 1 ? lse : NULL, given & 2 ? scores : NULL));
        assert_memory_equal(o[0], o[1], sizeof o[0]);
    }
    for (int given = 0; given < 2; given++) {
        real *const dq[] = {gradient[given][0], gradient[given][1]}, *const dk[] = {gradient[given][2],
                                                                                    gradient[given][3]};
        const size_t ld[] = {P, P};
        memset(gradient[given], 0, sizeof gradient[given]);
        CHECK_OK(hkt_attention_backward_ref(&a, in, P, dq, dk, ld, gradient[given][4], P, given ? weight[1] : NULL));
    }
    assert_memory_equal(gradient[0], gradient[1], sizeof gradient[0]);
    for (size_t l = 0; l < L; l++) /* they are computed when asked for */
        CHECK_NEAR(weight[0][l], weight[1][l], 1e-4 * fabs((double)weight[1][l]) + 1e-4);
    hkt_free(in);
}

static void RN(network)(void **state)
{
    (void)state;
    model m = model_random(&config, N_SEQ, lengths, 3);
    const size_t total = m.layout->total, classes = config.classes;
    real *params = RN(array)(m.params, total), logits[2][N_SEQ * 3], hidden[2 * 20 * 8], *grads[2];
    CHECK_OK(HKT_NEW(&grads[0], total));
    CHECK_OK(HKT_NEW(&grads[1], total));
    const hkt_dropout_spec off = {.rate = 0};
    const hkt_intervention none = {.seed = 0};
    double loss[2];
    hkt_net *net;
    CHECK_OK(hkt_net_create(&net, m.layout, model_tokens(&m), N_SEQ, true, false));
    CHECK_OK(hkt_net_forward(net, params, &m.batch, &off, &none, logits[0], &loss[0]));
    /* Each argument as NULL, alone and with the others. */
    for (int given = 0; given < 16; given++) {
        memset(logits[1], 0, sizeof logits[1]);
        loss[1] = 0;
        CHECK_OK(hkt_net_forward(net, params, &m.batch, given & 1 ? &off : NULL, given & 2 ? &none : NULL,
                                 given & 4 ? logits[1] : NULL, given & 8 ? &loss[1] : NULL));
        if (given & 4)
            assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
        assert_true(loss[1] == (given & 8 ? loss[0] : 0));
        double same;
        CHECK_OK(hkt_net_gradient(net, params, &m.batch, given & 1 ? &off : NULL, grads[given > 0], &same));
        assert_true(same == loss[0]);
        assert_memory_equal(grads[0], grads[given > 0], total * sizeof(real));
    }
    hkt_batch unlabelled = m.batch;
    unlabelled.labels = NULL;
    memset(logits[1], 0, sizeof logits[1]);
    CHECK_OK(hkt_net_forward(net, params, &unlabelled, NULL, NULL, logits[1], NULL));
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
    hkt_net_destroy(net);
    hkt_net_destroy(NULL);

    CHECK_OK(hkt_net_forward_ref(m.layout, params, lengths[0], m.tokens, logits[0], hidden));
    CHECK_OK(hkt_net_forward_ref(m.layout, params, lengths[0], m.tokens, logits[1], NULL));
    assert_memory_equal(logits[0], logits[1], classes * sizeof(real));
    hkt_free(params);
    hkt_free(grads[0]);
    hkt_free(grads[1]);
    model_free(&m);
}

static void RN(fill)(real *x, size_t n, uint64_t seed)
{
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_TEST, 9);
    for (size_t i = 0; i < n; i++)
        x[i] = (real)hkt_rng_normal(&rng);
}

/* A bias, its gradient, gelu once more, the second term of a mixture: without is as with zero. */
static void RN(kernels)(void **state)
{
    (void)state;
    real x[N * K], w[M * K], w_t[K * M], zero[M] = {0}, y[N * M], again[N * M], dw[M * K] = {0}, dw_again[M * K] = {0};
    real db[M] = {0}, dx[N * K], dx_again[N * K], gelu[N * K], a[K], none[N * K] = {0}, out[N * K], out_again[N * K];
    RN(fill)(x, N * K, 1);
    RN(fill)(w, M * K, 2);
    hkt_linear_forward(N, M, K, x, K, w, zero, y, M);
    hkt_linear_forward(N, M, K, x, K, w, NULL, again, M);
    assert_memory_equal(y, again, sizeof y);
    hkt_linear_pack(M, K, w, w_t);
    hkt_linear_forward_packed(N, M, K, x, K, w_t, NULL, again, M);
    assert_memory_equal(y, again, sizeof y);
    hkt_linear_backward_weight(N, M, K, y, M, x, K, dw, db);
    hkt_linear_backward_weight(N, M, K, y, M, x, K, dw_again, NULL);
    assert_memory_equal(dw, dw_again, sizeof dw);
    hkt_gelu_backward(N * K, x, x, dx, gelu);
    hkt_gelu_backward(N * K, x, x, dx_again, NULL);
    assert_memory_equal(dx, dx_again, sizeof dx);
    RN(fill)(a, K, 3);
    hkt_mix(N, K, 1, 0, 1, a, x, a, none, false, out);
    hkt_mix(N, K, 1, 0, 1, a, x, NULL, NULL, false, out_again);
    for (size_t i = 0; i < N * K; i++)
        assert_true(out[i] == out_again[i]);
}

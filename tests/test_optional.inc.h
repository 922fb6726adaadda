/* Body of test_optional.c for one precision; see num/both.h. */

static void RN(fill)(REAL *x, size_t n, uint64_t seed)
{
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_TEST, 9);
    for (size_t i = 0; i < n; i++)
        x[i] = (REAL)hkt_rng_normal(&rng);
}

/* lse, scores, d_weight of the kernel and of the reference. */
static void RN(attention)(void)
{
    REAL q[LEVELS][T * P], k[LEVELS][T * P], v[T * P], d_o[T * P], o[T * P], again[T * P], lse[T], scores[T * T];
    REAL dq[LEVELS][T * P], dk[LEVELS][T * P], dv[T * P], d_weight[LEVELS], dv_again[T * P];
    REAL *const dqs[] = {dq[0], dq[1]}, *const dks[] = {dk[0], dk[1]};
    const size_t ld[] = {P, P};
    for (size_t l = 0; l < LEVELS; l++) {
        RN(fill)(q[l], T * P, l);
        RN(fill)(k[l], T * P, 10 + l);
    }
    RN(fill)(v, T * P, 20);
    RN(fill)(d_o, T * P, 21);
    RN(hkt_attention)
    a = {.T = T,
         .p = P,
         .stride = 2,
         .n_levels = LEVELS,
         .causal = true,
         .q = {q[0], q[1]},
         .k = {k[0], k[1]},
         .ld_qk = {P, P},
         .weight = {(REAL)0.75, (REAL)0.25},
         .v = v,
         .ld_v = P};
    RN(hkt_attention_work) *w;
    CHECK_OK(RN(hkt_attention_work_create)(&w, T, P, LEVELS, 2));
    RN(hkt_attention_forward)(&a, 0, T, o, P, lse, w);
    RN(hkt_attention_forward)(&a, 0, T, again, P, NULL, w);
    assert_memory_equal(o, again, sizeof o);
    RN(hkt_attention_backward)(&a, o, d_o, P, lse, dqs, dks, ld, dv, P, d_weight, w);
    RN(hkt_attention_backward)(&a, o, d_o, P, lse, dqs, dks, ld, dv_again, P, NULL, w);
    assert_memory_equal(dv, dv_again, sizeof dv);
    RN(hkt_attention_work_destroy)(w);

    CHECK_OK(RN(hkt_attention_forward_ref)(&a, o, P, lse, scores));
    for (int given = 0; given < 4; given++) {
        memset(again, 0, sizeof again);
        CHECK_OK(RN(hkt_attention_forward_ref)(&a, again, P, given & 1 ? lse : NULL, given & 2 ? scores : NULL));
        assert_memory_equal(o, again, sizeof o);
    }
    CHECK_OK(RN(hkt_attention_backward_ref)(&a, d_o, P, dqs, dks, ld, dv, P, d_weight));
    CHECK_OK(RN(hkt_attention_backward_ref)(&a, d_o, P, dqs, dks, ld, dv_again, P, NULL));
    assert_memory_equal(dv, dv_again, sizeof dv);
}

/* A bias, its gradient, gelu once more, the second term of a mixture: without is as with zero. */
static void RN(kernels)(void)
{
    REAL x[N * K], w[M * K], w_t[K * M], zero[M] = {0}, y[N * M], again[N * M], dw[M * K] = {0}, dw_again[M * K] = {0};
    REAL db[M] = {0}, dx[N * K], dx_again[N * K], gelu[N * K], a[K], none[N * K] = {0}, out[N * K], out_again[N * K];
    RN(fill)(x, N * K, 1);
    RN(fill)(w, M * K, 2);
    RN(hkt_linear_forward)(N, M, K, x, K, w, zero, y, M);
    RN(hkt_linear_forward)(N, M, K, x, K, w, NULL, again, M);
    assert_memory_equal(y, again, sizeof y);
    RN(hkt_linear_pack)(M, K, w, w_t);
    RN(hkt_linear_forward_packed)(N, M, K, x, K, w_t, NULL, again, M);
    assert_memory_equal(y, again, sizeof y);
    RN(hkt_linear_backward_weight)(N, M, K, y, M, x, K, dw, db);
    RN(hkt_linear_backward_weight)(N, M, K, y, M, x, K, dw_again, NULL);
    assert_memory_equal(dw, dw_again, sizeof dw);
    RN(hkt_gelu_backward)(N * K, x, x, dx, gelu);
    RN(hkt_gelu_backward)(N * K, x, x, dx_again, NULL);
    assert_memory_equal(dx, dx_again, sizeof dx);
    RN(fill)(a, K, 3);
    RN(hkt_mix)(N, K, 1, 0, 1, a, x, a, none, false, out);
    RN(hkt_mix)(N, K, 1, 0, 1, a, x, NULL, NULL, false, out_again);
    for (size_t i = 0; i < N * K; i++)
        assert_true(out[i] == out_again[i]);
}

/* No logits, no loss, no labels, no dropout, no intervention; the reference without hidden states. */
static void RN(net)(void)
{
    model m = model_random(&config, N_SEQ, lengths, 2);
    REAL *params = RN(model_params)(&m), all[N_SEQ * CLASSES], one[N_SEQ * CLASSES], ref[CLASSES], same[CLASSES];
    RN(hkt_net) *net = RN(model_net)(&m, false, false);
    const hkt_dropout_spec off = {.rate = 0};
    const hkt_intervention none = {0};
    double loss, again;
    CHECK_OK(RN(hkt_net_forward)(net, params, &m.batch, &off, &none, all, &loss));
    CHECK_OK(RN(hkt_net_forward)(net, params, &m.batch, NULL, NULL, one, &again));
    assert_memory_equal(all, one, sizeof all);
    assert_true(loss == again);
    CHECK_OK(RN(hkt_net_forward)(net, params, &m.batch, NULL, NULL, NULL, &again));
    assert_true(loss == again);
    hkt_batch unlabelled = m.batch;
    unlabelled.labels = NULL;
    memset(one, 0, sizeof one);
    CHECK_OK(RN(hkt_net_forward)(net, params, &unlabelled, NULL, NULL, one, NULL));
    assert_memory_equal(all, one, sizeof all);
    CHECK_OK(RN(hkt_net_forward)(net, params, &unlabelled, NULL, NULL, NULL, NULL));

    REAL *hidden;
    CHECK_OK(HKT_NEW(&hidden, config.layers * lengths[0] * config.d_model));
    CHECK_OK(RN(hkt_net_forward_ref)(m.layout, params, lengths[0], m.tokens, ref, hidden));
    CHECK_OK(RN(hkt_net_forward_ref)(m.layout, params, lengths[0], m.tokens, same, NULL));
    assert_memory_equal(ref, same, sizeof ref);
    hkt_free(hidden);
    hkt_free(params);
    RN(hkt_net_destroy)(net);
    model_free(&m);
}

/* AdamW against a hand-computed step and a naive implementation in double; decay; gradient norm; schedule. */
#include <float.h>

#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"
#include "tests/check.h"
#include "train/adamw.h"

static const hkt_adamw_spec spec = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};

static hkt_layout *make_layout(size_t vocab)
{
    const hkt_config c = {.vocab = vocab,
                          .classes = 10,
                          .max_len = 9,
                          .d_model = 12,
                          .heads = 2,
                          .layers = 2,
                          .levels = 3,
                          .stride = 2,
                          .conv_width = 4,
                          .ffn_mult = 2,
                          .fusion = HKT_FUSION_DYNAMIC,
                          .hybrid = true,
                          .causal = true};
    hkt_layout *l;
    CHECK_OK(hkt_layout_create(&l, &c));
    return l;
}

typedef struct {
    hkt_layout *layout;
    hkt_adamw adamw;
    float *w, *g;
} setting;

/* Weights and gradients from `seed`; padding is NaN: nobody may touch or read it. */
static setting make(size_t vocab, uint64_t seed)
{
    setting s = {.layout = make_layout(vocab)};
    CHECK_OK(hkt_adamw_create(&s.adamw, s.layout, &spec));
    CHECK_OK(HKT_NEW(&s.w, s.layout->total));
    CHECK_OK(HKT_NEW(&s.g, s.layout->total));
    for (size_t i = 0; i < s.layout->total; i++)
        s.w[i] = s.g[i] = (float)NAN;
    hkt_rng r = hkt_rng_make(seed, HKT_STREAM_TEST, 0);
    for (size_t k = 0; k < s.layout->n_params; k++)
        for (size_t i = 0; i < s.layout->params[k].count; i++) {
            s.w[s.layout->params[k].offset + i] = (float)hkt_rng_normal(&r);
            s.g[s.layout->params[k].offset + i] = (float)hkt_rng_normal(&r);
        }
    return s;
}

static void destroy(setting *s)
{
    hkt_adamw_destroy(&s->adamw);
    hkt_layout_destroy(s->layout);
    hkt_free(s->w);
    hkt_free(s->g);
}

static void test_hand_computed_step(void **state)
{
    (void)state;
    setting s = make(7, 1);
    const hkt_param *e = hkt_layout_find(s.layout, "embed.weight"), *n = hkt_layout_find(s.layout, "norm.weight");
    assert_true(e->decay && !n->decay);
    s.w[e->offset] = s.w[n->offset] = 2;
    s.g[e->offset] = 0.5f;
    s.g[n->offset] = -0.25f;
    hkt_adamw_step(&s.adamw, s.w, s.g, 1, 0.01);
    /* First step: m_hat = g, v_hat = g^2, so the move is lr sign(g) |g| / (|g| + 1e-8), and 0.01 * 0.1 * 2 of decay.
     * Tolerance: a few roundings of numbers below 4. */
    CHECK_NEAR(s.w[e->offset], 2 - 0.01 - 0.002, 4 * 2 * (double)FLT_EPSILON);
    CHECK_NEAR(s.w[n->offset], 2 + 0.01, 4 * 2 * (double)FLT_EPSILON);
    CHECK_NEAR(s.adamw.m[e->offset], 0.05, 0.05 * 4 * (double)FLT_EPSILON);
    CHECK_NEAR(s.adamw.v[e->offset], 0.00025, 0.00025 * 4 * (double)FLT_EPSILON);
    assert_int_equal(s.adamw.step, 1);
    destroy(&s);
}

/* Loshchilov & Hutter 2019, algorithm 2, as written there, for one weight. */
static double naive_update(double w, double g, double *m, double *v, int t, double lr, bool decay)
{
    *m = spec.beta1 * *m + (1 - spec.beta1) * g;
    *v = spec.beta2 * *v + (1 - spec.beta2) * g * g;
    double m_hat = *m / (1 - pow(spec.beta1, t)), v_hat = *v / (1 - pow(spec.beta2, t));
    return w - lr * (m_hat / (sqrt(v_hat) + spec.epsilon) + (decay ? spec.weight_decay * w : 0));
}

static void test_naive_double(void **state)
{
    (void)state;
    enum { STEPS = 60 };
    setting s = make(7, 2);
    size_t total = s.layout->total;
    double *w, *m, *v;
    CHECK_OK(HKT_NEW(&w, total));
    CHECK_OK(HKT_NEW(&m, total));
    CHECK_OK(HKT_NEW(&v, total));
    for (size_t i = 0; i < total; i++)
        w[i] = (double)s.w[i];
    hkt_rng r = hkt_rng_make(3, HKT_STREAM_TEST, 0);
    for (int t = 1; t <= STEPS; t++) {
        double lr = 0.01 * t / STEPS, scale = 1.0 / t;
        for (size_t k = 0; k < s.layout->n_params; k++) {
            const hkt_param *p = &s.layout->params[k];
            for (size_t i = p->offset; i < p->offset + p->count; i++) {
                s.g[i] = (float)(1 + hkt_rng_normal(&r));
                w[i] = naive_update(w[i], scale * (double)s.g[i], &m[i], &v[i], t, lr, p->decay);
            }
        }
        hkt_adamw_step(&s.adamw, s.w, s.g, scale, lr);
    }
    /* Per step: roundings of a weight below 8, and of the move lr m_hat / sqrt(v_hat) < 0.02, whose moments carry one
     * rounding per step so far and a few of their own. */
    double tolerance = STEPS * (double)FLT_EPSILON * (8 + 0.02 * 2 * STEPS);
    for (size_t k = 0; k < s.layout->n_params; k++)
        for (size_t i = 0; i < s.layout->params[k].count; i++) {
            size_t j = s.layout->params[k].offset + i;
            CHECK_NEAR(s.w[j], w[j], tolerance);
        }
    hkt_free(w);
    hkt_free(m);
    hkt_free(v);
    destroy(&s);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

/* Names of docs/model.md 2.2 that must not decay. */
static bool spared(const char *name)
{
    return strstr(name, "norm") || ends_with(name, ".bias") || ends_with(name, ".theta") || ends_with(name, ".beta") ||
           ends_with(name, ".gate.weight");
}

static void test_decay_only_where_layout_says(void **state)
{
    (void)state;
    setting s = make(7, 4);
    size_t total = s.layout->total, n_spared = 0;
    float *before;
    CHECK_OK(HKT_NEW(&before, total));
    memcpy(before, s.w, total * sizeof *before);
    for (size_t i = 0; i < total; i++)
        s.g[i] = 0;
    hkt_adamw_step(&s.adamw, s.w, s.g, 1, 0.5);
    for (size_t k = 0; k < s.layout->n_params; k++) {
        const hkt_param *p = &s.layout->params[k];
        float keep = spared(p->name) ? 1 : (float)(1 - 0.5 * 0.1);
        n_spared += spared(p->name);
        for (size_t i = p->offset; i < p->offset + p->count; i++)
            if (s.w[i] != keep * before[i])
                fail_msg("%s: %g became %g", p->name, (double)before[i], (double)s.w[i]);
    }
    assert_true(n_spared > 0 && n_spared < s.layout->n_params);
    hkt_free(before);
    destroy(&s);
}

static void test_padding_is_not_touched(void **state)
{
    (void)state;
    setting s = make(7, 5);
    hkt_adamw_step(&s.adamw, s.w, s.g, 1, 0.1);
    size_t finite = 0;
    for (size_t i = 0; i < s.layout->total; i++)
        finite += isfinite(s.w[i]) != 0;
    assert_int_equal(finite, s.layout->n_weights);
    assert_true(isfinite(hkt_grad_norm(s.layout, s.g)));
    destroy(&s);
}

static void test_scale_is_clipping(void **state)
{
    (void)state;
    setting a = make(7, 6), b = make(7, 6);
    for (size_t i = 0; i < b.layout->total; i++)
        b.g[i] *= 0.25f; /* exact */
    hkt_adamw_step(&a.adamw, a.w, a.g, 0.25, 0.1);
    hkt_adamw_step(&b.adamw, b.w, b.g, 1, 0.1);
    assert_memory_equal(a.adamw.m, b.adamw.m, a.layout->total * sizeof(float));
    assert_memory_equal(a.adamw.v, b.adamw.v, a.layout->total * sizeof(float));
    for (size_t k = 0; k < a.layout->n_params; k++) {
        const hkt_param *p = &a.layout->params[k];
        assert_memory_equal(a.w + p->offset, b.w + p->offset, p->count * sizeof(float));
    }
    destroy(&a);
    destroy(&b);
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    setting a = make(20000, 7), b = make(20000, 7); /* embeddings large enough for the parallel loop */
    for (int t = 0; t < 3; t++) {
        hkt_set_threads(1);
        hkt_adamw_step(&a.adamw, a.w, a.g, 1, 0.1);
        hkt_set_threads(2);
        hkt_adamw_step(&b.adamw, b.w, b.g, 1, 0.1);
    }
    assert_memory_equal(a.w, b.w, a.layout->total * sizeof(float));
    destroy(&a);
    destroy(&b);
}

static void test_grad_norm(void **state)
{
    (void)state;
    setting s = make(7, 8);
    double sum = 0;
    for (size_t k = 0; k < s.layout->n_params; k++)
        for (size_t i = 0; i < s.layout->params[k].count; i++) {
            double g = (double)s.g[s.layout->params[k].offset + i];
            sum += g * g;
        }
    /* Two orders of a sum of n positive terms differ by at most n eps relative. */
    CHECK_NEAR(hkt_grad_norm(s.layout, s.g), sqrt(sum), (double)s.layout->n_weights * DBL_EPSILON * sqrt(sum));
    const hkt_param *p = hkt_layout_find(s.layout, "norm.bias");
    s.g[p->offset + 3] = INFINITY;
    assert_false(isfinite(hkt_grad_norm(s.layout, s.g)));
    destroy(&s);
}

static void test_schedule(void **state)
{
    (void)state;
    const double peak = 3e-3, f = 0.1, tol = 4 * DBL_EPSILON * peak;
    CHECK_NEAR(hkt_lr_schedule(1, 10, 110, peak, f), peak / 10, tol);
    CHECK_NEAR(hkt_lr_schedule(5, 10, 110, peak, f), peak / 2, tol);
    CHECK_NEAR(hkt_lr_schedule(10, 10, 110, peak, f), peak, tol);
    CHECK_NEAR(hkt_lr_schedule(60, 10, 110, peak, f), peak * (1 + f) / 2, tol); /* half way: cos = 0 */
    CHECK_NEAR(hkt_lr_schedule(110, 10, 110, peak, f), peak * f, tol);
    CHECK_NEAR(hkt_lr_schedule(500, 10, 110, peak, f), peak * f, tol);
    CHECK_NEAR(hkt_lr_schedule(1, 0, 2, peak, f), peak * (1 + f) / 2, tol);
    for (uint64_t t = 11; t <= 110; t++)
        assert_true(hkt_lr_schedule(t, 10, 110, peak, f) < hkt_lr_schedule(t - 1, 10, 110, peak, f));
    CHECK_NEAR(hkt_lr_schedule(50, 100, 50, peak, f), peak / 2, tol); /* all warm-up */
}

static void test_failed_allocation(void **state)
{
    (void)state;
    hkt_layout *l = make_layout(7);
    size_t live = hkt_mem_live();
    for (size_t n = 1; n <= 2; n++) {
        hkt_adamw a;
        hkt_mem_fail_at(n);
        CHECK_FAILS(hkt_adamw_create(&a, l, &spec), HKT_ESYSTEM, "");
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
    }
    hkt_layout_destroy(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand_computed_step),
        cmocka_unit_test(test_naive_double),
        cmocka_unit_test(test_decay_only_where_layout_says),
        cmocka_unit_test(test_padding_is_not_touched),
        cmocka_unit_test(test_scale_is_clipping),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_grad_norm),
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

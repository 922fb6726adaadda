/* Gradients against finite differences in float64, for every parameter tensor, and the fast forward pass against the
 * naive one, over all modes. */
#include "tests/check.h"

#include <float.h>

#include "tests/model.h"

static const hkt_config small = {.vocab = 11,
                                 .classes = 4,
                                 .max_len = 16,
                                 .d_model = 8,
                                 .heads = 2,
                                 .layers = 2,
                                 .levels = 3,
                                 .stride = 2,
                                 .conv_width = 3,
                                 .ffn_mult = 2};

/* Lengths that neither 2 nor 3 divides, and one token. */
static const size_t ragged[] = {13, 1, 7};
enum { N_RAGGED = sizeof ragged / sizeof ragged[0] };

/* --- finite differences --- */
typedef struct {
    model *m;
    hkt_net_f64 *net;
    const hkt_dropout_spec *dropout;
    const double *at;        /* [total] the point */
    const double *direction; /* [count] of one tensor */
    const hkt_param *param;
} line;

/* Loss at the point plus t times the direction. */
static double loss_at(const line *f, double t)
{
    double loss, *x = f->m->params + f->param->offset;
    for (size_t i = 0; i < f->param->count; i++)
        x[i] = f->at[f->param->offset + i] + t * f->direction[i];
    CHECK_OK(hkt_net_forward_f64(f->net, f->m->params, &f->m->batch, f->dropout, NULL, NULL, &loss));
    memcpy(x, f->at + f->param->offset, f->param->count * sizeof *x);
    return loss;
}

static double central(const line *f, double h)
{
    return (loss_at(f, h) - loss_at(f, -h)) / (2 * h);
}

/* Romberg's extrapolation of central differences with h, h/2, h/4. *error: the last correction, an upper estimate of
 * the truncation, plus rounding: each loss is off by at most ROUNDING eps |loss| (sums of some hundred terms through
 * two layers), which the last step h/4 divides by and the weights 64/45, 20/45, 1/45 amplify by less than 2. */
static double derivative(const line *f, double *error)
{
    enum { ROUNDING = 200 };
    const double h = 2e-3;
    double a = central(f, h), b = central(f, h / 2), c = central(f, h / 4);
    double ab = b + (b - a) / 3, bc = c + (c - b) / 3, best = bc + (bc - ab) / 15;
    *error = fabs(best - bc) + 2 * ROUNDING * DBL_EPSILON * fabs(loss_at(f, 0)) / (h / 4);
    return best;
}

/* Directional derivative of one tensor along random signs: every entry counts. spoil (control): the gradient is
 * taken to be wrong by that part of its norm. */
static bool tensor_agrees(const line *f, const double *grads, double spoil, double *worst)
{
    double dot = 0, norm = 0, error, numeric = derivative(f, &error);
    for (size_t i = 0; i < f->param->count; i++) {
        double g = grads[f->param->offset + i];
        dot += g * f->direction[i];
        norm += g * g;
    }
    /* The check means something only when the error allowed is small against the gradient. */
    double scale = sqrt(norm);
    dot += spoil * scale;
    if (!(error <= 1e-5 * fmax(scale, 1e-3)))
        fail_msg("'%s': difference is good to %.2g only, gradient norm %.2g", f->param->name, error, scale);
    *worst = fmax(*worst, fabs(dot - numeric) / fmax(scale, 1e-3));
    return fabs(dot - numeric) <= error;
}

static void random_signs(double *x, size_t n, uint64_t seed, size_t sub)
{
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_TEST, (uint32_t)sub);
    for (size_t i = 0; i < n; i++)
        x[i] = hkt_rng_u32(&rng) >> 31 ? -1 : 1;
}

/* All tensors of one model; returns the number that agree. */
static size_t count_agreeing(model *m, const hkt_dropout_spec *dropout, double spoil, double *worst)
{
    size_t total = m->layout->total, agreeing = 0;
    double *at = model_doubles(total), *grads = model_doubles(total), *direction = model_doubles(total);
    memcpy(at, m->params, total * sizeof *at);
    model_run_f64(m, dropout, NULL, NULL, grads);
    hkt_net_f64 *net = model_net_f64(m, false, false);
    for (size_t i = 0; i < m->layout->n_params; i++) {
        const hkt_param *p = &m->layout->params[i];
        random_signs(direction, p->count, 5, i);
        line f = {.m = m, .net = net, .dropout = dropout, .at = at, .direction = direction, .param = p};
        bool ok = tensor_agrees(&f, grads, spoil, worst);
        agreeing += ok;
        if (!ok && spoil == 0)
            printf("'%s' differs\n", p->name);
    }
    hkt_net_destroy_f64(net);
    hkt_free(at);
    hkt_free(grads);
    hkt_free(direction);
    return agreeing;
}

static void check_config(const hkt_config *c, const hkt_dropout_spec *dropout, double *worst)
{
    model m = model_random(c, N_RAGGED, ragged, 7);
    size_t n = count_agreeing(&m, dropout, 0, worst);
    if (n != m.layout->n_params)
        fail_msg("fusion %s, causal %d, hybrid %d, levels %zu, stride %zu, dropout %g: %zu of %zu tensors agree",
                 hkt_fusion_name(c->fusion), c->causal, c->hybrid, c->levels, c->stride, dropout ? dropout->rate : 0.0,
                 n, m.layout->n_params);
    model_free(&m);
}

/* Every combination of causal, hybrid, stride 2 and 3, dropout. */
static void check_mode(hkt_fusion fusion)
{
    double worst = 0;
    const hkt_dropout_spec dropout = {.rate = 0.2, .seed = 3, .step = 5};
    for (int bits = 0; bits < 16; bits++) {
        hkt_config c = small;
        c.fusion = fusion;
        c.causal = bits & 1;
        c.hybrid = bits & 2;
        c.stride = bits & 4 ? 3 : 2;
        check_config(&c, bits & 8 ? &dropout : NULL, &worst);
    }
    printf("%s: largest difference %.2g of the gradient's norm\n", hkt_fusion_name(fusion), worst);
}

static void dynamic_gradients(void **state)
{
    (void)state;
    check_mode(HKT_FUSION_DYNAMIC);
}

static void static_gradients(void **state)
{
    (void)state;
    check_mode(HKT_FUSION_STATIC);
}

static void score_gradients(void **state)
{
    (void)state;
    check_mode(HKT_FUSION_SCORE);
}

static void standard_attention_gradients(void **state)
{
    (void)state;
    double worst = 0;
    for (int causal = 0; causal < 2; causal++) {
        hkt_config c = small;
        c.levels = 1;
        c.causal = causal;
        check_config(&c, NULL, &worst);
    }
}

/* Control: gradients that are wrong by one part in a thousand agree nowhere (tensors whose gradient is zero excepted).
 */
static void control_wrong_gradient(void **state)
{
    (void)state;
    hkt_config c = small;
    c.hybrid = c.causal = true;
    double worst = 0;
    model m = model_random(&c, N_RAGGED, ragged, 7);
    assert_int_equal(count_agreeing(&m, NULL, 1e-3, &worst), 0);
    model_free(&m);
}

/* --- fast against naive --- */
static hkt_config random_config(hkt_rng *rng)
{
    hkt_config c = {.vocab = 13, .classes = 5, .max_len = 700};
    c.heads = 1 + hkt_rng_below(rng, 3);
    c.d_model = c.heads * (1 + hkt_rng_below(rng, 9));
    c.layers = 1 + hkt_rng_below(rng, 2);
    c.levels = 1 + hkt_rng_below(rng, HKT_MAX_LEVELS);
    c.stride = 2 + hkt_rng_below(rng, 3);
    c.conv_width = 1 + hkt_rng_below(rng, 5);
    c.ffn_mult = 1 + hkt_rng_below(rng, 4);
    c.fusion = (hkt_fusion)hkt_rng_below(rng, 3);
    c.hybrid = hkt_rng_below(rng, 2);
    c.causal = hkt_rng_below(rng, 2);
    return c;
}

/* Largest |logit difference| / max |logit|. perturb: control, changes one parameter of the naive pass. */
static double fast_against_naive(const model *m, double perturb)
{
    size_t C = m->layout->config.classes, first = 0;
    double *fast = model_doubles(m->batch.n_seq * C), *naive = model_doubles(m->batch.n_seq * C);
    model_run_f64(m, NULL, fast, NULL, NULL);
    m->params[m->layout->layer[0].level[0].q] += perturb;
    for (size_t b = 0; b < m->batch.n_seq; b++) {
        CHECK_OK(hkt_net_forward_ref_f64(m->layout, m->params, m->length[b], m->tokens + first, naive + b * C, NULL));
        first += m->length[b];
    }
    m->params[m->layout->layer[0].level[0].q] -= perturb;
    double error = check_relative(fast, naive, m->batch.n_seq * C);
    hkt_free(fast);
    hkt_free(naive);
    return error;
}

/* n eps with n = 1e4: sums over up to 600 tokens and a few layers of them, none of which amplifies much. */
static const double naive_tolerance = 1e4 * DBL_EPSILON;

static void fast_equals_naive(void **state)
{
    (void)state;
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 77);
    double worst = 0;
    for (int i = 0; i < 60; i++) {
        hkt_config c = random_config(&rng);
        size_t length[3];
        for (size_t b = 0; b < 3; b++)
            length[b] = 1 + hkt_rng_below(&rng, i % 20 == 0 ? 600 : 60);
        model m = model_random(&c, 3, length, (uint64_t)i);
        double error = fast_against_naive(&m, 0);
        CHECK_AT_MOST(error, naive_tolerance);
        worst = fmax(worst, error);
        model_free(&m);
    }
    printf("60 random models: largest relative difference %.2g\n", worst);
}

static void control_naive_with_another_weight(void **state)
{
    (void)state;
    hkt_config c = small;
    c.hybrid = c.causal = true;
    model m = model_random(&c, N_RAGGED, ragged, 7);
    double error = fast_against_naive(&m, 1e-6);
    if (error <= naive_tolerance)
        fail_msg("a change of 1e-6 passes: %g", error);
    model_free(&m);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    hkt_set_threads(1); /* tiny models */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dynamic_gradients),
        cmocka_unit_test(static_gradients),
        cmocka_unit_test(score_gradients),
        cmocka_unit_test(standard_attention_gradients),
        cmocka_unit_test(control_wrong_gradient),
        cmocka_unit_test(fast_equals_naive),
        cmocka_unit_test(control_naive_with_another_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

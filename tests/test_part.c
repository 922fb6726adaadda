/* Interventions on score matrices. A head whose M = Wq^T Wk has rank p/2 has parts of rank p, so a model with other
 * weights has them as its whole score matrices: the naive forward pass of that model is the oracle. */
#include "tests/check.h"

#include <float.h>

#include "tests/model.h"

static const hkt_config base = {.vocab = 12,
                                .classes = 3,
                                .max_len = 20,
                                .d_model = 12,
                                .heads = 2,
                                .layers = 2,
                                .levels = 3,
                                .stride = 2,
                                .conv_width = 4,
                                .ffn_mult = 3,
                                .hybrid = true,
                                .causal = true};
static const size_t lengths[] = {20, 7, 1};
enum { N_SEQ = sizeof lengths / sizeof lengths[0], C = 3, SEED = 11 };

/* Both matrices [p, d] from the left by the same reflection I - 2 v v^T / (v^T v): leaves q^T k as it is. */
static void reflect(size_t p, size_t d, double *q, double *k, hkt_rng *rng)
{
    double v[16], norm = 0, *w[] = {q, k};
    for (size_t r = 0; r < p; r++) {
        v[r] = hkt_rng_normal(rng);
        norm += v[r] * v[r];
    }
    for (size_t m = 0; m < 2; m++)
        for (size_t c = 0; c < d; c++) {
            double dot = 0;
            for (size_t r = 0; r < p; r++)
                dot += v[r] * w[m][r * d + c];
            for (size_t r = 0; r < p; r++)
                w[m][r * d + c] -= 2 * dot / norm * v[r];
        }
}

/* One head's Wq, Wk [p, d] of rank p/2, mixed over all rows: the first half of the rows are kept, the others become
 * what the part needs of them: [Wq; 0], [Wk; 0] for the whole, [Wq; +-Wk R^T] and [Wk; Wq R^T] over sqrt(2) for a
 * part, R = I but for the random one. */
static void set_head(size_t p, size_t d, double *q, double *k, hkt_score_part part, const size_t *index,
                     const double *sign)
{
    double root = part == HKT_PART_WHOLE ? 1 : sqrt(0.5), b = part == HKT_PART_ANTISYMMETRIC ? -1 : 1;
    for (size_t r = 0; r < p / 2; r++)
        for (size_t c = 0; c < d; c++) {
            double *q2 = q + (p / 2 + r) * d, *k2 = k + (p / 2 + r) * d;
            if (part == HKT_PART_WHOLE)
                q2[c] = k2[c] = 0;
            else if (part == HKT_PART_RANDOM) { /* W x R = sum_c W_c sign_c x_index[c] */
                q2[index[c]] = root * sign[c] * k[r * d + c];
                k2[index[c]] = root * sign[c] * q[r * d + c];
            } else {
                q2[c] = root * b * k[r * d + c];
                k2[c] = root * q[r * d + c];
            }
        }
    for (size_t i = 0; i < p / 2 * d; i++) {
        q[i] *= root;
        k[i] *= root;
    }
    hkt_rng rng = hkt_rng_make(SEED, HKT_STREAM_TEST, 77);
    reflect(p, d, q, k, &rng);
}

/* Model of the test with every level's scores replaced by `part` in the weights themselves. */
static model with_parts(const hkt_config *c, const hkt_score_part *part)
{
    model m = model_random(c, N_SEQ, lengths, 1);
    size_t d = c->d_model, p = d / c->heads, index[64];
    double sign[64];
    for (size_t n = 0; n < c->layers; n++)
        for (size_t l = 0; l < c->levels; l++) {
            const hkt_level_offsets *at = &m.layout->layer[n].level[l];
            hkt_part_rotation(SEED, n, l, d, index, sign);
            for (size_t h = 0; h < c->heads; h++)
                set_head(p, d, m.params + at->q + h * p * d, m.params + at->k + h * p * d, part[l], index, sign);
        }
    return m;
}

static void logits_with(const model *m, const hkt_intervention *iv, double *logits)
{
    hkt_net_f64 *net = model_net_f64(m, false, false);
    CHECK_OK(hkt_net_forward_f64(net, m->params, &m->batch, NULL, iv, logits, NULL));
    hkt_net_destroy_f64(net);
}

static void compare(const hkt_config *c, const hkt_score_part *part)
{
    static const hkt_score_part whole[HKT_MAX_LEVELS] = {HKT_PART_WHOLE};
    model plain = with_parts(c, whole), other = with_parts(c, part);
    hkt_intervention iv = {.seed = SEED};
    memcpy(iv.part, part, sizeof iv.part);
    double with[N_SEQ * C], without[N_SEQ * C], oracle[C];
    logits_with(&plain, &iv, with);
    logits_with(&plain, NULL, without);
    CHECK_AT_MOST(1e-5, check_relative(with, without, N_SEQ * C)); /* the intervention does something */
    for (size_t b = 0, first = 0; b < N_SEQ; first += lengths[b++]) {
        CHECK_OK(hkt_net_forward_ref_f64(other.layout, other.params, lengths[b], other.tokens + first, oracle, NULL));
        CHECK_AT_MOST(check_relative(with + b * C, oracle, C), 1e-12);
    }
    model_free(&plain);
    model_free(&other);
}

/* All levels by the same part, and each level by another one; every fusion, causal or not. */
static void against_other_weights(void **state)
{
    (void)state;
    const hkt_score_part w = HKT_PART_WHOLE, s = HKT_PART_SYMMETRIC, a = HKT_PART_ANTISYMMETRIC, r = HKT_PART_RANDOM;
    const hkt_score_part parts[][HKT_MAX_LEVELS] = {{s, s, s}, {a, a, a}, {r, r, r}, {s, a, r},
                                                    {r, w, a}, {w, r, w}, {a, w, w}, {w, w, s}};
    for (int fusion = 0; fusion < 3; fusion++)
        for (int causal = 0; causal < 2; causal++)
            for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                hkt_config c = base;
                c.fusion = (hkt_fusion)fusion;
                c.causal = causal;
                compare(&c, parts[i]);
            }
    hkt_config c = base; /* one level; attention alone; several row blocks are in the test below */
    c.levels = 1;
    c.hybrid = false;
    compare(&c, parts[0]);
    compare(&c, parts[1]);
    compare(&c, parts[2]);
}

/* Float and double agree, whatever the number of threads, over several row blocks. */
static void precisions_and_threads(void **state)
{
    (void)state;
    hkt_config c = base;
    c.max_len = 1100;
    size_t length[] = {1100, 300};
    model m = model_random(&c, 2, length, 2);
    hkt_intervention iv = {.part = {HKT_PART_RANDOM, HKT_PART_SYMMETRIC, HKT_PART_ANTISYMMETRIC}, .seed = SEED};
    double one[2 * C], two[2 * C], *wide;
    float narrow[2 * C];
    hkt_set_threads(1);
    logits_with(&m, &iv, one);
    hkt_set_threads(2);
    logits_with(&m, &iv, two);
    assert_memory_equal(one, two, sizeof one);
    hkt_net_f32 *net = model_net_f32(&m, false, false);
    float *params = model_params_f32(&m);
    CHECK_OK(hkt_net_forward_f32(net, params, &m.batch, NULL, &iv, narrow, NULL));
    wide = model_widen_f32(narrow, 2 * C);
    CHECK_AT_MOST(check_relative(wide, one, 2 * C), 1e-4);
    hkt_free(wide);
    hkt_free(params);
    hkt_net_destroy_f32(net);
    model_free(&m);
}

/* A net that has made an intervention is the same net afterwards. */
static void leaves_no_trace(void **state)
{
    (void)state;
    model m = model_random(&base, N_SEQ, lengths, 1);
    hkt_net_f64 *net = model_net_f64(&m, false, false);
    hkt_intervention iv = {.part = {HKT_PART_RANDOM}, .seed = SEED};
    double before[N_SEQ * C], during[N_SEQ * C], again[N_SEQ * C], other[N_SEQ * C], after[N_SEQ * C];
    CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, NULL, before, NULL));
    CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, &iv, during, NULL));
    CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, &iv, again, NULL));
    iv.seed++;
    CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, &iv, other, NULL));
    CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, NULL, after, NULL));
    assert_memory_equal(before, after, sizeof before);
    assert_memory_equal(during, again, sizeof before);
    assert_memory_not_equal(during, other, sizeof before);
    assert_memory_not_equal(during, before, sizeof before);
    hkt_net_destroy_f64(net);
    model_free(&m);
}

/* Uniform over signed permutations: each is a permutation, and over many draws x R has no mean and every coordinate
 * goes everywhere. */
static void rotations(void **state)
{
    (void)state;
    enum { D = 5, DRAWS = 4000 };
    double sum[D] = {0}, to[D][D] = {{0}};
    for (size_t k = 0; k < DRAWS; k++) {
        size_t index[D];
        double sign[D];
        bool seen[D] = {false};
        hkt_part_rotation(k, k % 3, k % 4, D, index, sign);
        for (size_t c = 0; c < D; c++) {
            assert_true(index[c] < D && !seen[index[c]] && fabs(sign[c]) == 1);
            seen[index[c]] = true;
            sum[c] += sign[c];
            to[c][index[c]]++;
        }
    }
    /* 5 standard deviations of binomials. */
    for (size_t c = 0; c < D; c++) {
        CHECK_NEAR(sum[c], 0, 5 * sqrt(DRAWS));
        for (size_t i = 0; i < D; i++)
            CHECK_NEAR(to[c][i], DRAWS / (double)D, 5 * sqrt(DRAWS * 0.2 * 0.8));
    }
}

static void out_of_memory(void **state)
{
    (void)state;
    model m = model_random(&base, N_SEQ, lengths, 1);
    hkt_intervention iv = {.part = {HKT_PART_SYMMETRIC}};
    hkt_net_f64 *net = model_net_f64(&m, false, false);
    double logits[N_SEQ * C];
    size_t live = hkt_mem_live(), n = 0;
    for (;;) {
        hkt_mem_fail_at(++n);
        hkt_status status = hkt_net_forward_f64(net, m.params, &m.batch, NULL, &iv, logits, NULL);
        assert_int_equal(status, hkt_mem_failed() ? HKT_ESYSTEM : HKT_OK);
        if (status == HKT_OK)
            break;
        assert_int_equal(hkt_mem_live(), live);
    }
    assert_true(n > 5);
    hkt_mem_fail_at(1); /* the second time nothing is allocated */
    CHECK_OK(hkt_net_forward_f64(net, m.params, &m.batch, NULL, &iv, logits, NULL));
    hkt_mem_fail_at(0);
    hkt_net_destroy_f64(net);
    model_free(&m);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    hkt_set_threads(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_other_weights), cmocka_unit_test(precisions_and_threads),
        cmocka_unit_test(leaves_no_trace),       cmocka_unit_test(rotations),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The public interface: right results against independent ones, and no caller's mistake that is not a status with the
 * name of the function. */
#include <hkt/asymmetry.h>
#include <hkt/bands.h>
#include <hkt/cost.h>
#include <hkt/heads.h>
#include <hkt/inertia.h>
#include <hkt/kurtosis.h>
#include <hkt/psd.h>

#include "tests/model.h"

static const hkt_config config = {.vocab = 7,
                                  .classes = 3,
                                  .max_len = 40,
                                  .d_model = 8,
                                  .heads = 2,
                                  .layers = 2,
                                  .levels = 3,
                                  .stride = 2,
                                  .conv_width = 3,
                                  .ffn_mult = 2,
                                  .fusion = HKT_FUSION_STATIC,
                                  .hybrid = true,
                                  .causal = true};
enum { T = 21, LEVELS = 3, LAYERS = 2, HEADS = 2, D = 8, P = 4 };
static const char path[] = "api.safetensors";
static const size_t lengths[] = {T, 5};

/* A model in memory and the same from its file; its parameters are those of float32. */
static model written(hkt_model **opened)
{
    float *rounded;
    model m = model_random(&config, 2, lengths, 4);
    CHECK_OK(HKT_NEW(&rounded, m.layout->total));
    hkt_params_to_f32(m.layout, m.params, rounded);
    for (size_t i = 0; i < m.layout->total; i++)
        m.params[i] = (double)rounded[i];
    CHECK_OK(hkt_checkpoint_write(path, m.layout, rounded, NULL));
    hkt_free(rounded);
    CHECK_OK(hkt_model_open(opened, path));
    return m;
}

static void forward(void **state)
{
    (void)state;
    hkt_model *opened;
    model m = written(&opened);
    double logits[2 * 3], reference[3];
    CHECK_OK(hkt_model_forward(opened, 2, m.length, m.tokens, logits));
    for (size_t b = 0; b < 2; b++) {
        CHECK_OK(hkt_net_forward_ref_f64(m.layout, m.params, lengths[b], m.tokens + (b ? T : 0), reference, NULL));
        CHECK_AT_MOST(check_relative(logits + 3 * b, reference, 3), 1e-12);
    }
    hkt_model_shape shape;
    CHECK_OK(hkt_model_get_shape(opened, &shape));
    assert_int_equal(shape.tensors, m.layout->n_params);
    assert_int_equal(shape.parameters, m.layout->n_weights);
    assert_int_equal(shape.head_width, P);
    assert_string_equal(shape.fusion, "static");
    assert_true(shape.hybrid && shape.causal && shape.stride == 2 && shape.ffn_mult == 2 && shape.conv_width == 3);
    for (size_t i = 0; i < shape.tensors; i++) {
        hkt_model_tensor t;
        const hkt_param *p = m.layout->params + i;
        CHECK_OK(hkt_model_get_tensor(opened, i, &t));
        assert_string_equal(t.name, p->name);
        assert_int_equal(t.ndim, p->ndim);
        assert_memory_equal(t.shape, p->shape, p->ndim * sizeof *t.shape);
        assert_memory_equal(t.values, m.params + p->offset, p->count * sizeof *t.values);
    }
    hkt_model_close(opened);
    model_free(&m);
}

/* --- heads -------------------------------------------------------------------------------------------------------- */

typedef struct {
    const hkt_model *model;
    size_t seen;
} walk;

/* Central moments of the scores by two passes; the trace and the squared norm of the symmetric part. */
static void naive(const hkt_heads_view *h, double *kappa, double *variance, double *trace)
{
    double n = 0, mean = 0, m2 = 0, m4 = 0;
    *trace = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < h->n; i++)
            for (size_t j = 0; j < (h->causal ? i + 1 : h->n); j++) {
                double s = 0;
                for (size_t c = 0; c < h->p; c++)
                    s += h->q[i * h->ld + c] * h->k[j * h->ld + c] / sqrt((double)h->p);
                if (pass == 0) {
                    mean += s;
                    n++;
                    *trace += i == j ? s : 0;
                } else {
                    m2 += pow(s - mean / n, 2);
                    m4 += pow(s - mean / n, 4);
                }
            }
    *kappa = m4 / n / (3 * pow(m2 / n, 2));
    *variance = m2 / n;
}

static hkt_status look(void *self, const hkt_heads_view *h)
{
    walk *w = self;
    const size_t place = (h->layer * LEVELS + h->level) * HEADS + h->head;
    hkt_kurtosis_result k;
    hkt_inertia_result e;
    double kappa, variance, trace;
    assert_int_equal(place, w->seen++);
    assert_int_equal(h->n, (T + (1 << h->level) - 1) >> h->level);
    assert_int_equal(h->p, P);
    naive(h, &kappa, &variance, &trace);
    CHECK_OK(hkt_kurtosis_head(h->n, h->p, h->q, h->ld, h->k, h->ld, h->causal, &k));
    CHECK_NEAR(k.kappa, kappa, 1e-10 * kappa);
    CHECK_NEAR(k.variance, variance, 1e-10 * variance);
    assert_int_equal((size_t)k.n, h->n * (h->n + 1) / 2);
    /* The dense matrix: the same signs, extremes and sum. */
    double *s = model_doubles(2 * h->n * h->n), *sym = s + h->n * h->n;
    hkt_inertia_result dense;
    CHECK_OK(hkt_heads_scores(h->n, h->p, h->q, h->ld, h->k, h->ld, s));
    for (size_t i = 0; i < h->n; i++)
        for (size_t j = 0; j < h->n; j++)
            sym[i * h->n + j] = (s[i * h->n + j] + s[j * h->n + i]) / 2;
    CHECK_OK(hkt_inertia_matrix(h->n, sym, &dense));
    CHECK_OK(hkt_inertia_head(h->n, h->p, h->q, h->ld, h->k, h->ld, &e));
    assert_true(e.positive + e.negative + e.zero == h->n);
    CHECK_NEAR(e.lowest, dense.lowest, 1e-12 * dense.highest);
    CHECK_NEAR(e.highest, dense.highest, 1e-12 * dense.highest);
    CHECK_NEAR(e.negative_mass, dense.negative_mass, 1e-12);
    if (h->n >= 2 * P) /* generic q and k: p of each sign (docs/theory.md, "psd") */
        assert_true(e.positive == P && e.negative == P && dense.positive == P && dense.negative == P);
    double diagonal = 0;
    for (size_t i = 0; i < h->n; i++)
        diagonal += s[i * h->n + i];
    CHECK_NEAR(diagonal, trace, 1e-12 * (1 + fabs(trace)));
    hkt_free(s);
    return HKT_OK;
}

static hkt_status stop(void *self, const hkt_heads_view *h)
{
    (void)h;
    ++*(size_t *)self;
    return HKT_ENUMERIC;
}

static void heads(void **state)
{
    (void)state;
    hkt_model *opened;
    model m = written(&opened);
    walk w = {opened, 0};
    size_t calls = 0;
    CHECK_OK(hkt_heads_walk(opened, T, m.tokens, look, &w));
    assert_int_equal(w.seen, LAYERS * LEVELS * HEADS);
    assert_int_equal(hkt_heads_walk(opened, T, m.tokens, stop, &calls), HKT_ENUMERIC);
    assert_int_equal(calls, 1);
    hkt_model_close(opened);
    model_free(&m);
}

/* --- the other measures ------------------------------------------------------------------------------------------- */

static void measures(void **state)
{
    (void)state;
    hkt_model *opened;
    model m = written(&opened);
    const double *wq, *wk;
    CHECK_OK(hkt_model_get_head(opened, 1, 2, 1, &wq, &wk));
    const hkt_param *q = hkt_layout_find(m.layout, "layers.1.attn.level.2.q.weight");
    assert_non_null(q);
    assert_memory_equal(wq, m.params + q->offset + P * D, P * D * sizeof *wq);
    /* M in full: its antisymmetric share. */
    double form[D * D] = {0}, anti = 0, all = 0;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            for (size_t r = 0; r < P; r++)
                form[i * D + j] += wq[r * D + i] * wk[r * D + j];
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            anti += pow((form[i * D + j] - form[j * D + i]) / 2, 2);
            all += pow(form[i * D + j], 2);
        }
    hkt_asymmetry_result a;
    CHECK_OK(hkt_asymmetry_head(D, P, wq, wk, &a));
    CHECK_NEAR(a.share, anti / all, 1e-12);
    CHECK_NEAR(a.expected, (1 - 1.0 / D) / 2, 1e-15);
    CHECK_NEAR(a.z, (a.share - a.expected) / a.sd, 1e-12);
    /* One row each: q . k = (wq . x)(wk . y), kappa = 9 / 3. */
    double kappa;
    CHECK_OK(hkt_kurtosis_initial(D, 1, wq, wk, &kappa));
    CHECK_NEAR(kappa, 3, 1e-12);
    hkt_kurtosis_result two;
    CHECK_OK(hkt_kurtosis_values(4, (double[]){-1, 1, -1, 1}, &two));
    assert_true(two.mean == 0 && two.variance == 1 && two.excess == -2 && two.skewness == 0);
    CHECK_NEAR(two.kappa, 1.0 / 3, 1e-15);
    /* Bands of level 0: its energy over the window, every row in one band or another. */
    double energy[LEVELS * LEVELS], sum = 0;
    CHECK_OK(hkt_bands_energy(opened, T, m.tokens, 0, HKT_BANDS_OF_INPUTS, energy));
    for (size_t i = 0; i < LEVELS * LEVELS; i++) {
        assert_true(energy[i] >= 0);
        sum += energy[i];
    }
    assert_true(sum > 0);
    hkt_cost_result cost;
    CHECK_OK(hkt_cost_sequence(opened, T, &cost));
    assert_int_equal(cost.total,
                     cost.projections + cost.scores + cost.values + cost.downsample + cost.conv + cost.ffn + cost.head);
    assert_int_equal(cost.ffn, LAYERS * T * 2 * 2 * D * D);
    hkt_inertia_result e;
    CHECK_OK(hkt_inertia_hierarchy(opened, T, m.tokens, 0, 1, &e));
    assert_int_equal(e.positive + e.negative + e.zero, T);
    assert_true(e.positive <= LEVELS * P + P && e.negative > 0);
    hkt_model_close(opened);
    model_free(&m);
}

static void certificates(void **state)
{
    (void)state;
    hkt_psd_certificate c;
    CHECK_OK(hkt_psd_certify(2, (double[]){2, 1, 1, 2}, &c));
    assert_true(c.verdict == HKT_PSD_DEFINITE && c.delta == 0 && isnan(c.quotient));
    CHECK_OK(hkt_psd_certify(2, (double[]){1, 2, 2, 1}, &c));
    assert_true(c.verdict == HKT_PSD_NEGATIVE && c.quotient < 0 && c.error < -c.quotient);
    CHECK_OK(hkt_psd_certify(2, (double[]){1, 1, 1, 1}, &c));
    assert_true(c.verdict == HKT_PSD_SHIFTED && c.delta > 0 && c.delta < 1e-12);
    CHECK_OK(hkt_psd_certify(2, (double[]){1, 2, 3, 1}, &c));
    assert_true(c.verdict == HKT_PSD_REFUSED);
    CHECK_OK(hkt_psd_certify(1, (double[]){(double)NAN}, &c));
    assert_true(c.verdict == HKT_PSD_REFUSED);
    assert_string_equal(hkt_psd_verdict_name(HKT_PSD_REFUSED), "refused");
    assert_string_equal(hkt_psd_verdict_name((hkt_psd_verdict)-1), "unknown");
}

/* --- mistakes ----------------------------------------------------------------------------------------------------- */

static void mistakes_with_models(void **state)
{
    (void)state;
    hkt_model *opened, *none = NULL;
    model m = written(&opened);
    hkt_model_shape shape;
    hkt_model_tensor tensor;
    hkt_cost_result cost;
    hkt_inertia_result e;
    const double *wq;
    double out[64];
    size_t long_one = 41, zero = 0;
    int32_t wrong[] = {7};
    CHECK_FAILS(hkt_model_open(NULL, path), HKT_EUSAGE, "hkt_model_open: out is NULL");
    CHECK_FAILS(hkt_model_open(&none, NULL), HKT_EUSAGE, "hkt_model_open: path is NULL");
    CHECK_FAILS(hkt_model_open(&none, "absent"), HKT_EINPUT, "absent");
    assert_null(none);
    hkt_model_close(NULL);
    CHECK_FAILS(hkt_model_get_shape(NULL, &shape), HKT_EUSAGE, "hkt_model_get_shape: model is NULL");
    CHECK_FAILS(hkt_model_get_shape(opened, NULL), HKT_EUSAGE, "hkt_model_get_shape: out is NULL");
    CHECK_FAILS(hkt_model_get_tensor(opened, m.layout->n_params, &tensor), HKT_EUSAGE, "hkt_model_get_tensor: index");
    CHECK_FAILS(hkt_model_get_head(opened, 2, 0, 0, &wq, NULL), HKT_EUSAGE, "hkt_model_get_head: layer");
    CHECK_FAILS(hkt_model_get_head(opened, 0, 3, 0, &wq, NULL), HKT_EUSAGE, "hkt_model_get_head: level");
    CHECK_FAILS(hkt_model_get_head(opened, 0, 0, 2, NULL, NULL), HKT_EUSAGE, "hkt_model_get_head: head");
    CHECK_FAILS(hkt_model_forward(NULL, 1, lengths, m.tokens, out), HKT_EUSAGE, "hkt_model_forward: model is NULL");
    CHECK_FAILS(hkt_model_forward(opened, 0, lengths, m.tokens, out), HKT_EUSAGE, "hkt_model_forward: n: expected 1");
    CHECK_FAILS(hkt_model_forward(opened, 1, NULL, m.tokens, out), HKT_EUSAGE, "hkt_model_forward: length is NULL");
    CHECK_FAILS(hkt_model_forward(opened, 1, lengths, NULL, out), HKT_EUSAGE, "hkt_model_forward: tokens is NULL");
    CHECK_FAILS(hkt_model_forward(opened, 1, lengths, m.tokens, NULL), HKT_EUSAGE, "logits is NULL");
    CHECK_FAILS(hkt_model_forward(opened, 1, &long_one, m.tokens, out), HKT_EINPUT, "expected 1 to 40, found 41");
    CHECK_FAILS(hkt_model_forward(opened, 1, &zero, m.tokens, out), HKT_EINPUT, "expected 1 to 40, found 0");
    CHECK_FAILS(hkt_model_forward(opened, 1, (size_t[]){1}, wrong, out), HKT_EINPUT, "7");
    CHECK_FAILS(hkt_heads_walk(opened, T, m.tokens, NULL, NULL), HKT_EUSAGE, "hkt_heads_walk: visit is NULL");
    CHECK_FAILS(hkt_heads_walk(NULL, T, m.tokens, look, NULL), HKT_EUSAGE, "hkt_heads_walk: model is NULL");
    CHECK_FAILS(hkt_heads_walk(opened, 0, m.tokens, look, NULL), HKT_EUSAGE, "hkt_heads_walk: T: expected 1 to 40");
    CHECK_FAILS(hkt_heads_walk(opened, 1, wrong, look, NULL), HKT_EINPUT, "7");
    CHECK_FAILS(hkt_inertia_hierarchy(opened, T, m.tokens, 2, 0, &e), HKT_EUSAGE, "hkt_inertia_hierarchy: layer");
    CHECK_FAILS(hkt_inertia_hierarchy(opened, T, m.tokens, 0, 2, &e), HKT_EUSAGE, "hkt_inertia_hierarchy: head");
    CHECK_FAILS(hkt_inertia_hierarchy(opened, T, NULL, 0, 0, &e), HKT_EUSAGE, "hkt_inertia_hierarchy: tokens is NULL");
    CHECK_FAILS(hkt_bands_energy(opened, T, m.tokens, 2, HKT_BANDS_OF_INPUTS, out), HKT_EUSAGE, "bands_energy: layer");
    CHECK_FAILS(hkt_bands_energy(opened, T, m.tokens, 0, (hkt_bands_signal)9, out), HKT_EUSAGE, "bands_energy: signal");
    CHECK_FAILS(hkt_bands_energy(opened, 4, m.tokens, 0, HKT_BANDS_OF_INPUTS, out), HKT_EINPUT, "4 tokens are fewer");
    CHECK_FAILS(hkt_bands_energy(opened, T, m.tokens, 0, HKT_BANDS_OF_INPUTS, NULL), HKT_EUSAGE, "energy is NULL");
    CHECK_FAILS(hkt_cost_sequence(opened, 0, &cost), HKT_EUSAGE, "hkt_cost_sequence: T: expected 1");
    CHECK_FAILS(hkt_cost_sequence(NULL, 1, &cost), HKT_EUSAGE, "hkt_cost_sequence: model is NULL");
    hkt_model_close(opened);
    model_free(&m);
}

static void mistakes_with_arrays(void **state)
{
    (void)state;
    double a[4] = {1, 2, 3, 4}, bad[4] = {1, 2, (double)NAN, 4}, out[4];
    hkt_kurtosis_result k;
    hkt_inertia_result e;
    hkt_asymmetry_result s;
    hkt_psd_certificate c;
    CHECK_FAILS(hkt_init(5000), HKT_EUSAGE, "hkt_init: threads");
    CHECK_FAILS(hkt_heads_scores(0, 2, a, 2, a, 2, out), HKT_EUSAGE, "hkt_heads_scores: rows: expected 1");
    CHECK_FAILS(hkt_heads_scores(2, 0, a, 2, a, 2, out), HKT_EUSAGE, "hkt_heads_scores: columns: expected 1");
    CHECK_FAILS(hkt_heads_scores(2, 2, NULL, 2, a, 2, out), HKT_EUSAGE, "hkt_heads_scores: q is NULL");
    CHECK_FAILS(hkt_heads_scores(2, 2, a, 2, NULL, 2, out), HKT_EUSAGE, "hkt_heads_scores: k is NULL");
    CHECK_FAILS(hkt_heads_scores(2, 2, a, 2, a, 2, NULL), HKT_EUSAGE, "hkt_heads_scores: score is NULL");
    CHECK_FAILS(hkt_heads_scores(2, 2, a, 1, a, 2, out), HKT_EUSAGE, "q: rows of 2 numbers are 1 apart");
    CHECK_FAILS(hkt_heads_scores(2, 2, a, 2, bad, 2, out), HKT_EINPUT, "k[1, 0]: expected a finite number, found nan");
    CHECK_FAILS(hkt_kurtosis_head(0, 2, a, 2, a, 2, true, &k), HKT_EUSAGE, "hkt_kurtosis_head: rows");
    CHECK_FAILS(hkt_kurtosis_head(2, 2, bad, 2, a, 2, true, &k), HKT_EINPUT, "hkt_kurtosis_head: q[1, 0]");
    CHECK_FAILS(hkt_kurtosis_head(2, 2, a, 2, a, 2, true, NULL), HKT_EUSAGE, "hkt_kurtosis_head: out is NULL");
    CHECK_FAILS(hkt_kurtosis_values(0, a, &k), HKT_EUSAGE, "hkt_kurtosis_values: n: expected 1");
    CHECK_FAILS(hkt_kurtosis_values(4, bad, &k), HKT_EINPUT, "x[2]");
    CHECK_FAILS(hkt_kurtosis_initial(2, 2, a, bad, out), HKT_EINPUT, "hkt_kurtosis_initial: wk[1, 0]");
    CHECK_FAILS(hkt_kurtosis_initial(2, 0, a, a, out), HKT_EUSAGE, "hkt_kurtosis_initial: rows");
    CHECK_FAILS(hkt_inertia_matrix(0, a, &e), HKT_EUSAGE, "hkt_inertia_matrix: rows");
    CHECK_FAILS(hkt_inertia_matrix(2, a, &e), HKT_EINPUT,
                "expected a symmetric matrix, found 3 at [1, 0] and 2 at [0, 1]");
    CHECK_FAILS(hkt_inertia_head(2, 1 << 15, a, 2, a, 2, &e), HKT_EUSAGE, "hkt_inertia_head: p: expected 1 to 16384");
    CHECK_FAILS(hkt_inertia_head(2, 2, a, 2, bad, 2, &e), HKT_EINPUT, "hkt_inertia_head: k[1, 0]");
    CHECK_FAILS(hkt_asymmetry_head(2, 2, NULL, a, &s), HKT_EUSAGE, "hkt_asymmetry_head: wq is NULL");
    CHECK_FAILS(hkt_psd_certify(0, a, &c), HKT_EUSAGE, "hkt_psd_certify: n: expected 1");
    CHECK_FAILS(hkt_psd_certify(2, NULL, &c), HKT_EUSAGE, "hkt_psd_certify: a is NULL");
    CHECK_FAILS(hkt_psd_certify(2, a, NULL), HKT_EUSAGE, "hkt_psd_certify: out is NULL");
}

/* Every allocation fails once: a status, nothing left. */
static void no_memory(void **state)
{
    (void)state;
    hkt_model *opened;
    model m = written(&opened);
    size_t live = hkt_mem_live(), calls;
    double q[12], logits[3];
    hkt_inertia_result e;
    hkt_kurtosis_result k;
    for (size_t i = 0; i < 12; i++)
        q[i] = (double)(i * i % 5);
    for (size_t n = 1, failed = 1; failed; n++) {
        hkt_model *another = NULL;
        hkt_mem_fail_at(n);
        hkt_status status = hkt_model_open(&another, path);
        failed = status != HKT_OK;
        assert_true(!failed || (status == HKT_ESYSTEM && !another));
        hkt_model_close(another);
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
    }
    hkt_status (*const none)(void *, const hkt_heads_view *) = stop;
    for (size_t n = 1; n <= 3; n++) {
        hkt_mem_fail_at(n);
        assert_int_equal(hkt_model_forward(opened, 1, lengths + 1, m.tokens, logits), HKT_ESYSTEM);
        hkt_mem_fail_at(n);
        calls = 0;
        assert_int_equal(hkt_heads_walk(opened, T, m.tokens, none, &calls), HKT_ESYSTEM);
        assert_int_equal(calls, 0);
        hkt_mem_fail_at(n);
        assert_int_equal(hkt_inertia_head(4, 3, q, 3, q, 3, &e), HKT_ESYSTEM);
        hkt_mem_fail_at(1);
        assert_int_equal(hkt_kurtosis_head(4, 3, q, 3, q, 3, false, &k), HKT_ESYSTEM);
        hkt_mem_fail_at(0);
        assert_int_equal(hkt_mem_live(), live);
    }
    hkt_model_close(opened);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(heads),
        cmocka_unit_test(measures),
        cmocka_unit_test(certificates),
        cmocka_unit_test(mistakes_with_models),
        cmocka_unit_test(mistakes_with_arrays),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}

/* Configuration, parameter table, cost formula, initial values, checkpoints. */
#include "tests/check.h"

#include "base/file.h"
#include "model/cost.h"
#include "tests/model.h"
#include "tests/scratch.h"

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

static const char base_json[] = "{\"vocab\":12,\"classes\":3,\"max_len\":20,\"d_model\":12,\"heads\":2,\"layers\":2,"
                                "\"levels\":3,\"stride\":2,\"conv_width\":4,\"ffn_mult\":3,\"fusion\":\"dynamic\","
                                "\"hybrid\":true,\"causal\":true}";

/* --- config --- */
static void config_round_trip(void **state)
{
    (void)state;
    hkt_config c;
    CHECK_OK(hkt_config_parse(&c, base_json, "test"));
    json_t *obj = hkt_config_json(&c);
    char *text = json_dumps(obj, JSON_COMPACT);
    assert_string_equal(text, base_json); /* the same keys in the same order */
    free(text);
    json_decref(obj);
    for (int f = 0; f < 3; f++) {
        hkt_fusion again;
        CHECK_OK(hkt_fusion_parse(&again, hkt_fusion_name((hkt_fusion)f)));
        assert_int_equal(again, f);
    }
}

/* Parses base_json with `from` replaced by `to`. */
static hkt_status parse_edited(const char *from, const char *to)
{
    char text[512];
    const char *at = strstr(base_json, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - base_json), base_json, to, at + strlen(from));
    hkt_config c = {.vocab = 77};
    hkt_status status = hkt_config_parse(&c, text, "FILE");
    assert_true(status == HKT_OK || c.vocab == 77); /* untouched on error */
    return status;
}

static void config_errors(void **state)
{
    (void)state;
    CHECK_FAILS(parse_edited("\"vocab\":12,", ""), HKT_EINPUT, "FILE: key 'vocab'");
    CHECK_FAILS(parse_edited("\"classes\":3", "\"classes\":0"), HKT_EINPUT,
                "FILE: 'classes': expected 1 to 2147483647, found 0");
    CHECK_FAILS(parse_edited("\"max_len\":20", "\"max_len\":-1"), HKT_EINPUT, "max_len");
    CHECK_FAILS(parse_edited("\"d_model\":12", "\"d_model\":99999999"), HKT_EINPUT, "d_model");
    CHECK_FAILS(parse_edited("\"heads\":2", "\"heads\":5"), HKT_EINPUT,
                "FILE: 'heads': expected a divisor of d_model = 12, found 5");
    CHECK_FAILS(parse_edited("\"layers\":2", "\"layers\":\"2\""), HKT_EINPUT, "layers");
    CHECK_FAILS(parse_edited("\"levels\":3", "\"levels\":13"), HKT_EINPUT, "'levels': expected 1 to 12, found 13");
    CHECK_FAILS(parse_edited("\"stride\":2", "\"stride\":1"), HKT_EINPUT, "stride");
    CHECK_FAILS(parse_edited("\"conv_width\":4", "\"conv_width\":0"), HKT_EINPUT, "conv_width");
    CHECK_FAILS(parse_edited("\"ffn_mult\":3", "\"ffn_mult\":2.5"), HKT_EINPUT, "ffn_mult");
    CHECK_FAILS(parse_edited("\"dynamic\"", "\"dynamical\""), HKT_EINPUT,
                "FILE: 'fusion': expected dynamic, static or score, found 'dynamical'");
    CHECK_FAILS(parse_edited("\"hybrid\":true", "\"hybrid\":1"), HKT_EINPUT, "hybrid");
    CHECK_FAILS(parse_edited(",\"causal\":true", ""), HKT_EINPUT, "causal");
    CHECK_FAILS(parse_edited("true}", "true"), HKT_EINPUT, "FILE");
    hkt_config c;
    CHECK_FAILS(hkt_config_parse(&c, "[1]", "FILE"), HKT_EINPUT, "FILE: expected a JSON object");
    /* What is not used is not checked; further keys are ignored. */
    CHECK_OK(parse_edited("\"levels\":3,\"stride\":2", "\"levels\":1,\"stride\":0"));
    CHECK_OK(parse_edited("\"conv_width\":4,\"ffn_mult\":3,\"fusion\":\"dynamic\",\"hybrid\":true",
                          "\"conv_width\":0,\"ffn_mult\":3,\"fusion\":\"dynamic\",\"hybrid\":false,\"more\":[1]"));
}

static void level_lengths(void **state)
{
    (void)state;
    for (size_t s = 2; s <= 4; s++)
        for (size_t T = 1; T <= 300; T++)
            for (size_t l = 0, power = 1; l < HKT_MAX_LEVELS; l++, power *= s)
                assert_int_equal(hkt_level_length(T, s, l), (T + power - 1) / power);
    assert_int_equal(hkt_level_length((size_t)-1, 2, 1), (size_t)1 << 63);
    assert_int_equal(hkt_level_length(INT32_MAX, 1 << 16, 11), 1);
}

/* --- layout --- */
typedef struct {
    const char *name;
    size_t rows, cols; /* 0: absent; cols 0: one dimension */
    bool decay;
} expected_param;

static void check_param(const hkt_layout *l, const expected_param *e)
{
    const hkt_param *p = hkt_layout_find(l, e->name);
    if (!e->rows) {
        assert_null(p);
        return;
    }
    if (!p)
        fail_msg("'%s' is missing", e->name);
    assert_int_equal(p->ndim, e->cols ? 2 : 1);
    assert_int_equal(p->shape[0], e->rows);
    assert_int_equal(p->ndim == 2 ? p->shape[1] : 0, e->cols);
    assert_int_equal(p->count, e->rows * (e->cols ? e->cols : 1));
    assert_int_equal(p->decay, e->decay);
}

/* In order, without overlap, aligned but for k and v, and counted. */
static void check_table(const hkt_layout *l)
{
    size_t end = 0, weights = 0;
    for (size_t i = 0; i < l->n_params; i++) {
        const hkt_param *p = &l->params[i];
        bool adjacent = strstr(p->name, ".k.weight") || strstr(p->name, ".v.weight");
        assert_true(adjacent ? p->offset == end : p->offset % 16 == 0 && p->offset >= end && p->offset < end + 16);
        end = p->offset + p->count;
        weights += p->count;
    }
    assert_true(l->total >= end && l->total % 16 == 0);
    assert_int_equal(l->n_weights, weights);
}

static void check_params(const hkt_config *c, const expected_param *e, size_t n, size_t n_params)
{
    hkt_layout *l;
    CHECK_OK(hkt_layout_create(&l, c));
    for (size_t i = 0; i < n; i++)
        check_param(l, &e[i]);
    assert_int_equal(l->n_params, n_params);
    check_table(l);
    hkt_layout_destroy(l);
}

static void layout_dynamic(void **state)
{
    (void)state;
    const expected_param e[] = {
        {"embed.weight", 12, 12, true},
        {"pos.weight", 20, 12, true},
        {"layers.0.norm1.weight", 12, 0, false},
        {"layers.1.norm1.bias", 12, 0, false},
        {"layers.0.attn.level.0.down.weight", 0, 0, false},
        {"layers.0.attn.level.1.down.weight", 2, 12, true},
        {"layers.1.attn.level.2.q.weight", 12, 12, true},
        {"layers.1.attn.level.2.k.weight", 12, 12, true},
        {"layers.1.attn.level.2.v.weight", 12, 12, true},
        {"layers.1.attn.level.2.conv.weight", 4, 12, true},
        {"layers.1.attn.theta", 3, 0, false},
        {"layers.1.attn.gate.weight", 3, 12, false},
        {"layers.1.attn.beta", 3, 2, false},
        {"layers.1.attn.out.weight", 12, 12, true},
        {"layers.1.norm2.weight", 12, 0, false},
        {"layers.1.ffn.up.weight", 36, 12, true},
        {"layers.1.ffn.up.bias", 36, 0, false},
        {"layers.1.ffn.down.weight", 12, 36, true},
        {"layers.1.ffn.down.bias", 12, 0, false},
        {"layers.2.norm1.weight", 0, 0, false},
        {"norm.weight", 12, 0, false},
        {"head.weight", 3, 12, true},
        {"head.bias", 3, 0, false},
    };
    /* 6 outside; per layer: norms 4, q k v conv 12, down 2, theta gate beta out 4, ffn 4. */
    check_params(&base, e, sizeof e / sizeof e[0], 6 + 2 * 26);
}

static void layout_score(void **state)
{
    (void)state;
    const expected_param e[] = {
        {"layers.0.attn.level.0.v.weight", 12, 12, true},
        {"layers.0.attn.level.1.v.weight", 0, 0, false},
        {"layers.0.attn.level.0.conv.weight", 4, 12, true},
        {"layers.0.attn.level.1.conv.weight", 0, 0, false},
        {"layers.0.attn.level.1.k.weight", 12, 12, true},
        {"layers.0.attn.beta", 1, 2, false},
        {"layers.0.attn.theta", 3, 0, false},
        {"layers.0.attn.gate.weight", 0, 0, false},
        {"layers.0.attn.level.2.down.weight", 2, 12, true},
    };
    hkt_config c = base;
    c.fusion = HKT_FUSION_SCORE;
    check_params(&c, e, sizeof e / sizeof e[0], 6 + 2 * 21);
}

static void layout_standard_attention(void **state)
{
    (void)state;
    const expected_param e[] = {
        {"layers.0.attn.theta", 0, 0, false},
        {"layers.0.attn.gate.weight", 0, 0, false},
        {"layers.0.attn.beta", 0, 0, false},
        {"layers.0.attn.level.0.conv.weight", 0, 0, false},
    };
    hkt_config c = base;
    c.levels = 1;
    c.hybrid = false;
    check_params(&c, e, sizeof e / sizeof e[0], 6 + 2 * 12);
}

/* --- cost --- */
/* Multiply-adds counted one by one. */
static hkt_cost count_by_loops(const hkt_config *c, size_t T)
{
    hkt_cost n = {0};
    size_t d = c->d_model;
    for (size_t l = 0; l < c->levels; l++)
        for (size_t i = 0; i < hkt_level_length(T, c->stride, l); i++) {
            bool values = c->fusion != HKT_FUSION_SCORE || l == 0;
            n.projections += d * d * (values ? 3 : 2);
            n.downsample += l ? c->stride * d : 0;
            n.conv += values && c->hybrid ? c->conv_width * d : 0;
            for (size_t j = 0; j < (c->causal ? i + 1 : hkt_level_length(T, c->stride, l)); j++) {
                n.scores += d;
                n.values += values ? d : 0;
            }
        }
    for (size_t i = 0; i < T; i++) {
        n.projections += d * d;
        n.ffn += 2 * c->ffn_mult * d * d;
    }
    n.projections *= c->layers, n.scores *= c->layers, n.values *= c->layers;
    n.downsample *= c->layers, n.conv *= c->layers, n.ffn *= c->layers;
    n.head = c->classes * d;
    n.total = n.projections + n.scores + n.values + n.downsample + n.conv + n.ffn + n.head;
    return n;
}

static void cost_formula(void **state)
{
    (void)state;
    for (int bits = 0; bits < 24; bits++)
        for (size_t T = 1; T <= 20; T++) {
            hkt_config c = base;
            c.causal = bits & 1;
            c.hybrid = bits & 2;
            c.stride = bits & 4 ? 3 : 2;
            c.fusion = (hkt_fusion)(bits / 8);
            hkt_cost a = hkt_cost_forward(&c, T), b = count_by_loops(&c, T), step = hkt_cost_step(&c, T);
            assert_memory_equal(&a, &b, sizeof a);
            assert_int_equal(step.total, 3 * a.total);
            assert_int_equal(step.scores, 3 * a.scores);
        }
}

/* R = sum (T_l / T)^2 = 21/16 at s = 2, L = 3 when 4 divides T (docs/theory.md, cost). */
static void cost_ratio(void **state)
{
    (void)state;
    hkt_config hkt = base, mha = base;
    hkt.causal = mha.causal = false;
    mha.levels = 1;
    assert_int_equal(hkt_cost_forward(&hkt, 512).scores * 16, hkt_cost_forward(&mha, 512).scores * 21);
    assert_true(hkt_cost_forward(&hkt, 510).scores * 16 != hkt_cost_forward(&mha, 510).scores * 21);
}

/* --- initial values --- */
/* Mean and standard deviation of n values within five standard errors. */
static void check_law(const double *x, size_t n, double mean, double sd)
{
    double m = 0, v = 0;
    for (size_t i = 0; i < n; i++)
        m += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        v += (x[i] - m) * (x[i] - m) / (double)n;
    CHECK_NEAR(m, mean, 5 * sd / sqrt((double)n));
    CHECK_NEAR(sqrt(v), sd, 5 * sd / sqrt(2 * (double)n));
}

static void check_tensor_law(const hkt_layout *l, const double *params, const char *name, double mean, double sd)
{
    const hkt_param *p = hkt_layout_find(l, name);
    assert_non_null(p);
    check_law(params + p->offset, p->count, mean, sd);
}

static void initial_values(void **state)
{
    (void)state;
    hkt_config c = base;
    c.d_model = 64;
    c.vocab = 50;
    hkt_layout *l;
    CHECK_OK(hkt_layout_create(&l, &c));
    double *x = model_doubles(l->total), *again = model_doubles(l->total);
    hkt_init_params(l, 9, x);
    check_tensor_law(l, x, "embed.weight", 0, 0.02);
    check_tensor_law(l, x, "pos.weight", 0, 0.02);
    check_tensor_law(l, x, "layers.1.attn.level.2.q.weight", 0, 1.0 / 8);
    check_tensor_law(l, x, "layers.1.attn.level.0.v.weight", 0, 1.0 / 8);
    check_tensor_law(l, x, "layers.0.attn.out.weight", 0, 1.0 / 16); /* 1/sqrt(2 N d), N = 2 */
    check_tensor_law(l, x, "layers.0.ffn.up.weight", 0, 1.0 / 8);
    check_tensor_law(l, x, "layers.1.ffn.down.weight", 0, 1 / sqrt(4.0 * 3 * 64));
    check_tensor_law(l, x, "head.weight", 0, 1.0 / 8);
    check_tensor_law(l, x, "layers.0.norm1.weight", 1, 0);
    check_tensor_law(l, x, "norm.bias", 0, 0);
    check_tensor_law(l, x, "layers.0.attn.level.1.down.weight", 0.5, 0);
    check_tensor_law(l, x, "layers.0.attn.theta", 0, 0);
    check_tensor_law(l, x, "layers.0.attn.gate.weight", 0, 0);
    check_tensor_law(l, x, "layers.0.attn.beta", 0, 0);
    size_t conv = l->layer[0].level[1].conv;
    check_law(x + conv, 64, 1, 0.02);
    check_law(x + conv + 64, 3 * 64, 0, 0.02);
    hkt_init_params(l, 9, again);
    assert_memory_equal(x, again, l->total * sizeof *x);
    hkt_init_params(l, 10, again);
    assert_memory_not_equal(x, again, l->total * sizeof *x);
    hkt_free(x);
    hkt_free(again);
    hkt_layout_destroy(l);
}

/* --- checkpoints --- */
static const size_t lengths[] = {20, 7, 1};

/* Logits in float of a model, [3 * 3]. */
static void logits_of(const hkt_layout *layout, const double *params, const model *input, float *logits)
{
    model m = *input;
    m.layout = (hkt_layout *)(uintptr_t)layout;
    m.params = (double *)(uintptr_t)params;
    model_run_f32(&m, NULL, logits, NULL, NULL);
}

static void save_and_reload(void **state)
{
    (void)state;
    for (int fusion = 0; fusion < 3; fusion++) {
        hkt_config c = base;
        c.fusion = (hkt_fusion)fusion;
        model m = model_random(&c, 3, lengths, 21);
        float *params = model_params_f32(&m), *back, before[9], after[9];
        const char *const meta[] = {"note", "one", NULL};
        CHECK_OK(hkt_checkpoint_write("m.safetensors", m.layout, params, fusion ? meta : NULL));
        hkt_checkpoint read;
        CHECK_OK(hkt_checkpoint_read(&read, "m.safetensors"));
        assert_false(read.stored_f64);
        assert_memory_equal(&read.layout->config, &c, sizeof c);
        CHECK_OK(HKT_NEW(&back, read.layout->total));
        hkt_params_to_f32(read.layout, read.params, back);
        assert_memory_equal(params, back, m.layout->total * sizeof *params);
        logits_of(m.layout, m.params, &m, before);
        logits_of(read.layout, read.params, &m, after);
        assert_memory_equal(before, after, sizeof before);
        hkt_free(params);
        hkt_free(back);
        hkt_checkpoint_free(&read);
        model_free(&m);
    }
    hkt_safetensors *f;
    CHECK_OK(hkt_safetensors_read(&f, "m.safetensors"));
    assert_string_equal(hkt_safetensors_meta(f, "note"), "one");
    hkt_safetensors_free(f);
}

/* Writes base's tensors as F64, with one of them changed by `edit` (or NULL), and reads them back. */
static hkt_status write_edited(const char *config_json, size_t index, void (*edit)(hkt_tensor_out *t))
{
    model m = model_random(&base, 3, lengths, 21);
    hkt_tensor_out *t;
    CHECK_OK(HKT_NEW(&t, m.layout->n_params));
    for (size_t i = 0; i < m.layout->n_params; i++) {
        const hkt_param *p = &m.layout->params[i];
        t[i] = (hkt_tensor_out){.name = p->name,
                                .dtype = HKT_F64,
                                .ndim = p->ndim,
                                .shape = {p->shape[0], p->shape[1]},
                                .data = m.params + p->offset};
    }
    if (edit)
        edit(&t[index]);
    const char *const meta[] = {"hkt.config", config_json, NULL};
    CHECK_OK(hkt_safetensors_write("e.safetensors", t, m.layout->n_params, config_json ? meta : meta + 2));
    hkt_free(t);
    model_free(&m);
    hkt_checkpoint c;
    hkt_status status = hkt_checkpoint_read(&c, "e.safetensors");
    if (status == HKT_OK)
        assert_true(c.stored_f64);
    else
        assert_true(c.layout == NULL && c.params == NULL);
    hkt_checkpoint_free(&c);
    return status;
}

static void rename_tensor(hkt_tensor_out *t)
{
    t->name = "other";
}
static void swap_shape(hkt_tensor_out *t)
{
    t->shape[0] = t->shape[0] / 4;
    t->shape[1] = t->shape[1] * 4;
}
static void flatten(hkt_tensor_out *t)
{
    t->ndim = 1;
    t->shape[0] *= t->shape[1];
}
static void integers(hkt_tensor_out *t)
{
    t->dtype = HKT_I64;
}
static void spoil(hkt_tensor_out *t, double value)
{
    static double x[20 * 12];
    memset(x, 0, sizeof x);
    x[17] = value;
    t->data = x;
}
static void put_nan(hkt_tensor_out *t)
{
    spoil(t, (double)NAN);
}
static void put_infinity(hkt_tensor_out *t)
{
    spoil(t, -(double)INFINITY);
}

static void checkpoint_errors(void **state)
{
    (void)state;
    CHECK_OK(write_edited(base_json, 0, NULL));
    CHECK_FAILS(write_edited(base_json, 1, rename_tensor), HKT_EINPUT,
                "e.safetensors: tensor 'pos.weight': expected shape [20, 12], found no such tensor");
    CHECK_FAILS(write_edited(base_json, 1, swap_shape), HKT_EINPUT,
                "e.safetensors: tensor 'pos.weight': expected shape [20, 12], found [5, 48]");
    CHECK_FAILS(write_edited(base_json, 1, flatten), HKT_EINPUT, "expected shape [20, 12], found [240]");
    CHECK_FAILS(write_edited(base_json, 1, integers), HKT_EINPUT,
                "e.safetensors: tensor 'pos.weight': expected a float dtype, found I64");
    CHECK_FAILS(write_edited(base_json, 1, put_nan), HKT_EINPUT,
                "e.safetensors: tensor 'pos.weight': expected finite values, found nan at element 17");
    CHECK_FAILS(write_edited(base_json, 1, put_infinity), HKT_EINPUT, "found -inf at element 17");
    CHECK_FAILS(write_edited(NULL, 0, NULL), HKT_EINPUT, "e.safetensors: metadata 'hkt.config': expected");
    CHECK_FAILS(write_edited("{\"vocab\":", 0, NULL), HKT_EINPUT, "e.safetensors: hkt.config");
    CHECK_FAILS(write_edited("{\"vocab\":12}", 0, NULL), HKT_EINPUT, "e.safetensors: hkt.config: key 'classes'");
    hkt_checkpoint c;
    CHECK_FAILS(hkt_checkpoint_read(&c, "absent.safetensors"), HKT_EINPUT, "absent.safetensors");
    float x = 0;
    hkt_layout *l;
    CHECK_OK(hkt_layout_create(&l, &base));
    CHECK_FAILS(hkt_checkpoint_write("no/such/dir/m.safetensors", l, &x, NULL), HKT_ESYSTEM, "no/such/dir");
    hkt_layout_destroy(l);
}

/* base_json with another number for one key. */
static hkt_status read_with(const char *from, const char *to)
{
    char text[512];
    const char *at = strstr(base_json, from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - base_json), base_json, to, at + strlen(from));
    return write_edited(text, 0, NULL);
}

/* A config that does not fit is refused by shape, before it can ask for memory. */
static void config_does_not_fit(void **state)
{
    (void)state;
    CHECK_FAILS(read_with("\"d_model\":12", "\"d_model\":24"), HKT_EINPUT,
                "tensor 'embed.weight': expected shape [12, 24], found [12, 12]");
    CHECK_FAILS(read_with("\"layers\":2", "\"layers\":3"), HKT_EINPUT, "tensor 'layers.2.norm1.weight'");
    CHECK_FAILS(read_with("\"levels\":3", "\"levels\":4"), HKT_EINPUT, "tensor 'layers.0.attn.level.3.down.weight'");
    CHECK_FAILS(read_with("\"stride\":2", "\"stride\":3"), HKT_EINPUT,
                "tensor 'layers.0.attn.level.1.down.weight': expected shape [3, 12], found [2, 12]");
    CHECK_FAILS(read_with("\"vocab\":12", "\"vocab\":2147483647"), HKT_EINPUT,
                "tensor 'embed.weight': expected shape [2147483647, 12]");
}

/* Tensors of the model's own that the config has no use for, and any other of its layers; of foreign names none is
 * refused. */
static void tensors_left_over(void **state)
{
    (void)state;
    CHECK_FAILS(read_with("\"dynamic\"", "\"static\""), HKT_EINPUT,
                "e.safetensors: tensor 'layers.0.attn.gate.weight': expected none in a model with layers 2, levels 3, "
                "fusion static, hybrid true, found shape [3, 12]");
    CHECK_FAILS(read_with("\"hybrid\":true", "\"hybrid\":false"), HKT_EINPUT,
                "tensor 'layers.0.attn.level.0.conv.weight': expected none");
    CHECK_FAILS(read_with("\"layers\":2", "\"layers\":1"), HKT_EINPUT, "tensor 'layers.1.norm1.weight': expected none");
    hkt_layout *l;
    CHECK_OK(hkt_layout_create(&l, &base));
    float x[2] = {0}, *params;
    CHECK_OK(HKT_NEW(&params, l->total));
    hkt_tensor_out *t;
    static const char *const foreign[] = {"layer.0.norm3.weight", "grad.layers.9.attn.theta", "optimizer.step",
                                          "embed"};
    static const char *const unused[] = {"layers.0.norm3.weight", "layers.0.attn.level.0.q.bias",
                                         "layers.0.attn.level.one.q.weight", "layers.9.attn.theta.x", "layers."};
    enum { EXTRA = sizeof foreign / sizeof *foreign };
    CHECK_OK(HKT_NEW(&t, l->n_params + EXTRA));
    for (size_t i = 0; i < l->n_params; i++) {
        const hkt_param *p = &l->params[i];
        t[i] = (hkt_tensor_out){p->name, HKT_F32, p->ndim, {p->shape[0], p->shape[1]}, params + p->offset};
    }
    for (size_t i = 0; i < EXTRA; i++)
        t[l->n_params + i] = (hkt_tensor_out){foreign[i], HKT_F32, 1, {2}, x};
    const char *const meta[] = {"hkt.config", base_json, NULL};
    hkt_checkpoint c;
    CHECK_OK(hkt_safetensors_write("f.safetensors", t, l->n_params + EXTRA, meta));
    CHECK_OK(hkt_checkpoint_read(&c, "f.safetensors"));
    hkt_checkpoint_free(&c);
    t[l->n_params].name = "layers.12.attn.beta"; /* control */
    CHECK_OK(hkt_safetensors_write("f.safetensors", t, l->n_params + EXTRA, meta));
    CHECK_FAILS(hkt_checkpoint_read(&c, "f.safetensors"), HKT_EINPUT, "tensor 'layers.12.attn.beta': expected none");
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        char message[120];
        t[l->n_params + 1].name = unused[i];
        t[l->n_params].name = foreign[0];
        snprintf(message, sizeof message, "f.safetensors: tensor '%s': expected below 'layers.' what the model uses",
                 unused[i]);
        CHECK_OK(hkt_safetensors_write("f.safetensors", t, l->n_params + EXTRA, meta));
        CHECK_FAILS(hkt_checkpoint_read(&c, "f.safetensors"), HKT_EINPUT, message);
    }
    hkt_free(t);
    hkt_free(params);
    hkt_layout_destroy(l);
}

/* The n-th allocation fails, n rising until none does: an error each time, nothing left behind. */
static void out_of_memory(void **state)
{
    (void)state;
    model m = model_random(&base, 3, lengths, 21);
    float *params = model_params_f32(&m);
    size_t live = hkt_mem_live(), n = 0;
    hkt_status status;
    do {
        hkt_mem_fail_at(++n);
        status = hkt_checkpoint_write("o.safetensors", m.layout, params, NULL);
        assert_int_equal(status, hkt_mem_failed() ? HKT_ESYSTEM : HKT_OK);
        assert_int_equal(hkt_mem_live(), live);
        assert_int_equal(hkt_file_exists("o.safetensors"), status == HKT_OK);
    } while (status != HKT_OK);
    n = 0;
    do {
        hkt_checkpoint c;
        hkt_mem_fail_at(++n);
        status = hkt_checkpoint_read(&c, "o.safetensors");
        assert_int_equal(status, hkt_mem_failed() ? HKT_ESYSTEM : HKT_OK);
        hkt_checkpoint_free(&c);
        assert_int_equal(hkt_mem_live(), live);
    } while (status != HKT_OK);
    hkt_mem_fail_at(0);
    assert_true(n > 5);
    hkt_free(params);
    model_free(&m);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    hkt_set_threads(1);
    scratch_enter();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_left_over),
        cmocka_unit_test(config_round_trip),
        cmocka_unit_test(config_errors),
        cmocka_unit_test(level_lengths),
        cmocka_unit_test(layout_dynamic),
        cmocka_unit_test(layout_score),
        cmocka_unit_test(layout_standard_attention),
        cmocka_unit_test(cost_formula),
        cmocka_unit_test(cost_ratio),
        cmocka_unit_test(initial_values),
        cmocka_unit_test(save_and_reload),
        cmocka_unit_test(checkpoint_errors),
        cmocka_unit_test(config_does_not_fit),
        cmocka_unit_test(out_of_memory),
    };
    return scratch_leave(cmocka_run_group_tests(tests, NULL, NULL));
}

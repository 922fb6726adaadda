/* Outputs, gradients and taps of five models against an independent implementation in float64: by the digests of
 * tests/golden (see make.py there), and entry by entry when the full files are at hand. */
#include "tests/check.h"

#include "base/file.h"
#include "base/safetensors.h"
#include "tests/model.h"

static const char *const names[] = {"base", "bidirect", "mha", "ragged_s3", "score"};
enum { N_NAMES = sizeof names / sizeof names[0], SIGNS = 8 };

/* Relative tolerances of the issue: 1e-10 is 4.5e5 eps in float64, 1e-4 is 840 eps in float32. */
static const double tolerance_f64 = 1e-10, tolerance_f32 = 1e-4;

typedef struct {
    char name[64];
    size_t count;
    double max, sum[SIGNS];
} digest;

typedef struct {
    model m;
    double *logits, loss;
    digest *digest;
    size_t n_digests;
} golden;

/* Called with every named output. */
typedef void (*visit_fn)(void *context, const char *name, const double *x, size_t n);

/* floor(i / s^l) */
static size_t parent(const hkt_config *c, size_t i, size_t l)
{
    for (; l > 0; l--)
        i /= c->stride;
    return i;
}

#define HKT_BODY "tests/golden.inc.h"
#include "num/both.h"

/* --- reading a text golden --- */
static char *cursor; /* the rest of the text being read */

static const char *word(void)
{
    return strtok_r(NULL, " \n", &cursor);
}

static size_t whole(void)
{
    return (size_t)strtoull(word(), NULL, 10);
}

static void numbers(double *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = strtod(word(), NULL);
}

static void read_config(golden *g)
{
    hkt_config config;
    CHECK_OK(hkt_config_parse(&config, word(), "golden"));
    CHECK_OK(hkt_layout_create(&g->m.layout, &config));
    CHECK_OK(HKT_NEW(&g->m.params, g->m.layout->total));
    CHECK_OK(HKT_NEW(&g->digest, 2 * g->m.layout->n_params));
}

static void read_param(golden *g)
{
    const hkt_param *p = hkt_layout_find(g->m.layout, word());
    assert_non_null(p);
    assert_int_equal(whole(), p->count);
    numbers(g->m.params + p->offset, p->count);
}

static void read_ints(int32_t **out)
{
    size_t n = whole();
    CHECK_OK(HKT_NEW(out, n));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = (int32_t)strtol(word(), NULL, 10);
}

static void read_lengths(golden *g)
{
    g->m.batch.n_seq = whole();
    CHECK_OK(HKT_NEW(&g->m.length, g->m.batch.n_seq));
    for (size_t i = 0; i < g->m.batch.n_seq; i++)
        g->m.length[i] = whole();
}

static void read_digest(golden *g)
{
    assert_true(g->n_digests < 2 * g->m.layout->n_params);
    digest *d = &g->digest[g->n_digests++];
    snprintf(d->name, sizeof d->name, "%s", word());
    d->count = whole();
    numbers(&d->max, 1);
    numbers(d->sum, SIGNS);
}

static void read_record(golden *g, const char *kind)
{
    if (!strcmp(kind, "config"))
        read_config(g);
    else if (!strcmp(kind, "param"))
        read_param(g);
    else if (!strcmp(kind, "lengths"))
        read_lengths(g);
    else if (!strcmp(kind, "labels"))
        read_ints(&g->m.labels);
    else if (!strcmp(kind, "tokens"))
        read_ints(&g->m.tokens);
    else if (!strcmp(kind, "logits")) {
        size_t n = whole();
        g->logits = model_doubles(n);
        numbers(g->logits, n);
    } else if (!strcmp(kind, "loss")) {
        assert_int_equal(whole(), 1);
        numbers(&g->loss, 1);
    } else if (!strcmp(kind, "digest"))
        read_digest(g);
    else
        fail_msg("unknown record '%s'", kind);
}

static golden golden_read(const char *name)
{
    golden g = {0};
    const char *source = getenv("HKT_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s.txt", source ? source : ".", name);
    char *text;
    size_t size;
    CHECK_OK(hkt_file_read(path, &text, &size));
    cursor = strchr(text, '\n') + 1; /* the first line is a comment */
    for (const char *kind = word(); strcmp(kind, "end") != 0; kind = word())
        read_record(&g, kind);
    hkt_free(text);
    g.m.batch.length = g.m.length;
    g.m.batch.tokens = g.m.tokens;
    g.m.batch.labels = g.m.labels;
    return g;
}

static void golden_free(golden *g)
{
    model_free(&g->m);
    hkt_free(g->logits);
    hkt_free(g->digest);
}

/* --- comparing --- */
typedef struct {
    const golden *g;
    const hkt_safetensors *full; /* or NULL */
    double tolerance;
    double worst; /* largest error / allowed error; NaN sticks */
    char where[96];
    size_t compared;
} comparison;

static void note(comparison *c, const char *name, double error, double allowed)
{
    double ratio = error / allowed;
    if (isnan(c->worst) || ratio <= c->worst)
        return;
    c->worst = ratio;
    snprintf(c->where, sizeof c->where, "%s", name);
}

static double largest(const double *x, size_t n)
{
    double top = 0;
    for (size_t i = 0; i < n; i++)
        top = fabs(x[i]) <= top ? top : fabs(x[i]); /* NaN gets through */
    return top;
}

/* Entries within tolerance * max each. */
static void compare_entries(comparison *c, const char *name, const double *x, const double *want, size_t n)
{
    double scale = largest(want, n);
    for (size_t i = 0; i < n; i++)
        note(c, name, fabs(x[i] - want[i]), c->tolerance * scale);
}

static double signed_sum(const double *x, size_t n, uint64_t k)
{
    long double sum = 0;
    uint64_t state = k;
    for (size_t i = 0; i < n; i++) {
        state = 6364136223846793005u * state + 1442695040888963407u;
        sum += state >> 63 ? -(long double)x[i] : (long double)x[i];
    }
    return (double)sum;
}

/* Errors of at most tolerance * max per entry, independent of the signs, add up to about sqrt(n) times that. */
static void compare_digest(comparison *c, const digest *d, const double *x, size_t n)
{
    assert_int_equal(n, d->count);
    note(c, d->name, fabs(largest(x, n) - d->max), c->tolerance * d->max);
    for (size_t k = 0; k < SIGNS; k++)
        note(c, d->name, fabs(signed_sum(x, n, k + 1) - d->sum[k]), c->tolerance * sqrt((double)n) * d->max);
}

static void visit_digest(void *context, const char *name, const double *x, size_t n)
{
    comparison *c = context;
    if (!strcmp(name, "output.logits"))
        compare_entries(c, name, x, c->g->logits, n);
    else if (!strcmp(name, "output.loss"))
        compare_entries(c, name, x, &c->g->loss, n);
    else {
        const digest *d = c->g->digest, *end = d + c->g->n_digests;
        while (d < end && strcmp(d->name, name) != 0)
            d++;
        if (d == end)
            fail_msg("no digest of '%s'", name);
        compare_digest(c, d, x, n);
    }
    c->compared++;
}

static void visit_full(void *context, const char *name, const double *x, size_t n)
{
    comparison *c = context;
    const hkt_tensor *t = hkt_safetensors_find(c->full, name);
    if (!t)
        fail_msg("no tensor '%s'", name);
    assert_int_equal(n, t->count);
    double *want = model_doubles(n);
    CHECK_OK(hkt_tensor_to_f64(t, want));
    compare_entries(c, name, x, want, n);
    hkt_free(want);
    c->compared++;
}

typedef void (*run_fn)(const model *m, visit_fn visit, void *context);

/* Largest error in units of what is allowed; <= 1 passes. */
static comparison compare(const golden *g, run_fn run, double tolerance)
{
    comparison c = {.g = g, .tolerance = tolerance};
    run(&g->m, visit_digest, &c);
    assert_int_equal(c.compared, g->n_digests + 2);
    return c;
}

static void check_all(run_fn run, double tolerance)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        golden g = golden_read(names[i]);
        comparison c = compare(&g, run, tolerance);
        printf("%s: %zu tensors, largest error %.3g of the tolerance %.0e (%s)\n", names[i], c.compared, c.worst,
               tolerance, c.where);
        CHECK_AT_MOST(c.worst, 1);
        golden_free(&g);
    }
}

static void float64_agrees(void **state)
{
    (void)state;
    check_all(visit_outputs_f64, tolerance_f64);
    hkt_set_threads(3);
    check_all(visit_outputs_f64, tolerance_f64);
    hkt_set_threads(1);
}

static void float32_agrees(void **state)
{
    (void)state;
    check_all(visit_outputs_f32, tolerance_f32);
}

/* An entry that the golden batch uses. */
static double *used_entry(golden *g, const hkt_param *p)
{
    size_t row = p->role == HKT_ROLE_EMBED ? (size_t)g->m.tokens[0] : 0;
    return g->m.params + p->offset + row * p->shape[1];
}

/* Control: any parameter tensor changed by 1e-6 in one entry must be noticed in float64, by 0.1 in float32. */
static void check_control(run_fn run, double tolerance, double change)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        golden g = golden_read(names[i]);
        for (size_t k = 0; k < g.m.layout->n_params; k++) {
            double *entry = used_entry(&g, &g.m.layout->params[k]), kept = *entry;
            *entry += change;
            comparison c = compare(&g, run, tolerance);
            if (c.worst <= 1)
                fail_msg("%s: a change of %g in '%s' passes", names[i], change, g.m.layout->params[k].name);
            *entry = kept;
        }
        golden_free(&g);
    }
}

static void control_changed_weight_f64(void **state)
{
    (void)state;
    check_control(visit_outputs_f64, tolerance_f64, 1e-6);
}

static void control_changed_weight_f32(void **state)
{
    (void)state;
    check_control(visit_outputs_f32, tolerance_f32, 0.1);
}

static void control_nan(void **state)
{
    (void)state;
    comparison c = {.tolerance = 1};
    double x[] = {1, (double)NAN, 1}, want[] = {1, 1, 1};
    compare_entries(&c, "x", x, want, 3);
    if (c.worst <= 1)
        fail_msg("NaN passes");
}

static void full_files_agree(void **state)
{
    (void)state;
    const char *source = getenv("HKT_SOURCE");
    for (size_t i = 0; i < N_NAMES; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/../shared/golden/%s.safetensors", source ? source : ".", names[i]);
        if (!hkt_file_exists(path))
            skip();
        hkt_safetensors *file;
        hkt_checkpoint model_of_file;
        CHECK_OK(hkt_safetensors_read(&file, path));
        CHECK_OK(hkt_checkpoint_from(&model_of_file, file));
        assert_true(model_of_file.stored_f64);
        golden g = golden_read(names[i]);
        assert_int_equal(g.m.layout->total, model_of_file.layout->total);
        assert_memory_equal(g.m.params, model_of_file.params, g.m.layout->total * sizeof(double));
        for (int f64 = 0; f64 < 2; f64++) {
            comparison c = {.g = &g, .full = file, .tolerance = f64 ? tolerance_f64 : tolerance_f32};
            (f64 ? visit_outputs_f64 : visit_outputs_f32)(&g.m, visit_full, &c);
            assert_int_equal(c.compared, g.n_digests + 2);
            printf("%s f%d: every entry of %zu tensors, largest error %.3g of the tolerance (%s)\n", names[i],
                   f64 ? 64 : 32, c.compared, c.worst, c.where);
            CHECK_AT_MOST(c.worst, 1);
        }
        golden_free(&g);
        hkt_checkpoint_free(&model_of_file);
        hkt_safetensors_free(file);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    hkt_set_threads(1); /* tiny models */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float64_agrees),
        cmocka_unit_test(float32_agrees),
        cmocka_unit_test(full_files_agree),
        cmocka_unit_test(control_changed_weight_f64),
        cmocka_unit_test(control_changed_weight_f32),
        cmocka_unit_test(control_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

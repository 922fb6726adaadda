/* Memory of one training step against the length of the sequence: it must grow linearly. Peak resident sizes are those
 * of a child process per length, less what it starts with. */
#include "tests/check.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/model.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static const size_t lengths[] = {512, 2048, 8192};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };

typedef struct {
    double workspace; /* hkt_net_bytes */
    double resident;  /* growth of the peak resident size, from before the model exists to after the step */
} usage;

static double peak_resident(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)r.ru_maxrss * 1024; /* Linux counts in KiB */
}

static usage step(size_t T)
{
    hkt_config c = hkt_config_default();
    c.vocab = 16;
    c.classes = 10;
    c.max_len = T;
    double before = peak_resident(), loss;
    model m = model_random(&c, 1, &T, 1);
    hkt_net_f32 *net = model_net_f32(&m, true, false);
    float *params = model_params_f32(&m), *grads;
    CHECK_OK(HKT_NEW(&grads, m.layout->total));
    usage u = {.workspace = (double)hkt_net_bytes_f32(net)};
    if (!SANITIZED)
        CHECK_OK(hkt_net_gradient_f32(net, params, &m.batch, NULL, grads, &loss));
    u.resident = peak_resident() - before;
    return u; /* the process ends here */
}

static usage step_in_child(size_t T)
{
    int pipe_ends[2], status = -1;
    usage u = {0};
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        u = step(T);
        _exit(write(pipe_ends[1], &u, sizeof u) != sizeof u);
    }
    assert_int_equal(read(pipe_ends[0], &u, sizeof u), sizeof u);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return u;
}

/* The same number of bytes per further token in both intervals, up to 10 %: parameters and partial gradients do not
 * depend on T. */
static bool grows_linearly(const double *bytes)
{
    double first = (bytes[1] - bytes[0]) / (double)(lengths[1] - lengths[0]);
    double second = (bytes[2] - bytes[1]) / (double)(lengths[2] - lengths[1]);
    return second >= 0.9 * first && second <= 1.1 * first;
}

static void linear_in_tokens(void **state)
{
    (void)state;
    usage u[N_LENGTHS];
    for (size_t i = 0; i < N_LENGTHS; i++) {
        u[i] = step_in_child(lengths[i]);
        printf("T = %zu: workspace %.1f MB (%.0f bytes/token), peak resident +%.1f MB (%.0f bytes/token)\n", lengths[i],
               u[i].workspace / 1e6, u[i].workspace / (double)lengths[i], u[i].resident / 1e6,
               u[i].resident / (double)lengths[i]);
    }
    double bytes[N_LENGTHS] = {u[0].workspace, u[1].workspace, u[2].workspace};
    assert_true(grows_linearly(bytes));
    if (!SANITIZED)
        assert_true(u[2].resident / u[1].resident <= 1.1 * (double)lengths[2] / (double)lengths[1]);
}

/* Control: one T x T matrix of floats per head and layer, on top of what a step takes, would be noticed. */
static void control_quadratic(void **state)
{
    (void)state;
    double bytes[N_LENGTHS];
    for (size_t i = 0; i < N_LENGTHS; i++)
        bytes[i] = 16e3 * (double)lengths[i] + 8 * sizeof(float) * (double)lengths[i] * (double)lengths[i];
    assert_false(grows_linearly(bytes));
    bytes[1] = (double)NAN;
    assert_false(grows_linearly(bytes));
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_in_tokens),
        cmocka_unit_test(control_quadratic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

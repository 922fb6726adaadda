/* bench_kernels.c - the attention kernel, the matrix product that bounds it, exp and tanh. */
#include <math.h>
#include <string.h>

#include "analysis/view/workload.h"
#include "base/json.h"
#include "base/mem.h"
#include "bench.h"
#include "model/cost.h"
#include "num/kernels.h"

static hkt_status attend_forward(void *w)
{
    hkt_workload_attend(w, false);
    return HKT_OK;
}

static hkt_status attend_backward(void *w)
{
    hkt_workload_attend(w, true);
    return HKT_OK;
}

static hkt_status measure_attention(hkt_bench *b, hkt_timing *forward, hkt_timing *backward)
{
    hkt_workload_attention w;
    hkt_status status = hkt_workload_attention_create(&w, &b->config, b->seq_len, b->batch, b->seed);
    if (status == HKT_OK)
        status = hkt_timing_measure(attend_forward, &w, b->repeats, forward);
    if (status == HKT_OK)
        status = hkt_timing_measure(attend_backward, &w, b->repeats, backward);
    hkt_workload_attention_free(&w);
    return status;
}

hkt_status hkt_bench_attention(hkt_bench *b)
{
    hkt_timing forward, backward;
    hkt_config c = b->config;
    c.layers = 1;
    HKT_TRY(measure_attention(b, &forward, &backward));
    const hkt_cost cost = hkt_cost_forward(&c, b->seq_len);
    const double madds = (double)(cost.scores + cost.values) * (double)b->batch,
                 tokens = (double)(b->seq_len * b->batch);
    double peak;
    const hkt_timing both = {forward.median + backward.median, forward.low + backward.low,
                             forward.high + backward.high};
    hkt_bench_put_timing(b, "", &both, tokens);
    hkt_bench_put_timing(b, "forward_", &forward, tokens);
    hkt_bench_put_timing(b, "backward_", &backward, tokens);
    hkt_bench_put(b, "forward_madds", hkt_json_real(madds));
    hkt_bench_put(b, "forward_madds_per_s", hkt_json_real(madds / forward.median));
    hkt_bench_put(b, "madds_per_s", hkt_json_real(3 * madds / both.median));
    hkt_bench_put_count(b, "peak_rss_bytes", hkt_bench_peak_rss());
    HKT_TRY(hkt_bench_put_peak(b, &peak));
    hkt_bench_put(b, "share_of_gemm", hkt_json_real(madds / forward.median / peak));
    hkt_bench_put(b, "share_of_gemm_both", hkt_json_real(3 * madds / both.median / peak));
    return HKT_OK;
}

hkt_status hkt_bench_gemm(hkt_bench *b)
{
    double peak;
    return hkt_bench_put_peak(b, &peak);
}

/* --- exp and tanh ------------------------------------------------------------------------------------------------- */

enum { ELEMENTS = 4096, SWEEPS = 200 }; /* two arrays in the first-level cache; one repeat takes about a millisecond */

typedef struct {
    const char *name;
    void (*vector)(size_t n, const float *x, float *y);
    float (*scalar)(float x);
    double (*exact)(double x); /* right to far below half an ulp of a float */
    bool use_scalar;
    float x[ELEMENTS], y[ELEMENTS];
} function;

static hkt_status sweep(void *context)
{
    function *f = context;
    for (size_t s = 0; s < SWEEPS; s++) {
        if (f->use_scalar)
            for (size_t i = 0; i < ELEMENTS; i++)
                f->y[i] = f->scalar(f->x[i]);
        else
            f->vector(ELEMENTS, f->x, f->y);
    }
    return HKT_OK;
}

/* |got - want| in units of the spacing of floats at want; infinite when one of them is not a number. */
static double ulps(float got, double want)
{
    const float nearest = (float)want;
    if (isnan(got) || isnan(nearest))
        return isnan(got) && isnan(nearest) ? 0 : HUGE_VAL;
    if (isinf(nearest) || isinf(got))
        return got == nearest ? 0 : HUGE_VAL;
    int exponent;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, (exponent > -125 ? exponent : -125) - 24);
}

/* The worst error over every 251st float of both signs, infinities and NaN among them. */
static double worst_error(function *f)
{
    double worst = 0;
    for (uint64_t first = 0; first <= UINT32_MAX; first += 251 * (uint64_t)ELEMENTS) {
        for (size_t i = 0; i < ELEMENTS; i++) {
            uint32_t pattern = (uint32_t)(first + 251 * i);
            memcpy(&f->x[i], &pattern, sizeof pattern);
        }
        f->vector(ELEMENTS, f->x, f->y);
        for (size_t i = 0; i < ELEMENTS; i++)
            worst = fmax(worst, ulps(f->y[i], f->exact((double)f->x[i])));
    }
    return worst;
}

static hkt_status measure_function(hkt_bench *b, function *f)
{
    char key[64];
    double rate[2];
    for (size_t i = 0; i < ELEMENTS; i++)
        f->x[i] = (float)(-8 + 16.0 * (double)i / ELEMENTS);
    for (int scalar = 0; scalar < 2; scalar++) {
        hkt_timing t;
        f->use_scalar = scalar;
        HKT_TRY(hkt_timing_measure(sweep, f, b->repeats, &t));
        rate[scalar] = (double)ELEMENTS * SWEEPS / t.median;
        snprintf(key, sizeof key, "%s%s_elements_per_s", f->name, scalar ? "_libm" : "");
        hkt_bench_put(b, key, hkt_json_real(rate[scalar]));
    }
    snprintf(key, sizeof key, "%s_speedup", f->name);
    hkt_bench_put(b, key, hkt_json_real(rate[0] / rate[1]));
    snprintf(key, sizeof key, "%s_worst_ulp", f->name);
    hkt_bench_put(b, key, hkt_json_real(worst_error(f)));
    return HKT_OK;
}

hkt_status hkt_bench_exp(hkt_bench *b)
{
    const function functions[] = {{.name = "exp", .vector = hkt_vexp_f32, .scalar = expf, .exact = exp},
                                  {.name = "tanh", .vector = hkt_vtanh_f32, .scalar = tanhf, .exact = tanh}};
    function *f;
    hkt_status status = HKT_OK;
    HKT_TRY(HKT_NEW(&f, 1));
    for (size_t i = 0; i < sizeof functions / sizeof *functions && status == HKT_OK; i++) {
        *f = functions[i];
        status = measure_function(b, f);
    }
    hkt_free(f);
    return status;
}

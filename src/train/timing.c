#include "train/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/rng.h"
#include "num/blas.h"
#include "num/kernels.h"

static int compare_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

hkt_status hkt_timing_measure(hkt_timing_work *work, void *context, size_t repeats, hkt_timing *out)
{
    double t[HKT_TIMING_MAX_REPEATS];
    HKT_ASSERT(repeats >= 1 && repeats <= HKT_TIMING_MAX_REPEATS);
    hkt_progress(false, "warming up for %zu repeats", repeats);
    hkt_progress_within("warming up");
    HKT_TRY(work(context));
    const double begin = hkt_now();
    for (size_t i = 0; i < repeats; i++) {
        hkt_progress_within("%s", "");
        hkt_progress_part(begin, i, repeats, "repeat %zu of %zu", i + 1, repeats);
        hkt_progress_within("repeat %zu of %zu", i + 1, repeats);
        double start = hkt_now();
        HKT_TRY(work(context));
        t[i] = hkt_now() - start;
    }
    hkt_progress_within("%s", "");
    hkt_progress_clear();
    qsort(t, repeats, sizeof *t, compare_real);
    *out = (hkt_timing){(t[(repeats - 1) / 2] + t[repeats / 2]) / 2, t[0], t[repeats - 1]};
    return HKT_OK;
}

typedef struct {
    size_t n;
    float *a, *b, *c; /* [n, n] */
} product;

static hkt_status multiply(void *context)
{
    const product *p = context;
    hkt_blas_sgemm(p->n, p->a, p->b, p->c);
    return HKT_OK;
}

static hkt_status product_create(product *p, size_t n, uint64_t seed)
{
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_BENCH, 1);
    HKT_TRY(HKT_NEW(&p->a, n * n));
    HKT_TRY(HKT_NEW(&p->b, n * n));
    HKT_TRY(HKT_NEW(&p->c, n * n));
    for (size_t i = 0; i < n * n; i++) {
        p->a[i] = (float)hkt_rng_uniform(&rng) - 0.5f;
        p->b[i] = (float)hkt_rng_uniform(&rng) - 0.5f;
    }
    return HKT_OK;
}

hkt_status hkt_timing_gemm_peak(size_t repeats, uint64_t seed, double *peak)
{
    static const size_t sizes[] = {512, 1024, 1536}; /* rising */
    const size_t count = sizeof sizes / sizeof *sizes;
    product p = {0};
    hkt_status status = product_create(&p, sizes[count - 1], seed);
    *peak = 0;
    hkt_blas_set_threads(hkt_threads());
    for (size_t i = 0; i < count && status == HKT_OK; i++) {
        hkt_timing t;
        p.n = sizes[i];
        status = hkt_timing_measure(multiply, &p, repeats, &t);
        if (status == HKT_OK)
            *peak = fmax(*peak, (double)(p.n * p.n * p.n) / t.low);
    }
    hkt_blas_set_threads(1);
    hkt_free(p.a);
    hkt_free(p.b);
    hkt_free(p.c);
    return status;
}

typedef struct {
    size_t bytes, rounds;
    char *from, *to; /* [threads, bytes] each */
} copy;

static hkt_status copy_all(void *context)
{
    const copy *c = context;
#pragma omp parallel for schedule(static, 1)
    for (size_t t = 0; t < hkt_threads(); t++)
        for (size_t i = 0; i < c->rounds; i++) {
            memcpy(c->to + t * c->bytes, c->from + t * c->bytes, c->bytes);
            c->from[t * c->bytes] ^= c->to[t * c->bytes]; /* no round can be left out */
        }
    return HKT_OK;
}

hkt_status hkt_timing_copy(size_t bytes, size_t repeats, double *rate)
{
    enum { LEAST = 1 << 27 }; /* bytes of one repeat */
    copy c = {.bytes = bytes, .rounds = bytes < LEAST ? LEAST / bytes : 1};
    hkt_timing t;
    hkt_status status;
    HKT_TRY_GOTO(status, done, hkt_alloc((void **)&c.from, hkt_threads(), bytes, "copy"));
    HKT_TRY_GOTO(status, done, hkt_alloc((void **)&c.to, hkt_threads(), bytes, "copy"));
    HKT_TRY_GOTO(status, done, hkt_timing_measure(copy_all, &c, repeats, &t));
    *rate = 2 * (double)(hkt_threads() * c.rounds * bytes) / t.median;
done:
    hkt_free(c.from);
    hkt_free(c.to);
    return status;
}

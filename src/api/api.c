#include "api/api.h"

#include <math.h>
#include <pthread.h>

#include "base/progress.h"
#include "base/provenance.h"
#include "num/blas.h"

static void start(void)
{
    hkt_num_start();
    hkt_progress_quiet();
}

void hkt_api_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}

const char *hkt_library_version(void)
{
    return hkt_version;
}

const char *hkt_library_commit(void)
{
    return hkt_commit;
}

const char *hkt_library_blas_core(void)
{
    return hkt_blas_core();
}

hkt_status hkt_init(size_t threads)
{
    enum { MOST_THREADS = 4096 };
    if (threads > MOST_THREADS)
        return hkt_fail(HKT_EUSAGE, "hkt_init: threads: expected at most %d, found %zu", MOST_THREADS, threads);
    hkt_api_start();
    hkt_set_threads(threads);
    return HKT_OK;
}

/* --- what a caller gives ------------------------------------------------------------------------------------------ */

hkt_status hkt_api_given(const char *function, const char *name, const void *pointer)
{
    return pointer ? HKT_OK : hkt_fail(HKT_EUSAGE, "%s: %s is NULL", function, name);
}

hkt_status hkt_api_count(const char *function, const char *name, size_t value, size_t most)
{
    if (value >= 1 && value <= most)
        return HKT_OK;
    return hkt_fail(HKT_EUSAGE, "%s: %s: expected 1 to %zu, found %zu", function, name, most, value);
}

hkt_status hkt_api_index(const char *function, const char *name, size_t index, size_t n)
{
    return index < n ? HKT_OK
                     : hkt_fail(HKT_EUSAGE, "%s: %s: expected less than %zu, found %zu", function, name, n, index);
}

hkt_status hkt_api_matrix(const char *function, const char *name, size_t rows, size_t cols, const double *a, size_t ld)
{
    HKT_TRY(hkt_api_given(function, name, a));
    HKT_TRY(hkt_api_count(function, "rows", rows, HKT_API_MOST));
    HKT_TRY(hkt_api_count(function, "columns", cols, HKT_API_MOST));
    if (ld < cols)
        return hkt_fail(HKT_EUSAGE, "%s: %s: rows of %zu numbers are %zu apart", function, name, cols, ld);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            if (!isfinite(a[i * ld + j]))
                return hkt_fail(HKT_EINPUT, "%s: %s[%zu, %zu]: expected a finite number, found %g", function, name, i,
                                j, a[i * ld + j]);
    return HKT_OK;
}

hkt_status hkt_api_head(const char *function, size_t n, size_t p, const double *q, size_t ld_q, const double *k,
                        size_t ld_k)
{
    HKT_TRY(hkt_api_matrix(function, "q", n, p, q, ld_q));
    return hkt_api_matrix(function, "k", n, p, k, ld_k);
}

hkt_status hkt_api_see(const char *function, const hkt_model *model, size_t T, const int32_t *tokens, hkt_scene *out)
{
    *out = (hkt_scene){0};
    hkt_api_start();
    HKT_TRY(hkt_api_given(function, "model", model));
    HKT_TRY(hkt_api_given(function, "tokens", tokens));
    const hkt_layout *layout = model->checkpoint.layout;
    HKT_TRY(hkt_api_count(function, "T", T, layout->config.max_len));
    HKT_TRY(hkt_scene_open(out, layout, model->checkpoint.params, T));
    return hkt_scene_see(out, T, tokens);
}

/* blas.c - OpenBLAS's control functions, and the threads of our own loops. */
#include "num/blas.h"

#include <cblas.h>
#include <gsl/gsl_errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

void hkt_num_start(void)
{
    openblas_set_num_threads(1);
    gsl_set_error_handler_off();
}

const char *hkt_blas_core(void)
{
    return openblas_get_corename();
}

const char *hkt_blas_version(void)
{
    static _Thread_local char text[64];
    /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the first two words. */
    const char *config = openblas_get_config();
    const char *space = strchr(config, ' ');
    size_t n = space ? (size_t)(space - config) + 1 + strcspn(space + 1, " ") : strlen(config);
    n = n < sizeof text ? n : sizeof text - 1;
    memcpy(text, config, n);
    text[n] = 0;
    return text;
}

void hkt_blas_set_threads(size_t n)
{
    openblas_set_num_threads(n > 0 ? (int)n : 1);
}

void hkt_blas_sgemm(size_t n, const float *a, const float *b, float *c)
{
    const blasint m = (blasint)n;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1, a, m, b, m, 0, c, m);
}

size_t hkt_set_threads(size_t n)
{
    if (n > 0)
        omp_set_num_threads((int)n);
    else if (!getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(omp_get_num_procs());
    return hkt_threads();
}

size_t hkt_threads(void)
{
    return (size_t)omp_get_max_threads();
}

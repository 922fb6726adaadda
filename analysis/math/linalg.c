#include "analysis/math/linalg.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

static hkt_status lapack_status(const char *routine, lapack_int info)
{
    if (info == 0)
        return HKT_OK;
    if (info <= LAPACK_WORK_MEMORY_ERROR)
        return hkt_fail(HKT_ESYSTEM, "%s: out of memory", routine);
    return hkt_fail(HKT_ENUMERIC, "%s: expected finite input and convergence, found info %d", routine, (int)info);
}

hkt_status hkt_check_finite(const char *what, size_t n, const double *a)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(a[i]))
            return hkt_fail(HKT_ENUMERIC, "%s: expected finite elements, found %g at %zu", what, a[i], i);
    return HKT_OK;
}

void hkt_product(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, double alpha, const double *a,
                 const double *b, double beta, double *c)
{
    if (m == 0 || n == 0)
        return;
    if (k == 0) { /* BLAS asks for row strides of at least 1 */
        cblas_dscal((int)(m * n), beta, c, 1);
        return;
    }
    cblas_dgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_b ? CblasTrans : CblasNoTrans, (int)m, (int)n,
                (int)k, alpha, a, (int)(trans_a ? m : k), b, (int)(trans_b ? k : n), beta, c, (int)n);
}

/* Copy of a checked matrix that LAPACK may destroy, followed by `extra` doubles. */
static hkt_status copy_matrix(double **out, const char *what, size_t count, size_t extra, const double *a)
{
    HKT_TRY(hkt_check_finite(what, count, a));
    HKT_TRY(hkt_alloc((void **)out, count + extra, sizeof **out, what));
    memcpy(*out, a, count * sizeof *a);
    return HKT_OK;
}

/* A symmetric matrix is its own transpose: the column-major lower triangle is the row-major upper one. */
hkt_status hkt_eigenvalues(size_t n, const double *a, double *w)
{
    double *b = NULL;
    HKT_TRY(copy_matrix(&b, "eigenvalues", n * n, 0, a));
    lapack_int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', (lapack_int)n, b, (lapack_int)n, w);
    hkt_free(b);
    return lapack_status("dsyevd", info);
}

hkt_status hkt_eigen_lowest(size_t n, const double *a, double *w, double *v)
{
    double *b = NULL;
    HKT_TRY(copy_matrix(&b, "lowest eigenvalue", n * n, n, a));
    lapack_int found = 0, support[2];
    lapack_int info = LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'L', (lapack_int)n, b, (lapack_int)n, 0, 0, 1, 1, 0,
                                     &found, b + n * n, v, (lapack_int)n, support);
    *w = b[n * n];
    hkt_free(b);
    return lapack_status("dsyevr", info);
}

hkt_status hkt_eigen_highest(size_t n, size_t r, double *a, double *w, double *v, int *support)
{
    lapack_int found = 0, size = (lapack_int)n;
    lapack_int info = LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'L', size, a, size, 0, 0, size - (lapack_int)r + 1,
                                     size, 0, &found, w, v, size, support);
    return info == 0 && found != (lapack_int)r
               ? hkt_fail(HKT_ENUMERIC, "dsyevr: expected %zu eigenvalues, found %d", r, (int)found)
               : lapack_status("dsyevr", info);
}

hkt_status hkt_eigenvalues_general(size_t n, const double *a, double *re, double *im)
{
    double *b = NULL, unused;
    HKT_TRY(HKT_NEW(&b, n * n));
    memcpy(b, a, n * n * sizeof *b);
    /* A matrix and its transpose have the same eigenvalues: the order of storage does not matter. */
    lapack_int info =
        LAPACKE_dgeev(LAPACK_COL_MAJOR, 'N', 'N', (lapack_int)n, b, (lapack_int)n, re, im, &unused, 1, &unused, 1);
    hkt_free(b);
    return lapack_status("dgeev", info);
}

hkt_inertia hkt_inertia_of(size_t n, const double *w, double tolerance)
{
    hkt_inertia in = {0, 0, 0};
    for (size_t i = 0; i < n; i++)
        if (w[i] > tolerance)
            in.positive++;
        else if (w[i] < -tolerance)
            in.negative++;
        else
            in.zero++;
    return in;
}

double hkt_negative_mass(size_t n, const double *w)
{
    double negative = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        negative += w[i] < 0 ? -w[i] : 0;
        all += fabs(w[i]);
    }
    return negative / all;
}

double hkt_stable_rank(size_t n, const double *w)
{
    double largest = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(w[i]));
    for (size_t i = 0; i < n; i++)
        squares += (w[i] / largest) * (w[i] / largest);
    return squares;
}

hkt_status hkt_psd_projection(size_t n, const double *a, double *out)
{
    double *v = NULL;
    HKT_TRY(copy_matrix(&v, "psd projection", n * n, n * n + n, a));
    double *scaled = v + n * n, *w = scaled + n * n;
    hkt_status status =
        lapack_status("dsyevd", LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', (lapack_int)n, v, (lapack_int)n, w));
    /* Row k of v is eigenvector k: out = F^T F with row k of F scaled by sqrt(max(w_k, 0)). */
    for (size_t k = 0; k < n && status == HKT_OK; k++)
        for (size_t j = 0; j < n; j++)
            scaled[k * n + j] = v[k * n + j] * sqrt(fmax(w[k], 0));
    if (status == HKT_OK) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)n, 1, scaled, (int)n, 0, out, (int)n);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                out[j * n + i] = out[i * n + j];
    }
    hkt_free(v);
    return status;
}

hkt_status hkt_singular_values(size_t m, size_t n, const double *a, double *w)
{
    double *b = NULL, unused;
    HKT_TRY(copy_matrix(&b, "singular values", m * n, 0, a));
    lapack_int info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', (lapack_int)n, (lapack_int)m, b, (lapack_int)n, w, &unused,
                                     1, &unused, 1);
    hkt_free(b);
    return lapack_status("dgesdd", info);
}

/* The row-major a is the column-major a^T = V diag(w) U^T. */
hkt_status hkt_svd(size_t m, size_t n, double *a, double *w, double *u, double *vt)
{
    size_t r = m < n ? m : n;
    return lapack_status("dgesdd", LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', (lapack_int)n, (lapack_int)m, a, (lapack_int)n,
                                                  w, vt, (lapack_int)n, u, (lapack_int)r));
}

size_t hkt_rank_of(size_t m, size_t n, const double *w)
{
    size_t k = m < n ? m : n, rank = 0;
    double tolerance = (double)(m < n ? n : m) * DBL_EPSILON * (k > 0 ? w[0] : 0);
    while (rank < k && w[rank] > tolerance)
        rank++;
    return rank;
}

struct hkt_tsqr {
    size_t n, capacity, rows; /* rows now in the buffer: R, then rows not yet folded in */
    double *buffer;           /* [capacity, n] */
    double *columns;          /* [n, capacity] scratch: the buffer by columns */
    double *blocks;           /* [n, BLOCK] scratch: factors of the reflections */
};

/* Columns of a panel. */
enum { BLOCK = 32 };

hkt_status hkt_tsqr_create(hkt_tsqr **out, size_t n)
{
    hkt_tsqr *t = NULL;
    *out = NULL;
    HKT_TRY(HKT_NEW(&t, 1));
    t->n = n;
    t->capacity = 4 * n + 64; /* R is folded again with every block: a quarter more work, half the memory of 8 n */
    hkt_status status = HKT_NEW(&t->buffer, t->capacity * n);
    if (status == HKT_OK)
        status = HKT_NEW(&t->columns, t->capacity * n);
    if (status == HKT_OK)
        status = HKT_NEW(&t->blocks, n * BLOCK);
    if (status != HKT_OK) {
        hkt_tsqr_destroy(t);
        return status;
    }
    *out = t;
    return HKT_OK;
}

void hkt_tsqr_destroy(hkt_tsqr *t)
{
    if (!t)
        return;
    hkt_free(t->buffer);
    hkt_free(t->columns);
    hkt_free(t->blocks);
    hkt_free(t);
}

/* to [n, m] = the transpose of from [m, n], few rows at a time, so that both stay in cache. */
static void transpose(size_t m, size_t n, const double *from, double *to)
{
    enum { STRIP = 8 };
    for (size_t first = 0; first < m; first += STRIP) {
        const size_t end = first + STRIP < m ? first + STRIP : m;
        for (size_t j = 0; j < n; j++)
            for (size_t i = first; i < end; i++)
                to[j * m + i] = from[i * n + j];
    }
}

/* Replaces the rows of the buffer by their R. Reflections go along columns, which are put side by side for that: two to
 * three times as fast as dgelqf of the rows as they are. */
static hkt_status fold(hkt_tsqr *t)
{
    const size_t n = t->n, m = t->rows, k = m < n ? m : n, block = k < BLOCK ? k : BLOCK;
    transpose(m, n, t->buffer, t->columns);
    HKT_TRY(lapack_status("dgeqrt", LAPACKE_dgeqrt(LAPACK_COL_MAJOR, (lapack_int)m, (lapack_int)n, (lapack_int)block,
                                                   t->columns, (lapack_int)m, t->blocks, (lapack_int)block)));
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < n; j++)
            t->buffer[i * n + j] = j < i ? 0 : t->columns[j * m + i];
    t->rows = k;
    return HKT_OK;
}

hkt_status hkt_tsqr_next(hkt_tsqr *t, double **row)
{
    if (t->rows == t->capacity)
        HKT_TRY(fold(t));
    *row = t->buffer + t->rows++ * t->n;
    return HKT_OK;
}

hkt_status hkt_tsqr_finish(hkt_tsqr *t, double *r, size_t *k)
{
    HKT_ASSERT(t->rows > 0);
    HKT_TRY(fold(t));
    memset(r, 0, t->n * t->n * sizeof *r);
    memcpy(r, t->buffer, t->rows * t->n * sizeof *r);
    *k = t->rows;
    return HKT_OK;
}

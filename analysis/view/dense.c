#include "analysis/view/dense.h"

#include <cblas.h>
#include <math.h>
#include <stdint.h>

#include "base/mem.h"

void hkt_score_dense(const hkt_tap_f64 *tap, size_t level, size_t head, size_t p, double *score)
{
    int n = (int)tap->offset[level][1], ld = (int)tap->ld[level];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, (int)p, 1 / sqrt((double)p), tap->q[level] + head * p,
                ld, tap->k[level] + head * p, ld, 0, score, n);
}

/* out [n, p] = |X| |W|^T */
static void absolute_product(size_t n, size_t d, size_t p, const double *x, const double *w, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < p; r++) {
            double sum = 0;
            for (size_t c = 0; c < d; c++)
                sum += fabs(x[i * d + c]) * fabs(w[r * d + c]);
            out[i * p + r] = sum;
        }
}

void hkt_score_size(size_t n, size_t d, size_t p, const double *x, const double *wq, const double *wk, double *work,
                    double *out)
{
    double *aq = work, *ak = work + n * p;
    absolute_product(n, d, p, x, wq, aq);
    absolute_product(n, d, p, x, wk, ak);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)p, 1 / sqrt((double)p), aq, (int)p, ak,
                (int)p, 0, out, (int)n);
}

void hkt_score_upsample(size_t T, size_t factor, double weight, const double *s, double *out)
{
    size_t n = (T - 1) / factor + 1;
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            out[i * T + j] += weight * s[i / factor * n + j / factor];
}

size_t hkt_level_factor(size_t stride, size_t level)
{
    size_t factor = 1;
    while (level-- > 0)
        if (!hkt_mul_size(factor, stride, &factor))
            return SIZE_MAX;
    return factor;
}

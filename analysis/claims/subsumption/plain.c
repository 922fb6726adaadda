/* plain.c - attention and convolution as a textbook writes them, with the rounding bounds of any such
 * computation: what the reduced models are compared with. */
#include <math.h>

#include "analysis/claims/subsumption/subsumption.h"
#include "base/mem.h"

/* gamma_k for any unit roundoff. */
static double gamma_of(double k, double u)
{
    return k * u / (1 - k * u);
}

/* out [T, p] = x w^T, size [T, p] = |x| |w|^T. */
static void project(const hkt_plain_head *h, const double *w, double *out, double *size)
{
    for (size_t i = 0; i < h->T; i++)
        for (size_t r = 0; r < h->p; r++) {
            double sum = 0, terms = 0;
            for (size_t c = 0; c < h->d; c++) {
                double term = h->x[i * h->d + c] * w[r * h->d + c];
                sum += term;
                terms += fabs(term);
            }
            out[i * h->p + r] = sum;
            size[i * h->p + r] = terms;
        }
}

typedef struct {
    double *q, *q_size, *k, *k_size, *v, *v_size; /* [T, p] */
    double *score;                                /* [T] */
} plain_work;

/* Weights of row i in w->score (sum 1), and 2 Delta_i: how far rounding with unit u can move the logarithm of any ratio
 * of two of them. */
static double weigh(const hkt_plain_head *h, size_t i, size_t n, double u, plain_work *w)
{
    double terms = 0, largest = 0, top = (double)-INFINITY, sum = 0, root = sqrt((double)h->p);
    for (size_t j = 0; j < n; j++) {
        double s = 0, size = 0;
        for (size_t r = 0; r < h->p; r++) {
            s += w->q[i * h->p + r] * w->k[j * h->p + r];
            size += w->q_size[i * h->p + r] * w->k_size[j * h->p + r];
        }
        w->score[j] = s / root;
        terms = fmax(terms, size / root);
        largest = fmax(largest, fabs(w->score[j]));
        top = fmax(top, w->score[j]);
    }
    for (size_t j = 0; j < n; j++)
        sum += w->score[j] = exp(w->score[j] - top);
    for (size_t j = 0; j < n; j++)
        w->score[j] /= sum;
    return 2 * (gamma_of(2 * (double)h->d + (double)h->p + 16, u) * terms + 2 * u * largest);
}

static void attend(const hkt_plain_head *h, double u, plain_work *w, double *out, double *bound)
{
    for (size_t i = 0; i < h->T; i++) {
        size_t n = h->causal ? i + 1 : h->T;
        double drift = weigh(h, i, n, u, w);
        double relative = expm1(drift) + exp(drift) * gamma_of((double)(h->d + 2 * n + 40), u);
        for (size_t r = 0; r < h->p; r++) {
            double sum = 0, size = 0;
            for (size_t j = 0; j < n; j++) {
                sum += w->score[j] * w->v[j * h->p + r];
                size += w->score[j] * w->v_size[j * h->p + r];
            }
            out[i * h->p + r] = sum;
            bound[i * h->p + r] = relative * size;
        }
    }
}

hkt_status hkt_plain_attention(const hkt_plain_head *h, double u, double *out, double *bound)
{
    plain_work w;
    size_t size = h->T * h->p;
    HKT_TRY(HKT_NEW(&w.q, 6 * size + h->T));
    w.q_size = w.q + size;
    w.k = w.q_size + size;
    w.k_size = w.k + size;
    w.v = w.k_size + size;
    w.v_size = w.v + size;
    w.score = w.v_size + size;
    project(h, h->wq, w.q, w.q_size);
    project(h, h->wk, w.k, w.k_size);
    project(h, h->wv, w.v, w.v_size);
    attend(h, u + 0x1p-53, &w, out, bound);
    hkt_free(w.q);
    return HKT_OK;
}

hkt_status hkt_plain_convolution(const hkt_plain_head *h, double u, double *out, double *bound)
{
    double *v = NULL, gamma = gamma_of((double)(h->d + h->conv_width + 8), u + 0x1p-53);
    HKT_TRY(HKT_NEW(&v, 2 * h->T * h->p));
    double *v_size = v + h->T * h->p;
    project(h, h->wv, v, v_size);
    for (size_t i = 0; i < h->T; i++)
        for (size_t r = 0; r < h->p; r++) {
            double sum = 0, size = 0;
            for (size_t k = 0; k < h->conv_width && k <= i; k++) {
                double c = h->conv[k * h->ld_conv + r];
                sum += c * v[(i - k) * h->p + r];
                size += fabs(c) * v_size[(i - k) * h->p + r];
            }
            out[i * h->p + r] = sum;
            bound[i * h->p + r] = gamma * size;
        }
    hkt_free(v);
    return HKT_OK;
}

/* trial.c - random models for the checks of `subsumption`, with lambda and beta at or near their limits. */
#include <math.h>
#include <string.h>

#include "analysis/claims/subsumption/subsumption.h"
#include "base/mem.h"

void hkt_subsumption_trial_close(hkt_subsumption_trial *t)
{
    hkt_subject_close(&t->s);
    hkt_free(t->tokens);
    hkt_free(t->x);
    *t = (hkt_subsumption_trial){0};
}

static size_t between(hkt_rng *rng, size_t lo, size_t hi)
{
    return lo + (size_t)hkt_rng_below(rng, hi - lo + 1);
}

hkt_config hkt_subsumption_random_config(hkt_rng *rng, size_t index, size_t T)
{
    size_t heads = index % 2 ? between(rng, 2, 4) : 1, p = between(rng, 1, 16);
    hkt_config c = {.vocab = 8,
                    .classes = 2,
                    .max_len = T,
                    .d_model = heads * p,
                    .heads = heads,
                    .layers = 1,
                    .levels = between(rng, 2, 4),
                    .stride = between(rng, 2, 3),
                    .conv_width = between(rng, 1, 5),
                    .ffn_mult = 1,
                    .fusion = (hkt_fusion)(index % 3),
                    .hybrid = true};
    c.causal = hkt_rng_below(rng, 2) == 0;
    return c;
}

static void normal_values(hkt_rng *rng, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = hkt_rng_normal(rng);
}

/* Makes the fused heads visible in the residual stream: out = I, no FFN; and gives gate and convolution weights of
 * order one. */
static void expose(const hkt_layout *layout, hkt_rng *rng, double *params)
{
    const hkt_config *c = &layout->config;
    const hkt_layer_offsets *at = &layout->layer[0];
    size_t d = c->d_model;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            params[at->out + i * d + j] = i == j;
    memset(params + at->down_weight, 0, c->ffn_mult * d * d * sizeof *params);
    for (size_t l = 0; l < hkt_value_levels(c); l++)
        normal_values(rng, c->conv_width * d, params + at->level[l].conv);
    if (at->gate != HKT_ABSENT)
        normal_values(rng, c->levels * d, params + at->gate);
}

void hkt_subsumption_set_limits(hkt_subsumption_trial *t, double theta_0, double beta_logit, bool to_float)
{
    const hkt_layer_offsets *at = &t->s.layout->layer[0];
    double *params = t->s.params;
    params[at->theta] = theta_0;
    for (size_t i = 0; i < hkt_value_levels(&t->config) * t->config.heads; i++)
        params[at->beta + i] = beta_logit;
    for (size_t i = 0; i < t->s.layout->total && to_float; i++)
        params[i] = (double)(float)params[i];
}

hkt_status hkt_subsumption_trial_open(uint64_t seed, const hkt_config *config, size_t T, hkt_rng *rng,
                                      hkt_subsumption_trial *t)
{
    size_t size = T * config->d_model;
    *t = (hkt_subsumption_trial){.config = *config, .T = T};
    hkt_status status = hkt_subject_fresh(config, seed, &t->s);
    if (status == HKT_OK)
        status = HKT_NEW(&t->tokens, T);
    if (status == HKT_OK)
        status = HKT_NEW(&t->x, 5 * size);
    if (status != HKT_OK) {
        hkt_subsumption_trial_close(t);
        return status;
    }
    t->y = t->x + size;
    t->slack = t->y + size;
    t->plain = t->slack + size;
    t->bound = t->plain + size;
    expose(t->s.layout, rng, t->s.params);
    for (size_t i = 0; i < T; i++)
        t->tokens[i] = (int32_t)hkt_rng_below(rng, config->vocab);
    return HKT_OK;
}

hkt_status hkt_subsumption_plain_heads(hkt_subsumption_trial *t, hkt_subsumption_target what, double u)
{
    const hkt_config *c = &t->config;
    size_t d = c->d_model, p = d / c->heads, size = t->T * p;
    const hkt_level_offsets *at = &t->s.layout->layer[0].level[0];
    double *head = NULL;
    HKT_TRY(HKT_NEW(&head, 2 * size));
    hkt_status status = HKT_OK;
    for (size_t h = 0; h < c->heads && status == HKT_OK; h++) {
        hkt_plain_head plain = {.T = t->T,
                                .d = d,
                                .p = p,
                                .causal = c->causal,
                                .x = t->x,
                                .wq = hkt_subject_wq(&t->s, 0, 0, h),
                                .wk = hkt_subject_wk(&t->s, 0, 0, h),
                                .wv = t->s.params + at->v + h * p * d,
                                .conv = t->s.params + at->conv + h * p,
                                .conv_width = c->conv_width,
                                .ld_conv = d};
        status = what == HKT_TO_ATTENTION ? hkt_plain_attention(&plain, u, head, head + size)
                                          : hkt_plain_convolution(&plain, u, head, head + size);
        for (size_t i = 0; i < size && status == HKT_OK; i++) {
            t->plain[i / p * d + h * p + i % p] = head[i];
            t->bound[i / p * d + h * p + i % p] = head[size + i];
        }
    }
    hkt_free(head);
    return status;
}

/* --- textbook attention and convolution --- */

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

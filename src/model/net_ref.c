/* net_ref.c - the oracle of the forward pass: one sequence, every matrix in memory, each step as docs/model.md 2 writes
 * it, parameters found by name. Shares no code with the fast passes. */
#include "model/net.h"
#include "num/real.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

typedef struct {
    const hkt_layout *layout;
    const real *params;
    size_t T, d, H, p, L, s;
    real *level_x[HKT_MAX_LEVELS]; /* [T_l, d] */
    real *v[HKT_MAX_LEVELS];       /* [T_l, d] */
    real *score[HKT_MAX_LEVELS];   /* [H, T_l, T_l] */
    real *fused;                   /* [T, d] */
    real *x, *normed, *branch;     /* [T, d] */
    real *wide;                    /* [T, f d] */
    real *q, *k, *head;            /* [T, d] */
    real *s_h;                     /* [T, T] */
} ref;

__attribute__((format(printf, 2, 3))) static const real *named(const ref *r, const char *format, ...)
{
    char name[64];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    const hkt_param *p = hkt_layout_find(r->layout, name);
    HKT_ASSERT(p);
    return r->params + p->offset;
}

static size_t length(const ref *r, size_t l)
{
    return hkt_level_length(r->T, r->s, l);
}

/* floor(i / s^l), one level at a time. */
static size_t parent(const ref *r, size_t i, size_t l)
{
    for (; l > 0; l--)
        i /= r->s;
    return i;
}

/* y [n, m] = x [n, k] w^T + bias. */
static void linear(size_t n, size_t m, size_t k, const real *x, const real *w, const real *bias, real *y)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            real sum = bias ? bias[j] : 0;
            for (size_t c = 0; c < k; c++)
                sum += x[i * k + c] * w[j * k + c];
            y[i * m + j] = sum;
        }
}

static void layernorm(size_t n, size_t d, const real *x, const real *gamma, const real *beta, real *y)
{
    for (size_t i = 0; i < n; i++) {
        real mean = 0, variance = 0;
        for (size_t c = 0; c < d; c++)
            mean += x[i * d + c] / (real)d;
        for (size_t c = 0; c < d; c++)
            variance += (x[i * d + c] - mean) * (x[i * d + c] - mean) / (real)d;
        for (size_t c = 0; c < d; c++)
            y[i * d + c] = gamma[c] * (x[i * d + c] - mean) / (real)sqrt((double)variance + 1e-5) + beta[c];
    }
}

static real gelu(real x)
{
    double v = (double)x, pi = acos(-1);
    return (real)(v / 2 * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 * v * v * v))));
}

/* out = softmax(z), out may be z. */
static void softmax(size_t n, const real *z, real *out)
{
    real top = z[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        top = z[i] > top ? z[i] : top;
    for (size_t i = 0; i < n; i++)
        sum += out[i] = (real)exp((double)(z[i] - top));
    for (size_t i = 0; i < n; i++)
        out[i] /= sum;
}

/* Step 1. */
static void downsample(ref *r, size_t layer)
{
    for (size_t l = 1; l < r->L; l++) {
        const real *a = named(r, "layers.%zu.attn.level.%zu.down.weight", layer, l);
        for (size_t j = 0; j < length(r, l); j++)
            for (size_t c = 0; c < r->d; c++) {
                real sum = 0;
                for (size_t k = 0; k < r->s && k <= r->s * j; k++)
                    sum += a[k * r->d + c] * r->level_x[l - 1][(r->s * j - k) * r->d + c];
                r->level_x[l][j * r->d + c] = sum;
            }
    }
}

/* Step 2: score [H, T_l, T_l], unmasked; and V^(l). */
static void score_level(ref *r, size_t layer, size_t l)
{
    size_t n = length(r, l), d = r->d, p = r->p;
    linear(n, d, d, r->level_x[l], named(r, "layers.%zu.attn.level.%zu.q.weight", layer, l), NULL, r->q);
    linear(n, d, d, r->level_x[l], named(r, "layers.%zu.attn.level.%zu.k.weight", layer, l), NULL, r->k);
    if (l < hkt_value_levels(&r->layout->config))
        linear(n, d, d, r->level_x[l], named(r, "layers.%zu.attn.level.%zu.v.weight", layer, l), NULL, r->v[l]);
    for (size_t h = 0; h < r->H; h++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                real sum = 0;
                for (size_t c = h * p; c < (h + 1) * p; c++)
                    sum += r->q[i * d + c] * r->k[j * d + c];
                r->score[l][(h * n + i) * n + j] = sum / (real)sqrt((double)p);
            }
}

/* Step 5: head h's columns of y [n, d] from its score matrix s [n, n] (overwritten by A). */
static void hybrid_head(const ref *r, size_t layer, size_t l, size_t h, real *s, real *y)
{
    const hkt_config *c = &r->layout->config;
    size_t n = length(r, l), d = r->d;
    const real *taps = c->hybrid ? named(r, "layers.%zu.attn.level.%zu.conv.weight", layer, l) : NULL;
    double beta = 1;
    if (c->hybrid)
        beta = 1 / (1 + exp(-(double)named(r, "layers.%zu.attn.beta", layer)[l * r->H + h]));
    for (size_t i = 0; i < n; i++) {
        size_t keys = c->causal ? i + 1 : n;
        softmax(keys, s + i * n, s + i * n);
        for (size_t col = h * r->p; col < (h + 1) * r->p; col++) {
            real attention = 0, convolution = 0;
            for (size_t j = 0; j < keys; j++)
                attention += s[i * n + j] * r->v[l][j * d + col];
            for (size_t k = 0; c->hybrid && k < c->conv_width && k <= i; k++)
                convolution += taps[k * d + col] * r->v[l][(i - k) * d + col];
            y[i * d + col] = (real)beta * attention + (real)(1 - beta) * convolution;
        }
    }
}

/* Step 3, and alpha of step 6. */
static void level_weights(const ref *r, size_t layer, real *lambda, real *alpha)
{
    if (r->L == 1) {
        lambda[0] = alpha[0] = 1;
        return;
    }
    const real *theta = named(r, "layers.%zu.attn.theta", layer);
    softmax(r->L, theta, lambda);
    memcpy(alpha, lambda, r->L * sizeof *alpha);
    if (!hkt_fusion_of(&r->layout->config)->gated)
        return;
    const real *gate = named(r, "layers.%zu.attn.gate.weight", layer);
    for (size_t l = 0; l < r->L; l++) {
        alpha[l] = theta[l];
        for (size_t i = 0; i < r->T; i++)
            for (size_t c = 0; c < r->d; c++)
                alpha[l] += gate[l * r->d + c] * r->level_x[0][i * r->d + c] / (real)r->T;
    }
    softmax(r->L, alpha, alpha);
}

/* Step 4 and the `score` mode of step 6. */
static void fuse_scores(ref *r, size_t layer, const real *lambda)
{
    for (size_t h = 0; h < r->H; h++) {
        memset(r->s_h, 0, r->T * r->T * sizeof *r->s_h);
        for (size_t l = 0; l < r->L; l++) {
            size_t n = length(r, l);
            for (size_t i = 0; i < r->T; i++)
                for (size_t j = 0; j < r->T; j++)
                    r->s_h[i * r->T + j] += lambda[l] * r->score[l][(h * n + parent(r, i, l)) * n + parent(r, j, l)];
        }
        hybrid_head(r, layer, 0, h, r->s_h, r->fused);
    }
}

/* The `dynamic` and `static` modes of step 6. */
static void fuse_outputs(ref *r, size_t layer, const real *alpha)
{
    size_t d = r->d;
    memset(r->fused, 0, r->T * d * sizeof *r->fused);
    for (size_t l = 0; l < r->L; l++) {
        size_t n = length(r, l);
        for (size_t h = 0; h < r->H; h++)
            hybrid_head(r, layer, l, h, r->score[l] + h * n * n, r->head);
        for (size_t i = 0; i < r->T; i++)
            for (size_t c = 0; c < d; c++)
                r->fused[i * d + c] += alpha[l] * r->head[parent(r, i, l) * d + c];
    }
}

static void add_branch(ref *r)
{
    for (size_t i = 0; i < r->T * r->d; i++)
        r->x[i] += r->branch[i];
}

static void run_layer(ref *r, size_t n)
{
    size_t T = r->T, d = r->d, fd = r->layout->config.ffn_mult * d;
    real lambda[HKT_MAX_LEVELS], alpha[HKT_MAX_LEVELS];
    layernorm(T, d, r->x, named(r, "layers.%zu.norm1.weight", n), named(r, "layers.%zu.norm1.bias", n), r->level_x[0]);
    downsample(r, n);
    for (size_t l = 0; l < r->L; l++)
        score_level(r, n, l);
    level_weights(r, n, lambda, alpha);
    if (hkt_fusion_of(&r->layout->config)->sums_scores)
        fuse_scores(r, n, lambda);
    else
        fuse_outputs(r, n, alpha);
    linear(T, d, d, r->fused, named(r, "layers.%zu.attn.out.weight", n), NULL, r->branch);
    add_branch(r);
    layernorm(T, d, r->x, named(r, "layers.%zu.norm2.weight", n), named(r, "layers.%zu.norm2.bias", n), r->normed);
    linear(T, fd, d, r->normed, named(r, "layers.%zu.ffn.up.weight", n), named(r, "layers.%zu.ffn.up.bias", n),
           r->wide);
    for (size_t i = 0; i < T * fd; i++)
        r->wide[i] = gelu(r->wide[i]);
    linear(T, d, fd, r->wide, named(r, "layers.%zu.ffn.down.weight", n), named(r, "layers.%zu.ffn.down.bias", n),
           r->branch);
    add_branch(r);
}

static void run(ref *r, const int32_t *tokens, real *logits, real *hidden)
{
    const hkt_config *c = &r->layout->config;
    const real *embed = named(r, "embed.weight"), *pos = named(r, "pos.weight");
    size_t d = r->d, size = r->T * d;
    for (size_t i = 0; i < size; i++)
        r->x[i] = embed[(size_t)tokens[i / d] * d + i % d] + pos[i];
    for (size_t n = 0; n < c->layers; n++) {
        run_layer(r, n);
        if (hidden)
            memcpy(hidden + n * size, r->x, size * sizeof *hidden);
    }
    layernorm(r->T, d, r->x, named(r, "norm.weight"), named(r, "norm.bias"), r->normed);
    memset(r->q, 0, d * sizeof *r->q);
    for (size_t i = 0; i < size; i++)
        r->q[i % d] += r->normed[i] / (real)r->T;
    linear(1, c->classes, d, r->q, named(r, "head.weight"), named(r, "head.bias"), logits);
}

static hkt_status allocate(ref *r)
{
    size_t T = r->T, d = r->d;
    real **rows[] = {&r->fused, &r->x, &r->normed, &r->branch, &r->q, &r->k, &r->head};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        HKT_TRY(HKT_NEW(rows[i], T * d));
    HKT_TRY(HKT_NEW(&r->wide, T * r->layout->config.ffn_mult * d));
    HKT_TRY(HKT_NEW(&r->s_h, T * T));
    for (size_t l = 0; l < r->L; l++) {
        size_t n = length(r, l);
        HKT_TRY(HKT_NEW(&r->level_x[l], n * d));
        HKT_TRY(HKT_NEW(&r->v[l], n * d));
        HKT_TRY(HKT_NEW(&r->score[l], r->H * n * n));
    }
    return HKT_OK;
}

static void release(ref *r)
{
    real *rows[] = {r->fused, r->x, r->normed, r->branch, r->q, r->k, r->head, r->wide, r->s_h};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        hkt_free(rows[i]);
    for (size_t l = 0; l < r->L; l++) {
        hkt_free(r->level_x[l]);
        hkt_free(r->v[l]);
        hkt_free(r->score[l]);
    }
}

hkt_status hkt_net_forward_ref(const hkt_layout *layout, const real *params, size_t T, const int32_t *tokens,
                               real *logits, real *hidden)
{
    const hkt_config *c = &layout->config;
    HKT_ASSERT(T >= 1 && T <= c->max_len);
    ref r = {.layout = layout, .params = params, .T = T, .d = c->d_model, .H = c->heads, .L = c->levels};
    r.p = r.d / r.H;
    r.s = c->stride;
    hkt_status status = allocate(&r);
    if (status == HKT_OK)
        run(&r, tokens, logits, hidden);
    release(&r);
    return status;
}

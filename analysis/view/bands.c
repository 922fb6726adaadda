#include "analysis/view/bands.h"

#include <gsl/gsl_fft_real.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "num/kernels.h"

#define PI 3.14159265358979323846

/* --- the cascade as a filter --- */

hkt_status hkt_cascade_make(size_t stride, size_t L, size_t d, bool drawn, uint64_t seed, hkt_cascade *out,
                            double **taps)
{
    HKT_TRY(HKT_NEW(taps, L * stride * d));
    *out = (hkt_cascade){.d = d, .L = L, .stride = stride};
    hkt_rng rng = hkt_rng_make(seed, HKT_STREAM_VERIFY, 112);
    for (size_t i = 0; i < L * stride * d; i++) {
        double z = hkt_rng_normal(&rng);
        (*taps)[i] = (drawn && i % d > 0 ? 1 + z : 1) / (double)stride;
    }
    for (size_t l = 1; l < L; l++)
        out->down[l] = *taps + l * stride * d;
    return HKT_OK;
}

size_t hkt_cascade_span(size_t stride, size_t level)
{
    size_t span = 1;
    for (size_t l = 0; l < level; l++)
        span *= stride;
    return span;
}

hkt_cascade hkt_cascade_of(const hkt_layout *layout, const double *params, size_t layer)
{
    const hkt_config *config = &layout->config;
    hkt_cascade c = {.d = config->d_model, .L = config->levels, .stride = config->stride};
    for (size_t l = 1; l < c.L; l++)
        c.down[l] = params + layout->layer[layer].level[l].down;
    return c;
}

void hkt_cascade_run(const hkt_cascade *c, size_t T, double *const x[])
{
    for (size_t l = 1; l < c->L; l++)
        hkt_downsample_forward_f64(hkt_level_length(T, c->stride, l - 1), c->d, c->stride, x[l - 1], c->down[l], x[l]);
}

/* h_l = h_{l-1} convolved with a^(l) spread by s^(l-1): the spread taps do not overlap. */
void hkt_cascade_impulse(const hkt_cascade *c, size_t level, size_t channel, double *h)
{
    h[0] = 1;
    for (size_t l = 1, span = 1; l <= level; l++, span *= c->stride)
        for (size_t t = c->stride; t-- > 0;)
            for (size_t m = 0; m < span; m++)
                h[t * span + m] = c->down[l][t * c->d + channel] * h[m];
}

/* re + i im. Not I, which is a complex float, nor CMPLX, which some compilers lack (C11 6.2.5: same layout). */
static double complex make_complex(double re, double im)
{
    union {
        double part[2];
        double complex z;
    } u = {{re, im}};
    return u.z;
}

/* e^{-2 pi i n/M}. */
static double complex unit(size_t n, size_t M)
{
    double angle = 2 * PI * (double)(n % M) / (double)M;
    return make_complex(cos(angle), -sin(angle));
}

/* sum_t a_t e^{-2 pi i t k/M}, taps at distance ld. */
static double complex filter_response(size_t taps, const double *a, size_t ld, size_t k, size_t M)
{
    double complex sum = 0;
    for (size_t t = 0; t < taps; t++)
        sum += a[t * ld] * unit(t * (k % M), M);
    return sum;
}

double complex hkt_cascade_response(const hkt_cascade *c, size_t level, size_t channel, size_t k, size_t M)
{
    double complex product = 1;
    for (size_t l = 1; l <= level; l++, k = k % M * c->stride)
        product *= filter_response(c->stride, c->down[l] + channel, c->d, k, M);
    return product;
}

/* e^{-i pi (n-1) k/M} sin(pi n k/M) / (n sin(pi k/M)); angles are reduced modulo 2 pi as integers. */
double complex hkt_dirichlet(size_t n, size_t k, size_t M)
{
    k %= M;
    if (k == 0)
        return 1;
    double top = sin(PI * (double)(n * k % (2 * M)) / (double)M), bottom = sin(PI * (double)k / (double)M);
    return unit((n - 1) * k, 2 * M) * (top / ((double)n * bottom));
}

/* --- energy by band --- */

/* energy [L] += value at frequency k/M, 2 k <= M. Band b begins where 2 k s^(b+1) = M. */
static void add_to_band(size_t L, size_t stride, size_t k, size_t M, double value, double *energy)
{
    size_t b = 0, edge = 2 * k * stride;
    while (b + 1 < L && edge < M) {
        b++;
        edge *= stride;
    }
    bool shared = b + 1 < L && edge == M;
    energy[b] += shared ? value / 2 : value;
    if (shared)
        energy[b + 1] += value / 2;
}

hkt_band_window hkt_band_window_of(size_t T, size_t stride, size_t L)
{
    size_t row = hkt_cascade_span(stride, L - 1);
    if (T < 2 * row)
        return (hkt_band_window){0};
    return (hkt_band_window){row, (T - row) / row * row};
}

/* Real discrete Fourier transforms of one length. */
typedef struct {
    size_t n;
    double *x; /* [n] in: values; out: re_0, re_1, im_1, re_2, ..., for even n the last is real */
    gsl_fft_real_wavetable *table;
    gsl_fft_real_workspace *space;
} transform;

static void transform_free(transform *f)
{
    if (f->table)
        gsl_fft_real_wavetable_free(f->table);
    if (f->space)
        gsl_fft_real_workspace_free(f->space);
    hkt_free(f->x);
}

static hkt_status transform_create(transform *f, size_t n)
{
    *f = (transform){.n = n};
    HKT_TRY(hkt_alloc((void **)&f->x, n, sizeof *f->x, "fourier transform"));
    f->table = gsl_fft_real_wavetable_alloc(n);
    f->space = gsl_fft_real_workspace_alloc(n);
    if (f->table && f->space)
        return HKT_OK;
    transform_free(f);
    return hkt_fail(HKT_ESYSTEM, "fourier transform of %zu values: out of memory", n);
}

static void transform_run(transform *f)
{
    gsl_fft_real_transform(f->x, 1, f->n, f->table, f->space);
}

/* Coefficient k, 2 k <= n. */
static double complex transform_at(const transform *f, size_t k)
{
    if (k == 0)
        return f->x[0];
    return make_complex(f->x[2 * k - 1], 2 * k == f->n ? 0 : f->x[2 * k]);
}

static double square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* How many of the frequencies k and M - k there are. */
static double multiplicity(size_t k, size_t M)
{
    return k == 0 || 2 * k == M ? 1 : 2;
}

hkt_status hkt_spectrum(size_t n, const double *x, size_t M, double complex *z)
{
    transform f;
    HKT_ASSERT(n <= M);
    HKT_TRY(transform_create(&f, M));
    memcpy(f.x, x, n * sizeof *x);
    transform_run(&f);
    for (size_t k = 0; 2 * k <= M; k++)
        z[k] = transform_at(&f, k);
    transform_free(&f);
    return HKT_OK;
}

void hkt_band_outputs(const hkt_tap_f64 *tap, size_t d, double *const y[])
{
    for (size_t l = 0; l < tap->n_levels; l++)
        for (size_t i = 0; i < tap->offset[l][1] * d; i++) {
            y[l][i] = tap->share_o[l * d + i % d] * tap->o[l][i];
            if (tap->conv[l])
                y[l][i] += tap->share_conv[l * d + i % d] * tap->conv[l][i];
        }
}

/* One channel of a level's signal over the window, out [n]. */
static void fill_signal(size_t stride, size_t d, const double *x, const double *coarser, size_t span, size_t channel,
                        hkt_band_window w, double *out)
{
    for (size_t t = 0; t < w.n; t++) {
        size_t j = (w.begin + t) / span;
        out[t] = x[j * d + channel];
        if (coarser)
            out[t] -= coarser[j / stride * d + channel];
    }
}

hkt_status hkt_band_energy(size_t stride, size_t L, size_t d, const double *const x[], hkt_band_window window,
                           hkt_band_signal signal, double *energy)
{
    transform f;
    size_t n = window.n, row = hkt_cascade_span(stride, L - 1);
    HKT_ASSERT(n > 0 && n % row == 0 && window.begin % row == 0);
    HKT_TRY(transform_create(&f, n));
    for (size_t l = 0; l < L; l++) {
        const double *coarser = signal == HKT_BANDS_DETAIL && l + 1 < L ? x[l + 1] : NULL;
        for (size_t c = 0; c < d; c++) {
            fill_signal(stride, d, x[l], coarser, hkt_cascade_span(stride, l), c, window, f.x);
            transform_run(&f);
            for (size_t k = 0; 2 * k <= n; k++) {
                double value = multiplicity(k, n) * square(transform_at(&f, k)) / (double)n;
                add_to_band(L, stride, k, n, value, energy + l * L);
            }
        }
    }
    transform_free(&f);
    return HKT_OK;
}

/* --- white noise --- */

/* E|DFT of level l's signal|^2 / T at frequency k/T, see docs/theory.md: rows of X^(l) are uncorrelated, row j enters
 * the raw signal with the factor B_N e^{-iwNj} and the detail with that times 1 - a_r e^{-iwNr} b_s(wN), r = -j modulo
 * s, as long as there is a row ceil(j/s) of level l + 1. */
static double white_noise_bin(const hkt_cascade *c, size_t level, size_t channel, size_t T, size_t k,
                              hkt_band_signal kind, const double *h)
{
    size_t s = c->stride, N = hkt_cascade_span(s, level), rows = T / N, step = N * k % T;
    double variance = 0, first = h[0] * h[0],
           factor = (double)N * (double)N * square(hkt_dirichlet(N, k, T)) / (double)T;
    for (size_t m = 0; m < N; m++)
        variance += h[m] * h[m];
    if (kind == HKT_BANDS_RAW || level + 1 == c->L)
        return factor * (first + (double)(rows - 1) * variance);
    double complex hold = (double)s * hkt_dirichlet(s, step, T); /* b_s(wN) */
    const double *a = c->down[level + 1] + channel;
    double inner = 0;
    for (size_t r = 0; r < s; r++)
        inner += square(1 - a[r * c->d] * unit(r * step, T) * hold);
    double without = (double)(s - 1), after = (double)(rows / s - 1);
    return factor * (first * square(1 - a[0] * hold) + variance * (after * inner + without));
}

hkt_status hkt_band_scene(const hkt_scene *s, size_t layer, hkt_band_signal signal, hkt_band_window window,
                          double *energy)
{
    const size_t L = s->layout->config.levels, stride = s->layout->config.stride;
    double *mem = NULL, *y[HKT_MAX_LEVELS];
    size_t rows = 0;
    if (signal != HKT_BANDS_OUTPUT)
        return hkt_band_energy(stride, L, s->d, s->tap[layer].x, window, signal, energy);
    for (size_t l = 0; l < L; l++)
        rows += hkt_level_length(s->T, stride, l);
    HKT_TRY(HKT_NEW(&mem, rows * s->d));
    for (size_t l = 0, at = 0; l < L; at += hkt_level_length(s->T, stride, l++) * s->d)
        y[l] = mem + at;
    hkt_band_outputs(s->tap + layer, s->d, y);
    hkt_status status = hkt_band_energy(stride, L, s->d, (const double *const *)y, window, signal, energy);
    hkt_free(mem);
    return status;
}

hkt_status hkt_band_white_noise(const hkt_cascade *c, size_t channel, size_t T, hkt_band_signal signal, double *energy)
{
    HKT_ASSERT(T > 0 && T % hkt_cascade_span(c->stride, c->L - 1) == 0);
    double *h = NULL;
    HKT_TRY(HKT_NEW(&h, hkt_cascade_span(c->stride, c->L - 1)));
    for (size_t l = 0; l < c->L; l++) {
        hkt_cascade_impulse(c, l, channel, h);
        for (size_t k = 0; 2 * k <= T; k++) {
            double value = multiplicity(k, T) * white_noise_bin(c, l, channel, T, k, signal, h);
            add_to_band(c->L, c->stride, k, T, value, energy + l * c->L);
        }
    }
    hkt_free(h);
    return HKT_OK;
}

double hkt_band_dominance(size_t L, size_t level, const double *energy)
{
    HKT_ASSERT(L >= 2);
    double other = 0, total = 0;
    for (size_t b = 0; b < L; b++) {
        total += energy[level * L + b];
        if (b != level)
            other = fmax(other, energy[level * L + b]);
    }
    return isnan(total) ? total : energy[level * L + level] / other;
}

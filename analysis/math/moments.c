#include "analysis/math/moments.h"

#include <float.h>
#include <stdbool.h>
#include <math.h>
#include <string.h>

#include "num/kernels.h"

void hkt_moments_clear(hkt_moments *m)
{
    *m = (hkt_moments){.lo = HUGE_VAL, .hi = -HUGE_VAL};
}

/* mean + mean_lo += step, as an unevaluated sum of two doubles (Knuth's two-sum). */
static void shift_mean(hkt_moments *m, double step)
{
    double add = m->mean_lo + step;
    double sum = m->mean + add;
    double part = sum - m->mean;
    m->mean_lo = (m->mean - (sum - part)) + (add - part);
    m->mean = sum;
}

void hkt_moments_merge(hkt_moments *into, const hkt_moments *other)
{
    if (other->n == 0)
        return;
    if (into->n == 0) {
        *into = *other;
        return;
    }
    double na = into->n, nb = other->n, n = na + nb;
    double fa = na / n, fb = nb / n;
    double delta = (other->mean - into->mean) + (other->mean_lo - into->mean_lo);
    double d2 = delta * delta, between = d2 * na * fb;
    /* Pebay 2008, eq. 3.1 for p = 4, 3, 2: each uses the lower sums before they change. */
    into->M4 += other->M4 + between * d2 * (fa * fa - fa * fb + fb * fb) +
                6 * d2 * (fa * fa * other->M2 + fb * fb * into->M2) + 4 * delta * (fa * other->M3 - fb * into->M3);
    into->M3 += other->M3 + between * delta * (fa - fb) + 3 * delta * (fa * other->M2 - fb * into->M2);
    into->M2 += other->M2 + between;
    shift_mean(into, delta * fb);
    into->n = n;
    into->lo = fmin(into->lo, other->lo);
    into->hi = fmax(into->hi, other->hi);
}

void hkt_moments_add(hkt_moments *m, double x)
{
    hkt_moments_merge(m, &(hkt_moments){.n = 1, .mean = x, .lo = x, .hi = x});
}

/* Independent partial sums: they fill the vector units, and the order of the sums is fixed. */
enum { LANES = 8 };

static double sum_lanes(const double *acc)
{
    return ((acc[0] + acc[1]) + (acc[2] + acc[3])) + ((acc[4] + acc[5]) + (acc[6] + acc[7]));
}

typedef struct {
    double s1[LANES], s2[LANES], s3[LANES], s4[LANES], lo[LANES], hi[LANES];
} lanes;

/* gcc unrolls the loop over the lanes before it could see vectors in it; clang sees them by itself, and warns where a
 * sanitizer is in the way. */
#ifdef __clang__
#define VECTOR_LOOP
#else
#define VECTOR_LOOP _Pragma("omp simd")
#endif

/* Adds n <= LANES values, one to each lane. */
static inline __attribute__((always_inline)) void add_lanes(lanes *restrict a, const double *restrict x, size_t n,
                                                            double pivot)
{
    VECTOR_LOOP
    for (size_t k = 0; k < n; k++) {
        double e = x[k] - pivot, e2 = e * e;
        a->s1[k] += e;
        a->s2[k] += e2;
        a->s3[k] += e2 * e;
        a->s4[k] += e2 * e2;
        a->lo[k] = x[k] < a->lo[k] ? x[k] : a->lo[k];
        a->hi[k] = x[k] > a->hi[k] ? x[k] : a->hi[k];
    }
}

static inline __attribute__((always_inline)) void sum_body(const double *x, size_t n, double pivot, lanes *out)
{
    lanes a = *out; /* in registers: nothing else points to it */
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        add_lanes(&a, x + i, LANES, pivot);
    add_lanes(&a, x + i, n - i, pivot);
    *out = a;
}

static void sum_generic(const double *x, size_t n, double pivot, lanes *a)
{
    sum_body(x, n, pivot, a);
}

/* The same operations on wider vectors (no fused multiply-add): the same bits. */
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void sum_avx2(const double *x, size_t n, double pivot, lanes *a)
{
    sum_body(x, n, pivot, a);
}
#else
#define sum_avx2 sum_generic
#endif

/* Power sums of x - pivot, turned into central ones: with r the mean of x - pivot, M2 = S2 - n r^2,
 * M3 = S3 - 3 r S2 + 2 n r^3, M4 = S4 - 4 r S3 + 6 r^2 S2 - 3 n r^4. *shift: r. */
static hkt_moments block_about(const double *x, size_t n, double pivot, double *shift)
{
    lanes a = {{0}, {0}, {0}, {0}, {0}, {0}};
    for (size_t k = 0; k < LANES; k++) {
        a.lo[k] = HUGE_VAL;
        a.hi[k] = -HUGE_VAL;
    }
    (strcmp(hkt_isa(), "generic") == 0 ? sum_generic : sum_avx2)(x, n, pivot, &a);
    double N = (double)n, s2 = sum_lanes(a.s2), s3 = sum_lanes(a.s3), r = sum_lanes(a.s1) / N, r2 = r * r;
    hkt_moments block = {.n = N, .mean = pivot, .lo = HUGE_VAL, .hi = -HUGE_VAL};
    shift_mean(&block, r);
    double m2 = s2 - N * r2, m4 = sum_lanes(a.s4) - 4 * r * s3 + 6 * r2 * s2 - 3 * N * r2 * r2;
    block.M2 = m2 < 0 ? 0 : m2; /* by rounding */
    block.M3 = s3 - 3 * r * s2 + 2 * N * r2 * r;
    block.M4 = m4 < 0 ? 0 : m4;
    for (size_t k = 0; k < LANES; k++) {
        block.lo = fmin(block.lo, a.lo[k]);
        block.hi = fmax(block.hi, a.hi[k]);
    }
    *shift = r;
    return block;
}

void hkt_moments_add_block(hkt_moments *m, const double *x, size_t n)
{
    if (n == 0)
        return;
    /* The mean so far is close enough to the block's for most blocks: no more than one standard deviation away, the
     * subtractions above cancel at most four bits. Else once or twice more, about the mean found: the second time takes
     * out what rounding left in the first, when the block is far from the pivot in units of its spread. */
    double shift;
    hkt_moments block = block_about(x, n, m->n > 0 ? m->mean : x[0], &shift);
    for (int more = 0; more < 2 && !(shift * shift * block.n <= block.M2); more++)
        block = block_about(x, n, block.mean, &shift);
    hkt_moments_merge(m, &block);
}

double hkt_moments_variance(const hkt_moments *m)
{
    return m->n == 0 ? (double)NAN : m->M2 / m->n;
}

const char *hkt_moments_problem(const hkt_moments *m)
{
    if (m->n == 0)
        return "empty";
    if (!isfinite(m->mean) || !isfinite(m->lo) || !isfinite(m->hi))
        return "not finite";
    double noise = 8 * DBL_EPSILON * fmax(fabs(m->lo), fabs(m->hi)), m2 = m->M2 / m->n;
    /* Squares of small deviations vanish: then the range says whether there are any. */
    bool vanished = m2 < 0x1p-480 && m->hi - m->lo > 2 * noise;
    if (isfinite(m2) && sqrt(m2) <= noise && !vanished)
        return "constant";
    /* m2 >= 2^-480 keeps m4 >= m2^2 in the normal range with 60 bits to spare for its smaller terms. */
    return isfinite(m->M4) && m2 >= 0x1p-480 ? NULL : "out of range";
}

double hkt_moments_kappa(const hkt_moments *m)
{
    return hkt_moments_problem(m) ? (double)NAN : m->M4 / m->M2 * (m->n / m->M2) / 3;
}

double hkt_moments_excess(const hkt_moments *m)
{
    return 3 * hkt_moments_kappa(m) - 3;
}

double hkt_moments_skewness(const hkt_moments *m)
{
    double m2 = hkt_moments_variance(m);
    return hkt_moments_problem(m) ? (double)NAN : m->M3 / m->n / m2 / sqrt(m2);
}

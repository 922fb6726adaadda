#include "analysis/math/certify.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined __x86_64__
#include <xmmintrin.h>
#endif

#include "analysis/math/linalg.h"
#include "base/mem.h"

#ifdef __FAST_MATH__
#error "certify.c proves nothing under fast-math"
#endif
_Static_assert(FLT_EVAL_METHOD == 0, "the bounds are for arithmetic in binary64 itself");
_Static_assert(FLT_RADIX == 2 && DBL_MANT_DIG == 53, "the bounds are for binary64");

static const double U = 0x1p-53, ETA = 0x1p-1074;

/* The exact result of an operation lies between its neighbours when the operation is rounded to nearest. */
static double up(double x)
{
    return nextafter(x, (double)INFINITY);
}

static double down(double x)
{
    return nextafter(x, (double)-INFINITY);
}

double hkt_gamma(size_t k)
{
    double ku = (double)k * U;
    return ku < 1 ? up(ku / (1 - ku)) : (double)INFINITY; /* k u and 1 - k u are exact for k < 2^53 */
}

/* The control register's own bits: fegetround asks the x87 unit of x86 alone, and some libraries switch flushing on
 * when loaded. Intel SDM vol. 1, 10.2.3: rounding in bits 13 and 14, flush to zero in 15, denormals are zeros in 6. Arm
 * ARM, FPCR: rounding in bits 22 and 23, flushing in 24 and 0, alternate handling in 1. */
bool hkt_arithmetic_is_ieee(void)
{
#if defined __x86_64__
    bool plain = (_mm_getcsr() & 0xe040) == 0;
#elif defined __aarch64__
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    bool plain = (fpcr & 0x1c00003) == 0;
#else
#error "no way to ask this processor for its rounding"
#endif
    volatile double least = DBL_MIN, one = 1;
    volatile double half = least * 0.5, above = one + 0x1p-54, below = -one - 0x1p-54;
    return plain && fegetround() == FE_TONEAREST && half > 0 && above == 1 && below == -1;
}

/* Finite and equal to its transpose, element by element. NaN differs from itself and is refused by both tests. */
static bool is_symmetric(size_t n, const double *a)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            if (!isfinite(a[i * n + j]) || !(a[i * n + j] == a[j * n + i]))
                return false;
    return true;
}

size_t hkt_cholesky(size_t n, double *b)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double s = b[i * n + j];
            for (size_t k = 0; k < j; k++)
                s -= b[i * n + k] * b[j * n + k];
            if (j < i)
                b[i * n + j] = s / b[j * n + j];
            else if (s > 0)
                b[i * n + i] = sqrt(s);
            else
                return i;
        }
    return n;
}

/* c of Rump's theorem for the diagonal of a, rounded up; NaN when an element of the diagonal is negative or NaN. */
static double rump_c(size_t n, const double *a)
{
    double trace = 0, largest = 0, terms = (double)(n + 1);
    for (size_t i = 0; i < n; i++) {
        double d = a[i * n + i];
        if (!(d >= 0))
            return (double)NAN;
        trace = up(trace + d);
        largest = fmax(largest, d);
    }
    double relative = up(hkt_gamma(n + 1) * trace);
    double underflow = up(4 * (double)n * ETA * up(2 * terms + largest));
    return up(relative + underflow);
}

/* True when A + delta I is proved positive definite; b [n, n] is scratch; *c the bound used. */
static bool certify_shifted(size_t n, const double *a, double delta, double *b, double *c)
{
    memcpy(b, a, n * n * sizeof *b);
    for (size_t i = 0; i < n && delta > 0; i++)
        b[i * n + i] = down(a[i * n + i] + delta);
    *c = rump_c(n, b);
    if (!isfinite(*c) || !(3 * (double)(n + 1) * U < 1))
        return false;
    for (size_t i = 0; i < n; i++)
        b[i * n + i] = down(b[i * n + i] - *c);
    return hkt_cholesky(n, b) == n;
}

hkt_status hkt_cholesky_plain(size_t n, const double *a, bool *factored)
{
    double *b = NULL;
    HKT_TRY(HKT_NEW(&b, n * n));
    memcpy(b, a, n * n * sizeof *b);
    *factored = hkt_cholesky(n, b) == n;
    hkt_free(b);
    return HKT_OK;
}

hkt_status hkt_certify_pd(size_t n, const double *a, double *c, bool *certified)
{
    HKT_ASSERT(n >= 1);
    *certified = false;
    *c = (double)NAN;
    if (!hkt_arithmetic_is_ieee() || !is_symmetric(n, a))
        return HKT_OK;
    double *b = NULL;
    HKT_TRY(HKT_NEW(&b, n * n));
    *certified = certify_shifted(n, a, 0, b, c);
    hkt_free(b);
    return HKT_OK;
}

void hkt_quadratic_form(size_t n, const double *a, const double *x, double *value, double *error)
{
    double sum = 0, sum_abs = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        double row = 0, row_abs = 0;
        for (size_t j = 0; j < n; j++) {
            row += a[i * n + j] * x[j];
            row_abs += fabs(a[i * n + j]) * fabs(x[j]);
        }
        sum += x[i] * row;
        sum_abs += fabs(x[i]) * row_abs;
        largest = fmax(largest, fabs(x[i]));
    }
    /* gamma_{2n+2} of the exact |x|^T |A| |x|, itself known to gamma_{2n+2}: gamma_{4n+4} of the computed one. Every
     * product that underflows is off by at most ETA / 2; those of the rows are multiplied by |x_i|. */
    double lost = up(4 * (double)n * (double)(n + 1) * ETA * up(1 + largest));
    double bound = up(up(hkt_gamma(4 * n + 4) * sum_abs) + lost);
    *value = sum;
    *error = isfinite(sum) && isfinite(bound) && hkt_arithmetic_is_ieee() ? bound : (double)INFINITY;
}

/* A vector on which A may be negative: e_i for a negative diagonal element, else the eigenvector of the lowest
 * eigenvalue (its accuracy does not matter: hkt_quadratic_form bounds what it gives). *found = false: there is none. */
static hkt_status negative_direction(size_t n, const double *a, double *x, bool *found)
{
    memset(x, 0, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        if (a[i * n + i] < 0) {
            x[i] = 1;
            *found = true;
            return HKT_OK;
        }
    double lowest = (double)NAN;
    hkt_status status = hkt_eigen_lowest(n, a, &lowest, x);
    *found = status == HKT_OK && lowest < 0;
    return status == HKT_ENUMERIC ? HKT_OK : status;
}

/* Smallest delta (to 1 %) for which A + delta I is certified, or NaN when none up to 1024 c is: a matrix that far below
 * zero is not PSD up to rounding. */
static double smallest_shift(size_t n, const double *a, double c, double *b)
{
    double lo = 0, hi = c, used;
    while (!certify_shifted(n, a, hi, b, &used)) {
        lo = hi;
        hi *= 2;
        if (!(hi <= 1024 * c))
            return (double)NAN;
    }
    while (hi - lo > 0.01 * hi) {
        double mid = lo + (hi - lo) / 2;
        if (!(mid > lo && mid < hi))
            break;
        if (certify_shifted(n, a, mid, b, &used))
            hi = mid;
        else
            lo = mid;
    }
    return hi;
}

hkt_status hkt_certify(size_t n, const double *a, hkt_certificate *out)
{
    *out = (hkt_certificate){HKT_CERT_REFUSED, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    HKT_ASSERT(n >= 1);
    if (!hkt_arithmetic_is_ieee() || !is_symmetric(n, a))
        return HKT_OK;
    double *b = NULL;
    HKT_TRY(HKT_NEW(&b, n * n + n));
    double *x = b + n * n, value = 0, error = 0;
    hkt_status status = HKT_OK;
    bool found;
    out->verdict = HKT_CERT_INCONCLUSIVE;
    if (certify_shifted(n, a, 0, b, &out->c)) {
        out->verdict = HKT_CERT_PD;
        out->delta = 0;
        goto done;
    }
    HKT_TRY_GOTO(status, done, negative_direction(n, a, x, &found));
    if (found)
        hkt_quadratic_form(n, a, x, &value, &error);
    if (found && value + error < 0) {
        out->verdict = HKT_CERT_NOT_PSD;
        out->quotient = value;
        out->quotient_error = error;
    } else if (isfinite(out->c)) {
        out->delta = smallest_shift(n, a, out->c, b);
        if (isfinite(out->delta))
            out->verdict = HKT_CERT_PSD_SHIFT;
    }
done:
    hkt_free(b);
    return status;
}

#include "analysis/math/modular.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { BITS = 61 };
static const uint64_t P = ((uint64_t)1 << BITS) - 1;

__extension__ typedef unsigned __int128 wide;

/* x modulo P for x < 2^122 + 2^61: 2^61 = 1. */
static uint64_t reduce(wide x)
{
    uint64_t sum = (uint64_t)(x & P) + (uint64_t)(x >> BITS);
    sum = (sum & P) + (sum >> BITS);
    return sum >= P ? sum - P : sum;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    return reduce((wide)a * b);
}

/* a^(P-2) = 1/a for a != 0 (Fermat). */
static uint64_t invert(uint64_t a)
{
    uint64_t result = 1;
    for (uint64_t e = P - 2; e > 0; e >>= 1, a = multiply(a, a))
        if (e & 1)
            result = multiply(result, a);
    return result;
}

uint64_t hkt_modular_of(double x)
{
    if (!isfinite(x) || x == 0)
        return 0;
    int exponent;
    double fraction = frexp(fabs(x), &exponent); /* |x| = fraction 2^exponent, fraction 2^53 an integer */
    uint64_t m = (uint64_t)ldexp(fraction, 53);
    unsigned shift = (unsigned)(((exponent - 53) % BITS + BITS) % BITS); /* 2^61 = 1 */
    m = reduce((wide)m << shift);
    return x > 0 ? m : P - m;
}

void hkt_modular_from(size_t n, const double *a, uint64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = hkt_modular_of(a[i]);
}

void hkt_modular_product(size_t m, size_t n, size_t k, const uint64_t *a, const uint64_t *b, uint64_t *c)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            uint64_t sum = 0;
            for (size_t r = 0; r < k; r++)
                sum = reduce((wide)a[i * k + r] * b[j * k + r] + sum);
            c[i * n + j] = sum;
        }
}

/* row -= factor * by from column `from` on. */
static void subtract(uint64_t *row, const uint64_t *by, uint64_t factor, size_t from, size_t n)
{
    for (size_t c = from; c < n; c++)
        row[c] = reduce((wide)(P - factor) * by[c] + row[c]);
}

hkt_status hkt_modular_rank(size_t m, size_t n, const uint64_t *a, size_t *rank)
{
    uint64_t *basis =
        NULL; /* [rank, n], each row 1 at its pivot, its first element that is not 0; then the row at work */
    size_t *pivot = NULL, found = 0;
    hkt_status status;
    HKT_TRY_GOTO(status, done, HKT_NEW(&basis, (n + 1) * n));
    HKT_TRY_GOTO(status, done, HKT_NEW(&pivot, n));
    for (size_t i = 0; i < m && found < n; i++) {
        uint64_t *row = basis + found * n;
        memcpy(row, a + i * n, n * sizeof *row);
        for (size_t k = 0; k < found; k++)
            if (row[pivot[k]] != 0)
                subtract(row, basis + k * n, row[pivot[k]], pivot[k], n);
        size_t at = 0;
        while (at < n && row[at] == 0)
            at++;
        if (at == n)
            continue;
        uint64_t inverse = invert(row[at]);
        for (size_t c = at; c < n; c++)
            row[c] = multiply(row[c], inverse);
        pivot[found++] = at;
    }
    *rank = found;
done:
    hkt_free(basis);
    hkt_free(pivot);
    return status;
}

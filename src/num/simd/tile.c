/* tile.c - matrix products, and the change of resolution of score tiles. */
#include <stdbool.h>
#include <string.h>

#include "num/simd/simd.h"
#include "num/simd/vec.h"

enum { MAX_ROWS = 12, MAX_VECS = 4 };

/* The operands of a product c [m, n] = init + a b, a(i, t) = a[i rs + t cs], t < k. */
typedef struct {
    size_t m, n, k;
    const real *a;
    size_t rs, cs;
    const real *b;
    size_t ld_b;
    const real *init;
    size_t ld_init;
    real *c;
    size_t ld_c;
} product;

/* Rows i.. and columns j.. of c, as many as fit the registers; rows and vecs are constants at every call. Of the last
 * vector `left` lanes are valid. */
VEC_INLINE void micro(int rows, int vecs, size_t left, const product *p, size_t i, size_t j)
{
#define VALID(v) ((v) + 1 < vecs ? (size_t)LANES : left)
    vec sum[MAX_ROWS][MAX_VECS];
    const real *init = p->init ? p->init + i * p->ld_init + j : NULL, *b = p->b + j, *group[MAX_ROWS / 3];
    real *c = p->c + i * p->ld_c + j;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            sum[r][v] = init ? vec_load_n(init + (size_t)r * p->ld_init + (size_t)v * LANES, VALID(v)) : (vec){0};
    const size_t rs = p->rs, cs = p->cs, ld_b = p->ld_b;
    for (int g = 0; g < (rows + 2) / 3; g++)
        group[g] = p->a + (i + 3 * (size_t)g) * rs;
    for (size_t t = 0; t < p->k; t++, b += ld_b) {
        vec row[MAX_VECS];
        for (int v = 0; v < vecs; v++)
            row[v] = vec_load_n(b + (size_t)v * LANES, VALID(v));
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vecs; v++)
                sum[r][v] = vec_fma(vec_set(group[r / 3][(size_t)(r % 3) * rs]), row[v], sum[r][v]);
        for (int g = 0; g < (rows + 2) / 3; g++)
            group[g] += cs;
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            vec_store_n(c + (size_t)r * p->ld_c + (size_t)v * LANES, VALID(v), sum[r][v]);
#undef VALID
}

/* All rows of the columns from j on that `vecs` vectors hold: most in blocks of `rows`, the rest by four and one. */
VEC_INLINE void panel(int rows, int vecs, size_t left, const product *p, size_t j)
{
    size_t i = 0, step = (size_t)rows;
    for (; i + step <= p->m; i += step)
        micro(rows, vecs, left, p, i, j);
    for (; i + 4 <= p->m; i += 4)
        micro(4, vecs, left, p, i, j);
    for (; i < p->m; i++)
        micro(1, vecs, left, p, i, j);
}

/* Register blocks: enough sums to hide the latency of fma, few enough to stay in the 32 registers of AVX-512, else 16.
 */
#if HKT_VEC_BYTES == 64
enum { WIDE_ROWS = 6, WIDE_VECS = 4 };
#else
enum { WIDE_ROWS = 6, WIDE_VECS = 2 };
#endif
enum { WIDE = WIDE_VECS * LANES };

static void multiply(const product *p)
{
#define PANELS(rows, vecs)                                                                                             \
    for (; j + vecs * LANES <= p->n; j += vecs * LANES)                                                                \
    panel(rows, vecs, LANES, p, j)
    size_t j = 0;
    PANELS(WIDE_ROWS, WIDE_VECS);
#if HKT_VEC_BYTES == 64
    PANELS(8, 2);
#endif
    PANELS(12, 1);
    if (j < p->n)
        panel(8, 1, p->n - j, p, j);
#undef PANELS
}

void I(tile_gemm)(size_t m, size_t n, size_t k, const real *a, size_t rs, size_t cs, const real *b, size_t ld_b,
                  const real *init, size_t ld_init, real *c, size_t ld_c)
{
    multiply(&(product){m, n, k, a, rs, cs, b, ld_b, init, ld_init, c, ld_c});
}

/* --- large products -------------------------------------------------------------------------------------------------
 */

/* Blocks of a large product (Goto & van de Geijn 2008): DEPTH steps of the sum at a time, over DEPTH x WIDE entries of
 * b that are copied next to each other, and where a is read by columns HEIGHT x DEPTH of a. The sum stays in c between
 * the blocks, so that each entry is added up in the same order as without them. */
enum { DEPTH = 256, HEIGHT = 24 * WIDE_ROWS };

/* out [k, WIDE] = columns j.. of b, with zeros behind the last. */
static void copy_columns(const product *p, size_t j, real *out)
{
    const size_t n = p->n - j < WIDE ? p->n - j : WIDE;
    for (size_t t = 0; t < p->k; t++, out += WIDE)
        for (size_t v = 0; v < WIDE_VECS; v++)
            vec_store(out + v * LANES, vec_load_n(p->b + t * p->ld_b + j + v * LANES, lanes_left(n, v)));
}

/* out [m / WIDE_ROWS][k][WIDE_ROWS]: the rows of a, whose columns are contiguous (rs = 1), by groups. */
static void copy_groups(const product *p, real *out)
{
    for (size_t i = 0; i < p->m; i += WIDE_ROWS) {
        const size_t n = p->m - i < WIDE_ROWS ? p->m - i : WIDE_ROWS;
        for (size_t t = 0; t < p->k; t++, out += WIDE_ROWS)
            if (n == WIDE_ROWS)
                memcpy(out, p->a + i + t * p->cs, WIDE_ROWS * sizeof *out);
            else
                memcpy(out, p->a + i + t * p->cs, n * sizeof *out);
    }
}

/* The columns from j on of one block. */
static void multiply_columns(const product *block, size_t j, bool by_groups, const real *a, const real *b)
{
    product p = *block;
    p.b = b;
    p.ld_b = WIDE;
    p.n = p.n - j < WIDE ? p.n - j : WIDE;
    p.c += j;
    p.init = p.init ? p.init + j : NULL;
    if (!by_groups) {
        multiply(&p);
        return;
    }
    p.rs = 1;
    p.cs = WIDE_ROWS;
    for (size_t i = 0; i < block->m; i += WIDE_ROWS) {
        p.m = block->m - i < WIDE_ROWS ? block->m - i : WIDE_ROWS;
        p.a = a + i * block->k;
        multiply(&p);
        p.c += WIDE_ROWS * p.ld_c;
        p.init = p.init ? p.init + WIDE_ROWS * p.ld_init : NULL;
    }
}

/* At most DEPTH steps and, by groups, HEIGHT rows. */
static void multiply_block(const product *p, bool by_groups)
{
    real a[HEIGHT * DEPTH], b[DEPTH * WIDE];
    if (by_groups)
        copy_groups(p, a);
    for (size_t j = 0; j < p->n; j += WIDE) {
        copy_columns(p, j, b);
        multiply_columns(p, j, by_groups, a, b);
    }
}

static void multiply_large(const product *p)
{
    const bool by_groups = p->rs == 1;
    const size_t height = by_groups ? HEIGHT : p->m;
    for (size_t t = 0; t < p->k; t += DEPTH)
        for (size_t i = 0; i < p->m; i += height) {
            product block = *p;
            block.m = p->m - i < height ? p->m - i : height;
            block.k = p->k - t < DEPTH ? p->k - t : DEPTH;
            block.a += i * p->rs + t * p->cs;
            block.b += t * p->ld_b;
            block.c += i * p->ld_c;
            block.init = t > 0 ? block.c : p->init ? p->init + i * p->ld_init : NULL;
            block.ld_init = t > 0 ? p->ld_c : p->ld_init;
            multiply_block(&block, by_groups);
        }
}

/* Entries up to which b (read by rows), or c where a is read by columns, is used as it is. */
enum { PLAIN = 1 << 18, PLAIN_BY_COLUMNS = 1 << 17 };

void I(gemm)(size_t m, size_t n, size_t k, const real *a, size_t rs, size_t cs, const real *b, size_t ld_b,
             const real *init, size_t ld_init, real *c, size_t ld_c)
{
    const product p = {m, n, k, a, rs, cs, b, ld_b, init, ld_init, c, ld_c};
    if (rs == 1 ? m * n <= PLAIN_BY_COLUMNS : n * k <= PLAIN)
        multiply(&p);
    else
        multiply_large(&p);
}

/* The entries of `coarse` each repeated s times; the first one s - j0 times. */
static void expand_row(size_t n, size_t s, size_t j0, const real *restrict coarse, real *restrict fine)
{
    for (; n > 0 && j0 > 0 && j0 < s; j0++, n--)
        *fine++ = *coarse;
    coarse += j0 > 0;
    size_t whole = n / s;
    if (s == 2) {
        for (size_t c = 0; c < whole; c++)
            fine[2 * c] = fine[2 * c + 1] = coarse[c];
    } else {
        for (size_t c = 0; c < whole; c++)
            for (size_t t = 0; t < s; t++)
                fine[s * c + t] = coarse[c];
    }
    for (size_t j = s * whole; j < n; j++)
        fine[j] = coarse[whole];
}

void I(tile_expand)(size_t m, size_t n, size_t s, size_t i0, size_t j0, const real *coarse, size_t ld_coarse,
                    real *fine, size_t ld_fine)
{
    for (size_t i = 0; i < m; i++, fine += ld_fine)
        if (i > 0 && (i + i0) % s != 0)
            memcpy(fine, fine - ld_fine, n * sizeof *fine);
        else
            expand_row(n, s, j0, coarse + (i + i0) / s * ld_coarse, fine);
}

/* Sums of s neighbours; the first one of s - j0. */
static void reduce_row(size_t n, size_t s, size_t j0, const real *restrict fine, real *restrict coarse)
{
    if (j0 > 0) {
        real sum = 0;
        for (; n > 0 && j0 < s; j0++, n--)
            sum += *fine++;
        *coarse++ = sum;
    }
    size_t whole = n / s;
    if (s == 2) {
        for (size_t c = 0; c < whole; c++)
            coarse[c] = fine[2 * c] + fine[2 * c + 1];
    } else {
        for (size_t c = 0; c < whole; c++) {
            real sum = 0;
            for (size_t t = 0; t < s; t++)
                sum += fine[s * c + t];
            coarse[c] = sum;
        }
    }
    if (s * whole < n) {
        real sum = 0;
        for (size_t j = s * whole; j < n; j++)
            sum += fine[j];
        coarse[whole] = sum;
    }
}

void I(tile_reduce)(size_t m, size_t n, size_t s, size_t i0, size_t j0, real *fine, size_t ld_fine, real *coarse,
                    size_t ld_coarse)
{
    real *first = fine;
    for (size_t i = 0; i < m; i++, fine += ld_fine) {
        if (i == 0 || (i + i0) % s == 0)
            first = fine;
        else
            I(axpy)(n, 1, fine, first);
        if (i + 1 == m || (i + 1 + i0) % s == 0)
            reduce_row(n, s, j0, first, coarse + (i + i0) / s * ld_coarse);
    }
}

/* hkt-check - decides certificates (docs/certificates.md has their format and the theorems named here) by exact
 * arithmetic. It shares no source with the program that writes them, and uses no library but GMP. A matrix is one of
 * integers with a common power of two, as are the numbers of a file. */
#include <gmp.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_MATRICES = 64, MOST_LEVELS = 12, NAME = 128, MOST_TEXT = 1 << 16 };
static const size_t MOST_BYTES = (size_t)1 << 30; /* of a file, and of all integers */
static const double MOST_WORK = 0x1p34;           /* products of 64-bit words */
static const uint64_t PRIME = ((uint64_t)1 << 61) - 1, BASE = 1000000007;

typedef unsigned __int128 wide;
typedef struct matrix { /* [rows, cols], element = v 2^exp */
    size_t rows, cols;
    long exp;
    mpz_t *v;
    struct matrix *next; /* of all that are to be freed */
} matrix;

/* The certificate that is being decided. */
static struct {
    const char *path;
    size_t line, n, stride, L, T, d, held; /* n: of the matrices; held: bytes of all integers, as estimated */
    double work;
    char name[MOST_MATRICES][NAME];
    matrix *matrix[MOST_MATRICES], *all;
    unsigned char *text, *bytes; /* of the certificate, and of the file that is read */
    uint64_t *residues;
    jmp_buf rejected;
} c;
static mpq_t sum, term, bound;
static mpz_t total, part, largest;

static _Noreturn __attribute__((format(printf, 1, 2))) void reject(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    printf("REJECTED %s:%zu: ", c.path, c.line);
    vprintf(format, ap);
    printf("\n");
    va_end(ap);
    longjmp(c.rejected, 1);
}

static matrix *new_matrix(size_t rows, size_t cols, size_t bits, long exp)
{
    size_t each = sizeof(mpz_t) + 16 + bits / 8;
    if (rows == 0 || cols == 0 || rows > MOST_BYTES / cols || rows * cols > (MOST_BYTES - c.held) / each)
        reject("a matrix of %zu x %zu numbers of %zu bits: empty, or too large", rows, cols, bits);
    matrix *a = calloc(1, sizeof *a + rows * cols * sizeof(mpz_t));
    if (!a)
        reject("out of memory: %zu numbers", rows * cols);
    *a = (matrix){rows, cols, exp, (mpz_t *)(a + 1), c.all};
    c.all = a, c.held += rows * cols * each;
    for (size_t i = 0; i < rows * cols; i++)
        mpz_init(a->v[i]);
    return a;
}

static size_t bits_of(const matrix *a)
{
    size_t most = 0;
    for (size_t i = 0; i < a->rows * a->cols; i++)
        most = mpz_sizeinbase(a->v[i], 2) > most ? mpz_sizeinbase(a->v[i], 2) : most;
    return most;
}

/* a += b, of the same shape; both get the smaller of their exponents. */
static void add(matrix *a, matrix *b)
{
    matrix *high = a->exp > b->exp ? a : b, *low = high == a ? b : a;
    size_t n = a->rows * a->cols, by = (size_t)(high->exp - low->exp);
    if (by / 8 > (MOST_BYTES - c.held) / n)
        reject("the exponents of two matrices are too far apart");
    c.held += n * (by / 8);
    high->exp = low->exp;
    for (size_t i = 0; i < n; i++) {
        mpz_mul_2exp(high->v[i], high->v[i], by);
        mpz_add(a->v[i], a->v[i], b->v[i]);
    }
}

static mpz_t *at(const matrix *a, bool turned, size_t i, size_t j)
{
    return turned ? &a->v[j * a->cols + i] : &a->v[i * a->cols + j];
}

/* A B, or with A' (ta), B' (tb). */
static matrix *product(const matrix *a, bool ta, const matrix *b, bool tb)
{
    size_t n = ta ? a->cols : a->rows, k = ta ? a->rows : a->cols, m = tb ? b->rows : b->cols;
    size_t p = bits_of(a), q = bits_of(b);
    c.work += (double)n * (double)k * (double)m * (double)((p / 64 + 1) * (q / 64 + 1));
    if (k != (tb ? b->cols : b->rows) || c.work > MOST_WORK)
        reject("shapes that do not fit (%zu, %zu), or too much work", k, tb ? b->cols : b->rows);
    matrix *out = new_matrix(n, m, p + q + 32, a->exp + b->exp);
    for (size_t i = 0; i < n * m; i++)
        for (size_t r = 0; r < k; r++)
            mpz_addmul(out->v[i], *at(a, ta, i / m, r), *at(b, tb, r, i % m));
    return out;
}

/* out *= v 2^exp */
static void multiply(mpq_t out, const mpz_t v, long exp)
{
    mpz_mul(mpq_numref(out), mpq_numref(out), v);
    mpq_canonicalize(out);
    (exp < 0 ? mpq_div_2exp : mpq_mul_2exp)(out, out, (mp_bitcnt_t)labs(exp));
}

/* largest = the largest row sum of |elements| off the diagonal plus `sign` times the diagonal, at least 0. */
static void largest_row(const matrix *a, int sign)
{
    mpz_set_ui(largest, 0);
    for (size_t i = 0; i < a->rows; i++) {
        mpz_mul_si(total, *at(a, false, i, i), sign);
        for (size_t j = 0; j < a->cols; j++)
            if (i != j)
                (mpz_sgn(*at(a, false, i, j)) < 0 ? mpz_sub : mpz_add)(total, total, *at(a, false, i, j));
        if (mpz_cmp(total, largest) > 0)
            mpz_set(largest, total);
    }
}

/* At most MOST bytes, and a 0 byte behind them. */
static unsigned char *read_bytes(const char *path, size_t most, size_t *size)
{
    struct stat s;
    FILE *f = stat(path, &s) == 0 && S_ISREG(s.st_mode) && (uint64_t)s.st_size <= most ? fopen(path, "rb") : NULL;
    unsigned char *bytes = f ? calloc((size_t)s.st_size + 1, 1) : NULL;
    *size = bytes ? fread(bytes, 1, (size_t)s.st_size, f) : 0;
    if (f && fclose(f) == 0 && bytes && *size == (size_t)s.st_size)
        return bytes;
    free(bytes);
    reject("'%s': cannot be read, or is no file of at most %zu bytes", path, most);
}

static uint64_t little(const unsigned char *p, size_t n)
{
    uint64_t u = 0;
    for (size_t i = 0; i < n; i++)
        u |= (uint64_t)p[i] << 8 * i;
    return u;
}

typedef struct {
    char bits[2];                  /* "6" or "8": 64 bits; "3" or "4": 32 */
    size_t rows, cols, begin, end; /* end: of the elements' bytes */
} tensor;

/* safetensors: 8 bytes of length, a JSON header as its writers make it (compact; dtype, shape, data_offsets), data. In
 * JSON a quote inside of a text follows a backslash, so that the pattern is found as a key or not at all. */
static void safetensors(const unsigned char *bytes, size_t size, const char *name, tensor *t)
{
#define REST "],\"data_offsets\":[%12zu,%12zu]}%n"
    char pattern[2 * NAME];
    int n = snprintf(pattern, sizeof pattern, "\"%s\":{\"dtype\":\"F", name), end = 0;
    uint64_t length = size < 8 ? UINT64_MAX : little(bytes, 8);
    if (size < 8 || length > size - 8 || strpbrk(name, "\"\\"))
        reject("truncated: no header of %llu bytes", (unsigned long long)length);
    const char *start = (const char *)bytes + 8, *p = memmem(start, length, pattern, (size_t)n);
    if (!p || memmem(p + 1, length - (size_t)(p + 1 - start), pattern, (size_t)n))
        reject("tensor '%s': expected once in the header, found %s", name, p ? "again" : "never");
    p += n;
    if (sscanf(p, "%1[36]%*1[24]\",\"shape\":[%9zu" REST, t->bits, &t->cols, &t->begin, &t->end, &end) != 4)
        (void)sscanf(p, "%1[36]%*1[24]\",\"shape\":[%9zu,%9zu" REST, t->bits, &t->rows, &t->cols, &t->begin, &t->end,
                     &end);
    if (end == 0 || t->end > size - 8 - length)
        reject("tensor '%s': not F32 or F64 in one or two dimensions within the file", name);
    t->begin += 8 + length, t->end += 8 + length;
}

/* npy (NEP 1): 8 bytes of magic and version, the length of a header as numpy writes it, data. */
static void npy(const unsigned char *bytes, size_t size, tensor *t)
{
#define START "{'descr': '<f%1[48]', 'fortran_order': False, 'shape': (%9zu,"
    size_t before = size > 12 && bytes[6] >= 2 ? 12 : 10, length = size > 12 ? little(bytes + 8, before - 8) : SIZE_MAX;
    int end = 0;
    if (length <= size - before && sscanf((const char *)bytes + before, START "), }%n", t->bits, &t->cols, &end) == 2 &&
        end == 0)
        (void)sscanf((const char *)bytes + before, START " %9zu), }%n", t->bits, &t->rows, &t->cols, &end);
    if (end == 0 || memcmp(bytes, "\x93NUMPY", 6))
        reject("npy: truncated, or not '<f8' or '<f4' in C order in one or two dimensions");
    t->begin = before + length, t->end = size;
}

/* value = mantissa 2^exp, exactly. */
static int64_t decode(const unsigned char *p, size_t width, long *exp)
{
    const int fraction = width == 8 ? 52 : 23, bias = width == 8 ? 1023 : 127;
    uint64_t u = little(p, width), one = (uint64_t)1 << fraction, e = u / one % (uint64_t)(2 * bias + 2);
    uint64_t m = u % one + (e ? one : 0);
    if (e == (uint64_t)(2 * bias + 1))
        reject("a number that is not finite");
    *exp = (long)(e ? e : 1) - bias - fraction;
    for (; m && m % 2 == 0; m /= 2)
        ++*exp;
    return u >> (8 * width - 1) ? -(int64_t)m : (int64_t)m;
}

/* The bytes are coefficients of a polynomial, taken at BASE modulo PRIME: one changed bit always changes it. */
static matrix *load(const unsigned char *bytes, const tensor *t, uint64_t expected)
{
    const size_t width = strchr("68", *t->bits) ? 8 : 4, n = t->rows * t->cols;
    long least = LONG_MAX, most = LONG_MIN, exp;
    uint64_t found = 0;
    if (t->begin > t->end || t->cols == 0 || t->rows > MOST_BYTES / t->cols || n * width != t->end - t->begin)
        reject("%zu x %zu numbers in %zu bytes", t->rows, t->cols, t->end - t->begin);
    bytes += t->begin;
    for (size_t i = 0; i < n * width; i++)
        found = (uint64_t)(((wide)found * BASE + bytes[i]) % PRIME);
    if (found != expected)
        reject("expected bytes of sum %016llx, found %016llx", (unsigned long long)expected, (unsigned long long)found);
    for (size_t i = 0; i < n; i++)
        if (decode(bytes + i * width, width, &exp)) {
            least = least < exp ? least : exp;
            most = most > exp ? most : exp;
        }
    matrix *a = new_matrix(t->rows, t->cols, most < least ? 1 : (size_t)(most - least) + 53, most < least ? 0 : least);
    for (size_t i = 0; i < n; i++) {
        mpz_set_si(a->v[i], decode(bytes + i * width, width, &exp));
        mpz_mul_2exp(a->v[i], a->v[i], mpz_sgn(a->v[i]) ? (mp_bitcnt_t)(exp - least) : 0);
    }
    return a;
}

static matrix *the(const char *role, size_t l) /* l: SIZE_MAX for a name without a level */
{
    char name[NAME];
    snprintf(name, sizeof name, l == SIZE_MAX ? "%s" : "%s.%zu", role, l);
    for (size_t i = 0; i < c.n; i++)
        if (strcmp(c.name[i], name) == 0)
            return c.matrix[i];
    reject("the claim needs a matrix '%s'", name);
}

static size_t block(size_t l) /* s^l, or something too large */
{
    size_t n = l ? block(l - 1) : 1;
    return l == 0 || n > MOST_BYTES ? n : n * c.stride;
}

/* lambda [L] > 0, x.l [ceil(T / s^l), d]. */
static const matrix *open_model(void)
{
    const matrix *lambda = the("lambda", SIZE_MAX);
    c.L = lambda->cols;
    c.T = the("x", 0)->rows, c.d = the("x", 0)->cols;
    for (size_t l = 0; l < c.L; l++)
        if (lambda->rows != 1 || c.L > MOST_LEVELS || c.stride < 2 || mpz_sgn(lambda->v[l]) <= 0 ||
            the("x", l)->rows != (c.T + block(l) - 1) / block(l) || the("x", l)->cols != c.d)
            reject("level %zu of at most %d: expected stride >= 2, lambda > 0, x [T / stride^%zu rounded up, %zu]", l,
                   MOST_LEVELS, l, c.d);
    return lambda;
}

/* Theorem 1. lambda_min(sum lambda_l U X m X' U') >= -bound: m - f f' + e I is PSD, e its largest row beyond the
 * diagonal. */
static void lowest(void)
{
    const matrix *lambda = open_model();
    mpq_set_ui(sum, 0, 1);
    for (size_t l = 0; l < c.L; l++) {
        matrix *m = the("m", l), *x = the("x", l), *r = product(the("f", l), false, the("f", l), true);
        if (m->rows != c.d || m->cols != c.d || r->rows != c.d)
            reject("level %zu: expected m and f of %zu rows", l, c.d);
        for (size_t i = 0; i < c.d * c.d; i++) {
            if (mpz_cmp(m->v[i], *at(m, true, i / c.d, i % c.d)))
                reject("m.%zu is not symmetric: row %zu, column %zu", l, i / c.d, i % c.d);
            mpz_neg(r->v[i], r->v[i]);
        }
        add(r, m);
        largest_row(r, -1);
        mpz_set_ui(total, 0);
        for (size_t i = 0; i < c.T * c.d; i++) /* |U X|_F^2 */
            mpz_addmul(total, x->v[i / c.d / block(l) * c.d + i % c.d], x->v[i / c.d / block(l) * c.d + i % c.d]);
        mpq_set_ui(term, 1, 1);
        multiply(term, total, 2 * x->exp);
        multiply(term, largest, r->exp);
        multiply(term, lambda->v[l], lambda->exp);
        mpq_add(sum, sum, term);
    }
    if (mpq_cmp(sum, bound) > 0)
        reject("the factors prove no more than lambda_min >= -%.3g", mpq_get_d(sum));
}

/* Theorem 2. v' S v < -bound v'v, S = sum lambda_l U X wq' wk X' U'. */
static void negative(void)
{
    const matrix *lambda = open_model(), *v = the("v", SIZE_MAX);
    if (v->rows != 1 || v->cols != c.T)
        reject("expected v of %zu numbers, found %zu x %zu", c.T, v->rows, v->cols);
    mpq_set(sum, bound);
    multiply(sum, product(v, false, v, true)->v[0], 2 * v->exp);
    for (size_t l = 0; l < c.L; l++) {
        matrix *up = new_matrix(1, the("x", l)->rows, bits_of(v) + 32, v->exp);
        for (size_t i = 0; i < c.T; i++)
            mpz_add(up->v[i / block(l)], up->v[i / block(l)], v->v[i]);
        matrix *w = product(up, false, the("x", l), false), *q = product(w, false, the("wq", l), true);
        matrix *form = product(q, false, product(w, false, the("wk", l), true), true);
        mpq_set_ui(term, 1, 1);
        multiply(term, form->v[0], form->exp);
        multiply(term, lambda->v[l], lambda->exp);
        mpq_add(sum, sum, term);
    }
    if (mpq_sgn(sum) >= 0)
        reject("v'Sv + bound v'v = %.3g is not negative", mpq_get_d(sum));
}

/* Rank modulo PRIME of a [rows, cols], which is spoilt: never more than the rank of the integers. */
static size_t rank_modulo(uint64_t *a, size_t rows, size_t cols)
{
    size_t rank = 0;
    for (size_t j = 0, i; j < cols && rank < rows; j++) {
        for (i = rank; i < rows && a[i * cols + j] == 0;)
            i++;
        if (i == rows)
            continue;
        uint64_t *pivot = a + rank++ * cols; /* rows are multiplied by it: not 0, so no inverse is needed */
        for (size_t k = cols; k-- > 0 && a + i * cols != pivot;) /* gets another's pivot */
            pivot[k] = (pivot[k] + a[i * cols + k]) % PRIME;
        for (uint64_t *row = pivot + cols; row < a + rows * cols; row += cols)
            for (size_t k = cols; k-- > j;)
                row[k] = (uint64_t)(((wide)row[k] * pivot[j] + (wide)pivot[k] * (PRIME - row[j])) % PRIME);
    }
    return rank;
}

/* Theorem 3. S + S' has at least n positive and n negative eigenvalues: rank [U_l X wq', U_l X wk'] >= n + p L. */
static void inertia(size_t n)
{
    open_model();
    const size_t p = the("wq", 0)->rows, cols = 2 * p * c.L;
    c.work += (double)c.T * (double)cols * (double)cols * 8;
    free(c.residues);
    c.residues = c.work < MOST_WORK ? calloc(c.T * cols, sizeof *c.residues) : NULL;
    if (!c.residues)
        reject("a rank of %zu x %zu numbers: too large", c.T, cols);
    for (size_t l = 0; l < 2 * c.L; l++) {
        const matrix *w = the(l % 2 ? "wk" : "wq", l / 2), *y = product(the("x", l / 2), false, w, true);
        if (w->rows != p)
            reject("level %zu: a form of another width", l / 2);
        for (size_t i = 0; i < c.T * p; i++)
            c.residues[i / p * cols + l * p + i % p] = mpz_fdiv_ui(y->v[i / p / block(l / 2) * p + i % p], PRIME);
    }
    size_t rank = rank_modulo(c.residues, c.T, cols);
    if (n == 0 || n > p * c.L || rank < n + p * c.L)
        reject("expected 1 <= n <= p L = %zu and a rank of n + p L, found rank %zu", p * c.L, rank);
}

/* Rows row .. row + rows - 1 and the first columns of S. */
static matrix *window(size_t row, size_t rows, size_t cols)
{
    const matrix *lambda = open_model();
    matrix *out = NULL;
    if (row > c.T || rows > c.T - row || cols > c.T)
        reject("a window of %zu x %zu at row %zu of %zu", rows, cols, row, c.T);
    for (size_t l = 0; l < c.L; l++) {
        matrix *x = the("x", l), *q = product(x, false, the("wq", l), true), *k = product(x, false, the("wk", l), true);
        matrix *s = product(q, false, k, true), *a = new_matrix(rows, cols, bits_of(s) + 64, s->exp + lambda->exp);
        for (size_t i = 0; i < rows * cols; i++)
            mpz_mul(a->v[i], *at(s, false, (row + i / cols) / block(l), i % cols / block(l)), lambda->v[l]);
        if (out)
            add(a, out);
        out = a;
    }
    return out;
}

/* Theorem 4. The window is at least `bound` > 0 from every matrix of rank below k. */
static void distance(size_t k, size_t row, size_t rows, size_t cols)
{
    const matrix *w = the("w", SIZE_MAX), *aw = product(window(row, rows, cols), false, w, false);
    const matrix *e = product(aw, true, aw, false), *n = product(w, true, w, false);
    largest_row(e, 0);
    mpz_set_ui(total, 0);
    for (size_t i = 0; i < w->cols; i++) {
        mpz_sub(part, *at(e, false, i, i), largest); /* at most the i-th largest eigenvalue */
        if (i > 0 && mpz_cmp(*at(e, false, i, i), *at(e, false, i - 1, i - 1)) > 0)
            reject("column %zu of w is longer in the image than the one before", i);
        if (i + 1 >= k && mpz_sgn(part) > 0)
            mpz_add(total, total, part);
    }
    mpq_set_ui(sum, 1, 1);
    multiply(sum, total, e->exp);
    largest_row(n, 1);
    mpq_mul(term, bound, bound);
    multiply(term, largest, n->exp);
    if (k == 0 || mpq_sgn(term) <= 0 || mpq_cmp(sum, term) < 0)
        reject("no such distance from rank below %zu: squared %.3g, expected %.3g", k, mpq_get_d(sum), mpq_get_d(term));
}

/* bound = N or N/D, not negative. */
static void read_bound(const char *text)
{
    if (strspn(text, "0123456789/") != strlen(text) || mpq_set_str(bound, text, 10) || !mpz_sgn(mpq_denref(bound)))
        reject("expected a fraction, found '%s'", text);
    mpq_canonicalize(bound);
}

static void add_matrix(const char *name, const char *file, const char *key, uint64_t sums)
{
    char path[4096];
    const char *slash = strrchr(c.path, '/');
    tensor t = {.rows = 1};
    size_t size, n = strlen(file);
    for (size_t k = 0; k < c.n; k++)
        if (strcmp(c.name[k], name) == 0)
            reject("a second matrix '%s'", name);
    if (c.n == MOST_MATRICES || strchr(file, '/') ||
        snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - c.path) : 0, c.path, file) >= (int)sizeof path)
        reject("a matrix too many, or a file of another directory: '%s'", file);
    free(c.bytes), c.bytes = NULL;
    c.bytes = read_bytes(path, MOST_BYTES, &size);
    if (n > 4 && strcmp(file + n - 4, ".npy") == 0)
        npy(c.bytes, size, &t);
    else
        safetensors(c.bytes, size, key, &t);
    c.matrix[c.n] = load(c.bytes, &t, sums);
    strcpy(c.name[c.n++], name);
}

/* A line that is neither the first nor the last; true: a claim. */
static bool step(const char *line)
{
    char a[NAME], b[NAME], key[NAME];
    size_t n[4] = {0}, sums;
    int end = 0;
#define IS(...) (end = 0, (void)sscanf(line, __VA_ARGS__, &end), end > 0 && line[end] == 0)
    if (strncmp(line, "about ", 6) == 0 || (c.stride == 0 && IS("stride %5zu%n", &c.stride)))
        return false;
    if (IS("matrix %127s %127s %127s %16zx%n", a, b, key, &sums))
        return add_matrix(a, b, key, sums), false;
    if (IS("claim lowest %127s%n", a))
        read_bound(a), lowest();
    else if (IS("claim negative %127s%n", a))
        read_bound(a), negative();
    else if (IS("claim inertia %9zu%n", n))
        inertia(n[0]);
    else if (IS("claim distance %9zu %127s %9zu %9zu %9zu%n", n, a, n + 1, n + 2, n + 3))
        read_bound(a), distance(n[0], n[1], n[2], n[3]);
    else
        reject("no line of a certificate: '%.60s'", line);
    return true;
}

/* Decides c.path, or jumps. */
static void decide(void)
{
    size_t size, claims = 0;
    c.text = read_bytes(c.path, MOST_TEXT, &size);
    if (size == 0 || c.text[size - 1] != '\n' || strlen((char *)c.text) != size)
        reject("truncated, or no text");
    for (char *line = (char *)c.text, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        next[-1] = 0;
        if (c.line++ == 0 ? strcmp(line, "hkt-certificate 1") || !*next : !*next && strcmp(line, "end"))
            reject("truncated, or no certificate: '%.60s'", line);
        claims += c.line > 1 && *next && step(line);
    }
    if (claims == 0)
        reject("there is no claim");
    printf("ACCEPTED %s\n", c.path);
}

int main(int argc, char **argv)
{
    static const char full[] = "hkt-check: cannot write 'standard output'";
    static const char usage[] =
        "usage: hkt-check CERTIFICATE...\nDecides by exact arithmetic: ACCEPTED, or REJECTED and the line that fails.\n"
        "Exit status: 0 all accepted, 1 one rejected, 2 usage, 5 standard output cannot be written.\n";
    bool help = argc > 1 && strcmp(argv[1], "--help") == 0;
    if (argc < 2 || argv[1][0] == '-')
        return fputs(usage, help ? stdout : stderr) < 0 || fflush(stdout) != 0 ? perror(full), 5 : help ? 0 : 2;
    volatile int rejected = 0;
    mpq_inits(sum, term, bound, NULL), mpz_inits(total, part, largest, NULL);
    for (char **volatile path = argv + 1; *path; path++) {
        memset(&c, 0, sizeof c), c.path = *path;
        if (setjmp(c.rejected) == 0)
            decide();
        else
            rejected = 1;
        for (matrix *a; (a = c.all) != NULL; free(a)) {
            c.all = a->next;
            for (size_t i = 0; i < a->rows * a->cols; i++)
                mpz_clear(a->v[i]);
        }
        free(c.bytes), free(c.residues), free(c.text);
    }
    mpq_clears(sum, term, bound, NULL), mpz_clears(total, part, largest, NULL);
    return fflush(stdout) != 0 ? perror(full), 5 : rejected;
}

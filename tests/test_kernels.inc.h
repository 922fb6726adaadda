/* The fast kernels of one precision against double references on the same numbers; see num/both.h. In all bounds u is
 * the unit roundoff of the precision; a sum of n products is off by at most n u times the sum of their absolute values.
 */

#define U_ROUND ((sizeof(real) == 4 ? (double)FLT_EPSILON : DBL_EPSILON) / 2)

static real *RN(narrow)(const double *x, size_t n)
{
    real *out = NULL;
    CHECK_OK(HKT_NEW(&out, n));
    for (size_t i = 0; i < n; i++)
        out[i] = (real)x[i];
    return out;
}

/* Compares with want and frees got. tol: one bound for all. */
static void RN(expect)(const char *what, real *got, const double *want, size_t n, double tol)
{
    for (size_t i = 0; i < n; i++)
        if (!within((double)got[i], want[i], tol))
            fail_msg("%s f%zu %s: element %zu of %zu is %.9g, expected %.9g, off by %.3g > %.3g", what,
                     8 * sizeof(real), hkt_isa(), i, n, (double)got[i], want[i], fabs((double)got[i] - want[i]), tol);
    hkt_free(got);
}

static void RN(check_layernorm)(size_t n, size_t d)
{
    double *x = random_array(n * d, 2), *gamma = random_array(d, 1), *beta = random_array(d, 1);
    double *y = random_array(n * d, 1), *mean = random_array(n, 1), *rstd = random_array(n, 1);
    double *dy = random_array(n * d, 1), *dx = random_array(n * d, 1), *dg = random_array(d, 1),
           *db = random_array(d, 1);
    real *X = RN(narrow)(x, n * d), *G = RN(narrow)(gamma, d), *B = RN(narrow)(beta, d), *Y = RN(narrow)(y, n * d);
    real *M = RN(narrow)(mean, n), *V = RN(narrow)(rstd, n), *DY = RN(narrow)(dy, n * d), *DX = RN(narrow)(dx, n * d);
    real *DG = RN(narrow)(dg, d), *DB = RN(narrow)(db, d);
    hkt_layernorm_forward(n, d, X, G, B, Y, M, V);
    hkt_layernorm_backward(n, d, X, G, M, V, DY, DX, DG, DB);
    hkt_layernorm_forward_ref_f64(n, d, x, gamma, beta, y, mean, rstd);
    hkt_layernorm_backward_ref_f64(n, d, x, gamma, mean, rstd, dy, dx, dg, db);
    /* xhat = (x - mean) rstd: mean is off by d u max|x|, rstd by a relative (d + 4) u and by the mean's part. */
    double mx = largest(x, n * d), mr = largest(rstd, n), mg = largest(gamma, d), mdy = largest(dy, n * d);
    double xhat = fmin(2 * mx * mr, sqrt((double)d)), e = (2 * (double)d + 8) * U_ROUND * (1 + xhat) * (1 + mx * mr);
    double grad = mr * mg * mdy * (1 + xhat) * (1 + xhat);
    RN(expect)("layernorm mean", M, mean, n, ((double)d + 2) * U_ROUND * mx);
    RN(expect)("layernorm rstd", V, rstd, n, e * mr);
    RN(expect)("layernorm y", Y, y, n * d, e * mg + 2 * U_ROUND * largest(y, n * d));
    RN(expect)("layernorm dx", DX, dx, n * d, 2 * e * grad + 2 * U_ROUND * largest(dx, n * d));
    RN(expect)("layernorm dgamma", DG, dg, d, (double)n * mdy * (2 * e + ((double)n + 2) * U_ROUND * (1 + xhat)));
    RN(expect)("layernorm dbeta", DB, db, d, ((double)n + 2) * U_ROUND * ((double)n * mdy + 4));
    free_all((void *[]){x, gamma, beta, y, mean, rstd, dy, dx, dg, db, X, G, B, DY, NULL});
}

static void RN(check_gelu)(size_t n)
{
    double *x = random_array(n, 3), *dy = random_array(n, 1), *y = random_array(n, 1), *dx = random_array(n, 1);
    real *X = RN(narrow)(x, n), *Y = RN(narrow)(x, n), *DX = RN(narrow)(dy, n), *AGAIN = RN(narrow)(dy, n);
    hkt_gelu_forward(n, Y, Y); /* in place */
    hkt_gelu_backward(n, X, DX, DX, n % 2 ? AGAIN : NULL);
    assert_true(n % 2 == 0 || !memcmp(Y, AGAIN, n * sizeof *Y));
    hkt_gelu_forward_ref_f64(n, x, y);
    hkt_gelu_backward_ref_f64(n, x, dy, dx);
    /* The argument 2u of the logistic is off by a relative 6u; |2u| sigma'(2u) < 0.3, |(2u)'| < 2 (1 + |x|^2 / 7), and
     * the second factor of gelu' changes by less than that again. */
    double mx = largest(x, n), mdy = largest(dy, n);
    RN(expect)("gelu", Y, y, n, 8 * U_ROUND * (0.3 * mx + mx));
    RN(expect)("gelu gradient", DX, dx, n, 16 * U_ROUND * mdy * (1 + mx));
    free_all((void *[]){x, dy, y, dx, X, AGAIN, NULL});
}

/* Convolution (row strides ld >= d), and downsampling when w is its stride. */
static void RN(check_filter)(size_t T, size_t d, size_t w, bool downsample)
{
    size_t ld = downsample ? d : d + 3, n = downsample ? (T + w - 1) / w : T;
    double *x = random_array(T * ld, 1), *c = random_array(w * d, 1), *y = random_array(n * ld, 1);
    double *dy = random_array(n * ld, 1), *dx = random_array(T * ld, 1), *dc = random_array(w * d, 1);
    real *X = RN(narrow)(x, T * ld), *C = RN(narrow)(c, w * d), *Y = RN(narrow)(y, n * ld),
         *DY = RN(narrow)(dy, n * ld);
    real *DX = RN(narrow)(dx, T * ld), *DC = RN(narrow)(dc, w * d);
    if (downsample) {
        hkt_downsample_forward(T, d, w, X, C, Y);
        hkt_downsample_backward(T, d, w, X, C, DY, DX, DC);
        hkt_downsample_forward_ref_f64(T, d, w, x, c, y);
        hkt_downsample_backward_ref_f64(T, d, w, x, c, dy, dx, dc);
    } else {
        hkt_conv_forward(T, d, w, X, ld, C, Y, ld);
        hkt_conv_backward(T, d, w, X, ld, C, DY, ld, DX, ld, DC);
        hkt_conv_forward_ref_f64(T, d, w, x, ld, c, y, ld);
        hkt_conv_backward_ref_f64(T, d, w, x, ld, c, dy, ld, dx, ld, dc);
    }
    double mx = largest(x, T * ld), mc = largest(c, w * d), mdy = largest(dy, n * ld), terms = (double)w + 2;
    RN(expect)("filter y", Y, y, n * ld, terms * U_ROUND * (double)w * mx * mc);
    RN(expect)("filter dx", DX, dx, T * ld, terms * U_ROUND * ((double)w * mdy * mc + 6));
    RN(expect)("filter dc", DC, dc, w * d, ((double)n + 2) * U_ROUND * ((double)n * mdy * mx + 6));
    free_all((void *[]){x, c, y, dy, dx, dc, X, C, DY, NULL});
}

static void RN(check_linear)(size_t n, size_t m, size_t k, bool with_bias)
{
    size_t ld_x = k + 2, ld_y = m + 1;
    double *x = random_array(n * ld_x, 1), *w = random_array(m * k, 1), *b = random_array(m, 1);
    double *y = random_array(n * ld_y, 1), *dy = random_array(n * ld_y, 1), *dx = random_array(n * ld_x, 1);
    double *dw = random_array(m * k, 1), *db = random_array(m, 1);
    real *X = RN(narrow)(x, n * ld_x), *W = RN(narrow)(w, m * k), *B = RN(narrow)(b, m), *Y = RN(narrow)(y, n * ld_y);
    real *DY = RN(narrow)(dy, n * ld_y), *DX = RN(narrow)(dx, n * ld_x), *DW = RN(narrow)(dw, m * k),
         *DB = RN(narrow)(db, m);
    real *W_T = RN(narrow)(w, m * k), *P = RN(narrow)(y, n * ld_y), *S = RN(narrow)(y, n * ld_y);
    hkt_linear_forward(n, m, k, X, ld_x, W, with_bias ? B : NULL, Y, ld_y);
    hkt_linear_pack(m, k, W, W_T);
    hkt_linear_forward_packed(n, m, k, X, ld_x, W_T, with_bias ? B : NULL, P, ld_y);
    hkt_products(n, m, k, (real)0.5, X, ld_x, W, k, S, ld_y);
    hkt_linear_backward_input(n, m, k, DY, ld_y, W, DX, ld_x);
    hkt_linear_backward_weight(n, m, k, DY, ld_y, X, ld_x, DW, with_bias ? DB : NULL);
    linear_naive(n, m, k, x, ld_x, w, with_bias ? b : NULL, y, dy, ld_y, dx, dw, with_bias ? db : NULL);
    double mx = largest(x, n * ld_x), mw = largest(w, m * k), mdy = largest(dy, n * ld_y);
    RN(expect)("linear y", Y, y, n * ld_y, ((double)k + 2) * U_ROUND * ((double)k * mx * mw + 6));
    RN(expect)("packed linear y", P, y, n * ld_y, ((double)k + 2) * U_ROUND * ((double)k * mx * mw + 6));
    for (size_t i = 0; i < n * ld_y; i++) /* half the product without the bias; scaling by 1/2 is exact */
        if (i % ld_y < m)
            y[i] = (y[i] - (with_bias ? b[i % ld_y] : 0)) / 2;
    RN(expect)("products", S, y, n * ld_y, ((double)k + 2) * U_ROUND * ((double)k * mx * mw + 6));
    RN(expect)("linear dx", DX, dx, n * ld_x, ((double)m + 2) * U_ROUND * ((double)m * mdy * mw + 6));
    RN(expect)("linear dw", DW, dw, m * k, ((double)n + 2) * U_ROUND * ((double)n * mdy * mx + 6));
    RN(expect)("linear db", DB, db, m, ((double)n + 2) * U_ROUND * ((double)n * mdy + 6));
    free_all((void *[]){x, w, b, y, dy, dx, dw, db, X, W, W_T, B, DY, NULL});
}

static void RN(check_axpy)(size_t n)
{
    double *x = random_array(n, 1), *y = random_array(n, 1), a = 0.625;
    real *X = RN(narrow)(x, n), *Y = RN(narrow)(y, n);
    hkt_axpy(n, (real)a, X, Y);
    hkt_add(n, X, X, X);
    for (size_t i = 0; i < n; i++)
        assert_true((double)X[i] == 2 * x[i]);
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
    RN(expect)("axpy", Y, y, n, 2 * U_ROUND * (a * largest(x, n) + largest(y, n)));
    free_all((void *[]){x, y, X, NULL});
}

/* Sums over rows, products, and the fusion of a level and its transpose. */
static void RN(check_rows)(size_t n, size_t d, size_t span)
{
    size_t skip = n % span, coarse = (n + skip + span - 1) / span;
    double *x = random_array(n * d, 1), *y = random_array(n * d, 1), *a = random_array(d, 1), *b = random_array(d, 1);
    double *sums = random_array(d, 1), *dots = random_array(d, 1), *spans = random_array(n * d, 1), weight = 0.375;
    double *u = random_array(coarse * d, 1), *v = random_array(coarse * d, 1), *mixed = random_array(n * d, 1);
    real *X = RN(narrow)(x, n * d), *Y = RN(narrow)(y, n * d), *A = RN(narrow)(a, d), *B = RN(narrow)(b, d);
    real *SUMS = RN(narrow)(sums, d), *DOTS = RN(narrow)(dots, d), *SPANS = RN(narrow)(spans, n * d);
    real *U = RN(narrow)(u, coarse * d), *V = RN(narrow)(v, coarse * d), *MIXED = RN(narrow)(mixed, n * d);
    bool add = n % 2, two = d % 2;
    hkt_sum_rows(n, d, X, d, SUMS);
    hkt_dot_columns(n, d, X, Y, DOTS);
    hkt_sum_spans(n, d, span, X, SPANS);
    hkt_mix(n, d, span, skip, (real)weight, A, U, B, two ? V : NULL, add, MIXED);
    hkt_scale_rows(n, d, (real)weight, A, Y, Y);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < d; c++) {
            size_t at = i * d + c, from = (i + skip) / span * d + c;
            sums[c] += x[at];
            dots[c] += x[at] * y[at];
            spans[i / span * d + c] = x[at] + (i % span ? spans[i / span * d + c] : 0);
            mixed[at] = (add ? mixed[at] : 0) + weight * (a[c] * u[from] + (two ? b[c] * v[from] : 0));
            y[at] *= weight * a[c];
        }
    /* No entry of these arrays exceeds 6, but for one in 10^9. */
    RN(expect)("row sums", SUMS, sums, d, ((double)n + 2) * U_ROUND * 6 * ((double)n + 1));
    RN(expect)("column dots", DOTS, dots, d, ((double)n + 2) * U_ROUND * 36 * ((double)n + 1));
    RN(expect)("span sums", SPANS, spans, n * d, (double)span * U_ROUND * 6 * (double)span);
    RN(expect)("mixed rows", MIXED, mixed, n * d, 6 * U_ROUND * 80);
    RN(expect)("scaled rows", Y, y, n * d, 3 * U_ROUND * 36);
    free_all((void *[]){x, y, a, b, sums, dots, spans, u, v, mixed, X, A, B, U, V, NULL});
}

/* Element i against word (i % 64) / 16 of Philox block 16 (i / 64) + i % 16, for ranges that start and end anywhere. */
static void RN(check_dropout)(size_t n, size_t first, double rate)
{
    const uint64_t seed = 0x123456789abcdef0u, step = 71;
    double *x = random_array(n, 1);
    real *X = RN(narrow)(x, n), *Y = RN(narrow)(x, n);
    hkt_dropout(n, first, rate, seed, step, 5, Y, Y);
    for (size_t i = 0; i < n; i++) {
        size_t g = first + i;
        uint32_t word[4];
        hkt_rng_block(seed, HKT_STREAM_DROPOUT, 5, step << 32 | (g / 64 * 16 + g % 16), word);
        bool kept = word[g % 64 / 16] >= rate * 0x1p32;
        assert_true(Y[i] == (kept ? X[i] * (real)(1 / (1 - rate)) : 0));
    }
    free_all((void *[]){x, X, Y, NULL});
}

static void RN(check_all)(void)
{
    /* Weights are taken 64 rows and 256 columns at a time. */
    for (size_t i = 0; i < 8; i++)
        RN(check_linear)(random_size(1, 5), random_size(60, 140), random_size(250, 600), i % 2);
    for (size_t i = 0; i < 40; i++) {
        RN(check_layernorm)(random_size(1, 20), random_size(1, 100));
        RN(check_gelu)(random_size(0, 200));
        RN(check_filter)(random_size(1, 60), random_size(1, 70), random_size(1, 6), false);
        RN(check_filter)(random_size(1, 60), random_size(1, 70), random_size(2, 5), true);
        RN(check_linear)(random_size(0, 40), random_size(1, 50), random_size(1, 50), i % 2);
        /* Whole vectors, as the tile product wants them. */
        RN(check_linear)(random_size(0, 40), 16 * random_size(1, 6), 16 * random_size(1, 6), i % 2);
        RN(check_rows)(random_size(1, 80), random_size(1, 150), random_size(1, 5));
        RN(check_axpy)(random_size(0, 100));
        RN(check_dropout)(random_size(0, 300), random_size(0, 300), 0.125 * (double)random_size(0, 7));
    }
}

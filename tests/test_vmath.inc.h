/* Sweeps of test_vmath.c in one precision; see num/both.h. */

typedef void (*RN(vector_function))(size_t n, const real *x, real *y);

/* Distance of y from the exact value in units of the last place of a number of that size; infinite for a wrong NaN,
 * sign of zero or infinity. */
static double RN(ulps)(real y, long double exact)
{
    const int digits = sizeof(real) == 4 ? FLT_MANT_DIG : DBL_MANT_DIG;
    const int lowest = sizeof(real) == 4 ? FLT_MIN_EXP : DBL_MIN_EXP,
              highest = sizeof(real) == 4 ? FLT_MAX_EXP : DBL_MAX_EXP;
    int e;
    if (isnan(exact) || isnan(y))
        return isnan(exact) && isnan(y) ? 0 : HUGE_VAL;
    if (isinf(y)) /* stands for the next power of two */
        return !signbit(y) == !signbit(exact) && fabsl(exact) >= ldexpl(1, highest) - ldexpl(1, highest - digits)
                   ? 0
                   : HUGE_VAL;
    if (exact == 0)
        return y == 0 && !signbit(y) == !signbit(exact) ? 0 : HUGE_VAL;
    if (isinf(exact))
        return HUGE_VAL;
    frexpl(exact, &e);
    return (double)(fabsl((long double)y - exact) / ldexpl(1, (e < lowest ? lowest : e) - digits));
}

/* Worst error of f over x against exact values. */
static double RN(worst)(RN(vector_function) f, size_t n, const real *x, const long double *exact, real *where)
{
    real *y = NULL;
    double most = 0;
    CHECK_OK(HKT_NEW(&y, n));
    f(n, x, y);
    for (size_t i = 0; i < n; i++) {
        double e = RN(ulps)(y[i], exact[i]);
        if (e > most) {
            most = e;
            *where = x[i];
        }
    }
    hkt_free(y);
    return most;
}

/* The values worth trying: dense over [-range, range], all exponents by random bits, and the special ones. */
static real *RN(arguments)(double range, size_t dense, size_t any, size_t *n)
{
    const real special[] = {0, -(real)0, (real)INFINITY, -(real)INFINITY, (real)NAN,
                            1, -1,       (real)DBL_MIN,  (real)FLT_MIN};
    const size_t n_special = sizeof special / sizeof *special;
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 2);
    real *x = NULL;
    *n = dense + any + n_special;
    CHECK_OK(HKT_NEW(&x, *n));
    for (size_t i = 0; i < dense; i++)
        x[i] = (real)(range * (2 * ((double)i + hkt_rng_uniform(&rng)) / (double)dense - 1));
    for (size_t i = dense; i < dense + any; i++) {
        uint64_t bits = hkt_rng_u64(&rng);
        memcpy(x + i, &bits, sizeof *x);
    }
    memcpy(x + dense + any, special, sizeof special);
    return x;
}

static void RN(check_function)(const char *name, RN(vector_function) f, long double (*exact)(long double), double range)
{
    size_t n;
    real *x = RN(arguments)(range, SWEEP, SWEEP / 4, &n), where = 0;
    long double *want = NULL;
    CHECK_OK(HKT_NEW(&want, n));
    for (size_t i = 0; i < n; i++)
        want[i] = exact((long double)x[i]);
    for (int isa = HKT_ISA_GENERIC; isa <= HKT_ISA_AVX512 && hkt_isa_select((hkt_isa_level)isa); isa++) {
        double most = RN(worst)(f, n, x, want, &where);
        printf("%s f%zu %s: at most %.3f ulp over %zu values, at %.9g\n", name, 8 * sizeof(real), hkt_isa(), most, n,
               (double)where);
        CHECK_AT_MOST(most, MAX_ULPS);
    }
    hkt_free(want);
    hkt_free(x);
}

/* exp with its series cut after x^2/2 must exceed the bound. */
static void RN(exp_truncated)(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = 1 + x[i] + x[i] * x[i] / 2;
}

static void RN(check_control)(void)
{
    size_t n;
    real *x = RN(arguments)(0.25, 1000, 0, &n), where;
    long double *want = NULL;
    CHECK_OK(HKT_NEW(&want, n));
    for (size_t i = 0; i < n; i++)
        want[i] = expl((long double)x[i]);
    assert_true(RN(worst)(RN(exp_truncated), n, x, want, &where) > MAX_ULPS);
    hkt_free(want);
    hkt_free(x);
}

/* Any length, in place, and nothing written past the end. */
static void RN(check_lengths)(RN(vector_function) f)
{
    real x[70], y[70], one;
    for (size_t n = 0; n < 68; n++) {
        for (size_t i = 0; i < 70; i++)
            x[i] = y[i] = (real)i / 16 - 2;
        f(n, y, y);
        for (size_t i = 0; i < 70; i++) {
            one = x[i];
            if (i < n)
                f(1, &one, &one);
            assert_memory_equal(&one, y + i, sizeof one);
        }
    }
}

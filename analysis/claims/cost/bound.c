/* bound.c - R = sum_l (T_l / T)^2 with T_l = ceil(T / s^l), in exact integers: N = sum_l T_l^2, R = N / T^2.
 * Largest numbers: N <= 12 * 2^24; N s^(2L-2) <= 12 * 2^24 * 2^44 < 2^72, hence 128 bits in the envelope alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/claims/check.h"

/* The range searched: s in 2..4, L in 1..12, T in 1..4096. */
enum { MOST_STRIDES = 4, MOST_LEVELS = 12, MOST_TOKENS = 4096 };

__extension__ typedef unsigned __int128 u128;

static uint64_t power(uint64_t s, size_t e)
{
    uint64_t r = 1;
    while (e-- > 0)
        r *= s;
    return r;
}

/* N. ceil(ceil(T / s^l) / s) = ceil(T / s^(l+1)). */
static uint64_t level_sum(uint64_t T, uint64_t s, size_t L)
{
    uint64_t n = T, sum = 0;
    for (size_t l = 0; l < L; l++, n = (n + s - 1) / s)
        sum += n * n;
    return sum;
}

/* R < s^2 / (s^2 - 1) */
static bool bound_holds(uint64_t T, uint64_t s, size_t L)
{
    return level_sum(T, s, L) * (s * s - 1) < s * s * T * T;
}

/* R = (1 - s^(-2L)) / (1 - s^-2), that is N (s^2 - 1) s^(2L-2) = T^2 (s^(2L) - 1). Both sides < 2^63 for the T tried
 * below. */
static bool closed_form_holds(uint64_t T, uint64_t s, size_t L)
{
    return (u128)level_sum(T, s, L) * (s * s - 1) * power(s, 2 * L - 2) == (u128)T * T * (power(s, 2 * L) - 1);
}

/* Counts failures of `holds` over T = m s^(L-1) + offset. */
static hkt_status count_divisible(hkt_check_result *out, bool (*holds)(uint64_t, uint64_t, size_t), uint64_t offset)
{
    size_t tried = 0, failed = 0;
    for (uint64_t s = 2; s <= MOST_STRIDES; s++)
        for (size_t L = 1; L <= MOST_LEVELS; L++)
            for (uint64_t T = power(s, L - 1); T <= MOST_TOKENS; T += power(s, L - 1)) {
                tried++;
                failed += !holds(T + offset, s, L);
            }
    hkt_check_at_most(out, (double)failed, 0);
    hkt_check_condition(out, "s^(L-1) divides T");
    hkt_check_detail(out, "%zu triples (s, L, T); s = 2 gives 4/3, L = 3 gives R = 21/16 = 1.3125", tried);
    return HKT_OK;
}

/* control: lengths that s^(L-1) does not divide. */
static hkt_status closed_form(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    return count_divisible(out, closed_form_holds, control);
}

const hkt_check hkt_cost_closed_form = {
    .name = "closed-form",
    .kind = HKT_EXACT,
    .statement =
        "R = (1 - s^(-2L))/(1 - s^-2) for every s in 2..4, L <= 12, T <= 4096 that s^(L-1) divides, in integers",
    .reference = "geometric sum",
    .failure = "the multiply-adds of a level are not those of its length",
    .finding = "R = (1 - s^(-2L))/(1 - s^-2)",
    .run = closed_form,
    .holds = "the ratio R is (1 - s^-2L)/(1 - s^-2) in every case",
    .violated = "the ratio R is not (1 - s^-2L)/(1 - s^-2) in {m} cases",
};

/* control: the same lengths as for the closed form. */
static hkt_status bound_divisible(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    return count_divisible(out, bound_holds, control);
}

const hkt_check hkt_cost_bound_divisible = {
    .name = "bound-divisible",
    .kind = HKT_EXACT,
    .statement = "R < s^2/(s^2 - 1) on the same lengths; 4/3 at s = 2",
    .reference = "paper, 4/3 bound",
    .failure = "the paper's bound fails even where the levels divide evenly",
    .finding = "R < s^2/(s^2 - 1), that is 4/3 at s = 2",
    .run = bound_divisible,
    .holds = "R is below s^2/(s^2-1) in every case",
    .violated = "R is not below s^2/(s^2-1) in {m} cases",
};

/* Violations of one (s, L) among T = 1..last; the largest such T (0: none). */
static size_t violations(uint64_t s, size_t L, uint64_t last, uint64_t *largest)
{
    size_t count = 0;
    *largest = 0;
    for (uint64_t T = 1; T <= last; T++)
        if (!bound_holds(T, s, L)) {
            count++;
            *largest = T;
        }
    return count;
}

/* "1 2 3 5 ..." of s = 2, L = 3. */
static void list_violations(char *text, size_t size, uint64_t last)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint64_t T = 1; T <= last; T++)
        if (!bound_holds(T, 2, 3) && at < size)
            at += (size_t)snprintf(text + at, size - at, " %d", (int)T);
}

/* control: the example of one length alone: T = 1..3 at L = 3 includes R = 14/9 at T = 3. */
static hkt_status search(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const uint64_t last = control ? 3 : MOST_TOKENS;
    size_t total = 0, at3 = 0, at8 = 0;
    uint64_t largest;
    for (uint64_t s = 2; s <= MOST_STRIDES; s++)
        for (size_t L = 1; L <= MOST_LEVELS; L++) {
            size_t count = violations(s, L, last, &largest);
            total += count;
            at3 = s == 2 && L == 3 ? count : at3;
            at8 = s == 2 && L == 8 ? count : at8;
            double at = (double)largest;
            double r = count > 0 ? (double)level_sum(largest, s, L) / (at * at) : (double)NAN;
            /* R decreases to its limit; at T = 1 every T_l is 1, so the worst is always R = L. */
            HKT_TRY(hkt_check_row(out, "s\tL\tviolations\tlargest_T\tR_at_largest_T\tworst_R", s, L, count, at, r,
                                  count > 0 ? (double)L : (double)NAN));
        }
    char list[128];
    list_violations(list, sizeof list, last);
    hkt_check_at_most(out, (double)total, 0);
    hkt_check_condition(out, "T is any length (T_l = ceil(T / s^l))");
    hkt_check_detail(out, "with s = 2, L = 3 for %zu T:%s; with L = 8 for %zu; at worst R = L, at T = 1", at3, list,
                     at8);
    return HKT_OK;
}

const hkt_check hkt_cost_bound_any_length = {
    .name = "bound-any-length",
    .kind = HKT_EXACT,
    .statement = "R < s^2/(s^2 - 1) for every T <= 4096, s in 2..4, L <= 12 with T_l = ceil(T / s^l)",
    .reference = "search",
    .failure = "rounding the level lengths up breaks the bound: the rows list where",
    .finding = "R < s^2/(s^2 - 1), that is 4/3 at s = 2",
    .run = search,
    .holds = "R is below s^2/(s^2-1) at every length",
    .violated = "R is not below s^2/(s^2-1) for {m} triples (s, L, T)",
};

/* With S = s^(L-1), T = m S + r, T_l = m a_l + b_l, a_l = s^(L-1-l), b_l = ceil(r / s^l): (s^2 - 1) sum a_l^2 = s^2 S^2
 * - 1, so the bound fails exactly when m^2 - 2 B m - C <= 0. */
typedef struct {
    int64_t B, C;
} residue;

static residue residue_of(uint64_t r, uint64_t s, size_t L)
{
    uint64_t S = power(s, L - 1), a = S, b = r, ab = 0, bb = 0;
    for (size_t l = 0; l < L; l++, a /= s, b = (b + s - 1) / s) {
        ab += a * b;
        bb += b * b;
    }
    return (residue){(int64_t)((s * s - 1) * ab) - (int64_t)(s * s * S * r),
                     (int64_t)((s * s - 1) * bb) - (int64_t)(s * s * r * r)};
}

static bool residue_fails(residue q, int64_t m)
{
    return m * m - 2 * q.B * m - q.C <= 0;
}

/* Largest m with m^2 - 2 B m - C <= 0, or -1; the discriminant stays below 2^53. */
static int64_t residue_largest(residue q)
{
    int64_t disc = q.B * q.B + q.C;
    if (disc < 0)
        return -1;
    int64_t m = q.B + (int64_t)sqrt((double)disc) + 1;
    while (m >= 0 && !residue_fails(q, m))
        m--;
    return m;
}

/* Over all lengths, without a limit: the largest T that fails. */
static uint64_t largest_failure(uint64_t s, size_t L)
{
    uint64_t S = power(s, L - 1), largest = 0;
    for (uint64_t r = 0; r < S; r++) {
        int64_t m = residue_largest(residue_of(r, s, L));
        uint64_t T = m >= 0 ? (uint64_t)m * S + r : 0;
        largest = T > largest ? T : largest;
    }
    return largest;
}

/* Lengths T <= 4096 on which direct search and the quadratic (its B shifted by `shift`) disagree. */
static size_t disagreements(uint64_t s, size_t L, int64_t shift)
{
    size_t count = 0;
    uint64_t S = power(s, L - 1);
    for (uint64_t T = 1; T <= MOST_TOKENS; T++) {
        residue q = residue_of(T % S, s, L);
        q.B += shift;
        count += residue_fails(q, (int64_t)(T / S)) != !bound_holds(T, s, L);
    }
    return count;
}

static hkt_status residues(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const int64_t shift = control;
    size_t differ = 0;
    uint64_t at3 = 0;
    for (uint64_t s = 2; s <= MOST_STRIDES; s++)
        for (size_t L = 1; L <= MOST_LEVELS; L++) {
            differ += disagreements(s, L, shift);
            if (power(s, L - 1) > 1u << 14)
                continue; /* the largest T is known by the same formula, but 4^11 residues take too long */
            uint64_t largest = largest_failure(s, L);
            at3 = s == 2 && L == 3 ? largest : at3;
            HKT_TRY(hkt_check_row(out, "s\tL\tlargest_T_of_all", s, L, largest));
        }
    hkt_check_at_most(out, (double)differ, 0);
    hkt_check_detail(out, "beyond T = %d the bound holds at s = 2, L = 3", (int)at3);
    return HKT_OK;
}

const hkt_check hkt_cost_violations_by_residue = {
    .name = "violations-by-residue",
    .kind = HKT_EXACT,
    .statement = "the violations are exactly T = m s^(L-1) + r with m^2 - 2 B_r m - C_r <= 0: search and quadratic "
                 "agree on every T",
    .reference = "docs/theory.md, cost",
    .failure = "the search or the derivation is wrong",
    .run = residues,
    .holds = "a search over lengths and a quadratic inequality by residue find the same lengths",
    .violated = "a search over lengths and a quadratic inequality by residue differ at {m} lengths",
};

/* T_l <= (T + s^l - 1) / s^l gives N <= sum_l ((T + s^l - 1) / s^l)^2, so R exceeds its limit by at most (2/T) sum_l
 * s^-l (1 - s^-l) + (1/T^2) sum_l (1 - s^-l)^2. `slack` = 1 is the true envelope. control: no excess at all. */
static hkt_status envelope(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const uint64_t slack = !control;
    size_t failed = 0, tried = 0;
    for (uint64_t s = 2; s <= MOST_STRIDES; s++)
        for (size_t L = 1; L <= MOST_LEVELS; L++)
            for (uint64_t T = 1; T <= MOST_TOKENS; T++) {
                u128 sum = 0;
                for (size_t l = 0; l < L; l++) {
                    u128 term = (u128)(T + slack * (power(s, l) - 1)) * power(s, L - 1 - l);
                    sum += term * term;
                }
                tried++;
                failed += (u128)level_sum(T, s, L) * power(s, 2 * L - 2) > sum;
            }
    hkt_check_at_most(out, (double)failed, 0);
    hkt_check_condition(out, "T grows at fixed s, L");
    hkt_check_detail(out, "%zu triples; at s = 2, L = 3 the excess is at most 7/(8T) + 13/(16T^2)", tried);
    return HKT_OK;
}

const hkt_check hkt_cost_excess_vanishes = {
    .name = "excess-vanishes",
    .kind = HKT_EXACT,
    .statement = "R <= its limit + (2/T) sum s^-l (1 - s^-l) + (1/T^2) sum (1 - s^-l)^2 for every T <= 4096",
    .reference = "docs/theory.md, cost",
    .failure = "the excess over the bound would not vanish like 1/T",
    .finding = "R exceeds its limit by O(1/T) at most",
    .run = envelope,
    .holds = "R exceeds s^2/(s^2-1) by terms of order 1/T at most, in every case",
    .violated = "R exceeds s^2/(s^2-1) by more than terms of order 1/T in {m} cases",
};

/* The same ratio when only the pairs j <= i are computed: sum_l T_l (T_l + 1) / (T (T + 1)). control: T = 4 alone. */
static hkt_status causal(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    (void)ctx;
    const uint64_t last = control ? 4 : MOST_TOKENS;
    size_t total = 0, at3 = 0;
    uint64_t largest3 = 0;
    for (uint64_t s = 2; s <= MOST_STRIDES; s++)
        for (size_t L = 1; L <= MOST_LEVELS; L++) {
            size_t count = 0;
            uint64_t largest = 0;
            for (uint64_t T = power(s, L - 1); T <= last; T += power(s, L - 1)) {
                uint64_t pairs = 0;
                for (size_t l = 0; l < L; l++)
                    pairs += T / power(s, l) * (T / power(s, l) + 1);
                if (pairs * (s * s - 1) >= s * s * T * (T + 1)) {
                    count++;
                    largest = T;
                }
            }
            total += count;
            at3 = s == 2 && L == 3 ? count : at3;
            largest3 = s == 2 && L == 3 ? largest : largest3;
            HKT_TRY(hkt_check_row(out, "s\tL\tviolations\tlargest_T", s, L, count, largest));
        }
    hkt_check_at_most(out, (double)total, 0);
    hkt_check_condition(out, "only causal pairs are counted (even if s^(L-1) divides T)");
    hkt_check_detail(out, "with s = 2, L = 3 at %zu lengths, the largest T = %d (R = 28/20 at T = 4)", at3,
                     (int)largest3);
    return HKT_OK;
}

const hkt_check hkt_cost_bound_causal = {
    .name = "bound-causal",
    .kind = HKT_EXACT,
    .statement = "sum T_l (T_l + 1) < s^2/(s^2 - 1) T (T + 1): the bound for causal pairs alone, T divisible",
    .reference = "search",
    .failure = "the masked half hides a term T that the bound leaves out: short causal sequences exceed it",
    .finding = "R < s^2/(s^2 - 1), that is 4/3 at s = 2",
    .run = causal,
    .holds = "R is below s^2/(s^2-1) at every length, causal pairs alone",
    .violated = "R is not below s^2/(s^2-1) for {m} triples (s, L, T), causal pairs alone",
};

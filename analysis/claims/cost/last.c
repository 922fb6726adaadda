/* last.c - the longest sequence for which the 4/3 bound fails, for every stride and number of levels. Proof:
 * docs/theory.md, cost. Largest number: s^2 T^2 for s = 16, T < 2^39: below 2^86. */
#include "analysis/claims/check.h"

__extension__ typedef unsigned __int128 u128;

/* s in 2..16, every L >= 2 with S = s^(L-1) at most 2^16 (quick: 2^12). */
enum { MOST_STRIDE = 16, MOST_PERIOD = 1 << 16, QUICK_PERIOD = 1 << 12 };

/* Whether sum_l T_l^2 (causal: sum_l T_l (T_l + 1)) reaches s^2/(s^2 - 1) of its first term. */
static bool fails(uint64_t T, uint64_t s, size_t L, bool causal)
{
    u128 sum = 0, first = (u128)T * (T + causal);
    uint64_t n = T;
    for (size_t l = 0; l < L; l++, n = (n + s - 1) / s)
        sum += (u128)n * (n + causal);
    return sum * (s * s - 1) >= first * (s * s);
}

/* Lengths that contradict "last is the longest that fails", and "causal is, of causal pairs with S | T". Of each
 * residue modulo S one length of last + 1 .. last + S is tried: once the bound holds for a length, it holds for every
 * longer one of the same residue. */
static size_t wrong_lengths(uint64_t s, size_t L, uint64_t S, uint64_t last, uint64_t causal)
{
    size_t wrong = !fails(last, s, L, false);
    for (uint64_t T = last + 1; T <= last + S; T++)
        wrong += fails(T, s, L, false);
    /* Causal pairs: F is linear in T when S | T, so two lengths decide. */
    return wrong + !fails(causal, s, L, true) + fails(causal + S, s, L, true);
}

/* control: the last lengths are taken to be one period longer, and one period shorter. */
static hkt_status last_failure(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    const uint64_t most = ctx->quick ? QUICK_PERIOD : MOST_PERIOD;
    size_t wrong = 0, pairs = 0;
    for (uint64_t s = 2; s <= MOST_STRIDE; s++) {
        size_t L = 2;
        for (uint64_t S = s; S <= most; S *= s, L++, pairs++) {
            uint64_t any = 2 * s * S * S - 2 * (s + 1) * S + 1, causal = s * S * S - (s + 1) * S;
            if (control)
                wrong += wrong_lengths(s, L, S, any + S, causal + S) + wrong_lengths(s, L, S, any - S, causal - S);
            else
                wrong += wrong_lengths(s, L, S, any, causal);
            HKT_TRY(hkt_check_row(out, "s\tL\tlast_any_length\tlast_causal", (double)s, (double)L, (double)any,
                                  (double)causal));
        }
    }
    hkt_check_at_most(out, (double)wrong, 0);
    hkt_check_detail(out, "%zu pairs (s, L), every residue; with s = 2, L = 3 it is 41, for causal pairs 20", pairs);
    return HKT_OK;
}

const hkt_check hkt_cost_last_failure = {
    .name = "last-failure",
    .kind = HKT_EXACT,
    .statement =
        "R >= s^2/(s^2 - 1) for the last time at T = 2 s S^2 - 2 (s+1) S + 1, S = s^(L-1); causal pairs, S | T: "
        "at s S^2 - (s+1) S",
    .reference = "docs/theory.md, cost",
    .failure = "the bound fails for longer sequences than proved, or not where it should",
    .finding = "the longest sequence for which R >= s^2/(s^2 - 1) has 2 s S^2 - 2 (s+1) S + 1 tokens, S = s^(L-1)",
    .run = last_failure,
    .holds = "the last length at which the bound fails is found and proved in every case",
    .violated = "the last length at which the bound fails is another than was proved in {m} cases",
};

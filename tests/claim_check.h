/* claim_check.h - a check of a claim made by itself, also with too little memory. */
#ifndef HKT_TESTS_CLAIM_CHECK_H
#define HKT_TESTS_CLAIM_CHECK_H

#include "tests/check.h"

#include "analysis/claims/list.h"
#include "base/mem.h"
#include "base/rng.h"

extern const hkt_claim hkt_claim_psd, hkt_claim_asymmetry, hkt_claim_subsumption, hkt_claim_cost, hkt_claim_kurtosis,
    hkt_claim_bands, hkt_claim_approximation, hkt_claim_information, hkt_claim_decay, hkt_claim_accuracy;

/* Random models, small samples. */
static const hkt_verify_context quick = {.seed = HKT_DEFAULT_SEED, .quick = true};

static inline hkt_check_result run_check(const hkt_claim *claim, const hkt_verify_context *ctx, const char *name)
{
    hkt_check_result r = {0};
    const hkt_check *check = hkt_claim_check(claim, name);
    assert_non_null(check);
    CHECK_OK(check->run(ctx, &r, false));
    return r;
}

/* The n-th allocation of the check or control fails, n growing by a part of itself up to the last one: the failure is
 * reported and leaves nothing behind. */
static inline void run_out_of_memory(const hkt_check *check, bool control, const hkt_verify_context *ctx)
{
    const size_t live = hkt_mem_live();
    for (size_t n = 1;; n += n / 8 + 1) {
        hkt_check_result r = {0};
        hkt_mem_fail_at(n);
        hkt_status status = check->run(ctx, &r, control);
        bool failed = hkt_mem_failed();
        hkt_mem_fail_at(0);
        hkt_check_result_free(&r);
        assert_int_equal(hkt_mem_live(), live);
        assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
        if (!failed)
            break;
    }
}

static inline void check_out_of_memory(const hkt_claim *claim, const hkt_verify_context *ctx, const char *const *name,
                                       size_t n_names)
{
    for (size_t i = 0; i < n_names; i++)
        run_out_of_memory(hkt_claim_check(claim, name[i]), false, ctx);
}

#endif

/* claim_memory.h - a check of a claim that runs out of memory at any of its allocations. */
#ifndef HKT_TESTS_CLAIM_MEMORY_H
#define HKT_TESTS_CLAIM_MEMORY_H

#include "tests/check.h"

#include "analysis/claims/claims.h"
#include "base/mem.h"

/* Each check, its n-th allocation failing, n growing by a part of itself up to the last one: the failure is reported
 * and leaves nothing behind. */
static inline void check_out_of_memory(const hkt_claim *claim, const hkt_verify_context *ctx, const char *const *name,
                                       size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        const hkt_check *check = hkt_claim_check(claim, name[i]);
        size_t live = hkt_mem_live();
        assert_non_null(check);
        for (size_t n = 1;; n += n / 4 + 1) {
            hkt_check_result r = {0};
            hkt_mem_fail_at(n);
            hkt_status status = check->run(ctx, &r);
            bool failed = hkt_mem_failed();
            hkt_mem_fail_at(0);
            hkt_check_result_free(&r);
            assert_int_equal(hkt_mem_live(), live);
            assert_int_equal(status, failed ? HKT_ESYSTEM : HKT_OK);
            if (!failed)
                break;
        }
    }
}

#endif

/* Every check that looks at a model, on models for which much of what it measures is 0/0: heads without weights, one
 * channel, heads of one channel. What is defined is judged; what is not is left out and said to be; nothing prints NaN.
 */
#include "tests/check.h"

#include "analysis/claims/kurtosis/kurtosis.h"
#include "analysis/claims/list.h"
#include "analysis/claims/subject.h"
#include "base/mem.h"
#include "base/rng.h"
#include "num/blas.h"

extern const hkt_claim hkt_claim_psd, hkt_claim_asymmetry, hkt_claim_subsumption, hkt_claim_kurtosis, hkt_claim_bands,
    hkt_claim_approximation, hkt_claim_decay;

static hkt_config config_of(size_t d, size_t heads)
{
    return (hkt_config){.vocab = 16,
                        .classes = 10,
                        .max_len = 128,
                        .d_model = d,
                        .heads = heads,
                        .layers = 1,
                        .levels = 2,
                        .stride = 2,
                        .conv_width = 2,
                        .ffn_mult = 1,
                        .fusion = HKT_FUSION_DYNAMIC,
                        .hybrid = true,
                        .causal = true};
}

/* Zeros in the rows of the first `heads` heads of q or k, on every level. */
static void clear(hkt_subject *s, size_t heads, bool keys)
{
    const hkt_config *c = &s->layout->config;
    for (size_t n = 0; n < c->layers; n++)
        for (size_t l = 0; l < c->levels; l++) {
            const hkt_level_offsets *at = &s->layout->layer[n].level[l];
            memset(s->params + (keys ? at->k : at->q), 0, heads * c->d_model / c->heads * c->d_model * sizeof(double));
        }
}

static hkt_check_result look(const hkt_subject *s, const hkt_claim *claim, const hkt_check *check)
{
    const hkt_checkpoint model = {.layout = s->own, .params = s->params};
    const hkt_verify_context ctx = {.seed = HKT_DEFAULT_SEED, .quick = true, .model = &model, .stream_tokens = 2000};
    hkt_check_result r = {0};
    hkt_status status = check->run(&ctx, &r, false);
    if (status != HKT_OK)
        fail_msg("%s %s: %s", claim->id, check->name, hkt_error());
    return r;
}

/* A verdict rests on a number, and no text shows one that is none. */
static void look_at_all(const hkt_subject *s, const char *what)
{
    for (size_t i = 0; i < hkt_claims.n; i++)
        for (size_t k = 0; k < hkt_claims.claim[i]->n_checks; k++) {
            const hkt_check *check = hkt_claims.claim[i]->checks[k];
            if (!check->of_model)
                continue;
            hkt_check_result r = look(s, hkt_claims.claim[i], check);
            bool number = !isnan(r.measured) && !isnan(r.bound) && !isnan(r.margin);
            if (!number && r.verdict != HKT_SKIPPED && r.verdict != HKT_INCONCLUSIVE)
                fail_msg("%s: %s %s: %s without a number: %s", what, hkt_claims.claim[i]->id, check->name,
                         hkt_verdict_name(r.verdict), r.detail);
            if (r.verdict == HKT_SKIPPED && !*r.detail)
                fail_msg("%s: %s %s: SKIPPED without a reason", what, hkt_claims.claim[i]->id, check->name);
            if (strstr(r.detail, "nan ") || strstr(r.detail, " nan") || strstr(r.detail, "-nan") ||
                strstr(r.detail, " inf"))
                fail_msg("%s: %s %s: %s", what, hkt_claims.claim[i]->id, check->name, r.detail);
            hkt_check_result_free(&r);
        }
}

static void expect(const hkt_subject *s, const hkt_claim *claim, const char *name, hkt_verdict verdict,
                   const char *says)
{
    hkt_check_result r = look(s, claim, hkt_claim_check(claim, name));
    if (r.verdict != verdict || !strstr(r.detail, says))
        fail_msg("%s: expected %s and '%s', found %s: %s", name, hkt_verdict_name(verdict), says,
                 hkt_verdict_name(r.verdict), r.detail);
    hkt_check_result_free(&r);
}

static void subject(hkt_subject *s, size_t d, size_t heads, size_t without, bool keys)
{
    hkt_config c = config_of(d, heads);
    CHECK_OK(hkt_subject_fresh(&c, HKT_DEFAULT_SEED, s));
    clear(s, without, keys);
}

static void test_one_head(void **state)
{
    (void)state;
    for (int keys = 0; keys < 2; keys++) {
        hkt_subject s;
        subject(&s, 16, 2, 1, keys);
        look_at_all(&s, keys ? "k = 0 in one head" : "q = 0 in one head");
        expect(&s, &hkt_claim_psd, "decomposition", HKT_HOLDS, "");
        expect(&s, &hkt_claim_psd, "structure", HKT_HOLDS, "2 heads");
        expect(&s, &hkt_claim_asymmetry, "forms", HKT_HOLDS, "");
        expect(&s, &hkt_claim_asymmetry, "pythagoras", HKT_HOLDS, "");
        expect(&s, &hkt_claim_asymmetry, "imaginary-pairs", HKT_HOLDS, "");
        expect(&s, &hkt_claim_asymmetry, "independence", HKT_HOLDS, "1 heads left out");
        expect(&s, &hkt_claim_asymmetry, "energy-trained", HKT_HOLDS, "2 heads left out: M = 0");
        expect(&s, &hkt_claim_asymmetry, "level-cosine", HKT_HOLDS, "1 pairs left out");
        expect(&s, &hkt_claim_decay, "model-scores", HKT_VIOLATED, "1 heads left out: scores 0");
        hkt_check_result r = look(&s, &hkt_claim_kurtosis, hkt_claim_check(&hkt_claim_kurtosis, "trained"));
        assert_non_null(strstr(r.detail, "2 heads left out: scores constant or out of range"));
        assert_false(isnan(r.measured));
        hkt_check_result_free(&r);
        hkt_subject_close(&s);
    }
}

static void test_no_head(void **state)
{
    (void)state;
    hkt_subject s;
    subject(&s, 16, 2, 2, false);
    look_at_all(&s, "q = 0");
    expect(&s, &hkt_claim_psd, "decomposition", HKT_HOLDS, "");
    expect(&s, &hkt_claim_psd, "structure", HKT_HOLDS, "");
    expect(&s, &hkt_claim_asymmetry, "independence", HKT_SKIPPED, "is 0");
    expect(&s, &hkt_claim_asymmetry, "energy-trained", HKT_SKIPPED, "all 4 heads are 0");
    expect(&s, &hkt_claim_asymmetry, "level-cosine", HKT_SKIPPED, "2 pairs");
    expect(&s, &hkt_claim_subsumption, "strict-score", HKT_SKIPPED, "are 0");
    expect(&s, &hkt_claim_kurtosis, "trained", HKT_SKIPPED, "none of the 4 heads: scores constant or out of range");
    expect(&s, &hkt_claim_approximation, "own-heads", HKT_SKIPPED, "S* is 0");
    expect(&s, &hkt_claim_approximation, "single-head", HKT_SKIPPED, "S* is 0");
    expect(&s, &hkt_claim_decay, "model-scores", HKT_SKIPPED, "are 0");
    hkt_subject_close(&s);
}

static void test_narrow(void **state)
{
    (void)state;
    static const size_t shape[][2] = {{1, 1}, {4, 4}, {2, 1}};
    for (size_t i = 0; i < 3; i++) {
        hkt_subject s;
        char what[40];
        subject(&s, shape[i][0], shape[i][1], 0, false);
        snprintf(what, sizeof what, "d = %zu, %zu heads", shape[i][0], shape[i][1]);
        look_at_all(&s, what);
        expect(&s, &hkt_claim_psd, "decomposition", HKT_HOLDS, "");
        expect(&s, &hkt_claim_psd, "structure", HKT_HOLDS, "");
        if (shape[i][0] == 1) { /* a layer norm over one channel leaves zeros */
            expect(&s, &hkt_claim_kurtosis, "trained", HKT_SKIPPED, "scores constant");
            expect(&s, &hkt_claim_bands, "raw-hidden", HKT_SKIPPED, "no energy");
            expect(&s, &hkt_claim_asymmetry, "energy-trained", HKT_SKIPPED, "d = 1");
        }
        hkt_subject_close(&s);
    }
}

/* The verdict of `trained` on planted scores: heavy and light tails, normal ones, heads without spread. */
static double heavy(hkt_rng *rng)
{
    double z = hkt_rng_normal(rng);
    return z * z * z;
}

static double light(hkt_rng *rng)
{
    return hkt_rng_uniform(rng);
}

static void test_kurtosis(void **state)
{
    (void)state;
    static const struct {
        double (*draw)(hkt_rng *), (*untrained)(hkt_rng *);
        size_t constant;
        hkt_verdict verdict;
        const char *says;
    } plant[] = {
        {heavy, NULL, 0, HKT_HOLDS, "8 of 8 heads above"},
        {heavy, light, 0, HKT_HOLDS, "8 of 8 heads above"}, /* the reference is then 1 */
        {heavy, heavy, 0, HKT_INCONCLUSIVE, "0 of 8 heads above"},
        {hkt_rng_normal, heavy, 0, HKT_VIOLATED, "0 of 8 heads above"},
        {heavy, NULL, 3, HKT_HOLDS, "5 of 5 heads above (FDR 5 %); 3 heads left out: scores constant or out of range"},
        {light, NULL, 0, HKT_VIOLATED, "0 of 8 heads above"},
        {hkt_rng_normal, NULL, 0, HKT_INCONCLUSIVE, ""},
        {heavy, NULL, 8, HKT_SKIPPED, "none of the 8 heads"}};
    for (size_t i = 0; i < sizeof plant / sizeof *plant; i++) {
        hkt_check_result r = {0};
        CHECK_OK(hkt_kurtosis_judge(plant[i].draw, plant[i].untrained, plant[i].constant, 5, &r));
        if (r.verdict != plant[i].verdict || !strstr(r.detail, plant[i].says))
            fail_msg("%zu: found %s: %s", i, hkt_verdict_name(r.verdict), r.detail);
        assert_int_equal(r.rows.n_rows, 8);
        hkt_check_result_free(&r);
    }
    /* The effect: kappa of uniform values is 0.6, so 0.6 of the reference of 1, whatever the number of heads. */
    hkt_check_result r = {0};
    double over[3], kappa[3];
    CHECK_OK(hkt_kurtosis_judge(light, NULL, 0, 5, &r));
    assert_int_equal(sscanf(r.detail,
                            "log of the median head's kappa over its reference, %lf [%lf, %lf]; kappa %lf [%lf, %lf]",
                            over, over + 1, over + 2, kappa, kappa + 1, kappa + 2),
                     6);
    CHECK_NEAR(kappa[0], 0.6, 0.01);
    CHECK_NEAR(over[0], 0.6, 0.01);
    assert_true(kappa[1] < kappa[0] && kappa[0] < kappa[2] && kappa[2] - kappa[1] < 0.02);
    CHECK_NEAR(r.measured, log(over[2]), 2e-3);
    hkt_check_result_free(&r);
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_head), cmocka_unit_test(test_no_head),
                                       cmocka_unit_test(test_narrow), cmocka_unit_test(test_kurtosis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

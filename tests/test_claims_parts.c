/* What a check of a claim looks at: every head, level and token; the corrections of statistical checks for how many
 * comparisons they make. */
#include "tests/check.h"

#include <string.h>

#include "analysis/claims/psd/psd.h"
#include "num/blas.h"
#include "tests/claim_check.h"
#include "tests/model.h"
#include "tests/vectors.h"

/* Rows of the random model, 2 layers, 3 levels, 4 heads (streamed: 1 layer): as many as there are heads, each once, in
 * order; no level in the rows: the columns of all. */
static void every_head(void **state)
{
    (void)state;
    static const struct {
        const hkt_claim *claim;
        const char *check;
        size_t layers;
        bool levels;
    } of[] = {{&hkt_claim_psd, "any-rank", 2, false},
              {&hkt_claim_psd, "converse-inertia", 2, false},
              {&hkt_claim_psd, "converse-witness", 2, false},
              {&hkt_claim_psd, "streamed-inertia", 1, false},
              {&hkt_claim_asymmetry, "independence", 2, false},
              {&hkt_claim_asymmetry, "pythagoras", 2, false},
              {&hkt_claim_asymmetry, "energy-fresh", 2, true},
              {&hkt_claim_asymmetry, "forms", 2, true},
              {&hkt_claim_asymmetry, "imaginary-pairs", 2, true},
              {&hkt_claim_subsumption, "strict-score", 2, false},
              {&hkt_claim_subsumption, "strict-attention", 2, false},
              {&hkt_claim_subsumption, "width-score", 2, false},
              {&hkt_claim_subsumption, "width-attention", 2, false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        hkt_check_result r = run_check(of[i].claim, &quick, of[i].check);
        size_t levels = of[i].levels ? 3 : 1;
        assert_int_equal(
            strncmp(r.rows.columns, of[i].levels ? "layer\tlevel\thead\t" : "layer\thead\t", of[i].levels ? 17 : 11),
            0);
        assert_int_equal(r.rows.n_rows, of[i].layers * levels * 4);
        for (size_t k = 0; k < r.rows.n_rows; k++) {
            const double *c = r.rows.cell + k * r.rows.n_cols;
            assert_true(c[0] == (double)(k / (4 * levels)) && c[1 + of[i].levels] == (double)(k % 4));
            assert_true(levels == 1 || c[1] == (double)(k / 4 % 3));
        }
        hkt_check_result_free(&r);
    }
}

/* Every level has its information, which falls: of a drawn cascade of 4 levels, T = 64, rows of 0 would be levels that
 * nobody looked at. */
static void every_level(void **state)
{
    (void)state;
    hkt_check_result r = run_check(&hkt_claim_information, &quick, "data-processing");
    assert_int_equal(r.rows.n_rows, 4);
    double before = (double)INFINITY;
    for (size_t l = 0; l < 4; l++) {
        const double *c = r.rows.cell + l * r.rows.n_cols;
        assert_true(c[1] == (double)l && c[2] > 0.1 && c[2] + r.measured <= before);
        before = c[2];
    }
    hkt_check_result_free(&r);
}

/* Normal quantiles at 1 - 0.001/(2 n) for n comparisons, and the exact limits of binomial counts (160 and 240 of them,
 * for 3 comparisons and for 1), from another program. */
static void corrections(void **state)
{
    (void)state;
    static const struct {
        const hkt_claim *claim;
        const char *check;
        double bound;
    } of[] = {{&hkt_claim_asymmetry, "energy-moments", 3.836106931},
              {&hkt_claim_kurtosis, "laws", 3.719016485},
              {&hkt_claim_kurtosis, "mardia-moments", 3.764823650},
              {&hkt_claim_kurtosis, "layer-norm", 3.480756404},
              {&hkt_claim_information, "vasicek", 3.719016485},
              {&hkt_claim_kurtosis, "interval-coverage", 0.05 + 11.5 / 160},
              {&hkt_claim_decay, "planted-interval", 12.5 / 240}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        hkt_check_result r = run_check(of[i].claim, &quick, of[i].check);
        CHECK_NEAR(r.bound, of[i].bound, 3e-4);
        hkt_check_result_free(&r);
    }
}

/* A level whose keys are its queries, the rank of whose form is p: seen in its own head and level alone. */
static void rank_of_each_level(void **state)
{
    (void)state;
    const hkt_config c = {.vocab = 4,
                          .classes = 2,
                          .max_len = 8,
                          .d_model = 12,
                          .heads = 2,
                          .layers = 1,
                          .levels = 3,
                          .stride = 2,
                          .conv_width = 2,
                          .ffn_mult = 1,
                          .fusion = HKT_FUSION_STATIC,
                          .hybrid = true,
                          .causal = true};
    size_t length = 8, p = 6, d = 12;
    for (size_t tied = 0; tied < 3; tied++) {
        model m = model_random(&c, 1, &length, 6);
        hkt_checkpoint checkpoint = {.layout = m.layout, .params = m.params};
        const hkt_verify_context ctx = {
            .seed = HKT_DEFAULT_SEED, .quick = true, .stream_tokens = 300, .model = &checkpoint};
        double *wk = m.params + m.layout->layer[0].level[tied].k + p * d;
        memcpy(wk, m.params + m.layout->layer[0].level[tied].q + p * d, p * d * sizeof *wk);
        hkt_check_result r = run_check(&hkt_claim_psd, &ctx, "streamed-inertia");
        assert_int_equal(r.rows.n_rows, 2);
        CHECK_NEAR(r.rows.cell[4], 2 * p * 3, 0); /* rank_D of the heads */
        CHECK_NEAR(r.rows.cell[r.rows.n_cols + 4], 2 * p * 3 - p, 0);
        hkt_check_result_free(&r);
        model_free(&m);
    }
}

/* 66 pairs (s, L); either wrong period is contradicted by two lengths of each, as a search by another program says: one
 * of any length, one of causal pairs. */
static void last_failures(void **state)
{
    (void)state;
    hkt_check_result r = {0};
    CHECK_OK(hkt_claim_check(&hkt_claim_cost, "last-failure")->run(&quick, &r, true));
    assert_int_equal(r.rows.n_rows, 66);
    CHECK_NEAR(r.measured, 4 * 66, 0);
    hkt_check_result_free(&r);
}

/* U_l X w' of three levels of 11 tokens, the last of a level shorter than the stride; integers, so exact in double. */
static void projections(void **state)
{
    (void)state;
    enum { TOKENS = 11, DIM = 3, P = 2, LD = 9 };
    double x[3][TOKENS * DIM], w[P * DIM], y[TOKENS * LD];
    hkt_rng rng = hkt_rng_make(2, HKT_STREAM_TEST, 70);
    hkt_gram g = {.T = TOKENS, .d = DIM, .L = 3, .stride = 3};
    for (size_t l = 0; l < 3; l++) {
        g.x[l] = x[l];
        for (size_t i = 0; i < TOKENS * DIM; i++)
            x[l][i] = (double)hkt_rng_below(&rng, 1 << 21) - (1 << 20);
    }
    for (size_t i = 0; i < P * DIM; i++)
        w[i] = (double)hkt_rng_below(&rng, 1 << 21) - (1 << 20);
    static const size_t row_of[3][TOKENS] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}};
    for (size_t l = 0; l < 3; l++) {
        double size = 5, expected = 5;
        memset(y, 0, sizeof y);
        hkt_psd_project(&g, l, P, w, LD, 4, y, &size);
        for (size_t i = 0; i < TOKENS; i++)
            for (size_t c = 0; c < LD; c++) {
                double sum = 0, terms = 0;
                for (size_t k = 0; k < DIM && c >= 4 && c < 4 + P; k++) {
                    sum += w[(c - 4) * DIM + k] * x[l][row_of[l][i] * DIM + k];
                    terms += fabs(w[(c - 4) * DIM + k] * x[l][row_of[l][i] * DIM + k]);
                }
                expected += terms * terms;
                assert_true(y[i * LD + c] == sum);
            }
        CHECK_NEAR(size, expected, 1e-12 * expected);
    }
}

/* Every comparison names its relation, which with measured and bound gives the verdict; the check's clause for the
 * verdict takes the numbers up, counts in full. */
static void sentences(void **state)
{
    (void)state;
    static const hkt_check check = {.holds = "{m} points or {m%} %", .violated = "{m} lengths, not {b}"};
    char text[HKT_SENTENCE], number[HKT_NUMBER];
    hkt_check_result r = {0};
    hkt_check_at_most(&r, 98655, 0);
    hkt_check_detail(&r, "lengths of %d", 100000);
    assert_string_equal(hkt_check_sentence(&check, &r, text), "98655 lengths, not 0; lengths of 100000");
    assert_string_equal(hkt_check_clause(&check, &r, text), "98655 lengths, not 0");
    hkt_check_interval(&r, 4.65841, 5.5);
    assert_string_equal(hkt_check_sentence(&check, &r, text), "4.658 points or 465.8 %; lengths of 100000");
    hkt_check_interval(&r, -1, 5.5);
    assert_string_equal(hkt_check_clause(&check, &r, text), "not decided: -1 against 0");
    hkt_check_enclosed_at_most(&r, 1, 2, 3);
    assert_string_equal(r.relation, "<=");
    hkt_check_enclosed_at_least(&r, 1, 2, 3);
    assert_string_equal(r.relation, ">=");
    hkt_check_below(&r, 1, 2);
    assert_string_equal(r.relation, "<");
    hkt_check_equal(&r, 1, 2);
    assert_string_equal(r.relation, "=");
    hkt_check_found(&r, "kappa %d", 5);
    assert_string_equal(hkt_check_sentence(&check, &r, text), "kappa 5");
    hkt_check_skip(&r, "no data");
    assert_string_equal(hkt_check_sentence(&check, &r, text), "no data");
    assert_string_equal(hkt_check_number(-0.0, 4, number), "0");
    assert_string_equal(hkt_check_number(7e11, 4, number), "700000000000");
    assert_string_equal(hkt_check_number(-79.2124, 4, number), "-79.21");
    assert_string_equal(hkt_check_number((double)NAN, 4, number), "-");
}

int main(int argc, char **argv)
{
    (void)argc;
    hkt_num_init(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_head),  cmocka_unit_test(every_level),
                                       cmocka_unit_test(corrections), cmocka_unit_test(last_failures),
                                       cmocka_unit_test(projections), cmocka_unit_test(rank_of_each_level),
                                       cmocka_unit_test(sentences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

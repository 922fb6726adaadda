/* structure.c - checks of `psd` on G = Z D Z^T: eigenvalues and inertia by structure, and the converse. Level
 * inputs are Gaussian: those of a model need not have full column rank (a layer norm without shift leaves rows that sum
 * to 0). */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/claims/psd/psd.h"
#include "base/mem.h"

/* One head's Gram matrix and what is measured on it. */
typedef struct {
    const hkt_verify_context *ctx;
    const hkt_subject *s;
    size_t layer, head;
    hkt_check_result *out;
    bool control;
    double worst; /* largest measure so far; NaN sticks */
    size_t n;     /* heads measured */
    char where[80];
} visit;

static void worst_of(visit *v, double measure)
{
    v->worst = hkt_check_worse(v->worst, measure);
    v->n++;
}

/* Calls `measure` on every head of the subject. */
static hkt_status each_head(const hkt_verify_context *ctx, hkt_check_result *out, bool control,
                            hkt_status (*measure)(visit *, hkt_psd_case *), visit *v)
{
    hkt_subject s;
    size_t T, levels;
    HKT_TRY(hkt_subject_open(ctx, &s));
    const hkt_config *config = &s.layout->config;
    hkt_psd_affordable(ctx, config, &T, &levels);
    *v = (visit){.ctx = ctx, .s = &s, .out = out, .control = control, .worst = (double)-INFINITY};
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < config->layers * config->heads && status == HKT_OK; i++) {
        hkt_psd_case c;
        v->layer = i / config->heads;
        v->head = i % config->heads;
        status = hkt_psd_case_gaussian(&s, v->layer, v->head, T, levels, ctx->seed, &c);
        if (status == HKT_OK)
            status = measure(v, &c);
        hkt_psd_case_free(&c);
    }
    v->s = NULL; /* closed */
    snprintf(v->where, sizeof v->where, "%zu heads, T = %zu, L = %zu, d = %zu", v->n, T, levels, config->d_model);
    hkt_subject_close(&s);
    return status;
}

static double largest(const double *w, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++)
        m = fmax(m, fabs(w[i]));
    return m;
}

/* Ascending w [k] against the ascending full spectrum [T]: T - k zeros are inserted between the signs of w. */
static double spectrum_distance(const double *w, size_t k, const double *full, size_t T)
{
    double worst = 0;
    size_t below = 0;
    while (below < k && w[below] < 0)
        below++;
    for (size_t i = 0; i < T; i++) {
        double mine = i < below ? w[i] : i < below + (T - k) ? 0 : w[i - (T - k)];
        double e = fabs(mine - full[i]);
        worst = hkt_check_worse(worst, e);
    }
    return worst;
}

/* w [min(T, Ld)] by structure, full [T] by the dense oracle. control: the oracle sees another weight on level 1 (or 0).
 */
static hkt_status both_spectra(const hkt_psd_case *c, bool control, double *w, double *full)
{
    hkt_gram g = c->g;
    double *dense = NULL;
    HKT_TRY(hkt_gram_eigenvalues(&g, w));
    if (control) {
        g.lambda[g.L > 1] = 2 * c->g.lambda[0];
    }
    HKT_TRY(HKT_NEW(&dense, g.T * g.T));
    hkt_status status = hkt_gram_dense(&g, dense);
    if (status == HKT_OK)
        status = hkt_eigenvalues(g.T, dense, full);
    hkt_free(dense);
    return status;
}

static hkt_status measure_structure(visit *v, hkt_psd_case *c)
{
    const hkt_gram *g = &c->g;
    size_t n = g->L * g->d, k = g->T < n ? g->T : n;
    double *w = NULL, tolerance = hkt_gram_tolerance(g, NULL, (double)NAN);
    HKT_TRY(HKT_NEW(&w, n + g->T));
    hkt_status status = both_spectra(c, v->control, w, w + n);
    double top = largest(w, k), distance = spectrum_distance(w, k, w + n, g->T);
    hkt_free(w);
    HKT_TRY(status);
    worst_of(v, hkt_check_relative(distance, tolerance));
    return hkt_check_row(v->out, "layer\thead\tT\trelative_difference\ttolerance\tlambda_max", v->layer, v->head, g->T,
                         hkt_check_relative(distance, top), hkt_check_relative(tolerance, top), top);
}

static hkt_status structure(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    visit v;
    HKT_TRY(each_head(ctx, out, control, measure_structure, &v));
    double relative = 0;
    for (size_t i = 0; i < out->rows.n_rows; i++)
        relative = fmax(relative, out->rows.cell[i * out->rows.n_cols + 3]);
    hkt_check_at_most(out, v.worst, 1);
    hkt_check_detail(out, "a difference of %.2g relative to max|lambda|; %s", relative, v.where);
    return HKT_OK;
}

const hkt_check hkt_psd_structure = {
    .name = "structure",
    .kind = HKT_IMPLEMENTATION,
    .statement = "all eigenvalues of G from the Ld x Ld matrix R D R^T, Z = QR, equal those of the dense T x T matrix",
    .reference = "docs/theory.md, psd",
    .failure = "G is not Z D Z^T",
    .of_model = true,
    .run = structure,
    .holds = "the eigenvalues of the small matrix R D R' are those of the dense one; the error is {m} of the tolerance",
    .violated =
        "the eigenvalues of the small matrix R D R' differ from those of the dense one by {m} times the tolerance",
};

/* Counts of computed eigenvalues beyond their tolerance cannot be more than there are. */
static bool within(hkt_inertia computed, hkt_inertia exact)
{
    return computed.positive <= exact.positive && computed.negative <= exact.negative;
}

/* The control's level inputs live in p of the d dimensions: Z loses directions that D does not ignore. */
static void spoil_rank(hkt_psd_case *c)
{
    for (size_t l = 0; l < c->g.L; l++)
        for (size_t i = 0; i < hkt_level_length(c->g.T, c->g.stride, l); i++)
            memset(c->x[l] + i * c->g.d + c->p, 0, (c->g.d - c->p) * sizeof *c->x[l]);
}

/* *full is the sum of 2p over the levels, *rank that of the proved ranks of [Wq; Wk]. */
static hkt_status form_ranks(const hkt_psd_case *c, size_t *rank, size_t *full)
{
    *rank = *full = 0;
    for (size_t l = 0; l < c->g.L; l++) {
        size_t one;
        HKT_TRY(hkt_form_rank(c->g.d, c->p, c->wq[l], c->wk[l], &one));
        *rank += c->g.lambda[l] > 0 ? one : 0;
        *full += c->g.lambda[l] > 0 ? 2 * c->p : 0;
    }
    return HKT_OK;
}

/* Ranks that are proved decide both sides: D has inertia (n, n) when its [Wq; Wk] have rank 2n together, G when its
 * [U_l X Wq^T, U_l X Wk^T] have. Signs counted from computed eigenvalues, by structure and dense, must not contradict.
 */
static hkt_status measure_converse(visit *v, hkt_psd_case *c)
{
    const hkt_gram *g = &c->g;
    size_t n = g->L * g->d, k = g->T < n ? g->T : n, rank_z, rank_d, rank_g, full;
    if (v->control)
        spoil_rank(c);
    HKT_TRY(hkt_gram_proved_rank(g, g->T, &rank_z));
    HKT_TRY(form_ranks(c, &rank_d, &full));
    if (!v->control && (rank_z < n || rank_d < full))
        return HKT_OK; /* outside the condition; rank_d < full also for 2p > d */
    HKT_TRY(hkt_gram_form_rank(g, c->p, c->wq, c->wk, g->T, &rank_g, &full));
    double *w = NULL, tolerance = hkt_gram_tolerance(g, NULL, (double)NAN);
    HKT_TRY(HKT_NEW(&w, n + g->T));
    hkt_status status = both_spectra(c, false, w, w + n);
    hkt_inertia exact = {full / 2, full / 2, g->T - full}, by_structure = hkt_inertia_of(k, w, tolerance),
                dense = hkt_inertia_of(g->T, w + n, tolerance);
    hkt_free(w);
    HKT_TRY(status);
    worst_of(v, rank_g < full || !within(by_structure, exact) || !within(dense, exact));
    if (!v->control && rank_g == full && full == 2 * g->L * c->p)
        HKT_TRY(hkt_psd_write_inertia(v->ctx, "converse-inertia", v->layer, v->head, v->s, g, g->L * c->p));
    return hkt_check_row(v->out, "layer\thead\trank_Z\trank_D\trank_G\tpositive\tnegative\tdense_pos\tdense_neg",
                         v->layer, v->head, rank_z, rank_d, rank_g, by_structure.positive, by_structure.negative,
                         dense.positive, dense.negative);
}

static hkt_status converse(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    visit v;
    HKT_TRY(each_head(ctx, out, control, measure_converse, &v));
    if (v.n == 0)
        hkt_check_skip(out, "no head has Z of full column rank under this downsampling and forms of rank 2p <= d");
    else
        hkt_check_at_most(out, v.worst, 0);
    if (v.n > 0)
        hkt_check_detail(out, "%s", v.where);
    hkt_check_condition(out, "Z has full column rank, forms of rank 2p <= d");
    return HKT_OK;
}

const hkt_check hkt_psd_converse_inertia = {
    .name = "converse-inertia",
    .kind = HKT_EXACT,
    .statement = "inertia(G) = inertia(D) padded with T - Ld zeros: the condition is also necessary; both from ranks "
                 "proved modulo 2^61 - 1",
    .reference = "Sylvester's law of inertia",
    .failure = "Prop. 3.1's condition is not necessary",
    .finding = "the Gram matrix is PSD only when every M_s is: its inertia is that of D",
    .of_model = true,
    .run = converse,
    .holds =
        "the Gram matrix of every head has the inertia of D, with as many negative as positive eigenvalues: (pL, pL)",
    .violated = "the Gram matrix of some head is not of rank 2pL: its inertia is not that of D",
};

/* True when some lambda_l M_s^(l) has a negative eigenvalue: by its rank, or beyond the tolerance. */
static hkt_status has_negative_form(const hkt_psd_case *c, bool *yes)
{
    const hkt_gram *g = &c->g;
    double *w = NULL;
    HKT_TRY(HKT_NEW(&w, g->d));
    hkt_status status = HKT_OK;
    *yes = false;
    for (size_t l = 0; l < g->L && status == HKT_OK; l++) {
        double tolerance = hkt_form_tolerance(g->d, c->p, c->wq[l], c->wk[l]);
        status = hkt_eigenvalues(g->d, g->ms[l], w);
        *yes = *yes || (g->lambda[l] > 0 && hkt_inertia_of(g->d, w, tolerance).negative > 0);
    }
    hkt_free(w);
    return status;
}

/* control: the witness is tried on the Gram matrix with every M_s projected on the PSD cone. */
static hkt_status measure_witness(visit *v, hkt_psd_case *c)
{
    const hkt_gram *g = &c->g;
    bool negative;
    size_t rank;
    HKT_TRY(has_negative_form(c, &negative));
    HKT_TRY(hkt_gram_rank(g, &rank, NULL));
    if (!negative || rank < g->L * g->d)
        return HKT_OK; /* outside the condition */
    double *witness = NULL, value, error = 0;
    HKT_TRY(HKT_NEW(&witness, g->T));
    hkt_status status = hkt_gram_witness(g, witness, &value);
    for (size_t l = 0; l < g->L && v->control && status == HKT_OK; l++)
        status = hkt_psd_projection(g->d, g->ms[l], c->ms[l]);
    if (status == HKT_OK)
        status = hkt_gram_quadratic(g, witness, &value, &error);
    if (status == HKT_OK && !v->control && value + error < 0)
        status = hkt_psd_write_negative(v->ctx, "converse-witness", v->layer, v->head, v->s, g, witness, value + error);
    hkt_free(witness);
    HKT_TRY(status);
    worst_of(v, value + error);
    return hkt_check_row(v->out, "layer\thead\tT\tquotient\trounding_bound", v->layer, v->head, g->T, value, error);
}

static hkt_status witness(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    visit v;
    HKT_TRY(each_head(ctx, out, control, measure_witness, &v));
    if (v.n == 0)
        hkt_check_skip(out, "no head has a form with a negative eigenvalue and level inputs of full column rank");
    else
        hkt_check_below(out, v.worst, 0);
    if (v.n > 0)
        hkt_check_detail(out, "%s", v.where);
    hkt_check_condition(out, "Z has full column rank and some M_s a negative eigenvalue");
    return HKT_OK;
}

const hkt_check hkt_psd_converse_witness = {
    .name = "converse-witness",
    .kind = HKT_CERTIFIED,
    .statement = "a vector v with v'Gv < 0 beyond its rounding bound exists whenever some M_s is not PSD",
    .reference = "docs/theory.md, psd",
    .failure = "no proof that G is indefinite",
    .finding = "some v has v'Gv < 0: the Gram matrix is not PSD, certified",
    .of_model = true,
    .run = witness,
    .holds =
        "for every head a vector v of length 1 has v'Gv of {m} or less, rounding included: the Gram matrix is not PSD",
    .violated = "for some head no vector v with v'Gv < 0 is proved; the best has {m}",
};

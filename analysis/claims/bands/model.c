/* model.c - band energies of a trained model: hidden states by level, their details, and the levels' outputs. */
#include <math.h>

#include "analysis/view/bands.h"
#include "analysis/claims/subject.h"
#include "analysis/math/bootstrap.h"
#include "base/mem.h"
#include "base/rng.h"

/* Band-energy matrices [L, L] of every sequence and layer. */
typedef struct {
    hkt_band_signal signal;
    size_t n_seq, layers, L;
    double *energy; /* [n_seq][layers][L * L] */
} energies;

/* --- one model --- */

/* Sequences shorter than two rows of the coarsest level are left out. */
static hkt_status add_sequence(void *self, const hkt_scene *s)
{
    energies *e = self;
    hkt_band_window window = hkt_band_window_of(s->T, s->layout->config.stride, e->L);
    if (window.n == 0)
        return HKT_OK;
    double *energy = e->energy + e->n_seq++ * e->layers * e->L * e->L;
    for (size_t n = 0; n < e->layers; n++)
        HKT_TRY(hkt_band_scene(s, n, e->signal, window, energy + n * e->L * e->L));
    return HKT_OK;
}

static hkt_status measure(const hkt_checkpoint *model, const hkt_dataset *data, hkt_band_signal signal, energies *out)
{
    const hkt_config *c = &model->layout->config;
    hkt_scene scene = {0};
    *out = (energies){.signal = signal, .layers = c->layers, .L = c->levels};
    HKT_TRY(HKT_NEW(&out->energy, data->n * c->layers * c->levels * c->levels));
    hkt_status status =
        hkt_scene_sequences(&scene, model->layout, model->params, data, data->n, NULL, add_sequence, out);
    hkt_scene_close(&scene);
    return status;
}

/* --- verdict --- */

/* One layer and level of the sequences, as data of hkt_bootstrap. */
typedef struct {
    const energies *e;
    size_t layer, level;
} unit;

/* sum [L] of the level's band energies. */
static void pool(const unit *u, const size_t *index, size_t n, double *sum)
{
    size_t L = u->e->L;
    for (size_t b = 0; b < L; b++)
        sum[b] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < L; b++)
            sum[b] += u->e->energy[((index ? index[i] : i) * u->e->layers + u->layer) * L * L + u->level * L + b];
}

static double pooled_dominance(const void *data, const size_t *index, size_t n)
{
    const unit *u = data;
    double energy[HKT_MAX_LEVELS * HKT_MAX_LEVELS];
    pool(u, index, n, energy + u->level * u->e->L);
    return hkt_band_dominance(u->e->L, u->level, energy);
}

/* A level of zeros, as of a model of width 1, has no dominant band. */
static bool is_silent(const unit *u)
{
    double band[HKT_MAX_LEVELS], total = 0;
    pool(u, NULL, u->e->n_seq, band);
    for (size_t b = 0; b < u->e->L; b++)
        total += band[b];
    return total == 0;
}

/* One level: rows by band; *dominant 1 when the whole interval lies above 1, -1 when it lies below, else 0. */
static hkt_status judge_level(const unit *u, double coverage, uint64_t seed, hkt_check_result *out, double *dominance,
                              int *dominant)
{
    double band[HKT_MAX_LEVELS], total = 0, lo, hi;
    size_t replicates = (size_t)(100 / (1 - coverage)); /* five beyond either end */
    *dominance = pooled_dominance(u, NULL, u->e->n_seq);
    hkt_status status = hkt_bootstrap(pooled_dominance, u, u->e->n_seq, replicates, coverage, seed, &lo, &hi);
    if (status != HKT_OK && status != HKT_ENUMERIC)
        return status;
    *dominant = lo > 1 ? 1 : hi < 1 ? -1 : 0; /* 0 for NaN */
    pool(u, NULL, u->e->n_seq, band);
    for (size_t b = 0; b < u->e->L; b++)
        total += band[b];
    for (size_t b = 0; b < u->e->L; b++) {
        HKT_TRY(hkt_check_row(out, "layer\tlevel\tband\tshare\town_over_largest_other\tlow\thigh", u->layer, u->level,
                              b, band[b] / total, *dominance, lo, hi));
    }
    return HKT_OK;
}

/* The coarsest level is not counted: its band is all that a low-pass filter leaves. Measured: share of the other
 * levels, over all layers, that are dominant. HOLDS for more than half, VIOLATED when more than half are not. */
static hkt_status judge(const energies *e, uint64_t seed, hkt_check_result *out)
{
    size_t counted = e->layers * (e->L - 1), yes = 0, no = 0, silent = 0;
    const double coverage = 1 - 0.05 / (double)counted; /* of each interval: all of them hold together at 95 % */
    double worst = (double)-INFINITY, worst_layer = 0, worst_level = 0;
    for (size_t layer = 0; layer < e->layers; layer++)
        for (size_t level = 0; level < e->L; level++) {
            unit u = {e, layer, level};
            double dominance;
            int dominant;
            if (is_silent(&u)) {
                silent += level + 1 < e->L;
                continue;
            }
            HKT_TRY(judge_level(&u, coverage, seed, out, &dominance, &dominant));
            if (level + 1 == e->L)
                continue;
            yes += dominant > 0;
            no += dominant < 0;
            if (hkt_check_worse(worst, 1 / dominance) != worst) {
                worst = 1 / dominance;
                worst_layer = (double)layer;
                worst_level = (double)level;
            }
        }
    if (silent == counted) {
        hkt_check_skip(out, "all of %zu levels are 0: there is no energy in any band", counted);
        return HKT_OK;
    }
    counted -= silent;
    hkt_check_at_least(out, (double)yes / (double)counted, 0.5);
    if (2 * yes <= counted)
        out->verdict = 2 * no > counted ? HKT_VIOLATED : HKT_INCONCLUSIVE;
    hkt_check_detail(
        out,
        "%zu levels, the coarsest not counted, intervals of %.2f %% each, 95 %% over all; %zu certainly do not; the "
        "smallest ratio of the own band to another is %.3g, in layer %.0f, level %.0f; %zu sequences",
        counted, 100 * coverage, no, 1 / worst, worst_layer, worst_level, e->n_seq);
    hkt_check_left_out(out, silent, "levels", "no energy");
    return HKT_OK;
}

/* --- controls: signals with a known spectrum in the place of hidden states --- */

enum { CONTROL_SEQ = 16, CONTROL_T = 256, CONTROL_D = 4, CONTROL_L = 3 };

/* Random walks (w^-2): what lies below dominates. Level l is what a boxcar cascade makes of them. */
static hkt_status walks(const hkt_verify_context *ctx, hkt_band_signal signal, bool smooth, hkt_check_result *out)
{
    double energy[CONTROL_SEQ * CONTROL_L * CONTROL_L] = {0}, *taps = NULL, *x = NULL;
    energies e = {.n_seq = CONTROL_SEQ, .layers = 1, .L = CONTROL_L, .energy = energy};
    hkt_cascade c;
    hkt_status status;
    HKT_TRY(hkt_cascade_make(2, CONTROL_L, CONTROL_D, false, 0, &c, &taps));
    HKT_TRY_GOTO(status, done, HKT_NEW(&x, 2 * CONTROL_T * CONTROL_D));
    double *level[CONTROL_L] = {x, x + CONTROL_T * CONTROL_D, x + (CONTROL_T + CONTROL_T / 2) * CONTROL_D};
    const double *view[CONTROL_L] = {level[0], level[1], level[2]};
    hkt_rng rng = hkt_rng_make(ctx->seed, HKT_STREAM_VERIFY, 113);
    for (size_t i = 0; i < CONTROL_SEQ && status == HKT_OK; i++) {
        double step[CONTROL_D] = {0};
        for (size_t t = 0; t < CONTROL_T * CONTROL_D; t++) {
            double before = t < CONTROL_D ? 0 : x[t - CONTROL_D];
            step[t % CONTROL_D] = (smooth ? step[t % CONTROL_D] : 0) + hkt_rng_normal(&rng);
            x[t] = before + step[t % CONTROL_D];
        }
        hkt_cascade_run(&c, CONTROL_T, level);
        status = hkt_band_energy(2, CONTROL_L, CONTROL_D, view, hkt_band_window_of(CONTROL_T, 2, CONTROL_L), signal,
                                 energy + i * CONTROL_L * CONTROL_L);
    }
    if (status == HKT_OK)
        status = judge(&e, ctx->seed, out);
done:
    hkt_free(taps);
    hkt_free(x);
    return status;
}

/* --- the checks --- */

/* control: walks, and walks of walks (w^-4), which are steeper than what a difference of two averages suppresses. */
static hkt_status check(const hkt_verify_context *ctx, hkt_check_result *out, bool control, hkt_band_signal signal)
{
    static const char *const name[] = {"raw levels of hidden states", "details of hidden states",
                                       "level outputs U_l Y^(l)"};
    if (control)
        return walks(ctx, signal, signal != HKT_BANDS_RAW, out);
    if (!hkt_subject_trained(ctx, out))
        return HKT_OK;
    const hkt_config *c = &ctx->model->layout->config;
    if (c->levels == 1 || (signal == HKT_BANDS_OUTPUT && hkt_fusion_of(c)->sums_scores)) {
        hkt_check_skip(out,
                       c->levels == 1 ? "the model has one level: one band" : "score fusion has no outputs by level");
        return HKT_OK;
    }
    hkt_dataset data;
    energies e = {0};
    HKT_TRY(hkt_subject_held_out(ctx, ctx->quick ? 16 : 64, &data));
    hkt_status status = measure(ctx->model, &data, signal, &e);
    if (status == HKT_OK && e.n_seq < 2)
        hkt_check_skip(out, "needs two sequences of at least %zu tokens",
                       2 * hkt_cascade_span(c->stride, c->levels - 1));
    else if (status == HKT_OK) {
        status = judge(&e, ctx->seed, out);
        hkt_check_condition(out, "%s, trained weights, %s", name[signal],
                            ctx->data ? "held-out data" : "random tokens");
    }
    hkt_free(e.energy);
    hkt_dataset_free(&data);
    return status;
}

static hkt_status hidden_raw(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return check(ctx, out, control, HKT_BANDS_RAW);
}

const hkt_check hkt_bands_raw_hidden = {
    .name = "raw-hidden",
    .kind = HKT_EMPIRICAL,
    .statement = "most raw levels of the model's hidden states have their largest band energy in their own band, "
                 "beyond a bootstrap interval over sequences",
    .reference = "docs/theory.md, bands",
    .failure = "raw levels of hidden states hold mostly what lies below their band",
    .finding = "most levels have their largest band energy in their own band",
    .of_model = true,
    .run = hidden_raw,
    .holds = "{m%} % of the levels have most energy in their own band, beyond their intervals",
    .violated = "most levels do not have most energy in their own band; {m%} % do, beyond their intervals",
    .open = "{m%} % of the levels have most energy in their own band, beyond their intervals: neither most do nor most "
            "do not",
};

static hkt_status hidden_details(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return check(ctx, out, control, HKT_BANDS_DETAIL);
}

const hkt_check hkt_bands_details_hidden = {
    .name = "details-hidden",
    .kind = HKT_EMPIRICAL,
    .statement = "the same of the details",
    .reference = "docs/theory.md, bands",
    .failure = "the spectrum of the hidden states falls so steeply that details leak",
    .finding = "most levels have their largest band energy in their own band",
    .of_model = true,
    .run = hidden_details,
    .holds = "{m%} % of the levels have most energy in their own band, beyond their intervals",
    .violated = "most levels do not have most energy in their own band; {m%} % do, beyond their intervals",
    .open = "{m%} % of the levels have most energy in their own band, beyond their intervals: neither most do nor most "
            "do not",
};

static hkt_status outputs(const hkt_verify_context *ctx, hkt_check_result *out, bool control)
{
    return check(ctx, out, control, HKT_BANDS_OUTPUT);
}

const hkt_check hkt_bands_outputs = {
    .name = "outputs",
    .kind = HKT_EMPIRICAL,
    .statement = "the same of the outputs U_l Y^(l) of the levels",
    .reference = "docs/theory.md, bands",
    .failure = "level outputs hold mostly what lies below their band",
    .finding = "most levels have their largest band energy in their own band",
    .of_model = true,
    .run = outputs,
    .holds = "{m%} % of the levels have most energy in their own band, beyond their intervals",
    .violated = "most levels do not have most energy in their own band; {m%} % do, beyond their intervals",
    .open = "{m%} % of the levels have most energy in their own band, beyond their intervals: neither most do nor most "
            "do not",
};

/* pairs.c - paired differences of accuracies over seeds; planted runs. */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

#include "analysis/claims/accuracy/accuracy.h"
#include "base/mem.h"

static bool is_of(const hkt_runs_row *r, const char *task, hkt_side side)
{
    return !strcmp(r->task, task) && !strcmp(r->model, side.model) && !strcmp(r->setting, side.setting);
}

static const hkt_runs_row *partner(const hkt_runs *runs, const hkt_runs_row *a, hkt_side b)
{
    for (size_t i = 0; i < runs->n; i++) {
        const hkt_runs_row *r = runs->run + i;
        if (is_of(r, a->task, b) && !strcmp(r->seed, a->seed))
            return strcmp(a->setting, b.setting) || !strcmp(a->config, r->config) ? r : NULL;
    }
    return NULL;
}

static void mean_sd(size_t n, const double *x, double *mean, double *sd)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - *mean) * (x[i] - *mean);
    *sd = n > 1 ? sqrt(square / ((double)n - 1)) : (double)NAN;
}

/* Accuracies are multiples of 1/N: a range below half of that is rounding, and differences that do not vary at all over
 * seeds are no sample (copies of one run look like this). */
static bool varies(size_t n, const double *x, size_t N)
{
    double low = x[0], high = x[0];
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    return high - low >= 100 * 0.5 / (double)N;
}

/* One task; difference, value [runs->n] are scratch. */
static void compare(const hkt_runs *runs, double *difference, double *value, hkt_paired_runs *p)
{
    size_t N = 1;
    for (size_t i = 0; i < runs->n; i++) {
        const hkt_runs_row *a = runs->run + i, *b = is_of(a, p->task, p->a) ? partner(runs, a, p->b) : NULL;
        if (!b)
            continue;
        N = a->n;
        value[p->n] = 100 * a->accuracy;
        difference[p->n++] = 100 * (a->accuracy - b->accuracy);
    }
    if (p->n == 0)
        return;
    mean_sd(p->n, value, &p->mean, &p->sd);
    mean_sd(p->n, difference, &p->difference, &p->spread);
    p->other = p->mean - p->difference;
    if (!varies(p->n, difference, N))
        p->spread = (double)NAN;
}

static bool seen_before(const hkt_runs *runs, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(runs->run[k].task, runs->run[i].task))
            return true;
    return false;
}

hkt_status hkt_paired_runs_find(const hkt_runs *runs, hkt_side a, hkt_side b, hkt_paired_runs *out, size_t *n)
{
    double *scratch = NULL;
    HKT_TRY(HKT_NEW(&scratch, 2 * runs->n));
    for (size_t i = 0; i < runs->n; i++) {
        if (seen_before(runs, i))
            continue;
        out[*n] = (hkt_paired_runs){.task = runs->run[i].task, .a = a, .b = b, .low = (double)NAN, .high = (double)NAN};
        compare(runs, scratch, scratch + runs->n, out + *n);
        *n += out[*n].n > 0;
    }
    hkt_free(scratch);
    return HKT_OK;
}

size_t hkt_paired_runs_bound(hkt_paired_runs *p, size_t n, size_t planned)
{
    size_t family = 0;
    for (size_t i = 0; i < n; i++)
        family += !isnan(p[i].spread);
    if (family > 0 && family < planned)
        family = planned;
    for (size_t i = 0; i < n; i++) {
        if (isnan(p[i].spread))
            continue;
        double t = gsl_cdf_tdist_Qinv(0.025 / (double)family, (double)p[i].n - 1);
        double half = t * p[i].spread / sqrt((double)p[i].n);
        p[i].low = p[i].difference - half;
        p[i].high = p[i].difference + half;
    }
    return family;
}

hkt_runs hkt_plant_runs(const hkt_planted *p, hkt_runs_row run[HKT_PLANTED_RUNS])
{
    static const char *const seed[HKT_PLANTED_SEEDS] = {"0", "1", "2"};
    static const double noise[HKT_PLANTED_SEEDS] = {-0.002, 0.0005, 0.0015};
    const struct {
        hkt_side side;
        double accuracy, sign;
    } planted[] = {{{"hkt", "main"}, p->hkt, 1},          {{"mha", "main"}, p->mha, -0.2},
                   {{"mha", "matched"}, p->matched, 0.1}, {{"hkt", "levels-1"}, p->one_level, -0.3},
                   {{"hkt", "no-conv"}, p->other, 0.4},   {{"hkt", "static"}, p->other, 0}};
    for (size_t i = 0; i < HKT_PLANTED_RUNS; i++) {
        size_t k = i / HKT_PLANTED_SEEDS, s = i % HKT_PLANTED_SEEDS;
        run[i] = (hkt_runs_row){"listops",
                                planted[k].side.model,
                                planted[k].side.setting,
                                seed[s],
                                planted[k].side.setting,
                                planted[k].accuracy + planted[k].sign * noise[s],
                                0.16,
                                2000};
    }
    return (hkt_runs){.run = run, .n = HKT_PLANTED_RUNS};
}

/* compare.c - two sides of recorded runs: Welch's test with the error of the test set, Holm, equivalence, looks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/accuracy/accuracy.h"
#include "analysis/math/multiple.h"
#include "base/mem.h"

enum { MOST_SEEDS = 10000 };
static const double POWER = 0.8;

const char *hkt_statement_name(hkt_statement s)
{
    static const char *const name[] = {"open", "above", "below", "equal"};
    return name[s];
}

/* Runs of a side, by seed. */
typedef struct {
    const hkt_runs_row **run; /* [n], owned */
    size_t n;
} side_runs;

static int by_seed(const void *x, const void *y)
{
    const hkt_runs_row *a = *(const hkt_runs_row *const *)x, *b = *(const hkt_runs_row *const *)y;
    unsigned long long i = strtoull(a->seed, NULL, 10), k = strtoull(b->seed, NULL, 10);
    return (i > k) - (i < k);
}

/* config: NULL, or that which they must have. */
static hkt_status find_side(const hkt_runs *runs, const char *task, const hkt_side *side, const char *config,
                            side_runs *out)
{
    *out = (side_runs){.n = 0};
    HKT_TRY(HKT_NEW(&out->run, runs->n));
    for (size_t i = 0; i < runs->n; i++) {
        const hkt_runs_row *r = runs->run + i;
        if (!r->reproducible || strcmp(r->task, task) || strcmp(r->model, side->model) ||
            strcmp(r->setting, side->setting))
            continue;
        config = config ? config : r->config;
        if (!strcmp(r->config, config))
            out->run[out->n++] = r;
    }
    qsort(out->run, out->n, sizeof *out->run, by_seed);
    return HKT_OK;
}

static void mean_sd(const side_runs *s, size_t n, double *mean, double *sd)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        sum += 100 * s->run[i]->accuracy;
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (100 * s->run[i]->accuracy - *mean) * (100 * s->run[i]->accuracy - *mean);
    *sd = sqrt(square / ((double)n - 1));
}

/* Accuracies are multiples of 1/m: a range below half of that is rounding, and accuracies that do not vary at all over
 * seeds are no sample (copies of one run look like this). */
static bool varies(const side_runs *s, size_t n)
{
    double low = s->run[0]->accuracy, high = low;
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, s->run[i]->accuracy);
        high = fmax(high, s->run[i]->accuracy);
    }
    return high - low >= 0.5 / (double)s->run[0]->n;
}

/* Sample variance over the m test sequences of d = share of side a's runs that are right - the same of side b: by the
 * mean of d^2, a sum over all pairs of runs of the share of sequences on which both are right. NaN when a pair is not
 * recorded. */
static double sequence_variance(const hkt_runs *runs, const side_runs *a, const side_runs *b, size_t n)
{
    const double m = (double)a->run[0]->n, weight = 1 / (double)n;
    double square = 0, mean = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        const hkt_runs_row *x = i < n ? a->run[i] : b->run[i - n];
        mean += (i < n ? weight : -weight) * x->accuracy;
        for (size_t k = 0; k < 2 * n; k++) {
            const hkt_runs_row *y = k < n ? a->run[k] : b->run[k - n];
            square += ((i < n) == (k < n) ? 1 : -1) * weight * weight * hkt_runs_both_right(runs, x, y) / m;
        }
    }
    const double v = (square - mean * mean) * m / (m - 1);
    return v < 0 ? 0 : v; /* rounding; NaN stays */
}

/* The largest variance of d when the two sides are not right on different sequences by preference: that of runs of one
 * side which are right on the same sequences, and independent of the other side's. */
static double variance_bound(double p, double q)
{
    return p * (1 - p) + q * (1 - q);
}

/* The numbers of one look, before Holm. */
static void measure(const hkt_runs *runs, const side_runs *a, const side_runs *b, const hkt_look *look,
                    hkt_comparison *c)
{
    const double n = (double)look->seeds, m = (double)a->run[0]->n;
    c->seeds = look->seeds;
    mean_sd(a, look->seeds, &c->mean_a, &c->sd_a);
    mean_sd(b, look->seeds, &c->mean_b, &c->sd_b);
    double v = sequence_variance(runs, a, b, look->seeds);
    c->unknown = isnan(v);
    if (c->unknown)
        v = variance_bound(c->mean_a / 100, c->mean_b / 100);
    c->w = (hkt_welch){.difference = c->mean_a - c->mean_b,
                       .variance = {c->sd_a * c->sd_a / n, c->sd_b * c->sd_b / n, 1e4 * v / m},
                       .df = {n - 1, n - 1, m - 1}};
    const bool sample = varies(a, look->seeds) && varies(b, look->seeds);
    for (int i = 0; i < HKT_WELCH_TERMS && !sample; i++)
        c->w.variance[i] = (double)NAN;
}

static void finish(const hkt_look *look, size_t planned, hkt_comparison *c)
{
    const double each = look->level / (double)planned, raw = hkt_welch_p(&c->w);
    const double step = raw > 0 ? fmin((double)planned, c->p / raw) : (double)planned;
    const double half = hkt_welch_half_width(&c->w, look->level / step);
    c->low = c->w.difference - half;
    c->high = c->w.difference + half;
    c->half = hkt_welch_half_width(&c->w, each);
    c->power = hkt_welch_power(&c->w, HKT_EQUAL_WITHIN, each);
    c->statement = c->low > 0 ? HKT_ABOVE : c->high < 0 ? HKT_BELOW : c->p_equal < look->level ? HKT_EQUAL : HKT_OPEN;
    c->needed = c->statement == HKT_OPEN && !isnan(half)
                    ? hkt_welch_seeds(&c->w, c->sd_a, c->sd_b, c->w.difference, each, POWER, MOST_SEEDS)
                    : 0;
}

/* p, p_equal [n]: of each comparison, NaN where the look has too few seeds; adjusted in place. */
static hkt_status adjust(const hkt_family *f, const hkt_comparison *now, size_t n, double *p, double *p_equal)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = now[i].seeds ? hkt_welch_p(&now[i].w) : (double)NAN;
        p_equal[i] = now[i].seeds ? hkt_welch_equal_p(&now[i].w, HKT_EQUAL_WITHIN) : (double)NAN;
    }
    const size_t family = n > f->planned ? n : f->planned;
    HKT_TRY(hkt_holm(n, family, p, p));
    return hkt_holm(n, family, p_equal, p_equal);
}

/* Look k: a statement that was made before stands, but its test keeps its place in the family. */
static hkt_status take_look(const hkt_runs *runs, const hkt_family *f, size_t k, const side_runs *side,
                            hkt_comparison *c, size_t n)
{
    hkt_comparison *now = NULL;
    double *p = NULL;
    hkt_status status = HKT_NEW(&now, n);
    if (status == HKT_OK)
        status = HKT_NEW(&p, 2 * n);
    for (size_t i = 0; i < n && status == HKT_OK; i++) {
        now[i] = c[i];
        now[i].seeds = 0;
        if (side[2 * i].n >= f->look[k].seeds && side[2 * i + 1].n >= f->look[k].seeds)
            measure(runs, side + 2 * i, side + 2 * i + 1, f->look + k, now + i);
    }
    if (status == HKT_OK)
        status = adjust(f, now, n, p, p + n);
    for (size_t i = 0; i < n && status == HKT_OK; i++) {
        if (now[i].seeds == 0 || c[i].statement != HKT_OPEN)
            continue;
        c[i] = now[i];
        c[i].look = k + 1;
        c[i].p = p[i];
        c[i].p_equal = p[n + i];
        finish(f->look + k, n > f->planned ? n : f->planned, c + i);
    }
    hkt_free(now);
    hkt_free(p);
    return status;
}

/* side[0], side[1]: the runs of a and of b. */
static hkt_status find_sides(const hkt_runs *runs, hkt_comparison *c, side_runs side[2])
{
    c->mean_a = c->sd_a = c->mean_b = c->sd_b = c->low = c->high = c->half = c->p = c->p_equal = c->power = (double)NAN;
    c->w.difference = (double)NAN;
    HKT_TRY(find_side(runs, c->task, &c->a, NULL, side));
    const bool one_ini = side->n > 0 && !strcmp(c->a.setting, c->b.setting);
    HKT_TRY(find_side(runs, c->task, &c->b, one_ini ? side->run[0]->config : NULL, side + 1));
    c->n_a = side[0].n;
    c->n_b = side[1].n;
    if (c->n_a == 0 || c->n_b == 0)
        return HKT_OK;
    const hkt_runs_row *a = side[0].run[0], *b = side[1].run[0];
    if (a->n != b->n || a->majority != b->majority)
        return hkt_fail(HKT_EINPUT,
                        "recorded runs: expected %s %s and %s %s of '%s' on the same test sequences, found %zu "
                        "(majority %g) and %zu (%g)",
                        c->a.model, c->a.setting, c->b.model, c->b.setting, c->task, a->n, a->majority, b->n,
                        b->majority);
    return HKT_OK;
}

hkt_status hkt_compare_runs(const hkt_runs *runs, const hkt_family *f, hkt_comparison *c, size_t n)
{
    side_runs *side = NULL;
    HKT_TRY(HKT_NEW(&side, 2 * n));
    hkt_status status = HKT_OK;
    for (size_t i = 0; i < n && status == HKT_OK; i++)
        status = find_sides(runs, c + i, side + 2 * i);
    for (size_t k = 0; k < f->n_looks && status == HKT_OK; k++)
        status = take_look(runs, f, k, side, c, n);
    for (size_t i = 0; i < 2 * n; i++)
        hkt_free(side[i].run);
    hkt_free(side);
    return status;
}

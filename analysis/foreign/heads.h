/* heads.h - one walk over the forms of all heads of a model of another kind, a layer in memory at a time. */
#ifndef HKT_ANALYSIS_FOREIGN_HEADS_H
#define HKT_ANALYSIS_FOREIGN_HEADS_H

#include "analysis/foreign/forms.h"
#include "analysis/measure/measure.h"

/* What one form says at one lag. */
typedef struct {
    hkt_form_kind kind;
    size_t layer, head, key_head, lag; /* head: HKT_NO_HEAD for a group */
    size_t n, p;                       /* width of the model and of a head */
    hkt_form_summary s;
    double *w;     /* [s.dimension] eigenvalues, ascending, or NULL: not asked for */
    double cosine; /* of M_a with that of the same head of the layer before; NaN: not asked for, or there is none */
    const char *status; /* "ok", "warning: ..." or "skipped: ..." */
} hkt_form_row;

/* What is asked for. */
typedef struct {
    bool kinds[HKT_FORMS];
    const size_t *lags; /* [n_lags] */
    size_t n_lags;
    bool spectrum, cosine;
    void (*write)(hkt_tsv *out, const hkt_form_row *row);
} hkt_form_walk;

/* Writes the rows of all forms asked for that there are, that pass the filters of the context: by layer, then head
 * (groups after the heads), form and lag. Shows progress on a terminal. Errors: those of reading; HKT_ENUMERIC;
 * HKT_ESYSTEM. */
hkt_status hkt_form_walk_rows(const hkt_measure_context *ctx, hkt_tsv *out, const hkt_form_walk *walk);

/* <M_a, M'_a> / (||M_a|| ||M'_a||) of M = Wq^T Wk, M' = Wq'^T Wk' by matrices [p, p]; all [p, d]. NaN when one is 0. */
hkt_status hkt_core_cosine(size_t d, size_t p, const double *wq, const double *wk, const double *other_wq,
                           const double *other_wk, double *cosine);

#endif

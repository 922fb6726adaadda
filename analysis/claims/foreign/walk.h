/* walk.h - inside the checks of models of other kinds: the heads of the model, or of a small one with a known
 * answer. */
#ifndef HKT_ANALYSIS_CLAIMS_FOREIGN_WALK_H
#define HKT_ANALYSIS_CLAIMS_FOREIGN_WALK_H

#include "analysis/claims/check.h"
#include "analysis/foreign/forms.h"

typedef struct {
    const hkt_foreign *model;  /* of the context, or planted */
    hkt_foreign_layer weights; /* of the layer */
    size_t layer;
    hkt_check_result *out;
    bool control;
    size_t seen, good, left_out; /* for the check to count in */
    double worst;
} hkt_foreign_walk;

typedef hkt_status (*hkt_foreign_visit)(hkt_foreign_walk *walk, hkt_form_kind kind, size_t index);

/* Visits every form that there is, or those of the weights of each head alone; a layer in memory at a time. planted:
 * instead one layer of 4 heads, p 4, d 24, with standard normal weights of the context's seed; tied: Wk = Wq. Without a
 * model, and without `planted`, nothing is visited. */
typedef enum { HKT_FOREIGN_MODEL, HKT_FOREIGN_UNTIED, HKT_FOREIGN_TIED } hkt_foreign_subject;
hkt_status hkt_foreign_walk_heads(const hkt_verify_context *ctx, hkt_foreign_subject subject, bool all,
                                  hkt_foreign_visit visit, hkt_foreign_walk *walk);

/* A form that is visited, and room for its eigenvalues. */
typedef struct {
    hkt_head_form form;
    double *eigenvalues; /* [form.dimension + 1] */
} hkt_foreign_form;
/* hkt_foreign_form_close afterwards, whatever the status. */
hkt_status hkt_foreign_form_open(hkt_foreign_form *f, const hkt_foreign_walk *walk, hkt_form_kind kind, size_t index);
void hkt_foreign_form_close(hkt_foreign_form *f);

/* Whether nothing was seen: then the result is SKIPPED, with `why` when all that there is was left out. */
bool hkt_foreign_walk_skips(const hkt_foreign_walk *walk, const char *why);

/* The columns "form\tlayer\tindex\t" begin every row: the index is of the head, or of the key head for a group. */
#define HKT_FOREIGN_PLACE "form\tlayer\tindex\t"

#endif

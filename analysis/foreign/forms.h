/* forms.h - the forms of the heads of a model of another kind, layer by layer (docs/theory.md, "models of others"). */
#ifndef HKT_ANALYSIS_FOREIGN_FORMS_H
#define HKT_ANALYSIS_FOREIGN_FORMS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/math/core.h"
#include "base/status.h"
#include "foreign/foreign.h"

/* What the score is a form of. */
typedef enum {
    HKT_FORM_WEIGHTS, /* of the vectors that enter the projections: Wq, Wk as they are, on R^d */
    HKT_FORM_NORM, /* of the vectors that the norm before attention makes before its gain: Wq diag(gain), Wk diag(gain);
                      after a centring norm on the d - 1 dimensions of the vectors whose elements add up to 0 */
    HKT_FORM_AFFINE, /* the same with biases and the norm's shift, of (x, 1): a dimension more */
    HKT_FORM_GROUP,  /* the sum of the heads that share a key head, of HKT_FORM_WEIGHTS */
    HKT_FORMS
} hkt_form_kind;
const char *hkt_form_kind_name(hkt_form_kind k);

/* One head, or one key head for HKT_FORM_GROUP. */
typedef struct {
    hkt_form_kind kind;
    size_t layer, head, key_head; /* head: HKT_NO_HEAD for a group */
    hkt_core core;
    size_t dimension;
    double *bias;    /* of HKT_FORM_AFFINE: [2 p] of queries and keys, [p] scratch (one thread at a time); else NULL */
    hkt_core linear; /* of HKT_FORM_AFFINE: the core without the biases */
} hkt_head_form;
#define HKT_NO_HEAD ((size_t)-1)

/* Whether the layer has that form: a norm's when there is one, an affine one when there are biases or a shift, a
 * group's when heads share keys. */
bool hkt_head_form_there(const hkt_foreign *model, const hkt_foreign_layer *weights, hkt_form_kind kind);
/* index: of the head, or of the key head for a group. Zero-initialise; hkt_head_form_free, also after an error. */
hkt_status hkt_head_form_make(hkt_head_form *out, const hkt_foreign *model, const hkt_foreign_layer *weights,
                              hkt_form_kind kind, size_t layer, size_t index);
void hkt_head_form_free(hkt_head_form *f);

/* What the form says at a lag: the key is `lag` tokens before the query. w [dimension] out: eigenvalues of M_s. */
hkt_status hkt_head_form_summary(const hkt_head_form *f, const hkt_foreign *model, size_t lag, double *w,
                                 hkt_form_summary *out);

#endif

/* stored.h - scores that another program's queries and keys give (foreign/stored.h) as a source for analysis/view, and
 * score matrices as forms: S = scale Q K^T of T tokens is the form x^T S y of vectors over the tokens, whose symmetric
 * part is the Gram matrix that Prop. 3.1 is about (docs/theory.md, "models of others"). */
#ifndef HKT_ANALYSIS_FOREIGN_STORED_H
#define HKT_ANALYSIS_FOREIGN_STORED_H

#include "analysis/math/core.h"
#include "analysis/view/walk.h"
#include "foreign/stored.h"

/* One level; `stored` is borrowed. Errors of its walk: those of hkt_stored_read. */
hkt_score_source hkt_score_of_stored(const hkt_stored *stored);

/* Queries and keys of one layer and sequence, turned by their positions. */
typedef struct {
    hkt_score_pairs pairs;
    double *block; /* owns them, and room for the longest sequence */
} hkt_stored_pairs;
/* Zero-initialise; hkt_stored_pairs_free. Errors: HKT_ESYSTEM. */
hkt_status hkt_stored_pairs_create(hkt_stored_pairs *out, const hkt_stored *stored);
void hkt_stored_pairs_free(hkt_stored_pairs *p);
hkt_status hkt_stored_pairs_read(const hkt_stored *stored, size_t layer, size_t seq, hkt_stored_pairs *out);

/* What head h's matrix of all T^2 scores says as a form; w [T] out: eigenvalues of its symmetric part, ascending. Zero:
 * |lambda| <= (T + k) eps size, k the rank at most, size the terms it is the sum of. With stored scores and a causal
 * mask the matrix is not known: HKT_EINPUT. kappa and skewness of *out have no meaning here. Errors: HKT_ENUMERIC,
 * HKT_ESYSTEM. */
hkt_status hkt_score_matrix_summary(const hkt_score_pairs *pairs, size_t head, double *w, hkt_form_summary *out);

#endif

/* psd.h - inside the claim `psd`: Gram matrices to look at. */
#ifndef HKT_ANALYSIS_CLAIMS_PSD_PSD_H
#define HKT_ANALYSIS_CLAIMS_PSD_PSD_H

#include "analysis/claims/check.h"
#include "analysis/claims/subject.h"
#include "analysis/view/gram.h"

/* The Gram matrix of one head of one layer, with memory of its own. */
typedef struct {
    hkt_gram g; /* points into the views below */
    double *x[HKT_MAX_LEVELS], *ms[HKT_MAX_LEVELS];
    size_t p;
    const double *wq[HKT_MAX_LEVELS], *wk[HKT_MAX_LEVELS]; /* the head's rows [p, d], the subject's */
    double *mem;
} hkt_psd_case;

/* M_s, lambda and shapes of the head; x all zero. levels: the first ones to use. */
hkt_status hkt_psd_case_create(const hkt_subject *s, size_t layer, size_t head, size_t T, size_t levels,
                               hkt_psd_case *out);
/* X^(0) standard normal, the other levels by the layer's own downsampling. */
hkt_status hkt_psd_case_gaussian(const hkt_subject *s, size_t layer, size_t head, size_t T, size_t levels,
                                 uint64_t seed, hkt_psd_case *out);
void hkt_psd_case_free(hkt_psd_case *c);
/* The M_s of the case and its lambda from the subject's current weights. */
void hkt_psd_case_weights(const hkt_subject *s, size_t layer, size_t head, hkt_psd_case *c);

/* Largest number of levels, and a length, for which Gaussian level inputs have full column rank and the dense oracle is
 * still affordable. */
void hkt_psd_affordable(const hkt_verify_context *ctx, const hkt_config *config, size_t *T, size_t *levels);

/* y [T, ld] from column `at` on: U_l X^(l) w', w [p, d]; row i is that of token i. *size += sum of squares of the sums
 * of absolute terms. Of g only T, d, stride and x are used. */
void hkt_psd_project(const hkt_gram *g, size_t l, size_t p, const double *w, size_t ld, size_t at, double *y,
                     double *size);

/* Certificates of a verdict (certificate.h), when the context asks for them; `check` is its name. The lowest eigenvalue
 * of G is at least minus what rounding leaves; v'Gv <= quotient < 0, from the weights of the subject; G has at least
 * n eigenvalues of either sign, from them as well. */
hkt_status hkt_psd_write_lowest(const hkt_verify_context *ctx, const char *check, size_t layer, size_t head,
                                const hkt_gram *g);
hkt_status hkt_psd_write_negative(const hkt_verify_context *ctx, const char *check, size_t layer, size_t head,
                                  const hkt_subject *s, const hkt_gram *g, const double *v, double quotient);
hkt_status hkt_psd_write_inertia(const hkt_verify_context *ctx, const char *check, size_t layer, size_t head,
                                 const hkt_subject *s, const hkt_gram *g, size_t n);
/* The form of one level and head, of inertia (p, p, d - 2p). */
hkt_status hkt_psd_write_form(const hkt_verify_context *ctx, const hkt_subject *s, size_t layer, size_t level,
                              size_t head);
/* a [n, n] is PSD, or, with v [n], not. */
hkt_status hkt_psd_write_dense(const hkt_verify_context *ctx, const char *check, size_t which, size_t n,
                               const double *a, const double *v);

#endif

/* approximation.h - inside the claim `approximation`: a small score model trained on a given S*, and the pairs
 * of S* and model that the checks of approximation.c look at. */
#ifndef HKT_ANALYSIS_CLAIMS_APPROXIMATION_APPROXIMATION_H
#define HKT_ANALYSIS_CLAIMS_APPROXIMATION_APPROXIMATION_H

#include "analysis/claims/subject.h"
#include "analysis/view/errors.h"

/* S_T = sum_l weight_l U_l S^(l) U_l^T, S^(l) = X^(l) Wq_l^T Wk_l X^(l)^T / sqrt(p): one head of the model's form. */
typedef struct {
    hkt_approximation a;                             /* its x, score and target point into mem */
    double *x[HKT_MAX_LEVELS];                       /* [T_l, d] */
    double *score[HKT_MAX_LEVELS];                   /* [T_l, T_l] */
    double *wq[HKT_MAX_LEVELS], *wk[HKT_MAX_LEVELS]; /* [p, d], one after the other: n_weights numbers from wq[0] */
    double *target;                                  /* [T, T] */
    size_t n_weights;
    double *mem;
} hkt_student;

/* Everything zero but shapes and weight_l = 1/L. */
hkt_status hkt_student_create(hkt_student *out, size_t T, size_t d, size_t p, size_t L, size_t stride);
void hkt_student_free(hkt_student *s);
/* `steps` steps of gradient descent on ||S* - S_T||^2 over wq and wk, each with the step length halved until the loss
 * falls enough (Armijo; Nocedal & Wright 2006, alg. 3.1). Sets the scores, also for steps = 0. */
hkt_status hkt_student_train(hkt_student *s, size_t steps);

typedef enum { HKT_PAIR_LAYER, HKT_PAIR_KERNEL, HKT_PAIR_ONE_HEAD } hkt_pair;

/* A student of level inputs, weights (head 0) and lambda of the layer after a forward pass over T tokens; a model of
 * one level gets two more by boxcar downsampling, with the weights of the first and lambda = 1/3. Target: the mean over
 * the heads of the layer's full-resolution scores S^(0,h); exp(-8 |i - j| / T); or S^(0,0). */
hkt_status hkt_pair_student(hkt_student *out, const hkt_subject *subject, const hkt_tap_f64 *tap, size_t layer,
                            size_t T, hkt_pair pair);
/* The model's own head as it is against the mean over the heads of S^(0,h). No weights in the student. */
hkt_status hkt_pair_head(hkt_student *out, const hkt_subject *subject, const hkt_tap_f64 *tap, size_t head, size_t T);

#endif

/* subsumption.h - inside the claim `subsumption`: the textbook attention and convolution that the model is compared
 * with. */
#ifndef HKT_ANALYSIS_CLAIMS_SUBSUMPTION_SUBSUMPTION_H
#define HKT_ANALYSIS_CLAIMS_SUBSUMPTION_SUBSUMPTION_H

#include "analysis/claims/check.h"
#include "analysis/claims/subject.h"
#include "analysis/math/rank.h"
#include "analysis/view/scene.h"
#include "base/rng.h"

/* Sub-streams of HKT_STREAM_VERIFY. */
enum { HKT_SUBSUMPTION_SHAPES = 2000, HKT_SUBSUMPTION_INPUTS = 2100 };

/* theta_0 and beta logits from which on lambda, alpha and beta are exactly 0 or 1 in both precisions (docs/theory.md,
 * "subsumption"). */
#define HKT_SUBSUMPTION_LARGE 1000.0

/* One head as plain matrices, in double. */
typedef struct {
    size_t T, d, p;
    bool causal;
    const double *x;            /* [T, d] */
    const double *wq, *wk, *wv; /* [p, d] */
    const double *conv;         /* [w, p] columns of this head, row stride ld_conv */
    size_t conv_width, ld_conv;
} hkt_plain_head;

/* out [T, p] = softmax(X Wq^T (X Wk^T)^T / sqrt(p)) X Wv^T, every matrix in memory. bound [T, p]: what rounding with
 * unit u can change in any such computation (docs/theory.md), u and the rounding of this one together. */
hkt_status hkt_plain_attention(const hkt_plain_head *h, double u, double *out, double *bound);

/* out [T, p]: y_j = sum_k c_k v_{j-k}, v = X Wv^T; bound likewise. */
hkt_status hkt_plain_convolution(const hkt_plain_head *h, double u, double *out, double *bound);

/* What one forward pass of a model of one layer, whose `out` is the identity and whose FFN is zero, makes of a
 * sequence: x [T, d] = X^(0); y [T, d] = fused heads, from the residual stream; slack [T, d]: what the rounding of that
 * stream can hide. params must be representable in the precision. */
hkt_status hkt_subsumption_forward_f32(const hkt_layout *layout, const double *params, size_t T, const int32_t *tokens,
                                       double *x, double *y, double *slack);
hkt_status hkt_subsumption_forward_f64(const hkt_layout *layout, const double *params, size_t T, const int32_t *tokens,
                                       double *x, double *y, double *slack);

typedef enum { HKT_TO_ATTENTION, HKT_TO_CONVOLUTION } hkt_subsumption_target;

/* One random model of one layer and a sequence for it. */
typedef struct {
    hkt_config config;
    hkt_subject s;
    size_t T;
    int32_t *tokens;
    double *x, *y, *slack, *plain, *bound; /* [T, d] each, in one block owned by x */
} hkt_subsumption_trial;

/* Every second shape has a single head, as Prop. 3.4. */
hkt_config hkt_subsumption_random_config(hkt_rng *rng, size_t index, size_t T);

/* Weights from seed, tokens and what `out`, gate and convolution become from rng. hkt_subsumption_trial_close. */
hkt_status hkt_subsumption_trial_open(uint64_t seed, const hkt_config *config, size_t T, hkt_rng *rng,
                                      hkt_subsumption_trial *t);
void hkt_subsumption_trial_close(hkt_subsumption_trial *t);

/* Level 0 alone in the limit theta_0 -> infinity, attention alone as the logits of beta do; and rounds every value to
 * float when that is the precision. */
void hkt_subsumption_set_limits(hkt_subsumption_trial *t, double theta_0, double beta_logit, bool to_float);

/* Textbook result of all heads of level 0 from X^(0): t->plain and t->bound, [T, d]. */
hkt_status hkt_subsumption_plain_heads(hkt_subsumption_trial *t, hkt_subsumption_target what, double u);

/* score [T, T]: S^H of a head over the first `levels` levels; size [T, T]: the sum of absolute terms behind it. level
 * [T, T] and work [2 T p] are scratch. */
void hkt_subsumption_scores(const hkt_subject *s, const hkt_scene *f, size_t layer, size_t head, size_t levels,
                            double *score, double *size, double *level, double *work);

/* block [rows, columns]: rows row .. row + rows - 1 and the first `columns` columns of S^H. Returns what it may differ
 * by, in the Frobenius norm, from that of the numbers X, Wq, Wk, theta. */
double hkt_subsumption_window(const hkt_config *c, size_t T, const double *score, const double *size, size_t row,
                              size_t rows, size_t columns, double *block);

/* bound->lower: what is proved of sigma_k((I - P) block), P the projection on the columns of [x 1]; x [rows, d] as
 * stored, block [rows, columns], not 0, up to `error` in the Frobenius norm; d + 1 + k <= rows. bound->largest is of no
 * use. */
hkt_status hkt_subsumption_beyond(size_t rows, size_t d, size_t columns, const double *x, const double *block,
                                  double error, size_t k, hkt_rank_bound *bound);

#endif

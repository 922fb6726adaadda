/* scene.h - a network and what it shows of one sequence at a time: the taps of every layer after a forward pass in
 * double, its dense score matrices, and the weights of its levels and heads. For the scores of many long sequences,
 * never stored: walk.h. */
#ifndef HKT_ANALYSIS_VIEW_SCENE_H
#define HKT_ANALYSIS_VIEW_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"
#include "model/layout.h"
#include "model/net.h"

typedef struct {
    const hkt_layout *layout; /* borrowed, as are the parameters */
    const double *params;     /* [layout->total] */
    size_t d, p, T;           /* width; width of a head; tokens of the sequence seen last */
    hkt_net_f64 *net;
    hkt_tap_f64 *tap; /* [layers] of the sequence seen last */
} hkt_scene;

/* For sequences of at most max_tokens. Zero-initialise; hkt_scene_close afterwards, also after an error. Errors:
 * HKT_ESYSTEM. */
hkt_status hkt_scene_open(hkt_scene *out, const hkt_layout *layout, const double *params, size_t max_tokens);
void hkt_scene_close(hkt_scene *s);
/* Runs the forward pass over tokens [T]. Errors: HKT_EINPUT for a token that the model does not know, HKT_ENUMERIC for
 * a logit that is not finite. */
hkt_status hkt_scene_see(hkt_scene *s, size_t T, const int32_t *tokens);
/* Opens the scene for the first n sequences of the data, sees them in turn and shows each to `visit`. what: the word of
 * the progress line on a terminal; NULL: none. */
typedef hkt_status (*hkt_scene_visit)(void *self, const hkt_scene *s);
hkt_status hkt_scene_sequences(hkt_scene *out, const hkt_layout *layout, const double *params, const hkt_dataset *data,
                               size_t n, const char *what, hkt_scene_visit visit, void *self);

/* S^H [T, T] out of the first `levels` levels, sum_l lambda_l U_l S^(l,h) U_l^T; level [T, T] is scratch. */
void hkt_scene_scores(const hkt_scene *s, size_t layer, size_t head, size_t levels, double *level, double *out);
/* Mean over the heads of S^(0,h), out [T, T]: of rank up to d, beyond what one head can be; level as above. */
void hkt_scene_mean_score(const hkt_scene *s, size_t layer, double *level, double *out);

/* lambda = softmax(theta) of a layer (1 at one level); lambda [L] out. */
void hkt_level_weights(const hkt_layout *layout, const double *params, size_t layer, double *lambda);
/* beta = sigmoid(b), the share of attention against convolution (1 when not hybrid); a level with values. */
double hkt_attention_share(const hkt_layout *layout, const double *params, size_t layer, size_t level, size_t head);
/* Head h's rows [p, d] of the query or key weights. */
const double *hkt_query_rows(const hkt_layout *layout, const double *params, size_t layer, size_t level, size_t head);
const double *hkt_key_rows(const hkt_layout *layout, const double *params, size_t layer, size_t level, size_t head);

/* S^(l,h) = q k^T / sqrt(p) of the tap's first sequence; score [T_l, T_l] out, T_l = offset[l][1]. */
void hkt_score_dense(const hkt_tap_f64 *tap, size_t level, size_t head, size_t p, double *score);

/* out [n, n] = |X| |Wq|^T |Wk| |X|^T / sqrt(p), the sum of absolute terms behind S; x [n, d], wq, wk [p, d]; work
 * [2 n p]. */
void hkt_score_size(size_t n, size_t d, size_t p, const double *x, const double *wq, const double *wk, double *work,
                    double *out);

/* out [T, T] += weight U_l s U_l^T, s [ceil(T/factor), ceil(T/factor)], factor = stride^l. */
void hkt_score_upsample(size_t T, size_t factor, double weight, const double *s, double *out);

/* s^l, at most SIZE_MAX. */
size_t hkt_level_factor(size_t stride, size_t level);

#endif

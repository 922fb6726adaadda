/* subject.h - the model that a check looks at: a private copy of the checkpoint's weights, or a seeded random model. */
#ifndef HKT_ANALYSIS_CLAIMS_SUBJECT_H
#define HKT_ANALYSIS_CLAIMS_SUBJECT_H

#include "analysis/claims/check.h"
#include "analysis/view/scene.h"

typedef struct {
    const hkt_layout *layout;
    double *params;  /* [layout->total], may be changed */
    hkt_layout *own; /* NULL: the checkpoint's */
} hkt_subject;

/* The checkpoint of the context, or a random model: d 32, 4 heads, 2 layers, 3 levels, stride 2, dynamic, hybrid,
 * causal. */
hkt_status hkt_subject_open(const hkt_verify_context *ctx, hkt_subject *out);
/* A random model of this config; theta is drawn as well, so that the levels differ in weight. */
hkt_status hkt_subject_fresh(const hkt_config *config, uint64_t seed, hkt_subject *out);
void hkt_subject_close(hkt_subject *s);

/* Head h's rows [p, d] of the query or key weights. */
const double *hkt_subject_wq(const hkt_subject *s, size_t layer, size_t level, size_t head);
const double *hkt_subject_wk(const hkt_subject *s, size_t layer, size_t level, size_t head);
/* Wk = Wq everywhere: the model then meets the condition of Prop. 3.1. */
void hkt_subject_tie(hkt_subject *s);

/* True when there is a checkpoint; otherwise the check is skipped with that reason. */
bool hkt_subject_trained(const hkt_verify_context *ctx, hkt_check_result *out);

/* Sequences to run a model of this config on: the first n of the context's data, or n random ones of T tokens.
 * Sequences are cut to T tokens and to max_len. HKT_EINPUT when the data's vocabulary is not the model's.
 * hkt_dataset_free. */
hkt_status hkt_subject_sequences(const hkt_verify_context *ctx, const hkt_config *config, size_t n, size_t T,
                                 hkt_dataset *out);
/* A scene of the subject's present weights that has seen one sequence of at most T tokens, or as many as the context
 * says. out is zero-initialised; hkt_scene_close, also after an error. */
hkt_status hkt_subject_see(const hkt_verify_context *ctx, const hkt_subject *s, size_t T, hkt_scene *out);
/* Sequences for measurements on the checkpoint: T is --tokens, else max_len for data, else 256. */
hkt_status hkt_subject_held_out(const hkt_verify_context *ctx, size_t n, hkt_dataset *out);

#endif

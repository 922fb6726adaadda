/* shares.h - first values of the learned shares, where another start than equal shares is wanted: a model that starts
 * near standard attention (all weight on level 0, attention alone) or near the convolution. Trained from there. */
#ifndef HKT_TRAIN_SHARES_H
#define HKT_TRAIN_SHARES_H

#include "base/status.h"
#include "model/layout.h"

typedef struct {
    double attention; /* beta of every level and head; 0: a half */
    double level0;    /* lambda_0, the other levels share the rest equally; 0: 1 / L */
} hkt_first_shares;

/* HKT_EUSAGE when a share is not in [0, 1) or the model has no such part: beta needs the convolution, lambda two
 * levels. */
hkt_status hkt_first_shares_check(const hkt_first_shares *s, const hkt_config *config);

/* Sets b = ln(beta / (1 - beta)) and theta_0 = ln((L - 1) lambda_0 / (1 - lambda_0)), the other theta 0 (docs/model.md
 * 2.1), of every layer. params: [layout->total]; checked shares. */
void hkt_first_shares_set(const hkt_first_shares *s, const hkt_layout *layout, double *params);

#endif

/* attention.h - softmax attention over one head of one sequence, tiled: no T x T matrix is ever stored.
 *
 * One kernel serves all fusion modes. The score of query i and key j is
 *
 *     S_ij = sum_{l < n_levels} weight[l] * <q[l] row floor(i/s^l), k[l] row floor(j/s^l)> / sqrt(p)
 *
 * (docs/model.md 2.1, step 4) with n_levels = 1, weight = 1 for dynamic and static fusion (each level is its own
 * sequence), and n_levels = L, weight = lambda in score mode. A = row softmax of S (causal: j <= i); O = A V. A score
 * 64 (double: 600) or more below the largest of its row counts as minus infinity. */
#ifndef HKT_NUM_ATTENTION_H
#define HKT_NUM_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define HKT_MAX_LEVELS 12

#define HKT_BODY "num/attention.inc.h"
#include "num/both.h"

#endif

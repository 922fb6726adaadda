/* api.h - what the functions of the public headers (include/hkt) share. They check what a caller gives, so that no
 * assertion of the floors below can fail on it, and call those. */
#ifndef HKT_API_API_H
#define HKT_API_API_H

#include <hkt/hkt.h>
#include <hkt/model.h>

#include "analysis/view/scene.h"
#include "base/status.h"
#include "model/checkpoint.h"

struct hkt_model {
    hkt_checkpoint checkpoint; /* never changed after it was read */
};

enum { HKT_API_MOST = 1 << 20 }; /* rows or columns of a caller's matrix: products of two sizes do not overflow */

/* Once per process: see hkt_init. */
void hkt_api_start(void);

/* HKT_EUSAGE when `pointer` is NULL; function and name are for the message. */
hkt_status hkt_api_given(const char *function, const char *name, const void *pointer);
/* HKT_EUSAGE unless 1 <= value <= most. */
hkt_status hkt_api_count(const char *function, const char *name, size_t value, size_t most);
/* HKT_EUSAGE unless index < n. */
hkt_status hkt_api_index(const char *function, const char *name, size_t index, size_t n);
/* HKT_EUSAGE unless rows and cols are 1 .. HKT_API_MOST, ld >= cols, and a is given; HKT_EINPUT unless all its values,
 * row by row, are finite. */
hkt_status hkt_api_matrix(const char *function, const char *name, size_t rows, size_t cols, const double *a, size_t ld);
/* q and k [n, p] of one head, as above. */
hkt_status hkt_api_head(const char *function, size_t n, size_t p, const double *q, size_t ld_q, const double *k,
                        size_t ld_k);

/* Checks model and tokens and runs the forward pass; hkt_scene_close afterwards, also after an error. */
hkt_status hkt_api_see(const char *function, const hkt_model *model, size_t T, const int32_t *tokens, hkt_scene *out);

#endif

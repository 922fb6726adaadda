/* net.c - the forward pass behind the checks of `subsumption`, in either precision. */
#include "num/real.h"

#include <math.h>

#include "analysis/claims/subsumption/subsumption.h"
#include "base/mem.h"
#include "model/net.h"

#define hkt_subsumption_forward HKT_REAL_NAME(hkt_subsumption_forward)

/* The residual stream is fl(e + y) with e = fl(embed + pos): subtracting e leaves y up to one rounding of the sum, and
 * one in double of the difference. */
static void read_output(const hkt_layout *layout, const real *params, size_t T, const int32_t *tokens,
                        const hkt_tap *tap, double *x, double *y, double *slack)
{
    size_t d = layout->config.d_model;
    for (size_t i = 0; i < T * d; i++) {
        real e = params[layout->embed + (size_t)tokens[i / d] * d + i % d] + params[layout->pos + i];
        x[i] = (double)tap->x[0][i];
        y[i] = (double)tap->hidden[i] - (double)e;
        slack[i] = (double)REAL_EPSILON * fabs((double)tap->hidden[i]) + (double)DBL_EPSILON * fabs(y[i]);
    }
}

hkt_status hkt_subsumption_forward(const hkt_layout *layout, const double *params, size_t T, const int32_t *tokens,
                                   double *x, double *y, double *slack)
{
    hkt_net *net = NULL;
    hkt_tap tap;
    real *own = NULL;
    hkt_status status;
    hkt_batch batch = {.n_seq = 1, .length = &T, .tokens = tokens};
    HKT_TRY_GOTO(status, done, hkt_alloc((void **)&own, layout->total, sizeof(real), "parameters"));
    for (size_t i = 0; i < layout->total; i++)
        own[i] = (real)params[i];
    HKT_TRY_GOTO(status, done, hkt_net_create(&net, layout, T, 1, false, true));
    HKT_TRY_GOTO(status, done, hkt_net_forward(net, own, &batch, NULL, NULL, NULL, NULL));
    HKT_TRY_GOTO(status, done, hkt_net_tap(net, 0, &tap));
    read_output(layout, own, T, tokens, &tap, x, y, slack);
done:
    hkt_net_destroy(net);
    hkt_free(own);
    return status;
}

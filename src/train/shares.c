#include "train/shares.h"

#include "base/elementary.h"

hkt_status hkt_first_shares_check(const hkt_first_shares *s, const hkt_config *config)
{
    if (!(s->attention >= 0 && s->attention < 1))
        return hkt_fail(HKT_EUSAGE, "first share of attention: expected 0 or more, below 1, found %g", s->attention);
    if (!(s->level0 >= 0 && s->level0 < 1))
        return hkt_fail(HKT_EUSAGE, "first weight of level 0: expected 0 or more, below 1, found %g", s->level0);
    if (s->attention > 0 && !config->hybrid)
        return hkt_fail(HKT_EUSAGE, "first share of attention: expected a hybrid model, found none");
    if (s->level0 > 0 && config->levels < 2)
        return hkt_fail(HKT_EUSAGE, "first weight of level 0: expected at least 2 levels, found %zu", config->levels);
    return HKT_OK;
}

void hkt_first_shares_set(const hkt_first_shares *s, const hkt_layout *layout, double *params)
{
    const double others = (double)layout->config.levels - 1;
    for (size_t i = 0; i < layout->n_params; i++) {
        const hkt_param *p = &layout->params[i];
        for (size_t k = 0; p->role == HKT_ROLE_BETA && s->attention > 0 && k < p->count; k++)
            params[p->offset + k] = hkt_log(s->attention / (1 - s->attention));
        if (p->role == HKT_ROLE_THETA && s->level0 > 0)
            params[p->offset] = hkt_log(others * s->level0 / (1 - s->level0));
    }
}

#include "train/ablate.h"

#include <string.h>

static bool is_fixed(const hkt_ablation *a, const hkt_param *p)
{
    return (p->role == HKT_ROLE_DOWN && a->fixed_downsampling) || (p->role == HKT_ROLE_BETA && a->no_attention);
}

hkt_status hkt_ablation_check(const hkt_ablation *a, const hkt_config *config)
{
    if (a->fixed_downsampling && config->levels < 2)
        return hkt_fail(HKT_EUSAGE, "fixed downsampling: expected at least 2 levels, found %zu", config->levels);
    if (a->no_attention && !config->hybrid)
        return hkt_fail(HKT_EUSAGE, "no attention: expected a hybrid model, whose convolution is left, found none");
    return HKT_OK;
}

void hkt_ablation_fix(const hkt_ablation *a, hkt_layout *layout)
{
    for (size_t i = 0; i < layout->n_params; i++)
        if (is_fixed(a, &layout->params[i]))
            layout->params[i].decay = false;
}

void hkt_ablation_start(const hkt_ablation *a, const hkt_layout *layout, double *params)
{
    for (size_t i = 0; i < layout->n_params; i++) {
        const hkt_param *p = &layout->params[i];
        for (size_t k = 0; p->role == HKT_ROLE_BETA && a->no_attention && k < p->count; k++)
            params[p->offset + k] = HKT_NO_ATTENTION_LOGIT;
    }
}

void hkt_ablation_mask(const hkt_ablation *a, const hkt_layout *layout, float *grads)
{
    for (size_t i = 0; i < layout->n_params; i++)
        if (is_fixed(a, &layout->params[i]))
            memset(grads + layout->params[i].offset, 0, layout->params[i].count * sizeof *grads);
}

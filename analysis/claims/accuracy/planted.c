#include "analysis/claims/accuracy/accuracy.h"

hkt_runs hkt_plant_runs(const hkt_planted *p, hkt_runs_row run[HKT_PLANTED_RUNS])
{
    static const char *const seed[HKT_PLANTED_SEEDS] = {"0", "1", "2", "3", "4"};
    static const double noise[HKT_PLANTED_SEEDS] = {-0.0002, 0.00005, 0.00015, -0.0001, 0.0001};
    const struct {
        const char *model, *setting;
        double accuracy, sign;
    } planted[HKT_PLANTED_SIDES] = {{"hkt", "main", p->hkt, 1},           {"mha", "main", p->mha, -0.2},
                                    {"mha", "matched", p->matched, 0.1},  {"hkt", "levels-1", p->one_level, -0.3},
                                    {"hkt", "no-conv", p->other, 0.4},    {"hkt", "static", p->other, 0.2},
                                    {"hkt", "fixed-down", p->other, -0.5}};
    for (size_t i = 0; i < HKT_PLANTED_RUNS; i++) {
        size_t k = i / HKT_PLANTED_SEEDS, s = i % HKT_PLANTED_SEEDS;
        run[i] = (hkt_runs_row){.task = "listops",
                                .model = planted[k].model,
                                .setting = planted[k].setting,
                                .seed = seed[s],
                                .config = planted[k].setting,
                                .accuracy = planted[k].accuracy + planted[k].sign * noise[s],
                                .majority = 0.16,
                                .n = 1000000,
                                .reproducible = true};
    }
    return (hkt_runs){.run = run, .n = HKT_PLANTED_RUNS};
}

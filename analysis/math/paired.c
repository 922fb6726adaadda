#include "analysis/math/paired.h"

#include <math.h>

#include "analysis/math/multiple.h"

hkt_paired hkt_paired_difference(size_t n, const unsigned char *before, const unsigned char *after)
{
    const double z = 1.959963984540054; /* 97.5 % point of the standard normal law */
    size_t gained = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        gained += after[i] && !before[i];
        lost += before[i] && !after[i];
    }
    double N = (double)n, sum = (double)(gained + lost), value = ((double)gained - (double)lost) / N;
    double half = z * sqrt(fmax(0, sum - N * value * value)) / N;
    return (hkt_paired){value, value - half, value + half, hkt_mcnemar(gained, lost)};
}

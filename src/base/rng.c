#include "base/rng.h"

#include <math.h>
#include <Random123/philox.h>

#include "base/elementary.h"
#include "base/status.h"

void hkt_rng_block(uint64_t seed, uint32_t stream, uint32_t sub, uint64_t counter, uint32_t out[4])
{
    philox4x32_ctr_t c = {{(uint32_t)counter, (uint32_t)(counter >> 32), stream, sub}};
    philox4x32_key_t k = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t r = philox4x32(c, k); /* ten rounds */
    for (int i = 0; i < 4; i++)
        out[i] = r.v[i];
}

hkt_rng hkt_rng_make(uint64_t seed, uint32_t stream, uint32_t sub)
{
    return (hkt_rng){.seed = seed, .stream = stream, .sub = sub};
}

uint32_t hkt_rng_u32(hkt_rng *r)
{
    if (r->left == 0) {
        hkt_rng_block(r->seed, r->stream, r->sub, r->counter++, r->word);
        r->left = 4;
    }
    return r->word[4 - r->left--];
}

uint64_t hkt_rng_u64(hkt_rng *r)
{
    uint64_t low = hkt_rng_u32(r);
    return low | (uint64_t)hkt_rng_u32(r) << 32;
}

double hkt_rng_uniform(hkt_rng *r)
{
    return (double)(hkt_rng_u64(r) >> 11) * 0x1p-53;
}

uint64_t hkt_rng_below(hkt_rng *r, uint64_t n)
{
    HKT_ASSERT(n >= 1);
    /* 2^64 mod n values too many: refusing the smallest leaves a multiple of n. */
    uint64_t x, refused = (0 - n) % n;
    do
        x = hkt_rng_u64(r);
    while (x < refused);
    return x % n;
}

double hkt_rng_normal(hkt_rng *r)
{
    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    /* Box and Muller (1958); 1 - u lies in (0, 1], so the logarithm is finite. */
    double radius = sqrt(-2.0 * hkt_log(1.0 - hkt_rng_uniform(r))), sine, cosine;
    hkt_sincos(hkt_rng_uniform(r), &sine, &cosine);
    r->spare = radius * sine;
    r->has_spare = 1;
    return radius * cosine;
}

void hkt_rng_shuffle(hkt_rng *r, size_t *index, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)hkt_rng_below(r, i), t = index[i - 1];
        index[i - 1] = index[j];
        index[j] = t;
    }
}

/* rng.h - counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011) from Random123.
 *
 * A generator is a pure function of (seed, stream, counter): the same everywhere, in any order, with any number of
 * threads. Streams keep uses apart; each use has its own constant below. */
#ifndef HKT_BASE_RNG_H
#define HKT_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

enum {
    HKT_STREAM_INIT = 1,    /* initial weights */
    HKT_STREAM_SHUFFLE = 2, /* order of an epoch */
    HKT_STREAM_DROPOUT = 3,
    HKT_STREAM_DATA = 4,      /* generated data sets */
    HKT_STREAM_BOOTSTRAP = 5, /* resampling */
    HKT_STREAM_VERIFY = 6,    /* random models, laws, controls of hkt-verify */
    HKT_STREAM_BENCH = 7,
    HKT_STREAM_TEST = 8
};

/* Default of every --seed option. */
#define HKT_DEFAULT_SEED 20260408u

typedef struct {
    uint64_t seed;
    uint32_t stream, sub;
    uint64_t counter; /* next block */
    uint32_t word[4];
    unsigned left; /* words of the block not yet used */
    double spare;  /* second normal of a Box-Muller pair */
    int has_spare;
} hkt_rng;

/* One block of four words: key = seed, counter = (counter, stream, sub). Stateless. */
void hkt_rng_block(uint64_t seed, uint32_t stream, uint32_t sub, uint64_t counter, uint32_t out[4]);

/* A sequential generator over blocks 0, 1, 2, ... of (seed, stream, sub). */
hkt_rng hkt_rng_make(uint64_t seed, uint32_t stream, uint32_t sub);

uint32_t hkt_rng_u32(hkt_rng *r);
uint64_t hkt_rng_u64(hkt_rng *r);
/* Uniform in [0, 1), 53 bits. */
double hkt_rng_uniform(hkt_rng *r);
/* Uniform in 0..n-1 without bias (rejection); n >= 1. */
uint64_t hkt_rng_below(hkt_rng *r, uint64_t n);
/* Standard normal (Box-Muller). */
double hkt_rng_normal(hkt_rng *r);
/* Fisher-Yates: a random permutation of index[0..n-1], in place. */
void hkt_rng_shuffle(hkt_rng *r, size_t *index, size_t n);

#endif

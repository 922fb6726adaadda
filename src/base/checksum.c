#include "base/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY /* the size of the state */
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= sizeof(hkt_checksum), "room for the state");
_Static_assert(_Alignof(XXH3_state_t) <= _Alignof(hkt_checksum), "alignment of the state");

void hkt_checksum_start(hkt_checksum *c)
{
    XXH3_INITSTATE((XXH3_state_t *)c->state);
    XXH3_64bits_reset((XXH3_state_t *)c->state);
}

void hkt_checksum_add(hkt_checksum *c, const void *bytes, size_t n)
{
    if (n > 0)
        XXH3_64bits_update((XXH3_state_t *)c->state, bytes, n);
}

uint64_t hkt_checksum_end(const hkt_checksum *c)
{
    return XXH3_64bits_digest((const XXH3_state_t *)c->state);
}

uint64_t hkt_checksum_of(const void *bytes, size_t n)
{
    return XXH3_64bits(n > 0 ? bytes : "", n);
}

void hkt_checksum_format(char out[HKT_CHECKSUM_DIGITS + 1], uint64_t sum)
{
    snprintf(out, HKT_CHECKSUM_DIGITS + 1, "%016" PRIx64, sum);
}

const char *hkt_checksum_parse(const char *text, uint64_t *sum)
{
    static const char digits[] = "0123456789abcdef";
    *sum = 0;
    for (int i = 0; i < HKT_CHECKSUM_DIGITS; i++, text++) {
        const char *at = *text ? strchr(digits, *text) : NULL;
        if (!at)
            return NULL;
        *sum = *sum << 4 | (uint64_t)(at - digits);
    }
    return text;
}

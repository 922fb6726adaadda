/* checksum.h - the only way to checksums: XXH3 with 64 bits and seed 0 (Collet; library xxhash). It finds damage, not
 * forgery. */
#ifndef HKT_BASE_CHECKSUM_H
#define HKT_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* A sum over bytes that come in pieces; the pieces' sizes do not matter. */
typedef struct {
    _Alignas(64) unsigned char state[640];
} hkt_checksum;

enum { HKT_CHECKSUM_DIGITS = 16 };

void hkt_checksum_start(hkt_checksum *c);
void hkt_checksum_add(hkt_checksum *c, const void *bytes, size_t n);
uint64_t hkt_checksum_end(const hkt_checksum *c);

/* The sum of n bytes at once. */
uint64_t hkt_checksum_of(const void *bytes, size_t n);

/* 16 hexadecimal digits in lower case and a final zero byte. */
void hkt_checksum_format(char out[HKT_CHECKSUM_DIGITS + 1], uint64_t sum);
/* Reads what hkt_checksum_format writes, at the start of `text`; NULL when it is something else, otherwise the place
 * behind it. */
const char *hkt_checksum_parse(const char *text, uint64_t *sum);

#endif

/* modular.h - ranks proved by integer arithmetic modulo the prime P = 2^61 - 1. A double is m 2^e and 2 has an inverse
 * modulo P, so every matrix of doubles has a residue, and sums and products of doubles have exact residues where
 * floating-point arithmetic would round. A minor that is not 0 modulo P is not 0: the rank modulo P is a proved lower
 * bound of the rank of the exact matrix (docs/theory.md, "psd", exact ranks). */
#ifndef HKT_ANALYSIS_MATH_MODULAR_H
#define HKT_ANALYSIS_MATH_MODULAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Residue of a finite x, in 0..P-1; 0 for NaN and infinities, so that they prove nothing. */
uint64_t hkt_modular_of(double x);
/* out [n]: residues of a [n]. */
void hkt_modular_from(size_t n, const double *a, uint64_t *out);
/* c [m, n] = a b^T modulo P, a [m, k], b [n, k], rows packed. */
void hkt_modular_product(size_t m, size_t n, size_t k, const uint64_t *a, const uint64_t *b, uint64_t *c);
/* *rank of the residues a [m, n], at most the rank of the matrix that they come from. Rows are taken in their order and
 * no more of them than are needed for rank n. a is not changed. Cost O(rows n^2). Errors: HKT_ESYSTEM. */
hkt_status hkt_modular_rank(size_t m, size_t n, const uint64_t *a, size_t *rank);

#endif

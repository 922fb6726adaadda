/* signature.h - says what a file is when it is not what was asked for. */
#ifndef HKT_BASE_SIGNATURE_H
#define HKT_BASE_SIGNATURE_H

#include <stddef.h>

#include "base/status.h"

/* Fails with HKT_EINPUT: "PATH: not WHAT: expected EXPECTED, found KIND, first bytes '...'". KIND is what the first
 * bytes are known to be ("a Git LFS pointer ..."), or "another format". what: "a safetensors file". n: bytes at hand;
 * 64 are enough. */
hkt_status hkt_not_a(const char *path, const char *what, const char *expected, const void *bytes, size_t n);

#endif

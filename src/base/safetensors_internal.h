/* safetensors_internal.h - what the reader and the writer of safetensors.h share. */
#ifndef HKT_BASE_SAFETENSORS_INTERNAL_H
#define HKT_BASE_SAFETENSORS_INTERNAL_H

#include "base/safetensors.h"

/* Metadata: 16 digits for the header, then a space and 16 digits for each tensor in the order of the data. The sum of
 * the header is over its length, its bytes and its padding, with '0' for its own 16 digits. */
#define HKT_CHECKSUM_KEY   "hkt.xxh3"
#define HKT_CHECKSUM_START "\"" HKT_CHECKSUM_KEY "\":\""

/* Elements [first, first + n) of t, as they are in the file. */
typedef hkt_status hkt_tensor_take(const hkt_tensor *t, size_t first, size_t n, const char *bytes, void *out);
/* Gives all elements of t to `take`, piece by piece, then compares the checksum. */
hkt_status hkt_tensor_each(const hkt_tensor *t, hkt_tensor_take *take, void *out);
/* Gives elements [begin, begin + n) to `take`, which counts them from 0; no checksum is compared. */
hkt_status hkt_tensor_range(const hkt_tensor *t, size_t begin, size_t n, hkt_tensor_take *take, void *out);

#endif

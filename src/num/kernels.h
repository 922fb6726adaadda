/* kernels.h - the other kernels of a training step, each over a contiguous range of rows so that the caller can split
 * work between threads. Every fast kernel NAME has a naive NAME_ref with the same contract. Row-major, no aliasing
 * unless stated. Wide loops are compiled for several instruction sets and chosen at run time. */
#ifndef HKT_NUM_KERNELS_H
#define HKT_NUM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Instruction set in use: "avx512", "avx2" or "generic" on x86-64, "neon" on aarch64. HKT_ISA=generic|avx2|avx512 in
 * the environment lowers it; any other value, and a set that the processor lacks, is ignored. */
const char *hkt_isa(void);

#define HKT_LAYERNORM_EPS 1e-5
/* gelu(x) = x/2 (1 + tanh(HKT_GELU_SCALE (x + HKT_GELU_CUBIC x^3))), scale = sqrt(2/pi). */
#define HKT_GELU_SCALE 0.79788456080286535588
#define HKT_GELU_CUBIC 0.044715

#define HKT_BODY "num/kernels.inc.h"
#include "num/both.h"

#endif

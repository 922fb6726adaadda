/* table.c - the table of this precision and instruction set. */
#include "num/simd/simd.h"

const hkt_simd_table I(table) = {
#define ENTRY(type, name, arguments) .name = I(name),
    HKT_SIMD_FUNCTIONS(ENTRY)
#undef ENTRY
};

/* real.h - one source, two precisions. A source that includes this file is compiled twice, with HKT_REAL_F64 defined or
 * not (as FFTW does). It writes `real` for the type and plain names; what it defines for other files is NAME_f32 and
 * NAME_f64, since the header that declares NAME renames it:
 *
 *     #define hkt_attention_forward HKT_REAL_NAME(hkt_attention_forward)
 *
 * Sources of one precision (programs, analysis) write NAME_f32 or NAME_f64. Their headers declare both, by including
 * themselves once per precision through both.h. `make lint` finds a name that is not renamed. */
#ifndef HKT_NUM_REAL_H
#define HKT_NUM_REAL_H

#include <float.h>

#undef HKT_REAL_NAME
#ifdef HKT_REAL_F64
typedef double real;
#define HKT_REAL_NAME(name) name##_f64
#define REAL_EPSILON        DBL_EPSILON
#define REAL_C(x)           x
#else
typedef float real;
#define HKT_REAL_NAME(name) name##_f32
#define REAL_EPSILON        FLT_EPSILON
#define REAL_C(x)           x##f
#endif

#endif

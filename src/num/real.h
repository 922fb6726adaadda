/* real.h - one source, two precisions. A source that includes this file is compiled twice, with HKT_REAL_F64 defined or
 * not (as FFTW does); every external name it defines is written R(name) and becomes name_f32 or name_f64.
 *
 * Headers of such modules declare both sets by including their NAME.inc.h body twice:
 *     #define HKT_BODY "num/attention.inc.h"
 *     #include "num/both.h"
 */
#ifndef HKT_NUM_REAL_H
#define HKT_NUM_REAL_H

#include <float.h>

#ifdef HKT_REAL_F64
typedef double real;
#define R(name)      name##_f64
#define REAL_EPSILON DBL_EPSILON
#define REAL_C(x)    x
#else
typedef float real;
#define R(name)      name##_f32
#define REAL_EPSILON FLT_EPSILON
#define REAL_C(x)    x##f
#endif

#endif

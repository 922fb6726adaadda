/* both.h - declares the body named by HKT_BODY for float (NAME_f32) and double (NAME_f64). No include guard: used once
 * by every dual-precision header. Bodies write REAL for the scalar type and RN(name) for names. */
#define REAL     float
#define RN(name) name##_f32
#include HKT_BODY
#undef REAL
#undef RN
#define REAL     double
#define RN(name) name##_f64
#include HKT_BODY
#undef REAL
#undef RN
#undef HKT_BODY

/* both.h - declares the part of header HKT_BODY that stands after its `#elif defined HKT_BODY` for float (NAME_f32) and
 * for double (NAME_f64). No include guard: used once by every such header. See real.h. */
#pragma push_macro("HKT_REAL_NAME")
#pragma push_macro("real")
#undef HKT_REAL_NAME
#undef real
#define HKT_REAL_NAME(name) name##_f32
#define real                float
#include HKT_BODY
#undef HKT_REAL_NAME
#undef real
#define HKT_REAL_NAME(name) name##_f64
#define real                double
#include HKT_BODY
#pragma pop_macro("real")
#pragma pop_macro("HKT_REAL_NAME")
#undef HKT_BODY
/* Other sources name the precision: for them every name stands for itself. */
#ifndef HKT_REAL_NAME
#define HKT_REAL_NAME(name) name
#endif

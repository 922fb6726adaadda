/* certificate.h - certificates of verdicts, which the program hkt-check decides by exact arithmetic alone. Format and
 * theorems: docs/certificates.md. Written only when the context names a directory. */
#ifndef HKT_ANALYSIS_CLAIMS_CERTIFICATE_H
#define HKT_ANALYSIS_CLAIMS_CERTIFICATE_H

#include "analysis/claims/check.h"
#include "base/safetensors.h"

/* Matrices of one certificate, borrowed. Zero-initialise. */
enum { HKT_CERTIFICATE_MATRICES = 64, HKT_CERTIFICATE_NAME = 24, HKT_FRACTION = 128 };
typedef struct {
    size_t n;
    char name[HKT_CERTIFICATE_MATRICES][HKT_CERTIFICATE_NAME];
    hkt_tensor_out tensor[HKT_CERTIFICATE_MATRICES];
} hkt_certificate_file;

/* Adds the matrix v [rows, cols]: "x.2", or "lambda" for level SIZE_MAX. */
void hkt_certificate_add(hkt_certificate_file *f, const char *role, size_t level, size_t rows, size_t cols,
                         const double *v);
/* Writes DIR/NAME.safetensors and then DIR/NAME.cert with the one claim; `about` is for people. A directory that is
 * missing is made. Errors: HKT_ESYSTEM. */
hkt_status hkt_certificate_write(const hkt_certificate_file *f, const hkt_verify_context *ctx, const char *name,
                                 const char *about, size_t stride, const char *claim);

/* value > 0 as a fraction of two whole numbers with three or four digits that are not 0, away from the exact value by
 * up to 0.2 %: above it (up) or below. A value below 1e-90 becomes 0 or 1e-90. */
void hkt_certificate_fraction(double value, bool up, char out[HKT_FRACTION]);

/* The largest bound in [0, value] that hkt-check can be expected to accept for the distance of a [m, n] from the
 * matrices of rank below k, and the witness for it: w [n, *columns], room for n * min(m, n). bound = 0: none. */
hkt_status hkt_certificate_distance(size_t m, size_t n, const double *a, size_t k, double *w, size_t *columns,
                                    double *bound);

#endif

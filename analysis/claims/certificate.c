#include "analysis/claims/certificate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/math/linalg.h"
#include "base/file.h"
#include "base/mem.h"

void hkt_certificate_add(hkt_certificate_file *f, const char *role, size_t level, size_t rows, size_t cols,
                         const double *v)
{
    HKT_ASSERT(f->n < HKT_CERTIFICATE_MATRICES);
    char *name = f->name[f->n];
    snprintf(name, HKT_CERTIFICATE_NAME, level == SIZE_MAX ? "%s" : "%s.%zu", role, level);
    f->tensor[f->n++] = (hkt_tensor_out){.name = name, .dtype = HKT_F64, .ndim = 2, .shape = {rows, cols}, .data = v};
}

/* The bytes are the coefficients of a polynomial, the first the highest, at 1000000007 modulo 2^61 - 1. */
static uint64_t sum_of(const hkt_tensor_out *t)
{
    const unsigned char *bytes = t->data;
    uint64_t h = 0;
    for (size_t i = 0; i < t->shape[0] * t->shape[1] * sizeof(double); i++)
        h = (uint64_t)(((unsigned __int128)h * 1000000007 + bytes[i]) % (((uint64_t)1 << 61) - 1));
    return h;
}

static hkt_status write_text(const hkt_certificate_file *f, const char *path, const char *name, const char *about,
                             size_t stride, const char *claim)
{
    hkt_out *out;
    HKT_TRY(hkt_out_open(&out, path));
    FILE *text = hkt_out_stream(out);
    fprintf(text, "hkt-certificate 1\nabout %s\nstride %zu\n", about, stride);
    for (size_t i = 0; i < f->n; i++)
        fprintf(text, "matrix %s %s.safetensors %s %016" PRIx64 "\n", f->name[i], name, f->name[i],
                sum_of(&f->tensor[i]));
    fprintf(text, "claim %s\nend\n", claim);
    return hkt_out_commit(out);
}

hkt_status hkt_certificate_write(const hkt_certificate_file *f, const hkt_verify_context *ctx, const char *name,
                                 const char *about, size_t stride, const char *claim)
{
    char file[256];
    char *path = NULL;
    HKT_TRY(hkt_mkdir(ctx->certificates));
    snprintf(file, sizeof file, "%s.safetensors", name);
    HKT_TRY(hkt_path_join(&path, ctx->certificates, file));
    hkt_status status = hkt_safetensors_write(path, f->tensor, f->n, NULL);
    hkt_free(path);
    HKT_TRY(status);
    snprintf(file, sizeof file, "%s.cert", name);
    HKT_TRY(hkt_path_join(&path, ctx->certificates, file));
    status = write_text(f, path, name, about, stride, claim);
    hkt_free(path);
    return status;
}

void hkt_certificate_fraction(double value, bool up, char out[HKT_FRACTION])
{
    int places = 3; /* behind the point */
    for (; places < 90 && value < 1; places++)
        value *= 10;
    double shifted = value * 1000; /* the 0.1 % is for the rounding of the products */
    snprintf(out, HKT_FRACTION, "%.0f/1%0*d", up ? ceil(shifted * 1.001) : floor(shifted * 0.999), places, 0);
}

hkt_status hkt_certificate_distance(size_t m, size_t n, const double *a, size_t k, double *w, size_t *columns,
                                    double *bound)
{
    size_t r = m < n ? m : n;
    double *copy = NULL, tail = 0;
    HKT_TRY(HKT_NEW(&copy, m * n + r * (m + n + 1)));
    double *sigma = copy + m * n, *vt = sigma + r, *u = vt + r * n;
    memcpy(copy, a, m * n * sizeof *a);
    hkt_status status = hkt_svd(m, n, copy, sigma, u, vt);
    *columns = 0;
    *bound = 0;
    /* Squares of smaller values drown in the rounding of the witness. */
    while (status == HKT_OK && *columns < r && sigma[*columns] > 1e-6 * sigma[0])
        ++*columns;
    for (size_t j = 0; j < *columns; j++)
        for (size_t i = 0; i < n; i++)
            w[i * *columns + j] = vt[j * n + i];
    for (size_t j = k - 1; j < *columns; j++)
        tail += fmax(0, sigma[j] * sigma[j] - 1e-13 * sigma[0] * sigma[0]);
    *bound = 0.999 * sqrt(tail);
    hkt_free(copy);
    return status;
}

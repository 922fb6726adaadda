#include "base/signature.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 16, QUOTED = 4 * SHOWN + 4 };

/* How files begin that people have taken for a model. */
static const struct {
    const char *start;
    size_t size;
    const char *what;
} known[] = {
    {"version https://git-lfs", 23, "a Git LFS pointer (fetch the file itself: git lfs pull)"},
    {"GGUF", 4, "a GGUF model"},
    {"ggml", 4, "a GGML model"},
    {"lmgg", 4, "a GGML model"},
    {"24ka", 4, "a llama2.c model"},
    {"PK\3\4", 4, "a zip archive (PyTorch's .pt, numpy's .npz)"},
    {"\x80\x02", 2, "a Python pickle (PyTorch's old .pt)"},
    {"\x80\x03", 2, "a Python pickle"},
    {"\x80\x04", 2, "a Python pickle"},
    {"\x80\x05", 2, "a Python pickle"},
    {"\x93NUMPY", 6, "a .npy array"},
    {"\x89HDF", 4, "an HDF5 file"},
    {"\x1f\x8b", 2, "a gzip file"},
    {"\xfd"
     "7zXZ",
     5, "an xz file"},
    {"<!doctype", 9, "an HTML page (of a failed download?)"},
    {"<html", 5, "an HTML page (of a failed download?)"},
};

static const char *kind_of(const char *bytes, size_t n)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n >= known[i].size && strncasecmp(bytes, known[i].start, known[i].size) == 0)
            return known[i].what;
    return "another format";
}

static void quote(char out[QUOTED], const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && i < SHOWN; i++)
        if (isprint((unsigned char)bytes[i]))
            *out++ = bytes[i];
        else
            out += sprintf(out, "\\x%02x", (unsigned)(unsigned char)bytes[i]);
    strcpy(out, n > SHOWN ? "..." : "");
}

hkt_status hkt_not_a(const char *path, const char *what, const char *expected, const void *bytes, size_t n)
{
    char first[QUOTED];
    quote(first, bytes, n);
    return hkt_fail(HKT_EINPUT, "%s: not %s: expected %s, found %s, first bytes '%s'", path, what, expected,
                    kind_of(bytes, n), first);
}

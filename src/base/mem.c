#include "base/mem.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static atomic_size_t live;
static atomic_size_t fail_in; /* places until the injected failure; 0: off */
static atomic_bool failed;

bool hkt_mul_size(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool hkt_add_size(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

bool hkt_fault(int error)
{
    size_t n = atomic_load(&fail_in);
    while (n != 0 && !atomic_compare_exchange_weak(&fail_in, &n, n - 1))
        ;
    if (n != 1)
        return false;
    atomic_store(&failed, true);
    errno = error;
    return true;
}

hkt_status hkt_alloc(void **out, size_t count, size_t size, const char *what)
{
    size_t bytes, padded;
    *out = NULL;
    if (!hkt_mul_size(count, size, &bytes) || !hkt_add_size(bytes, ALIGNMENT, &padded))
        return hkt_fail(HKT_ESYSTEM, "out of memory: %zu x %zu bytes%s%s", count, size, what ? " for " : "",
                        what ? what : "");
    /* aligned_alloc wants a multiple of the alignment; at least one unit, so that 0 bytes give a pointer. */
    padded -= bytes != 0 && bytes % ALIGNMENT == 0 ? ALIGNMENT : bytes % ALIGNMENT;
    void *p = hkt_fault(ENOMEM) ? NULL : aligned_alloc(ALIGNMENT, padded);
    if (!p)
        return hkt_fail(HKT_ESYSTEM, "out of memory: %zu bytes%s%s", bytes, what ? " for " : "", what ? what : "");
    memset(p, 0, bytes);
    atomic_fetch_add(&live, 1);
    *out = p;
    return HKT_OK;
}

void hkt_free(void *p)
{
    if (!p)
        return;
    atomic_fetch_sub(&live, 1);
    free(p);
}

hkt_status hkt_strdup(char **out, const char *s)
{
    void *p;
    size_t n = strlen(s) + 1;
    *out = NULL;
    HKT_TRY(hkt_alloc(&p, n, 1, "string"));
    *out = memcpy(p, s, n);
    return HKT_OK;
}

/* Chained from here, so that leak checkers see that the strings are still in use; not counted by hkt_mem_live, since
 * nobody frees them. */
typedef struct kept {
    struct kept *next;
    char text[];
} kept;
static kept *all_kept;

hkt_status hkt_strdup_kept(char **out, const char *s)
{
    size_t n = strlen(s) + 1;
    kept *k = malloc(sizeof *k + n);
    *out = NULL;
    if (!k)
        return hkt_fail(HKT_ESYSTEM, "out of memory: %zu bytes for a string", n);
    k->next = all_kept;
    all_kept = k;
    *out = memcpy(k->text, s, n);
    return HKT_OK;
}

void hkt_mem_fail_at(size_t n)
{
    atomic_store(&failed, false);
    atomic_store(&fail_in, n);
}

bool hkt_mem_failed(void)
{
    return atomic_load(&failed);
}

size_t hkt_mem_live(void)
{
    return atomic_load(&live);
}

/* mem.h - checked, zeroed, 64-byte aligned allocation, and an injector of system failures for tests. */
#ifndef HKT_BASE_MEM_H
#define HKT_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* out = a * b; false (and out untouched) when the product overflows size_t. */
bool hkt_mul_size(size_t a, size_t b, size_t *out);
bool hkt_add_size(size_t a, size_t b, size_t *out);

/* Allocates count * size zeroed bytes, aligned to 64. *out owns it; free with hkt_free. count * size = 0 gives a
 * valid pointer. Errors: HKT_ESYSTEM with the size and `what` it is for (NULL: the caller says, hkt_fail_context); *out
 * is then NULL. Thread-safe. */
hkt_status hkt_alloc(void **out, size_t count, size_t size, const char *what);

/* HKT_NEW(&pointer, n): n zeroed elements of *pointer. */
#define HKT_NEW(pp, count) hkt_alloc((void **)(pp), (count), sizeof **(pp), NULL)

/* Accepts NULL. */
void hkt_free(void *p);

/* Duplicates a string; free with hkt_free. */
hkt_status hkt_strdup(char **out, const char *s);

/* A copy that lives as long as the process. Not thread-safe. */
hkt_status hkt_strdup_kept(char **out, const char *s);

/* A place where the system may fail: hkt_alloc has one, as have creating, writing, syncing and renaming a file. True
 * when a test wants the failure here; errno is then `error`. Thread-safe. */
bool hkt_fault(int error);

/* Tests only: the n-th place from now (1 = the next) fails once; 0 turns injection off. */
void hkt_mem_fail_at(size_t n);
/* Tests only: true when an injected failure has happened since the last hkt_mem_fail_at. */
bool hkt_mem_failed(void);
/* Tests only: blocks allocated by hkt_alloc and not freed. */
size_t hkt_mem_live(void);

#endif

#include "num/resources.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "num/blas.h"
#include "num/isa.h"

/* --- threads ------------------------------------------------------------------------------------------------------ */

typedef struct {
    pthread_mutex_t lock; /* held until all are made */
} gate;

static void *wait_at(void *arg)
{
    gate *g = arg;
    pthread_mutex_lock(&g->lock);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* Makes n threads at the same time and ends them. */
static hkt_status try_threads(size_t n)
{
    gate g = {PTHREAD_MUTEX_INITIALIZER};
    pthread_t *thread;
    size_t made = 0;
    int error = 0;
    HKT_TRY(HKT_NEW(&thread, n));
    pthread_mutex_lock(&g.lock);
    while (made < n && (error = pthread_create(&thread[made], NULL, wait_at, &g)) == 0)
        made++;
    pthread_mutex_unlock(&g.lock);
    for (size_t i = 0; i < made; i++)
        pthread_join(thread[i], NULL);
    hkt_free(thread);
    if (error == 0)
        return HKT_OK;
    return hkt_fail(HKT_ESYSTEM,
                    "cannot make threads: expected %zu, found %zu: %s (see --threads, ulimit -u, ulimit -v)", n + 1,
                    made + 1, strerror(error));
}

/* --- address space ------------------------------------------------------------------------------------------------ */

/* What OpenBLAS 0.3 asks for on x86-64, more than elsewhere. */
#define WORK_AREA ((size_t)(32 << 22) + 4096)

/* OpenBLAS's own, exported but in no header; NULL where they are not. */
extern void *blas_memory_alloc(int position) __attribute__((weak));
extern void blas_memory_free(void *area) __attribute__((weak));

enum { MOST_AREAS = 32 }; /* its table of them may have no more */

/* Takes areas, which OpenBLAS keeps and gives to its calls. */
static void take_areas(size_t n)
{
    void *areas[MOST_AREAS];
    if (!blas_memory_alloc || !blas_memory_free)
        return;
    if (n > MOST_AREAS)
        n = MOST_AREAS;
    for (size_t i = 0; i < n; i++)
        areas[i] = blas_memory_alloc(0);
    for (size_t i = 0; i < n; i++)
        blas_memory_free(areas[i]);
}

static hkt_status try_areas(size_t n)
{
    size_t size;
    void *p = MAP_FAILED;
    if (hkt_mul_size(n, WORK_AREA, &size))
        p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) {
        munmap(p, size);
        take_areas(n);
        return HKT_OK;
    }
    return hkt_fail(HKT_ESYSTEM,
                    "out of memory: OpenBLAS needs %zu bytes of address space for each of %zu threads (see --threads, "
                    "ulimit -v)",
                    WORK_AREA, n);
}

hkt_status hkt_resources_check(void)
{
    const size_t n = hkt_threads();
    HKT_TRY(hkt_isa_check());
    if (n > 1)
        HKT_TRY(try_threads(n - 1));
    return try_areas(n);
}

/* provenance.h - what made a result: command line, version, commit, seed, threads, libraries, BLAS core, arithmetic,
 * machine. */
#ifndef HKT_BASE_PROVENANCE_H
#define HKT_BASE_PROVENANCE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    char *command; /* quoted command line; lives as long as the process; NULL: no memory */
    uint64_t seed;
    size_t threads;
    const char *blas_core; /* filled by the caller from num/blas.h; base does not know BLAS */
} hkt_provenance;

extern const char hkt_version[]; /* "0.1.0" */
extern const char hkt_commit[];  /* commit of the source, "unknown" outside git, "+" appended when modified */

/* "reproducible": training, evaluation, scores and their moments have the same bits on every processor. Results from
 * before that do not name an arithmetic; tables that mark them say "old". */
extern const char hkt_arithmetic[];

/* Remembers argv as the command; fills the rest with 0 / "". Call first in main. */
hkt_provenance hkt_provenance_make(int argc, char **argv);
/* One word of a command for bash, in printable ASCII: as it is, in '...', or in $'...'. */
void hkt_quote_word(FILE *f, const char *s);
/* New JSON object with these, the arithmetic, the machine and library versions. Caller decrefs. NULL on no memory. */
json_t *hkt_provenance_json(const hkt_provenance *p);

#endif

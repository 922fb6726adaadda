/* tsv.h - tables. Every TSV starts with `#` lines that say how to remake it (command, version, commit, seed, threads,
 * BLAS core), then one header line, rows, a line `# xxh3: CHECKSUM` of all before it, and a last line `# ok`. A file
 * without `# ok` is incomplete. */
#ifndef HKT_BASE_TSV_H
#define HKT_BASE_TSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/provenance.h"
#include "base/status.h"

typedef struct hkt_tsv hkt_tsv;
enum { HKT_TSV_KEEP = 3 };

/* Opens `path` ("-": standard output) for a table of the tab-separated `columns` ("a\tb\tc"). `how`, borrowed until the
 * table is closed, gives the `#` lines. Nothing is written before the first row or hkt_tsv_commit. */
hkt_status hkt_tsv_open(hkt_tsv **out, const char *path, const hkt_provenance *how, const char *columns);
/* How a table is written, when not as above. */
typedef struct {
    bool json; /* one object {"format": "hkt-table/1", "provenance": ..., "rows": [{"COLUMN": CELL, ...}, ...]}; NaN,
                  infinities: null */
    const char *first; /* name of one more column before the others, with the text of hkt_tsv_first; NULL: none */
    const char *keep_column[HKT_TSV_KEEP], *keep_text[HKT_TSV_KEEP]; /* only rows with this text in this column; a NULL
                                                                        text keeps all */
} hkt_tsv_form;
hkt_status hkt_tsv_open_as(hkt_tsv **out, const char *path, const hkt_provenance *how, const char *columns,
                           const hkt_tsv_form *form);
/* The text of the column `first` in the rows that follow; it must outlive them. */
void hkt_tsv_first(hkt_tsv *t, const char *text);

/* Rows written so far, without those left out. */
size_t hkt_tsv_rows(const hkt_tsv *t);

/* Cells are appended left to right; end the row with hkt_tsv_end. The cell count must equal the column count
 * (checked, HKT_ASSERT). Doubles print with 17 significant digits; NaN prints as `nan`. */
void hkt_tsv_str(hkt_tsv *t, const char *s);
void hkt_tsv_size(hkt_tsv *t, size_t v);
void hkt_tsv_real(hkt_tsv *t, double v);
void hkt_tsv_end(hkt_tsv *t);
/* Writes checksum and `# ok`, renames into place, frees. */
hkt_status hkt_tsv_commit(hkt_tsv *t);
/* Nothing is left behind; frees. Accepts NULL. */
void hkt_tsv_abort(hkt_tsv *t);

typedef struct {
    size_t rows, cols;
    char **column; /* [cols] */
    char **cell;   /* [rows * cols] */
    char *text;    /* backing store */
    bool has_checksum;
} hkt_table;

/* Reads a table written as above; a missing `# ok` or a ragged row is HKT_EINPUT with the line, as is a checksum that
 * is not that of the text. A note says when a table that a program wrote has no checksum. */
hkt_status hkt_table_read(hkt_table *out, const char *path);
void hkt_table_free(hkt_table *t);
/* Column index; HKT_EINPUT naming the column when absent. */
hkt_status hkt_table_column(const hkt_table *t, const char *name, size_t *index);

#endif
